"""The published JSON Schemas are those of the code, and both judge the same table alike."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.handoff.world import build, judge

from muniment.canonical import NotJson, canonical
from muniment.handoff.model import Packet
from muniment.handoff.receipts import Dispatch
from muniment.handoff.schemas import schema, schema_text
from muniment.handoff.shape import Misfit
from muniment.handoff.shapes import PUBLISHED

FOLDER = Path(__file__).parents[2] / "docs" / "schemas" / "handoff"
WORLD = build(
    verification={
        "employee_memory": [
            {"check": "heading", "text": "Results"},
            {"check": "json_pointer", "pointer": "/a", "equals": None},
            {"check": "contains", "text": "x"},
            {"check": "sha256", "sha256": "0" * 64},
            {"check": "command", "name": "spell"},
        ]
    },
    evidence=[
        "a text",
        {"claim": "committed", "repository": "app", "commit": "a" * 40, "paths": ["x"]},
        {"claim": "pushed", "repository": "app", "commit": "a" * 64, "remote": "origin"},
        {"claim": "verified", "path": "x", "size": 1, "sha256": "0" * 64},
    ],
)
TASK = build(mode="independent_task", task_adapter=True)
ONE = build(owed=["employee_memory"])
NOT_OWED = ONE["packet"]["persistence_contract"]["targets"]["team_journal"]


def _contract(world: dict[str, Any]) -> dict[str, Any]:
    contract: dict[str, Any] = copy.deepcopy(world["packet"]["persistence_contract"])
    for target, entry in contract["targets"].items():
        if entry["state"] == "required":
            del entry["nonce_sha256"]
            entry["evidence_nonce"] = world["nonces"][target]
    return contract


def _draft(world: dict[str, Any]) -> dict[str, Any]:
    packet: dict[str, Any] = copy.deepcopy(world["packet"])
    packet.pop("handoff_id")
    contract = _contract(world)
    packet["persistence_contract"] = {"targets": contract["targets"]}
    return packet


HONEST: list[tuple[str, Any]] = [
    ("packet", WORLD["packet"]),
    ("packet", build(version="1.2", contract=False)["packet"]),
    ("packet-draft", _draft(WORLD)),
    ("packet-draft", _draft(ONE)),
    ("contract", _contract(WORLD)),
    ("contract", _contract(ONE)),
    ("contract-view", WORLD["packet"]["persistence_contract"]),
    ("contract-view", {**ONE["packet"]["persistence_contract"], "targets": dict.fromkeys(
        ("employee_memory", "employee_worklog", "team_journal", "central_board"), NOT_OWED)}),
    ("dispatch", WORLD["dispatch"]),
    ("dispatch", TASK["dispatch"]),
    ("dispatch", build(degraded="none here")["dispatch"]),
    ("undelivered", build(undelivered="delivery_unknown")["undelivered"]),
    ("return", WORLD["return"]),
    ("return", ONE["return"]),
    ("return", build(contract=False, version="1.2")["return"]),
    *(("closure", closure) for world in (WORLD, ONE) for closure in world["return"]["closures"]),
    ("proposal", WORLD["return"]["closures"][3]["proposal"]),
    ("proposal", build(board="markdown")["return"]["closures"][3]["proposal"]),
    ("proposal", {"form": "json", "base": "0" * 64, "patch": [
        {"op": "replace", "path": "", "value": None}, {"op": "remove", "path": "/a~1b"}]}),
    ("trace", judge(build()).to_json()),
    ("trace", judge(build(owed=["central_board"], artifacts={"a": "b"})).to_json()),
    ("trace", judge(build(undelivered="unreachable")).to_json()),
]  # fmt: skip
WRONG: tuple[Any, ...] = (
    None,
    True,
    0,
    1.5,
    2**53,
    " ",
    "x" * 70_000,
    [],
    {},
    "dp_01KDVDNA0000000000000000Z3",
    "0" * 64 + "\n",
    "mei\n",
)
DELETED = object()


def spots(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value."""
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from spots(item, (*at, key))


def changed(value: Any, at: tuple[Any, ...], how: Callable[[Any], Any]) -> Any:
    """The value with one place changed; what lies beside it is shared."""
    if not at:
        return how(value)
    found = dict(value) if isinstance(value, dict) else list(value)
    result = changed(found[at[0]], at[1:], how)
    if result is DELETED:
        del found[at[0]]
    else:
        found[at[0]] = result
    return found


def _instead(wrong: Any, _: Any) -> Any:
    return wrong


def table(honest: Any) -> Iterator[Any]:
    """The honest instance, and it with each place left out, enriched, or replaced."""
    yield honest
    for at in spots(honest):
        if at:
            yield changed(honest, at, lambda _: DELETED)
        yield changed(honest, at, lambda item: {**item, "trust_me": True} if isinstance(item, dict) else item)
        for wrong in WRONG:
            yield changed(honest, at, partial(_instead, wrong))


def by_code(name: str, value: Any) -> bool:
    try:
        PUBLISHED[name][1].check(value)
    except Misfit as misfit:
        assert str(misfit.why)
        return False
    return True


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_the_published_file_is_the_one_of_the_code(name: str) -> None:
    assert (FOLDER / f"{name}.schema.json").read_text() == schema_text(name)


def test_nothing_else_is_published() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.schema.json" for name in PUBLISHED}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_the_schema_is_one(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))
    assert any(kind == name for kind, _ in HONEST)


@pytest.mark.parametrize(
    "number", range(len(HONEST)), ids=[f"{n}-{HONEST[n][0]}" for n in range(len(HONEST))]
)
def test_code_and_schema_judge_alike(number: int) -> None:
    name, honest = HONEST[number]
    assert by_code(name, honest)
    validator = jsonschema.Draft202012Validator(schema(name))
    refused = 0
    for instance in table(honest):
        accepted = by_code(name, instance)
        refused += not accepted
        # That a number can be kept exactly is beyond JSON Schema.
        expected = validator.is_valid(instance) and has_canonical_form(instance)
        assert expected is accepted, repr(instance)[:2_000]
    assert refused > 20


def has_canonical_form(value: Any) -> bool:
    try:
        canonical(value)
    except NotJson:
        return False
    return True


def test_honest_documents_are_written_as_they_are_read() -> None:
    for world in (TASK, ONE):
        assert canonical(Packet.read(canonical(world["packet"])).to_json()) == canonical(world["packet"])
        assert canonical(Dispatch.read(canonical(world["dispatch"])).to_json()) == canonical(
            world["dispatch"]
        )
