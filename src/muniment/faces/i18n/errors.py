"""Faces, languages: an error as a person reads it, and as a program does (spec 6)."""

from __future__ import annotations

from muniment.canonical import Json
from muniment.errors import MunimentError
from muniment.faces.i18n.translate import Translator
from muniment.message import Message, say
from muniment.path import printable


def for_people(error: MunimentError, translator: Translator) -> list[str]:
    """Lines that say what, where, why and what next; the code stands in the first."""
    lines = [f"{translator.text(error.message)} ({error.code})"]
    if error.where:
        lines.append("  " + translator.text(say("where: {place}", place=printable(str(error.where)))))
    if error.why is not None:
        lines.append("  " + translator.text(say("why: {finding}", finding=error.why)))
    if error.guidance:
        lines.append("  " + translator.text(say("next: {step}", step=error.next_step)))
    return lines


def for_programs(error: MunimentError, english: Translator) -> dict[str, Json]:
    """The error as one JSON object; its texts are English whatever the reader's language."""
    return {
        "error": error.code,
        "message": english.text(error.message),
        "where": str(error.where),
        "why": "" if error.why is None else english.text(error.why),
        "next": english.text(error.next_step),
        "exit_code": int(error.exit_code),
        "retryable": error.retryable,
        "facts": {name: _fact(value, english) for name, value in error.facts.items()},
    }


def _fact(value: object, english: Translator) -> Json:
    """Facts keep their shape as far as JSON has one; everything else becomes its text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [_fact(item, english) for item in value]
    if isinstance(value, dict):
        return {str(name): _fact(item, english) for name, item in value.items()}
    return english.text(value) if isinstance(value, Message) else str(english.fact(value))
