"""Room `job`: its settings."""

from __future__ import annotations

import re
from dataclasses import dataclass

from muniment.message import say
from muniment.settings import Setting, choice, text, words


@dataclass(frozen=True, slots=True)
class Named:
    """Somebody by name and address, as `Name <https://…>` says it."""

    name: str
    url: str


def somebody(value: object) -> Named | None:
    """A person or an organisation as `Name <https://…>`; nobody when it is empty.

    >>> somebody("Lab <https://lab.example/>")
    Named(name='Lab', url='https://lab.example/')
    """
    spelled = text(value)
    found = re.fullmatch(r"\s*([^<>]*[^<>\s])\s*<(https?://[!-;=?-~]+)>\s*", spelled)
    if found is None and spelled:
        raise ValueError(say("Name <https://…> was expected, found {value}", value=repr(value)))
    return Named(found[1], found[2]) if found else None


def address(value: object) -> str:
    """An address of the web, or nothing."""
    spelled = text(value)
    if spelled and not re.fullmatch(r"https?://[!-~]+", spelled):
        raise ValueError(
            say("an address with http:// or https:// was expected, found {value}", value=repr(value))
        )
    return spelled


ROOT: Setting[str] = Setting(
    "job.root", "/data/output", text, "The folder that holds a folder for each job.", ("OPENCLAW_JOBS_ROOT",)
)
ENGINE: Setting[str] = Setting(
    "job.engine", "cwl", choice("cwl", "wes", "fkit"), "The engine of a job that names none."
)
WES_URL: Setting[str] = Setting(
    "job.wes_url",
    "",
    text,
    "Where the WES server is, up to and without /runs.",
    personal=True,
)
WES_TOKEN: Setting[str] = Setting(
    "job.wes_token", "", text, "The bearer token for the WES server.", personal=True
)
WES_SHARED: Setting[str] = Setting(
    "job.wes_shared", "", text, "The folder through which this machine sees the files of the WES server."
)
FKIT: Setting[tuple[str, ...]] = Setting(
    "job.fkit",
    ("fkit",),
    words,
    "The program of BioLine's command line.",
    personal=True,
)
LICENCE: Setting[str] = Setting(
    "job.licence",
    "",
    address,
    "The address of the licence that exports of jobs name; none: nobody stated one.",
)
AUTHOR: Setting[Named | None] = Setting(
    "job.author", None, somebody, "The person that exports of jobs name, as Name <https://…>."
)
PUBLISHER: Setting[Named | None] = Setting(
    "job.publisher",
    None,
    somebody,
    "The organisation that exports of jobs name, to which the author belongs, as Name <https://…>.",
)

SETTINGS = (ROOT, ENGINE, WES_URL, WES_TOKEN, WES_SHARED, FKIT, LICENCE, AUTHOR, PUBLISHER)
"""All settings of this room."""
