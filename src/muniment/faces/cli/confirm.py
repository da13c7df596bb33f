"""Faces, command line: confirming an act: at the terminal by the person, or passed on by `--yes`.

The confirmation is recorded with how it came and binds to exactly what was shown (spec 0,
consent); the act spends it.
"""

from __future__ import annotations

from muniment.errors import Interrupted
from muniment.faces.cli.call import Call
from muniment.faces.errors import NobodyToAsk
from muniment.message import Message
from muniment.record.consent import RELAYED, Confirmation, WitnessKind


def confirmed(call: Call, act: str, shown: bytes, question: Message) -> Confirmation:
    """Get the act confirmed and spend the confirmation.

    At a terminal the person is asked, unless `--yes` was typed there.  Elsewhere `--yes` counts
    as passed on by an agent, which suffices only for the acts that the setting names.
    """
    given(call, act, shown, question)
    return call.house.workspace.consents.spend(act, shown, call.house.settings().get(RELAYED))


def given(
    call: Call, act: str, shown: bytes, question: Message, *, where: str = "", nobody: Message | None = None
) -> None:
    """Get the act confirmed, for whoever spends it later; `nobody` says how it is done where none can
    be asked, and `where` names what was not done."""
    consents, terminal = call.house.workspace.consents, call.terminal
    if terminal.can_ask:
        if not call.options.yes and not terminal.ask(question):
            raise Interrupted(where=where or act)
        consents.give(act, shown, WitnessKind.TERMINAL)
    elif call.options.yes:
        consents.give(act, shown, WitnessKind.RELAYED)
    elif nobody is not None:
        raise NobodyToAsk(why=nobody)
    else:
        terminal.ask(question)
