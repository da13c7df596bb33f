"""Floor 2, `hosts`: what was put where for a host, written down before it is done.

One record a host, in the user's own data folder, since a host's configuration belongs to no workspace.
Whatever it names can be taken away again without knowing anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.disk.errors import NotThere
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.hosts.merging import Entry, Form
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.errors import StateDamaged

LIMIT = 16 << 20


@dataclass(frozen=True, slots=True)
class Copied:
    """A whole file of ours: the digests of all that we ever put there."""

    place: str
    ours: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Configured:
    """A file of the host with entries of ours.

    `before` is the digest of what it held without them, None when there was no file; `known` says
    whether that was seen at all.  `backup` is the copy of it beside, `after` what we wrote.
    """

    place: str
    form: Form
    before: str | None
    known: bool
    backup: str | None
    after: tuple[str, ...]
    entries: tuple[Entry, ...]
    made: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Receipt:
    """Everything of one host; `folders` are those that were made for it, outermost first."""

    host: str
    copies: tuple[Copied, ...] = ()
    configurations: tuple[Configured, ...] = ()
    folders: tuple[str, ...] = field(default=())

    def copy(self, place: str) -> Copied | None:
        """The record of a whole file."""
        return next((one for one in self.copies if one.place == place), None)

    def configuration(self, place: str) -> Configured | None:
        """The record of a file of the host."""
        return next((one for one in self.configurations if one.place == place), None)

    def with_copy(self, new: Copied) -> Receipt:
        """The receipt with a record in the place of an older one for the same file."""
        return replace(self, copies=_instead(self.copies, new))

    def with_configuration(self, new: Configured) -> Receipt:
        """The receipt with a record in the place of an older one for the same file."""
        return replace(self, configurations=_instead(self.configurations, new))

    def with_folders(self, new: Iterable[str]) -> Receipt:
        """The receipt with more folders that were made."""
        return replace(self, folders=tuple(dict.fromkeys((*self.folders, *new))))


def _instead(records: tuple[Any, ...], new: Any) -> tuple[Any, ...]:
    if any(one.place == new.place for one in records):
        return tuple(new if one.place == new.place else one for one in records)
    return (*records, new)


def place_of(host: str) -> RelPath:
    """Where the receipt of a host lies in the folder of receipts."""
    return RelPath((f"{host}.json",))


def hosts(store: Root) -> list[str]:
    """The hosts for which there is a receipt."""
    return [name.removesuffix(".json") for name in store.names(RelPath()) if name.endswith(".json")]


def read(store: Root, host: str) -> Receipt:
    """The receipt of a host; an empty one when nothing was installed."""
    try:
        data = store.read(place_of(host), LIMIT)
    except NotThere:
        return Receipt(host)
    try:
        return _read(host, read_json(data))
    except (NotJson, KeyError, TypeError, ValueError, AttributeError) as error:
        where = printable(f"{store.path}/{host}.json")
        raise StateDamaged(where=where, why=say("{finding}", finding=error)) from error


def _read(host: str, value: Any) -> Receipt:
    if value["v"] != 1 or value["host"] != host:
        raise ValueError("it is of another version or another host")
    return Receipt(
        host,
        tuple(Copied(_text(one["place"]), _texts(one["ours"])) for one in value["copies"]),
        tuple(_configured(one) for one in value["configurations"]),
        _texts(value["folders"]),
    )


def _configured(one: Any) -> Configured:
    return Configured(
        _text(one["place"]),
        Form(one["form"]),
        None if one["before"] is None else _text(one["before"]),
        bool(one["known"]),
        None if one["backup"] is None else _text(one["backup"]),
        _texts(one["after"]),
        tuple(Entry(_texts(each["path"]), each["value"], bool(each["listed"])) for each in one["entries"]),
        tuple(_texts(path) for path in one["made"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text was expected, found {value!r}")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(each) for each in value)


def write(store: Root, receipt: Receipt) -> None:
    """Write a receipt, durably."""
    copies: list[Json] = [{"place": one.place, "ours": list(one.ours)} for one in receipt.copies]
    configurations: list[Json] = [
        {
            "place": one.place,
            "form": one.form.value,
            "before": one.before,
            "known": one.known,
            "backup": one.backup,
            "after": list(one.after),
            "entries": [
                {"path": list(each.path), "value": each.value, "listed": each.listed} for each in one.entries
            ],
            "made": [list(path) for path in one.made],
        }
        for one in receipt.configurations
    ]
    record: dict[str, Json] = {
        "v": 1,
        "host": receipt.host,
        "copies": copies,
        "configurations": configurations,
        "folders": list(receipt.folders),
    }
    write_verified(store, place_of(receipt.host), canonical(record) + b"\n", replace=True, mode=0o600)


def forget(store: Root, host: str) -> None:
    """There is nothing of a host any more."""
    store.unlink(place_of(host), missing_ok=True)
