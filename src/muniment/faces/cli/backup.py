"""Faces, command line: `muniment backup`: the whole agent, planned, confirmed and kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import click

from muniment.backup.api import folder_named
from muniment.backup.errors import PlanMissing
from muniment.backup.model import Receipt, Request, snapshot_json
from muniment.backup.rules_file import MODES
from muniment.backup.service import Backups
from muniment.canonical import Json, read_json
from muniment.errors import Interrupted
from muniment.faces.cli.backup_pages import partial_of, pick, show_plan, show_receipt, show_snapshots
from muniment.faces.cli.backup_rules import converse
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import Entry, Group, command, option
from muniment.faces.cli.usage import wrong
from muniment.faces.cli.values import Word
from muniment.message import say
from muniment.record.consent import WitnessKind
from muniment.vault.errors import QuotaExceeded

R = TypeVar("R")

_PLANNING = (
    option("--mode", type=Word(*MODES), about=say("Use this mode, not the one of the rules.")),
    option(
        "--exclude",
        metavar="PATTERN",
        multiple=True,
        about=say("Leave this out too, written as in the rules file."),
    ),
    option(
        "--include",
        metavar="PATH",
        multiple=True,
        about=say("Save this too: an absolute path, or a place that the rules would leave out."),
    ),
    option("--label", metavar="TEXT", about=say("Give it this label.")),
    option(
        "--api-dir",
        metavar="FOLDER",
        about=say("The folder with profile, settings and scheduled tasks that the host exported."),
    ),
    option(
        "--keep-outside-links",
        is_flag=True,
        about=say("Keep links that lead out of what is saved; they are left out otherwise."),
    ),
)


def planning(act: Callable[..., R]) -> Callable[..., R]:
    """Gives a command the options that a plan takes, as one `request`."""

    @wraps(act)
    def asked(
        call: Call,
        *,
        mode: str | None,
        exclude: tuple[str, ...],
        include: tuple[str, ...],
        label: str | None,
        api_dir: str | None,
        keep_outside_links: bool,
        **more: object,
    ) -> R:
        api = None if api_dir is None else folder_named(api_dir)
        request = Request(mode, exclude, include, label, api, keep_outside_links)
        return act(call, request=request, **more)

    for decorate in reversed(_PLANNING):
        asked = decorate(asked)
    return asked


@command(
    more=(
        say(
            "Nothing is copied and nobody is asked over a network. The plan is kept, and a snapshot can be "
            "taken of it for a day, as long as nothing at the top comes, goes or grows much."
        ),
    ),
    examples=("muniment backup plan", "muniment backup plan --exclude workspace/output --json"),
)
@planning
def plan(call: Call, request: Request) -> None:
    """Show what a snapshot would hold."""
    backups = call.house.backups
    _rules_exist(call, backups)
    planned = backups.plan(request)
    shown = planned.plan.to_json()
    call.terminal.result(shown, lambda: show_plan(call, shown, planned.rules))
    call.terminal.next_step(f"muniment backup create --plan {planned.plan.plan_id}")


@command(
    rehearses=False,
    more=(
        say(
            "At a terminal the plan is shown and you are asked. Elsewhere a plan is named by --plan and "
            "confirmed by --yes, which is recorded as passed on by an agent."
        ),
    ),
    examples=("muniment backup create", "muniment backup create --plan PLAN_ID --yes"),
)
@planning
@option("--plan", "plan_id", metavar="PLAN_ID", about=say("The plan that was shown."))
@option("--replace", metavar="ID", about=say("Delete this snapshot once the new one is stored."))
@option(
    "--allow-partial",
    is_flag=True,
    about=say("End with exit code 0 although files could not be read; they are named all the same."),
)
@option("--reread", is_flag=True, about=say("Read every file, also those that look unchanged."))
@option("--scheduled", is_flag=True, about=say("The run that a timer calls, on the standing consent."))
def create(
    call: Call,
    plan_id: str | None,
    replace: str | None,
    allow_partial: bool,
    reread: bool,
    scheduled: bool,
    request: Request,
) -> None:
    """Take a snapshot of a plan that was confirmed."""
    if scheduled:
        from muniment.faces.cli.backup_schedule import run_scheduled

        if request != Request() or plan_id or replace or allow_partial or reread:
            raise wrong(say("--scheduled saves what was consented to"), click.get_current_context())
        run_scheduled(call)
        return
    if plan_id is not None and request != Request():
        raise wrong(say("--plan carries out a plan as it was shown"), click.get_current_context())
    backups = call.house.backups
    backups.require_no_half_restore()
    chosen = _chosen(call, backups, plan_id, request)
    receipt = _taken(call, backups, chosen, replace, reread, allow_partial)
    call.terminal.result(receipt.to_json(), lambda: show_receipt(call, receipt))
    if receipt.partial and not allow_partial:
        raise partial_of(receipt)
    call.terminal.next_step(f"muniment backup show {receipt.snapshot.id}")


def _rules_exist(call: Call, backups: Backups) -> None:
    """At a terminal, missing rules begin the conversation that writes them (spec 4, rules file)."""
    backups.require_no_half_restore()
    if call.terminal.can_ask and not call.options.json and not os.path.lexists(backups.places.rules):
        converse(call, backups)


def _chosen(call: Call, backups: Backups, plan_id: str | None, request: Request) -> str:
    """The id of a plan that was shown here or elsewhere and is confirmed now."""
    terminal, consents = call.terminal, call.house.workspace.consents
    if plan_id is None:
        if not terminal.can_ask:
            raise PlanMissing(why=say("away from a terminal the plan that was shown is named by --plan"))
        plan_id, shown = _settled(call, backups, request)
    else:
        shown = backups.find_plan(plan_id).shown
        if terminal.can_ask:
            show_plan(call, read_json(shown))
    if terminal.can_ask:
        if not call.options.yes and not terminal.ask(say("Take this snapshot?")):
            raise Interrupted(where="create")
        consents.give("create", shown, WitnessKind.TERMINAL)
    elif call.options.yes:
        consents.give("create", shown, WitnessKind.RELAYED)
    return plan_id


def _settled(call: Call, backups: Backups, request: Request) -> tuple[str, bytes]:
    """Show the plan and let the person change label, mode and what is left out, until it is right."""
    terminal = call.terminal
    _rules_exist(call, backups)
    while True:
        planned = backups.plan(request)
        show_plan(call, planned.plan.to_json(), planned.rules)
        if call.options.yes:
            return planned.plan.plan_id, planned.shown
        label = terminal.ask_text(say("Label, or nothing to keep “{label}”", label=planned.plan.label))
        mode = None
        while mode not in ("", *MODES):
            mode = terminal.ask_text(
                say("Mode (default, full), or nothing to keep {mode}", mode=planned.plan.mode)
            )
        more = terminal.ask_text(say("Leave out too (as in the rules file), or nothing"))
        changed = Request(
            mode or request.mode,
            (*request.exclude, *([more] if more else [])),
            request.include,
            label or request.label,
            request.api_dir,
            request.keep_outside_links,
        )
        if changed == request:
            return planned.plan.plan_id, planned.shown
        request = changed


def _taken(
    call: Call, backups: Backups, plan_id: str, replace: str | None, reread: bool, allow_partial: bool
) -> Receipt:
    terminal = call.terminal
    total = int(read_json(backups.find_plan(plan_id).shown)["total_size_bytes"])
    while True:
        try:
            with terminal.progress(say("saving"), total) as advance:
                return backups.create(
                    plan_id, replace=replace, reread=reread, allow_partial=allow_partial, progress=advance
                )
        except QuotaExceeded:
            listing = backups.list()
            if not terminal.can_ask or replace is not None:
                terminal.result({"current": [snapshot_json(one) for one in listing.snapshots]})
                raise
            terminal.note(say("All slots are taken. Which snapshot shall the new one replace?"))
            replace = pick(call, listing).id


@command(examples=("muniment backup list", "muniment backup list --json"))
def list_snapshots(call: Call) -> None:
    """List the snapshots, newest first."""
    listing = call.house.backups.list()
    value: dict[str, Json] = {
        "backups": [snapshot_json(one) for one in listing.snapshots],
        "quota": {"cap": listing.limits.snapshots, "remaining": listing.remaining},
        "limits": {"size_bytes": listing.limits.size, "label": listing.limits.label},
    }
    call.terminal.result(value, lambda: show_snapshots(call, listing))
    if not listing.snapshots:
        call.terminal.next_step("muniment backup create")


BACKUP = Group(
    more=(say("Rules, then a plan, then your word, then a snapshot; each step shows what it found."),),
    table={
        "plan": Entry("muniment.faces.cli.backup:plan", say("Show what a snapshot would hold.")),
        "create": Entry("muniment.faces.cli.backup:create", say("Take the snapshot of a confirmed plan.")),
        "list": Entry("muniment.faces.cli.backup:list_snapshots", say("List the snapshots.")),
        "show": Entry("muniment.faces.cli.backup_looking:show", say("Show one snapshot.")),
        "ls": Entry("muniment.faces.cli.backup_looking:ls", say("List the files of a snapshot.")),
        "cat": Entry("muniment.faces.cli.backup_looking:cat", say("Print one file of a snapshot.")),
        "find": Entry("muniment.faces.cli.backup_looking:find", say("Find a file in all snapshots.")),
        "diff": Entry("muniment.faces.cli.backup_looking:diff", say("Show how two snapshots differ.")),
        "fetch": Entry("muniment.faces.cli.backup_looking:fetch", say("Copy a snapshot out as a tar.gz.")),
        "verify": Entry("muniment.faces.cli.restore:verify", say("Read a whole snapshot back.")),
        "restore": Entry("muniment.faces.cli.restore:restore", say("Bring back what a snapshot keeps.")),
        "undo": Entry("muniment.faces.cli.restore:undo", say("Take a restore back.")),
        "section-done": Entry(
            "muniment.faces.cli.restore:section_done", say("Note that the host restored a section.")
        ),
        "schedule": Entry(
            "muniment.faces.cli.backup_schedule:schedule", say("Save every day on one consent.")
        ),
        "prune": Entry(
            "muniment.faces.cli.backup_schedule:prune", say("Delete scheduled snapshots by a policy.")
        ),
        "delete": Entry("muniment.faces.cli.backup_looking:delete", say("Delete one snapshot for good.")),
        "rules": Entry("muniment.faces.cli.backup_rules:RULES", say("Decide what is saved, once.")),
    },
    examples=("muniment backup create", "muniment backup list"),
)
