"""Floor 3, `backup`: a bundle file on its way to a vault that takes whole files: verified, then sent.

A large one goes by offsets.  What is under way stands in the layout's state file, so that the next run
goes on where this one ended, for the same bytes only (spec 5, promises).
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muniment.backup.errors import BundleChanged, UploadStuck
from muniment.bundle.gunzip import raw
from muniment.bundle.verify import verify
from muniment.bundle.whole import CHUNK, ONE_SHOT_BELOW, Description, Full, Kept, WholeVault
from muniment.canonical import Json, NotJson, canonical, read_json
from muniment.disk.errors import NotThere, WrongKind, named
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.errors import MunimentError, NotFound, Unreachable
from muniment.message import Message, say
from muniment.path import RelPath, printable

STANDS_MOST = 3
"""So often a vault may take bytes and stand where it stood before."""

_STATE_LIMIT = 1 << 20
_READ = 1 << 20


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A bundle file that was read whole and holds what its manifest says; `size` in bytes."""

    path: Path
    fd: int
    size: int
    sha256: str
    said: Description

    def part(self, start: int, most: int) -> bytes:
        """The bytes from an offset on; `BundleChanged` when the file has become shorter."""
        parts: list[bytes] = []
        want = min(most, self.size - start)
        while want:
            with named(str(self.path)):
                data = os.pread(self.fd, want, start)
            if not data:
                raise BundleChanged(where=printable(str(self.path)), why=say("it became shorter"))
            parts.append(data)
            start, want = start + len(data), want - len(data)
        return b"".join(parts)


@contextmanager
def opened(path: Path, label: str | None, sections: tuple[str, ...] | None) -> Iterator[BundleFile]:
    """A bundle file, verified in one pass: `BadBundle`, `BadManifest`, `ContentsDiffer`.

    Label and sections are those of its manifest where none are given.
    """
    with named(str(path)):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise WrongKind(where=printable(str(path)), why=say("it is not a regular file"))
        state, size = hashlib.sha256(), 0

        def chunks() -> Iterator[bytes]:
            nonlocal size
            while True:
                with named(str(path)):
                    data = os.read(fd, _READ)
                if not data:
                    return
                state.update(data)
                size += len(data)
                yield data

        facts = verify(raw(chunks())).facts
        yield BundleFile(path, fd, size, state.hexdigest(), _description(facts, label, sections))
    finally:
        os.close(fd)


def _description(
    facts: Mapping[str, Any], label: str | None, sections: tuple[str, ...] | None
) -> Description:
    if label is None:
        label = facts["label"] if isinstance(facts.get("label"), str) else ""
    if sections is None:
        told = facts.get("sections")
        sections = tuple(one for one in told if isinstance(one, str)) if isinstance(told, list) else ()
    return Description(label, sections)


