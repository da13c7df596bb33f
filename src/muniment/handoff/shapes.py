"""Handoff room: the closed shapes of every document, declared (spec 3, shapes)."""

from __future__ import annotations

from typing import Final

from muniment.handoff.anchors import ANCHOR_PATTERN
from muniment.handoff.shape import (
    Anything,
    Closed,
    Either,
    Flag,
    Items,
    Shape,
    Text,
    TextOr,
    Whole,
    Word,
    closed,
)
from muniment.message import say

ULID = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
TARGETS: Final = ("employee_memory", "employee_worklog", "team_journal", "central_board")
"""The four targets, in contract order."""
MODES: Final = ("bounded_subagent", "independent_task")
UNDELIVERED_REASONS: Final = (
    "delivery_unknown",
    "no_task_adapter",
    "adapter_failed",
    "refused_by_host",
    "unreachable",
)
DOCUMENT_MAX: Final = 4 * 1024 * 1024
"""Bytes of one document; more is refused unread."""

_TEXT = Text()
_LINE = Text(1_024)
_TEXTS = Items(_TEXT, 1, 200)
HANDOFF_ID = Text(29, pattern=f"ho_{ULID}", name=say("a handoff id"))
_CONTRACT = Text(29, pattern=f"ct_{ULID}", name=say("a contract id"))
DISPATCH_ID = Text(29, pattern=f"dp_{ULID}", name=say("a dispatch id"))
SHA256 = Text(64, pattern="[0-9a-f]{64}", name=say("a SHA-256 of 64 lower-case hex digits"))
_NONCE = Text(32, pattern="[0-9a-f]{32}", name=say("a nonce of 32 lower-case hex digits"))
_ANCHOR = Text(30, pattern=ANCHOR_PATTERN, name=say("an anchor"))
WHO = Text(128, pattern=r"[^\u0000-\u0020\u007f/\\]+", name=say("a name without blanks and slashes"))
_PATH = Text(4_096)
_NUMERAL = Text(20, pattern="0|[1-9][0-9]*", name=say("a whole number written as a text"))
_AT = Text(
    27,
    pattern=r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z",
    name=say("an instant such as 2026-11-30T14:28:00.000000Z"),
)
_COMMIT = Text(64, pattern="[0-9a-f]{40}(?:[0-9a-f]{24})?", name=say("a whole commit hash"))
_MODE = Word(MODES)
_TARGET = Word(TARGETS)

CHECK = Either(
    "check",
    {
        "min_bytes": closed(check=Word(("min_bytes",)), bytes=Whole(1)),
        "heading": closed(check=Word(("heading",)), text=_LINE),
        "json_pointer": closed(
            "equals",
            check=Word(("json_pointer",)),
            pointer=Text(1_024, blank=True, pattern=r"(?:/[\s\S]*)?"),
            equals=Anything(),
        ),
        "contains": closed(check=Word(("contains",)), text=_TEXT),
        "sha256": closed(check=Word(("sha256",)), sha256=SHA256),
        "command": closed(check=Word(("command",)), name=WHO),
    },
)
RESOLUTION = closed(
    device=_NUMERAL,
    inode=_NUMERAL,
    boot_id=_LINE,
    mount_id=_NUMERAL,
    fs_type=_LINE,
    mount_root=_PATH,
    found_by=_LINE,
)
_ULID = Text(26, pattern=ULID, name=say("a ULID"))
ROOT = closed(root_id=_ULID, real_path=_PATH, resolution_evidence=RESOLUTION)

_NOT_APPLICABLE = closed(state=Word(("not_applicable",)), reason=_TEXT)


def _targets(**secret: Shape) -> Closed:
    required: dict[str, Shape] = {
        "state": Word(("required",)),
        "path": _PATH,
        "writer": WHO,
        "verification": Items(CHECK, 0, 50),
        **secret,
    }
    either = Either("state", {"required": Closed(required), "not_applicable": _NOT_APPLICABLE})
    return Closed(dict.fromkeys(TARGETS, either))


CONTRACT = closed(
    contract_id=_CONTRACT,
    handoff_id=HANDOFF_ID,
    authoritative_root=ROOT,
    targets=_targets(evidence_nonce=_NONCE),
)
CONTRACT_VIEW = closed(
    contract_id=_CONTRACT,
    handoff_id=HANDOFF_ID,
    authoritative_root=ROOT,
    targets=_targets(nonce_sha256=SHA256),
)
_DRAFT_TARGET = Either(
    "state",
    {
        "required": closed(
            "verification evidence_nonce",
            state=Word(("required",)),
            path=_PATH,
            writer=WHO,
            verification=Items(CHECK, 0, 50),
            evidence_nonce=_NONCE,
        ),
        "not_applicable": _NOT_APPLICABLE,
    },
)
CONTRACT_DRAFT = closed(targets=Closed(dict.fromkeys(TARGETS, _DRAFT_TARGET)))

