"""Documentation: runs the commands that pages show, and puts what they print beside what the page says.

`python tests/docs/examples.py --write [PAGE…]` writes fresh output into the pages.  Which page is
run on what ground, and which blocks are not run, stands in `stages.py`.
"""

from __future__ import annotations

import re
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

from tests.docs.blocks import BLOCK, Block, Example, blocks, prompted, typed  # noqa: E402
from tests.docs.shells import Shell, Stopped  # noqa: E402
from tests.docs.stages import HOME, REPORT, STAGES, Ground, Stage, not_run  # noqa: E402

__all__ = ["BLOCK", "HOME", "REPORT", "Example", "examples", "settled"]


def examples(page: str) -> list[Example]:
    """The commands of all console blocks that are run, in order.

    >>> examples("```console\\n$ a\\nx\\n$ b\\n```\\n")
    [Example(command='a', shown='x\\n'), Example(command='b', shown='')]
    """
    return [one for block in blocks(page) if runs(block, "console") for one in typed(block.body)]


def runs(block: Block, *languages: str) -> bool:
    """Whether a block is run."""
    return block.language in (languages or ("console", "sh")) and not not_run(block)


@dataclass(frozen=True, slots=True)
class Played:
    """One command as it was typed, what the page shows below it, and what it printed."""

    command: str
    shown: str
    printed: str


CHANGING = re.compile(
    r"(?P<ulid>(?<![0-9A-Z])[0-7][0-9A-HJKMNP-TV-Z]{25}\b)"
    r"|(?P<snapshot>\bbk_\d{8}_\d{6}_[a-z0-9]{4}\b)"
    r"|(?P<token>\beyJ[\w-]+\.[\w-]+\.[\w-]+)"
    r"|(?P<time>\b\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d\b)"
    r"|(?P<instant>\b\d{4}-\d\d-\d\dT[\d:.]+Z)"
    r"|(?P<minute>\b\d{4}-\d\d-\d\d \d\d:\d\d UTC)"
    r"|(?P<day>\b\d{4}-\d\d-\d\d\b)"
    r"|(?P<age>\(\d+ seconds? ago\))"
    r"|(?P<packed>\b\d+\.\d KiB)"
    r"|(?P<id>\blocal-\d{4}-\d{4}\b)"
    r"|(?P<digest>\b[0-9a-f]{64}\b|\b[0-9a-f]{12}\b)"
)
"""What changes from run to run.  Sizes in KiB are those of packed bytes with ids and times in them."""

_ALIKE = ("minute", "day", "age", "packed")
"""Of these, two that were the same may differ the next time, and the other way round."""


def settled(texts: list[str]) -> list[str]:
    """The texts with each value that changes from run to run as a numbered word: the first ULID is
    `ulid1` wherever it stands, so that a value shown twice has to be the same twice.

    >>> settled(["a 01KDVDNA000000000000000000", "01KDVDNA000000000000000000 local-1130-1428"])
    ['a ulid1', 'ulid1 id1']
    """
    names: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        if kind in _ALIKE:
            return kind
        value = match.group()
        if value not in names:
            names[value] = f"{kind}{1 + sum(other.startswith(kind) for other in names.values())}"
        return names[value]

    return [CHANGING.sub(name, text) for text in texts]


class _Values:
    """What the values of the page are in this run, so that an id on the page can be typed."""

    def __init__(self, *, guessing: bool) -> None:
        self._here: dict[str, str] = {}
        self._last: dict[str, str] = {}
        self._guessing = guessing

    def learn(self, shown: str, printed: str) -> None:
        """Pair what a page shows with what was printed there."""
        pairs = list(CHANGING.finditer(printed))
        self._last |= {match.lastgroup or "": match.group() for match in pairs}
        wanted = list(CHANGING.finditer(shown))
        if [match.lastgroup for match in wanted] == [match.lastgroup for match in pairs]:
            self._here |= {one.group(): two.group() for one, two in zip(wanted, pairs, strict=True)}

    def typed(self, command: str) -> str:
        """The command with the values of this run; when a page is first written, the newest ones."""

        def here(match: re.Match[str]) -> str:
            known = self._here.get(match.group())
            if known is None and self._guessing:
                known = self._last.get(match.lastgroup or "")
            return match.group() if known is None else known

        return CHANGING.sub(here, command)


def play(page: str, stage: Stage, folder: Path, *, writing: bool = False) -> list[Played]:
    """Run all blocks of a page that are run, each title in a shell of its own, in the page's order.

    An `sh` block is one entry, with nothing shown and nothing compared; `Stopped` if it fails.
    """
    found: list[Played] = []
    values = _Values(guessing=writing)
    with ExitStack() as stack:
        ground = Ground(folder, stage.machines, stack)
        stage.prepare(ground)
        shells: dict[str, Shell] = {}
        for block in blocks(page):
            if not runs(block):
                continue
            if block.title not in shells:
                shell = Shell(ground.home(block.title), ground.variables)
                shells[block.title] = shell
                stack.callback(shell.close)
            shell = shells[block.title]
            if block.language == "sh":
                try:
                    shell.script(ground.here(values.typed(block.body)))
                except Stopped as error:
                    raise Stopped(f"line {block.line}: {error}") from error
                found.append(Played(block.body, "", ""))
                continue
            for one in typed(block.body):
                command = values.typed(one.command)
                printed = ground.there(shell.command(ground.here(command)))
                values.learn(one.shown, printed)
                found.append(Played(command, one.shown, printed))
    return found


def differences(played: list[Played]) -> list[str]:
    """Each command that printed something else than the page shows, with both."""
    pairs = zip(settled([one.shown for one in played]), settled([one.printed for one in played]), strict=True)
    return [
        f"$ {one.command}\nthe page:\n{wanted}the program:\n{told}"
        for one, (wanted, told) in zip(played, pairs, strict=True)
        if wanted != told
    ]


def rewrite(page: str, played: list[Played]) -> str:
    """The page with fresh output below each command."""
    fresh = iter(played)
    lines = page.splitlines(keepends=True)
    for block in blocks(page):
        if runs(block, "sh"):
            next(fresh)
        if runs(block, "console"):
            inside = [next(fresh) for _ in typed(block.body)]
            first, count = block.line, block.body.count("\n")
            text = "".join(prompted(one.command) + one.printed for one in inside)
            lines[first : first + count] = [text] + [""] * (count - 1)
    return "".join(lines)


def twin(page: str) -> str:
    """The same page in the other language.

    >>> twin("docs/protocols/job.md")
    'docs/protocols/job.zh-CN.md'
    """
    return page.removesuffix(".md") + ".zh-CN.md"


def main(wanted: list[str]) -> None:
    """Write fresh output into the pages; a page in two languages is run once."""
    for name, stage in STAGES.items():
        if (wanted and name not in wanted) or (stage.long and name not in wanted):
            continue
        page = (PROJECT / name).read_text("utf-8")
        with tempfile.TemporaryDirectory() as folder:
            played = play(page, stage, Path(folder), writing=True)
        print(name)
        if not differences(played):
            continue
        (PROJECT / name).write_text(rewrite(page, played), "utf-8")
        if (PROJECT / twin(name)).exists():
            other = (PROJECT / twin(name)).read_text("utf-8")
            (PROJECT / twin(name)).write_text(rewrite(other, played), "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] != ["--write"]:
        sys.exit("usage: python tests/docs/examples.py --write [PAGE…]")
    main(sys.argv[2:])
