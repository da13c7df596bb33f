"""Job: real runs by both runtimes: how each ended, what it left, and that none had a network."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.house.tree import PROJECT
from tests.job.bench import Bench, last, sh
from tests.job.engines import wait_for
from tests.job.standin import StandIn, open_service, registry_json
from tests.job.test_service import kinds
from tests.job.test_tool_pulls import never_looks_complete

from muniment.job.container_proc import Kernel
from muniment.job.errors import (
    BadCommand,
    BadInput,
    InputsChanged,
    JobEnded,
    RuntimeFailed,
    ToolDone,
    ToolRunning,
)
from muniment.job.model import Artifact
from muniment.job.service import JobService
from muniment.job.tool_run import Proof, RunOutcome, ToolRun


def text(artifacts: tuple[Artifact, ...], role: str) -> str:
    """A recorded log, read where it lies and held against its record."""
    (one,) = (each for each in artifacts if each.role == role)
    data = Path(one.path).read_bytes()
    assert (len(data), hashlib.sha256(data).hexdigest()) == (one.size, one.sha256)
    return data.decode("utf-8", "replace")


def home(run: ToolRun, service: JobService) -> Path:
    return Path(service.store.root.path, "j", "tool", run.run)


def limited(service: JobService, **limits: int) -> None:
    """The same service with other limits."""
    service.containers = replace(service.containers, limits=replace(service.containers.limits, **limits))


def nothing_left(bench: Bench, run: ToolRun) -> None:
    assert run.container not in bench.containers()


def test_a_run_that_succeeds(tmp_path: Path, bench: Bench) -> None:
    (tmp_path / "count.sh").write_text('wc -c < "$1" > /outputs/deep/count; echo told >&2\n')
    results = {"a, b": b"12345", "sub.txt": b"x"}
    service = bench.ready(tmp_path, results=results)
    before = service.show("j").registry.execution.downstream
    view, run = sh(
        service,
        "ls /inputs; mkdir /outputs/deep; sh /scripts/count.sh '/inputs/a, b'; pwd; id -u",
        scripts=[str(tmp_path / "count.sh")],
    )
    assert run.succeeded and (run.outcome, run.exit_code, run.why) == (RunOutcome.EXITED, 0, "")
    assert text(run.logs, "stdout").split("\n") == ["a, b", "sub.txt", "/outputs", str(os.getuid()), ""]
    assert text(run.logs, "stderr") == "told\n"
    (output,) = run.outputs
    assert output.path == str(home(run, service) / "outputs/deep/count")
    assert Path(output.path).read_text().strip() == "5" and os.stat(output.path).st_uid == os.getuid()
    assert {Path(one.path).name: one.sha256 for one in run.inputs} == {
        name: hashlib.sha256(data).hexdigest() for name, data in results.items()
    }
    (script,) = run.scripts
    assert Path(script.path).read_text() == (tmp_path / "count.sh").read_text()
    # One record of facts: the registry, in the same order of events each time.
    after = view.registry.execution.downstream
    assert after.outputs == (*before.outputs, output) and after.generated_scripts == (script,)
    assert after.logs == (*before.logs, *run.logs)
    assert view.registry.workflow.status == "complete" and view.complete
    report = service.verify("j")
    assert report.good and report.complete
    told = ["job.tool_intent", "job.tool_start", "job.tool_run", "job.begin", "job.end"]
    assert kinds(service)[-5:] == told
    assert run.image.id == after.pull_ledger.post_image_id and run.engine == bench.engine
    nothing_left(bench, run)
    with pytest.raises(ToolDone):
        sh(service, "true")
    # What was made behind the record's back afterwards is found out.
    Path(output.path).write_text("6\n")
    assert not service.verify("j").good


@pytest.mark.parametrize("code", [7, 125, 1])
def test_a_run_that_ends_with_another_code(tmp_path: Path, bench: Bench, code: int) -> None:
    service = bench.ready(tmp_path)
    view, run = sh(service, f"echo x > /outputs/partial; exit {code}")
    assert (run.outcome, run.exit_code, run.started) == (RunOutcome.EXITED, code, True)
    assert [Path(one.path).name for one in run.outputs] == ["partial"]
    assert not run.succeeded and view.registry.workflow.status == "blocked"
    assert not any("partial" in one.path for one in view.registry.execution.downstream.outputs)
    never_looks_complete(service, tmp_path)
    nothing_left(bench, run)
    # It may be tried again, and the failure stays on record.
    view, again = sh(service, "true")
    assert again.succeeded and view.complete and view.history.runs == (run, again)


def test_a_program_that_is_not_there_never_started(tmp_path: Path, bench: Bench) -> None:
    service = bench.ready(tmp_path)
    run = last(service.run("j", ["/no/such/program"]))
    assert run.outcome is RunOutcome.START_FAILED and "no such file" in run.why
    assert (run.started_at, run.ended_at, run.exit_code, run.network) == ("", "", None, None)
    assert (run.outputs, run.logs, run.collected) == ((), (), False)
    never_looks_complete(service, tmp_path)
    nothing_left(bench, run)


def test_an_image_without_anything_never_started(tmp_path: Path, bench: Bench) -> None:
    bench.registry.push("hollow", "1", bench.busybox, config={"Entrypoint": ["/gone"]})
    service = bench.ready(tmp_path, "hollow")
    _, run = sh(service, "true")
    assert run.outcome is RunOutcome.START_FAILED and "/gone" in run.why
    never_looks_complete(service, tmp_path)


def test_the_deadline_is_ours(tmp_path: Path, bench: Bench) -> None:
    service = bench.ready(tmp_path, tool_seconds=1)
    _, run = sh(service, "echo before; echo x > /outputs/x; sleep 600")
    assert run.outcome is RunOutcome.TIMED_OUT and "1 s" in run.why
    assert text(run.logs, "stdout") == "before\n"
    never_looks_complete(service, tmp_path)
    nothing_left(bench, run)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("head -c 100000000 /dev/zero > /tmp/x; sleep 0.3; exit 0", id="a child"),
        pytest.param("exec dd if=/dev/zero of=/dev/null bs=200M count=1", id="the program itself"),
    ],
)
def test_out_of_memory(tmp_path: Path, bench: Bench, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    service = bench.ready(tmp_path)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    _, run = sh(service, script)
    assert run.outcome is RunOutcome.OOM and str(64 << 20) in run.why
    assert not any(here.iterdir()), "podman's monitor writes a file where it was started"
    never_looks_complete(service, tmp_path)
    nothing_left(bench, run)


def test_logs_of_100_mb_that_are_no_text(tmp_path: Path, bench: Bench) -> None:
    service = bench.ready(tmp_path)
    size = 100_000_000
    _, run = sh(service, rf"printf '\377\000\n'; head -c {size} /dev/zero; printf '\001' >&2")
    assert run.succeeded
    out, err = run.logs
    assert (out.size, err.size) == (size + 3, 1)
    expected = hashlib.sha256(b"\xff\x00\n")
    for _ in range(100):
        expected.update(bytes(size // 100))
    assert out.sha256 == expected.hexdigest()


def test_logs_without_end(tmp_path: Path, bench: Bench) -> None:
    service = bench.ready(tmp_path, tool_output_bytes=1_000_000)
    _, run = sh(service, "while true; do echo 0123456789012345678901234567890123456789; done")
    assert run.outcome is RunOutcome.KILLED and "1000000 bytes" in run.why
    never_looks_complete(service, tmp_path)


REFUSED: dict[str, tuple[str, str]] = {
    "larger than allowed": ("head -c 2000000 /dev/zero > /outputs/x", "JOB_OUTPUT_TOO_LARGE"),
    "a link that leads out": ("ln -s /etc/shadow /outputs/link", "JOB_OUTPUT_UNSAFE"),
    "a folder that is a link": ("ln -s / /outputs/root", "JOB_OUTPUT_UNSAFE"),
    "a pipe": ("mkfifo /outputs/pipe", "JOB_OUTPUT_UNSAFE"),
    "the owner's rights": ("cp /bin/busybox /outputs/b; chmod 4755 /outputs/b", "JOB_OUTPUT_UNSAFE"),
    "a name that is not UTF-8": (r"touch /outputs/$(printf 'a\377')", "JOB_OUTPUT_UNSAFE"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_left_is_refused_whole(tmp_path: Path, bench: Bench, case: str) -> None:
    script, code = REFUSED[case]
    service = bench.ready(tmp_path, tool_output_bytes=1_500_000)
    view, run = sh(service, f"echo good > /outputs/good; {script}")
    assert (run.outcome, run.exit_code) == (RunOutcome.EXITED, 0)
    assert not run.collected and not run.succeeded and run.outputs == () and code in run.why
    assert view.registry.workflow.status == "blocked"
    never_looks_complete(service, tmp_path)


def test_one_file_larger_than_allowed(tmp_path: Path, bench: Bench) -> None:
    service = bench.ready(tmp_path, tool_file_bytes=4096)
    _, run = sh(service, "head -c 100000 /dev/zero > /outputs/x")
    assert not run.succeeded
    assert (home(run, service) / "outputs/x").stat().st_size == 4096


def test_no_network_before_and_inside(tmp_path: Path, bench: Bench) -> None:
    service = bench.ready(tmp_path)
    script = "cat /proc/net/dev; cat /proc/net/route; sleep 1"
    _, run = sh(service, script)
    inside = text(run.logs, "stdout").splitlines()
    interfaces = [line.partition(":")[0].strip() for line in inside if ":" in line]
    assert interfaces == ["lo"] and inside[-1].startswith("Iface")
    assert run.network is not None and run.network.interfaces == ("lo",)
    assert run.network.proof is (Proof.READ if bench.engine == "podman" else Proof.OBSERVED)


def test_no_network_for_a_run_of_an_instant(tmp_path: Path, bench: Bench) -> None:
    service = bench.ready(tmp_path)
    _, run = sh(service, "sleep 0.05")
    assert run.succeeded and run.network is not None and run.network.interfaces == ("lo",)
    wanted = {Proof.READ} if bench.engine == "podman" else {Proof.INSPECTED, Proof.OBSERVED}
    assert run.network.proof in wanted


def test_a_network_that_is_there_all_the_same(tmp_path: Path, bench: Bench) -> None:
    """As if the runtime's own configuration had given it one: the kernel's table decides."""

    class Odd(Kernel):
        def interfaces(self, pid: int, container: str) -> tuple[str, ...] | None:
            found = super().interfaces(pid, container)
            return found and (*found, "eth0")

    service = bench.ready(tmp_path)
    service.containers = replace(service.containers, kernel=Odd())
    _, run = sh(service, "echo secret; sleep 5; echo x > /outputs/x")
    assert not run.succeeded and "eth0" in run.why
    if bench.engine == "podman":
        assert not run.started
    else:
        assert run.outcome is RunOutcome.KILLED
    never_looks_complete(service, tmp_path)
    nothing_left(bench, run)


def test_nothing_but_the_outputs_can_be_written(tmp_path: Path, bench: Bench) -> None:
    service = bench.ready(tmp_path)
    places = "/x /bin/x /inputs/x /inputs/bam /scripts/x /etc/passwd /proc/sys/kernel/hostname /sys/x"
    script = f"for f in {places}; do (echo x > $f) 2>/dev/null && echo $f; done; grep Cap /proc/self/status; "
    script += "grep NoNewPrivs /proc/self/status; ls /run /var/run 2>/dev/null | grep sock; true"
    _, run = sh(service, script)
    said = text(run.logs, "stdout").split()
    assert not [word for word in said if word.startswith("/")]
    assert said[said.index("NoNewPrivs:") + 1] == "1"
    caps = {name: said[said.index(name) + 1] for name in ("CapEff:", "CapPrm:", "CapBnd:")}
    assert set(caps.values()) == {"0" * 16}
    assert Path(service.store.root.path, "j", "outputs", "bam").read_bytes() == b"aligned\n"


def test_an_image_s_volumes_are_not_written_to(tmp_path: Path, bench: Bench) -> None:
    bench.registry.push("voluminous", "1", bench.busybox, config={"Volumes": {"/bin": {}, "/data": {}}})
    service = bench.ready(tmp_path, "voluminous")
    _, run = sh(service, "(echo x > /data/x) 2>/dev/null && echo wrote; true")
    if bench.engine == "podman":
        assert run.succeeded and text(run.logs, "stdout") == ""
    else:
        # docker can not be told to leave them out; what it adds is seen, and nothing is started.
        assert not run.started and "JOB_" in run.why
    nothing_left(bench, run)


def killed_at(
    bench: Bench, service: JobService, place: Path, step: str, script: str
) -> subprocess.Popen[bytes]:
    """A process of its own that runs the tool and kills itself at a step."""
    order = {
        "place": str(place),
        "settings": bench.settings(),
        "step": step,
        "argv": ["/bin/sh", "-c", script],
    }
    path = place / "order.json"
    path.write_text(json.dumps(order))
    environment = {**os.environ, "PYTHONPATH": f"{PROJECT / 'src'}:{PROJECT}"}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.job.killed_client", str(path)], env=environment, cwd=PROJECT
    )


@pytest.mark.parametrize(
    ("step", "outcomes"),
    [
        ("create", {RunOutcome.START_FAILED}),
        ("+create", {RunOutcome.START_FAILED}),
        ("start", {RunOutcome.START_FAILED, RunOutcome.KILLED}),
        ("+start", {RunOutcome.KILLED, RunOutcome.START_FAILED}),
    ],
)
def test_the_client_is_killed(tmp_path: Path, bench: Bench, step: str, outcomes: set[RunOutcome]) -> None:
    service = bench.ready(tmp_path)
    client = killed_at(bench, service, tmp_path, step, "echo begun; sleep 600")
    assert client.wait(60) == -signal.SIGKILL
    open_run = service.show("j").history.run_intent
    assert open_run is not None
    assert service.show("j").to_json()["complete"] is False
    view, second = sh(service, "true")
    first, again = view.history.runs
    assert first.run == open_run.run and first.outcome in outcomes and again == second
    assert not first.succeeded and second.succeeded
    assert kinds(service).count("job.tool_intent") == kinds(service).count("job.tool_run") == 2
    nothing_left(bench, first)


def test_the_client_is_killed_while_it_runs(tmp_path: Path, bench: Bench) -> None:
    service = bench.ready(tmp_path)
    client = killed_at(bench, service, tmp_path, "no step", "echo begun; echo x > /outputs/x; sleep 600")
    try:
        wait_for(lambda: bool(list(Path(tmp_path, "jobs/j/tool").glob("*/outputs/x"))), "output")
        # While it lives, nobody starts a second one, nor ends the job behind its back.
        for act in (lambda: sh(service, "true"), lambda: service.pull("j"), lambda: service.cancel("j")):
            with pytest.raises(ToolRunning):
                act()
        wait_for(lambda: any(Path(tmp_path, "jobs/j/tool").glob("*/stdout.log")), "log")
    finally:
        os.kill(client.pid, signal.SIGKILL)
        client.wait()
    running = service.show("j").history.run_intent
    assert running is not None and running.container in bench.containers()
    view = service.cancel("j")
    (run,) = view.history.runs
    assert run.outcome is RunOutcome.KILLED and run.exit_code is None and run.started
    assert run.network == running.network and text(run.logs, "stdout") == "begun\n"
    assert not run.collected and run.outputs == ()
    nothing_left(bench, run)
    assert registry_json(tmp_path, "j")["workflow"]["status"] == "cancelled"  # type: ignore[index]
    report = service.verify("j")
    assert report.good and not report.complete
    with pytest.raises(JobEnded):
        sh(service, "true")


def test_the_container_is_taken_away(tmp_path: Path, bench: Bench) -> None:
    service = bench.ready(tmp_path)

    told: list[str] = []

    def monotonic() -> float:
        if not told:
            told.extend(bench.running())
            if told:
                bench.call("rm", "--force", *told)
        return time.monotonic()

    service.containers = replace(service.containers, monotonic=monotonic)
    _, run = sh(service, "sleep 600")
    assert told and run.outcome is RunOutcome.KILLED and run.exit_code is None
    never_looks_complete(service, tmp_path)


def test_the_person_stops_it(tmp_path: Path, bench: Bench) -> None:
    service = bench.ready(tmp_path)
    asked: list[str] = []

    def monotonic() -> float:
        if not asked and bench.running():
            asked.append("stop")
            raise KeyboardInterrupt
        return time.monotonic()

    service.containers = replace(service.containers, monotonic=monotonic)
    with pytest.raises(KeyboardInterrupt):
        sh(service, "sleep 600")
    (run,) = service.show("j").history.runs
    assert asked and run.outcome is RunOutcome.KILLED and run.exit_code is None
    never_looks_complete(service, tmp_path)
    nothing_left(bench, run)


def test_a_folder_that_is_closed(tmp_path: Path, bench: Bench) -> None:
    service = bench.ready(tmp_path)
    _, run = sh(service, "mkdir /outputs/d; echo x > /outputs/d/x; chmod 0 /outputs/d; sleep 1.2")
    assert run.succeeded or (os.getuid() != 0 and not run.collected)


def test_the_image_is_taken_away(tmp_path: Path, bench: Bench) -> None:
    bench.registry.push("going", "1", bench.busybox, note=f"going from {bench.engine}")
    service = bench.ready(tmp_path, "going")
    assert bench.call("rmi", "--force", f"{bench.registry.host}/going:1").returncode == 0
    _, run = sh(service, "true")
    assert run.outcome is RunOutcome.START_FAILED
    never_looks_complete(service, tmp_path)


def test_what_can_not_be_run(tmp_path: Path, all_benches: dict[str, Bench]) -> None:
    bench = all_benches["podman"]
    service = bench.ready(tmp_path)
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "other").mkdir()
    for place in (tmp_path / "same", tmp_path / "other" / "same"):
        place.write_text("x")
    for argv in ([], [""], ["--privileged"], ["a\0b"], ["\udcff"], ["x" * (200 << 10)]):
        with pytest.raises(BadCommand):
            service.run("j", argv)
    bad: list[dict[str, list[str]]] = [
        {"inputs": [str(tmp_path / "link")]},
        {"inputs": [str(tmp_path / "other")]},
        {"inputs": [str(tmp_path / "none")]},
        {"inputs": [str(tmp_path / "same"), str(tmp_path / "other" / "same")]},
        {"scripts": [str(tmp_path / "same"), str(tmp_path / "other" / "same")]},
        {"scripts": ["/dev/null"]},
    ]
    for given in bad:
        with pytest.raises(BadInput):
            service.run("j", ["true"], **given)
    Path(tmp_path, "jobs/j/outputs/bam").write_text("changed")
    with pytest.raises(InputsChanged):
        service.run("j", ["true"])
    # Nothing of all that was announced, and nothing of it lies about.
    assert "job.tool_intent" not in kinds(service)
    assert list(Path(tmp_path, "jobs/j/tool").iterdir()) == []
    view = service.run("j", ["/bin/cat", "/inputs/same"], inputs=[str(tmp_path / "same")])
    assert text(last(view).logs, "stdout") == "x"


def test_a_runtime_that_does_not_work(tmp_path: Path, all_benches: dict[str, Bench]) -> None:
    all_benches["podman"].ready(tmp_path)
    broken = all_benches["podman"].settings(podman=["false"])
    service = open_service(tmp_path, StandIn(), **broken)
    with pytest.raises(RuntimeFailed):
        service.run("j", ["true"])
    assert service.show("j").history.runs == () and service.show("j").history.run_intent is None


def test_both_tell_the_same(tmp_path: Path, all_benches: dict[str, Bench]) -> None:
    told: list[dict[str, object]] = []
    for engine in ("podman", "docker"):
        place = tmp_path / engine
        place.mkdir()
        service = all_benches[engine].ready(place)
        _, run = sh(service, "cat /inputs/bam > /outputs/x; echo said")
        value = run.to_json()
        for own in ("run", "container", "engine", "engine_version", "started_at", "ended_at", "network"):
            value.pop(own)
        told.append(json.loads(json.dumps(value).replace(run.run, "RUN").replace(str(place), "PLACE")))
    assert told[0] == told[1]
