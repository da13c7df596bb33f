"""Ledgers for tests: with a clock that ticks, looked at from outside, written anew by other code."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from muniment.clock import Clock
from muniment.disk.root import Root
from muniment.path import RelPath
from muniment.record.event import Context, Draft, Event
from muniment.record.ledger import Ledger
from muniment.record.verify import Verdict, verify

FOLDER = RelPath.parse(".muniment/ledger")
ZEROS = "0" * 64
START = datetime(2026, 11, 30, 14, 28, tzinfo=UTC)


@dataclass(slots=True)
class Ticking:
    """A clock that goes on by its step at each look; the step may be nothing, or backwards."""

    now: datetime = START
    step: timedelta = timedelta(milliseconds=7)

    def __call__(self) -> datetime:
        self.now += self.step
        return self.now


def draft(number: int = 0, **evidence: Any) -> Draft:
    """An event like those of the rooms."""
    return Draft("test.happened", f"arc_{number}", {"number": number, **evidence})


@dataclass(frozen=True, slots=True)
class Desk:
    """A root, and the ledger's files as anybody sees them."""

    root: Root
    clock: Clock = field(default_factory=Ticking)

    def ledger(self, segment_bytes: int = 1 << 20, **more: Any) -> Ledger:
        """The ledger, opened anew."""
        more.setdefault("clock", self.clock)
        return Ledger(self.root, FOLDER, segment_bytes=segment_bytes, actor="test", **more)

    @property
    def folder(self) -> Path:
        """Where the segments are."""
        return Path(self.root.path) / ".muniment" / "ledger"

    @property
    def segments(self) -> list[Path]:
        """The segments there are."""
        return sorted(self.folder.glob("[0-9][0-9][0-9][0-9][0-9][0-9].jsonl"))

    @property
    def torn(self) -> dict[str, bytes]:
        """What was set aside, by name."""
        folder = self.folder / "torn"
        return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}

    @property
    def records(self) -> list[dict[str, Any]]:
        """Every line of every segment, which all must be records."""
        return [json.loads(line) for path in self.segments for line in path.read_bytes().split(b"\n")[:-1]]

    def fill(self, count: int, ledger: Ledger | None = None) -> list[Event]:
        """Append so many events."""
        ledger = ledger or self.ledger()
        return [ledger.append(draft(number)) for number in range(count)]

    def verify(self, **more: Any) -> Verdict:
        """A whole reading."""
        return verify(self.ledger(), **more)


def spelled(value: object) -> bytes:
    """Canonical JSON for what these tests write: ASCII keys and no fractions."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sealed(prev: str = ZEROS, **members: Any) -> bytes:
    """A record's line without its newline, by other code than that under test; members replace
    the usual ones."""
    record: dict[str, Any] = {
        "v": 1,
        "event_id": "01KDVDNA000000000000000000",
        "at": "2026-11-30T14:28:00.000000Z",
        "actor": "test",
        "kind": "test.happened",
        "subject": "arc_1",
        "context": Context().to_json(),
        "evidence": {},
        "prev": prev,
        **members,
    }
    return spelled({**record, "sha256": hashlib.sha256(spelled(record)).hexdigest()})


def digest_in(line: bytes) -> str:
    """The digest that a record carries."""
    return str(json.loads(line)["sha256"])


def chained(count: int, prev: str = ZEROS, **members: Any) -> list[bytes]:
    """So many records, each continuing the one before."""
    lines: list[bytes] = []
    for number in range(count):
        lines.append(sealed(prev, **{"subject": f"arc_{number}", **members}))
        prev = digest_in(lines[-1])
    return lines


def lay(desk: Desk, *segments: list[bytes] | bytes) -> None:
    """Segments as they are given, lines or bytes."""
    desk.folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(segments, 1):
        data = content if isinstance(content, bytes) else b"".join(line + b"\n" for line in content)
        (desk.folder / f"{number:06}.jsonl").write_bytes(data)
