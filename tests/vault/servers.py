"""Served vaults for the tests: a real server in a thread of this process, on a port of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tests.vault.content import Ticking, entropy

from muniment.bundle.vault import Limits
from muniment.faces.web.reception import Reception, Rules
from muniment.faces.web.serving import Server, listen, serve
from muniment.vault.audit import Audit
from muniment.vault.keys import KeyRing, add_key, mint
from muniment.vault.line import KEPT, Line
from muniment.vault.place import Address
from muniment.vault.remote import RemoteVault
from muniment.vault.store import NO_LIMITS
from muniment.vault.tenants import Tenants
from muniment.vault.tokens import CLAIM

USER = "u-1"


class Served:
    """One server; each client is one more connection of the same user."""

    def __init__(
        self,
        folder: Path,
        limits: Limits = NO_LIMITS,
        seed: int = 1,
        rules: Rules | None = None,
    ) -> None:
        self.folder = folder
        self.clock = Ticking()
        self._stack = ExitStack()
        folder.mkdir(parents=True, exist_ok=True)
        self.keys = folder / "keys.json"
        add_key(self.keys, clock=self.clock, only_first=True)
        self.tenants = Tenants(folder / "data", clock=self.clock, entropy=entropy(seed), limits=limits)
        self.reception = Reception(
            self.tenants,
            KeyRing(self.keys),
            Audit(folder / "audit.jsonl", self.clock),
            clock=self.clock,
            entropy=os.urandom,
            rules=rules or Rules(),
        )
        listening = listen("127.0.0.1", 0)
        self.port: int = listening.getsockname()[1]
        self._server: Server | None = None
        ready = threading.Event()

        def started(server: Server) -> None:
            self._server = server
            ready.set()

        self._thread = threading.Thread(
            target=serve, args=(self.reception, listening), kwargs={"started": started}, daemon=True
        )
        self._thread.start()
        ready.wait(900)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def token(self, user: str = USER, days: int = 3650) -> str:
        """A token for a user."""
        return mint(self.keys, user, clock=self.clock, claim=CLAIM, days=days)

    def client(self, user: str = USER, note: Callable[..., None] = lambda message: None) -> RemoteVault:
        """One more client."""
        address, pause = Address.of(self.url), lambda seconds: None
        vault = RemoteVault(Line(address, lambda: self.token(user), note=note, pause=pause, kept=KEPT))
        self._stack.callback(vault.close)
        return vault

    def collect(self) -> None:
        """Its keeper collects garbage."""
        for tenant in self.tenants.names():
            self.tenants.collect(tenant)

    def close(self) -> None:
        """End it in order."""
        self._stack.close()
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(900)
