"""A folder that is filled under another name: it has its own when it is whole, and only where nothing is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from muniment.disk.copy import new_folder
from muniment.disk.errors import AlreadyThere
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.path import RelPath

REL, INNER = RelPath.parse("made"), RelPath.parse("inner")


def test_it_has_its_name_only_when_it_is_whole(root: Root, place: Path) -> None:
    with new_folder(root, REL, 0o700) as inside:
        write_verified(inside, INNER, b"x")
        assert "made" not in os.listdir(place)
    assert os.listdir(place) == ["made"] and (place / "made/inner").read_bytes() == b"x"
    assert (place / "made").stat().st_mode & 0o777 == 0o700


def test_what_breaks_off_leaves_nothing(root: Root, place: Path) -> None:
    with pytest.raises(ValueError, match="broke off"), new_folder(root, REL) as inside:
        write_verified(inside, INNER, b"x")
        raise ValueError("it broke off")
    assert os.listdir(place) == []


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_name_that_is_taken_is_left_alone(root: Root, place: Path, when: str) -> None:
    if when == "before":
        (place / "made").mkdir()
    with pytest.raises(AlreadyThere), new_folder(root, REL):
        assert when == "meanwhile", "it was begun though the name was taken"
        (place / "made").mkdir()
    assert os.listdir(place) == ["made"] and os.listdir(place / "made") == []
