"""Room `job`: registries that came from elsewhere: imported by a person, or written by a stranger.

Neither is a way around the confirmation: what says it was submitted needs one of its plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.canonical import Json, canonical
from muniment.digest import Digest, sha256
from muniment.job import rules
from muniment.job.errors import JobNotFound, NoReason, NotConfirmed, NothingToAdopt, WitnessTooWeak
from muniment.job.history import ADOPTED, History, fold
from muniment.job.model import Phase, Registry, Status
from muniment.job.plan import plan_of
from muniment.job.reader import LARGEST_FILE, read
from muniment.job.rules import Standing
from muniment.job.store import REGISTRY, JobStore, Opened, registry_digest
from muniment.record.consent import WitnessKind, suffices

if TYPE_CHECKING:
    from muniment.job.service import JobService


def submitted_already(registry: Registry) -> bool:
    """Whether a registry says that its plan was submitted."""
    return registry.workflow.phase in (Phase.SUBMITTED, Phase.FINALIZE) or bool(
        registry.execution.bioline.job.id
    )


def import_facts(
    service: JobService,
    job: str,
    engine: str,
    registry: Registry,
    confirmed: tuple[Digest, WitnessKind] | None,
) -> dict[str, Json]:
    """What the journal says of an import; `NotConfirmed` and `WitnessTooWeak` as for submitting."""
    facts: dict[str, Json] = {"engine": engine}
    if submitted_already(registry):
        shown = canonical(plan_of(job, engine, registry))
        plan = sha256(shown)
        if confirmed is None or confirmed[0] != plan:
            raise NotConfirmed(where=job, digest=plan, job=job)
        if not suffices("submit", confirmed[1], service.relayed):
            raise WitnessTooWeak(where=job, witness=confirmed[1].value, job=job)
        service.workspace.consents.give("submit", shown, confirmed[1])
        service.workspace.consents.spend("submit", shown, service.relayed)
        facts["confirmed"] = {"plan": plan.hex, "witness": confirmed[1].value}
    if registry.workflow.phase is Phase.DOCUMENT_GAP:
        facts["back"] = _back(registry, None)
    return facts


def adopt(store: JobStore, job: str, reason: str) -> Registry:
    """Make the registry as it lies there the known one; `NothingToAdopt` when it is that already."""
    if not reason.strip():
        raise NoReason(job=job)
    with store.folder(job) as (folder, journal):
        history = fold(journal.events())
        found = registry_digest(folder)
        if not found:
            raise JobNotFound(where=store.root.path, job=job)
        pending = history.pending
        known = (pending.before, pending.after) if pending else (history.registry,)
        if found in known:
            raise NothingToAdopt(where=job)
        registry = read(folder.read(REGISTRY, LARGEST_FILE + 1), where=f"{job}/{REGISTRY}")
        facts = store.facts(job, registry, history)
        store.require_sound(registry, facts, f"{job}/{REGISTRY}")
        if submitted_already(registry):
            rules.confirmed(registry, facts)
        back = _back(registry, history) if registry.workflow.phase is Phase.DOCUMENT_GAP else None
        opened = Opened(job, folder, journal, history, registry)
        evidence: dict[str, Json] = {
            "registry": found,
            "reason": reason,
            "instead_of": list(known),
            "back": back,
        }
        store.note(opened, ADOPTED, evidence)
        return registry


def _back(registry: Registry, history: History | None) -> Json:
    """Where a gap leads back to: where it was entered when that is known, else the last place
    that is sure."""
    if history is not None and history.back is not None:
        back = history.back
    elif submitted_already(registry):
        back = Standing(Phase.SUBMITTED, Status.ACTIVE)
    else:
        back = Standing(Phase.INITIALIZE, Status.ACTIVE)
    return {"phase": back.phase.value, "status": back.status.value}
