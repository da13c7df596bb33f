"""Skills: what several skills say alike stands once, in `skills/_shared/`, and is copied from there.

`python tests/skills/shared.py` compares; with `--write` it puts the copies right.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SKILLS = Path(__file__).parents[2] / "skills"
SHARED = SKILLS / "_shared"
_PLACE = re.compile(r"<!-- shared: ([a-z]+) -->\n(.*?)<!-- end -->", re.DOTALL)


def skills() -> list[Path]:
    """The folder of each skill."""
    return sorted(page.parent for page in SKILLS.glob("*/SKILL.md"))


def filled(page: str) -> str:
    """A page with each shared part as its source has it."""
    return _PLACE.sub(
        lambda found: (
            f"<!-- shared: {found[1]} -->\n{(SHARED / f'{found[1]}.md').read_text('utf-8')}<!-- end -->"
        ),
        page,
    )


def parts(page: str) -> list[str]:
    """The names of the shared parts of a page."""
    return [found[0] for found in _PLACE.findall(page)]


def main(arguments: list[str]) -> int:
    """Compare the pages, or write them."""
    stale = []
    for skill in skills():
        path = skill / "SKILL.md"
        page = path.read_text("utf-8")
        if filled(page) != page:
            stale.append(skill.name)
            if "--write" in arguments:
                path.write_text(filled(page), "utf-8")
    print("written:" if "--write" in arguments else "stale:", ", ".join(stale) or "nothing")
    return 1 if stale and "--write" not in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
