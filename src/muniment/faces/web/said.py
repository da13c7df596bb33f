"""Faces, web: what callers say in JSON, read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.bundle.whole import Description
from muniment.canonical import NotJson, read_json
from muniment.faces.web.reception import Caller
from muniment.message import say
from muniment.vault.errors import BadCall

JSON_MOST = 16 << 20
"""Bytes of a JSON body: some hundred thousand extents are named in it."""


async def json_body(caller: Caller) -> dict[str, Any]:
    """The JSON object that a body is; `BadCall` otherwise."""
    data = await caller.body.all(JSON_MOST)
    try:
        value = read_json(data)
    except NotJson as error:
        raise BadCall(why=say("its body is no strict JSON: {finding}", finding=error)) from error
    return _as_object(value)


def optional(said: Mapping[str, Any], name: str, kind: type) -> Any:
    """A member of some type, or None where it is missing or null."""
    value = said.get(name)
    if value is not None and not isinstance(value, kind):
        raise BadCall(why=say("{name} is missing or is not what it should be", name=name))
    return value


def told_by(said: Mapping[str, Any]) -> Description:
    """What a manifest of a call says: `{user_label?, sections?}`."""
    sections = optional(said, "sections", list) or []
    if not all(isinstance(one, str) for one in sections):
        raise BadCall(why=say("{name} is missing or is not what it should be", name="sections"))
    return Description(optional(said, "user_label", str) or "", tuple(sections))


def manifest_header(caller: Caller) -> dict[str, Any]:
    """`X-Manifest`: ASCII JSON; without one nothing is said of the snapshot."""
    lines = caller.request.headers.getlist("x-manifest")
    if not lines:
        return {}
    try:
        if len(lines) != 1:
            raise NotJson("it stands twice")
        return _as_object(read_json(lines[0].encode("ascii")))
    except (UnicodeEncodeError, NotJson) as error:
        raise BadCall(why=say("X-Manifest is no JSON in ASCII")) from error


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadCall(why=say("a JSON object was expected"))
    return value
