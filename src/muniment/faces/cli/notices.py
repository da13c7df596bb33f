"""Faces, command line: telling the program set as `notify.command` what nobody was watching."""

from __future__ import annotations

from muniment.backup.notices import Happened, Notice, damage, notice_of, tell
from muniment.backup.settings import NOTIFY
from muniment.canonical import Json
from muniment.clock import system_clock
from muniment.errors import MunimentError
from muniment.faces.cli.call import Call
from muniment.hosts.launch import attend
from muniment.message import Message, say
from muniment.path import printable
from muniment.record.state import is_initialised
from muniment.settings import BadSetting


def tell_of(
    call: Call, error: BaseException, *, event: Happened | None = None, backup_id: str | None = None
) -> Json:
    """Tell of an error; gives what the result says of it: None when no program is set."""
    where, root_id = _whence(call)
    return _hand_over(
        call,
        notice_of(
            error, at=system_clock(), workspace=where, root_id=root_id, event=event, backup_id=backup_id
        ),
    )


def tell_of_damage(call: Call, where: str, why: Message) -> Json:
    """Tell of damage that was found without an error."""
    workspace, root_id = _whence(call)
    return _hand_over(call, damage(where, why, at=system_clock(), workspace=workspace, root_id=root_id))


def _whence(call: Call) -> tuple[str, str]:
    """The workspace and its id; none is made by telling, and one that can not be read has none."""
    house = call.house
    try:
        root_id = house.workspace.identity.root_id if is_initialised(house.root) else ""
    except MunimentError:
        root_id = ""
    return printable(str(house.found.path)), root_id


def _hand_over(call: Call, notice: Notice) -> Json:
    why: Message | None
    try:
        command = call.house.settings().get(NOTIFY)
    except BadSetting as error:
        why = error.why or error.message  # whoever can not be told does not undo what was done
    else:
        if not command:
            return None
        # What it prints is nobody's business: the streams here belong to the act.
        why = tell(command, notice, lambda words, data: attend(words, data, keep=False))
    if why is None:
        return {"told": True, "why": None}
    call.terminal.note(say("⚠ The program set as notify.command was not told: {why}", why=why))
    return {"told": False, "why": str(why)}
