"""Room `job`: what a registry itself says that a tag names: the digest and kind of its manifest.

Runtimes forget it: one tells an index's digest with the kind of an image in it, the other tells no
kind at all.  So the registry is asked, and its answer counts only where it names a digest that the
runtime has for that image.  Credentials go to the registry's own host and nowhere else; where
it wants more than that, the question stays unanswered, which is no fault.
"""

from __future__ import annotations

import base64
import http.client
import ipaddress
import os
import re
import ssl
import urllib.parse
from collections.abc import Mapping

from muniment.canonical import read_json

_KINDS = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_SECONDS = 20
_TOKEN_LIMIT = 1 << 20


def manifest_named(reference: str, auth_file: str = "") -> tuple[str, str] | None:
    """The digest and media type of what `HOST/NAME:TAG` names, or None where nobody says."""
    name, _, tag = reference.rpartition(":")
    host, _, repository = name.partition("/")
    path = f"/v2/{urllib.parse.quote(repository)}/manifests/{urllib.parse.quote(tag)}"
    try:
        own = _credentials(host, auth_file)
        answer, challenge = _head(host, path, {"Authorization": f"Basic {own}"} if own else {})
        if answer is None and challenge.lower().startswith("bearer "):
            token = _open_token(challenge)
            answer = _head(host, path, {"Authorization": f"Bearer {token}"})[0] if token else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    return answer


def _head(host: str, path: str, more: Mapping[str, str]) -> tuple[tuple[str, str] | None, str]:
    connection = _connection(host)
    try:
        connection.request("HEAD", path, headers={"Accept": ", ".join(_KINDS), **more})
        answer = connection.getresponse()
        answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        return None, answer.headers.get("WWW-Authenticate", "")
    digest = answer.headers.get("Docker-Content-Digest", "")
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip()
    return ((digest, kind) if _DIGEST.fullmatch(digest) and kind in _KINDS else None), ""


def _connection(host: str) -> http.client.HTTPConnection:
    """Without encryption to this machine only: there runtimes do it as well."""
    if _is_here(host):
        return http.client.HTTPConnection(host, timeout=_SECONDS)
    return http.client.HTTPSConnection(host, timeout=_SECONDS, context=ssl.create_default_context())


def _is_here(host: str) -> bool:
    name = urllib.parse.urlsplit(f"//{host}").hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _open_token(challenge: str) -> str:
    """A token as anybody may have it; no credentials go to where a registry points."""
    asked = dict(_CHALLENGE.findall(challenge))
    place = urllib.parse.urlsplit(asked.pop("realm", ""))
    if place.scheme != "https" or not place.netloc:
        return ""
    query = urllib.parse.urlencode({key: asked[key] for key in ("service", "scope") if key in asked})
    connection = _connection(place.netloc)
    try:
        connection.request("GET", f"{place.path or '/'}?{query}")
        answer = connection.getresponse()
        body = answer.read(_TOKEN_LIMIT)
    finally:
        connection.close()
    value = read_json(body) if answer.status == 200 else None
    token = (value.get("token") or value.get("access_token")) if isinstance(value, dict) else None
    return token if isinstance(token, str) and token.isascii() and token.isprintable() else ""


def _credentials(host: str, auth_file: str) -> str:
    """The credentials for exactly this host in an auth file, as HTTP wants them; else nothing."""
    if not auth_file or not os.path.isfile(auth_file):
        return ""
    with open(auth_file, "rb") as stream:
        found: object = read_json(stream.read(_TOKEN_LIMIT))
    for name in ("auths", host, "auth"):
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, str):
        return ""
    base64.b64decode(found, validate=True)
    return found
