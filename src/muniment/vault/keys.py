"""Floor 3, `vault`: the file of keys that tokens are made and checked with.

It is a JSON object `{"v": 1, "keys": [{"kid", "algorithm", "issuer", "key", "retired"?}]}`; `key` is
a JWK.  The file belongs to its owner alone (0600).  A retired key checks nothing any more; the last
one that is not retired makes new tokens.
"""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.clock import Clock, instant
from muniment.disk import platform
from muniment.disk.errors import NotThere, named
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.ids import Entropy, new_ulid
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.vault.errors import BadKeys, NoKeys
from muniment.vault.tokens import ALGORITHMS, Key, make_token

ISSUER = "muniment"
DAYS = 30
DAYS_MOST = 3650
_MOST = 1 << 20
_MEMBERS = {"kid", "algorithm", "issuer", "key", "retired"}


@dataclass(frozen=True, slots=True)
class KeptKey:
    """A key as it stands in the file."""

    kid: str
    algorithm: str
    issuer: str
    jwk: dict[str, Any]
    retired: str | None = None

    def key(self) -> Key:
        """The key itself."""
        return Key.of(self.kid, self.algorithm, self.issuer, self.jwk)

    def to_json(self) -> dict[str, Json]:
        """As it is written."""
        found: dict[str, Json] = {
            "kid": self.kid,
            "algorithm": self.algorithm,
            "issuer": self.issuer,
            "key": self.jwk,
        }
        return found if self.retired is None else {**found, "retired": self.retired}


def read_kept(path: Path) -> list[KeptKey]:
    """All keys of a file, each looked at; `NoKeys` without one, `BadKeys` for anything odd.

    A file that others may read or write is refused: its secrets are none any more.
    """
    where = printable(str(path))
    try:
        with Root.open(path.parent) as root:
            fd = root.open_file(RelPath((path.name,)))
            try:
                with named(path.name):
                    facts = os.fstat(fd)
                    data = os.read(fd, _MOST + 1)
            finally:
                platform.close(fd)
    except NotThere as error:
        raise NoKeys(where=where) from error
    if stat.S_IMODE(facts.st_mode) & 0o077 or facts.st_uid not in (0, os.geteuid()):
        raise BadKeys(where=where, why=say("others may read it or write it; its mode has to be 0600"))
    try:
        record = read_json(data)
        if not isinstance(record, dict) or set(record) != {"v", "keys"} or record["v"] != 1:
            raise ValueError("it is no object with v and keys")
        found = [_kept(entry) for entry in record["keys"]]
    except (NotJson, ValueError, KeyError, TypeError) as error:
        raise BadKeys(where=where, why=say("{finding}", finding=printable(str(error)))) from error
    if len({one.kid for one in found}) != len(found):
        raise BadKeys(where=where, why=say("two keys have one id"))
    for one in found:
        one.key()
    return found


def read_keys(path: Path) -> list[Key]:
    """The keys that tokens are checked with; `NoKeys` when there is none."""
    found = [one.key() for one in read_kept(path) if one.retired is None]
    if not found:
        raise NoKeys(where=printable(str(path)), why=say("all keys are retired"))
    return found


def add_key(path: Path, *, clock: Clock, entropy: Entropy = os.urandom, only_first: bool = False) -> str:
    """Put a new secret of 32 bytes into the file, which is made when it is missing; its key id.

    With `only_first` a file that has a key that is not retired stays as it is.
    """
    with named(str(path.parent)):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with Root.open(path.parent) as root, locked(root, RelPath((f"{path.name}.lock",))):
        kept = _kept_or_none(path)
        living = [one for one in kept if one.retired is None]
        if only_first and living:
            return living[-1].kid
        secret = base64.urlsafe_b64encode(entropy(32)).rstrip(b"=").decode()
        fresh = KeptKey(new_ulid(clock(), entropy), "HS256", ISSUER, {"kty": "oct", "k": secret})
        _write(root, path.name, [*kept, fresh])
    return fresh.kid


def retire_key(path: Path, kid: str, *, clock: Clock) -> None:
    """A key checks nothing from now on; `BadKeys` when there is none of that id."""
    with Root.open(path.parent) as root, locked(root, RelPath((f"{path.name}.lock",))):
        kept = read_kept(path)
        if kid not in [one.kid for one in kept]:
            raise BadKeys(where=printable(kid[:64]), why=say("no key has this id"))
        changed = [
            replace(one, retired=instant(clock())) if one.kid == kid and one.retired is None else one
            for one in kept
        ]
        _write(root, path.name, changed)


def mint(path: Path, user: str, *, clock: Clock, claim: str, days: int = DAYS) -> str:
    """A token for a user, made with the newest key that can make one."""
    for one in reversed(read_kept(path)):
        if one.retired is None and ("d" in one.jwk or one.algorithm == "HS256"):
            return make_token(one.key(), user, clock(), days, claim)
    raise NoKeys(where=printable(str(path)), why=say("no key in it can make tokens"))


class KeyRing:
    """The keys of a file, read again when the file is another one, or who may read it: rotation needs no
    new start."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._face: tuple[int, int, int, int, int] | None = None
        self._keys: Sequence[Key] = ()

    def keys(self) -> Sequence[Key]:
        """The keys in force."""
        try:
            found = os.stat(self.path)
        except OSError:
            face = None
        else:
            face = (found.st_ino, found.st_mode, found.st_mtime_ns, found.st_ctime_ns, found.st_size)
        if face is None or face != self._face:
            self._keys = read_keys(self.path)
            self._face = face
        return self._keys


def _kept_or_none(path: Path) -> list[KeptKey]:
    try:
        return read_kept(path)
    except NoKeys:
        return []


def _write(root: Root, name: str, kept: Sequence[KeptKey]) -> None:
    record: dict[str, Json] = {"v": 1, "keys": [one.to_json() for one in kept]}
    write_verified(root, RelPath((name,)), canonical(record) + b"\n", replace=True, mode=0o600)


def _kept(entry: Any) -> KeptKey:
    if not isinstance(entry, dict) or not _MEMBERS.issuperset(entry):
        raise ValueError("a key has a member that is not known")
    kid, algorithm, issuer, jwk = (entry[name] for name in ("kid", "algorithm", "issuer", "key"))
    retired = entry.get("retired")
    texts = (kid, algorithm, issuer, *([retired] if retired is not None else []))
    if not all(isinstance(one, str) for one in texts) or not isinstance(jwk, dict):
        raise ValueError("a key is malformed")
    if algorithm not in ALGORITHMS:
        raise ValueError("a key's algorithm is not known here")
    return KeptKey(kid, algorithm, issuer, jwk, retired)
