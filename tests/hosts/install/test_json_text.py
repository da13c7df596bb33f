"""Hosts: a JSON text is changed in one place, and is what it was everywhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json5 import loads as json5

from muniment.hosts.errors import ConfigurationBroken, ConfigurationShape
from muniment.hosts.json_text import find, parse, put, remove

VALUE: Any = {"command": "m", "args": ["mcp", "归档"]}

LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)
INDENTS: Any = st.sampled_from([None, 1, 2, 4, "\t"])


def is_only_more(before: str, after: str) -> bool:
    """Whether signs were only put in, none taken out or changed."""
    signs = iter(after)
    return all(sign in signs for sign in before)


@settings(max_examples=300, deadline=None)
@given(OBJECTS, INDENTS, st.sampled_from(["\n", "\r\n"]))
def test_a_member_is_put_in_and_taken_out_again(value: Any, indent: Any, newline: str) -> None:
    value.pop("own", None)
    before = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", newline)
    after = put(before, ["own"], VALUE, listed=False)
    assert json.loads(after) == {**value, "own": VALUE}
    assert is_only_more(before, after)
    assert remove(after, ["own"]) == before


@settings(max_examples=200, deadline=None)
@given(OBJECTS, st.lists(VALUES, max_size=3), INDENTS)
def test_an_item_is_put_in_and_taken_out_again(value: Any, items: Any, indent: Any) -> None:
    value["hooks"] = {"Stop": items}
    before = json.dumps(value, indent=indent)
    after = put(before, ["hooks", "Stop"], VALUE, listed=True)
    assert json.loads(after) == {**value, "hooks": {"Stop": [*items, VALUE]}}
    assert is_only_more(before, after)
    assert remove(after, ["hooks", "Stop"], len(items)) == before


LOOSE = [
    "{ // c\n}",
    '{"a": 1 // c\n}',
    '{\n // k\n "a": 1, // t\n /* z */ }',
    '{\n  "own2": {"q": 1},\n  "h": [\n    {"c": 1},\n  ],\n}\n',
    "{a:'x', /*c*/}",
    '{\n  "a": 1\n\n  // the end\n}\n',
    "// before\n{unquoted: +1, 'single': 'it\\'s', hex: 0xff,}\n// after",
    '{"url": "http://x//y", /* "own": 1 */ "s": "a \\" // b"}',
    "{\n  a: [1, 2, /* three */], // here\n}",
]


@pytest.mark.parametrize("before", LOOSE)
def test_comments_and_loose_forms_stay(before: str) -> None:
    after = put(before, ["own"], VALUE, listed=False)
    assert json5(after) == {**json5(before), "own": VALUE}
    assert is_only_more(before, after)
    again = remove(after, ["own"])
    assert json5(again) == json5(before)
    assert again.replace(" ", "").replace("\n", "") == before.replace(" ", "").replace("\n", "")


@pytest.mark.parametrize("before", LOOSE)
def test_the_places_of_both_readers_agree(before: str) -> None:
    """What stands at a place says there what it says in the whole."""
    tree = parse(before)
    assert tree.members is not None
    for key, _, node in tree.members:
        assert json5(before[node.start : node.end]) == json5(before)[key] == node.value


@pytest.mark.parametrize(
    ("index", "rest"),
    [(0, "[\n  2,\n  3\n]"), (1, "[\n  1,\n  3\n]"), (2, "[\n  1,\n  2\n]")],
)
def test_any_item_can_go(index: int, rest: str) -> None:
    before = '{"a": [\n  1,\n  2,\n  3\n]}'
    assert remove(before, ["a"], index) == '{"a": ' + rest + "}"


BROKEN = [
    ('{\n  "a": 1,,\n}', "2:10"),
    ('{\n  "a": }', "2:8"),
    ('{"a": 1}}', "1:9"),
    ('{"a": 1} {', "1:10"),
    ('{\n"a": "open\n}', "2:6"),
    ("{\n// never\n/* closed", "3:1"),
    ("[1, 2", "1:6"),
    ("\x00", "1:1"),
    ("{" * 5 + '"a"', "1:2"),
]


@pytest.mark.parametrize(("text", "where"), BROKEN)
def test_what_is_no_json_is_refused_with_its_place(text: str, where: str) -> None:
    with pytest.raises(ConfigurationBroken) as caught:
        put(text, ["own"], 1, listed=False)
    assert caught.value.where.split(":")[0] == where.split(":")[0], caught.value
    assert caught.value.why is not None


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(ConfigurationBroken):
        put("[" * 200_000, ["own"], 1, listed=False)
    with pytest.raises(ConfigurationBroken):
        put("// c\n" + "[" * 3_000, ["own"], 1, listed=False)


def test_large_files_that_are_not_strict_are_refused_at_once() -> None:
    with pytest.raises(ConfigurationBroken):
        put("// c\n" + json.dumps({str(n): n for n in range(100_000)}), ["own"], 1, listed=False)


SHAPES = [
    ("[]", ["own"], False, "1:1"),
    ('{"hooks": []}', ["hooks", "Stop"], True, "1:11"),
    ('{\n "hooks": {"Stop": {}}\n}', ["hooks", "Stop"], True, "2:20"),
    ('{"servers": 3}', ["servers", "own"], False, "1:13"),
    ('{"servers": null}', ["servers", "own"], False, "1:13"),
    ('{"a": {}, "a": {}}', ["a", "own"], False, "1:16"),
]


@pytest.mark.parametrize(("text", "path", "listed", "where"), SHAPES)
def test_another_shape_is_refused_with_its_place(
    text: str, path: list[str], listed: bool, where: str
) -> None:
    with pytest.raises(ConfigurationShape) as caught:
        put(text, path, 1, listed=listed)
    assert caught.value.where == where


def test_a_large_strict_file_is_read_by_its_places() -> None:
    value = {"projects": {f"/p/{n}": {"history": [{"display": "x" * 40}] * 20} for n in range(2_000)}}
    text = json.dumps(value, indent=2)
    after = put(text, ["mcpServers", "own"], VALUE, listed=False)
    assert json.loads(after) == {**value, "mcpServers": {"own": VALUE}}
    node = find(after, parse(after), ["mcpServers", "own"])
    assert node is not None and json.loads(after[node.start : node.end]) == VALUE
