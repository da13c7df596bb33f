"""Faces, tools: the tools of the desk as clients see them: questions over all rooms."""

from __future__ import annotations

from muniment.faces.tools.shape import FLAG, WHOLE, Shape, closed, flag, items, maybe, table, text
from muniment.record.subject import Standing

MOMENTS_MOST = 1000
"""Events that one answer tells at the most."""

_REFERENCE = "A reference: arc_…, job:…, ho_…, bk_…, ev_… or sha256:…; it may be shortened."
_OPEN = {"type": "object"}
_UNFINISHED = closed({"reference": text(), "state": text(), "next": text()})
_STANDING = {"enum": [one.value for one in Standing]}

STATUS = Shape(
    "desk_status",
    "What stands where",
    "Show the workspace, the session, the ledger's head, what is not archived, what is half done or open in "
    "every room, the last snapshot, and the one command that comes next.",
    closed({}),
    closed(
        {
            "workspace": text(),
            "workspace_rule": text(),
            "workspace_found_by": text(),
            "host": text(),
            "session": maybe(text()),
            "session_source": maybe(text()),
            "root_id": maybe(text()),
            "ledger": closed({"events": WHOLE, "head": text(), "damage": maybe(text())}),
            "not_archived": items(text()),
            "half_done": items(text()),
            "handoffs": items(_UNFINISHED),
            "jobs": items(_UNFINISHED),
            "backup": items(_UNFINISHED),
            "last_snapshot": maybe(closed({"backup_id": text(), "at": text(), "in_this_vault": FLAG})),
            "schedule": maybe(_OPEN),
            "vault": closed({"url": text(), "shares_device": FLAG}),
            "next": text(),
        }
    ),
)

SHOW = Shape(
    "desk_show",
    "Show one thing by its reference",
    "Show one thing of any room by its reference, and within which handoff and job it was made.",
    closed({"reference": text(_REFERENCE, minLength=1, maxLength=255)}),
    closed(
        {"reference": text(), "within": items(text()), "shown": _OPEN, "next": text("What looks closer.")}
    ),
)

FIND = Shape(
    "desk_find",
    "Find a text, a digest or a reference everywhere",
    "Find everything that holds a text, bytes of a digest, or what was made within a handoff or job: in the "
    "archive, jobs, handoffs, snapshots and the ledger. The result is an error when a place that was read "
    "again has other bytes now.",
    closed({"text": text("A part of a name, 8 digits of a sha256 or more, or a reference.", minLength=1)}),
    closed(
        {
            "total": WHOLE,
            "hits": items(
                closed(
                    {
                        "reference": text(),
                        "role": text("What it is there."),
                        "path": text(),
                        "standing": maybe(_STANDING),
                        "sha256": maybe(text()),
                        "within": items(text()),
                    }
                )
            ),
            "events": items(_OPEN, "The newest events of the ledger that speak of it."),
            "events_total": WHOLE,
        }
    ),
)

VERIFY = Shape(
    "desk_verify",
    "Read things again and judge them",
    "Read what is named again from where it really lies and compare it with its record; without anything "
    "named, everything: the ledger with its witnesses, what every room keeps, and the whole vault. The "
    "result is an error when anything is not as recorded, or could not be read.",
    closed(
        {
            "what": items(text(maxLength=255), "References, or the words ledger and vault."),
            "all": flag("Read everything again; it goes with nothing named."),
        },
        optional="what all",
    ),
    closed(
        {
            "good": FLAG,
            "total": WHOLE,
            "counts": table(WHOLE, "How many stand how."),
            "verified": items(
                closed(
                    {
                        "reference": text(),
                        "standing": _STANDING,
                        "finding": text(),
                        "details": items(text()),
                        "next": text(),
                    }
                ),
                "Those that are not fine come first.",
            ),
        }
    ),
)

TIMELINE = Shape(
    "desk_timeline",
    "What was recorded, and which claims were proved",
    "Show the newest events of the ledger, oldest first, each with what it is worth by now: claimed, proved, "
    "or found untrue.",
    closed(
        {
            "since": text("Only what came after this instant or day, as in ISO 8601.", maxLength=64),
            "count": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOMENTS_MOST,
                "description": "How many events.",
            },
        },
        optional="since count",
    ),
    closed(
        {
            "events": items(
                closed(
                    {
                        "event": text(),
                        "at": text(),
                        "actor": text(),
                        "kind": text(),
                        "subject": text(),
                        "worth": maybe(text()),
                        "answered_by": maybe(text()),
                        "within": items(text()),
                    }
                )
            ),
            "not_proved": WHOLE,
        }
    ),
)
