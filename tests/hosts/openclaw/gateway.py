"""Hosts, OpenClaw: the real one from npm for the tests, offline, in a home of its own.

`make envs` installs it.  The only thing that is not real is the model, which can not be reached from
here: a stand-in on loopback asks for the tool calls that a test gives it, so that OpenClaw's own loop
makes them.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[3]
PLACE = PROJECT / "build" / "envs" / "openclaw"
NODE = PLACE / "node" / "bin"
PROGRAM = PLACE / "node_modules" / "openclaw" / "openclaw.mjs"
INSTALLED = (PLACE / ".made").exists()

BASE = Path("/home/root")
"""Where hosted workspaces lie; a folder of the test's own is mounted there, for the gateway alone."""

PATIENCE_S = 240
"""After how long something that does not answer is given up; nothing is measured by it."""


def can_mount() -> bool:
    """Whether a folder can be mounted, in a namespace of its own."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    words = ["unshare", "-m", "--propagation", "private", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def without_network() -> list[str]:
    """What stands before a command so that it reaches no network; nothing where that can not be done."""
    words = ["unshare", "-n"]
    usable = os.geteuid() == 0 and shutil.which("unshare") is not None
    return words if usable and subprocess.run([*words, "true"], check=False).returncode == 0 else []


class Model:
    """A stand-in for a model: it asks for one tool call, and repeats what came of it."""

    def __init__(self) -> None:
        self.wanted: tuple[str, dict[str, Any]] | None = None
        self.outcome: str | None = None
        self.tools: list[str] = []
        self._asked = 0
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.wfile.write(model.answer(body))

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def _id(self) -> str:
        """By which the result of the call that was asked for is known."""
        return f"call{self._asked:08d}"

    def answer(self, body: dict[str, Any]) -> bytes:
        """The stream of one completion: the call that is wanted, or what came of it."""
        self.tools = [tool["function"]["name"] for tool in body.get("tools", [])]
        part: dict[str, Any]
        if self.wanted is not None:
            (name, arguments), self.wanted = self.wanted, None
            self._asked += 1
            call = {"name": name, "arguments": json.dumps(arguments)}
            part = {"tool_calls": [{"index": 0, "id": self._id, "type": "function", "function": call}]}
            end = "tool_calls"
        else:
            told = [each for each in body["messages"] if each.get("tool_call_id") == self._id]
            self.outcome = _text(told[-1]["content"]) if told else None
            part, end = {"content": "That is all."}, "stop"
        pieces = [({"role": "assistant", **part}, None), ({}, end)]
        lines = [
            {
                "id": "completion",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "one",
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
            }
            for delta, reason in pieces
        ]
        return b"".join(f"data: {json.dumps(line)}\n\n".encode() for line in lines) + b"data: [DONE]\n\n"


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class OpenClaw:
    """A person's OpenClaw: a home with its configuration, and two agents.

    `main` has an ordinary workspace.  `hosted` works where a hosted OpenClaw would, when folders can be
    mounted there.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.home = place / "home"
        self.state = self.home / ".openclaw"
        self.workspace = place / "work"
        self.hosted = place / "root" / "workspace" / "w-7" / "workspace"
        self.outside = place / "root" / "elsewhere"
        for folder in (self.state, self.workspace, self.hosted, self.outside, place / "tmp"):
            folder.mkdir(parents=True)
        self.program = place / "muniment"
        own = (
            f"PYTHONPATH='{PROJECT / 'src'}' PYTHONDONTWRITEBYTECODE=1 exec '{sys.executable}' -P -m muniment"
        )
        self.program.write_text(f'#!/bin/sh\n{own} "$@"\n')
        self.program.chmod(0o755)
        self.configuration = self.state / "openclaw.json"
        self.environment = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([str(place), str(NODE), "/usr/local/bin", "/usr/bin", "/bin"]),
            "TMPDIR": str(place / "tmp"),
            "NO_COLOR": "1",
            "OPENCLAW_SKIP_CHANNELS": "1",
            "OPENCLAW_SKIP_CRON": "1",
        }

    def configure(self, port: int, model_port: int) -> None:
        """A configuration as a person keeps one, with comments."""
        self.configuration.write_text(
            f"""// what I set
{{
  gateway: {{
    mode: "local", port: {port}, bind: "loopback",
    auth: {{mode: "token", token: "t0ken"}}, // only here
    http: {{endpoints: {{chatCompletions: {{enabled: true}}}}}},
  }},
  agents: {{
    ownership: "explicit",
    defaults: {{model: {{primary: "standin/one"}}}},
    entries: {{
      main: {{workspace: "{self.workspace}"}},
      hosted: {{workspace: "{BASE / self.hosted.relative_to(self.place / "root")}"}},
    }},
  }},
  models: {{mode: "merge", providers: {{standin: {{
    baseUrl: "http://127.0.0.1:{model_port}/v1", apiKey: "none", api: "openai-completions",
    models: [{{id: "one", name: "One", reasoning: false, input: ["text"], contextWindow: 120000,
      maxTokens: 8192, cost: {{input: 0, output: 0, cacheRead: 0, cacheWrite: 0}}}}],
  }}}}}},
  tools: {{toolSearch: false}},
  logging: {{file: "{self.place / "openclaw.log"}"}},
}}
"""
        )

    def muniment(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The program, as this person calls it."""
        return self._run([str(self.program), *words])

    def openclaw(self, *words: str, network: bool = True) -> subprocess.CompletedProcess[str]:
        """OpenClaw's own command line."""
        return self._run([*([] if network else without_network()), "node", str(PROGRAM), *words])

    def told(self, *words: str, network: bool = True) -> Any:
        """What it answers in JSON."""
        done = self.openclaw(*words, "--json", network=network)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout[done.stdout.index("{") :])

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.place,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )


