"""Floor 3, `backup`: machine state of a snapshot is laid beside, never in place (spec 4, restore).

A ledger that went back would contradict its own witnesses, a journal would move files of another
time, a token would speak for another machine.  All of it can be read in `.muniment/restored/<id>/`.
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment.backup.fetching import Fetched
from muniment.backup.restore_model import Status, Stored
from muniment.backup.restore_rules import STATE, Ground, destiny, place_of
from muniment.canonical import Json
from muniment.digest import Digest
from muniment.disk import platform
from muniment.disk.root import Root
from muniment.disk.write import Written, chunks_of, read_back, write_verified
from muniment.errors import MunimentError
from muniment.evidence import Kind
from muniment.hosts.places import Places
from muniment.path import RelPath
from muniment.record.ledger import Ledger
from muniment.record.state import FOLDER, Workspace
from muniment.record.witness import bear_witness

RESTORED = FOLDER / "restored"
_LEDGER = f"files/workspace/{STATE}/ledger"


def lay_aside(workspace: Workspace, fetched: Fetched, places: Places, ground: Ground) -> dict[str, Json]:
    """Write the snapshot's machine state into its folder, verified; what the restore's event says of
    it: the folder, how many files, and the heads of both ledgers."""
    here = bear_witness(workspace.ledger, workspace.identity.root_id)
    facts: dict[str, Json] = {"ledger_head": here.head, "ledger_events": here.count}
    folder = RESTORED / (fetched.backup_id or "folder")
    count = 0
    for row in _rows(fetched, ground):
        section, rel = place_of(row.path)
        _write(workspace.root, folder / section / RelPath.parse(rel), fetched, row)
        count += 1
    if count:
        facts |= {"folder": folder.posix, "aside_files": count}
    facts |= _snapshot_head(workspace, fetched)
    return facts


def _rows(fetched: Fetched, ground: Ground) -> Iterator[Stored]:
    for row in fetched.rows:
        section, rel = place_of(row.path)
        if row.kind is Kind.FILE and rel and destiny(section, rel, ground) is Status.ASIDE:
            yield row


def _write(root: Root, target: RelPath, fetched: Fetched, row: Stored) -> None:
    wanted = Written(Digest(row.sha256), row.size)
    root.make_folders(target.parent, 0o700)
    if root.exists(target):
        # Of a run that was ended here, or of an earlier restore of the same snapshot.
        try:
            read_back(root, target, wanted)
            return
        except MunimentError:
            root.unlink(target)
    source = fetched.folder.open_file(fetched.rel(row.path))
    try:
        write_verified(root, target, chunks_of(source), mode=0o600)
    finally:
        platform.close(source)
    read_back(root, target, wanted)


def _snapshot_head(workspace: Workspace, fetched: Fetched) -> dict[str, Json]:
    """The head of the ledger in the snapshot, as far as it can be read."""
    if not any(row.path.startswith(f"{_LEDGER}/") for row in fetched.rows):
        return {}
    ledger = Ledger(
        fetched.folder,
        fetched.rel(_LEDGER),
        clock=workspace.clock,
        entropy=workspace.entropy,
        actor="restore",
    )
    try:
        seen = bear_witness(ledger, "")
    except MunimentError:
        return {"snapshot_ledger_head": None}
    return {"snapshot_ledger_head": seen.head, "snapshot_ledger_events": seen.count}
