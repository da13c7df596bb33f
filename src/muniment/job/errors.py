"""Room `job`: its errors."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.errors import Blocked, Conflict, NotFound, NotVerified, Unreachable, UsageError
from muniment.job.finding import Finding
from muniment.message import say


class RegistryRefused(Blocked):
    """A registry breaks its schema or its rules; `findings` holds all of them, first one named."""

    code = "REGISTRY_REFUSED"
    what = "The registry is refused at {path}: wanted {wanted}, found {found}."
    guidance = "Nothing was changed. Correct that field; the record is closed and takes no field of its own."

    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, findings: Sequence[Finding], *, where: str = "") -> RegistryRefused:
        """The error for one or more findings."""
        first = findings[0]
        why = say("{count} fields are refused in all", count=len(findings)) if len(findings) > 1 else None
        error = cls(
            where=where,
            why=why,
            path=first.path,
            rule=first.rule.value,
            wanted=first.wanted,
            found=first.found,
            all=[f"{finding.path}: {finding.rule.value}" for finding in findings],
        )
        error.findings = tuple(findings)
        return error


class ImportRefused(Blocked):
    """A YAML file holds what JSON can not."""

    code = "JOB_IMPORT_REFUSED"
    what = "The file can not come in as a registry: {finding}."
    guidance = "Write it as plain block YAML: JSON's types, no anchors, no aliases, no tags, each key once."


class BadJobId(UsageError):
    """A job id that can not name a folder."""

    code = "BAD_JOB_ID"
    what = "The name {job} can not be a job id."
    guidance = "Use 1 to 64 letters, digits, dots, dashes and underscores, and begin with a letter or digit."


class JobNotFound(NotFound):
    """No job of that id."""

    code = "JOB_NOT_FOUND"
    what = "There is no job {job}."
    guidance = "`muniment job list` shows the jobs there are."


class JobExists(Conflict):
    """The id is taken."""

    code = "JOB_EXISTS"
    retryable = False
    what = "There is a job {job} already."
    guidance = "Choose another id, or go on with that job."


class PhaseRefused(Blocked):
    """The job does not stand where this can be done."""

    code = "JOB_PHASE"
    what = "A job in {phase} ({status}) can not go to {target}."
    guidance = "`muniment job show {job}` says where it stands and what comes next."


class JobEnded(Blocked):
    """The job has failed, was cancelled or is complete."""

    code = "JOB_ENDED"
    what = "The job has ended ({status}) and does not change any more."
    guidance = "Begin another job with `muniment job init`."


class Frozen(Blocked):
    """A field that no longer changes."""

    code = "JOB_FROZEN"
    what = "The field {path} does not change any more once a job is submitted."
    guidance = "Begin another job for another plan."


class NotConfirmed(Blocked):
    """Nobody has confirmed exactly this plan."""

    code = "JOB_NOT_CONFIRMED"
    what = "No confirmation of exactly this plan ({digest}) was found."
    guidance = "Show it to the person; they confirm it with `muniment job confirm {job}`."


class WitnessTooWeak(Blocked):
    """The confirmation was passed on and that is not enough for this act."""

    code = "JOB_WITNESS_TOO_WEAK"
    what = "The plan was confirmed, but only as passed on by an agent ({witness})."
    guidance = (
        "The person confirms it at a terminal with `muniment job confirm {job}`, "
        "or allows it for good with the setting confirm.relayed."
    )


class UnboundPort(Blocked):
    """A required port got nothing."""

    code = "JOB_UNBOUND_PORT"
    what = "The required port {port} of {task} has nothing bound to it."
    guidance = "Name a file for it with --bind {port}=PATH and plan again."


class BadBinding(Blocked):
    """A declared binding can not be used."""

    code = "JOB_BAD_BINDING"
    what = "The binding of {port} can not be used."
    guidance = "Correct it and plan again; nothing was planned."


class FlowRefused(Blocked):
    """The workflow can not be run by this engine."""

    code = "JOB_FLOW_REFUSED"
    what = "The workflow {flow} can not be planned."
    guidance = "Mend the workflow or choose another; nothing was planned."


class ForeignWrite(Conflict):
    """Somebody else wrote the registry."""

    code = "FOREIGN_WRITE"
    retryable = False
    what = "The registry is neither what the journal says it was nor what it was to become."
    guidance = (
        "Somebody else wrote it. Look at it with `muniment job verify {job}`; "
        "`muniment job adopt {job} --reason TEXT` takes it as it is."
    )


class NothingToAdopt(Blocked):
    """The registry is the one the journal knows."""

    code = "JOB_NOTHING_TO_ADOPT"
    what = "The registry is the one that the journal knows; there is nothing to adopt."
    guidance = "Go on with the job."


class NoReason(UsageError):
    """An adoption without a reason."""

    code = "JOB_NO_REASON"
    what = "Adopting a registry needs a reason."
    guidance = "Say with --reason who wrote it and why it is right."


class JournalDamaged(NotVerified):
    """The job's journal does not verify."""

    code = "JOB_JOURNAL_DAMAGED"
    what = "The journal of job {job} does not verify."
    guidance = "Look at journal.jsonl in the job's folder; nothing was changed."


class SubmissionUnknown(Conflict):
    """A submission was begun, and the engine can not be asked what became of it."""

    code = "JOB_SUBMISSION_UNKNOWN"
    retryable = False
    what = (
        "A submission named {name} was begun and its answer was never read; this engine can not look it up."
    )
    guidance = (
        "Look at the engine itself. If it is there: `muniment job submit {job} --found ID`; "
        "if it is not: `muniment job submit {job} --absent`."
    )


