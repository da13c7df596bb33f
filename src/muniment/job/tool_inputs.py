"""Room `job`: what a container is given to read: results of the job, files that a person named, scripts.

Every file is hashed just before it is given, and given alone: a container sees nothing beside it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from muniment.disk.errors import NoPermission, NotThere, OutsideRoot, SpecialFile, WrongKind
from muniment.disk.root import Root, real_folder
from muniment.disk.write import write_verified
from muniment.job.backend import OUTPUTS as ENGINE_OUTPUTS
from muniment.job.container_argv import INPUTS, SCRIPTS, Mount
from muniment.job.errors import BadInput, InputsChanged
from muniment.job.model import AUTHORING, Artifact, Registry
from muniment.job.outputs import changed, hash_file, inner_of
from muniment.job.places import below_authoring
from muniment.message import say
from muniment.path import RelPath, printable

MOST = 1000
"""Inputs and scripts at the most; each is a mount of its own."""

_SCRIPT_LIMIT = 16 << 20


@dataclass(frozen=True, slots=True)
class Given:
    """What a container is given, on record and as mounts."""

    inputs: tuple[Artifact, ...]
    scripts: tuple[Artifact, ...]
    mounts: tuple[Mount, ...]


def give(
    job: Root, name: str, registry: Registry, run: Root, inputs: Sequence[str], scripts: Sequence[str]
) -> Given:
    """Read and hash everything; `BadInput` for what is no ordinary file, `InputsChanged` for a
    result that is not what was recorded.

    Without `inputs` it is every result of the job's engine, by its path below its folder.
    """
    taken: list[Artifact] = []
    mounts: list[Mount] = []
    if inputs:
        for path in inputs:
            taken.append(_file(path, "input"))
            mounts.append(Mount(taken[-1].path, f"{INPUTS}/{os.path.basename(taken[-1].path)}"))
    else:
        results = [one for one in registry.execution.downstream.outputs if is_result(job, one)]
        odd = changed(job, results)
        if odd:
            raise InputsChanged(
                where=name,
                why=say("{finding}", finding=odd[0]),
                checked=len(results),
                wrong=len(odd),
                job=name,
            )
        for one in results:
            inner = inner_of(job, one.path).relative_to(ENGINE_OUTPUTS).posix
            taken.append(one)
            mounts.append(Mount(one.path, f"{INPUTS}/{inner}"))
    kept = [_script(path, run) for path in scripts]
    mounts += [Mount(one.path, f"{SCRIPTS}/{os.path.basename(one.path)}") for one in kept]
    _check(mounts)
    return Given(tuple(taken), tuple(kept), tuple(mounts))


def is_result(job: Root, one: Artifact) -> bool:
    """Whether a recorded output came from the job's engine, and not from its tool."""
    return one.path.startswith(os.path.join(job.path, *ENGINE_OUTPUTS.parts) + "/")


def _check(mounts: Sequence[Mount]) -> None:
    seen: set[str] = set()
    for mount in mounts:
        where = printable(mount.source)
        if mount.target in seen:
            raise BadInput(path=where, why=say("another one has the same name"))
        seen.add(mount.target)
        if any(ord(sign) < 32 or ord(sign) == 127 for sign in mount.source):
            raise BadInput(path=where, why=say("its name holds control characters"))
    if len(mounts) > MOST:
        why = say("there are more than {count}", count=MOST)
        raise BadInput(path=printable(mounts[MOST].source), why=why)


def _file(path: str, role: str) -> Artifact:
    where = printable(path)
    folder, _, base = os.path.abspath(path).rpartition("/")
    try:
        path.encode("utf-8")
        with Root.open(real_folder(folder or "/")) as root:
            digest, size = hash_file(root, RelPath((base,)))
            full = os.path.join(root.path, base)
    except ValueError as error:
        raise BadInput(path=where, why=say("its name can not be used")) from error
    except (OutsideRoot, SpecialFile, WrongKind, NotThere, NoPermission) as error:
        raise BadInput(path=where, why=error.why or error.message) from error
    if below_authoring([full]):
        raise BadInput(path=where, why=say("it lies below {folder}", folder=AUTHORING))
    return Artifact(full, size, digest.hex, role)


def _script(path: str, run: Root) -> Artifact:
    """A script as it is now, kept with the run: what ran can be read again."""
    found = _file(path, "script")
    base = os.path.basename(found.path)
    with Root.open(os.path.dirname(found.path)) as folder:
        data = folder.read(RelPath((base,)), _SCRIPT_LIMIT)
    rel = RelPath(("scripts", base))
    if run.exists(rel):
        raise BadInput(path=printable(path), why=say("another one has the same name"))
    run.make_folders(rel.parent)
    written = write_verified(run, rel, data, mode=0o755)
    return Artifact(os.path.join(run.path, *rel.parts), written.size, written.digest.hex, "script")
