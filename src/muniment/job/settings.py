"""Room `job`: its settings."""

from __future__ import annotations

import re

from muniment.job.image_name import image_tag_of, names_registry
from muniment.message import say
from muniment.settings import Setting, choice, integer, text, words

_SOMEBODY = re.compile(r"\s*([^<>]*[^<>\s])\s*<(https?://[!-;=?-~]+)>\s*")


def name_and_address(spelled: str) -> tuple[str, str] | None:
    """A person or an organisation written as `Name <https://…>`; None when it is not.

    >>> name_and_address("Lab <https://lab.example/>")
    ('Lab', 'https://lab.example/')
    """
    found = _SOMEBODY.fullmatch(spelled)
    return (found[1], found[2]) if found else None


def somebody(value: object) -> str:
    """A person or an organisation as `Name <https://…>`, or nobody."""
    spelled = text(value)
    if spelled and name_and_address(spelled) is None:
        raise ValueError(say("Name <https://…> was expected, found {value}", value=repr(value)))
    return spelled


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
    address,
    "Where the WES server is, up to and without /runs.",
    personal=True,
)
WES_TOKEN: Setting[str] = Setting(
    "job.wes_token", "", text, "The bearer token for the WES server.", personal=True, secret=True
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
AUTHOR: Setting[str] = Setting(
    "job.author", "", somebody, "The person that exports of jobs name, as Name <https://…>."
)
PUBLISHER: Setting[str] = Setting(
    "job.publisher",
    "",
    somebody,
    "The organisation that exports of jobs name, to which the author belongs, as Name <https://…>.",
)


def _registry(value: object) -> str:
    """Empty, or what may stand before an image's name: a host, and folders of it."""
    found = text(value)
    if (found and not names_registry(f"{found}/a")) or (found and image_tag_of(f"{found}/a", 1) is None):
        raise ValueError(
            say(
                "a registry such as registry.example.org/tools was expected, found {value}", value=repr(found)
            )
        )
    return found


CONTAINER_RUNTIME: Setting[str] = Setting(
    "job.container_runtime",
    "podman",
    choice("podman", "docker"),
    "What runs the tools of jobs.",
    personal=True,
)
PODMAN: Setting[tuple[str, ...]] = Setting(
    "job.podman", ("podman",), words, "The program of podman, with options for every call.", personal=True
)
DOCKER: Setting[tuple[str, ...]] = Setting(
    "job.docker", ("docker",), words, "The program of docker, with options for every call.", personal=True
)
IMAGE_REGISTRY: Setting[str] = Setting(
    "job.image_registry",
    "",
    _registry,
    "The registry of tools whose name has none; localhost: images made on this machine.",
    personal=True,
)
AUTH_FILE: Setting[str] = Setting(
    "job.auth_file",
    "",
    text,
    "The file with the credentials for registries; empty: where the runtime itself looks.",
    personal=True,
)
MEMORY: Setting[int] = Setting(
    "job.tool_memory_bytes",
    4 << 30,
    integer(6 << 20, 1 << 50),
    "The memory that the tool of a job may use, in bytes.",
    personal=True,
)
CPUS: Setting[int] = Setting(
    "job.tool_cpus",
    2,
    integer(1, 4096),
    "How many processors it may use; never more than there are.",
    personal=True,
)
PROCESSES: Setting[int] = Setting(
    "job.tool_processes",
    512,
    integer(1, 1 << 20),
    "How many processes and threads it may have at once.",
    personal=True,
)
FILE_SIZE: Setting[int] = Setting(
    "job.tool_file_bytes",
    16 << 30,
    integer(1, 1 << 50),
    "How many bytes one file that it writes may have.",
    personal=True,
)
SECONDS: Setting[int] = Setting(
    "job.tool_seconds",
    6 * 3600,
    integer(1, 31 * 24 * 3600),
    "After how many seconds it is ended.",
    personal=True,
)
OUTPUT_BYTES: Setting[int] = Setting(
    "job.tool_output_bytes",
    64 << 30,
    integer(1, 1 << 50),
    "How many bytes its results and its logs may have in all.",
    personal=True,
)

_CONTAINERS = (CONTAINER_RUNTIME, PODMAN, DOCKER, IMAGE_REGISTRY, AUTH_FILE)
_LIMITS = (MEMORY, CPUS, PROCESSES, FILE_SIZE, SECONDS, OUTPUT_BYTES)
_NAMES = (LICENCE, AUTHOR, PUBLISHER)

SETTINGS = (ROOT, ENGINE, WES_URL, WES_TOKEN, WES_SHARED, FKIT, *_CONTAINERS, *_LIMITS, *_NAMES)
"""All settings of this room."""
