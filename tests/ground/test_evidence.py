"""Floor 0: evidence: names of arbitrary bytes, rows and tables, and how two tables differ."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.canonical import canonical, read_json
from muniment.digest import EMPTY, Digest, sha256
from muniment.evidence import Difference, Kind, Row, Table, compare, spell, unspell

names = st.binary(min_size=1, max_size=12).filter(
    lambda raw: not {0, 47} & set(raw) and raw not in (b".", b"..")
)
paths = st.lists(names, max_size=4).map(lambda parts: os.fsdecode(b"/".join(parts)))
digests = st.binary(max_size=4).map(sha256)
rows = st.one_of(
    st.builds(Row, paths, st.just(Kind.FILE), st.integers(0, 2**53 - 1), digests),
    st.builds(Row, paths, st.just(Kind.DIRECTORY)),
    st.builds(Row, paths, st.just(Kind.LINK), target=st.binary(max_size=12).map(os.fsdecode)),
)
tables = st.lists(rows, max_size=6, unique_by=lambda row: row.path).map(Table.of)


@given(st.binary(max_size=24))
def test_every_name_has_a_spelling_that_json_can_hold_and_that_leads_back(raw: bytes) -> None:
    name = os.fsdecode(raw)
    spelled = spell(name)
    assert os.fsencode(unspell(spelled)) == raw
    assert unspell(read_json(canonical(spelled))) == name


@given(st.binary(max_size=12), st.binary(max_size=12))
def test_two_names_never_have_the_same_spelling(one: bytes, other: bytes) -> None:
    assert (spell(os.fsdecode(one)) == spell(os.fsdecode(other))) == (one == other)


pieces = st.sampled_from(
    ["\\", "x", "\\x", "\\\\", "80", "c3", "a9", "ff", "FF", "7f", "a", "é", "\udcc3", "\ud800"]
)


@given(st.lists(pieces, max_size=6).map("".join) | st.text(max_size=8))
def test_any_text_is_the_spelling_of_one_name_or_refused(text: str) -> None:
    try:
        name = unspell(text)
    except ValueError:
        return
    assert spell(name) == text
    assert os.fsdecode(os.fsencode(name)) == name


SPELLINGS: list[tuple[bytes, str]] = [
    (b"", ""),
    (b"report.md", "report.md"),
    (b"a b", "a b"),
    ("Zürich 世界".encode(), "Zürich 世界"),
    (b"a\\b", "a\\\\b"),
    (b"\\x41", "\\\\x41"),
    (b"\xff", "\\xff"),
    (b"\x80\xc3", "\\x80\\xc3"),
    (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
    (b"\n\x1b\x7f", "\n\x1b\x7f"),
]


@pytest.mark.parametrize(("raw", "spelled"), SPELLINGS)
def test_spellings(raw: bytes, spelled: str) -> None:
    assert spell(os.fsdecode(raw)) == spelled
    assert os.fsencode(unspell(spelled)) == raw


@pytest.mark.parametrize(
    "text",
    [
        "\\",
        "a\\",
        "\\y41",
        "\\x",
        "\\x8",
        "\\x41",
        "\\x7f",
        "\\xFF",
        "\\x+f",
        "\\x f",
        "\\x8_",
        "\\x\u0668\u0660",  # digits of another script
        "\\xc3\\xa9",  # é, which has a spelling of its own
        "\udcff",
        "a\\\\\ud800",
    ],
)
def test_what_spell_can_not_have_written_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        unspell(text)


@given(tables)
def test_a_table_reads_back(table: Table) -> None:
    data = table.to_bytes()
    assert Table.read(data) == table
    assert table.digest == sha256(data)
    assert data == b"".join(canonical(row.to_json()) + b"\n" for row in table.rows)
    order = [json.loads(line)["path"] for line in data.splitlines()]
    assert order == sorted(order)


@given(st.lists(rows, max_size=6, unique_by=lambda row: row.path), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(found: list[Row], chance: Any) -> None:
    shuffled = list(found)
    chance.shuffle(shuffled)
    assert Table.of(shuffled).digest == Table.of(found).digest


@given(tables, tables)
def test_two_tables_have_one_digest_exactly_when_they_do_not_differ(one: Table, other: Table) -> None:
    difference = compare(one, other)
    assert bool(difference) == (one.digest != other.digest) == (one != other)
    back = compare(other, one)
    assert (set(back.missing), set(back.extra)) == (set(difference.extra), set(difference.missing))
    assert set(back.changed) == set(difference.changed)


def file(path: str, content: bytes) -> Row:
    return Row(path, Kind.FILE, len(content), sha256(content))


def test_compare_names_each_path() -> None:
    before = Table.of(
        [file("a", b"1"), file("b", b"2"), Row("d", Kind.DIRECTORY), Row("l", Kind.LINK, target="a")]
    )
    after = Table.of([file("a", b"1"), file("c", b"2"), file("d", b""), Row("l", Kind.LINK, target="b")])
    assert compare(before, after) == Difference(missing=("b",), extra=("c",), changed=("d", "l"))
    assert not compare(before, before)


def test_counts_are_of_files() -> None:
    table = Table.of(
        [Row("", Kind.DIRECTORY), file("a", b"12"), file("b", b"345"), Row("l", Kind.LINK, target="a")]
    )
    assert (table.count, table.size) == (2, 5)
    assert Table.of([]).digest == EMPTY


def test_a_path_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        Table.of([file("a", b"1"), file("a", b"2")])


GOOD = b'{"kind":"file","path":"a","sha256":"' + b"0" * 64 + b'","size":1}\n'

BAD_TABLES: dict[str, bytes] = {
    "no newline at the end": GOOD[:-1],
    "another line end": GOOD[:-1] + b"\r\n",
    "an empty line": GOOD + b"\n",
    "a blank": GOOD.replace(b'"size":1', b'"size": 1'),
    "members in another order": b'{"path":"a","kind":"file","sha256":"' + b"0" * 64 + b'","size":1}\n',
    "a member more": GOOD.replace(b"{", b'{"a":1,'),
    "a member twice": GOOD.replace(b"{", b'{"kind":"file",'),
    "not in order": GOOD.replace(b'"a"', b'"b"') + GOOD,
    "a path twice": GOOD + GOOD,
    "no object": b"[]\n",
    "no JSON": b"file\n",
    "another kind": GOOD.replace(b'"file"', b'"pipe"'),
    "no kind": b'{"path":"a"}\n',
    "no path": b'{"kind":"directory"}\n',
    "a path of another type": b'{"kind":"directory","path":1}\n',
    "an absolute path": b'{"kind":"directory","path":"/a"}\n',
    "a path upwards": b'{"kind":"directory","path":"../a"}\n',
    "a path through itself": b'{"kind":"directory","path":"a/./b"}\n',
    "a path with NUL": b'{"kind":"directory","path":"a\\u0000"}\n',
    "a name too long": b'{"kind":"directory","path":"' + b"a" * 256 + b'"}\n',
    "a path misspelled": b'{"kind":"directory","path":"a\\\\q"}\n',
    "no digest": b'{"kind":"file","path":"a","size":1}\n',
    "a digest of another form": GOOD.replace(b"0" * 64, b"0" * 63),
    "a digest in capitals": GOOD.replace(b"0" * 64, b"A" * 64),
    "a size of another type": GOOD.replace(b":1}", b":true}"),
    "a size with a fraction": GOOD.replace(b":1}", b":1.5}"),
    "a size below zero": GOOD.replace(b":1}", b":-1}"),
    "a size that no file has": GOOD.replace(b":1}", b":9007199254740992}"),
    "a link without a target": b'{"kind":"link","path":"a"}\n',
    "a target of another type": b'{"kind":"link","path":"a","target":1}\n',
    "a file with a target": GOOD.replace(b":1}", b':1,"target":"b"}'),
    "a folder with a target": b'{"kind":"directory","path":"a","target":"b"}\n',
    "a size as text": GOOD.replace(b":1}", b':"1"}'),
    "not UTF-8": GOOD.replace(b'"a"', b'"\xff"'),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_table_with_another_spelling_is_refused(name: str) -> None:
    assert Table.read(GOOD).rows == (Row("a", Kind.FILE, 1, Digest("0" * 64)),)
    with pytest.raises(ValueError):
        Table.read(BAD_TABLES[name])


@given(st.binary(max_size=80))
def test_any_bytes_are_a_table_or_refused(data: bytes) -> None:
    try:
        table = Table.read(data)
    except ValueError:
        return
    assert table.to_bytes() == data
