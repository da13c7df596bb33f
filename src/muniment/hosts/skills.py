"""Floor 2, `hosts`: the skills that travel with the program, as they are given to agents."""

from __future__ import annotations

from pathlib import Path

import muniment
from muniment.disk.root import Root
from muniment.path import RelPath

SHARED = "<!-- shared: language -->"
"""Where the parts begin that all skills end with."""


def skill_page(name: str) -> str:
    """The page of a skill: beside the package in a wheel, at the top of a source tree.

    >>> skill_page("backup").startswith("---")
    True
    """
    package = Path(muniment.__file__).parent
    place = package / "skills"
    if not place.is_dir():
        place = package.parents[1] / "skills"
    with Root.open(place) as root:
        return root.read(RelPath((name, "SKILL.md"))).decode("utf-8")


def with_section(page: str, section: str) -> str:
    """A skill's page with a section of its host before the parts that all skills share.

    >>> with_section("a\\n\\n<!-- shared: language -->\\n", "## Here")
    'a\\n\\n## Here\\n\\n<!-- shared: language -->\\n'
    """
    before, mark, after = page.partition(SHARED)
    return f"{before}{section.strip()}\n\n{mark}{after}"
