"""Hosts, OpenClaw: the session of a scheduled job, from stores of the real form (spec 1, archive id)."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from muniment.hosts.errors import InvalidSession
from muniment.hosts.openclaw.cron import mirror_id
from muniment.hosts.openclaw.folders import state_folder
from muniment.hosts.openclaw.session import CronKey

KEY = CronKey("main", "job-1", "r-7")

COLUMNS = "store_key TEXT, job_id TEXT, name TEXT, enabled INTEGER, job_json TEXT, updated_at INTEGER"
"""Of the columns that the table of OpenClaw 2026.9.6 has, those that matter here, and some that do not."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home)}


def database(home: Path, *, log: bool = False) -> sqlite3.Connection:
    place = home / ".openclaw" / "state" / "openclaw.sqlite"
    place.parent.mkdir(parents=True)
    opened = sqlite3.connect(place)
    if log:
        opened.execute("PRAGMA journal_mode = WAL")
    opened.execute(f"CREATE TABLE cron_jobs ({COLUMNS}, PRIMARY KEY (store_key, job_id)) STRICT")
    opened.commit()
    return opened


def add(opened: sqlite3.Connection, job: object, job_id: str = "job-1", store: str = "/s/jobs.json") -> None:
    text = job if isinstance(job, str | bytes) else json.dumps(job)
    opened.execute(
        "INSERT INTO cron_jobs (store_key, job_id, name, enabled, job_json, updated_at)"
        " VALUES (?, ?, 'n', 1, ?, 1)",
        (store, job_id, text),
    )
    opened.commit()


def old_file(home: Path, content: object) -> None:
    place = home / ".openclaw" / "cron" / "jobs.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def tree(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


JOBS = [
    ({"id": "job-1", "sessionKey": "agent:main:telegram:direct:42"}, "42"),
    ({"id": "job-1", "sessionKey": " agent:main:abc "}, "abc"),
    ({"id": "job-1", "sessionKey": "agent:main:cron:job-1"}, "job-1"),
    ({"id": "job-1", "sessionKey": "main"}, "main"),
    ({"id": "job-1"}, "job-1"),
    ({"id": "job-1", "sessionKey": None}, "job-1"),
    ({"id": "job-1", "sessionKey": "  "}, "job-1"),
]


@pytest.mark.parametrize(("job", "wanted"), JOBS)
def test_the_session_of_a_job_in_the_database(home: Path, job: object, wanted: str) -> None:
    opened = database(home)
    add(opened, job)
    add(opened, {"id": "job-2", "sessionKey": "agent:main:other"}, "job-2")
    opened.close()
    before = tree(home)
    assert mirror_id(KEY, environment(home)) == wanted
    assert tree(home) == before, "OpenClaw's folder is only read"


@pytest.mark.parametrize(("job", "wanted"), JOBS)
def test_the_session_of_a_job_in_the_former_file(home: Path, job: object, wanted: str) -> None:
    old_file(home, {"version": 1, "jobs": [{"id": "job-2", "sessionKey": "agent:main:other"}, job]})
    assert mirror_id(KEY, environment(home)) == wanted


def test_what_a_running_openclaw_has_only_in_its_log_is_read(home: Path) -> None:
    opened = database(home, log=True)
    add(opened, {"id": "job-1", "sessionKey": "agent:main:abc"})
    log = home / ".openclaw" / "state" / "openclaw.sqlite-wal"
    assert log.stat().st_size > 0, "it lies in the log alone"
    names = set(tree(home))
    assert mirror_id(KEY, environment(home)) == "abc"
    assert set(tree(home)) == names
    opened.close()


def test_a_log_that_a_crash_left_is_refused_and_not_touched(home: Path) -> None:
    opened = database(home, log=True)
    add(opened, {"id": "job-1", "sessionKey": "agent:main:abc"})
    state = home / ".openclaw" / "state"
    left = {name: (state / name).read_bytes() for name in ("openclaw.sqlite", "openclaw.sqlite-wal")}
    opened.close()
    for path in state.iterdir():
        path.unlink()
    for name, data in left.items():
        (state / name).write_bytes(data)
    with pytest.raises(InvalidSession):
        mirror_id(KEY, environment(home))
    assert {path.name: path.read_bytes() for path in state.iterdir()} == left


def test_a_database_without_the_table_gives_way_to_the_file(home: Path) -> None:
    place = home / ".openclaw" / "state" / "openclaw.sqlite"
    place.parent.mkdir(parents=True)
    sqlite3.connect(place).close()
    old_file(home, {"version": 1, "jobs": [{"id": "job-1", "sessionKey": "agent:main:abc"}]})
    assert mirror_id(KEY, environment(home)) == "abc"


