"""Job: fetching images, from a real registry by both runtimes: what is recorded is what the registry has."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.job.bench import Bench
from tests.job.engines import free_port
from tests.job.registry_server import HERE, INDEX, PASSWORD, USER, layer
from tests.job.standin import REQUEST, StandIn, open_service, registry_json
from tests.job.test_service import kinds

from muniment.errors import ExitCode
from muniment.job.backend import EngineState
from muniment.job.errors import (
    BadAuthFile,
    BadTool,
    ImageCorrupt,
    ImageUnknown,
    ImageWithoutRegistry,
    NoTool,
    NotPulled,
    PhaseRefused,
    RegistryDenied,
    RegistryUnreachable,
    RuntimeMissing,
    ToolCollision,
)
from muniment.job.launching import Done, SystemLauncher
from muniment.job.service import JobService
from muniment.job.tool_run import Pull, PullOutcome, RunOutcome
from muniment.record.consent import WitnessKind


def told(service: JobService, job: str = "j") -> Pull:
    """The last pull, read anew from the job's own files."""
    pull = service.show(job).history.pull
    assert pull is not None
    return pull


def ledger(place: Path, job: str = "j") -> object:
    return registry_json(place, job)["execution"]["downstream"]["pull_ledger"]  # type: ignore[index]


def auth_file(place: Path, host: str, password: str) -> str:
    secret = base64.b64encode(f"{USER}:{password}".encode()).decode()
    path = place / "auth.json"
    path.write_text(json.dumps({"auths": {host: {"auth": secret}}}))
    path.chmod(0o600)
    return str(path)


def never_looks_complete(service: JobService, place: Path) -> None:
    """Neither file, nor list, nor show, nor verify says that the job is at its end."""
    workflow = registry_json(place, "j")["workflow"]
    assert isinstance(workflow, dict) and workflow["status"] != "complete"
    assert [row.status for row in service.list() if row.job == "j"] == [workflow["status"]]
    shown = service.show("j").to_json()
    assert shown["complete"] is False
    report = service.verify("j")
    assert report.good, report
    assert report.to_json()["complete"] is False


def test_fetched_and_then_there(tmp_path: Path, bench: Bench) -> None:
    pushed = bench.registry.push("fresh", "1", bench.busybox, note=bench.engine)
    service = bench.job(tmp_path, "Fresh:1")
    first = service.pull("j").history.pull
    assert first == told(service) and first is not None
    reference = f"{bench.registry.host}/fresh:1"
    assert (first.reference, first.outcome) == (reference, PullOutcome.PULLED)
    assert (first.pre_image_id, first.post_image_id, first.preexisting) == (None, pushed.id, False)
    assert (first.manifest_digest, first.media_type) == (pushed.digest, pushed.kind)
    assert first.platform == f"linux/{HERE}" and not first.moved
    assert ledger(tmp_path) == {
        "preexisting": False,
        "pre_image_id": None,
        "post_image_id": pushed.id,
        "pulled_at": first.pulled_at,
    }
    service.pull("j")
    again = told(service)
    assert (again.outcome, again.preexisting, again.moved) == (PullOutcome.PRESENT, True, False)
    assert again.pre_image_id == again.post_image_id == pushed.id
    assert ledger(tmp_path)["preexisting"] is True  # type: ignore[index]
    never_looks_complete(service, tmp_path)
    assert "job.tool_pull" in [event.kind for event in service.workspace.ledger.events()]


def test_a_tag_that_moved_is_told(tmp_path: Path, bench: Bench) -> None:
    before = bench.registry.push("moving", "1", bench.busybox, note=f"{bench.engine} before")
    service = bench.job(tmp_path, "moving:1")
    service.pull("j")
    after = bench.registry.push("moving", "1", bench.busybox, note=f"{bench.engine} after")
    service.pull("j")
    pull = told(service)
    assert pull.moved and pull.outcome is PullOutcome.PULLED
    assert (pull.pre_image_id, pull.post_image_id) == (before.id, after.id)


