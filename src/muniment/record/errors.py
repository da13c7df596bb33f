"""Errors of `record`."""

from __future__ import annotations

from muniment.errors import Blocked, Conflict, NotFound, NotVerified


class LedgerDamaged(NotVerified):
    """The ledger holds something that can not be as it was written."""

    code = "LEDGER_DAMAGED"
    what = "The ledger is damaged."
    guidance = (
        "Nothing in it is repaired in silence. Compare it with a copy or an export before you rely on it."
    )


class EventTooLarge(Blocked):
    """An event would not fit on a line of the ledger."""

    code = "EVENT_TOO_LARGE"
    what = "A record of {size} bytes is too large for the ledger; {limit} is the most."
    guidance = "Keep the details in a file and record its digest."


class NotInLedger(NotFound):
    """No event has this id, and nothing of this digest or path was ever recorded."""

    code = "NOT_IN_LEDGER"
    what = "The ledger knows nothing of this."
    guidance = "`muniment ledger tail` shows what it knows; give a full event id, digest or path."


class StateDamaged(NotVerified):
    """A file under `.muniment/` is not what Muniment writes there."""

    code = "STATE_DAMAGED"
    what = "A file of Muniment's own state can not be read."
    guidance = "Restore it from a backup, or move it away if its loss is bearable."


class Claimed(Conflict):
    """Another owner has said that it needs the path."""

    code = "CLAIMED"
    what = "The path is claimed by {owner}."
    guidance = "Wait until its owner is done, or end the claim there."


class NotConfirmed(Blocked):
    """Nobody confirmed exactly what is about to happen, or the confirmation was used already."""

    code = "NOT_CONFIRMED"
    what = "This needs a confirmation of exactly what was shown."
    guidance = "Look at what is shown and confirm it; a confirmation holds once and for that alone."
