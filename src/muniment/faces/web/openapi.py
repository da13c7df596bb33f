"""Faces, web: the description of the wire that `/openapi.json` gives (OpenAPI 3.1)."""

from __future__ import annotations

from functools import cache
from typing import Any

from muniment import __version__
from muniment.vault.wire import FORMAT, IDS_MOST

Schema = dict[str, Any]

_ID = {"type": "string", "pattern": r"^bk_[0-9]{8}_[0-9]{6}_[a-z0-9]{4}$"}
_ULID = {"type": "string", "pattern": "^[0-9A-HJKMNP-TV-Z]{26}$"}
_HASH = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_MAYBE_COUNT = {"type": ["integer", "null"], "minimum": 0}
_SOME = {"application/octet-stream": {"schema": {"type": "string", "format": "binary", "minLength": 1}}}
_OCTETS = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


def _object(
    required: dict[str, Any], optional: dict[str, Any] | None = None, *, closed: bool = False
) -> Schema:
    made: Schema = {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
    }
    return {**made, "additionalProperties": False} if closed else made


def _list(item: Schema) -> Schema:
    return {"type": "array", "items": item}


_SNAPSHOT = {
    "backup_id": _ID,
    "user_label": _TEXT,
    "created_at": {"type": "integer"},
    "size_bytes": _COUNT,
    "sections": _list(_TEXT),
    "created": {"type": "string", "format": "date-time"},
    "root": _HASH,
    "sha256": {"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"},
    "soundness": {"enum": ["sound", "damaged"]},
    "whole": {"type": "boolean"},
    "scheduled": {"type": "boolean"},
}
_SCHEMAS: dict[str, Schema] = {
    "Snapshot": _object(_SNAPSHOT),
    "Stored": _object({**_SNAPSHOT, "remaining_slots": _MAYBE_COUNT}),
    "Listing": _object(
        {
            "backups": _list({"$ref": "#/components/schemas/Snapshot"}),
            "quota": _object(
                {
                    "snapshots": _MAYBE_COUNT,
                    "used": _COUNT,
                    "uploading": _COUNT,
                    "remaining": _MAYBE_COUNT,
                }
            ),
            "limits": _object(
                {
                    "bundle_bytes": _MAYBE_COUNT,
                    "label": _COUNT,
                    "sessions": _MAYBE_COUNT,
                    "one_shot_bytes": _COUNT,
                    "chunk_bytes": _COUNT,
                }
            ),
            "vault": _TEXT,
        }
    ),
    "Refusal": _object(
        {
            "error": _TEXT,
            "message": _TEXT,
            "detail": _object(
                {
                    "where": _TEXT,
                    "why": _TEXT,
                    "next": _TEXT,
                    "retryable": {"type": "boolean"},
                    "facts": {"type": "object"},
                }
            ),
        },
        {"current": _list({"type": "object"}), "offset": _COUNT},
    ),
    "Manifest": _object({}, {"user_label": {"type": ["string", "null"]}, "sections": _list(_TEXT)}),
    "ByOffsets": _object(
        {"total": {"type": "integer", "minimum": 1}},
        {
            "manifest": {"$ref": "#/components/schemas/Manifest"},
            "replace": {"type": ["string", "null"]},
        },
    ),
    "InPieces": _object(
        {"format": {"const": FORMAT}, "extent_ids": {**_list(_HASH), "maxItems": IDS_MOST}},
        {"base": {"type": ["string", "null"]}, "replace": {"type": ["string", "null"]}},
    ),
    "Ids": _object({"extent_ids": {**_list(_HASH), "maxItems": IDS_MOST}}),
}
_REASONS = {
    400: "The call was not understood, or what was sent is not what was said of it.",
    401: "The token is missing or does not hold.",
    403: "The caller's address may not call.",
    404: "There is no such thing, or it is another tenant's.",
    408: "The body did not come in time.",
    409: "A quota, an offset or a missing piece stands in the way.",
    413: "It is larger than the vault takes.",
    416: "No byte lies in the range.",
    422: "What was sent whole is not a snapshot that can be looked into.",
    503: "The vault is busy.",
    507: "The disk is full.",
}


