"""Faces, command line: `muniment backup restore, undo, section-done, verify`: what was kept comes back."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from muniment.backup.errors import NoUndo, RestoreLogBroken, RestoreStale, UndoIncomplete
from muniment.backup.fetching import Fetched
from muniment.backup.notices import Happened
from muniment.backup.placing import Advance, clears, makes
from muniment.backup.restore import Restores
from muniment.backup.restore_log import HalfRestore
from muniment.backup.restore_model import Applied, Item, Order, RestorePlan, Status, Undone
from muniment.backup.restore_rules import choose
from muniment.canonical import Json
from muniment.errors import Interrupted, NotVerified, RestoreHalfDone
from muniment.faces.cli.backup_pages import pick
from muniment.faces.cli.call import Call
from muniment.faces.cli.confirm import given
from muniment.faces.cli.frame import argument, command, option
from muniment.faces.cli.notices import tell_of
from muniment.faces.cli.restore_pages import (
    finish_applied,
    show_api,
    show_restore_plan,
    show_sections,
    show_trouble,
    show_undone,
)
from muniment.faces.cli.usage import wrong
from muniment.faces.errors import NobodyToAsk
from muniment.faces.i18n.present import size
from muniment.message import Message, say, say_count
from muniment.path import printable

_ID = say("A snapshot (bk_…).")


@command(
    rehearses=False,
    more=(
        say(
            "Without --apply nothing in place is touched: the snapshot is fetched, verified, and compared "
            "with what stands here."
        ),
        say(
            "What is replaced lies in an undo set; `muniment backup undo` puts it back. Files that run by "
            "themselves are asked for one by one; elsewhere they need --run."
        ),
    ),
    examples=(
        "muniment backup restore bk_20261130_142800_ab12",
        "muniment backup restore bk_20261130_142800_ab12 --apply",
        "muniment backup restore bk_… --only workspace/memory --apply --overwrite",
        "muniment backup restore bk_20261130_142800_ab12 --target /tmp/look",
    ),
)
@option("--apply", is_flag=True, about=say("Write the files that are new."))
@option("--overwrite", "--force", is_flag=True, about=say("With --apply: modified files too."))
@option("--run", is_flag=True, about=say("With --apply: also files that run by themselves."))
@option("--only", metavar="PATH", multiple=True, about=say("Only this, and what lies below it."))
@option("--exact", is_flag=True, about=say("Also move what the snapshot does not have into the undo set."))
@option("--target", metavar="FOLDER", about=say("Restore all of it into this new folder instead."))
@option("--plan", "plan_id", metavar="PLAN_ID", about=say("Only if this is still the plan."))
@option("--continue", "go_on", is_flag=True, about=say("Continue the restore that is half done."))
@option("--start-over", is_flag=True, about=say("Leave the restore that is half done, and begin anew."))
@option("--cancel", is_flag=True, about=say("Leave the restore that is half done, as it is."))
@argument("snapshot", required=False, about=_ID)
def restore(
    call: Call,
    snapshot: str | None,
    apply: bool,
    overwrite: bool,
    run: bool,
    only: tuple[str, ...],
    exact: bool,
    target: str | None,
    plan_id: str | None,
    go_on: bool,
    start_over: bool,
    cancel: bool,
) -> None:
    """Bring back what a snapshot keeps; a rehearsal unless --apply is given."""
    restores = call.house.restores
    if sum((go_on, start_over, cancel)) > 1:
        raise wrong(say("only one of --continue, --start-over, --cancel"), click.get_current_context())
    try:
        half = restores.half()
    except RestoreLogBroken:
        if not (start_over or cancel):
            raise
        aside = printable(str(restores.lay_log_aside()))
        call.terminal.note(say("The restore log could not be read; it lies at {path} now.", path=aside))
        if cancel:
            call.terminal.result({"cancelled": True, "log": aside})
            return
        half = None
    if half is not None or go_on or cancel:
        choice = _half_done(call, half, go_on=go_on, start_over=start_over, cancel=cancel)
        if choice == "continue":
            _continue(call, restores, snapshot)
            return
        left = restores.leave()
        if choice == "cancel":
            _tell_left(call, left)
            return
    if target is not None and (apply or overwrite or run or only or exact or plan_id):
        raise wrong(
            say("--target lays all of it into a new folder; no other choice goes with it"),
            click.get_current_context(),
        )
    snapshot = _picked(call, snapshot)
    if target is not None:
        _into(call, restores, snapshot, Path(target))
        return
    with _fetching(call) as advance:
        plan, fetched = restores.plan(snapshot, only=only, exact=exact, advance=advance)
    if plan_id is not None and plan_id != plan.plan_id:
        raise RestoreStale(where=plan.plan_id[:12], why=say("the plan shown was {plan}", plan=plan_id[:12]))
    if not apply:
        call.terminal.result(plan.to_json(), lambda: show_restore_plan(call, plan, fetched))
        asked = [part for path in only for part in ("--only", path)] + ["--exact"] * exact
        call.terminal.next_step(shlex.join(["muniment", "backup", "restore", snapshot, *asked, "--apply"]))
        return
    show_restore_plan(call, plan, fetched)
    order = _chosen(call, plan, overwrite=overwrite, exact=exact, run=run)
    _confirm(call, order)
    with _writing(call, order) as progress:
        applied = restores.apply(order, fetched, progress=progress)
    _tell(call, restores, plan, applied, fetched)


def lay_out(call: Call, snapshot: str) -> None:
    """Fetch a snapshot into the extraction folder, for `fetch` without a file."""
    with _fetching(call) as advance:
        fetched = call.house.restores.fetch(snapshot, advance=advance)
    place = f"{fetched.folder.path}/{fetched.place.posix}"
    sections = fetched.by_section()
    call.terminal.result(
        {
            "backup_id": snapshot,
            "folder": place,
            "files": fetched.files,
            "content_bytes": fetched.size,
            "sections": {name: list(sums) for name, sums in sections.items()},
        },
        lambda: show_sections(call, sections, place),
    )
    call.terminal.next_step(f"muniment backup restore {snapshot}")


def _picked(call: Call, snapshot: str | None) -> str:
    if snapshot is not None:
        return snapshot
    if not call.terminal.can_ask:
        raise wrong(say("name the snapshot that shall be restored"), click.get_current_context())
    return pick(call, call.house.backups.list()).id


@contextmanager
def _fetching(call: Call) -> Iterator[Callable[[int], None]]:
    with call.terminal.progress(say("fetching")) as advance:
        yield advance


@contextmanager
def _writing(call: Call, order: Order) -> Iterator[Advance]:
    total = sum(step.after.size for step in order.steps if step.after)
    with call.terminal.progress(say("restoring"), total) as advance:
        yield advance


def _half_done(call: Call, half: HalfRestore | None, *, go_on: bool, start_over: bool, cancel: bool) -> str:
    """What shall become of a restore that is half done: `continue`, `over` or `cancel`."""
    if go_on:
        return "continue"
    if cancel:
        return "cancel"
    if start_over:
        return "over"
    assert half is not None
    done, of = half.progress
    terminal = call.terminal
    if not terminal.can_ask:
        raise RestoreHalfDone(
            where=printable(half.backup_id),
            why=say("{done} of {of} sections are restored since {begun}", done=done, of=of, begun=half.begun),
        )
    terminal.note(
        say(
            "The restore of {id}, begun {begun}, is half done: {done} of {of} sections.",
            id=printable(half.backup_id),
            begun=printable(half.begun),
            done=done,
            of=of,
        )
    )
    word = terminal.ask_text(say("Type continue, over (to begin anew) or cancel (to leave it)")).lower()
    if word not in ("continue", "over", "cancel"):
        raise Interrupted(where=printable(half.backup_id))
    return word


def _continue(call: Call, restores: Restores, snapshot: str | None) -> None:
    with call.terminal.progress(say("restoring")) as advance:
        applied = restores.go_on(snapshot, progress=advance)
    _tell(call, restores, None, applied, None)


def _tell_left(call: Call, half: HalfRestore) -> None:
    call.terminal.result(
        {"backup_id": half.backup_id, "restore": half.restore, "cancelled": True},
        lambda: call.terminal.say(
            say("The restore of {id} was left as it is.", id=printable(half.backup_id))
        ),
    )
    call.terminal.next_step(f"muniment backup undo {half.restore}")


def _into(call: Call, restores: Restores, snapshot: str, target: Path) -> None:
    with call.terminal.progress(say("restoring")) as advance:
        verified, place = restores.into(snapshot, target, advance)
    call.terminal.result(
        {
            "backup_id": snapshot,
            "target": str(place),
            "files": verified.files,
            "content_bytes": verified.size,
            "sections": {name: list(sums) for name, sums in verified.sections.items()},
        },
        lambda: show_sections(call, verified.sections, str(place)),
    )


def _chosen(call: Call, plan: RestorePlan, *, overwrite: bool, exact: bool, run: bool) -> Order:
    """What of the plan is to be done: at a terminal each modified and each running file is asked for."""
    terminal = call.terminal
    if not terminal.can_ask:
        return choose(plan, overwrite=overwrite, exact=exact, run=run)
    picked: set[tuple[str, str]] = set()
    for item in plan.of(Status.NEW, Status.MODIFIED):
        wanted = item.status is Status.NEW or overwrite
        asked = item.runs and not run
        if item.status is Status.MODIFIED and not call.options.yes:
            asked = True
        if wanted and (not asked or terminal.ask(_question(item))):
            picked.add((item.step.section, item.step.rel))
    return choose(plan, overwrite=overwrite, exact=exact, run=run, only=frozenset(picked))


def _question(item: Item) -> Message:
    path = printable(f"[{item.step.section}] {item.step.rel}")
    if item.runs:
        return say("{path} runs by itself once it is there. Restore it?", path=path)
    return say("Overwrite {path}?", path=path)


def _confirm(call: Call, order: Order) -> None:
    files = sum(1 for step in order.steps if not (makes(step) or clears(step)))
    question = say_count("Restore {count} file?", "Restore {count} files?", files)
    nobody = say("--yes confirms the plan shown")
    given(call, "restore", order.shown, question, where=order.plan.backup_id, nobody=nobody)


def _tell(
    call: Call, restores: Restores, plan: RestorePlan | None, applied: Applied, fetched: Fetched | None
) -> None:
    finish_applied(call, plan, applied)
    if applied.open:
        _show_open(call, restores, applied.open[0], fetched)
    else:
        call.terminal.next_step("muniment backup undo")


def _show_open(call: Call, restores: Restores, name: str, fetched: Fetched | None) -> None:
    """The next section that the host's own tools restore."""
    data = restores.kept_section(name, fetched)
    if data is not None:
        show_api(call, name, data)
    call.terminal.next_step(f"muniment backup section-done {name}")


