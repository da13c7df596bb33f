"""A whole delegation as one JSON value, and the gate's verdict over it.

`build` writes down an honest one: what the parent issued, what the worker wrote, what it returned.
`edit` turns it into a lie.  `judge` reads the documents by the room's own readers, plays the disk
(a mapping of paths to texts), and asks the gate.  Anchors, digests and journal lines are computed
here once more, by nothing of the room.
"""

from __future__ import annotations

import copy
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from muniment.handoff.documents import fit
from muniment.handoff.facts import (
    Applied,
    Baseline,
    Facts,
    FileRead,
    Intent,
    Recorded,
    RepositoryRead,
    TargetRead,
)
from muniment.handoff.model import Packet, Root, Target
from muniment.handoff.receipts import Dispatch, Return, Undelivered
from muniment.handoff.rules import judge as gate
from muniment.handoff.shapes import NONCES, ROOT
from muniment.handoff.trace import Trace

HO, CT, DP = (f"{prefix}_01KDVDNA00000000000000000{n}" for n, prefix in enumerate(("ho", "ct", "dp"), 1))
EVENT = "01KDVDNA0000000000000000E1"
ROOT_ID = "01KDVDNA0000000000000000R1"
TARGETS = ("employee_memory", "employee_worklog", "team_journal", "central_board")
PATHS = {
    "employee_memory": "agents/mei/MEMORY.md",
    "employee_worklog": "agents/mei/WORKLOG.md",
    "team_journal": "team/journal",
    "central_board": "team/BOARD.json",
}
WRITERS = {"team_journal": "team_journal", "central_board": "lead"}
WORK = {
    "employee_memory": "The parser keeps each record's offset; a file without one is read from its start.",
    "employee_worklog": "Read forty files, found two without a header, wrote tests for both and ran all.",
    "team_journal": "The parser now reads files without a header; the two that failed are in the tests.",
    "central_board": "Parser: files without a header are read; forty of forty files pass, none is skipped.",
}
BEFORE = {
    "employee_memory": "# Memory\n\nOlder things.\n",
    "employee_worklog": "",
    "team_journal": "",
    "central_board": '{"parser":"open"}',
}
REASON = "This piece of work needs no such record."
AT = ("2026-11-30T10:00:00.000000Z", "2026-11-30T10:00:01.000000Z", "2026-11-30T11:00:00.000000Z")
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def digest(data: str | bytes) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def plain(value: Any) -> bytes:
    """Canonical JSON of texts and small numbers, by the standard library."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def ev1(nonce: str, target: str, handoff: str = HO, contract: str = CT, dispatch: str = DP) -> str:
    named = {"contract_id": contract, "dispatch_id": dispatch, "handoff_id": handoff, "target": target}
    code = hmac.new(bytes.fromhex(nonce), plain(named), hashlib.sha256).hexdigest()
    bits = bin(int(code, 16))[2:].zfill(256)
    return "ev1-" + "".join(ALPHABET[int(bits[at : at + 5], 2)] for at in range(0, 130, 5))


def journal_line(
    text: str, anchor: str, *, event_id: str = EVENT, prev: str = "0" * 64, kind: str = "journal.entry"
) -> str:
    record = {
        "v": 1,
        "event_id": event_id,
        "at": AT[1],
        "actor": "mei",
        "kind": kind,
        "subject": HO,
        "context": {"session": None, "handoff_id": HO, "job_id": None},
        "evidence": {"text": text, "anchor": anchor},
        "prev": prev,
    }
    return plain({**record, "sha256": digest(plain(record))}).decode() + "\n"


def a_root(**changes: str) -> dict[str, Any]:
    found = {
        "device": "66304",
        "inode": "131",
        "boot_id": "448da1ce-24a0-4109-a6de-c3fe2072b489",
        "mount_id": "29",
        "fs_type": "ext4",
        "mount_root": "/",
        "found_by": "flag",
    }
    root = {"root_id": ROOT_ID, "real_path": "/srv/work", "resolution_evidence": found}
    for name, value in changes.items():
        (found if name in found else root)[name] = value
    return root


def build(
    *,
    owed: Sequence[str] = TARGETS,
    contract: bool = True,
    mode: str = "bounded_subagent",
    effective: str | None = None,
    allow: bool = False,
    continuity: bool = False,
    degraded: str | None = None,
    task_adapter: bool = False,
    version: str = "1.3",
    work: Mapping[str, str] | None = None,
    raw: Mapping[str, str] | None = None,
    before: Mapping[str, str | None] | None = None,
    verification: Mapping[str, list[dict[str, Any]]] | None = None,
    conclusion: str = "The parser reads all forty files; two without a header are covered by new tests.",
    evidence: Sequence[Any] = ("All forty files were read; the test run ended without a failure.",),
    artifacts: Mapping[str, str] | None = None,
    board: str = "json",
    root: Mapping[str, str] | None = None,
    root_now: Mapping[str, str] | None = None,
    repositories: Sequence[Mapping[str, Any]] = (),
    recipient: str = "mei",
    undelivered: str | None = None,
    answered: bool = True,
    nonces: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """An honest delegation."""
    before = {**BEFORE, **(before or {})}
    if board == "markdown" and before["central_board"] == BEFORE["central_board"]:
        before["central_board"] = "# Parser\n\nopen\n\n# Writer\n\nopen\n"
    nonces = {target: digest(f"nonce of {target}")[:32] for target in owed} | dict(nonces or {})
    anchors = {target: ev1(nonces[target], target) for target in owed} if contract else {}
    words = {**WORK, **(work or {})}

    def fill(text: str) -> str:
        return re.sub(r"\{anchor:(\w+)\}", lambda match: anchors[match[1]], text)

    world: dict[str, Any] = {
        "packet": _packet(
            owed, contract, mode, allow, continuity, version, nonces, verification or {}, root or {}
        ),
        "nonces": nonces if contract else {},
        "intent": {"at": AT[0], "recipient_id": recipient, "answered": answered},
        "task_adapter": task_adapter,
        "root": a_root(**{**(root or {}), **(root_now or {})}),
        "files": {},
        "baselines": {},
        "recorded": [],
        "applied": [],
        "repositories": [dict(each) for each in repositories],
        "commands": {},
        "worker_alive": False,
        "worker_exit": None,
    }
    ids = {"handoff_id": HO, "dispatch_id": DP} | ({"contract_id": CT} if contract else {})
    dispatch: dict[str, Any] = {
        **ids,
        "recipient_id": recipient,
        "dispatched_at": AT[1],
        "requested_mode": mode,
        "effective_mode": effective or mode,
        "provider_receipt": {"runId": "run-7", "childSessionKey": "agent:mei:7"},
    }
    if degraded is not None:
        dispatch["degradation_reason"] = degraded
    if dispatch["effective_mode"] == "independent_task":
        dispatch["task_receipt"] = {"task_id": "task-7", "resumable": True}
        dispatch["workspace_receipt"] = a_root(**(root or {}))
    if undelivered is not None:
        world["undelivered"] = {
            "recipient_id": recipient,
            "at": AT[1],
            "requested_mode": mode,
            "reason": undelivered,
        }
    else:
        world["dispatch"] = dispatch
    answer: dict[str, Any] = {
        **ids,
        "conclusion": fill(conclusion),
        "evidence": [fill(item) if isinstance(item, str) else item for item in evidence],
        "gaps": [],
        "artifact_paths": list(artifacts or {}),
    }
    if version != "1.2":
        answer["execution_mode"] = dispatch["effective_mode"]
    if contract:
        answer["closures"] = [
            _close(
                world,
                target,
                owed,
                anchors,
                words[target],
                (raw or {}).get(target),
                before[target],
                board,
                fill,
            )
            for target in TARGETS
        ]
    world["files"].update(artifacts or {})
    world["return"] = answer
    return world


def _packet(
    owed: Sequence[str],
    contract: bool,
    mode: str,
    allow: bool,
    continuity: bool,
    version: str,
    nonces: Mapping[str, str],
    verification: Mapping[str, list[dict[str, Any]]],
    root: Mapping[str, str],
) -> dict[str, Any]:
    packet: dict[str, Any] = {
        "goal": "Make the parser read files without a header.",
        "context_constraints": ["The parser lies in src/parser."],
        "acceptance_criteria": ["All forty sample files are read."],
        "known_pitfalls": ["Notices are no cancellation."],
        "handoff_id": HO,
    }
    if version != "1.2":
        packet |= {"execution_mode": mode, "continuity_required": continuity, "allow_mode_degradation": allow}
    else:
        del packet["handoff_id"]
    if contract:
        targets: dict[str, Any] = {}
        for target in TARGETS:
            if target in owed:
                targets[target] = {
                    "state": "required",
                    "path": PATHS[target],
                    "writer": WRITERS.get(target, "mei"),
                    "verification": verification.get(target, [{"check": "min_bytes", "bytes": 40}]),
                    "nonce_sha256": digest(bytes.fromhex(nonces[target])),
                }
            else:
                targets[target] = {"state": "not_applicable", "reason": REASON}
        packet["persistence_contract"] = {
            "contract_id": CT,
            "handoff_id": HO,
            "authoritative_root": a_root(**root),
            "targets": targets,
        }
    return packet


def _close(
    world: dict[str, Any],
    target: str,
    owed: Sequence[str],
    anchors: Mapping[str, str],
    words: str,
    raw: str | None,
    before: str | None,
    board: str,
    fill: Callable[[str], str],
) -> dict[str, Any]:
    """The worker does one target's work and writes its receipt."""
    head = {"target": target, "handoff_id": HO, "contract_id": CT, "dispatch_id": DP}
    if target not in owed:
        return {**head, "state": "not_applicable", "reason": REASON}
    head["evidence_anchor"] = anchors[target]
    start = before or ""
    path = PATHS[target]
    world["baselines"][target] = (
        {"exists": False, "size": 0}
        if before is None
        else {"exists": True, "size": len(start.encode()), "sha256": digest(start)}
    )
    if target == "central_board":
        text = f"{words} {anchors[target]}" if raw is None else fill(raw)
        if board == "markdown":
            proposal: dict[str, Any] = {
                "form": "markdown",
                "base": digest("open"),
                "heading": "Parser",
                "text": text,
            }
            world["files"][path] = start.replace("open", text, 1)
        else:
            patch = [{"op": "add", "path": "/report", "value": text}]
            proposal = {"form": "json", "base": digest(start), "patch": patch}
            world["files"][path] = json.dumps({**json.loads(start or "{}"), "report": text})
        world["applied"].append(
            {"writer": "lead", "path": path, "proposal_sha256": digest(plain(proposal)), "version": 1}
        )
        return {**head, "state": "proposed_for_parent", "proposal": proposal}
    if target == "team_journal":
        line = journal_line(words, anchors[target]) if raw is None else fill(raw)
        world["files"][path] = start + line
        record = json.loads(line)
        return {
            **head,
            "state": "updated",
            "event_id": record["event_id"],
            "position": len(start.encode()),
            "version": start.count("\n") + 1,
            "exit_code": 0,
            "sha256": record["sha256"],
        }
    entry = f"{words}\n{anchors[target]}\n" if raw is None else fill(raw)
    world["files"][path] = start + entry
    return {
        **head,
        "state": "updated",
        "path": path,
        "offset": len(start.encode()),
        "length": len(entry.encode()),
        "exit_code": 0,
        "sha256": digest(entry),
    }


