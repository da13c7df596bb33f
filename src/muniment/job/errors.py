"""Room `job`: its errors."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.errors import (
    Blocked,
    Conflict,
    NotAuthorised,
    NotFound,
    NotVerified,
    Unreachable,
    UsageError,
)
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


class RuntimeMissing(Blocked):
    """The program that runs containers is not installed."""

    code = "JOB_RUNTIME_MISSING"
    what = "The container runtime {runtime} is not here."
    guidance = "Install it ({install}), or name another in your own settings: job.container_runtime."


class RuntimeFailed(Unreachable):
    """The program that runs containers did not do what it was asked."""

    code = "JOB_RUNTIME_FAILED"
    what = "The container runtime {runtime} did not do this: {step}."
    guidance = "Its own words are above. `muniment doctor` tells whether it works at all."


class RuntimeAnswer(NotVerified):
    """The answer of the container runtime is not what its interface promises."""

    code = "JOB_RUNTIME_ANSWER"
    what = "The answer of the container runtime {runtime} can not be understood."
    guidance = "Nothing is believed of it. Check the version of the runtime."


class NoTool(Blocked):
    """No tool has been chosen."""

    code = "JOB_NO_TOOL"
    what = "The job {job} has no tool that could be run."
    guidance = "Choose one by its exact version: muniment job finalize {job} --tool NAME:VERSION"


class ToolDone(Blocked):
    """The tool has run to its end, and the job is complete."""

    code = "JOB_TOOL_DONE"
    what = "The tool of job {job} has run to its end; its results are on record."
    guidance = "Begin another job for another run."


class ToolRunning(Conflict):
    """A run of the tool is going on."""

    code = "JOB_TOOL_RUNNING"
    what = "A run of the tool of job {job} is going on ({container})."
    guidance = "Wait for its end, or stop the process that began it; then run this again."


class ToolCollision(Blocked):
    """Two tools whose images would be one and the same."""

    code = "JOB_TOOL_COLLISION"
    what = "The tools {tool} and {other} would have one image, {image}."
    guidance = "Images have lower-case names. Use {other}, or have one of the two renamed."


class ImageWithoutRegistry(Blocked):
    """An image that does not say where it lies."""

    code = "JOB_IMAGE_WITHOUT_REGISTRY"
    what = "The image {image} does not say in which registry it lies."
    guidance = (
        "Name the registry in your own settings: job.image_registry; "
        "localhost stands for images made on this machine."
    )


class ImageUnknown(NotFound):
    """The registry does not have the image."""

    code = "JOB_IMAGE_UNKNOWN"
    what = "There is no image {image}."
    guidance = "Check the tool's name and version, and the setting job.image_registry. Nothing was run."


class RegistryUnreachable(Unreachable):
    """The registry did not answer."""

    code = "JOB_REGISTRY_UNREACHABLE"
    what = "The registry of the image {image} could not be reached."
    guidance = "Check the network and the registry; then pull again. Nothing was run."


class RegistryDenied(NotAuthorised):
    """The registry wants other credentials."""

    code = "JOB_REGISTRY_DENIED"
    what = "The registry of the image {image} refused the credentials, or wants some."
    guidance = "Write them into an auth file (podman login) and name it in your settings: job.auth_file."


class ImageCorrupt(NotVerified):
    """What the registry sent is not the image it had announced."""

    code = "JOB_IMAGE_CORRUPT"
    what = "What the registry sent is not the image {image} that it had announced."
    guidance = "Nothing of it was kept. Tell those who run the registry; then pull again."


class PullFailed(NotVerified):
    """The image could not be fetched."""

    code = "JOB_PULL_FAILED"
    what = "The image {image} could not be fetched."
    guidance = "The runtime's own words are above; mend that and pull again. Nothing was run."


class BadAuthFile(UsageError):
    """The file of credentials can not be used."""

    code = "JOB_BAD_AUTH_FILE"
    what = "The file of credentials {path} can not be used."
    guidance = "`podman login --authfile FILE REGISTRY` writes one; name it in your settings: job.auth_file."


class NotPulled(Blocked):
    """The image of the tool has not been fetched."""

    code = "JOB_NOT_PULLED"
    what = "The image of the tool of job {job} was not pulled."
    guidance = "Fetch it first: muniment job pull {job}"


class BadCommand(UsageError):
    """A command that no container can be given."""

    code = "JOB_BAD_COMMAND"
    what = "The command for the container can not be used."
    guidance = "Write it after two dashes: muniment job run JOB -- PROGRAM ARGUMENT…"


class BadInput(UsageError):
    """A file that a container can not be given."""

    code = "JOB_BAD_INPUT"
    what = "The file {path} can not be given to the container."
    guidance = "Inputs and scripts are ordinary files, each with a name of its own; no links, no folders."


class InputsChanged(NotVerified):
    """Results that are no longer what was recorded."""

    code = "JOB_INPUTS_CHANGED"
    what = "Of {checked} results that the tool would be given, {wrong} are missing or changed."
    guidance = "Nothing was run. `muniment job verify {job}` names every one."


class ContainerDiffers(NotVerified):
    """The container that was made is not the one that was ordered."""

    code = "JOB_CONTAINER_DIFFERS"
    what = "The container that {runtime} made is not the one that was ordered."
    guidance = "It was removed without being started. Look at the runtime's own configuration."


class NetworkFound(NotVerified):
    """The container has a network."""

    code = "JOB_NETWORK_FOUND"
    what = "The container has network interfaces that it may not have: {interfaces}."
    guidance = "It was ended. Look at the runtime's own configuration."


class ContainerStuck(Conflict):
    """A container that does not go away."""

    code = "JOB_CONTAINER_STUCK"
    what = "The container {container} could not be removed."
    guidance = "Remove it by hand, then run this again; nothing is started before it is gone."


class OutputTooLarge(NotVerified):
    """What a tool left is more than it may leave."""

    code = "JOB_OUTPUT_TOO_LARGE"
    what = "The tool left {found}; it may leave {most}."
    guidance = "Nothing of it was taken. It lies in the folder of the run; your settings hold the limits."
