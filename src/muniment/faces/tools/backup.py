"""Faces, tools: the tools of the backup: the same gates as everywhere, the answers as JSON.

A confirmation that a client passes on is recorded as that, and suffices only where the setting
`confirm.relayed` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muniment.archive.card import fenced
from muniment.backup.errors import DeleteNotConfirmed
from muniment.backup.model import Request, snapshot_json
from muniment.backup.reading import compare
from muniment.backup.service import picked_bytes
from muniment.canonical import Json
from muniment.disk.tree import Progress
from muniment.errors import MunimentError
from muniment.evidence import spell
from muniment.faces.house import House
from muniment.faces.i18n.errors import for_programs
from muniment.faces.i18n.language import Language
from muniment.faces.i18n.translate import Translator
from muniment.faces.tools.archive import Answer, Tool
from muniment.faces.tools.arguments import read_arguments
from muniment.faces.tools.shapes import Shape
from muniment.path import printable
from muniment.record.consent import WitnessKind
from muniment.vault.errors import QuotaExceeded

CHANGES_MOST = 1000
"""Changes that one answer lists; `total` says how many there are."""

Schema = dict[str, Any]


def _object(properties: Schema, optional: frozenset[str] = frozenset()) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _text(about: str = "", **more: Any) -> Schema:
    return {"type": "string", **({"description": about} if about else {}), **more}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_WHOLE: Schema = {"type": "integer", "minimum": 0}
_MAYBE_WHOLE: Schema = {"anyOf": [_WHOLE, {"type": "null"}]}
_ID: Schema = {"type": "string", "minLength": 23, "maxLength": 23}
_SNAPSHOT = {
    "backup_id": _text(),
    "user_label": _text(),
    "created_at": _WHOLE,
    "size_bytes": _WHOLE,
    "sections": _list(_text()),
    "root": _text(),
    "sha256": {"anyOf": [_text(), {"type": "null"}]},
    "soundness": _text(),
}

PLAN = Shape(
    "backup_plan",
    "Plan a snapshot",
    "Show what a snapshot of the workspace would hold, by the rules file. Nothing is copied. Show all of "
    "it to the person, warnings too, and wait for a clear yes before backup_create. On RULES_MISSING propose "
    "rules first; never write the stock file unasked.",
    _object(
        {
            "mode": {"enum": ["default", "full"]},
            "exclude": _text("Further excludes for this snapshot, one a line.", maxLength=65536),
            "include": _text("Further absolute paths, or places to keep, one a line.", maxLength=65536),
            "label": _text("The label.", minLength=1, maxLength=64),
            "apiDir": _text("The folder with the settings that the host exported.", maxLength=4096),
        },
        optional=frozenset({"mode", "exclude", "include", "label", "apiDir"}),
    ),
    _object(
        {
            "plan_id": _text(),
            "label": _text(),
            "mode": _text(),
            "workspace_dir": _text(),
            "data_dir": _text(),
            "created_at_unix": _WHOLE,
            "items": _list({"type": "object"}),
            "api": _list({"type": "object"}),
            "extra_paths": _list({"type": "object"}),
            "warnings": _list(_text()),
            "total_files": _WHOLE,
            "total_size_bytes": _WHOLE,
        }
    ),
    reads_only=False,
)

CREATE = Shape(
    "backup_create",
    "Take a snapshot",
    "Take the snapshot of a plan that the person has seen and agreed to. The agreement is recorded as passed "
    "on by you. Some files may be unreadable: then `partial` is true, and you say so and name them.",
    _object(
        {
            "planId": _text("The plan_id of backup_plan.", minLength=64, maxLength=64),
            "personAgreed": {"enum": ["yes"], "description": "The person saw this plan and said yes to it."},
            "replace": {**_ID, "description": "The snapshot that the person chose to give up for this one."},
        },
        optional=frozenset({"replace"}),
    ),
    _object(
        {
            **_SNAPSHOT,
            "remaining_slots": _MAYBE_WHOLE,
            "files": _WHOLE,
            "content_bytes": _WHOLE,
            "sent_bytes": _WHOLE,
            "partial": {"type": "boolean"},
            "faults": _list(_object({"path": _text(), "kind": _text(), "finding": _text()})),
            "warnings": _list(_text()),
            "witness": _text(),
            "event_id": _text(),
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
    _object({}),
    _object(
        {"backups": _list(_object(_SNAPSHOT)), "cap": _MAYBE_WHOLE, "remaining_slots": _MAYBE_WHOLE},
    ),
)

DIFF = Shape(
    "backup_diff",
    "Compare two snapshots",
    "Say which files were added, removed or changed between two snapshots.",
    _object({"before": _ID, "after": _ID}),
    _object(
        {
            "total": _WHOLE,
            "changes": _list(
                _object(
                    {
                        "path": _text(),
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
    _object({"backupId": _ID, "confirm": _text("The id as the person typed it.", maxLength=200)}),
    _object(
        {
            "deleted_backup_id": _text(),
            "user_label": _text(),
            "created_at": _WHOLE,
            "size_bytes": _WHOLE,
            "sections": _list(_text()),
            "remaining_slots": _MAYBE_WHOLE,
        }
    ),
    reads_only=False,
    destructive=True,
    idempotent=False,
)


@dataclass(frozen=True, slots=True)
class BackupTool(Tool):
    """A tool whose refusals are the one object that every error is."""

    def answer(self, house: House, arguments: Mapping[str, object], progress: Progress) -> Answer:
        """Do it, or say why not."""
        try:
            return self.act(house, read_arguments(self.shape, arguments), progress)
        except QuotaExceeded as error:
            current: list[Json] = [snapshot_json(one) for one in house.backups.list().snapshots]
            return _refused(error, {"current": current})
        except MunimentError as error:
            return _refused(error, {})


def _refused(error: MunimentError, more: dict[str, Json]) -> Answer:
    told = {**for_programs(error, Translator(Language.ENGLISH)), **more}
    return Answer(f"Backup blocked: {error.reason} (code: {error.code})\n\n{fenced(told)}", None, failed=True)


def _given(structured: dict[str, Json], *, failed: bool = False) -> Answer:
    return Answer(fenced(structured), structured, failed)


def _lines(text: str | None) -> tuple[str, ...]:
    return tuple(line.strip() for line in (text or "").splitlines() if line.strip())


def _plan(house: House, arguments: Mapping[str, str], _: Progress) -> Answer:
    request = Request(
        arguments.get("mode"),
        _lines(arguments.get("exclude")),
        _lines(arguments.get("include")),
        arguments.get("label"),
        arguments.get("apiDir"),
    )
    return _given(house.backups.plan(request).plan.to_json())


def _create(house: House, arguments: Mapping[str, str], progress: Progress) -> Answer:
    backups = house.backups
    kept = backups.find_plan(arguments["planId"])
    house.workspace.consents.give("create", kept.shown, WitnessKind.RELAYED)
    receipt = backups.create(
        arguments["planId"],
        replace=arguments.get("replace"),
        progress=lambda size, files, path: progress(files, size),
    )
    return _given(receipt.to_json())


def _list_all(house: House, _: Mapping[str, str], __: Progress) -> Answer:
    listing = house.backups.list()
    return _given(
        {
            "backups": [snapshot_json(one) for one in listing.snapshots],
            "cap": listing.limits.snapshots,
            "remaining_slots": listing.remaining,
        }
    )


def _diff(house: House, arguments: Mapping[str, str], _: Progress) -> Answer:
    backups = house.backups
    changes = compare(backups.reading(arguments["before"]), backups.reading(arguments["after"]))
    rows: list[Json] = [
        {"path": spell(one.path), "kind": one.kind, "before": one.before, "after": one.after}
        for one in changes[:CHANGES_MOST]
    ]
    return _given({"total": len(changes), "changes": rows})


def _delete(house: House, arguments: Mapping[str, str], _: Progress) -> Answer:
    backups = house.backups
    one = backups.open_vault().show(arguments["backupId"])
    if arguments["confirm"].strip() != one.id:
        raise DeleteNotConfirmed(where=printable(arguments["confirm"].strip()[:64]))
    shown = picked_bytes(one)
    house.workspace.consents.give("delete", shown, WitnessKind.RELAYED)
    gone, remaining = backups.delete(one.id, arguments["confirm"], shown)
    return _given(
        {
            "deleted_backup_id": gone.id,
            "user_label": gone.label,
            "created_at": int(gone.created_at.timestamp()),
            "size_bytes": gone.size,
            "sections": list(gone.sections),
            "remaining_slots": remaining,
        }
    )


TOOLS: dict[str, Tool] = {
    tool.shape.name: tool
    for tool in (
        BackupTool(PLAN, _plan),
        BackupTool(CREATE, _create),
        BackupTool(LIST, _list_all),
        BackupTool(DIFF, _diff),
        BackupTool(DELETE, _delete),
    )
}
"""Every tool of the backup by its name."""
