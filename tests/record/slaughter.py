"""A program: writers that are killed at random while they append, and begun again until all is written.

`python tests/record/slaughter.py FOLDER WRITERS EVENTS LEAST MOST SEED`.  Each writer is a process
that prints the index and id of an event only after the append has returned.  After between LEAST
and MOST acknowledged events it gets SIGKILL, wherever it is then, and a new one goes on with the
first event that was not acknowledged.  What was acknowledged is printed as JSON at the end.
"""

from __future__ import annotations

import json
import os
import random
import selectors
import signal
import sys
from dataclasses import dataclass, field

from muniment.clock import system_clock
from muniment.disk.root import Root
from muniment.path import RelPath
from muniment.record.event import Draft
from muniment.record.ledger import Ledger

SEGMENT_BYTES = 1 << 20


def write(folder: str, writer: int, start: int, events: int, out: int) -> None:
    """Append what is left, one by one, in batches of several, and now and then a large one."""
    chance = random.Random(f"{writer} {start}")
    with Root.open(folder) as root:
        ledger = Ledger(root, RelPath.parse("ledger"), clock=system_clock, segment_bytes=SEGMENT_BYTES)
        number = start
        while number < events:
            batch = range(number, min(events, number + chance.choice((1, 1, 1, 1, 1, 1, 1, 5))))
            text = "x" * chance.choice((0, 0, 0, 0, 0, 0, 0, 60_000))
            drafts = [Draft("test.happened", f"w_{writer}", {"number": n, "text": text}) for n in batch]
            done = ledger.append_many(drafts)
            lines = [f"{n} {event.event_id}\n" for n, event in zip(batch, done, strict=True)]
            os.write(out, "".join(lines).encode())
            number += len(batch)


@dataclass(slots=True)
class Writer:
    """One of the writers: its present process, and what was acknowledged so far."""

    number: int
    acknowledged: list[str] = field(default_factory=list)
    process: int = 0
    pipe: int = -1
    rest: bytes = b""
    left: int = 0

    def begin(self, folder: str, events: int, left: int) -> None:
        self.left = left
        self.pipe, out = os.pipe()
        self.process = os.fork()
        if not self.process:
            status = 1
            try:
                os.close(self.pipe)
                write(folder, self.number, len(self.acknowledged), events, out)
                status = 0
            finally:
                os._exit(status)
        os.close(out)

    def listen(self) -> bool:
        """Take what it says; whether it still lives."""
        data = os.read(self.pipe, 1 << 16)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            number, event_id = line.decode().split(" ")
            assert int(number) == len(self.acknowledged), "the writer skipped one"
            self.acknowledged.append(event_id)
            self.left -= 1
        if self.left <= 0 and data:
            os.kill(self.process, signal.SIGKILL)
            self.left = sys.maxsize
        return bool(data)

    def end(self) -> bool:
        """Bury it; whether it was killed."""
        assert not self.rest, "an id was half printed"
        os.close(self.pipe)
        _, status = os.waitpid(self.process, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "a writer failed"
        return os.WIFSIGNALED(status)


def main(folder: str, writers: int, events: int, least: int, most: int, seed: int) -> None:
    """Let them write and die until all is written."""
    chance = random.Random(seed)
    living = selectors.DefaultSelector()
    crew = [Writer(number) for number in range(writers)]
    kills = 0
    for writer in crew:
        writer.begin(folder, events, chance.randint(least, most))
        living.register(writer.pipe, selectors.EVENT_READ, writer)
    while living.get_map():
        for key, _ in living.select():
            writer = key.data
            if writer.listen():
                continue
            living.unregister(writer.pipe)
            kills += writer.end()
            if len(writer.acknowledged) < events:
                writer.begin(folder, events, chance.randint(least, most))
                living.register(writer.pipe, selectors.EVENT_READ, writer)
    print(json.dumps({"kills": kills, "acknowledged": [writer.acknowledged for writer in crew]}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
