"""Room `job`: a CWL workflow read for planning, and the job file that binds it.

The workflow is packed into one document first.  That document is kept with the job, its sha256 is
the flow's version, and it is what runs: nothing that is edited after the yes comes into it.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from muniment.canonical import NotJson, canonical, read_json
from muniment.digest import sha256
from muniment.disk.scratch import remove_leftovers, scratch_folder
from muniment.job.backend import FlowFacts, Wanted
from muniment.job.bindings import Port
from muniment.job.errors import EngineMissing, FlowRefused
from muniment.job.finding import shown
from muniment.job.model import Binding, BoundBy, PortType
from muniment.message import Message, say
from muniment.path import printable

INSTALL = "pip install 'muniment[cwl]'"
_DEADLINE = 300
"""Seconds that reading a workflow may take; it may fetch what the workflow imports."""

# Formats of the EDAM ontology that sequencing work names most, with the endings their files have.
_ENDINGS: Mapping[str, tuple[str, ...]] = {
    "format_1929": (".fasta", ".fa", ".fna", ".fasta.gz", ".fa.gz"),
    "format_1930": (".fastq", ".fq", ".fastq.gz", ".fq.gz"),
    "format_2572": (".bam",),
    "format_2573": (".sam",),
    "format_3003": (".bed",),
    "format_3016": (".vcf", ".vcf.gz"),
    "format_3462": (".cram",),
    "format_3464": (".json",),
    "format_3475": (".tsv",),
    "format_3752": (".csv",),
}


def cwltool_argv(*arguments: str) -> list[str]:
    """The command that runs cwltool in this interpreter; `EngineMissing` says how to get it."""
    if importlib.util.find_spec("cwltool") is None:
        raise EngineMissing(engine="cwl", needs="cwltool", install=INSTALL)
    # `python -m cwltool` ends with 0 whatever happens; what its command calls does not.
    return [
        sys.executable,
        "-c",
        "import sys; from cwltool.main import run; sys.exit(run())",
        "--disable-color",
        *arguments,
    ]


def read_flow(path: str) -> FlowFacts:
    """Pack, check and read a workflow; `FlowRefused` quotes what cwltool found."""
    if not os.path.isfile(path):
        raise _refused(path, say("there is no such file"))
    document = _strict(path, _cwltool(path, "--pack", os.path.realpath(path)))
    packed = canonical(document)
    remove_leftovers("workflow")  # what stays is in nobody's way
    with scratch_folder("workflow") as folder:
        kept = os.path.join(folder, "workflow.json")
        with open(kept, "wb") as stream:
            stream.write(packed)
        _cwltool(path, "--validate", kept)
    return facts_of(path, packed)


def facts_of(path: str, packed: bytes) -> FlowFacts:
    """What a packed document says of itself: its ports and its results."""
    main = main_of(_strict(path, packed))
    task = _short(str(main.get("id", "#main")))
    ports: list[Port] = []
    for one in _listed(main.get("inputs")):
        port = _port(path, task, one)
        if port is not None:
            ports.append(port)
    results = [Wanted(task, _short(str(one.get("id", "")))) for one in _listed(main.get("outputs"))]
    label = main.get("label")
    return FlowFacts(
        id=os.path.basename(path),
        version_id=str(sha256(packed)),
        keyword=label if isinstance(label, str) else task,
        ports=tuple(ports),
        results=tuple(results),
        document=packed,
    )


def job_file(
    document: bytes, bindings: Sequence[Binding], locate: Callable[[Binding], Mapping[str, Any]]
) -> dict[str, Any]:
    """The inputs of a run: for every bound port what `locate(binding)` says, with the format
    that the port asks for.  Ports bound by the flow's own default are left to the flow."""
    main = main_of(read_json(document))
    inputs = {_short(str(one.get("id", ""))): one for one in _listed(main.get("inputs"))}
    values: dict[str, Any] = {}
    for binding in bindings:
        if binding.source in (None, BoundBy.DEFAULT):
            continue
        value = dict(locate(binding))
        wanted = inputs[binding.port]
        if value.get("class") == "File" and isinstance(wanted.get("format"), str):
            value["format"] = wanted["format"]
        if _many(wanted.get("type")):
            values.setdefault(binding.port, []).append(value)
        else:
            values[binding.port] = value
    return values


