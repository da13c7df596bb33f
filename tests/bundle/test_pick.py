"""Single files out of snapshots that others made: hard links are followed in two readings, not one a link."""

from __future__ import annotations

import gzip
import tarfile

import pytest
from tests.bundle.hostile import Tar, sound

from muniment.bundle.errors import BadBundle
from muniment.bundle.extent import make_extent
from muniment.bundle.index import WHOLE, Index
from muniment.bundle.model import Row
from muniment.bundle.pick import pick
from muniment.bundle.verify import verify


class SentWhole:
    """A tar.gz as it was sent, in extents; counts how often one of them is asked for."""

    def __init__(self, data: bytes) -> None:
        extents = [make_extent(data[at : at + 65_536], WHOLE) for at in range(0, len(data), 65_536)]
        self.index = Index.of(extents)
        self.asked = 0
        self._pieces = {one.id: one.piece or b"" for one in extents}

    def fetch(self, row: Row) -> bytes:
        self.asked += 1
        return self._pieces[row.id]

    def pick(self, path: str) -> bytes | None:
        found = pick(self.index, self.fetch, path)
        if found is None:
            return None
        member, parts = found
        data = b"".join(parts)
        assert member.size == len(data)
        return data


def chained(count: int) -> Tar:
    """A file, and links each of which names the one before it."""
    made = Tar().file("files/workspace/000000", b"the one")
    for number in range(1, count + 1):
        before, path = f"files/workspace/{number - 1:06}", f"files/workspace/{number:06}"
        made.entry(path, tarfile.LNKTYPE, linkname=before).list(path, b"the one")
    return made


@pytest.mark.parametrize("count", [1, 3_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_a_chain_of_hard_links(count: int) -> None:
    data = chained(count).manifest().done()
    kept = SentWhole(data)
    assert kept.pick(f"files/workspace/{count:06}") == b"the one"
    assert kept.asked <= 2 * len(kept.index)
    assert verify([gzip.decompress(data)]).files == count + 1


def test_a_chain_within_an_extent() -> None:
    """As a vault may answer that is not ours: an index of a tar stream, and links where ours has none."""
    one = make_extent(chained(3_000).plain(), b"files/workspace/000000")
    found = pick(Index.of([one]), lambda row: one.piece or b"", "files/workspace/003000")
    assert found is not None and b"".join(found[1]) == b"the one"


def test_a_link_that_names_nothing_is_refused_before_anything_is_followed() -> None:
    made = chained(2).entry("files/workspace/l", tarfile.LNKTYPE, linkname="files/workspace/none")
    with pytest.raises(BadBundle):
        SentWhole(made.manifest().done()).pick("files/workspace/l")
    assert SentWhole(chained(2).manifest().done()).pick("files/workspace/none") is None


def test_a_link_to_the_manifest_is_refused() -> None:
    """The manifest is no file of the snapshot: its bytes would stand in it under another name."""
    made = sound().file("manifest.json", b"{}", listed=False)
    made.entry("files/workspace/m", tarfile.LNKTYPE, linkname="manifest.json")
    data = made.done()
    for read in (lambda: verify([gzip.decompress(data)]), lambda: SentWhole(data).pick("files/workspace/m")):
        with pytest.raises(BadBundle, match="a hard link names no earlier file"):
            read()
