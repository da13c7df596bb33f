"""Room `job`: the engine `wes`: a GA4GH Workflow Execution Service, versions 1.1 and 1.0.

For users who outgrow one machine.  The packed workflow and the inputs travel as attachments; a
tag carries the job's own name, and the look-up reads it: from the list of runs where a server
shows tags there (1.1), else from each run's own record (1.0).
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from muniment.canonical import NotJson, canonical, read_json
from muniment.disk.root import Root
from muniment.disk.tree import walk_stats
from muniment.disk.write import write_verified
from muniment.job.backend import (
    OUTPUTS,
    CanNotLookUp,
    Case,
    Collected,
    EngineState,
    Piece,
    Progress,
)
from muniment.job.cwl_flow import job_file
from muniment.job.errors import EngineAnswer, EngineMissing, EngineRefused, EngineUnreachable, OutputUnsafe
from muniment.job.finding import quoted, shown
from muniment.job.local_files import LocalFiles
from muniment.job.model import Binding, PortType
from muniment.message import Message, say
from muniment.path import BadPath, RelPath, check_name, printable

if TYPE_CHECKING:
    import httpx2

INSTALL = "pip install 'muniment[wes]'"
TAG = "muniment_name"
_ANSWER_LIMIT = 64 << 20
_PAGES = 10_000

# WES 1.0 and 1.1; what a server adds of its own is not guessed at.
_STATES = {
    "QUEUED": EngineState.WAITING,
    "INITIALIZING": EngineState.WAITING,
    "RUNNING": EngineState.RUNNING,
    "PAUSED": EngineState.RUNNING,
    "COMPLETE": EngineState.SUCCEEDED,
    "EXECUTOR_ERROR": EngineState.FAILED,
    "SYSTEM_ERROR": EngineState.FAILED,
    "PREEMPTED": EngineState.FAILED,
    "CANCELED": EngineState.STOPPED,
    "CANCELING": EngineState.STOPPING,
}


@dataclass(frozen=True, slots=True)
class WesBackend(LocalFiles):
    """A WES server at `url` (up to and without `/runs`), with a bearer `token` when it wants one.

    Servers of version 1.0 may name outputs as files of their own machine; `shared` is the folder
    through which this machine sees them, and nothing outside it is ever read.
    """

    url: str
    token: str = ""
    shared: str = ""
    deadline: float = 60.0

    @property
    def name(self) -> str:
        """`wes`."""
        return "wes"

    def create(self, case: Case) -> str:
        """Post the run.  Only an answer of the server counts as a refusal; a broken connection
        leaves it unknown, and the look-up decides."""
        with self._client() as client, contextlib.ExitStack() as held:
            engine, version = self._engine(client)
            parts = _Parts(case, held)
            values = job_file(case.document, case.registry.execution.bindings, parts.located)
            cwl = read_json(case.document).get("cwlVersion", "v1.2")
            form = {
                "workflow_type": "CWL",
                "workflow_type_version": str(cwl),
                "workflow_url": "workflow.json",
                "workflow_params": canonical(values).decode(),
                "tags": canonical({TAG: case.name}).decode(),
                "workflow_engine": engine,
                "workflow_engine_version": version,
            }
            if not engine:
                del form["workflow_engine"], form["workflow_engine_version"]
            answer = self._json(client, "POST", "runs", data=form, files=parts.attachments)
        return self._run_id(answer)

    def find(self, case: Case) -> str | None:
        """The run that carries the job's name."""
        with self._client() as client:
            blind = 0
            for run in self._runs(client):
                tags = run.get("tags")
                if tags is None:
                    tags = self._tags_of(client, self._run_id(run))
                    blind += tags is None
                if isinstance(tags, dict) and tags.get(TAG) == case.name:
                    return self._run_id(run)
        if blind:
            raise CanNotLookUp(f"{blind} runs do not tell their tags")
        return None

    def poll(self, case: Case, engine_id: str) -> Progress:
        """The state that the server gives."""
        with self._client() as client:
            answer = self._json(client, "GET", f"runs/{quote(engine_id, safe='')}/status")
        word = answer.get("state")
        if not isinstance(word, str) or word not in _STATES:
            raise self._odd(say("an unknown state {state}", state=shown(word)))
        return Progress(_STATES[word], word)

    def cancel(self, case: Case, engine_id: str) -> None:
        """Ask the server to stop the run."""
        with self._client() as client:
            self._json(client, "POST", f"runs/{quote(engine_id, safe='')}/cancel")

    def collect(self, case: Case, engine_id: str) -> Collected:
        """Fetch every output that the run names, and the run's own log."""
        case.folder.make_folders(OUTPUTS)
        with self._client() as client:
            record = self._json(client, "GET", f"runs/{quote(engine_id, safe='')}")
            named = list(_named_outputs(record.get("outputs")))
            _each_once([name for _, name, _ in named])
            outputs = [self._fetch(client, case.folder, role, name, place) for role, name, place in named]
        log = RelPath(("engine", case.name, "run.json"))
        case.folder.make_folders(log.parent)
        write_verified(case.folder, log, canonical(record) + b"\n", replace=True)
        return Collected(tuple(outputs), (Piece(log, "wes"),))

    def _engine(self, client: httpx2.Client) -> tuple[str, str]:
        """The server's CWL engine: some servers of 1.1 want it named, those of 1.0 know no field for it."""
        info = self._json(client, "GET", "service-info")
        versions = info.get("workflow_engine_versions")
        if not isinstance(versions, dict):
            return "", ""
        for name, known in versions.items():
            if "cwl" in str(name).lower() and isinstance(known, dict):
                every = known.get("workflow_engine_version")
                return str(name), str(every[0]) if isinstance(every, list) and every else ""
        return "", ""

    def _runs(self, client: httpx2.Client) -> Iterator[dict[str, Any]]:
        token, seen = "", set[str]()
        for _ in range(_PAGES):
            query = {"page_size": "100", **({"page_token": token} if token else {})}
            page = self._json(client, "GET", "runs", params=query)
            # Servers of 1.0 that follow the draft before it say `workflows`.
            runs = page.get("runs", page.get("workflows"))
            if not isinstance(runs, list):
                raise self._odd(say("no list of runs"))
            yield from (run for run in runs if isinstance(run, dict))
            token = str(page.get("next_page_token") or "")
            if not token:
                return
            if token in seen:
                raise self._odd(say("its pages go round in a circle"))
            seen.add(token)

    def _tags_of(self, client: httpx2.Client, run_id: str) -> object:
        record = self._json(client, "GET", f"runs/{quote(run_id, safe='')}")
        request = record.get("request")
        return request.get("tags") if isinstance(request, dict) else None

    def _run_id(self, answer: dict[str, Any]) -> str:
        run_id = answer.get("run_id")
        if not isinstance(run_id, str) or not run_id:
            raise self._odd(say("no run_id"))
        return run_id

    def _fetch(self, client: httpx2.Client, folder: Root, role: str, name: str, place: str) -> Piece:
        try:
            rel = OUTPUTS / RelPath.parse(name)
        except BadPath as error:
            raise OutputUnsafe(path=printable(name), why=say("{finding}", finding=error)) from error
        try:
            split = urlsplit(place)
        except ValueError as error:
            raise OutputUnsafe(path=printable(place), why=say("{finding}", finding=error)) from error
        folder.make_folders(rel.parent)
        if split.scheme in ("", "file") and not split.netloc and os.path.isabs(split.path):
            write_verified(folder, rel, self._from_shared(split.path), replace=True)
        else:
            write_verified(folder, rel, self._download(client, place), replace=True)
        return Piece(rel, role)

    def _from_shared(self, path: str) -> Iterator[bytes]:
        if not self.shared:
            why = say("the server names a file of its own machine; set job.wes_shared to where it is seen")
            raise OutputUnsafe(path=printable(path), why=why)
        with Root.open(self.shared) as root, os.fdopen(root.open_file(root.relative(path)), "rb") as stream:
            while chunk := stream.read(1 << 20):
                yield chunk

    def _download(self, client: httpx2.Client, place: str) -> Iterator[bytes]:
        url = urljoin(self.url.rstrip("/") + "/", place)
        # The token is for the server alone, and by the way that was chosen for it.
        if urlsplit(url)[:2] != urlsplit(self.url)[:2]:
            raise OutputUnsafe(path=printable(place), why=say("it lies on another server"))
        import httpx2

        try:
            with client.stream("GET", url) as answer:
                if answer.status_code != 200:
                    raise self._odd(say("status {status} for an output", status=answer.status_code))
                yield from answer.iter_bytes()
        except httpx2.InvalidURL as error:
            raise OutputUnsafe(path=printable(place), why=_fault(error)) from error
        except httpx2.HTTPError as error:
            raise EngineUnreachable(engine=self.name, where=self.url, why=_fault(error)) from error

    @contextlib.contextmanager
    def _client(self) -> Iterator[httpx2.Client]:
        try:
            import httpx2
        except ImportError as error:
            raise EngineMissing(engine=self.name, needs="httpx2", install=INSTALL) from error
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        with httpx2.Client(
            base_url=self.url.rstrip("/") + "/", headers=headers, timeout=self.deadline, trust_env=False
        ) as client:
            yield client

    def _json(self, client: httpx2.Client, verb: str, path: str, **how: Any) -> dict[str, Any]:
        import httpx2

        try:
            with client.stream(verb, path, **how) as answer:
                body = bytearray()
                for chunk in answer.iter_bytes():
                    body += chunk
                    if len(body) > _ANSWER_LIMIT:
                        raise self._odd(say("more than {count} bytes", count=_ANSWER_LIMIT))
        except httpx2.HTTPError as error:
            raise EngineUnreachable(engine=self.name, where=self.url, why=_fault(error)) from error
        if answer.status_code >= 500:
            why = say("status {status}: {body}", status=answer.status_code, body=quoted(body))
            raise EngineUnreachable(engine=self.name, where=self.url, why=why)
        if answer.status_code >= 400:
            why = say("status {status}: {body}", status=answer.status_code, body=quoted(body))
            raise EngineRefused(engine=self.name, where=self.url, why=why)
        try:
            value = read_json(bytes(body))
        except NotJson as error:
            raise self._odd(say("no JSON: {body}", body=quoted(body))) from error
        if not isinstance(value, dict):
            raise self._odd(say("no object"))
        return value

    def _odd(self, why: Message) -> EngineAnswer:
        return EngineAnswer(engine=self.name, where=self.url, why=why)


