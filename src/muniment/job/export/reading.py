"""Room `job`: an exported crate, task or statement read from disk and held against its record."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muniment.canonical import Json, NotJson, read_json
from muniment.disk.errors import NotThere
from muniment.disk.root import Root, real_folder
from muniment.errors import MunimentError
from muniment.job.errors import BadJobId, NoExport, RecordNotHere
from muniment.job.export import ro_crate, strangers
from muniment.job.export.checking import check_crate, check_document, format_of, head_of, job_of
from muniment.job.export.facts import JOURNAL_FILE, REGISTRY_FILE, Facts, Format
from muniment.job.export.findings import Code, Finding
from muniment.job.export.folder import DOCUMENT_LIMIT, held_below, held_of
from muniment.job.export.record import NotOnRecord, facts_from
from muniment.job.journal import LIMIT as JOURNAL_LIMIT
from muniment.job.reader import LARGEST_FILE
from muniment.job.store import check_job_id
from muniment.message import say
from muniment.path import RelPath, printable


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found when an export was read again; `not_repeated` names what could not be looked at."""

    kind: str
    job: str = ""
    verdict: str = ""
    head: str = ""
    findings: tuple[Finding, ...] = ()
    not_repeated: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether it says what its record says, and its files are what it says."""
        return not self.findings

    def to_json(self) -> dict[str, Json]:
        """What `--json` shows."""
        return {
            "kind": self.kind,
            "job": self.job,
            "verdict": self.verdict,
            "journal_head": self.head,
            "verified": self.good,
            "findings": [one.to_json() for one in self.findings],
            "not_repeated": list(self.not_repeated),
        }


def is_crate(path: Path) -> bool:
    """Whether a folder says that it is a crate."""
    return path.is_dir() and os.path.lexists(path / ro_crate.METADATA)


def is_export(path: Path) -> bool:
    """Whether a folder or file says that it is one of our exports; it may still be none that is true."""
    if is_crate(path):
        return True
    if not path.is_file():
        return False
    with Root.open(real_folder(path.parent)) as beside:
        try:
            value = read_json(beside.read(RelPath((path.name,)), DOCUMENT_LIMIT))
        except (MunimentError, NotJson):
            return False
    return format_of(value) is not None or (isinstance(value, dict) and "payloadType" in value)


def verify_crate(path: Path, record: Path | None = None) -> Checked:
    """Read a whole crate; with `record`, a folder that holds the job's own registry and journal, the
    crate's must be those."""
    real = real_folder(path)
    with Root.open(real.parent) as beside:
        rel = RelPath((real.name,))
        files, odd = held_below(beside, rel)
        papers: list[bytes] = []
        for name, limit in _papers(ro_crate.METADATA, f"{ro_crate.JOB}/"):
            try:
                papers.append(beside.read(rel / RelPath.parse(name), limit))
            except MunimentError as error:
                odd.append(_no_paper(name, error))
    if len(papers) < 3:
        return Checked(Format.RO_CRATE.value, findings=tuple(odd))
    metadata, registry, journal = papers
    odd += check_crate(files, metadata, registry, journal)
    if record is not None:
        odd += _against(record, registry, journal)
    facts = _facts(registry, journal, Format.RO_CRATE, None)
    return _checked(Format.RO_CRATE.value, facts, odd, () if record else ("record",))


def _papers(metadata: str, folder: str) -> list[tuple[str, int]]:
    return [
        (metadata, DOCUMENT_LIMIT),
        (f"{folder}{REGISTRY_FILE}", LARGEST_FILE + 1),
        (f"{folder}{JOURNAL_FILE}", JOURNAL_LIMIT),
    ]


def _no_paper(name: str, error: MunimentError) -> Finding:
    code = Code.MISSING_FILE if isinstance(error, NotThere) else Code.NOT_A_FILE
    return Finding(code, name, say("this file"), error.reason)


