"""Errors of `backup`."""

from __future__ import annotations

from muniment.errors import Blocked, Conflict, NotFound, NotVerified, Unreachable, UsageError


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
    what = "The snapshot {id} is stored, but partial: {count} of its files are not in it as they are."
    guidance = "Mend what is named and run it again, or accept it with --allow-partial."


class PartialReplacesNothing(NotVerified):
    """A snapshot that lacks files must not take the place of one that may have them."""

    code = "PARTIAL_REPLACES_NOTHING"
    what = "Nothing was stored or replaced: {count} of its files would not be in the snapshot as they are."
    guidance = "Mend what is named and plan again, or replace all the same with --allow-partial."


class DeleteNotConfirmed(Blocked):
    """The id typed is not the id of the snapshot that was picked."""

    code = "DELETE_NOT_CONFIRMED"
    what = "Nothing was deleted: the id typed is another one."
    guidance = "Type the whole id of the snapshot that shall go."


class NotGone(NotVerified):
    """The vault still lists what it said it had deleted."""

    code = "SNAPSHOT_NOT_GONE"
    what = "The snapshot was deleted, and the vault still lists it."
    guidance = "Look at `muniment backup list` again; run `muniment vault fsck` if it stays."


class LabelRefused(UsageError):
    """A label that no vault takes."""

    code = "PLAN_LABEL"
    what = "The label can not be used."
    guidance = "Give one of at most 64 printable characters."


class NoSuchEntry(NotFound):
    """The snapshot holds nothing at this path."""

    code = "NOT_IN_SNAPSHOT"
    what = "The snapshot holds nothing of this name."
    guidance = "`muniment backup ls ID` shows what it holds."


class RootDiffers(NotVerified):
    """The vault gives another snapshot under this id than the one that the ledger saw stored."""

    code = "SNAPSHOT_ALTERED"
    what = "The snapshot is not the one that was stored here: its root differs from the ledger's."
    guidance = "Do not restore it. Look at the vault, and at who may write to it."


class FetchedDiffers(NotVerified):
    """What lies in the extraction folder is not what the snapshot holds."""

    code = "FETCHED_DIFFERS"
    what = "What was fetched is not the snapshot any more."
    guidance = "Nothing was restored. Remove that folder and run the restore again: it fetches anew."


class RestoreStale(Conflict):
    """What a restore would do is no longer what was shown."""

    code = "RESTORE_PLAN_STALE"
    retryable = False
    what = "The restore plan is stale: what stands in the workspace has changed since it was shown."
    guidance = "Run `muniment backup restore ID` again, look at what it shows, and confirm that."


class NamesCollide(Blocked):
    """Names of the snapshot that the file system here can not tell apart."""

    code = "NAMES_COLLIDE"
    what = "The snapshot has names that are one name on the file system here."
    guidance = "Nothing was restored. Restore into a file system that tells them apart, by --target."


class DatabaseInUse(Conflict):
    """A process holds the database that would be replaced."""

    code = "DB_IN_USE"
    what = "The database is in use."
    guidance = "Stop the program that has it open, then continue the restore."


class DatabaseDiffers(NotVerified):
    """A restored database does not open, or is not the one of the snapshot."""

    code = "DB_NOT_AS_KEPT"
    what = "The restored database is not the one of the snapshot."
    guidance = "The one before is kept: `muniment backup undo` puts it back. Run `muniment backup verify ID`."


class ExactOfPartial(Blocked):
    """Files that a part of a snapshot lacks would be taken for files that were not there."""

    code = "EXACT_OF_PARTIAL"
    what = "Not all of the snapshot is there, so what it lacks says nothing."
    guidance = "Leave --exact out, or use all of a snapshot that is whole."


class OtherRestore(Conflict):
    """The restore that is half done is of another snapshot."""

    code = "OTHER_RESTORE"
    retryable = False
    what = "The restore that is half done is of another snapshot."
    guidance = "Continue that one, or leave it with --cancel; then restore this one."


