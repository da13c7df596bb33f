"""The working session that stands in where no host tells one (spec 1, archive id)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muniment.disk.root import Root
from muniment.hosts.errors import InvalidSession
from muniment.hosts.generic.session import WorkingSession
from muniment.hosts.git import short_head
from muniment.hosts.session import SessionSource
from muniment.path import RelPath

FOLDER = RelPath.parse(".muniment")
START = datetime(2026, 4, 16, 14, 30, 59, tzinfo=UTC)


class Wall:
    """A clock that the test sets, and a git that says what the test wants."""

    def __init__(self) -> None:
        self.now = START
        self.hash: str | None = None
        self.zone = timedelta()

    def sessions(self, root: Root) -> WorkingSession:
        return WorkingSession(
            root,
            FOLDER,
            clock=lambda: self.now,
            short_hash=lambda: self.hash,
            local=lambda moment: moment + self.zone,
        )


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with Root.open(tmp_path) as opened:
        yield opened


def test_the_id_of_a_repository_and_of_any_other_folder(root: Root, wall: Wall) -> None:
    wall.hash = "a3f2b1c"
    used = wall.sessions(root).use()
    assert (used.archive_id, used.source, used.key) == ("a3f2b1c-0416-1430", SessionSource.FALLBACK, None)
    assert not used.from_host
    wall.sessions(root).end()
    wall.hash = None
    assert wall.sessions(root).use().archive_id == "local-0416-1430"


@pytest.mark.parametrize("said", ["", "zzzzzzz", "abc", "../../x", "A3F2B1C", "a3f2b1c\n", "f" * 41])
def test_what_is_no_hash_is_not_put_into_a_path(root: Root, wall: Wall, said: str) -> None:
    wall.hash = said
    assert wall.sessions(root).use().archive_id == "local-0416-1430"


def test_the_time_is_that_of_the_wall_clock(root: Root, wall: Wall) -> None:
    wall.zone = timedelta(hours=8)
    assert wall.sessions(root).use().archive_id == "local-0416-2230"


def test_it_is_minted_once_and_shared(root: Root, wall: Wall) -> None:
    first = wall.sessions(root)
    assert first.current() is None
    minted = first.use()
    wall.now += timedelta(hours=3)
    wall.hash = "a3f2b1c"  # a commit meanwhile changes nothing
    assert wall.sessions(root).use() == first.use() == first.current() == minted


def test_twelve_idle_hours_end_it(root: Root, wall: Wall) -> None:
    sessions = wall.sessions(root)
    minted = sessions.use()
    for _ in range(3):  # each use begins the hours anew
        wall.now += timedelta(hours=11, minutes=59, seconds=59)
        assert sessions.use() == minted
    wall.now += timedelta(hours=12)
    assert sessions.current() is None
    assert sessions.use().archive_id == "local-0418-1430"


def test_looking_does_not_keep_it_alive(root: Root, wall: Wall) -> None:
    sessions = wall.sessions(root)
    minted = sessions.use()
    wall.now += timedelta(hours=7)
    assert sessions.current() == minted
    wall.now += timedelta(hours=7)
    assert sessions.current() is None


def test_its_start_stays_while_it_goes_on(root: Root, wall: Wall) -> None:
    sessions = wall.sessions(root)
    assert sessions.started_ns() is None
    sessions.use()
    wall.now += timedelta(hours=1)
    sessions.use()
    assert sessions.started_ns() == int(START.timestamp()) * 10**9


def test_it_can_be_ended(root: Root, wall: Wall) -> None:
    sessions = wall.sessions(root)
    assert not sessions.end()
    sessions.use()
    assert sessions.end()
    assert not sessions.end()
    assert sessions.current() is None
    wall.now += timedelta(minutes=1)
    assert sessions.use().archive_id == "local-0416-1431"


def test_a_clock_that_goes_back_does_not_end_it(root: Root, wall: Wall) -> None:
    sessions = wall.sessions(root)
    minted = sessions.use()
    wall.now -= timedelta(days=400)
    assert sessions.use() == minted


SOUND = {
    "v": 1,
    "archive_id": "local-0416-1430",
    "started": "2026-04-16T14:30:59.000000Z",
    "used": "2026-04-16T14:30:59.000000Z",
}


def test_the_file_is_what_the_test_below_takes_for_sound(root: Root, wall: Wall, tmp_path: Path) -> None:
    wall.sessions(root).use()
    assert json.loads((tmp_path / ".muniment/session.json").read_bytes()) == SOUND
    assert (tmp_path / ".muniment/session.json").stat().st_mode & 0o777 == 0o600


BAD: dict[str, bytes] = {
    "empty": b"",
    "NUL": bytes(64),
    "torn": json.dumps(SOUND).encode()[:-9],
    "not UTF-8": b"\xff",
    "a list": b"[]",
    "a text": b'"x"',
    "null": b"null",
    "without its last use": json.dumps({k: v for k, v in SOUND.items() if k != "used"}).encode(),
    "a last use that is none": json.dumps(SOUND | {"used": "yesterday"}).encode(),
    "a last use that is a number": json.dumps(SOUND | {"used": 1}).encode(),
    "a start that is none": json.dumps(SOUND | {"started": ""}).encode(),
    "an id that leads out": json.dumps(SOUND | {"archive_id": "../../x"}).encode(),
    "an id that is a number": json.dumps(SOUND | {"archive_id": 7}).encode(),
    "an id with a line feed": json.dumps(SOUND | {"archive_id": "local-0416-1430\n"}).encode(),
    "too large": b" " * (1 << 17) + json.dumps(SOUND).encode(),
    "nested without end": b"[" * 60_000,
}


@pytest.mark.parametrize("name", BAD)
def test_a_damaged_file_is_no_session_and_is_replaced(
    root: Root, wall: Wall, tmp_path: Path, name: str
) -> None:
    (tmp_path / ".muniment").mkdir()
    (tmp_path / ".muniment/session.json").write_bytes(BAD[name])
    wall.now += timedelta(hours=1)
    sessions = wall.sessions(root)
    assert sessions.current() is None
    assert not sessions.end()
    assert sessions.use().archive_id == "local-0416-1530"
    assert sessions.current() is not None


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_what_is_no_file_is_not_read_and_is_replaced(
    root: Root, wall: Wall, tmp_path: Path, kind: str
) -> None:
    (tmp_path / ".muniment").mkdir()
    target = tmp_path / "elsewhere.json"
    target.write_bytes(json.dumps(SOUND | {"archive_id": "local-0101-0101"}).encode())
    if kind == "pipe":
        os.mkfifo(tmp_path / ".muniment/session.json")
    else:
        (tmp_path / ".muniment/session.json").symlink_to(target)
    before = target.read_bytes()
    assert wall.sessions(root).current() is None
    assert wall.sessions(root).use().archive_id == "local-0416-1430"
    assert target.read_bytes() == before


def test_an_id_that_can_not_be_kept_is_none(root: Root, wall: Wall, tmp_path: Path) -> None:
    """An id that the next call would not share is worse than none: blocked, `invalid Session`."""
    (tmp_path / ".muniment/session.json").mkdir(parents=True)
    with pytest.raises(InvalidSession) as raised:
        wall.sessions(root).use()
    assert raised.value.code == "INVALID_SESSION"
    assert str(raised.value.message) == "invalid Session"


PROCESS = """
import sys
from datetime import UTC, datetime
from muniment.disk.root import Root
from muniment.hosts.generic.session import WorkingSession
from muniment.path import RelPath
minute = int(sys.argv[2])
now = datetime(2026, 4, 16, 14, minute, tzinfo=UTC)
with Root.open(sys.argv[1]) as root:
    sessions = WorkingSession(
        root, RelPath.parse(".muniment"), clock=lambda: now, short_hash=lambda: None, local=lambda one: one
    )
    print("ready", flush=True)
    sys.stdin.readline()
    print(sessions.use().archive_id)
"""


def test_processes_that_begin_at_once_share_one_id(tmp_path: Path) -> None:
    """Each has a minute of its own, so that two ids would show."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(tmp_path), str(minute)],
            env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for minute in range(6)
    ]
    for one in running:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in running:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    said = [one.communicate()[0] for one in running]
    assert [one.returncode for one in running] == [0] * len(running)
    assert len(set(said)) == 1
    kept = json.loads((tmp_path / ".muniment/session.json").read_bytes())
    assert said[0] == kept["archive_id"] + "\n"


def test_the_hash_is_git_s(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
            cwd=tmp_path,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    assert short_head(tmp_path) is None
    git("init", "-q")
    assert short_head(tmp_path) is None  # before the first commit
    git("commit", "-q", "--allow-empty", "-m", "first")
    assert short_head(tmp_path) == git("rev-parse", "HEAD")[:7]


def test_variables_of_another_repository_do_not_mislead_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(Path(__file__).parents[2] / ".git"))
    assert short_head(tmp_path) is None
