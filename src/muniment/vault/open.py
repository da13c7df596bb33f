"""Floor 3, `vault`: opening a vault that lies in a directory: `file:///…`.

vault.json           that this is a vault, of which version, and its id
lock                 held by everyone who has the vault open; alone by `rebuild`
checked.json         when everything in it was last read and checked
catalogue.sqlite     the catalogue
packs/, snapshots/   what it is made from
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from pathlib import Path

from muniment.bundle.vault import Limits
from muniment.canonical import Json, canonical
from muniment.clock import Clock, instant
from muniment.disk.errors import AlreadyThere, NotThere, named
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import is_scratch, write_verified
from muniment.ids import Entropy, new_ulid
from muniment.message import say
from muniment.path import RelPath
from muniment.vault.blobs import Directory
from muniment.vault.catalogue import Catalogue
from muniment.vault.description import SNAPSHOTS
from muniment.vault.errors import CatalogueLost, NotAVault
from muniment.vault.examine import Progress
from muniment.vault.mark import CHECKED, MARK, VERSION, read_mark
from muniment.vault.packs import PACKS
from muniment.vault.rebuild import Rebuilt, rebuild
from muniment.vault.store import NO_LIMITS, After, VaultStore, nothing_after

CATALOGUE = "catalogue.sqlite"
LOCK = RelPath(("lock",))

_OWN = frozenset({MARK.name, CHECKED.name, LOCK.name, CATALOGUE, f"{CATALOGUE}-journal", PACKS, SNAPSHOTS})


def open_directory(
    path: Path,
    *,
    clock: Clock,
    entropy: Entropy = os.urandom,
    limits: Limits = NO_LIMITS,
    after: After = nothing_after,
) -> VaultStore:
    """The vault of one tenant in a directory; made when it is missing, closed to other users.

    `after` is called with it whenever a snapshot was kept or deleted; `collect.tidy` is one.

    A directory with packs and no catalogue is `CatalogueLost`: an empty one would look as if
    nothing had ever been kept.  One that holds something else is `NotAVault`.  While `rebuild` is
    at work it is `Locked`.
    """
    with named(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as held:
        root = held.enter_context(Root.open(path))
        identity = _identify(root, clock, entropy)
        held.enter_context(locked(root, LOCK, shared=True, wait=False))
        blobs = Directory(Root.open(path))
        held.callback(blobs.close)

        def may_begin() -> None:
            if any(True for prefix in (PACKS, SNAPSHOTS) for _ in blobs.names(prefix)):
                raise CatalogueLost(where=root.path, why=say("there are snapshots, and no catalogue"))

        catalogue = Catalogue(os.path.join(root.path, CATALOGUE), may_begin=may_begin)
        return VaultStore(
            blobs,
            catalogue,
            identity=identity,
            clock=clock,
            entropy=entropy,
            limits=limits,
            held=held.pop_all(),
            after=after,
        )


def rebuild_directory(
    path: Path, *, clock: Clock, entropy: Entropy = os.urandom, progress: Progress | None = None
) -> Rebuilt:
    """Make the catalogue of a directory again; until that is done a former one stays.

    Nobody else may have the vault open meanwhile, since what they write would go to the former one:
    `Locked` while somebody has.
    """
    with Root.open(path) as root:
        _identify(root, clock, entropy)
        with locked(root, LOCK, wait=False):
            fresh = f"{CATALOGUE}.new"
            for suffix in ("", "-journal"):
                root.unlink(RelPath((fresh + suffix,)), missing_ok=True)
            blobs = Directory(Root.open(path))
            try:
                catalogue = Catalogue(os.path.join(root.path, fresh))
                try:
                    done = rebuild(blobs, catalogue, entropy, progress)
                finally:
                    catalogue.close()
            finally:
                blobs.close()
            # The former one goes first: were its journal gone and the file still there, it could be
            # opened in the middle of a transaction.  Without any the vault says that it is lost.
            root.unlink(RelPath((CATALOGUE,)), missing_ok=True)
            root.unlink(RelPath((f"{CATALOGUE}-journal",)), missing_ok=True)
            with named(CATALOGUE):
                os.rename(fresh, CATALOGUE, src_dir_fd=root.fd, dst_dir_fd=root.fd)
            root.sync_folder(RelPath())
    return done


def _identify(root: Root, clock: Clock, entropy: Entropy) -> str:
    """The vault's id; a new one is marked as a vault, and so is one that lost its mark."""
    try:
        return read_mark(root)
    except NotThere:
        pass
    for name in sorted(root.names(RelPath())):
        if not is_scratch(name) and name not in _OWN:
            raise NotAVault(where=root.path, why=say("it holds {name}, which no vault has", name=repr(name)))
    now = clock()
    record: dict[str, Json] = {
        "format": "muniment vault",
        "v": VERSION,
        "id": new_ulid(now, entropy),
        "created_at": instant(now),
    }
    with suppress(AlreadyThere):  # somebody else was faster
        write_verified(root, MARK, canonical(record) + b"\n", mode=0o600)
    return read_mark(root)
