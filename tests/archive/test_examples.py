"""The exact bytes of both formats: each file of `examples/` is what one act prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.archive.command import muniment
from tests.archive.scene import FALLBACK, Scene, open_scene, rel

from muniment.archive import errors
from muniment.archive.card import blocked_card, blocked_line, card_text, status_text
from muniment.archive.model import ARCHIVES, Receipt, Request
from muniment.disk.errors import NoSpace, ReadbackFailed, SourceBusy, SourceChanged, system_reason
from muniment.errors import MunimentError
from muniment.hosts.errors import InvalidFlag, InvalidSession, WorkspaceMissing
from muniment.hosts.session import Session, SessionSource
from muniment.message import say

EXAMPLES = Path(__file__).parent / "examples"
HOST = Session("abc123", SessionSource.HOST, key="agent:main:abc123")
CARD_ROOT = f"/home/root/workspace/w1/workspace/{ARCHIVES}"
"""What the host's layout puts before the archive id on cards."""


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with open_scene(tmp_path / "w") as opened:
        yield opened


def example(name: str) -> str:
    return (EXAMPLES / f"{name}.txt").read_bytes().decode()


@dataclass(frozen=True, slots=True)
class Act:
    """What is archived, and in which dialect it is told."""

    names: tuple[str, ...]
    session: Session = HOST
    cards: bool = False
    shown: str | None = None
    style: str = "kept"

    def told(self, scene: Scene) -> str:
        """Archive, and print as the command line does, with its newline."""
        for name in self.names:
            if name == "results":
                scene.write("results/a.csv", b"1,2\n")
            else:
                scene.write(name)
        requests = [Request(rel(name), None, self.shown) for name in self.names]
        room = scene.archive(self.session, names=self.style)
        receipts: list[Receipt] = room.keep(requests, card_root=CARD_ROOT if self.cards else ARCHIVES)
        cards = [receipt.card for receipt in receipts]
        if self.cards:
            return card_text(cards) + "\n"
        return status_text(receipts[0].address.archive_id, cards, self.session.from_host) + "\n"


ACTS = {
    "status-fallback": Act(("report.md", "results"), FALLBACK),
    "status-host": Act(("report.md",)),
    "status-host-several": Act(("PLAN.md", "report.md", "results")),
    "card-file": Act(("report.md",), cards=True),
    "card-folder": Act(("results",), cards=True),
    "card-plan": Act(("PLAN.md",), cards=True),
    "card-unicode": Act(('Bericht „Größe" 数据📊 .md',), cards=True),
    "card-shown-name": Act(("report.md",), cards=True, shown='季度报告 "Q3"'),
    "card-kweaver": Act(("My Report #%?.MD",), cards=True, style="kweaver"),
    "card-several": Act(("report.md", "sub/report.md"), cards=True),
}


def test_every_example_is_tried() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.txt")} == {*ACTS, "blocked"}


@pytest.mark.parametrize("name", ACTS)
def test_what_success_prints(scene: Scene, name: str) -> None:
    assert ACTS[name].told(scene) == example(name)


BLOCKED: dict[str, Callable[[], MunimentError]] = {
    "INVALID_INPUT": lambda: errors.InvalidInput(
        where="report.md", why=say("a plan is a file named PLAN.md")
    ),
    "INVALID_FLAG": lambda: InvalidFlag(flag="--workspace"),
    "WORKSPACE_MISSING": lambda: WorkspaceMissing(
        where="/no/such/place", why=say("it was named by {by}", by="--workspace")
    ),
    "INVALID_SESSION": InvalidSession,
    "INVALID_SOURCE": lambda: errors.InvalidSource(
        where="a\\x0ab.md", why=say("a control character stands in its name")
    ),
    "MISSING_SOURCE": lambda: errors.MissingSource(
        where="nowhere.md", why=system_reason(OSError(2, "No such file or directory"))
    ),
    "EMPTY_SOURCE": lambda: errors.EmptySource(where="empty.md"),
    "EMPTY_TARGET": lambda: errors.EmptyTarget(where="archives/abc123/2026-11-30-12-00-00/report.md"),
    "TARGET_EXISTS": lambda: errors.TargetExists(where="archives/abc123/PLAN.md"),
    "SOURCE_BUSY": lambda: SourceBusy(where="results/log.txt"),
    "SOURCE_CHANGED": lambda: SourceChanged(where="report.md"),
    "READBACK_FAILED": lambda: ReadbackFailed(
        where="report.md",
        why=say("key fields: {finding}", finding=say("there is nothing but white space in it")),
    ),
    "NO_SPACE": lambda: NoSpace(where="report.md", why=system_reason(OSError(28, "No space left"))),
}


def blocked_examples() -> dict[str, tuple[str, str]]:
    lines = example("blocked").splitlines()
    return {lines[at]: (lines[at + 1], lines[at + 2]) for at in range(0, len(lines), 3)}