class NoRestore(NotFound):
    """No restore is half done, or nothing of this name is left to do in it."""

    code = "NO_RESTORE"
    what = "There is no such restore going on."
    guidance = "`muniment status` shows whether a restore is half done."


class NoUndo(NotFound):
    """There is nothing that could be undone under this id."""

    code = "NO_UNDO"
    what = "There is no such restore that could be undone."
    guidance = "`muniment backup undo --list` shows which there are."


class UndoBroken(NotVerified):
    """The journal of a restore can not be read; what it says can not be relied upon."""

    code = "UNDO_BROKEN"
    what = "The journal of the restore can not be read."
    guidance = "Nothing was touched. The files that were replaced lie beside it, by number."


class RestoreFailed(NotVerified):
    """A restore ended with steps that could not be done."""

    code = "RESTORE_INCOMPLETE"
    what = "The restore is not complete: {count} of its steps could not be done."
    guidance = "Mend what is named, then run it again with --continue; or leave it with --cancel."


class UndoIncomplete(NotVerified):
    """Something changed since the restore, and was kept."""

    code = "UNDO_INCOMPLETE"
    what = "{count} of the restored files changed since, and were kept as they are."
    guidance = "Look at each one named. What was there before lies in the undo set."


class TargetNotEmpty(Blocked):
    """The folder to restore into has something in it."""

    code = "TARGET_NOT_EMPTY"
    what = "The folder to restore into is not empty."
    guidance = "Name one that does not exist yet, or an empty one."


class BundleAmongSaved(Blocked):
    """A bundle file that would be saved in itself."""

    code = "BUNDLE_AMONG_SAVED"
    what = "The bundle file would lie in what is saved."
    guidance = "Name a place elsewhere, or one in `.backup`, which is never saved."


class BundlePartial(NotVerified):
    """A bundle was written, but some files could not be read."""

    code = "BUNDLE_PARTIAL"
    what = "The bundle is written, but partial: {count} of its files are not in it as they are."
    guidance = "Mend what is named and pack again; or keep the bundle as it is, if the person says so."


class BundleChanged(NotVerified):
    """The vault kept other bytes than the bundle had when it was verified."""

    code = "BUNDLE_CHANGED"
    what = "What the vault was sent is not the bundle that was verified."
    guidance = "Do not rely on that snapshot. Look who writes to the bundle file, then send it again."


class UploadStuck(Unreachable):
    """The vault takes bytes, and the upload does not go on."""

    code = "UPLOAD_STUCK"
    what = "The upload does not go on: it stands at {offset} of {total} bytes."
    guidance = "Nothing is lost. Run it again later; it goes on from there."


class ScheduleMissing(Blocked):
    """Nobody has consented to runs without being asked."""

    code = "SCHEDULE_MISSING"
    what = "There is no schedule: nobody has consented to snapshots without being asked."
    guidance = "A person sets one up with `muniment backup schedule --daily HH:MM`."


class ScheduleStopped(Blocked):
    """The standing consent does not cover what there is now."""

    code = "SCHEDULE_STOPPED"
    what = "The scheduled run stopped: the standing consent does not cover what there is now."
    guidance = (
        "Look at `muniment backup plan`; a person consents to it as it is now with "
        "`muniment backup schedule --daily HH:MM`."
    )


class ScheduleRunning(Conflict):
    """Two scheduled runs at once."""

    code = "SCHEDULE_RUNNING"
    what = "Another scheduled run is going on."
    guidance = "Nothing has to be done: the other one takes the snapshot."


class TimerNotSet(Unreachable):
    """The program that keeps timers is not there, or did not do it."""

    code = "TIMER_NOT_SET"
    what = "The timer could not be set."
    guidance = "Enter by hand what `muniment backup schedule` prints, or name another --timer."


class TimerForeign(Blocked):
    """Where the timer would be written stands something that Muniment did not write."""

    code = "TIMER_FOREIGN"
    what = "Nothing was changed: something else stands where the timer would be."
    guidance = "Look at it; move it away or mend the marked lines, then run it again."
