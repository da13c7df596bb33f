"""`muniment backup restore` and its sisters as people and programs call them."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from tests.backup.test_commands import Desk
from tests.backup.world import put
from tests.faces.calling import Answer

EXAMPLES = Path(__file__).with_name("restore_output.txt")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    (desk.workspace / "memory/note.md").unlink()
    words = ["one", "two", "three", "four", "five", "six", "seven"]
    put(desk.workspace / "memory/note.md", "\n".join(words) + "\n")
    put(desk.workspace / "memory/long.txt", "".join(f"line {n}\n" for n in range(1, 51)))
    put(desk.workspace / "picture.png", b"\x89PNG\0")
    put(desk.workspace / "gone.txt", "gone\n")
    put(desk.workspace / "setup.sh", "echo hi\n")
    put(desk.workspace / "same.txt", "same\n")
    (desk.workspace / "link").symlink_to("gone.txt")
    assert desk.call("rules", "default").code == 0
    return desk


def snapshot(desk: Desk) -> str:
    plan = desk.call("plan", "--json").object["plan_id"]
    made = desk.call("create", "--plan", plan, "--yes", "--json").object["backup_id"]
    assert isinstance(made, str)
    return made


def change(desk: Desk) -> None:
    put(desk.workspace / "memory/note.md", "one\ntwo\nthree\nfour\nFIVE\x1b[2J\nsix\nseven\n")
    put(desk.workspace / "memory/long.txt", "".join(f"LINE {n}\n" for n in range(1, 51)))
    put(desk.workspace / "picture.png", b"\x89PNG\0!")
    for name in ("gone.txt", "link", "setup.sh"):
        (desk.workspace / name).unlink()


def examples() -> list[tuple[list[str], list[str], list[str], int]]:
    found = []
    for block in EXAMPLES.read_text("utf-8").split("\n$ ")[1:]:
        call, *rest = block.rstrip("\n").split("\n")
        typed = [line[2:] for line in rest if line.startswith("? ")]
        lines = [line for line in rest if not line.startswith(("? ", "= ")) and line]
        (code,) = [int(line[2:]) for line in rest if line.startswith("= ")]
        found.append((call.split(" "), typed, lines, code))
    return found


def test_the_exact_output_of_plan_and_apply(desk: Desk) -> None:
    made = snapshot(desk)
    change(desk)
    assert len(examples()) == 4
    for call, typed, lines, code in examples():
        answer = desk.call(
            *(part.format(id=made) for part in call), typed="\n".join([*typed, ""]) if typed else None
        )
        assert answer.code == code, answer.err
        expected = [line.replace("{id}", made).replace("{ws}", str(desk.workspace)) for line in lines]
        assert matches(answer.out.splitlines(), expected), answer.out
        if "--only" not in call and "--overwrite" in call:
            put(desk.workspace / "memory/note.md", "one\ntwo\nthree\nfour\nFIVE\x1b[2J\nsix\nseven\n")


def matches(lines: list[str], expected: list[str]) -> bool:
    """Whether the lines are those expected; `…` alone stands for any number of them."""
    if "…" not in expected:
        return lines == expected
    at = expected.index("…")
    after = expected[at + 1 :]
    return lines[:at] == expected[:at] and lines[len(lines) - len(after) :] == after


def test_an_agents_yes_does_not_go_over_what_is_there(desk: Desk) -> None:
    made = snapshot(desk)
    change(desk)
    refused = desk.call("restore", made, "--apply", "--overwrite", "--yes", "--json")
    assert refused.code == 3 and refused.object["error"] == "NOT_CONFIRMED"
    assert (desk.workspace / "picture.png").read_bytes() == b"\x89PNG\0!"
    allowed = desk.call(
        "restore", made, "--apply", "--overwrite", "--yes", "--json", MUNIMENT_CONFIRM_RELAYED="restore"
    )
    assert allowed.code == 0
    assert allowed.object["wrote"] == 5 and allowed.object["skipped_modified"] == 1
    assert not (desk.workspace / "setup.sh").exists(), "it runs by itself, and --yes alone is not enough"
    running = desk.call("restore", made, "--apply", "--run", "--yes", MUNIMENT_CONFIRM_RELAYED="restore")
    assert running.code == 0 and (desk.workspace / "setup.sh").exists()


def test_off_a_terminal_without_a_yes_nothing_is_done(desk: Desk) -> None:
    made = snapshot(desk)
    change(desk)
    assert desk.call("restore", made, "--apply").code == 3
    assert not (desk.workspace / "gone.txt").exists()


def test_the_plan_that_was_shown_is_the_one_applied(desk: Desk) -> None:
    made = snapshot(desk)
    change(desk)
    plan = desk.call("restore", made, "--json").object["restore_plan_id"]
    put(desk.workspace / "gone.txt", "came since")
    stale = desk.call("restore", made, "--apply", "--yes", "--plan", plan, "--json")
    assert stale.code == 5 and stale.object["error"] == "RESTORE_PLAN_STALE"
    plan = desk.call("restore", made, "--json").object["restore_plan_id"]
    assert desk.call("restore", made, "--apply", "--yes", "--plan", plan).code == 0


def test_exact_shows_the_folders_that_go_and_the_next_step_keeps_what_was_asked(desk: Desk) -> None:
    made = snapshot(desk)
    put(desk.workspace / "later/deep/file", "x")
    shown = desk.call("restore", made, "--exact")
    going = [line.strip() for line in shown.out.splitlines() if line.startswith("  - ")]
    assert going == [
        "- [workspace] later/",
        "- [workspace] later/deep/",
        "- [workspace] later/deep/file  (1 B)",
    ]
    assert f"muniment backup restore {made} --exact --apply" in shown.err


def test_the_next_step_quotes_what_was_asked(desk: Desk) -> None:
    put(desk.workspace / "two words/file", "x")
    made = snapshot(desk)
    shown = desk.call("restore", made, "--only", "workspace/two words")
    assert f"muniment backup restore {made} --only 'workspace/two words' --apply" in shown.err


@pytest.mark.parametrize(
    "more",
    [
        ["--only", "workspace/memory"],
        ["--exact"],
        ["--overwrite"],
        ["--run"],
        ["--apply"],
        ["--plan", "0" * 64],
    ],
    ids=lambda more: more[0],
)
def test_into_a_new_folder_goes_with_no_choice(desk: Desk, tmp_path: Path, more: list[str]) -> None:
    made = snapshot(desk)
    answer = desk.call("restore", made, "--target", str(tmp_path / "new"), *more, "--json")
    assert answer.code == 2 and answer.object["error"] == "USAGE"
    assert not (tmp_path / "new").exists()


def test_exact_of_a_part_says_that_it_is_a_part(desk: Desk) -> None:
    made = snapshot(desk)
    answer = desk.call("restore", made, "--exact", "--only", "workspace/memory")
    assert answer.code == 3 and "--only" in answer.err


def test_the_question_counts_files_and_not_folders(desk: Desk) -> None:
    put(desk.workspace / "one/two/three/file", "x")
    made = snapshot(desk)
    shutil.rmtree(desk.workspace / "one")
    answer = desk.call("restore", made, "--apply", typed="y\n")
    assert "Restore 1 file?" in answer.out + answer.err


def half_done(desk: Desk) -> tuple[str, str]:
    """A restore that could not do one file: a folder of another's stands in its place by then."""
    made = snapshot(desk)
    change(desk)
    line = {
        "ts": "2026-11-30T12:00:00Z",
        "backup_id": made,
        "section": "restore",
        "status": "begun",
        "restore": "01M8P570G0X2AHZAQP4MK26C10",
        "sections": ["files/workspace"],
    }
    answer = desk.call("restore", made, "--apply", "--yes", "--json")
    assert answer.code == 0
    restore = answer.object["restore"]
    line["restore"] = restore
    put(desk.workspace / ".muniment/restore.log", json.dumps(line) + "\n")
    (desk.workspace / "gone.txt").unlink()
    return made, restore


