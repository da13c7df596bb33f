"""House: the files that are committed, or would be."""

from __future__ import annotations

import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def committed() -> list[Path]:
    """Every file of the project that git knows or would take, below the project's folder.

    >>> Path("pyproject.toml") in committed()
    True
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        check=True,
    )
    names = [Path(name.decode()) for name in listed.stdout.split(b"\0") if name]
    return sorted({name for name in names if (PROJECT / name).is_file()})


def texts() -> dict[Path, str]:
    """The committed files that are text, with their text."""
    found = {}
    for name in committed():
        content = (PROJECT / name).read_bytes()
        if b"\0" not in content:
            found[name] = content.decode("utf-8", "surrogateescape")
    return found


def modules() -> list[Path]:
    """The committed Python files of the package."""
    return [name for name in committed() if name.suffix == ".py" and name.parts[:2] == ("src", "muniment")]