def _json(name: str) -> Schema:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _inline(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _path(name: str, schema: Schema) -> Schema:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _header(name: str, schema: Schema, about: str, *, required: bool = False) -> Schema:
    return {"name": name, "in": "header", "required": required, "schema": schema, "description": about}


def _call(
    summary: str,
    answers: dict[int, tuple[str, Schema | None]],
    *refused: int,
    parameters: tuple[Schema, ...] = (),
    body: Schema | None = None,
    known: bool = True,
) -> Schema:
    """One operation; those that need a token can be refused for want of one, all for their address."""
    responses: Schema = {}
    for status, (about, content) in answers.items():
        responses[str(status)] = {"description": about, **({"content": content} if content else {})}
    for status in sorted({*refused, 403, *((401, 404, 408, 503) if known else ())}):
        responses[str(status)] = {"description": _REASONS[status], "content": _json("Refusal")}
    made: Schema = {"summary": summary, "responses": responses}
    if parameters:
        made["parameters"] = list(parameters)
    if body is not None:
        made["requestBody"] = {"required": True, "content": body}
    if not known:
        made["security"] = []
    return made


@cache
def document() -> Schema:
    """The whole description."""
    backup, upload = _path("backup_id", _ID), _path("upload_id", _ULID)
    stored = ("It is durable, was read back, and counts.", _json("Stored"))
    replace = {"name": "replace", "in": "query", "schema": _ID}
    said = {
        "name": "X-Manifest",
        "in": "header",
        "description": "JSON in ASCII.",
        "content": _json("Manifest"),
    }
    span = _header(
        "Content-Range",
        {"type": "string", "pattern": "^bytes [0-9]{1,15}-[0-9]{1,15}/[0-9]{1,15}$"},
        "bytes FIRST-LAST/TOTAL",
        required=True,
    )
    octets = ("The bytes.", _OCTETS)
    none = ("Done.", None)
    paths: dict[str, dict[str, Schema]] = {
        "/backups": {
            "get": _call("List the snapshots, newest first.", {200: ("The list.", _json("Listing"))}),
            "post": _call(
                "Keep a tar.gz that comes at once.",
                {201: stored},
                400,
                409,
                413,
                507,
                parameters=(replace, said),
                body=_SOME,
            ),
        },
        "/backups/{backup_id}": {
            "get": _call(
                "The tar.gz, or a range of it.",
                {200: octets, 206: ("A range of it.", _OCTETS), 304: ("The caller has it.", None)},
                416,
                parameters=(backup,),
            ),
            "delete": _call("Delete a snapshot.", {204: none}, 507, parameters=(backup,)),
        },
        "/backups/{backup_id}/manifest": {
            "get": _call("Its manifest.", {200: ("manifest.json.", _inline({}))}, 422, parameters=(backup,))
        },
        "/backups/{backup_id}/index": {
            "get": _call("Its index of extents.", {200: octets}, parameters=(backup,))
        },
        "/backups/{backup_id}/facts": {
            "get": _call(
                "What its creator said of it.",
                {200: ("Facts.", _inline(_object({"facts": {"type": "object"}})))},
                parameters=(backup,),
            )
        },
        "/backups/{backup_id}/files/{path}": {
            "get": _call(
                "One file.", {200: octets}, 422, parameters=(backup, _path("path", {**_TEXT, "minLength": 1}))
            )
        },
        "/uploads/reserve": {
            "post": _call(
                "Begin an upload, by offsets or in pieces.",
                {
                    201: (
                        "It is begun.",
                        _inline(_object({"upload_id": _ULID}, {"offset": _COUNT, "missing": _list(_HASH)})),
                    )
                },
                400,
                409,
                413,
                507,
                body=_inline(
                    {
                        "anyOf": [
                            {"$ref": "#/components/schemas/ByOffsets"},
                            {"$ref": "#/components/schemas/InPieces"},
                        ]
                    }
                ),
            )
        },
        "/uploads/{upload_id}": {
            "get": _call(
                "Where an upload by offsets stands.",
                {200: ("The next offset.", _inline(_object({"offset": _COUNT, "total": _COUNT})))},
                parameters=(upload,),
            ),
            "delete": _call("Give an upload up.", {204: none}, 507, parameters=(upload,)),
        },
        "/uploads/{upload_id}/chunk": {
            "post": _call(
                "Hand in the next bytes.",
                {202: ("The next offset.", _inline(_object({"offset": _COUNT}))), 201: stored},
                400,
                409,
                413,
                507,
                parameters=(upload, span),
                body=_OCTETS,
            )
        },
        "/uploads/{upload_id}/missing": {
            "post": _call(
                "Name further extents; those that are there are kept for this upload.",
                {200: ("Those that are not there.", _inline(_object({"missing": _list(_HASH)})))},
                400,
                507,
                parameters=(upload,),
                body=_json("Ids"),
            )
        },
        "/uploads/{upload_id}/pieces": {
            "post": _call(
                "Hand in pieces, each after its row.",
                {202: ("They are durable.", _inline(_object({"taken": _COUNT})))},
                400,
                507,
                parameters=(upload,),
                body=_OCTETS,
            )
        },
        "/uploads/{upload_id}/finalise": {
            "post": _call(
                "End an upload in pieces with its index.",
                {201: stored},
                400,
                409,
                413,
                507,
                parameters=(upload,),
                body=_OCTETS,
            )
        },
        "/pieces/{extent_id}": {
            "get": _call(
                "The stored piece of an extent.", {200: octets}, parameters=(_path("extent_id", _HASH),)
            )
        },
        "/healthz": {
            "get": _call("The process lives.", {200: ("It does.", _inline({"type": "object"}))}, known=False)
        },
        "/readyz": {
            "get": _call(
                "Calls can be answered.", {200: ("They can.", _inline({"type": "object"}))}, 503, known=False
            )
        },
        "/metrics": {
            "get": _call(
                "Figures for Prometheus.", {200: ("Text.", {"text/plain": {"schema": _TEXT}})}, known=False
            )
        },
        "/openapi.json": {"get": _call("This.", {200: ("This.", _inline({"type": "object"}))}, known=False)},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Muniment vault", "version": __version__},
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
    }
