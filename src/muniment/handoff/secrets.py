"""Handoff room: what looks like a key.  A packet names secrets, it never holds them (spec 3).

Known forms of keys, names with a value beside them, and long words that look random.  Digests,
ULIDs, references, anchors and UUIDs look random too and are no keys; `secret://…` is a name.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from muniment.handoff.anchors import ANCHOR_PATTERN
from muniment.handoff.shape import below

LONG_WORD = 24
"""Characters from which on an unknown word is looked at."""
RANDOM_BITS = 3.7
"""Bits of entropy a character from which on a mixed word counts as random."""

_KNOWN = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[opsur]_[0-9A-Za-z]{30,}"
    r"|\bgithub_pat_[0-9A-Za-z_]{30,}"
    r"|\bglpat-[0-9A-Za-z_-]{18,}"
    r"|\bxox[abeprs]-[0-9A-Za-z-]{10,}"
    r"|\b(?:sk|rk|pk)[-_](?:ant-|proj-|live_|test_)?[0-9A-Za-z_-]{18,}"
    r"|\bAIza[0-9A-Za-z_-]{30,}"
    r"|\bhf_[0-9A-Za-z]{30,}"
    r"|\bnpm_[0-9A-Za-z]{30,}"
    r"|\bpypi-[0-9A-Za-z_-]{40,}"
    r"|\bAGE-SECRET-KEY-1[0-9A-Z]{50,}"
    r"|\beyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*"
)
_NAMES = r"(?:password|passwd|passphrase|secret|token(?!s)|(?:api|access|private)[ _-]?key|密码|密钥|口令)"
_NAME = re.compile(rf"(?i){_NAMES}")
# Every pattern here takes a time that grows with the text alone: what follows a name in its word is gone
# back over once, and only from the next name on.
_NAMED = re.compile(
    rf"(?i){_NAMES}(?:(?!{_NAMES})[\w-])*"
    r"[\"']?\s*(?:=|:|：|\bis\b|是|为)\s*[\"']?(?P<value>[^\s\"',;，。；]+)"
)
_BEARER = re.compile(r"(?i)\b(?:bearer|basic)\s+(?P<value>[0-9A-Za-z+/_.=-]{16,})")
_IN_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]*:(?P<value>[^\s/@]+)@")
_WORD = re.compile(rf"[0-9A-Za-z+/=_-]{{{LONG_WORD},}}")
_HARMLESS = re.compile(
    rf"(?:sha256[:-])?[0-9a-f]{{32,128}}|[0-9A-F]{{32,128}}"
    rf"|(?:[a-z]{{2,5}}_)?[0-7][0-9A-HJKMNP-TV-Z]{{25}}|{ANCHOR_PATTERN}"
    r"|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
)
_PLACEHOLDER = re.compile(r"(?i)secret://.*|<[^>]*>|\$\{?\w+\}?|\{\{?[\w. ]+\}?\}|\*+|x{3,}|\.{3}|…")


def secrets_in(value: object, at: str = "") -> Iterator[str]:
    """The paths of all fields, keys included, that hold what looks like a secret.

    >>> list(secrets_in({"goal": "use ghp_" + "a1B2" * 9}))
    ['goal']
    >>> list(secrets_in({"goal": "use secret://deploy/token"}))
    []
    """
    todo: list[tuple[str, object]] = [(at, value)]
    while todo:
        place, item = todo.pop()
        if isinstance(item, str):
            if looks_secret(item):
                yield place
        elif isinstance(item, Mapping):
            for key, inner in reversed(list(item.items())):
                name = str(key)
                if looks_secret(name):
                    yield f"{place} (a key there)".strip()
                elif isinstance(inner, str) and _NAME.search(name) and " " not in inner and _is_value(inner):
                    yield below(place, name)
                    continue
                todo.append((below(place, name), inner))
        elif isinstance(item, list | tuple):
            todo.extend((f"{place}[{number}]", inner) for number, inner in reversed(list(enumerate(item))))


def looks_secret(text: str) -> bool:
    """Whether a text holds what looks like a key.

    >>> looks_secret("password: hunter2hunter2"), looks_secret("sha256:" + "ab" * 32)
    (True, False)
    """
    text = re.sub(r"secret://\S*", "<reference>", text)
    if _KNOWN.search(text):
        return True
    for pattern in (_NAMED, _BEARER, _IN_ADDRESS):
        if any(_is_value(match["value"]) for match in pattern.finditer(text)):
            return True
    return any(_random(word.group()) for word in _WORD.finditer(text))


def _is_value(word: str) -> bool:
    """Whether the word beside `password=` can be a value and not the next word of a sentence."""
    if len(word) < 6 or _PLACEHOLDER.fullmatch(word) or _harmless(word):
        return False
    return any(sign.isdigit() or sign in "!@#$%^&*+=" for sign in word) or (
        word.isalnum() and len(word) >= 16
    )


def _random(word: str) -> bool:
    if _harmless(word):
        return False
    stem = word.strip("=")
    if "/" in stem and all(len(part) < LONG_WORD or not _mixed(part) for part in stem.split("/")):
        return False  # a path; a key in base64 with slashes rarely falls into short parts only
    if any(sign in stem for sign in "-_") and all(
        not _mixed(part) or len(part) < 12 for part in re.split(r"[-_/]", stem)
    ):
        return False  # words joined into a name
    return _mixed(stem) and _entropy(stem) >= RANDOM_BITS


def _harmless(word: str) -> bool:
    return _HARMLESS.fullmatch(word.strip("=.")) is not None


def _mixed(word: str) -> bool:
    """Upper case, lower case and digits, several of each: words of prose or code rarely are."""
    digits = sum(sign.isdigit() for sign in word)
    return digits >= 3 and any(sign.islower() for sign in word) and any(sign.isupper() for sign in word)


def _entropy(word: str) -> float:
    counts = Counter(word)
    return -sum(n / len(word) * math.log2(n / len(word)) for n in counts.values())
