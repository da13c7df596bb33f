"""The quick way of reading a kept snapshot takes nothing that the strict reader refuses, and all that our
packer writes; helpers in other processes give what the calling thread gives.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tarfile
import zlib
from pathlib import Path

import pytest
from tests.bundle.test_hostile import EXPECTED, read
from tests.bundle.test_nasty import faces, nasty
from tests.bundle.worlds import Made, chunks, entry, pack_entries, pack_folder
from tests.children import ENVIRONMENT

from muniment.bundle import groups, tar
from muniment.bundle import verify as verify_room
from muniment.bundle.crew import Crew, Odd
from muniment.bundle.errors import BadBundle, BadExtent, ContentsDiffer
from muniment.bundle.extent import inflate, make_extent
from muniment.bundle.extract import _Writer, extract, extract_kept
from muniment.bundle.gunzip import raw
from muniment.bundle.index import Index, IndexWriter
from muniment.bundle.join import assemble
from muniment.bundle.manifest import read_listed, read_manifest
from muniment.bundle.members import Member
from muniment.bundle.model import MANIFEST, Entry, Extent, Row
from muniment.bundle.pick import pick
from muniment.bundle.verify import unfold, verify, verify_kept, verify_quickly
from muniment.disk import platform
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.evidence import Kind
from muniment.path import RelPath

OUT = RelPath.parse("out")


@pytest.fixture(params=[0, 1, 2, 3])
def workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """From 2 on there are helpers, however little there is to do."""
    monkeypatch.setattr(verify_room, "FORK_FROM", 0)
    monkeypatch.setattr(verify_room, "RUN", 20_000)
    return int(request.param)


def kept(stream: bytes) -> Made:
    """A stream as if it had been stored with every member an extent of its own, but for the last."""
    starts = [0]
    try:
        with tarfile.open(fileobj=io.BytesIO(stream), mode="r:") as archive:
            starts += [member.offset for member in archive]
    except (tarfile.TarError, ValueError, EOFError):
        pass
    cuts = sorted({start for start in starts if start < len(stream)})
    if len(cuts) > 1:
        cuts[-1:] = [cuts[-1], cuts[-1] + 1]  # the last is as the manifest's: of more than one extent
    extents = []
    for number, (start, end) in enumerate(zip(cuts, [*cuts[1:], len(stream)], strict=True)):
        name = b"%06d" % min(number, len(cuts) - 2)
        for at in range(start, end, 1 << 20):
            extents.append(make_extent(stream[at : min(end, at + (1 << 20))], name))
    return Made(extents, Index.of(extents), b"", [], 0, 0)


def inflated(name: str) -> bytes | None:
    try:
        return b"".join(raw(chunks(read(name))))
    except MunimentError:
        return None


STREAMS = {
    one["file"]: (stream, one["code"])
    for one in EXPECTED
    if one["file"].endswith(".tgz") and (stream := inflated(one["file"])) and len(stream) % 512 == 0
}
"""The hostile bundles whose gzip member is sound; of another one nothing was ever kept."""


@pytest.mark.parametrize("name", STREAMS)
def test_what_is_refused_is_refused_alike(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stream, code = STREAMS[name]
    made = kept(stream)
    monkeypatch.setattr(verify_room, "FORK_FROM", 0)
    monkeypatch.setattr(verify_room, "RUN", 1000)
    found = []
    for workers in (0, 2):
        with Root.open(tmp_path) as root, pytest.raises(MunimentError) as refused:
            extract_kept(made.index, made.fetch, root, OUT, workers=workers)
        assert refused.value.code == code
        found.append(str(refused.value))
        assert list(tmp_path.iterdir()) == []
    with Root.open(tmp_path) as root, pytest.raises(MunimentError) as plainly:
        extract(unfold(made.index, made.fetch), root, OUT)
    assert {*found} == {str(plainly.value)}


def test_the_same_tree_for_any_number_of_workers(workers: int, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    nasty(os.fsencode(tree))
    for number in range(400):
        place = tree / f"d{number % 13}" / "e"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.txt").write_bytes(b"%d" % number * number)
    made = pack_folder(tree)
    seen: list[str] = []
    with Root.open(tmp_path) as root:
        found = extract_kept(
            made.index,
            made.fetch,
            root,
            OUT,
            outside_links=True,
            workers=workers,
            seen=lambda member: seen.append(member.path),
        )
    plain = verify(raw(chunks(made.gz)))
    assert found == plain == verify_quickly(made.index, made.fetch, workers=workers)
    assert faces(os.fsencode(tmp_path / "out/files/workspace")) == faces(os.fsencode(tree))
    assert (
        len(seen)
        == len(set(seen))
        == found.files
        + sum(1 for path in (tmp_path / "out/files").rglob("*") if path.is_symlink() or path.is_dir())
    )


PACK = """
import hashlib, os, sys
from pathlib import Path
from muniment.bundle import pack
from muniment.bundle.join import join
from muniment.bundle.tree import Tree
from tests.bundle.worlds import HEADING
folder, workers, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
pack.BATCH = most
began = []
class Crew(pack.Crew):
    def __init__(self, work, size):
        began.append(size)
        super().__init__(work, size)
