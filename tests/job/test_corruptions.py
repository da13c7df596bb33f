"""Job: each single corruption of a valid registry is refused, and its own field is named."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from tests.house.tree import PROJECT
from tests.job.corruptions import Corruption, rule_corruptions, shape_corruptions, text_corruptions
from tests.job.registries import VALID

from muniment.job.errors import RegistryRefused
from muniment.job.reader import from_json, read
from muniment.job.rules import findings
from muniment.job.schema import SCHEMA

SHAPE = list(shape_corruptions())
RULES = list(rule_corruptions())


def paths(value: Any) -> list[str]:
    """The fields that a registry is refused for."""
    try:
        registry = from_json(value)
    except RegistryRefused as error:
        return [one.path for one in error.findings]
    return [one.path for one in findings(registry)]


@pytest.mark.parametrize("name", VALID)
def test_a_valid_registry_is_taken(name: str) -> None:
    assert paths(VALID[name]()) == []
    assert read(json.dumps(VALID[name]()).encode()) == from_json(VALID[name]())


def test_there_are_thousands() -> None:
    assert len(SHAPE) > 4000 and len(RULES) > 100 and len(list(text_corruptions())) > 2000


def test_a_spoiled_shape_names_its_field_and_no_other() -> None:
    wrong = [(one.how, found, one.path) for one in SHAPE if (found := paths(one.value)) != [one.path]]
    assert wrong == []


def test_a_broken_rule_names_its_field() -> None:
    wrong = [(one.how, found, one.path) for one in RULES if one.path not in (found := paths(one.value))]
    assert wrong == []


def test_a_spoiled_text_names_its_field() -> None:
    wrong = []
    for one in text_corruptions():
        try:
            read(one.text.encode())
        except RegistryRefused as error:
            if error.findings[0].path != one.path:
                wrong.append((one.how, error.findings[0].path, one.path))
        else:
            wrong.append((one.how, "taken", one.path))
    assert wrong == []


def test_a_text_cut_short_anywhere_is_refused() -> None:
    whole = json.dumps(VALID["finished"](), indent=2).encode()
    for end in range(len(whole)):
        with pytest.raises(RegistryRefused):
            read(whole[:end])


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"\xef\xbb\xbf{}", b"[]", b"null", b"{}x", b"[" * 100_000, b'{"a":' * 100_000, b"{} {}"],
    ids=repr,
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(RegistryRefused) as refused:
        read(data)
    assert len(refused.value.reason) < 400


def test_a_finding_shows_hostile_names_harmlessly() -> None:
    value = VALID["template"]()
    value["workflow"]['x"].phase\x1b[2J\u202e'] = "y" * 10_000
    with pytest.raises(RegistryRefused) as refused:
        from_json(value)
    assert refused.value.findings[0].path == 'workflow["x\\"].phase\\u001b[2J\\u202e"]'
    assert str(refused.value).isprintable() and len(str(refused.value)) < 500


class TestPublishedSchema:
    """The JSON Schema that is published says of every instance what the code says."""

    validator = jsonschema.Draft202012Validator(SCHEMA)

    def test_it_is_a_schema(self) -> None:
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    @pytest.mark.parametrize("name", VALID)
    def test_it_takes_what_is_valid(self, name: str) -> None:
        assert self.validator.is_valid(VALID[name]())

    def test_it_refuses_every_spoiled_shape(self) -> None:
        taken = [one.how for one in SHAPE if self.validator.is_valid(one.value) and not _only_a_float(one)]
        assert taken == []

    def test_what_it_can_not_see_is_known(self) -> None:
        """Rules that compare two fields are beyond JSON Schema; all others it knows too."""
        taken = {one.path for one in RULES if self.validator.is_valid(one.value)}
        assert taken == BEYOND_JSON_SCHEMA


BEYOND_JSON_SCHEMA = {
    "execution.downstream.tool.reference",
    "execution.downstream.tool.name",
    "execution.downstream.image_tag",
    "execution.defaults_used[0]",
    "execution.bindings[1].source",
    "execution.bindings[0].source",
}


def _only_a_float(one: Corruption) -> bool:
    """JSON Schema calls 1.0 an integer; the code does not."""
    return one.how.endswith("is 1.0")


def test_the_published_schema_is_the_one_of_the_code() -> None:
    published = json.loads((PROJECT / "docs" / "schemas" / "job" / "registry-1.0.json").read_text("utf-8"))
    assert published == SCHEMA, "run: python -m muniment.job.schema > docs/schemas/job/registry-1.0.json"
