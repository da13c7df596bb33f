"""The contract, over a vault that is opened in the process itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.vault.contract import Contract, Found
from tests.vault.sites import Folder

from muniment.bundle.vault import Limits, Vault
from muniment.vault.collect import tidy
from muniment.vault.store import NO_LIMITS, VaultStore, nothing_after


class TestInProcess(Contract):
    """The store itself; and as the program opens it, tidied after each act."""

    @pytest.fixture(params=[nothing_after, tidy], ids=["untidied", "tidied"])
    def found(self, quick_path: Path, request: pytest.FixtureRequest) -> Iterator[Found]:
        """Founds vaults below a folder."""
        with ExitStack() as stack:

            def found(limits: Limits = NO_LIMITS) -> Folder:
                number = len(list(quick_path.iterdir()))
                site = Folder(quick_path / f"vault-{number}", limits, after=request.param)
                stack.callback(site.close)
                site.client()
                return site

            yield found


def test_the_store_is_a_vault(folder: Folder) -> None:
    def as_vault(store: VaultStore) -> Vault:
        return store  # the type checker holds it to the protocol

    assert as_vault(folder.client()).identity
