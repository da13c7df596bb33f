"""Job: a real registry of images on this machine, and images made and pushed without any runtime.

What is pushed is built here byte for byte, so that every id and digest that a test expects is
known from the registry's rules and not from what is tested.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import tarfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.job.engines import free_port, served, wait_for

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
HERE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
"""This machine's processor as images name it."""

APPLETS = (
    *("sh", "cat", "cp", "dd", "echo", "false", "grep", "head", "id", "ln", "ls", "mkdir", "mkfifo"),
    *("printf", "sleep", "tail", "touch", "true", "wc", "chmod"),
)

USER, PASSWORD = "reader", "secret"
_BCRYPT = "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a"
"""Of that password, made once with Perl's crypt: the registry takes no other kind."""


def needed(*programs: str) -> None:
    """Programs of the system; CI has them, elsewhere their absence skips and says so."""
    missing = [one for one in programs if shutil.which(one) is None]
    if missing:
        said = f"missing here: {', '.join(missing)}; .ci/run installs it"
        if os.environ.get("CI"):
            pytest.fail(said)
        pytest.skip(said)


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def layer(files: Mapping[str, tuple[bytes, int]], links: Mapping[str, str]) -> bytes:
    """A layer: files with their modes, and links; the same bytes each time."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for folder in sorted({name.rpartition("/")[0] for name in (*files, *links)} | {"tmp"}):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name, (data, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
        for name, target in sorted(links.items()):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
    return out.getvalue()


def busybox() -> bytes:
    """A layer with the static busybox of this machine."""
    program = Path(shutil.which("busybox") or "/bin/busybox").read_bytes()
    return layer({"bin/busybox": (program, 0o755)}, {f"bin/{name}": "busybox" for name in APPLETS})


@dataclass(frozen=True)
class Pushed:
    """An image as it lies in the registry: its id, its manifest's digest and kind, its layer's digest."""

    id: str
    digest: str
    kind: str
    layer: str
    size: int


@dataclass
class Registry:
    """A registry that runs; `folder` is where it keeps its files."""

    host: str
    folder: Path
    password: str = ""

    def request(
        self, method: str, path: str, data: bytes | None = None, kind: str = ""
    ) -> tuple[int, Any, bytes]:
        headers = {"Content-Type": kind} if kind else {}
        if self.password:
            secret = base64.b64encode(f"{USER}:{self.password}".encode()).decode()
            headers["Authorization"] = f"Basic {secret}"
        url = path if path.startswith("http") else f"http://{self.host}/v2/{path}"
        asked = urllib.request.Request(url, data=data, method=method, headers=headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(asked, timeout=30) as answer:
            return answer.status, answer.headers, answer.read()

    def blob(self, name: str, data: bytes) -> str:
        _, headers, _ = self.request("POST", f"{name}/blobs/uploads/", b"")
        place = headers["Location"]
        sign = "&" if "?" in place else "?"
        self.request("PUT", f"{place}{sign}digest={sha256(data)}", data, "application/octet-stream")
        return sha256(data)

    def push(
        self,
        name: str,
        tag: str,
        tar: bytes,
        *,
        note: str = "",
        arch: str = HERE,
        config: Mapping[str, Any] | None = None,
    ) -> Pushed:
        """Put an image of one layer under a tag; `note` makes it another image than all others."""
        packed = gzip.compress(tar, 1, mtime=0)
        described = {
            "architecture": arch,
            "os": "linux",
            "author": note,
            "config": {"Env": ["PATH=/bin"], **(config or {})},
            "rootfs": {"type": "layers", "diff_ids": [sha256(tar)]},
        }
        settings = json.dumps(described).encode()
        kinds = ("application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip")
        parts = [
            {"mediaType": kind, "digest": self.blob(name, data), "size": len(data)}
            for kind, data in zip(kinds, (settings, packed), strict=True)
        ]
        manifest = json.dumps(
            {"schemaVersion": 2, "mediaType": MANIFEST, "config": parts[0], "layers": [parts[1]]}
        ).encode()
        self.request("PUT", f"{name}/manifests/{tag}", manifest, MANIFEST)
        return Pushed(sha256(settings), sha256(manifest), MANIFEST, sha256(packed), len(manifest))

    def push_index(self, name: str, tag: str, images: Mapping[str, Pushed]) -> str:
        """Put an index of images of several processors under a tag; its digest."""
        entries = [
            {
                "mediaType": one.kind,
                "digest": one.digest,
                "size": one.size,
                "platform": {"architecture": arch, "os": "linux"},
            }
            for arch, one in images.items()
        ]
        index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).encode()
        self.request("PUT", f"{name}/manifests/{tag}", index, INDEX)
        return sha256(index)

    def spoil(self, digest: str) -> None:
        """Turn one byte of a blob, where it lies."""
        plain = digest.removeprefix("sha256:")
        place = self.folder / "docker/registry/v2/blobs/sha256" / plain[:2] / plain / "data"
        data = bytearray(place.read_bytes())
        data[len(data) // 2] ^= 0xFF
        place.write_bytes(data)


@contextmanager
def registry(folder: Path, *, password: str = "") -> Iterator[Registry]:
    """A registry of its own port and folder, until the block ends."""
    folder.mkdir(parents=True)
    port = free_port()
    settings = [
        "version: 0.1",
        f"storage: {{filesystem: {{rootdirectory: {folder}/store}}}}",
        f"http: {{addr: '127.0.0.1:{port}'}}",
        "log: {level: error}",
    ]
    if password:
        (folder / "htpasswd").write_text(f"{USER}:{_BCRYPT}\n")
        settings.append(f"auth: {{htpasswd: {{realm: here, path: {folder}/htpasswd}}}}")
    (folder / "registry.yml").write_text("\n".join(settings) + "\n")
    program = shutil.which("docker-registry")
    assert program is not None
    found = Registry(f"127.0.0.1:{port}", folder / "store", password)

    def answers() -> bool:
        try:
            return found.request("GET", "")[0] == 200
        except (urllib.error.URLError, OSError):
            return False

    with served([program, "serve", str(folder / "registry.yml")], folder):
        wait_for(answers, "registry")
        yield found
