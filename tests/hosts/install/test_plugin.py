"""Hosts: the plugin folder says what an installation says, and nothing else (one source)."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from muniment import __version__
from muniment.disk.errors import AlreadyThere
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.hosts import offered, plugin
from muniment.hosts.claude.setup import setup as claude
from muniment.hosts.cursor.setup import setup as cursor
from muniment.path import RelPath

FILES = plugin.files()


def document(place: str) -> Any:
    return json.loads(FILES[RelPath.parse(place)])


def test_every_manifest_names_the_same_thing() -> None:
    manifests = [document(f".{host}-plugin/plugin.json") for host in ("claude", "codex", "cursor")]
    for key in ("name", "version", "description", "license", "author"):
        assert len({json.dumps(each[key]) for each in manifests}) == 1
    assert manifests[0]["version"] == __version__


def test_what_a_manifest_names_is_there() -> None:
    for host in ("codex", "cursor"):
        for key, value in document(f".{host}-plugin/plugin.json").items():
            if isinstance(value, str) and value.startswith("./"):
                place = RelPath.parse(value.removeprefix("./").rstrip("/"))
                assert any(path.within(place) for path in FILES), (host, key)


def test_hooks_and_servers_are_those_of_an_installation() -> None:
    home = Path("/home/ada")
    installed = claude(home, {}, plugin.PROGRAM, home)
    hooks = document("hooks/hooks.json")["hooks"]
    for entry in installed.configurations[0].entries:
        (group,) = hooks[entry.path[1]]
        assert group["hooks"] == entry.value["hooks"]
    assert set(hooks) == {entry.path[1] for entry in installed.configurations[0].entries}
    assert set(hooks["PreToolUse"][0]["matcher"].split("|")) >= {"Write", "Edit", "Bash", "apply_patch"}
    (server,) = installed.configurations[1].entries
    own = document(".mcp.json")["mcpServers"]["muniment"]
    assert own == {key: value for key, value in server.value.items() if key != "type"}
    events = cursor(home, {}, plugin.PROGRAM, home).configurations[1].entries[1:]
    assert document("hooks/cursor-hooks.json")["hooks"] == {one.path[1]: [one.value] for one in events}
    # A sub-agent of Cursor is nobody to whom a handoff could be recorded.
    assert {one.path[1] for one in events} == {"sessionStart", "preToolUse", "stop"}


def test_skills_and_words_are_all_there() -> None:
    places = {place.posix for place in FILES}
    assert {f"skills/{name}/SKILL.md" for name in offered.SKILLS} <= places
    assert {f"commands/{word}.md" for word in offered.SLASH_WORDS} <= places


@pytest.mark.parametrize(
    "fault", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()], ids=["full", "stopped"]
)
def test_it_is_made_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    written: list[RelPath] = []

    def fail_at_the_fifth(root: Root, rel: RelPath, data: bytes) -> None:
        written.append(rel)
        if len(written) == 5:
            raise fault
        write_verified(root, rel, data)

    monkeypatch.setattr(plugin, "write_verified", fail_at_the_fifth)
    with pytest.raises(type(fault)):
        plugin.write(tmp_path / "bundle", FILES)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    plugin.write(tmp_path / "bundle", FILES)
    with pytest.raises(AlreadyThere):
        plugin.write(tmp_path / "bundle", FILES)
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]


CURSOR_MANIFEST = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"},
        "version": {"type": "string"},
        "author": {"type": "object", "required": ["name"]},
        "skills": {"type": "string"},
        "hooks": {"type": "string"},
        "mcpServers": {"type": "string"},
    },
}
"""What Cursor's documentation asks of a manifest, as far as ours goes."""


def test_the_manifest_has_the_form_that_cursor_documents() -> None:
    Draft7Validator(CURSOR_MANIFEST).validate(document(".cursor-plugin/plugin.json"))


@pytest.mark.parametrize("words", [("plugin", "validate")])
def test_claude_code_itself_accepts_it(tmp_path: Path, words: tuple[str, ...]) -> None:
    """With the real program, where `MUNIMENT_CLAUDE` names it; no CI has it."""
    program = os.environ.get("MUNIMENT_CLAUDE")
    if not program or shutil.which(program) is None:
        pytest.skip("MUNIMENT_CLAUDE names no Claude Code")
    plugin.write(tmp_path / "muniment", FILES)
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [program, *words, str(tmp_path / "muniment")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
