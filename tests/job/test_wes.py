"""Job: a WES server that lies: a stand-in for what real servers do not do to order."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.job.backend import OUTPUTS, CanNotLookUp, Case
from muniment.job.errors import EngineAnswer, EngineMissing, EngineRefused, EngineUnreachable, OutputUnsafe
from muniment.job.model import Registry
from muniment.job.wes import TAG, WesBackend

Answers = dict[str, Any]


@contextmanager
def lying(answers: Answers, seen: list[tuple[str, str]] | None = None) -> Iterator[str]:
    """A server that gives a fixed answer for each path: a value, or (status, bytes)."""

    class Handler(BaseHTTPRequestHandler):
        def reply(self) -> None:
            if seen is not None:
                seen.append((self.path, self.headers.get("Authorization", "")))
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = answers.get(self.path.split("?")[0].removeprefix("/wes/"), (404, b"nothing"))
            found = found(self.path) if callable(found) else found
            status, body = found if isinstance(found, tuple) else (200, json.dumps(found).encode())
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status in (301, 302, 307):
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = reply

        def log_message(self, format: str, *args: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/wes"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    (tmp_path / "job").mkdir()
    with Root.open(tmp_path / "job") as folder:
        yield Case(
            "j", "openclaw-j", folder, Registry(), b'{"class":"CommandLineTool","inputs":[],"outputs":[]}'
        )


INFO: dict[str, Any] = {"workflow_engine_versions": {}}

ODD_ANSWERS = [
    (200, b""),
    (200, b"<html>"),
    (200, b"[]"),
    (200, b'{"run_id": "a", "run_id": "b"}'),
    (200, b'{"run_id": 7}'),
    (200, b'{"run_id": ""}'),
    (200, b'{"state": "DONE"}'),
    (200, b'{"state": ["COMPLETE"]}'),
    (200, b'{"run_id": NaN, "state": NaN}'),
    (200, b"\xff\xfe"),
    (302, b"{}"),
]


@pytest.mark.parametrize("answer", ODD_ANSWERS, ids=repr)
def test_nothing_is_believed_of_an_odd_answer(case: Case, answer: tuple[int, bytes]) -> None:
    answers: Answers = {"service-info": INFO, "runs": answer, "runs/x/status": answer}
    with lying(answers) as url:
        for call in (lambda: WesBackend(url).create(case), lambda: WesBackend(url).poll(case, "x")):
            with pytest.raises(EngineAnswer) as refused:
                call()
            assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("status", "error"), [(400, EngineRefused), (401, EngineRefused), (500, EngineUnreachable)]
)
def test_refusals_and_faults_are_told_apart(case: Case, status: int, error: type[MunimentError]) -> None:
    with (
        lying({"service-info": INFO, "runs": (status, b"why \x1b[2J not")}) as url,
        pytest.raises(error, match="why") as said,
    ):
        WesBackend(url).create(case)
    assert str(said.value).isprintable()


def test_nobody_there(case: Case) -> None:
    with lying({}) as url:
        pass
    for call in (WesBackend(url).create, WesBackend(url).find):
        with pytest.raises(EngineUnreachable):
            call(case)


class TestLookUp:
    def pages(self, path: str) -> Any:
        if "page_token=two" in path:
            return {"runs": [{"run_id": "r3", "tags": {TAG: "openclaw-j"}}], "next_page_token": ""}
        return {
            "runs": [{"run_id": "r1", "tags": {}}, {"run_id": "r2", "tags": {TAG: "openclaw-jj"}}],
            "next_page_token": "two",
        }

    def test_on_a_later_page(self, case: Case) -> None:
        with lying({"runs": self.pages}) as url:
            assert WesBackend(url).find(case) == "r3"

    def test_nowhere(self, case: Case) -> None:
        with lying({"runs": {"runs": []}}) as url:
            assert WesBackend(url).find(case) is None

    def test_pages_in_a_circle(self, case: Case) -> None:
        with (
            lying({"runs": {"runs": [], "next_page_token": "again"}}) as url,
            pytest.raises(EngineAnswer, match="circle"),
        ):
            WesBackend(url).find(case)

    def test_a_server_that_tells_no_tags_can_not_be_asked(self, case: Case) -> None:
        answers = {"runs": {"runs": [{"run_id": "r1"}]}, "runs/r1": {"request": {"workflow_url": "x"}}}
        with lying(answers) as url, pytest.raises(CanNotLookUp):
            WesBackend(url).find(case)

    def test_no_list_at_all(self, case: Case) -> None:
        with lying({"runs": {"total": 3}}) as url, pytest.raises(EngineAnswer):
            WesBackend(url).find(case)


def output(place: str, name: str = "x.txt") -> Any:
    return {"outputs": {"report": {"class": "File", "basename": name, "location": place}}}


class TestOutputs:
    @pytest.mark.parametrize("name", ["../x", "a/b", "..", "/etc/x", "a\0b", "x" * 300])
    def test_names_that_lead_out(self, case: Case, name: str) -> None:
        with (
            lying({"runs/r": output("/wes/file", name), "file": (200, b"x")}) as url,
            pytest.raises(OutputUnsafe),
        ):
            WesBackend(url).collect(case, "r")
        listed = {"outputs": [{"file_name": f"../{name}", "file_url": "/wes/file"}]}
        with lying({"runs/r": listed}) as url, pytest.raises(OutputUnsafe):
            WesBackend(url).collect(case, "r")

    @pytest.mark.parametrize("place", ["file:///etc/passwd", "/etc/passwd"])
    def test_files_of_the_server_s_machine(self, case: Case, tmp_path: Path, place: str) -> None:
        (tmp_path / "shared").mkdir()
        with lying({"runs/r": output(place)}) as url:
            for shared in ("", str(tmp_path / "shared")):
                with pytest.raises(MunimentError) as refused:
                    WesBackend(url, shared=shared).collect(case, "r")
                assert refused.value.code in ("JOB_OUTPUT_UNSAFE", "OUTSIDE_ROOT")
        assert not list((tmp_path / "job" / "outputs").iterdir())

    def test_a_link_in_the_shared_folder(self, case: Case, tmp_path: Path) -> None:
        (tmp_path / "shared").mkdir()
        (tmp_path / "shared" / "x").symlink_to("/etc/passwd")
        with lying({"runs/r": output(f"file://{tmp_path}/shared/x")}) as url:  # noqa: SIM117
            with pytest.raises(MunimentError) as refused:
                WesBackend(url, shared=str(tmp_path / "shared")).collect(case, "r")
        assert refused.value.code == "OUTSIDE_ROOT"

    def test_the_token_goes_to_no_other_server(self, case: Case) -> None:
        seen: list[tuple[str, str]] = []
        with (
            lying({"file": (200, b"stolen")}, seen) as other,
            lying({"runs/r": output(f"{other}/file")}) as url,
            pytest.raises(OutputUnsafe),
        ):
            WesBackend(url, token="secret").collect(case, "r")
        assert seen == []

    @pytest.mark.parametrize("place", ["http://[", "data/\x01x", "https://[::1", "\ud800"], ids=repr)
    def test_a_place_that_is_none(self, case: Case, place: str) -> None:
        with lying({"runs/r": output(place)}) as url, pytest.raises(MunimentError) as refused:
            WesBackend(url).collect(case, "r")
        assert refused.value.code in ("JOB_OUTPUT_UNSAFE", "JOB_ENGINE_ANSWER")
        assert str(refused.value).isprintable()

    def test_the_token_goes_to_its_own_server_by_its_own_way(self, case: Case) -> None:
        """A server that is spoken to in secret can not have it repeated in the open."""
        with lying({"runs/r": output("x")}) as url:
            backend = WesBackend(url.replace("http://", "https://"), token="secret")
            with httpx2.Client() as client, pytest.raises(OutputUnsafe, match="another server"):
                list(backend._download(client, f"{url}/x"))

    def test_the_token_goes_to_its_own(self, case: Case) -> None:
        seen: list[tuple[str, str]] = []
        with lying({"runs/r": output("data/x.txt"), "data/x.txt": (200, b"fine")}, seen) as url:
            (piece,) = WesBackend(url, token="secret").collect(case, "r").outputs
        assert case.folder.read(piece.path) == b"fine" and {auth for _, auth in seen} == {"Bearer secret"}

    def test_two_outputs_of_one_name(self, case: Case) -> None:
        two = {"outputs": {name: output("data/x")["outputs"]["report"] for name in ("a", "b")}}
        with (
            lying({"runs/r": two, "data/x": (200, b"x")}) as url,
            pytest.raises(OutputUnsafe, match="two outputs"),
        ):
            WesBackend(url).collect(case, "r")

    def test_an_output_that_is_gone(self, case: Case) -> None:
        with lying({"runs/r": output("data/x")}) as url, pytest.raises(EngineAnswer, match="404"):
            WesBackend(url).collect(case, "r")
        assert case.folder.names(OUTPUTS) == []

    def test_folders_and_secondary_files(self, case: Case) -> None:
        tree = {
            "class": "Directory",
            "basename": "tree",
            "listing": [{"class": "File", "basename": "inner", "location": "data/1"}],
        }
        bam = {
            "class": "File",
            "basename": "a.bam",
            "location": "data/2",
            "secondaryFiles": [{"class": "File", "basename": "a.bai", "location": "data/3"}],
        }
        answers: Answers = {f"data/{n}": (200, str(n).encode()) for n in (1, 2, 3)}
        answers["runs/r"] = {"outputs": {"tree": tree, "bams": [bam], "count": 3, "none": None}}
        with lying(answers) as url:
            pieces = WesBackend(url).collect(case, "r").outputs
        found = {one.path.posix: (one.role, case.folder.read(one.path)) for one in pieces}
        assert found == {
            "outputs/tree/inner": ("tree", b"1"),
            "outputs/a.bam": ("bams", b"2"),
            "outputs/a.bai": ("bams", b"3"),
        }


def test_a_run_id_is_one_segment_of_a_path(case: Case) -> None:
    seen: list[tuple[str, str]] = []
    with lying({}, seen) as url, pytest.raises(EngineRefused):
        WesBackend(url).poll(case, "../../admin?x=1#y")
    assert [path for path, _ in seen] == ["/wes/runs/..%2F..%2Fadmin%3Fx%3D1%23y/status"]


def test_without_httpx2_the_install_line_is_named(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    calls: list[Callable[[], object]] = [lambda: WesBackend("http://127.0.0.1:1").find(case)]
    for call in calls:
        with pytest.raises(EngineMissing, match="httpx2") as missing:
            call()
        assert "pip install 'muniment[wes]'" in str(missing.value.next_step)