pack.Crew = Crew
fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
with Tree(fd) as tree:
    packing = pack.Packing(
        tree.entries("files/workspace"), tree, HEADING, workers=workers, shared=lambda entry: True
    )
    data = b"".join(join(packing))
print(hashlib.sha256(data).hexdigest(), began, [str(fault) for fault in packing.faults])
"""


@pytest.mark.skipif(not platform.LINUX, reason="helpers are forked on Linux only")
def test_helpers_pack_the_same_bytes(tmp_path: Path) -> None:
    rng = random.Random(8)
    for number in range(300):
        place = tmp_path / "tree" / f"d{number % 7}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.txt").write_bytes(b"%d" % number * rng.randrange(900))
    (tmp_path / "tree" / "d3" / "large").write_bytes(rng.randbytes(700_000))
    (tmp_path / "tree" / "secret").write_bytes(b"s")
    want = hashlib.sha256(pack_folder(tmp_path / "tree", workers=0).gz).hexdigest()
    for workers, most, began in ((0, 1, []), (1, 1, [1]), (2, 1, [2]), (3, 40_000, [3]), (2, 1 << 30, [])):
        call = [sys.executable, "-c", PACK, str(tmp_path / "tree"), str(workers), str(most)]
        done = subprocess.run(call, capture_output=True, text=True, check=True, env=ENVIRONMENT)
        assert done.stdout.split(" ", 1) == [want, f"{began} []\n"], done.stderr


WHOLE = """
import hashlib, os, sys
from muniment.bundle import pack, stretches
from muniment.bundle.join import join
from muniment.bundle.tree import Tree
from tests.bundle.test_memory import Notebook
from tests.bundle.worlds import HEADING
folder, workers, blank, most = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "blank", int(sys.argv[4])
pack.BATCH, stretches.ENDS_IN, stretches.FRESH_MOST = 1, 1, most
me, lost = os.getpid(), len(sys.argv) > 5
class Memory(Notebook):
    blank = property(lambda self: blank)
class Source(Tree):
    def open(self, entry):
        if entry.path.endswith("/11.txt"):
            raise PermissionError(13, "Permission denied")
        if lost and os.getpid() != me and entry.path.endswith("/7.txt"):
            os.kill(os.getpid(), 9)
        return super().open(entry)
fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
memory = Memory()
asked = []
given = pack.Crew.give
pack.Crew.give = lambda self, job: asked.extend(map(type, job)) or given(self, job)
with Source(fd) as tree:
    packing = pack.Packing(
        tree.segments("files/workspace"),
        tree,
        HEADING,
        workers=workers,
        memory=memory,
        shared=lambda entry: True,
    )
    data = b"".join(join(packing))
def name(data):
    return hashlib.sha256(data).hexdigest()
