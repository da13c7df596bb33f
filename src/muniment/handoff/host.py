"""Handoff room: a host that dispatched already: its answer, checked and kept as it came (spec 3, adapters).

Accepted is delivery, never completion.  The host's own ids stand in the receipt verbatim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from muniment.canonical import NotJson, canonical, read_json
from muniment.handoff.dispatch import Acknowledged, LookedUp, Order
from muniment.handoff.errors import HostAnswer
from muniment.message import Message, say

ANSWER_MAX = 1 << 20
_ID_NAMES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "openclaw": (("runId",), ("childSessionKey",)),
    "claude": (("agentId", "agent_id"),),
    "codex": (("agent_id", "agentId", "thread_id", "threadId"),),
}
"""The ids without which each host's answer proves nothing; of a group one is enough."""
HOSTS = tuple(_ID_NAMES)


def provider_receipt(host: str, answer: bytes) -> dict[str, Any]:
    """The host's answer, if it proves that the work was accepted; else `HostAnswer`.

    >>> provider_receipt("claude", b'{"agentId": "a1"}')
    {'agentId': 'a1'}
    """
    why = None
    value: Any = None
    if host not in _ID_NAMES:
        why = say("hosts known are {hosts}", hosts=tuple(HOSTS))
    elif len(answer) > ANSWER_MAX:
        why = say("{size} bytes; {most} is the most", size=len(answer), most=ANSWER_MAX)
    else:
        try:
            value = read_json(answer)
            canonical(value)
        except NotJson as error:
            raise HostAnswer(host=host, why=say("it is not strict JSON: {finding}", finding=error)) from error
        why = _fault(host, value)
    if why is not None:
        raise HostAnswer(host=host, why=why)
    return dict(value)


def ids_of(provider: Mapping[str, Any]) -> list[str]:
    """The ids by which a host's answer names its agent.

    >>> ids_of({"agentId": "a1", "status": "accepted"})
    ['a1']
    """
    names = {name for groups in _ID_NAMES.values() for group in groups for name in group} - {"runId"}
    return [str(provider[name]) for name in sorted(names) if isinstance(provider.get(name), str)]


@dataclass(frozen=True, slots=True)
class HostDispatcher:
    """A dispatch that a host made by its own means; its answer is read when this is made."""

    host: str
    answer: bytes
    provider: Mapping[str, Any] = field(init=False)
    creates_tasks: bool = False
    address: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "provider", provider_receipt(self.host, self.answer))

    @property
    def name(self) -> str:
        """`host:` and the host's name."""
        return f"host:{self.host}"

    def launch(self, order: Order) -> Acknowledged:
        """The acknowledgement that was given already."""
        return Acknowledged(self.provider)

    def look_up(self, order: Order) -> LookedUp:
        """Nobody but the host knows: a person has to look."""
        return LookedUp()


def _fault(host: str, value: Any) -> Message | None:
    if not isinstance(value, dict):
        return say("it is no JSON object")
    if host == "openclaw" and value.get("status") != "accepted":
        return say("its status is {status}, not accepted", status=repr(value.get("status"))[:80])
    if value.get("error") or value.get("is_error") or value.get("isError"):
        return say("it reports an error")
    for names in _ID_NAMES[host]:
        if not any(isinstance(value.get(name), str) and value[name].strip() for name in names):
            return say("it lacks {name}", name=names[0])
    return None
