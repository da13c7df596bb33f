"""Handoff room: a host that dispatched already: its answer, checked and kept as it came (spec 3, adapters).

Accepted is delivery, never completion.  The host's own ids stand in the receipt verbatim.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.canonical import NotJson, canonical, read_json
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
        why = say("hosts known are {hosts}", hosts=", ".join(HOSTS))
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