def edit(world: dict[str, Any], edits: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Apply edits, in order, to a copy: `set`, `delete`, `append`, `replace`, `copy`.

    A path is a list of keys and positions.  A text `$anchor:TARGET`, `$sha256:TEXT` or
    `$canonical:DOCUMENT` stands for the anchor, or the digest of the text or of the document.
    """
    world = copy.deepcopy(world)
    for step in edits:
        if "set" in step:
            holder, key = _holder(world, step["set"])
            holder[key] = _value(world, step["to"])
        elif "delete" in step:
            holder, key = _holder(world, step["delete"])
            del holder[key]
        elif "append" in step:
            holder, key = _holder(world, step["append"])
            extra = _value(world, step["value"])
            if isinstance(holder[key], str):
                holder[key] += extra
            else:
                holder[key].append(extra)
        elif "replace" in step:
            holder, key = _holder(world, step["replace"])
            assert step["find"] in holder[key], step
            holder[key] = holder[key].replace(_value(world, step["find"]), _value(world, step["with"]))
        elif "copy" in step:
            source, name = _holder(world, step["from"])
            holder, key = _holder(world, step["copy"])
            holder[key] = copy.deepcopy(source[name])
        else:
            raise AssertionError(f"no such edit: {step}")
    return world


def _holder(world: Any, path: Sequence[Any]) -> tuple[Any, Any]:
    for key in path[:-1]:
        world = world[key]
    return world, path[-1]


def _value(world: Mapping[str, Any], value: Any) -> Any:
    if isinstance(value, str):
        value = re.sub(r"\$anchor:(\w+)", lambda m: ev1(world["nonces"][m[1]], m[1]), value)
        value = re.sub(r"\$canonical:(\w+)", lambda m: digest(plain(world[m[1]])), value)
        return re.sub(r"(?s)\$sha256:(.*)", lambda m: digest(m[1]), value)
    if isinstance(value, dict):
        return {name: _value(world, item) for name, item in value.items()}
    return [_value(world, item) for item in value] if isinstance(value, list) else value


def judge(world: Mapping[str, Any]) -> Trace:
    """The verdict; documents that have not their shape raise as they would at the door."""
    if "handoff_id" not in world["packet"]:  # a packet of 1.2 is given its id when it is issued
        packet = replace(Packet.read(plain(world["packet"])), handoff_id=HO)
    else:
        packet = Packet.read(plain(world["packet"]))
    kept = fit("file of nonces", NONCES, world["nonces"])
    nonces = {Target(name): bytes.fromhex(nonce) for name, nonce in kept.items()}
    contract = packet.contract.with_nonces(nonces) if packet.contract is not None else None
    receipt: Dispatch | Undelivered | None = None
    if "undelivered" in world:
        receipt = Undelivered.read(plain(world["undelivered"]))
    elif "dispatch" in world:
        receipt = Dispatch.read(plain(world["dispatch"]))
    answer = Return.read(plain(world["return"])) if world.get("return") is not None else None
    files: Mapping[str, str | None] = world["files"]
    claims = answer.claims if answer is not None else ()
    return gate(
        Facts(
            at=AT[2],
            packet=packet,
            contract=contract,
            altered=_altered(world),
            intent=Intent(**world["intent"]) if world.get("intent") else None,
            receipt=receipt,
            task_adapter=world["task_adapter"],
            answer=answer,
            return_sha256=digest(plain(world["return"])) if answer is not None else None,
            root=Root.from_json(fit("root", ROOT, world["root"])) if world["root"] is not None else None,
            baselines={Target(name): Baseline.from_json(each) for name, each in world["baselines"].items()},
            reads=_reads(world, packet),
            recorded=tuple(
                Recorded(Target(each["target"]), each["offset"], each["length"], each["sha256"])
                for each in world["recorded"]
            ),
            applied=tuple(Applied(**each) for each in world["applied"]),
            artifacts=tuple(_file(files, path) for path in (answer.artifact_paths if answer else ())),
            claimed={claim.path: _file(files, claim.path) for claim in claims if claim.kind == "verified"},
            repositories=tuple(_repository(each) for each in world["repositories"]),
            worker_alive=world["worker_alive"],
            worker_exit=world["worker_exit"],
        )
    )


def _altered(world: Mapping[str, Any]) -> tuple[str, ...]:
    recorded = world.get("ledger", {})
    return tuple(name for name in recorded if recorded[name] != digest(plain(world[name])))


def _reads(world: Mapping[str, Any], packet: Packet) -> dict[Target, TargetRead]:
    found: dict[Target, TargetRead] = {}
    if packet.contract is None:
        return found
    for target, entry in packet.contract.required.items():
        text = world["files"].get(entry.path)
        if text is None:
            found[target] = TargetRead("missing")
            continue
        data = text.encode()
        size = (
            0 if target is Target.CENTRAL_BOARD else world["baselines"].get(target.value, {"size": 0})["size"]
        )
        prefix = data[:size]
        found[target] = TargetRead(
            "file",
            len(data),
            digest(data),
            digest(prefix) if len(prefix) == size else None,
            prefix.count(b"\n"),
            data[size:],
            world["commands"],
        )
    return found


def _file(files: Mapping[str, str | None], path: str) -> FileRead:
    """A folder is a path that others lie below; `folder/` alone is an empty one."""
    if path.startswith("/") or ".." in path.split("/"):
        return FileRead(path, "outside")
    text = files.get(path)
    if text is not None:
        return FileRead(path, "read", len(text.encode()), 1, digest(text))
    inner = {name: text for name, text in files.items() if name.startswith(f"{path}/") and text is not None}
    if not inner:
        return FileRead(path, "missing")
    names = [name for name in inner if not name.endswith("/")]
    size = sum(len(inner[name].encode()) for name in names)
    return FileRead(path, "read", size, len(names), digest(json.dumps(inner, sort_keys=True)))


def _repository(value: Mapping[str, Any]) -> RepositoryRead:
    return RepositoryRead(
        value["path"],
        value.get("found", True),
        value.get("head"),
        dict.fromkeys(value.get("commits", ()), True),
        {tuple(name.split(":", 1)): digest(text) for name, text in value.get("blobs", {}).items()},
        {name: digest(text) for name, text in value.get("working", {}).items()},
        {tuple(name.split(":", 1)): state for name, state in value.get("remotes", {}).items()},
        tuple(value.get("targets", ())),
    )
