"""Collects every sentence of the source, by room, without running any of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Formatter

SOURCE = Path(__file__).parents[2] / "src" / "muniment"

_SENTENCE_ATTRIBUTES = frozenset({"what", "guidance"})
"""Class attributes of errors that are templates."""

_COLLECTED_ELSEWHERE = frozenset({"what", "guidance", "about", "template"})
"""Attributes whose texts are collected where they are written, so that `Message(x.about)` is fine."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A template of the source, with its plural, and the room whose catalogue holds it."""

    room: str
    template: str
    plural: str | None
    place: str


@dataclass(frozen=True, slots=True)
class NotLiteral:
    """A message whose template can not be collected."""

    place: str


_OWN_CATALOGUE = frozenset({"tools", "web"})
"""Faces that have a catalogue of their own beside that of the command line."""


def room_of(path: Path, source: Path = SOURCE) -> str:
    """A package is a room, and so are some faces; modules of the top level are the ground."""
    parts = path.relative_to(source).parts
    if parts[0] == "faces" and parts[1] in _OWN_CATALOGUE:
        return parts[1]
    return parts[0] if len(parts) > 1 else "ground"


def collect(source: Path = SOURCE) -> list[Sentence | NotLiteral]:
    """Everything found in a source tree."""
    found: list[Sentence | NotLiteral] = []
    for path in sorted(source.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        if path == source / "message.py":  # what makes the messages, and takes templates from its callers
            continue
        for node in ast.walk(tree):
            for line, template, plural in _templates(node):
                place = f"{path.relative_to(source)}:{line}"
                if template is None:
                    found.append(NotLiteral(place))
                else:
                    found.append(Sentence(room_of(path, source), template, plural, place))
    return found


def _templates(node: ast.AST) -> Iterator[tuple[int, str | None, str | None]]:
    if isinstance(node, ast.ClassDef):
        for statement in node.body:
            yield from _attribute(statement)
    elif isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if name == "say" and not (isinstance(node.func, ast.Attribute)):
            yield node.lineno, _text(_nth(node, 0)), None
        elif name == "say_count":
            yield node.lineno, _text(_nth(node, 0)), _text(_nth(node, 1))
        elif name == "Message":
            template = given.get("template", _nth(node, 0))
            if isinstance(template, ast.Attribute) and template.attr in _COLLECTED_ELSEWHERE:
                return
            plural = given.get("plural", _nth(node, 2))
            yield node.lineno, _text(template), None if plural is None else _text(plural)
        elif name == "Setting":
            yield node.lineno, _text(given.get("about", _nth(node, 3))), None


def _attribute(statement: ast.stmt) -> Iterator[tuple[int, str | None, None]]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in _SENTENCE_ATTRIBUTES:
            yield statement.lineno, _text(value), None
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if (
            name in _SENTENCE_ATTRIBUTES and "ClassVar" in ast.unparse(statement.annotation)
        ):
            yield statement.lineno, _text(value), None


def _nth(call: ast.Call, index: int) -> ast.expr | None:
    return call.args[index] if index < len(call.args) else None


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def placeholders(template: str) -> list[str]:
    """The fields of a template with their conversions and formats, sorted.

    >>> placeholders("{b} and {a:>3} and {{c}}")
    ['{a:>3}', '{b}']
    """
    found = []
    for _, name, spec, conversion in Formatter().parse(template):
        if name is not None:
            how = (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            found.append("{" + name + how + "}")
    return sorted(found)


def field_names(template: str) -> list[str]:
    """The bare names of the fields of a template."""
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def has_words(template: str) -> bool:
    """Whether anything in a template, beside its fields, needs a translation."""
    return any(sign.isalpha() for literal, *_ in Formatter().parse(template) for sign in literal)
