"""Room `job`: an exported document held against the record it was made from.  Pure: bytes in, findings out.

The document is derived again from registry and journal and compared member by member, so whatever
it says beyond the record, or leaves out, is found.  A second look asks one thing without the mapping:
whether anything calls a run complete that the journal does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from muniment.canonical import NotJson, read_json
from muniment.job.export import ro_crate, slsa, tes
from muniment.job.export.facts import Facts, Format, Held, Verdict
from muniment.job.export.findings import Code, Finding
from muniment.job.export.record import NotOnRecord, facts_from
from muniment.job.finding import shown
from muniment.message import Message, say
from muniment.path import printable

DEEPEST = 32
_HEX = re.compile(r"[0-9a-f]{64}")
_DIGEST_NAMES = ("sha256", "identifier", "muniment.image_id", "imageId", "muniment.registry_sha256")


def check_crate(files: Mapping[str, Held], metadata: bytes, registry: bytes, journal: bytes) -> list[Finding]:
    """What is wrong with a crate, from its metadata, the record in it, and the digests of all its files."""
    try:
        facts = facts_from(registry, journal, Format.RO_CRATE)
    except NotOnRecord as error:
        return list(error.findings)
    found = list(_files(facts, files))
    document = _read(metadata, ro_crate.METADATA)
    if isinstance(document, Finding):
        return [*found, document]
    return [
        *found,
        *_gone(facts, files, document),
        *_crate(document, ro_crate.document(facts, files)),
        *_too_good(facts, document),
    ]


def check_document(
    format: Format, data: bytes, registry: bytes, journal: bytes, files: Mapping[str, Held]
) -> list[Finding]:
    """What is wrong with a TES task or a statement; `files` are those of the job's folder that it names."""
    document = _read(data, "$")
    if isinstance(document, Finding):
        return [document]
    head = head_of(format, document)
    if head is None:
        return [Finding(Code.DOCUMENT, "$", say("the head of a journal"), say("nothing"))]
    try:
        facts = facts_from(registry, journal, format, head)
    except NotOnRecord as error:
        return list(error.findings)
    if format is Format.TES and not facts.runs:
        return [Finding(Code.DOCUMENT, "$", say("a run on record"), say("none"))]
    wanted = tes.document(facts) if format is Format.TES else slsa.document(facts)
    return [
        *_named_files(facts, files),
        *_compare(wanted, document, ""),
        *_too_good(facts, document),
    ]


def head_of(format: Format, document: Any) -> str | None:
    """The event of the journal up to which a document goes, by its own word."""
    steps: tuple[str | int, ...] = ("tags", "muniment.journal_head")
    if format is Format.SLSA:
        steps = ("predicate", "runDetails", "byproducts", -1, "annotations", "head")
    value = document
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value if isinstance(value, str) and _HEX.fullmatch(value) else None


def job_of(format: Format, document: Any) -> str | None:
    """The job that a document is about, by its own word."""
    steps: tuple[str, ...] = ("tags", "muniment.job")
    if format is Format.SLSA:
        steps = ("predicate", "buildDefinition", "externalParameters", "job")
    value = document
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def format_of(document: Any) -> Format | None:
    """What kind of document a JSON value is, by the members that only that kind has."""
    if not isinstance(document, dict):
        return None
    if "_type" in document and "predicateType" in document:
        return Format.SLSA
    return Format.TES if "executors" in document else None


def _read(data: bytes, where: str) -> Any:
    try:
        value = read_json(data)
    except NotJson as error:
        return Finding(Code.DOCUMENT, where, say("strict JSON"), printable(str(error)))
    if not isinstance(value, dict):
        return Finding(Code.DOCUMENT, where, say("an object"), shown(value))
    return value


def _files(facts: Facts, files: Mapping[str, Held]) -> Iterator[Finding]:
    """Every file of the crate against what is on record of it."""
    wanted = {part.crate_path: part for part in ro_crate.parts(facts)}
    for path, part in wanted.items():
        held = files.get(path)
        if held is None:
            if not part.optional:
                yield Finding(Code.MISSING_FILE, printable(path), part.sha256, say("nothing"))
            continue
        yield from _bytes(path, part, held)
    for path in files:
        if path not in wanted and path != ro_crate.METADATA:
            yield Finding(Code.EXTRA_FILE, printable(path), say("nothing"), files[path].sha256)


