"""The rules of the archive, as tables: facts in, verdict out (spec 1, addresses; move and read-back)."""

from __future__ import annotations

import itertools
import os
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.archive import rules
from muniment.archive.errors import InvalidInput, InvalidSource
from muniment.archive.model import Address, Track
from muniment.digest import EMPTY
from muniment.errors import MunimentError
from muniment.evidence import Kind, Row, Table
from muniment.path import RelPath


def path(text: str) -> RelPath:
    return RelPath(tuple(text.split("/")) if text else ())


REFUSED_PLACES = [
    "a/.muniment",
    "",
    "archives",
    "archives/a/b.md",
    "Archives",
    "ARCHIVES/x",
    ".muniment",
    ".muniment/ledger/000001.jsonl",
    ".Muniment",
    ".restore/x",
    ".backup",
    "a/.muniment",
    "a/.Muniment/ledger",
]
ALLOWED_PLACES = [
    "archive",
    "archives2",
    "a/archives",
    "x.muniment",
    "muniment",
    ".hidden",
    "a/.restore",
]


@pytest.mark.parametrize("place", REFUSED_PLACES)
def test_places_that_are_refused(place: str) -> None:
    with pytest.raises(InvalidSource):
        rules.judge_place(path(place))


@pytest.mark.parametrize("place", ALLOWED_PLACES)
def test_places_that_are_not(place: str) -> None:
    rules.judge_place(path(place))


@pytest.mark.parametrize(
    ("source", "claimed", "refused"),
    [
        ("out", "out", True),
        ("out/a.md", "out", True),
        ("out", "out/deep/er", True),
        ("output", "out", False),
        ("a", "out", False),
        ("out", "", True),
    ],
)
def test_what_somebody_claims_stays(source: str, claimed: str, refused: bool) -> None:
    claims = [(path(claimed), "job:nightly")]
    if not refused:
        rules.judge_place(path(source), claims)
        return
    with pytest.raises(InvalidSource) as raised:
        rules.judge_place(path(source), claims)
    assert "job:nightly" in str(raised.value.why)


@pytest.mark.parametrize(
    "name",
    ["a\x00b", "a\nb", "\x1f", "a\x7f", "a\x80b", "a\x9fb", os.fsdecode(b"a\xff"), os.fsdecode(b"\xe9")],
)
def test_names_that_no_card_could_bear(name: str) -> None:
    source = RelPath.__new__(RelPath)
    object.__setattr__(source, "parts", (name,))  # a NUL never gets this far; the rule holds without that
    with pytest.raises(InvalidSource):
        rules.judge_name(source)


@pytest.mark.parametrize("name", ["a", " ", "é.md", "归档.md", "\U0001f9f5", "a\u00a0b", "--json", "PLAN.md"])
def test_names_that_any_card_can_bear(name: str) -> None:
    rules.judge_name(path(name))


def test_a_folder_above_that_is_not_utf_8_is_refused_too() -> None:
    with pytest.raises(InvalidSource):
        rules.judge_name(RelPath((os.fsdecode(b"\xff"), "report.md")))


TRACKS = [
    ("PLAN.md", Kind.FILE, None, Track.PLAN),
    ("deep/PLAN.md", Kind.FILE, None, Track.PLAN),
    ("PLAN.md", Kind.FILE, Track.PLAN, Track.PLAN),
    ("PLAN.md", Kind.FILE, Track.FILE, None),
    ("PLAN.md", Kind.DIRECTORY, None, Track.FILE),
    ("PLAN.md", Kind.DIRECTORY, Track.FILE, Track.FILE),
    ("PLAN.md", Kind.DIRECTORY, Track.PLAN, None),
    ("plan.md", Kind.FILE, None, Track.FILE),
    ("plan.md", Kind.FILE, Track.PLAN, None),
    ("report.md", Kind.FILE, Track.FILE, Track.FILE),
    ("report.md", Kind.FILE, Track.PLAN, None),
    ("results", Kind.DIRECTORY, None, Track.FILE),
]


@pytest.mark.parametrize(("source", "kind", "asked", "verdict"), TRACKS)
def test_the_two_tracks(source: str, kind: Kind, asked: Track | None, verdict: Track | None) -> None:
    if verdict is not None:
        assert rules.judge_track(path(source), kind, asked) is verdict
        return
    with pytest.raises(InvalidInput):
        rules.judge_track(path(source), kind, asked)


def links(**targets: str) -> Table:
    """A folder `d` with a file `d/f` and links, `__` standing for `/` in their paths."""
    rows = [Row("", Kind.DIRECTORY), Row("d", Kind.DIRECTORY), Row("d/f", Kind.FILE, 0, EMPTY)]
    rows += [Row(name.replace("__", "/"), Kind.LINK, target=target) for name, target in targets.items()]
    return Table.of(rows)


INSIDE: dict[str, Table] = {
    "to a neighbour": links(a="d/f"),
    "to the folder itself": links(a="."),
    "up and down again": links(d__a="../d/f"),
    "up to the top": links(d__a=".."),
    "to nothing that is there": links(a="nosuch"),
    "through another link": links(a="b/f", b="d"),
    "with dots and slashes": links(a=".//d/./f"),
}
OUTSIDE: dict[str, Table] = {
    "absolute": links(a="/etc/passwd"),
    "absolute to the root": links(a="/"),
    "one level up": links(a=".."),
    "up through a folder": links(d__a="../../x"),
    "up, behind something inside": links(a="d/../../x"),
    "through a link that leads up": links(d__up="..", a="d/up/../x"),
    "through two links": links(a="b/../..", b="d"),
    "through a link that is absolute": links(a="b/x", b="/etc"),
    "round and round": links(a="b", b="a"),
    "to itself": links(a="a"),
    "as deep as no honest link": links(**{f"l{n}": f"l{n + 1}" for n in range(60)}, l60="d"),
}


