"""Floor 2, `hosts`: everything that a host is given in the user's own folders, put there and taken away.

Whole files of ours, and entries in files of the host.  What will be done is written into a receipt
first.  Each file is changed in one step and read back, and only if it still holds what was seen; so
whoever is stopped anywhere in between can run it again, or take away what there is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from muniment.digest import sha256
from muniment.disk.errors import named
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.write import is_scratch
from muniment.errors import MunimentError
from muniment.hosts import receipt as receipts
from muniment.hosts.errors import ConfigurationBroken, ConfigurationChanging, ConfigurationShape
from muniment.hosts.installation import State
from muniment.hosts.json_text import place as text_place
from muniment.hosts.merging import Entry, Form, Merged, merge, take_out
from muniment.hosts.receipt import Configured, Copied, Receipt
from muniment.hosts.spot import Held, Spot
from muniment.message import say
from muniment.path import RelPath, printable

_ATTEMPTS = 10
_LOCK = RelPath(("lock",))
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Configuration:
    """Entries that belong into one file of the host."""

    place: Path
    form: Form
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes, or became, of one file.

    `left` are entries under our names that are somebody else's and stay; `backup` is the copy beside.
    """

    place: str
    state: State
    left: tuple[str, ...] = ()
    backup: str | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """What one host is given; `store` is the folder of receipts, made when it is missing."""

    host: str
    store: Path
    configurations: Sequence[Configuration] = ()
    copies: Mapping[Path, bytes] | None = None

    # Putting it there

    def plan(self) -> list[Outcome]:
        """What installing would do; nothing is written."""
        receipt = _look_up(self.store, self.host)
        found = [_copy_state(receipt, place, data)[0] for place, data in (self.copies or {}).items()]
        for one in self.configurations:
            with Spot(one.place) as spot:
                held = spot.look()
                found.append(_plan(receipt, one, spot, held)[0])
        return found

    def install(self) -> list[Outcome]:
        """Put everything there; what can not be read stays as it is, and then nothing is done at all."""
        with _open(self.store) as store, locked(store, _LOCK):
            self.plan()  # refuses before anything is written
            found: list[Outcome] = []
            for place, data in (self.copies or {}).items():
                found.append(_install_copy(store, self.host, place, data))
            for one in self.configurations:
                found.append(_again(partial(_install, store, self.host, one), one.place))
        return found


def _install_copy(store: Root, host: str, place: Path, data: bytes) -> Outcome:
    receipt = receipts.read(store, host)
    outcome, held = _copy_state(receipt, place, data)
    if outcome.state not in (State.NEW, State.REPLACED, State.UNCHANGED):
        return outcome
    with Spot(place) as spot:
        known = receipt.copy(str(place))
        ours = tuple(dict.fromkeys((*(known.ours if known else ()), sha256(data).hex)))
        receipt = receipt.with_copy(Copied(str(place), ours)).with_folders(spot.missing_folders())
        receipts.write(store, receipt)
        if outcome.state is not State.UNCHANGED and not spot.write(data, held, 0o644):
            return Outcome(str(place), State.TAKEN)
    return outcome


def _copy_state(receipt: Receipt, place: Path, data: bytes) -> tuple[Outcome, Held | None]:
    known = receipt.copy(str(place))
    with Spot(place) as spot:
        held = spot.look()
    if held is None:
        state = State.NEW
    elif held.data == data:
        state = State.UNCHANGED
    elif known is not None and held.digest in known.ours:
        state = State.REPLACED
    else:
        state = State.KEPT if known is not None else State.TAKEN
    return Outcome(str(place), state), held


