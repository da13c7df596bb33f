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
    "scheduled": FLAG,
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

_FACE: Schema = maybe({"type": "object"})
_STEP = closed(
    {
        "status": {"enum": ["new", "modified", "surplus", "blocked", "aside", "by_hand"]},
        "section": text(),
        "path": text(),
        "kind": text(),
        "size": WHOLE,
        "before": _FACE,
        "after": _FACE,
        "runs": FLAG,
        "why": maybe(text()),
    }
)
_ONLY = text("Only these paths of the snapshot and what lies below them, one a line.", maxLength=65536)

RESTORE_PLAN = Shape(
    "backup_restore_plan",
    "Plan a restore",
    "Fetch and verify a snapshot, and say what restoring it would do. Nothing in place is touched. The "
    "person names the snapshot; show all of the plan, with what runs by itself, and wait for a clear yes.",
    closed({"backupId": _ID, "only": _ONLY, "exact": FLAG}, optional="only exact"),
    closed(
        {
            "backup_id": text(),
            "root": text(),
            "restore_plan_id": text(),
            "workspace_dir": text(),
            "data_dir": text(),
            "verified_files": WHOLE,
            "items": items(_STEP),
            "items_total": WHOLE,
            "counts": {"type": "object"},
            "sections": items(text()),
            "api": items(text()),
            "partial": FLAG,
            "warnings": items(text()),
        }
    ),
    reads_only=False,
)

RESTORE = Shape(
    "backup_restore",
    "Restore a snapshot",
    "Apply a restore plan that the person has seen and agreed to. New files come always, modified ones with "
    "overwrite, files that run by themselves only with run. What is replaced can be undone. Where `errors` "
    "or `open_sections` is not empty the restore is half done: say so.",
    closed(
        {
            "backupId": _ID,
            "restorePlanId": text("The restore_plan_id of backup_restore_plan.", minLength=64, maxLength=64),
            "personAgreed": {"enum": ["yes"], "description": "The person saw this plan and said yes to it."},
            "overwrite": FLAG,
            "run": FLAG,
            "exact": FLAG,
            "only": _ONLY,
        },
        optional="overwrite run exact only",
    ),
    closed(
        {
            "restore": text(),
            "backup_id": text(),
            "wrote": WHOLE,
            "skipped_modified": WHOLE,
            "errors": items(closed({"section": text(), "path": text(), "code": text(), "why": text()})),
            "open_sections": items(text()),
            "machine_state": maybe(text()),
            "event_id": maybe(text()),
        }
    ),
    reads_only=False,
    destructive=True,
    idempotent=False,
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
