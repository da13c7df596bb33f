"""Faces, command line: how restore plans and what came of them look (spec 4, restore: the exact form)."""

from __future__ import annotations

from collections.abc import Mapping

from muniment.backup.errors import RestoreFailed
from muniment.backup.fetching import Fetched
from muniment.backup.restore_diff import BYTES_MOST, differing_lines
from muniment.backup.restore_model import Applied, Item, RestorePlan, Status, Trouble, Undone, is_counted
from muniment.canonical import Json, NotJson, read_json
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.evidence import Kind
from muniment.faces.cli.call import Call
from muniment.faces.i18n.present import size
from muniment.message import say, say_count
from muniment.path import RelPath, printable


def show_restore_plan(call: Call, plan: RestorePlan, fetched: Fetched) -> None:
    """The plan, item by item; sizes are exact, and modified texts are shown with their differences."""
    terminal = call.terminal
    terminal.say(say("Pre-apply integrity check: OK ({count} files verified)", count=plan.files))
    terminal.say(
        say(
            "Restore plan (workspace={workspace}, data={data})",
            workspace=printable(plan.workspace_dir),
            data=printable(plan.data_dir),
        )
    )
    new, same, modified = (plan.count(one) for one in (Status.NEW, Status.UNCHANGED, Status.MODIFIED))
    terminal.say(say("  new       : {count} file(s)", count=new))
    terminal.say(say("  unchanged : {count} file(s) (will skip)", count=same))
    terminal.say(say("  modified  : {count} file(s) (will overwrite with --force)", count=modified))
    _list(call, plan, Status.NEW)
    if modified:
        terminal.say(say("MODIFIED (existing content differs):"))
        for item in plan.of(Status.MODIFIED):
            terminal.print(f"  ~ {_name(item)}{_runs(call, item)}")
            _differences(call, item, plan, fetched)
    _list(call, plan, Status.SURPLUS)
    blocked = plan.of(Status.BLOCKED)
    if blocked:
        terminal.say(say("BLOCKED (can not be put there):"))
        for item in blocked:
            why = terminal.text(item.why) if item.why else ""
            terminal.print(f"  ! {_name(item)}  {why}")
    aside = plan.count(Status.ASIDE)
    if aside:
        terminal.say(
            say_count(
                "Machine state as it was (ledger, journals): {count} file, laid in {folder}; yours stays.",
                "Machine state as it was (ledger, journals): {count} files, laid in {folder}; yours stays.",
                aside,
                folder=f".muniment/restored/{plan.backup_id}",
            )
        )
    for warning in plan.warnings:
        terminal.say(say("⚠ {warning}", warning=warning))
    if plan.partial:
        terminal.say(say("⚠ the snapshot is partial: what could not be read then is not in it"))


def _list(call: Call, plan: RestorePlan, status: Status) -> None:
    # A folder that is made says nothing that its files do not say; one that goes is shown.
    shown = [item for item in plan.of(status) if status is Status.SURPLUS or is_counted(item)]
    if not shown:
        return
    terminal = call.terminal
    if status is Status.NEW:
        terminal.say(say("NEW:"))
    else:
        terminal.say(say("NOT IN THE SNAPSHOT (goes into the undo set):"))
    sign = "+" if status is Status.NEW else "-"
    for item in shown:
        face = item.step.after or item.step.before
        if not is_counted(item):
            terminal.print(f"  {sign} {_name(item)}/")
            continue
        link = face is not None and face.kind is Kind.LINK
        facts = f"-> {printable(face.target)}" if face and link else f"({face.size if face else 0} B)"
        terminal.print(f"  {sign} {_name(item)}  {facts}{_runs(call, item)}")


def _name(item: Item) -> str:
    return f"[{item.step.section}] {printable(item.step.rel)}"


def _runs(call: Call, item: Item) -> str:
    return "  " + call.terminal.text(say("⚠ runs by itself")) if item.runs else ""


