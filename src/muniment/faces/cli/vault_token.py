"""Faces, command line: `muniment vault token`: tokens for the users of a served vault, and its keys."""

from __future__ import annotations

from muniment.clock import system_clock
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import command, option
from muniment.faces.cli.usage import wrong
from muniment.faces.cli.values import Whole
from muniment.message import say
from muniment.vault.keys import DAYS, DAYS_MOST, add_key, mint, retire_key
from muniment.vault.serve_settings import CLAIM_NAME, keys_in


@command(
    more=(
        say(
            "The first call makes the key. --new-key makes another one, with which tokens are made from "
            "then on; the former ones hold until their key is retired with --retire. The token alone goes "
            "to standard output; a key is never shown."
        ),
    ),
    examples=("muniment vault token --user alice --days 90",),
    rehearses=False,
)
@option("--user", metavar="NAME", about=say("Make a token for this user."))
@option(
    "--days",
    metavar="DAYS",
    type=Whole(1, DAYS_MOST),
    default=DAYS,
    about=say("For how many days it is valid."),
)
@option("--new-key", is_flag=True, about=say("Make a new key first."))
@option("--retire", metavar="KEY", about=say("Refuse every token of this key from now on."))
def token(call: Call, user: str | None, days: int, new_key: bool, retire: str | None) -> None:
    """Make tokens for users of a served vault, and change its keys."""
    if user is None and not new_key and retire is None:
        raise wrong(say("{parameter} is missing", parameter="--user"))
    settings = call.house.own_settings()
    path = keys_in(settings)
    kid = add_key(path, clock=system_clock, only_first=not new_key) if user or new_key else None
    if retire is not None:
        retire_key(path, retire, clock=system_clock)
    made = None
    if user is not None:
        made = mint(path, user, clock=system_clock, claim=settings.get(CLAIM_NAME), days=days)
    call.terminal.note(say("keys: {path}", path=str(path)))
    if kid is not None:
        call.terminal.note(say("key: {kid}", kid=kid))
    call.terminal.result(
        {"token": made, "key": kid, "retired": retire, "keys": str(path), "days": days},
        lambda: call.terminal.print(made) if made else None,
    )
