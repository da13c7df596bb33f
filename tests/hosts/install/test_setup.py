"""Hosts: installed over what people have, taken away again, and everything in between."""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from json5 import loads as json5
from tests.hosts.install.conftest import MAKE, Home
from tests.hosts.install.texts import ALL, FORMS, SETTINGS

from muniment.disk.errors import NoPermission
from muniment.errors import MunimentError
from muniment.hosts.errors import (
    ConfigurationBroken,
    ConfigurationChanging,
    ConfigurationLink,
    ConfigurationShape,
)
from muniment.hosts.installation import State
from muniment.hosts.setup import Setup, installed
from muniment.hosts.spot import Held, Spot

HOSTS = sorted(ALL)
EVERY_FORM = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def read(place: str, data: bytes) -> Any:
    """What a configuration says, by a reader that is not ours."""
    text = data.decode("utf-8-sig")
    return tomllib.loads(text) if place.endswith(".toml") else json5(text)


def ours(files: Mapping[str, bytes]) -> set[str]:
    """The places of what is ours alone: skills, words, copies beside."""
    return {place for place in files if "/skills/" in place or "/commands/" in place or ".muniment-" in place}


@pytest.mark.parametrize("host", HOSTS)
@EVERY_FORM
def test_only_ours_is_put_in_and_the_very_bytes_come_back(
    home: Home, host: str, form: Callable[[str], bytes]
) -> None:
    before = home.fill(host, form)
    folders = home.folders()
    changed = home.setup(host).install()
    assert {one.state for one in changed} <= {State.NEW, State.MERGED}
    after = home.files()
    for place, data in before.items():
        signs = iter(after[place])
        assert after[place] != data and all(sign in signs for sign in data), "signs were only put in"
        (backup,) = [name for name in after if name.startswith(f"{place}.muniment-")]
        assert after[backup] == data
    assert home.setup(host).install() and home.files() == after, "again, and nothing changes"
    assert {one.state for one in home.setup(host).plan()} == {State.UNCHANGED}
    planned = home.removal(host)
    assert home.files() == after
    assert home.uninstall(host) == planned
    assert {one.state for one in planned} == {State.PUT_BACK, State.REMOVED}
    assert home.files() == before and home.folders() == folders
    assert home.uninstall(host) == [] and installed(home.store) == []


@pytest.mark.parametrize("host", HOSTS)
@EVERY_FORM
def test_what_is_put_in_is_what_the_host_reads(home: Home, host: str, form: Callable[[str], bytes]) -> None:
    before = home.fill(host, form)
    home.setup(host).install()
    files = home.files()
    said = {place: read(place, files[place]) for place in before}
    for place, data in before.items():
        former, now = read(place, data), said[place]
        for name in ("mcpServers", "mcp_servers"):
            now.get(name, {}).pop("muniment", None)
        for event in list(now.get("hooks", {})):
            kept = [one for one in now["hooks"][event] if "muniment hook" not in json.dumps(one)]
            now["hooks"][event] = kept
            if not kept:
                del now["hooks"][event]
        assert now == former, "theirs says what it said"
    again = {place: read(place, files[place]) for place in before}
    server = next(
        (one.get("mcpServers") or one.get("mcp_servers"))["muniment"]
        for one in again.values()
        if "mcpServers" in one or "mcp_servers" in one
    )
    assert (server["command"], server["args"]) == ("/opt/tools/bin/muniment", ["mcp"])
    hooks = next(one["hooks"] for one in again.values() if "hooks" in one)
    told = re.findall(r'"/opt/tools/bin/muniment hook ([a-z-]+)"', json.dumps(hooks))
    wanted = {"session-start", "pre-tool-use", "stop"} | ({"subagent-stop"} if host != "cursor" else set())
    assert set(told) == wanted


