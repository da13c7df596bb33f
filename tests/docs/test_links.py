"""Documentation: links lead somewhere, the pages build strictly, and nothing is fetched from outside."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.docs.tables import PROJECT

PAGES = sorted([*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")])
FENCE = re.compile(r"^(```+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return FENCE.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get."""
    heads = re.findall(r"^#{1,6} (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", head).strip().lower()) for head in heads}


def test_there_are_pages_and_links_to_look_at() -> None:
    assert {"README.md", "README.zh-CN.md", "CONTRIBUTING.md", "CHANGELOG.md", "index.md"} <= {
        page.name for page in PAGES
    }
    assert sum(len(LINK.findall(prose(page))) for page in PAGES) > 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_links_resolve(page: Path) -> None:
    dead = []
    for link in LINK.findall(prose(page)):
        if re.match(r"https?://", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if (
            not target.is_file()
            or PROJECT not in target.parents
            or (anchor and anchor not in anchors(target))
        ):
            dead.append(link)
    assert dead == []


def need_mkdocs() -> None:
    """Outside continuous integration a missing mkdocs is a reason to skip; inside it is a fault."""
    if importlib.util.find_spec("material") is None or importlib.util.find_spec("mkdocs") is None:
        if os.environ.get("CI"):
            pytest.fail("mkdocs-material is missing; requirements/dev.txt has it")
        pytest.skip("mkdocs-material is not installed here; `make test` installs it")


class Assets(HTMLParser):
    """Collects what a browser would fetch by itself when it opens a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by the parser for each opening tag."""
        given = dict(attrs)
        fetched = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
        if tag in fetched and given.get("rel") not in ("canonical", "next", "prev"):
            self.found.append(given.get(fetched[tag]) or "")


def outside(text: str) -> list[str]:
    """What of a page's assets lies on another machine.

    >>> outside('<script src="//cdn.example/a.js"></script><img src="a.png">')
    ['//cdn.example/a.js']
    """
    parser = Assets()
    parser.feed(text)
    return [asset for asset in parser.found if re.match(r"([a-z]+:)?//", asset)]


def test_the_documentation_builds_strictly_and_fetches_nothing(tmp_path: Path) -> None:
    need_mkdocs()
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--quiet",
            "--site-dir",
            str(tmp_path / "site"),
        ],
        cwd=PROJECT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) >= len(list((PROJECT / "docs").rglob("*.md")))
    assert {page.name: found for page in pages if (found := outside(page.read_text("utf-8")))} == {}
    styles = "".join(style.read_text("utf-8") for style in (tmp_path / "site").rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*\)|@import[^;]*//[^;]*", styles) == []
