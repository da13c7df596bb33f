"""Snapshots that another program packed and sent whole are read and restored like our own."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest
from tests.faces.at_work import AtWork

from muniment.bundle.whole import Description
from muniment.clock import system_clock
from muniment.vault.open import open_directory
from muniment.vault.whole import Wholes

FILES = {"files/workspace/a.txt": b"hello\n", "files/workspace/b/c.bin": bytes(range(256)) * 2000}


def packed() -> bytes:
    """A tar.gz by `tarfile` and `gzip`, as an older client made it."""
    contents = [
        {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for path, data in FILES.items()
    ]
    manifest = {
        "version": "1.1",
        "source": "generic",
        "mode": "default",
        "created_at_unix": 1796040000,
        "created_at": "2026-11-30T12:00:00Z",
        "label": "elsewhere",
        "sections": ["workspace/a.txt", "workspace/b"],
        "contents": {"files": contents, "api": []},
        "exclusions": [],
        "plan_summary": {"total_files": 2, "total_size_bytes": 0, "warnings": []},
    }
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in {**FILES, "manifest.json": json.dumps(manifest).encode()}.items():
            facts = tarfile.TarInfo(name)
            facts.size = len(data)
            tar.addfile(facts, io.BytesIO(data))
    return gzip.compress(made.getvalue(), mtime=0)


def test_read_and_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = AtWork(tmp_path / "work", monkeypatch)
    vault = tmp_path / "vault"
    data = packed()
    store = open_directory(vault, clock=system_clock)
    name = Wholes(store).keep([data], Description("elsewhere", ())).snapshot.id
    store.close()

    def call(*words: str) -> dict[str, object]:
        answer = work.call("backup", *words, "--json", environment={"MUNIMENT_VAULT": f"file://{vault}"})
        assert answer.code == 0, answer.err
        return answer.object

    assert "workspace/b/c.bin" in json.dumps(call("ls", name))
    assert call("verify", name)
    call("fetch", name, "--output", str(tmp_path / "out.tar.gz"))
    assert (tmp_path / "out.tar.gz").read_bytes() == data
    call("restore", name, "--target", str(tmp_path / "fresh"))
    found = {path.relative_to(tmp_path / "fresh").as_posix() for path in (tmp_path / "fresh").rglob("*")}
    assert any(path.endswith("a.txt") for path in found)
    call("restore", name, "--only", "workspace/a.txt", "--apply", "--yes")
    assert (work.folder / "a.txt").read_bytes() == b"hello\n"
