"""Job: every way to spoil one field of a valid registry, with the field that must be named.

What is expected comes from the specification's schema: the type of a field is the type it has in
the template or in the written item shapes, and its rule stands in the tables below.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.job.registries import VALID

Place = tuple[str | int, ...]

AUTHORING = ("draft", "authoring", "nodes", "edges", "prompt", "workflow_draft", "editor", "allow_list")
"""Fields of the authoring lane and the like: a registry has none of them."""

NULLABLE = ("pre_image_id", "post_image_id", "source")
FREE = {"objective", "project_id", "id", "version_id", "keyword", "task", "role", "fileId", "topic"}
"""Texts without a form of their own (they may still be bound by a rule between fields)."""

OTHERS: tuple[Any, ...] = (None, True, 0, 7, 1.5, 1.0, "", "text", [], ["x"], {}, {"x": 1})

WRONG_WORDS = (
    "",
    "x",
    "ACTIVE",
    "Active",
    " active",
    "active ",
    "running",
    "submitted ",
    "planed",
    "file",
    "done",
    "已",
)
ENUMERATED = {
    "phase": {"initialize", "planned", "awaiting_plan_confirmation", "submitted", "finalize", "document_gap"},
    "status": {"active", "blocked", "failed", "cancelled", "complete"},
    "type": {"FILE", "DIR"},
    "source": {"routing", "heuristic", "default"},
}
CONSTANT = {"schema_version": ("1.1", "1", "1.0 ", "2.0"), "lane": ("authoring", "Execution", "execution ")}
BAD_VERSIONS: tuple[Any, ...] = (0, -1, 1.0, "1", "1 ", "01", "latest", ">=1", "1.0", 2**53, True, None)
BAD_PATHS = (
    "relative",
    "./a",
    "~/a",
    "/data/authoring",
    "/data/authoring/",
    "/data/authoring/flow.cwl",
    "/data/output/../authoring/x",
    "/data/./x",
    "/data//x",
    "/data/x/",
    "/..",
    "/",
    "/a\0b",
    "//data/x",
    " /data/x",
)
BAD_HEX = (
    "ab" * 31,
    "ab" * 33,
    "AB" * 32,
    "zz" * 32,
    "ab" * 32 + "\n",
    " " + "ab" * 32,
    "sha256:" + "ab" * 32,
)
BAD_TIMES = (
    "yesterday",
    "2026-11-30",
    "2026-11-30T10:00:00",
    "2026-11-30 10:00:00Z",
    "2026-13-41T99:00:00Z\n",
)
BAD_IMAGES = ("", "ab" * 32, "sha256:" + "AB" * 32, "sha256:" + "ab" * 31, "fastqc:3", "sha512:" + "ab" * 32)
BAD_SIZES = (-1, 2**53, 1.0, "7", True, None)
PATHS = {"input_path", "output_dir", "path"}
HEXES = {"summary_sha256", "sha256"}
TIMES = {"retrieved_at", "pulled_at"}
IMAGES = {"pre_image_id", "post_image_id"}


@dataclass(frozen=True, slots=True)
class Corruption:
    """A spoiled registry, how it was spoiled, and the path that an error must name."""

    how: str
    value: Any
    path: str


def spell(place: Place) -> str:
    """A place as errors spell it."""
    out = ""
    for step in place:
        if isinstance(step, int):
            out += f"[{step}]"
        else:
            out += ("." if out else "") + step
    return out or "$"


def walk(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value of a registry with its place, the whole first."""
    yield place, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, (*place, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from walk(inner, (*place, number))


def put(value: Any, place: Place, new: Any) -> Any:
    """A copy with another value at a place."""
    if not place:
        return new
    out = copy.deepcopy(value)
    inner = out
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = new
    return out


def shape_corruptions() -> Iterator[Corruption]:
    """Fields dropped, added, retyped, and given values that their own form forbids."""
    for name, make in VALID.items():
        base = make()
        for place, value in walk(base):
            where = f"{name}: {spell(place)}"
            if isinstance(value, dict):
                for key in value:
                    out = put(base, place, {k: v for k, v in value.items() if k != key})
                    yield Corruption(f"{where}: {key} dropped", out, spell((*place, key)))
                for key in AUTHORING:
                    out = put(base, place, {**value, key: "x"})
                    yield Corruption(f"{where}: {key} added", out, spell((*place, key)))
            for other in OTHERS:
                if _json_type(other) != _json_type(value) and not (_nullable(place) and other is None):
                    if _nullable(place) and value is None and isinstance(other, str):
                        continue
                    yield Corruption(f"{where}: is {other!r}", put(base, place, other), spell(place))
            yield from _forms(where, base, place, value)


def _json_type(value: Any) -> str:
    return {bool: "bool", int: "int", float: "float", str: "str", list: "list", dict: "dict"}.get(
        type(value), "null"
    )


def _nullable(place: Place) -> bool:
    return bool(place) and place[-1] in NULLABLE and place[:1] != ("knowledge",)


def _forms(where: str, base: Any, place: Place, value: Any) -> Iterator[Corruption]:
    last = place[-1] if place else ""
    bad: tuple[Any, ...] = ()
    if last in ENUMERATED and place[0] != "knowledge":
        bad = tuple(word for word in WRONG_WORDS if word not in ENUMERATED[str(last)])
    elif last in CONSTANT:
        bad = CONSTANT[str(last)]
    elif last == "skill_fallback_allowed":
        bad = (True,)
    elif place == ("knowledge", "source"):
        bad = ("", "https://www.bioline.cloud/ai/", "http://www.bioline.cloud/ai/commandLineAndFkit/")
    elif last == "version":
        bad = BAD_VERSIONS
    elif last in PATHS:
        bad = (
            *BAD_PATHS,
            *(("",) if len(place) > 3 and place[2] != "bioline" and "downstream" in place else ()),
        )
    elif last in HEXES:
        bad = (*BAD_HEX, *(("",) if last == "sha256" else ()))
    elif last in TIMES:
        bad = BAD_TIMES
    elif last in IMAGES:
        bad = BAD_IMAGES
    elif last == "size":
        bad = BAD_SIZES
    elif last == "port":
        bad = ("",)
    for one in bad:
        yield Corruption(f"{where}: is {one!r}", put(base, place, one), spell(place))


TOOL = "execution.downstream.tool"


def rule_corruptions() -> Iterator[Corruption]:
    """One field that is well formed and contradicts the others."""

    def one(name: str, path: str, new: Any, named: str | None = None) -> Corruption:
        place = tuple(int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", path))
        return Corruption(f"{name}: {path} is {new!r}", put(VALID[name](), place, new), named or path)

    for name in ("template", "awaiting", "submitted", "finished"):
        yield one(name, "document_gap.detected", True)
        yield one(name, "document_gap.blocking_reason", "why")
        yield one(name, "document_gap.topic", "t")
        yield one(name, "document_gap.attempted_document_ids", ["d"])
        yield one(name, "document_gap.missing_information", ["m"])
        yield one(name, "workflow.phase", "document_gap", "document_gap.detected")
    yield one("in_gap", "document_gap.detected", False)
    yield one("in_gap", "document_gap.blocking_reason", "")
    for phase in ("planned", "awaiting_plan_confirmation", "initialize"):
        yield one("in_gap", "workflow.phase", phase, "document_gap.detected")
        yield one("submitted", "workflow.phase", phase, "execution.bioline.job.id")
        yield one("finished", "workflow.phase", phase, "execution.downstream.tool.name")
    yield one("finished", "workflow.phase", "submitted", "execution.downstream.outputs")
    for name in ("template", "awaiting"):
        yield one(name, "execution.bioline.job.id", "p_1")
        yield one(name, "execution.bioline.job.output_dir", "/data/results/1")
        for phase in ("submitted", "finalize"):
            yield one(name, "workflow.phase", phase, "execution.bioline.job.id")
    for name in ("submitted", "finished"):
        yield one(name, "execution.bioline.job.id", "")
    for name in ("template", "awaiting", "submitted", "in_gap"):
        yield one(name, "workflow.status", "complete")
        yield one(name, f"{TOOL}.reference", "FastQC:3")
        yield one(name, f"{TOOL}.name", "FastQC")
        yield one(name, f"{TOOL}.version", 2)
        yield one(name, f"{TOOL}.summary_sha256", "ab" * 32)
        yield one(name, "execution.downstream.image_tag", "fastqc:3")
        yield one(name, "execution.downstream.pull_ledger.preexisting", True)
        yield one(name, "execution.downstream.pull_ledger.pre_image_id", "sha256:" + "ab" * 32)
        yield one(name, "execution.downstream.pull_ledger.post_image_id", "sha256:" + "ab" * 32)
        yield one(name, "execution.downstream.pull_ledger.pulled_at", "2026-11-30T10:00:00Z")
        for part in ("outputs", "logs", "generated_scripts"):
            artifact = {"path": "/a/b", "size": 1, "sha256": "ab" * 32, "role": ""}
            yield one(name, f"execution.downstream.{part}", [artifact])
    for reference in ("FastQC", "FastQC:03", "FastQC:4", "fastqc:3", "FastQC:latest", "FastQC:3 ", ""):
        yield one("finished", f"{TOOL}.reference", reference)
    for tag in ("FastQC:3", "fastqc", "fastqc:03", "fastqc:latest", "fastqc:4", ""):
        yield one("finished", "execution.downstream.image_tag", tag)
    for bad in ("Fast QC", "a:b", "-x", "x//y", "é", "a" * 300):
        yield one("finished", f"{TOOL}.name", bad)
    yield one("finished", f"{TOOL}.name", "", f"{TOOL}.reference")
    yield one("finished", f"{TOOL}.version", 4, f"{TOOL}.reference")
    yield one("finished", f"{TOOL}.summary_sha256", "")
    yield one("finished", "execution.downstream.pull_ledger.preexisting", False)
    yield one(
        "finished",
        "execution.downstream.pull_ledger.pre_image_id",
        None,
        "execution.downstream.pull_ledger.preexisting",
    )
    yield one("finished", "execution.downstream.pull_ledger.post_image_id", None)
    yield one("finished", "execution.downstream.pull_ledger.pulled_at", "")
    for name in ("awaiting", "submitted", "finished"):
        yield one(name, "execution.bindings[0].source", None)
        yield one(name, "execution.bindings[0].filename", "")
        yield one(name, "execution.bindings[0].force_default", True)
        yield one(name, "execution.bindings[1].no_default", True)
        yield one(name, "execution.bindings[1].source", "heuristic", "execution.defaults_used[0]")
        yield one(name, "execution.bindings[0].source", "default")
        yield one(name, "execution.bindings[2].filename", "x")
        yield one(name, "execution.bindings[2].fileId", "x")
        yield one(name, "execution.bindings[2].required", True, "execution.bindings[2].source")
        yield one(name, "execution.defaults_used", [], "execution.bindings[1].source")
        yield one(name, "execution.defaults_used[0].filename", "other", "execution.defaults_used[0]")
        yield one(name, "execution.defaults_used[0].port", "reads", "execution.defaults_used[0]")


@dataclass(frozen=True, slots=True)
class Spoiled:
    """A spoiled text, and the path that an error must name."""

    how: str
    text: str
    path: str


def text_corruptions() -> Iterator[Spoiled]:
    """What only a text can have wrong: doubled keys, words that are no JSON, halves of characters."""
    for name in ("template", "finished"):
        base = VALID[name]()
        for place, value in walk(base):
            path = spell(place)
            if isinstance(value, dict):
                for key in value:
                    text = _text(put(base, place, {**value, "@twice": key}))
                    doubled = text.replace(f'"@twice": "{key}"', f'"{key}": {json.dumps(value[key])}')
                    yield Spoiled(f"{name}: {path}: {key} twice", doubled, spell((*place, key)))
            for word in (
                "NaN",
                "Infinity",
                "-Infinity",
                "01",
                "-01",
                "+1",
                "1.",
                ".5",
                "0x1",
                "nul",
                "True",
                "'x'",
                "",
            ):
                if not word and place and isinstance(place[-1], int):
                    continue  # A list of nothing is a list.
                text = _text(put(base, place, "@mark")).replace('"@mark"', word)
                yield Spoiled(f"{name}: {path} is {word}", text, path)
            for half in (
                "\\ud800",
                "\\udc00",
                "\\ud800x",
                "\\udc00\\ud800",
                "x\\udfff",
                "\\u12",
                "\\x",
                "\n",
                "\x00",
            ):
                text = _text(put(base, place, "@mark")).replace("@mark", half)
                yield Spoiled(f"{name}: {path} is {half!r}", text, path)


def _text(value: Any) -> str:
    return json.dumps(value, indent=1)
