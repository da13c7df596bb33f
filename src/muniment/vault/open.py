"""Floor 3, `vault`: opening a vault that lies in a directory: `file:///…`."""

from __future__ import annotations

import os
from pathlib import Path

from muniment.bundle.vault import Limits
from muniment.clock import Clock
from muniment.disk.errors import named
from muniment.disk.root import Root
from muniment.ids import Entropy
from muniment.path import RelPath
from muniment.vault.blobs import Directory
from muniment.vault.catalogue import Catalogue
from muniment.vault.errors import CatalogueLost
from muniment.vault.store import NO_LIMITS, VaultStore
from muniment.vault.upkeep import Rebuilt, rebuild

CATALOGUE = "catalogue.sqlite"


def open_directory(
    path: Path, *, clock: Clock, entropy: Entropy = os.urandom, limits: Limits = NO_LIMITS
) -> VaultStore:
    """The vault of one tenant in a directory; made when it is missing, closed to other users.

    A directory with packs and no catalogue is `CatalogueLost`: an empty one would look as if
    nothing had ever been kept.
    """
    with named(str(path)):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    root = Root.open(path)
    if not root.exists(RelPath((CATALOGUE,))) and any(True for _ in Directory(root).names("packs")):
        raise CatalogueLost(where=str(path))
    return VaultStore(
        Directory(root),
        Catalogue(os.path.join(root.path, CATALOGUE)),
        clock=clock,
        entropy=entropy,
        limits=limits,
    )


def rebuild_directory(path: Path, *, entropy: Entropy = os.urandom) -> Rebuilt:
    """Make the catalogue of a directory again; a former one is kept beside it until that is done."""
    root = Root.open(path)
    fresh = os.path.join(root.path, CATALOGUE + ".new")
    for suffix in ("", "-journal"):
        root.unlink(RelPath((CATALOGUE + ".new" + suffix,)), missing_ok=True)
    catalogue = Catalogue(fresh)
    try:
        done = rebuild(Directory(root), catalogue, entropy)
    finally:
        catalogue.close()
    with named(CATALOGUE):
        # A hot journal of the lost catalogue must not be played into the new one.
        root.unlink(RelPath((CATALOGUE + "-journal",)), missing_ok=True)
        os.rename(CATALOGUE + ".new", CATALOGUE, src_dir_fd=root.fd, dst_dir_fd=root.fd)
        os.fsync(root.fd)
    return done