def _with_base(folder: Path) -> list[str]:
    """What stands before a command for which `folder` lies where hosted workspaces do.

    Nothing of it is seen outside, unless something that is needed lies below /home itself: then an empty
    folder is made there, and stays, since taking it away would take it from others who mounted on it.
    """
    needed = [PROJECT, folder, Path(sys.prefix), Path(sys.base_prefix), PLACE / "node"]
    if any(path.resolve().is_relative_to(BASE.parent) for path in needed):
        BASE.mkdir(exist_ok=True)
        script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    else:
        above = 'mount -t tmpfs none "$(dirname "$2")" && mkdir "$2"'
        script = above + ' && mount --bind "$1" "$2" && shift 2 && exec "$@"'
    apart = ["unshare", "-m", "--propagation", "private"]
    return [*apart, "sh", "-ec", script, "sh", str(folder), str(BASE)]


class Gateway:
    """A running gateway of that OpenClaw, on a free port of loopback."""

    def __init__(self, claw: OpenClaw, model: Model, port: int, *, mounted: bool) -> None:
        self.claw, self.model, self.port = claw, model, port
        command = ["node", str(PROGRAM), "gateway", "run", "--port", str(port)]
        if mounted:
            command = [*_with_base(claw.place / "root"), *command]
        self.said: list[str] = []
        self._process = subprocess.Popen(
            command,
            cwd=claw.place,
            env=claw.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        ready = threading.Event()
        self._reader = threading.Thread(target=self._read, args=(ready,), daemon=True)
        self._reader.start()
        if not ready.wait(PATIENCE_S) or self._process.poll() is not None:
            self.close()
            raise AssertionError("the gateway did not start:\n" + "".join(self.said))

    def _read(self, ready: threading.Event) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said.append(line)
            if line.rstrip().endswith("[gateway] ready"):
                ready.set()
        ready.set()

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def invoke(
        self, tool: str, arguments: Mapping[str, Any], session: str, token: str | None = "t0ken"
    ) -> tuple[int, Any]:
        """One tool called from outside, without a model: the status, and the body."""
        body = {"tool": tool, "args": dict(arguments), "sessionKey": session}
        return self._post("/tools/invoke", body, token)

    def turn(self, agent: str, tool: str, arguments: Mapping[str, Any]) -> str:
        """One tool called by an agent in its own loop: what the agent was told came of it."""
        self.model.wanted, self.model.outcome = (tool, dict(arguments)), None
        body = {"model": f"openclaw/{agent}", "messages": [{"role": "user", "content": "Go on."}]}
        headers = {"x-openclaw-session-key": f"agent:{agent}:loop"}
        status, answer = self._post("/v1/chat/completions", body, "t0ken", headers)
        assert status == 200, answer
        assert self.model.outcome is not None, f"{tool} was not called: {answer}, {self.model.tools}"
        return self.model.outcome

    def _post(
        self, path: str, body: object, token: str | None, more: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json", **(more or {})}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        address = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE_S) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())


def free_port() -> int:
    """A port of loopback that nobody has at this moment."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