@pytest.mark.parametrize("name", INSIDE)
def test_links_that_stay_inside(name: str) -> None:
    rules.judge_links(path("results"), INSIDE[name])


@pytest.mark.parametrize("name", OUTSIDE)
def test_links_that_lead_out_or_nowhere(name: str) -> None:
    with pytest.raises(InvalidSource):
        rules.judge_links(path("results"), OUTSIDE[name])


@given(st.lists(st.sampled_from(["..", ".", "d", "f", "l", "x", ""]), max_size=8), st.booleans())
def test_a_link_that_passes_the_rule_stays_inside_on_a_real_disk(parts: list[str], deep: bool) -> None:
    """Independent of the rule: the system itself resolves the link, in a folder of its own."""
    import tempfile
    from pathlib import Path

    target = "/".join(parts).lstrip("/") or "."
    where = "d/a" if deep else "a"
    try:
        rules.judge_links(path("results"), links(**{where.replace("/", "__"): target, "l": "d"}))
    except InvalidSource:
        return
    with tempfile.TemporaryDirectory() as place:
        top = Path(place).resolve() / "results"
        (top / "d").mkdir(parents=True)
        (top / "d" / "f").touch()
        (top / "l").symlink_to("d")
        (top / where).symlink_to(target)
        try:
            led = (top / where).resolve(strict=True)
        except (OSError, RuntimeError):
            return  # it leads to nothing
        assert led.is_relative_to(top), target


def test_the_state_of_another_workspace_is_not_taken_along() -> None:
    for inner in (".muniment", "a/.muniment", "a/.MUNIMENT/ledger"):
        with pytest.raises(InvalidSource):
            rules.judge_inside(
                path("results"), Table.of([Row("", Kind.DIRECTORY), Row(inner, Kind.DIRECTORY)])
            )
    rules.judge_inside(path("results"), links(a="d"))


KWEAVER = [
    ("My Report #%?.MD", "my_report.md"),
    ("REPORT.md", "report.md"),
    ("a  b\t\nc.txt", "a_b_c.txt"),
    ('<>:"/\\|?*#%.md', "unnamed.md"),
    ("___.md", "unnamed.md"),
    ("a__b___c.md", "a_b_c.md"),
    ("_a_.md", "a.md"),
    ("归档 报告.md", "归档_报告.md"),
    ("no extension", "no_extension"),
    ("###", "unnamed"),
    ("archive.tar.gz", "archive.tar.gz"),
    ("a.M D", "a.m_d"),
    ("a.#", "a"),
]


@pytest.mark.parametrize(("name", "kept"), KWEAVER)
def test_the_simplified_names(name: str, kept: str) -> None:
    assert rules.kept_name(name, "kweaver") == kept
    assert rules.kept_name(name, "kept") == name


@given(st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=60))
def test_a_simplified_name_is_a_name_and_stays_what_it_is(name: str) -> None:
    kept = rules.kept_name(name, "kweaver")
    assert kept and not set(kept) & set('<>:"/\\|?*#%') and not any(sign.isspace() for sign in kept)
    assert "__" not in kept
    assert rules.kept_name(kept, "kweaver") == kept


@pytest.mark.parametrize("archive_id", ["", "a/b", "..", "a b", "a.b", "a\n", "é", "x" * 201])
def test_ids_that_no_address_may_have(archive_id: str) -> None:
    with pytest.raises((InvalidInput, MunimentError, ValueError)):
        rules.judge_address(Address(archive_id, "2026-11-30-14-28-05", "a.md"))


def test_an_address_is_its_parts() -> None:
    filed = Address("abc_1-2", "2026-11-30-14-28-05", "a b.md")
    plan = Address("abc_1-2", None, "PLAN.md")
    rules.judge_address(filed)
    rules.judge_address(plan)
    assert (filed.path.posix, filed.subpath) == (
        "archives/abc_1-2/2026-11-30-14-28-05/a b.md",
        "2026-11-30-14-28-05/a b.md",
    )
    assert (plan.path.posix, plan.subpath) == ("archives/abc_1-2/PLAN.md", "PLAN.md")
    with pytest.raises((InvalidSource, ValueError)):
        rules.judge_address(Address("a", None, "é" * 128))


def test_timestamps_go_on_by_seconds_and_end() -> None:
    start = datetime(2026, 12, 31, 23, 59, 58)
    tried = list(rules.timestamps(start))
    assert tried[:3] == ["2026-12-31-23-59-58", "2026-12-31-23-59-59", "2027-01-01-00-00-00"]
    assert len(tried) == len(set(tried)) == 4096
    assert tried[-1] == f"{start + timedelta(seconds=4095):%Y-%m-%d-%H-%M-%S}"
    assert tried == sorted(tried)
    assert list(itertools.islice(rules.timestamps(start), 2)) == tried[:2]