def main_of(document: Any) -> Mapping[str, Any]:
    """The process of a document that runs: its only one, or `main`."""
    graph = document.get("$graph") if isinstance(document, dict) else None
    if graph is None:
        return document if isinstance(document, dict) else {}
    for one in graph:
        if isinstance(one, dict) and one.get("id") in ("#main", "main"):
            return one
    return graph[-1] if graph and isinstance(graph[-1], dict) else {}


def tool_in(document: bytes, name: str, version: int) -> dict[str, Any] | None:
    """The tool of a document that declares exactly this software and version."""
    value = read_json(document)
    for one in _listed(value.get("$graph", [value])):
        for hint in (*_listed(one.get("hints")), *_listed(one.get("requirements"))):
            if hint.get("class") != "SoftwareRequirement":
                continue
            for package in _listed(hint.get("packages"), key="package"):
                versions = package.get("version")
                exact = isinstance(versions, list) and str(version) in versions
                if exact and package.get("package") == name:
                    return {"name": name, "version": version, "process": one}
    return None


def _cwltool(path: str, *arguments: str) -> bytes:
    argv = cwltool_argv("--quiet", *arguments)
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_DEADLINE, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise _refused(path, say("reading it took more than {count} seconds", count=_DEADLINE)) from error
    if done.returncode != 0:
        raise _refused(path, say("cwltool says: {answer}", answer=_last_words(done.stderr)))
    return done.stdout


def _strict(path: str, data: bytes) -> Any:
    try:
        return read_json(data)
    except NotJson as error:
        raise _refused(
            path, say("it does not pack into JSON: {finding}", finding=shown(str(error)))
        ) from error


def _last_words(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    return printable(" / ".join(lines[-4:]))[:600] or "nothing"


def _port(path: str, task: str, one: Mapping[str, Any]) -> Port | None:
    name, kind = _short(str(one.get("id", ""))), one.get("type")
    required = not (isinstance(kind, list) and "null" in kind) and "default" not in one
    plain = _without_null(kind)
    many = _many(kind)
    item = plain["items"] if many else plain
    if item not in ("File", "Directory"):
        if required:
            why = say(
                "its input {port} is no file or folder, has no default, and can not be bound", port=name
            )
            raise _refused(path, why)
        return None
    default = one.get("default")
    given = str(default.get("location") or default.get("path") or "") if isinstance(default, dict) else ""
    return Port(
        task=task,
        name=name,
        type=PortType.DIR if item == "Directory" else PortType.FILE,
        required=not (isinstance(kind, list) and "null" in kind),
        default=given.removeprefix("file://"),
        many=many,
        endings=_endings(one.get("format")),
    )


def _endings(format_: object) -> tuple[str, ...]:
    if not isinstance(format_, str):
        return ()
    return _ENDINGS.get(format_.rstrip("/").rpartition("/")[2].rpartition(":")[2], ())


def _without_null(kind: Any) -> Any:
    if isinstance(kind, list):
        rest = [one for one in kind if one != "null"]
        return rest[0] if len(rest) == 1 else rest
    return kind


def _many(kind: Any) -> bool:
    plain = _without_null(kind)
    return isinstance(plain, dict) and plain.get("type") == "array" and isinstance(plain.get("items"), str)


def _listed(value: Any, key: str = "id") -> list[dict[str, Any]]:
    """CWL writes lists of objects also as an object by id."""
    if isinstance(value, dict):
        return [
            {key: name, **(one if isinstance(one, dict) else {"type": one})} for name, one in value.items()
        ]
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _short(name: str) -> str:
    return name.rpartition("/")[2].rpartition("#")[2]


def _refused(path: str, why: Message) -> FlowRefused:
    return FlowRefused(flow=printable(os.path.basename(path)), why=why)