def _differences(call: Call, item: Item, plan: RestorePlan, fetched: Fetched) -> None:
    """What differs in one file: 40 lines at most; a binary file is only said to be one."""
    terminal, step = call.terminal, item.step
    if step.before is None or step.after is None:
        return
    if Kind.LINK in (step.before.kind, step.after.kind):
        one, other = (
            f"-> {printable(face.target)}" if face.kind is Kind.LINK else f"({face.size} B)"
            for face in (step.before, step.after)
        )
        terminal.print(f"    - {one}")
        terminal.print(f"    + {other}")
        return
    if max(step.before.size, step.after.size) > BYTES_MOST:
        terminal.say(
            say(
                "    (too large to compare: {before} B, {after} B)",
                before=step.before.size,
                after=step.after.size,
            )
        )
        return
    place = plan.workspace_dir if step.section == "workspace" else plan.data_dir
    try:
        with Root.open(place) as root:
            here = root.read(RelPath.parse(step.rel), BYTES_MOST)
        there = fetched.folder.read(fetched.rel(step.source), BYTES_MOST)
    except MunimentError as error:
        terminal.say(say("    (can not be compared: {why})", why=error.why or error.message))
        return
    found = differing_lines(here, there)
    if found is None:
        terminal.say(
            say("    (binary: {before} B, {after} B)", before=step.before.size, after=step.after.size)
        )
        return
    lines, more = found
    for line in lines:
        terminal.print(f"    {printable(line)}")
    if more:
        terminal.say(say_count("    … {count} more line", "    … {count} more lines", more))


def finish_applied(call: Call, plan: RestorePlan | None, applied: Applied) -> None:
    """The result of a restore; `RestoreFailed` when something of it could not be done."""
    blocked = plan.of(Status.BLOCKED) if plan else []
    value: dict[str, Json] = applied.to_json()
    value["blocked"] = [item.to_json() for item in blocked]
    errors = len(applied.troubles) + len(blocked)
    call.terminal.result(value, lambda: show_applied(call, applied, errors))
    for trouble in applied.troubles:
        show_trouble(call, trouble)
    if errors:
        raise RestoreFailed(where=applied.backup_id, count=errors)


def show_applied(call: Call, applied: Applied, errors: int) -> None:
    """What a restore did, in one line, and where machine state lies."""
    terminal = call.terminal
    terminal.say(
        say(
            "Applied: wrote={wrote} skipped_modified={skipped} errors={errors}",
            wrote=applied.wrote,
            skipped=applied.skipped,
            errors=errors,
        )
    )
    if applied.aside:
        terminal.say(
            say(
                "Machine state as it was lies in {folder}; the ledger here goes on, and names that one.",
                folder=printable(applied.aside),
            )
        )
    if applied.open:
        terminal.say(say("Still to be restored by the host's own tools: {names}", names=tuple(applied.open)))


def show_trouble(call: Call, trouble: Trouble) -> None:
    """One step that was not done."""
    call.terminal.note(
        say(
            "  ! [{section}] {path}: {why} ({code})",
            section=trouble.section,
            path=printable(trouble.rel),
            why=trouble.why,
            code=trouble.code,
        )
    )


def show_undone(call: Call, undone: Undone) -> None:
    """What undoing did."""
    call.terminal.say(
        say(
            "Undone: put_back={back} removed={removed} kept={kept}",
            back=undone.put_back,
            removed=undone.removed,
            kept=len(undone.kept),
        )
    )


def show_api(call: Call, section: str, data: bytes) -> None:
    """A section that the host's own tools restore, as it was kept."""
    call.terminal.say(say("{section}, as it was kept:", section=section))
    try:
        shown = read_json(data)
    except NotJson:
        shown = None
    if isinstance(shown, list):
        for row in shown:
            call.terminal.print(f"  {printable(str(row))}")
    elif isinstance(shown, dict):
        for key, value in shown.items():
            call.terminal.print(f"  {printable(str(key))}: {printable(str(value))}")


def show_sections(call: Call, sections: Mapping[str, tuple[int, int]], place: str) -> None:
    """Files and bytes by section, and where they lie."""
    terminal = call.terminal
    terminal.table(
        [say("section"), say("files"), say("size")],
        [(printable(name), files, size(amount)) for name, (files, amount) in sections.items()],
    )
    terminal.say(say("Every file was verified; they lie in {path}.", path=printable(place)))