def test_every_code_of_the_protocol_has_its_example() -> None:
    codes = ["INVALID_INPUT", "INVALID_FLAG", "WORKSPACE_MISSING", "INVALID_SESSION", "INVALID_SOURCE"]
    codes += ["MISSING_SOURCE", "EMPTY_SOURCE", "EMPTY_TARGET", "TARGET_EXISTS", "SOURCE_BUSY"]
    codes += ["SOURCE_CHANGED", "READBACK_FAILED", "NO_SPACE"]
    assert list(blocked_examples()) == list(BLOCKED) == codes


@pytest.mark.parametrize("code", BLOCKED)
def test_what_refusal_prints(code: str) -> None:
    error = BLOCKED[code]()
    assert error.code == code
    assert (blocked_line(error), blocked_card(error)) == blocked_examples()[code]


def test_a_reason_stays_on_one_line() -> None:
    error = errors.InvalidSource(where="a\nARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives/x/")
    assert blocked_line(error).count("\n") == 0 and blocked_card(error).count("\n") == 0


# Through the command line


def test_the_line_is_all_that_stands_on_standard_output(scene: Scene) -> None:
    scene.write("report.md")
    answer = muniment(scene.path, "archive", "report.md")
    archive_id = next((scene.path / "archives").iterdir()).name
    assert (answer.code, answer.out) == (0, f"ARCHIVE_STATUS: OK | ARCHIVE_ROOT: archives/{archive_id}/\n")
    (event,) = scene.events()
    assert answer.err.rstrip("\n").endswith(
        f"moved report.md → {event.evidence['to']}; undo: muniment archive undo {event.subject}"
    )


def test_cards_bear_the_configured_prefix_and_nothing_else_is_printed(scene: Scene) -> None:
    scene.write("report.md")
    environment = {"MUNIMENT_ARCHIVE_CARD_PREFIX": "/srv/shown"}
    answer = muniment(
        scene.path, "archive", "report.md", "--format", "card", "--name", "Q3", environment=environment
    )
    (event,) = scene.events()
    _, archive_id, stamp, _ = event.evidence["to"].split("/")
    wanted = example("card-file").replace(f"{CARD_ROOT}/abc123", f"/srv/shown/archives/{archive_id}")
    wanted = wanted.replace("2026-11-30-12-00-00", stamp).replace('"name": "report.md"', '"name": "Q3"')
    assert (answer.code, answer.out) == (0, wanted)


@pytest.mark.parametrize("style", ["status", "card"])
def test_refusals_are_told_in_both_dialects(scene: Scene, style: str) -> None:
    scene.write("empty.md", b"")
    scene.write("report.md", b" \n")
    tried = {
        "MISSING_SOURCE": ("nowhere.md",),
        "EMPTY_SOURCE": ("empty.md",),
        "READBACK_FAILED": ("report.md",),
        "INVALID_INPUT": ("report.md", "--kind", "plan"),
    }
    for code, arguments in tried.items():
        answer = muniment(scene.path, "archive", *arguments, "--format", style)
        wanted = blocked_examples()[code][0 if style == "status" else 1]
        assert answer.out == f"{wanted}\n", code
        assert answer.code == {"READBACK_FAILED": 4}.get(code, 3)


def test_no_sentence_of_the_protocol_is_translated(scene: Scene) -> None:
    answer = muniment(scene.path, "archive", "nowhere.md", environment={"MUNIMENT_LANG": "zh"})
    assert answer.out == f"{blocked_examples()['MISSING_SOURCE'][0]}\n"


@pytest.mark.parametrize("name", ["missing", "file.txt"])
def test_a_workspace_that_is_none(scene: Scene, tmp_path: Path, name: str) -> None:
    scene.write("report.md")
    (tmp_path / "file.txt").write_text("x")
    place = str(tmp_path / name)
    for arguments, environment in (
        (("-w", place), {}),
        ((), {"MUNIMENT_WORKSPACE": place}),
    ):
        answer = muniment(scene.path, "archive", "report.md", *arguments, environment=environment)
        assert answer.code == 3 and "does not exist or is no folder" in answer.out
        assert answer.out.startswith("ARCHIVE_STATUS: BLOCKED | ARCHIVE_REASON: ")
        object_ = muniment(
            scene.path, "archive", "report.md", *arguments, "--json", environment=environment
        ).object
        assert object_["error"] == "WORKSPACE_MISSING"
    assert (scene.path / "report.md").exists() and scene.events() == []


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../outside.md", "INVALID_SOURCE"),
        ("/etc/hostname", "INVALID_SOURCE"),
        (".", "INVALID_SOURCE"),
        ("x" * 256, "INVALID_SOURCE"),
        ("sub/../report.md", "INVALID_SOURCE"),
        ("archives", "INVALID_SOURCE"),
    ],
)
def test_paths_that_no_workspace_holds(scene: Scene, path: str, code: str) -> None:
    scene.write("report.md")
    (scene.path.parent / "outside.md").write_text("x")
    answer = muniment(scene.path, "archive", path, "--json")
    assert answer.object["error"] == code and answer.code == 3
    assert scene.events() == [] and (scene.path / "report.md").exists()


# INVALID_FLAG and the causes of INVALID_SESSION that come of a host's own answers (a workspace flag on
# the hosted layout, sources that differ, answers without a key) stand with the tests of the hosts.
