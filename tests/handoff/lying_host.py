"""A host in memory that lies: sub-agents, roots, providers, boards, all by seed.

The world is played deed by deed: a parent delegates to several children at once, each writes (or does
not), returns (or does not), and says what it likes.  `Told` is the oracle: it notes, at the moment of
the deed, what is truly owed and what was done to it; it knows nothing of the gate.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.handoff.world import ALPHABET, a_root, digest, ev1, journal_line, plain

JOURNAL, BOARD = "team/journal", "team/BOARD.json"
OWN = ("employee_memory", "employee_worklog")
ALL = (*OWN, "team_journal", "central_board")
WORDS = [
    "parser",
    "header",
    "offset",
    "record",
    "sample",
    "forty",
    "file",
    "test",
    "branch",
    "table",
    "index",
    "reader",
    "writer",
    "buffer",
    "column",
    "解析",
    "索引",
    "记录",
    "missing",
    "broken",
    "mended",
    "measured",
    "compared",
    "rewritten",
    "kept",
    "found",
    "read",
    "closed",
    "opened",
]


@dataclass
class Told:
    """What is true of one child: the lies it told and the harm that others did to its work."""

    lies: list[str] = field(default_factory=list)
    harmed: set[str] = field(default_factory=set)

    @property
    def honest(self) -> bool:
        return not self.lies and not self.harmed


@dataclass
class Child:
    name: str
    ids: dict[str, str]
    nonces: dict[str, str]
    owed: tuple[str, ...]
    mode: str
    documents: dict[str, Any] = field(default_factory=dict)
    baselines: dict[str, Any] = field(default_factory=dict)
    answer: dict[str, Any] | None = None
    told: Told = field(default_factory=Told)
    root: dict[str, Any] = field(default_factory=a_root)
    alive: bool = False
    exit: int | None = 0
    proposal: dict[str, Any] | None = None

    def anchor(self, target: str) -> str:
        return ev1(
            self.nonces[target],
            target,
            self.ids["handoff_id"],
            self.ids["contract_id"],
            self.ids["dispatch_id"],
        )


class Host:
    """One conversation: `children` delegations over one shared root."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.files: dict[str, str] = {BOARD: "{}", JOURNAL: ""}
        self.applied: list[dict[str, Any]] = []
        self.children = [self._delegate(number) for number in range(self.chance.randint(1, 4))]
        for child in self.chance.sample(self.children, len(self.children)):
            self._play(child)
        for child in self.children:
            self._apply(child)
        self._afterwards()

    # --- the parent
    def _ulid(self) -> str:
        return "01" + "".join(self.chance.choice(ALPHABET) for _ in range(24))

    def _delegate(self, number: int) -> Child:
        ids = {
            f"{kind}_id": f"{prefix}_{self._ulid()}"
            for kind, prefix in (("handoff", "ho"), ("contract", "ct"), ("dispatch", "dp"))
        }
        owed = tuple(target for target in ALL if self.chance.random() < 0.75)
        mode = self.chance.choice(("bounded_subagent", "bounded_subagent", "independent_task"))
        nonces = {target: self.chance.randbytes(16).hex() for target in ALL}
        child = Child(f"child{number}", ids, nonces, owed, mode)
        for target in OWN:
            if self.chance.random() < 0.5:
                self.files[self.path(child, target)] = f"# {child.name}\n\n{self._prose(4)}\n"
        child.documents = {
            "packet": self._packet(child),
            "intent": {"at": _at(1), "recipient_id": child.name, "answered": True},
        }
        child.documents["dispatch"] = {
            **ids,
            "recipient_id": child.name,
            "dispatched_at": _at(2),
            "requested_mode": mode,
            "effective_mode": mode,
            "provider_receipt": {"status": "accepted", "runId": self._ulid()},
        }
        if mode == "independent_task":
            task = {"task_id": self._ulid(), "resumable": True}
            child.documents["dispatch"] |= {"task_receipt": task, "workspace_receipt": a_root()}
        return child

    def path(self, child: Child, target: str) -> str:
        names = {"employee_memory": "MEMORY.md", "employee_worklog": "WORKLOG.md"}
        return (
            f"agents/{child.name}/{names[target]}"
            if target in names
            else JOURNAL
            if target == "team_journal"
            else BOARD
        )

    def _packet(self, child: Child) -> dict[str, Any]:
        targets: dict[str, Any] = {}
        for target in ALL:
            if target not in child.owed:
                targets[target] = {"state": "not_applicable", "reason": f"{target} is not needed here"}
                continue
            writer = {"team_journal": "team_journal", "central_board": "lead"}.get(target, child.name)
            targets[target] = {
                "state": "required",
                "path": self.path(child, target),
                "writer": writer,
                "verification": [{"check": "min_bytes", "bytes": 40}],
                "nonce_sha256": digest(bytes.fromhex(child.nonces[target])),
            }
            text = self.files.get(self.path(child, target))
            child.baselines[target] = (
                {"exists": False, "size": 0}
                if text is None
                else {"exists": True, "size": len(text.encode()), "sha256": digest(text)}
            )
        contract = {
            "contract_id": child.ids["contract_id"],
            "handoff_id": child.ids["handoff_id"],
            "authoritative_root": a_root(),
            "targets": targets,
        }
        return {
            "goal": self._prose(8),
            "context_constraints": [self._prose(5)],
            "acceptance_criteria": [self._prose(5)],
            "known_pitfalls": [self._prose(5)],
            "execution_mode": child.mode,
            "continuity_required": False,
            "allow_mode_degradation": False,
            "handoff_id": child.ids["handoff_id"],
            "persistence_contract": contract,
        }

    def _prose(self, words: int) -> str:
        return "The " + " ".join(self.chance.choice(WORDS) for _ in range(words)) + "."

    def _apply(self, child: Child) -> None:
        """The one writer of the board."""
        if child.proposal is None or "left unapplied" in child.told.lies:
            return
        board = json.loads(self.files[BOARD])
        board[child.name] = child.proposal["patch"][0]["value"]
        self.files[BOARD] = json.dumps(board)
        writer = child.name if "applied by itself" in child.told.lies else "lead"
        self.applied.append(
            {
                "writer": writer,
                "path": BOARD,
                "proposal_sha256": digest(plain(child.proposal)),
                "version": len(board),
            }
        )

    # --- the children
    def _play(self, child: Child) -> None:
        """One child at work: it is honest, or it tells one lie that this child has occasion for."""
        child.answer = {
            **child.ids,
            "execution_mode": child.mode,
            "conclusion": self._prose(14),
            "evidence": [self._prose(9)],
            "gaps": [],
            "artifact_paths": [],
            "closures": [self._do(child, target) for target in ALL],
        }
        if self.chance.random() < 0.4:
            path = f"out/{child.name}/report.md"
            self.files[path] = self._prose(20)
            child.answer["artifact_paths"].append(path)
        if self.chance.random() < 0.55:
            occasions = [lie for lie in LIES if LIES[lie].occasion(self, child)]
            name = self.chance.choice(occasions)
            child.told.lies.append(name)
            LIES[name].tell(self, child)

    def _do(self, child: Child, target: str, work: str | None = None) -> dict[str, Any]:
        """Write one target's work for true, and its receipt."""
        head: dict[str, Any] = {"target": target, **child.ids}
        if target not in child.owed:
            return {**head, "state": "not_applicable", "reason": f"{target} is not needed here"}
        head["evidence_anchor"] = anchor = child.anchor(target)
        path = self.path(child, target)
        words = self._prose(16) if work is None else work
        before = self.files.get(path, "")
        if target == "central_board":
            text = f"{words} {anchor}"
            child.proposal = {
                "form": "json",
                "base": digest(before),
                "patch": [{"op": "add", "path": f"/{child.name}", "value": text}],
            }
            return {**head, "state": "proposed_for_parent", "proposal": child.proposal}
        if target == "team_journal":
            lines = before.splitlines()
            prev = json.loads(lines[-1])["sha256"] if lines else "0" * 64
            line = journal_line(words, anchor, event_id=self._ulid(), prev=prev)
            self.files[path] = before + line
            record = json.loads(line)
            return {
                **head,
                "state": "updated",
                "event_id": record["event_id"],
                "position": len(before.encode()),
                "version": len(lines) + 1,
                "exit_code": 0,
                "sha256": record["sha256"],
            }
        entry = f"\n{words}\n{anchor}\n"
        self.files[path] = before + entry
        return {
            **head,
            "state": "updated",
            "path": path,
            "offset": len(before.encode()),
            "length": len(entry.encode()),
            "exit_code": 0,
            "sha256": digest(entry),
        }

    def closure(self, child: Child, target: str) -> dict[str, Any]:
        assert child.answer is not None
        found: dict[str, Any] = child.answer["closures"][ALL.index(target)]
        return found

    def owned(self, child: Child) -> list[str]:
        return [target for target in OWN if target in child.owed]

    def _afterwards(self) -> None:
        """What happens between the work and the check, to everybody."""
        if self.chance.random() < 0.1 and self.files[JOURNAL]:
            self.files[JOURNAL] = ""
            for child in self.children:
                if "team_journal" in child.owed:
                    child.told.harmed.add("the journal vanished")
        if self.chance.random() < 0.1:
            board = json.loads(self.files[BOARD])
            for name in list(board):
                del board[name]
            self.files[BOARD] = json.dumps(board)
            for child in self.children:
                if "central_board" in child.owed:
                    child.told.harmed.add("the board was emptied")

    def world_of(self, child: Child) -> dict[str, Any]:
        """What the parent can see of one delegation."""
        return {
            **child.documents,
            "nonces": {target: child.nonces[target] for target in child.owed},
            "task_adapter": True,
            "root": child.root,
            "files": self.files,
            "baselines": child.baselines,
            "recorded": [],
            "applied": self.applied,
            "repositories": [],
            "commands": {},
            "worker_alive": child.alive,
            "worker_exit": child.exit,
            "return": child.answer,
        }


