"""Faces, command line: confirming an act: at the terminal by the person, or passed on by `--yes`.

The confirmation is recorded with how it came and binds to exactly what was shown (spec 0,
consent); the act spends it.
"""

from __future__ import annotations

from muniment.errors import Interrupted
from muniment.faces.cli.call import Call
from muniment.message import Message
from muniment.record.consent import RELAYED, Confirmation, WitnessKind


def confirmed(call: Call, act: str, shown: bytes, question: Message) -> Confirmation:
    """Get the act confirmed and spend the confirmation.

    At a terminal the person is asked, unless `--yes` was typed there.  Elsewhere `--yes` counts
    as passed on by an agent, which suffices only for the acts that the setting names.
    """
    consents = call.house.workspace.consents
    if call.terminal.can_ask:
        if not call.options.yes and not call.terminal.ask(question):
            raise Interrupted(where=act)
        consents.give(act, shown, WitnessKind.TERMINAL)
    elif call.options.yes:
        consents.give(act, shown, WitnessKind.RELAYED)
    else:
        call.terminal.ask(question)
    return consents.spend(act, shown, call.house.settings().get(RELAYED))
