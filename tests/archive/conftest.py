"""What the tests of `archive` share: a workspace whose clock and session the test sets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from muniment.archive.model import Receipt, Request
from muniment.archive.service import Archive, Options
from muniment.disk.root import Root
from muniment.hosts.session import Session, SessionSource
from muniment.path import RelPath
from muniment.record.state import Workspace, open_workspace

NOON = datetime(2026, 11, 30, 14, 28, 5, tzinfo=UTC)
STAMP = "2026-11-30-14-28-05"
ARCHIVE_ID = "local-1130-1428"


class Bench:
    """A workspace on a real folder."""

    def __init__(self, folder: Path, root: Root) -> None:
        self.folder, self.root = folder, root
        self.now = NOON
        self.session = Session(ARCHIVE_ID, SessionSource.FALLBACK)
        self.workspace: Workspace = open_workspace(root, clock=lambda: self.now, actor="tests")

    def archive(self, options: Options | None = None) -> Archive:
        """The room, in the session that the test has set."""
        return Archive(
            self.workspace,
            lambda: self.session,
            options=options,
            local=lambda moment: moment,
            workspace_rule="flag",
        )

    def keep(self, *paths: str, options: Options | None = None) -> list[Receipt]:
        """Archive paths in one call."""
        return self.archive(options).keep([Request(RelPath.parse(path)) for path in paths])

    def write(self, name: str, content: bytes | str = "# Report\n") -> Path:
        """A file in the workspace."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def snapshot(self) -> dict[str, bytes | str | None]:
        """Everything outside `.muniment/`: bytes of files, targets of links, None for folders."""
        found: dict[str, bytes | str | None] = {}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if name.split("/")[0] == ".muniment":
                continue
            if path.is_symlink():
                found[name] = str(path.readlink())
            else:
                found[name] = path.read_bytes() if path.is_file() else None
        return found

    def kinds(self) -> list[str]:
        """The kinds of all events, in order."""
        return [event.kind for event in self.workspace.ledger.events()]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A fresh workspace."""
    folder = (tmp_path / "work").resolve()
    folder.mkdir()
    with Root.open(folder) as root:
        yield Bench(folder, root)
