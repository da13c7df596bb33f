"""Hosts, OpenClaw: one gateway for all tests that need one; it takes some ten seconds to start."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hosts.openclaw.gateway import INSTALLED, Gateway, Model, OpenClaw, can_mount, free_port


@pytest.fixture(scope="session")
def real() -> None:
    """OpenClaw is there; only where nobody promised it are tests without it skipped."""
    if not INSTALLED:
        if "CI" in os.environ:
            pytest.fail("OpenClaw is not installed; `make envs` installs it")
        pytest.skip("OpenClaw is not installed; `make envs` installs it")


@pytest.fixture
def openclaw(real: None, tmp_path: Path) -> OpenClaw:
    """OpenClaw of a person who has never heard of us; no gateway runs."""
    claw = OpenClaw(tmp_path / "openclaw")
    claw.configure(free_port(), free_port())
    return claw


@pytest.fixture(scope="session")
def gateway(real: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """OpenClaw, with what `muniment install openclaw` gave it."""
    claw, model = OpenClaw(tmp_path_factory.mktemp("openclaw")), Model()
    port = free_port()
    claw.configure(port, model.port)
    done = claw.muniment("install", "openclaw", "--json")
    assert done.returncode == 0, done.stderr
    use_the_program_under_test(claw)
    running = None
    try:
        running = Gateway(claw, model, port, mounted=can_mount())
        yield running
    finally:
        if running is not None:
            running.close()
        model.close()


def use_the_program_under_test(claw: OpenClaw) -> None:
    """The entry names the interpreter; here it has to find the package of this tree as well."""
    text = claw.configuration.read_text()
    assert text.count('"-P"') == 1
    start = text.rindex("[", 0, text.index('"-P"'))
    end = text.index("]", start) + 1
    named: list[str] = json.loads(text[start:end])
    assert Path(named[0]).is_file() and named[1:] == ["-P", "-m", "muniment"]
    claw.configuration.write_text(text[:start] + json.dumps([str(claw.program)]) + text[end:])
