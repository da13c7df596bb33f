"""Job: tampered twins of exported crates, tasks and statements: what was changed, and what has to be found.

What is expected is written by hand from what each lie is about, never taken from the checker.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.job.export_world import IMAGE_ID, MANIFEST, RUN_ID, sha

from muniment.canonical import canonical
from muniment.digest import sha256

REPORT_AT = f"job/tool/{RUN_ID}/outputs/report.txt"
STDOUT_AT = f"job/tool/{RUN_ID}/stdout.log"
RUN_AT, IMAGE_AT = f"#run-{RUN_ID}", f"#run-{RUN_ID}-image"
OTHER = "cd" * 32

Lie = Callable[[Path], None]


@dataclass(frozen=True)
class Twin:
    """A lie, the code that has to be found for it, and a part of the place that has to be named."""

    name: str
    lie: Lie
    code: str
    where: str


def metadata(crate: Path) -> Path:
    """The metadata of a crate."""
    return crate / "ro-crate-metadata.json"


def edited(change: Callable[[Any], None]) -> Lie:
    """Change the JSON of a document, or of a crate's metadata."""

    def lie(path: Path) -> None:
        file = metadata(path) if path.is_dir() else path
        value = json.loads(file.read_text("utf-8"))
        change(value)
        file.write_text(json.dumps(value, ensure_ascii=False, indent=2), "utf-8")

    return lie


def put(at: str, name: str, value: Any) -> Lie:
    """Give an entity of a crate another value; None takes the property away."""

    def change(crate: Any) -> None:
        (entity,) = (one for one in crate["@graph"] if one["@id"] == at)
        if value is None:
            del entity[name]
        else:
            entity[name] = value

    return edited(change)


def graph(change: Callable[[list[Any]], None]) -> Lie:
    """Change the list of entities."""
    return edited(lambda crate: change(crate["@graph"]))


def without(at: str) -> Lie:
    """Take an entity away."""

    def change(entities: list[Any]) -> None:
        entities[:] = [one for one in entities if one["@id"] != at]

    return graph(change)


def write(name: str, data: bytes) -> Lie:
    """Put other bytes into a file of the crate."""
    return lambda crate: _write(crate / name, data)


def _write(file: Path, data: bytes) -> None:
    file.write_bytes(data)


def both(*lies: Lie) -> Lie:
    """One lie after another."""

    def lie(path: Path) -> None:
        for each in lies:
            each(path)

    return lie


def _reads(crate: Path) -> Path:
    (found,) = (one for one in (crate / "inputs").rglob("*") if one.is_file())
    return found


def _link(crate: Path) -> None:
    file, aside = crate / REPORT_AT, crate.parent / f"{crate.name}-aside"
    file.rename(aside)
    os.symlink(aside, file)


def _lines(change: Callable[[list[Any]], list[Any]], *, resealed: bool = False) -> Lie:
    """Change the events of the journal; resealed, the chain is made whole again."""

    def lie(crate: Path) -> None:
        file = crate / "job" / "journal.jsonl"
        events = change([json.loads(line) for line in file.read_text("utf-8").splitlines()])
        prev, out = "0" * 64, b""
        for event in events:
            if resealed:
                event["prev"] = prev
                del event["sha256"]
                event["sha256"] = prev = sha256(canonical(event)).hex
            out += canonical(event) + b"\n"
        file.write_bytes(out)

    return lie


def _exit_code_on_record(events: list[Any]) -> list[Any]:
    for event in events:
        if event["kind"] == "job.tool_run":
            event["evidence"]["exit_code"] = 9
    return events


def _argv_on_record(events: list[Any]) -> list[Any]:
    for event in events:
        if event["kind"] == "job.tool_run":
            event["evidence"]["argv"] = ["count", "--all"]
    return events


def _run_dropped(events: list[Any]) -> list[Any]:
    return [event for event in events if event["kind"] != "job.tool_run"]


def _formless(events: list[Any]) -> list[Any]:
    events[0]["evidence"] = {"act": ["init"]}
    return events


