"""Room `job`: a container runtime, spoken to as a program; every answer is read, none is believed.

What it is told is built by `container_argv`, what it answers is read by `container_answers`, and
what sets one runtime apart stands in its `Dialect`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from muniment.canonical import NotJson, read_json
from muniment.errors import MunimentError
from muniment.job import container_answers as answers
from muniment.job.container_answers import ImageFacts, OddAnswer, Seen
from muniment.job.container_argv import Caller, Dialect, Order, create_argv
from muniment.job.errors import (
    BadAuthFile,
    ContainerStuck,
    ImageCorrupt,
    ImageUnknown,
    PullFailed,
    RegistryDenied,
    RegistryUnreachable,
    RuntimeAnswer,
    RuntimeFailed,
    RuntimeMissing,
)
from muniment.job.launching import Attached, Done, Launcher
from muniment.job.tool_run import Engine
from muniment.message import Message, say
from muniment.path import printable

_STEP = 120
"""Seconds that one step other than a pull may take."""

_PULL = 6 * 3600
_AUTH_LIMIT = 1 << 20

T = TypeVar("T")


class ContainerRuntime:
    """One runtime: `program` is its argv, options that stand before every command included."""

    def __init__(
        self, dialect: Dialect, program: tuple[str, ...], launcher: Launcher, caller: Callable[[], Caller]
    ) -> None:
        self.dialect = dialect
        self._program = program
        self._launcher = launcher
        self._caller = caller

    @property
    def engine(self) -> Engine:
        """Which one it is."""
        return self.dialect.engine

    @property
    def name(self) -> str:
        """Its name on every face."""
        return self.dialect.engine.value

    def version(self) -> str:
        """Its version, as one that works: `RuntimeMissing`, `RuntimeFailed`."""
        done = self._step(say("say which version it is"), *self.dialect.version)
        version = done.out.decode("utf-8", "replace").strip()
        if not version or len(version) > 100 or "\n" in version:
            raise RuntimeAnswer(runtime=self.name, why=say("no version: {words}", words=_words(done.out)))
        return version

    def image(self, reference: str) -> ImageFacts | None:
        """The image of a reference or an id as it is here; None when there is none."""
        done = self._run(_STEP, "image", "inspect", reference)
        if done.code != 0:
            if _says(done, self.dialect.no_image):
                return None
            raise self._failed(say("look an image up"), done)
        return self._read(lambda: answers.image_facts(reference, done.out))

    def pull(self, reference: str, auth_file: str) -> None:
        """Fetch an image; whatever is wrong is one of the errors that a person can act upon."""
        with self._credentials(auth_file) as (before, after):
            done = self._run(_PULL, *before, "pull", *after, "--quiet", reference)
        if done.code != 0:
            raise self._pull_failed(reference, done)

    def create(self, order: Order, keep: Sequence[int]) -> None:
        """Make the container of an order; its program does not begin."""
        argv = create_argv((), self.dialect, order, self._caller())
        self._step(say("make the container"), *argv, keep=keep)

    def init(self, container: str, keep: Sequence[int], cwd: str) -> None:
        """Prepare a container up to the point at which its program would begin.

        Whoever watches over it from then on may leave a file in the folder it is started in.
        """
        self._step(say("prepare the container"), *self.dialect.init, container, keep=keep, cwd=cwd)

    def start(self, container: str, *, out: int, err: int, keep: Sequence[int]) -> Attached:
        """Begin the program, its streams in two open files."""
        argv = [*self._program, *self.dialect.start, container]
        try:
            return self._launcher.start(argv, out=out, err=err, keep=keep)
        except OSError as error:
            raise self._not_started(error) from error

    def look(self, container: str) -> Seen | None:
        """A container as it is now; None when there is none of that name."""
        done = self._run(_STEP, "container", "inspect", container)
        if done.code != 0:
            if _says(done, self.dialect.no_container):
                return None
            raise self._failed(say("look at the container"), done)
        return self._read(lambda: answers.container(done.out))

    def kill(self, container: str) -> None:
        """End its program now; one that has ended already, or never began, is no fault."""
        self._run(_STEP, "kill", "--signal", "KILL", container)

    def remove(self, container: str) -> None:
        """End and remove a container by its name; `ContainerStuck` when it is there afterwards."""
        self.kill(container)
        done = self._run(_STEP, *self.dialect.remove, container)
        if self.look(container) is not None:
            raise ContainerStuck(where=self.name, why=_quoted(done.err), container=container)

    @contextmanager
    def _credentials(self, auth_file: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The options, before and after the command's word, that name an auth file."""
        if not auth_file:
            yield (), ()
            return
        require_auth_file(auth_file)
        if self.engine is Engine.PODMAN:
            yield (), ("--authfile", auth_file)
            return
        # docker takes a folder, and knows the file in it by one name only.
        with tempfile.TemporaryDirectory(prefix="muniment-auth-") as folder:
            os.symlink(auth_file, os.path.join(folder, "config.json"))
            yield ("--config", folder), ()

    def _step(self, step: Message, *arguments: str, keep: Sequence[int] = (), cwd: str | None = None) -> Done:
        done = self._run(_STEP, *arguments, keep=keep, cwd=cwd)
        if done.code != 0:
            raise self._failed(step, done)
        return done

    def _run(
        self, deadline: float, *arguments: str, keep: Sequence[int] = (), cwd: str | None = None
    ) -> Done:
        try:
            return self._launcher.run([*self._program, *arguments], deadline=deadline, keep=keep, cwd=cwd)
        except OSError as error:
            raise self._not_started(error) from error

    def _read(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except OddAnswer as error:
            raise RuntimeAnswer(runtime=self.name, why=say("{finding}", finding=error)) from error

    def _not_started(self, error: OSError) -> MunimentError:
        if isinstance(error, FileNotFoundError):
            return RuntimeMissing(where=self._program[0], runtime=self.name, install=self.dialect.install)
        why = say("{fault}", fault=printable(str(error))[:300])
        return RuntimeFailed(where=self._program[0], why=why, runtime=self.name, step=say("start"))

    def _failed(self, step: Message, done: Done) -> RuntimeFailed:
        return RuntimeFailed(why=_quoted(done.err or done.out), runtime=self.name, step=step)

    def _pull_failed(self, reference: str, done: Done) -> MunimentError:
        kind: type[MunimentError] = PullFailed
        # A denial comes first: what may not be seen is often said to be unknown as well.
        for known, words in (
            (RegistryDenied, self.dialect.denied),
            (ImageUnknown, self.dialect.unknown),
            (ImageCorrupt, self.dialect.corrupt),
            (RegistryUnreachable, self.dialect.unreachable),
        ):
            if _says(done, words):
                kind = known
                break
        return kind(where=self.name, why=_quoted(done.err), image=reference)


def require_auth_file(path: str) -> None:
    """`BadAuthFile` unless it is a file that holds what runtimes take credentials from."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(_AUTH_LIMIT + 1)
        value = read_json(data)
    except OSError as error:
        why = say("{fault}", fault=error.strerror or error)
        raise BadAuthFile(path=printable(path), why=why) from error
    except (NotJson, UnicodeDecodeError) as error:
        # Its words are not repeated: they may hold a password.
        raise BadAuthFile(path=printable(path), why=say("it is no JSON")) from error
    if not os.path.isabs(path):
        raise BadAuthFile(path=printable(path), why=say("an absolute path was expected"))
    if not isinstance(value, dict) or not ({"auths", "credHelpers", "credsStore"} & value.keys()):
        raise BadAuthFile(path=printable(path), why=say("it holds no credentials"))


def _says(done: Done, words: Sequence[str]) -> bool:
    text = (done.err + done.out).decode("utf-8", "replace").lower()
    return any(word in text for word in words)


def _words(text: bytes) -> str:
    """The last line that a program wrote, short enough to be shown."""
    lines = text.decode("utf-8", "replace").strip().splitlines()
    return printable(lines[-1])[:500] if lines else "-"


def _quoted(text: bytes) -> Message:
    return say("{words}", words=_words(text))