def test_a_half_done_restore_asks_what_shall_be(desk: Desk) -> None:
    made, _ = half_done(desk)
    for call in (["plan"], ["rules", "propose"], ["create", "--plan", "0" * 64, "--yes"], ["restore", made]):
        answer = desk.call(*call, "--json")
        assert answer.code == 9 and answer.object["error"] == "RESTORE_HALF_DONE", call
        assert made in answer.out
    assert desk.call("restore", typed="perhaps\n").code == 130
    assert (desk.workspace / ".muniment/restore.log").exists()
    went_on = desk.call("restore", typed="continue\n")
    assert went_on.code == 0 and "wrote=1" in went_on.out
    assert (desk.workspace / "gone.txt").read_text() == "gone\n"
    assert not (desk.workspace / ".muniment/restore.log").exists()


@pytest.mark.parametrize("how", [["--cancel"], ["--start-over", "--apply", "--yes"], ["--continue"]])
def test_a_half_done_restore_by_a_flag(desk: Desk, how: list[str]) -> None:
    made, restore = half_done(desk)
    answer = desk.call("restore", made, *how, "--json")
    assert answer.code == 0, answer.err
    assert not (desk.workspace / ".muniment/restore.log").exists()
    assert (desk.workspace / "gone.txt").exists() == (how != ["--cancel"])
    if how == ["--cancel"]:
        assert answer.object == {"backup_id": made, "restore": restore, "cancelled": True}


