"""Key fields: whether bytes are what their name promises and hold what is required (spec 1, read-back)."""

from __future__ import annotations

import pytest

from muniment.archive.content import (
    look_into,
    missing_demand,
    read_requirement,
    required_of,
    wants_reading,
)

SOUND: list[tuple[str, bytes]] = [
    ("a.json", b"{}"),
    ("a.json", b"[1, 2.5, null, true]"),
    ("a.JSON", b'"text"'),
    ("a.json", '{"k": "é"}'.encode()),
    ("a.toml", b"a = 1\n"),
    ("a.toml", b""),
    ("a.yaml", b"a: 1\n"),
    ("a.yml", b"- 1\n- no\n"),
    ("a.yaml", b"a: &x 1\nb: *x\n"),
    ("a.yaml", b"---\na: 1\n---\nb: 2\n"),
    ("a.yaml", b"[" * 200 + b"]" * 200),
    ("a.yaml", b"- [a]\n" * 600),
    ("a.md", b"x"),
    ("a.markdown", b"\n\n x \n"),
    ("a.md", b"\xff"),
    ("a.txt", b""),
    ("a.png", b"\x89PNG"),
    ("json", b"{"),
    ("a.json.txt", b"{"),
]
BROKEN: list[tuple[str, bytes]] = [
    ("a.json", b""),
    ("a.json", b"{"),
    ("a.json", b"{'a': 1}"),
    ("a.json", b'{"a": 1, "a": 2}'),
    ("a.json", b"NaN"),
    ("a.json", b"\xff"),
    ("a.json", b'{"a": "\\ud800"}'),
    ("a.json", b"[" * 100_000),
    ("a.JSON", b"{} {}"),
    ("a.toml", b"a = \n"),
    ("a.toml", b"a = 1\na = 2\n"),
    ("a.toml", b"\xff"),
    ("a.toml", b"a = " + b"[" * 50_000),
    ("a.yaml", b"a: [1"),
    ("a.yaml", b"a: b: c"),
    ("a.yml", b"\xff\xfe\xfd"),
    ("a.yaml", b"a: \x00"),
    ("a.yaml", b"\t- x"),
    ("a.yaml", b"[" * 20_000),
    ("a.yaml", b"{a: " * 20_000),
    ("a.yaml", b"- " * 20_000),
    ("a.yaml", b"[" * 201 + b"]" * 201),
    ("a.md", b""),
    ("a.md", b" \n\t\r\n"),
    ("A.MD", "\u00a0\u3000".encode()),
]


def name_of(case: tuple[str, bytes]) -> str:
    return f"{case[0]} {case[1][:16]!r}"


@pytest.mark.parametrize("case", SOUND, ids=name_of)
def test_what_is_as_promised(case: tuple[str, bytes]) -> None:
    assert look_into(*case) is None


@pytest.mark.parametrize("case", BROKEN, ids=name_of)
def test_what_is_not(case: tuple[str, bytes]) -> None:
    finding = look_into(*case)
    assert finding is not None
    assert str(finding).startswith(("it is no ", "it is nested ", "there is nothing but white space in it"))


def test_aliases_are_not_expanded() -> None:
    """A thousand million laughs cost no more than they weigh."""
    laughs = b"a0: &a0 [x]\n" + b"".join(
        b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 12)
    )
    assert look_into("a.yaml", laughs) is None


HEADINGS = [
    (b"# Summary\n", "# Summary", True),
    (b"#  Summary  \n", "# Summary", True),
    (b"text\n\n## Deep\n", "## Deep", True),
    (b"## Summary\n", "# Summary", False),
    (b"# Summary of it\n", "# Summary", False),
    (b"x # Summary\n", "# Summary", False),
    (b"# summary\n", "# Summary", False),
    (b"```\n# Summary\n```\n", "# Summary", False),
    (b"~~~~\n```\n# Summary\n~~~~\n", "# Summary", False),
    (b"```\ncode\n```\n# Summary\n", "# Summary", True),
    (b"````\n```\n# Summary\n````\n# Other\n", "# Other", True),
    (b"```\nnever closed\n# Summary\n", "# Summary", False),
    ("# 摘要\n".encode(), "# 摘要", True),
    (b"", "# Summary", False),
    (b"\xff\n# Summary\n", "# Summary", True),
]


@pytest.mark.parametrize(("data", "demand", "met"), HEADINGS)
def test_headings_that_are_required(data: bytes, demand: str, met: bool) -> None:
    assert (missing_demand(data, demand) is None) is met


POINTERS = [
    (b'{"status": "ok"}', "/status", True),
    (b'{"status": 0}', "/status", True),
    (b'{"status": false}', "/status", True),
    (b'{"status": ""}', "/status", True),
    (b'{"status": null}', "/status", False),
    (b'{"Status": 1}', "/status", False),
    (b'{"a": {"b": [0, {"c": 1}]}}', "/a/b/1/c", True),
    (b'{"a": [1]}', "/a/1", False),
    (b'{"a": [1]}', "/a/-1", False),
    (b'{"a": [1]}', "/a/00", False),
    (b'{"a": [1]}', "/a/-", False),
    (b'{"a/b": 1}', "/a~1b", True),
    (b'{"a~b": 1}', "/a~0b", True),
    (b'{"~1": 1}', "/~01", True),
    (b'{"": 1}', "/", True),
    (b'{"a": "text"}', "/a/0", False),
    (b"{", "/status", False),
    (b"", "/status", False),
]


@pytest.mark.parametrize(("data", "demand", "met"), POINTERS)
def test_pointers_that_are_required(data: bytes, demand: str, met: bool) -> None:
    assert (missing_demand(data, demand) is None) is met


def test_which_files_are_read() -> None:
    require = {"report*.txt": ("# Summary",), "*.txt": ("# All",)}
    assert required_of("report1.txt", require) == ("# Summary", "# All")
    assert required_of("Report1.txt", require) == ("# All",)
    assert wants_reading("x.txt", require) and not wants_reading("x.txt", {})
    assert all(
        wants_reading(name, {}) for name in ("a.json", "a.TOML", "a.yml", "a.yaml", "a.md", "a.markdown")
    )


def test_a_requirement_of_the_command_line() -> None:
    assert read_requirement("*.json=/a=b") == ("*.json", "/a=b")
    assert read_requirement("r.md=# A = B") == ("r.md", "# A = B")
    for wrong in ("", "r.md", "=# A", "r.md=", "r.md=Summary"):
        with pytest.raises(ValueError):
            read_requirement(wrong)
