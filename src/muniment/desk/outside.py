"""Floor 3½, `desk`: a file or folder that somebody hands over, judged from its own bytes.

An extracted snapshot, the tar.gz of one, a copy of a ledger, and a card; an exported handoff is judged
by its room.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from muniment.archive.check import check, entries
from muniment.archive.model import ARCHIVES, Card, Entry
from muniment.backup.fetching import from_folder
from muniment.bundle.gunzip import raw
from muniment.bundle.verify import verify as verify_bundle
from muniment.canonical import NotJson, read_json
from muniment.desk.errors import NothingToVerify
from muniment.disk import platform
from muniment.disk.root import Root, real_folder
from muniment.disk.write import chunks_of
from muniment.errors import MunimentError, NotVerified
from muniment.message import Message, say, say_count
from muniment.path import RelPath, printable
from muniment.record.event import FIRST, BadRecord, Event, read_line
from muniment.record.segments import lines_of
from muniment.record.state import Workspace
from muniment.record.subject import Standing, Verdict, Watch, unwatched
from muniment.record.witness import Witness

_CARD_MOST = 1 << 16
_GZIP = b"\x1f\x8b"
_FENCED = re.compile(rb"```json\s*\n(.*?)\n```", re.DOTALL)


def is_export(path: Path) -> bool:
    """Whether a folder is the export of a handoff."""
    return (path / "manifest.json").is_file() and (path / "packet.json").is_file()


def deliverable_at(workspace: Workspace, path: Path) -> str | None:
    """The reference of the deliverable that lies at a path, or in which the path lies."""
    try:
        rel = workspace.root.relative(str(path.absolute()))
    except MunimentError:
        return None
    found = [one for one in entries(workspace) if not one.undone and rel.within(one.path)]
    return found[-1].reference if found else None


def judge(path: Path, workspace: Workspace | None, watch: Watch = unwatched) -> Verdict:
    """Judge a file or folder; `NothingToVerify` for one that carries no proof of itself.

    `workspace` is what a card is held to; None when there is none.
    """
    reference = printable(str(path))
    watch(0, 0, reference)
    try:
        finding = _folder(path) if path.is_dir() else _file(path, workspace)
    except NothingToVerify:
        raise
    except MunimentError as error:
        standing = Standing.BAD if isinstance(error, NotVerified) else Standing.UNKNOWN
        why = say("{where}: {why}", where=printable(error.where), why=error.why or error.message)
        return Verdict(reference, standing, error.message, (why,) if error.where or error.why else ())
    return finding if isinstance(finding, Verdict) else Verdict(reference, Standing.GOOD, finding)


def _folder(path: Path) -> Message:
    if (path / "ledger.jsonl").is_file() and (path / "witness.json").is_file():
        return _ledger(path)
    if (path / "manifest.json").is_file():
        fetched = from_folder(path)
        fetched.folder.close()
        return say_count(
            "a snapshot: {count} file compared", "a snapshot: {count} files compared", fetched.files
        )
    raise NothingToVerify(where=printable(str(path)))


def _ledger(path: Path) -> Message:
    """A copy of a ledger: each record, each link, and the witness that came with it."""
    with Root.open(path) as root:
        witness = _witness(root)
        count, head = 0, FIRST
        for number, event in enumerate(_events(root), 1):
            if event.prev != head:
                why = say("line {number} does not continue the record before", number=number)
                raise NotVerified(where="ledger.jsonl", why=why)
            count, head = number, event.sha256
    if (count, head) != (witness.count, witness.head):
        why = say("its witness saw {count} events", count=witness.count)
        raise NotVerified(where="ledger.jsonl", why=why)
    return say_count(
        "a ledger: {count} event, as its witness saw it",
        "a ledger: {count} events, as its witness saw it",
        count,
    )


def _witness(root: Root) -> Witness:
    try:
        return Witness.from_json(read_json(root.read(RelPath(("witness.json",)), limit=_CARD_MOST)))
    except (NotJson, ValueError) as error:
        raise NotVerified(where="witness.json", why=say("{finding}", finding=error)) from error


def _events(root: Root) -> Iterator[Event]:
    for number, line in enumerate(lines_of(root, RelPath(("ledger.jsonl",))), 1):
        try:
            if not line.ended:
                raise BadRecord("the line has no end")
            yield read_line(line.data)
        except BadRecord as error:
            why = say("line {number} is not whole: {finding}", number=number, finding=error)
            raise NotVerified(where="ledger.jsonl", why=why) from error


def _file(path: Path, workspace: Workspace | None) -> Message | Verdict:
    with Root.open(real_folder(path.parent)) as root:
        rel = RelPath((path.name,))
        fd = root.open_file(rel)
        try:
            if os.pread(fd, 2, 0) == _GZIP:
                found = verify_bundle(raw(chunks_of(fd)))
                return say_count(
                    "a snapshot: {count} file compared", "a snapshot: {count} files compared", found.files
                )
            size = os.fstat(fd).st_size
        finally:
            platform.close(fd)
        if size > _CARD_MOST:
            raise NothingToVerify(where=printable(str(path)))
        return _card(root.read(rel, limit=_CARD_MOST), path, workspace)


def _card(data: bytes, path: Path, workspace: Workspace | None) -> Verdict:
    """A card, alone or fenced in a text: exactly the one of a deliverable that is as recorded."""
    fenced = _FENCED.findall(data)
    try:
        value = read_json(fenced[-1] if fenced else data)
        if value["type"] != "archive_grid":
            raise ValueError(say("its type is another one"))
        root, subpath = str(value["data"]["archive_root"]), str(value["data"]["subpath"])
    except (NotJson, KeyError, TypeError, ValueError) as error:
        raise NothingToVerify(where=printable(str(path)), why=say("{finding}", finding=error)) from error
    step = "muniment archive list"
    entry = _entry(workspace, root, subpath) if workspace is not None else None
    if workspace is None or entry is None:
        finding = say("a card of nothing that was archived here")
        return Verdict(printable(f"{root}/{subpath}"), Standing.BAD, finding, step=step)
    step = f"muniment archive show {entry.reference}"
    own = Card(entry.kind, root, subpath, entry.name).to_json()
    if own != value:
        finding = say("the card is not the one of this deliverable")
        return Verdict(entry.reference, Standing.BAD, finding, step=step)
    (checked,) = check(workspace, [entry])
    standing = Standing.GOOD if checked.standing.good else Standing.BAD
    finding = say(
        "the card of {path}, which is {standing}", path=entry.path.posix, standing=checked.standing.value
    )
    return Verdict(entry.reference, standing, finding, step=step)


def _entry(workspace: Workspace, root: str, subpath: str) -> Entry | None:
    """The deliverable of an address; the root may stand behind an absolute path."""
    archive_id = root.rstrip("/").rpartition("/")[2]
    above = root.rstrip("/").rpartition("/")[0]
    if above != ARCHIVES and not above.endswith(f"/{ARCHIVES}"):
        return None
    wanted = f"{ARCHIVES}/{archive_id}/{subpath}"
    return next((one for one in reversed(entries(workspace)) if one.path.posix == wanted), None)
