"""Handoff room: the published JSON Schemas, made from the shapes that read the documents."""

from __future__ import annotations

import json
from typing import Any

from muniment.handoff.shape import DIALECT
from muniment.handoff.shapes import PUBLISHED

VERSION = "1.3"
"""The protocol's version."""


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one document.

    >>> schema("undelivered")["required"]
    ['recipient_id', 'at', 'requested_mode', 'reason']
    """
    title, shape = PUBLISHED[name]
    head = {"$schema": DIALECT, "$id": f"urn:muniment:handoff:{VERSION}:{name}", "title": title}
    return {**head, **shape.schema()}


def schema_text(name: str) -> str:
    """The bytes of its file under `docs/schemas/handoff/`, as a text."""
    return json.dumps(schema(name), indent=2, ensure_ascii=True) + "\n"