def _plan(
    receipt: Receipt, wanted: Configuration, spot: Spot, held: Held | None
) -> tuple[Outcome, Merged, bytes, Configured]:
    """What a file becomes: the outcome, the merged text, its bytes and the record of it."""
    place = str(wanted.place)
    known = receipt.configuration(place)
    now = _text(wanted.place, held.data if held else b"")
    former = known.entries if known else ()
    merged = _told(
        wanted.place, lambda: merge(now, wanted.form, wanted.entries, former, known.made if known else ())
    )
    data = _bytes(merged.text, held.data if held else b"")
    seen, before, backup = _before(wanted, known, held, now, merged)
    same = known is not None and held is not None and held.digest in known.after
    after = (*(known.after if known and same else ()), sha256(data).hex)
    # What was ours formerly stays in the record, since this may be stopped before the file is written.
    entries = tuple(_once((*merged.held, *former)))
    record = Configured(
        place, wanted.form, before, seen, backup, tuple(dict.fromkeys(after)), entries, merged.made
    )
    left = tuple(entry.name for entry in merged.left)
    if held is not None and data == held.data:
        state = State.UNCHANGED if not left or merged.held else State.TAKEN
        backup = None
    else:
        state = State.NEW if held is None else State.MERGED
    return Outcome(place, state, left, backup), merged, data, record


def _once(entries: Sequence[Entry]) -> list[Entry]:
    """Each entry once; their values can not be hashed."""
    found: list[Entry] = []
    for entry in entries:
        if entry not in found:
            found.append(entry)
    return found


def _before(
    wanted: Configuration, known: Configured | None, held: Held | None, now: str, merged: Merged
) -> tuple[bool, str | None, str | None]:
    """What the file holds without ours: whether that is known, its digest, and the name of the copy."""
    if known is not None and held is not None and held.digest in known.after:
        return known.known, known.before, known.backup
    if held is None:
        return True, None, None
    pure = not any(_standing(now, wanted.form, entry) for entry in merged.held)
    return pure, held.digest if pure else None, f"{wanted.place.name}.muniment-{held.digest[:8]}"


def _standing(text: str, form: Form, entry: Entry) -> bool:
    return bool(merge(text, form, [entry]).text == text)


def _install(store: Root, host: str, wanted: Configuration) -> Outcome | None:
    """One attempt; None when somebody else wrote meanwhile."""
    receipt = receipts.read(store, host)
    with Spot(wanted.place) as spot:
        held = spot.look()
        outcome, _, data, record = _plan(receipt, wanted, spot, held)
        if outcome.state is State.UNCHANGED and receipt.configuration(record.place) is not None:
            return outcome
        if not record.entries:
            return outcome
        receipts.write(store, receipt.with_configuration(record).with_folders(spot.missing_folders()))
        if outcome.state is State.UNCHANGED:
            return outcome
        if held is not None and outcome.backup is not None:
            spot.keep_beside(outcome.backup, held)
        return outcome if spot.write(data, held) else None


# Taking it away


def removal(store: Path, host: str) -> list[Outcome]:
    """What taking everything of a host away would do."""
    receipt = _look_up(store, host)
    found = [_take_copy(one, act=False) for one in receipt.copies]
    return found + [outcome for one in receipt.configurations if (outcome := _take(one, act=False))]


def uninstall(store: Path, host: str) -> list[Outcome]:
    """Take everything of a host away: the very bytes of before where nobody wrote since, else only ours.

    Files of ours that somebody changed stay.
    """
    with _open(store) as opened, locked(opened, _LOCK):
        receipt = receipts.read(opened, host)
        for one in receipt.configurations:
            _take(one, act=False)  # refuses before anything is written
        found = [_take_copy(copy, act=True) for copy in receipt.copies]
        for one in receipt.configurations:
            found.append(_again(partial(_take, one, act=True), Path(one.place)))
        for folder in reversed(receipt.folders):
            _remove_folder(Path(folder))
        receipts.forget(opened, host)
    return found


def installed(store: Path) -> list[str]:
    """The hosts of which there is a receipt."""
    if not _is_there(store):
        return []
    with Root.open(store) as opened:
        return receipts.hosts(opened)


