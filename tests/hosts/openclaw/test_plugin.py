"""Hosts, OpenClaw: what the plugin's files say is what the program has (spec 6, hosts)."""

from __future__ import annotations

import json
import re

from muniment import __version__
from muniment.faces.tools.archive_shapes import ARCHIVE
from muniment.hosts.openclaw.layout import BASE
from muniment.hosts.openclaw.setup import FILES, ID, plugin_files

SOURCE = plugin_files()["index.ts"].decode()
MANIFEST = json.loads(plugin_files()["openclaw.plugin.json"])
PACKAGE = json.loads(plugin_files()["package.json"])


def test_the_tool_is_the_one_that_clients_of_the_server_see() -> None:
    found = re.search(r"^const ARCHIVE = (\{\n.*?^\});", SOURCE, re.DOTALL | re.MULTILINE)
    assert found is not None
    assert json.loads(found[1]) == {
        "name": ARCHIVE.name,
        "title": ARCHIVE.title,
        "description": ARCHIVE.about,
        "parameters": ARCHIVE.takes,
    }
    assert ARCHIVE.takes["additionalProperties"] is False
    assert MANIFEST["contracts"] == {"tools": [ARCHIVE.name]}


def test_the_hosted_layout_is_the_programs() -> None:
    assert f'\nconst BASE = "{BASE}";\n' in SOURCE


def test_what_names_a_session_or_a_workspace_is_never_handed_on() -> None:
    from muniment import app
    from muniment.hosts.workspace import HOST_VARIABLES, VARIABLE

    kept = re.findall(r"^const (HANDED_ON|NOT_OURS) = new Set\((.*?)\);", SOURCE, re.DOTALL | re.MULTILINE)
    handed_on, not_ours = (set(re.findall(r"[A-Z_]{2,}", words)) for _, words in kept)
    assert {VARIABLE, app.SESSION_VARIABLE, app.SESSION_ID_VARIABLE} <= not_ours
    assert not handed_on & {*HOST_VARIABLES, "PYTHONPATH", "NODE_OPTIONS", "LD_PRELOAD"}


def test_names_and_versions_agree() -> None:
    assert MANIFEST["id"] == ID and f'id: "{ID}"' in SOURCE
    assert MANIFEST["description"] in SOURCE
    assert PACKAGE["version"] == __version__
    assert PACKAGE["openclaw"]["extensions"] == ["./index.ts"]
    assert set(FILES) == {"index.ts", "openclaw.plugin.json", "package.json"}


def test_no_shell_is_ever_started() -> None:
    assert SOURCE.count("spawn(") == 1 and "shell: false" in SOURCE
    assert not re.search(r"(?<![.\w])(exec|execSync|execFile|fork|eval|Function)\(", SOURCE)
