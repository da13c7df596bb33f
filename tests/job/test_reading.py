"""Job: what is written reads the same under JSON, YAML 1.1 and YAML 1.2; what is read is strict."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest
import ruamel.yaml
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.job.registries import VALID

from muniment.canonical import NotJson, read_json
from muniment.job.errors import ImportRefused, RegistryRefused
from muniment.job.importer import read_yaml
from muniment.job.model import DocumentGap, Registry
from muniment.job.reader import from_json, read
from muniment.job.shape import plain
from muniment.job.strict import locate
from muniment.job.writer import dump, write

# U+D800 to U+DFFF are halves of characters: no text has them.
EVERY_BMP = "".join(chr(point) for point in range(0x10000) if not 0xD800 <= point <= 0xDFFF)
HOSTILE = [
    "",
    " leading and trailing ",
    "yes", "no", "on", "off", "null", "~", "true", "1", "1.0", "0x1F", "0o7", "1e3", ".inf", ".nan", "1:30",
    "2026-11-30", "=", "<<", "- a", "? a", ": a", "a: b", "a #b", "#", "&a", "*a", "!a", "%a", "@a", "`a",
    "|", ">",
    "---", "...", "{}", "[]", "'", '"', "\\", "\\u0041", "\t", "a\tb", "\r\n", "\n\n", "a\nb", "a\r", " \n ",
    "\x00", "\x07\x1b[2J", "\x7f", "\x80\x85\x9f", "\u2028\u2029", "\ufeff", "\ufffe\uffff", "\ufdd0",
    "\U0001f600", "\U0001ffff\U0010ffff", "\u202e\u200b", "e\u0301", "样本", "x" * 5000,
]  # fmt: skip


def with_text(text: str) -> Registry:
    """A registry that holds a text in several places."""
    value = VALID["in_gap"]()
    value["workflow"]["objective"] = text
    value["document_gap"]["blocking_reason"] = "r" + text
    value["execution"]["bindings"][0]["task"] = text
    return from_json(value)


def yaml_1_1(data: bytes) -> Any:
    return yaml.safe_load(data)


def yaml_1_2(data: bytes) -> Any:
    reader = ruamel.yaml.YAML(typ="safe", pure=True)
    assert reader.version is None  # 1.2 is its default
    return reader.load(io.BytesIO(data))


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:20]))
def test_three_readers_see_the_same(text: str) -> None:
    registry = with_text(text)
    data = write(registry)
    assert json.loads(data) == yaml_1_1(data) == yaml_1_2(data) == plain(registry)
    assert read(data) == registry


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_three_readers_see_the_same_whatever_it_says(text: str) -> None:
    data = write(with_text(text))
    assert json.loads(data) == yaml_1_1(data) == yaml_1_2(data) == plain(with_text(text))


def test_three_readers_see_every_character() -> None:
    for begin in range(0, len(EVERY_BMP), 4096):
        data = dump({"text": EVERY_BMP[begin : begin + 4096]})
        assert json.loads(data) == yaml_1_1(data) == yaml_1_2(data)
    astral = "".join(chr(point) for point in range(0x10000, 0x110000, 997))
    assert json.loads(dump([astral])) == yaml_1_1(dump([astral])) == yaml_1_2(dump([astral])) == [astral]


def test_what_is_escaped_and_what_is_raw() -> None:
    """Spec 2: C0, C1, U+007F, U+0085, U+2028/9, U+FEFF, U+FFFE, U+FFFF escaped; astral characters raw."""
    escaped = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF]
    for point in escaped:
        assert chr(point) not in dump(f"a{chr(point)}b").decode().removesuffix("\n")
    for text in ("é", "样", "\U0001f600", "\U0010fffd", "\xa0"):
        assert text in dump(text).decode()


def test_the_keys_stand_in_the_order_of_the_template() -> None:
    template = VALID["template"]()
    assert json.dumps(json.loads(write(Registry()))) == json.dumps(template)
    assert write(Registry()).decode() == json.dumps(template, indent=2) + "\n"


def test_a_half_character_is_never_written() -> None:
    with pytest.raises(UnicodeEncodeError):
        write(replace(Registry(), document_gap=DocumentGap(topic="\ud800")))


JSONISH = st.recursive(
    st.sampled_from(
        ["1", "-0", "01", "1.5e3", "1e", '"a"', '"\\u0041"', '"\\ud83d\\ude00"', '"\\ud83d"', "nul", "null"]
    )
    | st.sampled_from(
        ["true", "NaN", "Infinity", '"\x01"', '"', "'a'", "", "-", '"\\x"', '"\\/"', " 7 ", "\u00a07"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]")
        | st.lists(st.tuples(st.sampled_from(['"a"', '"b"', '"\\u0061"', "a"]), inner), max_size=3).map(
            lambda pairs: "{" + ",".join(f"{key}: {item}" for key, item in pairs) + "}"
        )
    ),
    max_leaves=8,
)


@settings(max_examples=1500, deadline=None)
@given(JSONISH | st.text(alphabet='[]{},:"\\u0d8NaI1-.e tf', max_size=12))
def test_the_slow_reader_refuses_what_the_fast_one_refuses(text: str) -> None:
    """Two readers that were not made from each other: Python's, and ours that knows the fields."""
    try:
        read_json(text)
    except NotJson:
        assert locate(text) is not None
    else:
        assert locate(text) is None


