"""Floor 3, `vault`: what a vault's folder says of itself: that it is one, and when it was last checked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from muniment.canonical import Json, canonical, read_json
from muniment.clock import instant, read_instant
from muniment.disk.errors import NotThere
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.ids import is_ulid
from muniment.message import say
from muniment.path import RelPath
from muniment.vault.errors import NotAVault

MARK = RelPath(("vault.json",))
CHECKED = RelPath(("checked.json",))
VERSION = 1

_MOST = 4096


@dataclass(frozen=True, slots=True)
class Check:
    """A whole check of a vault: when it ended, and whether everything was sound."""

    at: datetime
    sound: bool


def read_mark(root: Root) -> str:
    """The vault's id; `NotThere` without a mark, `NotAVault` with one that is none."""
    data = root.read(MARK, _MOST)
    try:
        record = read_json(data)
        identity, version = record["id"], record["v"]
        if record["format"] != "muniment vault" or not is_ulid(identity):
            raise ValueError("it does not say that this is a vault")
    except (ValueError, KeyError, TypeError) as error:
        raise NotAVault(where=root.path, why=say("{file} is damaged", file=MARK.name)) from error
    if version != VERSION:
        raise NotAVault(where=root.path, why=say("its version {version} is not known here", version=version))
    return str(identity)


def note_check(folder: Path, check: Check) -> None:
    """Write down that the vault was checked; the former note goes."""
    record: dict[str, Json] = {"v": VERSION, "at": instant(check.at), "sound": check.sound}
    with Root.open(folder) as root:
        write_verified(root, CHECKED, canonical(record) + b"\n", replace=True, mode=0o600)


def last_check(folder: Path) -> Check | None:
    """When the vault was last checked; None when it never was, or when nobody can tell."""
    try:
        with Root.open(folder) as root:
            record = read_json(root.read(CHECKED, _MOST))
        return Check(read_instant(record["at"]), record["sound"] is True)
    except (NotThere, ValueError, KeyError, TypeError):
        return None