@dataclass(slots=True)
class Sending:
    """One bundle to one vault; `state` is where an upload by offsets is remembered."""

    vault: WholeVault
    bundle: BundleFile
    replace: str | None
    state: Path
    note: Callable[[Message], None]
    progress: Callable[[int], object]

    def send(self, *, by_offsets: bool) -> Kept | Full:
        """Send it, and hold what the vault says of it to what was verified."""
        bundle = self.bundle
        if bundle.size < ONE_SHOT_BELOW and not by_offsets:
            data = bundle.part(0, bundle.size)
            if hashlib.sha256(data).hexdigest() != bundle.sha256:
                raise BundleChanged(where=printable(str(bundle.path)), why=say("its bytes changed"))
            outcome = self.vault.create(data, bundle.said, replace=self.replace)
            self.progress(bundle.size)
        else:
            outcome = self._by_offsets()
        if isinstance(outcome, Kept) and (outcome.sha256, outcome.size) != (bundle.sha256, bundle.size):
            raise BundleChanged(where=outcome.id, why=say("the vault has other bytes"))
        return outcome

    def _by_offsets(self) -> Kept | Full:
        found = self._found()
        if found is not None:
            try:
                return self._ended(found, self._stands(found))
            except NotFound:
                self.note(say("The upload that was under way is gone; it begins anew."))
        begun = self._begin()
        return begun if isinstance(begun, Full) else self._ended(begun, lambda: begun.offset)

    def _ended(self, under_way: UnderWay, start: Callable[[], int]) -> Kept | Full:
        """Send what is missing; `NotFound` when the upload is gone and the vault has not kept it.

        It ends without us with all bytes, when only the answer was lost, or by its age.
        """
        try:
            outcome = self._go_on(under_way, start())
        except NotFound:
            kept = self._kept_meanwhile(under_way)
            self._forget()
            if kept is None:
                raise
            return kept
        self._forget()
        return outcome

    def _stands(self, under_way: UnderWay) -> Callable[[], int]:
        def asked() -> int:
            at, total = self.vault.offset(under_way.upload_id), self.bundle.size
            self.note(say("The upload goes on at byte {offset} of {total}.", offset=at, total=total))
            self.progress(at)
            return at

        return asked

    def _go_on(self, under_way: UnderWay, at: int) -> Kept | Full:
        """Send chunk after chunk.  A lost answer is asked after once; what stands still is given up."""
        total, lost, stood = self.bundle.size, False, 0
        while True:
            if not 0 <= at < total:
                raise UploadStuck(offset=at, total=total, where=self.vault.url)
            data = self.bundle.part(at, CHUNK)
            try:
                found = self.vault.send(under_way.upload_id, at, data, total)
            except Unreachable as error:
                if lost:
                    raise
                lost = True
                self.note(
                    say("A part was not acknowledged ({error}); asking how far it came.", error=error.reason)
                )
                try:
                    found = self.vault.offset(under_way.upload_id)
                except NotFound:
                    if at + len(data) < total or self._tells_digests():
                        raise
                    # Whether it was stored nobody can say here: beginning anew could store it twice.
                    self._forget()
                    raise error from error.__cause__
            if not isinstance(found, int):
                self.progress(len(data))
                return found
            if found > at:
                self.progress(found - at)
                lost, stood = False, 0
            else:
                stood += 1
                if stood >= STANDS_MOST:
                    raise UploadStuck(offset=found, total=total, where=self.vault.url)
            at = found

    def _begin(self) -> UnderWay | Full:
        before = tuple(one.id for one in self.vault.shelf().listed)
        begun = self.vault.reserve(self.bundle.size, self.bundle.said, replace=self.replace)
        if isinstance(begun, Full):
            return begun
        under_way = UnderWay(begun.upload_id, begun.offset, before, self._facts())
        with named(str(self.state.parent)):
            self.state.parent.mkdir(parents=True, exist_ok=True)
        with Root.open(self.state.parent) as root:
            data = canonical(under_way.to_json()) + b"\n"
            write_verified(root, RelPath((self.state.name,)), data, replace=True, mode=0o600)
        return under_way

    def _facts(self) -> dict[str, Json]:
        """What an upload under way is of: with any other it is not gone on with."""
        bundle = self.bundle
        return {
            "url": self.vault.url,
            "sha256": bundle.sha256,
            "total": bundle.size,
            "label": bundle.said.label,
            "sections": list(bundle.said.sections),
            "replace": self.replace,
        }

    def _found(self) -> UnderWay | None:
        """The upload of these very bytes that was under way; another one is given up, for it holds a
        slot and its place is needed."""
        try:
            with Root.open(self.state.parent) as root:
                data = root.read(RelPath((self.state.name,)), _STATE_LIMIT)
        except NotThere:
            return None
        try:
            found = UnderWay.from_json(read_json(data))
        except (NotJson, KeyError, TypeError, ValueError):
            self.note(say("What {path} says of an upload can not be read; it begins anew.",
                          path=printable(str(self.state))))  # fmt: skip
            return None
        if found.facts == self._facts():
            return found
        if found.facts.get("url") == self.vault.url:
            self.note(say("The upload of another bundle was under way; it is given up."))
            with suppress(MunimentError):
                self.vault.abort(found.upload_id)
        self._forget()
        return None

    def _forget(self) -> None:
        with suppress(NotThere), Root.open(self.state.parent) as root:
            root.unlink(RelPath((self.state.name,)), missing_ok=True)
            root.sync_folder(RelPath())

    def _tells_digests(self) -> bool:
        """Whether this vault's list says of what was sent whole which bytes it is."""
        return any(one.sha256 for one in self.vault.shelf().listed)

    def _kept_meanwhile(self, under_way: UnderWay) -> Kept | None:
        """The snapshot that these bytes became, though the answer was lost; only where the list says so."""
        shelf = self.vault.shelf()
        for one in shelf.listed:
            if one.sha256 == self.bundle.sha256 and one.id not in under_way.before:
                return Kept(one.id, one.size, one.sha256, shelf.remaining, one.root)
        return None


@dataclass(frozen=True, slots=True)
class UnderWay:
    """An upload by offsets; `before` are the snapshots that there were when it began."""

    upload_id: str
    offset: int
    before: tuple[str, ...]
    facts: Mapping[str, Json]

    def to_json(self) -> dict[str, Json]:
        """As it is remembered."""
        return {"v": 1, "upload_id": self.upload_id, "before": list(self.before), **self.facts}

    @classmethod
    def from_json(cls, value: Any) -> UnderWay:
        """Read what was remembered; a `KeyError`, `TypeError` or `ValueError` when it is nothing of ours."""
        facts = {name: value[name] for name in ("url", "sha256", "total", "label", "sections", "replace")}
        upload_id, before = value["upload_id"], value["before"]
        if value["v"] != 1 or not isinstance(upload_id, str) or not upload_id.isprintable():
            raise ValueError("v or upload_id")
        if not isinstance(before, list) or not all(isinstance(one, str) for one in before):
            raise TypeError("before")
        return cls(upload_id, 0, tuple(before), facts)