print(name(data), packing.files, packing.size, [str(fault) for fault in packing.faults])
print(name(repr((memory.notes, memory.stretches)).encode()), *sorted({one.__name__ for one in asked}))
"""


@pytest.mark.skipif(not platform.LINUX, reason="helpers are forked on Linux only")
def test_a_stretch_is_planned_by_a_helper_as_the_first_process_would_have(tmp_path: Path) -> None:
    rng = random.Random(9)
    for number in range(900):
        place = tmp_path / "tree" / f"d{number % 9}" / f"e{number % 5}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.txt").write_bytes(b"%d" % number * rng.randrange(1800))
    (tmp_path / "tree" / "d3" / "large").write_bytes(rng.randbytes(700_000))
    (tmp_path / "tree" / "d4" / "link").symlink_to("e1")
    (tmp_path / "tree" / os.fsdecode(b"d5 \xff")).write_bytes(b"latin")

    def packed(*how: str) -> list[str]:
        call = [sys.executable, "-c", WHOLE, str(tmp_path / "tree"), *how]
        done = subprocess.run(call, capture_output=True, text=True, check=True, env=ENVIRONMENT)
        return done.stdout.splitlines()

    wanted, noted = packed("0", "known", "1")
    assert " 901 " in wanted and "/11.txt" in wanted
    assert packed("2", "known", "2000000") == [wanted, f"{noted} list"]
    for most, whole in (("-1", " list"), ("300000", " list tuple"), ("2000000", " list tuple")):
        assert packed("0", "blank", most) == [wanted, noted]
        for workers in ("1", "2"):
            assert packed(workers, "blank", most) == [wanted, noted + whole]
    assert packed("2", "blank", "2000000", "lost") == [wanted, f"{noted} list tuple"]


LOST = PACK.replace(
    "pack.Crew = Crew",
    """
me = os.getpid()
class Tree(Tree):
    def open(self, entry):
        if os.getpid() != me and entry.path.endswith("/7.txt"):
            os.kill(os.getpid(), 9)
        return super().open(entry)
