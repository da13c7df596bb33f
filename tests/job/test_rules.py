"""Job: the phases: what may follow what, against a table written from the specification."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from tests.job.registries import awaiting, template

from muniment.digest import Digest, sha256
from muniment.errors import MunimentError
from muniment.job.errors import Frozen, NotConfirmed, PhaseRefused, SubmissionOpen, WitnessTooWeak
from muniment.job.image_name import image_tag_of
from muniment.job.model import DocumentGap, Phase, Registry, Status
from muniment.job.plan import plan_digest, plan_of
from muniment.job.reader import from_json
from muniment.job.rules import Confirmation, Facts, Standing, findings, judge, moved

# Spec 2, phases: the arrows of the text. `document_gap` from any of them and back where it began.
ARROWS = {
    ("initialize", "planned"),
    ("planned", "awaiting_plan_confirmation"),
    ("awaiting_plan_confirmation", "planned"),
    ("awaiting_plan_confirmation", "submitted"),
    ("submitted", "finalize"),
}
PHASES = [phase.value for phase in Phase]


def standing(phase: str, status: str = "active") -> Registry:
    """A registry that keeps every rule in that phase."""
    base = from_json(template() if phase == "initialize" else awaiting())
    if phase in ("submitted", "finalize"):
        bioline = base.execution.bioline
        bioline = replace(bioline, job=replace(bioline.job, id="p_77"))
        base = replace(base, execution=replace(base.execution, bioline=bioline))
    base = moved(base, Phase(phase), Status(status))
    if phase == "document_gap":
        base = replace(base, document_gap=DocumentGap(True, "t", (), ("m",), "why"))
    assert findings(base) == []
    return base


def facts(after: Registry, **more: object) -> Facts:
    """What is known when exactly this plan was confirmed."""
    plan = plan_digest("j", "cwl", after)
    known = Facts("j", "cwl", Confirmation(plan, "terminal", True))
    return replace(known, **more)  # type: ignore[arg-type]


def allowed(before: Registry, after: Registry, known: Facts) -> bool:
    try:
        judge(before, after, known)
    except MunimentError:
        return False
    return True


@pytest.mark.parametrize(("old", "new"), list(itertools.product(PHASES, PHASES)))
def test_the_arrows(old: str, new: str) -> None:
    before, after = standing(old), standing(new)
    back = Standing(Phase.PLANNED, Status.ACTIVE)
    if new == "document_gap":
        after = replace(moved(before, Phase.DOCUMENT_GAP), document_gap=after.document_gap)
    expected = old == new or (old, new) in ARROWS or new == "document_gap"
    if old == "document_gap" and new != "document_gap":
        expected = new == "planned"
    assert allowed(before, after, facts(after, back=back)) == expected


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("ended", ["failed", "cancelled"])
def test_what_has_ended_changes_no_more(phase: str, ended: str) -> None:
    before = standing(phase, ended)
    for new in PHASES:
        assert not allowed(before, standing(new), facts(standing(new), back=Standing.of(before)))
    assert allowed(standing(phase), before, facts(before)), "a job ends where it stands"


def test_a_gap_leads_back_only_to_where_it_was_entered() -> None:
    for back, new in itertools.product(PHASES, PHASES):
        if "document_gap" in (back, new):
            continue
        after = standing(new)
        before = replace(
            moved(after, Phase.DOCUMENT_GAP, Status.BLOCKED),
            document_gap=DocumentGap(True, "t", (), (), "why"),
        )
        known = facts(after, back=Standing(Phase(back), Status.ACTIVE))
        assert allowed(before, after, known) == (back == new)
    assert not allowed(standing("document_gap"), standing("planned"), facts(standing("planned"), back=None))


class TestConfirmation:
    before = standing("awaiting_plan_confirmation")
    after = standing("submitted")

    def test_without_one(self) -> None:
        with pytest.raises(NotConfirmed):
            judge(self.before, self.after, facts(self.after, confirmation=None))

    def test_of_another_plan(self) -> None:
        other = Confirmation(sha256(b"another"), "terminal", True)
        with pytest.raises(NotConfirmed):
            judge(self.before, self.after, facts(self.after, confirmation=other))

    def test_that_was_only_passed_on(self) -> None:
        plan = plan_digest("j", "cwl", self.after)
        with pytest.raises(WitnessTooWeak):
            judge(
                self.before, self.after, facts(self.after, confirmation=Confirmation(plan, "relayed", False))
            )

    def test_of_the_same_plan_of_another_job_or_engine(self) -> None:
        for job, engine in (("k", "cwl"), ("j", "wes")):
            yes = Confirmation(plan_digest(job, engine, self.after), "terminal", True)
            with pytest.raises(NotConfirmed):
                judge(self.before, self.after, facts(self.after, confirmation=yes))

    def test_it_binds_every_part_of_the_plan(self) -> None:
        digests = {plan_digest("j", "cwl", one) for one in variants(self.before)}
        assert len(digests) == len(list(variants(self.before)))
        for other in variants(self.before)[1:]:
            with pytest.raises(NotConfirmed):
                judge(self.before, self.after, facts(other))

    def test_what_is_no_part_of_the_plan_does_not_void_it(self) -> None:
        read_more = replace(self.after, knowledge=replace(self.after.knowledge, document_ids=("x",)))
        assert plan_digest("j", "cwl", read_more) == plan_digest("j", "cwl", self.before)

    def test_it_is_the_sha256_of_the_canonical_form(self) -> None:
        """RFC 8785 of plain ASCII without numbers is what `json` writes with sorted keys."""
        import hashlib
        import json

        text = json.dumps(
            plan_of("j", "cwl", self.before), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        assert plan_digest("j", "cwl", self.before) == Digest(hashlib.sha256(text.encode()).hexdigest())


def variants(base: Registry) -> list[Registry]:
    """The same registry with one part of its plan changed, each once."""
    execution, bioline = base.execution, base.execution.bioline
    flow = bioline.flow
    first, *rest = execution.bindings
    bindings = [
        replace(first, fileId="f-2"),
        replace(first, filename="/data/input/b.fastq"),
        replace(first, task="t"),
        replace(first, port="p"),
        replace(first, required=False),
    ]
    changed = [
        *(replace(execution, bindings=(one, *rest)) for one in bindings),
        replace(execution, bindings=tuple(rest)),
        replace(execution, bindings=(*rest, first)),
        replace(execution, defaults_used=()),
        replace(execution, selected_artifacts=()),
        replace(execution, bioline=replace(bioline, input_path="/x")),
        replace(execution, bioline=replace(bioline, project_id="x")),
        replace(execution, bioline=replace(bioline, flow=replace(flow, id="x"))),
        replace(execution, bioline=replace(bioline, flow=replace(flow, version_id="x"))),
    ]
    return [
        base,
        *(replace(base, execution=one) for one in changed),
        replace(base, workflow=replace(base.workflow, objective="x")),
    ]


@pytest.mark.parametrize("phase", ["submitted", "finalize"])
def test_the_plan_is_frozen_by_submission(phase: str) -> None:
    before = standing(phase)
    for after in variants(before)[1:]:
        with pytest.raises(Frozen):
            judge(before, after, facts(after))
        gap = replace(moved(after, Phase.DOCUMENT_GAP), document_gap=DocumentGap(True, "t", (), (), "w"))
        with pytest.raises(Frozen):
            judge(before, gap, facts(gap))


def test_the_engine_s_id_is_written_once() -> None:
    before = standing("submitted")
    bioline = replace(before.execution.bioline, job=replace(before.execution.bioline.job, id="other"))
    with pytest.raises(Frozen):
        judge(before, replace(before, execution=replace(before.execution, bioline=bioline)), facts(before))
    placed = replace(bioline, job=replace(bioline.job, id="p_77", output_dir="/a"))
    with_place = replace(before, execution=replace(before.execution, bioline=placed))
    judge(before, with_place, facts(with_place))
    elsewhere = replace(placed, job=replace(placed.job, output_dir="/b"))
    with pytest.raises(Frozen):
        judge(
            with_place, replace(before, execution=replace(before.execution, bioline=elsewhere)), facts(before)
        )


def test_a_plan_that_awaits_a_yes_changes_only_after_revise() -> None:
    before = standing("awaiting_plan_confirmation")
    for after in variants(before)[1:]:
        with pytest.raises(PhaseRefused):
            judge(before, after, facts(after))
        judge(before, moved(after, Phase.PLANNED), facts(after))


def test_nothing_makes_room_for_a_second_submission() -> None:
    before = standing("awaiting_plan_confirmation")
    for after in (
        standing("planned"),
        standing("document_gap"),
        standing("awaiting_plan_confirmation", "cancelled"),
        standing("awaiting_plan_confirmation", "failed"),
        variants(before)[1],
    ):
        with pytest.raises(SubmissionOpen):
            judge(before, after, facts(after, intent=True))
    judge(before, standing("awaiting_plan_confirmation", "blocked"), facts(before, intent=True))
    judge(before, standing("submitted"), facts(standing("submitted"), intent=True))


def test_a_gap_entered_before_finalize_has_nothing_downstream() -> None:
    from tests.job.registries import finished

    value = finished()
    value["workflow"].update(phase="document_gap", status="blocked")
    value["document_gap"].update(detected=True, blocking_reason="why")
    registry = from_json(value)
    known = facts(registry, back=Standing(Phase.FINALIZE, Status.ACTIVE))
    assert findings(registry, known) == []
    wrong = findings(registry, replace(known, back=Standing(Phase.SUBMITTED, Status.ACTIVE)))
    assert "execution.downstream.outputs" in {one.path for one in wrong}


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("FastQC", "fastqc:3"),
        ("a.b-c_d", "a.b-c_d:3"),
        ("Host.Example:5000/Team/Tool", "host.example:5000/team/tool:3"),
        ("a__b", "a__b:3"),
        ("a..b", None),
        ("a___b", None),
        ("-a", None),
        ("a-", None),
        ("a b", None),
        ("ä", None),
        ("", None),
        ("a/", None),
        ("/a", None),
        ("a@sha256", None),
    ],
)
def test_image_tags_are_legal_or_none(name: str, tag: str | None) -> None:
    assert image_tag_of(name, 3) == tag
