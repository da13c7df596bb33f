"""Floor 3½, `desk`: what `doctor` says of the vault, and reading all of it; none is made by looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from muniment.bundle.vault import Snapshot, Soundness, Vault
from muniment.clock import instant
from muniment.desk.finding import Finding, Level
from muniment.errors import MunimentError, NotVerified
from muniment.message import Message, say, say_count
from muniment.path import printable
from muniment.record.subject import Standing, Verdict, Watch, unwatched
from muniment.vault.collect import collect
from muniment.vault.examine import Examined, Part, examine
from muniment.vault.mark import last_check
from muniment.vault.place import Whereabouts
from muniment.vault.store import VaultStore

CHECK_AFTER = timedelta(days=90)
"""So long a whole check of the vault is taken for a recent one."""


@dataclass(frozen=True, slots=True)
class KeptVault:
    """The vault of a workspace, of this machine or a server's: where it lies, and how to open it; None
    is opened where there is none."""

    place: Whereabouts
    open: Callable[[], Vault | None]


VAULT = "vault"
"""What the vault is called where references stand."""

PARTS: dict[Part, Message] = {
    Part.CATALOGUE: say("catalogue"),
    Part.PACK: say("file of pieces"),
    Part.EXTENT: say("piece"),
    Part.SNAPSHOT: say("snapshot"),
    Part.UNKNOWN: say("unknown file"),
}
"""What people call each part of the vault."""


@dataclass(slots=True)
class Whole:
    """The vault of this machine read whole, once, by whoever asks first.

    `open` gives none where there is none, and where a server keeps it: only its keeper can read that.
    """

    open: Callable[[], VaultStore | None]
    watch: Watch = unwatched
    _examined: Examined | None = field(default=None, repr=False)

    def examined(self) -> Examined | None:
        """What the reading found; errors of opening are the vault's own."""
        if self._examined is None:
            vault = self.open()
            if vault is None:
                return None
            self._examined = examine(vault, progress=lambda size: self.watch(size, 0, VAULT))
        return self._examined

    def lost(self) -> dict[str, Message] | None:
        """Why each snapshot is not sound, by its id; None while nobody has read the whole vault."""
        found = self._examined
        if found is None:
            return None
        return {one.name: one.why for one in reversed(found.findings) if one.part is Part.SNAPSHOT}

    def verdict(self) -> Verdict | None:
        """How the vault stands; none where there is none of this machine."""
        step = "muniment vault fsck"
        try:
            found = self.examined()
        except MunimentError as error:
            standing = Standing.BAD if isinstance(error, NotVerified) else Standing.UNKNOWN
            why = (error.why,) if error.why is not None else ()
            return Verdict(VAULT, standing, error.message, why, step)
        if found is None:
            return None
        if found.sound:
            pieces = say_count("{count} piece read", "{count} pieces read", found.extents)
            finding = say("{pieces}, {size} bytes", pieces=pieces, size=found.bytes)
            return Verdict(VAULT, Standing.GOOD, finding, step=step)
        details = tuple(
            say("{part} {name}: {why}", part=PARTS[one.part], name=printable(one.name), why=one.why)
            for one in found.findings
        )
        finding = say_count("{count} thing is not sound", "{count} things are not sound", len(found.findings))
        return Verdict(VAULT, Standing.BAD, finding, details, step)


def look_at_vault(kept: KeptVault, now: datetime, *, mend: bool) -> Iterator[Finding]:
    """Whether it can be reached, where it lies, what is damaged, when it was checked, what is left."""
    address = kept.place.address
    try:
        vault = kept.open()
        snapshots = () if vault is None else vault.list().snapshots
    except MunimentError as error:
        # One that is in use or away now is no damage.
        level = Level.WRONG if isinstance(error, NotVerified) else Level.WARNING
        why = error.why or error.guidance
        yield Finding(
            "vault", level, say("{place}: {what} {why}", place=address, what=error.message, why=why)
        )
        return
    if vault is None:
        yield Finding("vault", Level.GOOD, say("none yet; it would lie at {place}", place=address))
        return
    count = say_count("{count} snapshot", "{count} snapshots", len(snapshots))
    yield Finding("vault", Level.GOOD, say("{place}: {count}", place=address, count=count))
    yield _place(kept.place)
    yield _damaged(snapshots)
    if isinstance(vault, VaultStore):  # of a server's its keeper is told
        yield _checked(kept.place, bool(snapshots), now)
        yield _leftovers(vault, mend=mend)


def _place(place: Whereabouts) -> Finding:
    if not place.shares_device:
        return Finding("vault's device", Level.GOOD, say("another one than that of what is saved"))
    return Finding(
        "vault's device",
        Level.WARNING,
        say("the same as that of what is saved; should it fail, both are lost. Set vault.url"),
    )


def _damaged(snapshots: tuple[Snapshot, ...]) -> Finding:
    damaged = [one.id for one in snapshots if one.soundness is Soundness.DAMAGED]
    if not damaged:
        return Finding("damaged snapshots", Level.GOOD, say("none"))
    return Finding(
        "damaged snapshots",
        Level.WRONG,
        say("{ids}; the next `muniment backup create` sends what is missing again", ids=tuple(damaged)),
    )


def _checked(place: Whereabouts, any_snapshot: bool, now: datetime) -> Finding:
    assert place.folder is not None
    check = last_check(place.folder)
    if check is None:
        level = Level.WARNING if any_snapshot else Level.GOOD
        return Finding("vault's last check", level, say("never; `muniment vault fsck` reads all of it"))
    at = instant(check.at)
    if not check.sound:
        message = say("at {at} not everything was sound; run `muniment vault fsck --repair`", at=at)
        return Finding("vault's last check", Level.WRONG, message)
    if now - check.at > CHECK_AFTER:
        message = say("at {at}, long ago; `muniment vault fsck` reads all of it", at=at)
        return Finding("vault's last check", Level.WARNING, message)
    return Finding("vault's last check", Level.GOOD, say("at {at}: everything was sound", at=at))


def _leftovers(vault: VaultStore, *, mend: bool) -> Finding:
    """What killed uploads and deletions left; younger than a day it may still be needed, and stays."""
    subject = "vault's leftovers"
    try:
        if mend:
            done = collect(vault)
            count = done.uploads + done.packs + done.snapshots + done.unfinished
            if count:
                message = say_count("{count} was removed", "{count} were removed", count)
                return Finding(subject, Level.MENDED, message)
        holdings = vault.catalogue.holdings()
    except MunimentError as error:
        return Finding(subject, Level.WARNING, say("{what} {why}", what=error.message, why=error.why or ""))
    waiting = holdings.uploads + holdings.dead_packs
    if not waiting:
        return Finding(subject, Level.GOOD, say("none"))
    message = say_count(
        "{count} is under way or waits for its day", "{count} are under way or wait for their day", waiting
    )
    return Finding(subject, Level.GOOD, message)
