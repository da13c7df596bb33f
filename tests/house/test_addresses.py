"""House: no committed file names a package registry or a place on the machine where it was written.

What a registry's address is, this test learns from the package clients of the machine it runs on, so that it
holds anywhere and names none itself.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.house.tree import PROJECT, texts

URL = re.compile(r"\b(?:https?|file)://[^\s'\"<>\]),]+")


def said(*command: str) -> str:
    """What a program prints, or nothing where there is no such program."""
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return done.stdout


def python_registries() -> list[str]:
    """Addresses that pip would ask: its own default and whatever this machine adds."""
    own = said(
        sys.executable,
        "-c",
        "from pip._internal.models.index import PyPI; print(PyPI.url, 'https://' + PyPI.file_storage_domain)",
    )
    set_here = said(sys.executable, "-m", "pip", "config", "list")
    variables = " ".join(value for name, value in os.environ.items() if re.match(r"(PIP|UV)_", name))
    return URL.findall(" ".join([own, set_here, variables]))


def node_registries() -> list[str]:
    """Addresses that npm would ask."""
    return URL.findall(said("npm", "config", "ls", "-l"))


def system_registries() -> list[str]:
    """Addresses that apt would ask."""
    lists = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    return URL.findall("\n".join(path.read_text("utf-8", "replace") for path in lists if path.is_file()))


def hosts(addresses: list[str]) -> set[str]:
    """The machines in addresses; for files, their folder.

    >>> sorted(hosts(["https://a.example/simple", "file:///opt/x/simple"]))
    ['/opt/x/simple', 'a.example']
    """
    return {split.hostname or split.path.rstrip("/") for split in map(urlsplit, addresses)} - {
        "",
        "localhost",
        "127.0.0.1",
    }


def places() -> set[str]:
    """Folders that exist on this machine only: the project's, its top folder, the home, the Python's."""
    ordinary = {"/", "/usr", "/usr/local", "/home", "/tmp", "/opt", "/var", "/srv", "/mnt", "/media"}
    top = Path(*PROJECT.parts[:2])
    found = {PROJECT, top, Path.home(), Path(sys.prefix), Path(sys.base_prefix)}
    return {str(place) for place in found} - ordinary


def holding(words: set[str], around: str) -> list[tuple[str, str]]:
    """Committed files in which one of the words stands."""
    if not words:
        return []
    pattern = re.compile(around.format("|".join(re.escape(word) for word in sorted(words))))
    return [
        (name.as_posix(), match.group()) for name, text in texts().items() for match in pattern.finditer(text)
    ]


def test_pip_names_a_registry_so_the_next_test_looks_for_something() -> None:
    assert hosts(python_registries())


@pytest.mark.parametrize(
    "registries",
    [python_registries, node_registries, system_registries],
    ids=["python", "node", "system"],
)
def test_no_registry_is_named(registries: object) -> None:
    assert callable(registries)
    assert holding(hosts(registries()), r"(?<![\w.-])(?:{})(?![\w-])") == []


def test_no_place_of_this_machine_is_named() -> None:
    assert holding(places(), r"(?<![\w.}}~/-])(?:{})(?![\w.-])") == []
