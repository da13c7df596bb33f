"""House: what is installed is pinned, hashed, reasoned, and the same everywhere (design, house rules)."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from tests.house.tree import PROJECT

FOLDER = PROJECT / "requirements"
LOCKS = sorted(FOLDER.rglob("*.txt"))
PIN = re.compile(r"([A-Za-z0-9._-]+)(\[[^\]]*\])?==(\S+)( ; [^\\]+)?")


def spelled(name: str) -> str:
    """A package's name in its one spelling.

    >>> spelled("Types_PyYAML[extra]>=6")
    'types-pyyaml'
    """
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~ ;]", name.strip())[0]).lower()


def entries(lock: Path) -> list[str]:
    """A lock's entries, each with its continuation lines joined and its comments dropped."""
    lines = [line for line in lock.read_text("utf-8").splitlines() if not line.lstrip().startswith("#")]
    return [entry.strip() for entry in "\n".join(lines).replace("\\\n", " ").splitlines() if entry.strip()]


def pins(lock: Path) -> dict[str, str]:
    """Name and version of each entry."""
    return {
        spelled(match.group(1)): match.group(3)
        for entry in entries(lock)
        if (match := PIN.match(entry)) is not None
    }


def wanted(file: Path) -> set[str]:
    """The names that an `.in` file asks for, also through `-r`."""
    found = set()
    for line in file.read_text("utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("-r "):
            found |= wanted(file.parent / text[3:].strip())
        elif text:
            found.add(spelled(text))
    return found


def test_there_are_the_locks_of_the_two_commands() -> None:
    assert {"run.txt", "build.txt", "dev.txt"} <= {lock.name for lock in LOCKS}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_entry_is_one_version_with_a_hash(lock: Path) -> None:
    loose = [
        entry
        for entry in entries(lock)
        if not PIN.match(entry) or not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)
    ]
    assert loose == []
    assert len(pins(lock)) == len(entries(lock)) > 0


@pytest.mark.parametrize("file", sorted(FOLDER.rglob("*.*")), ids=lambda file: file.name)
def test_no_address_and_no_option_that_takes_one(file: Path) -> None:
    text = file.read_text("utf-8")
    assert "://" not in text and " @ " not in text
    assert re.findall(r"^\s*(-i|--index-url|--extra-index-url|-f|--find-links)\b", text, re.MULTILINE) == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_holds_all_that_its_source_asks_for(lock: Path) -> None:
    assert wanted(lock.with_suffix(".in")) - set(pins(lock)) == set()


def test_the_tests_run_against_the_versions_that_users_get() -> None:
    dev = pins(FOLDER / "dev.txt")
    for name in ("run.txt", "build.txt"):
        other = {
            package: version
            for package, version in pins(FOLDER / name).items()
            if package in dev and dev[package] != version
        }
        assert other == {}


def test_the_package_asks_for_what_run_in_names() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    assert {spelled(need) for need in project["project"]["dependencies"]} == wanted(FOLDER / "run.in")
    assert {spelled(need) for need in project["build-system"]["requires"]} <= wanted(FOLDER / "build.in")


def test_every_dependency_has_its_reason() -> None:
    page = (PROJECT / "docs" / "dependencies.md").read_text("utf-8")
    asked = set().union(*(wanted(file) for file in FOLDER.glob("*.in")))
    reasoned = {
        spelled(name)
        for row in re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", row)
    }
    assert asked - reasoned == set()
