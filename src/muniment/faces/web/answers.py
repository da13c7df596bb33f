"""Faces, web: what is answered: snapshots as JSON, errors in one shape, and their status."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from muniment.bundle.errors import BadBundle, BadExtent, BadIndex
from muniment.bundle.vault import Listing, Snapshot, Stored
from muniment.bundle.whole import CHUNK, ONE_SHOT_BELOW
from muniment.clock import instant
from muniment.disk.errors import Locked, NoSpace, TooManyOpen
from muniment.errors import MunimentError
from muniment.faces.i18n.errors import for_programs
from muniment.faces.i18n.language import Language
from muniment.faces.i18n.translate import Translator
from muniment.vault.catalogue import Upload
from muniment.vault.errors import (
    BadCall,
    BadDescription,
    BadLabel,
    BadUpload,
    CatalogueBusy,
    ExtentsMissing,
    NoSuchFile,
    OffsetConflict,
    PeerRefused,
    QuotaExceeded,
    SessionsExceeded,
    SnapshotTooLarge,
    TokenRefused,
    UnknownSnapshot,
    UploadGone,
)

_STATUS: tuple[tuple[type[MunimentError], int], ...] = (
    (TokenRefused, 401),
    (PeerRefused, 403),
    (UnknownSnapshot, 404),
    (UploadGone, 404),
    (NoSuchFile, 404),
    (QuotaExceeded, 409),
    (SessionsExceeded, 409),
    (OffsetConflict, 409),
    (ExtentsMissing, 409),
    (SnapshotTooLarge, 413),
    (BadBundle, 422),
    (BadCall, 400),
    (BadLabel, 400),
    (BadDescription, 400),
    (BadUpload, 400),
    (BadExtent, 400),
    (BadIndex, 400),
    (CatalogueBusy, 503),
    (Locked, 503),
    (TooManyOpen, 503),
    (NoSpace, 507),
)
_ENGLISH = Translator(Language.ENGLISH)
_QUIET = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def status_of(error: MunimentError) -> int:
    """The status that an error is answered with; what has none is a fault of the vault."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer in ASCII."""
    body = json.dumps(value, separators=(",", ":")).encode("ascii")
    return Response(body, status, {**_QUIET, **(headers or {})}, "application/json")


def nothing() -> Response:
    """204."""
    return Response(status_code=204, headers=_QUIET)


def refusal(error: MunimentError, **more: Any) -> Response:
    """An error in the one shape: `{error, message, detail}`.

    What a fault of the vault itself is about is for its log: the caller gets neither paths nor reasons.
    """
    status = status_of(error)
    told = for_programs(error, _ENGLISH)
    detail = {name: told[name] for name in ("where", "why", "next", "retryable", "facts")}
    if status >= 500:
        detail = {"where": "", "why": "", "next": "", "retryable": error.retryable, "facts": {}}
    headers = {"www-authenticate": "Bearer"} if status == 401 else {}
    if status == 503:
        headers["retry-after"] = "5"
    return answer(
        {**more, "error": error.code.lower(), "message": told["message"], "detail": detail}, status, headers
    )


def plain_refusal(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Response:
    """An error that no room has: a path or method that there is not, a peer that is too slow."""
    detail = {"where": "", "why": "", "next": "", "retryable": status in (408, 503), "facts": {}}
    return answer({"error": code, "message": message, "detail": detail}, status, headers)


def snapshot_json(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot, as lists show it."""
    return {
        "backup_id": snapshot.id,
        "user_label": snapshot.label,
        "created_at": int(snapshot.created_at.timestamp()),
        "size_bytes": snapshot.size,
        "sections": list(snapshot.sections),
        "created": instant(snapshot.created_at),
        "root": snapshot.root.hex,
        "sha256": None if snapshot.sha256 is None else snapshot.sha256.hex,
        "soundness": snapshot.soundness.value,
        "whole": snapshot.whole,
        "scheduled": snapshot.scheduled,
    }


def session_json(upload: Upload) -> dict[str, Any]:
    """An upload under way, among the snapshots of a tenant without a free slot."""
    told = json.loads(upload.told)
    return {
        "uploading": True,
        "upload_id": upload.id,
        "user_label": told.get("label", ""),
        "sections": told.get("sections", []),
        "size_bytes": upload.total,
        "offset": upload.taken,
        "replaces": upload.replaces,
    }


def stored_json(stored: Stored) -> dict[str, Any]:
    """What creation answers."""
    return {**snapshot_json(stored.snapshot), "remaining_slots": stored.remaining}


def listing_json(listing: Listing, identity: str) -> dict[str, Any]:
    """A tenant's list."""
    limits = listing.limits
    return {
        "backups": [snapshot_json(one) for one in listing.snapshots],
        "quota": {
            "snapshots": limits.snapshots,
            "used": len(listing.snapshots),
            "uploading": listing.uploading,
            "remaining": listing.remaining,
        },
        "limits": {
            "bundle_bytes": limits.size,
            "label": limits.label,
            "sessions": limits.sessions,
            "one_shot_bytes": ONE_SHOT_BELOW,
            "chunk_bytes": CHUNK,
        },
        "vault": identity,
    }


def current_json(listing: Listing, sessions: Sequence[Upload]) -> list[dict[str, Any]]:
    """Everything that holds a slot."""
    return [*map(session_json, sessions), *map(snapshot_json, listing.snapshots)]
