"""Job: the real engines of the contract suite, each started for the tests and ended by its id."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from tests.house.tree import PROJECT

from muniment.clock import system_clock
from muniment.disk.root import Root
from muniment.job.backend import FlowFacts, WorkflowBackend
from muniment.job.cwl import CwlBackend
from muniment.job.fkit import FkitBackend
from muniment.job.opening import service_of
from muniment.job.service import JobService, View
from muniment.job.settings import SETTINGS
from muniment.job.wes import WesBackend
from muniment.record.consent import RELAYED
from muniment.record.state import open_workspace
from muniment.settings import Settings

HERE = Path(__file__).parent
ENVIRONMENTS = Path(os.environ.get("MUNIMENT_TEST_ENVS", PROJECT / "build" / "envs"))
LOG = "process.log"
DEADLINE = 90
"""Seconds after which a run or a start is taken for hung; nothing is asserted about speed."""


@dataclass
class Engine:
    """An engine with what the suite needs to know: its flows, and how often it was given a job."""

    backend: WorkflowBackend
    flows: dict[str, str]
    count: Callable[[Path, str], int]
    looks_up: bool = True
    can_cancel: bool = True
    log: str = ""
    reads: str = "sample.fastq"


def wait_for(ready: Callable[[], bool], what: str) -> None:
    """Look again and again until something outside of us is so."""
    end, pause = time.monotonic() + DEADLINE, threading.Event()
    while not ready():
        assert time.monotonic() < end, f"no {what} within {DEADLINE} s"
        pause.wait(0.05)


def needed(path: Path) -> str:
    """A program of an environment beside ours; CI has it, elsewhere its absence skips and says so."""
    if not path.exists():
        missing = f"{path} is missing: make envs"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return str(path)


def cwl_flows() -> dict[str, str]:
    """The CWL files by what they do."""
    return {path.stem: str(path) for path in (HERE / "flows").glob("*.cwl")}


_flows: dict[str, FlowFacts] = {}


def remembered(read: Callable[[str], FlowFacts], flow: str) -> FlowFacts:
    """Read each flow once for the whole suite: cwltool takes seconds for what does not change."""
    if flow not in _flows:
        _flows[flow] = read(flow)
    return _flows[flow]


class RememberingCwl(CwlBackend):
    """The engine itself, but for reading the same flow again."""

    def inspect(self, flow: str) -> FlowFacts:
        return remembered(super().inspect, flow)


class RememberingWes(WesBackend):
    """The engine itself, but for reading the same flow again."""

    def inspect(self, flow: str) -> FlowFacts:
        return remembered(super().inspect, flow)


def cwl() -> Engine:
    """cwltool in this interpreter."""

    def count(jobs: Path, job: str) -> int:
        return len(list((jobs / job / "engine").glob("*/started.json")))

    return Engine(RememberingCwl(), cwl_flows(), count, reads="sample 样本.fastq")


def fkit(state: Path) -> Engine:
    """The stand-in for BioLine's command."""
    state.mkdir(exist_ok=True)
    program = (sys.executable, str(HERE / "fkit_standin.py"), str(state))

    def count(jobs: Path, job: str) -> int:
        created = state / "created"
        return created.read_text("utf-8").splitlines().count(f"openclaw-{job}") if created.exists() else 0

    return Engine(FkitBackend(program), {"count": "v-9"}, count, looks_up=False, can_cancel=False)


@contextmanager
def served(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process with its log in its folder, until the block ends; ended by its id."""
    with open(cwd / LOG, "ab") as log:
        process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def server(argv: list[str], cwd: Path, alive: str) -> Iterator[None]:
    """A server in a folder of its own that answers, until the block ends."""
    env = {**os.environ, "PATH": f"{Path(argv[0]).parent}:{os.environ['PATH']}", "NO_PROXY": "*"}
    with served(argv, cwd, env) as process:
        wait_for(lambda: answers(alive) or process.poll() is not None, "answer")
        assert process.poll() is None, (cwd / LOG).read_text("utf-8", "replace")
        yield


def asked(url: str, **query: str) -> httpx2.Response:
    """What a server answers, however long it takes."""
    return httpx2.get(url, params=query, trust_env=False, timeout=DEADLINE)


def answers(url: str) -> bool:
    """Whether somebody answers there."""
    try:
        return asked(url).status_code == 200
    except httpx2.HTTPError:
        return False


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wes_count(url: str) -> Callable[[Path, str], int]:
    """How many runs of a server carry a job's name."""

    def count(jobs: Path, job: str) -> int:
        page = asked(f"{url}/runs", page_size="1000").json()
        ids = [run["run_id"] for run in page.get("runs", page.get("workflows"))]
        records = [asked(f"{url}/runs/{one}").json() for one in ids]
        return sum(f"openclaw-{job}" in (one["request"].get("tags") or {}).values() for one in records)

    return count


@contextmanager
def sapporo(place: Path) -> Iterator[Engine]:
    """A WES 1.1 server that others wrote."""
    program = needed(ENVIRONMENTS / "sapporo" / "bin" / "sapporo")
    runs, port = place / "runs", free_port()
    runs.mkdir()
    url = f"http://127.0.0.1:{port}/ga4gh/wes/v1"
    argv = [program, "--host", "127.0.0.1", "--port", str(port), "--url-prefix", "/ga4gh/wes/v1"]
    argv += [
        "--run-dir",
        str(runs),
        "--run-sh",
        str(HERE / "wes-run.sh"),
        "--base-url",
        f"http://127.0.0.1:{port}",
    ]
    with server(argv, place, f"{url}/service-info"):
        yield Engine(RememberingWes(url), cwl_flows(), wes_count(url))


@contextmanager
def wes_service(place: Path) -> Iterator[Engine]:
    """A WES 1.0 server that others wrote; its outputs are files of its own machine."""
    program = needed(ENVIRONMENTS / "wes-service" / "bin" / "wes-server")
    port = free_port()
    url = f"http://127.0.0.1:{port}/ga4gh/wes/v1"
    argv = [program, "--backend=wes_service.cwl_runner", "--port", str(port)]
    argv += ["--opt", f"runner={Path(program).parent / 'cwltool'}", "--opt", "extra=--no-container"]
    with server(argv, place, f"{url}/service-info"):
        backend = RememberingWes(url, shared=str(place / "workflows"))
        yield Engine(backend, cwl_flows(), wes_count(url), can_cancel=False)


def open_real(place: Path, engine: Engine) -> JobService:
    """A service as a new process would open it."""
    for name in ("ws", "jobs"):
        (place / name).mkdir(exist_ok=True)
    workspace = open_workspace(Root.open(place / "ws"), clock=system_clock)
    known = Settings([*SETTINGS, RELAYED])
    engines = {engine.backend.name: engine.backend}
    service = service_of(workspace, Root.open(place / "jobs"), known, engines=engines)
    service.default_engine = engine.backend.name
    return service


def until_ended(service: JobService, job: str) -> View:
    """Poll until the engine says that it is over."""
    last: list[View] = []

    def over() -> bool:
        last[:] = [service.poll(job)]
        return last[0].history.polled in ("succeeded", "failed", "stopped")

    wait_for(over, "end of the run")
    return last[0]


@contextmanager
def engine_named(name: str, place: Path) -> Iterator[Engine]:
    """The engine of a name, as the suite asks for it."""
    with ExitStack() as stack:
        if name == "cwl":
            yield cwl()
        elif name == "fkit":
            yield fkit(place / "platform")
        elif name == "sapporo":
            yield stack.enter_context(sapporo(place))
        else:
            yield stack.enter_context(wes_service(place))
