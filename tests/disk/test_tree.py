"""Measuring, looking again, and removing."""

from __future__ import annotations

import os
import tracemalloc
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.disk import root as root_module
from muniment.disk import tree
from muniment.disk.errors import SourceChanged
from muniment.disk.root import Root
from muniment.disk.tree import check_stamps, measure, remove_tree, walk_stats
from muniment.evidence import Kind
from muniment.path import RelPath

TOP = RelPath.parse("top")

NAMES = st.binary(min_size=1, max_size=8).filter(
    lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b"..")
)
TREES = st.recursive(
    st.binary(max_size=40), lambda inner: st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)


def build(path: bytes, thing: object) -> dict[bytes, bytes | None]:
    """Write a generated tree; what lies where, by path."""
    found: dict[bytes, bytes | None] = {}
    if isinstance(thing, bytes):
        with open(path, "wb") as stream:
            stream.write(thing)
        return {b"": thing}
    assert isinstance(thing, dict)
    os.mkdir(path)
    found[b""] = None
    for name, inner in thing.items():
        for below, data in build(path + b"/" + name, inner).items():
            found[name + (b"/" + below if below else b"")] = data
    return found


@given(TREES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_a_table_tells_each_entry_and_removal_leaves_none(root: Root, place: Path, thing: object) -> None:
    wanted = build(os.fsencode(place / "top"), thing)
    told: list[tuple[int, int]] = []
    measured = measure(root, TOP, cold=True, progress=lambda files, size: told.append((files, size)))
    rows = {os.fsencode(row.path): row for row in measured.table.rows}
    assert rows.keys() == wanted.keys() == {os.fsencode(path) for path in measured.stamps}
    for path, data in wanted.items():
        row = rows[path]
        if data is None:
            assert row.kind is Kind.DIRECTORY
        else:
            assert row.digest is not None
            assert (row.kind, row.size, row.digest.hex) == (Kind.FILE, len(data), sha256(data).hexdigest())
    files = [data for data in wanted.values() if data is not None]
    assert (len(told), sum(size for _, size in told)) == (len(files), sum(map(len, files)))
    check_stamps(root, TOP, measured)
    assert {inner for inner, _ in walk_stats(root, TOP)} == measured.stamps.keys()
    remove_tree(root, TOP, measured)
    assert os.listdir(place) == []


def test_a_file_that_grows_under_the_reader(root: Root, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "top").write_bytes(b"x" * 100)
    hash_file = tree._hash

    def growing(fd: int, buffer: bytearray) -> object:
        with (place / "top").open("ab") as stream:
            stream.write(b"more")
        return hash_file(fd, buffer)

    monkeypatch.setattr(tree, "_hash", growing)
    with pytest.raises(SourceChanged):
        measure(root, TOP)


def test_a_file_that_is_replaced_before_it_is_opened(
    root: Root, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "top").write_bytes(b"x")
    open_regular = root_module.open_regular

    def late(*args: object) -> int:
        (place / "next").write_bytes(b"x")
        (place / "next").rename(place / "top")
        return open_regular(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(tree, "open_regular", late)
    with pytest.raises(SourceChanged):
        measure(root, TOP)


def test_removal_takes_only_what_was_measured(root: Root, place: Path) -> None:
    (place / "top" / "sub").mkdir(parents=True)
    (place / "top" / "sub" / "a").write_bytes(b"a")
    measured = measure(root, TOP)
    (place / "top" / "sub" / "b").write_bytes(b"b")
    with pytest.raises(SourceChanged) as caught:
        remove_tree(root, TOP, measured)
    assert caught.value.where == "top/sub/b"
    assert (place / "top/sub/b").read_bytes() == b"b"


def test_removal_follows_no_link(root: Root, place: Path, tmp_path: Path) -> None:
    (tmp_path / "away" / "sub").mkdir(parents=True)
    (tmp_path / "away" / "file").write_bytes(b"x")
    (place / "top").mkdir()
    (place / "top" / "link").symlink_to(tmp_path / "away")
    remove_tree(root, TOP)
    assert sorted(os.listdir(tmp_path / "away")) == ["file", "sub"] and os.listdir(place) == []


def test_memory_stays_flat(root: Root, place: Path) -> None:
    with (place / "top").open("wb") as stream:
        stream.truncate(1 << 28)
    tracemalloc.start()
    measure(root, TOP)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20