@command(
    rehearses=False,
    more=(say("Settings, profile and scheduled tasks are restored by the host's own tools, one by one."),),
    examples=("muniment backup section-done settings",),
)
@argument("name", about=say("settings, profile or scheduled_tasks."))
def section_done(call: Call, name: str) -> None:
    """Note that the host has restored a section of its settings."""
    restores = call.house.restores
    half = restores.section_done(name)
    still = [] if half is None else [one for one in half.sections if one not in half.done]
    call.terminal.result(
        {"section": name, "open_sections": list(still), "finished": half is None},
        lambda: call.terminal.say(
            say("The restore is finished.")
            if half is None
            else say("noted: {name}; still open: {names}", name=name, names=tuple(still))
        ),
    )
    if still:
        _show_open(call, restores, still[0], None)


@command(
    rehearses=False,
    more=(say("What changed since the restore is kept as it is, and named."),),
    examples=("muniment backup undo --list", "muniment backup undo 01M8P570G0X2AHZAQP4MK26C10"),
)
@option("--list", "list_all", is_flag=True, about=say("Only list what can be undone."))
@argument("restore_id", required=False, about=say("The restore, as --list shows it."))
def undo(call: Call, restore_id: str | None, list_all: bool) -> None:
    """Take a restore back: put back what it replaced, remove what it made."""
    restores = call.house.restores
    terminal = call.terminal
    sets = restores.undo_sets()
    if list_all:
        rows: list[Json] = [
            {"restore": one.restore, "backup_id": one.backup_id, "begun": one.begun, "steps": one.steps}
            for one in sets
        ]

        def people() -> None:
            for one in sets:
                terminal.print(f"{one.restore}  {one.begun}  {printable(one.backup_id)}  {one.steps}")
            if not sets:
                terminal.say(say("No restore can be undone."))

        terminal.result({"undo_sets": rows}, people)
        return
    if restore_id is None:
        if len(sets) != 1:
            raise NoUndo(why=say_count("there is {count}; name it", "there are {count}; name one", len(sets)))
        restore_id = sets[0].restore
    if terminal.can_ask:
        if not call.options.yes and not terminal.ask(say("Take back the restore {id}?", id=restore_id)):
            raise Interrupted(where=restore_id)
    elif not call.options.yes:
        raise NobodyToAsk(why=say("--yes confirms it"))
    undone: Undone = restores.undo(restore_id)
    terminal.result(undone.to_json(), lambda: show_undone(call, undone))
    if undone.kept:
        for trouble in undone.kept:
            show_trouble(call, trouble)
        raise UndoIncomplete(where=restore_id, count=len(undone.kept))


@command(examples=("muniment backup verify bk_20261130_142800_ab12",))
@argument("snapshot", about=_ID)
def verify(call: Call, snapshot: str) -> None:
    """Read a whole snapshot back and compare every file with what was kept."""
    try:
        reading = call.house.backups.reading(snapshot)
        verified = reading.verify()
    except NotVerified as error:
        told = tell_of(call, error, event=Happened.DAMAGED, backup_id=printable(snapshot))
        call.terminal.result({"backup_id": printable(snapshot), "notified": told})
        raise
    call.terminal.result(
        {
            "backup_id": reading.snapshot.id,
            "root": str(reading.snapshot.root),
            "files": verified.files,
            "content_bytes": verified.size,
            "sections": {name: list(sums) for name, sums in verified.sections.items()},
        },
        lambda: call.terminal.say(
            say_count(
                "{count} file verified, {size}",
                "{count} files verified, {size}",
                verified.files,
                size=size(verified.size),
            )
        ),
    )
