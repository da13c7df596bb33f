"""Faces, web: the routes of a served vault."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from muniment.faces.web import backups, pieces, reading
from muniment.faces.web.answers import answer, plain_refusal
from muniment.faces.web.metrics import CONTENT_TYPE
from muniment.faces.web.openapi import document
from muniment.faces.web.reception import LOG, Handler, Reception


class _Extent(Convertor[str]):
    """An extent's id in a path: 64 hexadecimal digits."""

    regex = "[0-9a-f]{64}"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("extent", _Extent())

CALLS: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/backups", backups.listing),
    ("POST", "/backups", backups.create),
    ("GET", "/backups/{backup_id}", reading.bundle),
    ("DELETE", "/backups/{backup_id}", backups.delete),
    ("GET", "/backups/{backup_id}/manifest", reading.manifest),
    ("GET", "/backups/{backup_id}/index", reading.index),
    ("GET", "/backups/{backup_id}/facts", reading.facts),
    ("GET", "/backups/{backup_id}/files/{path:path}", reading.file),
    ("POST", "/uploads/reserve", backups.reserve),
    ("GET", "/uploads/{upload_id}", backups.look),
    ("DELETE", "/uploads/{upload_id}", backups.abort),
    ("POST", "/uploads/{upload_id}/chunk", backups.chunk),
    ("POST", "/uploads/{upload_id}/missing", pieces.ask),
    ("POST", "/uploads/{upload_id}/pieces", pieces.put),
    ("POST", "/uploads/{upload_id}/finalise", pieces.finalise),
    ("GET", "/pieces/{extent_id:extent}", reading.piece),
)
"""Every call that needs a token: method, path, what answers it."""

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
_CODES = {404: "not_found", 405: "method_not_allowed"}


def build_app(reception: Reception) -> Starlette:
    """The application; `reception` holds what its calls share."""

    async def healthz(_: Request) -> Response:
        return answer({"status": "ok"})

    async def readyz(_: Request) -> Response:
        if reception.draining:
            return plain_refusal(503, "draining", "The server is about to end.", {"retry-after": "5"})
        await anyio.to_thread.run_sync(reception.ring.keys, limiter=reception.readers)
        await anyio.to_thread.run_sync(reception.tenants.require_usable, limiter=reception.readers)
        return answer({"status": "ready"})

    async def metrics(_: Request) -> Response:
        return Response(reception.metrics.text(), media_type=CONTENT_TYPE)

    async def openapi(_: Request) -> Response:
        return answer(document())

    everyone = (("/healthz", healthz), ("/readyz", readyz), ("/metrics", metrics), ("/openapi.json", openapi))
    routes = [Route(path, reception.open_to_all(call), methods=["GET"]) for path, call in everyone]
    by_path: dict[str, dict[str, Handler]] = {}
    for method, path, handler in CALLS:
        by_path.setdefault(path, {})[method] = handler
    for path, handlers in by_path.items():
        routes.append(Route(path, _by_method(reception, handlers), methods=METHODS))
    return Starlette(routes=routes, exception_handlers={HTTPException: _no_such_call, Exception: _unforeseen})


def _by_method(reception: Reception, handlers: dict[str, Handler]) -> Any:
    """One route a path, which knows the methods that it has: `/uploads/reserve` is no upload's id."""
    known = {method: reception.known(handler) for method, handler in handlers.items()}
    if "GET" in known:
        known["HEAD"] = known["GET"]
    allowed = {"allow": ", ".join(sorted(known))}

    async def call(request: Request) -> Response:
        if request.method not in known:
            raise HTTPException(405, headers=allowed)
        return await known[request.method](request)

    return call


async def _no_such_call(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code, "refused")
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    return plain_refusal(error.status_code, code, "There is no such call; /openapi.json lists all.", headers)


async def _unforeseen(request: Request, error: Exception) -> Response:
    LOG.error("unforeseen", exc_info=error, extra={"facts": {"method": request.method}})
    return plain_refusal(500, "unexpected", "Something went wrong that Muniment did not foresee.")
