"""Tools: without the extra, the command says how to install it, and nothing else misses it (spec 6)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.tools.server import variables


def without(*modules: str) -> str:
    """The program where these are not installed."""
    gone = "".join(f"sys.modules[{name!r}] = None; " for name in modules)
    return f"import sys; {gone}sys.argv[0] = 'muniment'; from muniment.app import main; sys.exit(main())"


def run(
    place: Path, *arguments: str, program: str = without("mcp", "mcp_types")
) -> subprocess.CompletedProcess[str]:
    (place / "workspace").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=place / "workspace",
        env=variables(place / "workspace"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_line_that_installs_it_is_printed(tmp_path: Path) -> None:
    done = run(tmp_path, "mcp")
    assert done.returncode == 2 and done.stdout == ""
    assert "EXTRA_MISSING" in done.stderr
    assert "pip install 'muniment[mcp]'" in done.stderr


def test_over_http_both_are_named(tmp_path: Path) -> None:
    done = run(tmp_path, "mcp", "--http", program=without("joserfc"))
    assert done.returncode == 2 and "pip install 'muniment[mcp,serve]'" in done.stderr


def test_everything_else_works_without_it(tmp_path: Path) -> None:
    assert run(tmp_path, "--help").returncode == 0
    assert run(tmp_path, "status").returncode == 0
