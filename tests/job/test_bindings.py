"""Job: which file goes to which port: routing, then what is unambiguous, then the default."""

from __future__ import annotations

import pytest

from muniment.job.bindings import Bound, Declared, Offer, Port, bind
from muniment.job.errors import BadBinding, UnboundPort
from muniment.job.model import PortType

FILE, DIR = PortType.FILE, PortType.DIR


def port(name: str, *, task: str = "t", kind: PortType = FILE, required: bool = True, default: str = "",
         many: bool = False, endings: tuple[str, ...] = ()) -> Port:  # fmt: skip
    return Port(task, name, kind, required, default, many, endings)


def files(*names: str) -> list[Offer]:
    return [Offer("", f"/in/{name}", DIR if name.endswith("/") else FILE) for name in names]


def table(bound: Bound) -> dict[str, tuple[str, str]]:
    """Port to (source, last name)."""
    return {
        one.port: (str(one.source), one.filename.rstrip("/").rpartition("/")[2]) for one in bound.bindings
    }


NOTHING = Declared({})


def test_routing_comes_before_the_heuristic_and_that_before_the_default() -> None:
    ports = [port("reads", default="d1"), port("index", default="d2"), port("notes", default="d3")]
    offers = files("reads.fastq", "index.fa")
    declared = Declared({"t.reads": tuple(files("other.fastq"))})
    bound = bind(ports, offers, declared)
    assert table(bound) == {
        "reads": ("routing", "other.fastq"),
        "index": ("heuristic", "index.fa"),
        "notes": ("default", "d3"),
    }
    assert [(one.port, one.filename) for one in bound.defaults_used] == [("notes", "d3")]


@pytest.mark.parametrize(
    ("names", "offered", "expected"),
    [
        (["reads"], ["reads.fastq", "x.txt"], {"reads": "reads.fastq"}),
        (["reads"], ["only.txt"], {"reads": "only.txt"}),
        (["r_1", "r_2"], ["s_r_1.fq", "s_r_2.fq"], {"r_1": "s_r_1.fq", "r_2": "s_r_2.fq"}),
        (["reads", "reference"], ["sample.reads.fq", "hg38.reference.fa"],
         {"reads": "sample.reads.fq", "reference": "hg38.reference.fa"}),
        (["reads", "other"], ["reads.fq", "z.fq"], {"reads": "reads.fq", "other": "z.fq"}),
    ],
)  # fmt: skip
def test_what_is_unambiguous(names: list[str], offered: list[str], expected: dict[str, str]) -> None:
    bound = bind([port(name) for name in names], files(*offered), NOTHING)
    assert table(bound) == {name: ("heuristic", file) for name, file in expected.items()}


@pytest.mark.parametrize(
    ("ports", "offered", "says"),
    [
        ([port("reads")], ["a.fastq", "b.fastq"], "2 files would fit: a.fastq, b.fastq"),
        ([port("reads")], ["reads.a.fastq", "x.reads.fastq", "reads.b"], "reads"),
        ([port("reads")], [], "no file fits"),
        ([port("reads", kind=DIR)], ["reads.fastq"], "no file fits"),
        ([port("reads", endings=(".fastq",))], ["reads.txt"], "no file fits"),
        ([port("a"), port("b")], ["x", "y"], "would fit"),
    ],
)
def test_what_is_not_ends_planning_by_name(ports: list[Port], offered: list[str], says: str) -> None:
    with pytest.raises(UnboundPort, match=says) as refused:
        bind(ports, files(*offered), NOTHING)
    assert refused.value.facts["port"] == ports[0].name and refused.value.facts["task"] == "t"


def test_an_optional_port_stays_open() -> None:
    bound = bind([port("notes", required=False)], files("a", "b"), NOTHING)
    assert table(bound) == {"notes": ("None", "")} and bound.defaults_used == ()


def test_endings_tell_formats_apart() -> None:
    ports = [port("left", endings=(".fastq", ".fastq.gz")), port("right", endings=(".bam",))]
    bound = bind(ports, files("s.FASTQ.gz", "s.bam", "s.txt"), NOTHING)
    assert table(bound) == {"left": ("heuristic", "s.FASTQ.gz"), "right": ("heuristic", "s.bam")}


def test_no_file_is_taken_twice() -> None:
    ports = [port("reads", task="one"), port("reads", task="two")]
    with pytest.raises(UnboundPort):
        bind(ports, files("reads.fastq"), NOTHING)
    routed = Declared({"one.reads": tuple(files("reads.fastq"))})
    with pytest.raises(UnboundPort):
        bind(ports, files("reads.fastq"), routed)
    both = {name: tuple(files("reads.fastq")) for name in ("one.reads", "two.reads")}
    assert len(bind(ports, [], Declared(both)).bindings) == 2


def test_a_default_can_be_forced_and_forbidden() -> None:
    one = port("reads", default="d")
    forced = bind([one], files("reads.fq"), Declared({}, force_default=frozenset({"reads"})))
    assert table(forced) == {"reads": ("default", "d")} and forced.bindings[0].force_default
    with pytest.raises(UnboundPort, match="ruled out"):
        bind([one], [], Declared({}, no_default=frozenset({"t.reads"})))
    with pytest.raises(UnboundPort):
        bind([port("reads")], files("reads.fq"), Declared({}, force_default=frozenset({"reads"})))


def test_a_port_of_many_takes_many() -> None:
    bound = bind([port("parts", many=True)], [], Declared({"parts": tuple(files("a", "b", "c"))}))
    assert [one.filename for one in bound.bindings] == ["/in/a", "/in/b", "/in/c"]


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        (Declared({"raeds": tuple(files("a"))}), "no such port; it has one.reads, two.reads"),
        (Declared({"reads": tuple(files("a"))}), "several ports"),
        (Declared({"one.reads": tuple(files("a", "b"))}), "takes one file"),
        (Declared({"one.reads": tuple(files("a/"))}), "takes a FILE"),
        (
            Declared({"one.reads": tuple(files("a"))}, force_default=frozenset({"one.reads"})),
            "use its default",
        ),
        (Declared({}, no_default=frozenset({"x"})), "no such port"),
        (Declared({}, force_default=frozenset({"x\x1b[2J"})), "no such port"),
    ],
)
def test_declarations_that_can_not_be_kept(declared: Declared, says: str) -> None:
    with pytest.raises(BadBinding, match=says) as refused:
        bind([port("reads", task="one"), port("reads", task="two")], files("reads"), declared)
    assert str(refused.value).isprintable()
