"""What goes into a snapshot and what stays out, with its reason (spec 4, what goes in)."""

from __future__ import annotations

import os
import socket
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.backup.world import RULES, World, put

from muniment.backup.errors import ApiMissing, ApiRefused
from muniment.backup.model import Request
from muniment.bundle import extent
from muniment.bundle.deflate import deflate
from muniment.bundle.errors import BadExtent
from muniment.bundle.extent import Claim, check
from muniment.bundle.model import Entry
from muniment.bundle.tree import Tree
from muniment.ids import Entropy

Worlds = Callable[..., World]


def unpacked(world: World, snapshot: str, name: str = "unpacked") -> Path:
    """The whole snapshot as any tar program unpacks it."""
    archive = world.place / f"{name}.tar.gz"
    archive.write_bytes(b"".join(world.vault.download(snapshot)))
    folder = world.place / name
    folder.mkdir()
    subprocess.run(["tar", "xzf", archive, "-C", folder], check=True)
    return folder


def test_any_tar_program_opens_it(world: World) -> None:
    world.write("a.txt", "between")
    world.write("a/b", "below")
    world.write("a-b/c", "beside")
    os.utime(world.workspace / "a.txt", ns=(0, 1_700_000_000_123_456_789))
    (world.workspace / "run.sh").write_text("#!/bin/sh\n")
    (world.workspace / "run.sh").chmod(0o750)
    (world.workspace / "empty").mkdir()
    (world.workspace / "nothing").touch()
    receipt = world.snapshot()
    place = unpacked(world, receipt.snapshot.id) / "files" / "workspace"
    assert (place / "a" / "b").read_text() == "below"
    assert (place / "a-b" / "c").read_text() == "beside"
    assert (place / "a.txt").stat().st_mtime_ns // 1000 == 1_700_000_000_123_456
    assert (place / "run.sh").stat().st_mode & 0o777 == 0o750
    assert (place / "empty").is_dir() and (place / "nothing").stat().st_size == 0
    assert world.reading(receipt).verify().files == receipt.files


def test_names_of_all_kinds_survive(world: World) -> None:
    odd = b"caf\xe9 \xff"
    (world.workspace / os.fsdecode(odd)).write_bytes(b"latin")
    world.write("/".join(["d" * 100] * 3) + "/" + "n" * 255, "long")
    world.write("行/列 🚀.md", "unicode")
    world.write("line\nbreak", "control")
    receipt = world.snapshot()
    place = unpacked(world, receipt.snapshot.id) / "files" / "workspace"
    assert (place / os.fsdecode(odd)).read_bytes() == b"latin"
    assert (place / ("/".join(["d" * 100] * 3) + "/" + "n" * 255)).read_text() == "long"
    assert (place / "行/列 🚀.md").read_text() == "unicode"
    assert (place / "line\nbreak").read_text() == "control"
    assert b"".join(world.reading(receipt).read(f"workspace/{os.fsdecode(odd)}")) == b"latin"


def test_links_stay_links_and_those_that_lead_outside_are_left_out(world: World) -> None:
    links = {"in": "memory/note.md", "up": "../outside", "far": "/etc/passwd", "dangling": "nowhere"}
    for name, target in links.items():
        (world.workspace / name).symlink_to(target)
    (world.workspace / "folder").symlink_to("memory", target_is_directory=True)
    receipt = world.snapshot()
    place = unpacked(world, receipt.snapshot.id) / "files" / "workspace"
    assert {path.name for path in place.iterdir() if path.is_symlink()} == {"in", "dangling", "folder"}
    assert os.readlink(place / "in") == "memory/note.md"
    assert {one for one in world.exclusions(receipt) if one[2] == "outside_link"} == {
        ("workspace", "up", "outside_link"),
        ("workspace", "far", "outside_link"),
    }
    kept = world.snapshot(Request(keep_outside_links=True))
    place = unpacked(world, kept.snapshot.id, "kept") / "files" / "workspace"
    assert os.readlink(place / "far") == "/etc/passwd"
    assert not [one for one in world.exclusions(kept) if one[2] == "outside_link"]


