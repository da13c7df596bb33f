"""Room `job`: the engine `cwl`: cwltool on this machine, without a service.

Each run has a folder of its own, named after the job; `cwl_run` keeps its record there.  The
folder is made before anything starts, so a run that was announced is always found again.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.clock import Clock, system_clock
from muniment.disk.errors import AlreadyThere, Locked, NotThere
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.disk.tree import walk_stats
from muniment.disk.write import write_verified
from muniment.hosts.launch import launch_detached
from muniment.ids import Entropy, is_ulid, new_ulid
from muniment.job import cwl_run
from muniment.job.backend import OUTPUTS, Case, Collected, EngineState, Piece, Progress
from muniment.job.cwl_flow import cwltool_argv, job_file
from muniment.job.errors import EngineAnswer, OutputUnsafe
from muniment.job.local_files import LocalFiles
from muniment.job.model import Binding, PortType
from muniment.message import Message, say
from muniment.path import BadPath, RelPath, printable

_RUNS = RelPath(("engine",))

Launch = Callable[[Sequence[str], Mapping[str, str]], None]
"""Starts a process that lives on when its parent ends."""


@dataclass(frozen=True, slots=True)
class CwlBackend(LocalFiles):
    """cwltool, run without containers; its record is `engine/<name>/` in the folder of the job."""

    clock: Clock = system_clock
    entropy: Entropy = os.urandom
    launch: Launch = launch_detached

    @property
    def name(self) -> str:
        """`cwl`."""
        return "cwl"

    def create(self, case: Case) -> str:
        """Make the folder of the run, write its order, start it; a second call starts nothing anew."""
        rel = _RUNS / case.name
        case.folder.make_folders(rel)
        case.folder.make_folders(OUTPUTS)
        with case.folder.below(rel) as run:
            argv = self._argv(case, run)
            order: dict[str, Json] = {
                "v": 1,
                "id": f"cwl-{new_ulid(self.clock(), self.entropy)}",
                "argv": argv,
                "env": {"MUNIMENT_CONTEXT": canonical({"job_id": case.job}).decode()},
            }
            with contextlib.suppress(AlreadyThere):
                write_verified(run, cwl_run.ORDER, canonical(order) + b"\n")
            return self._start(run)

    def find(self, case: Case) -> str | None:
        """The run in the folder of that name; if its process never came to start it, it does now."""
        rel = _RUNS / case.name
        if not case.folder.exists(rel / "order.json"):
            return None
        with case.folder.below(rel) as run:
            return self._start(run)

    def _argv(self, case: Case, run: Root) -> list[str]:
        _write_once(run, RelPath(("workflow.json",)), case.document)
        values = job_file(case.document, case.registry.execution.bindings, _located)
        _write_once(run, RelPath(("job.json",)), canonical(values) + b"\n")
        run.make_folders(RelPath(("tmp",)))
        # Without the relaxed check no input may have a space or a letter beyond ASCII in its name.
        argv = [
            "--quiet",
            "--no-container",
            "--relax-path-checks",
            "--outdir",
            os.path.join(case.folder.path, *OUTPUTS.parts),
        ]
        argv += ["--tmpdir-prefix", os.path.join(run.path, "tmp", "t"), "workflow.json", "job.json"]
        return cwltool_argv(*argv)

    def _start(self, run: Root) -> str:
        engine_id = _order_id(run)
        if not run.exists(cwl_run.STARTED) and not run.exists(cwl_run.STOP):
            self.launch([sys.executable, "-m", "muniment.job.cwl_run", run.path], _python_path())
        return engine_id

    def poll(self, case: Case, engine_id: str) -> Progress:
        """What the record of the run says; a run whose process is gone without an end has failed."""
        with self._run(case, engine_id) as run:
            ended = _ended(run)
            if ended is not None:
                return ended
            if _held(run, cwl_run.LOCK) or _held(run, cwl_run.ALIVE):
                return Progress(EngineState.STOPPING if run.exists(cwl_run.STOP) else EngineState.RUNNING)
            ended = _ended(run)
            if ended is not None:
                return ended
            if run.exists(cwl_run.STARTED):
                return Progress(EngineState.FAILED, "the process of the run was ended from outside")
            if run.exists(cwl_run.STOP):
                return Progress(EngineState.STOPPED)
            self._start(run)
            return Progress(EngineState.WAITING)

    def cancel(self, case: Case, engine_id: str) -> None:
        """Leave word that the run shall stop, and tell its process if there is one."""
        with self._run(case, engine_id) as run:
            _write_once(run, cwl_run.STOP, b"")
            if not _held(run, cwl_run.LOCK):
                return
            with contextlib.suppress(NotThere, ProcessLookupError):
                os.kill(_pid(run), signal.SIGTERM)

    def collect(self, case: Case, engine_id: str) -> Collected:
        """The files that cwltool named in its answer, below `outputs/`, and its log."""
        with self._run(case, engine_id) as run:
            why = say("it names no outputs")
            try:
                answer = _record(run, cwl_run.ANSWER, why)
            except NotThere as error:
                raise _odd(run, why) from error
        base = os.path.join(case.folder.path, *OUTPUTS.parts)
        outputs: list[Piece] = []
        for port, value in answer.items():
            for path in _paths(value):
                rel = _inside(path, base)
                outputs.extend(_pieces(case.folder, rel, port))
        log = _RUNS / case.name / "log.txt"
        return Collected(tuple(outputs), (Piece(log, "cwltool"),))

    def _run(self, case: Case, engine_id: str) -> Root:
        run = case.folder.below(_RUNS / case.name)
        try:
            if _order_id(run) != engine_id:
                raise EngineAnswer(engine="cwl", where=engine_id, why=say("its record has another id"))
        except BaseException:
            run.close()
            raise
        return run


def _held(run: Root, lock: RelPath) -> bool:
    try:
        with locked(run, lock, shared=True, wait=False):
            return False
    except Locked:
        return True


def _python_path() -> dict[str, str]:
    """The runner must find the same muniment that started it."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _record(run: Root, rel: RelPath, why: Message) -> dict[str, Any]:
    """One of the papers of a run, an object; of anything else `EngineAnswer` says `why`."""
    try:
        value = read_json(run.read(rel))
    except NotJson as error:
        raise _odd(run, why) from error
    if not isinstance(value, dict):
        raise _odd(run, why)
    return value


