"""Floor 0: a sentence for a person, still without a language.

Every sentence is written once, in English, as the template of a `Message`; a face renders it
in the reader's language.  Templates use named fields in braces, and a template is always a
literal, so that the catalogue test can collect all of them from the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Message:
    """A template with its facts.

    `plural` is the template used when `count` is not one; both see the field `{count}`.
    Facts are shown as they are; a fact may itself be a `Message`, and a tuple is shown as a list in
    words, with the marks of the reader's language between.

    >>> str(Message("moved {name}", {"name": "report.md"}))
    'moved report.md'
    >>> str(Message("{count} file", plural="{count} files", count=3))
    '3 files'
    >>> str(Message("one of {words}", {"words": ("a", "b")}))
    'one of a, b'
    """

    template: str
    facts: Mapping[str, object] = field(default_factory=dict)
    plural: str | None = None
    count: int | None = None

    def __str__(self) -> str:
        """The English text: what logs and tracebacks show."""
        chosen = self.template if self.plural is None or self.count == 1 else self.plural
        return self.fill(chosen, {name: _in_words(fact) for name, fact in self.facts.items()})

    def fill(self, chosen: str, facts: Mapping[str, object]) -> str:
        """Put the facts into a template already chosen (and perhaps translated)."""
        fields = dict(facts)
        if self.count is not None:
            fields["count"] = self.count
        return chosen.format_map(fields) if fields else chosen


def _in_words(fact: object) -> object:
    return ", ".join(map(str, fact)) if isinstance(fact, tuple) else fact


def say(template: str, **facts: object) -> Message:
    """A message in one call.

    >>> str(say("{path} is not empty", path="a/b"))
    'a/b is not empty'
    """
    return Message(template, facts)


def say_count(template: str, plural: str, count: int, **facts: object) -> Message:
    """A message whose wording depends on a number.

    >>> str(say_count("{count} file in {where}", "{count} files in {where}", 1, where="x"))
    '1 file in x'
    """
    return Message(template, facts, plural, count)
