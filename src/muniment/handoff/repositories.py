"""Handoff room: git repositories asked for facts: commits, the bytes they hold, and their remotes.

The claim says which commit; everything else is read from the repository and its remote.  Nothing
that a repository's own configuration could run is asked for.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from muniment.disk import platform
from muniment.disk.errors import named
from muniment.disk.root import Root
from muniment.disk.write import chunks_of
from muniment.errors import MunimentError
from muniment.handoff.facts import RepositoryRead
from muniment.handoff.model import Contract
from muniment.handoff.receipts import Claim
from muniment.path import BadPath, RelPath

AskGit = Callable[..., bytes | None]
"""Asks git a read-only question in a folder: its output, none when it fails."""

_PROTOCOLS = "file:git:http:https:ssh"
"""By these a remote is asked; all others are programs that it names itself."""

_OUTSIDE = ("--git-dir=/dev/null", "-c", "core.sshCommand=ssh -oBatchMode=yes")
"""A remote is asked by its address, outside of the repository: its configuration names programs that
prove who one is, or that stand in between."""


def read_repositories(
    root: Root, claims: Iterable[Claim], contract: Contract | None, ask: AskGit
) -> tuple[RepositoryRead, ...]:
    """Every repository that a claim names or that holds a target, once each.

    Targets that a repository ignores are not in its care.  Without any claim nothing is asked.
    """
    wanted = [claim for claim in claims if claim.kind in ("committed", "pushed")]
    if not wanted:
        return ()
    tops: dict[Path, list[str]] = {}
    found: dict[str, RepositoryRead] = {}
    for claim in wanted:
        if claim.repository not in found:
            top = _top(_place(root, claim.repository), ask)
            found[claim.repository] = RepositoryRead(claim.repository, found=top is not None)
            if top is not None:
                tops.setdefault(top, []).append(claim.repository)
    for top, target in _holding(root, contract, ask):
        if top not in tops:
            tops[top] = [str(top)]
            found[str(top)] = RepositoryRead(str(top))
        for name in tops[top]:
            found[name] = replace(found[name], targets=(*found[name].targets, target))
    for top, names in tops.items():
        for name in names:
            found[name] = _filled(
                top, found[name], [claim for claim in wanted if claim.repository == name], ask
            )
    return tuple(found.values())


def _place(root: Root, path: str) -> Path | None:
    if path.startswith("/"):
        return Path(path)
    try:
        rel = RelPath() if path in (".", "") else RelPath.parse(path)
    except BadPath:
        return None
    return Path(root.path, *rel.parts)


def _top(place: Path | None, ask: AskGit) -> Path | None:
    """The top of the tree, only if the place itself is one."""
    if place is None or not place.is_dir():
        return None
    answer = ask(place, "rev-parse", "--show-toplevel")
    if not answer:
        return None
    top = Path(os.fsdecode(answer.rstrip(b"\n")))
    return top if top == place.resolve() else None


def _holding(root: Root, contract: Contract | None, ask: AskGit) -> Iterable[tuple[Path, str]]:
    """Each target's file with the repository that holds it and does not ignore it."""
    for entry in contract.required.values() if contract is not None else ():
        rel = RelPath.parse(entry.path)
        for file in _files(root, rel):
            folder = Path(root.path, *file.parent.parts)
            answer = ask(folder, "rev-parse", "--show-toplevel")
            if not answer or ask(folder, "check-ignore", "-q", "--", file.name) is not None:
                continue
            top = Path(os.fsdecode(answer.rstrip(b"\n")))
            yield top, str(Path(root.path, *file.parts).relative_to(top))


def _files(root: Root, rel: RelPath) -> list[RelPath]:
    try:
        if stat.S_ISDIR(root.stat(rel).st_mode):
            return [rel / name for name in root.names(rel) if name.endswith(".jsonl")]
    except MunimentError:
        return []
    return [rel]


def _filled(top: Path, read: RepositoryRead, claims: list[Claim], ask: AskGit) -> RepositoryRead:
    answer = ask(top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    head = answer.decode("ascii", "replace").strip() if answer else None
    named_commits = dict.fromkeys(claim.commit for claim in claims)
    commits = {commit: _resolves(top, commit, ask) for commit in named_commits}
    pairs = {(claim.commit, path) for claim in claims for path in (*claim.paths, *read.targets)}
    pairs |= {(head, path) for path in read.targets if head is not None}
    blobs = {(commit, path): _blob(top, commit, path, ask) for commit, path in sorted(pairs)}
    width = len(head or next(iter(named_commits), ""))
    working = {path: _working(top, path, width) for path in sorted({path for _, path in pairs})}
    asked = {(claim.remote, claim.commit) for claim in claims if claim.kind == "pushed"}
    asked |= {("", head)} if head is not None else set()
    remotes = {(remote, commit): _remote(top, remote, commit, ask) for remote, commit in sorted(asked)}
    return replace(read, head=head, commits=commits, blobs=blobs, working=working, remotes=remotes)


def _resolves(top: Path, commit: str, ask: AskGit) -> bool:
    return ask(top, "cat-file", "-e", f"{commit}^{{commit}}") is not None


def _blob(top: Path, commit: str, path: str, ask: AskGit) -> str | None:
    """Git's own name for the bytes of a file at a commit."""
    answer = ask(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}:{path}")
    if not answer:
        return None
    return answer.decode("ascii", "replace").strip().splitlines()[-1]


def _working(top: Path, path: str, width: int) -> str | None:
    """The name that git would give the bytes on disk, computed here: no filter of the repository runs."""
    try:
        rel = RelPath.parse(path)
        with Root.open(top) as root:
            fd = root.open_file(rel)
            try:
                with named(rel):
                    state = hashlib.sha256() if width == 64 else hashlib.sha1(usedforsecurity=False)
                    state.update(b"blob %d\0" % os.fstat(fd).st_size)
                    for chunk in chunks_of(fd):
                        state.update(chunk)
            finally:
                platform.close(fd)
    except (BadPath, MunimentError):
        return None
    return state.hexdigest()


def _remote(top: Path, remote: str, commit: str, ask: AskGit) -> str:
    """Whether the remote itself, asked now, holds a commit; its tracking branches prove nothing."""
    answer = ask(top, "remote")
    names = [name for name in os.fsdecode(answer or b"").split("\n") if name]
    if remote:
        return _one_remote(top, remote, commit, ask) if remote in names else "unknown"
    states = [_one_remote(top, name, commit, ask) for name in names]
    if "holds" in states:
        return "holds"
    return "unknown" if "unknown" in states else "lacks"


def _one_remote(top: Path, remote: str, commit: str, ask: AskGit) -> str:
    url = os.fsdecode(ask(top, "remote", "get-url", "--", remote) or b"").rstrip("\n")
    question = ("ls-remote", "--heads", "--tags", "--", url)
    answer = ask(top, *_OUTSIDE, *question, protocols=_PROTOCOLS) if url else None
    if answer is None:
        return "unknown"
    tips = {line.split(b"\t")[0].decode("ascii", "replace") for line in answer.splitlines() if b"\t" in line}
    for tip in sorted(tips):
        if tip == commit:
            return "holds"
        if _resolves(top, tip, ask) and ask(top, "merge-base", "--is-ancestor", commit, tip) is not None:
            return "holds"
    return "lacks"
