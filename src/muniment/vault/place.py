"""Floor 3, `vault`: where a vault lies, and whether it lies where it must not."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.message import say
from muniment.path import printable
from muniment.vault.errors import VaultInside


def folder_of(address: str) -> Path:
    """The folder that an address names; a `ValueError` with a `Message` when it names none.

    >>> folder_of("file:///srv/my%20vault").as_posix()
    '/srv/my vault'
    >>> folder_of("s3://bucket")
    Traceback (most recent call last):
    ValueError: a vault is named by file:///… or http(s)://…; s3:// can not be used yet
    """
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise ValueError(say("no address: {value}", value=printable(repr(address)))) from error
    if parts.scheme != "file":
        if not parts.scheme or "://" not in address:
            raise ValueError(
                say("a vault is named by file:///… or http(s)://…, found {value}", value=repr(address))
            )
        raise ValueError(
            say(
                "a vault is named by file:///… or http(s)://…; {scheme}:// can not be used yet",
                scheme=parts.scheme,
            )
        )
    path = os.fsdecode(unquote_to_bytes(parts.path))
    if (
        parts.netloc not in ("", "localhost")
        or "?" in address
        or "#" in address
        or "\0" in path
        or not path.startswith("/")
        or ".." in path.split("/")
    ):
        raise ValueError(
            say("file:/// and the whole path of a folder were expected, found {value}", value=repr(address))
        )
    return Path(os.path.normpath(path))


@dataclass(frozen=True, slots=True)
class Address:
    """Where a vault answers; a `ValueError` with a `Message` for what is no such address.

    >>> Address.of("http://127.0.0.1:8080").port
    8080
    """

    secure: bool
    host: str
    port: int
    base: str

    @classmethod
    def of(cls, text: str) -> Address:
        """Read `http://host:port/base`."""
        try:
            parts = urlsplit(text)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError as error:
            raise ValueError(say("no address: {value}", value=printable(repr(text)))) from error
        odd = parts.username or parts.password or parts.query or parts.fragment
        if parts.scheme not in ("http", "https") or not parts.hostname or odd or not text.isprintable():
            raise ValueError(say("no address: {value}", value=printable(repr(text))))
        return cls(parts.scheme == "https", parts.hostname, port, parts.path.rstrip("/"))


def is_remote(address: str) -> bool:
    """Whether an address is one of a server.

    >>> is_remote("https://vault.example"), is_remote("file:///srv/vault")
    (True, False)
    """
    return address.startswith(("http://", "https://"))


def address_of(folder: Path) -> str:
    """The address of a folder.

    >>> address_of(Path("/srv/my vault"))
    'file:///srv/my%20vault'
    """
    return folder.absolute().as_uri()


def default_folder() -> Path:
    """Where a vault lies when nobody said where: in the user's own data folder."""
    from platformdirs import user_data_dir

    return Path(user_data_dir("muniment"), "vault")


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a vault lies: its folder (None where it is reached by another way), its id (empty while
    there is none, or none that can be read), and whether it lies on a device of what it saves."""

    address: str
    folder: Path | None
    identity: str
    shares_device: bool


def whereabouts(address: str, saved: Iterable[Path]) -> Whereabouts:
    """Look where the vault of an address lies (empty: the usual one); nothing is made by looking."""
    if address and not address.startswith("file:"):
        return Whereabouts(address, None, "", False)
    folder = folder_of(address) if address else default_folder()
    identity = ""
    if folder.is_dir():
        from muniment.vault.mark import read_mark

        with suppress(MunimentError), Root.open(folder) as root:
            identity = read_mark(root)
    devices = {_device(one) for one in saved}
    return Whereabouts(address_of(folder), folder, identity, _device(folder) in devices)


def _device(folder: Path) -> int:
    """The device that holds a folder, or would hold it."""
    for path in (folder, *folder.parents):
        with suppress(OSError):
            return os.stat(path).st_dev
    return -1


def refuse_inside(vault: Path, saved: Iterable[Path]) -> None:
    """Refuse a vault that lies inside what should be saved, or the other way round.

    A vault inside would save itself over and over, and be lost with what it keeps.  Folders are
    known by what they are, so that links and second mounts of the same folder are seen; neither
    needs to exist yet.

    >>> try:
    ...     refuse_inside(Path("/srv/vault"), [Path("/srv")])
    ... except VaultInside as error:
    ...     print(error.where, error.why)
    /srv/vault /srv
    """
    for folder in saved:
        if _within(vault, folder) or _within(folder, vault):
            raise VaultInside(where=printable(str(vault)), why=say("{folder}", folder=printable(str(folder))))


def _within(inner: Path, outer: Path) -> bool:
    inner, outer = Path(os.path.realpath(inner)), Path(os.path.realpath(outer))
    if inner.is_relative_to(outer):
        return True
    wanted = _identity(outer)
    return wanted is not None and any(_identity(one) == wanted for one in (inner, *inner.parents))


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino
