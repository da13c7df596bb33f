"""The vaults of many owners, opened while they are used: one store for each at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from tests.vault.content import START

from muniment.vault import tenants
from muniment.vault.open import open_directory
from muniment.vault.store import VaultStore
from muniment.vault.tenants import Tenants

OWNER = "ab" * 32


def test_one_that_waited_for_a_vault_that_was_closed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands behind whoever opens it now; two stores of one tenant would not know of each other."""
    vaults = Tenants(tmp_path / "data", clock=lambda: START, open_most=0)
    seen: Queue[str] = Queue()
    meanwhile: list[Callable[[], None]] = []

    class Door:
        """A lock at which something happens to the first one who comes."""

        def __init__(self) -> None:
            self._lock = threading.Lock()

        def __enter__(self) -> None:
            if meanwhile:
                meanwhile.pop()()  # others open the vault, and it is closed again
            if not self._lock.acquire(blocking=False):
                seen.put("waits")
                self._lock.acquire()

        def __exit__(self, *how: object) -> None:
            self._lock.release()

    def use() -> None:
        with vaults.using(OWNER):
            pass

    honest, opened = open_directory, 0

    def opening(*args: Any, **how: Any) -> VaultStore:
        nonlocal opened
        opened += 1
        if opened == 2:
            another.start()
            assert seen.get() == "waits"
        elif opened == 3:
            seen.put("opens")
        return honest(*args, **how)

    another = threading.Thread(target=use, daemon=True)
    monkeypatch.setattr(tenants, "open_directory", opening)
    monkeypatch.setattr(tenants, "Lock", Door)
    meanwhile.append(use)
    use()
    another.join()
    assert opened == 3
