"""Floor 3, `vault`: bearer tokens: which tenant a signed claim names, or why it names none.

Pure: keys and the time come in, a `Bearer` or `TokenRefused` comes out.  A token is read strictly by
ourselves, member by member; the library is asked for the one thing it is for, the signature.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from muniment.canonical import Json, NotJson, canonical, canonical_digest, read_json
from muniment.message import Message, say
from muniment.path import printable
from muniment.vault.errors import BadKeys, TokenRefused

ALGORITHMS = ("HS256", "EdDSA", "ES256", "RS256")
TYPES = ("container", "access")
LEEWAY_S = 30
TOKEN_MOST = 8192
"""Characters of a token at most."""

CLAIM = "userInfoID"
FALLBACK = "sub"
VALUE_MOST = 256
"""Characters of the claim that names the tenant."""

SECRET_LEAST = 32
"""Bytes of a shared secret."""

RSA_LEAST = 2048

_SEGMENT = re.compile(r"[A-Za-z0-9_-]+")
_HEADERS = frozenset({"alg", "typ", "kid"})
_TYPS = ("jwt", "at+jwt")
_NUMBER_MOST = 1 << 53

Material = OctKey | OKPKey | ECKey | RSAKey


@dataclass(frozen=True, slots=True)
class Key:
    """A key that tokens are checked with: it is good for one algorithm and speaks for one issuer."""

    kid: str
    algorithm: str
    issuer: str
    material: Material

    @classmethod
    def of(cls, kid: str, algorithm: str, issuer: str, jwk: Mapping[str, Any]) -> Key:
        """A key as it stands in a file; `BadKeys` when it is not one for that algorithm."""

        def refused(why: Message) -> BadKeys:
            return BadKeys(where=printable(kid[:64]), why=why)

        if not (kid and issuer) or len(kid) > 128 or not (kid + issuer).isprintable():
            raise refused(say("a key needs an id and an issuer that can be shown"))
        try:
            material = _material(algorithm, jwk)
        except (JoseError, ValueError, TypeError, KeyError, Warning) as error:
            why = say("it is no key for {algorithm}", algorithm=printable(algorithm[:16]))
            raise refused(why) from error
        return cls(kid, algorithm, issuer, material)


def _material(algorithm: str, jwk: Mapping[str, Any]) -> Material:
    """The key itself, strong enough for its algorithm, or a `ValueError`."""
    values = dict(jwk)
    if algorithm == "HS256":
        if values["kty"] != "oct" or len(_bytes(values["k"])) < SECRET_LEAST:
            raise ValueError("a shared secret is too short")
        return OctKey.import_key(values)
    if algorithm == "EdDSA" and values["crv"] == "Ed25519":
        return OKPKey.import_key(values)
    if algorithm == "ES256" and values["crv"] == "P-256":
        return ECKey.import_key(values)
    if algorithm == "RS256" and len(_bytes(values["n"])) * 8 >= RSA_LEAST:
        return RSAKey.import_key(values)
    raise ValueError("no such algorithm")


@dataclass(frozen=True, slots=True)
class Bearer:
    """Whom a token speaks for: the tenant (64 hexadecimal digits), the key it was signed with, and its
    type."""

    tenant: str
    kid: str
    type: str


def tenant_of(issuer: str, claim: str, value: str) -> str:
    """The tenant that an issuer means by a claim: a sha256 in hexadecimal.

    The three are hashed as a JSON list, so that no two triples look alike when put together.

    >>> tenant_of("a", "sub", "ab") == tenant_of("aa", "sub", "b")
    False
    """
    return canonical_digest([issuer, claim, value]).hex


def read_token(token: str, keys: Sequence[Key], now: datetime, claim: str = CLAIM) -> Bearer:
    """Whom a token speaks for; `TokenRefused` unless everything about it is right (spec 5, HTTP).

    A token without a key id is taken only where there is one key and no choice.
    """
    if len(token) > TOKEN_MOST:
        raise _refused(say("it is too long"))
    parts = token.split(".")
    if len(parts) != 3 or not all(_SEGMENT.fullmatch(part) for part in parts):
        raise _refused(say("it has not the form of a signed token"))
    try:
        header, payload = (_object(_bytes(part)) for part in parts[:2])
        _bytes(parts[2])
    except ValueError as error:
        raise _refused(say("it has not the form of a signed token")) from error
    key = _key_for(header, keys)
    _check_signature(token, key)
    _check_time(payload, now)
    if payload.get("type") not in TYPES or not isinstance(payload["type"], str):
        raise _refused(say("its type is neither container nor access"))
    if "iss" in payload and payload["iss"] != key.issuer:
        raise _refused(say("it was not issued by whom its key speaks for"))
    name, value = _tenant_claim(payload, claim)
    return Bearer(tenant_of(key.issuer, name, value), key.kid, payload["type"])


def make_token(key: Key, user: str, now: datetime, days: int, claim: str = CLAIM) -> str:
    """A token of type `access` for a user, good for so many days; the key has to be a secret one."""
    _sound_value(user)
    payload: dict[str, Json] = {
        "iss": key.issuer,
        claim: user,
        "type": "access",
        "iat": int(now.timestamp()),
        "exp": int((now + timedelta(days=days)).timestamp()),
    }
    header = {"alg": key.algorithm, "kid": key.kid, "typ": "JWT"}
    try:
        return jws.serialize_compact(header, canonical(payload), key.material, registry=_REGISTRY)
    except (JoseError, TypeError, ValueError) as error:
        raise BadKeys(where=key.kid, why=say("tokens can not be signed with it")) from error


def _key_for(header: Mapping[str, Any], keys: Sequence[Key]) -> Key:
    """The one key that a header may be checked with."""
    if not _HEADERS.issuperset(header):
        raise _refused(say("its header says more than it may"))
    typ = header.get("typ", "JWT")
    if not isinstance(typ, str) or typ.lower() not in _TYPS:
        raise _refused(say("its header says more than it may"))
    kid = header.get("kid")
    if kid is None and "kid" not in header and len(keys) == 1:
        (key,) = keys
    else:
        found = [one for one in keys if isinstance(kid, str) and one.kid == kid]
        if len(found) != 1:
            raise _refused(say("no key is known by its key id"))
        (key,) = found
    if header.get("alg") != key.algorithm:
        raise _refused(say("it is not signed as its key signs"))
    return key


class _Registry(jws.JWSRegistry):
    """Algorithms by name: which one may be used is decided by the key, before anything is checked."""

    def get_alg(self, name: str) -> Any:
        return self.algorithms[name]


_REGISTRY = _Registry()


def _check_signature(token: str, key: Key) -> None:
    try:
        jws.deserialize_compact(token, key.material, registry=_REGISTRY)
    except (JoseError, ValueError, TypeError) as error:
        raise _refused(say("its signature does not fit")) from error


def _check_time(payload: Mapping[str, Any], now: datetime) -> None:
    moment = now.timestamp()
    if moment >= _time(payload, "exp") + LEEWAY_S:
        raise _refused(say("it has expired"))
    if "nbf" in payload and moment < _time(payload, "nbf") - LEEWAY_S:
        raise _refused(say("it is not valid yet"))


def _time(payload: Mapping[str, Any], name: str) -> int:
    value = payload.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _NUMBER_MOST:
        raise _refused(say("its {name} is no whole number of seconds", name=name))
    return value


def _tenant_claim(payload: Mapping[str, Any], claim: str) -> tuple[str, str]:
    """The claim that names the tenant; the other one counts only where the first is not there at all."""
    for name in (claim, FALLBACK):
        if name in payload:
            value = payload[name]
            if not isinstance(value, str):
                raise _refused(say("the claim {name} names nobody", name=name))
            return name, _sound_value(value, name)
    raise _refused(say("the claim {name} names nobody", name=claim))


def _sound_value(value: str, name: str = CLAIM) -> str:
    if not value.strip() or len(value) > VALUE_MOST or not value.isprintable():
        raise _refused(say("the claim {name} names nobody", name=name))
    return value


def _bytes(text: str) -> bytes:
    """Base64url without padding, in its one spelling."""
    if not isinstance(text, str) or not _SEGMENT.fullmatch(text):
        raise ValueError("it is not base64url")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != text:
        raise ValueError("it is not spelled as base64url is")
    return data


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = read_json(data)
    except NotJson as error:
        raise ValueError("it is not strict JSON") from error
    if not isinstance(value, dict):
        raise ValueError("it is no object")
    return value


def _refused(why: Message) -> TokenRefused:
    return TokenRefused(why=why)
