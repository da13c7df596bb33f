"""Faces, web: calls about snapshots and uploads, as existing clients make them (spec 5, HTTP)."""

from __future__ import annotations

import re

from starlette.responses import Response

from muniment.bundle.vault import Stored
from muniment.faces.web.answers import answer, listing_json, nothing, stored_json
from muniment.faces.web.pieces import reserve_pieces
from muniment.faces.web.reception import Caller
from muniment.faces.web.said import json_body, manifest_header, optional, told_by
from muniment.message import say
from muniment.path import printable
from muniment.vault.errors import BadCall, SnapshotTooLarge
from muniment.vault.tenants import Tenant

_RANGE = re.compile(r"bytes ([0-9]{1,15})-([0-9]{1,15})/([0-9]{1,15})")


async def listing(caller: Caller) -> Response:
    """`GET /backups`."""
    return answer(await caller.act(lambda one: listing_json(one.store.list(), one.store.identity)))


async def create(caller: Caller) -> Response:
    """`POST /backups`: a whole file at once."""
    told = told_by(manifest_header(caller))
    replace = _replace(caller)

    def act(tenant: Tenant) -> Stored:
        most = tenant.store.limits.size
        if most is not None and (caller.body.length or 0) > most:
            raise SnapshotTooLarge(size=caller.body.length, limit=most)
        stored = tenant.wholes.keep(caller.body.blocks(), told, replace=replace)
        caller.kept(stored, replaces=replace)
        return stored

    return answer(stored_json(await caller.act(act, takes_body=True)), 201)


async def delete(caller: Caller) -> Response:
    """`DELETE /backups/{id}`."""
    snapshot_id = caller.request.path_params["backup_id"]

    def act(tenant: Tenant) -> None:
        tenant.store.delete(snapshot_id)
        caller.audit("delete", backup_id=snapshot_id)
        caller.reception.metrics.deleted.inc()

    await caller.act(act)
    return nothing()


async def reserve(caller: Caller) -> Response:
    """`POST /uploads/reserve`: by offsets, or in pieces where extents are named."""
    said = await json_body(caller)
    replace = optional(said, "replace", str)
    if "format" in said or "extent_ids" in said:
        return await reserve_pieces(caller, said, replace)
    total = said.get("total")
    if isinstance(total, float) and total.is_integer():
        total = int(total)  # JSON does not tell 10.0 from 10
    if not isinstance(total, int) or isinstance(total, bool) or total < 1:
        raise BadCall(why=say("{name} is missing or is not what it should be", name="total"))
    told = told_by(optional(said, "manifest", dict) or {})

    def act(tenant: Tenant) -> str:
        upload = tenant.wholes.reserve(total, told, replace=replace)
        caller.audit("reserve", upload_id=upload, bytes=total, replaces=replace)
        return upload

    return answer({"upload_id": await caller.act(act), "offset": 0}, 201)


async def look(caller: Caller) -> Response:
    """`GET /uploads/{id}`."""
    upload_id = caller.request.path_params["upload_id"]
    found = await caller.act(lambda one: one.wholes.look(upload_id))
    return answer({"offset": found.taken, "total": found.total})


async def chunk(caller: Caller) -> Response:
    """`POST /uploads/{id}/chunk`."""
    upload_id = caller.request.path_params["upload_id"]
    start, end, total = _content_range(caller)

    def act(tenant: Tenant) -> int | Stored:
        done = tenant.wholes.take(upload_id, start, end, total, caller.body.blocks())
        if isinstance(done, Stored):
            caller.kept(done, upload_id=upload_id)
        return done

    done = await caller.act(act, takes_body=True)
    return answer({"offset": done}, 202) if isinstance(done, int) else answer(stored_json(done), 201)


async def abort(caller: Caller) -> Response:
    """`DELETE /uploads/{id}`."""
    upload_id = caller.request.path_params["upload_id"]

    def act(tenant: Tenant) -> None:
        tenant.wholes.abort(upload_id)
        caller.audit("abort", upload_id=upload_id)

    await caller.act(act)
    return nothing()


def _replace(caller: Caller) -> str | None:
    values = caller.request.query_params.getlist("replace")
    if len(values) > 1:
        raise BadCall(why=say("{name} is missing or is not what it should be", name="replace"))
    return values[0] if values else None


def _content_range(caller: Caller) -> tuple[int, int, int]:
    """`Content-Range` as start, end (not included) and total."""
    found = _RANGE.fullmatch(caller.request.headers.get("content-range", ""))
    if found is None:
        why = say("Content-Range has to be: bytes FIRST-LAST/TOTAL")
        raise BadCall(why=why, where=printable(caller.request.headers.get("content-range", "")[:80]))
    first, last, total = map(int, found.groups())
    if not first <= last < total:
        raise BadCall(why=say("Content-Range has to be: bytes FIRST-LAST/TOTAL"))
    if caller.body.length is not None and caller.body.length != last + 1 - first:
        why = say(
            "the body has {size} bytes, its range {most}", size=caller.body.length, most=last + 1 - first
        )
        raise BadCall(why=why)
    return first, last + 1, total
