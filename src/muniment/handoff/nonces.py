"""Handoff room: where nonces are kept: outside of every shared root, readable by their issuer alone.

Every nonce ever issued leaves a mark under the digest of its bytes, so that none is issued twice, not
even after a restart or for another workspace.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from muniment.disk.errors import AlreadyThere, named
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.errors import MunimentError
from muniment.handoff.anchors import nonce_digest
from muniment.handoff.documents import kept, parse
from muniment.handoff.errors import NonceMissing, NonceReused, NoncesInside
from muniment.handoff.model import Target
from muniment.handoff.shapes import NONCES
from muniment.message import say
from muniment.path import RelPath, printable

_KEPT = RelPath.parse("handoff/nonces")
_ISSUED = RelPath.parse("handoff/issued")


class Nonces:
    """The nonces of one user, in a folder of that user's own data."""

    def __init__(self, folder: Path, shared: Root) -> None:
        self._folder = folder
        self._shared = shared

    @contextmanager
    def _open(self) -> Iterator[Root]:
        """The folder, made when it is missing; one inside the shared root is refused."""
        with named(str(self._folder)):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with Root.open(self._folder) as own:
            if Path(own.path).is_relative_to(self._shared.path):
                raise NoncesInside(where=printable(own.path))
            yield own

    def issue(self, handoff_id: str, nonces: Mapping[Target, bytes]) -> None:
        """Keep the nonces of a new contract; one that was ever issued is `NonceReused`."""
        with self._open() as own:
            for folder in (_KEPT, _ISSUED):
                own.make_folders(folder, 0o700)
            for target, nonce in nonces.items():
                mark = _ISSUED / nonce_digest(nonce)
                try:
                    write_verified(own, mark, f"{handoff_id} {target.value}\n".encode(), mode=0o600)
                except AlreadyThere as error:
                    raise NonceReused(where=target.value) from error
            document = kept({target.value: nonce.hex() for target, nonce in nonces.items()})
            write_verified(own, _KEPT / f"{handoff_id}.json", document, mode=0o600)

    def of(self, handoff_id: str) -> dict[Target, bytes]:
        """The nonces of a contract; `NonceMissing` when they are not there or can not be read."""
        try:
            with self._open() as own:
                data = own.read(_KEPT / f"{handoff_id}.json", limit=1 << 16)
            found = parse(say("file of nonces"), NONCES, data)
        except NoncesInside:
            raise
        except MunimentError as error:
            why = error.why or error.message
            raise NonceMissing(handoff=handoff_id, where=error.where, why=why) from error
        return {Target(name): bytes.fromhex(nonce) for name, nonce in found.items()}