def _take_copy(one: Copied, *, act: bool) -> Outcome:
    with Spot(Path(one.place)) as spot:
        held = spot.look()
        if held is None:
            return Outcome(one.place, State.GONE)
        if held.digest not in one.ours:
            return Outcome(one.place, State.KEPT)
        if act and not spot.remove(held):
            return Outcome(one.place, State.KEPT)
    return Outcome(one.place, State.REMOVED)


def _take(one: Configured, *, act: bool) -> Outcome | None:
    """One attempt; None when somebody else wrote meanwhile."""
    with Spot(Path(one.place)) as spot:
        held = spot.look()
        if held is None:
            return Outcome(one.place, State.GONE)
        if held.digest in one.after and one.known:
            if one.before is None:
                return Outcome(one.place, State.REMOVED) if not act or spot.remove(held) else None
            before = spot.kept(one.backup, one.before) if one.backup else None
            if before is not None:
                if act and not spot.write(before, held):
                    return None
                if act and one.backup:
                    spot.drop_beside(one.backup)
                return Outcome(one.place, State.PUT_BACK)
        if one.known and held.digest == one.before:  # it was stopped before anything was written
            if act and one.backup:
                spot.drop_beside(one.backup)
            return Outcome(one.place, State.UNCHANGED)
        text = _text(Path(one.place), held.data)
        rest = _told(Path(one.place), lambda: take_out(text, one.form, one.entries, one.made))
        data = _bytes(rest.text, held.data)
        left = tuple(entry.name for entry in rest.left)
        if data == held.data:
            return Outcome(one.place, State.KEPT if left else State.UNCHANGED, left, one.backup)
        if act and not spot.write(data, held):
            return None
        return Outcome(one.place, State.TAKEN_OUT, left, one.backup)


def _remove_folder(folder: Path) -> None:
    # Something else may lie in it, or it is gone.
    with suppress(MunimentError, OSError), Root.open(folder.parent) as above:
        rel = RelPath((folder.name,))
        # Unfinished files are of a run that was killed: whoever holds the receipts' lock is alone.
        for name in filter(is_scratch, above.names(rel)):
            above.unlink(rel / name)
        above.remove_folder(rel)


# What both need


def _again(attempt: Callable[[], Outcome | None], place: Path) -> Outcome:
    for _ in range(_ATTEMPTS):
        outcome = attempt()
        if outcome is not None:
            return outcome
    raise ConfigurationChanging(where=printable(str(place)))


def _open(store: Path) -> Root:
    with named(str(store)):
        os.makedirs(store, 0o700, exist_ok=True)
    return Root.open(store)


def _is_there(store: Path) -> bool:
    """Whether there are receipts at all; that they can not be looked at is no answer."""
    with named(str(store)):
        try:
            os.stat(store)
        except FileNotFoundError:
            return False
    return True


def _look_up(store: Path, host: str) -> Receipt:
    if not _is_there(store):
        return Receipt(host)
    with Root.open(store) as opened:
        return receipts.read(opened, host)


def _told(place: Path, act: Callable[[], Merged]) -> Merged:
    """What a text refuses, with the name of its file."""
    try:
        return act()
    except (ConfigurationBroken, ConfigurationShape) as error:
        where = ":".join([printable(str(place)), *([error.where] if error.where else [])])
        raise type(error)(where=where, why=error.why) from error


def _text(place: Path, data: bytes) -> str:
    """The text of a file, without the mark that some editors put first."""
    try:
        return data.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        at = text_place(data[: error.start].decode("utf-8") + "?", len(data[: error.start].decode("utf-8")))
        where = f"{printable(str(place))}:{at}"
        raise ConfigurationBroken(where=where, why=say("it is not UTF-8")) from error


def _bytes(text: str, former: bytes) -> bytes:
    mark = _BOM if former.startswith(_BOM.encode()) else ""
    return (mark + text).encode("utf-8")
