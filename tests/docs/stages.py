"""Documentation: the ground on which the commands of each page are run, and the blocks that are not run.

A page with commands that stands in neither table fails a test.  `CONTRIBUTING.md` says how to add one.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.blocks import Block
from tests.docs.shells import Shell

HOME = "/home/ada"
"""The home folder of the person on the pages."""

REPORT = "# Findings\n\nThe pump fails above 70 degrees.\n"


class Ground:
    """What lies there when the first command of a page is typed.

    Each machine on the page has a home of its own.  `words` says what a word of the page is here,
    such as a port: it is exchanged in commands, and back in what they print.
    """

    def __init__(self, folder: Path, machines: Mapping[str, str], closing: ExitStack) -> None:
        self._homes = {
            title: (folder / str(number) / Path(home).name, home)
            for number, (title, home) in enumerate(machines.items())
        }
        for here, _ in self._homes.values():
            here.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.words: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self.closing = closing

    def home(self, title: str = "") -> Path:
        """The home of whoever types the blocks of that title."""
        try:
            return self._homes[title][0]
        except KeyError:
            raise KeyError(f"the stage has no machine for blocks with the title {title!r}") from None

    def here(self, text: str) -> str:
        """A command of the page as it is typed here."""
        return _exchanged(text, {home: str(here) for here, home in self._homes.values()} | self.words)

    def there(self, text: str) -> str:
        """What was printed here as the page shows it."""
        homes = {str(here): home for here, home in self._homes.values()}
        return _exchanged(text, homes | {real: word for word, real in self.words.items()})


def _exchanged(text: str, words: Mapping[str, str]) -> str:
    """The text with each word exchanged, all at once, the longest that fits.

    >>> _exchanged("8080:8080 and 8080", {"8080": "1", "8080:8080": "1:8080"})
    '1:8080 and 1'
    """
    longest = sorted(words, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest)), lambda match: words[match.group()], text)


def bare(ground: Ground) -> None:
    """Nothing but the home."""


def papers(ground: Ground) -> None:
    """The folder `papers/quarterly/` with a report and an empty file."""
    work = ground.home() / "papers" / "quarterly"
    work.mkdir(parents=True)
    (work / "report.md").write_text(REPORT, "utf-8")
    (work / "empty.md").touch()


def fleet(ground: Ground) -> None:
    """Two agents with notes, and `scp`, which can reach no other machine here: a stand-in that copies."""
    free_port(ground)
    vault = ground.home("on the vault's machine")
    for name in ("Alice", "Bob"):
        agent = ground.home(f"on {name}'s machine") / "agent"
        agent.mkdir()
        (agent / "notes.md").write_text(f"# What {name} found\n\nThe pump fails above 70 degrees.\n", "utf-8")
    programs = ground.folder / "programs"
    programs.mkdir()
    copy = programs / "scp"
    copy.write_text(f'#!/bin/sh\nexec cp {shlex.quote(str(vault))}/"${{1#vault:}}" "$2"\n', "utf-8")
    copy.chmod(0o755)
    ground.variables["PATH"] = f"{programs}:{os.environ['PATH']}"


def free_port(ground: Ground, word: str = "8080") -> None:
    """That port of the page is one that is free here, with as many digits."""
    taken = set(ground.words.values())
    for number in random.sample(range(2000, 9999), 100):
        with socket.socket() as asked, suppress(OSError):
            asked.bind(("127.0.0.1", number))
            if str(number) not in taken:
                ground.words[word] = str(number)
                return
    raise RuntimeError("no port is free")


def found(ground: Ground) -> None:
    """A workspace in the home folder that has archived a report, and a copy of the report beside."""
    report = ground.home() / "report.txt"
    report.write_text(REPORT, "utf-8")
    shell = Shell(ground.home(), {})
    ground.closing.callback(shell.close)
    shell.command("muniment init")
    kept = shell.command("muniment archive report.txt")
    report.write_text(REPORT, "utf-8")
    ground.words["arc_01KDVDNA000000000000000000"] = re.findall(r"arc_[0-9A-Z]{26}", kept)[0]


def served(ground: Ground) -> None:
    """An agent's folder, and two free ports; what listens everywhere on the page, on loopback here."""
    free_port(ground)
    free_port(ground, "8443")
    ground.words["0.0.0.0"] = "127.0.0.2"
    (ground.home() / "agent" / ".muniment").mkdir(parents=True, mode=0o700)


def tools(ground: Ground) -> None:
    """A workspace, and a free port for the tools."""
    free_port(ground, "8090")
    (ground.home() / "work").mkdir()


