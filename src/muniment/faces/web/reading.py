"""Faces, web: calls that give something out: a snapshot's tar.gz, its index, its manifest, one file."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import Any

import anyio.to_thread
from starlette.responses import Response, StreamingResponse

from muniment.bundle.model import MANIFEST
from muniment.bundle.pick import pick
from muniment.bundle.vault import Snapshot
from muniment.digest import Digest
from muniment.faces.web.answers import answer, plain_refusal
from muniment.faces.web.reception import Caller
from muniment.path import printable
from muniment.vault.errors import NoSuchFile
from muniment.vault.store import VaultStore
from muniment.vault.tenants import Tenant

BLOCK = 256 << 10
_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})")
_OCTETS = "application/octet-stream"


async def bundle(caller: Caller) -> Response:
    """`GET /backups/{id}`, whole or a range of it.

    The digest stands before the bytes, so the first one who asks waits until the whole was read once.
    """
    snapshot_id = caller.request.path_params["backup_id"]

    def look(tenant: Tenant) -> tuple[Snapshot, Digest]:
        return tenant.store.show(snapshot_id), tenant.store.digest(snapshot_id)

    snapshot, digest = await caller.act(look)
    size = snapshot.size
    tag = f'"{digest.hex}"'
    headers = {
        "etag": tag,
        "x-sha256": digest.hex,
        "accept-ranges": "bytes",
        "cache-control": "private, no-cache",
        "x-content-type-options": "nosniff",
    }
    asked = caller.request.headers
    if tag in [one.strip() for one in asked.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    start, end, status = 0, size, 200
    if "range" in asked and asked.get("if-range", tag) == tag:
        found = read_range(asked["range"], size)
        if found is None:
            pass  # a range that is not understood is none (RFC 9110, 14.2)
        elif found[0] >= found[1]:
            unfit = {"content-range": f"bytes */{size}", "accept-ranges": "bytes"}
            return plain_refusal(416, "range_refused", "No byte of the snapshot lies in the range.", unfit)
        else:
            (start, end), status = found, 206
            headers["content-range"] = f"bytes {start}-{end - 1}/{size}"
    headers["content-length"] = str(end - start)
    if caller.request.method == "HEAD":
        return Response(status_code=status, headers=headers, media_type=_OCTETS)
    return await _stream(
        caller, lambda store: _until(store.download(snapshot_id, start), end - start), status, headers
    )


async def index(caller: Caller) -> Response:
    """`GET /backups/{id}/index`: as docs/format.md lays it down."""
    snapshot_id = caller.request.path_params["backup_id"]
    data = await caller.act(lambda one: one.store.index(snapshot_id).to_bytes())
    return Response(data, headers={"cache-control": "private, no-cache"}, media_type=_OCTETS)


async def facts(caller: Caller) -> Response:
    """`GET /backups/{id}/facts`: what its creator said beside label and sections."""
    snapshot_id = caller.request.path_params["backup_id"]
    return answer({"facts": await caller.act(lambda one: dict(one.store.facts(snapshot_id)))})


async def manifest(caller: Caller) -> Response:
    """`GET /backups/{id}/manifest`."""
    return await _file(caller, MANIFEST, "application/json")


async def file(caller: Caller) -> Response:
    """`GET /backups/{id}/files/<path>`: the path within the bundle, as its manifest has it."""
    return await _file(caller, f"files/{caller.request.path_params['path']}", _OCTETS)


async def piece(caller: Caller) -> Response:
    """`GET /pieces/{id}`: the stored piece of an extent."""
    extent = bytes.fromhex(caller.request.path_params["extent_id"])

    def act(tenant: Tenant) -> bytes:
        if tenant.store.catalogue.place(extent) is None:
            raise NoSuchFile(where=extent.hex()[:12])
        return tenant.store.piece(extent)

    data = await caller.act(act)
    return Response(data, headers={"cache-control": "private, no-cache"}, media_type=_OCTETS)


async def _file(caller: Caller, path: str, media_type: str) -> Response:
    snapshot_id = caller.request.path_params["backup_id"]
    size = 0

    def read(store: VaultStore) -> Iterator[bytes]:
        nonlocal size
        found = pick(store.index(snapshot_id), store.fetch, path)
        if found is None:
            raise NoSuchFile(where=printable(path[:200]))
        size = found[0].size
        return found[1]

    return await _stream(caller, read, 200, {"x-content-type-options": "nosniff"}, media_type, lambda: size)


async def _stream(
    caller: Caller,
    read: Any,
    status: int,
    headers: dict[str, str],
    media_type: str = _OCTETS,
    length: Any = None,
) -> Response:
    """Bytes from the tenant's vault, which stays open while they are given out."""
    held = ExitStack()
    limiter = caller.reception.readers

    def begin() -> tuple[Iterator[bytes], bytes]:
        tenant = held.enter_context(caller.reception.tenants.using(caller.tenant))
        parts = _blocks(read(tenant.store))
        # The first bytes come before the status, so that what is wrong at once can still be said.
        return parts, next(parts, b"")

    try:
        parts, first = await anyio.to_thread.run_sync(begin, limiter=limiter)
    except BaseException:
        held.close()
        raise

    async def given() -> AsyncIterator[bytes]:
        block = first
        try:
            while block:
                yield block
                caller.reception.metrics.sent.inc(len(block))
                block = await anyio.to_thread.run_sync(next, parts, b"", limiter=limiter)
        finally:
            held.close()

    if length is not None:
        headers["content-length"] = str(length())
    return _Closing(given(), status, headers, media_type, held)


class _Closing(StreamingResponse):
    """Lets the vault go even when nothing was ever given out of it."""

    def __init__(
        self, parts: Any, status: int, headers: dict[str, str], media_type: str, held: ExitStack
    ) -> None:
        super().__init__(parts, status, headers, media_type)
        self._held = held

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._held.close()


def read_range(text: str, size: int) -> tuple[int, int] | None:
    """One range of bytes as start and end (not included); None for what is not understood.

    >>> [read_range(text, 10) for text in ("bytes=2-4", "bytes=2-", "bytes=-3", "bytes=20-", "lines=1")]
    [(2, 5), (2, 10), (7, 10), (20, 10), None]
    """
    found = _RANGE.fullmatch(text)
    if found is None or found.group() == "bytes=-":
        return None
    first, last = found.groups()
    if not first:
        return max(0, size - int(last)), size
    if last and int(last) < int(first):
        return None
    return int(first), min(size, int(last) + 1) if last else size


def _until(parts: Iterator[bytes], left: int) -> Iterator[bytes]:
    for part in parts:
        yield part[:left]
        left -= len(part)
        if left <= 0:
            return


def _blocks(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in fewer parts: each costs a change of thread."""
    waiting: list[bytes] = []
    size = 0
    for part in parts:
        if part:
            waiting.append(part)
            size += len(part)
        if size >= BLOCK:
            yield b"".join(waiting)
            waiting, size = [], 0
    if size:
        yield b"".join(waiting)
