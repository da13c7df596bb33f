"""`backup fetch --output`: one pass that verifies, and nothing left where it finds something wrong."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.backup.test_commands import Desk, desk, ruled  # noqa: F401 - fixtures
from tests.backup.world import World, put

from muniment.backup.reading import Reading
from muniment.backup.whole import Whole
from muniment.bundle.errors import BadBundle
from muniment.errors import MunimentError
from muniment.vault.store import VaultStore

Worlds = Callable[..., World]


def fill(world: World) -> None:
    for number in range(40):
        world.write(f"many/{number:03}.txt", f"{number}\n" * (number * 40))
    world.write("large", bytes(range(256)) * 12_000)


def test_every_piece_is_asked_for_once_and_what_comes_opens_elsewhere(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(world)
    reading = world.reading(world.snapshot())
    asked: list[bytes] = []
    honest = VaultStore.fetch

    def counting(self: VaultStore, row: Any) -> bytes:
        asked.append(row.id)
        return honest(self, row)

    monkeypatch.setattr(VaultStore, "fetch", counting)
    for again in range(2):  # the first download of a snapshot is another one for the vault
        asked.clear()
        whole = Whole(reading)
        archive = b"".join(whole)
        assert asked == list(reading.index.ids), again
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(archive))) as opened:
            names = [one.name for one in opened if one.isfile()]
        assert whole.verified is not None
        assert whole.verified.files == len(names) - 1 == whole.files  # the manifest does not list itself
        assert len(archive) == reading.snapshot.size


def replaced(reading: Reading, stream: Callable[[], Iterator[bytes]]) -> Reading:
    """A stand-in for a vault that sends other bytes."""

    class Lying:
        def __getattr__(self, name: str) -> Any:
            return getattr(reading.vault, name)

        def download(self, snapshot_id: str, start: int = 0) -> Iterator[bytes]:
            return stream()

    return Reading(Lying(), reading.snapshot, reading.index)


def test_another_whole_snapshot_in_its_place_is_refused(world: World) -> None:
    """It is sound in itself, and its manifest fits; but it is not the one that was asked for."""
    fill(world)
    first = world.reading(world.snapshot())
    world.write("many/001.txt", "other")
    second = world.reading(world.snapshot())
    with pytest.raises(BadBundle):
        b"".join(Whole(replaced(first, second.download)))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.99])
def test_a_stream_that_is_cut_or_turned_over_anywhere_is_refused(world: World, share: float) -> None:
    fill(world)
    reading = world.reading(world.snapshot())
    honest = b"".join(reading.download())
    at = int(len(honest) * share)
    turned = honest[:at] + bytes([honest[at] ^ 8]) + honest[at + 1 :]
    for bad in (honest[:at], turned, honest + b"x", honest + honest):
        pieces = [bad[start : start + 5000] for start in range(0, len(bad), 5000)]
        if bad is turned and share == 0.0:
            assert honest[0] != turned[0]
        with pytest.raises(MunimentError):
            for _ in Whole(replaced(reading, lambda pieces=pieces: iter(pieces))):  # type: ignore[misc]
                pass


def test_what_is_wrong_from_the_start_is_not_read_to_its_end(world: World) -> None:
    fill(world)
    reading = world.reading(world.snapshot())
    handed = 0

    def long() -> Iterator[bytes]:
        nonlocal handed
        while handed < 5_000:
            handed += 1
            yield b"x" * 1000

    with pytest.raises(MunimentError):
        b"".join(Whole(replaced(reading, long)))
    assert handed < 200  # what was on its way when it was seen


def test_a_reader_that_stops_stops_the_one_who_verifies(world: World) -> None:
    fill(world)
    stream = iter(Whole(world.reading(world.snapshot())))
    next(stream)
    stream.close()  # type: ignore[attr-defined]


def test_the_vault_that_is_lost_meanwhile_is_told_as_such(world: World) -> None:
    from muniment.errors import Unreachable

    fill(world)
    reading = world.reading(world.snapshot())

    def lost() -> Iterator[bytes]:
        yield next(iter(reading.download()))
        raise Unreachable(where="vault")

    with pytest.raises(Unreachable):
        b"".join(Whole(replaced(reading, lost)))


def test_damage_leaves_no_file_and_no_scratch(ruled: Desk) -> None:  # noqa: F811
    put(ruled.workspace / "large", bytes(range(256)) * 9_000)
    snapshot = ruled.snapshot()
    out = ruled.place / "out"
    out.mkdir()
    good = ruled.call("fetch", snapshot, "--output", str(out / "good.tar.gz"))
    assert good.code == 0, good.err
    assert gzip.decompress((out / "good.tar.gz").read_bytes())
    (pack,) = _packs(ruled.place / "vault")
    data = bytearray(pack.read_bytes())
    data[len(data) // 3] ^= 0x10
    pack.chmod(0o600)
    pack.write_bytes(data)
    bad = ruled.call("fetch", snapshot, "--output", str(out / "bad.tar.gz"))
    assert bad.code == 4, bad.err
    assert [path.name for path in out.iterdir()] == ["good.tar.gz"]


def test_a_file_that_is_there_is_not_overwritten(ruled: Desk) -> None:  # noqa: F811
    there = put(ruled.place / "there.tar.gz", "precious")
    refused = ruled.call("fetch", ruled.snapshot(), "--output", str(there))
    assert refused.code != 0
    assert there.read_text() == "precious"


def _packs(vault: Path) -> list[Path]:
    return [path for path in (vault / "packs").rglob("*") if path.is_file()]