def _renamed(events: list[Any]) -> list[Any]:
    for event in events:
        event["subject"] = "job:other"
    return events


def _at(instant: str) -> Callable[[list[Any]], list[Any]]:
    def change(events: list[Any]) -> list[Any]:
        events[-1]["at"] = instant
        return events

    return change


def _no_json(crate: Path) -> None:
    metadata(crate).write_text("{")


def _registry(crate: Path) -> None:
    file = crate / "job" / "registry.yaml"
    file.write_text(file.read_text("utf-8").replace("count the reads", "count the leads"), "utf-8")


def _fitted(name: str) -> Lie:
    """Make the metadata's sha256 and size those of the bytes that lie there."""

    def lie(crate: Path) -> None:
        data = (crate / name).read_bytes()
        put(name, "sha256", sha(data))(crate)
        put(name, "contentSize", str(len(data)))(crate)

    return lie


def _input_changed(crate: Path) -> None:
    _reads(crate).write_bytes(b"@b\nACGT\n+\nIIII\n")


def _raw(old: str, new: str) -> Lie:
    def lie(path: Path) -> None:
        file = metadata(path) if path.is_dir() else path
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), "utf-8")

    return lie


CRATES = [
    Twin("an output's bytes", write(REPORT_AT, b"reads: 2\n"), "CHECKSUM", REPORT_AT),
    Twin(
        "an output's bytes, the metadata made to fit",
        both(write(REPORT_AT, b"reads: 222\n"), _fitted(REPORT_AT)),
        "CHECKSUM",
        REPORT_AT,
    ),
    Twin("a log cut off", write(STDOUT_AT, b"do"), "CHECKSUM", STDOUT_AT),
    Twin("an empty output", write("job/outputs/bam", b""), "CHECKSUM", "job/outputs/bam"),
    Twin("an input's bytes", _input_changed, "CHECKSUM", "inputs/"),
    Twin("an input removed", lambda crate: _reads(crate).unlink(), "MISSING_FILE", "inputs/"),
    Twin("an event without a zone", _lines(_at("2026-11-30T12:00:00"), resealed=True), "JOURNAL", "journal"),
    Twin("an event at no time", _lines(_at("yesterday"), resealed=True), "JOURNAL", "journal"),
    Twin("an event before all time", _lines(_at("0001-01-01T00:00:00+23:00"), resealed=True), "JOURNAL", "j"),
    Twin("another checksum", put(REPORT_AT, "sha256", OTHER), "CHECKSUM", f"{REPORT_AT}: sha256"),
    Twin("no checksum", put(REPORT_AT, "sha256", None), "CHECKSUM", f"{REPORT_AT}: sha256"),
    Twin("another size", put(REPORT_AT, "contentSize", "10"), "SIZE", f"{REPORT_AT}: contentSize"),
    Twin(
        "a checksum in capitals", put(REPORT_AT, "sha256", "AB" * 32), "DIGEST_FORM", f"{REPORT_AT}: sha256"
    ),
    Twin("a short checksum", put(REPORT_AT, "sha256", "ab" * 31), "DIGEST_FORM", f"{REPORT_AT}: sha256"),
    Twin("another manifest", put(IMAGE_AT, "sha256", OTHER), "IMAGE", f"{IMAGE_AT}: sha256"),
    Twin(
        "a manifest that is no hex", put(IMAGE_AT, "sha256", "xy" * 32), "DIGEST_FORM", f"{IMAGE_AT}: sha256"
    ),
    Twin(
        "another image id", put(IMAGE_AT, "identifier", f"sha256:{OTHER}"), "IMAGE", f"{IMAGE_AT}: identifier"
    ),
    Twin("an image id without its kind", put(IMAGE_AT, "identifier", IMAGE_ID[7:]), "DIGEST_FORM", IMAGE_AT),
    Twin("no image id", put(IMAGE_AT, "identifier", None), "IMAGE", f"{IMAGE_AT}: identifier"),
    Twin("another tag", put(IMAGE_AT, "tag", "4"), "IMAGE", f"{IMAGE_AT}: tag"),
    Twin("another registry", put(IMAGE_AT, "registry", "docker.io"), "IMAGE", f"{IMAGE_AT}: registry"),
    Twin("no image", without(IMAGE_AT), "IMAGE", IMAGE_AT),
    Twin("an action without its image", put(RUN_AT, "containerImage", None), "IMAGE", RUN_AT),
    Twin(
        "another status",
        put(RUN_AT, "actionStatus", "http://schema.org/FailedActionStatus"),
        "STATUS",
        f"{RUN_AT}: actionStatus",
    ),
    Twin("no status", put(RUN_AT, "actionStatus", None), "STATUS", f"{RUN_AT}: actionStatus"),
    Twin("another status of the job", put("./", "creativeWorkStatus", "failed"), "STATUS", "./"),
    Twin("another outcome", put(f"{RUN_AT}-outcome", "value", "oom"), "STATUS", f"{RUN_AT}-outcome"),
    Twin("another exit code", put(f"{RUN_AT}-exit-code", "value", 1), "EXIT_CODE", f"{RUN_AT}-exit-code"),
    Twin("an exit code that is false", put(f"{RUN_AT}-exit-code", "value", False), "EXIT_CODE", "-exit-code"),
    Twin("an exit code as a text", put(f"{RUN_AT}-exit-code", "value", "0"), "EXIT_CODE", f"{RUN_AT}-exit"),
    Twin("no exit code", without(f"{RUN_AT}-exit-code"), "EXIT_CODE", f"{RUN_AT}-exit-code"),
    Twin(
        "a result that is not there",
        put(RUN_AT, "result", [{"@id": REPORT_AT}, {"@id": "job/outputs/none"}]),
        "DANGLING",
        f"{RUN_AT}: result",
    ),
    Twin("no result", put(RUN_AT, "result", None), "MISSING", f"{RUN_AT}: result"),
    Twin("other arguments", put(f"{RUN_AT}-arguments", "value", '["rm"]'), "DIFFERS", f"{RUN_AT}-arguments"),
    Twin(
        "another beginning", put(RUN_AT, "startTime", "2026-11-30T12:00:00.000+00:00"), "DIFFERS", "startTime"
    ),
    Twin(
        "another tool", put(RUN_AT, "instrument", {"@id": "https://tool.example/"}), "DANGLING", "instrument"
    ),
    Twin(
        "another author",
        put("https://people.example/mei", "name", "Somebody"),
        "DIFFERS",
        "https://people.example/mei: name",
    ),
    Twin("a claim more", put("./", "award", "the prize"), "EXTRA", "./: award"),
    Twin("an entity more", graph(lambda all: all.append({"@id": "#x", "@type": "Thing"})), "EXTRA", "#x"),
    Twin("an entity twice", graph(lambda all: all.append(dict(all[1]))), "EXTRA", "./"),
    Twin("an entity less", without("#workflow"), "MISSING", "#workflow"),
    Twin(
        "a term of another meaning",
        edited(lambda crate: crate["@context"][1].update(sha256="https://schema.org/name")),
        "CHECKSUM",
        "@context",
    ),
    Twin("a file removed", lambda crate: (crate / REPORT_AT).unlink(), "MISSING_FILE", REPORT_AT),
    Twin(
        "a file removed from disk and metadata",
        both(lambda crate: (crate / STDOUT_AT).unlink(), without(STDOUT_AT)),
        "MISSING_FILE",
        STDOUT_AT,
    ),
    Twin("a file added", write("job/outputs/more.bam", b"x"), "EXTRA_FILE", "job/outputs/more.bam"),
    Twin("a hidden file added", write(".hidden", b"x"), "EXTRA_FILE", ".hidden"),
    Twin("a link to the same bytes", _link, "NOT_A_FILE", REPORT_AT),
    Twin(
        "no registry", lambda crate: (crate / "job/registry.yaml").unlink(), "MISSING_FILE", "registry.yaml"
    ),
    Twin("no journal", lambda crate: (crate / "job/journal.jsonl").unlink(), "MISSING_FILE", "journal.jsonl"),
    Twin("the registry edited", _registry, "REGISTRY", "registry.yaml"),
    Twin(
        "the registry edited, the metadata made to fit",
        both(_registry, _fitted("job/registry.yaml")),
        "REGISTRY",
        "registry.yaml",
    ),
    Twin("an event edited", _lines(_exit_code_on_record), "JOURNAL", "journal.jsonl: "),
    # The journal says 9, or says nothing of a run, and the registry says complete: these two disagree.
    Twin(
        "an event edited, the chain made whole",
        _lines(_exit_code_on_record, resealed=True),
        "STATUS",
        "registry.yaml: workflow.status",
    ),
    Twin(
        "an event dropped, the chain made whole",
        _lines(_run_dropped, resealed=True),
        "STATUS",
        "registry.yaml: workflow.status",
    ),
    Twin(
        "arguments edited on record, the chain made whole",
        _lines(_argv_on_record, resealed=True),
        "DIFFERS",
        f"{RUN_AT}-arguments",
    ),
    Twin("an event dropped", _lines(_run_dropped), "JOURNAL", "journal.jsonl: "),
    Twin("the last event cut off", _lines(lambda events: events[:-1]), "JOURNAL", "journal.jsonl: "),
    Twin("half a line at the end", lambda crate: _torn(crate), "JOURNAL", "journal.jsonl: "),
    Twin("an event of no form", _lines(_formless, resealed=True), "JOURNAL", "journal.jsonl"),
    Twin("a journal of another job", _lines(_renamed, resealed=True), "JOURNAL", "confirmation"),
    Twin("metadata that is no JSON", _no_json, "DOCUMENT", "ro-crate"),
    Twin("a member twice", _raw('"@graph"', '"@graph": [], "@graph"'), "DOCUMENT", "ro-crate-metadata.json"),
    Twin("a graph that is no list", edited(lambda crate: crate.update({"@graph": {}})), "DOCUMENT", "@graph"),
]


