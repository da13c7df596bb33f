"""Timers: our marked lines in a crontab, our files among systemd's units, and nothing of anybody else's.

`crontab` and `systemctl --user` are stand-ins here: the first would change the crontab of whoever runs the
tests, the second needs a session of systemd.
"""

from __future__ import annotations

import itertools
import shlex
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.backup.errors import TimerForeign, TimerNotSet
from muniment.backup.timers import Cron, Job, OpenClaw, Systemd, cron_block, with_block, without_block
from muniment.hosts.launch import Ended, LaunchFailed

ROOT = "01M8Q4MESG7EMQ31ZMWPEGAMQ2"
JOB = Job(ROOT, "/home/a b", "03:05", ("/opt/py thon", "-m", "muniment", "-w", "/home/a b/100% $x", "backup"))
OTHERS = b"MAILTO=me@example.org\n# mine\n*/5 * * * * /usr/bin/true % input\n\xff\xfe odd\n\n@reboot x"


class Crontab:
    """A stand-in for the program `crontab`."""

    def __init__(self, table: bytes | None = None, *, fault: str = "") -> None:
        self.table, self.fault = table, fault
        self.written: list[bytes] = []

    def __call__(self, command: Sequence[str], data: bytes) -> Ended:
        *_, program, argument = command
        assert program == "crontab"
        if self.fault == argument:
            return Ended(1, b"", b"You (me) are not allowed to use this program")
        if argument == "-l":
            return Ended(1, b"", b"no crontab for me\n") if self.table is None else Ended(0, self.table)
        self.written.append(data)
        self.table = data if self.fault != "lies" else data[:-5]
        return Ended(0)


def cron(crontab: Crontab, job: Job = JOB) -> Cron:
    return Cron(job, crontab, which=lambda name: f"/usr/bin/{name}")


def test_a_line_is_added_and_taken_away_and_no_other_byte_changes() -> None:
    crontab = Crontab(OTHERS)
    cron(crontab).install()
    assert crontab.table == OTHERS + b"\n" + cron_block(JOB)
    assert cron(crontab).remove() is True
    assert crontab.table == OTHERS + b"\n", "a last line without an end was given one"
    assert cron(crontab).remove() is False


def test_into_an_empty_crontab() -> None:
    crontab = Crontab(None)
    cron(crontab).install()
    assert crontab.table == cron_block(JOB)
    assert cron(crontab).remove() is True
    assert crontab.table == b""


def test_another_time_takes_the_place_of_the_former() -> None:
    crontab = Crontab(OTHERS + b"\n")
    cron(crontab).install()
    later = Job(ROOT, JOB.workspace, "23:59", JOB.command)
    cron(crontab, later).install()
    assert crontab.table == OTHERS + b"\n" + cron_block(later)


def test_two_workspaces_side_by_side() -> None:
    crontab = Crontab(OTHERS + b"\n")
    other = Job("01M8Q4MESG7EMQ31ZMWPEGAMQ3", "/other", "04:00", ("x",))
    cron(crontab).install()
    cron(crontab, other).install()
    cron(crontab).remove()
    assert crontab.table == OTHERS + b"\n" + cron_block(other)


def test_cron_gives_the_shell_the_words_that_were_meant() -> None:
    """As cron reads the line: a % that is not escaped ends the command, and the sign before it goes."""
    line = cron_block(JOB).split(b"\n")[1].decode()
    minute, hour, *stars, command = line.split(" ", 5)
    assert (minute, hour, stars) == ("5", "3", ["*", "*", "*"])
    assert all(before == "\\" for before, sign in itertools.pairwise(command) if sign == "%")
    told = command.replace("\\%", "%")
    assert tuple(shlex.split(told)) == JOB.command
    printed = subprocess.run(
        ["/bin/sh", "-c", f"printf '%s\\n' {told}"], capture_output=True, text=True, check=True, timeout=60
    )
    assert tuple(printed.stdout.splitlines()) == JOB.command


@given(st.binary(max_size=200).filter(lambda table: b"muniment" not in table))
def test_whatever_a_crontab_holds(table: bytes) -> None:
    with_it = with_block(table, JOB)
    rest = without_block(with_it, ROOT)
    assert rest == table or rest == table + b"\n"
    assert with_it.startswith(table)


@pytest.mark.parametrize(
    "broken",
    [
        cron_block(JOB).replace(b": end", b": fin"),
        cron_block(JOB).replace(b": begin", b": start"),
        cron_block(JOB) * 2,
        cron_block(JOB).replace(b"\n5 3", b"\n# mine\n5 3"),
    ],
)
def test_marks_that_were_meddled_with_are_left_alone(broken: bytes) -> None:
    crontab = Crontab(OTHERS + b"\n" + broken)
    for act in (cron(crontab).install, cron(crontab).remove):
        with pytest.raises(TimerForeign):
            act()
    assert crontab.written == []