@dataclass(frozen=True)
class Lie:
    """A lie: who has occasion for it, how it is told, and by which names it may be refused."""

    occasion: Callable[[Host, Child], bool]
    tell: Callable[[Host, Child], None]
    codes: frozenset[str]


LIES: dict[str, Lie] = {}


Tell = Callable[[Host, Child], None]
Occasion = Callable[[Host, Child], bool]


def lie(name: str, codes: str, occasion: Occasion = lambda host, child: True) -> Callable[[Tell], Tell]:
    def keep(tell: Tell) -> Tell:
        LIES[name] = Lie(occasion, tell, frozenset(codes.split()))
        return tell

    return keep


def _owns(host: Host, child: Child) -> bool:
    return bool(host.owned(child))


def _owes(target: str) -> Callable[[Host, Child], bool]:
    return lambda host, child: target in child.owed


def _runs_alone(host: Host, child: Child) -> bool:
    return child.mode == "independent_task"


def _says(child: Child) -> dict[str, Any]:
    assert child.answer is not None
    return child.answer


@lie("the bytes vanished", "TARGET_MISSING", _owns)
def _vanished(host: Host, child: Child) -> None:
    host.files.pop(host.path(child, host.chance.choice(host.owned(child))))


@lie("wrote into a copy", "WRONG_ROOT", lambda host, child: bool(child.owed))
def _copy(host: Host, child: Child) -> None:
    child.root = a_root(inode=str(host.chance.randint(200, 900)))


