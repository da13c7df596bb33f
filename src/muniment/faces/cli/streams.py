"""Faces, command line: the three streams of the process, and what may go wrong with them."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TextIO


class ReaderGone(Exception):
    """Nobody reads our standard output any more."""


class Streams:
    """Standard input, output and error of one call.

    A stream that was closed before we started counts as empty; signs that an encoding does not
    have are spelled with a backslash, so that no name can stop an answer.
    """

    def __init__(self, stdin: TextIO | None, stdout: TextIO | None, stderr: TextIO | None) -> None:
        self.stdin = stdin if stdin is not None else io.StringIO()
        self.stdout = stdout if stdout is not None else io.StringIO()
        self.stderr = stderr if stderr is not None else io.StringIO()
        for stream, errors in ((self.stdin, "replace"), (self.stdout, "backslashreplace")):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors=errors)
        if isinstance(self.stderr, io.TextIOWrapper):
            self.stderr.reconfigure(errors="backslashreplace")

    def read_bytes(self, limit: int) -> bytes:
        """What is piped in, at most so many bytes, as it comes; nothing where there is no stream."""
        buffer = getattr(self.stdin, "buffer", None)
        if buffer is not None:
            return bytes(buffer.read(limit))
        return self.stdin.read(limit).encode("utf-8", "surrogateescape")[:limit]

    def out(self, text: str) -> None:
        """Write to standard output; `ReaderGone` when its reader has left."""
        try:
            self.stdout.write(text)
        except BrokenPipeError as error:
            raise ReaderGone from error

    def out_bytes(self, data: bytes) -> None:
        """Write bytes as they are, after what was written as text."""
        try:
            self.stdout.flush()
            if isinstance(self.stdout, io.TextIOWrapper):
                self.stdout.buffer.write(data)
            else:
                self.stdout.write(data.decode("utf-8", "backslashreplace"))
        except BrokenPipeError as error:
            raise ReaderGone from error

    def err(self, text: str) -> None:
        """Write to standard error; that nobody reads it is nothing we could tell anybody."""
        with suppress(OSError, ValueError):  # standard output tells its own troubles at the last flush
            self.stdout.flush()
        with suppress(OSError, ValueError):
            self.stderr.write(text)
            self.stderr.flush()

    def flush(self) -> None:
        """Hand on what was written; a full disk behind a redirection shows here."""
        try:
            self.stdout.flush()
        except BrokenPipeError as error:
            raise ReaderGone from error

    def abandon(self) -> None:
        """Stop writing for good, so that the interpreter's own last flush can not fail again."""
        with suppress(OSError, ValueError):
            sink = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(sink, self.stdout.fileno())
            finally:
                os.close(sink)

    @property
    def speaks_unicode(self) -> bool:
        """Whether standard output can hold every sign."""
        encoding = getattr(self.stdout, "encoding", None) or "utf-8"
        return encoding.lower().replace("_", "-") in ("utf-8", "utf8")

    def width(self, environment: Mapping[str, str], stream: TextIO | None = None) -> int:
        """Columns of the terminal at standard output, or at that stream; 80 when there is none."""
        said = environment.get("COLUMNS", "")
        if said.isascii() and said.isdigit() and int(said[:6]) > 0:
            return int(said[:6])
        with suppress(OSError, ValueError):
            return os.get_terminal_size((stream or self.stdout).fileno()).columns or 80
        return 80


def is_terminal(stream: TextIO) -> bool:
    """Whether a person may sit at the other end."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False
