"""Faces: what a face may ask of the wiring.

A face knows this protocol and no class behind it; `muniment.app` builds the real house.  It
grows by one method a room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from muniment.message import Message
from muniment.settings import Settings

Note = Callable[[Message], None]
"""Tells the person something beside the result."""


class House(Protocol):
    """The rooms, built for one workspace and one environment.

    Every method builds its room when first asked, so that a command pays for what it uses.
    """

    def settings(self) -> Settings:
        """All declared settings over the layers in force; a bad file is a `BadSetting`."""


class BuildHouse(Protocol):
    """Makes the house of one call.

    `workspace` is what the person named, or None; `note` takes what has to be said on the way,
    such as that the current directory was taken for want of a better one.
    """

    def __call__(self, *, workspace: str | None, environment: Mapping[str, str], note: Note) -> House: ...
