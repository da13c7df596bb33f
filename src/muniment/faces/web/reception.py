"""Faces, web: where every call arrives: who makes it, what it may, what is answered and logged."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import anyio.to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from muniment.bundle.vault import Listing, Stored
from muniment.clock import Clock
from muniment.errors import MunimentError
from muniment.faces.web.answers import current_json, plain_refusal, refusal
from muniment.faces.web.bodies import Body, TooSlow
from muniment.faces.web.metrics import Metrics
from muniment.ids import Entropy
from muniment.vault.access import Network, bearer, peer_of, require_peer
from muniment.vault.audit import Audit
from muniment.vault.catalogue import Upload
from muniment.vault.errors import OffsetConflict, QuotaExceeded, SessionsExceeded
from muniment.vault.keys import KeyRing
from muniment.vault.tenants import Tenant, Tenants
from muniment.vault.tokens import CLAIM, read_token

T = TypeVar("T")

LOG = logging.getLogger("muniment.serve")

UPLOADS = 64
"""Threads that take bodies; a slow peer holds one, so short calls have threads of their own."""

READERS = 16
UNKNOWN_MOST = 1 << 20
"""Bytes of a body that are taken from somebody who may not call, only to be dropped."""

KNOWN_MOST = 1 << 30


@dataclass(frozen=True, slots=True)
class Rules:
    """Who may call: networks (none: all), proxies whose word counts, and the claim that names a tenant."""

    peers: Sequence[Network] = ()
    proxies: Sequence[Network] = ()
    claim: str = CLAIM


@dataclass(slots=True)
class Caller:
    """One call by a known tenant: its act works in a thread, and the body waits for it there."""

    reception: Reception
    request: Request
    body: Body
    tenant: str
    facts: dict[str, str | int] = field(default_factory=dict)

    async def act(self, act: Callable[[Tenant], T], *, takes_body: bool = False) -> T:
        """Do something in the tenant's vault, in a thread."""

        def work() -> T:
            with self.reception.tenants.using(self.tenant) as tenant:
                try:
                    return act(tenant)
                except (QuotaExceeded, SessionsExceeded) as error:
                    raise Full(error, tenant.store.list(), tenant.store.sessions()) from error

        limiter = self.reception.uploads if takes_body else self.reception.readers
        return await anyio.to_thread.run_sync(work, limiter=limiter)

    def audit(self, act: str, **facts: str | int | None) -> None:
        """Write down that something was changed; in the thread that changed it.

        The change is made and stays, whether it can be written down or not.
        """
        try:
            self.reception.audit.write(act, self.tenant, peer=self.facts.get("peer"), **facts)
        except MunimentError as error:
            LOG.error("%s", error, exc_info=error, extra={"facts": {"act": act, "code": error.code}})

    def kept(self, stored: Stored, *, replaces: str | None = None, upload_id: str | None = None) -> None:
        """A snapshot counts: say so where it is written down."""
        snapshot = stored.snapshot
        self.audit(
            "create",
            backup_id=snapshot.id,
            bytes=snapshot.size,
            root=snapshot.root.hex,
            replaces=replaces,
            upload_id=upload_id,
        )
        self.reception.metrics.kept.inc()


class Full(Exception):
    """No slot is free: with the error goes what holds them."""

    def __init__(self, error: MunimentError, listing: Listing, sessions: Sequence[Upload]) -> None:
        super().__init__(error)
        self.error = error
        self.listing = listing
        self.sessions = sessions


Handler = Callable[[Caller], Awaitable[Response]]


class Reception:
    """What all calls share."""

    def __init__(
        self,
        tenants: Tenants,
        ring: KeyRing,
        audit: Audit,
        *,
        clock: Clock,
        entropy: Entropy,
        rules: Rules,
    ) -> None:
        self.tenants = tenants
        self.ring = ring
        self.audit = audit
        self.clock = clock
        self.rules = rules
        self.metrics = Metrics(lambda: tenants.opened)
        self.uploads = anyio.CapacityLimiter(UPLOADS)
        self.readers = anyio.CapacityLimiter(READERS)
        self.draining = False
        self._entropy = entropy

    def known(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """A call that needs a token."""

        async def answered(request: Request) -> Response:
            body = Body(request)
            caller = Caller(self, request, body, "")
            most = UNKNOWN_MOST

            async def act() -> Response:
                nonlocal most
                self._require_peer(caller)
                token = bearer(request.headers.getlist("authorization"))
                bearing = read_token(token, self.ring.keys(), self.clock(), self.rules.claim)
                caller.tenant = bearing.tenant
                caller.facts["tenant"] = bearing.tenant[:12]
                most = KNOWN_MOST
                return await handler(caller)

            response = await self._answer(caller, act)
            if response.status_code >= 400:
                await body.drain(most)
            self._log(caller, response.status_code)
            return response

        return answered

    def open_to_all(
        self, handler: Callable[[Request], Awaitable[Response]]
    ) -> Callable[..., Awaitable[Response]]:
        """A call that needs no token, from an address that may call."""

        async def answered(request: Request) -> Response:
            caller = Caller(self, request, Body(request), "")

            async def act() -> Response:
                self._require_peer(caller)
                return await handler(request)

            return await self._answer(caller, act)

        return answered

    def _require_peer(self, caller: Caller) -> None:
        client = caller.request.client
        forwarded = caller.request.headers.getlist("x-forwarded-for")
        peer = peer_of(client.host if client else "", forwarded, self.rules.proxies)
        caller.facts["peer"] = str(peer or "")
        require_peer(peer, self.rules.peers)

    async def _answer(self, caller: Caller, act: Callable[[], Awaitable[Response]]) -> Response:
        """Every error becomes an answer; what nobody foresaw is logged whole and told to nobody."""
        try:
            with self.metrics.busy.track_inprogress():
                return await act()
        except Full as error:
            caller.facts["code"] = error.error.code
            return refusal(error.error, current=current_json(error.listing, error.sessions))
        except OffsetConflict as error:
            return refusal(error, offset=error.facts["offset"])
        except MunimentError as error:
            caller.facts["code"] = error.code
            response = refusal(error)
            if response.status_code >= 500:
                LOG.error("%s", error, exc_info=error, extra={"facts": dict(caller.facts)})
            elif response.status_code == 401:
                caller.facts["why"] = str(error.why or "")
            return response
        except TooSlow:
            headers = {"connection": "close"}
            return plain_refusal(408, "too_slow", "The body did not come in time.", headers)
        except ClientDisconnect:
            # Nobody reads this any more; the log shows it as what it is.
            return plain_refusal(499, "gone", "The caller went away.")

    def _log(self, caller: Caller, status: int) -> None:
        request = caller.request
        route = request.scope.get("route")
        path = getattr(route, "path", "")
        self.metrics.calls.labels(request.method, path, str(status)).inc()
        self.metrics.received.inc(caller.body.taken)
        facts = {"method": request.method, "route": path, "status": status, "received": caller.body.taken}
        LOG.info("call", extra={"facts": {**facts, **caller.facts}})