def _against(record: Path, registry: bytes, journal: bytes) -> list[Finding]:
    """The crate's record must be the job's own, whose journal may have gone on since."""
    with Root.open(real_folder(record)) as folder:
        own = _read_record(folder)
    if own is None:
        raise RecordNotHere(where=printable(str(record)), job="-")
    found: list[Finding] = []
    if own[0] != registry:
        found.append(Finding(Code.REGISTRY, REGISTRY_FILE, say("the job's own"), say("another")))
    if not own[1].startswith(journal):
        found.append(
            Finding(Code.JOURNAL, JOURNAL_FILE, say("the beginning of the job's own"), say("another"))
        )
    return found


def verify_document(
    path: Path, jobs: Callable[[], str], record: Path | None = None, key: bytes | None = None
) -> Checked:
    """Read a TES task or a statement, signed or not.  It is held against the record in `record`, else
    against the job of its name in the folder `jobs` gives: never where it says itself.

    `NoExport` when it is neither, `RecordNotHere` when there is no such record.
    """
    with Root.open(real_folder(path.parent)) as beside:
        data = beside.read(RelPath((path.name,)), DOCUMENT_LIMIT)
    document, data, signature = _unwrapped(path, data, key)
    format = format_of(document)
    if format is None:
        raise NoExport(where=printable(str(path)), path=printable(str(path)))
    folder = record if record is not None else Path(jobs(), _named_job(path, format, document))
    missing = RecordNotHere(where=printable(str(folder)), job=printable(job_of(format, document) or "-"))
    if not folder.is_dir():
        raise missing
    with Root.open(real_folder(folder)) as own:
        papers = _read_record(own)
        if papers is None:
            raise missing
        facts = _facts(*papers, format, head_of(format, document))
        files = held_of(own, [part.source for part in ro_crate.in_folder(facts)]) if facts is not None else {}
    odd = check_document(format, data, *papers, files)
    if signature is False:
        odd.append(Finding(Code.SIGNATURE, "signatures", say("by this key"), say("none")))
    outside = facts is not None and any(part.optional for part in ro_crate.parts(facts))
    skipped = (*(("inputs",) if outside else ()), *(("signature",) if signature is None else ()))
    return _checked(format.value, facts, odd, skipped)


def _unwrapped(path: Path, data: bytes, key: bytes | None) -> tuple[Any, bytes, bool | None]:
    """The document itself; whether the signature is by the key is None where nothing had to be asked."""
    try:
        value = read_json(data)
        if not (isinstance(value, dict) and "payloadType" in value):
            return value, data, key is None
        payload, by_key = strangers.opened(value, key)
        return read_json(payload), payload, by_key
    except ValueError as error:
        why = say("{finding}", finding=printable(str(error)))
        raise NoExport(where=printable(str(path)), why=why, path=printable(str(path))) from error


def _named_job(path: Path, format: Format, document: Any) -> str:
    try:
        return check_job_id(job_of(format, document) or "")
    except BadJobId as error:
        raise NoExport(where=printable(str(path)), why=error.message, path=printable(str(path))) from error


def _read_record(folder: Root) -> tuple[bytes, bytes] | None:
    try:
        registry = folder.read(RelPath((REGISTRY_FILE,)), LARGEST_FILE + 1)
        return registry, folder.read(RelPath((JOURNAL_FILE,)), JOURNAL_LIMIT)
    except NotThere:
        return None


def _facts(registry: bytes, journal: bytes, format: Format, head: str | None) -> Facts | None:
    try:
        return facts_from(registry, journal, format, head)
    except NotOnRecord:
        return None


def _checked(kind: str, facts: Facts | None, odd: list[Finding], skipped: tuple[str, ...]) -> Checked:
    if facts is None:
        return Checked(kind, findings=tuple(odd), not_repeated=skipped)
    return Checked(kind, facts.job, facts.verdict().value, facts.history.head, tuple(odd), skipped)