@pytest.mark.parametrize("fault", ["-l", "-"])
def test_a_crontab_that_refuses(fault: str) -> None:
    """Above all a failing `-l` is not taken for an empty table, which would wipe what is there."""
    crontab = Crontab(OTHERS, fault=fault)
    with pytest.raises(TimerNotSet, match="not allowed"):
        cron(crontab).install()
    assert crontab.table == OTHERS


def test_what_was_written_is_read_back() -> None:
    with pytest.raises(TimerNotSet):
        cron(Crontab(OTHERS, fault="lies")).install()


def test_no_crontab_here() -> None:
    with pytest.raises(TimerNotSet, match="no such program"):
        Cron(JOB, Crontab(), which=lambda name: None).install()


def test_a_path_with_a_line_break_gets_no_line() -> None:
    with pytest.raises(TimerNotSet):
        Job(ROOT, "/a\nb", "03:05", ("muniment", "/a\n* * * * * rm"))


class Systemctl:
    """A stand-in for `systemctl`."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.calls: list[tuple[str, ...]] = []

    def __call__(self, command: Sequence[str], data: bytes) -> Ended:
        self.calls.append(tuple(command[2:]))
        assert command[:2] == ("systemctl", "--user")
        return Ended(1, b"", b"Failed to connect to bus") if self.fails else Ended(0)


def systemd(folder: Path, systemctl: Systemctl) -> Systemd:
    return Systemd(JOB, folder, systemctl, which=lambda name: f"/usr/bin/{name}")


def test_units_come_and_go(tmp_path: Path) -> None:
    folder, systemctl = tmp_path / "systemd" / "user", Systemctl()
    systemd(folder, systemctl).install()
    name = f"muniment-backup-{ROOT.lower()}"
    assert {one.name for one in folder.iterdir()} == {f"{name}.service", f"{name}.timer"}
    assert stat.S_IMODE((folder / f"{name}.timer").stat().st_mode) == 0o644
    service = (folder / f"{name}.service").read_text()
    assert 'ExecStart="/opt/py thon" "-m" "muniment" "-w" "/home/a b/100%% $$x" "backup"\n' in service
    timer = (folder / f"{name}.timer").read_text()
    assert "OnCalendar=*-*-* 03:05:00\nPersistent=true\n" in timer
    assert systemctl.calls == [("daemon-reload",), ("enable", "--now", f"{name}.timer")]
    systemctl.calls.clear()
    assert systemd(folder, systemctl).remove() is True
    assert list(folder.iterdir()) == []
    assert systemctl.calls == [("disable", "--now", f"{name}.timer"), ("daemon-reload",)]
    assert systemd(folder, systemctl).remove() is False


def test_a_unit_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / f"muniment-backup-{ROOT.lower()}.timer"
    place.write_text("[Timer]\n")
    for act in (systemd(tmp_path, Systemctl()).install, systemd(tmp_path, Systemctl()).remove):
        with pytest.raises(TimerForeign):
            act()
    assert place.read_text() == "[Timer]\n"
    assert [one.name for one in tmp_path.iterdir()] == [place.name]


def test_without_a_session_of_systemd_it_is_said(tmp_path: Path) -> None:
    systemctl = Systemctl(fails=True)
    with pytest.raises(TimerNotSet, match="Failed to connect to bus"):
        systemd(tmp_path, systemctl).install()
    with pytest.raises(TimerNotSet):
        systemd(tmp_path, systemctl).remove()
    assert list(tmp_path.iterdir()) == [], "what would have run is gone all the same"


def test_the_units_are_what_systemd_reads(tmp_path: Path) -> None:
    """By systemd's own reader, where it is there."""
    import shutil

    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing; the system's package systemd has it")
    job = Job(ROOT, "/home/a b", "03:05", ("/bin/echo", "/home/a b/100% $x"))
    one = Systemd(job, tmp_path, Systemctl(), which=lambda name: name)
    one.install()
    places = [str(tmp_path / f"{one.name}.{kind}") for kind in ("service", "timer")]
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", *places],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if one.name in line]
    assert ours == []


def test_openclaws_entry_is_printed_and_left_to_its_gateway() -> None:
    words = shlex.split(OpenClaw(JOB).entry())
    assert words[:3] == ["openclaw", "cron", "add"]
    assert words[words.index("--cron") + 1] == "5 3 * * *"
    assert shlex.join(JOB.command) in words[words.index("--message") + 1]
    with pytest.raises(TimerNotSet, match="gateway"):
        OpenClaw(JOB).install()


def test_a_program_that_can_not_be_started_is_an_error_of_ours(tmp_path: Path) -> None:
    def gone(command: Sequence[str], data: bytes) -> Ended:
        raise LaunchFailed(f"{command[0]}: No such file or directory")

    with pytest.raises(TimerNotSet, match="No such file"):
        Cron(JOB, gone, which=lambda name: name).install()
