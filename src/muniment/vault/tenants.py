"""Floor 3, `vault`: many owners in one folder: a vault of its own for each, opened while it is used.

lock                     held by everyone who has one of the vaults open
tenants/<cc>/<tenant>/   a vault as `open_directory` makes it; <cc> are the name's first two characters

A tenant is 64 hexadecimal digits (`tokens.tenant_of`), so no name from outside ever becomes a path.
Extents are shared inside one tenant only.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from muniment.bundle.vault import Limits
from muniment.clock import Clock
from muniment.disk.errors import named
from muniment.errors import MunimentError
from muniment.ids import Entropy
from muniment.vault.collect import Collected, collect
from muniment.vault.open import open_directory
from muniment.vault.serve_settings import LABEL, SESSIONS, SNAPSHOT_BYTES, SNAPSHOTS
from muniment.vault.store import VaultStore
from muniment.vault.whole import Wholes

FOLDER = "tenants"
OPEN_MOST = 64
"""Vaults that stay open while nobody uses them."""

SERVED = Limits(SNAPSHOTS.default, SNAPSHOT_BYTES.default, LABEL.default, SESSIONS.default)
"""What a tenant may keep where nothing else is set (spec 5, HTTP)."""

_TENANT = re.compile(r"[0-9a-f]{64}")


@dataclass(slots=True)
class Tenant:
    """A tenant's vault while it is open; `users` are the calls that are using it."""

    store: VaultStore
    wholes: Wholes
    users: int = 0


class Tenants:
    """The vaults below one folder; safe from several threads, beside other processes."""

    def __init__(
        self,
        folder: Path,
        *,
        clock: Clock,
        entropy: Entropy = os.urandom,
        limits: Limits = SERVED,
        open_most: int = OPEN_MOST,
    ) -> None:
        self.folder = folder
        self.limits = limits
        self.clock = clock
        self._entropy = entropy
        self._open_most = open_most
        self._open: OrderedDict[str, Tenant] = OrderedDict()
        self._lock = Lock()
        self._opening: dict[str, Lock] = {}
        with named(str(folder)):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / FOLDER).mkdir(exist_ok=True, mode=0o700)

    @contextmanager
    def using(self, tenant: str) -> Iterator[Tenant]:
        """The vault of a tenant, which stays open for the length of a block; made when missing."""
        found = self._take(tenant)
        try:
            yield found
        finally:
            self._give_back(found)

    def names(self) -> list[str]:
        """Every tenant that has a vault."""
        root = self.folder / FOLDER
        return sorted(
            name.name
            for part in _folders(root)
            for name in _folders(part)
            if _TENANT.fullmatch(name.name) and name.name.startswith(part.name)
        )

    def require_usable(self) -> None:
        """Fail as a call would, where the folder can not be used."""
        with named(str(self.folder)):
            os.scandir(self.folder / FOLDER).close()

    def collect(self, tenant: str) -> Collected:
        """Collect the garbage of one tenant."""
        with self.using(tenant) as found:
            return collect(found.store)

    @property
    def opened(self) -> int:
        """How many vaults are open."""
        with self._lock:
            return len(self._open)

    def close(self) -> None:
        """Close those that nobody uses; the others are closed by whoever ends last."""
        with self._lock:
            self._open_most = 0
        self._shrink()

    def _take(self, tenant: str) -> Tenant:
        if not _TENANT.fullmatch(tenant):
            raise ValueError("a tenant is named by 64 hexadecimal digits")
        while True:
            with self._lock:
                found = self._open.get(tenant)
                if found is not None:
                    found.users += 1
                    self._open.move_to_end(tenant)
                    return found
                opening = self._opening.setdefault(tenant, Lock())
            with opening:
                # One store, and one lock, for a tenant: whoever waited here finds it open, or closed again
                # and perhaps being opened by somebody who came later.
                with self._lock:
                    if tenant in self._open or self._opening.get(tenant) is not opening:
                        continue
                store = open_directory(
                    self.folder / FOLDER / tenant[:2] / tenant,
                    clock=self.clock,
                    entropy=self._entropy,
                    limits=self.limits,
                )
                found = Tenant(store, Wholes(store), users=1)
                with self._lock:
                    self._open[tenant] = found
                    self._opening.pop(tenant, None)
            self._shrink()
            return found

    def _give_back(self, found: Tenant) -> None:
        with self._lock:
            found.users -= 1
        self._shrink()

    def _shrink(self) -> None:
        """Close what was used longest ago, as far as nobody uses it now."""
        closing: list[Tenant] = []
        with self._lock:
            for name, one in list(self._open.items()):
                if len(self._open) <= self._open_most:
                    break
                if one.users == 0:
                    closing.append(self._open.pop(name))
        for one in closing:
            with suppress(MunimentError):
                one.store.close()


def _folders(folder: Path) -> list[Path]:
    with named(str(folder)):
        return [Path(one.path) for one in os.scandir(folder) if one.is_dir(follow_symlinks=False)]
