"""Consent: once, for exactly what was shown, and by a witness that is enough (spec 0, consent)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from tests.record.ledgers import START, Ticking

from muniment.digest import sha256
from muniment.disk.root import Root
from muniment.record.consent import ACTS, RELAYED, Confirmation, Consents, WitnessKind, suffices
from muniment.record.errors import NotConfirmed, StateDamaged
from muniment.record.state import open_workspace

TERMINAL, PASSED_ON = WitnessKind.TERMINAL, WitnessKind.RELAYED


@pytest.fixture
def consents(root: Root) -> Consents:
    """The confirmations of a workspace."""
    return open_workspace(root, clock=Ticking()).consents


@pytest.fixture
def given(root: Root) -> Path:
    """Where confirmations lie that were not used yet."""
    return Path(root.path) / ".muniment" / "consent" / "given"


def refused(act: Callable[[], object]) -> str:
    """Why it was refused."""
    with pytest.raises(NotConfirmed) as caught:
        act()
    return str(caught.value.why)


@pytest.mark.parametrize("act", sorted(ACTS))
@pytest.mark.parametrize("witness", [TERMINAL, WitnessKind.ELICITATION, WitnessKind.CONSOLE])
def test_a_person_s_confirmation_holds_once(consents: Consents, act: str, witness: WitnessKind) -> None:
    shown = b"delete archives/a"
    confirmation = consents.give(act, shown, witness)
    assert confirmation == Confirmation(act, sha256(shown), witness, confirmation.at)
    assert consents.find(act, sha256(shown)) == confirmation
    assert consents.spend(act, shown) == confirmation
    assert consents.find(act, sha256(shown)) is None
    assert "nobody confirmed" in refused(lambda: consents.spend(act, shown))


def test_it_is_bound_to_every_byte_that_was_shown(consents: Consents) -> None:
    shown = b"delete archives/a"
    consents.give("delete", shown, TERMINAL)
    for other in (b"", shown[:-1], shown + b" ", shown + b"\n", shown.upper(), b"\0" + shown):
        refused(lambda other=other: consents.spend("delete", other))  # type: ignore[misc]
    consents.spend("delete", shown)


def test_it_is_bound_to_its_act(consents: Consents) -> None:
    consents.give("plan", b"shown", TERMINAL)
    for act in sorted(ACTS - {"plan"}):
        refused(lambda act=act: consents.spend(act, b"shown"))  # type: ignore[misc]
    consents.spend("plan", b"shown")


def test_only_acts_that_need_one_can_be_confirmed(consents: Consents) -> None:
    for act in ("", "remove", "../delete", "Delete"):
        with pytest.raises(ValueError):
            consents.give(act, b"shown", TERMINAL)


def test_nobody_confirmed_anything_yet(consents: Consents, given: Path) -> None:
    refused(lambda: consents.spend("delete", b"shown"))
    assert not given.parent.exists()


# What an agent passed on.


@pytest.mark.parametrize(
    ("act", "relayed", "enough"),
    [
        *((act, RELAYED.default, act in ("plan", "create")) for act in sorted(ACTS)),
        *((act, (), False) for act in sorted(ACTS)),
        *((act, ("delete",), act == "delete") for act in sorted(ACTS)),
        *((act, tuple(ACTS), True) for act in sorted(ACTS)),
    ],
)
def test_what_an_agent_passed_on_is_enough_only_where_the_setting_says(
    consents: Consents, act: str, relayed: tuple[str, ...], enough: bool
) -> None:
    consents.give(act, b"shown", PASSED_ON)
    assert suffices(act, PASSED_ON, relayed) == enough
    if enough:
        assert consents.spend(act, b"shown", relayed).witness is PASSED_ON
    else:
        assert "the person must confirm" in refused(lambda: consents.spend(act, b"shown", relayed))
        # It is not used up; the person may still confirm the same.
        consents.give(act, b"shown", TERMINAL)
        assert consents.spend(act, b"shown", relayed).witness is TERMINAL


def test_the_default_is_what_the_spec_says() -> None:
    assert RELAYED.default == ("plan", "create")
    assert RELAYED.variables == ("MUNIMENT_CONFIRM_RELAYED",)
    assert {"plan", "create", "restore", "delete", "prune", "schedule", "submit", "sweep"} == ACTS
    for act, witness in itertools.product(ACTS, set(WitnessKind) - {PASSED_ON}):
        assert suffices(act, witness, ())


def test_how_it_came_is_kept(consents: Consents) -> None:
    kept = consents.give("delete", b"shown", PASSED_ON).to_json()
    assert kept == {
        "act": "delete",
        "shown": sha256(b"shown").hex,
        "witness": "relayed",
        "at": "2026-11-30T14:28:00.014000Z",
    }


# Again, at the same time, and half-way.


def test_the_same_may_be_confirmed_again_after_it_was_used(consents: Consents) -> None:
    for _ in range(3):
        consents.give("delete", b"shown", TERMINAL)
        consents.spend("delete", b"shown")
        refused(lambda: consents.spend("delete", b"shown"))


def test_two_confirmations_of_the_same_are_one(consents: Consents) -> None:
    consents.give("delete", b"shown", TERMINAL)
    latest = consents.give("delete", b"shown", WitnessKind.CONSOLE)
    assert consents.spend("delete", b"shown") == latest
    refused(lambda: consents.spend("delete", b"shown"))


def test_one_instant_is_spent_once_even_if_the_clock_stands_still(root: Root) -> None:
    consents = open_workspace(root, clock=lambda: START).consents
    consents.give("delete", b"shown", TERMINAL)
    consents.spend("delete", b"shown")
    consents.give("delete", b"shown", TERMINAL)
    assert "used already" in refused(lambda: consents.spend("delete", b"shown"))


def test_a_clock_that_goes_back_does_not_give_a_used_one_back(root: Root) -> None:
    consents = open_workspace(root, clock=Ticking(step=-timedelta(hours=1))).consents
    for _ in range(2):
        consents.give("delete", b"shown", TERMINAL)
        consents.spend("delete", b"shown")
    refused(lambda: consents.spend("delete", b"shown"))


def test_killed_between_using_it_and_taking_it_away(consents: Consents, given: Path) -> None:
    consents.give("delete", b"shown", TERMINAL)
    (path,) = given.iterdir()
    record = path.read_bytes()
    consents.spend("delete", b"shown")
    path.write_bytes(record)  # as it was when the kill came
    assert "used already" in refused(lambda: consents.spend("delete", b"shown"))
    consents.give("delete", b"shown", TERMINAL)
    consents.spend("delete", b"shown")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"v":1', b'"v":2'),
        (b'"terminal"', b'"user"'),
        (b'"terminal"', b"1"),
        (b'"delete"', b'"plan"'),
        (b'"at":"2026', b'"at":"../../2026'),
        (b'"at":"2026', b'"at":"26'),
        (sha256(b"shown").hex.encode(), b"0" * 64),
        (b"{", b"["),
        (b"{", b""),
        (b'{"act"', b'{"act":"delete","act"'),
    ],
    ids=range(10),
)
def test_a_damaged_confirmation_confirms_nothing(
    consents: Consents, given: Path, old: bytes, new: bytes
) -> None:
    consents.give("delete", b"shown", TERMINAL)
    (path,) = given.iterdir()
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(StateDamaged) as caught:
        consents.spend("delete", b"shown")
    assert path.name in caught.value.where
    assert path.exists()