def test_several_stores_that_agree_are_fine_and_others_are_refused(home: Path) -> None:
    opened = database(home)
    add(opened, {"sessionKey": "agent:main:abc"}, store="/a")
    add(opened, {"sessionKey": "agent:main:abc"}, store="/b")
    assert mirror_id(KEY, environment(home)) == "abc"
    add(opened, {"sessionKey": "agent:main:def"}, store="/c")
    with pytest.raises(InvalidSession):
        mirror_id(KEY, environment(home))
    opened.close()


@pytest.mark.parametrize(
    "job",
    [
        "{",
        "[]",
        '"text"',
        '{"sessionKey": 1}',
        '{"sessionKey": {}}',
        '{"sessionKey": "a", "sessionKey": "b"}',
        {"sessionKey": "unknown"},
        {"sessionKey": "agent:main:global"},
        {"sessionKey": "agent:main:"},
        {"sessionKey": "agent:main:" + "x" * 300},
        {"sessionKey": "agent:main:abc", "pad": "x" * (1 << 20)},
    ],
)
def test_a_job_that_can_not_be_read_is_refused(home: Path, job: object) -> None:
    opened = database(home)
    add(opened, job)
    opened.close()
    with pytest.raises(InvalidSession):
        mirror_id(KEY, environment(home))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"jobs": 1}',
        b'{"jobs": [1]}',
        b'{"jobs": [{"name": "x"}]}',
        b"\xff",
        b'{"version": 1}',
    ],
)
def test_a_former_file_that_can_not_be_read_is_refused(home: Path, content: bytes) -> None:
    old_file(home, content)
    with pytest.raises(InvalidSession) as caught:
        mirror_id(KEY, environment(home))
    assert "jobs.json" in caught.value.reason


def test_a_job_that_nobody_knows_is_refused(home: Path) -> None:
    with pytest.raises(InvalidSession):
        mirror_id(KEY, environment(home))
    database(home).close()
    old_file(home, {"version": 1, "jobs": []})
    with pytest.raises(InvalidSession) as caught:
        mirror_id(KEY, environment(home))
    assert "job-1" in caught.value.reason


@pytest.mark.parametrize("junk", [b"not a database" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_damaged_database_is_refused(home: Path, junk: bytes) -> None:
    database(home).close()
    (home / ".openclaw" / "state" / "openclaw.sqlite").write_bytes(junk)
    with pytest.raises(InvalidSession):
        mirror_id(KEY, environment(home))


def test_a_folder_that_can_not_be_looked_into_is_refused(home: Path) -> None:
    with pytest.raises(InvalidSession) as caught:
        mirror_id(KEY, {"HOME": str(home), "OPENCLAW_STATE_DIR": f"/{'x' * 300}"})
    assert caught.value.why is not None and "too long" in str(caught.value.why)


def test_a_view_that_never_ends_is_stopped(home: Path) -> None:
    place = home / ".openclaw" / "state" / "openclaw.sqlite"
    place.parent.mkdir(parents=True)
    opened = sqlite3.connect(place)
    opened.execute("CREATE TABLE cron_jobs (job_id TEXT, job_json TEXT AS (job_id) VIRTUAL)")
    opened.execute("DROP TABLE cron_jobs")
    opened.execute(
        "CREATE VIEW cron_jobs AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        " SELECT 'x' AS job_id, '{}' AS job_json FROM n"
    )
    opened.commit()
    opened.close()
    with pytest.raises(InvalidSession):
        mirror_id(KEY, environment(home))


@pytest.mark.parametrize(
    ("variables", "made", "wanted"),
    [
        ({}, [], ".openclaw"),
        ({}, [".clawdbot"], ".clawdbot"),
        ({}, [".clawdbot", ".openclaw"], ".openclaw"),
        ({"OPENCLAW_STATE_DIR": "{home}/s"}, [".openclaw"], "s"),
        ({"OPENCLAW_STATE_DIR": " ~/s "}, [], "s"),
        ({"OPENCLAW_STATE_DIR": "~"}, [], "."),
        ({"OPENCLAW_STATE_DIR": "   "}, [], ".openclaw"),
        ({"OPENCLAW_HOME": "{home}/o"}, [], "o/.openclaw"),
        ({"OPENCLAW_HOME": "~/o"}, [], "o/.openclaw"),
        ({"OPENCLAW_HOME": "{home}/o", "OPENCLAW_STATE_DIR": "~/s"}, [], "o/s"),
    ],
)
def test_where_openclaw_keeps_its_state(
    home: Path, variables: dict[str, str], made: list[str], wanted: str
) -> None:
    for name in made:
        (home / name).mkdir()
    given = {name: value.format(home=home) for name, value in variables.items()}
    assert state_folder({"HOME": str(home), **given}) == Path(home, wanted)