""",
)


@pytest.mark.skipif(not platform.LINUX, reason="helpers are forked on Linux only")
@pytest.mark.parametrize("workers", ["1", "2", "3"])
def test_where_a_helper_is_lost_its_work_is_done_all_the_same(tmp_path: Path, workers: str) -> None:
    for number in range(300):
        place = tmp_path / "tree" / f"d{number % 7}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.txt").write_bytes(b"%d" % number * 500)
    want = hashlib.sha256(pack_folder(tmp_path / "tree", workers=0).gz).hexdigest()
    call = [sys.executable, "-c", LOST, str(tmp_path / "tree"), workers, "1"]
    done = subprocess.run(call, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (done.returncode, done.stdout) == (0, f"{want} [] []\n"), done.stderr


def test_a_damaged_piece_is_named(workers: int) -> None:
    made = pack_entries([entry(f"files/workspace/{n:03}", b"%d" % n * 3000) for n in range(40)])
    bad = made.extents[7]
    other = make_extent(bytes(bad.length), bad.path)

    def fetch(row: Row) -> bytes:
        return other.piece or b"" if row.id == bad.id else made.fetch(row)

    with pytest.raises(BadExtent) as refused:
        verify_kept(made.index, fetch, workers)
    assert refused.value.where == bad.id.hex()[:12]


def test_any_byte_of_a_group(workers: int) -> None:
    """One byte anywhere, under an id that fits: refused, or what the strict reader says as well."""
    made = pack_entries([entry(f"files/workspace/{n:02}", b"%d" % n * 200) for n in range(12)])
    rng = random.Random(3)
    group = made.extents[0]
    stream = b"".join(unfold(made.index, made.fetch))[: group.length]
    for _ in range(150):
        at = rng.randrange(len(stream))
        changed = bytearray(stream)
        changed[at] ^= 1 << rng.randrange(8)
        extents = [make_extent(bytes(changed), group.path), *made.extents[1:]]
        other = Made(extents, Index.of(extents), b"", [], 0, 0)
        try:
            want = str(verify(unfold(other.index, other.fetch)))
        except MunimentError as error:
            want = str(error)
        try:
            found = str(verify_kept(other.index, other.fetch, workers))
        except MunimentError as error:
            found = str(error)
        assert found == want


def three() -> tuple[list[list[bytes]], list[Extent]]:
    """Two large files with a small one between: the raw bytes of each one's extents, and the manifest's."""
    rng = random.Random(4)
    made = pack_entries(
        [
            entry("files/workspace/a", rng.randbytes(700_001)),
            entry("files/workspace/b", b"between"),
            entry("files/workspace/c", rng.randbytes(700_001)),
        ]
    )
    parts = [
        [inflate(one.piece or b"", one) for one in made.extents if one.path.endswith(name)]
        for name in (b"/a", b"/b", b"/c")
    ]
    assert [len(part) > 1 for part in parts] == [True, False, True]
    return parts, [one for one in made.extents if one.path == MANIFEST.encode()]


def put_together(parts: list[list[bytes]], rest: list[Extent]) -> Made:
    names = ("a", "b", "c")
    extents = [
        make_extent(raw, b"files/workspace/" + name.encode())
        for name, part in zip(names, parts, strict=True)
        for raw in part
        if raw
    ]
    return Made([*extents, *rest], Index.of([*extents, *rest]), b"", [], 0, 0)


@pytest.mark.parametrize("lent", [512, 4096, -512, -4096])
def test_a_large_file_is_not_read_past_what_lies_behind_it(lent: int, workers: int) -> None:
    """Were large files read as one stream, each would fit; in the stream as it is the small one stands
    in the middle of the first, or of its own end the third takes something back."""
    parts, rest = three()
    a, _, c = parts
    if lent > 0:
        c[0], a[-1] = a[-1][-lent:] + c[0], a[-1][:-lent]
    else:
        a[-1], c[0] = a[-1] + c[0][:-lent], c[0][-lent:]
    made = put_together(parts, rest)
    with pytest.raises(MunimentError) as strictly:
        verify(unfold(made.index, made.fetch))
    with pytest.raises(MunimentError) as quickly:
        verify_kept(made.index, made.fetch, workers)
    assert str(quickly.value) == str(strictly.value)


@pytest.mark.parametrize("where", [0, 2])
def test_an_end_in_the_middle(where: int, workers: int) -> None:
    parts, rest = three()
    parts[where][-1] += tar.END
    made = put_together(parts, rest)
    with pytest.raises(BadBundle):
        verify(unfold(made.index, made.fetch))
    with pytest.raises(BadBundle):
        verify_kept(made.index, made.fetch, workers)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not platform.LINUX, reason="helpers are forked on Linux only")
@pytest.mark.parametrize("missing", ["memfd_create", "pipe", "fork", "posix_fallocate"])
def test_where_no_helper_can_be_had_it_is_done_without(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = pack_entries([entry(f"files/workspace/{n:03}", b"%d" % n * 3000) for n in range(40)])
    monkeypatch.setattr(verify_room, "FORK_FROM", 0)
    monkeypatch.setattr(verify_room, "may_fork", lambda: True)
    calls, most = 0, 1 if missing == "posix_fallocate" else 2
    plainly = getattr(os, missing)

    def refused(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls < most:
            return plainly(*arguments)
        raise OSError(errno.EMFILE, "no more")

    before = descriptors()
    monkeypatch.setattr(os, missing, refused)
    assert verify_kept(made.index, made.fetch, 3).files == 40
    assert calls == most and descriptors() == before


def test_what_was_laid_out_of_many_folders_goes_with_few_descriptors(tmp_path: Path) -> None:
    folders = [
        one
        for n in range(300)
        for one in (
            Entry(f"files/workspace/{n:03}", Kind.DIRECTORY, 0o500, 0),
            entry(f"files/workspace/{n:03}/x", b"x"),
        )
    ]
    made = pack_entries([*folders, entry("files/workspace/z", b"1")])
    other = pack_entries([*folders, entry("files/workspace/z", b"2")])
    cut = next(at for at, one in enumerate(made.extents) if one.path == MANIFEST.encode())
    extents = [*made.extents[:cut], *other.extents[cut:]]
    wrong = Made([*made.extents, *other.extents], Index.of(extents), b"", [], 0, 0)
    before = descriptors()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before + 30, limits[1]))
    try:
        with Root.open(tmp_path) as root, pytest.raises(ContentsDiffer):
            extract_kept(wrong.index, wrong.fetch, root, OUT, workers=0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert descriptors() == before and list(tmp_path.iterdir()) == []


def test_a_helper_that_is_killed_is_missed() -> None:
    def work(job: int) -> int:
        if job == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return job

    with Crew(work, 2) as crew, pytest.raises(Odd):
        list(crew.map(range(8)))


def test_what_a_helper_meets_on_the_disk_is_told() -> None:
    def work(job: int) -> int:
        if job == 3:
            raise OSError(errno.ENOSPC, "full")
        return job

    with Crew(work, 2) as crew, pytest.raises(OSError, match="full") as full:
        list(crew.map(range(8)))
    assert full.value.errno == errno.ENOSPC


def test_results_come_in_order_and_no_more_are_asked_for_than_can_wait() -> None:
    asked: list[int] = []

    def jobs() -> object:
        for number in range(300):
            asked.append(number)
            yield number

    with Crew(str, 3) as crew:
        for number, result in enumerate(crew.map(jobs())):  # type: ignore[arg-type]
            assert result == str(number)
            assert len(asked) <= number + 3 * 4 + 1


def test_a_hostile_length_takes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = pack_entries([entry("files/workspace/a", b"x")])
    bomb = make_extent(bytes(2 << 20), b"files/workspace/a")
    one = honest.extents[0]
    extents = [Extent(one.id, one.length, one.crc, one.path, bomb.piece), *honest.extents[1:]]
    with pytest.raises(Odd):
        verify_quickly(honest.index, Made(extents, honest.index, b"", [], 0, 0).fetch, workers=0)


def test_the_table_of_hostile_bundles_is_used() -> None:
    assert len(STREAMS) >= 40, sorted(STREAMS)


PATHS = (
    "files/workspace/a",
    "files/workspace/" + "b" * 84,
    "files/workspace/" + "b" * 85,
    "files/workspace/" + "d/" * 50 + "name",
    "files/workspace/" + "folder/" * 30 + "name.txt",
    "files/workspace/" + "c" * 120 + "/x",
    "files/workspace/" + "c" * 90 + "/" + "e" * 100,
    "files/workspace/x/" + "c" * 140 + "/" + "e" * 90,
    "files/workspace/" + "c" * 200,
    "files/workspace/ö",
    "files/workspace/\udcff",
    "files/workspace/line\nbreak",
)
TIMES = (
    0,
    5,
    1_000_000_000,
    1_750_000_000_000_000_001,
    999_999_999_999_999_999,
    -1,
    1 << 63,
    (1 << 33) * 10**9,
)


@pytest.mark.parametrize("kind", [Kind.FILE, Kind.DIRECTORY])
def test_records_are_told_apart_as_the_strict_reader_tells_them(kind: Kind) -> None:
    """Any bit of a record turned over: what the pattern takes is what `tar.header` writes for it."""
    taken = 0
    for path in PATHS:
        for when in TIMES:
            one = Entry(path, kind, 0o644, when, 0)
            size = 70_000 if kind is Kind.FILE else 0
            record = tar.header(one, size)
            found = groups._record(record, 0)
            if found:
                taken += 1
                name, kind_found, *rest, begin = found
                assert (os.fsdecode(name), kind_found, *rest) == (path, kind, 0o644, when, size)
                assert begin == len(record)
            for at in range(len(record) * 8 if found else 0):
                changed = bytearray(record)
                changed[at // 8] ^= 1 << at % 8
                other = groups._record(bytes(changed), 0)
                if other:  # a digit of the extended header's time: no checksum is over it
                    name, sort, mode, mtime_ns, size, _ = other
                    assert 532 <= at // 8 < 541
                    assert tar.header(Entry(os.fsdecode(name), sort, mode, mtime_ns, 0), size) == changed
    # Three of the times are whole seconds or of ten digits; eight of the paths fit into the fields of
    # ustar, and one of these no more when a `/` follows it.
    assert taken == 3 * (8 if kind is Kind.FILE else 7)


def test_a_record_whose_sum_fits_is_taken_only_as_it_would_be_written() -> None:
    """One byte changed and the checksum mended: taken only where writing it again gives those bytes."""
    rng = random.Random(5)
    taken = 0
    for path in PATHS[:8]:
        for kind, size in ((Kind.FILE, 4097), (Kind.DIRECTORY, 0)):
            for when in TIMES[:5]:
                record = tar.header(Entry(path, kind, 0o755, when, 0), size)
                for _ in range(400):
                    changed = bytearray(record)
                    at = rng.randrange(len(record))
                    changed[at] = rng.choice(b"\0/0127a. \n\xff")
                    last = memoryview(changed)[-512:]
                    last[148:156] = b" " * 8
                    last[148:156] = b"%06o\0 " % sum(last)
                    found = groups._record(bytes(changed), 0)
                    if found:
                        name, sort, mode, mtime_ns, length, begin = found
                        again = tar.header(Entry(os.fsdecode(name), sort, mode, mtime_ns, 0), length)
                        assert again == bytes(changed)
                        assert begin == len(changed)
                        taken += again != record
    assert taken > 100


def test_a_path_that_stands_twice_or_nowhere(workers: int) -> None:
    """Members of which no record is wrong, and which do not belong beside each other."""
    for paths in (
        ("files/workspace/b", "files/workspace/a"),
        ("files/workspace/a", "files/workspace/a"),
        ("files/workspace/a", "files/workspace/a/b"),
        ("files/workspace/none/a",),
    ):
        stream = b"".join(tar.header(Entry(path, Kind.FILE, 0o644, 0), 0) for path in paths)
        extents = [make_extent(stream, b"files"), *pack_entries([]).extents]
        made = Made(extents, Index.of(extents), b"", [], 0, 0)
        with pytest.raises(Odd):
            verify_quickly(made.index, made.fetch, workers=workers)
        with pytest.raises(MunimentError) as strictly:
            verify(unfold(made.index, made.fetch))
        with pytest.raises(type(strictly.value), match=re.escape(str(strictly.value))):
            verify_kept(made.index, made.fetch, workers)


def test_a_manifest_is_taken_only_where_its_lists_stand() -> None:
    """The rows as they have to be, but in another place: what the strict reader says is said."""
    made = pack_entries([entry("files/workspace/a", b"x")])
    text = verify(raw(chunks(made.gz))).manifest
    row = text[text.index(b'{"path"') : text.index(b']},\n"plan')]
    listed = [(0, b""), (len(row), hashlib.sha256(row).digest())]
    assert read_listed(text, [], listed) == read_manifest(text)
    opening = b'"contents":{"api":[],"files":['
    body = opening + b"\n" + row + b"]}"
    assert body in text
    for other in (
        text.replace(body, opening + b"]}"),
        text.replace(body, b'"exclusions":{' + body + b'},"contents":{"api":[],"files":[]}'),
        text.replace(body, b'"hidden":{' + body + b"}"),
        text.replace(b'"version":"1.1"', b'"version":"1.2"'),
        text.replace(body, body + b"," + body),
        text[:-3],
        text.replace(row, row + b",\n" + row),
        text.replace(b'"label":"', b'"label":"\\u00fc' + "ü".encode()),
    ):
        try:
            found = read_listed(other, [], listed)
        except MunimentError:
            found = None
        assert found is None


def test_all_sections_go_the_quick_way(workers: int) -> None:
    """As a backup lays them out: the files of the API and single extra files have no folder of their own."""
    made = pack_entries(
        [
            entry("api/skills.json", b"{}"),
            Entry("files/data", Kind.DIRECTORY, 0o755, 0),
            entry("files/data/d", b"d" * 9000),
            entry("files/data/large", random.Random(1).randbytes(600_000)),
            entry("files/data/m", b"m"),
            entry("files/extra/alone", b"e"),
            Entry("files/extra/folder", Kind.DIRECTORY, 0o755, 0),
            entry("files/extra/folder/x", b"x"),
            Entry("files/workspace", Kind.DIRECTORY, 0o755, 0),
            entry("files/workspace/ö", b"o"),
        ]
    )
    found = verify_quickly(made.index, made.fetch, workers=workers)
    assert found == verify(raw(chunks(made.gz)))
    assert found.sections["files/extra"] == (2, 2)


def test_shelves_grow_with_what_lies_on_them() -> None:
    def work(job: bytes) -> tuple[int, bytes]:
        return len(job), job + job

    jobs = [bytes(1 << size) for size in (0, 10, 20, 22, 3, 23, 1)]
    with Crew(work, 2) as crew:
        assert list(crew.map(jobs)) == [(len(job), job + job) for job in jobs]


def test_a_folder_that_got_another_spelling_is_noticed(tmp_path: Path) -> None:
    """As on a file system that takes two spellings for one: the folder of the one was there already."""
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        writer = _Writer(fd, outside_links=False)
        (tmp_path / "files").mkdir()
        writer.folder(Member("files", Kind.DIRECTORY, 0o755, 0, 0, ""))
        writer.finish()
        writer._made = {()}
        writer._folder(("files",))
        writer._found[()].add("Files")
        with pytest.raises(FileExistsError, match="exists"):
            writer.finish()
        writer.close()
    finally:
        os.close(fd)


def test_a_piece_that_leans_on_the_one_before_is_refused(workers: int) -> None:
    """Joined the two inflate, and the tar.gz is sound; alone the second has nothing to repeat."""
    text = random.Random(6).randbytes(9000)
    made = pack_entries([entry("files/workspace/a", text), entry("files/workspace/b", text)])
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    leaning = []
    for one in made.extents[:2]:
        part = inflate(one.piece or b"", one)
        piece = squeezer.compress(part) + squeezer.flush(zlib.Z_SYNC_FLUSH)  # the window is kept
        leaning.append(one._replace(piece=piece))
    assert [one.path[-2:] for one in leaning] == [b"/a", b"/b"]
    assert len(leaning[1].piece or b"") < 1000
    other = Made([*leaning, *made.extents[2:]], made.index, b"", [], 0, 0)
    assert verify(raw(assemble(other.index, other.fetch))).files == 2
    with pytest.raises(BadExtent):
        pick(other.index, other.fetch, "files/workspace/b")
    with pytest.raises(Odd):
        verify_quickly(other.index, other.fetch, workers=workers)
    with pytest.raises(BadExtent) as refused:
        verify_kept(other.index, other.fetch, workers)
    assert refused.value.where == leaning[1].id.hex()[:12]


@pytest.mark.parametrize("size", [4000, 900_000])
def test_a_piece_after_which_nothing_can_follow_is_refused(size: int, workers: int) -> None:
    """Alone it gives its bytes; but the tar.gz that is made of all pieces breaks after it."""
    made = pack_entries([entry("files/workspace/a", text_of(size)), entry("files/workspace/b", b"b")])
    one = made.extents[0]
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    raw_bytes = inflate(one.piece or b"", one)
    open_ended = squeezer.compress(raw_bytes) + squeezer.flush(zlib.Z_PARTIAL_FLUSH)
    assert inflate(open_ended, one) == raw_bytes
    other = Made([one._replace(piece=open_ended), *made.extents[1:]], made.index, b"", [], 0, 0)
    with pytest.raises(BadExtent, match="full flush"):
        verify_kept(other.index, other.fetch, workers)
    assert pick(other.index, other.fetch, "files/workspace/a") is not None


def test_a_row_with_another_checksum_is_refused(workers: int) -> None:
    """The root does not cover it; but the tar.gz ends with a sum of all, and no tool would unpack it."""
    made = pack_entries([entry("files/workspace/a", b"a" * 5000), entry("files/workspace/b", b"b" * 900_000)])
    writer = IndexWriter()
    for number, row in enumerate(made.index):
        writer.add(row._replace(crc=row.crc ^ (number == 0)))
    index = writer.done()
    assert index.root == made.index.root
    with pytest.raises(BadExtent, match="CRC-32"):
        verify_kept(index, made.fetch, workers)


def text_of(size: int) -> bytes:
    """Something that deflates, but not to nothing."""
    return random.Random(size).randbytes(size // 2).hex().encode()
