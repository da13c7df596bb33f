"""The command line as a person or an agent calls it, in this process, over a real workspace."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muniment.app import House
from muniment.faces.cli.main import run


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    code: int
    out: str
    err: str

    @property
    def object(self) -> dict[str, Any]:
        """The one JSON object that `--json` prints."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


def muniment(
    workspace: Path, *arguments: str, environment: Mapping[str, str] | None = None, typed: bytes = b""
) -> Answer:
    """One call in a workspace that is named by its environment, off any terminal."""
    settings = {"MUNIMENT_WORKSPACE": str(workspace), "MUNIMENT_LANG": "en", "HOME": "/nonexistent"}
    out, err = io.StringIO(), io.StringIO()
    here = Path.cwd()
    os.chdir(workspace)
    try:
        stdin = io.TextIOWrapper(io.BytesIO(typed), encoding="utf-8")
        code = run(arguments, House, {**settings, **(environment or {})}, stdin, out, err)
    finally:
        os.chdir(here)
    return Answer(code, out.getvalue(), err.getvalue())
