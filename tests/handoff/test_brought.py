"""What an agent elsewhere left is laid down here under a name that is one, whatever it is called there."""

from __future__ import annotations

import json

import pytest
from tests.handoff.conftest import CONCLUSION, Place, dispatched, packet

from muniment.handoff.brought import Brought, Piece, take_in
from muniment.handoff.errors import HandoffShape

NAMES = {
    "报告" * 60 + ".md": "报",
    "../../etc/passwd": "_etc_passwd",
    "..": "artifact",
    "...": "artifact",
    "a b\x00c\n.csv": "a_b_c_.csv",
    "😀" * 200: "_",
}


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_an_artifact_of_any_name_is_laid_down(place: Place, name: str) -> None:
    handoffs = place.reopen()
    handoff = dispatched(handoffs, packet(contract=False))
    pieces = [Piece(str(number), name, f"piece {number}".encode()) for number in range(2)]
    pieces.append(Piece("r", "return", json.dumps({"conclusion": CONCLUSION}).encode()))
    assert take_in(handoffs, handoff, Brought("completed", pieces=tuple(pieces))) is not None
    one, other = sorted((place.path / "agents/mei/artifacts").glob("*/*"), key=lambda file: file.read_bytes())
    assert [file.read_bytes() for file in (one, other)] == [b"piece 0", b"piece 1"]
    assert NAMES[name] in one.name and one.name in other.name
    assert handoffs.check(handoff).trace.complete


@pytest.mark.parametrize("piece", [Piece("a", "", b"x"), Piece("a", " ", b"x"), Piece("", "a", b"x"),
                                   Piece("a", "x" * 5_000, b"x"), Piece("x" * 5_000, "a", b"x")])  # fmt: skip
def test_what_could_not_be_read_again_is_refused_before_anything_is_kept(place: Place, piece: Piece) -> None:
    handoffs = place.reopen()
    handoff = dispatched(handoffs, packet(contract=False))
    good = Piece("r", "return", json.dumps({"conclusion": CONCLUSION}).encode())
    with pytest.raises(HandoffShape):
        take_in(handoffs, handoff, Brought("completed", pieces=(good, piece)))
    assert not (place.path / "agents").exists()
    assert take_in(handoffs, handoff, Brought("completed", pieces=(good,))) is not None
    assert handoffs.check(handoff).trace.complete