def _gone(facts: Facts, files: Mapping[str, Held], document: dict[str, Any]) -> Iterator[Finding]:
    """Inputs may be left out of a crate, but not when it says that it has them."""
    listed = {one.get("@id") for one in _list(document.get("@graph")) if _has_text(one, "@id")}
    for part in ro_crate.parts(facts):
        if part.optional and part.crate_path not in files and ro_crate.identifier(part.crate_path) in listed:
            yield Finding(Code.MISSING_FILE, printable(part.crate_path), part.sha256, say("nothing"))


def _has_text(value: object, name: str) -> bool:
    return isinstance(value, dict) and isinstance(value.get(name), str)


def _named_files(facts: Facts, files: Mapping[str, Held]) -> Iterator[Finding]:
    """The files of the job's folder against what is on record of them."""
    for part in ro_crate.in_folder(facts):
        held = files.get(part.source)
        if held is None:
            yield Finding(Code.MISSING_FILE, printable(part.source), part.sha256, say("nothing"))
        else:
            yield from _bytes(part.source, part, held)


def _bytes(path: str, wanted: ro_crate.Part, found: Held) -> Iterator[Finding]:
    if wanted.sha256 != found.sha256:
        yield Finding(Code.CHECKSUM, printable(path), wanted.sha256, found.sha256)
    elif wanted.size not in (None, found.size):
        yield Finding(Code.SIZE, printable(path), str(wanted.size), str(found.size))


def _crate(found: dict[str, Any], wanted: dict[str, Any]) -> Iterator[Finding]:
    for name in sorted(found.keys() - wanted.keys()):
        yield Finding(Code.EXTRA, printable(name), say("nothing"), shown(found[name]))
    yield from _compare(wanted["@context"], found.get("@context"), "@context")
    graph = found.get("@graph")
    if not isinstance(graph, list):
        yield Finding(Code.DOCUMENT, "@graph", say("a list"), shown(graph))
        return
    there: dict[str, dict[str, Any]] = {}
    for number, entity in enumerate(graph):
        at = entity.get("@id") if isinstance(entity, dict) else None
        if not isinstance(at, str):
            yield Finding(Code.DOCUMENT, f"@graph[{number}]", say("an entity with an @id"), shown(entity))
        elif at in there:
            yield Finding(Code.EXTRA, printable(at), say("one entity of this name"), say("two"))
        else:
            there[at] = entity
    owed = {entity["@id"]: entity for entity in wanted["@graph"]}
    for at in sorted(owed.keys() - there.keys()):
        yield Finding(
            _code_of(owed[at], "@id", Code.MISSING), printable(at), say("this entity"), say("nothing")
        )
    for at in sorted(there.keys() - owed.keys()):
        yield Finding(Code.EXTRA, printable(at), say("nothing"), say("an entity"))
    for at, entity in there.items():
        yield from _dangling(at, entity, there)
        if at in owed:
            yield from _entity(at, owed[at], entity)


def _entity(at: str, wanted: dict[str, Any], found: dict[str, Any]) -> Iterator[Finding]:
    for name in sorted(wanted.keys() | found.keys()):
        if (name in wanted) != (name in found) or not _same(wanted.get(name), found.get(name)):
            old, new = wanted.get(name), found.get(name)
            otherwise = (
                Code.MISSING if name not in found else Code.EXTRA if name not in wanted else Code.DIFFERS
            )
            code = _code_of(wanted, name, otherwise)
            if name in _DIGEST_NAMES and isinstance(new, str) and not _well_formed(new, old):
                code = Code.DIGEST_FORM
            yield Finding(code, printable(f"{at}: {name}"), _told(old), _told(new))


def _dangling(at: str, entity: dict[str, Any], there: Mapping[str, Any]) -> Iterator[Finding]:
    """References to entities that the crate does not describe; a term's own address is none."""
    for name, value in entity.items():
        for one in value if isinstance(value, list) else [value]:
            target = one.get("@id") if isinstance(one, dict) else None
            if (
                isinstance(target, str)
                and target not in there
                and name not in ("additionalType", "conformsTo")
            ):
                where = printable(f"{at}: {name}")
                yield Finding(Code.DANGLING, where, say("an entity of the crate"), printable(unquote(target)))


