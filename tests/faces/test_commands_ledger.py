"""`muniment ledger`: damage found, witnesses compared, copies whole, in both languages (spec 0, ledger)."""

from __future__ import annotations

import errno
import hashlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.faces.at_work import AtWork

from muniment.clock import system_clock
from muniment.disk.root import Root
from muniment.faces.cli import ledger as cli_ledger
from muniment.faces.cli.ledger import _STATES
from muniment.record import locate
from muniment.record.event import Draft
from muniment.record.state import open_workspace

LANGUAGES = pytest.mark.parametrize("language", ["en", "zh-CN"])


@pytest.fixture
def kept(work: AtWork) -> AtWork:
    """A workspace with three records."""
    for name in ("a.md", "b.md"):
        work.write(name, f"# {name}\n")
        work.done("archive", name)
    assert len(work.records()) == 3
    return work


def segment(work: AtWork, number: int = 1) -> Path:
    return work.folder / f".muniment/ledger/{number:06}.jsonl"


def head(work: AtWork) -> str:
    return str(work.records()[-1]["sha256"])


@LANGUAGES
def test_a_whole_ledger(kept: AtWork, language: str) -> None:
    answer = kept.call("ledger", "verify", "--lang", language)
    assert answer.code == 0 and answer.err == ""
    first, second = answer.out.splitlines()
    assert (
        first
        == {
            "en": f"whole: 3 events, head {head(kept)[:12]}",
            "zh-CN": f"完整：3 个事件，链头 {head(kept)[:12]}",
        }[language]
    )
    assert second == {"en": "  no witness was compared", "zh-CN": "  未与任何见证比对"}[language]
    shown = kept.asked("ledger", "verify")
    assert (shown["whole"], shown["events"], shown["head"]) == (True, 3, head(kept))
    assert shown["bytes"] == segment(kept).stat().st_size


@LANGUAGES
def test_a_record_tampered_with(kept: AtWork, language: str) -> None:
    lines = segment(kept).read_bytes().splitlines(keepends=True)
    segment(kept).write_bytes(b"".join([lines[0], lines[1].replace(b"a.md", b"x.md"), lines[2]]))
    before = segment(kept).read_bytes()
    answer = kept.call("ledger", "verify", "-n", "--lang", language)
    assert answer.code == 4
    assert answer.out.splitlines()[0].startswith({"en": "NOT whole: ", "zh-CN": "不完整："}[language])
    place = {"en": "000001.jsonl, line 2, byte ", "zh-CN": "000001.jsonl，第 2 行，字节 "}[language]
    assert f"{place}{len(lines[0])}" in answer.out
    assert sorted(segment(kept).parent.glob("*.jsonl")) == [segment(kept)]
    shown = kept.call("ledger", "verify", "-n", "--json")
    assert shown.code == 4 and shown.object["whole"] is False
    (finding,) = shown.object["findings"]
    assert (finding["segment"], finding["line"], finding["offset"]) == ("000001.jsonl", 2, len(lines[0]))
    assert segment(kept).read_bytes() == before


def test_damage_goes_on_record_once_and_stays_found(kept: AtWork) -> None:
    data = segment(kept).read_bytes()
    segment(kept).write_bytes(data.replace(b"a.md", b"x.md"))
    before = segment(kept).read_bytes()
    assert kept.call("ledger", "verify").code == 4
    (named,) = [json.loads(line) for line in segment(kept, 2).read_bytes().splitlines()]
    assert named["kind"] == "ledger.segment_after_damage"
    for _ in range(2):
        assert kept.call("ledger", "verify").code == 4
    assert len(segment(kept, 2).read_bytes().splitlines()) == 1
    assert segment(kept).read_bytes() == before


def test_the_newest_events(kept: AtWork) -> None:
    shown = kept.asked("ledger", "tail")["events"]
    assert shown == kept.records()
    assert kept.asked("ledger", "tail", "--count", "2")["events"] == kept.records()[-2:]
    lines = kept.done("ledger", "tail", "--count", "1").out.splitlines()
    assert len(lines) == 2 and lines[1].endswith(kept.records()[-1]["event_id"])
    for count in ("0", "-1", "x", "100001"):
        assert kept.call("ledger", "tail", "--count", count).code == 2


