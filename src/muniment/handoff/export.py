"""Handoff room: one folder that proves a handoff to somebody who has nothing else (spec 3, surface).

It holds the documents, the ledger's own lines about them, the bytes of targets and artifacts, and the
nonces: those are spent, because an exported handoff is never dispatched again.  `verify_folder` needs
no workspace, no ledger and no network.  What it can not repeat (git, remotes, the root itself) is
taken from the trace and named as such.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from muniment.clock import instant
from muniment.digest import sha256
from muniment.disk.copy import copy_verified, new_folder
from muniment.disk.errors import AlreadyThere, OutsideRoot
from muniment.disk.root import Root
from muniment.disk.tree import measure
from muniment.disk.write import write_verified
from muniment.errors import MunimentError
from muniment.handoff.codes import Code
from muniment.handoff.documents import kept, parse
from muniment.handoff.errors import ExportDamaged, ExportExists
from muniment.handoff.facts import Applied, Baseline, Facts, Intent, Recorded
from muniment.handoff.gather import TASK_ADAPTERS, moved_by
from muniment.handoff.model import Packet, Target
from muniment.handoff.papers import Papers
from muniment.handoff.reading import read_file, read_targets
from muniment.handoff.receipts import Return, Undelivered, read_outcome
from muniment.handoff.rules import judge
from muniment.handoff.service import Handoffs
from muniment.handoff.shape import Items, Shape, Text, Whole, closed
from muniment.handoff.shapes import HANDOFF_ID, NONCES
from muniment.handoff.store import APPLIED, BASELINES, INTENT, RECORDED, Folder
from muniment.handoff.trace import Trace, read_trace
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.event import BadRecord, read_line
from muniment.record.witness import bear_witness

VERSION = 1
_FILES = RelPath.parse("files")
_MANIFEST = closed(
    v=Whole(1, 1),
    handoff_id=HANDOFF_ID,
    exported_at=Text(64),
    documents=Items(Text(128), 1),
    not_repeated=Items(Text(64)),
)
_SINGLE = ("packet.json",)
_LAST = ("intents", "outcomes", "baselines", "returns", "traces")
_ALL = ("recorded", "applied")


@dataclass(frozen=True, slots=True)
class Exported:
    """What was exported: the handoff, how many files and bytes lie in the folder now."""

    handoff_id: str
    files: int
    size: int


@dataclass(frozen=True, slots=True)
class Verified:
    """A folder that was read again: the verdict then, the verdict over the bytes in it now, and what
    could not be repeated without the workspace."""

    handoff_id: str
    then: Mapping[str, Any]
    now: Trace
    not_repeated: tuple[str, ...]


def export(handoffs: Handoffs, handoff_id: str, destination: Path) -> Exported:
    """Check once more, then write the folder; it must not exist, and has its name only when it is whole.

    What was written is judged by `verify_folder` before it gets that name.  Afterwards the handoff is
    never dispatched again, since its nonces are known.
    """
    handoffs.papers.folder(handoff_id)
    rel = RelPath((destination.name,))
    with Root.open(destination.parent) as beside:
        if beside.exists(rel):
            raise ExportExists(where=printable(str(destination)))
        handoffs.check(handoff_id)
        try:
            with new_folder(beside, rel, 0o700) as into:
                _fill(handoffs, handoffs.papers.folder(handoff_id), into)
                verify_folder(Path(into.path))
        except AlreadyThere as error:  # somebody else's, come meanwhile
            raise ExportExists(where=printable(str(destination))) from error
        table = measure(beside, rel).table
    return Exported(handoff_id, sum(1 for row in table.rows if row.digest is not None), table.size)


def _fill(handoffs: Handoffs, folder: Folder, into: Root) -> None:
    papers, workspace, handoff_id = handoffs.papers, handoffs.workspace, folder.handoff_id
    with folder.locked():
        names = [*_SINGLE, *(name for series in _LAST for name in folder.names(series)[-1:])]
        names += [name for series in _ALL for name in folder.names(series)]
        found = {name: folder.read(name) for name in names}
    kept_documents = {name: each for name, each in found.items() if each is not None}
    for name, each in kept_documents.items():
        _write(into, RelPath.parse(name), each.data)
    packet, answer = papers.packet(folder), folder.last("returns")
    returned = Return.read(answer.data, answer.where) if answer is not None else None
    skipped = sorted({each.kind for each in returned.claims if each.kind != "verified"}) if returned else []
    nonces: dict[str, Any] = {}
    if packet.contract is not None:
        nonces = {target.value: nonce.hex() for target, nonce in handoffs.nonces.of(handoff_id).items()}
        entries = packet.contract.required.values()
        for entry in entries:
            _copy(workspace.root, RelPath.parse(entry.path), into, RelPath.parse(entry.path))
        commands = any(check.kind == "command" for entry in entries for check in entry.verification)
        skipped = ["root", *(["command"] if commands else []), *skipped]
    _write(into, RelPath.parse("nonces.json"), kept(nonces))
    for path in _paths(returned):
        _copy_artifact(papers, workspace.root, path, into)
    trace = next(each for name, each in reversed(kept_documents.items()) if name.startswith("traces/"))
    papers.note("handoff.exported", handoff_id, trace)
    lines = b"".join(event.line() for event in papers.events(handoff_id))
    _write(into, RelPath.parse("ledger.jsonl"), lines)
    witness = bear_witness(workspace.ledger, workspace.identity.root_id)
    _write(into, RelPath.parse("witness.json"), kept(witness.to_json()))
    manifest: dict[str, Any] = {
        "v": VERSION,
        "handoff_id": handoff_id,
        "exported_at": instant(workspace.clock()),
        "documents": list(kept_documents),
        "not_repeated": skipped,
    }
    _write(into, RelPath.parse("manifest.json"), kept(manifest))


def _paths(returned: Return | None) -> list[str]:
    """Every path that the return wants to be read."""
    if returned is None:
        return []
    verified = [claim.path for claim in returned.claims if claim.kind == "verified"]
    return list(dict.fromkeys([*returned.artifact_paths, *verified]))


def _copy_artifact(papers: Papers, root: Root, path: str, into: Root) -> None:
    """An artifact, under the path that the worker gave, from wherever it lies now."""
    try:
        rel = root.relative(path)
    except OutsideRoot:
        return
    for place in (rel, *moved_by(papers, root)(rel)):
        if place.parts and root.exists(place):
            _copy(root, place, into, rel)
            return


def _write(into: Root, rel: RelPath, data: bytes) -> None:
    into.make_folders(rel.parent, 0o700)
    write_verified(into, rel, data, mode=0o600)


def _copy(root: Root, rel: RelPath, into: Root, name: RelPath) -> None:
    """A target or artifact as it is now; what can not be read is not there in the export either."""
    target = _FILES / name
    try:
        measured = measure(root, rel)
    except MunimentError:
        return
    into.make_folders(target.parent, 0o700)
    with contextlib.suppress(AlreadyThere):  # it may lie inside a folder that was copied before
        copy_verified(root, rel, into, target, measured)


def verify_folder(path: Path) -> Verified:
    """Judge an exported folder anew, from its bytes alone.

    `ExportDamaged` when a document is not the one that its ledger lines name, when a line is not
    whole, or when the verdict is not the one that was exported.
    """
    with Root.open(path) as root:
        manifest = _document(root, "manifest.json", _MANIFEST)
        handoff_id, documents = manifest["handoff_id"], manifest["documents"]
        recorded = _ledger(root, handoff_id)
        for name in dict.fromkeys((*_SINGLE, *documents)):
            if (name, sha256(_read(root, name)).hex) not in recorded:
                raise ExportDamaged(where=name, why=say("its bytes are not those that the ledger recorded"))
        facts = _facts(root, handoff_id, documents)
        trace_name = _last(documents, "traces")
        if trace_name is None:
            raise ExportDamaged(where="manifest.json", why=say("it names no trace"))
        then = read_trace(_read(root, trace_name), trace_name)
        worker = {"worker_alive": then["worker_alive"], "worker_exit": _worker_exit(then)}
        now = judge(replace(facts, at=then["at"], **worker))
    _compare(then, now, manifest["not_repeated"])
    return Verified(handoff_id, then, now, tuple(manifest["not_repeated"]))


def _worker_exit(then: Mapping[str, Any]) -> int | None:
    """With what the worker ended badly, by the verdict then: a process can not be looked at again."""
    for finding in then["findings"]:
        if finding["code"] == Code.WORKER_FAILED.value:
            found = re.search(r"-?[0-9]+\Z", finding["reason"])
            return int(found[0]) if found else 1
    return None


def _compare(then: Mapping[str, Any], now: Trace, not_repeated: list[str]) -> None:
    """The verdict over the exported bytes must be the exported one."""
    again = now.to_json()
    for name in ("handoff_id", "contract_id", "dispatch_id", "return_sha256"):
        if then.get(name) != again.get(name):
            raise ExportDamaged(where=name, why=say("it is not what the trace says"))
    # An artifact may have been moved since; its bytes count, not its place.
    if [_bytes_of(row) for row in then["artifacts"]] != [_bytes_of(row.to_json()) for row in now.artifacts]:
        raise ExportDamaged(where="artifacts", why=say("it is not what the trace says"))
    if len(then["rows"]) != len(now.rows):
        raise ExportDamaged(where="rows", why=say("it is not what the trace says"))
    for old, new in zip(then["rows"], now.rows, strict=True):
        if (old["status"], old.get("read")) != (new.status.value, new.read.to_json() if new.read else None):
            why = say("it was {then} and is {now}", then=old["status"], now=new.status.value)
            raise ExportDamaged(where=new.target.value, why=why)
    if not [name for name in not_repeated if name != "root"] and then["complete"] is not now.complete:
        raise ExportDamaged(where="complete", why=say("the verdict is another one"))


def _bytes_of(row: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    return row["size"], row["sha256"], row["files"]


def _facts(root: Root, handoff_id: str, documents: list[str]) -> Facts:
    packet = replace(Packet.read(_read(root, "packet.json"), "packet.json"), handoff_id=handoff_id)
    nonces = _document(root, "nonces.json", NONCES)
    contract = packet.contract
    if contract is not None:
        contract = contract.with_nonces(
            {Target(name): bytes.fromhex(nonce) for name, nonce in nonces.items()}
        )
    name = _last(documents, "returns")
    answer = Return.read(_read(root, name), name) if name is not None else None
    if answer is not None:
        answer = replace(answer, claims=tuple(each for each in answer.claims if each.kind == "verified"))
    intent_name, outcome_name = _last(documents, "intents"), _last(documents, "outcomes")
    intent = _document(root, intent_name, INTENT) if intent_name is not None else None
    outcome = read_outcome(_read(root, outcome_name), outcome_name) if outcome_name is not None else None
    unknown = isinstance(outcome, Undelivered) and outcome.unknown
    base_name = _last(documents, "baselines")
    baselines: dict[Target, Baseline] = {}
    if base_name is not None:
        found = _document(root, base_name, BASELINES)
        baselines = {Target(key): Baseline.from_json(each) for key, each in found.items()}
    facts = Facts(
        at="",
        packet=packet,
        contract=contract,
        intent=Intent(intent["at"], intent["recipient_id"], not unknown) if intent is not None else None,
        receipt=outcome,
        task_adapter=intent is not None and intent["via"] in TASK_ADAPTERS,
        answer=answer,
        return_sha256=sha256(_read(root, name)).hex if name is not None else None,
        root=contract.root if contract is not None else None,
        baselines=baselines,
        recorded=tuple(Recorded.from_json(each) for each in _series(root, documents, "recorded", RECORDED)),
        applied=tuple(Applied(**each) for each in _series(root, documents, "applied", APPLIED)),
    )
    if not root.exists(_FILES):
        return facts
    with root.below(_FILES) as files:
        above = f"{contract.root.real_path}/" if contract is not None else "/"
        read = {
            path: replace(read_file(files, path.removeprefix(above), lambda _: ()), path=path)
            for path in _paths(answer)
        }
        return replace(
            facts,
            reads=read_targets(files, contract, baselines, None) if contract is not None else {},
            artifacts=tuple(read[path] for path in (answer.artifact_paths if answer is not None else ())),
            claimed=read,
        )


def _ledger(root: Root, handoff_id: str) -> set[tuple[str, str]]:
    """What the ledger's lines, each whole in itself, say of the documents."""
    found: set[tuple[str, str]] = set()
    for number, line in enumerate(_read(root, "ledger.jsonl").splitlines(), 1):
        try:
            event = read_line(line)
        except BadRecord as error:
            why = say("line {number} is not whole: {finding}", number=number, finding=error)
            raise ExportDamaged(where="ledger.jsonl", why=why) from error
        if event.subject == handoff_id:
            found.add((str(event.evidence.get("document")), str(event.evidence.get("sha256"))))
    return found


def _series(root: Root, documents: list[str], series: str, shape: Shape) -> list[dict[str, Any]]:
    return [_document(root, name, shape) for name in documents if name.startswith(f"{series}/")]


def _last(documents: list[str], series: str) -> str | None:
    return max((name for name in documents if name.startswith(f"{series}/")), default=None)


def _read(root: Root, name: str) -> bytes:
    try:
        return root.read(root.relative(name))
    except MunimentError as error:
        raise ExportDamaged(where=name, why=say("{finding}", finding=error.reason)) from error


def _document(root: Root, name: str, shape: Shape) -> dict[str, Any]:
    return parse(name, shape, _read(root, name), name)
