"""Room `job`: the engine `fkit`: BioLine's command, spoken to as a program (spec 2, engines).

The command has no way to find a job by its name, so a submission whose answer was lost is never
repeated: it stays unknown until a person has looked.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import Any

from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.disk.tree import walk_stats
from muniment.disk.write import write_verified
from muniment.job.backend import (
    OUTPUTS,
    CanNotLookUp,
    Case,
    Collected,
    EngineState,
    FlowFacts,
    Piece,
    Progress,
    Wanted,
)
from muniment.job.bindings import Offer, Port
from muniment.job.errors import (
    BadBinding,
    EngineAnswer,
    EngineMissing,
    EngineRefused,
    EngineUnreachable,
    FlowRefused,
)
from muniment.job.finding import quoted, shown
from muniment.job.launching import Launcher, SystemLauncher
from muniment.job.model import PortType
from muniment.job.shape import plain
from muniment.message import Message, say
from muniment.path import RelPath, printable

_CODES = {
    -3: EngineState.STOPPING,
    -2: EngineState.STOPPED,
    -1: EngineState.FAILED,
    0: EngineState.WAITING,
    1: EngineState.RUNNING,
    2: EngineState.SUCCEEDED,
}
_ANSWER_LIMIT = 64 << 20
_DEADLINE = 600
"""Seconds that a question to the platform may take."""

_DOWNLOAD = 24 * 3600
"""Seconds that fetching the results may take."""


@dataclass(frozen=True, slots=True)
class FkitBackend:
    """BioLine through its own command; `program` is its argv, the arguments follow."""

    program: tuple[str, ...] = ("fkit",)
    launcher: Launcher = field(default_factory=SystemLauncher)

    @property
    def name(self) -> str:
        """`fkit`."""
        return "fkit"

    def inspect(self, flow: str) -> FlowFacts:
        """Read a flow by the id of its version."""
        value = self._ask("flow", "inspect", flow, "--json")
        if not isinstance(value, dict) or self._text(value, "versionId") != flow:
            raise FlowRefused(flow=printable(flow), why=say("the platform describes another version"))
        ports, results = [], []
        for task in self._list(value, "tasks"):
            name = self._text(task, "name")
            ports += [self._port(name, one) for one in self._list(task, "inputs")]
            results += [Wanted(name, self._text(one, "name")) for one in self._list(task, "outputs")]
        keyword = value.get("keyword")
        return FlowFacts(
            id=self._text(value, "id"),
            version_id=flow,
            keyword=keyword if isinstance(keyword, str) else "",
            ports=tuple(ports),
            results=tuple(results),
        )

    def offers(self, input_path: str) -> list[Offer]:
        """What the platform lists at a path."""
        if not input_path:
            return []
        value = self._ask("ls", input_path, "--json")
        if not isinstance(value, list):
            raise self._odd(say("no list of files"))
        return [self._offer(one) for one in value]

    def offer(self, reference: str) -> Offer:
        """One file or folder of the platform, by its path."""
        folder = reference.rstrip("/").rpartition("/")[0] or "/"
        for one in self.offers(folder):
            if one.filename == reference.rstrip("/"):
                return one
        raise BadBinding(port=printable(reference), why=say("the platform lists no such file"))

    def pin(self, offer: Offer) -> str:
        """The platform's own id of the file."""
        return offer.fileId

    def create(self, case: Case) -> str:
        """Hand the spec over; whatever is no clear refusal leaves the submission unknown."""
        execution = case.registry.execution
        spec: dict[str, Json] = {
            "name": case.name,
            "projectId": execution.bioline.project_id,
            "flowVersionId": execution.bioline.flow.version_id,
            "inputPath": execution.bioline.input_path,
            "bindings": plain(execution.bindings),
        }
        rel = RelPath(("engine", case.name, "spec.json"))
        case.folder.make_folders(rel.parent)
        write_verified(case.folder, rel, canonical(spec) + b"\n", replace=True)
        value = self._ask("pipeline", "create", os.path.join(case.folder.path, *rel.parts), "--json")
        return self._text(value, "id")

    def find(self, case: Case) -> str | None:
        """The command lists no pipelines."""
        raise CanNotLookUp("fkit has no command that finds a pipeline by its name")

    def poll(self, case: Case, engine_id: str) -> Progress:
        """The platform's code of the job."""
        value = self._pipeline(engine_id)
        code = value.get("status")
        if type(code) is not int or code not in _CODES:
            raise self._odd(say("an unknown status {state}", state=shown(code)))
        place = value.get("outputDir")
        detail = value.get("message")
        return Progress(
            _CODES[code],
            f"status {code}" + (f": {printable(detail)[:300]}" if isinstance(detail, str) and detail else ""),
            place if isinstance(place, str) and place.startswith("/") else "",
        )

    def cancel(self, case: Case, engine_id: str) -> None:
        """The command has no way to stop a pipeline."""
        raise EngineRefused(
            engine=self.name, why=say("its command can not stop a pipeline; stop it on the platform")
        )

    def collect(self, case: Case, engine_id: str) -> Collected:
        """Download the output folder."""
        progress = self.poll(case, engine_id)
        if not progress.output_dir:
            raise self._odd(say("no output folder"))
        case.folder.make_folders(OUTPUTS)
        target = os.path.join(case.folder.path, *OUTPUTS.parts)
        self._run("download", progress.output_dir, target, deadline=_DOWNLOAD)
        outputs = []
        for inner, found in walk_stats(case.folder, OUTPUTS):
            if inner and not stat.S_ISDIR(found.st_mode):
                rel = RelPath.parse(inner)
                outputs.append(Piece(OUTPUTS / rel, rel.parts[0] if len(rel.parts) > 1 else "output"))
        log = RelPath(("engine", case.name, "pipeline.json"))
        case.folder.make_folders(log.parent)
        record = canonical(self._pipeline(engine_id)) + b"\n"
        write_verified(case.folder, log, record, replace=True)
        return Collected(tuple(outputs), (Piece(log, "fkit"),))

    def tool(self, case: Case, name: str, version: int) -> Json | None:
        """The platform's flow of exactly this name and version, if there is one."""
        value = self._ask("flow", "list", "--keyword", name, "--json")
        if not isinstance(value, list):
            raise self._odd(say("no list of flows"))
        for one in value:
            if isinstance(one, dict) and one.get("name") == name and one.get("version") == version:
                return one
        return None

    def _pipeline(self, engine_id: str) -> dict[str, Any]:
        value = self._ask("pipeline", "get", engine_id, "--json")
        if not isinstance(value, dict) or value.get("id") != engine_id:
            raise self._odd(say("another pipeline than the one asked for"))
        return value

    def _ask(self, *arguments: str) -> Any:
        out = self._run(*arguments)
        if len(out) > _ANSWER_LIMIT:
            raise self._odd(say("more than {count} bytes", count=_ANSWER_LIMIT))
        try:
            value = read_json(out)
        except NotJson as error:
            raise self._odd(say("no JSON: {body}", body=quoted(out))) from error
        # Some replies come wrapped.
        if isinstance(value, dict) and "data" in value and "id" not in value:
            return value["data"]
        return value

    def _run(self, *arguments: str, deadline: float = _DEADLINE) -> bytes:
        for argument in arguments:
            if argument.startswith("-") and argument not in ("--json", "--keyword"):
                why = say("{name} would be taken for an option", name=shown(argument))
                raise EngineRefused(engine=self.name, why=why)
        try:
            done = self.launcher.run([*self.program, *arguments], deadline=deadline)
        except FileNotFoundError as error:
            raise EngineMissing(
                engine=self.name, needs=self.program[0], install=say("the BioLine command line")
            ) from error
        except OSError as error:
            raise EngineUnreachable(
                engine=self.name, why=say("{fault}", fault=printable(str(error))[:300])
            ) from error
        if done.code != 0:
            why = say("exit code {code}: {body}", code=done.code, body=quoted(done.err or done.out))
            raise EngineUnreachable(engine=self.name, where=" ".join(arguments[:2]), why=why)
        return done.out

    def _port(self, task: str, one: dict[str, Any]) -> Port:
        default = one.get("default")
        return Port(
            task=task,
            name=self._text(one, "name"),
            type=self._type(one),
            required=one.get("required") is True,
            default=default if isinstance(default, str) else "",
        )

    def _offer(self, one: Any) -> Offer:
        if not isinstance(one, dict):
            raise self._odd(say("no object"))
        return Offer(self._text(one, "fileId"), self._text(one, "path"), self._type(one))

    def _type(self, one: dict[str, Any]) -> PortType:
        kind = one.get("type")
        if kind not in ("FILE", "DIR"):
            raise self._odd(say("an unknown type {kind}", kind=shown(kind)))
        return PortType(kind)

    def _list(self, value: dict[str, Any], name: str) -> list[dict[str, Any]]:
        found = value.get(name)
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise self._odd(say("no list {name}", name=name))
        return found

    def _text(self, value: Any, name: str) -> str:
        found = value.get(name) if isinstance(value, dict) else None
        if not isinstance(found, str) or not found:
            raise self._odd(say("no text {name}", name=name))
        return found

    def _odd(self, why: Message) -> EngineAnswer:
        return EngineAnswer(engine=self.name, why=why)
