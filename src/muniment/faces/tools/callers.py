"""Faces, tools: who calls over HTTP: a user whose token is good and who may call the tools."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.clock import Clock
from muniment.faces.house import Caller
from muniment.message import say
from muniment.vault.access import Network, bearer, peer_of, require_peer
from muniment.vault.errors import TokenRefused
from muniment.vault.keys import ISSUER, KeyRing
from muniment.vault.tokens import read_token, tenant_of


class Callers:
    """The users who may call; their tokens are those of a served vault, checked with the same keys.

    A good token alone is not enough: it may be one with which somebody keeps snapshots here, and
    that is no right to act in this user's name.
    """

    def __init__(
        self,
        ring: KeyRing,
        users: Sequence[str],
        *,
        clock: Clock,
        claim: str,
        peers: Sequence[Network] = (),
        proxies: Sequence[Network] = (),
    ) -> None:
        self._ring = ring
        self._clock = clock
        self._claim = claim
        self._peers = peers
        self._proxies = proxies
        known = {tenant_of(ISSUER, claim, user): user for user in users}
        self._known = {tenant: Caller(user, tenant) for tenant, user in known.items()}

    def of(self, connected: str, forwarded: Sequence[str], authorization: Sequence[str]) -> Caller:
        """Who calls from an address with these headers; `PeerRefused`, `TokenRefused`, and `BadKeys` or
        `NoKeys` when no token can be checked."""
        require_peer(peer_of(connected, forwarded, self._proxies), self._peers)
        bearing = read_token(bearer(authorization), self._ring.keys(), self._clock(), self._claim)
        caller = self._known.get(bearing.tenant)
        if caller is None:
            raise TokenRefused(why=say("mcp.users does not name its user"))
        return caller