def starchild(ground: Ground) -> None:
    """A Starchild container's data folder, elsewhere, and a served vault in which nothing lies yet."""
    data = ground.folder / "data"
    (data / "workspace" / ".backup" / "api").mkdir(parents=True)
    (data / "workspace" / "SOUL.md").write_text("I keep the minutes.\n", "utf-8")
    (data / "workspace" / ".backup" / "api" / "profile.json").write_text("{}", "utf-8")
    (data / "workspace" / ".backup" / "api" / "settings.json").write_text("{}", "utf-8")
    (data / "workspace" / ".backup" / "api" / "scheduled_tasks.json").write_text("[]", "utf-8")
    url, token = serving(ground)
    ground.words["/data"] = str(data)
    ground.variables |= {"DATA_DIR": str(data), "BACKUP_STORAGE_URL": url, "CONTAINER_JWT": token}


def serving(ground: Ground) -> tuple[str, str]:
    """A vault that is really served, by a user of its own: its address, and a token for `ada`."""
    free_port(ground)
    home = ground.folder / "served"
    home.mkdir()
    shell = Shell(home, {})
    ground.closing.callback(shell.close)
    token = shell.command("muniment vault token --user ada -q 2>/dev/null").strip()
    said = shell.command(f"muniment serve --port {ground.words['8080']}").strip()
    return said.removeprefix("Serving at "), token


def container(ground: Ground) -> None:
    """The source tree, an agent's folder with a report, and podman with a bare Debian as its base."""
    from tests.docs.containers import Podman, source_tree
    from tests.newcomer.walk import bare as bare_debian

    free_port(ground)
    ground.words["8080:8080"] = f"{ground.words['8080']}:8080"
    source_tree(ground.home() / "muniment")
    (ground.home() / "agent").mkdir()
    (ground.home() / "agent" / "report.md").write_text(REPORT, "utf-8")
    podman = Podman(ground.folder)
    ground.closing.callback(podman.close)
    bare_debian("trixie", ground.folder / "debian")
    podman.place(ground.folder / "debian")
    shutil.rmtree(ground.folder / "debian")
    ground.variables |= podman.variables | {"PATH": f"{podman.programs}:{os.environ['PATH']}"}


@dataclass(frozen=True, slots=True)
class Stage:
    """How the commands of a page are run: what is prepared, and whose machines there are.

    `machines` gives each title of a block a home; blocks without a title are typed by Ada. A `long`
    stage is played by `make long` only. `programs` are those of others that it can not do without.
    """

    prepare: Callable[[Ground], None] = bare
    machines: Mapping[str, str] = field(default_factory=lambda: {"": HOME})
    long: bool = False
    programs: tuple[str, ...] = ()

    def missing(self) -> list[str]:
        """Its programs that this machine lacks."""
        return [name for name in self.programs if shutil.which(name) is None]


STAGES: dict[str, Stage] = {
    "README.md": Stage(papers),
    "docs/hosts/claude.md": Stage(),
    "docs/hosts/codex.md": Stage(),
    "docs/hosts/cursor.md": Stage(),
    "docs/hosts/openclaw.md": Stage(),
    "docs/how-to/container.md": Stage(container, long=True, programs=("podman", "debootstrap", "curl")),
    "docs/how-to/find.md": Stage(found),
    "docs/how-to/fleet.md": Stage(
        fleet,
        {
            "on the vault's machine": "/home/vault",
            "on Alice's machine": "/home/alice",
            "on Bob's machine": "/home/bob",
            "on Alice's new machine": "/home/alice",
        },
    ),
    "docs/how-to/mcp.md": Stage(tools),
    "docs/how-to/starchild.md": Stage(starchild),
    "docs/operations.md": Stage(served, {"": HOME, "on the vault's machine": "/home/vault"}),
    "docs/tutorial.md": Stage(papers),
}
"""The pages whose commands are run.  A page in two languages is named once, in English."""

NOT_RUN: dict[str, str] = {
    "#!/bin/sh": "a program that the reader writes; it needs a mail server",
    "muniment backup create --scheduled": "goes on the consent of the block before it",
    "muniment backup schedule --daily 03:30 --keep-daily 7 --keep-weekly 4 --install": (
        "asks a person at a terminal and changes the machine's crontab; tests/backup has both to itself"
    ),
    "claude plugin validate muniment-plugin": "the host's own program, which needs an account elsewhere",
    "apt-get install podman": "installs on the machine; `.ci/run` does, and tests/job uses it",
    "muniment job export rna-7 --format ro-crate": (
        "needs a job that has ended; tests/job exports them by the same commands"
    ),
    "muniment job finalize rna-7 --tool seqtk:1 --summary seqtk.json": (
        "needs a finished job and a registry of images; tests/job and the demo run each of these commands"
    ),
    "make demo": "prepares the source tree itself; the newcomer's walk runs it, and tests/faces the demo",
    "cd requirements": "asks the package index for the newest versions",
    "pip install 'muniment[mcp]'": "takes the published package; tests/house installs the wheel",
    "pip install 'muniment[serve]'": "takes the published package; tests/house installs the wheel",
    "pip install muniment": "takes the published package; tests/house installs the wheel",
    "make test": "would run these tests within themselves; `.ci/run` runs it",
}
"""Blocks that are not run, by their first command, each with its reason."""


def not_run(block: Block) -> bool:
    """Whether a block is one of those."""
    return block.first in NOT_RUN