@lie("another file system was laid over", "WRONG_ROOT")
def _laid_over(host: Host, child: Child) -> None:
    child.root = a_root(fs_type=host.chance.choice(("overlay", "tmpfs")), mount_id="99")


@lie("the receipt never came", "NO_RECEIPT")
def _no_receipt(host: Host, child: Child) -> None:
    del child.documents["dispatch"]


@lie("delivery was unknown", "DELIVERY_UNKNOWN UNDELIVERED_UNPROVED")
def _unknown(host: Host, child: Child) -> None:
    del child.documents["dispatch"]
    child.documents["intent"]["answered"] = False
    reason = host.chance.choice(("delivery_unknown", "adapter_failed", "refused_by_host"))
    child.documents["undelivered"] = {
        "recipient_id": child.name,
        "at": _at(3),
        "requested_mode": child.mode,
        "reason": reason,
    }


@lie("never returned", "RETURN_MISSING")
def _never(host: Host, child: Child) -> None:
    child.answer = None


@lie("only a progress note", "PROGRESS_NOTE")
def _progress(host: Host, child: Child) -> None:
    _says(child)["conclusion"] = host.chance.choice(
        ("Working on it.", "I will look at the rest.", "正在处理", "Done!")
    )


@lie("a return from another delegation", "FOREIGN_ID", lambda host, child: len(host.children) > 1)
def _foreign(host: Host, child: Child) -> None:
    other = host.chance.choice([each for each in host.children if each is not child])
    name = host.chance.choice(("handoff_id", "contract_id", "dispatch_id"))
    _says(child)[name] = other.ids[name]


