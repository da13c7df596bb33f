"""`server.json`, by which registries of MCP servers know this one, says what the project says."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator

from muniment import __version__
from muniment.app import declared
from muniment.faces.cli.root import ROOT
from muniment.faces.i18n.language import Language
from muniment.hosts.workspace import VARIABLE
from muniment.record.consent import RELAYED

PROJECT = Path(__file__).parents[2]
SERVER: dict[str, Any] = json.loads((PROJECT / "server.json").read_text("utf-8"))
PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]

INPUT = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "description": {"type": "string"},
        "format": {"enum": ["string", "number", "boolean", "filepath"]},
        "default": {"type": "string"},
        "choices": {"type": "array", "items": {"type": "string"}},
    },
}
ARGUMENT = {
    "type": "object",
    "required": ["type", "value"],
    "properties": {"type": {"enum": ["named", "positional"]}},
    "if": {"properties": {"type": {"const": "named"}}},
    "then": {"required": ["name"]},
}
FORM = {
    "type": "object",
    "required": ["$schema", "name", "description", "version", "packages"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"pattern": r"/schemas/\d{4}-\d\d-\d\d/server\.schema\.json$"},
        "name": {"pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "title": {"minLength": 1, "maxLength": 100},
        "description": {"minLength": 1, "maxLength": 100},
        "version": {"maxLength": 255},
        "packages": {
            "items": {
                "required": ["registryType", "identifier", "transport"],
                "additionalProperties": False,
                "properties": {
                    "registryType": {"const": "pypi"},
                    "identifier": {},
                    "version": {"not": {"const": "latest"}},
                    "runtimeHint": {"const": "uvx"},
                    "runtimeArguments": {"items": ARGUMENT},
                    "transport": {"const": {"type": "stdio"}},
                    "packageArguments": {"items": ARGUMENT},
                    "environmentVariables": {"items": INPUT},
                },
            }
        },
    },
}
"""What the published form asks of a server, written anew for the members that ours has."""


def package() -> dict[str, Any]:
    (found,) = SERVER["packages"]
    assert isinstance(found, dict)
    return found


def test_it_has_the_published_form() -> None:
    Draft7Validator(FORM).validate(SERVER)


def test_it_is_this_project_in_this_version() -> None:
    assert package()["identifier"] == PYPROJECT["name"]
    assert SERVER["version"] == package()["version"] == __version__


def test_what_is_started_is_the_server_with_all_that_it_needs() -> None:
    (command,) = package()["packageArguments"]
    assert ROOT.table[command["value"]].extra == "mcp"
    (needed,) = PYPROJECT["optional-dependencies"]["mcp"]
    assert [(each["name"], each["value"]) for each in package()["runtimeArguments"]] == [("--with", needed)]


def test_every_variable_exists_and_has_its_default() -> None:
    known = {variable for setting in declared() for variable in setting.variables} | {
        VARIABLE,
        "MUNIMENT_LANG",
    }
    given = {each["name"]: each for each in package()["environmentVariables"]}
    assert set(given) <= known
    assert given["MUNIMENT_CONFIRM_RELAYED"]["default"] == ",".join(RELAYED.default)
    assert given["MUNIMENT_LANG"]["choices"] == [language.value for language in Language]


def test_the_readme_carries_its_name_so_that_a_registry_can_check_the_owner() -> None:
    readme = (PROJECT / "README.md").read_text("utf-8")
    assert re.findall(r"<!-- mcp-name: (\S+) -->", readme) == [SERVER["name"]]
