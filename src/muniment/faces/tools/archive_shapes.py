"""Faces, tools: the tools of the archive as clients see them (spec 1, surface)."""

from __future__ import annotations

from muniment.archive.model import Standing, Track
from muniment.faces.tools.shape import DIGEST, FLAG, WHOLE, Schema, Shape, closed, items, text
from muniment.hosts.session import SessionSource

_REFERENCE: Schema = {"type": "string", "pattern": "^arc_[0-9A-Z]{26}$"}
_KIND: Schema = {"enum": ["file", "directory"]}

_CARD = closed(
    {
        "type": {"const": "archive_grid"},
        "data": closed({"type": _KIND, "archive_root": text(), "subpath": text(), "name": text()}),
    }
)

_READ_BACK = closed(
    {
        "exists": FLAG,
        "path_right": FLAG,
        "not_empty": FLAG,
        "key_fields": text(),
        "content_identical": FLAG,
        "task": text(),
    }
)

_EVIDENCE = closed(
    {
        "reference": _REFERENCE,
        "event_id": text(),
        "from": text("Where it was, below the workspace."),
        "to": text("Where it lies now, below the workspace."),
        "archive_id": text(),
        "archive_id_source": {"enum": [source.value for source in SessionSource]},
        "workspace_rule": text(),
        "at": text("When, in UTC."),
        "sha256": DIGEST,
        "files": WHOLE,
        "bytes": WHOLE,
        "copied": FLAG,
        "read_back": _READ_BACK,
        "warnings": items(text()),
        "mirrored_archive_root": text("Where a scheduled job's copy lies."),
        "mirrored_subpath": text(),
    },
    optional="mirrored_archive_root mirrored_subpath",
)

_ENTRY = closed(
    {
        "reference": _REFERENCE,
        "from": text(),
        "path": text(),
        "archive_id": text(),
        "name": text(),
        "track": {"enum": [track.value for track in Track]},
        "kind": _KIND,
        "sha256": DIGEST,
        "files": WHOLE,
        "bytes": WHOLE,
        "at": text(),
        "event_id": text(),
        "undone": FLAG,
        "sealed": FLAG,
    }
)

_CHECKED = closed(
    {
        "reference": _REFERENCE,
        "path": text(),
        "standing": {"enum": [standing.value for standing in Standing]},
        "recorded_sha256": DIGEST,
        "found_sha256": {"anyOf": [DIGEST, {"type": "null"}]},
        "differs": text("The first path that differs; empty when none does."),
    }
)

ARCHIVE = Shape(
    "archive",
    "Archive a deliverable",
    "Move a file or folder of the workspace into its archive, read it back there, and give its card. "
    "The source is gone afterwards. On “Archive blocked” nothing was moved: stop, quote the reason and wait; "
    "do not write the file or a receipt by hand.",
    closed(
        {
            "kind": {
                "enum": [track.value for track in Track],
                "description": "plan: a file named PLAN.md. file: anything else, a folder too.",
            },
            "sourcePath": text(
                "The path inside the workspace: from its top, or absolute. No empty segment, no “.” or “..”.",
                minLength=1,
                maxLength=4096,
            ),
            "displayName": text("The name shown on the card.", minLength=1, maxLength=255),
        },
        optional="displayName",
    ),
    closed({"cards": items(_CARD), "evidence": items(_EVIDENCE)}),
    reads_only=False,
    destructive=True,
    idempotent=False,
)

LIST = Shape(
    "archive_list",
    "List what was archived",
    "List what was archived in this workspace, newest first, from its ledger. Nothing is read again; "
    "archive_verify does that.",
    closed({"archiveId": text("Only what this archive id holds.")}, optional="archiveId"),
    closed({"total": WHOLE, "archived": items(_ENTRY)}),
)

VERIFY = Shape(
    "archive_verify",
    "Verify what was archived",
    "Read archived deliverables again where they lie and compare every byte with the record. The result is "
    "an error when anything is changed, missing or unknown.",
    closed(
        {"reference": text("A reference (arc_…) or an address below archives/; without it, all.")},
        optional="reference",
    ),
    closed({"intact": FLAG, "verified": items(_CHECKED)}),
)

STATUS = Shape(
    "archive_status",
    "What is not archived yet",
    "List what was made in this workspace and is not archived. A task that writes files ends when the list "
    "is empty.",
    closed({}),
    closed({"not_archived": items(text())}),
)

SHAPES = (ARCHIVE, LIST, VERIFY, STATUS)
