"""`muniment archive`: the exact bytes of both dialects, exit codes, paths, what stays as it was (spec 1)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.faces.at_work import STAMP, ULID, AtWork

LANGUAGES = pytest.mark.parametrize("language", ["en", "zh-CN"])


def card(root: str, subpath: str, name: str, kind: str = "file") -> str:
    """A card as spec 1 prints it, each sign of it."""
    return (
        "```json\n"
        "{\n"
        '  "type": "archive_grid",\n'
        '  "data": {\n'
        f'    "type": "{kind}",\n'
        f'    "archive_root": "{root}",\n'
        f'    "subpath": "{subpath}",\n'
        f'    "name": "{name}"\n'
        "  }\n"
        "}\n"
        "```\n"
    )


@LANGUAGES
def test_the_line_of_success(work: AtWork, language: str) -> None:
    content = work.write("report.md").read_bytes()
    answer = work.call("archive", "report.md", "--lang", language)
    archive_id = work.archive_id()
    assert answer.code == 0
    assert answer.out == f"ARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives/{archive_id}/\n"
    assert re.fullmatch(r"local-\d{4}-\d{4}", archive_id)
    address = work.address("report.md")
    assert re.fullmatch(rf"archives/{archive_id}/{STAMP}/report\.md", address)
    assert work.snapshot() == {address: content}
    reference = work.records()[-1]["subject"]
    assert re.fullmatch(f"arc_{ULID}", reference)
    moved = {
        "en": f"moved report.md → {address}; undo: muniment archive undo {reference}\n",
        "zh-CN": f"已移动 report.md → {address}；撤销：muniment archive undo {reference}\n",
    }
    assert answer.err == moved[language]


@LANGUAGES
def test_the_line_of_refusal(work: AtWork, language: str) -> None:
    work.write("empty.md", b"")
    answer = work.call("archive", "empty.md", "--lang", language)
    assert answer.code == 3
    assert answer.out == "ARCHIVE_STATUS: BLOCKED | ARCHIVE_REASON: The source is empty: empty.md\n"
    assert answer.err.startswith(
        {
            "en": "muniment: The source is empty. (EMPTY_SOURCE)\n",
            "zh-CN": "muniment: 源内容为空。 (EMPTY_SOURCE)\n",
        }[language]
    )
    assert work.snapshot() == {"empty.md": b""}


@LANGUAGES
def test_cards_and_nothing_else(work: AtWork, language: str) -> None:
    work.write("报告 1.md")
    work.write("results/a.txt", "a")
    work.write("PLAN.md", "# Plan\n")
    answer = work.call("archive", "报告 1.md", "results", "PLAN.md", "--format", "card", "--lang", language)
    assert answer.code == 0
    root = f"{work.folder}/archives/{work.archive_id()}"
    stamp = Path(work.address("报告 1.md")).parts[2]
    assert answer.out == (
        card(root, f"{stamp}/报告 1.md", "报告 1.md")
        + card(root, f"{stamp}/results", "results", "directory")
        + card(root, "PLAN.md", "PLAN.md")
    )
    for fence in re.findall(r"^```json\n(.*?)^```$", answer.out, re.MULTILINE | re.DOTALL):
        assert json.loads(fence)["type"] == "archive_grid"


@LANGUAGES
def test_a_refusal_among_cards(work: AtWork, language: str) -> None:
    work.write("empty.md", b"")
    answer = work.call("archive", "empty.md", "--format", "card", "--lang", language)
    assert answer.code == 3
    assert answer.out == "Archive blocked: The source is empty: empty.md (code: EMPTY_SOURCE)\n"


def test_the_name_on_the_card(work: AtWork) -> None:
    work.write("r.md")
    shown = work.done("archive", "r.md", "--name", 'The "report"', "--format", "card").out
    assert json.loads(shown[8:-4])["data"]["name"] == 'The "report"'
    assert work.address("r.md")


def test_the_prefix_of_cards_is_a_setting(work: AtWork) -> None:
    work.write(".muniment/config.toml", '[archive]\ncard_prefix = "/srv/desk"\nformat = "card"\n')
    work.write("r.md")
    shown = work.done("archive", "r.md").out
    assert json.loads(shown[8:-4])["data"]["archive_root"] == f"/srv/desk/archives/{work.archive_id()}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["archive", "report.md", "--format", "card"],
        ["archive", "--format", "card", "report.md"],
        ["archive", "--format=card", "report.md"],
        ["archive", "keep", "report.md", "--format", "card"],
        ["archive", "keep", "--format", "card", "report.md"],
        ["archive", "--lang", "en", "report.md", "--format", "card"],
        ["--lang", "en", "archive", "report.md", "--format", "card"],
        ["archive", "-q", "--format", "card", "--", "report.md"],
        ["-w", ".", "archive", "--format", "card", "report.md"],
        ["archive", "--format", "card", "-w", ".", "report.md"],
        ["archive", "-qw", ".", "--format", "card", "report.md"],
        ["archive", "--format", "card", "./report.md"],
    ],
    ids=" ".join,
)
def test_options_stand_anywhere(work: AtWork, arguments: list[str]) -> None:
    work.write("report.md")
    answer = work.call(*arguments)
    assert answer.code == 0, answer.err
    assert answer.out.startswith('```json\n{\n  "type": "archive_grid",\n')
    assert list(work.snapshot()) == [work.address("report.md")]


VERBS = ["keep", "list", "show", "verify", "undo", "copy", "seal", "status", "sweep", "identity", "session"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_named_like_a_verb(work: AtWork, verb: str) -> None:
    work.write(verb, "x")
    work.call("archive", verb)  # the verb, whatever it makes of being alone
    assert work.snapshot() == {verb: b"x"}
    for spelled in (["./" + verb], ["--", verb], ["keep", verb], ["-q", "./" + verb]):
        answer = work.call("archive", *spelled)
        assert answer.code == 0, answer.err
        (work.folder / work.address(verb)).rename(work.folder / verb)


def test_a_value_that_reads_like_a_verb_is_no_verb(work: AtWork) -> None:
    for option in (["--name", "list"], ["--name=list"]):
        work.write("report.md")
        assert work.done("archive", *option, "report.md").out.startswith("ARCHIVE_STATUS: OK | ")
    for option in (["-w", "list"], ["-qw", "list"], ["-wlist"]):
        work.write("list/report.md")
        assert work.done("archive", *option, "report.md").out.startswith("ARCHIVE_STATUS: OK | ")
    assert work.done("archive", "-qw", "list", "verify").out.count("intact") == 3
    assert work.done("archive", "-wlist", "list").out.count("report.md") == 3


def test_one_object_for_a_program(work: AtWork) -> None:
    content = work.write("report.md").read_bytes()
    answer = work.done("archive", "report.md", "--json", "--format", "card")
    (receipt,) = answer.object["receipts"]
    assert "ARCHIVE_STATUS" not in answer.out + answer.err and "```" not in answer.out + answer.err
    event = work.records()[-1]
    assert receipt["event_id"] == event["event_id"]
    assert receipt["to"] == event["evidence"]["to"] == work.address("report.md")
    assert (receipt["from"], receipt["bytes"], receipt["files"]) == ("report.md", len(content), 1)
    assert (receipt["archive_id"], receipt["archive_id_source"]) == (work.archive_id(), "fallback")
    assert receipt["workspace_rule"] == "marker"
    assert receipt["read_back"] == {
        "exists": True,
        "path_right": True,
        "not_empty": True,
        "key_fields": "present",
        "content_identical": True,
        "task": "not checked",
    }
    assert receipt["card"]["data"]["subpath"] == receipt["to"].partition("/")[2].partition("/")[2]


def test_one_object_for_a_refusal(work: AtWork) -> None:
    answer = work.call("archive", "nosuch", "--json", "--lang", "zh")
    assert answer.code == answer.object["exit_code"] == 3
    assert answer.object["error"] == "MISSING_SOURCE"
    assert answer.object["where"] == "nosuch"
    assert answer.object["message"] == "There is nothing to archive at this path."
    assert "ARCHIVE_STATUS" not in answer.out + answer.err


def test_exit_codes(work: AtWork) -> None:
    work.write("report.md")
    work.write("PLAN.md", "# Plan\n")
    work.done("archive", "report.md", "PLAN.md")
    work.write("PLAN.md", "# Another plan\n")
    for arguments, code, name in (
        (["archive"], 2, "USAGE"),
        (["archive", "--nosuch", "x"], 2, "USAGE"),
        (["archive", "--kind", "paper", "x"], 2, "USAGE"),
        (["archive", "--name", "n", "PLAN.md", "report.md"], 2, "USAGE"),
        (["archive", "--require", "nonsense", "PLAN.md"], 2, "USAGE"),
        (["archive", "--kind", "file", "PLAN.md"], 3, "INVALID_INPUT"),
        (["archive", "archives"], 3, "INVALID_SOURCE"),
        (["archive", "."], 3, "INVALID_SOURCE"),
        (["archive", ".muniment"], 3, "INVALID_SOURCE"),
        (["archive", "../work/PLAN.md"], 3, "INVALID_SOURCE"),
        (["archive", "/etc/passwd"], 3, "INVALID_SOURCE"),
        (["archive", "PLAN.md"], 5, "TARGET_EXISTS"),
        (["archive", "verify", "arc_01KB9Q5T7M8WJ2Z4C6E0RNXHVD"], 7, "UNKNOWN_REFERENCE"),
        (["archive", "verify", "--all", "arc_1"], 2, "USAGE"),
    ):
        answer = work.call(*arguments, "--json")
        assert (answer.code, answer.object["error"], answer.object["exit_code"]) == (code, name, code), (
            arguments
        )
    assert work.snapshot()["PLAN.md"] == b"# Another plan\n"
    assert work.done("archive", "verify").out.count("intact") == 2


def test_paths_are_those_of_the_folder_one_stands_in(work: AtWork) -> None:
    work.write("sub/report.md", "inner\n")
    work.write("report.md", "outer\n")
    work.go(work.folder / "sub")
    work.done("archive", "report.md")
    assert (work.folder / work.address("report.md")).read_bytes() == b"inner\n"
    assert (work.folder / "report.md").read_bytes() == b"outer\n"
    assert not (work.folder / "sub/archives").exists() and not (work.folder / "sub/.muniment").exists()
    refused = work.call("archive", "../report.md")
    assert refused.code == 3 and (work.folder / "report.md").exists()


def test_paths_from_outside_are_those_of_the_workspace(work: AtWork, tmp_path: Path) -> None:
    work.write("report.md", "the workspace's\n")
    elsewhere = tmp_path / "elsewhere"
    work.go(elsewhere)
    (elsewhere / "report.md").write_text("elsewhere\n")
    work.done("archive", "report.md", "-w", str(work.folder))
    assert (work.folder / work.address("report.md")).read_bytes() == b"the workspace's\n"
    assert (elsewhere / "report.md").read_text() == "elsewhere\n"
    work.write("second.md")
    work.done("archive", str(work.folder / "second.md"), "-w", "../work")
    assert work.address("second.md")


def test_a_rehearsal_moves_nothing_and_refuses_what_the_act_would(work: AtWork) -> None:
    work.write("report.md")
    before = work.snapshot()
    assert work.done("archive", "-n", "report.md").out == "would be archived: report.md\n"
    assert work.asked("archive", "--dry-run", "report.md") == {"would_archive": ["report.md"]}
    assert work.call("archive", "-n", "report.md", "nosuch").code == 3
    assert work.snapshot() == before
    assert not (work.folder / "archives").exists()
    assert len(work.records()) == 1


def test_one_refusal_moves_none(work: AtWork) -> None:
    work.write("a.md")
    work.write("b/c.md")
    work.write("bad.json", "{")
    before = work.snapshot()
    for bad, code in (("nosuch", 3), ("bad.json", 4), ("a.md", 3), ("b/c.md", 3), ("../x", 3)):
        answer = work.call("archive", "a.md", "b", bad)
        assert answer.code == code, bad
        assert answer.out.startswith("ARCHIVE_STATUS: BLOCKED | ARCHIVE_REASON: ")
        assert answer.out.count("\n") == 1
    assert work.snapshot() == before
    assert len(work.records()) == 1


def test_what_is_required_by_the_call_and_by_the_workspace(work: AtWork) -> None:
    work.write(".muniment/config.toml", '[archive.require]\n"*.json" = ["/status"]\n')
    work.write("r.md", "# Summary\n")
    work.write("x.json", '{"status": null}')
    assert "it has nothing at /status" in work.call("archive", "x.json").out
    assert "it has no heading # Details" in work.call("archive", "r.md", "--require", "r*=# Details").out
    work.write("x.json", '{"status": 0}')
    (one, other) = work.asked("archive", "x.json", "r.md", "--require", "r*=# Summary")["receipts"]
    assert (one["read_back"]["task"], other["read_back"]["task"]) == ("1 required", "1 required")


@LANGUAGES
def test_verifying(work: AtWork, language: str) -> None:
    words = {
        "en": ("intact", "edited", "changed", "missing"),
        "zh-CN": ("完好", "已编辑", "已改变", "缺失"),
    }[language]
    for name in ("a.md", "b.md", "c.md", "PLAN.md"):
        work.write(name)
    work.done("archive", "a.md", "b.md", "c.md", "PLAN.md")
    assert work.done("archive", "verify", "--all", "--lang", language).out.count(words[0]) == 4
    (work.folder / "archives" / work.archive_id() / "PLAN.md").write_text("# Done\n")
    edited = work.call("archive", "verify", "--lang", language)
    assert edited.code == 0 and edited.out.count(words[1]) == 1
    (work.folder / work.address("b.md")).write_bytes(b"other\n")
    (work.folder / work.address("c.md")).unlink()
    answer = work.call("archive", "verify", "--lang", language)
    assert answer.code == 4
    stand = [line.split()[0] for line in answer.out.splitlines()[1:]]
    assert sorted(stand) == sorted(words)
    found = work.call("archive", "verify", "--json").object["verified"]
    assert {one["standing"] for one in found} == {"intact", "edited", "changed", "missing"}
    for one in found:
        assert (one["recorded_sha256"] == one["found_sha256"]) == (one["standing"] == "intact")


def test_one_of_them_can_be_verified_by_reference_and_by_address(work: AtWork) -> None:
    work.write("a.md")
    work.write("b.md")
    work.done("archive", "a.md", "b.md")
    (work.folder / work.address("b.md")).write_bytes(b"other\n")
    references = {one["evidence"]["name"]: one["subject"] for one in work.records()[1:]}
    for good, bad in ((references["a.md"], references["b.md"]), (work.address("a.md"), work.address("b.md"))):
        assert work.call("archive", "verify", good).code == 0
        assert work.call("archive", "verify", bad).code == 4
        assert work.call("archive", "verify", good, bad).code == 4
