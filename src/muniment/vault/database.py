"""Floor 3, `vault`: the SQLite file under the catalogue: opened, locked, and its errors named.

Rollback journal, and synced so that a commit that was acknowledged survives a power loss: with
`EXTRA` the folder is synced as well once the journal is gone, without which it could come back and
undo the commit.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from muniment.disk.errors import DiskFault, NoPermission, NoSpace, named
from muniment.errors import MunimentError
from muniment.message import say
from muniment.vault.errors import CatalogueBusy, CatalogueLost

BUSY_S = 60.0
"""So long a transaction waits for those of other processes."""


class Database:
    """One connection; safe from several threads, beside any number of processes.

    `schema` are the statements of a new database, and `steps[n]` those that make one of version n into
    one of version n + 1.  `may_begin` is asked, within the transaction
    that makes them, before an empty file is taken for a new database; it raises if it is not.
    """

    def __init__(
        self,
        path: str,
        version: int,
        schema: Sequence[str],
        *,
        steps: Mapping[int, Sequence[str]] = MappingProxyType({}),
        may_begin: Callable[[], None] = lambda: None,
        busy_s: float = BUSY_S,
    ) -> None:
        self.path = path
        self._lock = threading.RLock()
        with named(os.path.basename(path)), contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with self._naming():
            self._base = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(version, schema, steps, may_begin)
        except BaseException:
            self._base.close()
            raise

    def _prepare(
        self,
        version: int,
        schema: Sequence[str],
        steps: Mapping[int, Sequence[str]],
        may_begin: Callable[[], None],
    ) -> None:
        with self._naming():
            for pragma in ("journal_mode = DELETE", "synchronous = EXTRA", "cell_size_check = ON"):
                self._base.execute(f"PRAGMA {pragma}").fetchall()
            self._base.execute("PRAGMA temp_store = MEMORY")
            found = self._version()
        if found == 0:
            with self.writing():
                if self._version() == 0:  # nobody was faster
                    may_begin()
                    for statement in (*schema, f"PRAGMA user_version = {version}"):
                        self._base.execute(statement)
                found = self._version()
        if found in steps:
            with self.writing():
                while (found := self._version()) in steps:
                    for statement in (*steps[found], f"PRAGMA user_version = {found + 1}"):
                        self._base.execute(statement)
        if found != version:
            raise CatalogueLost(
                where=self.path, why=say("its version {version} is not known here", version=found)
            )

    def _version(self) -> int:
        return int(self._base.execute("PRAGMA user_version").fetchone()[0])

    def close(self) -> None:
        """Let the database go."""
        with self._lock:
            self._base.close()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction that holds the write lock from its begin: what it reads stays true until
        it commits.  An error undoes all of it, unless it came from the commit itself: then whoever
        needs to know has to look."""
        with self._lock, self._naming():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:
                    with contextlib.suppress(sqlite3.Error):  # the first error matters more
                        self._base.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """The connection for this thread alone; each statement sees a whole state of its own."""
        with self._lock, self._naming():
            yield

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """All rows of a question."""
        with self.reading():
            return self._base.execute(statement, values).fetchall()

    def row(self, statement: str, values: Sequence[object] = ()) -> tuple[object, ...] | None:
        """The first row of a question."""
        with self.reading():
            found: tuple[object, ...] | None = self._base.execute(statement, values).fetchone()
        return found

    def number(self, statement: str, values: Sequence[object] = ()) -> int:
        """The one number that a question asks for; none counts as zero."""
        row = self.row(statement, values)
        value = row[0] if row else 0
        return value if isinstance(value, int) else 0

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Change something, inside `writing`; how many rows."""
        return self._base.execute(statement, values).rowcount

    def run_many(self, statement: str, values: Iterator[Sequence[object]]) -> None:
        """Change something for each row of values, inside `writing`."""
        self._base.executemany(statement, values)

    def damage(self) -> list[str]:
        """What SQLite itself finds wrong, at most a hundred lines."""
        found = [str(row[0]) for row in self.rows("PRAGMA integrity_check(100)")]
        return [] if found == ["ok"] else found

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError):
                raise  # not the file's fault
            raise _meant(error, self.path) from error


def _meant(error: sqlite3.DatabaseError, path: str) -> MunimentError:
    """What an error of SQLite means for the vault."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    why = say("{finding}", finding=error)
    where = os.path.basename(path)
    if code == sqlite3.SQLITE_READONLY_DBMOVED:
        return CatalogueLost(where=path, why=say("it was removed or replaced while it was in use"))
    primary = code & 0xFF
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return CatalogueBusy(where=where, why=why)
    if primary == sqlite3.SQLITE_FULL:
        return NoSpace(where=where, why=why)
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return NoPermission(where=where, why=why)
    if primary in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM):
        return DiskFault(where=where, fault=error)
    return CatalogueLost(where=path, why=why)
