"""Room `job`: how images are called.  Pure."""

from __future__ import annotations

import re

# The reference of an OCI image as registries take it: an optional host, lower-case names.
_NAMES = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?"
_IMAGE = re.compile(rf"(?:{_HOST}/)?{_NAMES}(?:/{_NAMES})*")
_LONGEST_IMAGE = 255


def image_tag_of(name: str, version: int) -> str | None:
    """The image that carries a tool, `name.lower():version`; None where no registry takes it.

    >>> image_tag_of("FastQC", 3), image_tag_of("a b", 1)
    ('fastqc:3', None)
    """
    lower = name.lower()
    if len(lower) > _LONGEST_IMAGE or not _IMAGE.fullmatch(lower):
        return None
    return f"{lower}:{version}"


def names_registry(image: str) -> bool:
    """Whether the first part of an image's name is a host, as OCI's tools tell it.

    >>> names_registry("localhost/a:1"), names_registry("a.b/c:1"), names_registry("tools/c:1")
    (True, True, False)
    """
    first, slash, _ = image.partition("/")
    return bool(slash) and (first == "localhost" or "." in first or ":" in first)
