"""Faces, command line: `muniment backup schedule, prune` and the run that a timer calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from muniment.backup.errors import ScheduleRunning
from muniment.backup.model import Plan, Receipt
from muniment.backup.prune import Choice, Pruning
from muniment.backup.schedule import Scheduled, Schedules
from muniment.backup.schedule_rules import KEPT_MOST, Policy, Terms, is_daily
from muniment.backup.timers import Timer
from muniment.bundle.vault import Snapshot
from muniment.canonical import Json
from muniment.faces.cli.backup_pages import partial_of, show_plan, show_receipt
from muniment.faces.cli.call import Call
from muniment.faces.cli.confirm import given
from muniment.faces.cli.frame import command, option
from muniment.faces.cli.notices import tell_of
from muniment.faces.cli.schedule_pages import show_choice, show_schedule, show_terms
from muniment.faces.cli.usage import wrong
from muniment.faces.cli.values import Whole, Word
from muniment.message import Message, say, say_count
from muniment.path import printable

_MIB = 1 << 20
_MOST_MIB = 1 << 24

F = TypeVar("F", bound=Callable[..., object])


def _keeping(*, days: Message, weeks: Message) -> Callable[[F], F]:
    """Gives a command the two options of a policy."""

    def decorate(act: F) -> F:
        for name, about in (("--keep-weekly", weeks), ("--keep-daily", days)):
            act = option(name, metavar="N", type=Whole(0, KEPT_MOST), about=about)(act)
        return act

    return decorate


@command(
    more=(
        say(
            "Without options it shows the schedule. With --daily it shows what would be saved every day and "
            "asks once; from then on a run saves without asking, as long as the rules and what goes in at "
            "the top stay the same and the size stays below the cap. Anything else stops it."
        ),
        say("The time is the machine's own local time. -n shows everything and keeps nothing."),
    ),
    examples=(
        "muniment backup schedule --daily 03:30 --install",
        "muniment backup schedule --daily 03:30 --keep-daily 7 --keep-weekly 4",
        "muniment backup schedule --uninstall",
    ),
)
@option("--daily", metavar="HH:MM", about=say("Save every day at this time."))
@option("--install", is_flag=True, about=say("Set the timer too, instead of printing what is to be entered."))
@option("--uninstall", is_flag=True, about=say("Take the timer away, and the consent back."))
@option(
    "--timer",
    "kind",
    type=Word("cron", "systemd", "openclaw"),
    about=say("By which timer; otherwise the first of them that there is here."),
)
@option(
    "--max-size",
    "most_mib",
    metavar="MIB",
    type=Whole(1, _MOST_MIB),
    about=say("Stop when more MiB than this are to be saved; otherwise twice of what there is now."),
)
@_keeping(
    days=say("After each run keep scheduled snapshots of the last N days that have any."),
    weeks=say("After each run keep scheduled snapshots of the last N weeks that have any."),
)
@option(
    "--api-dir",
    metavar="FOLDER",
    about=say("The folder in which each run finds profile, settings and scheduled tasks."),
)
def schedule(
    call: Call,
    daily: str | None,
    install: bool,
    uninstall: bool,
    kind: str | None,
    most_mib: int | None,
    keep_daily: int | None,
    keep_weekly: int | None,
    api_dir: str | None,
) -> None:
    """Save every day on one consent, or show how that stands."""
    if install and uninstall:
        raise wrong(say("only one of --install, --uninstall"), click.get_current_context())
    if uninstall:
        _uninstall(call, kind)
        return
    if daily is None:
        more = (kind, most_mib, keep_daily, keep_weekly, api_dir)
        if install or any(one is not None for one in more):
            raise wrong(say("--daily HH:MM says when"), click.get_current_context())
        _show(call)
        return
    if not is_daily(daily):
        why = say("{value} is no time of day, such as 03:30", value=printable(daily))
        raise wrong(why, click.get_current_context())
    from muniment.backup.api import folder_named

    schedules, house = call.house.schedules, call.house
    timer = house.timer(kind, daily)
    terms, plan = schedules.propose(
        daily,
        most_bytes=None if most_mib is None else most_mib * _MIB,
        policy=_policy(keep_daily, keep_weekly),
        api_dir=None if api_dir is None else folder_named(api_dir),
    )
    _propose(call, terms, plan, timer)
    if call.options.dry_run:
        _told(call, terms, timer, consented=False, installed=False)
        return
    _consent(call, terms)
    schedules.begin(terms)
    if install:
        _install(call, schedules, timer)
    _told(call, terms, timer, consented=True, installed=install)
    call.terminal.next_step("muniment backup schedule")


def _policy(daily: int | None, weekly: int | None) -> Policy | None:
    return None if daily is None and weekly is None else Policy(daily or 0, weekly or 0)


def _propose(call: Call, terms: Terms, plan: Plan, timer: Timer) -> None:
    """Show all that the consent is for; on stderr too where a program gets the result."""
    show_plan(call, plan.to_json())
    show_terms(call, terms)
    only_here = [
        one.setting.name
        for one in call.house.settings().explain()
        if one.origin == "environment" and one.setting.name.split(".")[0] in ("vault", "backup", "notify")
    ]
    if only_here:
        call.terminal.note(
            say(
                "⚠ {names} come from the environment of this call, which a timer does not have. Set them in "
                "your own configuration file.",
                names=tuple(only_here),
            )
        )


def _consent(call: Call, terms: Terms) -> None:
    question = say("Save this every day at {time} without asking again?", time=terms.daily)
    given(call, "schedule", terms.shown, question, nobody=say("a person consents to it at a terminal"))


def _install(call: Call, schedules: Schedules, timer: Timer) -> None:
    former = schedules.timer
    if former is not None and former != timer.kind:
        call.house.timer(former, "00:00").remove()
        schedules.note_timer(None)
    timer.install()
    schedules.note_timer(timer.kind)


def _told(call: Call, terms: Terms, timer: Timer, *, consented: bool, installed: bool) -> None:
    value: dict[str, Json] = {
        **terms.to_json(),
        "consented": consented,
        "timer": timer.kind,
        "installed": installed,
        "entry": timer.entry(),
    }

    def people() -> None:
        if installed:
            call.terminal.say(say("The timer is set ({kind}).", kind=timer.kind))
            return
        call.terminal.say(say("To be entered ({kind}):", kind=timer.kind))
        call.terminal.print(timer.entry().rstrip("\n"))

    call.terminal.result(value, people)


def _uninstall(call: Call, kind: str | None) -> None:
    schedules = call.house.schedules
    known = kind or schedules.timer
    if call.options.dry_run:
        call.terminal.result(
            {"timer": known, "removed": False, "ended": False},
            lambda: call.terminal.say(say("The timer and the consent would go.")),
        )
        return
    # The consent first: should the timer stay, its runs save nothing.
    removed = False
    ended = schedules.end()
    if known is not None:
        removed = call.house.timer(known, "00:00").remove()

    def people() -> None:
        call.terminal.say(say("The consent is taken back.") if ended else say("There was no consent."))
        call.terminal.say(
            say("The timer is gone.") if removed else say("No timer was noted; none was removed.")
        )

    call.terminal.result({"timer": known, "removed": removed, "ended": ended}, people)


def _show(call: Call) -> None:
    found: Scheduled | None = call.house.scheduled()
    if found is None:
        call.terminal.result(
            {"schedule": None},
            lambda: call.terminal.say(say("There is no schedule: each snapshot is asked for.")),
        )
        call.terminal.next_step("muniment backup schedule --daily 03:30 --install")
        return
    call.terminal.result({"schedule": found.to_json()}, lambda: show_schedule(call, found))


def run_scheduled(call: Call) -> None:
    """The run that a timer calls: nobody is asked, and whoever is to know is told."""
    pruned: list[Json] = []
    try:
        receipt: Receipt = call.house.schedules.run(removed=pruned.append)
    except ScheduleRunning:
        raise  # the other run tells what there is to tell
    except Exception as error:
        told = tell_of(call, error)
        call.terminal.result({"pruned": pruned, "notified": told})
        raise
    partial = partial_of(receipt) if receipt.partial else None
    told = None if partial is None else tell_of(call, partial, backup_id=receipt.snapshot.id)
    value = {**receipt.to_json(), "pruned": pruned, "notified": told}
    call.terminal.result(value, lambda: show_receipt(call, receipt))
    if partial is not None:
        raise partial


@command(
    more=(
        say(
            "Only scheduled snapshots of this workspace go; those that somebody asked for stay. Of each of "
            "the last N days, and weeks from Monday, that have any, in local time, the newest that lacks "
            "nothing stays. The newest of all always stays."
        ),
    ),
    examples=("muniment backup prune --keep-daily 7 --keep-weekly 4 -n",),
)
@_keeping(
    days=say("Keep scheduled snapshots of the last N days that have any."),
    weeks=say("Keep scheduled snapshots of the last N weeks that have any."),
)
def prune(call: Call, keep_daily: int | None, keep_weekly: int | None) -> None:
    """Delete scheduled snapshots that a policy does not keep."""
    policy = _policy(keep_daily, keep_weekly)
    if policy is None:
        raise wrong(
            say("--keep-daily N, --keep-weekly N or both say what stays"), click.get_current_context()
        )
    terminal, house = call.terminal, call.house
    pruning = Pruning(house.backups, house.local_time)
    choice = pruning.choose(policy)
    if call.options.dry_run or not choice.go:
        terminal.result({**choice.to_json(), "deleted": []}, lambda: show_choice(call, choice))
        return
    show_choice(call, choice)
    _confirm_prune(call, choice)
    gone: Sequence[Snapshot] = pruning.confirmed(choice)
    deleted: list[Json] = [one.id for one in gone]
    count = len(gone)
    terminal.result(
        {**choice.to_json(), "deleted": deleted},
        lambda: terminal.say(say_count("{count} snapshot deleted.", "{count} snapshots deleted.", count)),
    )


def _confirm_prune(call: Call, choice: Choice) -> None:
    question = say_count(
        "Delete {count} scheduled snapshot for good?",
        "Delete {count} scheduled snapshots for good?",
        len(choice.go),
    )
    given(call, "prune", choice.shown, question, nobody=say("--yes confirms what -n shows"))
