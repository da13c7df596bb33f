"""Hosts: a TOML text is given a table of ours, and is what it was everywhere else."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from muniment.hosts.errors import ConfigurationBroken, ConfigurationShape
from muniment.hosts.toml_text import put, remove

PATH = ("mcp_servers", "muniment")
VALUE: Any = {"command": '/opt/my "tools"/muniment', "args": ["mcp", "归档"]}

TEXTS = [
    "",
    "# only this\n",
    "a = 1\n",
    "a = 1\r\n[mcp_servers.other]\r\ncommand = 'x'\r\n",
    "mcp_servers = {x = {command = 'a'}} # all of them\nb = 1\n",
    "mcp_servers.x.command = 'a'\n",
    "[mcp_servers]\nx = {command = 'a'}\n# the end\n",
    "[[hooks.Stop]]\na = 1\n",
    'a = """\n[mcp_servers.muniment]\n"""\n',
    "[mcp_servers]\n",
    "[mcp_servers.muniment2]\ncommand = 'x'\n",
]


@pytest.mark.parametrize("before", TEXTS)
def test_a_table_is_put_in_and_taken_out_again(before: str) -> None:
    said = tomllib.loads(before)
    after = put(before, PATH, VALUE)
    said.setdefault("mcp_servers", {})["muniment"] = VALUE
    assert tomllib.loads(after) == said
    signs = iter(after)
    assert all(sign in signs for sign in before), "signs were only put in"
    assert remove(after, PATH) == before


@pytest.mark.parametrize("before", TEXTS)
def test_what_was_written_since_stays(before: str) -> None:
    after = put(before, PATH, VALUE) + "\n# mine\n[mine]\nb = [\n  1, # one\n]\n"
    again = remove(after, PATH)
    assert "# mine\n[mine]\nb = [\n  1, # one\n]\n" in again
    assert tomllib.loads(again)["mine"] == {"b": [1]}
    assert "muniment" not in tomllib.loads(again).get("mcp_servers", {})


def test_tables_inside_it_go_with_it() -> None:
    text = put("a = 1\n", PATH, VALUE) + '\n[mcp_servers.muniment.env]\nA = """\nx\n"""\n\n[b]\n'
    assert tomllib.loads(remove(text, PATH)) == {"a": 1, "b": {}}


BROKEN = [("a = ", "1:"), ("a = 1\na = 2", "2:"), ("[x", "1:"), ("\n\nfoo", "3:"), ('a = """x', "1:")]


@pytest.mark.parametrize(("text", "where"), BROKEN)
def test_what_is_no_toml_is_refused_with_its_place(text: str, where: str) -> None:
    with pytest.raises(ConfigurationBroken) as caught:
        put(text, PATH, VALUE)
    assert caught.value.where.startswith(where) and caught.value.why is not None


@pytest.mark.parametrize("text", ["mcp_servers = 3", "mcp_servers = []", "[[mcp_servers]]\na = 1\n"])
def test_another_shape_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationShape):
        put(text, PATH, VALUE)
