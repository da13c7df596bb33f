"""The format's page is exact: a reader made from it alone reads the nasty tree."""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import ast
import gzip
import os
import stat
from pathlib import Path

from tests.bundle import stranger
from tests.bundle.test_nasty import faces, nasty
from tests.bundle.worlds import pack_folder


def test_a_stranger_reads_the_nasty_tree(tmp_path: Path) -> None:
    nasty(os.fsencode(tmp_path / "in"))
    made = pack_folder(tmp_path / "in")
    rows, root = stranger.index(made.index.to_bytes())
    assert root == made.index.root.hex
    stream = b"".join(
        stranger.inflate(made.fetch(extent), row) for extent, row in zip(made.extents, rows, strict=True)
    )
    assert stream == gzip.decompress(made.gz)
    told, found = stranger.read(stream)
    assert told["version"] == "1.1"
    kinds: dict[object, bytes] = {stat.S_IFREG: b"0", stat.S_IFDIR: b"5", stat.S_IFLNK: b"2"}
    for path, (kind, mode, mtime, inside) in faces(os.fsencode(tmp_path / "in")).items():
        _, typ, found_mode, seconds, target, body = found.pop(b"files/workspace/" + path)
        assert typ == kinds[kind]
        whole, _, part = seconds.partition(b".")
        nanoseconds = abs(int(whole)) * 10**9 + int(part or b"0")
        assert (-nanoseconds if whole.startswith(b"-") else nanoseconds) == mtime
        if typ == b"0":
            assert (body, found_mode) == (inside, mode)
        elif typ == b"2":
            assert target == inside
    assert list(found) == [b"files/workspace"]


def test_the_first_row_of_a_file_is_found_as_the_page_says(tmp_path: Path) -> None:
    nasty(os.fsencode(tmp_path / "in"))
    made = pack_folder(tmp_path / "in")
    rows, _ = stranger.index(made.index.to_bytes())
    wanted = b"files/workspace/state.db"
    own = [row for row in rows if row[4] == wanted]
    assert len(own) == 1 + (1_000_016 + 65_535) // 65_536
    assert all(row[4] <= wanted for row in rows[: rows.index(own[0])])


def test_the_stranger_is_one() -> None:
    text = Path(stranger.__file__).read_text()
    names = {
        name.name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert names <= {"hashlib", "json", "struct", "zlib"}
    assert sum(bool(line.strip()) and not line.startswith("#") for line in text.splitlines()) <= 60
