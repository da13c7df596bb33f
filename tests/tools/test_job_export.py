"""Tools: exports of jobs over MCP: into the workspace and nowhere else, by the same gates."""

from __future__ import annotations

from pathlib import Path

from mcp import Client
from tests.job.export_world import finished, submitted
from tests.tools.server import Era, Talk, talk

from muniment.job.export.reading import verify_crate, verify_document
from muniment.job.tool_run import RunOutcome

WRONG = "Job blocked: "


def test_exports_stay_in_the_workspace(tmp_path: Path, era: Era) -> None:
    made = finished(tmp_path)
    submitted(made, "going")
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "ws" / "way-out").symlink_to(outside)

    async def say(client: Client) -> None:
        tell = Talk(client)
        crate = await tell.good("job_export", job="j", format="ro-crate")
        assert (crate["path"], crate["verdict"], crate["files"]) == ("j-ro-crate", "complete", 9)
        task = await tell.good("job_export", job="j", format="tes", output="task.json")
        assert (task["path"], task["files"], task["left_out"]) == ("task.json", 1, [])
        for place in ("../x", str(outside / "x"), "way-out/x", ".muniment/x", "."):
            words = await tell.refused("job_export", job="j", format="slsa", output=place)
            assert words.startswith(WRONG), place
        assert "JOB_EXPORT_EXISTS" in await tell.refused("job_export", job="j", format="ro-crate")
        assert "JOB_NOT_ENDED" in await tell.refused("job_export", job="going", format="slsa")
        assert "INVALID_ARGUMENT" in await tell.refused("job_export", job="j", format="slsa", key="k.pem")

    talk(tmp_path / "ws", era, say, environment={"MUNIMENT_JOB_ROOT": str(made.jobs)})
    assert list(outside.iterdir()) == []
    assert verify_crate(tmp_path / "ws" / "j-ro-crate", made.jobs / "j").good
    assert verify_document(tmp_path / "ws" / "task.json", lambda: str(made.jobs)).good


def test_what_never_started_is_called_so(tmp_path: Path, era: Era) -> None:
    made = finished(tmp_path, RunOutcome.PULL_FAILED, None)

    async def say(client: Client) -> None:
        done = await Talk(client).good("job_export", job="j", format="slsa")
        assert done["verdict"] == "never_started"

    talk(tmp_path / "ws", era, say, environment={"MUNIMENT_JOB_ROOT": str(made.jobs)})
