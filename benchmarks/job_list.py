"""Measures how long 10,000 jobs take to list (spec 2, what it must hold): printed, never asserted.

python benchmarks/job_list.py [JOBS]
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from muniment.clock import system_clock
from muniment.disk.root import Root
from muniment.job.model import Artifact, Downstream, Phase, Registry, Status, Workflow
from muniment.job.opening import service_of
from muniment.job.settings import SETTINGS
from muniment.job.writer import write
from muniment.record.consent import RELAYED
from muniment.record.state import open_workspace
from muniment.settings import Settings


def main(count: int) -> None:
    """Make so many registries of ordinary size, then list them a few times."""
    with tempfile.TemporaryDirectory() as place:
        jobs = Path(place, "jobs")
        outputs = tuple(Artifact(f"{jobs}/x/outputs/{n}.bam", 1 << 30, "ab" * 32, "bam") for n in range(6))
        done = Workflow(objective="align 48 samples", phase=Phase.FINALIZE, status=Status.COMPLETE)
        base = Registry(workflow=done)
        base = replace(base, execution=replace(base.execution, downstream=Downstream(outputs=outputs)))
        data = write(base)
        for number in range(count):
            folder = jobs / f"job-{number:06d}"
            folder.mkdir(parents=True)
            (folder / "registry.yaml").write_bytes(data)
        os.mkdir(Path(place, "ws"))
        with Root.open(Path(place, "ws")) as root, Root.open(jobs) as folder_of_jobs:
            workspace = open_workspace(root, clock=system_clock)
            service = service_of(workspace, folder_of_jobs, Settings([*SETTINGS, RELAYED]))
            times = []
            cpu_begun = time.process_time()
            for _ in range(5):
                begun = time.perf_counter()
                found = sum(1 for row in service.list() if not row.fault)
                times.append(time.perf_counter() - begun)
                assert found == count
    cpu = time.process_time() - cpu_begun
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    spent = f"{statistics.median(times):.2f} s (median of 5), {cpu / 5:.2f} s of processor"
    print(f"{count} jobs of {len(data)} bytes: {spent}, RSS {rss} MiB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
