"""`muniment serve` and `muniment vault token` as a person calls them, and a backup through them."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.vault.content import Ticking
from tests.vault.load import Process
from tests.vault.table_client import TableClient

from muniment.disk.errors import OutsideRoot
from muniment.errors import ExitCode
from muniment.vault.errors import BadKeys, NoKeys
from muniment.vault.keys import KeyRing, add_key, read_kept, read_keys, retire_key


@pytest.fixture
def server(quick_path: Path) -> Iterator[Process]:
    """A home of its own; what was begun in it ends with the test."""
    found = Process(quick_path / "home")
    yield found
    if found.process is not None and found.process.poll() is None:
        found.end()


def run(
    server: Process, *words: str, cwd: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """A call of the program in that home."""
    return subprocess.run(
        [sys.executable, "-m", "muniment", *words],
        env={**server.environment, **more},
        cwd=cwd or server.home,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=900,
    )


def keys_of(server: Process) -> Path:
    return server.home / "config" / "muniment" / "vault-keys.json"


def test_elsewhere_than_on_loopback_there_have_to_be_keys(server: Process) -> None:
    done = run(server, "serve", "--host", "0.0.0.0", "--port", "0", "--json")
    assert done.returncode == ExitCode.NOT_AUTHORISED
    assert json.loads(done.stdout)["error"] == "NO_KEYS"
    assert not keys_of(server).exists()
    assert not (server.home / "served").exists()


@pytest.mark.parametrize("port", ["-1", "65536", "x", "8080.0"])
def test_ports_that_are_none(server: Process, port: str) -> None:
    assert run(server, "serve", f"--port={port}").returncode == ExitCode.USAGE


def test_a_port_that_is_taken(server: Process) -> None:
    server.begin()
    done = run(server, "serve", "--port", str(server.port), "--json")
    assert done.returncode == ExitCode.USAGE
    assert str(server.port) in json.loads(done.stdout)["where"]


def test_a_token_and_the_key_that_it_is_made_with(server: Process) -> None:
    done = run(server, "vault", "token", "--user", "alice")
    assert (done.returncode, done.stdout.count("\n"), done.stdout.count(".")) == (0, 1, 2)
    assert stat.S_IMODE(keys_of(server).stat().st_mode) == 0o600
    secret = json.loads(keys_of(server).read_text())["keys"][0]["key"]["k"]
    assert secret not in done.stdout + done.stderr
    for words in (("vault", "token"), ("vault", "token", "--user", "a", "--days", "0"),
                  ("vault", "token", "--user", "a", "--days", "3651")):  # fmt: skip
        assert run(server, *words).returncode == ExitCode.USAGE


def test_keys_are_rotated_by_their_id_while_the_server_runs(server: Process) -> None:
    server.begin()
    first = TableClient(server.port, server.token("alice"))
    assert first.create(b"x").status == 201
    made = json.loads(run(server, "vault", "token", "--new-key", "--user", "alice", "--json").stdout)
    second = TableClient(server.port, made["token"])
    assert len(second.list()["backups"]) == 1, "the same issuer means the same tenant"
    assert first.call("GET", "/backups").status == 200
    old, new = read_kept(keys_of(server))
    assert new.kid == made["key"]
    assert run(server, "vault", "token", "--retire", old.kid).returncode == 0
    assert first.call("GET", "/backups").status == 401
    assert second.call("GET", "/backups").status == 200
    assert run(server, "vault", "token", "--retire", "nobody").returncode == ExitCode.NOT_AUTHORISED


def test_no_token_and_no_label_in_the_log(server: Process) -> None:
    server.process = subprocess.Popen(
        [sys.executable, "-m", "muniment", "serve", "--port", "0", "-v"],
        env=server.environment,
        cwd=server.home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.process.stderr is not None
    said = []
    for line in server.process.stderr:
        said.append(line)
        if '"serving"' in line:
            break
    port = int(json.loads(said[-1])["url"].rpartition(":")[2])
    token = server.token("alice")
    one = TableClient(port, token)
    one.create(b"x", "private label", ["workspace/private"])
    one.create(b"x", "private\nlabel")
    TableClient(port, token + "x").list()
    one.get("bk_20200101_000000_zzzz")
    os.kill(server.process.pid, signal.SIGTERM)
    out, rest = server.process.communicate(timeout=900)
    log = "".join(said) + rest
    assert server.process.returncode == 0
    assert "private" not in log + out
    assert token.rpartition(".")[2] not in log and token.split(".")[1] not in log
    calls = [json.loads(line) for line in rest.splitlines() if line.startswith("{")]
    statuses = [line["status"] for line in calls if line["event"] == "call"]
    assert statuses == [201, 400, 401, 404]
    assert all({"at", "level", "logger"} <= set(line) for line in calls)


def test_a_backup_over_http_without_any_set_up(server: Process) -> None:
    server.begin()
    folder = server.home / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n")
    url = f"http://127.0.0.1:{server.port}"

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        done = run(server, *words, cwd=folder, MUNIMENT_VAULT=url)
        assert done.returncode == 0, done.stderr
        return done

    call("backup", "rules", "default")
    plan = json.loads(call("backup", "plan", "--json").stdout)["plan_id"]
    made = json.loads(call("backup", "create", "--plan", plan, "--yes", "--json").stdout)
    listed = json.loads(call("backup", "list", "--json").stdout)
    assert made["backup_id"] in json.dumps(listed)
    assert "hello" in call("backup", "cat", made["backup_id"], "workspace/a.txt").stdout
    status = json.loads(call("vault", "status", "--json").stdout)
    assert (status["url"], status["snapshots"], status["remaining"]) == (url, 1, 4)
    assert run(server, "vault", "gc", cwd=folder, MUNIMENT_VAULT=url).returncode == ExitCode.BLOCKED
    server.end()
    gone = run(server, "backup", "list", cwd=folder, MUNIMENT_VAULT=url)
    assert gone.returncode == ExitCode.UNREACHABLE


def test_a_workspace_may_not_say_where_a_token_is_sent(server: Process) -> None:
    folder = server.home / "project"
    (folder / ".muniment").mkdir(parents=True)
    (folder / ".muniment" / "config.toml").write_text('[vault]\nurl = "http://127.0.0.1:1"\n')
    done = run(server, "backup", "list", "--json", cwd=folder, CONTAINER_JWT="a.b.c")
    assert done.returncode == ExitCode.USAGE
    assert json.loads(done.stdout)["error"] == "BAD_SETTING"


# The file of keys


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_file_of_keys_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "keys.json"
    add_key(path, clock=Ticking())
    path.chmod(mode)
    with pytest.raises(BadKeys):
        read_keys(path)


def test_keys_that_others_may_read_from_now_on_are_refused_from_now_on(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    add_key(path, clock=Ticking())
    ring = KeyRing(path)
    assert len(ring.keys()) == 1
    path.chmod(0o644)
    for _ in range(2):
        with pytest.raises(BadKeys):
            ring.keys()
    path.chmod(0o600)
    assert len(ring.keys()) == 1


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"v": 2, "keys": []}', '{"v": 1, "keys": [{}]}', '{"v": 1, "keys": [], "x": 1}',
     '{"v": 1, "keys": [{"kid": "a", "algorithm": "none", "issuer": "i", "key": {}}]}',
     '{"v": 1, "keys": [{"kid": "a", "algorithm": "HS256", "issuer": "i", "key": {"kty": "oct", "k": "A"}}]}',
     '{"v": 1, "keys": "x"}', '{"v": 1, "keys": [1]}'],
)  # fmt: skip
def test_files_of_keys_that_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(BadKeys):
        read_keys(path)


def test_no_keys(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    with pytest.raises(NoKeys):
        read_keys(path)
    with pytest.raises(NoKeys):
        KeyRing(path).keys()
    kid = add_key(path, clock=Ticking())
    assert add_key(path, clock=Ticking(), only_first=True) == kid
    retire_key(path, kid, clock=Ticking())
    with pytest.raises(NoKeys):
        read_keys(path)
    assert add_key(path, clock=Ticking(), only_first=True) != kid


def test_a_link_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    add_key(tmp_path / "real.json", clock=Ticking())
    (tmp_path / "keys.json").symlink_to("real.json")
    with pytest.raises(OutsideRoot):
        read_keys(tmp_path / "keys.json")


# Without the extra

WITHOUT = (
    "import sys; sys.modules.update(dict.fromkeys("
    "('starlette', 'uvicorn', 'anyio', 'joserfc', 'prometheus_client', 'h11'), None));"
    "sys.argv[0] = 'muniment'; from muniment.app import main; sys.exit(main())"
)
"""The program where the libraries of the extra `serve` are not installed."""


@pytest.mark.parametrize("words", [("serve",), ("vault", "token", "--user", "a")])
def test_the_line_that_installs_the_extra_is_printed(server: Process, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *words],
        env=server.environment,
        cwd=server.home,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == ExitCode.USAGE and done.stdout == ""
    assert "pip install 'muniment[serve]'" in done.stderr


def test_a_client_needs_none_of_the_extra(server: Process) -> None:
    server.begin()
    url = f"http://127.0.0.1:{server.port}"

    def call(**more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", WITHOUT, "backup", "list", "--json"],
            env={**server.environment, "MUNIMENT_VAULT": url, **more},
            cwd=server.home,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    assert call(CONTAINER_JWT=server.token("a")).returncode == 0
    without = call()
    assert without.returncode == ExitCode.NOT_AUTHORISED
    assert json.loads(without.stdout)["error"] == "TOKEN_REFUSED"