def test_of_several_processors_the_index_is_named(tmp_path: Path, bench: Bench) -> None:
    ours = bench.registry.push("several", "ours", bench.busybox)
    other = bench.registry.push("several", "other", layer({"etc/a": (b"a", 0o644)}, {}), arch="s390x")
    index = bench.registry.push_index("several", "1", {HERE: ours, "s390x": other})
    service = bench.job(tmp_path, "several:1")
    service.pull("j")
    pull = told(service)
    assert (pull.post_image_id, pull.manifest_digest, pull.media_type) == (ours.id, index, INDEX)
    assert pull.platform == f"linux/{HERE}"


@pytest.mark.parametrize("name", ["missing:7", "nowhere:1"])
def test_what_the_registry_does_not_have(tmp_path: Path, bench: Bench, name: str) -> None:
    bench.registry.push("missing", "1", bench.busybox)
    service = bench.job(tmp_path, name)
    with pytest.raises(ImageUnknown) as caught:
        service.pull("j")
    assert caught.value.exit_code is ExitCode.NOT_FOUND
    pull = told(service)
    assert pull.failed and pull.why and pull.post_image_id is None
    assert ledger(tmp_path) == {
        "preexisting": False,
        "pre_image_id": None,
        "post_image_id": None,
        "pulled_at": "",
    }
    never_looks_complete(service, tmp_path)
    # A run of it is on record as one that never started.
    run = service.run("j", ["true"]).history.runs[-1]
    assert run.outcome is RunOutcome.PULL_FAILED and not run.started
    assert (run.started_at, run.ended_at, run.exit_code, run.network) == ("", "", None, None)
    never_looks_complete(service, tmp_path)


def test_a_failed_pull_does_not_take_away_what_is_here(tmp_path: Path, bench: Bench) -> None:
    pushed = bench.registry.push("kept", "1", bench.busybox, note=f"{bench.engine} kept")
    service = bench.job(tmp_path, "kept:1")
    service.pull("j")
    other = layer({"etc/k": (bench.engine.encode() * 999, 0o644)}, {})
    bench.registry.spoil(bench.registry.push("kept", "1", other).layer)
    with pytest.raises(ImageCorrupt):
        service.pull("j")
    pull = told(service)
    assert (pull.pre_image_id, pull.post_image_id, pull.preexisting) == (pushed.id, None, True)
    assert not pull.moved


def test_the_registry_is_down(tmp_path: Path, bench: Bench) -> None:
    service = bench.job(tmp_path, "down:1", image_registry=f"127.0.0.1:{free_port()}")
    with pytest.raises(RegistryUnreachable) as caught:
        service.pull("j")
    assert caught.value.retryable
    never_looks_complete(service, tmp_path)


