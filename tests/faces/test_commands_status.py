"""`muniment`, `status` and `init`: what stands where, in both languages."""

from __future__ import annotations

import stat

import pytest
from tests.faces.at_work import AtWork

NOTE = "No workspace was named or found; the current folder {} is taken.\n"


def told(out: str) -> dict[str, str]:
    """Label and fact of each line."""
    pairs = [line.split("  ", 1) for line in out.splitlines()]
    return {label: fact.strip() for label, fact in pairs}


def test_before_anything_it_makes_nothing(outside: AtWork) -> None:
    bare = outside.call()
    assert bare.code == 0
    assert told(bare.out) == {
        "workspace": f"{outside.folder}  (current folder)",
        "host": "generic",
        "session": "none yet",
        "ledger": "not begun",
        "not archived": "nothing",
        "next": "muniment init",
    }
    assert bare.err == NOTE.format(outside.folder)
    assert bare == outside.call("status")
    assert list(outside.folder.iterdir()) == []


def test_in_chinese(outside: AtWork) -> None:
    answer = outside.call("status", "--lang", "zh")
    assert told(answer.out) == {
        "工作区": f"{outside.folder}  (当前目录)",
        "宿主": "generic",
        "会话": "尚无",
        "账本": "尚未开始",
        "未归档": "无",
        "下一步": "muniment init",
    }
    assert answer.err == f"未指定也未找到工作区，现采用当前目录 {outside.folder}。\n"


def test_init_opens_a_record_once(outside: AtWork) -> None:
    first = outside.call("init")
    assert first.code == 0
    state = outside.folder / ".muniment"
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert (state / ".gitignore").read_bytes() == b"*\n"
    identity = (state / "root.json").read_bytes()
    (event,) = outside.records()
    assert told(first.out)["ledger"] == f"1 event, head {event['sha256'][:12]}"
    again = outside.call("init")
    assert again.code == 0
    assert outside.records() == [event]
    assert (state / "root.json").read_bytes() == identity


def test_init_shows_what_status_shows(outside: AtWork) -> None:
    named = ("-w", str(outside.folder))
    assert outside.done("init", *named).out == outside.done("status", *named).out
    assert outside.done("init", *named, "--lang", "zh").out == outside.done(*named, "--lang", "zh").out


def test_each_step_of_the_work_shows(work: AtWork) -> None:
    work.write("report.md")
    before = told(work.done().out)
    assert (before["not archived"], before["next"]) == ("report.md", "muniment archive report.md")
    work.done("archive", "report.md")
    after = told(work.done().out)
    assert after["session"] == f"{work.archive_id()}  (stands in, no host tells one)"
    assert after["ledger"] == f"2 events, head {work.records()[-1]['sha256'][:12]}"
    assert (after["not archived"], after["next"]) == ("nothing", "muniment archive verify --all")
    chinese = told(work.done("--lang", "zh").out)
    assert chinese["会话"] == f"{work.archive_id()}  (代用，没有宿主告知会话)"
    assert chinese["账本"].startswith("2 个事件，链头 ")


def test_it_never_has_more_than_ten_lines(work: AtWork) -> None:
    for number in range(40):
        work.write(f"{number:02}/report.md")
    answer = work.done()
    assert answer.out.count("\n") <= 10
    assert told(answer.out)["not archived"] == "00/report.md, 01/report.md, 02/report.md and 37 more"


def test_the_suggested_command_can_be_pasted(work: AtWork) -> None:
    """A name with a blank and a quote is quoted for the shell."""
    work.write("it's mine/report.md")
    assert told(work.done().out)["next"] == """muniment archive 'it'"'"'s mine/report.md'"""


def test_for_a_program(work: AtWork) -> None:
    work.write("report.md")
    shown = work.asked()
    (event,) = work.records()
    assert shown["workspace"] == str(work.folder)
    assert (shown["workspace_rule"], shown["workspace_found_by"]) == ("marker", ".muniment")
    assert (shown["session"], shown["session_source"]) == (None, None)
    assert shown["ledger"] == {"events": 1, "head": event["sha256"], "damage": None}
    assert shown["not_archived"] == ["report.md"]
    assert shown["root_id"] == event["subject"]


def test_how_the_workspace_was_found_is_said(outside: AtWork) -> None:
    inside = str(outside.folder)
    for environment, rule in (
        ({"MUNIMENT_WORKSPACE": inside}, "from the environment"),
        ({"OPENCLAW_WORKSPACE_DIR": inside}, "from the host"),
        ({"WORKSPACE_DIR": inside}, "from the host"),
    ):
        answer = outside.call(environment=environment)
        assert told(answer.out)["workspace"] == f"{inside}  ({rule})"
        assert answer.err == ""
    assert told(outside.call("-w", inside).out)["workspace"] == f"{inside}  (named by --workspace)"


@pytest.mark.parametrize("name", ["arch", "archive", "archives"])
def test_a_refused_workspace(outside: AtWork, name: str) -> None:
    (outside.folder / name).mkdir()
    answer = outside.call("init", "-w", name, "--json")
    assert (answer.code, answer.object["error"]) == (3, "INVALID_WORKSPACE")
    assert list((outside.folder / name).iterdir()) == []


def test_a_missing_workspace(outside: AtWork) -> None:
    answer = outside.call("-w", "nosuch")
    assert answer.code == 3
    assert answer.err.splitlines() == [
        "muniment: The workspace does not exist or is no folder. (WORKSPACE_MISSING)",
        f"  where: {outside.folder}/nosuch",
        "  why: it was named by --workspace",
        "  next: Name an existing folder with --workspace, or make it first.",
    ]
