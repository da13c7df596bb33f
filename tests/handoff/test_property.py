"""Changing any byte of an anchor, nonce, id, digest or path makes the gate refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.handoff.world import build, digest, edit, judge, plain

from muniment.errors import MunimentError

H = "a" * 40
WORLDS = [
    build(
        artifacts={"out/report.md": "Forty files pass."},
        evidence=[
            {"claim": "committed", "repository": "app", "commit": H, "paths": ["main.py"]},
            {"claim": "verified", "path": "out/report.md", "size": 17, "sha256": digest("Forty files pass.")},
        ],
        repositories=[
            {"path": "app", "commits": [H], "blobs": {f"{H}:main.py": "x"}, "working": {"main.py": "x"}}
        ],
    ),
    build(board="markdown", owed=["employee_worklog", "central_board"]),
    build(mode="independent_task", task_adapter=True, owed=["team_journal"]),
]
PHASES = [phase for phase in Phase if phase is not Phase.explain]
GUARDED = re.compile(
    r"evidence_anchor|nonces\.|nonce_sha256|(?:handoff|contract|dispatch|event|root|recipient|boot)_id"
    r"|sha256|path|repository|commit|device|inode|mount_id|mount_root|prev"
)
ANCHOR = re.compile(r"ev1-[0-9A-Z]{26}")
FREE = (
    # What the parent reads of the machine is not evidence that somebody gave: another boot is no lie.
    ("root", "resolution_evidence", "boot_id"),
    # The recorded one is held by the ledger's digest of the packet (the last test), like its prose.
    ("authoritative_root", "resolution_evidence", "boot_id"),
    # A board is rewritten as a whole, so only the fresh anchor in it tells what is new.
    ("baselines", "central_board", "sha256"),
    # How a root was looked up says nothing of which root it is.
    ("found_by",),
)


def texts(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    if isinstance(value, str):
        yield at, value
    for key, item in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from texts(item, (*at, key))


def guarded(world: dict[str, Any]) -> list[tuple[tuple[Any, ...], int]]:
    """Every byte that must not change: its place, and its position in the text there."""
    found: list[tuple[tuple[Any, ...], int]] = []
    for at, text in texts(world):
        name = ".".join(str(key) for key in at[-2:])
        if any(at[-len(free) :] == free for free in FREE):
            continue
        if at[0] not in ("files", "repositories") and GUARDED.search(name) and at[-1] != "base":
            found += [(at, position) for position in range(len(text))]
        else:
            found += [(at, n) for match in ANCHOR.finditer(text) for n in range(match.start(), match.end())]
    return found


SPOTS = [(number, at, position) for number, world in enumerate(WORLDS) for at, position in guarded(world)]


def test_the_worlds_are_honest_and_guard_enough() -> None:
    assert all(judge(world).complete for world in WORLDS)
    assert len(SPOTS) > 2_500
    names = {str(at[-1]) for _, at, _ in SPOTS}
    assert {
        "evidence_anchor",
        "employee_memory",
        "handoff_id",
        "sha256",
        "path",
        "real_path",
        "root_id",
    } <= names


def refused(world: dict[str, Any]) -> bool:
    try:
        return not judge(world).complete
    except MunimentError:
        return True


def swapped(world: dict[str, Any], at: tuple[Any, ...], position: int, sign: str) -> dict[str, Any]:
    holder: Any = world
    for key in at:
        holder = holder[key]
    return edit(world, [{"set": list(at), "to": holder[:position] + sign + holder[position + 1 :]}])


@settings(max_examples=600, deadline=None, phases=PHASES)
@given(st.sampled_from(SPOTS), st.sampled_from("0123456789abcdefABCDEFXYZ/._-\n \u00e9"))
def test_any_byte_of_what_proves(spot: tuple[int, tuple[Any, ...], int], sign: str) -> None:
    number, at, position = spot
    world = WORLDS[number]
    changed = swapped(world, at, position, sign)
    if changed != world:
        assert refused(changed), (at, position, sign)


@pytest.mark.parametrize("number", range(len(WORLDS)))
def test_every_place_at_both_ends(number: int) -> None:
    world = WORLDS[number]
    places: dict[tuple[Any, ...], list[int]] = {}
    for at, position in guarded(world):
        places.setdefault(at, []).append(position)
    for at, positions in places.items():
        for position in {positions[0], positions[len(positions) // 2], positions[-1]}:
            for sign in ("0", "Z"):
                changed = swapped(world, at, position, sign)
                assert changed == world or refused(changed), (at, position)


@settings(max_examples=300, deadline=None, phases=PHASES)
@given(st.data())
def test_any_byte_of_a_recorded_document(data: st.DataObject) -> None:
    world = WORLDS[data.draw(st.integers(0, 2))]
    world = {
        **world,
        "ledger": {name: digest(plain(world[name])) for name in ("packet", "dispatch", "return")},
    }
    at, text = data.draw(
        st.sampled_from([(at, text) for at, text in texts(world) if at[0] in world["ledger"]])
    )
    position = data.draw(st.integers(0, len(text) - 1))
    changed = swapped(world, at, position, "\u00b7")
    assert changed == world or refused(changed), (at, position)
