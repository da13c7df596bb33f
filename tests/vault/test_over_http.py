"""The contract, over HTTP: a real server on this machine, reached by the real client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.vault.contract import Contract, Found
from tests.vault.servers import Served

from muniment.bundle.vault import Limits, Vault
from muniment.vault.remote import RemoteVault
from muniment.vault.store import NO_LIMITS


class TestOverHttp(Contract):
    """A server, and its client."""

    @pytest.fixture
    def found(self, quick_path: Path) -> Iterator[Found]:
        """Founds vaults below a folder."""
        with ExitStack() as stack:

            def found(limits: Limits = NO_LIMITS) -> Served:
                served = Served(quick_path / f"served-{len(list(quick_path.iterdir()))}", limits)
                stack.callback(served.close)
                return served

            yield found


def test_the_client_is_a_vault(quick_path: Path) -> None:
    def as_vault(vault: RemoteVault) -> Vault:
        return vault  # the type checker holds it to the protocol

    served = Served(quick_path / "served")
    try:
        assert as_vault(served.client()).identity
    finally:
        served.close()
