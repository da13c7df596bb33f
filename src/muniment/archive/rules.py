"""Floor 3, `archive`: the rules of the protocol; facts in, verdict out, nothing read or written.

Rules by their source: spec 1, *Addresses*, *Move and read-back*.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from muniment.archive.errors import InvalidInput, InvalidSource
from muniment.archive.model import ARCHIVES, PLAN_NAME, Address, Track
from muniment.evidence import Kind, Table
from muniment.hosts.errors import InvalidSession
from muniment.message import say
from muniment.path import NAME_MAX, RelPath, printable

STATE = ".muniment"
MANAGED = frozenset({STATE, ".restore", ".backup"})
"""Top-level folders that hold Muniment's own state."""

DISPLAY_MAX = 500
"""Signs in a name on a card, at most."""

TRIES = 4096
"""Seconds that are tried for a free timestamp, at most."""

_LINKS_FOLLOWED = 40
"""As many as Linux follows on one path."""

_ARCHIVE_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_KWEAVER_REMOVED = re.compile(r'[<>:"/\\|?*#%]')


def judge_place(source: RelPath, claims: Iterable[tuple[RelPath, str]] = ()) -> None:
    """Refuse, by its place alone, what must not be moved: the root, the archives, managed state
    and what somebody claims, each also when it lies below or above the path."""
    if not source.parts:
        raise InvalidSource(where=".", why=say("the workspace itself can not be archived"))
    if source.parts[0].casefold() == ARCHIVES:
        raise InvalidSource(where=printable(source.posix), why=say("it lies in the archives already"))
    if source.parts[0].casefold() in MANAGED or any(part.casefold() == STATE for part in source.parts):
        raise InvalidSource(where=printable(source.posix), why=say("Muniment keeps its own state there"))
    for path, owner in claims:
        if source.within(path) or path.within(source):
            raise InvalidSource(
                where=printable(source.posix),
                why=say("{owner} claims {path}", owner=owner, path=printable(path.posix)),
            )


def judge_inside(source: RelPath, table: Table) -> None:
    """Refuse a folder that holds the state of another workspace."""
    for row in table.rows:
        if any(name.casefold() == STATE for name in row.path.split("/")):
            raise InvalidSource(
                where=printable(f"{source.posix}/{row.path}"), why=say("it holds state that Muniment manages")
            )


def judge_name(source: RelPath) -> None:
    """Refuse a name that could not stand in a card: control characters, bytes that are not UTF-8."""
    name = source.name
    if any(ord(sign) < 0x20 or 0x7F <= ord(sign) <= 0x9F for sign in name):
        raise InvalidSource(where=printable(source.posix), why=say("a control character stands in its name"))
    for part in source.parts:
        try:
            part.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidSource(where=printable(source.posix), why=say("its name is not UTF-8")) from error


def judge_display_name(name: str | None) -> None:
    """Refuse a name for the card that no card can show: control characters, what is not UTF-8."""
    if name is None:
        return
    shown = all(sign.isprintable() for sign in name)
    if not name.strip() or not shown or len(name) > DISPLAY_MAX:
        raise InvalidInput(where=printable(name[:80]), why=say("it can not be shown as a name on a card"))


def judge_track(source: RelPath, kind: Kind, track: Track | None) -> Track:
    """Which track a source goes on; `InvalidInput` when the one asked for does not fit its name."""
    plan = source.name == PLAN_NAME and kind is Kind.FILE
    if track is None:
        return Track.PLAN if plan else Track.FILE
    if track is Track.PLAN and not plan:
        raise InvalidInput(where=printable(source.posix), why=say("a plan is a file named PLAN.md"))
    if track is Track.FILE and plan:
        raise InvalidInput(where=printable(source.posix), why=say("PLAN.md is a plan, not a file"))
    return track


def judge_kind(source: RelPath, kind: Kind) -> None:
    """Refuse what is neither a file nor a folder."""
    if kind is Kind.LINK:
        raise InvalidSource(where=printable(source.posix), why=say("it is a link"))


def judge_links(source: RelPath, table: Table) -> None:
    """Refuse a folder with a link that leads, or could lead, out of it.

    Each target is followed over the table's own rows, so that links through links count too.
    """
    targets = {row.path: row.target for row in table.rows if row.target is not None}
    for path in targets:
        if not _stays_inside(path, targets):
            raise InvalidSource(
                where=printable(f"{source.posix}/{path}"),
                why=say("it is a link that leads out of the folder"),
            )


def _stays_inside(path: str, links: dict[str, str]) -> bool:
    """Follow a link as a kernel does: name by name, forty links at most in all."""
    at: list[str] = []
    todo = path.split("/")[::-1]
    followed = 0
    while todo:
        name = todo.pop()
        if name in ("", "."):
            continue
        if name == "..":
            if not at:
                return False
            at.pop()
            continue
        target = links.get("/".join((*at, name)))
        if target is None:
            at.append(name)
            continue
        followed += 1
        if target.startswith("/") or followed > _LINKS_FOLLOWED:
            return False
        todo.extend(target.split("/")[::-1])
    return True


def kept_name(name: str, style: str) -> str:
    """The name that a deliverable bears in the archive: as it is, or by the style `kweaver`.

    >>> kept_name("My Report #%?.MD", "kweaver")
    'my_report.md'
    >>> kept_name("My Report.MD", "kept")
    'My Report.MD'
    >>> kept_name(".#.", "kweaver")
    'unnamed'
    """
    if style != "kweaver":
        return name
    lowered = _KWEAVER_REMOVED.sub("", re.sub(r"\s+", "_", name.lower()))
    stem, dot, extension = lowered.rpartition(".")
    if not dot:
        stem, extension = lowered, ""
    stem = re.sub(r"_+", "_", stem).strip("_")
    extension = re.sub(r"_+", "_", extension).strip("_")
    # A name of dots alone would be no name.
    stem = stem if stem.strip(".") else "unnamed"
    return f"{stem}.{extension}" if extension else stem


def judge_archive_id(archive_id: str) -> None:
    """Refuse a session whose id can not be the name of a folder of its own."""
    if not _ARCHIVE_ID.fullmatch(archive_id):
        raise InvalidSession(where=printable(archive_id), why=say("it is no archive id"))


def judge_address(address: Address) -> None:
    """Check an address before anything is placed there, and again when it is read back."""
    judge_archive_id(address.archive_id)
    if len(address.name.encode("utf-8")) > NAME_MAX:
        raise InvalidSource(where=address.name, why=say("its name is too long"))
    if address.path.parts[0] != ARCHIVES or address.path.parts[1] != address.archive_id:
        raise InvalidInput(where=address.path.posix, why=say("it is no archive address"))


def timestamps(local_now: datetime) -> Iterable[str]:
    """The timestamps to try, one second after the other: names, not times.

    >>> next(iter(timestamps(datetime(2026, 11, 30, 14, 28, 5))))
    '2026-11-30-14-28-05'
    """
    for second in range(TRIES):
        yield f"{local_now + timedelta(seconds=second):%Y-%m-%d-%H-%M-%S}"