class SubmissionOpen(Conflict):
    """A submission was announced and its answer is not known yet."""

    code = "JOB_SUBMISSION_OPEN"
    what = "A submission was begun, and what became of it is not known yet."
    guidance = "Run `muniment job submit {job}` again: it looks the job up and submits nothing twice."


class PlanDrifted(Blocked):
    """What a confirmed plan names is no longer what it was."""

    code = "JOB_PLAN_DRIFTED"
    what = "What lies at {path} is not what it was when the plan was made."
    guidance = "Take the plan back with `muniment job revise {job}`, plan again and have that confirmed."


class BadTool(UsageError):
    """A tool that is not named by an exact version."""

    code = "JOB_BAD_TOOL"
    what = "The text {tool} does not name one tool."
    guidance = "Write NAME:VERSION with a whole version from 1 up, without leading zeros."


class BadSummary(UsageError):
    """A tool's summary that can not be read."""

    code = "JOB_BAD_SUMMARY"
    what = "The summary of the tool can not be read."
    guidance = "Give a JSON file that holds one object."


class EngineUnknown(UsageError):
    """No engine of that name."""

    code = "JOB_ENGINE_UNKNOWN"
    what = "There is no engine {engine}."
    guidance = "Choose one of {engines}."


class EngineMissing(Blocked):
    """The engine's program or library is not installed."""

    code = "JOB_ENGINE_MISSING"
    what = "The engine {engine} needs {needs}, which is not here."
    guidance = "To install it: {install}. Then run this again."


class EngineUnreachable(Unreachable):
    """The engine did not answer."""

    code = "JOB_ENGINE_UNREACHABLE"
    what = "The engine {engine} could not be reached."
    guidance = "Check that it runs; then run the same command again: nothing is submitted twice."


class EngineRefused(Blocked):
    """The engine answered no."""

    code = "JOB_ENGINE_REFUSED"
    what = "The engine {engine} refused this."
    guidance = "Nothing was submitted. Its answer is named above; mend that and run it again."


class EngineAnswer(NotVerified):
    """The engine's answer is not what its interface promises."""

    code = "JOB_ENGINE_ANSWER"
    what = "The answer of the engine {engine} can not be understood."
    guidance = "Nothing is believed of it. Check the engine's version."


class StillRunning(Blocked):
    """The engine has not finished."""

    code = "JOB_STILL_RUNNING"
    retryable = True
    what = "The job still runs ({state})."
    guidance = "Ask again with `muniment job poll {job}`."


class OutputUnsafe(NotVerified):
    """An output leads out of the job, or is no file."""

    code = "JOB_OUTPUT_UNSAFE"
    what = "The output {path} is not taken."
    guidance = "Outputs are ordinary files inside the engine's output folder; links out of it are refused."


class OutputsChanged(NotVerified):
    """Outputs are no longer what was recorded."""

    code = "JOB_OUTPUTS_CHANGED"
    what = "Of {checked} recorded files {wrong} are missing or changed."
    guidance = "Do not rely on them; the record says what they were."


class NotEnded(Blocked):
    """The job has not ended, so nobody can say yet what it is."""

    code = "JOB_NOT_ENDED"
    what = "The job has not ended ({phase}, {status}); nothing of it is exported."
    guidance = "Bring it to its end first; `muniment job show {job}` says what comes next."


class NoToolRun(Blocked):
    """A task of TES is a run of a container, and there was none."""

    code = "JOB_NO_TOOL_RUN"
    what = "No run of a tool is on record for job {job}."
    guidance = "Export it as ro-crate or slsa; these also tell of a workflow alone."


class JobExportExists(Conflict):
    """Something stands where the export would go."""

    code = "JOB_EXPORT_EXISTS"
    retryable = False
    what = "Something stands at {path} already."
    guidance = "Name another place with --output; nothing is overwritten."


class ExportLibraryMissing(Blocked):
    """The public library that reads an export back is not installed."""

    code = "JOB_EXPORT_LIBRARY"
    what = "An export as {format} is read back by {needs}, which is not here."
    guidance = "To install it: {install}. Then run this again."


class ExportNotReadBack(NotVerified):
    """What was written is not what the record says; it was taken away again."""

    code = "JOB_EXPORT_NOT_READ_BACK"
    what = "The export is not what the record says, at {place}: wanted {wanted}, found {found}."
    guidance = "Nothing was left behind. `muniment job verify {job}` reads the job itself again."


class NoExport(UsageError):
    """The thing to verify is none that Muniment exports."""

    code = "JOB_NO_EXPORT"
    what = "What lies at {path} is no export of a job."
    guidance = "Name the folder of a crate, a TES task, or a statement that `muniment job export` wrote."


class RecordNotHere(NotFound):
    """The record that a document was made from is not on this machine."""

    code = "JOB_RECORD_NOT_HERE"
    what = "The record of job {job}, from which this was made, is not here."
    guidance = "Name a folder with its registry.yaml and journal.jsonl: --record FOLDER."


class BadKey(UsageError):
    """A key that can not be used for signing, or for checking a signature."""

    code = "JOB_BAD_KEY"
    what = "The key can not be used."
    guidance = "Give a PEM file without a password: the private key to sign, the public one to verify."
