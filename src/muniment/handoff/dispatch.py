"""Handoff room: the port behind which the world outside dispatches work (spec 3, adapters).

An adapter reports facts.  It can not relax, add or rename anything; whether a dispatch is allowed
and what it was is decided by the room.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from muniment.disk.root import Root
from muniment.handoff.model import Mode, Packet
from muniment.message import Message
from muniment.record.event import Context

A2A = "a2a"
"""The name of that adapter; it stands here since its own module loads what not everybody has."""


@dataclass(frozen=True, slots=True)
class Order:
    """What an adapter is told: whose work it is, in which mode, and the name of this one launch.

    `folder` is the adapter's own below the handoff's, of that name; `context` is what the worker
    runs within.
    """

    handoff_id: str
    recipient: str
    packet: Packet
    mode: Mode
    key: str
    folder: Root
    workspace: str
    context: Context


class LaunchRefused(Exception):
    """The launch certainly did not happen; `reason` is one of an undelivered record's."""

    def __init__(self, reason: str, why: Message) -> None:
        self.reason = reason
        self.why = why
        super().__init__(reason, why)


class Launched(Protocol):
    """A launch that the provider has acknowledged; closed without `release`, no work begins."""

    @property
    def provider(self) -> Mapping[str, Any]:
        """The provider's own words, with its ids verbatim."""

    @property
    def task_id(self) -> str | None:
        """The id under which the work can be resumed, where the adapter makes tasks."""

    def release(self, view: Mapping[str, Any]) -> None:
        """The receipt stands: hand the recipient its view, with finished anchors."""

    def close(self) -> None:
        """Let go of what the launch holds open here."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A launch with nothing left to do here once it is acknowledged."""

    provider: Mapping[str, Any]
    task_id: str | None = None

    def release(self, view: Mapping[str, Any]) -> None:
        """Nothing: the recipient fetches its view with `take`."""

    def close(self) -> None:
        """Nothing is held open."""


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What came of looking for a launch of which nobody knew.

    `found` is what the provider knows of it; without it, `absent` says that certainly nothing
    runs, and when that is false nobody knows still.
    """

    found: Launched | None = None
    absent: bool = False


@dataclass(frozen=True, slots=True)
class WorkerState:
    """Whether the worker still runs, and its exit code where one is known."""

    alive: bool = False
    exit_code: int | None = None


class Dispatcher(Protocol):
    """One way of handing work out."""

    @property
    def name(self) -> str:
        """The word that stands in intents: `process`, `host:claude`, `a2a`."""

    @property
    def creates_tasks(self) -> bool:
        """Whether the work gets a task of its own, which can be resumed."""

    @property
    def address(self) -> str:
        """Where the work goes, if a look-up needs to know it; else empty."""

    def launch(self, order: Order) -> Launched:
        """Dispatch; `LaunchRefused` when it certainly did not happen.

        Any other failure leaves it open whether it did.
        """

    def look_up(self, order: Order) -> LookedUp:
        """Look for a launch of this order; nobody is launching it now."""
