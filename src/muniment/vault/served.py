"""Floor 3, `vault`: the parts of a served vault, opened together as the settings say."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from muniment.clock import Clock
from muniment.disk import platform
from muniment.ids import Entropy
from muniment.settings import Settings
from muniment.vault.access import Network, networks
from muniment.vault.audit import Audit
from muniment.vault.keys import KeyRing, add_key
from muniment.vault.serve_settings import (
    CLAIM_NAME,
    PEERS,
    PROXIES,
    folder_in,
    keys_in,
    served_limits,
)
from muniment.vault.tenants import Tenants

AUDIT = "audit.jsonl"

ARENAS = 2
"""Of the allocator; threads that take uploads are many, and few of them run at once."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a server needs: the vaults, the keys, the audit, and who may call."""

    tenants: Tenants
    ring: KeyRing
    audit: Audit
    peers: Sequence[Network]
    proxies: Sequence[Network]
    claim: str


def open_served(settings: Settings, *, loopback: bool, clock: Clock, entropy: Entropy = os.urandom) -> Parts:
    """Open everything that a server needs.

    On loopback the first key is made where there is none; elsewhere that is `NoKeys`.
    """
    platform.share_arenas(ARENAS)
    keys = keys_in(settings)
    if loopback:
        add_key(keys, clock=clock, entropy=entropy, only_first=True)
    ring = KeyRing(keys)
    ring.keys()
    folder = folder_in(settings)
    peers, proxies = settings.get(PEERS), settings.get(PROXIES)
    tenants = Tenants(folder, clock=clock, entropy=entropy, limits=served_limits(settings))
    return Parts(
        tenants,
        ring,
        Audit(folder / AUDIT, clock),
        networks(peers),
        networks(proxies),
        settings.get(CLAIM_NAME),
    )
