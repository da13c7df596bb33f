"""Room `job`: what container runtimes say of images and containers, read strictly.  Pure.

Both answer in the same JSON, up to a few spellings that are evened out here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from muniment.canonical import NotJson, read_json
from muniment.job.container_argv import Mount

_ID = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_NEVER = "0001-01-01"
_READY = ("created", "configured", "initialized")


class OddAnswer(ValueError):
    """An answer that is not what the runtime's interface promises; the text says why."""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """An image as the runtime has it: its id, the digests of all manifests that it knows for the
    repository of the reference, the kind of manifest where it tells one, and the platform."""

    id: str
    digests: tuple[str, ...]
    kind: str
    platform: str

    def manifest(self, named: tuple[str, str] | None) -> tuple[str, str]:
        """The digest of what the tag names, and its media type; empty what is not known for sure.

        `named` is the registry's own word, and counts where the runtime has that digest too.
        """
        if named is not None and named[0] in self.digests:
            return named
        # Several are an index and an image in it, or the same image under two: no telling which.
        return (self.digests[0], self.kind) if len(self.digests) == 1 else ("", "")


@dataclass(frozen=True, slots=True)
class Seen:
    """A container as the runtime has it; `pid` is 0 while it has no process."""

    id: str
    image_id: str
    status: str
    started: bool
    pid: int
    exit_code: int
    oom: bool
    error: str
    network: str
    networks: tuple[str, ...]
    read_only: bool
    privileged: bool
    mounts: tuple[Mount, ...]

    @property
    def runs(self) -> bool:
        """Whether its program runs now."""
        return self.status in ("running", "paused", "stopping", "restarting", "removing")

    @property
    def ready(self) -> bool:
        """Whether it was made and its program has not begun."""
        return self.status in _READY


def first_of(answer: bytes) -> dict[str, Any]:
    """The one object that an inspection answers."""
    try:
        value = read_json(answer)
    except NotJson as error:
        raise OddAnswer("no JSON") from error
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        raise OddAnswer("no list of objects")
    return value[0]


def image_id(text: object) -> str:
    """An image's id as `sha256:` and 64 digits: one runtime writes the prefix, the other does not.

    >>> image_id("ab" * 32) == image_id("sha256:" + "ab" * 32)
    True
    """
    found = _ID.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise OddAnswer(f"no image id: {str(text)[:80]!r}")
    return f"sha256:{found[1]}"


def image_facts(reference: str, answer: bytes) -> ImageFacts:
    """An image's facts from the answer to an inspection of it."""
    value = first_of(answer)
    repository = reference.rpartition(":")[0]
    digests = {
        digest
        for name, _, digest in (str(one).partition("@") for one in _listed(value, "RepoDigests"))
        if name == repository and digest.startswith("sha256:") and _ID.fullmatch(digest)
    }
    kind = value.get("ManifestType")
    platform = "/".join(str(value[key]) for key in ("Os", "Architecture", "Variant") if value.get(key))
    return ImageFacts(
        image_id(value.get("Id")), tuple(sorted(digests)), kind if isinstance(kind, str) else "", platform
    )


def container(answer: bytes) -> Seen:
    """A container from the answer to an inspection of it."""
    value = first_of(answer)
    state, host = _object(value, "State"), _object(value, "HostConfig")
    networks = _object(value, "NetworkSettings", optional=True)
    status, started, pid = state.get("Status"), state.get("StartedAt"), state.get("Pid")
    code, own = state.get("ExitCode"), value.get("Id")
    if not isinstance(status, str) or not isinstance(started, str) or not isinstance(own, str):
        raise OddAnswer("no state")
    if type(pid) is not int or type(code) is not int:
        raise OddAnswer("no process and no exit code")
    return Seen(
        id=own,
        image_id=image_id(value.get("Image")),
        status=status,
        started=status not in _READY and not started.startswith(_NEVER),
        pid=pid,
        exit_code=code,
        oom=state.get("OOMKilled") is True,
        error=str(state.get("Error") or ""),
        network=str(host.get("NetworkMode")),
        networks=tuple(sorted(_object(networks, "Networks", optional=True))),
        read_only=host.get("ReadonlyRootfs") is True,
        privileged=host.get("Privileged") is True,
        mounts=tuple(_mount(one) for one in _listed(value, "Mounts")),
    )


def _mount(value: object) -> Mount:
    if not isinstance(value, dict) or value.get("Type") != "bind":
        raise OddAnswer(f"a mount that is no bind mount: {str(value)[:200]}")
    return Mount(str(value.get("Source")), str(value.get("Destination")), value.get("RW") is not False)


def _object(value: dict[str, Any], name: str, *, optional: bool = False) -> dict[str, Any]:
    found = value.get(name)
    if found is None and optional:
        return {}
    if not isinstance(found, dict):
        raise OddAnswer(f"no object {name}")
    return found


def _listed(value: dict[str, Any], name: str) -> list[Any]:
    found = value.get(name)
    if not isinstance(found, list | None):
        raise OddAnswer(f"no list {name}")
    return found or []