def test_a_wrong_password_and_the_right_one(
    tmp_path: Path, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = bench.guarded.host
    pushed = bench.guarded.push("guarded", "1", bench.busybox, note=bench.engine)
    path = auth_file(tmp_path, host, "wrong")
    service = bench.job(tmp_path, "guarded:1", image_registry=host, auth_file=path)
    with pytest.raises(RegistryDenied) as caught:
        service.pull("j")
    assert caught.value.exit_code is ExitCode.NOT_AUTHORISED
    never_looks_complete(service, tmp_path)
    said: list[str] = []
    run = SystemLauncher.run

    def watched(self: SystemLauncher, argv: Sequence[str], **more: Any) -> Done:
        said.extend(argv)
        return run(self, argv, **more)

    monkeypatch.setattr(SystemLauncher, "run", watched)
    auth_file(tmp_path, host, PASSWORD)
    service.pull("j")
    pull = told(service)
    assert (pull.post_image_id, pull.manifest_digest) == (pushed.id, pushed.digest)
    # Credentials are in their file and nowhere else.
    journal = Path(service.store.root.path, "j", "journal.jsonl").read_text("utf-8")
    secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    assert said and not any(PASSWORD in text or secret in text for text in (*said, journal))


def test_a_blob_that_is_not_what_was_announced(tmp_path: Path, bench: Bench) -> None:
    pushed = bench.registry.push("spoilt", "1", layer({"etc/b": (bench.engine.encode() * 999, 0o644)}, {}))
    bench.registry.spoil(pushed.layer)
    service = bench.job(tmp_path, "spoilt:1")
    with pytest.raises(ImageCorrupt) as caught:
        service.pull("j")
    assert caught.value.exit_code is ExitCode.NOT_VERIFIED
    assert bench.call("image", "inspect", f"{bench.registry.host}/spoilt:1").returncode != 0
    never_looks_complete(service, tmp_path)


def test_an_image_made_here_is_not_looked_for_elsewhere(tmp_path: Path, bench: Bench) -> None:
    pushed = bench.registry.push("made", "1", bench.busybox)
    service = bench.job(tmp_path, "made:1", image_registry="localhost")
    with pytest.raises(ImageUnknown):
        service.pull("j")
    assert bench.call("pull", f"{bench.registry.host}/made:1").returncode == 0
    assert bench.call("tag", f"{bench.registry.host}/made:1", "localhost/made:1").returncode == 0
    service.pull("j")
    pull = told(service)
    assert (pull.outcome, pull.post_image_id) == (PullOutcome.PRESENT, pushed.id)


def test_two_spellings_are_two_tools(tmp_path: Path, bench: Bench) -> None:
    bench.registry.push("spelled", "1", bench.busybox)
    early = bench.job(tmp_path, "SPELLED:1", job="early")
    bench.job(tmp_path, "Spelled:1").pull("j")
    with pytest.raises(ToolCollision, match="Spelled"):
        early.pull("early")
    with pytest.raises(ToolCollision, match="spelled and Spelled"):
        bench.job(tmp_path, "spelled:1", job="late")
    bench.job(tmp_path, "Spelled:1", job="same").pull("same")
    assert "job.tool_pull" not in kinds(early, "early")


@pytest.mark.parametrize(
    "name",
    [
        "a b:1",
        "a:latest",
        "a:01",
        "a:0",
        "a",
        "a@sha256:1",
        "../a:1",
        "a//b:1",
        "-a:1",
        "ä:1",
        "a_:1",
        f"{'x' * 300}:1",
    ],
)
def test_names_that_no_registry_takes(tmp_path: Path, all_benches: dict[str, Bench], name: str) -> None:
    with pytest.raises(BadTool):
        all_benches["podman"].job(tmp_path, name)


def test_before_anything_is_fetched(tmp_path: Path, all_benches: dict[str, Bench]) -> None:
    bench = all_benches["podman"]
    service = bench.job(tmp_path, "plain:1", image_registry="")
    with pytest.raises(ImageWithoutRegistry):
        service.pull("j")
    with pytest.raises(NotPulled):
        service.run("j", ["true"])
    missing = bench.job(tmp_path, "plain:1", job="k", podman=["/no/such/podman"])
    with pytest.raises(RuntimeMissing):
        missing.pull("k")
    for content in ("{", '{"a": 1}', "[]"):
        (tmp_path / "auth").write_text(content)
        odd = bench.job(tmp_path, "plain:1", job=f"o{len(content)}", auth_file=str(tmp_path / "auth"))
        with pytest.raises(BadAuthFile):
            odd.pull(f"o{len(content)}")
    bare = bench.job(tmp_path, "plain:1", job="bare")
    bare.init("new")
    with pytest.raises(PhaseRefused):
        bare.pull("new")
    with pytest.raises(PhaseRefused):
        bare.run("new", ["true"])
    # Complete as far as the engine goes, and without a tool there is nothing to pull or to run.
    engine = StandIn(state=EngineState.SUCCEEDED)
    plain = open_service(tmp_path, engine, **bench.settings())
    plain.init("toolless")
    plain.confirm("toolless", plain.plan("toolless", REQUEST).plan, WitnessKind.TERMINAL)
    plain.submit("toolless")
    plain.finalize("toolless")
    with pytest.raises(NoTool):
        plain.pull("toolless")
