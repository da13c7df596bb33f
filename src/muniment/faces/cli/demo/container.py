"""Faces, command line: the demo's chapter of the tool: a program of this machine in a container.

Its image is made on the spot from a program that is here anyway, in a store below the demo's own
folder, so nothing is fetched and nothing of the person's own images is touched.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass, replace
from pathlib import Path

from muniment.errors import MunimentError
from muniment.faces.cli.demo.stage import Stage
from muniment.job.container_argv import OUTPUTS, Mount, Order
from muniment.job.container_runtime import ContainerRuntime
from muniment.job.containers import LIMITS, runtimes_of
from muniment.job.launching import SystemLauncher
from muniment.job.tool_run import Engine
from muniment.message import say

IMAGE = "localhost/demo"
_LIMITS = replace(LIMITS, cpus=1)
_LIBRARY = re.compile(r"(/[^\s:]+\.so[^\s:]*)")


@dataclass(frozen=True, slots=True)
class _Program:
    """A program that the demo runs on its reads, and what it then says of twelve of them."""

    path: str
    arguments: tuple[str, ...]
    mark: str
    times: int


def tool_chapter(stage: Stage) -> None:
    """Pull, run, and read back; where no container can be run, one line says so."""
    runtime = _runtime(stage.place)
    program = _program()
    try:
        runtime.version()
        _make_image(stage.place, runtime, program)
    except (MunimentError, OSError) as error:
        reason = error.reason if isinstance(error, MunimentError) else str(error)
        stage.leave_out(
            "container",
            say("The tool in a container is left out, for podman does not work here: {why}", why=reason),
        )
        return
    config = stage.place / "config" / "muniment" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    words = ", ".join(f'"{word}"' for word in _words(stage.place))
    config.write_text(f"[job]\npodman = [{words}]\ntool_cpus = 1\n", encoding="utf-8")

    stage.tell(say("A tool goes on with the reads, in a container that has no network."))
    summary = stage.write("tool.json", '{"about": "reads"}\n')
    stage.run("job", "finalize", "demo", "--tool", f"{IMAGE}:1", "--summary", str(summary))
    stage.run("job", "pull", "demo")
    reads = str(stage.workspace / "reads" / "sample.fastq")
    stage.run("job", "run", "demo", "--input", reads, "--", program.path, "/inputs/nosuch", expect=4)
    stage.tell(
        say("A run that failed is on record as one, and the job is not complete. The next one is right.")
    )
    stage.run("job", "run", "demo", "--input", reads, "--", program.path, *program.arguments)
    run = stage.ask("job", "show", "demo")["tool"]["runs"][-1]
    said = Path(next(one["path"] for one in run["logs"] if one["role"] == "stdout")).read_text(
        encoding="utf-8"
    )
    stage.as_told &= said.count(program.mark) == program.times and run["network"]["interfaces"] == ["lo"]
    stage.run("job", "verify", "demo")


def _words(place: Path) -> tuple[str, ...]:
    store = place / "c"  # podman takes no runroot of more than 50 characters
    # Of all ways to store images the one that needs nothing of the file system, nor of its rights.
    return ("podman", "--root", f"{store}/root", "--runroot", f"{store}/run", "--storage-driver", "vfs")


def _runtime(place: Path) -> ContainerRuntime:
    return runtimes_of({Engine.PODMAN: _words(place)}, SystemLauncher())[Engine.PODMAN]


def _program() -> _Program:
    """seqtk where it is installed; else what counts lines is on every machine."""
    seqtk = shutil.which("seqtk")
    if seqtk is not None:
        return _Program(os.path.realpath(seqtk), ("seq", "-a", "/inputs/sample.fastq"), ">read", 12)
    return _Program(
        os.path.realpath(shutil.which("wc") or "/usr/bin/wc"), ("-l", "/inputs/sample.fastq"), "48 ", 1
    )


def _make_image(place: Path, runtime: ContainerRuntime, program: _Program) -> None:
    """An image that holds the program and its libraries, and a container of it that could begin."""
    tar = place / "image.tar"
    with tarfile.open(tar, "w") as layer:
        for path in (program.path, *_libraries(program.path)):
            data = Path(path).read_bytes()
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode = len(data), 0o755
            layer.addfile(entry, io.BytesIO(data))
    done = SystemLauncher().run([*_words(place), "import", "--quiet", str(tar), f"{IMAGE}:1"], deadline=60)
    tar.unlink()
    image = runtime.image(f"{IMAGE}:1")
    if done.code != 0 or image is None:
        raise OSError(done.err.decode("utf-8", "replace").strip())
    outputs = place / "try"
    outputs.mkdir()
    order = Order("muniment-demo", image.id, (program.path,), _LIMITS, (Mount(str(outputs), OUTPUTS, True),))
    try:
        runtime.create(order, ())
        runtime.init("muniment-demo", (), str(place))
    finally:
        runtime.remove("muniment-demo")


def _libraries(program: str) -> list[str]:
    """What the dynamic linker would load; nothing for a program that needs none."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return sorted(set(_LIBRARY.findall(listed)))
