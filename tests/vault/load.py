"""A server as a process of its own under load, killed and begun again; what it acknowledged is remembered."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from tests.vault.table_client import Answer, TableClient

import muniment

ROOT = Path(__file__).parents[2]
SOURCE = Path(muniment.__file__).parent.parent
LOST = (OSError, http.client.HTTPException, ValueError)


class Process:
    """`muniment serve` as a process, ended by its own id."""

    def __init__(self, home: Path, **settings: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
            "PYTHONPATH": os.pathsep.join([str(SOURCE), str(ROOT)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MUNIMENT_SERVE_FOLDER": str(home / "served"),
            **settings,
        }
        self.home = home
        self.process: subprocess.Popen[str] | None = None
        self.port = 0

    def begin(self) -> None:
        """Start it and wait until it says where it listens."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "muniment", "serve", "--port", "0"],
            env=self.environment,
            cwd=self.home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if line.startswith("{") and (said := json.loads(line))["event"] == "serving":
                self.port = int(said["url"].rpartition(":")[2])
                break
        self._reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self._reader.start()

    @staticmethod
    def _read(process: subprocess.Popen[str]) -> None:
        """Its log has to be read, or it would wait for a reader."""
        assert process.stderr is not None
        with process.stderr as stream:
            for _ in stream:
                pass

    def end(self, sign: int = signal.SIGKILL) -> int:
        """End it; what it ended with."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, sign)
        code = self.process.wait(900)
        self._reader.join(900)
        return code

    def token(self, user: str) -> str:
        """A token for a user."""
        done = subprocess.run(
            [sys.executable, "-m", "muniment", "vault", "token", "--user", user],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()


@dataclass
class Ledger:
    """What one tenant was told: `kept` must be there, `maybe` may be there (its answer was lost), of
    `going` it is open whether they are still there."""

    kept: dict[str, str] = field(default_factory=dict)
    maybe: set[str] = field(default_factory=set)
    going: set[str] = field(default_factory=set)

    def check(self, client: TableClient) -> None:
        """Hold the server to it, and take over what it says now."""
        there = {one["backup_id"]: one for one in client.list()["backups"]}
        for name, digest in self.kept.items():
            if name in self.going:
                continue
            assert name in there, f"{name} was acknowledged and is not listed"
            given = client.get(name)
            assert hashlib.sha256(given.body).hexdigest() == digest == given.headers["x-sha256"]
        for name in set(there) - set(self.kept):
            given = client.get(name)
            found = hashlib.sha256(given.body).hexdigest()
            assert found in self.maybe, f"{name} is listed and nobody sent it"
            self.kept[name] = found
        self.kept = {name: digest for name, digest in self.kept.items() if name in there}
        self.going = set()


class Worker(threading.Thread):
    """One tenant at work until the server is gone."""

    def __init__(self, client: TableClient, ledger: Ledger, chance: random.Random, told: threading.Semaphore):
        super().__init__(daemon=True)
        self.client = client
        self.ledger = ledger
        self.chance = chance
        self.told = told
        self.wrong: Exception | None = None

    def run(self) -> None:
        """Act after act."""
        try:
            while self._act():
                self.told.release()
        except Exception as error:  # noqa: BLE001 - shown by whoever joins it
            self.wrong = error
        finally:
            self.told.release()

    def _act(self) -> bool:
        kept = list(self.ledger.kept)
        act = self.chance.choice(["create", "create", "resumable", "delete", "replace"])
        if act == "delete" or len(kept) >= 4:
            return not kept or self._remove(self.chance.choice(kept))
        replace = self.chance.choice(kept) if act == "replace" and kept else None
        data = self.chance.randbytes(self.chance.choice([10, 5_000, 400_000]))
        digest = hashlib.sha256(data).hexdigest()
        self.ledger.maybe.add(digest)
        if replace is not None:
            self.ledger.going.add(replace)
        try:
            answer = self._send(act, data, replace)
        except LOST:
            return False
        if answer.status == 201:
            self.ledger.kept[answer.json["backup_id"]] = digest
            self.ledger.maybe.discard(digest)
            if replace is not None:
                self.ledger.kept.pop(replace, None)
        elif answer.status != 409:  # an upload that was lost with its process holds a slot for an hour
            assert answer.status in (404, 503), answer
        self.ledger.going.discard(replace or "")
        return True

    def _send(self, act: str, data: bytes, replace: str | None) -> Answer:
        if act == "resumable":
            more = {} if replace is None else {"replace": replace}
            return self.client.resumable(data, max(1, len(data) // 3), **more)
        return self.client.create(data, replace=replace)

    def _remove(self, name: str) -> bool:
        self.ledger.going.add(name)
        try:
            answer = self.client.delete(name)
        except LOST:
            return False
        assert answer.status == 204, answer
        self.ledger.kept.pop(name)
        self.ledger.going.discard(name)
        return True


def killed_under_load(home: Path, kills: int, seed: int, tenants: int = 3) -> int:
    """Kill a server so many times while tenants work, and check after each; acts that were acknowledged."""
    chance = random.Random(seed)
    server = Process(home)
    server.begin()
    try:
        tokens = [server.token(f"u-{number}") for number in range(tenants)]
        ledgers = [Ledger() for _ in range(tenants)]
        acts = 0
        for _ in range(kills):
            told = threading.Semaphore(0)
            workers = [
                Worker(TableClient(server.port, token), ledger, random.Random(chance.random()), told)
                for token, ledger in zip(tokens, ledgers, strict=True)
            ]
            for worker in workers:
                worker.start()
            # After so many answers, and then in the middle of whatever happens just then.
            for _ in range(chance.randrange(1, 25)):
                told.acquire(timeout=900)
                acts += 1
            server.end()
            for worker in workers:
                worker.join(900)
                if worker.wrong is not None:
                    raise worker.wrong
            server.begin()
            for token, ledger in zip(tokens, ledgers, strict=True):
                client = TableClient(server.port, token)
                ledger.check(client)
                for one in client.reserve(1).json.get("current", []):  # slots of lost uploads
                    if one.get("uploading"):
                        client.abort(one["upload_id"])
    finally:
        server.end()
    return acts
