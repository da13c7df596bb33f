"""Job: the program with its real wiring, as a person or an agent calls it in one workspace."""

from __future__ import annotations

from pathlib import Path

from tests.faces.calling import Answer, Screen

from muniment.app import House
from muniment.faces.cli.main import run


class Program:
    """The program in `place/ws` with the jobs of `place/jobs`; `typed` is what a person answers at a
    terminal, and without it there is none."""

    def __init__(self, place: Path, *words: str, **more: str) -> None:
        self.place = place
        self.words = words
        self.environment = {
            "MUNIMENT_WORKSPACE": str(place / "ws"),
            "MUNIMENT_JOB_ROOT": str(place / "jobs"),
            "MUNIMENT_LANG": "en",
            "COLUMNS": "300",
            "XDG_CONFIG_HOME": str(place),
            **more,
        }

    def __call__(self, *words: str, typed: str | None = None) -> Answer:
        terminal = typed is not None
        streams = [Screen(text, terminal=terminal) for text in (typed or "", "", "")]
        code = run([*self.words, *words], House, self.environment, *streams)
        return Answer(code, streams[1].getvalue(), streams[2].getvalue())