def _odd(run: Root, why: Message) -> EngineAnswer:
    return EngineAnswer(engine="cwl", where=run.path, why=why)


def _order_id(run: Root) -> str:
    why = say("its order can not be read")
    engine_id = _record(run, cwl_run.ORDER, why).get("id")
    if not isinstance(engine_id, str) or not is_ulid(engine_id.removeprefix("cwl-")):
        raise _odd(run, why)
    return engine_id


def _pid(run: Root) -> int:
    """The process of a run; a number that stands for several is none."""
    why = say("its start can not be read")
    pid = _record(run, cwl_run.STARTED, why).get("pid")
    if type(pid) is not int or pid <= 1:
        raise _odd(run, why)
    return pid


def _write_once(run: Root, rel: RelPath, data: bytes) -> None:
    try:
        write_verified(run, rel, data)
    except AlreadyThere:
        if run.read(rel) != data:
            raise


def _ended(run: Root) -> Progress | None:
    why = say("its end can not be read")
    try:
        ended = _record(run, cwl_run.ENDED, why)
    except NotThere:
        return None
    code, stopped = ended.get("exit_code"), ended.get("stopped")
    if type(code) is not int or type(stopped) is not bool:
        raise _odd(run, why)
    if stopped:
        return Progress(EngineState.STOPPED, f"exit code {code}")
    if code != 0:
        return Progress(EngineState.FAILED, f"exit code {code}: {_last_line(run)}")
    return Progress(EngineState.SUCCEEDED, "exit code 0")


def _last_line(run: Root) -> str:
    """The end of the log: cwltool says there what its exit code does not."""
    try:
        fd = run.open_file(cwl_run.LOG)
    except NotThere:
        return ""
    with os.fdopen(fd, "rb") as stream:
        stream.seek(max(0, os.fstat(fd).st_size - 4096))
        lines = stream.read().decode("utf-8", "replace").strip().splitlines()
    return printable(lines[-1])[:300] if lines else ""


def _paths(value: Any) -> list[str]:
    """The files and folders of one output, secondary files included."""
    if isinstance(value, list):
        return [path for one in value for path in _paths(one)]
    if not isinstance(value, dict) or value.get("class") not in ("File", "Directory"):
        return []
    own = value.get("path") or value.get("location") or ""
    return [str(own).removeprefix("file://"), *_paths(value.get("secondaryFiles") or [])]


def _inside(path: str, base: str) -> RelPath:
    outside = say("it is not in {folder}", folder=base)
    if not path.startswith(base + "/"):
        raise OutputUnsafe(path=printable(path), why=outside)
    try:
        return OUTPUTS / RelPath.parse(path[len(base) + 1 :])
    except BadPath as error:
        raise OutputUnsafe(path=printable(path), why=outside) from error


def _pieces(folder: Root, rel: RelPath, role: str) -> list[Piece]:
    """A file, or every file of a folder; a link among them is refused when it is opened."""
    return [
        Piece(rel / RelPath.parse(inner) if inner else rel, role)
        for inner, stats in walk_stats(folder, rel)
        if not stat.S_ISDIR(stats.st_mode)
    ]


def _located(binding: Binding) -> dict[str, Any]:
    kind = "Directory" if binding.type is PortType.DIR else "File"
    return {"class": kind, "path": binding.filename}
