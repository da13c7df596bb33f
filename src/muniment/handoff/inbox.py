"""Handoff room: the inbox: directed delivery with receipts, at least once (spec 3, adapters).

A message is a file that is never changed.  It is given out at every reading until it is acknowledged, and
of acknowledgements there is one for ever, whoever gives it and however often.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muniment.clock import instant
from muniment.disk.errors import AlreadyThere
from muniment.disk.write import write_verified
from muniment.handoff.documents import check_recipient, fit, kept, parse
from muniment.handoff.errors import MessageUnknown, SecretValue
from muniment.handoff.secrets import secrets_in
from muniment.handoff.shape import Text, closed
from muniment.handoff.shapes import HANDOFF_ID, ULID, WHO
from muniment.ids import is_ulid, new_reference
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.record.event import Draft
from muniment.record.state import FOLDER, Workspace

INBOX = FOLDER / "inbox"
TEXT_MAX = 1 << 20
_AT = Text(27)
_ID = Text(30, pattern=f"msg_{ULID}", name=say("a message id"))
_MESSAGE = closed("handoff_id", message_id=_ID, sender=WHO, recipient=WHO, at=_AT, text=Text(TEXT_MAX),
                  handoff_id=HANDOFF_ID)  # fmt: skip
_MARK = closed(message_id=_ID, by=WHO, at=_AT)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message as it is given out, and since when it was given out before, if it was."""

    message: Mapping[str, Any]
    first_read_at: str | None

    def to_json(self) -> dict[str, Any]:
        """As faces print it."""
        return {**self.message, "first_read_at": self.first_read_at}


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The one acknowledgement of a message; `already` says that it stood before this call."""

    message_id: str
    by: str
    at: str
    already: bool


class Inbox:
    """What was left for one recipient."""

    def __init__(self, workspace: Workspace, recipient: str) -> None:
        check_recipient(recipient)
        self._workspace, self.recipient = workspace, recipient
        self._rel = INBOX / recipient

    def send(self, sender: str, text: str, *, handoff_id: str | None = None) -> dict[str, Any]:
        """Leave a message; it is durable and on record when its receipt is given."""
        for place in secrets_in({"text": text}):
            raise SecretValue(where=place)
        now = self._workspace.clock()
        message: dict[str, Any] = {
            "message_id": new_reference("msg", now, self._workspace.entropy),
            "sender": sender,
            "recipient": self.recipient,
            "at": instant(now),
            "text": text,
        }
        message |= {"handoff_id": handoff_id} if handoff_id is not None else {}
        document = kept(fit(say("message"), _MESSAGE, message))
        digest = self._write("messages", message["message_id"], document)
        self._note("inbox.sent", message["message_id"], sha256=digest)
        return {name: message[name] for name in ("message_id", "recipient", "at")} | {"sha256": digest}

    def _write(self, kind: str, message_id: str, document: bytes) -> str:
        folder = self._rel / kind
        self._workspace.root.make_folders(folder, 0o700)
        return write_verified(
            self._workspace.root, folder / f"{message_id}.json", document, mode=0o600
        ).digest.hex

    def _names(self, kind: str) -> list[str]:
        folder, root = self._rel / kind, self._workspace.root
        if not root.exists(folder):
            return []
        names = (name.removesuffix(".json") for name in root.names(folder) if name.endswith(".json"))
        return [name for name in names if _is_message(name)]

    def read(self, most: int = 100) -> tuple[list[Delivery], int]:
        """What is not acknowledged yet, oldest first, and how many there are of it.

        Reading takes nothing away: whoever is killed after it gets the same again.
        """
        waiting = self.waiting()
        return [self._delivered(name) for name in waiting[:most]], len(waiting)

    def waiting(self) -> list[str]:
        """The ids of what is not acknowledged yet, oldest first; nothing is written for it."""
        done = set(self._names("acknowledged"))
        return [name for name in self._names("messages") if name not in done]

    def message(self, message_id: str) -> dict[str, Any]:
        """A message as it was left; nothing is written for it."""
        name = f"messages/{message_id}.json"
        data = self._workspace.root.read(self._rel / RelPath.parse(name), limit=8 * TEXT_MAX)
        return parse(say("message"), _MESSAGE, data, name)

    def _delivered(self, message_id: str) -> Delivery:
        message = self.message(message_id)
        mark, fresh = self._mark("read", message_id, self.recipient)
        if fresh:
            self._note("inbox.read", message_id)
        return Delivery(message, None if fresh else mark["at"])

    def acknowledge(self, message_id: str, by: str | None = None) -> Acknowledged:
        """Say that a message was dealt with; the first who says so is the one on record."""
        if not _is_message(message_id) or not self._workspace.root.exists(
            self._rel / "messages" / f"{message_id}.json"
        ):
            raise MessageUnknown(message=printable(message_id[:64]), recipient=self.recipient)
        mark, fresh = self._mark("acknowledged", message_id, by or self.recipient)
        if fresh:
            self._note("inbox.acknowledged", message_id, by=mark["by"])
        return Acknowledged(message_id, mark["by"], mark["at"], not fresh)

    def _mark(self, kind: str, message_id: str, by: str) -> tuple[dict[str, Any], bool]:
        """Leave a mark that only one can leave; gives the one that stands, and whether it is ours."""
        mark = {"message_id": message_id, "by": by, "at": instant(self._workspace.clock())}
        try:
            self._write(kind, message_id, kept(fit(say("mark"), _MARK, mark)))
        except AlreadyThere:
            name = f"{kind}/{message_id}.json"
            data = self._workspace.root.read(self._rel / RelPath.parse(name), limit=1 << 16)
            return parse(say("mark"), _MARK, data, name), False
        return mark, True

    def _note(self, kind: str, message_id: str, **more: Any) -> None:
        self._workspace.ledger.append(Draft(kind, message_id, {"recipient": self.recipient, **more}))


def _is_message(name: str) -> bool:
    return name.startswith("msg_") and is_ulid(name[4:])
