"""The walk of the demo over all four protocols, made once, and put back before each sabotage.

A handoff is bound to the very folder in which it was issued, so the workspace is never copied to
another place: what lies in it is replaced, and the folder itself stays.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.faces.calling import Answer, Screen

from muniment.app import House
from muniment.faces.cli.demo.stage import Stage
from muniment.faces.cli.demo.walk import walk_chapter
from muniment.faces.cli.main import run
from muniment.faces.cli.options import Options
from muniment.faces.cli.streams import Streams
from muniment.faces.cli.terminal import Terminal
from muniment.faces.i18n.language import Language
from muniment.faces.i18n.translate import Translator

REPORT = b"reads: 12\n"


@dataclass(frozen=True, slots=True)
class Walked:
    """The place of the walk, and the references of what it made."""

    place: Path
    environment: dict[str, str]
    call: Callable[..., Answer]
    report: str
    notes: str
    handoff: str
    job: str
    older: str
    newer: str

    @property
    def workspace(self) -> Path:
        return self.place / "workspace"

    @property
    def muniment(self) -> Path:
        return self.workspace / ".muniment"

    @property
    def folder(self) -> Path:
        """The handoff's own documents."""
        return self.muniment / "handoff" / self.handoff

    @property
    def job_folder(self) -> Path:
        return self.place / "jobs" / "counts"

    @property
    def segment(self) -> Path:
        return self.muniment / "ledger" / "000001.jsonl"

    @property
    def everything(self) -> set[str]:
        """All that `verify --all` speaks of."""
        things = {self.report, self.notes, self.handoff, self.job, self.older, self.newer}
        return {"ledger", "vault", *things}

    def archived(self, name: str) -> Path:
        (found,) = (self.workspace / "archives").glob(f"*/*/{name}")
        return found

    def packs(self) -> list[Path]:
        """The files of pieces, oldest first: each snapshot's upload made one."""
        return sorted(
            (one for one in (self.place / "vault/packs").rglob("*") if one.is_file()),
            key=lambda one: one.name,
        )

    def verify(self, *what: str) -> dict[str, str]:
        """How each thing stands, by its reference."""
        return {one["reference"]: one["standing"] for one in self.verdicts(*what)}

    def verdicts(self, *what: str) -> list[dict[str, Any]]:
        answer = self.call("verify", *(what or ("--all",)), "--json")
        told: list[dict[str, Any]] = answer.object["verified"]
        fine = all(one["standing"] in ("good", "open") for one in told)
        assert answer.code == (0 if fine else 4), answer.err
        assert answer.object["good"] is fine
        return told


def _caller(place: Path, environment: dict[str, str]) -> Callable[..., Answer]:
    def call(*arguments: str) -> Answer:
        out, err = Screen(), Screen()
        code = run(arguments, House, environment, Screen(), out, err)
        return Answer(code, out.getvalue(), err.getvalue())

    return call


@contextmanager
def _standing(place: Path, environment: dict[str, str]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            patch.setenv(name, environment[name])
        patch.chdir(place / "workspace")
        yield


@pytest.fixture(scope="session")
def kept_walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Walked, Path]]:
    """The walk as the demo makes it, a folder of two notes archived after it, and a copy of all."""
    place = tmp_path_factory.mktemp("walk")
    screen = Screen()
    terminal = Terminal(
        Streams(Screen(), screen, Screen()), Options(), Translator(Language.ENGLISH), {"COLUMNS": "200"}
    )
    stage = Stage(terminal, place, House)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "src"))
        walk_chapter(stage)
        assert stage.as_told, screen.getvalue()
        environment = {
            name: text for name, text in stage.environment.items() if name.startswith(("MUNIMENT_", "XDG_"))
        }
    place = place / "walk"
    with _standing(place, environment):
        call = _caller(place, environment)
        notes = place / "workspace/notes"
        notes.mkdir()
        (notes / "one.md").write_text("# One\n\nA first note.\n")
        (notes / "two.md").write_text("# Two\n\nA second note.\n")
        assert call("archive", "notes").code == 0
        kept = {one["name"]: one["reference"] for one in call("archive", "list", "--json").object["archived"]}
        (handoff,) = call("handoff", "list", "--json").object["handoffs"]
        newer, older = (one["backup_id"] for one in call("backup", "list", "--json").object["backups"])
    walked = Walked(
        place, environment, call, kept["counts-report.txt"], kept["notes"], handoff["handoff_id"],
        "job:counts", older, newer,
    )  # fmt: skip
    copy = tmp_path_factory.mktemp("kept") / "walk"
    shutil.copytree(place, copy, symlinks=True)
    yield walked, copy


@pytest.fixture
def walked(kept_walk: tuple[Walked, Path]) -> Iterator[Walked]:
    """The walk, whole again, with its workspace as the current folder."""
    found, copy = kept_walk
    workspace = found.workspace.stat().st_ino
    _put_back(found.place, copy)
    with _standing(found.place, found.environment):
        yield found
    aside = found.place / "workspace.aside"
    if aside.exists():
        shutil.rmtree(found.workspace)
        aside.rename(found.workspace)
    assert found.workspace.stat().st_ino == workspace


def _put_back(place: Path, copy: Path) -> None:
    for part in place.iterdir():
        for path in part.iterdir() if part.name == "workspace" else (part,):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for part in copy.iterdir():
        shutil.copytree(part, place / part.name, symlinks=True, dirs_exist_ok=True)
