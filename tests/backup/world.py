"""What the tests of `backup` share: a workspace, a vault beside it, and a clock that is set by hand."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from muniment.backup.fetching import Fetched
from muniment.backup.model import Receipt, Request
from muniment.backup.reading import Reading
from muniment.backup.restore import Restores
from muniment.backup.restore_model import Applied, Order
from muniment.backup.restore_rules import choose
from muniment.backup.service import Backups, Options, Planned
from muniment.bundle.vault import Limits
from muniment.disk.root import Root
from muniment.hosts.generic.places import places as generic
from muniment.hosts.places import Places
from muniment.hosts.starchild.places import places as starchild
from muniment.record.consent import RELAYED, WitnessKind
from muniment.record.state import open_workspace
from muniment.vault.open import open_directory
from muniment.vault.place import refuse_inside

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
RULES = (
    "## Mode\n```\ndefault\n```\n## Extra excludes\n```\n```\n## Extra paths\n```\n```\n"
    "## Label template\n```\nday {date}\n```\n## Notes\n"
)


class World:
    """One workspace of a layout, and everything around it."""

    def __init__(
        self,
        place: Path,
        *,
        layout: str = "generic",
        limits: Limits | None = None,
        workspace: Path | None = None,
    ) -> None:
        self.place = place
        self.now = NOON
        self.data = place / "data" if layout == "starchild" else None
        self.workspace = self.data / "workspace" if self.data else workspace or place / "workspace"
        self.workspace.mkdir(parents=True)
        self.vault_folder = place / "vault"
        self.relayed: tuple[str, ...] = RELAYED.default
        self.workers = 0
        self.root = Root.open(self.workspace)
        self.record = open_workspace(self.root, clock=self.clock)
        self.vault = open_directory(self.vault_folder, clock=self.clock, limits=limits or Limits())
        self.places: Places = starchild(self.workspace, self.data) if self.data else generic(self.workspace)

    def clock(self) -> datetime:
        """The time, which goes on a little with every look."""
        self.now += timedelta(microseconds=1)
        return self.now

    def close(self) -> None:
        """Let everything go."""
        self.vault.close()
        self.root.close()

    @property
    def backups(self) -> Backups:
        """The room."""
        options = Options(
            cache=self.place / "cache",
            relayed=self.relayed,
            refuse_inside=lambda saved: refuse_inside(self.vault_folder, saved),
            workers=self.workers,
        )
        return Backups(self.record, self.places, lambda: self.vault, options)

    @property
    def restores(self) -> Restores:
        """What brings snapshots back."""
        return Restores(self.record, self.places, self.backups.reading, self.relayed)

    def order(self, snapshot_id: str, **choice: Any) -> tuple[Order, Fetched]:
        """A restore, planned and chosen; everything unless told otherwise."""
        only = choice.pop("only", ())
        exact = choice.get("exact", False)
        plan, fetched = self.restores.plan(snapshot_id, only=only, exact=exact)
        return choose(plan, **{"overwrite": True, "run": True, **choice}), fetched

    def apply(self, order: Order, fetched: Fetched, witness: WitnessKind = WitnessKind.TERMINAL) -> Applied:
        """The restore, confirmed."""
        self.record.consents.give("restore", order.shown, witness)
        return self.restores.apply(order, fetched)

    def restore(self, snapshot_id: str, **choice: Any) -> Applied:
        """Plan, choose, confirm, apply."""
        return self.apply(*self.order(snapshot_id, **choice))

    def write(self, rel: str, content: bytes | str = "x") -> Path:
        """A file of the workspace."""
        return put(self.workspace / rel, content)

    def rules(self, text: str = RULES, **lines: Iterable[str]) -> None:
        """The rules file; `excludes` and `paths` fill its fences."""
        for heading, values in lines.items():
            title = f"## Extra {heading}\n```\n"
            text = text.replace(title, title + "".join(f"{value}\n" for value in values))
        put(self.places.rules, text)

    def plan(self, request: Request | None = None) -> Planned:
        """A plan."""
        return self.backups.plan(request or Request())

    def confirm(self, planned: Planned, witness: WitnessKind = WitnessKind.TERMINAL) -> None:
        """Somebody confirms it."""
        self.record.consents.give("create", planned.shown, witness)

    def snapshot(self, request: Request | None = None, *, reread: bool = False) -> Receipt:
        """Plan, confirm, create."""
        planned = self.plan(request)
        self.confirm(planned)
        return self.backups.create(planned.plan.plan_id, reread=reread)

    def reading(self, receipt: Receipt) -> Reading:
        """The snapshot, to be looked into."""
        return self.backups.reading(receipt.snapshot.id)

    def paths(self, receipt: Receipt) -> set[str]:
        """The files of a snapshot, without those of Muniment's own."""
        found = {packed.path for packed in self.reading(receipt).files()}
        return {path for path in found if "/.muniment/" not in path}

    def exclusions(self, receipt: Receipt) -> set[tuple[str, str, str]]:
        """What the manifest says was left out."""
        rows = self.reading(receipt).contents.facts["exclusions"]
        return {(row["section"], row["rel"], row["reason"]) for row in rows}

    def restored(self, receipt: Receipt, rel: str, name: str = "restored") -> Path:
        """One file, taken out of the snapshot."""
        return put(self.place / name, b"".join(self.reading(receipt).read(f"workspace/{rel}")))


def put(path: Path, content: bytes | str) -> Path:
    """A file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows(place: Path) -> list[int]:
    """All numbers of the table `t`."""
    with closing(sqlite3.connect(place)) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [number for (number,) in base.execute("SELECT n FROM t ORDER BY n")]