_GOAL: dict[str, Shape] = {
    "goal": _TEXT,
    "context_constraints": _TEXTS,
    "acceptance_criteria": _TEXTS,
    "known_pitfalls": _TEXTS,
    "execution_mode": _MODE,
    "continuity_required": Flag(),
    "allow_mode_degradation": Flag(),
}
_CHOSEN = frozenset(
    ("execution_mode", "continuity_required", "allow_mode_degradation", "persistence_contract")
)
PACKET_DRAFT = Closed({**_GOAL, "persistence_contract": CONTRACT_DRAFT}, _CHOSEN)
PACKET = Closed(
    {**_GOAL, "handoff_id": HANDOFF_ID, "persistence_contract": CONTRACT_VIEW}, _CHOSEN | {"handoff_id"}
)

DISPATCH = closed(
    "contract_id degradation_reason task_receipt workspace_receipt",
    dispatch_id=DISPATCH_ID,
    recipient_id=WHO,
    dispatched_at=_AT,
    requested_mode=_MODE,
    effective_mode=_MODE,
    degradation_reason=_TEXT,
    provider_receipt=Anything(named=True),
    handoff_id=HANDOFF_ID,
    contract_id=_CONTRACT,
    task_receipt=closed(task_id=_LINE, resumable=Flag(only=True)),
    workspace_receipt=ROOT,
)
UNDELIVERED = closed(recipient_id=WHO, at=_AT, requested_mode=_MODE, reason=Word(UNDELIVERED_REASONS))
UNDELIVERED_NEVER: Final = (
    "effective_mode",
    "workspace_receipt",
    "degradation_reason",
    "dispatch_id",
    "task_receipt",
    "task_id",
    "provider_receipt",
)
"""What an undelivered record can not have, because only a delivery gives it."""

_TEXT_OR_OPERATION = Either(
    "op",
    {
        "add": closed(
            op=Word(("add",)), path=Text(1_024, blank=True, pattern=r"(?:/[\s\S]*)?"), value=Anything()
        ),
        "replace": closed(
            op=Word(("replace",)), path=Text(1_024, blank=True, pattern=r"(?:/[\s\S]*)?"), value=Anything()
        ),
        "remove": closed(op=Word(("remove",)), path=Text(1_024, pattern=r"/[\s\S]*")),
    },
)
PROPOSAL = Either(
    "form",
    {
        "json": closed(form=Word(("json",)), base=SHA256, patch=Items(_TEXT_OR_OPERATION, 1, 200)),
        "markdown": closed(form=Word(("markdown",)), base=SHA256, heading=_LINE, text=_TEXT),
    },
)
_IDS: dict[str, Shape] = {"handoff_id": HANDOFF_ID, "contract_id": _CONTRACT, "dispatch_id": DISPATCH_ID}
_EXIT = Whole(0, 0)


def _updated(target: str, **fields: Shape) -> Closed:
    head: dict[str, Shape] = {
        "target": Word((target,)),
        "state": Word(("updated",)),
        **_IDS,
        "evidence_anchor": _ANCHOR,
    }
    return Closed({**head, **fields, "exit_code": _EXIT, "sha256": SHA256})


def _own(target: str) -> Closed:
    return _updated(target, path=_PATH, offset=Whole(), length=Whole(1))


def _unneeded(target: str) -> Closed:
    return Closed({"target": Word((target,)), "state": Word(("not_applicable",)), **_IDS, "reason": _TEXT})


def _closing(target: str, state: str, done: Closed) -> Either:
    return Either("state", {state: done, "not_applicable": _unneeded(target)})


_PROPOSED = Closed(
    {
        "target": Word(("central_board",)),
        "state": Word(("proposed_for_parent",)),
        **_IDS,
        "evidence_anchor": _ANCHOR,
        "proposal": PROPOSAL,
    }
)


