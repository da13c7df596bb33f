"""`muniment vault`: what its keeper sees, in both languages, and what a program gets."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faces.at_work import AtWork
from tests.faults.stage import MS_RDONLY, MS_REMOUNT, mount, mounted
from tests.vault.content import flipped, keep, numbered, restored
from tests.vault.sites import Folder

from muniment.desk.vault import PARTS
from muniment.disk.errors import NoPermission
from muniment.errors import ExitCode
from muniment.vault.examine import Part, examine

LANGUAGES = pytest.mark.parametrize("language", ["en", "zh-CN"])


@pytest.fixture
def work(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> AtWork:
    """Somebody in a workspace of their own."""
    return AtWork(quick_path / "work", monkeypatch)


@pytest.fixture
def kept(folder: Folder) -> Folder:
    """A vault with a snapshot, which nobody has open."""
    keep(folder.client(), numbered(1, 2))
    folder.close()
    return folder


def call(work: AtWork, folder: Folder, *words: str) -> tuple[int, str, str]:
    """`muniment vault …` of that vault."""
    answer = work.call("vault", *words, environment={"MUNIMENT_VAULT": f"file://{folder.path}"})
    return answer.code, answer.out, answer.err


def asked(work: AtWork, folder: Folder, *words: str) -> tuple[int, dict[str, object]]:
    answer = work.call("vault", *words, "--json", environment={"MUNIMENT_VAULT": f"file://{folder.path}"})
    return answer.code, answer.object


def test_status(work: AtWork, kept: Folder) -> None:
    code, told = asked(work, kept, "status")
    assert code == 0
    size = kept.packs()[0].stat().st_size
    assert told["url"] == f"file://{kept.path}"
    wanted = {"snapshots": 1, "damaged": [], "uploading": 0, "packs": 1, "bytes": size, "extents": 2}
    assert {name: told[name] for name in wanted} == wanted
    code, out, _ = call(work, kept, "status")
    assert code == 0 and f"file://{kept.path}" in out


@LANGUAGES
def test_a_flipped_byte_is_named_repaired_and_healed(work: AtWork, kept: Folder, language: str) -> None:
    code, out, _ = call(work, kept, "fsck", "--lang", language)
    assert (code, out.startswith({"en": "whole: 2 pieces", "zh-CN": "完整：2 个片段"}[language])) == (0, True)
    path = kept.packs()[0]
    path.write_bytes(flipped(path.read_bytes(), 40))
    code, out, err = call(work, kept, "fsck", "--lang", language)
    assert code == ExitCode.NOT_VERIFIED and numbered(1).ids[0].hex()[:12] in out
    assert "muniment vault fsck --repair" in err
    code, told = asked(work, kept, "fsck", "-n", "--repair")
    assert (code, told["repaired"], told["sound"]) == (4, False, False)
    assert call(work, kept, "fsck", "--repair")[0] == ExitCode.NOT_VERIFIED
    assert asked(work, kept, "status")[1]["damaged"] != []
    vault = kept.client()
    keep(vault, numbered(1, 2))
    kept.close()
    assert asked(work, kept, "fsck")[1]["sound"] is True
    assert asked(work, kept, "status")[1]["damaged"] == []


@LANGUAGES
def test_a_lost_catalogue(work: AtWork, kept: Folder, language: str) -> None:
    kept.catalogue.unlink()
    code, _, err = call(work, kept, "status", "--lang", language)
    assert code == ExitCode.NOT_VERIFIED and "CATALOGUE_LOST" in err and "muniment vault rebuild" in err
    code, out, _ = call(work, kept, "rebuild", "--lang", language)
    assert code == 0
    assert {"en": "found 1 snapshot, 0 of them damaged", "zh-CN": "找到 1 个快照，其中 0 个已损坏"}[
        language
    ] in out
    assert asked(work, kept, "status")[1]["snapshots"] == 1


def test_what_can_not_be_taken_in_is_named(work: AtWork, kept: Folder) -> None:
    path = kept.packs()[0]
    path.write_bytes(flipped(path.read_bytes(), path.stat().st_size - 1))
    kept.catalogue.unlink()
    code, told = asked(work, kept, "rebuild")
    assert (code, told["snapshots"], told["damaged"]) == (4, 1, 1)
    assert [one["name"] for one in told["refused"]] == [f"packs/{path.name[-1]}/{path.name}"]  # type: ignore[attr-defined]
    code, _, err = call(work, kept, "fsck")
    assert code == 4 and "muniment vault rebuild" in err


def test_garbage(work: AtWork, kept: Folder) -> None:
    vault = kept.client()
    vault.delete(vault.list().snapshots[0].id)
    kept.close()
    code, told = asked(work, kept, "gc")
    assert (code, told["packs_marked"], told["packs_removed"]) == (0, 1, 0)
    assert len(kept.packs()) == 1
    assert call(work, kept, "gc")[0] == 0
    assert asked(work, kept, "gc", "-n")[0] == ExitCode.USAGE


@pytest.mark.parametrize("act", ["status", "fsck", "gc"])
def test_beside_a_rebuild(work: AtWork, kept: Folder, act: str) -> None:
    from muniment.disk.locks import locked
    from muniment.disk.root import Root
    from muniment.vault.open import LOCK

    with Root.open(kept.path) as root, locked(root, LOCK):
        code, _, err = call(work, kept, act)
    assert code == ExitCode.CONFLICT and "LOCKED" in err


def test_every_part_has_a_word() -> None:
    assert set(PARTS) == set(Part)


def test_a_vault_that_can_not_be_written_gives_back_what_it_has(tmp_path: Path) -> None:
    """As on a disk that was mounted read-only after a fault."""
    with mounted("tmpfs", tmp_path / "disk", "size=16m"):
        site = Folder(tmp_path / "disk" / "vault")
        told = keep(site.client(), numbered(1, 2)).snapshot
        site.close()
        mount("tmpfs", tmp_path / "disk", flags=MS_REMOUNT | MS_RDONLY)
        vault = site.client()
        assert vault.list().snapshots == (told,)
        assert restored(vault, told.id) == numbered(1, 2).raw
        assert examine(vault).sound
        with pytest.raises(NoPermission):
            keep(vault, numbered(1, 3))
        with pytest.raises(NoPermission):
            vault.delete(told.id)
        site.close()
