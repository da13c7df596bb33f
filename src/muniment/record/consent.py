"""Floor 1, `record`: consent: what was confirmed, and who bore witness to it.

A confirmation binds to the digest of exactly what was shown, and holds once.  How it came is
recorded and shown as such; what an agent passes on is never called the user's word (spec 0,
consent).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.clock import Clock, instant, read_instant
from muniment.digest import Digest, sha256
from muniment.disk.errors import AlreadyThere, NotThere
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.errors import NotConfirmed, StateDamaged
from muniment.settings import Setting, words

ACTS = frozenset({"plan", "create", "restore", "delete", "prune", "schedule", "submit", "sweep"})
"""Acts that need a confirmation."""


def _acts(value: object) -> tuple[str, ...]:
    """A list of acts; a word that names none would silently allow or forbid nothing."""
    found = words(value)
    for word in found:
        if word not in ACTS:
            raise ValueError(
                say(
                    "some of {words} were expected, found {value}",
                    words=tuple(sorted(ACTS)),
                    value=repr(word),
                )
            )
    return found


RELAYED: Setting[tuple[str, ...]] = Setting(
    "confirm.relayed",
    ("plan", "create"),
    _acts,
    "Acts for which a confirmation that an agent passed on is enough.",
)


class WitnessKind(StrEnum):
    """How a confirmation came."""

    TERMINAL = "terminal"
    ELICITATION = "elicitation"
    CONSOLE = "console"
    RELAYED = "relayed"


@dataclass(frozen=True, slots=True)
class Confirmation:
    """An act, the digest of what was shown, and how it was confirmed."""

    act: str
    shown: Digest
    witness: WitnessKind
    at: str

    def to_json(self) -> dict[str, Json]:
        """The confirmation as it is kept, and as events carry it."""
        return {"act": self.act, "shown": self.shown.hex, "witness": self.witness.value, "at": self.at}


def suffices(act: str, witness: WitnessKind, relayed: tuple[str, ...]) -> bool:
    """Whether a witness of this kind is enough for an act under the setting `confirm.relayed`.

    >>> suffices("delete", WitnessKind.RELAYED, ("plan", "create"))
    False
    """
    return witness is not WitnessKind.RELAYED or act in relayed


class Consents:
    """The confirmations of one workspace: a file each, which spending renames."""

    def __init__(self, root: Root, folder: RelPath, clock: Clock) -> None:
        self._root = root
        self._folder = folder
        self._clock = clock

    def give(self, act: str, shown: bytes, witness: WitnessKind) -> Confirmation:
        """Record that exactly these bytes, when shown, were confirmed for an act."""
        if act not in ACTS:
            raise ValueError(f"no act that needs a confirmation: {act!r}")
        confirmation = Confirmation(act, sha256(shown), witness, instant(self._clock()))
        self._root.make_folders(self._folder / "given", 0o700)
        self._root.make_folders(self._folder / "spent", 0o700)
        with locked(self._root, self._folder / "lock"):
            given = self._given(act, confirmation.shown)
            write_verified(self._root, given, _bytes(confirmation), replace=True, mode=0o600)
        return confirmation

    def find(self, act: str, shown: Digest) -> Confirmation | None:
        """The confirmation not yet spent, if there is one."""
        try:
            return self._read(self._given(act, shown), act, shown)
        except NotThere:
            return None

    def spend(self, act: str, shown: bytes, relayed: tuple[str, ...] = RELAYED.default) -> Confirmation:
        """Use a confirmation up, once; `NotConfirmed` when there is none or its witness is too weak."""
        digest = sha256(shown)
        if not self._root.exists(self._folder):
            raise _nobody(act, digest)
        # Several may spend at once, and the person may confirm anew meanwhile: one after the other.
        with locked(self._root, self._folder / "lock"):
            confirmation = self.find(act, digest)
            if confirmation is None:
                raise _nobody(act, digest)
            if not suffices(act, confirmation.witness, relayed):
                raise NotConfirmed(
                    where=act,
                    why=say("an agent passed the confirmation on; for this the person must confirm"),
                )
            spent = self._folder / "spent" / f"{act}-{digest.hex}-{confirmation.at.replace(':', '')}.json"
            try:
                write_verified(self._root, spent, _bytes(confirmation), mode=0o600)
            except AlreadyThere as error:
                raise NotConfirmed(where=act, why=say("the confirmation was used already")) from error
            self._root.unlink(self._given(act, digest), missing_ok=True)
        return confirmation

    def _given(self, act: str, shown: Digest) -> RelPath:
        return self._folder / "given" / f"{act}-{shown.hex}.json"

    def _read(self, rel: RelPath, act: str, shown: Digest) -> Confirmation:
        try:
            value = read_json(self._root.read(rel, limit=1 << 16))
            if value["v"] != 1 or value["act"] != act or value["shown"] != shown.hex:
                raise ValueError("it is of another version, act or digest")
            read_instant(value["at"])
            return Confirmation(act, shown, WitnessKind(value["witness"]), value["at"])
        except (NotJson, KeyError, TypeError, ValueError) as error:
            raise StateDamaged(where=printable(rel.posix), why=say("{finding}", finding=error)) from error


def _bytes(confirmation: Confirmation) -> bytes:
    return canonical({"v": 1, **confirmation.to_json()}) + b"\n"


def _nobody(act: str, digest: Digest) -> NotConfirmed:
    return NotConfirmed(where=act, why=say("nobody confirmed {digest}", digest=digest.short))
