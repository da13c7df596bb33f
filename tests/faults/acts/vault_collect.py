"""Vault: garbage collected beside a snapshot and an upload."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from tests.faults.acts.vaults import files, hold, needed, opened, tidy
from tests.faults.harness import Ended
from tests.vault.content import finish, keep, numbered

from muniment.vault.collect import collect

STAGES = ("one file system",)
LARGEST = 90_000

STAYS, GOES, COMES = numbered(1, 2), numbered(3, 4), numbered(1, 5)
DAY = timedelta(hours=25)


def prepare(place: Path) -> None:
    """One is kept; a pack that nobody needs has been dead for a day; an upload was left, another one
    is under way by the clock of a day later."""
    with opened(place) as vault:
        (place / "from" / "stays").write_text(keep(vault, STAYS).snapshot.id)
        vault.delete(keep(vault, GOES).snapshot.id)
        vault.put(vault.reserve().upload_id, numbered(6, 7).extents)
        collect(vault)
    with opened(place, ahead=DAY, seed=2) as vault:
        upload = vault.reserve(COMES.ids)
        vault.put(upload.upload_id, [one for one in COMES.extents if one.id in upload.missing])
        (place / "from" / "upload").write_text(upload.upload_id)


def run(place: Path, acknowledge: Callable[[str], None]) -> None:
    """Open and collect."""
    with opened(place, ahead=DAY, seed=3) as vault:
        acknowledge(str(collect(vault).packs))


def check(place: Path, ended: Ended | None) -> None:
    """What is kept is whole; and the upload could be finished."""
    always = {(place / "from" / "stays").read_text(): STAYS}
    came = place / "from" / "came"
    if came.exists():
        always[came.read_text()] = COMES
    assert hold(place, always, {}, None) == set(always)
    if ended is not None and ended.said:
        assert ended.said == ("1",)
    if ended is None:
        assert came.exists() and files(place) == needed(place)
        assert len(needed(place)) == 2 + 4


def recover(place: Path) -> None:
    """The upload goes on as if nothing had happened; garbage is collected on the days after."""
    with opened(place, ahead=DAY, seed=4) as vault:
        came = finish(vault, (place / "from" / "upload").read_text(), COMES).snapshot.id
        (place / "from" / "came").write_text(came)
    tidy(place)