class _Parts:
    """The attachments of one run: flat names, so that every server keeps them beside each other;
    the real names stand in the job file."""

    def __init__(self, case: Case, held: contextlib.ExitStack) -> None:
        self._held = held
        self.attachments: list[tuple[str, tuple[str, Any, str]]] = [
            ("workflow_attachment", ("workflow.json", case.document, "application/json"))
        ]

    def located(self, binding: Binding) -> dict[str, Any]:
        folder, _, name = binding.filename.rstrip("/").rpartition("/")
        root = self._held.enter_context(Root.open(folder or "/"))
        if binding.type is PortType.FILE:
            return self._file(root, RelPath((name,)))
        return self._folder(root, RelPath((name,)))

    def _file(self, root: Root, rel: RelPath) -> dict[str, Any]:
        stream = self._held.enter_context(os.fdopen(root.open_file(rel), "rb"))
        flat = f"input-{len(self.attachments)}"
        self.attachments.append(("workflow_attachment", (flat, stream, "application/octet-stream")))
        return {"class": "File", "location": flat, "basename": rel.name}

    def _folder(self, root: Root, rel: RelPath) -> dict[str, Any]:
        listing: list[dict[str, Any]] = []
        folders: dict[str, list[dict[str, Any]]] = {"": listing}
        for inner, found in walk_stats(root, rel):
            if not inner:
                continue
            above = folders[inner.rpartition("/")[0]]
            if stat.S_ISDIR(found.st_mode):
                folders[inner] = []
                name = inner.rpartition("/")[2]
                above.append({"class": "Directory", "basename": name, "listing": folders[inner]})
            else:
                above.append(self._file(root, rel / RelPath.parse(inner)))
        return {"class": "Directory", "basename": rel.name, "listing": listing}


