"""Opening a vault: where it lies, what may lie there, who may look into it, and who is alone in it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest
from tests.vault.content import keep, numbered, restored
from tests.vault.sites import Folder

from muniment.disk.errors import Locked, WrongKind
from muniment.errors import MunimentError
from muniment.settings import BadSetting, Layer, Settings
from muniment.vault.errors import CatalogueBusy, CatalogueLost, NotAVault, VaultInside
from muniment.vault.open import open_directory, rebuild_directory
from muniment.vault.place import address_of, default_folder, folder_of, refuse_inside
from muniment.vault.settings import VAULT_URL

GOOD = {
    "file:///srv/vault": "/srv/vault",
    "file:///srv/vault/": "/srv/vault",
    "file://localhost/srv/vault": "/srv/vault",
    "file:///srv/a%20b%2Fc": "/srv/a b/c",
    "file:///srv/%E4%BF%9D%E7%AE%A1": "/srv/保管",
    "file:///srv/%FF": "/srv/\udcff",
    "FILE:///srv/v": "/srv/v",
}
BAD = [
    "/srv/vault",
    "srv",
    "C:\\vault",
    "file:srv",
    "file:",
    "file://",
    "file://other/srv",
    "file:///srv?x=1",
    "file:///srv#x",
    "file:///srv/%00",
    "file:///srv/../etc",
    "file:///srv/%2e%2e/etc",
    "http://",
    "https://user:secret@vault.example",
    "https://vault.example/?token=x",
    "http://vault.example/#x",
    "http://vault.example:99999",
    "s3://bucket/x",
    "file://[::1/x",
]


@pytest.mark.parametrize("address", GOOD)
def test_addresses_of_folders(address: str) -> None:
    assert folder_of(address) == Path(GOOD[address])
    assert folder_of(address_of(folder_of(address))) == Path(GOOD[address])


@pytest.mark.parametrize("address", BAD)
def test_addresses_that_are_refused_by_the_setting(address: str) -> None:
    settings = Settings([VAULT_URL], [Layer("environment", {"vault.url": address})])
    with pytest.raises(BadSetting) as caught:
        settings.get(VAULT_URL)
    assert caught.value.why is not None and str(caught.value.why)


@pytest.mark.parametrize("address", ["http://127.0.0.1:8080", "https://vault.example/base"])
def test_addresses_of_servers_are_taken(address: str) -> None:
    settings = Settings([VAULT_URL], [Layer("environment", {"vault.url": address})])
    assert settings.get(VAULT_URL) == address


def test_other_schemes_are_named() -> None:
    with pytest.raises(ValueError, match="https:// can not be used yet"):
        folder_of("https://vault.example")


def test_without_a_setting_it_lies_in_the_users_own_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/home/ada/.local/share")
    assert VAULT_URL.default == ""
    if os.uname().sysname == "Linux":
        assert default_folder() == Path("/home/ada/.local/share/muniment/vault")


def test_only_its_owner_may_look_into_it(quick_path: Path) -> None:
    before = os.umask(0)
    try:
        site = Folder(quick_path / "vault")
        keep(site.client(), numbered(1, 2))
        journal = os.stat(site.catalogue)
        site.close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(journal.st_mode) == 0o600
    for path in (site.path, *site.path.rglob("*")):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


def test_it_has_a_name_of_its_own_wherever_it_lies(folder: Folder) -> None:
    first = folder.client().identity
    folder.close()
    moved = folder.path.with_name("moved")
    folder.path.rename(moved)
    with Folder(moved) as same, Folder(moved.with_name("another"), seed=2) as other:
        assert same.client().identity == first
        assert other.client().identity != first


@pytest.mark.parametrize("name", ["thesis.tex", ".git", "packs.old"])
def test_a_folder_that_holds_something_else_is_left_alone(quick_path: Path, name: str) -> None:
    (quick_path / "home").mkdir()
    (quick_path / "home" / name).write_text("mine")
    site = Folder(quick_path / "home")
    with pytest.raises(NotAVault):
        site.client()
    with pytest.raises(NotAVault):
        rebuild_directory(site.path, clock=site.clock)
    assert site.files() == {name}


def test_what_no_vault_has_is_named(quick_path: Path) -> None:
    (quick_path / "home/packs").mkdir(parents=True)
    (quick_path / "home/thesis.tex").write_text("mine")
    with pytest.raises(NotAVault) as caught:
        Folder(quick_path / "home").client()
    assert "thesis.tex" in str(caught.value.why) and "packs" not in str(caught.value.why)


@pytest.mark.parametrize(
    "mark",
    ["", "{}", "[]", "nonsense", '{"format": "muniment vault", "v": 1, "id": "x"}', "\xff", "{" * 5000],
)
def test_a_damaged_mark(folder: Folder, mark: str) -> None:
    folder.client()
    (folder.path / "vault.json").write_text(mark, "latin-1")
    with pytest.raises((NotAVault, WrongKind)):
        folder.client()


def test_a_lost_mark_is_written_again(folder: Folder) -> None:
    told = keep(folder.client(), numbered(1, 2)).snapshot
    (folder.path / "vault.json").unlink()
    assert restored(folder.client(), told.id) == numbered(1, 2).raw


def test_a_later_version_is_refused(folder: Folder) -> None:
    folder.client()
    mark = folder.path / "vault.json"
    mark.write_text(json.dumps({**json.loads(mark.read_text()), "v": 2}))
    with pytest.raises(NotAVault, match="version 2"):
        folder.client()


def test_a_link_in_the_place_of_its_folders_leads_nowhere(folder: Folder, quick_path: Path) -> None:
    (quick_path / "outside").mkdir()
    vault = folder.client()
    (folder.path / "packs").symlink_to(quick_path / "outside")
    with pytest.raises(MunimentError):
        keep(vault, numbered(1, 2))
    assert list((quick_path / "outside").iterdir()) == []


# The catalogue's file


def lose(folder: Folder, how: str) -> None:
    """Do something bad to a catalogue that nobody has open."""
    path = folder.catalogue
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "garbage":
        path.write_bytes(os.urandom(len(data)))
    elif how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "middle":
        path.write_bytes(data[:4096] + os.urandom(len(data) - 4096))
    elif how == "text":
        path.write_bytes(b"this is no database\n" * 500)
    elif how == "version":
        path.write_bytes(data[:60] + b"\x00\x00\x00\x63" + data[64:])
    elif how == "folder":
        path.unlink()
        path.mkdir()


LOSSES = ["gone", "empty", "garbage", "cut", "middle", "text", "version"]


@pytest.mark.parametrize("how", LOSSES)
def test_a_lost_catalogue_is_said_and_can_be_made_again(folder: Folder, how: str) -> None:
    what = [numbered(1, 2, number) for number in range(3, 9)]
    told = [keep(folder.client(), one, "lost").snapshot for one in what]
    folder.close()
    lose(folder, how)
    with pytest.raises(CatalogueLost) as caught:
        vault = folder.client()
        for one in told:
            restored(vault, one.id)
        vault.list()
    assert "muniment vault rebuild" in str(caught.value.next_step)
    folder.close()
    done = rebuild_directory(folder.path, clock=folder.clock)
    assert (done.snapshots, done.damaged, done.refused) == (6, 0, [])
    vault = folder.client()
    assert set(vault.list().snapshots) == set(told)
    for one, wanted in zip(told, what, strict=True):
        assert restored(vault, one.id) == wanted.raw
        assert vault.facts(one.id) == {"n": 1}


def test_a_folder_in_its_place(folder: Folder) -> None:
    folder.client()
    folder.close()
    lose(folder, "folder")
    with pytest.raises(MunimentError):
        folder.client()


def test_a_new_vault_may_begin_on_an_empty_file(folder: Folder) -> None:
    """A process was killed before it made the first table."""
    folder.path.mkdir()
    folder.catalogue.write_bytes(b"")
    assert folder.client().list().snapshots == ()


def test_a_catalogue_that_goes_while_it_is_open(folder: Folder) -> None:
    vault = folder.client()
    first = keep(vault, numbered(1, 2)).snapshot
    folder.catalogue.unlink()
    with pytest.raises(CatalogueLost):
        keep(vault, numbered(3, 4))
    folder.close()
    assert rebuild_directory(folder.path, clock=folder.clock).snapshots == 1
    assert restored(folder.client(), first.id) == numbered(1, 2).raw


def test_a_journal_that_was_left_is_played_back(folder: Folder) -> None:
    """A process was killed in the middle of a transaction whose pages had reached the file."""
    vault = folder.client()
    told = keep(vault, numbered(1, 2)).snapshot
    base = sqlite3.connect(folder.catalogue, isolation_level=None)
    base.execute("PRAGMA cache_size = 1")
    base.execute("PRAGMA cache_spill = 1")
    base.execute("BEGIN IMMEDIATE")
    base.execute("DELETE FROM snapshots")
    base.execute("DELETE FROM extents")
    base.executemany(
        "INSERT INTO uploads (id, touched) VALUES (?, 0.0)", ((f"u{n:09d}",) for n in range(20_000))
    )
    copies = {path.name: path.read_bytes() for path in folder.path.glob("catalogue.sqlite*")}
    base.execute("ROLLBACK")
    base.close()
    folder.close()
    assert b"u000000001" in copies["catalogue.sqlite"] and len(copies["catalogue.sqlite-journal"]) > 4096
    for name, data in copies.items():
        (folder.path / name).write_bytes(data)
    vault = folder.client()
    assert vault.list().snapshots == (told,)
    assert restored(vault, told.id) == numbered(1, 2).raw


def test_a_journal_full_of_garbage(folder: Folder) -> None:
    told = keep(folder.client(), numbered(1, 2)).snapshot
    folder.close()
    (folder.path / "catalogue.sqlite-journal").write_bytes(os.urandom(8192))
    assert restored(folder.client(), told.id) == numbered(1, 2).raw


def test_a_commit_syncs_the_folder_too(folder: Folder) -> None:
    """Otherwise a journal could come back after a power loss, and undo what was acknowledged."""
    vault = folder.client()
    assert vault.catalogue._base.number("PRAGMA synchronous") == 3


def test_whoever_holds_the_catalogue_for_too_long_is_named(folder: Folder) -> None:
    from muniment.vault.catalogue import Catalogue

    folder.client()
    base = sqlite3.connect(folder.catalogue, isolation_level=None)
    base.execute("BEGIN IMMEDIATE")
    catalogue = Catalogue(str(folder.catalogue), busy_s=0.01)
    with pytest.raises(CatalogueBusy), catalogue.writing():
        pass
    base.execute("ROLLBACK")
    base.close()
    with catalogue.writing():
        pass
    catalogue.close()


# Alone


def test_a_rebuild_needs_the_vault_for_itself(folder: Folder) -> None:
    told = keep(folder.client(), numbered(1, 2)).snapshot
    with pytest.raises(Locked):
        rebuild_directory(folder.path, clock=folder.clock)
    folder.close()
    rebuild_directory(folder.path, clock=folder.clock)
    assert folder.client().list().snapshots == (told,)


def test_rebuilding_what_is_whole_changes_nothing(folder: Folder) -> None:
    vault = folder.client()
    told = [keep(vault, numbered(1, number), f"{number}").snapshot for number in (2, 3)]
    folder.close()
    for _ in range(2):
        rebuild_directory(folder.path, clock=folder.clock)
    assert set(folder.client().list().snapshots) == set(told)
    assert not any(name.startswith("catalogue.sqlite.") for name in folder.files())


# Where it must not lie


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """home/agent/data, a link to it, and a vault elsewhere."""
    (tmp_path / "home" / "agent" / "data").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "home" / "agent")
    return tmp_path


@pytest.mark.parametrize(
    ("vault", "saved"),
    [
        ("home/agent/vault", "home/agent"),
        ("home/agent", "home/agent"),
        ("home/agent/data/deep/er", "home/agent"),
        ("home", "home/agent"),
        ("link/vault", "home/agent"),
        ("home/agent/vault", "link"),
        ("home/agent/../agent/vault", "home/agent"),
    ],
)
def test_a_vault_inside_what_is_saved_is_refused(tree: Path, vault: str, saved: str) -> None:
    with pytest.raises(VaultInside):
        refuse_inside(tree / vault, [tree / "elsewhere", tree / saved])


@pytest.mark.parametrize("vault", ["vault", "home/vault", "home/agent-vault", "home/agent/other"])
def test_a_vault_beside_it_is_not(tree: Path, vault: str) -> None:
    refuse_inside(tree / vault, [tree / "home/agent/data", tree / "nowhere"])


def test_parents_of_a_vault_are_made_as_usual(quick_path: Path) -> None:
    with Folder(quick_path / "a" / "b" / "vault") as site:
        site.client()
        assert site.path.is_dir()
    shutil.rmtree(quick_path / "a")


def test_a_file_where_the_vault_should_be(quick_path: Path) -> None:
    (quick_path / "vault").write_text("mine")
    with pytest.raises(MunimentError) as caught:
        open_directory(quick_path / "vault", clock=Folder(quick_path).clock)
    assert caught.value.code in ("ALREADY_THERE", "WRONG_KIND")
    assert (quick_path / "vault").read_text() == "mine"