def _torn(crate: Path) -> None:
    file = crate / "job" / "journal.jsonl"
    file.write_bytes(file.read_bytes() + b'{"v":1')


def _log(task: Any) -> Any:
    return task["logs"][0]


def _first(task: Any) -> Any:
    return _log(task)["logs"][0]


TASKS = [
    Twin("another state", edited(lambda t: t.update(state="EXECUTOR_ERROR")), "STATUS", "state"),
    Twin("no state", edited(lambda t: t.pop("state")), "STATUS", "state"),
    Twin("another exit code", edited(lambda t: _first(t).update(exit_code=1)), "EXIT_CODE", "exit_code"),
    Twin("no executor's log", edited(lambda t: _log(t).update(logs=[])), "MISSING", "logs[0].logs"),
    Twin(
        "another manifest",
        _raw(f"counter@{MANIFEST}", f"counter@sha256:{OTHER}"),
        "IMAGE",
        "executors[0].image",
    ),
    Twin(
        "a manifest that is no hex", _raw(f"counter@{MANIFEST}", "counter@sha256:xy"), "DIGEST_FORM", "image"
    ),
    Twin(
        "another image id",
        edited(lambda t: t["tags"].update({"muniment.image_id": f"sha256:{OTHER}"})),
        "IMAGE",
        "tags.muniment.image_id",
    ),
    Twin("other arguments", edited(lambda t: t["executors"][0].update(command=["rm"])), "DIFFERS", "command"),
    Twin(
        "another size", edited(lambda t: _log(t)["outputs"][0].update(size_bytes="1")), "SIZE", "size_bytes"
    ),
    Twin("an output more", edited(lambda t: t["outputs"].append(t["outputs"][0])), "EXTRA", "outputs"),
    Twin("an output less", edited(lambda t: _log(t).update(outputs=[])), "MISSING", "logs[0].outputs"),
    Twin(
        "another checksum",
        edited(
            lambda t: _log(t)["metadata"].update({k: OTHER for k in _log(t)["metadata"] if "report" in k})
        ),
        "CHECKSUM",
        "report.txt",
    ),
    Twin(
        "a checksum that is no hex",
        edited(lambda t: _log(t)["metadata"].update({k: "0" for k in _log(t)["metadata"] if "report" in k})),
        "DIGEST_FORM",
        "report.txt",
    ),
    Twin(
        "another record",
        edited(lambda t: t["tags"].update({"muniment.registry_sha256": OTHER})),
        "CHECKSUM",
        "muniment.registry_sha256",
    ),
    Twin(
        "another journal", edited(lambda t: t["tags"].update({"muniment.journal_head": OTHER})), "JOURNAL", ""
    ),
    Twin("no journal", edited(lambda t: t["tags"].pop("muniment.journal_head")), "DOCUMENT", "$"),
    Twin(
        "another time", edited(lambda t: _first(t).update(end_time="2026-11-30T13:00:08Z")), "DIFFERS", "end"
    ),
    Twin("a member more", edited(lambda t: t.update(volumes=["/x"])), "EXTRA", "volumes"),
]


