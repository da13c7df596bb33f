"""Floor 2, `hosts`: the skills that travel with the program, as they are given to agents."""

from __future__ import annotations

from pathlib import Path

import muniment
from muniment.disk.root import Root
from muniment.path import RelPath

SHARED = "<!-- shared: language -->"
"""Where the parts begin that all skills end with."""


def skills_folder() -> Path:
    """Where the skills lie: beside the package in a wheel, at the top of a source tree."""
    package = Path(muniment.__file__).parent
    place = package / "skills"
    return place if place.is_dir() else package.parents[1] / "skills"


def skill_page(name: str) -> str:
    """The page of a skill.

    >>> skill_page("backup").startswith("---")
    True
    """
    return _read(f"{name}/SKILL.md")


def host_page(host: str, name: str) -> str:
    """The page of a skill as the agents of a host read it: one source, a section of the host's own, and
    a mark in its head by which an installed page is known.

    >>> "installed: claude" in host_page("claude", "job")
    True
    """
    section = _read(f"_hosts/{host}.md").rstrip() + "\n"
    with Root.open(skills_folder()) as root:
        if root.exists(RelPath(("_hosts", f"{host}-{name}.md"))):
            section += "\n" + _read(f"_hosts/{host}-{name}.md")
    return with_section(marked(skill_page(name), host), section)


def marked(page: str, host: str) -> str:
    """A page that says, in its head, that it was installed, so that it is not changed in place.

    >>> marked("metadata:\\n  project: muniment\\n", "codex")
    'metadata:\\n  project: muniment\\n  installed: codex\\n'
    """
    return page.replace("  project: muniment\n", f"  project: muniment\n  installed: {host}\n", 1)


def _read(path: str) -> str:
    with Root.open(skills_folder()) as root:
        return root.read(RelPath.parse(path)).decode("utf-8")


def with_section(page: str, section: str) -> str:
    """A skill's page with a section of its host before the parts that all skills share.

    >>> with_section("a\\n\\n<!-- shared: language -->\\n", "## Here")
    'a\\n\\n## Here\\n\\n<!-- shared: language -->\\n'
    """
    before, mark, after = page.partition(SHARED)
    return f"{before}{section.strip()}\n\n{mark}{after}"