def test_an_empty_ledger(outside: AtWork) -> None:
    assert outside.done("ledger", "tail").out == "The ledger is empty.\n"
    assert outside.done("ledger", "tail", "--lang", "zh").out == "账本为空。\n"
    assert outside.asked("ledger", "verify")["events"] == 0


def test_one_event_whole(kept: AtWork) -> None:
    event = kept.records()[1]
    assert kept.asked("ledger", "show", event["event_id"]) == event
    assert json.loads(kept.done("ledger", "show", event["event_id"]).out) == event
    for name in ("01KB9Q5T7M8WJ2Z4C6E0RNXHVD", "nonsense", "\x1b[2J"):
        answer = kept.call("ledger", "show", name)
        assert answer.code == 7
        assert "NOT_IN_LEDGER" in answer.err and "\x1b" not in answer.err


def test_where_bytes_lie_now(kept: AtWork) -> None:
    address = kept.address("a.md")
    digest = hashlib.sha256(b"# a.md\n").hexdigest()
    for query in ("a.md", "./a.md", f"sha256:{digest}"):
        (found,) = kept.asked("ledger", "locate", query)["located"]
        assert (found["path"], found["state"], found["subject"]) == (
            address,
            "intact",
            kept.records()[1]["subject"],
        )
    assert "完好" in kept.done("ledger", "locate", "a.md", "--lang", "zh").out
    (kept.folder / address).write_bytes(b"# A.md\n")
    assert kept.call("ledger", "locate", "a.md", "--json").object["located"][0]["state"] == "changed"
    (kept.folder / address).unlink()
    gone = kept.call("ledger", "locate", "a.md", "--json")
    assert (gone.code, gone.object["located"][0]["state"]) == (4, "missing")


def test_every_state_that_locating_knows_can_be_shown() -> None:
    states = re.findall(r'return "([a-z]+)"', inspect.getsource(locate))
    states += re.findall(r'return "([a-z]+)" if .* else "([a-z]+)"', inspect.getsource(locate))[0]
    assert set(states) == set(_STATES) == {"intact", "changed", "missing", "unreadable"}


@pytest.mark.parametrize(
    ("query", "code", "name"),
    [
        ("nosuch.md", 7, "NOT_IN_LEDGER"),
        ("sha256:" + "0" * 64, 7, "NOT_IN_LEDGER"),
        ("sha256:0", 2, "USAGE"),
        ("sha256:" + "A" * 64, 2, "USAGE"),
        ("../x", 3, "OUTSIDE_ROOT"),
    ],
)
def test_where_nothing_is_known(kept: AtWork, query: str, code: int, name: str) -> None:
    answer = kept.call("ledger", "locate", query, "--json")
    assert (answer.code, answer.object["error"]) == (code, name)