def _predicate(statement: Any) -> Any:
    return statement["predicate"]


def _internal(statement: Any) -> Any:
    return _predicate(statement)["buildDefinition"]["internalParameters"]


def _needed(statement: Any) -> Any:
    return _predicate(statement)["buildDefinition"]["resolvedDependencies"]


def _image(statement: Any) -> Any:
    return next(one for one in _needed(statement) if one["name"] == "image")


STATEMENTS = [
    Twin(
        "another output",
        edited(lambda s: s["subject"][0]["digest"].update(sha256=OTHER)),
        "CHECKSUM",
        "subject[0].digest.sha256",
    ),
    Twin(
        "a digest that is no hex",
        edited(lambda s: s["subject"][0]["digest"].update(sha256="latest")),
        "DIGEST_FORM",
        "subject[0].digest.sha256",
    ),
    Twin("an output more", edited(lambda s: s["subject"].append(s["subject"][0])), "EXTRA", "subject"),
    Twin("an output less", edited(lambda s: s["subject"].pop()), "MISSING", "subject"),
    Twin("another name", edited(lambda s: s["subject"][0].update(name="x")), "DIFFERS", "subject[0].name"),
    Twin("another exit code", edited(lambda s: _internal(s).update(exitCode=1)), "EXIT_CODE", "exitCode"),
    Twin("another status", edited(lambda s: _internal(s).update(status="failed")), "STATUS", "status"),
    Twin("another outcome", edited(lambda s: _internal(s).update(outcome="oom")), "STATUS", "outcome"),
    Twin(
        "another image id",
        edited(lambda s: _internal(s).update(imageId=f"sha256:{OTHER}")),
        "IMAGE",
        "imageId",
    ),
    Twin(
        "an image id without its kind",
        edited(lambda s: _internal(s).update(imageId=OTHER)),
        "DIGEST_FORM",
        "imageId",
    ),
    Twin("another image", edited(lambda s: _image(s).update(uri="docker://x")), "IMAGE", "uri"),
    Twin(
        "another manifest",
        edited(lambda s: _image(s)["digest"].update(sha256=OTHER)),
        "CHECKSUM",
        "resolvedDependencies",
    ),
    Twin("a dependency less", edited(lambda s: _needed(s).pop()), "MISSING", "resolvedDependencies"),
    Twin(
        "another predicate",
        edited(lambda s: s.update(predicateType="https://x/")),
        "DIFFERS",
        "predicateType",
    ),
    Twin(
        "another builder",
        edited(lambda s: _predicate(s)["runDetails"]["builder"].update(id="https://x/")),
        "DIFFERS",
        "builder.id",
    ),
    Twin(
        "another journal",
        edited(lambda s: _predicate(s)["runDetails"]["byproducts"][-1]["annotations"].update(head=OTHER)),
        "JOURNAL",
        "journal.jsonl",
    ),
]
