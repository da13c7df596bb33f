"""The description of the wire: it names every call, and schemathesis finds nothing against it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from tests.vault.load import ROOT, Process

from muniment.faces.web.app import CALLS
from muniment.faces.web.openapi import document

ENVIRONMENTS = Path(os.environ.get("MUNIMENT_TEST_ENVS", ROOT / "build" / "envs"))
CONFIGURATION = ROOT / "tests" / "envs" / "wire" / "schemathesis.toml"


def test_it_names_every_call_and_no_other() -> None:
    described = {
        (method.upper(), path) for path, calls in document()["paths"].items() for method in calls
    } - {("GET", one) for one in ("/healthz", "/readyz", "/metrics", "/openapi.json")}
    assert described == {(method, re.sub(r":\w+}", "}", path)) for method, path, _ in CALLS}


def test_every_call_of_the_page_is_described() -> None:
    page = (ROOT / "docs" / "operations.md").read_text("utf-8")
    for method, path, _ in CALLS:
        shown = re.sub(r"{(?:backup|upload)_id}", "ID", path).replace("{extent_id:extent}", "EXTENT")
        shown = (
            shown.replace("{path:path}", "PATH")
            .replace("/backups/ID/index", "/index")
            .replace("/backups/ID/facts", "/facts")
        )
        last = (
            shown
            if shown.count("/") < 3 or shown.startswith("/uploads")
            else shown.replace("/backups/ID", "")
        )
        assert f"{method} {shown}" in page or f"`{last}`" in page or f"`{method} {last}" in page, (
            method,
            path,
        )


@pytest.mark.long
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    program = ENVIRONMENTS / "schemathesis" / "bin" / "schemathesis"
    if not program.exists():
        missing = f"{program} is missing: make envs"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    server = Process(tmp_path / "home", MUNIMENT_SERVE_SNAPSHOTS="0", MUNIMENT_SERVE_SESSIONS="0")
    server.begin()
    try:
        done = subprocess.run(
            [
                program,
                "--config-file",
                CONFIGURATION,
                "run",
                f"http://127.0.0.1:{server.port}/openapi.json",
                "--header",
                f"Authorization: Bearer {server.token('u-1')}",
                "--max-examples",
                "30",
                "--seed",
                "20261130",
                "--request-timeout",
                "60",
                "--no-color",
            ],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-20_000:]
    finally:
        server.end(signal.SIGTERM)
