"""Floor 3, `vault`: who may call a served vault: addresses, and the token in a header.  Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from muniment.message import say
from muniment.path import printable
from muniment.vault.errors import PeerRefused, TokenRefused

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

FORWARDED_MOST = 16


def network(text: str) -> Network:
    """A network such as `fdaa::/16`, or one address; a `ValueError` otherwise.

    >>> str(network("fdaa::/16")), str(network("127.0.0.1"))
    ('fdaa::/16', '127.0.0.1/32')
    """
    return ipaddress.ip_network(text, strict=False)


def peer_of(connected: str, forwarded: Sequence[str], trusted: Sequence[Network]) -> Address | None:
    """The address that a call comes from.

    What a header says of it counts only as far as trusted proxies say it: the last address in it that
    is none of them.  None where it can not be told.

    >>> trusted = [network("10.0.0.0/8")]
    >>> str(peer_of("10.0.0.1", ["6.6.6.6, 198.51.100.7, 10.0.0.2"], trusted))
    '198.51.100.7'
    >>> str(peer_of("203.0.113.9", ["198.51.100.7"], trusted))
    '203.0.113.9'
    """
    found = _address(connected)
    hops = [hop.strip() for line in forwarded for hop in line.split(",")][-FORWARDED_MOST:]
    while hops and found is not None and _within(found, trusted):
        found = _address(hops.pop())
    return found


def require_peer(peer: Address | None, allowed: Sequence[Network]) -> None:
    """`PeerRefused` unless the address may call; an empty list allows every one."""
    if allowed and (peer is None or not _within(peer, allowed)):
        raise PeerRefused(where=str(peer or ""))


def bearer(headers: Sequence[str]) -> str:
    """The token of the one `Authorization` header; `TokenRefused` without one.

    >>> bearer(["Bearer abc"])
    'abc'
    """
    if len(headers) != 1:
        raise TokenRefused(why=say("one Authorization header with a bearer token is needed"))
    scheme, _, token = headers[0].partition(" ")
    if scheme.lower() != "bearer" or not token or token != token.strip():
        raise TokenRefused(why=say("one Authorization header with a bearer token is needed"))
    return token


def is_loopback(host: str) -> bool:
    """Whether an address to listen at is reached from this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    found = _address(host)
    return host == "localhost" or (found is not None and found.is_loopback)


def _address(text: str) -> Address | None:
    try:
        found = ipaddress.ip_address(text.partition("%")[0].strip("[]"))
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def _within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == one.version and address in one for one in networks)


def networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Networks as they stand in a setting; a `ValueError` with a `Message` for what is none."""
    found = []
    for text in texts:
        try:
            found.append(network(text))
        except ValueError as error:
            raise ValueError(say("{text} is no network or address", text=printable(text[:80]))) from error
    return tuple(found)
