"""What is left out, and by whose word (spec 4, rules file): tables of patterns and paths."""

from __future__ import annotations

import pytest

from muniment.backup.excludes import Excludes, Reason

LOOP, USER, DEFAULT = Reason.SELF_LOOP, Reason.USER_RULE, Reason.DEFAULT_RULE

ANCHORED = [
    # pattern, section, path, what becomes of it
    ("sessions", "data", "sessions", USER),
    ("data/sessions", "data", "sessions", USER),
    ("/sessions/", "data", "sessions", USER),
    ("sessions", "workspace", "sessions", None),
    ("sessions", "data", "a/sessions", None),
    ("memory", "workspace", "memory", None),
    ("data/memory", "workspace", "memory", None),
    ("workspace/a/b", "workspace", "a/b", USER),
    ("workspace/a/b", "workspace", "b", None),
    ("workspace/a/b", "workspace", "x/a/b", None),
    ("workspace/a/b", "data", "a/b", None),
    ("workspace/a/b/c/d", "workspace", "a/b/c/d", USER),
    ("logs", "workspace", "logs", None),
    ("a.b", "data", "aXb", None),
    ("**/x", "workspace", "deep/down/x", USER),
    ("**/x", "data", "x", USER),
    ("*.log", "workspace", "a/b.log", USER),
    ("*.log", "data", "b.log", USER),
    ("*.log", "data", "b.logs", None),
    ("workspace/*.log", "workspace", "b.log", USER),
    ("workspace/*.log", "workspace", "a/b.log", None),
    ("file-[ab]", "data", "file-a", USER),
    ("file-[ab]", "data", "file-c", None),
    ("te?t", "data", "test", USER),
    ("build*/", "workspace", "build-1", USER),
    ("workspace/输出", "workspace", "输出", USER),
]


@pytest.mark.parametrize(("pattern", "section", "path", "why"), ANCHORED)
def test_a_pattern_is_anchored_unless_it_has_a_glob_sign(
    pattern: str, section: str, path: str, why: Reason | None
) -> None:
    assert Excludes(user=[pattern]).reason(section, path) == why


def test_defaults_are_anchored_too() -> None:
    of = Excludes(defaults={"data": frozenset({"memory", "logs"}), "workspace": frozenset({".restore.log"})})
    assert of.reason("data", "memory") is DEFAULT
    assert of.reason("workspace", "memory") is None
    assert of.reason("workspace", "logs") is None
    assert of.reason("data", "a/logs") is None
    assert of.reason("workspace", ".restore.log") is DEFAULT


def test_the_order_of_reasons() -> None:
    of = Excludes(
        user=[".backup", "logs", "*.pyc"],
        defaults={"data": frozenset({"logs"})},
        self_loop=frozenset({("data", "upload")}),
    )
    assert of.reason("data", ".backup") is LOOP
    assert of.reason("data", "upload") is LOOP
    assert of.reason("data", "logs") is USER
    assert of.reason("data", "a.pyc") is USER


def test_full_drops_the_default_rules_only() -> None:
    of = Excludes(user=["mine"], defaults={"data": frozenset({"logs"})}, full=True)
    assert of.reason("data", "logs") is None
    assert of.reason("data", "mine") is USER
    for scratch in (".backup", ".restore"):
        assert of.reason("data", scratch) is LOOP
        assert of.reason("workspace", scratch) is LOOP
    assert of.reason("workspace", "a/__pycache__") is DEFAULT
    assert of.reason("workspace", "a/b.pyc") is DEFAULT


def test_scratch_names_mean_the_top_only() -> None:
    assert Excludes().reason("workspace", "a/.backup") is None


def test_rules_file_and_ledger_are_always_in() -> None:
    places = frozenset({("workspace", ".muniment/ledger"), ("workspace", "config/rules.md")})
    of = Excludes(user=["workspace/.muniment", "workspace/config", "*.jsonl"], always_in=places)
    assert of.reason("workspace", ".muniment") is None
    assert of.reason("workspace", ".muniment/ledger") is None
    assert of.reason("workspace", ".muniment/ledger/000001.jsonl") is None
    assert of.reason("workspace", ".muniment/evidence") is USER
    assert of.reason("workspace", "config") is None
    assert of.reason("workspace", "config/rules.md") is None
    assert of.reason("workspace", "config/other.md") is USER
    assert of.reason("workspace", "a.jsonl") is USER


def test_with_one_section_everything_is_anchored_at_the_workspace() -> None:
    of = Excludes(user=["output", "data/x", "workspace/y"], one_section=True)
    assert of.reason("workspace", "output") is USER
    assert of.reason("workspace", "y") is USER
    assert of.reason("workspace", "a/output") is None


def test_patterns_that_matched_nothing_are_named() -> None:
    of = Excludes(user=["a", "workspace/b", "*.log"])
    of.reason("data", "a")
    of.reason("workspace", "x.log")
    assert of.unused == ["workspace/b"]
