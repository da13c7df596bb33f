"""Room `job`: writes a registry so that JSON, YAML 1.1 and YAML 1.2 readers see the same values."""

from __future__ import annotations

import json
import re

from muniment.job.model import Registry
from muniment.job.shape import plain

# JSON lets these stand raw; YAML readers refuse them, or fold them as line breaks or a byte
# order mark.  JSON itself escapes U+0000 to U+001F.  Characters beyond U+FFFF stay raw: YAML
# does not join a pair of escaped halves.
_HOSTILE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def write(registry: Registry) -> bytes:
    """The bytes of a registry: indented, keys in the template's order, one line feed at the end.

    >>> from muniment.job.reader import read
    >>> read(write(Registry())) == Registry()
    True
    """
    return dump(plain(registry))


def dump(value: object) -> bytes:
    """Any JSON value in the same spelling; a lone surrogate is a `UnicodeEncodeError`.

    >>> dump("\\x85\\U0001f600").decode()
    '"\\\\u0085😀"\\n'
    """
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    return (_HOSTILE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n").encode("utf-8")
