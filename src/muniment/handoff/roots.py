"""Handoff room: the facts that tell one root from every other one, read from the machine."""

from __future__ import annotations

import os

from muniment.canonical import NotJson, read_json
from muniment.disk import platform
from muniment.disk.errors import NotThere
from muniment.disk.root import Root
from muniment.evidence import spell
from muniment.handoff import model
from muniment.ids import is_ulid
from muniment.message import say
from muniment.record.errors import StateDamaged
from muniment.record.state import FOLDER

_IDENTITY = FOLDER / "root.json"


def root_facts(root: Root, found_by: str) -> model.Root:
    """What is true of an open root now; `found_by` is the rule by which it was found.

    Device and inode tell folders apart; a bind mount shares both with its source, so the mount, its
    file system and its root inside that are read too (spec 3, gate).
    """
    found = os.fstat(root.fd)
    mount = platform.mount_of(root.fd)
    return model.Root(
        root_id=read_root_id(root),
        real_path=spell(root.path),
        device=found.st_dev,
        inode=found.st_ino,
        boot_id=platform.boot_id() or "unknown",
        mount_id=mount.mount_id if mount is not None else 0,
        fs_type=mount.fs_type if mount is not None else "unknown",
        mount_root=spell(mount.fs_root) if mount is not None else "/",
        found_by=found_by,
    )


def read_root_id(root: Root) -> str:
    """The id that lies in the root; `StateDamaged` when there is none that can be read."""
    try:
        root_id = read_json(root.read(_IDENTITY, limit=1 << 16))["root_id"]
        if isinstance(root_id, str) and is_ulid(root_id):
            return root_id
        why = say("root_id is no ULID")
    except (NotThere, NotJson, KeyError, TypeError) as error:
        raise StateDamaged(where=_IDENTITY.posix, why=say("{finding}", finding=error)) from error
    raise StateDamaged(where=_IDENTITY.posix, why=why)
