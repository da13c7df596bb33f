"""Floor 3, `vault`: a client that speaks the plain wire: the calls that existing clients make, no others.

Implements `muniment.bundle.whole.WholeVault` from the table of spec 5 alone, so that it works with
every vault that speaks it.  Nothing that is answered is believed beyond its shape.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from muniment.bundle.whole import Begun, Description, Full, Kept, Listed, Shelf
from muniment.canonical import NotJson, read_json
from muniment.errors import MunimentError, NotFound
from muniment.message import say
from muniment.path import printable
from muniment.vault.description import is_snapshot_id
from muniment.vault.errors import (
    BadUpload,
    PeerRefused,
    TokenRefused,
    UnknownSnapshot,
    UploadGone,
    VaultAnswer,
    VaultUnreachable,
)
from muniment.vault.line import Line
from muniment.vault.shapes import number, number_or_none, require_id, text, text_or_none

ANSWER_MOST = 16 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")


class PlainVault:
    """A tenant's vault at the other end of a line."""

    def __init__(self, line: Line) -> None:
        self._line = line

    @property
    def url(self) -> str:
        """Its address, as a person may read it."""
        return self._line.url

    # What there is

    def shelf(self) -> Shelf:
        """Everything there is, newest first."""
        _, said = self._json("GET", "/backups", 200, again=True)
        with self._line.shaped():
            listed = sorted(
                (_listed(one) for one in said["backups"]), key=lambda one: one.created_at, reverse=True
            )
            quota, limits = said.get("quota"), said.get("limits")
            told = quota if isinstance(quota, dict) else {}
            return Shelf(
                tuple(listed),
                quota,
                limits,
                number_or_none(told.get("snapshots")),
                number_or_none(told.get("remaining")),
                text_or_none(said.get("vault")) or self.url,
            )

    def show(self, backup_id: str) -> Listed:
        """One snapshot."""
        for one in self.shelf().listed:
            if one.id == backup_id:
                return one
        raise UnknownSnapshot(where=printable(backup_id[:64]))

    def delete(self, backup_id: str) -> None:
        """Remove one snapshot; that it is gone already is no error, for the answer may have been lost."""
        with (
            suppress(UnknownSnapshot),
            self._line.call("DELETE", _snapshot_path(backup_id), again=True) as answer,
        ):
            self._require(answer, UnknownSnapshot(where=backup_id), 204, 200)

    # Uploads

    def create(self, data: bytes, said: Description, *, replace: str | None = None) -> Kept | Full:
        """Send a small file at once."""
        path = "/backups"
        if replace is not None:
            require_id(replace)
            path += f"?replace={quote(replace, safe='')}"
        headers = {"content-type": "application/octet-stream", "x-manifest": json.dumps(_manifest(said))}
        unknown = UnknownSnapshot(where=replace or "")
        status, answer = self._json("POST", path, 201, 409, body=data, headers=headers, missing=unknown)
        return self._kept(answer) if status == 201 else self._full(answer)

    def reserve(self, total: int, said: Description, *, replace: str | None = None) -> Begun | Full:
        """Begin an upload by offsets."""
        asked: dict[str, Any] = {"total": total, "manifest": _manifest(said)}
        if replace is not None:
            require_id(replace)
            asked["replace"] = replace
        status, answer = self._json(
            "POST",
            "/uploads/reserve",
            201,
            409,
            body=json.dumps(asked).encode("ascii"),
            headers={"content-type": "application/json"},
            missing=UnknownSnapshot(where=replace or ""),
        )
        if status == 409:
            return self._full(answer)
        with self._line.shaped():
            upload_id = text(answer["upload_id"])
            if not 0 < len(upload_id) <= 256:
                raise ValueError("upload_id")
            return Begun(upload_id, number(answer["offset"]))

    def offset(self, upload_id: str) -> int:
        """Where an upload stands; `UploadGone` when it does not any more."""
        gone = UploadGone(where=printable(upload_id[:64]))
        _, answer = self._json("GET", _upload_path(upload_id), 200, again=True, missing=gone)
        with self._line.shaped():
            return number(answer["offset"])

    def send(self, upload_id: str, start: int, data: bytes, total: int) -> int | Kept | Full:
        """Send the bytes from an offset on; where the vault stands elsewhere, it says where."""
        status, answer = self._json(
            "POST",
            f"{_upload_path(upload_id)}/chunk",
            201,
            202,
            409,
            body=data,
            headers={
                "content-type": "application/octet-stream",
                "content-range": f"bytes {start}-{start + len(data) - 1}/{total}",
            },
            missing=UploadGone(where=printable(upload_id[:64])),
        )
        if status == 201:
            return self._kept(answer)
        if status == 409 and (not isinstance(answer, dict) or "offset" not in answer):
            return self._full(answer)
        with self._line.shaped():
            return number(answer["offset"])

    def abort(self, upload_id: str) -> None:
        """Give an upload up."""
        gone = UploadGone(where=printable(upload_id[:64]))
        with suppress(UploadGone), self._line.call("DELETE", _upload_path(upload_id), again=True) as answer:
            self._require(answer, gone, 204, 200)

    # Downloads

    def download(self, backup_id: str) -> Iterator[bytes]:
        """The bytes of the tar.gz; the last of them is followed by an error unless all were right."""
        with self._line.call("GET", _snapshot_path(backup_id), again=True) as answer:
            self._require(answer, UnknownSnapshot(where=backup_id), 200)
            told = answer.headers.get("x-sha256", "").strip().lower()
            if not _DIGEST.fullmatch(told):
                raise VaultAnswer(
                    where=backup_id, why=say("it has no X-Sha256 by which it could be verified")
                )
            yield from self._line.snapshot(answer, backup_id, told)

    # Calls

    def _json(
        self,
        method: str,
        path: str,
        *statuses: int,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        again: bool = False,
        missing: NotFound | None = None,
    ) -> tuple[int, Any]:
        with self._line.call(method, path, None if body is None else [body], headers, again=again) as answer:
            self._require(answer, missing, *statuses)
            return answer.status, self._line.json(answer, ANSWER_MOST)

    def _require(self, answer: http.client.HTTPResponse, missing: NotFound | None, *statuses: int) -> None:
        """Raise what a status means where it is not one of these; what was said stands in the reason."""
        status = answer.status
        if status in statuses:
            return
        said = self._said(answer)
        if status == 404 and missing is not None:
            raise missing
        kinds: dict[int, type[MunimentError]] = {
            400: BadUpload,
            401: TokenRefused,
            403: PeerRefused,
            409: BadUpload,
            413: BadUpload,
        }
        kind = kinds.get(status, VaultUnreachable if status >= 500 else VaultAnswer)
        raise kind(
            where=self._line.shown,
            why=say("it answered {status}: {finding}", status=status, finding=said)
            if said
            else say("it answered with status {status}", status=status),
        )

    def _said(self, answer: http.client.HTTPResponse) -> str:
        """What an error of the wire says for people, as far as it has the shape of one."""
        try:
            said = read_json(self._line.whole(answer, ANSWER_MOST))
            parts = [said.get("message") or said.get("error")]
            detail = said.get("detail")
            parts += [detail.get("why")] if isinstance(detail, dict) else [detail]
        except (NotJson, AttributeError):
            return ""
        return printable(" ".join(part for part in parts if isinstance(part, str) and part)[:500])

    def _full(self, said: Any) -> Full:
        """What a 409 says of the slots; any other 409 is a refusal."""
        if isinstance(said, dict) and said.get("error") == "quota_exceeded":
            with self._line.shaped():
                current = said["current"]
                if not all(isinstance(one, dict) for one in current):
                    raise TypeError("current")
                return Full(tuple(current))
        finding = str(said.get("message") or said.get("error") or "") if isinstance(said, dict) else ""
        why = say("it answered {status}: {finding}", status=409, finding=printable(finding[:500]))
        raise BadUpload(where=self._line.shown, why=why)

    def _kept(self, said: Any) -> Kept:
        with self._line.shaped():
            backup_id, digest = text(said["backup_id"]), text(said["sha256"]).lower()
            if not is_snapshot_id(backup_id) or not _DIGEST.fullmatch(digest):
                raise ValueError(backup_id)
            return Kept(
                backup_id,
                number(said["size_bytes"]),
                digest,
                number_or_none(said["remaining_slots"]),
                _digest_or_none(said.get("root")),
            )


def _manifest(said: Description) -> dict[str, Any]:
    return {"user_label": said.label, "sections": list(said.sections)}


def _snapshot_path(backup_id: str) -> str:
    require_id(backup_id)
    return f"/backups/{quote(backup_id, safe='')}"


def _upload_path(upload_id: str) -> str:
    return f"/uploads/{quote(upload_id, safe='')}"


def _listed(said: Mapping[str, Any]) -> Listed:
    backup_id = text(said["backup_id"])
    if not is_snapshot_id(backup_id):
        raise ValueError(backup_id)
    return Listed(
        backup_id,
        text_or_none(said["user_label"]) or "",
        datetime.fromtimestamp(_moment(said["created_at"]), UTC),
        number(said["size_bytes"]),
        tuple(text(one) for one in said["sections"]),
        _digest_or_none(said.get("sha256")),
        _digest_or_none(said.get("root")),
    )


def _moment(value: Any) -> float:
    """Seconds since 1970; some vaults tell fractions of them."""
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        raise TypeError("a moment was expected")
    return value


def _digest_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and _DIGEST.fullmatch(value) else None
