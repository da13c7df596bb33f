"""Errors of `backup`."""

from __future__ import annotations

from muniment.errors import Blocked, Conflict, NotVerified


class RulesMissing(Blocked):
    """There is no rules file, and none is ever written unasked."""

    code = "RULES_MISSING"
    what = "There are no backup rules yet."
    guidance = (
        "`muniment backup rules propose` looks at what there is; `rules write` keeps your choice, "
        "`rules default` writes the stock file."
    )


class RulesBroken(Blocked):
    """The rules file can not be understood; nothing goes on by guessing."""

    code = "RULES_BROKEN"
    what = "The backup rules can not be read."
    guidance = (
        "Correct the line named, or delete the file: it will be rebuilt by `muniment backup rules propose`."
    )


class PlanMissing(Blocked):
    """No plan of this id was made here."""

    code = "PLAN_MISSING"
    what = "There is no such plan."
    guidance = "Make one with `muniment backup plan`, look at it, and confirm it."


class PlanStale(Conflict):
    """What would be saved is no longer what the plan showed."""

    code = "PLAN_STALE"
    what = "The plan is stale."
    guidance = "Make a new one with `muniment backup plan` and confirm that."


class ApiMissing(Blocked):
    """The host's settings were not handed over, and this layout needs them."""

    code = "API_MISSING"
    what = "The folder with the host's settings is missing."
    guidance = (
        "Export profile.json, settings.json and scheduled_tasks.json into a folder and name it by --api-dir."
    )


class ApiRefused(Blocked):
    """A file of the host's settings is not what it should be."""

    code = "API_REFUSED"
    what = "A file of the host's settings can not be used."
    guidance = "Export it again from the host."


class RestoreLogDoubled(Conflict):
    """Two restore logs exist; which restore is half done can not be told."""

    code = "RESTORE_LOG_DOUBLED"
    retryable = False
    what = "Two restore logs stand side by side."
    guidance = "Look at both, keep the one that tells the truth, and move the other away."


class RestoreLogBroken(NotVerified):
    """The restore log can not be read, so nobody knows how far a restore came."""

    code = "RESTORE_LOG_BROKEN"
    what = "The restore log can not be read."
    guidance = "Start the restore over with `muniment backup restore ID --start-over`, or cancel it."


class Partial(NotVerified):
    """The snapshot was stored, but some files could not be read."""

    code = "SNAPSHOT_PARTIAL"
    what = "The snapshot {id} is partial: {count} files could not be read."
    guidance = "Mend what is named and run it again, or accept it with --allow-partial."


class DeleteNotConfirmed(Blocked):
    """The id typed is not the id of the snapshot that was picked."""

    code = "DELETE_NOT_CONFIRMED"
    what = "Nothing was deleted: the id typed is another one."
    guidance = "Type the whole id of the snapshot that shall go."
