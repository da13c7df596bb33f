"""The state of a workspace: identity, evidence tables, claims and the file of settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.record.ledgers import START, Desk, Ticking, draft

from muniment.digest import EMPTY, sha256
from muniment.disk.errors import SpecialFile
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.evidence import Kind, Row, Table
from muniment.ids import is_ulid
from muniment.path import RelPath
from muniment.record.claims import Claim
from muniment.record.config import read_layer
from muniment.record.consent import RELAYED
from muniment.record.errors import Claimed, StateDamaged
from muniment.record.state import Workspace, is_initialised, open_workspace
from muniment.settings import BadSetting, Setting, Settings, choice, integer


@pytest.fixture
def clock() -> Ticking:
    """A clock that tests set."""
    return Ticking()


@pytest.fixture
def workspace(root: Root, clock: Ticking) -> Workspace:
    """An opened workspace."""
    return open_workspace(root, clock=clock)


@pytest.fixture
def state(root: Root) -> Path:
    """Where its state lies."""
    return Path(root.path) / ".muniment"


def path(text: str) -> RelPath:
    """A path of the workspace."""
    return RelPath.parse(text)


# Identity.


def test_the_first_to_open_gives_an_identity(root: Root, state: Path) -> None:
    assert not is_initialised(root)
    workspace = open_workspace(root, clock=lambda: START)
    assert is_initialised(root)
    assert is_ulid(workspace.identity.root_id)
    assert workspace.identity.created == "2026-11-30T14:28:00.000000Z"
    assert state.stat().st_mode & 0o777 == 0o700
    assert (state / ".gitignore").read_text() == "*\n"
    assert open_workspace(root, clock=Ticking()).identity == workspace.identity


GOOD = b'{"created":"2026-11-30T14:28:00.000000Z","root_id":"01KDVDNA000000000000000000","v":1}\n'
BAD_IDENTITIES: list[bytes] = [
    b"",
    b"{}",
    b"[]",
    b"\xff",
    GOOD[:-10],
    GOOD + GOOD,
    GOOD.replace(b"01KDVDNA", b"01kdvdna"),
    GOOD.replace(b'"v":1', b'"v":2'),
    GOOD.replace(b',"v":1', b""),
    GOOD.replace(b"2026-", b"26-"),
    GOOD.replace(b'"2026-11-30T14:28:00.000000Z"', b"1"),
    GOOD.replace(b'"root_id"', b'"created"'),
]


@pytest.mark.parametrize("content", BAD_IDENTITIES, ids=range(len(BAD_IDENTITIES)))
def test_a_damaged_identity_is_neither_believed_nor_replaced(root: Root, state: Path, content: bytes) -> None:
    state.mkdir()
    (state / "root.json").write_bytes(GOOD)
    assert open_workspace(root, clock=Ticking()).identity.root_id == "01KDVDNA000000000000000000"
    (state / "root.json").write_bytes(content)
    with pytest.raises(StateDamaged) as caught:
        open_workspace(root, clock=Ticking())
    assert caught.value.where == ".muniment/root.json"
    assert (state / "root.json").read_bytes() == content


def test_a_gitignore_that_is_there_stays(root: Root, state: Path) -> None:
    state.mkdir()
    (state / ".gitignore").write_text("own\n")
    open_workspace(root, clock=Ticking())
    assert (state / ".gitignore").read_text() == "own\n"


def test_actor_and_context_reach_the_ledger(root: Root) -> None:
    workspace = open_workspace(root, clock=Ticking(), actor="somebody")
    workspace.ledger.append(draft())
    assert Desk(root).records[0]["actor"] == "somebody"


# Evidence tables.

TABLE = Table.of([Row("a", Kind.FILE, 1, sha256(b"1")), Row(os.fsdecode(b"\xff"), Kind.LINK, target="a")])


def test_a_table_is_kept_once_under_its_digest(workspace: Workspace, state: Path) -> None:
    digest = workspace.tables.keep(TABLE)
    assert digest == TABLE.digest
    kept = state / "evidence" / digest.hex
    assert kept.read_bytes() == TABLE.to_bytes()
    inode = kept.stat().st_ino
    assert workspace.tables.keep(TABLE) == digest and kept.stat().st_ino == inode
    assert workspace.tables.get(digest) == TABLE
    assert workspace.tables.keep(Table.of([])) == EMPTY
    assert set(workspace.tables.all()) == {digest, EMPTY}


@pytest.mark.parametrize(
    "content", [b"", b"x", TABLE.to_bytes()[:-1], TABLE.to_bytes().replace(b"file", b"filf")]
)
def test_a_damaged_table_is_refused_and_healed_when_kept_again(
    workspace: Workspace, state: Path, content: bytes
) -> None:
    digest = workspace.tables.keep(TABLE)
    (state / "evidence" / digest.hex).write_bytes(content)
    with pytest.raises(StateDamaged) as caught:
        workspace.tables.get(digest)
    assert caught.value.where == f".muniment/evidence/{digest.hex}"
    workspace.tables.keep(TABLE)
    assert workspace.tables.get(digest) == TABLE


def test_bytes_that_have_their_digest_and_are_no_table(workspace: Workspace, state: Path) -> None:
    content = b'{"kind":"file","path":"../a","sha256":"' + b"0" * 64 + b'","size":0}\n'
    workspace.tables.keep(TABLE)
    (state / "evidence" / sha256(content).hex).write_bytes(content)
    with pytest.raises(StateDamaged):
        workspace.tables.get(sha256(content))


def test_a_missing_table(workspace: Workspace) -> None:
    assert list(workspace.tables.all()) == []
    with pytest.raises(StateDamaged):
        workspace.tables.get(TABLE.digest)


def test_other_names_are_no_tables(workspace: Workspace, state: Path) -> None:
    digest = workspace.tables.keep(TABLE)
    for name in (
        "note",
        ".muniment-0000000000000000.tmp",
        digest.hex.upper(),
        digest.hex[:-1],
        digest.hex + "\n",
    ):
        (state / "evidence" / name).write_bytes(b"x")
    assert list(workspace.tables.all()) == [digest]


# Claims.


@pytest.mark.parametrize(
    ("claimed", "asked", "touches"),
    [
        ("out/job", "out/job", True),
        ("out/job", "out", True),
        ("out/job", "", True),
        ("out/job", "out/job/deep/a.md", True),
        ("out/job", "out/job2", False),
        ("out/job", "out/jo", False),
        ("out/job", "other", False),
        ("", "anything", True),
    ],
)
def test_a_claim_holds_its_path_what_is_above_and_what_is_below(
    workspace: Workspace, claimed: str, asked: str, touches: bool
) -> None:
    claim = workspace.claims.make(path(claimed), "job:1")
    assert workspace.claims.against(path(asked)) == (claim if touches else None)
    workspace.claims.require_free(path(asked), "job:1")
    if touches:
        with pytest.raises(Claimed) as caught:
            workspace.claims.require_free(path(asked), "ho_2")
        assert caught.value.facts["owner"] == "job:1"
    else:
        workspace.claims.require_free(path(asked), "ho_2")


def test_several_owners_of_one_path(workspace: Workspace) -> None:
    one, other = (workspace.claims.make(path("out"), owner) for owner in ("job:1", "job:2"))
    assert workspace.claims.all() == [one, other]
    assert workspace.claims.against(path("out"), "job:1") == other
    workspace.claims.end(other)
    workspace.claims.end(other)
    assert workspace.claims.against(path("out"), "job:1") is None
    assert workspace.claims.against(path("out"), "job:2") == one


def test_all_claims_of_an_owner_end_at_once(workspace: Workspace) -> None:
    for name in ("a", "b"):
        workspace.claims.make(path(name), "job:1")
    kept = workspace.claims.make(path("c"), "job:2")
    workspace.claims.end_all("job:1")
    assert workspace.claims.all() == [kept]


def test_a_claim_ends_with_its_time(workspace: Workspace, clock: Ticking) -> None:
    until = clock.now + timedelta(hours=1)
    claim = workspace.claims.make(path("out"), "job:1", until)
    assert workspace.claims.all() == [Claim(claim.claim_id, path("out"), "job:1", until)]
    clock.now = until - clock.step - timedelta(microseconds=1)
    assert workspace.claims.against(path("out"))
    clock.now = until - clock.step
    assert workspace.claims.against(path("out")) is None
    clock.now = START
    assert workspace.claims.against(path("out"))


def test_names_that_are_not_utf_8_can_be_claimed(workspace: Workspace) -> None:
    name = RelPath((os.fsdecode(b"caf\xe9"), "a\\b", "\x1b[2J"))
    workspace.claims.make(name, "job:1")
    assert workspace.claims.all()[0].path == name
    with pytest.raises(Claimed) as caught:
        workspace.claims.require_free(name)
    assert str(caught.value).isprintable()


def test_a_claim_ended_while_others_look_is_no_error(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, kept = (workspace.claims.make(path(name), "job:1") for name in ("a", "b"))
    names = Root.names

    def then_ended(self: Root, rel: RelPath) -> list[str]:
        found = names(self, rel)
        workspace.claims.end(gone)
        return found

    monkeypatch.setattr(Root, "names", then_ended)
    assert workspace.claims.all() == [kept]


CLAIM = b'{"claim_id":"01KDVDNA000000000000000000","owner":"job:1","path":"out","until":null,"v":1}'
HOSTILE_CLAIMS: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"x",
    "no object": b"[]",
    "another version": CLAIM.replace(b'"v":1', b'"v":2'),
    "another id": CLAIM.replace(b"000000", b"000001"),
    "an id that is none": CLAIM.replace(b'"01KDVDNA000000000000000000"', b"1"),
    "a path upwards": CLAIM.replace(b'"out"', b'"../out"'),
    "an absolute path": CLAIM.replace(b'"out"', b'"/out"'),
    "a path of another type": CLAIM.replace(b'"out"', b"1"),
    "a path misspelled": CLAIM.replace(b'"out"', b'"\\\\q"'),
    "an owner of another type": CLAIM.replace(b'"job:1"', b"null"),
    "a time that is none": CLAIM.replace(b"null", b'"soon"'),
    "a time of another type": CLAIM.replace(b"null", b"1"),
    "a member twice": CLAIM.replace(b'"v":1', b'"v":1,"v":1'),
    "no owner": CLAIM.replace(b'"owner":"job:1",', b""),
    "very long": CLAIM + b" " * (1 << 16),
}


@pytest.mark.parametrize("name", HOSTILE_CLAIMS)
def test_a_claim_that_can_not_be_read_stops_whoever_asks(
    workspace: Workspace, state: Path, name: str
) -> None:
    """Nobody knows what it claims, so nothing may be moved."""
    folder = state / "claims"
    folder.mkdir()
    target = folder / "01KDVDNA000000000000000000.json"
    target.write_bytes(CLAIM)
    assert [claim.owner for claim in workspace.claims.all()] == ["job:1"]
    target.write_bytes(HOSTILE_CLAIMS[name])
    for act in (workspace.claims.all, lambda: workspace.claims.require_free(path("elsewhere"))):
        with pytest.raises(MunimentError) as caught:
            act()
        assert target.name in caught.value.where and str(caught.value).isprintable()
    assert target.read_bytes() == HOSTILE_CLAIMS[name]


def test_a_hostile_name_among_the_claims(workspace: Workspace, state: Path) -> None:
    (state / "claims").mkdir()
    (state / "claims" / "\x1b[2J.json").write_bytes(CLAIM)
    with pytest.raises(StateDamaged) as caught:
        workspace.claims.all()
    assert str(caught.value).isprintable()


def test_an_unfinished_claim_means_nothing(workspace: Workspace, state: Path) -> None:
    (state / "claims").mkdir()
    (state / "claims" / ".muniment-0000000000000000.tmp").write_bytes(b"")
    assert workspace.claims.all() == []


# The file of settings.

NAMES = Setting("archive.names", "kept", choice("kept", "kweaver"), "x")
LIMIT = Setting("vault.limit", 10, integer(1, 100), "x")
DECLARED: list[Setting[Any]] = [NAMES, LIMIT, RELAYED]
CONFIG = path(".muniment/config.toml")


@pytest.fixture
def config(workspace: Workspace, state: Path) -> Iterator[Path]:
    """Where the workspace's settings stand."""
    yield state / "config.toml"


