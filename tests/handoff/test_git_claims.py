"""Claims of commits and pushes, checked in real repositories with real remotes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.handoff.conftest import Place, dispatched, work
from tests.handoff.test_roots import git

from muniment.handoff.service import Handoffs


@pytest.fixture
def repositories(place: Place) -> dict[str, str]:
    """Two repositories below the workspace, each with a remote; the heads of their pushed commits."""
    heads: dict[str, str] = {}
    for name in ("app", "lib"):
        remote, clone = place.path.parent / f"{name}.git", place.path / name
        git(place.path, "init", "-q", "--bare", str(remote))
        git(place.path, "clone", "-q", str(remote), str(clone))
        (clone / "main.py").write_text(f"name = {name!r}\n")
        git(clone, "add", "main.py")
        git(clone, "commit", "-qm", "work")
        git(clone, "push", "-q", "origin", "HEAD")
        heads[name] = git(clone, "rev-parse", "HEAD")
    return heads


def committed(name: str, commit: str, *paths: str) -> dict[str, Any]:
    return {"claim": "committed", "repository": name, "commit": commit, "paths": list(paths) or ["main.py"]}


def pushed(name: str, commit: str) -> dict[str, Any]:
    return {"claim": "pushed", "repository": name, "commit": commit, "remote": "origin"}


def verdict(place: Place, *claims: dict[str, Any]) -> list[tuple[str, str]]:
    handoffs: Handoffs = place.reopen()
    handoff = dispatched(handoffs)
    work(handoffs, handoff, evidence=list(claims))
    trace = handoffs.check(handoff).trace
    assert trace.complete is (not trace.findings)
    return [(each.code.value, each.where) for each in trace.findings]


def test_both_landed(place: Place, repositories: dict[str, str]) -> None:
    claims = [kind(name, head) for name, head in repositories.items() for kind in (committed, pushed)]
    assert verdict(place, *claims) == []


def test_one_landed_and_one_was_silently_lost(place: Place, repositories: dict[str, str]) -> None:
    lib = place.path / "lib"
    (lib / "main.py").write_text("name = 'lost'\n")
    git(lib, "commit", "-qam", "lost")
    lost = git(lib, "rev-parse", "HEAD")
    git(lib, "reset", "-q", "--hard", "HEAD~1")
    git(lib, "reflog", "expire", "--expire=now", "--all")
    git(lib, "gc", "-q", "--prune=now")
    found = verdict(place, committed("app", repositories["app"]), committed("lib", lost))
    assert found == [("COMMIT_NOT_FOUND", "lib")]


def test_committed_and_not_pushed(place: Place, repositories: dict[str, str]) -> None:
    lib = place.path / "lib"
    (lib / "main.py").write_text("name = 'here only'\n")
    git(lib, "commit", "-qam", "here only")
    head = git(lib, "rev-parse", "HEAD")
    # The tracking branch lies; only the remote itself is asked.
    git(lib, "update-ref", "refs/remotes/origin/main", head)
    assert verdict(place, committed("lib", head)) == []
    assert verdict(place, pushed("app", repositories["app"]), pushed("lib", head)) == [("NOT_PUSHED", "lib")]


def test_an_older_commit_counts_as_pushed(place: Place, repositories: dict[str, str]) -> None:
    lib = place.path / "lib"
    git(lib, "commit", "-q", "--allow-empty", "-m", "more")
    git(lib, "push", "-q", "origin", "HEAD")
    assert verdict(place, pushed("lib", repositories["lib"])) == []


def test_a_remote_that_is_gone_is_not_believed(place: Place, repositories: dict[str, str]) -> None:
    (place.path.parent / "lib.git").rename(place.path.parent / "gone.git")
    assert verdict(place, pushed("lib", repositories["lib"])) == [("REMOTE_UNKNOWN", "lib")]


def test_a_remote_that_looks_like_an_option_is_none(place: Place, repositories: dict[str, str]) -> None:
    mark = place.path.parent / "ran"
    claim = {**pushed("app", repositories["app"]), "remote": f"--upload-pack=touch {mark}"}
    assert verdict(place, claim) == [("REMOTE_UNKNOWN", "app")]
    assert not mark.exists()


def test_the_file_is_not_the_committed_one(place: Place, repositories: dict[str, str]) -> None:
    (place.path / "app/main.py").write_text("name = 'later'\n")
    assert verdict(place, committed("app", repositories["app"])) == [("COMMIT_DIFFERS", "app: main.py")]
    found = verdict(place, committed("app", repositories["app"], "absent.py", "../lib/main.py"))
    assert found == [("COMMIT_LACKS_FILE", "app: absent.py"), ("COMMIT_LACKS_FILE", "app: ../lib/main.py")]


@pytest.mark.parametrize("name", ["nowhere", "app/sub", "../app", "/", "app/main.py"])
def test_no_repository(place: Place, repositories: dict[str, str], name: str) -> None:
    (place.path / "app/sub").mkdir()
    found = verdict(place, committed(name, repositories["app"]))
    assert found == [("REPOSITORY_MISSING", name)]


def test_the_repository_that_holds_a_target_is_checked_though_nobody_names_it(
    place: Place, repositories: dict[str, str]
) -> None:
    git(place.path, "init", "-q")
    git(place.path, "commit", "-q", "--allow-empty", "-m", "empty")
    found = verdict(place, committed("app", repositories["app"]))
    assert {code for code, _ in found} == {"COMMIT_LACKS_FILE"}
    assert {where.split(": ")[1] for _, where in found} == {"agents/mei/MEMORY.md", "agents/mei/WORKLOG.md"}
    (place.path / ".gitignore").write_text("agents/\n")
    assert verdict(place, committed("app", repositories["app"])) == []


def test_hooks_and_filters_of_a_repository_do_not_run(place: Place, repositories: dict[str, str]) -> None:
    app, mark = place.path / "app", place.path.parent / "ran"
    git(app, "config", "core.fsmonitor", f"touch {mark}")
    git(app, "config", "filter.x.clean", f"touch {mark}; cat")
    git(app, "config", "core.sshCommand", f"touch {mark}")
    git(app, "config", "remote.origin.uploadpack", f"touch {mark}; git-upload-pack")
    (app / ".gitattributes").write_text("* filter=x\n")
    head = repositories["app"]
    assert verdict(place, committed("app", head), pushed("app", head)) == []
    assert not mark.exists()


def test_a_claim_is_about_bytes_not_about_names(
    place: Place, repositories: dict[str, str], tmp_path: Path
) -> None:
    file = place.path / "app/main.py"
    text = file.read_text()
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere.py")
    (tmp_path / "elsewhere.py").write_text(text)
    assert verdict(place, committed("app", repositories["app"])) == [("COMMIT_DIFFERS", "app: main.py")]


class _WantsAName(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def web() -> Iterator[str]:
    """The address of a server that asks everybody who they are."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _WantsAName) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/x"
        server.shutdown()