@pytest.mark.parametrize("host", HOSTS)
def test_where_there_is_nothing_everything_is_made_and_goes(home: Home, host: str) -> None:
    assert {one.state for one in home.setup(host).install()} == {State.NEW}
    files = home.files()
    for place in ALL[host]:
        assert read(place, files[place]) and files[place].endswith(b"\n")
        assert (home.path / place).stat().st_mode & 0o077 == 0, "it may come to hold secrets"
    assert {one.state for one in home.uninstall(host)} == {State.REMOVED}
    assert home.files() == {} and home.folders() == set()


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("data", [b"", b"\n", b"\r\n"], ids=["empty", "a line", "CRLF"])
def test_empty_files_are_filled_and_emptied(home: Home, host: str, data: bytes) -> None:
    for place in ALL[host]:
        home.write(place, data)
    home.setup(host).install()
    files = home.files()
    assert all(read(place, files[place]) for place in ALL[host])
    home.uninstall(host)
    assert home.files() == dict.fromkeys(ALL[host], data)


@pytest.mark.parametrize("host", HOSTS)
@EVERY_FORM
def test_what_was_changed_since_keeps_its_changes(
    home: Home, host: str, form: Callable[[str], bytes]
) -> None:
    before = home.fill(host, form)
    home.setup(host).install()
    for place in before:
        path = home.path / place
        path.write_bytes(path.read_bytes().replace(b"other-server", b"better-server").replace(b"mine", b"my"))
        if place.endswith(".toml"):
            path.write_bytes(path.read_bytes() + b"\n# added since\n[mine]\nx = 1\n")
    home.uninstall(host)
    after = home.files()
    for place, data in before.items():
        said = read(place, data.replace(b"other-server", b"better-server").replace(b"mine", b"my"))
        if place.endswith(".toml"):
            said["mine"] = {"x": 1}
            assert b"# added since" in after[place] and b"# do not touch" in after[place]
        assert read(place, after[place]) == said
    assert ours(after) == {name for name in after if ".muniment-" in name}, "only the copies beside are left"


def test_a_host_that_writes_its_file_anew_loses_only_ours(home: Home) -> None:
    """Claude Code itself does so: it reads its settings and writes them in its own form."""
    before = home.fill("claude")
    home.setup("claude").install()
    for place in before:
        path = home.path / place
        path.write_text(json.dumps({**json.loads(path.read_bytes()), "seen": 1}))
    assert State.TAKEN_OUT in {one.state for one in home.uninstall("claude")}
    for place, data in before.items():
        assert json.loads((home.path / place).read_bytes()) == {**json.loads(data), "seen": 1}


def test_another_place_of_the_program_takes_the_place_of_the_former(home: Home) -> None:
    before = home.fill("claude")
    home.setup("claude").install()
    home.setup("claude", ("/new/muniment",)).install()
    files = home.files()
    assert all(b"/opt/tools" not in files[place] and b"/new/muniment" in files[place] for place in before)
    home.uninstall("claude")
    assert home.files() == before


def test_theirs_under_our_name_stays(home: Home) -> None:
    theirs = b'{"mcpServers": {"muniment": {"command": "my-own-wrapper", "args": []}}}'
    home.write(".cursor/mcp.json", theirs)
    changed = {one.place: one for one in home.setup("cursor").install()}
    outcome = changed[str(home.path / ".cursor/mcp.json")]
    assert (outcome.state, outcome.left) == (State.TAKEN, ("mcpServers.muniment",))
    assert home.files()[".cursor/mcp.json"] == theirs
    home.uninstall("cursor")
    assert home.files() == {".cursor/mcp.json": theirs}


def test_a_hook_of_ours_with_one_of_theirs_stays(home: Home) -> None:
    home.fill("claude")
    home.setup("claude").install()
    place = home.path / ".claude/settings.json"
    said = json.loads(place.read_bytes())
    said["hooks"]["SessionStart"][0]["hooks"].append({"type": "command", "command": "theirs"})
    said["hooks"]["SubagentStop"][0]["hooks"][0]["timeout"] = 99
    place.write_text(json.dumps(said, indent=2))
    home.uninstall("claude")
    left = json.loads(place.read_bytes())["hooks"]
    assert "theirs" in json.dumps(left["SessionStart"]) and "SubagentStop" not in left
    assert set(left) == {"PreToolUse", "Stop", "SessionStart"}


