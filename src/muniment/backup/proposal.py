"""Floor 3, `backup`: what the rules file could say: everything at the top, sorted by what it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muniment.backup.excludes import DATA, WORKSPACE
from muniment.backup.model import ABSENT, OK, Item
from muniment.backup.rules import Category, advice, category
from muniment.backup.rules_file import RulesFile
from muniment.backup.survey import excludes_of, survey
from muniment.canonical import Json
from muniment.evidence import spell
from muniment.hosts.places import Places
from muniment.message import Message, say


@dataclass(frozen=True, slots=True)
class Proposed:
    """One thing at the top: its size as it would go in, and what speaks for leaving it out."""

    section: str
    name: str
    size: int
    files: int
    category: Category
    reason: Message
    advice: Message | None

    @property
    def pattern(self) -> str:
        """The line that would leave it out."""
        return f"{WORKSPACE}/{self.name}" if self.section == WORKSPACE else self.name

    def to_json(self) -> dict[str, Json]:
        """The entry as programs read it."""
        return {
            "name": spell(self.name),
            "size_bytes": self.size,
            "file_count": self.files,
            "category": self.category.value,
            "reason": str(self.reason),
        }


@dataclass(frozen=True, slots=True)
class Proposal:
    """All entries of both sections, largest first."""

    entries: tuple[Proposed, ...]

    def of(self, section: str) -> list[Proposed]:
        """Those of one section."""
        return [one for one in self.entries if one.section == section]

    @property
    def size(self) -> int:
        """Bytes that go in when nothing is left out beside the defaults."""
        return sum(one.size for one in self.entries if one.category is not Category.SKIP)

    @property
    def suggested(self) -> list[Proposed]:
        """What is worth leaving out, largest first: a suggestion, nothing more."""
        return [one for one in self.entries if one.advice is not None]

    def to_json(self) -> dict[str, Json]:
        """The proposal as programs read it (spec 4, rules propose)."""
        counts = {kind: sum(one.category is kind for one in self.entries) for kind in Category}
        return {
            "workspace": [one.to_json() for one in self.of(WORKSPACE)],
            "data": [one.to_json() for one in self.of(DATA)],
            "summary": {
                "total_size_bytes": self.size,
                "core_count": counts[Category.CORE],
                "skip_count": counts[Category.SKIP],
                "ask_count": counts[Category.ASK],
                "unknown_count": counts[Category.UNKNOWN],
            },
        }


_REASONS = {
    Category.CORE: say("it belongs to what the agent is"),
    Category.SKIP: say("it is left out by default"),
    Category.ASK: say("it may be worth keeping or not"),
    Category.UNKNOWN: say("nothing is known of it"),
}


def propose(places: Places) -> Proposal:
    """Look at everything at the top of both sections."""
    seen = survey(places, RulesFile(), excludes_of(places, RulesFile(), "default"), full=False)
    entries = [_proposed(item, places) for item in seen.items if item.files or item.status != ABSENT]
    return Proposal(tuple(sorted(entries, key=lambda one: (-one.size, one.section, one.name))))


def _proposed(item: Item, places: Places) -> Proposed:
    sets = places.workspace_sets if item.section == WORKSPACE else places.data_sets
    # What the survey left out is skipped, whichever rule it was.
    kind = category(item.rel, sets) if item.status == OK else Category.SKIP
    found = None if kind is Category.SKIP else advice(item.rel, kind, item.size_bytes)
    return Proposed(item.section, item.rel, item.size_bytes, item.files, kind, _REASONS[kind], found)


def size_without(proposal: Proposal, patterns: Sequence[str]) -> int:
    """Bytes that go in when these lines are in the rules file too."""
    gone = set(patterns)
    return proposal.size - sum(
        one.size for one in proposal.entries if one.category is not Category.SKIP and one.pattern in gone
    )
