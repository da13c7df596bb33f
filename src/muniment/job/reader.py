"""Room `job`: reads a registry, strictly.  JSON-compatible YAML is read as what it is, JSON."""

from __future__ import annotations

from typing import Any

from muniment.canonical import NotJson, read_json
from muniment.job.errors import RegistryRefused
from muniment.job.finding import Finding, Rule, shown
from muniment.job.model import Registry
from muniment.job.shape import reader_of
from muniment.job.strict import locate
from muniment.message import say

LARGEST_FILE = 16 * 1024 * 1024
"""Bytes; a registry of ten thousand outputs needs two million."""

_registry = reader_of(Registry)


def read(data: bytes, *, where: str = "") -> Registry:
    """Read the bytes of a registry; `RegistryRefused` names every field that is wrong.

    It speaks of the shape alone; `muniment.job.rules.findings` holds the fields against each other.

    >>> read(b'{"schema_version": NaN}')
    Traceback (most recent call last):
    muniment.job.errors.RegistryRefused: ...
    """
    return from_json(parse(data, where=where), where=where)


def from_json(value: object, *, where: str = "") -> Registry:
    """Build a registry from a JSON value; `RegistryRefused` names every field that is wrong."""
    faults: list[Finding] = []
    registry = _registry(value, faults)
    if registry is None:
        raise RegistryRefused.of(faults, where=where)
    return registry


def parse(data: bytes, *, where: str = "") -> Any:
    """Strict JSON from bytes; `RegistryRefused` names the field where it stops being that."""
    if len(data) > LARGEST_FILE:
        wanted = say("at most {count} bytes", count=LARGEST_FILE)
        raise RegistryRefused.of(
            [Finding((), Rule.TOO_LARGE, wanted, say("{count} bytes", count=len(data)))], where=where
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        found = Finding((), Rule.SYNTAX, say("UTF-8"), say("something else at byte {at}", at=error.start))
        raise RegistryRefused.of([found], where=where) from error
    try:
        return read_json(text)
    except NotJson as error:
        finding = locate(text) or Finding((), Rule.SYNTAX, say("strict JSON"), shown(str(error)))
        raise RegistryRefused.of([finding], where=where) from error