def test_their_skills_stay(home: Home) -> None:
    theirs = home.write(".claude/skills/backup/SKILL.md", b"# mine\n")
    changed = {one.place: one.state for one in home.setup("claude").install()}
    assert changed[str(theirs)] is State.TAKEN and theirs.read_bytes() == b"# mine\n"
    page = home.path / ".claude/skills/job/SKILL.md"
    page.write_bytes(page.read_bytes() + b"\nmy note\n")
    assert {one.place: one.state for one in home.setup("claude").plan()}[str(page)] is State.KEPT
    home.setup("claude").install()
    assert b"my note" in page.read_bytes()
    told = {one.place: one.state for one in home.uninstall("claude")}
    assert told[str(page)] is State.KEPT and str(theirs) not in told
    assert set(home.files()) == {".claude/skills/backup/SKILL.md", ".claude/skills/job/SKILL.md"}


BROKEN = {
    ".claude/settings.json": (b'{\n  "hooks": {,}\n}', ":2:13"),
    ".claude.json": (b'{"mcpServers": \xff}', ":1:16"),
    ".codex/config.toml": (b"[mcp_servers\n", ":1:13"),
    ".codex/hooks.json": (b'{"hooks": []}', ":1:11"),
    ".cursor/mcp.json": (b"// mine\n{\n  mcpServers: {\n", ":4:1"),
    ".cursor/hooks.json": (b"[]", ":1:1"),
}


@pytest.mark.parametrize("place", BROKEN)
def test_what_can_not_be_read_is_refused_and_nothing_is_touched(home: Home, place: str) -> None:
    host = place.split("/")[0].removeprefix(".").removesuffix(".json")
    before = home.fill(host)
    data, where = BROKEN[place]
    home.write(place, data)
    for act in (home.setup(host).plan, home.setup(host).install):
        with pytest.raises((ConfigurationBroken, ConfigurationShape)) as caught:
            act()
        assert caught.value.where == f"{home.path / place}{where}" and caught.value.why is not None
    assert home.files() == {**before, place: data}, "the others neither"


@pytest.mark.parametrize("place", BROKEN)
def test_what_broke_since_is_not_touched_by_taking_away(home: Home, place: str) -> None:
    host = place.split("/")[0].removeprefix(".").removesuffix(".json")
    home.fill(host)
    home.setup(host).install()
    home.write(place, b"{ broken [")
    before = home.files()
    with pytest.raises(ConfigurationBroken):
        home.uninstall(host)
    assert home.files() == before


def test_links_are_followed_and_stay_links(home: Home) -> None:
    real = home.write("dotfiles/settings.json", SETTINGS.encode())
    home.path.joinpath(".claude").mkdir()
    link = home.path / ".claude/settings.json"
    link.symlink_to("../dotfiles/settings.json")
    home.setup("claude").install()
    assert link.is_symlink() and b"muniment hook" in real.read_bytes()
    home.uninstall("claude")
    assert link.is_symlink() and real.read_bytes() == SETTINGS.encode()
    assert [path.name for path in real.parent.iterdir()] == ["settings.json"]


def test_a_linked_skills_folder_is_followed(home: Home) -> None:
    (home.path / "dotfiles/skills").mkdir(parents=True)
    (home.path / ".claude").mkdir()
    (home.path / ".claude/skills").symlink_to("../dotfiles/skills")
    home.setup("claude").install()
    assert (home.path / "dotfiles/skills/job/SKILL.md").is_file()
    home.uninstall("claude")
    assert list((home.path / "dotfiles/skills").iterdir()) == []


def test_a_link_that_leads_nowhere_is_refused(home: Home) -> None:
    (home.path / ".cursor").mkdir()
    (home.path / ".cursor/mcp.json").symlink_to("gone.json")
    with pytest.raises(ConfigurationLink):
        home.setup("cursor").install()
    assert home.files() == {}


def test_a_folder_or_a_pipe_in_the_place_is_refused(home: Home) -> None:
    (home.path / ".cursor/mcp.json").mkdir(parents=True)
    with pytest.raises(MunimentError) as caught:
        home.setup("cursor").install()
    assert caught.value.code == "WRONG_KIND"
    (home.path / ".cursor/mcp.json").rmdir()
    os.mkfifo(home.path / ".cursor/mcp.json")
    with pytest.raises(MunimentError) as caught:
        home.setup("cursor").install()
    assert caught.value.code == "SPECIAL_FILE" and home.files() == {}


