"""Job: histories: whatever is done in whatever order, the record keeps its promises.

The model beside it is written from the specification's sentences, not from the code.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.job.standin import OTHER, REQUEST, Killed, StandIn, open_service, registry_json

from muniment.digest import Digest
from muniment.errors import MunimentError
from muniment.job.backend import EngineState
from muniment.job.errors import EngineRefused, EngineUnreachable, ForeignWrite
from muniment.job.writer import dump
from muniment.record.consent import WitnessKind

PLANS = {"one": REQUEST, "other": OTHER}


class Histories(RuleBasedStateMachine):
    """One job, its engine, a person, an agent, crashes and strangers."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="muniment-")
        self.place = Path(self.folder.name)
        self.engine = StandIn()
        self.reopen()

    def reopen(self) -> None:
        """A new process."""
        self.service = open_service(self.place, self.engine)

    @initialize()
    def begin(self) -> None:
        self.service.init("j")
        self.phase, self.status = "initialize", "active"
        self.plan = ""
        self.yes: tuple[str, str] | None = None  # the plan that was confirmed, and by which witness
        self.digests: dict[str, Digest] = {}
        self.open = False  # a submission whose answer is not known
        self.back = ("", "")
        self.foreign = False

    def does(self, act: Any, *, expected: bool) -> bool:
        """Do it; it must succeed exactly when the model says so, and a refusal changes nothing."""
        before = (self.place / "jobs" / "j" / "registry.yaml").read_bytes()
        try:
            act()
        except (MunimentError, ValueError) as error:
            assert not expected, f"refused: {error}"
            assert (self.place / "jobs" / "j" / "registry.yaml").read_bytes() == before
            return False
        assert expected, "it should have been refused"
        return True

    @property
    def alive(self) -> bool:
        return self.status not in ("failed", "cancelled") and not self.foreign

    @rule(which=st.sampled_from(sorted(PLANS)))
    def make_a_plan(self, which: str) -> None:
        early = self.phase in ("initialize", "planned")
        same = self.phase == "awaiting_plan_confirmation" and self.plan == which
        # Where a submission was blocked, even the same plan may not touch the status.
        expected = self.alive and not self.open and (early or same)
        expected = expected or (self.alive and self.open and same)
        if self.does(lambda: self.service.plan("j", PLANS[which]), expected=expected) and early:
            self.phase, self.status, self.plan, self.yes = "awaiting_plan_confirmation", "active", which, None
            self.digests[which] = self.service.show("j").plan

    @rule()
    def take_it_back(self) -> None:
        asked = self.phase == "awaiting_plan_confirmation"
        noop = self.phase == "planned" and self.status == "active"
        expected = self.alive and ((asked and not self.open) or noop)
        if self.does(lambda: self.service.revise("j"), expected=expected) and asked:
            self.phase, self.status, self.yes = "planned", "active", None

    @rule(which=st.sampled_from(sorted(PLANS)), witness=st.sampled_from(list(WitnessKind)))
    def say_yes(self, which: str, witness: WitnessKind) -> None:
        digest = self.digests.get(which, Digest("0" * 64))
        expected = self.alive and self.phase == "awaiting_plan_confirmation" and self.plan == which
        if self.does(lambda: self.service.confirm("j", digest, witness), expected=expected):
            self.yes = (which, witness.value)

    @rule(
        fault=st.sampled_from(["", "", "refuses", "dies before", "dies after", "unreachable", "answer lost"])
    )
    def submit(self, fault: str) -> None:
        given = len(self.engine.created)
        noop = self.phase in ("submitted", "finalize") and not self.foreign
        asked = self.phase == "awaiting_plan_confirmation" and self.alive
        good_yes = self.yes is not None and self.yes[0] == self.plan and self.yes[1] != "relayed"
        at_it = asked and (self.open or good_yes)
        there = "openclaw-j" in self.engine.jobs
        self.engine.fault = fault if at_it and not there else ""
        fault = self.engine.fault
        try:
            if not fault:
                if self.does(lambda: self.service.submit("j"), expected=noop or at_it) and at_it:
                    self.phase, self.status, self.open = "submitted", "active", False
            else:
                with pytest.raises((Killed, EngineRefused, EngineUnreachable)):
                    self.service.submit("j")
                self.open = fault != "refuses"
                if fault == "refuses":
                    self.yes = None
                self.reopen()
        finally:
            self.engine.fault = ""
        assert len(self.engine.created) <= 1, "given to the engine twice"
        if len(self.engine.created) > given:
            assert good_yes or at_it

    @rule(state=st.sampled_from(list(EngineState)))
    def the_engine_goes_on(self, state: EngineState) -> None:
        self.engine.state = state

    @rule()
    def poll(self) -> None:
        expected = not self.foreign and self.phase in ("submitted", "finalize")
        if self.does(lambda: self.service.poll("j"), expected=expected) and self.phase == "submitted":
            self.ended_by_engine()

    def ended_by_engine(self) -> None:
        if self.status == "active":
            state = self.engine.state
            self.status = {EngineState.FAILED: "failed", EngineState.STOPPED: "cancelled"}.get(
                state, "active"
            )

    @rule()
    def take_the_results(self) -> None:
        running = self.phase == "submitted" and self.alive
        done = running and self.engine.state is EngineState.SUCCEEDED
        expected = done or (self.phase == "finalize" and not self.foreign)
        if running and not done:
            with pytest.raises(MunimentError):
                self.service.finalize("j")
            self.ended_by_engine()
            return
        if self.does(lambda: self.service.finalize("j"), expected=expected) and done:
            self.phase, self.status = "finalize", "complete"

    @rule(reason=st.sampled_from(["", "why", "another"]))
    def a_gap(self, reason: str) -> None:
        expected = self.alive and bool(reason) and not (self.open and self.phase != "document_gap")
        if self.does(lambda: self.service.gap("j", topic="t", reason=reason), expected=expected):
            if self.phase != "document_gap":
                self.back = (self.phase, self.status)
            self.phase, self.status = "document_gap", "blocked"

    @rule()
    def the_gap_is_closed(self) -> None:
        inside = self.phase == "document_gap"
        expected = not self.foreign and (not inside or self.alive)
        if self.does(lambda: self.service.resolve_gap("j"), expected=expected) and inside:
            self.phase, self.status = self.back

    @rule()
    def stop(self) -> None:
        noop = self.status in ("failed", "cancelled") and not self.foreign
        expected = noop or (self.alive and not self.open and self.status != "complete")
        if self.does(lambda: self.service.cancel("j"), expected=expected) and not noop:
            self.status = "cancelled"

    @precondition(lambda self: not self.foreign)
    @rule(forged=st.booleans())
    def a_stranger_writes(self, forged: bool) -> None:
        value: Any = registry_json(self.place, "j")
        if forged:
            value["workflow"].update(phase="submitted", status="active")
            value["execution"]["bioline"]["job"]["id"] = "p_forged"
        else:
            value["knowledge"]["document_ids"].append("stranger")
        (self.place / "jobs" / "j" / "registry.yaml").write_bytes(dump(value))
        self.foreign, self.forged, self.kept = True, forged, (self.phase, self.status)
        with pytest.raises(ForeignWrite):
            self.service.show("j")

    @precondition(lambda self: self.foreign)
    @rule()
    def the_stranger_is_sent_away(self) -> None:
        """Put back what the journal knows: found by trying to adopt nothing."""
        value: Any = registry_json(self.place, "j")
        if not self.forged:
            self.service.adopt("j", "a document was added by hand")
            self.foreign = False
            return
        good_yes = self.yes is not None and self.yes[0] == self.plan and self.yes[1] != "relayed"
        if not good_yes:
            with pytest.raises(MunimentError):
                self.service.adopt("j", "looks right")
        del value
        raise_free = self.last_good
        (self.place / "jobs" / "j" / "registry.yaml").write_bytes(raise_free)
        self.foreign = False

    @invariant()
    def the_file_says_what_the_model_says(self) -> None:
        if not hasattr(self, "phase"):
            return
        if self.foreign:
            return
        self.last_good = (self.place / "jobs" / "j" / "registry.yaml").read_bytes()
        value: Any = registry_json(self.place, "j")
        at = value["workflow"]
        assert (at["phase"], at["status"]) == (self.phase, self.status)
        if at["phase"] in ("submitted", "finalize"):
            assert self.yes is not None and self.yes[1] != "relayed", "submitted without a witness"
            assert self.yes[0] == self.plan
        assert value["document_gap"]["detected"] == (at["phase"] == "document_gap")

    def teardown(self) -> None:
        if hasattr(self, "phase") and not self.foreign:
            report = self.service.verify("j")
            assert report.good, [one for one in report.checks if not one.good]
        self.folder.cleanup()


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
