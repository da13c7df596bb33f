"""Job: cwltool's side: what is read for planning, and a run that nothing can start twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.job.engines import HERE, RememberingCwl, cwl, open_real, until_ended, wait_for

from muniment.canonical import Json, canonical
from muniment.digest import sha256
from muniment.disk.locks import locked
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.job import cwl_run
from muniment.job.backend import Case
from muniment.job.cwl import _inside
from muniment.job.cwl_flow import facts_of, read_flow, tool_in
from muniment.job.errors import EngineAnswer, EngineMissing, FlowRefused, OutputUnsafe, PlanDrifted
from muniment.job.model import Registry
from muniment.job.planning import PlanRequest
from muniment.job.service import JobService, View
from muniment.path import RelPath
from muniment.record.consent import WitnessKind

FLOWS = HERE / "flows"


@pytest.fixture
def service(tmp_path: Path) -> JobService:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "sample.fastq").write_text("@a\nACGT\n+\nIIII\n")
    return open_real(tmp_path, cwl())


def ready(service: JobService, place: Path, flow: str = "count", **request: object) -> View:
    service.init("j")
    plan = PlanRequest(str(FLOWS / f"{flow}.cwl"), str(place / "in"), **request)  # type: ignore[arg-type]
    return service.confirm("j", service.plan("j", plan).plan, WitnessKind.TERMINAL)


def test_a_flow_is_packed_into_what_will_run(tmp_path: Path, service: JobService) -> None:
    view = ready(service, tmp_path)
    flow = view.registry.execution.bioline.flow
    assert (flow.id, flow.keyword) == ("count.cwl", "count reads")
    (kept,) = (tmp_path / "jobs" / "j").glob("flow-*.json")
    assert flow.version_id == str(sha256(kept.read_bytes()))
    assert b"count-tool" in kept.read_bytes(), "the tools are in it"
    assert [one.port for one in view.registry.execution.selected_artifacts] == ["report"]
    kept.write_bytes(kept.read_bytes().replace(b"reads: ", b"rEads: "))
    with pytest.raises(PlanDrifted):
        service.submit("j")


@pytest.mark.parametrize(
    "packages",
    [[{"package": "seqtk", "version": "13"}], [{"package": "seqtk", "version": 3}], 3, ["seqtk"]],
    ids=["one text, not a list", "a number", "no packages", "no version"],
)
def test_a_version_that_a_workflow_does_not_list_is_not_that_tool(packages: Json) -> None:
    """cwltool does not check the hints of a workflow."""
    hints: list[Json] = [{"class": "SoftwareRequirement", "packages": packages}]
    document = canonical({"class": "CommandLineTool", "hints": hints})
    assert tool_in(document, "seqtk", 3) is None


@pytest.mark.parametrize(
    ("flow", "says"),
    [("broken", "cwltool says"), ("needs-a-number", "threads"), ("nothing", "no such file")],
)
def test_what_can_not_be_planned(flow: str, says: str) -> None:
    with pytest.raises(FlowRefused, match=says) as refused:
        read_flow(str(FLOWS / f"{flow}.cwl"))
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"- a\n", b"cwlVersion: v1.2\nclass: Nonsense\n"])
def test_bytes_that_are_no_flow(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.cwl").write_bytes(content)
    with pytest.raises(FlowRefused):
        read_flow(str(tmp_path / "x.cwl"))


def test_ports_of_every_kind() -> None:
    document = canonical(
        {
            "class": "CommandLineTool",
            "id": "#main",
            "inputs": {
                "folder": "Directory",
                "parts": {"type": {"type": "array", "items": "File"}},
                "notes": {"type": ["null", "File"]},
                "index": {"type": "File", "default": {"class": "File", "location": "file:///ref/hg38.fa"}},
                "threads": {"type": "int", "default": 2},
            },
            "outputs": {"merged": "File"},
        }
    )
    facts = facts_of("x.cwl", document)
    told = {one.name: (one.type.value, one.required, one.many, one.default) for one in facts.ports}
    assert told == {
        "folder": ("DIR", True, False, ""),
        "parts": ("FILE", True, True, ""),
        "notes": ("FILE", False, False, ""),
        "index": ("FILE", True, False, "/ref/hg38.fa"),
    }


def test_folders_and_lists_run(tmp_path: Path, service: JobService) -> None:
    (tmp_path / "in" / "folder").mkdir()
    (tmp_path / "in" / "folder" / "inner.txt").write_text("inner\n")
    for name in ("b", "a"):
        (tmp_path / f"{name}.txt").write_text(f"{name}\n")
    parts = (str(tmp_path / "b.txt"), str(tmp_path / "a.txt"))
    ready(service, tmp_path, "kinds", routing={"parts": parts})
    service.submit("j")
    assert until_ended(service, "j").history.polled == "succeeded"
    outputs = service.finalize("j").registry.execution.downstream.outputs
    found = {
        Path(one.path).relative_to(tmp_path / "jobs" / "j" / "outputs").as_posix(): one.role
        for one in outputs
    }
    assert found == {"merged.txt": "merged", "tree/inner.txt": "tree"}
    assert (tmp_path / "jobs" / "j" / "outputs" / "merged.txt").read_text() == "a\nb\n"


def test_without_cwltool_the_install_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EngineMissing, match="cwltool") as missing:
        read_flow(str(FLOWS / "count.cwl"))
    assert "pip install 'muniment[cwl]'" in str(missing.value.next_step)


@pytest.mark.parametrize("name", ["x\udcff.fastq", "missing.fastq"])
def test_a_routed_file_that_can_not_be_named(tmp_path: Path, service: JobService, name: str) -> None:
    service.init("j")
    place = os.fsencode(tmp_path / name)
    if "missing" not in name:
        with open(place, "wb"):
            pass
    with pytest.raises(MunimentError) as refused:
        service.plan("j", PlanRequest(str(FLOWS / "count.cwl"), routing={"reads": (os.fsdecode(place),)}))
    assert refused.value.code == ("NOT_THERE" if name == "missing.fastq" else "JOB_BAD_BINDING")


KILL_POINTS = ["before the order", "after the order", "after the launch"]

CHILD = """
import os, signal, sys
from pathlib import Path
from muniment.hosts.launch import launch_detached
from muniment.job import cwl
from tests.job.engines import RememberingCwl, cwl as engine, open_real
place, point = Path(sys.argv[1]), sys.argv[2]
def die(*args, **how):
    os.kill(os.getpid(), signal.SIGKILL)
