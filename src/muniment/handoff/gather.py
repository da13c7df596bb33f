"""Handoff room: the facts of one handoff, gathered: papers from Muniment's folder, bytes from the root."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from muniment.clock import instant
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.handoff.dispatch import A2A, WorkerState
from muniment.handoff.facts import Applied, Baseline, Facts, Recorded
from muniment.handoff.model import Target
from muniment.handoff.nonces import Nonces
from muniment.handoff.papers import Papers
from muniment.handoff.reading import Commands, read_file, read_targets
from muniment.handoff.receipts import Return
from muniment.handoff.repositories import AskGit, read_repositories
from muniment.handoff.roots import root_facts
from muniment.handoff.settings import DEFAULT_AREA
from muniment.handoff.store import Folder
from muniment.path import RelPath
from muniment.record.event import Context
from muniment.record.locate import locate_path

TASK_ADAPTERS = frozenset({A2A})
"""Adapters that create independent tasks."""


def _no_git(*_: object) -> bytes | None:
    return None


@dataclass(frozen=True, slots=True)
class Options:
    """How a workspace wants its handoffs: the recipients' own folders, and how to run checks.

    `found_by` is the rule by which the root was found, `context` what this process runs under.
    """

    area: str = DEFAULT_AREA
    found_by: str = "flag"
    run: Commands | None = None
    ask_git: AskGit = field(default=_no_git)
    context: Context = field(default_factory=Context)


def gather(
    papers: Papers,
    nonces: Nonces,
    options: Options,
    folder: Folder,
    worker: WorkerState,
) -> Facts:
    """The world as it is now, for one handoff; every byte is read anew from the root's own path."""
    packet, answer = papers.packet(folder), folder.last("returns")
    intent = papers.intent(folder)
    via = papers.intent_document(folder)["via"] if intent is not None else ""
    contract = packet.contract
    if contract is not None:
        contract = contract.with_nonces(nonces.of(folder.handoff_id))
    baselines = papers.baselines(folder)
    stored = [folder.read("packet.json"), folder.last("outcomes"), folder.last("baselines"), answer]
    stored += [folder.read(name) for series in ("recorded", "applied") for name in folder.names(series)]
    facts = Facts(
        at=instant(papers.workspace.clock()),
        packet=packet,
        contract=contract,
        altered=papers.altered(folder.handoff_id, [each for each in stored if each is not None]),
        intent=intent,
        receipt=papers.outcome(folder),
        task_adapter=via in TASK_ADAPTERS,
        answer=Return.read(answer.data, answer.where) if answer is not None else None,
        return_sha256=answer.sha256 if answer is not None else None,
        baselines=baselines,
        recorded=tuple(Recorded.from_json(each) for each in folder.all("recorded")),
        applied=tuple(Applied(**each) for each in folder.all("applied")),
        worker_alive=worker.alive,
        worker_exit=worker.exit_code,
    )
    return _world(papers, options, facts, baselines)


def _world(papers: Papers, options: Options, facts: Facts, baselines: Mapping[Target, Baseline]) -> Facts:
    """What lies outside of Muniment's own folder; a root that can not be opened gives no facts."""
    try:
        root = Root.open(papers.workspace.root.path)
    except MunimentError:
        return facts
    with root:
        try:
            now = root_facts(root, options.found_by)
        except MunimentError:
            return facts
        contract, answer = facts.contract, facts.answer
        claims = answer.claims if answer is not None else ()
        verified = [claim.path for claim in claims if claim.kind == "verified"]
        moved = moved_by(papers, root)
        paths = answer.artifact_paths if answer is not None else ()
        reads = read_targets(root, contract, baselines, options.run) if contract is not None else {}
        return replace(
            facts,
            root=now,
            reads=reads,
            artifacts=tuple(read_file(root, path, moved) for path in paths),
            claimed={path: read_file(root, path, moved) for path in verified},
            repositories=read_repositories(root, claims, contract, options.ask_git),
        )


def moved_by(papers: Papers, root: Root) -> Callable[[RelPath], Sequence[RelPath]]:
    """Where something that was moved since lies now, the newest place first."""

    def find(rel: RelPath) -> Sequence[RelPath]:
        found = locate_path(papers.workspace.ledger, papers.workspace.tables, root, rel)
        return [each.path for each in reversed(found) if each.state == "intact"]

    return find