def test_hard_links_become_files_and_special_files_are_named(world: World) -> None:
    os.link(world.workspace / "memory" / "note.md", world.workspace / "again.md")
    os.mkfifo(world.workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as ear:
        here = os.getcwd()
        os.chdir(world.workspace)
        try:
            ear.bind("socket")
        finally:
            os.chdir(here)
        receipt = world.snapshot()
    place = unpacked(world, receipt.snapshot.id) / "files" / "workspace"
    assert (place / "again.md").read_text() == "remember"
    assert (place / "again.md").stat().st_nlink == 1
    assert {one for one in world.exclusions(receipt) if one[2] == "special_file"} == {
        ("workspace", "pipe", "special_file"),
        ("workspace", "socket", "special_file"),
    }


def test_a_sparse_file_survives(world: World) -> None:
    path = world.workspace / "sparse.img"
    with path.open("wb") as stream:
        stream.write(b"begin")
        stream.seek(40 << 20)
        stream.write(b"end")
    receipt = world.snapshot()
    assert world.restored(receipt, "sparse.img").read_bytes() == path.read_bytes()


def test_default_and_user_rules_and_scratch(world: World) -> None:
    for rel in (
        "node_modules/a.js",
        "deep/node_modules/b.js",
        "x/__pycache__/c.bin",
        "y.pyc",
        ".restore/id/f",
        ".backup/f",
        "output/big",
        "keep/output/small",
        ".muniment/restore.tmp",
    ):
        world.write(rel)
    world.rules(excludes=["workspace/output"])
    receipt = world.snapshot()
    assert world.paths(receipt) == {
        "files/workspace/memory/note.md",
        "files/workspace/deep/node_modules/b.js",
        "files/workspace/keep/output/small",
    }
    assert {
        ("workspace", "node_modules", "excluded_default_rule"),
        ("workspace", "x/__pycache__", "excluded_default_rule"),
        ("workspace", "y.pyc", "excluded_default_rule"),
        ("workspace", ".restore", "excluded_self_loop"),
        ("workspace", ".backup", "excluded_self_loop"),
        ("workspace", "output", "excluded_user_rule"),
    } <= world.exclusions(receipt)


def test_rules_file_and_ledger_are_in_whatever_the_rules_say(world: World) -> None:
    world.rules(excludes=["workspace/.muniment"])
    world.snapshot()
    receipt = world.snapshot()
    found = {packed.path for packed in world.reading(receipt).files("workspace/.muniment")}
    assert "files/workspace/.muniment/backup_rules.md" in found
    assert "files/workspace/.muniment/ledger/000001.jsonl" in found
    assert "files/workspace/.muniment/root.json" not in found


def test_plans_and_upload_state_are_never_in(world: World) -> None:
    put(world.places.upload_state, "{}")
    receipt = world.snapshot(Request(mode="full"))
    found = {packed.path for packed in world.reading(receipt).files()}
    assert not [path for path in found if "active-upload" in path or "/plans/" in path]


def test_both_sections_of_a_host_with_a_data_folder(make_world: Worlds) -> None:
    world = make_world(layout="starchild")
    assert world.data is not None
    world.rules(RULES.replace("day {date}", "自动备份 {date}"), excludes=["sessions"])
    for rel in ("memory/m", "logs/l", "scheduled_jobs.json", "sessions/s", "agents/.agents"):
        put(world.data / rel, "data")
    for rel in ("memory/m", "logs/l", "sessions/s"):
        world.write(rel, "work")
    api = world.place / "api"
    put(api / "profile.json", '{"agentName": "Ada", "secret": 1}')
    put(api / "settings.json", '{"language": "zh", "agent_tone": "calm", "other": 2}')
    put(
        api / "scheduled_tasks.json",
        '[{"title": "t", "schedule": "daily", "description": "d", "channels": [], "last_run": 5,'
        ' "status": "ok", "error_log": "x"}]',
    )
    receipt = world.snapshot(Request(api_dir=str(api)))
    assert world.paths(receipt) == {
        "api/profile.json",
        "api/settings.json",
        "api/scheduled_tasks.json",
        "files/data/scheduled_jobs.json",
        "files/data/agents/.agents",
        "files/workspace/config/backup_rules.md",
        "files/workspace/memory/m",
        "files/workspace/logs/l",
        "files/workspace/sessions/s",
    }
    assert receipt.snapshot.label == "自动备份 2026-11-30"
    assert list(receipt.snapshot.sections) == sorted(receipt.snapshot.sections)
    assert {"api", "data/scheduled_jobs.json", "workspace/memory"} <= set(receipt.snapshot.sections)
    place = unpacked(world, receipt.snapshot.id)
    assert (place / "api" / "profile.json").read_text() == '{"agentName":"Ada"}\n'
    assert (place / "api" / "settings.json").read_text() == '{"agent_tone":"calm","language":"zh"}\n'
    tasks = (place / "api" / "scheduled_tasks.json").read_text()
    assert tasks == '[{"channels":[],"description":"d","schedule":"daily","title":"t"}]\n'
    with tarfile.open(world.place / "unpacked.tar.gz") as archive:
        names = archive.getnames()
    assert names.index("api/settings.json") < names.index("files/data") < names.index("files/workspace")


def test_api_files_are_required_where_the_host_has_them(make_world: Worlds) -> None:
    world = make_world(layout="starchild")
    world.rules()
    for folder in (None, str(world.place / "nowhere")):
        with pytest.raises(ApiMissing):
            world.plan(Request(api_dir=folder))
    put(world.place / "api" / "profile.json", "{not json")
    with pytest.raises(ApiRefused):
        world.plan(Request(api_dir=str(world.place / "api")))


def test_further_paths_lie_under_their_names(world: World) -> None:
    put(world.place / "one" / "etc" / "a.conf", "1")
    put(world.place / "two" / "etc" / "b.conf", "2")
    put(world.place / "lone.txt", "3")
    put(world.place / "etc.d" / "c", "4")
    paths = [str(world.place / rel) for rel in ("one/etc", "two/etc", "lone.txt", "etc.d", "missing")]
    world.rules(paths=paths)
    planned = world.plan()
    assert [one for one in planned.plan.warnings if "missing" in str(one)]
    receipt = world.snapshot()
    assert world.paths(receipt) - {"files/workspace/memory/note.md"} == {
        "files/extra/etc/a.conf",
        "files/extra/etc-2/b.conf",
        "files/extra/lone.txt",
        "files/extra/etc.d/c",
    }
    assert "extra" in receipt.snapshot.sections
    assert b"".join(world.reading(receipt).read("extra/lone.txt")) == b"3"


def test_a_further_path_is_named_after_what_it_leads_to(world: World) -> None:
    put(world.place / "one" / "etc" / "a.conf", "1")
    (world.place / "one" / "etc" / "inner").mkdir()
    world.rules(paths=[str(world.place / "one" / "etc" / "inner" / "..")])
    receipt = world.snapshot()
    assert "files/extra/etc/a.conf" in world.paths(receipt)
    assert world.reading(receipt).verify().files == receipt.files


def test_secrets_are_warned_of(world: World) -> None:
    world.write(".env", "TOKEN=1")
    world.write("deep/.env", "TOKEN=1")
    told = [str(one) for one in world.plan().plan.warnings]
    assert [one for one in told if "workspace/.env" in one and "plain text" in one]
    assert [one for one in told if "workspace/deep/.env" in one]


def test_excludes_that_match_nothing_and_lines_outside_fences_are_warned_of(world: World) -> None:
    world.rules(
        "## Mode\n## Extra excludes\n- workspace/memory\n- workspace/absent\n```\nworkspace/gone\n*.zip\n"
        "```\n## Extra paths\n## Label template\n## Notes\n"
    )
    told = [str(one) for one in world.plan().plan.warnings]
    assert [one for one in told if "workspace/gone" in one]
    assert [one for one in told if "*.zip" in one]
    assert [one for one in told if "line 3" in one and "workspace/memory" in one]
    assert not [one for one in told if "workspace/absent" in one]


def test_overrides_are_for_this_run_only(world: World) -> None:
    world.write("output/o")
    world.write("node_modules/n")
    request = Request(exclude=("workspace/output",), include=("workspace/node_modules",), label="once")
    receipt = world.snapshot(request)
    assert world.paths(receipt) == {"files/workspace/memory/note.md", "files/workspace/node_modules/n"}
    assert receipt.snapshot.label == "once"
    again = world.snapshot()
    assert world.paths(again) == {"files/workspace/memory/note.md", "files/workspace/output/o"}
    assert again.snapshot.label == "day 2026-11-30"


def test_a_file_that_can_not_be_read_makes_the_snapshot_partial(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root reads everything, so the refusal is made up where the file is opened."""
    world.write("locked/file", "secret")
    honest = Tree.open

    def refusing(self: Tree, entry: Entry, origin: str) -> int:
        if entry.path.endswith("locked/file"):
            raise PermissionError(13, "Permission denied")
        return honest(self, entry, origin)

    monkeypatch.setattr(Tree, "open", refusing)
    receipt = world.snapshot()
    assert receipt.partial
    (fault,) = receipt.faults
    assert fault.path == "files/workspace/locked/file"
    told = world.reading(receipt).contents.facts["plan_summary"]["warnings"]
    assert [one for one in told if "locked/file" in one]
    assert world.vault.facts(receipt.snapshot.id)["partial"] is True
    assert "files/workspace/locked/file" not in world.paths(receipt)
    (event,) = [one for one in world.record.ledger.events() if one.kind == "backup.created"]
    assert event.evidence["partial"] is True and event.evidence["faults"] == 1


def test_a_small_file_that_grows_large_while_it_is_packed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = world.write("grows.log", "small")
    content = os.urandom(5 << 20)
    honest = Tree.open

    def growing(self: Tree, entry: Entry, origin: str) -> int:
        if entry.path.endswith("grows.log"):
            path.write_bytes(content)
        return honest(self, entry, origin)

    monkeypatch.setattr(Tree, "open", growing)
    receipt = world.snapshot()
    assert world.restored(receipt, "grows.log").read_bytes() == content
    assert world.reading(receipt).verify().files == receipt.files


def test_a_file_that_changes_under_the_reader_is_packed_as_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = world.write("busy.log", "begin\n")
    honest = os.fstat

    def changing(fd: int) -> os.stat_result:
        if os.readlink(f"/proc/self/fd/{fd}").endswith("busy.log"):
            with path.open("a") as stream:
                stream.write("more\n")
        return honest(fd)

    monkeypatch.setattr(os, "fstat", changing)
    receipt = world.snapshot()
    monkeypatch.undo()
    (fault,) = receipt.faults
    assert (fault.path, fault.kind) == ("files/workspace/busy.log", "changed")
    assert not receipt.partial
    assert world.restored(receipt, "busy.log").read_text().startswith("begin\nmore\n")
    assert world.reading(receipt).verify().files == receipt.files


@pytest.mark.parametrize("workers", [0, 2])
def test_a_piece_that_came_out_wrong_is_never_stored(
    world: World, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """A coder that is broken, or memory: each piece is inflated again where it was made."""
    world.workers = workers
    for number in range(30):
        world.write(f"notes/{number:02}.md", os.urandom(100_000))
    world.write("large.bin", os.urandom(3_000_000))
    planned = world.plan()
    world.confirm(planned)

    def broken(raw: bytes) -> bytes:
        piece = bytearray(deflate(raw))
        piece[len(piece) // 2] ^= 0x10
        return bytes(piece)

    with monkeypatch.context() as patch:
        patch.setattr(extent, "deflate", broken)
        with pytest.raises(BadExtent):
            world.backups.create(planned.plan.plan_id)
    assert not world.vault.list().snapshots
    receipt = world.snapshot()
    assert world.reading(receipt).verify().files == receipt.files


@pytest.mark.parametrize("workers", [0, 2])
def test_a_piece_is_proven_once(world: World, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    proven: list[bytes] = []

    def counting(piece: bytes, claim: Claim, entropy: Entropy) -> bytes:
        proven.append(claim.id)
        return check(piece, claim, entropy)

    monkeypatch.setattr(extent, "check", counting)
    for module in ("muniment.bundle.making.check", "muniment.vault.store.check"):
        monkeypatch.setattr(module, counting)
    monkeypatch.setattr("muniment.bundle.pack.may_fork", lambda: False)
    world.workers = workers
    world.write("large.bin", os.urandom(3_000_000))
    receipt = world.snapshot()
    assert sorted(proven) == sorted(set(world.vault.index(receipt.snapshot.id).ids))
