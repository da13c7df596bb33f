"""Floor 3, `vault`: which token a client of a vault over HTTP carries; never one from a flag.

`CONTAINER_JWT`, else a file that is set; else, for a server on this very machine whose keys this user
may read, a token that is made on the spot.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from muniment.clock import Clock
from muniment.disk.errors import named
from muniment.message import say
from muniment.path import printable
from muniment.settings import Settings
from muniment.vault.access import is_loopback
from muniment.vault.errors import TokenRefused
from muniment.vault.place import Address
from muniment.vault.settings import TOKEN_FILE

VARIABLE = "CONTAINER_JWT"
_MOST = 16 << 10


def token_source(
    address: Address, settings: Settings, environment: Mapping[str, str], clock: Clock
) -> Callable[[], str]:
    """A function that gives the token; it is read anew each time, since tokens are renewed."""

    def given() -> str:
        said = environment.get(VARIABLE, "").strip()
        if said:
            return _sound(said, VARIABLE)
        file = settings.get(TOKEN_FILE)
        if file:
            path = Path(file).expanduser()
            with named(str(path)):
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
                with open(fd, "rb") as stream:
                    data = stream.read(_MOST)
            return _sound(data.decode("ascii", "replace").strip(), str(path))
        if is_loopback(address.host):
            return _own(settings, clock)
        raise TokenRefused(why=say("set CONTAINER_JWT, or `vault.token_file`"))

    return given


def _own(settings: Settings, clock: Clock) -> str:
    try:
        from muniment.vault.keys import mint
    except ModuleNotFoundError as error:  # without the extra `serve` tokens are made elsewhere
        raise TokenRefused(why=say("set CONTAINER_JWT, or `vault.token_file`")) from error
    from muniment.vault.serve_settings import CLAIM_NAME, LOCAL_USER, keys_in

    return mint(keys_in(settings), LOCAL_USER, clock=clock, claim=settings.get(CLAIM_NAME), days=1)


def _sound(token: str, where: str) -> str:
    """A token can stand in a header, or it is none."""
    if not token.isascii() or not token.isprintable() or " " in token or not token:
        raise TokenRefused(where=printable(where), why=say("what is there is no token"))
    return token