def launch(argv, env):
    if point == "after the launch":
        launch_detached(argv, env)
    die()
if point == "before the order":
    cwl.CwlBackend._argv = die
service = open_real(place, engine())
service.engines = {"cwl": RememberingCwl(launch=launch)}
service.submit("j")
"""


@pytest.mark.parametrize("point", KILL_POINTS)
def test_really_killed_and_found_again(tmp_path: Path, service: JobService, point: str) -> None:
    ready(service, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, tmp_path, point], env=_env(), capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    service = open_real(tmp_path, cwl())
    assert service.show("j").history.intent is not None
    service.submit("j")
    assert until_ended(service, "j").history.polled == "succeeded"
    runs = list((tmp_path / "jobs" / "j" / "engine").iterdir())
    assert [run.name for run in runs] == ["openclaw-j"]
    assert service.finalize("j").registry.workflow.status == "complete" and service.verify("j").good


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def order(folder: Path, script: str) -> None:
    """A run folder whose order is a small shell script."""
    folder.mkdir()
    argv = ["sh", "-c", script]
    value: Any = {"v": 1, "id": "cwl-01KDVDNA000000000000000000", "argv": argv, "env": {}, "grace": 1}
    (folder / "order.json").write_bytes(canonical(value))


def run(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "muniment.job.cwl_run", folder], env=_env())


class TestRunner:
    def test_many_launches_make_one_run(self, tmp_path: Path) -> None:
        order(tmp_path / "r", f"echo once >>'{tmp_path}/count'; exit 3")
        for process in [run(tmp_path / "r") for _ in range(4)]:
            assert process.wait() == 0
        assert run(tmp_path / "r").wait() == 0
        assert (tmp_path / "count").read_text() == "once\n"
        assert json.loads((tmp_path / "r" / "ended.json").read_bytes())["exit_code"] == 3

    def test_stopped_with_all_that_it_started(self, tmp_path: Path) -> None:
        mark = tmp_path / "up"
        order(
            tmp_path / "r",
            f"trap '' TERM; sleep 1000 & echo $! >'{mark}.new'; mv '{mark}.new' '{mark}'; wait",
        )
        process = run(tmp_path / "r")
        wait_for(mark.exists, "start")
        (tmp_path / "r" / "stop").touch()
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        ended = json.loads((tmp_path / "r" / "ended.json").read_bytes())
        assert ended["stopped"]
        grandchild = int(mark.read_text())
        wait_for(lambda: not _lives(grandchild), "end of what the run started")

    def test_asked_to_stop_before_its_program_runs(self, tmp_path: Path) -> None:
        """The word to stop lies there by then, so that nothing has to be done at once."""
        order(tmp_path / "r", "sleep 1000")
        asked = """if True:
            import os, signal, sys
            from pathlib import Path
            from muniment.job import cwl_run
            keep = cwl_run._keep
            def asked(folder, rel, value):
                keep(folder, rel, value)
                if rel == cwl_run.STARTED:
                    Path(folder.path, "stop").touch()
                    os.kill(os.getpid(), signal.SIGTERM)
            cwl_run._keep = asked
            sys.exit(cwl_run.main(sys.argv[1]))
        """
        done = subprocess.run([sys.executable, "-c", asked, tmp_path / "r"], env=_env(), check=False)
        assert done.returncode == 0
        assert json.loads((tmp_path / "r" / "ended.json").read_bytes())["stopped"]

    def test_the_runner_killed_the_run_lives_on_and_is_seen(self, tmp_path: Path) -> None:
        (tmp_path / "job" / "engine").mkdir(parents=True)
        gate = tmp_path / "gate"
        folder = tmp_path / "job" / "engine" / "n"
        order(folder, f"echo up >'{tmp_path}/up'; while [ ! -e '{gate}' ]; do sleep 0.05; done")
        process = run(folder)
        wait_for((tmp_path / "up").exists, "start")
        process.kill()
        process.wait()
        launched: list[Sequence[str]] = []
        backend = RememberingCwl(launch=lambda argv, env: launched.append(argv))
        with Root.open(tmp_path / "job") as root:
            case = Case("j", "n", root, Registry(), b"")
            engine_id = "cwl-01KDVDNA000000000000000000"
            assert backend.poll(case, engine_id).state == "running"
            gate.touch()
            wait_for(lambda: backend.poll(case, engine_id).state == "failed", "end")
            assert backend.find(case) == engine_id
        assert launched == [], "what was started is never started again"

    @pytest.mark.parametrize(
        "started", ["", "[]", "{}", '{"pid": -1}', '{"pid": 1}', '{"pid": true}', '{"pid": "7"}']
    )
    def test_no_process_is_told_to_stop_that_is_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: str
    ) -> None:
        told: list[int] = []
        monkeypatch.setattr(os, "kill", lambda pid, number: told.append(pid))
        (tmp_path / "job" / "engine").mkdir(parents=True)
        order(tmp_path / "job" / "engine" / "n", "")
        (tmp_path / "job" / "engine" / "n" / "started.json").write_text(started)
        with Root.open(tmp_path / "job") as root, root.below(RelPath(("engine", "n"))) as run:
            case = Case("j", "n", root, Registry(), b"")
            with locked(run, cwl_run.LOCK), pytest.raises(EngineAnswer):
                RememberingCwl().cancel(case, "cwl-01KDVDNA000000000000000000")
        assert told == []

    def test_a_program_that_is_not_there(self, tmp_path: Path) -> None:
        order(tmp_path / "r", "")
        value = json.loads((tmp_path / "r" / "order.json").read_bytes())
        value["argv"] = ["/no/such/program"]
        (tmp_path / "r" / "order.json").write_bytes(canonical(value))
        assert run(tmp_path / "r").wait() == 0
        assert json.loads((tmp_path / "r" / "ended.json").read_bytes())["exit_code"] == 127


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../../../registry.yaml", "outputs/x", "/data/j/outputs/../registry.yaml"]
)
def test_an_answer_that_names_files_elsewhere(path: str) -> None:
    with pytest.raises(OutputUnsafe):
        _inside(path, "/data/j/outputs")


def test_the_run_carries_its_context(tmp_path: Path, service: JobService) -> None:
    seen: list[Mapping[str, str]] = []
    service.engines = {"cwl": RememberingCwl(launch=lambda argv, env: seen.append(env))}
    ready(service, tmp_path)
    service.submit("j")
    order_ = json.loads((tmp_path / "jobs" / "j" / "engine" / "openclaw-j" / "order.json").read_bytes())
    assert json.loads(order_["env"]["MUNIMENT_CONTEXT"]) == {"job_id": "j"} and len(seen) == 1
    assert RelPath(("order.json",)) == cwl_run.ORDER
