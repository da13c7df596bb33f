"""Floor 1, `record`: evidence tables, each kept once under the digest of its bytes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from muniment.digest import Digest, sha256
from muniment.disk.errors import AlreadyThere, NotThere
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.evidence import Table
from muniment.message import say
from muniment.path import RelPath
from muniment.record.errors import StateDamaged

_LIMIT = 1 << 30


class EvidenceTables:
    """The folder of tables of one workspace."""

    def __init__(self, root: Root, folder: RelPath) -> None:
        self._root = root
        self._folder = folder

    def keep(self, table: Table) -> Digest:
        """Keep a table and answer its tree digest; one that is there already is read again."""
        data = table.to_bytes()
        digest = sha256(data)
        self._root.make_folders(self._folder, 0o700)
        try:
            write_verified(self._root, self._folder / digest.hex, data, mode=0o600)
        except AlreadyThere:
            if self._root.read(self._folder / digest.hex, _LIMIT) != data:
                write_verified(self._root, self._folder / digest.hex, data, replace=True, mode=0o600)
        return digest

    def get(self, digest: Digest) -> Table:
        """The table of a tree digest; its bytes are hashed before they are believed."""
        rel = self._folder / digest.hex
        try:
            data = self._root.read(rel, _LIMIT)
        except NotThere as error:
            raise StateDamaged(where=rel.posix, why=say("the evidence table is missing")) from error
        if sha256(data) != digest:
            raise StateDamaged(
                where=rel.posix, why=say("the evidence table does not have the digest in its name")
            )
        try:
            return Table.read(data)
        except ValueError as error:
            raise StateDamaged(where=rel.posix, why=say("{finding}", finding=error)) from error

    def all(self) -> Iterator[Digest]:
        """The digests of all tables kept."""
        if self._root.exists(self._folder):
            for name in self._root.names(self._folder):
                # Other names, such as those of unfinished files, are no tables.
                with contextlib.suppress(ValueError):
                    yield Digest(name)
