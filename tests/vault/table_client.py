"""A client written from the specification's table alone, with `http.client`: an independent caller.

Nothing of Muniment is imported.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """Status, headers (lower case) and bytes of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class TableClient:
    """One caller with one token; each call has a connection of its own."""

    def __init__(self, port: int, token: str | None) -> None:
        self.port = port
        self.token = token

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 900,
    ) -> Answer:
        """Any call."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        sent = {"Authorization": f"Bearer {self.token}"} if self.token is not None else {}
        try:
            connection.request(method, path, body=body, headers={**sent, **(headers or {})})
            with connection.getresponse() as found:
                named = {name.lower(): value for name, value in found.getheaders()}
                return Answer(found.status, named, found.read())
        finally:
            connection.close()

    def create(
        self,
        data: bytes,
        label: str | None = "l",
        sections: list[str] | None = None,
        replace: str | None = None,
    ) -> Answer:
        """`POST /backups`."""
        said = json.dumps({"user_label": label, "sections": sections or ["workspace/a"]})
        path = "/backups" if replace is None else f"/backups?replace={replace}"
        headers = {"Content-Type": "application/octet-stream", "X-Manifest": said}
        return self.call("POST", path, data, headers)

    def list(self) -> Any:
        """`GET /backups`."""
        return self.call("GET", "/backups").json

    def get(self, backup_id: str, headers: Mapping[str, str] | None = None) -> Answer:
        """`GET /backups/{id}`."""
        return self.call("GET", f"/backups/{backup_id}", headers=headers)

    def delete(self, backup_id: str) -> Answer:
        """`DELETE /backups/{id}`."""
        return self.call("DELETE", f"/backups/{backup_id}")

    def reserve(self, total: object, **more: Any) -> Answer:
        """`POST /uploads/reserve`."""
        body = json.dumps({"total": total, **more}).encode()
        return self.call("POST", "/uploads/reserve", body, {"Content-Type": "application/json"})

    def chunk(self, upload_id: str, start: int, data: bytes, total: int) -> Answer:
        """`POST /uploads/{id}/chunk`."""
        headers = {"Content-Range": f"bytes {start}-{start + len(data) - 1}/{total}"}
        return self.call("POST", f"/uploads/{upload_id}/chunk", data, headers)

    def offset(self, upload_id: str) -> Answer:
        """`GET /uploads/{id}`."""
        return self.call("GET", f"/uploads/{upload_id}")

    def abort(self, upload_id: str) -> Answer:
        """`DELETE /uploads/{id}`."""
        return self.call("DELETE", f"/uploads/{upload_id}")

    def resumable(self, data: bytes, size: int, **more: Any) -> Answer:
        """A whole upload in chunks of so many bytes; the last answer."""
        upload = self.reserve(len(data), **more)
        if upload.status != 201:
            return upload
        at = upload.json["offset"]
        while True:
            done = self.chunk(upload.json["upload_id"], at, data[at : at + size], len(data))
            if done.status != 202:
                return done
            at = done.json["offset"]

    def raw(self, data: bytes, timeout: float = 900) -> socket.socket:
        """A connection on which these bytes were sent and nothing else happened."""
        opened = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        opened.sendall(data)
        return opened

    def half(self, method: str, path: str, headers: Mapping[str, str], part: bytes) -> socket.socket:
        """A call of which only a part of the body was sent."""
        lines = {"Host": "x", "Authorization": f"Bearer {self.token}", **headers}
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(
            f"{one}: {value}\r\n" for one, value in lines.items()
        )
        return self.raw(head.encode() + b"\r\n" + part)
