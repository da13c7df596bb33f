"""Floor 3, `vault`: what can be set about the vault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.settings import Setting, Settings, integer, text
from muniment.vault.place import Address, folder_of, is_remote

if TYPE_CHECKING:
    from muniment.bundle.vault import Limits


def _address(value: object) -> str:
    address = text(value)
    if is_remote(address):
        Address.of(address)
    elif address:
        folder_of(address)
    return address


VAULT_URL: Setting[str] = Setting(
    "vault.url",
    "",
    _address,
    "Where snapshots are kept, as file:///… or http(s)://…; empty: in your own data folder.",
    aliases=("MUNIMENT_VAULT",),
    personal=True,
)

SNAPSHOTS: Setting[int] = Setting(
    "vault.snapshots",
    0,
    integer(0, 1_000_000),
    "How many snapshots may be kept; 0: no limit.",
)

SNAPSHOT_BYTES: Setting[int] = Setting(
    "vault.snapshot_bytes",
    0,
    integer(0, 1 << 50),
    "How many bytes the tar.gz of one snapshot may have; 0: no limit.",
)

TOKEN_FILE: Setting[str] = Setting(
    "vault.token_file",
    "",
    text,
    "The file that holds the token for a vault over HTTP; CONTAINER_JWT counts before it.",
    personal=True,
)

SETTINGS = (VAULT_URL, SNAPSHOTS, SNAPSHOT_BYTES, TOKEN_FILE)


def limits_of(settings: Settings) -> Limits:
    """The limits that are set."""
    from muniment.bundle.vault import Limits  # not wanted by whoever only reads settings

    return Limits(snapshots=settings.get(SNAPSHOTS) or None, size=settings.get(SNAPSHOT_BYTES) or None)
