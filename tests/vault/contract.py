"""The contract of a vault: one suite that each way to reach one has to pass.

A class of tests derives from `Contract` and has a fixture `site`: it makes a new, empty vault with
the limits given, and hands out clients of it.
"""

from __future__ import annotations

import gzip
import hashlib
import random
import re
import struct
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import pytest
from tests.vault.content import (
    Content,
    Ticking,
    content,
    finish,
    flipped,
    keep,
    numbered,
    part,
    restored,
    root_of,
    spread,
)

from muniment.bundle.deflate import stored
from muniment.bundle.errors import BadExtent
from muniment.bundle.extent import make_extent
from muniment.bundle.index import Index
from muniment.bundle.vault import Limits, Soundness, Vault
from muniment.vault.errors import (
    BadDescription,
    BadLabel,
    ExtentsMissing,
    QuotaExceeded,
    SnapshotTooLarge,
    UnknownSnapshot,
    UploadGone,
)


class Site(Protocol):
    """One vault, somewhere."""

    clock: Ticking
    """The clock of whoever keeps it."""

    def client(self) -> Vault:
        """One more client of it."""
        ...

    def collect(self) -> None:
        """Its keeper collects garbage."""
        ...


Found = Callable[..., Site]
"""Founds a vault: `found(limits=Limits())`."""

HOSTILE_IDS = [
    "",
    ".",
    "..",
    "bk_1",
    "../../etc/passwd",
    "bk_20261130_120000_ABCD",
    "BK_20261130_120000_abcd",
    "bk_20261130_120000_abcd/..",
    "bk_20261130_120000_abcd\n",
    "bk_٢٠٢٦١١٣٠_120000_abcd",
    "bk_20261130_120000_abcd\0",
    "x" * 100_000,
]


