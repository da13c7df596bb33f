"""A tar.gz from elsewhere, kept as extents of its own bytes (ADR 0504)."""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.vault.content import Content, flipped, keep, numbered, part, restored
from tests.vault.sites import Folder

from muniment.bundle.deflate import crc32
from muniment.bundle.errors import BadIndex
from muniment.bundle.index import Index
from muniment.bundle.model import Row
from muniment.bundle.vault import Soundness, Stored
from muniment.bundle.whole import Description
from muniment.vault.errors import BadUpload, SnapshotDamaged
from muniment.vault.examine import examine
from muniment.vault.open import open_directory, rebuild_directory
from muniment.vault.whole import CUT, Wholes, _cut


def noise(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def kept(folder: Folder, data: bytes, label: str = "") -> Stored:
    return Wholes(folder.client()).keep([data], Description(label, ()))


def downloaded(folder: Folder, name: str, start: int = 0) -> bytes:
    return b"".join(folder.client().download(name, start))


@given(st.lists(st.binary(max_size=3 * 1024), max_size=40), st.integers(1, 5000))
def test_cutting_changes_nothing(chunks: list[bytes], times: int) -> None:
    chunks = [chunk * (times % 97) for chunk in chunks]
    parts = list(_cut(chunks))
    assert b"".join(parts) == b"".join(chunks)
    assert all(len(one) == CUT for one in parts[:-1]) and all(parts)


def test_root_and_sha256_are_known_at_once(folder: Folder) -> None:
    """The root is the digest of the list of ids; here that is of each 262,144 bytes."""
    data = noise(600_000)
    told = kept(folder, data).snapshot
    ids = [hashlib.sha256(data[at : at + 262_144]).hexdigest() for at in range(0, len(data), 262_144)]
    assert told.root.hex == hashlib.sha256(json.dumps(ids, separators=(",", ":")).encode()).hexdigest()
    assert told.sha256 is not None and told.sha256.hex == hashlib.sha256(data).hexdigest()
    assert told.whole and told.size == 600_000


@pytest.mark.parametrize("size", [1, 2, CUT - 1, CUT, CUT + 1, 3 * CUT + 7])
def test_any_size_and_any_offset(folder: Folder, size: int) -> None:
    data = noise(size)
    name = kept(folder, data).snapshot.id
    for start in {0, 1, size // 2, size - 1, size, size + 1, 10**12}:
        assert downloaded(folder, name, start) == data[start:]


def test_what_is_sent_again_is_kept_once(folder: Folder) -> None:
    data = noise(700_000)
    kept(folder, data)
    before = sum(pack.stat().st_size for pack in folder.packs())
    again = kept(folder, data).snapshot
    vault = folder.client()
    assert vault.catalogue.holdings().extents == 3
    vault.close()
    assert downloaded(folder, again.id) == data
    assert before > 700_000


def test_a_file_whose_bytes_are_lost_is_damaged_and_healed(folder: Folder) -> None:
    data = noise(600_000)
    told = kept(folder, data).snapshot
    (pack,) = folder.packs()
    pack.write_bytes(flipped(pack.read_bytes(), 300_000))
    with pytest.raises(SnapshotDamaged):
        downloaded(folder, told.id)
    vault = folder.client()
    assert not examine(vault, repair=True).sound
    assert vault.show(told.id).soundness is Soundness.DAMAGED
    kept(folder, data)
    healed = vault.show(told.id)
    assert (healed.soundness, healed.size, healed.sha256) == (Soundness.SOUND, told.size, told.sha256)
    assert downloaded(folder, told.id) == data


def test_rebuilt_from_packs_and_indexes_alone(folder: Folder) -> None:
    data = noise(600_000)
    told = kept(folder, data, "label").snapshot
    mine = keep(folder.client(), numbered(1, 2)).snapshot
    folder.close()
    folder.catalogue.unlink()
    rebuild_directory(folder.path, clock=folder.clock)
    vault = folder.client()
    again = vault.show(told.id)
    assert (again.whole, again.size, again.label, again.root) == (True, 600_000, "label", told.root)
    assert not vault.show(mine.id).whole
    assert downloaded(folder, told.id) == data
    assert vault.show(told.id).sha256 == told.sha256
    assert restored(vault, mine.id) == numbered(1, 2).raw


def test_an_upload_goes_on_in_another_process(folder: Folder) -> None:
    data = noise(600_000)
    upload = Wholes(folder.client()).reserve(len(data), Description("l", ("workspace/a",)))
    assert Wholes(folder.client()).take(upload, 0, 100_000, len(data), [data[:100_000]]) == 100_000
    done = Wholes(folder.client()).take(upload, 100_000, len(data), len(data), [data[100_000:]])
    assert isinstance(done, Stored)
    assert done.snapshot.sha256 is not None
    assert done.snapshot.sha256.hex == hashlib.sha256(data).hexdigest()
    assert done.snapshot.label == "l" and done.snapshot.sections == ("workspace/a",)


@pytest.mark.parametrize("sent", [b"", b"x" * 99, b"x" * 101, b"x" * 300_000])
def test_a_chunk_that_is_not_as_long_as_its_range(folder: Folder, sent: bytes) -> None:
    wholes = Wholes(folder.client())
    upload = wholes.reserve(200, Description("", ()))
    with pytest.raises(BadUpload):
        wholes.take(upload, 0, 100, 200, [sent])
    assert wholes.look(upload).taken == 0


def test_a_sender_who_breaks_off_leaves_no_upload_behind(folder: Folder) -> None:
    class Gone(Exception):
        pass

    def chunks() -> Iterator[bytes]:
        yield noise(400_000)
        raise Gone

    vault = folder.client()
    with pytest.raises(Gone):
        Wholes(vault).keep(chunks(), Description("", ()))
    assert vault.catalogue.holdings().uploads == 0
    assert vault.list().snapshots == ()


# The index


def row(data: bytes, offset: int, path: bytes) -> Row:
    return Row(hashlib.sha256(data).digest(), len(data), crc32(data), offset, path)


def test_an_index_of_a_file_may_have_any_length() -> None:
    index = Index.of([row(b"abc", 0, b"bundle.tar.gz"), row(b"d", 3, b"bundle.tar.gz")])
    again = Index.read(index.to_bytes())
    assert again.whole and again.raw == 4
    assert not numbered(1, 2).index.whole


@pytest.mark.parametrize(
    "paths",
    [
        [b"bundle.tar.gz", b"files/workspace/a"],
        [b"bundle.tar.gz", b"bundle.tar.gzz"],
        [b"bundle.tar.gz.", b"bundle.tar.gz."],
        [b"api/profile.json", b"bundle.tar.gz"],
    ],
)
def test_an_index_is_of_a_file_or_of_a_stream(paths: list[bytes]) -> None:
    index = Index.of([row(b"abc", 0, paths[0]), row(b"d", 3, paths[1])])
    with pytest.raises(BadIndex):
        Index.read(index.to_bytes())


# Former vaults


FORMER = """
CREATE TABLE packs (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER, dead_since REAL);
CREATE TABLE extents (id BLOB PRIMARY KEY, pack INTEGER NOT NULL, at INTEGER NOT NULL,
 stored INTEGER NOT NULL, length INTEGER NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX extents_by_pack ON extents (pack);
CREATE TABLE snapshots (id TEXT PRIMARY KEY, state TEXT NOT NULL, upload TEXT NOT NULL,
 label TEXT NOT NULL, created INTEGER NOT NULL, size INTEGER NOT NULL, sections TEXT NOT NULL,
 root TEXT NOT NULL, sha256 TEXT, soundness TEXT NOT NULL, facts TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE used (snapshot TEXT NOT NULL, pack INTEGER NOT NULL, PRIMARY KEY (snapshot, pack)) WITHOUT ROWID;
CREATE INDEX used_by_pack ON used (pack);
CREATE TABLE uploads (id TEXT PRIMARY KEY, touched REAL NOT NULL, replaces TEXT) WITHOUT ROWID;
CREATE TABLE pins (upload TEXT NOT NULL, pack INTEGER NOT NULL, PRIMARY KEY (upload, pack)) WITHOUT ROWID;
CREATE INDEX pins_by_pack ON pins (pack);
PRAGMA user_version = 1;
"""
"""The catalogue's tables as version 1 had them."""


def as_version_1(folder: Folder) -> None:
    """Put a vault's rows into a catalogue of version 1."""
    former = folder.path / "former.sqlite"
    with sqlite3.connect(former) as base:
        base.executescript(FORMER)
        base.execute("ATTACH ? AS now", (str(folder.catalogue),))
        for table in ("packs", "extents", "snapshots", "used", "uploads", "pins"):
            columns = ", ".join(found[1] for found in base.execute(f"PRAGMA main.table_info({table})"))
            base.execute(f"INSERT INTO main.{table} SELECT {columns} FROM now.{table}")
    base.close()
    folder.catalogue.unlink()
    former.rename(folder.catalogue)


def test_a_catalogue_of_version_1_is_taken_along(folder: Folder) -> None:
    vault = folder.client()
    told = keep(vault, numbered(1, 2), "before").snapshot
    what: Content = numbered(1, 3)
    upload = vault.reserve(what.ids).upload_id
    folder.close()
    as_version_1(folder)
    # Two who open it at once find one of them faster.
    one, two = (open_directory(folder.path, clock=folder.clock) for _ in range(2))
    assert one.show(told.id) == two.show(told.id) == told
    assert one.ask(upload, what.ids) == {what.ids[1]}, "an upload under way goes on"
    one.put(upload, [what.extents[1]])
    two.finish(upload, what.index, label="", sections=[], facts={})
    assert Wholes(two).keep([part(9)], Description("", ())).snapshot.whole
    assert len(one.list().snapshots) == 3
    assert examine(one).sound
    one.close()
    two.close()
