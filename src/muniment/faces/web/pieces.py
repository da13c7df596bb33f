"""Faces, web: calls by which our own clients send only what is missing: extents with their pieces.

Pieces come as rows of id (32 bytes), raw length, CRC-32 and length of the piece (4 bytes each, little
endian), each followed by the piece.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from muniment.bundle.extent import PIECE_MOST
from muniment.bundle.index import Index
from muniment.bundle.model import Extent
from muniment.bundle.vault import Reservation, Stored
from muniment.faces.web.answers import answer, stored_json
from muniment.faces.web.reception import Caller
from muniment.faces.web.said import json_body
from muniment.message import say
from muniment.vault.errors import BadCall, BadUpload
from muniment.vault.tenants import Tenant
from muniment.vault.wire import FORMAT, HEAD, INDEX_MOST, ROW, read_ids


async def reserve_pieces(caller: Caller, said: Mapping[str, Any], replace: str | None) -> Response:
    """`POST /uploads/reserve` with `{format, base?, extent_ids}`."""
    if said.get("format") != FORMAT:
        raise BadCall(why=say("{name} is missing or is not what it should be", name="format"))
    base = said.get("base")
    if base is not None and not isinstance(base, str):
        raise BadCall(why=say("{name} is missing or is not what it should be", name="base"))
    ids = read_ids(said.get("extent_ids", []))

    def act(tenant: Tenant) -> Reservation:
        known = tenant.store.index(base).ids if base is not None else ()
        found = tenant.store.reserve(ids, replace=replace)
        if base is not None:
            tenant.store.ask(found.upload_id, list(known))
        caller.audit("reserve", upload_id=found.upload_id, replaces=replace)
        return found

    found = await caller.act(act)
    return answer({"upload_id": found.upload_id, "missing": _hex(found.missing)}, 201)


async def ask(caller: Caller) -> Response:
    """`POST /uploads/{id}/missing` with `{extent_ids}`: those that are there are pinned."""
    upload_id = caller.request.path_params["upload_id"]
    ids = read_ids((await json_body(caller)).get("extent_ids"))
    return answer({"missing": _hex(await caller.act(lambda one: one.store.ask(upload_id, ids)))})


async def put(caller: Caller) -> Response:
    """`POST /uploads/{id}/pieces`."""
    upload_id = caller.request.path_params["upload_id"]
    taken = 0

    def act(tenant: Tenant) -> None:
        nonlocal taken

        def counted() -> Iterator[Extent]:
            nonlocal taken
            for extent in _extents(caller.body.blocks()):
                yield extent
                taken += 1

        tenant.store.put(upload_id, counted())

    await caller.act(act, takes_body=True)
    return answer({"taken": taken}, 202)


async def finalise(caller: Caller) -> Response:
    """`POST /uploads/{id}/finalise`: length of a JSON text (4 bytes), the text, and the index."""
    upload_id = caller.request.path_params["upload_id"]
    data = await caller.body.all(INDEX_MOST)
    if len(data) < HEAD.size or HEAD.size + HEAD.unpack_from(data)[0] > len(data):
        raise BadUpload(why=say("it is cut short"))
    middle = HEAD.size + HEAD.unpack_from(data)[0]
    label, sections, facts = _said(data[HEAD.size : middle])

    def act(tenant: Tenant) -> Stored:
        index = Index.read(data[middle:], INDEX_MOST)
        stored = tenant.store.finish(upload_id, index, label=label, sections=sections, facts=facts)
        caller.kept(stored, upload_id=upload_id)
        return stored

    return answer(stored_json(await caller.act(act)), 201)


def _said(text: bytes) -> tuple[str, Sequence[str], dict[str, Any]]:
    """Label, sections and facts.  What can not be shown or kept is refused, or spelled out, by the
    store, so that the same is said of it as in the vault itself."""
    try:
        said = json.loads(text)
        label, sections, facts = said["label"], said["sections"], said["facts"]
        if not isinstance(label, str) or not isinstance(facts, dict) or not isinstance(sections, list):
            raise TypeError
        if not all(isinstance(one, str) for one in sections):
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadUpload(why=say("label, sections and facts are expected")) from error
    return label, sections, facts


def _extents(blocks: Iterator[bytes]) -> Iterator[Extent]:
    """Rows and pieces out of a stream."""
    source = _Source(blocks)
    while head := source.take(ROW.size, may_end=True):
        name, length, crc, stored = ROW.unpack(head)
        if not 0 < stored <= PIECE_MOST:
            raise BadUpload(why=say("a piece has an impossible length"))
        yield Extent(name, length, crc, b"", source.take(stored))


class _Source:
    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._data = memoryview(b"")

    def take(self, size: int, *, may_end: bool = False) -> bytes:
        parts: list[bytes] = []
        left = size
        while left:
            if not self._data:
                self._data = memoryview(next(self._blocks, b""))
                if not self._data:
                    if may_end and left == size:
                        return b""
                    raise BadUpload(why=say("it is cut short"))
            part = self._data[:left]
            parts.append(bytes(part))
            left -= len(part)
            self._data = self._data[len(part) :]
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _hex(ids: frozenset[bytes]) -> list[str]:
    return sorted(one.hex() for one in ids)