class Contract:
    """What holds for every vault."""

    @pytest.fixture
    def found(self) -> Found:
        """Founds a vault; derived classes say how."""
        raise NotImplementedError

    @pytest.fixture
    def site(self, found: Found) -> Site:
        """A vault without limits."""
        return found()

    @pytest.fixture
    def vault(self, site: Site) -> Vault:
        """A client of it."""
        return site.client()

    # Kept and given back

    def test_what_was_kept_is_given_back(self, vault: Vault) -> None:
        what = numbered(1, 2, 3)
        told = keep(vault, what, "first").snapshot
        assert re.fullmatch(r"bk_20261130_120000_[a-z0-9]{4}", told.id)
        assert told.root.hex == root_of(what.ids)
        assert (told.label, told.sections, told.soundness) == ("first", ("workspace/a",), Soundness.SOUND)
        assert vault.show(told.id) == told
        assert list(vault.index(told.id)) == list(what.index)
        assert restored(vault, told.id) == what.raw

    def test_the_size_and_the_digest_are_those_of_the_tar_gz(self, vault: Vault) -> None:
        told = keep(vault, numbered(1, 2, 3)).snapshot
        whole = b"".join(vault.download(told.id))
        assert told.size == len(whole)
        assert told.sha256 is None
        digest = vault.show(told.id).sha256
        assert digest is not None and digest.hex == hashlib.sha256(whole).hexdigest()
        assert b"".join(vault.download(told.id)) == whole

    def test_a_new_vault_is_empty(self, vault: Vault) -> None:
        listing = vault.list()
        assert (listing.snapshots, listing.uploading, listing.remaining) == ((), 0, None)

    def test_the_newest_is_first(self, site: Site, vault: Vault) -> None:
        ids = []
        for number in range(3):
            ids.append(keep(vault, numbered(number, 9)).snapshot.id)
            site.clock.step(seconds=1)
        assert [one.id for one in vault.list().snapshots] == ids[::-1]

    def test_many_in_one_second_have_ids_of_their_own(self, vault: Vault) -> None:
        ids = {keep(vault, numbered(1, 2)).snapshot.id for _ in range(20)}
        assert len(ids) == 20

    def test_two_clients_see_one_vault(self, site: Site, vault: Vault) -> None:
        other = site.client()
        told = keep(vault, numbered(1, 2)).snapshot
        assert other.list().snapshots == (told,)
        assert restored(other, told.id) == numbered(1, 2).raw
        assert other.identity == vault.identity != ""

    def test_more_than_one_pack(self, vault: Vault) -> None:
        parts = [random.Random(number).randbytes(2 << 20) for number in range(18)]
        what = content(parts)
        told = keep(vault, what).snapshot
        assert restored(vault, told.id) == what.raw

    def test_thousands_of_extents(self, vault: Vault) -> None:
        what = numbered(*range(3000))
        told = keep(vault, what).snapshot
        assert gzip.decompress(b"".join(vault.download(told.id))) == what.raw
        assert vault.reserve(what.ids).missing == frozenset()

    def test_an_extent_that_stands_more_than_once(self, vault: Vault) -> None:
        what = numbered(1, 2, 1, 1, 3, 2)
        assert restored(vault, keep(vault, what).snapshot.id) == what.raw

    def test_any_offset_of_a_download(self, vault: Vault) -> None:
        told = keep(vault, numbered(1, 2, 3)).snapshot
        whole = b"".join(vault.download(told.id))
        for start in (*spread(len(whole), 40), 1, 9, 10, 11, len(whole), len(whole) + 1, 10**12):
            assert b"".join(vault.download(told.id, start)) == whole[start:], start

    # What is there is not sent again, and what is believed to be there is asked for

    def test_only_what_is_new_is_missing(self, vault: Vault) -> None:
        keep(vault, numbered(1, 2, 3))
        what = numbered(1, 4, 3, 5)
        upload = vault.reserve(what.ids[:2])
        assert upload.missing == {what.ids[1]}
        assert vault.ask(upload.upload_id, what.ids[2:]) == {what.ids[3]}
        vault.put(upload.upload_id, [what.extents[1], what.extents[3]])
        assert vault.ask(upload.upload_id, what.ids) == frozenset()
        assert restored(vault, finish(vault, upload.upload_id, what).snapshot.id) == what.raw

    def test_what_was_put_is_there_for_whoever_goes_on(self, site: Site, vault: Vault) -> None:
        """An upload is not bound to one client or process."""
        what = numbered(1, 2, 3)
        upload = vault.reserve().upload_id
        vault.put(upload, what.extents[:2])
        other = site.client()
        assert other.ask(upload, what.ids) == {what.ids[2]}
        other.put(upload, what.extents[2:])
        assert restored(vault, finish(site.client(), upload, what).snapshot.id) == what.raw

    def test_a_cache_that_is_wrong_is_found_out(self, vault: Vault) -> None:
        """A client that believes that everything is there and sends nothing."""
        what = numbered(1, 2)
        upload = vault.reserve().upload_id
        with pytest.raises(ExtentsMissing):
            finish(vault, upload, what)
        assert vault.list().snapshots == ()
        vault.put(upload, what.extents)
        assert restored(vault, finish(vault, upload, what).snapshot.id) == what.raw

    def test_the_base_is_deleted_while_the_next_is_made(self, site: Site, vault: Vault) -> None:
        """What a reservation has named stays, whatever is deleted and collected meanwhile."""
        base = keep(vault, numbered(1, 2, 3)).snapshot
        what = numbered(1, 2, 4)
        upload = vault.reserve(what.ids)
        site.client().delete(base.id)
        for _ in range(4):
            site.collect()
            site.clock.step(minutes=50)
            assert vault.ask(upload.upload_id, what.ids[2:]) == {what.ids[2]}
        vault.put(upload.upload_id, what.extents[2:])
        site.collect()
        told = finish(vault, upload.upload_id, what).snapshot
        site.clock.step(days=2)
        site.collect()
        assert restored(vault, told.id) == what.raw

    def test_what_nobody_needs_is_asked_for_again(self, site: Site, vault: Vault) -> None:
        what = numbered(1, 2)
        vault.delete(keep(vault, what).snapshot.id)
        for _ in range(3):
            site.collect()
            site.clock.step(days=1, seconds=1)
        assert vault.reserve(what.ids).missing == set(what.ids)
        assert restored(vault, keep(vault, what).snapshot.id) == what.raw

    def test_a_dead_pack_comes_to_life_when_it_is_named_again(self, site: Site, vault: Vault) -> None:
        what = numbered(1, 2)
        vault.delete(keep(vault, what).snapshot.id)
        site.collect()
        site.clock.step(hours=23)
        upload = vault.reserve(what.ids)
        assert upload.missing == frozenset()
        site.clock.step(minutes=59)
        assert vault.ask(upload.upload_id, []) == frozenset()
        site.clock.step(minutes=59)
        site.collect()
        told = finish(vault, upload.upload_id, what).snapshot
        site.clock.step(days=3)
        site.collect()
        assert restored(vault, told.id) == what.raw

    def test_a_reader_of_a_deleted_snapshot_has_a_day(self, site: Site, vault: Vault) -> None:
        what = numbered(1, 2)
        told = keep(vault, what).snapshot
        index = vault.index(told.id)
        site.client().delete(told.id)
        site.collect()
        site.clock.step(hours=23)
        site.collect()
        assert gzip.decompress(b"".join(_assembled(vault, index))) == what.raw

    # Nothing that is wrong may be named

    @pytest.mark.parametrize("case", ["id", "length", "crc", "piece", "cut", "final", "open", "none"])
    def test_an_extent_that_is_not_what_it_says_is_refused(self, vault: Vault, case: str) -> None:
        good = make_extent(part(1), b"p")
        assert good.piece is not None
        bad = {
            "id": good._replace(id=bytes(32)),
            "length": good._replace(length=good.length + 1),
            "crc": good._replace(crc=good.crc ^ 1),
            "piece": good._replace(piece=stored(part(2))),
            "cut": good._replace(piece=good.piece[:-1]),
            "final": good._replace(piece=good.piece + b"\x03\x00"),
            "open": good._replace(piece=stored(part(1))[:-5] + b"\x00\x08\x00\xf7\xff\x00\x00\xff\xff"),
            "none": good._replace(piece=None),
        }[case]
        upload = vault.reserve().upload_id
        with pytest.raises(BadExtent):
            vault.put(upload, [make_extent(part(3), b"p"), bad])
        assert vault.ask(upload, [bad.id, good.id]) == {bad.id, good.id}
        vault.put(upload, [good])
        assert vault.ask(upload, [good.id]) == frozenset()

    @pytest.mark.parametrize("what", ["length", "crc", "one of two"])
    def test_an_index_that_misstates_an_extent_is_refused(self, vault: Vault, what: str) -> None:
        good = numbered(1, 2)
        keep(vault, good)
        first, second = good.extents
        lie = first._replace(crc=first.crc ^ 1) if what != "length" else first._replace(length=512)
        rows = [lie, second] if what != "one of two" else [first, second, lie._replace(path=b"z")]
        upload = vault.reserve(good.ids).upload_id
        with pytest.raises(ExtentsMissing):
            vault.finish(upload, Index.of(rows), label="", sections=[], facts={})
        assert len(vault.list().snapshots) == 1

    @pytest.mark.parametrize("label", ["x" * 65, "a\nb", "a\x1b[2J", "a\u202eb", "\udcff", "\0"])
    def test_labels_that_can_not_be_shown_are_refused(self, vault: Vault, label: str) -> None:
        upload = vault.reserve().upload_id
        vault.put(upload, numbered(1, 2).extents)
        with pytest.raises(BadLabel):
            finish(vault, upload, numbered(1, 2), label)
        assert vault.list().snapshots == ()
        assert finish(vault, upload, numbered(1, 2), "x" * 64).snapshot.label == "x" * 64

    @pytest.mark.parametrize("label", ["", "daily", "每日备份", "l'été 🙂 'quoted' \"twice\" {braces}"])
    def test_labels_come_back_as_they_were(self, vault: Vault, label: str) -> None:
        told = keep(vault, numbered(1, 2), label).snapshot
        assert vault.list().snapshots[0].label == told.label == label

    def test_sections_are_sorted_and_can_be_shown(self, vault: Vault) -> None:
        upload = vault.reserve().upload_id
        vault.put(upload, numbered(1, 2).extents)
        sections = ["workspace/b", "api", "workspace/a\udcff", "api", "workspace/\x1b"]
        told = vault.finish(upload, numbered(1, 2).index, label="", sections=sections, facts={})
        wanted = ("api", "workspace/\\x1b", "workspace/a\\xff", "workspace/b")
        assert told.snapshot.sections == wanted

    def test_facts_are_told_as_they_were_said(self, vault: Vault) -> None:
        said = {"v": 1, "witness": {"count": 3, "head": "x" * 64}, "数据": ["报告", None, True]}
        upload = vault.reserve(numbered(1, 2).ids).upload_id
        vault.put(upload, numbered(1, 2).extents)
        stored = vault.finish(upload, numbered(1, 2).index, label="", sections=[], facts=said)
        assert vault.facts(stored.snapshot.id) == said
        with pytest.raises(UnknownSnapshot):
            vault.facts("bk_20200101_000000_aaaa")

    @pytest.mark.parametrize("facts", [{"x": float("nan")}, {"x": "\udcff"}, {"x": "y" * (1 << 20)}])
    def test_facts_that_can_not_be_kept_are_refused(self, vault: Vault, facts: dict[str, Any]) -> None:
        upload = vault.reserve().upload_id
        vault.put(upload, numbered(1, 2).extents)
        with pytest.raises(BadDescription):
            vault.finish(upload, numbered(1, 2).index, label="", sections=[], facts=facts)
        assert vault.list().snapshots == ()

    @pytest.mark.parametrize("hostile", HOSTILE_IDS, ids=range(len(HOSTILE_IDS)))
    def test_an_id_that_is_none_names_nothing(self, vault: Vault, hostile: str) -> None:
        for act in (vault.show, vault.index, vault.delete, lambda one: list(vault.download(one))):
            with pytest.raises(UnknownSnapshot):
                act(hostile)
        with pytest.raises(UnknownSnapshot):
            vault.reserve(replace=hostile)

    # Uploads

    @pytest.mark.parametrize("upload", ["", "x", "01KDVDNA000000000000000000", "'; DROP TABLE uploads"])
    def test_an_upload_that_was_never_begun(self, vault: Vault, upload: str) -> None:
        what = numbered(1, 2)
        for act in (
            lambda: vault.ask(upload, what.ids),
            lambda: vault.put(upload, what.extents),
            lambda: vault.put(upload, []),
            lambda: finish(vault, upload, what),
        ):
            with pytest.raises(UploadGone):
                act()
        vault.abort(upload)

    def test_an_upload_ends_once(self, vault: Vault) -> None:
        what = numbered(1, 2)
        upload = vault.reserve().upload_id
        vault.put(upload, what.extents)
        finish(vault, upload, what)
        with pytest.raises(UploadGone):
            finish(vault, upload, what)
        assert len(vault.list().snapshots) == 1

    def test_an_upload_that_is_idle_for_an_hour_is_gone(self, site: Site, vault: Vault) -> None:
        upload = vault.reserve().upload_id
        site.clock.step(minutes=59)
        vault.put(upload, numbered(1, 2).extents)
        site.clock.step(minutes=59)
        assert vault.ask(upload, []) == frozenset()
        assert vault.list().uploading == 1
        site.clock.step(hours=1, seconds=1)
        assert vault.list().uploading == 0
        with pytest.raises(UploadGone):
            finish(vault, upload, numbered(1, 2))
        assert vault.list().snapshots == ()

    def test_a_clock_that_goes_back_does_not_hold_a_slot_for_ever(self, found: Found) -> None:
        site = found(limits=Limits(snapshots=1))
        vault = site.client()
        vault.reserve()
        site.clock.step(days=-365)
        assert vault.list().remaining == 1
        vault.reserve()
        with pytest.raises(QuotaExceeded):
            vault.reserve()

    # Slots

    def test_a_reservation_holds_a_slot(self, found: Found) -> None:
        site = found(limits=Limits(snapshots=2))
        vault = site.client()
        first = keep(vault, numbered(1, 2))
        assert first.remaining == 1
        upload = vault.reserve().upload_id
        assert (vault.list().uploading, vault.list().remaining) == (1, 0)
        with pytest.raises(QuotaExceeded):
            site.client().reserve()
        vault.abort(upload)
        assert vault.list().remaining == 1
        assert keep(vault, numbered(1, 3)).remaining == 0
        with pytest.raises(QuotaExceeded):
            vault.reserve()
        vault.delete(first.snapshot.id)
        assert vault.list().remaining == 1

    def test_a_snapshot_that_is_too_large_is_refused(self, found: Found) -> None:
        what = content([random.Random(7).randbytes(1024)])
        size = len(stored(what.raw)) + 20
        with pytest.raises(SnapshotTooLarge):
            keep(found(limits=Limits(size=size - 1)).client(), what)
        assert keep(found(limits=Limits(size=size)).client(), what).snapshot.size == size

    def test_a_replace_takes_no_slot_and_removes_the_old_one_at_the_end(self, found: Found) -> None:
        site = found(limits=Limits(snapshots=1))
        vault = site.client()
        old = keep(vault, numbered(1, 2)).snapshot
        upload = vault.reserve(replace=old.id).upload_id
        vault.put(upload, numbered(1, 3).extents)
        assert restored(site.client(), old.id) == numbered(1, 2).raw
        new = finish(vault, upload, numbered(1, 3))
        assert new.remaining == 0
        assert vault.list().snapshots == (new.snapshot,)
        with pytest.raises(UnknownSnapshot):
            vault.show(old.id)
        assert restored(vault, new.snapshot.id) == numbered(1, 3).raw

    def test_a_replace_that_fails_leaves_the_old_one(self, vault: Vault) -> None:
        old = keep(vault, numbered(1, 2)).snapshot
        upload = vault.reserve(replace=old.id).upload_id
        with pytest.raises(ExtentsMissing):
            finish(vault, upload, numbered(5, 6))
        vault.abort(upload)
        assert restored(vault, old.id) == numbered(1, 2).raw

    def test_a_replace_of_what_is_gone_meanwhile_is_refused(self, vault: Vault) -> None:
        old = keep(vault, numbered(1, 2)).snapshot
        upload = vault.reserve(replace=old.id).upload_id
        vault.put(upload, numbered(3, 4).extents)
        vault.delete(old.id)
        with pytest.raises(UnknownSnapshot):
            finish(vault, upload, numbered(3, 4))
        assert vault.list().snapshots == ()

    def test_of_two_that_replace_the_same_one_wins(self, site: Site, vault: Vault) -> None:
        old = keep(vault, numbered(1, 2)).snapshot
        other = site.client()
        uploads = [one.reserve(replace=old.id).upload_id for one in (vault, other)]
        for number, (one, upload) in enumerate(zip((vault, other), uploads, strict=True)):
            one.put(upload, numbered(1, 3 + number).extents)
        won = finish(other, uploads[1], numbered(1, 4)).snapshot
        with pytest.raises(UnknownSnapshot):
            finish(vault, uploads[0], numbered(1, 3))
        assert vault.list().snapshots == (won,)
        assert restored(vault, won.id) == numbered(1, 4).raw

    # Deleting

    def test_deleting_tells_what_it_was(self, vault: Vault) -> None:
        told = keep(vault, numbered(1, 2), "gone").snapshot
        assert vault.delete(told.id) == told
        assert vault.list().snapshots == ()
        for act in (vault.show, vault.index, vault.delete, lambda one: list(vault.download(one))):
            with pytest.raises(UnknownSnapshot):
                act(told.id)

    def test_what_is_shared_outlives_a_deletion(self, site: Site, vault: Vault) -> None:
        first, second = (keep(vault, numbered(1, 2, last)).snapshot for last in (3, 4))
        vault.delete(first.id)
        for _ in range(3):
            site.collect()
            site.clock.step(days=1, seconds=1)
        assert restored(vault, second.id) == numbered(1, 2, 4).raw

    # At once

    def test_two_that_send_the_same(self, site: Site, vault: Vault) -> None:
        """Both are told that it is missing, both send it; either may go."""
        other, what = site.client(), numbered(1, 2, 3)
        uploads = [one.reserve(what.ids).upload_id for one in (vault, other)]
        vault.put(uploads[0], what.extents)
        other.put(uploads[1], what.extents)
        told = [
            finish(one, upload, what).snapshot for one, upload in zip((vault, other), uploads, strict=True)
        ]
        vault.delete(told[0].id)
        for _ in range(3):
            site.collect()
            site.clock.step(days=1, seconds=1)
        assert restored(other, told[1].id) == what.raw

    def test_threads_of_one_client(self, vault: Vault) -> None:
        """Eight threads create, read and delete through one client; then all that was kept is whole."""
        kept: dict[str, Content] = {}
        guard = threading.Lock()

        def work(number: int) -> None:
            for turn in range(3):
                what = numbered(1, 2, 10 + number, 100 + turn)
                told = keep(vault, what).snapshot
                assert restored(vault, told.id) == what.raw
                if turn == 1:
                    vault.delete(told.id)
                else:
                    with guard:
                        kept[told.id] = what

        with ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(work, number) for number in range(8)]:
                done.result()
        assert {one.id for one in vault.list().snapshots} == set(kept)
        for snapshot_id, what in kept.items():
            assert restored(vault, snapshot_id) == what.raw

    def test_one_upload_from_several_threads(self, vault: Vault) -> None:
        what = numbered(*range(40))
        upload = vault.reserve().upload_id
        with ThreadPoolExecutor(4) as pool:
            parts = [what.extents[start : start + 5] for start in range(0, 40, 5)]
            for done in [pool.submit(vault.put, upload, some) for some in parts]:
                done.result()
        assert restored(vault, finish(vault, upload, what).snapshot.id) == what.raw

    def test_a_piece_of_another_encoder_is_as_good(self, vault: Vault) -> None:
        """The same raw bytes deflated otherwise have the same id."""
        what = numbered(1, 2)
        others = [
            extent._replace(piece=stored(part(number)))
            for number, extent in zip((1, 2), what.extents, strict=True)
        ]
        upload = vault.reserve(what.ids).upload_id
        vault.put(upload, others)
        assert restored(vault, finish(vault, upload, what).snapshot.id) == what.raw


def _assembled(vault: Vault, index: Index) -> list[bytes]:
    """A tar.gz made by the definition, without a CRC that anybody computed for us."""
    import zlib

    pieces = [vault.fetch(row) for row in index]
    raw = b"".join(zlib.decompressobj(-15).decompress(piece) for piece in pieces)
    tail = b"\x03\x00" + struct.pack("<II", zlib.crc32(raw), len(raw))
    return [b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", *pieces, tail]


__all__ = ["Contract", "Found", "Site", "flipped"]
