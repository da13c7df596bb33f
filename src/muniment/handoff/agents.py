"""Handoff room: which dispatch a host's agent is, left where the hook of its end finds it at once.

`.muniment/handoff/agents/<end of the name in hex>/<dispatch id>` holds the handoff's id and the whole name.
A name is `agent:` and an agent's id, or `transcript:` and the path of its own transcript, as the host's
answer gave them.  There are no digests in it, since the hook has no time to load what makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from muniment.disk.errors import AlreadyThere
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.handoff.receipts import Dispatch
from muniment.handoff.store import HANDOFFS

AGENTS = HANDOFFS / "agents"
NAME_MAX = 200
_IDS = ("agentId", "agent_id", "threadId", "thread_id")
_TRANSCRIPTS = ("agentTranscriptPath", "agent_transcript_path")


def names_of(provider: Mapping[str, Any]) -> Iterator[str]:
    """The names under which the hook may meet the agent of a receipt.

    >>> list(names_of({"agentId": "a1", "status": "accepted"}))
    ['agent:a1']
    """
    for kind, fields in (("agent", _IDS), ("transcript", _TRANSCRIPTS)):
        for field in fields:
            value = provider.get(field)
            if isinstance(value, str) and value.strip():
                yield f"{kind}:{value}"


def remember(root: Root, receipt: Dispatch) -> None:
    """Leave word of a dispatch under every name of its agent."""
    for name in names_of(receipt.provider_receipt):
        spelled = name.encode("utf-8", "surrogatepass")
        folder = AGENTS / spelled.hex()[-NAME_MAX:]
        root.make_folders(folder, 0o700)
        document = receipt.handoff_id.encode() + b"\n" + spelled
        with suppress(AlreadyThere):
            write_verified(root, folder / receipt.dispatch_id, document, mode=0o600)