class TestImport:
    """Block YAML of a person: YAML 1.2, JSON's types, nothing else."""

    def test_block_yaml_of_a_registry(self) -> None:
        value = VALID["awaiting"]()
        stream = io.StringIO()
        ruamel.yaml.YAML(typ="safe", pure=True).dump(value, stream)
        assert "{" not in stream.getvalue().split("\n")[0]
        assert from_json(read_yaml(stream.getvalue().encode())) == from_json(value)

    def test_json_is_yaml_too(self) -> None:
        assert read_yaml(write(Registry())) == VALID["template"]()

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("a: yes", {"a": "yes"}),
            ("a: no", {"a": "no"}),
            ("a: on", {"a": "on"}),
            ("a: 2026-11-30", {"a": "2026-11-30"}),
            ("a: 1:30", {"a": "1:30"}),
            ("a: '1'", {"a": "1"}),
            ("a: 1", {"a": 1}),
            ("a: -3.5e2", {"a": -350.0}),
            ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
            ("a: >-\n  x\n  y\n", {"a": "x y"}),
            ("a:\n- b\n- c: null\n", {"a": ["b", {"c": None}]}),
            ("a:", {"a": None}),
            ("'true': 'null'", {"true": "null"}),
            ("1_000: x", {"1_000": "x"}),
            ("a: 样本 \U0001f600", {"a": "样本 \U0001f600"}),
            ("%YAML 1.2\n---\na: yes\n", {"a": "yes"}),
        ],
    )
    def test_values_are_those_of_yaml_1_2(self, text: str, value: Any) -> None:
        assert read_yaml(text.encode()) == value

    @pytest.mark.parametrize(
        ("text", "where"),
        [
            ("a: &x 1\nb: *x\n", "line 1, a"),
            ("b: *x\n", "alias"),
            ("a: !!str 1\n", "line 1, a"),
            ("a: !!python/object:os.system x\n", "line 1, a"),
            ("a: !x 1\n", "line 1, a"),
            ("a: {b: 1, b: 2}\n", "line 1, a.b"),
            ("a: 1\na: 2\n", "line 2, a"),
            ("a: .nan\n", "line 1, a"),
            ("a: -.inf\n", "line 1, a"),
            ("a: 0x1F\n", "line 1, a"),
            ("a: 0o17\n", "line 1, a"),
            ("a: 017\n", "line 1, a"),
            ("a: +1\n", "line 1, a"),
            ("a: 1e999\n", "line 1, a"),
            ("a: " + "9" * 5000, "line 1, a"),
            ("1: x\n", "line 1, $"),
            ("? [a]\n: x\n", "line 1, $"),
            ("<<: {a: 1}\n", "line 1, $"),
            ("a: 1\n---\nb: 2\n", "second document"),
            ("", "empty"),
            ("# nothing\n", "empty"),
            ("a: [1, 2\n", "line"),
            ("a: \x00\n", "YAML"),
            ("\ta: 1\n", "line"),
            ("%YAML 1.1\n---\na: yes\n", "directive"),
            ("%TAG ! tag:x,2026:\n---\na: 1\n", "directive"),
            ('a: "\\ud800"\n', "line 1, a"),
            ("a: " + "[" * 500 + "]" * 500, "deep"),
        ],
    )
    def test_what_json_can_not_hold_is_refused_where_it_stands(self, text: str, where: str) -> None:
        with pytest.raises(ImportRefused, match=re.escape(where)) as refused:
            read_yaml(text.encode(), where="old.yaml")
        assert refused.value.where == "old.yaml" and str(refused.value).isprintable()

    def test_other_bytes(self) -> None:
        with pytest.raises(ImportRefused, match="UTF-8"):
            read_yaml(b"a: \xff\n")
        with pytest.raises(RegistryRefused):
            from_json(read_yaml(b"just a text"))