def _named_outputs(outputs: Any) -> Iterator[tuple[str, str, str]]:
    """Role, name and place of every output: a list of files with URLs, or CWL's output object."""
    if isinstance(outputs, list):
        for one in outputs:
            if isinstance(one, dict) and isinstance(one.get("file_name"), str):
                yield "output", one["file_name"], str(one.get("file_url") or "")
    elif isinstance(outputs, dict):
        for role, value in outputs.items():
            for name, place in _cwl_files(value):
                yield role, name, place


def _cwl_files(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for one in value:
            yield from _cwl_files(one)
    elif isinstance(value, dict) and value.get("class") == "File":
        place = str(value.get("location") or value.get("path") or "")
        yield check_base(str(value.get("basename") or place.rpartition("/")[2])), place
        yield from _cwl_files(value.get("secondaryFiles") or [])
    elif isinstance(value, dict) and value.get("class") == "Directory":
        folder = check_base(str(value.get("basename") or "folder"))
        for name, place in _cwl_files(value.get("listing") or []):
            yield f"{folder}/{name}", place


def _each_once(names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise OutputUnsafe(path=printable(name), why=say("two outputs have this name"))
        seen.add(name)


def check_base(name: str) -> str:
    """A name that may stand in `outputs/`; anything else a server says is refused."""
    try:
        return check_name(name)
    except BadPath as error:
        raise OutputUnsafe(path=printable(name), why=say("{finding}", finding=error)) from error


def _fault(error: Exception) -> Message:
    return say("{fault}", fault=printable(str(error))[:300] or type(error).__name__)
