"""Tokens: who is let in, and who is not (spec 5, HTTP).

Tokens are put together by hand, with `hmac` and `cryptography`: nothing of the code under test makes
what it judges.  What is expected stands beside each case and follows from the specification.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from hypothesis import given
from hypothesis import strategies as st

from muniment.vault.errors import BadKeys, TokenRefused
from muniment.vault.tokens import Bearer, Key, make_token, read_token

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
T = int(NOW.timestamp())
SECRET = bytes(range(32))
RSA_KEY = rsa.generate_private_key(65537, 2048)
ED_KEY = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int, size: int) -> str:
    return b64(value.to_bytes(size, "big"))


def jwk_oct(secret: bytes = SECRET) -> dict[str, str]:
    return {"kty": "oct", "k": b64(secret)}


def jwk_rsa() -> dict[str, str]:
    public = RSA_KEY.public_key().public_numbers()
    return {"kty": "RSA", "n": number(public.n, 256), "e": b64(b"\x01\x00\x01")}


def jwk_ed() -> dict[str, str]:
    raw = ED_KEY.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return {"kty": "OKP", "crv": "Ed25519", "x": b64(raw)}


def jwk_ec() -> dict[str, str]:
    public = EC_KEY.public_key().public_numbers()
    return {"kty": "EC", "crv": "P-256", "x": number(public.x, 32), "y": number(public.y, 32)}


KEYS = [
    Key.of("h", "HS256", "house", jwk_oct()),
    Key.of("e", "EdDSA", "house", jwk_ed()),
    Key.of("c", "ES256", "house", jwk_ec()),
    Key.of("r", "RS256", "house", jwk_rsa()),
    Key.of("other", "HS256", "elsewhere", jwk_oct(bytes(range(64, 96)))),
]
ONE = KEYS[:1]


def hs256(data: bytes, secret: bytes = SECRET) -> bytes:
    return hmac.new(secret, data, hashlib.sha256).digest()


def es256(data: bytes) -> bytes:
    r, s = decode_dss_signature(EC_KEY.sign(data, ec.ECDSA(hashes.SHA256())))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


SIGN: dict[str, Callable[[bytes], bytes]] = {
    "h": hs256,
    "e": ED_KEY.sign,
    "c": es256,
    "r": lambda data: RSA_KEY.sign(data, padding.PKCS1v15(), hashes.SHA256()),
    "other": lambda data: hs256(data, bytes(range(64, 96))),
}
ALG = {"h": "HS256", "e": "EdDSA", "c": "ES256", "r": "RS256", "other": "HS256"}


def claims(**changes: Any) -> dict[str, Any]:
    """Sound claims with changes; `...` takes one away."""
    sound = {"userInfoID": "u-1", "type": "container", "exp": T + 600}
    return {name: value for name, value in {**sound, **changes}.items() if value is not ...}


def token(
    payload: dict[str, Any] | str | None = None,
    *,
    by: str = "h",
    sign: Callable[[bytes], bytes] | None = None,
    raw_header: str | None = None,
    **header: Any,
) -> str:
    """A compact token; header members given as `...` are left out."""
    members = {"alg": ALG[by], "kid": by, **header}
    head = raw_header or json.dumps({name: value for name, value in members.items() if value is not ...})
    body = payload if isinstance(payload, str) else json.dumps(claims() if payload is None else payload)
    signed = f"{b64(head.encode())}.{b64(body.encode())}"
    return f"{signed}.{b64((sign or SIGN[by])(signed.encode()))}"


def mine(value: str = "u-1", claim: str = "userInfoID", issuer: str = "house") -> str:
    """The tenant by its definition, computed here: sha256 of the three as a JSON list."""
    return hashlib.sha256(json.dumps([issuer, claim, value], separators=(",", ":")).encode()).hexdigest()


PUBLIC_PEM = RSA_KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)
_none = token(alg="none")
_payload_of_none = _none.split(".")[1]

ACCEPTED: dict[str, tuple[str, str]] = {
    "HS256": (token(), mine()),
    "EdDSA": (token(by="e"), mine()),
    "ES256": (token(by="c"), mine()),
    "RS256": (token(by="r"), mine()),
    "type access": (token(claims(type="access")), mine()),
    "typ JWT": (token(typ="JWT"), mine()),
    "sub where the claim is absent": (token(claims(userInfoID=..., sub="s-1")), mine("s-1", "sub")),
    "the claim before sub": (token(claims(sub="s-1")), mine()),
    "expired 29 s ago": (token(claims(exp=T - 29)), mine()),
    "valid in 30 s": (token(claims(nbf=T + 30)), mine()),
    "a path as claim is only a name": (token(claims(userInfoID="../x")), mine("../x")),
    "claim a": (token(claims(userInfoID="a")), mine("a")),
    "claim ab": (token(claims(userInfoID="ab")), mine("ab")),
    "256 characters": (token(claims(userInfoID="x" * 256)), mine("x" * 256)),
    "the issuer of its key": (token(claims(iss="house")), mine()),
    "another issuer's key": (token(by="other"), mine(issuer="elsewhere")),
    "members that mean nothing here": (token(claims(aud="x", scope="y", iat=T)), mine()),
}

REFUSED: dict[str, str] = {
    "empty": "",
    "one dot": "a.b",
    "four parts": token() + ".x",
    "not base64": "!!.??.##",
    "padding": token().replace(".", "=.", 1),
    "64 KiB": token(claims(filler="x" * 65536)),
    "none, signed": _none,
    "none, without signature": ".".join(_none.split(".")[:2]) + ".",
    "None": token(alg="None"),
    "alg missing": token(alg=...),
    "alg of another key": token(alg="RS256"),
    "HS256 with the public RSA key as secret": token(
        by="r", alg="HS256", sign=lambda data: hs256(data, PUBLIC_PEM)
    ),
    "RS256 header on the secret key": token(by="h", alg="RS256", sign=SIGN["r"]),
    "HS384": token(alg="HS384", sign=lambda data: hmac.new(SECRET, data, hashlib.sha384).digest()),
    "HS256 on the EdDSA key": token(by="e", alg="HS256", sign=hs256),
    "signed by another secret": token(sign=SIGN["other"]),
    "signature of other claims": token().rsplit(".", 1)[0] + "." + token(claims(sub="z")).rsplit(".", 1)[1],
    "signature cut": token()[:-4],
    "signature empty": token().rsplit(".", 1)[0] + ".",
    "DER signature for ES256": token(by="c", sign=lambda data: EC_KEY.sign(data, ec.ECDSA(hashes.SHA256()))),
    "payload changed": ".".join([token().split(".")[0], b64(b"{}"), token().split(".")[2]]),
    "expired 30 s ago": token(claims(exp=T - 30)),
    "expired long ago": token(claims(exp=1)),
    "exp missing": token(claims(exp=...)),
    "exp null": token(claims(exp=None)),
    "exp a float": token(claims(exp=T + 600.5)),
    "exp a whole float": token(claims(exp=float(T + 600))),
    "exp a text": token(claims(exp=str(T + 600))),
    "exp true": token(claims(exp=True)),
    "exp beyond all numbers": token(claims(exp=10**400)),
    "exp infinite": token(json.dumps(claims()).replace(str(T + 600), "1e999")),
    "not yet": token(claims(nbf=T + 31)),
    "nbf a float": token(claims(nbf=T - 5.0)),
    "type missing": token(claims(type=...)),
    "wrong type": token(claims(type="refresh")),
    "type a list": token(claims(type=["container"])),
    "type with a blank": token(claims(type="container ")),
    "claim empty": token(claims(userInfoID="")),
    "claim empty, sub there": token(claims(userInfoID="", sub="s-1")),
    "claim null, sub there": token(claims(userInfoID=None, sub="s-1")),
    "claim 42": token(claims(userInfoID=42)),
    "claim 42, sub there": token(claims(userInfoID=42, sub="s-1")),
    "claim a list": token(claims(userInfoID=["u-1"])),
    "claim blank": token(claims(userInfoID="  ")),
    "claim of 257 characters": token(claims(userInfoID="x" * 257)),
    "claim with a line feed": token(claims(userInfoID="u\n1")),
    "claim with NUL": token(claims(userInfoID="u\0")),
    "claim with an override": token(claims(userInfoID="u\u202e1")),
    "claim with a lone surrogate": token(json.dumps(claims(userInfoID="\udcff"))),
    "neither claim": token(claims(userInfoID=...)),
    "sub empty": token(claims(userInfoID=..., sub="")),
    "claim twice": token(json.dumps(claims())[:-1] + ', "userInfoID": "u-2"}'),
    "exp twice": token(json.dumps(claims())[:-1] + f', "exp": {T + 9999}}}'),
    "alg twice": token(raw_header='{"alg":"none","alg":"HS256","kid":"h"}'),
    "kid twice": token(raw_header='{"alg":"HS256","kid":"e","kid":"h"}'),
    "kid unknown": token(kid="nobody"),
    "kid missing among several": token(kid=...),
    "kid null": token(kid=None),
    "kid 42": token(kid=42),
    "kid a path": token(kid="../../dev/null"),
    "crit": token(crit=["exp"]),
    "crit empty": token(crit=[]),
    "b64 false": token(b64=False),
    "jku": token(jku="https://evil.example/keys"),
    "jwk": token(jwk=jwk_oct()),
    "x5u": token(x5u="https://evil.example/cert"),
    "x5c": token(x5c=["MII"]),
    "typ of something else": token(typ="dpop+jwt"),
    "cty": token(cty="JWT"),
    "issued by another": token(claims(iss="elsewhere")),
    "iss null": token(claims(iss=None)),
    "payload a list": token("[]"),
    "payload a text": token('"x"'),
    "payload no JSON": token("{"),
    "payload not UTF-8": ".".join([token().split(".")[0], b64(b'{"a":"\xff"}'), "AAAA"]),
    "header a list": token(raw_header="[]"),
    "too deep": token("[" * 2000 + "]" * 2000),
}


def test_there_are_enough_cases() -> None:
    assert len(ACCEPTED) + len(REFUSED) >= 40


@pytest.mark.parametrize("case", ACCEPTED)
def test_let_in(case: str) -> None:
    text, tenant = ACCEPTED[case]
    assert read_token(text, KEYS, NOW).tenant == tenant


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    with pytest.raises(TokenRefused) as caught:
        read_token(REFUSED[case], KEYS, NOW)
    assert REFUSED[case] == "" or REFUSED[case] not in str(caught.value)


def test_without_a_key_id_where_there_is_one_key() -> None:
    assert read_token(token(kid=...), ONE, NOW) == Bearer(mine(), "h", "container")


def test_no_keys_let_nobody_in() -> None:
    for text in (token(), token(kid=...), _none):
        with pytest.raises(TokenRefused):
            read_token(text, [], NOW)


def test_issuer_claim_and_value_are_kept_apart() -> None:
    """`a` with `bc` and `ab` with `c` would look alike if they were only put together."""
    one = Key.of("1", "HS256", "a", jwk_oct())
    two = Key.of("2", "HS256", "ab", jwk_oct())
    found = {
        read_token(token(claims(userInfoID=value), kid=key.kid), [key], NOW).tenant
        for key in (one, two)
        for value in ("a", "ab", "b", "aa", "userInfoIDa")
    }
    assert len(found) == 10


def test_another_claim_can_be_the_one() -> None:
    text = token(claims(userInfoID=..., account="acc"))
    assert read_token(text, KEYS, NOW, "account").tenant == mine("acc", "account")
    with pytest.raises(TokenRefused):
        read_token(text, KEYS, NOW)


@pytest.mark.parametrize(
    ("algorithm", "jwk"),
    [
        ("HS256", jwk_oct(SECRET[:31])),
        ("HS256", jwk_oct(b"")),
        ("HS256", jwk_rsa()),
        ("RS256", jwk_oct()),
        ("RS256", {"kty": "RSA", "n": number(3**600 | 1, 120), "e": "AQAB"}),
        ("ES256", jwk_ed()),
        ("ES256", {**jwk_ec(), "crv": "P-384"}),
        ("EdDSA", jwk_ec()),
        ("none", jwk_oct()),
        ("HS512", jwk_oct(SECRET * 2)),
        ("HS256", {"kty": "oct"}),
        ("EdDSA", {"kty": "OKP", "crv": "Ed25519", "x": "!"}),
    ],
)
def test_keys_that_are_too_weak_or_of_another_kind(algorithm: str, jwk: dict[str, str]) -> None:
    with pytest.raises(BadKeys):
        Key.of("k", algorithm, "house", jwk)


@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_any_bit_that_is_turned_over_is_noticed(at: int, bit: int) -> None:
    sound = token().encode()
    at %= len(sound)
    other = sound[:at] + bytes([sound[at] ^ 1 << bit]) + sound[at + 1 :]
    with pytest.raises(TokenRefused):
        read_token(other.decode("latin-1"), KEYS, NOW)


@pytest.mark.parametrize("user", ["alice", "用户", "x" * 256, "../x"])
def test_what_is_made_here_is_let_in_here(user: str) -> None:
    made = make_token(KEYS[0], user, NOW, 30)
    assert read_token(made, KEYS, NOW) == Bearer(mine_unicode(user), "h", "access")
    assert read_token(made, KEYS, NOW + timedelta(days=30)).type == "access"
    with pytest.raises(TokenRefused):
        read_token(made, KEYS, NOW + timedelta(days=30, seconds=30))


def mine_unicode(value: str) -> str:
    text = json.dumps(["house", "userInfoID", value], separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("user", ["", " ", "a\nb", "x" * 257, "\udcff"])
def test_no_token_for_a_user_that_none_would_be_let_in_for(user: str) -> None:
    with pytest.raises(TokenRefused):
        make_token(KEYS[0], user, NOW, 30)