def _same(one: object, other: object) -> bool:
    """Whether two JSON values are the same, kind and all: `0`, `0.0` and `false` are three."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


_OF_IMAGE = ("containerImage", "image", "muniment.image_id", "imageId", "mediaType", "uri")
_OF_STATUS = ("actionStatus", "creativeWorkStatus", "error", "state", "status", "verdict", "outcome", "phase",
              "muniment.status", "muniment.outcome", "system_logs")  # fmt: skip


def _code_of(entity: Mapping[str, Any], name: str, otherwise: Code) -> Code:
    """What it means when a property of an entity is not as it should be."""
    if entity.get("@type") == "ContainerImage":
        return Code.IMAGE
    if str(entity.get("@id", "")).endswith("-exit-code"):
        return Code.EXIT_CODE
    if entity.get("@type") == "PropertyValue" and entity.get("name") == "outcome":
        return Code.STATUS
    return _by_name(name, otherwise)


def _by_name(name: str, otherwise: Code) -> Code:
    if name in _OF_STATUS:
        return Code.STATUS
    if name in _OF_IMAGE:
        return Code.IMAGE
    if name in ("sha256", "muniment.registry_sha256") or name.startswith("sha256 "):
        return Code.CHECKSUM
    if name in ("contentSize", "size_bytes"):
        return Code.SIZE
    return Code.EXIT_CODE if name in ("exit_code", "exitCode") else otherwise


def _compare(wanted: Any, found: Any, path: str, name: str = "", depth: int = 0) -> Iterator[Finding]:
    """Two JSON values, member by member; types count, and so does the order of a list."""
    where = path or "$"
    if depth > DEEPEST:
        yield Finding(Code.DOCUMENT, printable(where), say("less depth"), say("more"))
    elif isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted(wanted.keys() | found.keys()):
            inner = f"{path}.{key}" if path else key
            if key not in found:
                yield Finding(
                    _by_name(key, Code.MISSING), printable(inner), _told(wanted[key]), say("nothing")
                )
            elif key not in wanted:
                yield Finding(_by_name(key, Code.EXTRA), printable(inner), say("nothing"), _told(found[key]))
            else:
                yield from _compare(wanted[key], found[key], inner, key, depth + 1)
    elif isinstance(wanted, list) and isinstance(found, list):
        for number, (old, new) in enumerate(zip(wanted, found, strict=False)):
            yield from _compare(old, new, f"{path}[{number}]", name, depth + 1)
        if len(wanted) != len(found):
            code = Code.MISSING if len(wanted) > len(found) else Code.EXTRA
            yield Finding(code, printable(where), _told(wanted), _told(found))
    elif type(wanted) is not type(found) or wanted != found:
        code = _by_name(name, Code.DIFFERS)
        digest = code is Code.CHECKSUM or name in ("image", *_DIGEST_NAMES)
        if digest and isinstance(found, str) and not _well_formed(found, wanted):
            code = Code.DIGEST_FORM
        yield Finding(code, printable(where), _told(wanted), _told(found))


def _well_formed(found: str, wanted: object) -> bool:
    """Whether a digest is spelled as one; what was to be something else has no form to keep."""
    digits = str(wanted).rpartition(":")[2]
    if not _HEX.fullmatch(digits):
        return True
    _, colon, spelled = found.rpartition(":")
    return _HEX.fullmatch(spelled) is not None and (bool(colon) == (":" in str(wanted)))


def _told(value: object) -> Message | str:
    return say("nothing") if value is None else shown(value)


def _too_good(facts: Facts, document: dict[str, Any]) -> Iterator[Finding]:
    """Whatever says complete where the record does not, looked for without the mapping."""
    if facts.verdict() is Verdict.COMPLETE:
        return
    run = facts.history.runs[-1] if facts.history.runs else None
    if document.get("state") == "COMPLETE":
        yield Finding(Code.STATUS, "state", say("no success"), "COMPLETE")
    made = {one.sha256 for one in run.outputs} if run is not None else set()
    for number, one in enumerate(_list(document.get("subject"))):
        digest = one.get("digest") if isinstance(one, dict) else None
        named = digest.get("sha256") if isinstance(digest, dict) else None
        if isinstance(named, str) and named in made:
            yield Finding(Code.STATUS, f"subject[{number}]", say("no output"), _told(named))
    if run is None and facts.flow_verdict() is Verdict.COMPLETE:
        return
    last = f"#run-{run.run}" if run is not None else "#workflow"
    for entity in _list(document.get("@graph")):
        if isinstance(entity, dict) and entity.get("@id") == last:
            status = entity.get("actionStatus")
            if status != ro_crate.FAILED:
                yield Finding(Code.STATUS, f"{last}: actionStatus", ro_crate.FAILED, _told(status))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
