"""Entries and a file of ours given to a host, in files that somebody keeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.faults.acts.content import scratch
from tests.faults.harness import Ended

from muniment.hosts.merging import Entry, Form
from muniment.hosts.setup import Configuration, Setup, uninstall

STAGES = ("one file system",)
LARGEST = 24_000
PAGE = b"# a page of ours\n" * 1000
JSON = b'{\n  "theirs": "' + b"x" * 4000 + b'"\n}\n'
TOML = b'# theirs\nmodel = "x"\n'
SERVER = {"command": "/opt/muniment", "args": ["mcp"]}
JSON_AFTER = JSON.removesuffix(b"\n}\n") + (
    b',\n  "mcpServers": {\n    "muniment": {\n      "command": "/opt/muniment",\n'
    b'      "args": [\n        "mcp"\n      ]\n    }\n  }\n}\n'
)
TOML_AFTER = TOML + b'\n[mcp_servers.muniment]\ncommand = "/opt/muniment"\nargs = ["mcp"]\n'


def setup(place: Path) -> Setup:
    """What the host is given."""
    home = place / "to"
    return Setup(
        "some",
        place / "from" / "receipts",
        (
            Configuration(home / "a.json", Form.JSON, (Entry(("mcpServers", "muniment"), SERVER),)),
            Configuration(home / "b.toml", Form.TOML, (Entry(("mcp_servers", "muniment"), SERVER),)),
        ),
        {home / "skills" / "one" / "SKILL.md": PAGE},
    )


def prepare(place: Path) -> None:
    """The host's files are there, and nothing of ours."""
    (place / "to" / "a.json").write_bytes(JSON)
    (place / "to" / "b.toml").write_bytes(TOML)


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Install, and say so."""
    acknowledge(str(len(setup(place).install())))


def found(place: Path) -> tuple[bytes, bytes, bytes | None]:
    """What stands in the three files."""
    page = place / "to" / "skills" / "one" / "SKILL.md"
    a, b = ((place / "to" / name).read_bytes() for name in ("a.json", "b.toml"))
    return a, b, page.read_bytes() if page.exists() else None


def check(place: Path, ended: Ended | None) -> None:
    """Each file is wholly old or wholly new; all are new when it was said."""
    a, b, page = found(place)
    assert a in (JSON, JSON_AFTER) and b in (TOML, TOML_AFTER) and page in (None, PAGE)
    if ended is not None and (ended.how == "done" or ended.said):
        assert (a, b, page) == (JSON_AFTER, TOML_AFTER, PAGE)
    if ended is None:
        assert (a, b, page) == (JSON, TOML, None)
        left = [path.name for path in (place / "to").iterdir()]
        assert "skills" not in left and not any("muniment" in name for name in left), left


def recover(place: Path) -> None:
    """It is run again, and then everything is taken away again."""
    setup(place).install()
    assert found(place) == (JSON_AFTER, TOML_AFTER, PAGE)
    uninstall(place / "from" / "receipts", "some")
    for path in scratch(place / "to"):
        path.unlink()
