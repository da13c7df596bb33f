"""Faces, tools: the tools of the backup: the same gates as everywhere, the answers as JSON.

The person is asked through the client where it can ask.  Else a yes that the agent passes on is
recorded as that, and suffices only where the setting `confirm.relayed` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muniment.archive.card import fenced
from muniment.backup.errors import DeleteNotConfirmed, RestoreStale
from muniment.backup.model import Request, deleted_json, snapshot_json
from muniment.backup.plans import KeptPlan
from muniment.backup.reading import compare
from muniment.backup.restore_rules import choose
from muniment.backup.service import picked_bytes
from muniment.canonical import Json
from muniment.digest import sha256
from muniment.errors import MunimentError
from muniment.faces.house import House
from muniment.faces.tools import backup_shapes as shapes
from muniment.faces.tools.arguments import read_arguments
from muniment.faces.tools.tool import Answer, Client, Question, Tool, answered, refused
from muniment.message import Message, say
from muniment.path import printable
from muniment.record.consent import WitnessKind
from muniment.record.errors import NotConfirmed
from muniment.vault.errors import QuotaExceeded

CHANGES_MOST = 1000
"""Changes that one answer lists; `total` says how many there are."""


@dataclass(frozen=True, slots=True)
class BackupTool(Tool):
    """A tool whose refusal for want of a slot shows the snapshots from which the person chooses."""

    def answer(self, house: House, arguments: Mapping[str, object], client: Client) -> Answer | Question:
        """Do it, or give the refusal."""
        try:
            return self.act(house, read_arguments(self.shape, arguments), client)
        except QuotaExceeded as error:
            current: list[Json] = [snapshot_json(one) for one in house.backups.list().snapshots]
            shown = fenced({"error": error.code, "current": current})
            return Answer(f"{refused(self.shape.room, error)}\n{shown}", None, failed=True)
        except MunimentError as error:
            return self.refusal(error)


def _lines(text: str | None) -> tuple[str, ...]:
    return tuple(line.strip() for line in (text or "").splitlines() if line.strip())


def _plan(house: House, arguments: Mapping[str, Any], _: Client) -> Answer:
    request = Request(
        arguments.get("mode"),
        _lines(arguments.get("exclude")),
        _lines(arguments.get("include")),
        arguments.get("label"),
        arguments.get("apiDir"),
    )
    return answered(house.backups.plan(request).plan.to_json())


def _create(house: House, arguments: Mapping[str, Any], client: Client) -> Answer | Question:
    backups = house.backups
    kept = backups.find_plan(arguments["planId"])
    witness = _asked(client, kept.shown, str(_create_question(kept, arguments["planId"])))
    if isinstance(witness, Question):
        return witness
    house.workspace.consents.give("create", kept.shown, witness)
    receipt = backups.create(
        arguments["planId"],
        replace=arguments.get("replace"),
        progress=lambda size, files, path: client.progress(files, size),
    )
    return answered(receipt.to_json())


def _create_question(kept: KeptPlan, plan_id: str) -> Message:
    return say(
        "Take the snapshot “{label}” of {bytes} bytes, by plan {plan}?",
        label=kept.label,
        bytes=kept.then.total_size_bytes,
        plan=plan_id[:12],
    )


def _asked(client: Client, shown: bytes, question: str) -> WitnessKind | Question:
    """How the act is confirmed: by the person through the client, or passed on by the agent.

    A no of the person ends the call; nothing was done then.
    """
    if not client.can_ask:
        return WitnessKind.RELAYED
    digest = sha256(shown)
    reply = client.reply_about(digest)
    if reply is None:
        return Question(question, digest)
    if not reply.yes:
        raise NotConfirmed(where=digest.short, why=say("the person said no"))
    return WitnessKind.ELICITATION


def _list_all(house: House, _: Mapping[str, Any], __: Client) -> Answer:
    listing = house.backups.list()
    return answered(
        {
            "backups": [snapshot_json(one) for one in listing.snapshots],
            "cap": listing.limits.snapshots,
            "remaining_slots": listing.remaining,
        }
    )


def _diff(house: House, arguments: Mapping[str, Any], _: Client) -> Answer:
    backups = house.backups
    changes = compare(backups.reading(arguments["before"]), backups.reading(arguments["after"]))
    rows: list[Json] = [one.to_json() for one in changes[:CHANGES_MOST]]
    return answered({"total": len(changes), "changes": rows})


def _restore_plan(house: House, arguments: Mapping[str, Any], _: Client) -> Answer:
    plan, _fetched = house.restores.plan(
        arguments["backupId"], only=_lines(arguments.get("only")), exact=bool(arguments.get("exact"))
    )
    shown = plan.to_json()
    rows = shown["items"]
    assert isinstance(rows, list)
    return answered({**shown, "items": rows[:CHANGES_MOST], "items_total": len(rows)})


def _restore(house: House, arguments: Mapping[str, Any], client: Client) -> Answer | Question:
    restores = house.restores
    exact = bool(arguments.get("exact"))
    plan, fetched = restores.plan(arguments["backupId"], only=_lines(arguments.get("only")), exact=exact)
    if plan.plan_id != arguments["restorePlanId"]:
        raise RestoreStale(where=plan.plan_id[:12])
    order = choose(
        plan, overwrite=bool(arguments.get("overwrite")), run=bool(arguments.get("run")), exact=exact
    )
    question = say(
        "Restore {count} things from {id}, {replaced} of them over what is there?",
        count=len(order.steps),
        id=plan.backup_id,
        replaced=order.replaces,
    )
    witness = _asked(client, order.shown, str(question))
    if isinstance(witness, Question):
        return witness
    house.workspace.consents.give("restore", order.shown, witness)
    applied = restores.apply(order, fetched, progress=lambda size, files, path: client.progress(files, size))
    return answered(applied.to_json())


def _delete(house: House, arguments: Mapping[str, Any], client: Client) -> Answer | Question:
    backups = house.backups
    one = backups.open_vault().show(arguments["backupId"])
    if arguments["confirm"].strip() != one.id:
        raise DeleteNotConfirmed(where=printable(arguments["confirm"].strip()[:64]))
    shown = picked_bytes(one)
    question = say("Delete the snapshot {id} (“{label}”) for good?", id=one.id, label=one.label)
    witness = _asked(client, shown, str(question))
    if isinstance(witness, Question):
        return witness
    house.workspace.consents.give("delete", shown, witness)
    gone, remaining = backups.delete(one.id, arguments["confirm"], shown)
    return answered(deleted_json(gone, remaining))


TOOLS = (
    Tool(shapes.PLAN, _plan),
    BackupTool(shapes.CREATE, _create),
    Tool(shapes.LIST, _list_all),
    Tool(shapes.DIFF, _diff),
    Tool(shapes.RESTORE_PLAN, _restore_plan),
    Tool(shapes.RESTORE, _restore),
    Tool(shapes.DELETE, _delete),
)