@pytest.mark.parametrize("how", [["--cancel"], ["--start-over"]])
def test_a_log_that_nobody_can_read_is_laid_aside_when_that_is_said(desk: Desk, how: list[str]) -> None:
    """The error names both ways, and neither loses a byte of what may be told by it."""
    made = snapshot(desk)
    log = put(desk.workspace / ".muniment/restore.log", "not json\n")
    for call in (["plan"], ["restore", made], ["restore", made, "--continue"], ["undo", "--yes"]):
        stopped = desk.call(*call, "--json")
        assert stopped.object["error"] in ("RESTORE_LOG_BROKEN", "NO_UNDO") and log.exists(), call
    left = desk.call("restore", made, *how, "--json")
    assert left.code == 0, left.err
    assert not log.exists() and desk.call("plan").code == 0
    (aside,) = log.parent.glob("restore.log.*")
    assert aside.read_text() == "not json\n" and str(aside) in left.err
    assert ("cancelled" in left.object) == (how == ["--cancel"])


def test_only_one_of_the_three_flags(desk: Desk) -> None:
    assert desk.call("restore", "--cancel", "--continue").code == 2


def test_undo_as_a_person_and_as_a_program(desk: Desk) -> None:
    made = snapshot(desk)
    change(desk)
    assert desk.call("undo").code == 7
    restore = desk.call("restore", made, "--apply", "--yes", "--json").object["restore"]
    listed = desk.call("undo", "--list", "--json").object["undo_sets"]
    assert [one["restore"] for one in listed] == [restore]
    assert desk.call("undo").code == 3
    assert desk.call("undo", typed="n\n").code == 130
    assert (desk.workspace / "gone.txt").exists()
    undone = desk.call("undo", typed="y\n")
    assert undone.code == 0 and undone.out == "Undone: put_back=0 removed=2 kept=0\n"
    assert not (desk.workspace / "gone.txt").exists()


def test_fetch_and_verify_and_a_fresh_folder(desk: Desk, tmp_path: Path) -> None:
    made = snapshot(desk)
    fetched = desk.call("fetch", made, "--json").object
    assert fetched["sections"]["files/workspace"] == [fetched["files"], fetched["content_bytes"]]
    place = Path(fetched["folder"]) / "files/workspace"
    assert (place / "memory/note.md").read_bytes() == (desk.workspace / "memory/note.md").read_bytes()
    verified = desk.call("verify", made, "--json").object
    assert verified["files"] == fetched["files"] and verified["content_bytes"] == fetched["content_bytes"]
    target = tmp_path / "look"
    assert desk.call("restore", made, "--target", str(target)).code == 0
    assert os.readlink(target / "files/workspace/link") == "gone.txt"
    again = desk.call("restore", made, "--target", str(target), "--json")
    assert again.code == 3 and again.object["error"] == "TARGET_NOT_EMPTY"


