"""Floor 0: settings: layers in their order, explained, and nothing unknown or unfit accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import ExitCode
from muniment.settings import (
    BadSetting,
    Layer,
    Setting,
    Settings,
    choice,
    environment_layer,
    flag,
    flatten,
    integer,
    text,
    words,
)

NAMES = Setting(
    "archive.names", "kept", choice("kept", "kweaver"), "How names are kept.", ("KWEAVER_NAMES", "OLD")
)
LIMIT = Setting("vault.limit", 10, integer(1, 100), "How many.")
ACTS: Setting[tuple[str, ...]] = Setting("confirm.relayed", ("plan",), words, "Which acts.")
DECLARED: list[Setting[Any]] = [NAMES, LIMIT, ACTS]
PLACES = ("flag", "environment", "workspace", "user")


@given(st.lists(st.none() | st.integers(1, 100), min_size=4, max_size=4))
def test_the_first_layer_that_has_a_value_wins(values: list[int | None]) -> None:
    layers = [
        Layer(place, {} if value is None else {"vault.limit": value})
        for place, value in zip(PLACES, values, strict=True)
    ]
    found = Settings(DECLARED, layers)
    set_ones = [(value, place) for place, value in zip(PLACES, values, strict=True) if value is not None]
    value, origin = set_ones[0] if set_ones else (10, "default")
    assert found.get(LIMIT) == value
    (explained,) = [one for one in found.explain() if one.setting is LIMIT]
    assert (explained.value, explained.origin) == (value, origin)


def test_everything_declared_is_explained_by_name() -> None:
    found = Settings(DECLARED, [Layer("env", {"confirm.relayed": "plan, delete"})]).explain()
    assert [(one.setting.name, one.value, one.origin) for one in found] == [
        ("archive.names", "kept", "default"),
        ("confirm.relayed", ("plan", "delete"), "env"),
        ("vault.limit", 10, "default"),
    ]


@pytest.mark.parametrize(
    "name", ["archive", "archive.name", "Archive.names", "archive.names.x", "", "vault.limits"]
)
def test_a_name_that_nobody_declared_is_an_error(name: str) -> None:
    with pytest.raises(BadSetting) as caught:
        Settings(DECLARED, [Layer("user", {}), Layer("a/config.toml", {name: 1})])
    assert caught.value.where == "a/config.toml"
    assert caught.value.facts == {"name": name}
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_value_that_can_not_be_is_an_error_where_it_stands() -> None:
    found = Settings(DECLARED, [Layer("strong", {}), Layer("weak", {"vault.limit": 101})])
    with pytest.raises(BadSetting) as caught:
        found.get(LIMIT)
    assert caught.value.where == "weak"
    assert str(caught.value.why) == "a whole number from 1 to 100 was expected, found 101"
    assert found.get(NAMES) == "kept"
    with pytest.raises(BadSetting):
        found.explain()


def test_a_stronger_value_hides_one_that_can_not_be() -> None:
    assert (
        Settings(DECLARED, [Layer("strong", {"vault.limit": 5}), Layer("weak", {"vault.limit": 101})]).get(
            LIMIT
        )
        == 5
    )


READ: list[tuple[Callable[[object], object], object, object]] = [
    (text, "a", "a"),
    (text, "", ""),
    (choice("a", "b"), "b", "b"),
    (flag, True, True),
    (flag, False, False),
    (flag, "1", True),
    (flag, "0", False),
    (flag, "TRUE", True),
    (flag, "No", False),
    (words, "a, b ,,c", ("a", "b", "c")),
    (words, "", ()),
    (words, ["a", " b "], ("a", "b")),
    (words, [], ()),
    (integer(0, 9), 0, 0),
    (integer(0, 9), "9", 9),
    (integer(-5, 9), "-5", -5),
]


@pytest.mark.parametrize(("reader", "value", "expected"), READ)
def test_values_that_are_read(reader: Callable[[object], object], value: object, expected: object) -> None:
    assert reader(value) == expected
    assert type(reader(value)) is type(expected)


UNFIT: list[tuple[Callable[[object], object], object]] = [
    (text, 1),
    (text, None),
    (text, ["a"]),
    (choice("a", "b"), "c"),
    (choice("a", "b"), "A"),
    (choice("a", "b"), ["a"]),
    (choice("1"), 1),
    (flag, 1),
    (flag, 0),
    (flag, "2"),
    (flag, ""),
    (flag, None),
    (flag, []),
    (words, 1),
    (words, [1]),
    (words, ["a", None]),
    (words, {"a": 1}),
    (integer(0, 9), -1),
    (integer(0, 9), 10),
    (integer(0, 9), "10"),
    (integer(0, 9), True),
    (integer(0, 9), 1.0),
    (integer(0, 9), "1.0"),
    (integer(0, 9), ""),
    (integer(0, 9), "one"),
    (integer(0, 9), "9" * 5000),
    (integer(0, 9), None),
    (integer(0, 9), [1]),
]


@pytest.mark.parametrize(("reader", "value"), UNFIT, ids=range(len(UNFIT)))
def test_values_that_are_refused(reader: Callable[[object], object], value: object) -> None:
    with pytest.raises(ValueError):
        reader(value)
    found = Settings([Setting("a.b", None, reader, "x")], [Layer("somewhere", {"a.b": value})])
    with pytest.raises(BadSetting) as caught:
        found.explain()
    assert caught.value.where == "somewhere" and str(caught.value)


@pytest.mark.parametrize(
    ("environment", "values"),
    [
        ({}, {}),
        ({"MUNIMENT_ARCHIVE_NAMES": ""}, {}),
        ({"MUNIMENT_ARCHIVE_NAMES": "kweaver"}, {"archive.names": "kweaver"}),
        ({"KWEAVER_NAMES": "kweaver"}, {"archive.names": "kweaver"}),
        ({"OLD": "a", "KWEAVER_NAMES": "b", "MUNIMENT_ARCHIVE_NAMES": "c"}, {"archive.names": "c"}),
        ({"OLD": "a", "KWEAVER_NAMES": "b"}, {"archive.names": "b"}),
        ({"OLD": "a", "MUNIMENT_ARCHIVE_NAMES": ""}, {"archive.names": "a"}),
        ({"MUNIMENT_CONFIRM_RELAYED": "plan,delete"}, {"confirm.relayed": "plan,delete"}),
        ({"MUNIMENT_CONTEXT": "{}", "PATH": "/bin"}, {}),
    ],
)
def test_the_environment_as_a_layer(environment: dict[str, str], values: dict[str, object]) -> None:
    assert environment_layer(DECLARED, environment) == Layer("environment", values)


TABLE: Setting[dict[str, object]] = Setting("hosts.extra", {}, lambda value: dict(value), "x")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("table", "flat"),
    [
        ({}, {}),
        ({"a": 1}, {"a": 1}),
        ({"a": {"b": {"c": 1, "d": []}}, "e": {}}, {"a.b.c": 1, "a.b.d": []}),
        (
            {"hosts": {"extra": {"a": {"b": 1}}, "other": {"a": 1}}},
            {"hosts.extra": {"a": {"b": 1}}, "hosts.other.a": 1},
        ),
    ],
)
def test_nested_tables_have_dotted_names(table: dict[str, object], flat: dict[str, object]) -> None:
    assert flatten(table, [TABLE]) == flat


def test_tables_nested_without_end() -> None:
    table: dict[str, object] = {}
    for _ in range(3000):
        table = {"a": table}
    assert flatten(table, []) == {}


URL = Setting("vault.url", "", text, "Where to.", personal=True)


def test_a_personal_setting_is_never_taken_from_the_workspace() -> None:
    """Refused where it stands, unless a stronger place decides; what is weaker is not asked instead."""
    workspace = Layer("w/.muniment/config.toml", {"vault.url": "file:///theirs"}, of_workspace=True)
    user = Layer("user", {"vault.url": "file:///mine"})
    with pytest.raises(BadSetting) as caught:
        Settings([URL], [workspace, user]).get(URL)
    assert (caught.value.where, caught.value.facts) == ("w/.muniment/config.toml", {"name": "vault.url"})
    assert Settings([URL], [user, workspace]).get(URL) == "file:///mine"
    assert Settings([URL], [Layer("w", {}, of_workspace=True), user]).get(URL) == "file:///mine"


def test_another_one_is_taken_from_the_workspace() -> None:
    workspace = Layer("w/.muniment/config.toml", {"archive.names": "kweaver"}, of_workspace=True)
    assert Settings(DECLARED, [workspace]).get(NAMES) == "kweaver"
