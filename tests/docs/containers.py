"""Documentation: `podman` for the pages that use it, with stores of its own, as this machine needs it."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.house.tree import committed

PROJECT = Path(__file__).resolve().parents[2]

_CONFIGURATION = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
"""Without it podman does not run where limits can not be raised and control groups are of both kinds."""


class Podman:
    """A `podman` in front of the machine's own, in a folder for `PATH`; `close` removes what it made."""

    def __init__(self, folder: Path) -> None:
        self.programs = folder / "podman"
        self.programs.mkdir()
        self._store = folder / "containers"
        self.variables = {"CONTAINERS_CONF": str(folder / "containers.conf")}
        Path(self.variables["CONTAINERS_CONF"]).write_text(_CONFIGURATION, "utf-8")
        real = shutil.which("podman")
        assert real is not None
        self._call = [real, "--log-level=fatal", f"--root={self._store / 'root'}"]
        # a path in it has to fit into the address of a socket
        self._run = tempfile.mkdtemp(prefix="run")
        self._call += [f"--runroot={self._run}"]

    def place(self, base: Path) -> None:
        """Make the Debian in that folder the base of builds, and hand them the machine's set-up of pip."""
        pack = (
            f"tar -C {shlex.quote(str(base))} --numeric-owner -c . | {shlex.join(self._call)} import - base"
        )
        done = subprocess.run(
            ["sh", "-c", pack], check=False, env=os.environ | self.variables, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"the base was not taken in: {done.stderr}")
        given = ["--network=host", "--build-arg=BASE=localhost/base", *self._pip()]
        script = f'if [ "$1" = build ]; then shift; set -- build {shlex.join(given)} "$@"; fi\n'
        program = self.programs / "podman"
        program.write_text(f'#!/bin/sh\n{script}exec {shlex.join(self._call)} "$@"\n', "utf-8")
        program.chmod(0o755)

    def _pip(self) -> list[str]:
        """Mounts for a build: what pip is told on this machine, and every file that it is told of."""
        listed = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
        )
        given: dict[str, str] = {}
        mounts = set()
        for name, value in re.findall(r"^(?:global|:env:)\.([a-z-]+)='(.*)'$", listed.stdout, re.MULTILINE):
            for path in re.findall(r"(?<![:\w])/(?!/)[^\s']+|(?<=file://)/[^\s']+", value):
                if Path(path).exists():
                    # an index on the disk points beside itself
                    mounts.add(str(Path(path).parent) if Path(path).is_dir() else path)
                    value = value.replace(path, f"/machine{path}")
            given[name] = value.replace("\\n", " ")
        told = self.programs / "pip.conf"
        told.write_text("\n".join(["[global]", *(f"{name} = {value}" for name, value in given.items()), ""]))
        return [
            f"--volume={told}:/etc/pip.conf:ro",
            *(f"--volume={path}:/machine{path}:ro" for path in sorted(mounts)),
        ]

    def close(self) -> None:
        """End what runs, and take the stores away."""
        for words in (["rm", "--all", "--force", "--time=1"], ["volume", "rm", "--all", "--force"]):
            subprocess.run(
                [*self._call, *words], env=os.environ | self.variables, capture_output=True, check=False
            )
        subprocess.run(["umount", self._store / "root" / "overlay"], capture_output=True, check=False)
        for folder in (self._store, self._run):
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(folder)


def source_tree(target: Path) -> None:
    """A copy of what is committed."""
    for name in committed():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, target / name)