def test_the_tools_have_the_same_gates(desk: Desk) -> None:
    made = snapshot(desk)
    change(desk)
    plan = desk.tool("backup_restore_plan", backupId=made)
    assert plan.structured is not None
    counts = plan.structured["counts"]
    assert isinstance(counts, dict) and (counts["new"], counts["modified"]) == (3, 3)
    plan_id = str(plan.structured["restore_plan_id"])
    asked = {"backupId": made, "restorePlanId": plan_id, "personAgreed": "yes"}
    refused = desk.tool("backup_restore", **asked, overwrite=True)  # type: ignore[arg-type]
    assert refused.failed and "NOT_CONFIRMED" in refused.text
    done = desk.tool("backup_restore", **asked)
    assert done.structured is not None and done.structured["wrote"] == 2
    stale = desk.tool("backup_restore", **asked)
    assert stale.failed and "RESTORE_PLAN_STALE" in stale.text


def hosted(tmp_path: Path, *how: str) -> tuple[Desk, Answer]:
    """A Starchild agent whose settings came along, restored as far as files go."""
    desk = Desk(tmp_path)
    desk.workspace = tmp_path / "data/workspace"
    desk.environment |= {
        "MUNIMENT_WORKSPACE": str(desk.workspace),
        "DATA_DIR": str(tmp_path / "data"),
        "MUNIMENT_BACKUP_LAYOUT": "starchild",
    }
    put(desk.workspace / "memory/note.md", "kept")
    for name, text in {
        "settings.json": '{"language": "zh"}',
        "profile.json": '{"agentName": "Ada"}',
        "scheduled_tasks.json": '[{"title": "news", "schedule": "@daily", "channels": []}]',
    }.items():
        put(tmp_path / "api" / name, text)
    assert desk.call("rules", "default").code == 0
    plan = desk.call("plan", "--api-dir", str(tmp_path / "api"), "--json").object["plan_id"]
    made = desk.call("create", "--plan", plan, "--yes", "--json").object["backup_id"]
    (desk.workspace / "memory/note.md").unlink()
    return desk, desk.call("restore", made, *how, "--apply", "--yes")


def test_the_hosts_sections_are_shown_one_by_one(tmp_path: Path) -> None:
    desk, answer = hosted(tmp_path)
    assert answer.code == 0, answer.err
    assert "settings, profile, scheduled_tasks" in answer.out
    assert "  language: zh" in answer.out and "agentName" not in answer.out
    assert "muniment backup section-done settings" in answer.err
    assert desk.call("section-done", "profile").code == 0  # in whatever order the host does it
    second = desk.call("section-done", "settings")
    assert "news" in second.out and "muniment backup section-done scheduled_tasks" in second.err
    last = desk.call("section-done", "scheduled_tasks", "--json")
    assert last.object == {"section": "scheduled_tasks", "open_sections": [], "finished": True}
    assert not (desk.workspace / ".restore.log").exists()
    assert re.fullmatch(r"NO_RESTORE", desk.call("section-done", "settings", "--json").object["error"])


def test_the_hosts_sections_alone(tmp_path: Path) -> None:
    """A part lies in a folder of its own, where each section is found again."""
    desk, answer = hosted(tmp_path, "--only", "api")
    assert answer.code == 0, answer.err
    assert not (desk.workspace / "memory/note.md").exists()
    second = desk.call("section-done", "settings")
    assert second.code == 0, second.err
    assert "agentName" in second.out and "muniment backup section-done profile" in second.err
    assert desk.call("section-done", "profile").code == 0
    assert desk.call("section-done", "scheduled_tasks").code == 0
    assert sorted(one.name for one in (desk.workspace / ".restore").iterdir()) == [".gitignore", "undo"]