class _Closure:
    """A closure receipt: its target says which states it may have."""

    by_target: Final = {
        "employee_memory": _closing("employee_memory", "updated", _own("employee_memory")),
        "employee_worklog": _closing("employee_worklog", "updated", _own("employee_worklog")),
        "team_journal": _closing(
            "team_journal",
            "updated",
            _updated(
                "team_journal",
                event_id=_ULID,
                position=Whole(),
                version=Whole(1),
            ),
        ),
        "central_board": _closing("central_board", "proposed_for_parent", _PROPOSED),
    }

    def check(self, value: object, at: str = "") -> None:
        Closed({"target": _TARGET, "state": Word(_STATES)}).check(_head(value, at), at)
        assert isinstance(value, dict)
        self.by_target[value["target"]].check(value, at)

    def schema(self) -> dict[str, object]:
        return {"oneOf": [one for shape in self.by_target.values() for one in shape.schema()["oneOf"]]}


_STATES: Final = ("updated", "proposed_for_parent", "not_applicable")


def _head(value: object, at: str) -> dict[str, object]:
    if not isinstance(value, dict):
        Closed({}).check(value, at)
        return {}
    return {name: value[name] for name in ("target", "state") if name in value}


CLOSURE: Final[Shape] = _Closure()

CLAIM = Either(
    "claim",
    {
        "committed": closed(
            "paths",
            claim=Word(("committed",)),
            repository=_PATH,
            commit=_COMMIT,
            paths=Items(_PATH, 1, 1_000),
        ),
        "pushed": closed("remote", claim=Word(("pushed",)), repository=_PATH, commit=_COMMIT, remote=_LINE),
        "verified": closed(claim=Word(("verified",)), path=_PATH, size=Whole(), sha256=SHA256),
    },
)
RETURN = closed(
    "contract_id execution_mode closures",
    handoff_id=HANDOFF_ID,
    contract_id=_CONTRACT,
    dispatch_id=DISPATCH_ID,
    execution_mode=_MODE,
    conclusion=_TEXT,
    evidence=Items(TextOr(_TEXT, CLAIM), 0, 500),
    gaps=Items(_TEXT, 0, 500),
    artifact_paths=Items(_PATH, 0, 10_000),
    closures=Items(CLOSURE, 0, 16),
)

_READ = closed(
    "offset length", path=_PATH, size=Whole(), offset=Whole(), length=Whole(), sha256=SHA256, at=_AT
)
ROW_STATES: Final = ("verified", "parent_verified", "failed", "not_applicable", "pending")
WRITTEN_BY: Final = ("recipient", "muniment", "parent")
DURABILITY: Final = ("durable", "ephemeral")
_ROW = closed(
    "read reason code written_by durability",
    target=_TARGET,
    status=Word(ROW_STATES),
    read=_READ,
    reason=_TEXT,
    code=_LINE,
    written_by=Word(WRITTEN_BY),
    durability=Word(DURABILITY),
)
_FINDING = closed(code=_LINE, where=Text(16_384, blank=True), reason=_TEXT)
TRACE = closed(
    "contract_id dispatch_id return_sha256",
    handoff_id=HANDOFF_ID,
    contract_id=_CONTRACT,
    dispatch_id=DISPATCH_ID,
    return_sha256=SHA256,
    at=_AT,
    complete=Flag(),
    worker_alive=Flag(),
    rows=Items(_ROW, 0, 4),
    artifacts=Items(closed(path=_PATH, size=Whole(), sha256=SHA256, files=Whole(), at=_AT), 0, 10_000),
    findings=Items(_FINDING, 0, 20_000),
)
NONCES = Closed(dict.fromkeys(TARGETS, _NONCE), frozenset(TARGETS))
"""The file in which the issuer keeps the nonces of one contract."""
BASELINE = closed("sha256", exists=Flag(), size=Whole(), sha256=SHA256)

PUBLISHED: Final[dict[str, tuple[str, Shape]]] = {
    "packet": ("A packet as it was issued: what the recipient is asked for.", PACKET),
    "packet-draft": ("A packet before it is issued, without ids and nonces.", PACKET_DRAFT),
    "contract": ("A persistence contract as its issuer knows it, with the nonces.", CONTRACT),
    "contract-view": (
        "A persistence contract as the recipient sees it, with digests of the nonces.",
        CONTRACT_VIEW,
    ),
    "dispatch": ("A dispatch receipt: the provider's acknowledgement, kept.", DISPATCH),
    "undelivered": ("A dispatch that did not happen, or of which nobody knows.", UNDELIVERED),
    "return": ("What the recipient says at the end.", RETURN),
    "closure": ("What the recipient says of one target.", CLOSURE),
    "proposal": ("A change of the central board that a recipient proposes.", PROPOSAL),
    "trace": ("What the parent read back, and its verdict.", TRACE),
}
"""Every published shape: its title and the shape, by the name of its file."""
