"""The command line as a person or an agent calls it, in this process, over a real workspace."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path

from tests.faces.calling import Answer

from muniment.app import House
from muniment.faces.cli.main import run


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
