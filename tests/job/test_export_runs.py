"""Job: exports of what really ran: by both runtimes, from a real registry, to each kind of end."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.job.bench import Bench, sh

from muniment.job.export.facts import Format
from muniment.job.export.reading import verify_crate, verify_document
from muniment.job.service import JobService


def all_exports(service: JobService, place: Path, verdict: str) -> dict[Format, Any]:
    """Every export of a job, each read again against its record."""
    jobs, found = service.store.root.path, {}
    for format in Format:
        out = place / f"{verdict}-{format.value}"
        assert service.export("j", format, out).verdict == verdict
        if format is Format.RO_CRATE:
            checked, file = verify_crate(out, Path(jobs, "j")), out / "ro-crate-metadata.json"
        else:
            checked, file = verify_document(out, lambda: jobs), out
        assert checked.good and checked.verdict == verdict, checked
        found[format] = json.loads(file.read_text("utf-8"))
    return found


def test_a_run_that_succeeds_after_others_that_did_not(tmp_path: Path, bench: Bench) -> None:
    (tmp_path / "count.sh").write_text('wc -c < "$1"\n')
    service = bench.ready(tmp_path, results={"a, b": b"12345"})
    _, failed = sh(service, "echo no > /outputs/half; exit 7")
    found = all_exports(service, tmp_path, "failed")
    assert found[Format.TES]["state"] == "EXECUTOR_ERROR"
    assert found[Format.TES]["logs"][0]["logs"][0]["exit_code"] == 7
    assert hashlib.sha256(b"no\n").hexdigest() not in json.dumps(found)
    _, run = sh(
        service,
        "mkdir /outputs/deep; sh /scripts/count.sh '/inputs/a, b' > /outputs/deep/count",
        scripts=[str(tmp_path / "count.sh")],
    )
    assert run.succeeded
    found = all_exports(service, tmp_path, "complete")
    task = found[Format.TES]
    assert [one["path"] for one in task["inputs"]] == ["/inputs/a, b", "/scripts/count.sh"]
    assert [one["path"] for one in task["outputs"]] == ["/outputs/deep/count"]
    assert task["executors"][0]["image"].endswith(f"@{run.image.manifest_digest}")
    digest = hashlib.sha256(b"5\n").hexdigest()
    assert {"sha256": digest} in [one["digest"] for one in found[Format.SLSA]["subject"]]
    all = {one["@id"]: one for one in found[Format.RO_CRATE]["@graph"]}
    actions = [all[f"#run-{one.run}"]["actionStatus"].rpartition("/")[2] for one in (failed, run)]
    assert actions == ["FailedActionStatus", "CompletedActionStatus"]


def test_a_program_that_is_not_there(tmp_path: Path, bench: Bench) -> None:
    service = bench.ready(tmp_path)
    service.run("j", ["/no/such/program"])
    found = all_exports(service, tmp_path, "never_started")
    assert found[Format.TES]["state"] == "SYSTEM_ERROR" and found[Format.TES]["logs"][0]["logs"] == []
    (run,) = (
        one for one in found[Format.RO_CRATE]["@graph"] if one["@id"].startswith("#run-") and "error" in one
    )
    assert "startTime" not in run and "result" not in run
    assert "registry.yaml" in [one["name"] for one in found[Format.SLSA]["subject"]]
