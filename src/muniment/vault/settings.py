"""Floor 3, `vault`: what can be set about the vault."""

from __future__ import annotations

from muniment.settings import Setting, text
from muniment.vault.place import folder_of


def _address(value: object) -> str:
    address = text(value)
    if address:
        folder_of(address)
    return address


VAULT_URL: Setting[str] = Setting(
    "vault.url",
    "",
    _address,
    "Where snapshots are kept, as file:///…; empty: in your own data folder.",
    aliases=("MUNIMENT_VAULT",),
)

SETTINGS = (VAULT_URL,)