def test_the_workspace_s_settings_are_a_layer(root: Root, config: Path) -> None:
    assert read_layer(root, CONFIG, DECLARED).values == {}
    config.write_text('[archive]\nnames = "kweaver"\n[confirm]\nrelayed = ["plan", "delete"]\n')
    layer = read_layer(root, CONFIG, DECLARED)
    assert layer.origin == str(config)
    found = Settings(DECLARED, [layer])
    assert found.get(NAMES) == "kweaver" and found.get(LIMIT) == 10
    assert found.get(RELAYED) == ("plan", "delete")
    assert {one.setting.name: one.origin for one in found.explain()} == {
        "archive.names": str(config),
        "confirm.relayed": str(config),
        "vault.limit": "default",
    }


@pytest.mark.parametrize(
    "content",
    [
        b"x",
        b"a = ",
        b"[archive\n",
        b"a = 1\na = 2\n",
        b"\xff",
        b"\0",
        b"a = " + b"[" * 5000,
        b"a = " + b"1" * 5000,
        b"a = 2026-13-40",
        b'a = "\x1b"',
    ],
    ids=range(10),
)
def test_a_file_that_is_no_toml(root: Root, config: Path, content: bytes) -> None:
    config.write_bytes(content)
    with pytest.raises(BadSetting) as caught:
        read_layer(root, CONFIG, DECLARED)
    assert caught.value.where == str(config) and str(caught.value).isprintable()


@pytest.mark.parametrize(
    "content", ["a = 1", "[archive]\nname = 1", "[archive.names]\nx = 1", "a" + ".a" * 3000 + "=1"]
)
def test_names_in_it_that_nobody_declared(root: Root, config: Path, content: str) -> None:
    config.write_text(content)
    with pytest.raises(BadSetting):
        Settings(DECLARED, [read_layer(root, CONFIG, DECLARED)]).explain()


@pytest.mark.parametrize("value", ['["deleet"]', '"plan,deleet"', "1", "[1]", '["Plan"]', "true"])
def test_acts_that_are_none_are_refused(root: Root, config: Path, value: str) -> None:
    config.write_text(f"[confirm]\nrelayed = {value}\n")
    with pytest.raises(BadSetting) as caught:
        Settings(DECLARED, [read_layer(root, CONFIG, DECLARED)]).get(RELAYED)
    assert caught.value.facts == {"name": "confirm.relayed"}


def test_a_pipe_instead_of_settings_is_not_waited_for(root: Root, config: Path) -> None:
    os.mkfifo(config)
    with pytest.raises(BadSetting) as caught:
        read_layer(root, CONFIG, DECLARED)
    assert isinstance(caught.value.__cause__, SpecialFile)
