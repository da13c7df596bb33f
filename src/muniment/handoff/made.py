"""Handoff room: step 0 of the gate: artifacts, and claims of git and of files.  Pure (spec 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from muniment.handoff.codes import Code, Finding
from muniment.handoff.facts import Facts, FileRead, RepositoryRead
from muniment.handoff.prose import claims_in, is_progress_note
from muniment.handoff.receipts import Claim, Return
from muniment.message import say

_STATE = {
    "missing": Code.ARTIFACT_MISSING,
    "outside": Code.ARTIFACT_OUTSIDE,
    "unreadable": Code.ARTIFACT_UNREADABLE,
}


def made_faults(facts: Facts, answer: Return) -> Iterator[Finding]:
    """What is wrong with what the worker says it made."""
    if is_progress_note(answer.conclusion):
        why = say("the conclusion announces work or says only that it is done")
        yield Finding(Code.PROGRESS_NOTE, "conclusion", why)
    read = {each.path: each for each in facts.artifacts}
    for path in answer.artifact_paths:
        yield from _artifact_fault(read.get(path, FileRead(path, "missing")))
    yield from _claim_faults(facts, answer)


def _artifact_fault(read: FileRead) -> Iterator[Finding]:
    if read.state != "read":
        why = read.why or say("nothing is there")
        yield Finding(_STATE.get(read.state, Code.ARTIFACT_UNREADABLE), read.path, why)
    elif read.size == 0:
        why = say("the file is empty") if read.files == 1 else say("nothing but empty files is there")
        yield Finding(Code.ARTIFACT_EMPTY, read.path, why)


def _claim_faults(facts: Facts, answer: Return) -> Iterator[Finding]:
    spoken = claims_in(answer.conclusion).union(*(claims_in(text) for text in answer.evidence))
    for kind in sorted(spoken - {claim.kind for claim in answer.claims}):
        why = say("the return says {claim} and names no commit and no repository", claim=kind)
        yield Finding(Code.CLAIM_UNNAMED, kind, why)
    repositories = {each.path: each for each in facts.repositories}
    for claim in answer.claims:
        if claim.kind == "verified":
            yield from _verified_fault(claim, facts.claimed)
        else:
            yield from _git_faults(claim, repositories.get(claim.repository))
    for kind in ("committed", "pushed"):
        named = {claim.repository for claim in answer.claims if claim.kind == kind}
        if named:
            for each in facts.repositories:
                if each.targets and each.path not in named:
                    yield from _held_faults(kind, each)


def _verified_fault(claim: Claim, claimed: Mapping[str, FileRead]) -> Iterator[Finding]:
    read = claimed.get(claim.path)
    if read is None or read.state != "read":
        why = say("it is said to be verified and can not be read")
        yield Finding(Code.VERIFIED_MISMATCH, claim.path, why)
    elif (read.size, read.sha256) != (claim.size, claim.sha256):
        why = say("it is said to be verified and has another size or SHA-256")
        yield Finding(Code.VERIFIED_MISMATCH, claim.path, why)


def _git_faults(claim: Claim, repository: RepositoryRead | None) -> Iterator[Finding]:
    if repository is None or not repository.found:
        yield Finding(Code.REPOSITORY_MISSING, claim.repository, say("there is no repository"))
        return
    if not repository.commits.get(claim.commit, False):
        why = say("the commit {commit} does not exist there", commit=claim.commit[:12])
        yield Finding(Code.COMMIT_NOT_FOUND, claim.repository, why)
        return
    if claim.kind == "pushed":
        yield from _push_fault(repository, claim.remote, claim.commit)
    paths = dict.fromkeys((*claim.paths, *repository.targets)) if claim.kind == "committed" else {}
    yield from _file_faults(repository, claim.commit, tuple(paths))


def _held_faults(kind: str, repository: RepositoryRead) -> Iterator[Finding]:
    """A repository that holds a target but is not named: the claim is taken to mean it too."""
    if repository.head is None:
        why = say("it holds a target of the contract and has no commit at all")
        yield Finding(Code.COMMIT_NOT_FOUND, repository.path, why)
    elif kind == "pushed":
        yield from _push_fault(repository, "", repository.head)
    else:
        yield from _file_faults(repository, repository.head, repository.targets)


def _push_fault(repository: RepositoryRead, remote: str, commit: str) -> Iterator[Finding]:
    state = repository.remotes.get((remote, commit), "unknown")
    if state == "lacks":
        why = say("no branch or tag of the remote holds the commit {commit}", commit=commit[:12])
        yield Finding(Code.NOT_PUSHED, repository.path, why)
    elif state != "holds":
        why = say("the remote could not be asked for the commit {commit}", commit=commit[:12])
        yield Finding(Code.REMOTE_UNKNOWN, repository.path, why)


def _file_faults(repository: RepositoryRead, commit: str, paths: tuple[str, ...]) -> Iterator[Finding]:
    for path in paths:
        blob, working = repository.blobs.get((commit, path)), repository.working.get(path)
        where = f"{repository.path}: {path}"
        if blob is None:
            why = say("the commit {commit} does not hold the file", commit=commit[:12])
            yield Finding(Code.COMMIT_LACKS_FILE, where, why)
        elif blob != working:
            why = say("the file is not what the commit {commit} holds", commit=commit[:12])
            yield Finding(Code.COMMIT_DIFFERS, where, why)
