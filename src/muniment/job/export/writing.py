"""Room `job`: the act of exporting: asked for on record, written aside, put in place, read back.

Whatever fails, nothing of the export is left, and the job itself is as it was but for the
event that asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muniment.canonical import Json
from muniment.digest import sha256
from muniment.disk import platform
from muniment.disk.copy import copy_unchecked, discard, staging_of, sync_tree, withdraw
from muniment.disk.errors import AlreadyThere, named
from muniment.disk.root import Root, real_folder
from muniment.disk.write import new_token, write_verified
from muniment.errors import MunimentError
from muniment.evidence import Kind
from muniment.job import rules
from muniment.job.errors import (
    ExportNotReadBack,
    JobExportExists,
    NotEnded,
    NoToolRun,
    OutputsChanged,
)
from muniment.job.export import ro_crate, slsa, strangers, tes
from muniment.job.export.checking import check_crate, check_document
from muniment.job.export.facts import (
    EXPORT,
    JOURNAL_FILE,
    REGISTRY_FILE,
    VERSION,
    Facts,
    Format,
    Held,
    Request,
)
from muniment.job.export.findings import Finding
from muniment.job.export.folder import held_below, held_of
from muniment.job.export.record import NotOnRecord, facts_from
from muniment.job.history import History
from muniment.job.journal import LIMIT as JOURNAL_LIMIT
from muniment.job.model import Phase, Registry, Status
from muniment.job.outputs import changed, hash_file
from muniment.job.reader import LARGEST_FILE
from muniment.path import BadPath, RelPath, printable

if TYPE_CHECKING:
    from muniment.job.service import JobService
    from muniment.job.store import Opened

_REGISTRY, _JOURNAL = RelPath((REGISTRY_FILE,)), RelPath((JOURNAL_FILE,))


@dataclass(frozen=True, slots=True)
class Exported:
    """What was exported, as it was read back; `left_out` are inputs that are no longer what was used,
    `head` is the last event of the journal that it tells of."""

    job: str
    format: Format
    path: str
    files: int
    size: int
    sha256: str
    head: str
    verdict: str
    left_out: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """What `--json` and the MCP tool answer."""
        return {
            "job": self.job,
            "format": self.format.value,
            "path": self.path,
            "files": self.files,
            "bytes": self.size,
            "sha256": self.sha256,
            "journal_head": self.head,
            "verdict": self.verdict,
            "left_out": list(self.left_out),
        }


def require_ended(job: str, registry: Registry, history: History, format: Format) -> None:
    """The gate: `NotEnded` for a job of which nobody can say yet how it ended, `NoToolRun` for a task
    of TES without a run.

    What was never submitted is nothing to export, however it was ended.
    """
    workflow = registry.workflow
    over = workflow.status in rules.ENDED or rules.is_complete(registry, history.runs)
    # A run that failed leaves its job open for another; of what was, there is a record already.
    failed = (
        workflow.phase is Phase.FINALIZE and bool(history.runs) and workflow.status is not Status.COMPLETE
    )
    over = over or failed
    waiting = history.intent is not None or history.run_intent is not None or history.behind
    if not over or waiting or not registry.execution.bioline.job.id:
        raise NotEnded(where=job, job=job, phase=workflow.phase.value, status=workflow.status.value)
    if format is Format.TES and not history.runs:
        raise NoToolRun(where=job, job=job)


def default_name(job: str, format: Format) -> str:
    """What an export is called when nobody says.

    >>> default_name("rna-7", Format.TES)
    'rna-7-tes.json'
    """
    return f"{job}-ro-crate" if format is Format.RO_CRATE else f"{job}-{format.value}.json"


def export(
    service: JobService,
    job: str,
    format: Format,
    destination: Path,
    *,
    key: bytes | None = None,
) -> Exported:
    """Export a job that has ended; the destination must not exist.

    `key`, a private one in PEM, signs a statement.
    """
    strangers.require(format, signing=key is not None)
    with Root.open(real_folder(destination.parent)) as beside:
        rel = RelPath((destination.name,))
        if beside.exists(rel):
            raise JobExportExists(where=printable(str(destination)), path=printable(str(destination)))
        with service.opened(job) as opened:
            require_ended(job, opened.registry, opened.history, format)
            _require_files(opened)
            facts, record = _asked(service, opened, format)
            try:
                if format is Format.RO_CRATE:
                    done = _crate(opened, facts, record, beside, rel)
                else:
                    done = _document(opened, facts, record, beside, rel, key)
            except AlreadyThere as error:
                raise JobExportExists(
                    where=printable(str(destination)), path=printable(str(destination))
                ) from error
            told: dict[str, Json] = {
                "format": format.value,
                "sha256": done.sha256,
                "journal_head": done.head,
                "verdict": done.verdict,
            }
            service.tell(job, "export", opened.registry, told)
    return done


def _require_files(opened: Opened) -> None:
    """`OutputsChanged` unless every file on record is what it was."""
    downstream = opened.registry.execution.downstream
    named = [*downstream.generated_scripts, *downstream.outputs, *downstream.logs]
    inside = opened.folder.path + "/"
    for run in opened.history.runs:
        named += [one for one in (*run.inputs, *run.scripts, *run.logs) if one.path.startswith(inside)]
    every = list({one.path: one for one in named}.values())
    wrong = changed(opened.folder, every)
    if wrong:
        raise OutputsChanged(where=str(wrong[0]), checked=len(every), wrong=len(wrong))


def _asked(service: JobService, opened: Opened, format: Format) -> tuple[Facts, tuple[bytes, bytes]]:
    """Write the request into the journal, and read both files again: what is exported is what they say."""
    names = service.named_in_exports
    request = Request(VERSION, format, opened.folder.path, names.licence, names.author, names.publisher)
    service.store.note(opened, EXPORT, request.to_json())
    registry = opened.folder.read(_REGISTRY, LARGEST_FILE + 1)
    journal = opened.folder.read(_JOURNAL, JOURNAL_LIMIT)
    try:
        return facts_from(registry, journal, format), (registry, journal)
    except NotOnRecord as error:
        raise _unread(error.findings) from error


def _unread(findings: Sequence[Finding]) -> ExportNotReadBack:
    first = findings[0]
    return ExportNotReadBack(
        where=first.code.value, place=first.where, wanted=first.wanted, found=first.found
    )


def _crate(opened: Opened, facts: Facts, record: tuple[bytes, bytes], beside: Root, rel: RelPath) -> Exported:
    token = new_token()
    staging = staging_of(rel, token)
    left_out: list[str] = []
    try:
        beside.claim_folder(staging)
        with beside.below(staging) as into:
            held = _fill(opened, facts, record, into, left_out)
            document = ro_crate.document(facts, held)
            metadata = _written(document)
            write_verified(into, RelPath((ro_crate.METADATA,)), metadata)
            strangers.read_crate(into.path, document)
        sync_tree(beside, staging, Kind.DIRECTORY)
        with beside.parent(rel) as (fd, name), named(rel):
            platform.rename_exclusive(fd, staging.name, fd, name)
    except BaseException:
        discard(beside, staging)
        raise
    try:
        beside.sync_folder(rel.parent)
        files, odd = held_below(beside, rel)
        registry, journal = (
            beside.read(rel / ro_crate.JOB / name, JOURNAL_LIMIT) for name in (REGISTRY_FILE, JOURNAL_FILE)
        )
        odd += check_crate(files, beside.read(rel / ro_crate.METADATA), registry, journal)
        if odd:
            raise _unread(odd)
    except BaseException:
        withdraw(beside, rel, token)
        raise
    size = sum(one.size for one in files.values())
    path = f"{beside.path.rstrip('/')}/{rel.name}"
    return Exported(
        facts.job, Format.RO_CRATE, path, len(files), size, sha256(metadata).hex, facts.history.head,
        facts.verdict().value, tuple(left_out),
    )  # fmt: skip


def _fill(
    opened: Opened, facts: Facts, record: tuple[bytes, bytes], into: Root, left_out: list[str]
) -> dict[str, Held]:
    """Copy every part; the answer tells of inputs, whose sizes are not all on record."""
    held: dict[str, Held] = {}
    into.make_folders(RelPath((ro_crate.JOB,)))
    for name, data in zip((REGISTRY_FILE, JOURNAL_FILE), record, strict=True):
        write_verified(into, RelPath((ro_crate.JOB, name)), data)
    for part in ro_crate.in_folder(facts):
        target = RelPath.parse(part.crate_path)
        into.make_folders(target.parent)
        copy_unchecked(opened.folder, RelPath.parse(part.source), into, target)
        if part.size is None:
            held[part.crate_path] = Held(into.stat(target).st_size, part.sha256)
    for part in (part for part in ro_crate.parts(facts) if part.optional):
        found = _input(part, into)
        if found is None:
            left_out.append(printable(part.source))
        else:
            held[part.crate_path] = found
    return held


def _input(part: ro_crate.Part, into: Root) -> Held | None:
    """An input from outside the job's folder, when it is still what was used."""
    folder, _, name = part.source.rpartition("/")
    try:
        target, rel = RelPath.parse(part.crate_path), RelPath((name,))
        with Root.open(folder or "/") as beside:
            digest, size = hash_file(beside, rel)
            if digest.hex != part.sha256:
                return None
            into.make_folders(target.parent)
            copy_unchecked(beside, rel, into, target)
    except (MunimentError, BadPath):
        return None
    return Held(size, part.sha256)


def _document(
    opened: Opened, facts: Facts, record: tuple[bytes, bytes], beside: Root, rel: RelPath, key: bytes | None
) -> Exported:
    document = tes.document(facts) if facts.request.format is Format.TES else slsa.document(facts)
    if facts.request.format is Format.SLSA:
        strangers.read_statement(document)
    payload = _written(document)
    files = held_of(opened.folder, [part.source for part in ro_crate.in_folder(facts)])
    odd = check_document(facts.request.format, payload, *record, files)
    if odd:
        raise _unread(odd)
    data = payload if key is None else _written(strangers.signed(payload, key))
    done = write_verified(beside, rel, data)
    path = f"{beside.path.rstrip('/')}/{rel.name}"
    return Exported(
        facts.job, facts.request.format, path, 1, done.size, done.digest.hex, facts.history.head,
        facts.verdict().value,
    )  # fmt: skip


def _written(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