@pytest.fixture
def open_home() -> Iterator[Home]:
    """A home folder that somebody else than the owner of the tests' own folder can reach."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Home(Path(folder))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else to see what is refused")
@pytest.mark.parametrize(("place", "mode"), [(".codex", 0o500), (".codex/config.toml", 0o000)])
def test_without_permission_it_says_so_and_touches_nothing(open_home: Home, place: str, mode: int) -> None:
    home, nobody = open_home, 65534
    before = home.fill("codex")
    for path in (home.path, *home.path.rglob("*")):
        os.chown(path, nobody, nobody)
    (home.path / place).chmod(mode)
    child = os.fork()
    if child == 0:
        status = 3
        try:
            os.setresuid(nobody, nobody, nobody)
            home.setup("codex").install()
        except NoPermission as error:
            (home.path / "where").write_text(error.where)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    after = home.files()
    assert {name: after[name] for name in before} == before
    assert after["where"].decode().startswith(str(home.path / ".codex"))


def test_the_mode_of_a_file_stays(home: Home) -> None:
    home.fill("claude")
    (home.path / ".claude.json").chmod(0o600)
    (home.path / ".claude/settings.json").chmod(0o664)
    home.setup("claude").install()
    modes = {path.name: path.stat().st_mode & 0o777 for path in home.path.rglob("*") if path.is_file()}
    assert modes[".claude.json"] == 0o600 and modes["settings.json"] == 0o664
    assert {mode for name, mode in modes.items() if name.startswith(".claude.json.muniment-")} == {0o600}


def test_what_is_written_between_the_look_and_the_change_is_not_lost(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.fill("claude")
    place = home.path / ".claude.json"
    looked: list[Path] = []
    plain = Spot.look

    def look(self: Spot) -> Held | None:
        held = plain(self)
        if self.place == place and len(looked) == 1:  # the first look is the one before anything
            place.write_text('{"mcpServers": {}, "theirs": "written meanwhile"}')
        looked.extend([place] if self.place == place else [])
        return held

    monkeypatch.setattr(Spot, "look", look)
    home.setup("claude").install()
    said = json.loads(place.read_bytes())
    assert said["theirs"] == "written meanwhile" and "muniment" in said["mcpServers"]
    assert len(looked) >= 3


def test_who_never_stops_writing_is_left_in_peace(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.fill("cursor")
    monkeypatch.setattr(Spot, "write", lambda *_: False)
    with pytest.raises(ConfigurationChanging):
        Setup("cursor", home.store, home.setup("cursor").configurations).install()


def test_a_copy_beside_that_is_gone_or_changed_is_not_believed(home: Home) -> None:
    before = home.fill("cursor")
    home.setup("cursor").install()
    for path in home.path.rglob("*.muniment-*"):
        path.write_bytes(b"something else")
    home.uninstall("cursor")
    files = home.files()
    assert {place: read(place, files[place]) for place in before} == {
        place: read(place, data) for place, data in before.items()
    }


def test_stopped_before_the_file_was_written_nothing_is_left(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = home.fill("cursor")
    monkeypatch.setattr(Spot, "write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        Setup("cursor", home.store, home.setup("cursor").configurations).install()
    monkeypatch.undo()
    assert set(home.files()) > set(before), "the copy beside stands already"
    assert {one.state for one in home.uninstall("cursor")} == {State.UNCHANGED}
    assert home.files() == before


def test_a_damaged_receipt_is_said_and_nothing_is_touched(home: Home) -> None:
    home.fill("codex")
    home.setup("codex").install()
    before = home.files()
    (home.store / "codex.json").write_text('{"v": 1}')
    with pytest.raises(MunimentError) as caught:
        home.uninstall("codex")
    assert caught.value.code == "STATE_DAMAGED" and home.files() == before


def test_every_host_has_a_table() -> None:
    assert set(ALL) == set(MAKE)
