"""Job: the tool of a job from the command line and over MCP: the same gates, and the same record."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from mcp import Client
from tests.house.tree import PROJECT
from tests.job.bench import Bench
from tests.job.program import Program
from tests.tools.server import Talk, talk


def person_at(bench: Bench, place: Path, **more: str) -> Program:
    """Somebody with a job whose tool can be pulled, and settings of their own."""
    settings = {
        "MUNIMENT_JOB_CONTAINER_RUNTIME": bench.engine,
        f"MUNIMENT_JOB_{bench.engine.upper()}": ",".join(bench.program),
        "MUNIMENT_JOB_IMAGE_REGISTRY": bench.registry.host,
        "MUNIMENT_JOB_TOOL_MEMORY_BYTES": str(64 << 20),
    }
    return Program(place, **{**settings, **more})


def test_from_the_command_line(tmp_path: Path, bench: Bench) -> None:
    bench.job(tmp_path, "busybox:1")
    person = person_at(bench, tmp_path)
    assert person("job", "run", "j", "--", "true").code == 3
    pulled = person("job", "pull", "j")
    assert pulled.code == 0 and f"{bench.registry.host}/busybox:1" in pulled.out
    assert "muniment job run j -- PROGRAM" in pulled.err
    failed = person("job", "run", "j", "--", "sh", "-c", "echo -n; exit 7")
    assert failed.code == 4 and "exited 7" in failed.out and "blocked" in failed.out
    listed = person("job", "list", "--json").object["jobs"]
    assert [(one["phase"], one["status"]) for one in listed] == [("finalize", "blocked")]
    verified = person("job", "verify", "j")
    assert verified.code == 0 and "NOT succeed" in verified.out and "not complete" in verified.out
    (tmp_path / "reads.fastq").write_text("@a\nACGT\n+\nIIII\n")
    words = (
        "--input",
        str(tmp_path / "reads.fastq"),
        "--",
        "sh",
        "-c",
        "grep -c ^@ /inputs/reads.fastq > count",
    )
    done = person("job", "run", "j", "--json", *words)
    assert done.code == 0 and done.object["complete"] is True
    (output,) = done.object["tool"]["runs"][-1]["outputs"]
    assert Path(output["path"]).read_text() == "1\n"
    assert person("job", "verify", "j", "--json").object["complete"] is True
    assert person("job", "run", "j", "--", "true").code == 3


def test_over_mcp(tmp_path: Path, all_benches: dict[str, Bench]) -> None:
    bench = all_benches["podman"]
    bench.job(tmp_path, "busybox:1")
    person = person_at(bench, tmp_path)
    environment = {
        **person.environment,
        **{n: v for n, v in os.environ.items() if n.startswith("CONTAINERS_")},
    }

    async def say(client: Client) -> None:
        tell = Talk(client)
        assert "JOB_NOT_PULLED" in await tell.refused("job_run", job="j", argv=["true"])
        pulled = await tell.good("job_pull", job="j")
        assert pulled["tool"]["pull"]["outcome"] in ("pulled", "present")
        failed = await tell("job_run", job="j", argv=["sh", "-c", "exit 7"])
        assert failed.is_error and failed.structured_content is not None
        assert failed.structured_content["complete"] is False
        assert failed.structured_content["tool"]["runs"][0]["exit_code"] == 7
        read = await tell.good("job_verify", job="j")
        assert (read["verified"], read["complete"]) == (True, False)
        assert (await tell.good("job_run", job="j", argv=["true"]))["complete"] is True
        assert "JOB_TOOL_DONE" in await tell.refused("job_run", job="j", argv=["true"])

    talk(tmp_path / "ws", "2026-07-28", say, environment=environment)


def test_doctor_names_the_runtime(tmp_path: Path, bench: Bench) -> None:
    def found(**more: str) -> tuple[str, str]:
        person = person_at(bench, tmp_path, **more)
        (tmp_path / "ws").mkdir(exist_ok=True)
        told = person("doctor", "--json").object["findings"]
        ((level, message),) = [
            (one["level"], one["message"]) for one in told if one["subject"] == "containers"
        ]
        return level, message

    level, message = found()
    assert level == "good" and message.startswith(f"{bench.engine} ") and message.endswith(" answers")
    name = f"MUNIMENT_JOB_{bench.engine.upper()}"
    assert found(**{name: "/no/such"}) == (
        "good",
        f"{bench.engine} is not here; only running the tool of a job needs it",
    )
    assert found(**{name: "false"})[0] == "warning"


def test_a_workspace_can_not_say_what_runs(tmp_path: Path, bench: Bench) -> None:
    bench.job(tmp_path, "busybox:1")
    settings = tmp_path / "ws" / ".muniment" / "config.toml"
    for line in (
        'podman = ["/evil"]',
        'image_registry = "evil.example.org"',
        "tool_seconds = 9999999",
        'auth_file = "/x"',
    ):
        settings.write_text(f"[job]\n{line}\n")
        person = person_at(bench, tmp_path)
        for own in ("PODMAN", "DOCKER", "IMAGE_REGISTRY"):
            person.environment.pop(f"MUNIMENT_JOB_{own}", None)
        refused = person("job", "pull", "j")
        assert refused.code == 2 and "BAD_SETTING" in refused.err


def test_the_demo_runs_a_tool(tmp_path: Path, all_benches: dict[str, Bench]) -> None:
    assert all_benches["podman"].engine == "podman"
    script = """if True:
        import sys
        import muniment.faces.cli.demo as demo
        from muniment.app import main
        demo.CHAPTERS = (demo.job_chapter,)
        sys.argv = ["muniment", "demo", "--json"]
        sys.exit(main())
    """
    home = Path(tempfile.mkdtemp(prefix="mdm-", dir="/tmp"))
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")},
        **{
            "HOME": str(tmp_path),
            "TMPDIR": str(home),
            "PYTHONPATH": str(PROJECT / "src"),
            "PYTHONUTF8": "1",
        },
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["left_out"] == []
    steps = told["steps"]
    assert [one["exit_code"] for one in steps if one["arguments"][:2] == ["job", "run"]] == [4, 0], (
        done.stderr
    )
    home.rmdir()  # which says that nothing was left in it