@lie("a receipt from another delegation", "FOREIGN_ID", lambda host, child: len(host.children) > 1)
def _foreign_closure(host: Host, child: Child) -> None:
    other = host.chance.choice([each for each in host.children if each is not child])
    host.chance.choice(_says(child)["closures"])["contract_id"] = other.ids["contract_id"]


@lie("an anchor of another target", "ANCHOR_FOREIGN", lambda host, child: len(child.owed) > 1)
def _relabelled(host: Host, child: Child) -> None:
    one, other = host.chance.sample(child.owed, 2)
    host.closure(child, one)["evidence_anchor"] = child.anchor(other)


@lie("a receipt left out", "CLOSURE_MISSING")
def _left_out(host: Host, child: Child) -> None:
    closures = _says(child)["closures"]
    closures.pop(host.chance.randrange(len(closures)))


@lie("a receipt given twice", "CLOSURE_DOUBLED")
def _twice(host: Host, child: Child) -> None:
    closures = _says(child)["closures"]
    closures.append(host.chance.choice(closures))


@lie("an owed target called unneeded", "CLOSURE_STATE", lambda host, child: bool(child.owed))
def _unneeded(host: Host, child: Child) -> None:
    target = host.chance.choice(child.owed)
    _says(child)["closures"][ALL.index(target)] = {
        "target": target,
        **child.ids,
        "state": "not_applicable",
        "reason": "nothing to say",
    }


@lie("another reason", "REASON_CHANGED", lambda host, child: len(child.owed) < 4)
def _reason(host: Host, child: Child) -> None:
    target = host.chance.choice([target for target in ALL if target not in child.owed])
    host.closure(child, target)["reason"] = "no time"


@lie("failed and updated", "HANDOFF_SHAPE", _owns)
def _exit(host: Host, child: Child) -> None:
    host.closure(child, host.chance.choice(host.owned(child)))["exit_code"] = host.chance.randint(1, 255)


def _rewrite(host: Host, child: Child, target: str, entry: str) -> None:
    """Put other bytes in place of the entry, with a receipt that fits them."""
    closure, path = host.closure(child, target), host.path(child, target)
    data = host.files[path].encode()
    host.files[path] = (data[: closure["offset"]] + entry.encode()).decode()
    closure |= {"length": len(entry.encode()), "sha256": digest(entry)}


@lie("the anchor and no work", "ANCHOR_WITHOUT_WORK", _owns)
def _bare(host: Host, child: Child) -> None:
    target = host.chance.choice(host.owned(child))
    _rewrite(host, child, target, f"\n- {child.anchor(target)}\n")


@lie("too little work", "VERIFICATION_FAILED", _owns)
def _little(host: Host, child: Child) -> None:
    target = host.chance.choice(host.owned(child))
    _rewrite(host, child, target, f"\nok then\n{child.anchor(target)}\n")


@lie("all anchors in one file", "ANCHOR_DUMP", lambda host, child: _owns(host, child) and len(child.owed) > 1)
def _dump(host: Host, child: Child) -> None:
    target = host.chance.choice(host.owned(child))
    anchors = "\n".join(child.anchor(each) for each in child.owed)
    _rewrite(host, child, target, f"\n{host._prose(16)}\n{anchors}\n")


@lie("no anchor", "ANCHOR_MISSING", _owns)
def _no_anchor(host: Host, child: Child) -> None:
    _rewrite(host, child, host.chance.choice(host.owned(child)), f"\n{host._prose(16)}\n")


@lie(
    "another worker's anchor",
    "ANCHOR_MISSING",
    lambda host, child: _owns(host, child) and len(host.children) > 1,
)
def _borrowed(host: Host, child: Child) -> None:
    other = host.chance.choice([each for each in host.children if each is not child])
    target = host.chance.choice(host.owned(child))
    _rewrite(host, child, target, f"\n{host._prose(16)}\n{other.anchor(target)}\n")


@lie("changed after the receipt", "ENTRY_CHANGED", _owns)
def _changed(host: Host, child: Child) -> None:
    target = host.chance.choice(host.owned(child))
    path, closure = host.path(child, target), host.closure(child, target)
    data = bytearray(host.files[path].encode())
    data[closure["offset"] + 1 : closure["offset"] + 4] = b"All"
    host.files[path] = data.decode()


