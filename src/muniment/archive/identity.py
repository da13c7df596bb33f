"""Floor 3, `archive`: proof that an agent's identity files were read, and which bytes they had."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.canonical import Json
from muniment.digest import Digest, sha256
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.message import Message
from muniment.path import RelPath

FILES = ("SOUL.md", "IDENTITY.md")
"""The only files from which an identity is ever told (spec 1, identity)."""


@dataclass(frozen=True, slots=True)
class Proof:
    """One of the files: what was read, or why it was not."""

    path: str
    size: int | None
    digest: Digest | None
    why: Message | None = None

    def to_json(self) -> dict[str, Json]:
        """The proof for programs."""
        return {
            "path": self.path,
            "read": self.digest is not None,
            "size": self.size,
            "sha256": self.digest.hex if self.digest else None,
            "why": str(self.why) if self.why else None,
        }


def prove_identity(root: Root) -> list[Proof]:
    """Read both files at the top of the workspace, and nothing else."""
    return [_prove(root, name) for name in FILES]


def _prove(root: Root, name: str) -> Proof:
    try:
        data = root.read(RelPath((name,)))
    except MunimentError as error:
        return Proof(name, None, None, error.message)
    return Proof(name, len(data), sha256(data))
