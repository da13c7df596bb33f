"""Floor 2, `hosts`: OpenClaw's cron store: which session a scheduled job belongs to.

Since 2026.6 the jobs lie in a table of OpenClaw's state database; before, in `cron/jobs.json`.
Both are only read.  Opening a database may leave files beside it, so it is opened in the way that
leaves none (decision 0401).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from muniment.canonical import NotJson, read_json
from muniment.hosts.errors import InvalidSession
from muniment.hosts.openclaw.folders import state_folder
from muniment.hosts.openclaw.session import CronKey, as_id, check_key
from muniment.message import Message, say
from muniment.path import printable

_DATABASE = Path("state", "openclaw.sqlite")
_OLD_FILE = Path("cron", "jobs.json")
_JOB_MAX = 1 << 20
_FILE_MAX = 64 << 20
_WAIT_S = 5.0
_STEPS = 10_000
_STEP_ROUNDS = 10_000
"""Ten thousand rounds of ten thousand steps of SQLite's machine: no honest look-up needs as many."""


def mirror_id(key: CronKey, environment: Mapping[str, str]) -> str:
    """The archive id of the session that a scheduled job belongs to.

    That is the session named in the job, else the job's own, which all its runs share.  A job that
    the store does not know, or a store that can not be read, is an `InvalidSession`.
    """
    told = _session_of(key, state_folder(environment))
    if told is None:
        return as_id(key.job, key.own)
    # OpenClaw puts the agent before a key that has none.
    return as_id(told.rpartition(":")[2], check_key(told if ":" in told else f"agent:{key.agent}:{told}"))


def _session_of(key: CronKey, state: Path) -> str | None:
    jobs = [*_in_database(key.job, state), *_in_file(key.job, state)]
    if not jobs:
        raise _invalid(state, say("OpenClaw's cron store knows no job {job}", job=printable(key.job)))
    told = {_session_in(job, state) for job in jobs}
    if len(told) > 1:
        raise _invalid(
            state,
            say(
                "OpenClaw's cron store has several jobs {job}, of different sessions", job=printable(key.job)
            ),
        )
    return told.pop()


def _session_in(job: Any, state: Path) -> str | None:
    session = job.get("sessionKey") if isinstance(job, dict) else job
    if session is not None and not isinstance(session, str):
        raise _invalid(state, say("a job of OpenClaw's cron store has another form than expected"))
    return session.strip() or None if session is not None else None


def _in_database(job_id: str, state: Path) -> list[Any]:
    """The objects of a job in the database; several when several stores have a job of that id."""
    place = state / _DATABASE
    try:
        if not place.is_file():
            return []
        with _opened(place) as database:
            tables = database.execute(
                "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'cron_jobs'"
            ).fetchone()
            if tables is None:
                return []
            rows = database.execute(
                "SELECT job_json FROM cron_jobs WHERE job_id = ? AND length(job_json) <= ? LIMIT 64",
                (job_id, _JOB_MAX),
            ).fetchall()
        return [_job(text) for (text,) in rows]
    except (sqlite3.Error, OSError, NotJson) as error:
        raise _invalid(place, say("it can not be read: {finding}", finding=error)) from error


def _job(text: object) -> Any:
    if not isinstance(text, str):
        raise NotJson("a job is no text")
    job = read_json(text)
    if not isinstance(job, dict):
        raise NotJson("a job is no object")
    return job


@contextlib.contextmanager
def _opened(place: Path) -> Iterator[sqlite3.Connection]:
    """The database, read-only and without leaving a file beside it.

    While OpenClaw runs, its write-ahead log and the log's index are there, and are read with it.
    Where there is no log, the file alone is whole.  A log without its index was left by a crash;
    to read it would make files in OpenClaw's folder, so it is refused.
    """
    log, index = (place.with_name(place.name + end) for end in ("-wal", "-shm"))
    logged = log.exists() and log.stat().st_size > 0
    if logged and not index.exists():
        raise OSError("OpenClaw stopped in the middle of its work; start it once")
    mode = "mode=ro" if logged else "mode=ro&immutable=1"
    database = sqlite3.connect(f"file:{quote(os.fspath(place))}?{mode}", uri=True, timeout=_WAIT_S)
    rounds = iter(range(_STEP_ROUNDS))
    try:
        database.set_progress_handler(lambda: next(rounds, None) is None, _STEPS)
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA query_only = ON")
        yield database
    finally:
        database.close()


def _in_file(job_id: str, state: Path) -> list[Any]:
    """The objects of a job in the file of former versions."""
    place = state / _OLD_FILE
    try:
        with place.open("rb") as file:
            data = file.read(_FILE_MAX + 1)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _invalid(place, say("it can not be read: {finding}", finding=error)) from error
    try:
        if len(data) > _FILE_MAX:
            raise NotJson("it is too large")
        store = read_json(data)
        jobs = store["jobs"]
        return [job for job in jobs if job["id"] == job_id]
    except (NotJson, KeyError, TypeError) as error:
        raise _invalid(place, say("it can not be read: {finding}", finding=error)) from error


def _invalid(place: Path, why: Message) -> InvalidSession:
    return InvalidSession(where=printable(str(place)), why=why)
