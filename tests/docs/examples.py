"""Documentation: runs the commands that a page shows, and puts what they print beside what the page says.

`python tests/docs/examples.py --write` writes fresh output into the pages.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
HOME = "/home/ada"
_OTHERS = ("MUNIMENT", "LC_", "CLAUDE", "OPENCLAW", "WORKSPACE_DIR", "DATA_DIR")
"""How names of variables begin by which a machine would show in what is printed."""
"""The home folder of the person on the pages."""

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REPORT = "# Findings\n\nThe pump fails above 70 degrees.\n"


@dataclass(frozen=True, slots=True)
class Example:
    """One command of a page, and the output that stands below it (empty when none is shown)."""

    command: str
    shown: str


def examples(page: str) -> list[Example]:
    """The commands of all console blocks, in order.

    Blocks with `make` prepare a machine from the source tree and are left out; `.ci/run` runs those.

    >>> examples("```console\\n$ a\\nx\\n$ b\\n```\\n")
    [Example(command='a', shown='x\\n'), Example(command='b', shown='')]
    """
    found = []
    for block in BLOCK.findall(page):
        if "make " not in block:
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                found.append(Example(command, shown))
    return found


def run(commands: list[str], home: Path) -> list[str]:
    """What each command prints on both streams, all in one shell, as a person would type them.

    The shell starts in a home folder with `papers/quarterly/` in it, that holds `report.md` and an
    empty `empty.md`.
    """
    work = home / "papers" / "quarterly"
    work.mkdir(parents=True)
    (work / "report.md").write_text(REPORT, "utf-8")
    (work / "empty.md").touch()
    mark = "@@ the command has ended @@"
    script = [f'muniment() {{ "{sys.executable}" -m muniment "$@"; }}', "status=0"]
    for command in commands:
        script += ["(exit $status)", f"{{ {command}", "} 2>&1", "status=$?", f"echo '{mark}'"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OTHERS)}
    done = subprocess.run(
        ["bash", "-s"],
        input="\n".join(script) + "\n",
        cwd=home,
        env=kept
        | {"HOME": str(home), "PYTHONPATH": str(PROJECT / "src"), "LANG": "C.UTF-8", "TZ": "UTC"}
        | {"NO_COLOR": "1", "XDG_CONFIG_HOME": str(home / ".config")},
        capture_output=True,
        text=True,
        check=False,
    )
    printed = done.stdout.replace(str(home), HOME).split(mark + "\n")
    if len(printed) != len(commands) + 1:
        raise RuntimeError(f"the shell stopped early:\n{done.stdout}{done.stderr}")
    return printed[:-1]


CHANGING = re.compile(
    r"(?P<ulid>(?<![0-9A-Z])[0-7][0-9A-HJKMNP-TV-Z]{25}\b)"
    r"|(?P<time>\b\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d\b)"
    r"|(?P<instant>\b\d{4}-\d\d-\d\dT[\d:.]+Z)"
    r"|(?P<minute>\b\d{4}-\d\d-\d\d \d\d:\d\d UTC)"
    r"|(?P<id>\blocal-\d{4}-\d{4}\b)"
    r"|(?P<digest>\b[0-9a-f]{64}\b|\b[0-9a-f]{12}\b)"
)


def settled(texts: list[str]) -> list[str]:
    """The texts with each value that changes from run to run as a numbered word: the first ULID is
    `ulid1` wherever it stands, so that a value shown twice has to be the same twice.

    >>> settled(["a 01KDVDNA000000000000000000", "01KDVDNA000000000000000000 local-1130-1428"])
    ['a ulid1', 'ulid1 id1']
    """
    names: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        if kind == "minute":
            return kind  # two events may or may not fall into one minute
        value = match.group()
        if value not in names:
            names[value] = f"{kind}{1 + sum(other.startswith(kind) for other in names.values())}"
        return names[value]

    return [CHANGING.sub(name, text) for text in texts]


def rewrite(page: str, printed: list[str]) -> str:
    """The page with fresh output below each command."""
    fresh = iter(printed)

    def block(match: re.Match[str]) -> str:
        if "make " in match.group(1):
            return match.group()
        parts = []
        for part in re.split(r"^\$ ", match.group(1), flags=re.MULTILINE)[1:]:
            command = part.partition("\n")[0]
            parts.append(f"$ {command}\n{next(fresh)}")
        return "```console\n" + "".join(parts) + "```"

    return BLOCK.sub(block, page)


PAGES = ("README.md", "README.zh-CN.md", "docs/tutorial.md")


def main() -> None:
    """Write fresh output into the pages; both READMEs get the same."""
    printed: dict[tuple[str, ...], list[str]] = {}
    for name in PAGES:
        page = (PROJECT / name).read_text("utf-8")
        commands = tuple(one.command for one in examples(page))
        if commands not in printed:
            with tempfile.TemporaryDirectory() as folder:
                printed[commands] = run(list(commands), Path(folder) / "ada")
        (PROJECT / name).write_text(rewrite(page, printed[commands]), "utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python tests/docs/examples.py --write")
    main()