@pytest.mark.parametrize("name", ["credential.helper", "core.askPass", "core.gitProxy"])
def test_what_would_prove_who_one_is_to_a_remote_is_not_the_repository_s_to_say(
    place: Place, repositories: dict[str, str], web: str, name: str
) -> None:
    app, mark = place.path / "app", place.path.parent / "ran"
    program = place.path.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    git(app, "config", name, str(program))
    git(app, "config", "remote.origin.url", "git://127.0.0.1:1/x" if name == "core.gitProxy" else web)
    assert verdict(place, pushed("app", repositories["app"])) == [("REMOTE_UNKNOWN", "app")]
    assert not mark.exists()


def test_an_object_that_is_not_there_is_asked_of_nobody(place: Place, repositories: dict[str, str]) -> None:
    app, mark = place.path / "app", place.path.parent / "ran"
    git(app, "config", "core.repositoryformatversion", "1")
    git(app, "config", "extensions.partialClone", "origin")
    git(app, "config", "remote.origin.promisor", "true")
    git(app, "config", "protocol.file.allow", "always")
    git(app, "config", "remote.origin.uploadpack", f"touch {mark}; git-upload-pack")
    assert verdict(place, committed("app", "1" * 40)) == [("COMMIT_NOT_FOUND", "app")]
    assert not mark.exists()


def test_a_remote_whose_path_is_relative_is_asked_too(place: Place, repositories: dict[str, str]) -> None:
    git(place.path / "app", "config", "remote.origin.url", "../../app.git")
    assert verdict(place, pushed("app", repositories["app"])) == []