def test_a_copy_is_the_ledger_byte_for_byte_and_its_witness_fits(kept: AtWork, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = kept.done("ledger", "export", str(out))
    assert answer.out == f"3 events copied to {out}; keep their witness elsewhere\n"
    assert (out / "ledger.jsonl").read_bytes() == segment(kept).read_bytes()
    witness = json.loads((out / "witness.json").read_bytes())
    last = kept.records()[-1]
    assert witness == {
        "v": 1,
        "root_id": kept.records()[0]["subject"],
        "count": 3,
        "head": last["sha256"],
        "event_id": last["event_id"],
        "at": last["at"],
    }
    verified = kept.done("ledger", "verify", "--witness", str(out / "witness.json"))
    where = out / "witness.json"
    assert verified.out.splitlines()[1] == f"  newest witness: {last['at']}, 3 events, in {where}"


def test_a_copy_overwrites_nothing(kept: AtWork, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("x")
    answer = kept.call("ledger", "export", str(out), "--json")
    assert (answer.code, answer.object["error"]) == (5, "ALREADY_THERE")
    assert [path.name for path in out.iterdir()] == ["mine"]
    assert kept.call("ledger", "export", str(tmp_path / "no" / "such")).code == 7


def test_a_copy_that_can_not_be_made_leaves_nothing(
    kept: AtWork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cli_ledger, "canonical", full)  # when the witness is written
    before = set(tmp_path.iterdir())
    assert kept.call("ledger", "export", str(tmp_path / "out")).code == 1
    assert set(tmp_path.iterdir()) == before
    monkeypatch.undo()
    kept.done("ledger", "export", str(tmp_path / "out"))


def test_a_copy_can_not_be_rehearsed(kept: AtWork, tmp_path: Path) -> None:
    answer = kept.call("ledger", "export", str(tmp_path / "out"), "-n", "--json")
    assert (answer.code, answer.object["error"]) == (2, "NO_REHEARSAL")
    assert not (tmp_path / "out").exists()


@LANGUAGES
def test_a_ledger_cut_behind_a_witness(kept: AtWork, tmp_path: Path, language: str) -> None:
    out = tmp_path / "out"
    kept.done("ledger", "export", str(out))
    lines = segment(kept).read_bytes().splitlines(keepends=True)
    segment(kept).write_bytes(b"".join(lines[:-1]))
    assert kept.call("ledger", "verify", "-n").code == 0  # the chain alone can not tell
    answer = kept.call("ledger", "verify", "-n", "--witness", str(out / "witness.json"), "--lang", language)
    assert answer.code == 4
    at = json.loads(lines[-1])["at"]
    told = {
        "en": f"  the witness in {out}/witness.json, of {at}, saw 3 events; they are not there",
        "zh-CN": f"  {out}/witness.json 中 {at} 的见证看到 3 个事件；它们已不在账本中",
    }
    assert told[language] in answer.out.splitlines()
    as_object = kept.call("ledger", "verify", "-n", "--witness", str(out / "witness.json"), "--json")
    assert (as_object.code, as_object.object["whole"]) == (4, False)
    assert as_object.object["contradicted"] == [json.loads((out / "witness.json").read_bytes())]


def test_a_ledger_rewritten_behind_a_witness(kept: AtWork, tmp_path: Path) -> None:
    """As long as before and whole in itself, but another one."""
    kept.done("ledger", "export", str(tmp_path / "out"))
    lines = segment(kept).read_bytes().splitlines(keepends=True)
    segment(kept).write_bytes(b"".join(lines[:-1]))
    kept.write("c.md")
    kept.done("archive", "c.md")
    assert len(kept.records()) == 3
    assert kept.call("ledger", "verify", "-n").code == 0
    assert kept.call("ledger", "verify", "-n", "--witness", str(tmp_path / "out/witness.json")).code == 4


@pytest.mark.parametrize("act", ["write_verified", "bear_witness"])
def test_a_copy_is_whole_although_somebody_appends_meanwhile(
    kept: AtWork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    plain = getattr(cli_ledger, act)

    def overtaken(*arguments: Any, **named: Any) -> Any:
        found = plain(*arguments, **named)
        with Root.open(kept.folder) as root:
            open_workspace(root, clock=system_clock).ledger.append(Draft("test.meanwhile", "x"))
        return found

    monkeypatch.setattr(cli_ledger, act, overtaken)
    told = kept.asked("ledger", "export", str(tmp_path / "out"))
    monkeypatch.undo()
    assert told["witness"]["count"] == 3 and len(kept.records()) > 3
    assert kept.call("verify", str(tmp_path / "out")).code == 0


def test_an_older_witness_still_fits_a_ledger_that_grew(kept: AtWork, tmp_path: Path) -> None:
    kept.done("ledger", "export", str(tmp_path / "out"))
    kept.write("c.md")
    kept.done("archive", "c.md")
    assert kept.call("ledger", "verify", "--witness", str(tmp_path / "out/witness.json")).code == 0


WITNESS = {"v": 1, "root_id": "01KB9Q5T7M8WJ2Z4C6E0RNXHVD", "count": 1, "head": "0" * 64}
NO_WITNESSES = {
    "empty": b"",
    "not JSON": b"{",
    "a list": b"[]",
    "another version": json.dumps(WITNESS | {"v": 2}).encode(),
    "members missing": json.dumps(WITNESS).encode(),
    "of another workspace": json.dumps(
        WITNESS | {"event_id": "01KB9Q5T7M8WJ2Z4C6E0RNXHVD", "at": "2026-11-30T14:28:05.000000Z"}
    ).encode(),
    "not UTF-8": b"\xff",
}


@pytest.mark.parametrize("name", NO_WITNESSES)
def test_what_is_no_witness_of_this_ledger(kept: AtWork, tmp_path: Path, name: str) -> None:
    file = tmp_path / "witness.json"
    file.write_bytes(NO_WITNESSES[name])
    answer = kept.call("ledger", "verify", "--witness", str(file), "--json")
    assert (answer.code, answer.object["error"]) == (2, "USAGE")
    assert "witness" in answer.object["why"]
