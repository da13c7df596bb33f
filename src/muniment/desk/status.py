"""Floor 3½, `desk`: what stands where, in ten lines, with one suggestion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from shlex import quote

from muniment.archive.outstanding import outstanding
from muniment.canonical import Json
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.hosts.git import ask_git
from muniment.hosts.session import Session
from muniment.hosts.workspace import Found
from muniment.message import Message
from muniment.path import RelPath, printable
from muniment.record.errors import LedgerDamaged
from muniment.record.event import FIRST
from muniment.record.state import Workspace, is_initialised
from muniment.record.witness import Witness, bear_witness


@dataclass(frozen=True, slots=True)
class Overview:
    """The facts of `muniment status`; `next_step` is a command line."""

    found: Found
    host: str
    session: Session | None
    root_id: str | None
    head: Witness | None
    damage: Message | None
    loose: tuple[RelPath, ...]
    half_done: tuple[str, ...]
    next_step: str

    def to_json(self) -> dict[str, Json]:
        """The facts for programs."""
        return {
            "workspace": str(self.found.path),
            "workspace_rule": self.found.rule.value,
            "workspace_found_by": self.found.by,
            "host": self.host,
            "session": self.session.archive_id if self.session else None,
            "session_source": self.session.source.value if self.session else None,
            "root_id": self.root_id,
            "ledger": {
                "events": self.head.count if self.head else 0,
                "head": self.head.head if self.head else FIRST,
                "damage": str(self.damage) if self.damage else None,
            },
            "not_archived": [path.posix for path in self.loose],
            "half_done": list(self.half_done),
            "next": self.next_step,
        }


def overview(
    found: Found,
    root: Root,
    workspace: Callable[[], Workspace],
    *,
    host: str,
    session: Session | None,
    since_ns: int | None,
) -> Overview:
    """Look at everything; nothing is made, not even `.muniment/`.

    `since_ns` is when the working session began, in nanoseconds; None without one.
    """
    if not is_initialised(root):
        loose = tuple(outstanding(root, ask_git, None))
        return Overview(found, host, session, None, None, None, loose, (), "muniment init")
    opened = workspace()
    head, damage = None, None
    try:
        head = bear_witness(opened.ledger, opened.identity.root_id)
    except LedgerDamaged as error:
        damage = error.why or error.message
    loose = tuple(outstanding(root, ask_git, since_ns))
    half_done = tuple(_half_done(opened, name) for name in opened.journal.names())
    if damage is not None:
        step = "muniment ledger verify"
    elif half_done:
        step = "muniment doctor"
    else:
        step = _next(loose, head)
    root_id = opened.identity.root_id
    return Overview(found, host, session, root_id, head, damage, loose, half_done, step)


def _half_done(opened: Workspace, name: str) -> str:
    try:
        act = opened.journal.read(name)
    except MunimentError:
        # `doctor` says what is wrong with it.
        return printable(name)
    return printable(f"{act.kind} {act.act_id}")


def _next(loose: tuple[RelPath, ...], head: Witness | None) -> str:
    if loose:
        return f"muniment archive {quote(loose[0].posix)}"
    return "muniment archive verify --all" if head and head.count > 1 else "muniment archive FILE"
