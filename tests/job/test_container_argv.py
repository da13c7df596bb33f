"""Job: the command lines for containers, and what is read of answers: tables, without any runtime."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from muniment.errors import MunimentError
from muniment.job.container_answers import OddAnswer, container, image_facts
from muniment.job.container_argv import Caller, Dialect, Mount, Order, create_argv, mount_word
from muniment.job.container_proc import Kernel
from muniment.job.containers import image_reference
from muniment.job.docker import DOCKER
from muniment.job.image_registry import manifest_named
from muniment.job.podman import PODMAN
from muniment.job.tool_run import Limits

ID = "sha256:" + "a" * 64
CALLER = Caller(1000, 1001, (1024, 4096), (500, 500))
LIMITS = Limits(
    memory_bytes=1 << 30, cpus=2, pids=64, file_size_bytes=1 << 20, deadline_s=60, output_bytes=1 << 21
)
ORDER = Order(
    "muniment-x",
    ID,
    ("tool", "--flag", ""),
    LIMITS,
    (Mount("/a", "/inputs/a"), Mount("/o", "/outputs", True)),
)

COMMON = {
    "--pull": ["never"],
    "--network": ["none"],
    "--read-only": [None],
    "--cap-drop": ["all"],
    "--security-opt": ["no-new-privileges", "label=disable"],
    "--log-driver": ["none"],
    "--restart": ["no"],
    "--name": ["muniment-x"],
    "--workdir": ["/outputs"],
    "--pids-limit": ["64"],
    "--cpus": ["2"],
    "--memory": [str(1 << 30)],
    "--memory-swap": [str(1 << 30)],
    "--ulimit": [f"fsize={1 << 20}:{1 << 20}", "nofile=1024:4096", "nproc=500:500"],
    "--tmpfs": ["/tmp:rw,nosuid,nodev"],
    "--mount": [
        'type=bind,"source=/a","target=/inputs/a",readonly',
        'type=bind,"source=/o","target=/outputs"',
    ],
}
OWN: dict[Dialect, dict[str, list[str | None]]] = {
    PODMAN: {
        "--user": ["0:0"],
        "--read-only-tmpfs=false": [None],
        "--image-volume=ignore": [None],
        "--systemd=false": [None],
        "--sdnotify=ignore": [None],
        "--http-proxy=false": [None],
    },
    DOCKER: {"--user": ["1000:1001"]},
}
"""Every option that each runtime is given, and nothing else (spec 2, containers)."""


def options(argv: list[str]) -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = {}
    words = iter(argv)
    for word in words:
        flag = word == "--read-only" or ("=" in word.partition(" ")[0] and word.startswith("--"))
        found.setdefault(word, []).append(None if flag else next(words))
    return found


@pytest.mark.parametrize("dialect", [PODMAN, DOCKER], ids=["podman", "docker"])
def test_every_option_of_both(dialect: Dialect) -> None:
    argv = create_argv(("run-it", "--root", "/r"), dialect, ORDER, CALLER)
    assert argv[:4] == ["run-it", "--root", "/r", "create"]
    assert argv[-4:] == [ID, "tool", "--flag", ""]
    assert options(argv[4:-4]) == {**COMMON, **OWN[dialect]}


@pytest.mark.parametrize(
    ("limit", "wanted"), [(-1, 1 << 20), (1 << 10, 1 << 10), (1 << 30, 1 << 20)], ids=["none", "less", "more"]
)
def test_no_limit_is_raised_above_the_caller_s(limit: int, wanted: int) -> None:
    argv = create_argv((), PODMAN, ORDER, replace(CALLER, file_size=limit))
    assert f"fsize={wanted}:{wanted}" in argv


@pytest.mark.parametrize("path", ["/a", "/a,b", '/a "b"', "/a:b=c", "/ü/样 本", "/a'b", "/,", '/"'])
def test_mounts_come_apart_as_they_were_put_together(path: str) -> None:
    (fields,) = csv.reader([mount_word(Mount(path, f"/inputs{path}"))])
    assert fields == ["type=bind", f"source={path}", f"target=/inputs{path}", "readonly"]


@pytest.mark.parametrize(
    ("registry", "tag", "wanted"),
    [
        ("r.example.org", "a:1", "r.example.org/a:1"),
        ("r.example.org:5000/x", "b/a:1", "r.example.org:5000/x/b/a:1"),
        ("r.example.org", "q.example.org/a:1", "q.example.org/a:1"),
        ("", "localhost/a:1", "localhost/a:1"),
        ("", "127.0.0.1:5000/a:1", "127.0.0.1:5000/a:1"),
        ("", "a:1", None),
        ("", "tools/a:1", None),
    ],
)
def test_where_an_image_is_fetched_from(registry: str, tag: str, wanted: str | None) -> None:
    if wanted is None:
        with pytest.raises(MunimentError):
            image_reference(registry, tag)
    else:
        assert image_reference(registry, tag) == wanted


D1, D2 = "sha256:" + "1" * 64, "sha256:" + "2" * 64


def image(**more: Any) -> bytes:
    return json.dumps(
        [{"Id": "a" * 64, "Os": "linux", "Architecture": "arm64", "Variant": "v8", **more}]
    ).encode()


def test_what_a_tag_names_is_told_only_when_it_is_sure() -> None:
    facts = image_facts("h/a:1", image(RepoDigests=[f"h/a@{D1}", f"h/b@{D2}"], ManifestType="kind"))
    assert (facts.id, facts.platform) == (ID, "linux/arm64/v8")
    assert facts.manifest(None) == (D1, "kind")
    assert facts.manifest((D1, "said")) == (D1, "said")
    # The registry's word about something that is not here counts for nothing.
    assert facts.manifest((D2, "said")) == (D1, "kind")
    several = image_facts("h/a:1", image(RepoDigests=[f"h/a@{D1}", f"h/a@{D2}"], ManifestType="kind"))
    assert several.manifest(None) == ("", "")
    assert several.manifest((D2, "index")) == (D2, "index")
    assert image_facts("h/a:1", image(RepoDigests=None)).manifest(None) == ("", "")


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b"{}", b"[1]", b"null", b"\xff", b'[{"Id": "abc"}]', b"[" * 100000]
)
def test_answers_that_are_none(answer: bytes) -> None:
    with pytest.raises(OddAnswer):
        image_facts("h/a:1", answer)
    with pytest.raises(OddAnswer):
        container(answer)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[" * 100_000, '{"auths": []}', '{"auths": {"127.0.0.1:1": []}}', '{"auths": "x"}',
     '{"auths": {"127.0.0.1:1": {"auth": "no base64\\r\\nX: y"}}}', "\ud800"],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_credentials_of_no_form_leave_the_question_unanswered(tmp_path: Path, text: str) -> None:
    (tmp_path / "auth").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert manifest_named("127.0.0.1:1/a:1", str(tmp_path / "auth")) is None


def seen(state: dict[str, Any], **more: Any) -> bytes:
    full = {"Status": "created", "StartedAt": "0001-01-01T00:00:00Z", "Pid": 0, "ExitCode": 0, **state}
    host = {"NetworkMode": "none", "ReadonlyRootfs": True, "Privileged": False}
    value = {"Id": "c", "Image": "a" * 64, "State": full, "HostConfig": host, "Mounts": [], **more}
    return json.dumps([value]).encode()


@pytest.mark.parametrize(
    ("state", "started", "runs"),
    [
        ({}, False, False),
        ({"Status": "initialized", "Pid": 7}, False, False),
        ({"Status": "running", "StartedAt": "2026-11-30T12:00:00Z", "Pid": 7}, True, True),
        ({"Status": "exited", "StartedAt": "2026-11-30T12:00:00Z"}, True, False),
        # docker: a program that could not begin; its exit code 127 is the runtime's own.
        ({"Status": "created", "ExitCode": 127}, False, False),
        ({"Status": "exited"}, False, False),
    ],
)
def test_whether_a_program_ever_began(state: dict[str, Any], started: bool, runs: bool) -> None:
    found = container(seen(state))
    assert (found.started, found.runs) == (started, runs)


def test_a_mount_that_was_not_ordered_is_none_of_ours() -> None:
    with pytest.raises(OddAnswer):
        container(seen({}, Mounts=[{"Type": "volume", "Source": "/v", "Destination": "/data", "RW": True}]))


@pytest.mark.parametrize(
    "more", [{"NetworkSettings": []}, {"NetworkSettings": {"Networks": 7}}, {"Mounts": 7}, {"Mounts": [7]}]
)
def test_what_is_no_description_of_a_container(more: dict[str, Any]) -> None:
    with pytest.raises(OddAnswer):
        container(seen({}, **more))
    with pytest.raises(OddAnswer):
        image_facts("h/a:1", image(RepoDigests=7))


class TestKernel:
    """The kernel's files, as they look with either kind of control groups."""

    def kernel(self, place: Path, groups: str) -> Kernel:
        home = place / "proc" / "7"
        (home / "net").mkdir(parents=True)
        (home / "cgroup").write_text(groups)
        (home / "net" / "dev").write_text("head\nhead\n    lo: 0 0\n  eth0: 1 1\n")
        return Kernel(str(place / "proc"), str(place / "groups"))

    def test_one_hierarchy(self, tmp_path: Path) -> None:
        kernel = self.kernel(tmp_path, "0::/user/libpod-abc.scope/container\n")
        folder = tmp_path / "groups/user/libpod-abc.scope/container"
        folder.mkdir(parents=True)
        (folder / "memory.events").write_text("low 0\noom 3\noom_kill 0\n")
        assert kernel.interfaces(7, "abc") == ("lo", "eth0")
        place = kernel.memory_file(7, "abc")
        assert place is not None and kernel.ended_for_memory(place) is False
        (folder / "memory.events").write_text("low 0\noom 3\noom_kill 2\n")
        assert kernel.ended_for_memory(place) is True
        (folder / "memory.events").unlink()
        assert kernel.ended_for_memory(place) is None

    def test_several_hierarchies(self, tmp_path: Path) -> None:
        kernel = self.kernel(tmp_path, "5:cpu,memory:/docker/abc\n0::/docker/abc\n")
        folder = tmp_path / "groups/memory/docker/abc"
        folder.mkdir(parents=True)
        (folder / "memory.oom_control").write_text("under_oom 0\noom_kill 1\n")
        place = kernel.memory_file(7, "abc")
        assert place is not None and kernel.ended_for_memory(place) is True

    def test_a_number_that_is_somebody_else_s(self, tmp_path: Path) -> None:
        kernel = self.kernel(tmp_path, "0::/system/sshd\n")
        assert kernel.interfaces(7, "abc") is None and kernel.memory_file(7, "abc") is None
        assert kernel.interfaces(0, "abc") is None and kernel.interfaces(8, "abc") is None
