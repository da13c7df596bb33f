"""Vaults on a directory, as the tests found them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from tests.vault.content import Ticking, entropy

from muniment.bundle.vault import Limits
from muniment.vault.collect import collect
from muniment.vault.open import open_directory
from muniment.vault.store import NO_LIMITS, After, VaultStore, nothing_after


class Folder:
    """A vault in a folder; each client has it open on its own, as another process would."""

    def __init__(
        self, path: Path, limits: Limits = NO_LIMITS, seed: int = 1, after: After = nothing_after
    ) -> None:
        self.path = path
        self._after = after
        self.limits = limits
        self.clock = Ticking()
        self._entropy = entropy(seed)
        self._open = ExitStack()

    def client(self) -> VaultStore:
        """One more client."""
        store = open_directory(
            self.path, clock=self.clock, entropy=self._entropy, limits=self.limits, after=self._after
        )
        self._open.callback(store.close)
        return store

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def collect(self) -> None:
        """Collect garbage, as a process of its own."""
        store = open_directory(self.path, clock=self.clock, entropy=self._entropy)
        try:
            collect(store)
        finally:
            store.close()

    def close(self) -> None:
        """Close all clients."""
        self._open.close()

    @property
    def catalogue(self) -> Path:
        """The catalogue's file."""
        return self.path / "catalogue.sqlite"

    def packs(self) -> list[Path]:
        """The files of all packs."""
        return sorted(path for path in (self.path / "packs").rglob("*") if path.is_file())

    def files(self) -> set[str]:
        """Every file in it."""
        return {path.relative_to(self.path).as_posix() for path in self.path.rglob("*") if path.is_file()}