@lie("cut short", "ENTRY_OUTSIDE NOTHING_ADDED BASELINE_REWRITTEN", _owns)
def _short(host: Host, child: Child) -> None:
    path = host.path(child, host.chance.choice(host.owned(child)))
    data = host.files[path].encode()
    host.files[path] = data[: host.chance.randrange(len(data))].decode("utf-8", "ignore")


def _had_older(host: Host, child: Child) -> bool:
    return any(child.baselines[target]["exists"] for target in host.owned(child))


@lie("older bytes thrown away", "BASELINE_REWRITTEN", _had_older)
def _thrown(host: Host, child: Child) -> None:
    target = next(target for target in host.owned(child) if child.baselines[target]["exists"])
    path = host.path(child, target)
    host.files[path] = host.files[path].replace("# ", "? ", 1)


@lie("another place in the journal", "JOURNAL_RECORD", _owes("team_journal"))
def _place(host: Host, child: Child) -> None:
    closure = host.closure(child, "team_journal")
    name = host.chance.choice(("position", "version"))
    closure[name] += host.chance.choice((1, 7))


@lie("a record of another worker", "JOURNAL_RECORD", _owes("team_journal"))
def _other_event(host: Host, child: Child) -> None:
    host.closure(child, "team_journal")["event_id"] = host._ulid()


@lie("left unapplied", "BOARD_NOT_APPLIED", _owes("central_board"))
def _unapplied(host: Host, child: Child) -> None:
    """The writer never gets to it; `Host._apply` looks for this name."""


@lie("applied by itself", "BOARD_WRITER", _owes("central_board"))
def _self(host: Host, child: Child) -> None:
    """The child applies its own proposal; `Host._apply` looks for this name."""


@lie("a proposal with the anchor alone", "ANCHOR_WITHOUT_WORK", _owes("central_board"))
def _hollow(host: Host, child: Child) -> None:
    _says(child)["closures"][3] = host._do(child, "central_board", "")


@lie("an artifact that is not there", "ARTIFACT_MISSING")
def _artifact(host: Host, child: Child) -> None:
    _says(child)["artifact_paths"].append(f"out/{child.name}/more.md")


@lie("an empty artifact", "ARTIFACT_EMPTY")
def _empty(host: Host, child: Child) -> None:
    host.files[f"out/{child.name}/empty.md"] = ""
    _says(child)["artifact_paths"].append(f"out/{child.name}/empty.md")


@lie("committed in words", "CLAIM_UNNAMED")
def _words(host: Host, child: Child) -> None:
    _says(child)["evidence"].append(
        host.chance.choice(("All is committed.", "I pushed the branch.", "修改已提交"))
    )


@lie("a commit in no repository", "REPOSITORY_MISSING")
def _commit(host: Host, child: Child) -> None:
    claim = {
        "claim": "committed",
        "repository": "app",
        "commit": host.chance.randbytes(20).hex(),
        "paths": ["x"],
    }
    _says(child)["evidence"].append(claim)


@lie("still running", "WORKER_ALIVE")
def _running(host: Host, child: Child) -> None:
    child.alive = True


@lie("ended with an error", "WORKER_FAILED")
def _failed(host: Host, child: Child) -> None:
    child.exit = host.chance.randint(1, 255)


@lie("the mode was raised", "MODE_RAISED RETURN_MODE", lambda host, child: child.mode == "bounded_subagent")
def _raised(host: Host, child: Child) -> None:
    child.documents["dispatch"] |= {
        "effective_mode": "independent_task",
        "task_receipt": {"task_id": "t", "resumable": True},
        "workspace_receipt": a_root(),
    }


@lie(
    "the mode was lowered",
    "DEGRADATION_REFUSED RETURN_MODE",
    lambda host, child: child.mode == "independent_task",
)
def _lowered(host: Host, child: Child) -> None:
    dispatch = child.documents["dispatch"]
    for name in ("task_receipt", "workspace_receipt"):
        del dispatch[name]
    dispatch |= {"effective_mode": "bounded_subagent", "degradation_reason": "no tasks"}


@lie("the task ran elsewhere", "WRONG_ROOT", _runs_alone)
def _elsewhere(host: Host, child: Child) -> None:
    child.documents["dispatch"]["workspace_receipt"] = a_root(real_path="/srv/copy")


@lie("somebody else did it", "RECIPIENT_DIFFERS")
def _somebody(host: Host, child: Child) -> None:
    child.documents["dispatch"]["recipient_id"] = "bob"


def _at(second: int) -> str:
    return f"2026-11-30T10:00:{second:02d}.000000Z"
