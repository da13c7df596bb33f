"""The one grammar of references: what each kind looks like, whole and shortened (spec 0)."""

from __future__ import annotations

import pytest

from muniment.record.reference import Kind, Reference, job_named, read_reference

ULID = "01KDVDNA000000000000000000"

WHOLE = [
    (f"arc_{ULID}", Kind.ARCHIVE),
    (f"ho_{ULID}", Kind.HANDOFF),
    (f"ev_{ULID}", Kind.EVENT),
    ("bk_20261130_142800_a1b2", Kind.SNAPSHOT),
    ("job:rna-7", Kind.JOB),
    ("job:A.b_c-9", Kind.JOB),
    ("sha256:" + "0" * 64, Kind.DIGEST),
]


@pytest.mark.parametrize(("text", "kind"), WHOLE)
def test_a_whole_reference_is_read_and_written_the_same(text: str, kind: Kind) -> None:
    found = read_reference(text)
    assert found is not None
    assert (found.kind, found.text, found.whole) == (kind, text, True)


@pytest.mark.parametrize(
    "text",
    ["arc_01KDV", "ho_0", "ev_01KDVDNA", "bk_2026", "bk_20261130_142800_a1b", "sha256:01234567", "job:r"],
)
def test_a_beginning_is_one_too(text: str) -> None:
    found = read_reference(text)
    assert found is not None and found.text == text
    assert found.whole is text.startswith("job:")


@pytest.mark.parametrize(
    "text",
    [
        "", "arc_", "job:", "ho_", "bk_", "ev_", "sha256:", "arc", "report.md", "rna-7",
        "sha256:0123456", "sha256:" + "0" * 65, "sha256:" + "A" * 64, "arc_01kdv", f"arc_{ULID}0",
        "arc_01KDVI", "job:../x", "job:a/b", "job:" + "a" * 65, "job: a", "bk_20261130_142800_a1b2c",
        "ho_\n", "ev_01KDV\0", f" ho_{ULID}", f"HO_{ULID}", "0" * 63, ULID[:-1],
    ],
)  # fmt: skip
def test_anything_else_is_none(text: str) -> None:
    assert read_reference(text) is None


def test_bare_digits_and_ulids_have_one_meaning() -> None:
    assert read_reference("0" * 64) == Reference(Kind.DIGEST, "0" * 64)
    assert read_reference(ULID) == Reference(Kind.EVENT, ULID)


def test_a_whole_name_wins_over_longer_ones() -> None:
    known = ["job:rna", "job:rna-7", "job:rna-8"]
    assert Reference(Kind.JOB, "rna").fitting(known) == ["job:rna"]
    assert Reference(Kind.JOB, "rna-").fitting(known) == ["job:rna-7", "job:rna-8"]
    assert Reference(Kind.JOB, "x").fitting(known) == []


def test_a_job_may_be_given_by_its_reference() -> None:
    assert job_named("job:a") == job_named("a") == "a"
