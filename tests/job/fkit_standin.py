"""Job: a stand-in for BioLine's command line, which can not be reached from tests.

    fkit_standin.py STATE COMMAND…

It answers in the shapes that the specification names; what it says beyond them (tasks, inputs,
paths) is our reading of them.  Submissions are counted in STATE, one line each; STATE/fault tells
what shall go wrong at the next one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

FLOW = {
    "id": "flow-1",
    "versionId": "v-9",
    "keyword": "count",
    "tasks": [
        {
            "name": "count",
            "inputs": [
                {"name": "reads", "type": "FILE", "required": True},
                {"name": "index", "type": "FILE", "required": False, "default": "hg38"},
            ],
            "outputs": [{"name": "report"}],
        }
    ],
}


def answer(value: Any, *, wrapped: bool) -> int:
    """Print a reply, wrapped as some of the platform's are."""
    print(json.dumps({"code": 0, "data": value} if wrapped else value))
    return 0


def main(state: Path, command: list[str]) -> int:
    """Do what one call of the command does."""
    match command:
        case ["flow", "inspect", version, "--json"]:
            if version != "v-9":
                print("no such version", file=sys.stderr)
                return 4
            return answer(FLOW, wrapped=False)
        case ["flow", "list", "--keyword", word, "--json"]:
            known = [{"name": "Counter", "version": 3, "ports": ["reads"]}]
            return answer([one for one in known if word in str(one["name"])], wrapped=True)
        case ["ls", path, "--json"]:
            return answer(
                [
                    {
                        "fileId": f"f_{one.name}",
                        "path": f"{path.rstrip('/')}/{one.name}",
                        "type": "DIR" if one.is_dir() else "FILE",
                    }
                    for one in sorted(Path(path).iterdir())
                ],
                wrapped=True,
            )
        case ["pipeline", "create", spec, "--json"]:
            return create(state, json.loads(Path(spec).read_text("utf-8")))
        case ["pipeline", "get", pipeline, "--json"]:
            return answer(json.loads((state / pipeline / "job.json").read_text("utf-8")), wrapped=True)
        case ["download", source, target]:
            shutil.copytree(source, target, dirs_exist_ok=True)
            return 0
    print("unknown command", file=sys.stderr)
    return 2


def create(state: Path, spec: dict[str, Any]) -> int:
    """Take a pipeline: count the reads at once, and remember the result."""
    fault = (state / "fault").read_text("utf-8") if (state / "fault").exists() else ""
    (state / "fault").unlink(missing_ok=True)
    if fault == "dies before":
        os.kill(os.getpid(), signal.SIGKILL)
    with (state / "created").open("a", encoding="utf-8") as stream:
        stream.write(spec["name"] + "\n")
    pipeline = f"p_{len((state / 'created').read_text('utf-8').splitlines())}"
    folder = state / pipeline
    (folder / "out" / "report").mkdir(parents=True)
    (reads,) = [one["filename"] for one in spec["bindings"] if one["port"] == "reads"]
    lines = Path(reads).read_text("utf-8").splitlines()
    count = sum(line.startswith("@") for line in lines)
    (folder / "out" / "report" / "report.txt").write_text(f"reads: {count}\n", "utf-8")
    code = -1 if "broken" in reads else 2
    job = {"id": pipeline, "status": code, "outputDir": str(folder / "out"), "message": "the index is broken"}
    (folder / "job.json").write_text(json.dumps(job), "utf-8")
    if fault == "dies after":
        os.kill(os.getpid(), signal.SIGKILL)
    return answer({"id": pipeline}, wrapped=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
