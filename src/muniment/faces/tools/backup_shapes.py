"""Faces, tools: the tools of the backup as clients see them (spec 4, surface)."""

from __future__ import annotations

from muniment.faces.tools.shape import FLAG, WHOLE, Schema, Shape, closed, items, maybe, text

_MAYBE_WHOLE = maybe(WHOLE)
_ID: Schema = {"type": "string", "minLength": 23, "maxLength": 23}
_SNAPSHOT = {
    "backup_id": text(),
    "user_label": text(),
    "created_at": WHOLE,
    "size_bytes": WHOLE,
    "sections": items(text()),
    "root": text(),
    "sha256": maybe(text()),
    "soundness": text(),
}

PLAN = Shape(
    "backup_plan",
    "Plan a snapshot",
    "Show what a snapshot of the workspace would hold, by the rules file. Nothing is copied. Show all of "
    "it to the person, warnings too, and wait for a clear yes before backup_create. On RULES_MISSING propose "
    "rules first; never write the stock file unasked.",
    closed(
        {
            "mode": {"enum": ["default", "full"]},
            "exclude": text("Further excludes for this snapshot, one a line.", maxLength=65536),
            "include": text("Further absolute paths, or places to keep, one a line.", maxLength=65536),
            "label": text("The label.", minLength=1, maxLength=64),
            "apiDir": text("The folder with the settings that the host exported.", maxLength=4096),
        },
        optional="mode exclude include label apiDir",
    ),
    closed(
        {
            "plan_id": text(),
            "label": text(),
            "mode": text(),
            "workspace_dir": text(),
            "data_dir": text(),
            "created_at_unix": WHOLE,
            "items": items({"type": "object"}),
            "api": items({"type": "object"}),
            "extra_paths": items({"type": "object"}),
            "warnings": items(text()),
            "total_files": WHOLE,
            "total_size_bytes": WHOLE,
        }
    ),
    reads_only=False,
)

CREATE = Shape(
    "backup_create",
    "Take a snapshot",
    "Take the snapshot of a plan that the person has seen and agreed to. The agreement is recorded as passed "
    "on by you. Some files may be unreadable: then `partial` is true, and you say so and name them.",
    closed(
        {
            "planId": text("The plan_id of backup_plan.", minLength=64, maxLength=64),
            "personAgreed": {"enum": ["yes"], "description": "The person saw this plan and said yes to it."},
            "replace": {**_ID, "description": "The snapshot that the person chose to give up for this one."},
        },
        optional="replace",
    ),
    closed(
        {
            **_SNAPSHOT,
            "remaining_slots": _MAYBE_WHOLE,
            "files": WHOLE,
            "content_bytes": WHOLE,
            "sent_bytes": WHOLE,
            "partial": FLAG,
            "faults": items(closed({"path": text(), "kind": text(), "finding": text()})),
            "warnings": items(text()),
            "witness": text(),
            "event_id": text(),
        }
    ),
    reads_only=False,
    destructive=True,
    idempotent=False,
)

LIST = Shape(
    "backup_list",
    "List the snapshots",
    "List the snapshots, newest first. Nothing is chosen for the person: show the list and let them pick.",
    closed({}),
    closed(
        {"backups": items(closed(_SNAPSHOT)), "cap": _MAYBE_WHOLE, "remaining_slots": _MAYBE_WHOLE},
    ),
)

DIFF = Shape(
    "backup_diff",
    "Compare two snapshots",
    "Say which files were added, removed or changed between two snapshots.",
    closed({"before": _ID, "after": _ID}),
    closed(
        {
            "total": WHOLE,
            "changes": items(
                closed(
                    {
                        "path": text(),
                        "kind": {"enum": ["added", "removed", "changed"]},
                        "before": _MAYBE_WHOLE,
                        "after": _MAYBE_WHOLE,
                    }
                )
            ),
        }
    ),
)

DELETE = Shape(
    "backup_delete",
    "Delete a snapshot",
    "Delete one snapshot for good. The person first picks and says yes, then types the whole id in a step of "
    "its own; never fill it in. Unless the setting confirm.relayed names delete, only the person can do it.",
    closed({"backupId": _ID, "confirm": text("The id as the person typed it.", maxLength=200)}),
    closed(
        {
            "deleted_backup_id": text(),
            "user_label": text(),
            "created_at": WHOLE,
            "size_bytes": WHOLE,
            "sections": items(text()),
            "remaining_slots": _MAYBE_WHOLE,
        }
    ),
    reads_only=False,
    destructive=True,
    idempotent=False,
)
