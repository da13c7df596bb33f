"""Handoff room: its errors.  What the gate finds are findings (`codes`), not errors."""

from __future__ import annotations

from muniment.errors import Blocked, Conflict, NotFound, NotVerified, Unreachable, UsageError


class HandoffShape(Blocked):
    """A document does not have its closed shape."""

    code = "HANDOFF_SHAPE"
    what = "The {kind} does not have the shape it must have."
    guidance = "Correct the field that is named; docs/schemas/handoff holds the shape."


class UndeliveredClaims(Blocked):
    """An undelivered record carries what only a delivery can have."""

    code = "UNDELIVERED_CLAIMS"
    what = "A record of something undelivered carries {field}, which only a delivery can give."
    guidance = "Take the field away, or record the delivery with the receipt the provider gave."


class PacketRefused(Blocked):
    """The packet breaks a rule of handoffs."""

    code = "PACKET_REFUSED"
    what = "The packet was refused."
    guidance = "Mend what is named and issue it again; `muniment handoff lint` checks without issuing."


class SecretValue(PacketRefused):
    """A field holds what looks like a key."""

    code = "SECRET_VALUE"
    what = "A field holds what looks like a secret."
    guidance = "Name the secret as a reference, such as secret://deploy/token, and let the worker fetch it."


class InvalidTarget(PacketRefused):
    """A target's path can not be one."""

    code = "INVALID_TARGET"
    what = "The target {target} names a path that can not be a target."
    guidance = "Choose a file of the workspace that no record of Muniment uses."


class WriterRefused(PacketRefused):
    """A target names a writer that may not write it."""

    code = "WRITER_REFUSED"
    what = "The target {target} names a writer that may not write it."
    guidance = "Memory and worklog are the recipient's, in its own area; the board is the parent's."


class ContractRequired(PacketRefused):
    """An independent task without a contract."""

    code = "CONTRACT_REQUIRED"
    what = "An independent task carries no contract."
    guidance = "Say for each of the four targets what must be durable, or why it does not apply."


class NonceReused(PacketRefused):
    """A nonce that some contract has used before."""

    code = "NONCE_REUSED"
    what = "A nonce of this contract was issued before."
    guidance = "Leave the nonces out; Muniment draws fresh ones."


class NonceMissing(NotVerified):
    """The nonces of a contract are not where they are kept."""

    code = "NONCE_MISSING"
    what = "The nonces of {handoff} are not where they are kept."
    guidance = "Without them no anchor can be checked; dispatch the work anew under a new contract."


class DepthExceeded(Blocked):
    """A third edge of delegation."""

    code = "DEPTH_EXCEEDED"
    what = "This would be edge {depth} of a delegation; two are the most."
    guidance = "Return to the parent and let it dispatch the work."


class ParentDiffers(Blocked):
    """The parent named is not the one of the running context."""

    code = "PARENT_DIFFERS"
    what = "The parent named is not the one this process runs under."
    guidance = "Leave the parent out; it is taken from MUNIMENT_CONTEXT."


class DispatchRefused(Blocked):
    """A dispatch that no rule allows."""

    code = "DISPATCH_REFUSED"
    what = "This dispatch was refused."
    guidance = "Nothing was recorded as delivered. Mend what is named and dispatch again."


class HostAnswer(Blocked):
    """The host's answer proves no delivery."""

    code = "HOST_ANSWER"
    what = "The answer of {host} proves no delivery."
    guidance = "Record it as undelivered; without the host's own ids there is no receipt."


class AlreadyDispatched(Conflict):
    """A dispatch of this handoff stands, or its fate is unknown."""

    code = "ALREADY_DISPATCHED"
    retryable = False
    what = "{handoff} is dispatched already, or nobody knows yet whether it was."
    guidance = "Look at the recipient first; then say with --looked-up that nothing runs."


class NotDispatched(Blocked):
    """There is no receipt, so there are no anchors and no return."""

    code = "NOT_DISPATCHED"
    what = "{handoff} has no dispatch receipt."
    guidance = "Dispatch it first; without a receipt there is no dispatch."


class NothingToRecord(Blocked):
    """The worker's own content is empty."""

    code = "NOTHING_TO_RECORD"
    what = "There is nothing to record for {target}."
    guidance = "Give the work itself with --text or --file; an anchor alone proves nothing."


class TargetRefused(Blocked):
    """This target takes no such record."""

    code = "TARGET_REFUSED"
    what = "The target {target} can not be recorded in this way."
    guidance = "`muniment handoff take` shows which targets are the worker's own."


class ReturnRefused(Blocked):
    """A return that belongs to no dispatch that stands."""

    code = "RETURN_REFUSED"
    what = "The return was refused."
    guidance = "Correct what is named and return again; nothing was stored."


class HandoffIncomplete(NotVerified):
    """The gate did not find everything that was owed."""

    code = "HANDOFF_INCOMPLETE"
    what = "{handoff} is not complete."
    guidance = "Let the worker mend what is named and return again, or take the work back."


class HandoffUnknown(NotFound):
    """No handoff of this id."""

    code = "HANDOFF_UNKNOWN"
    what = "There is no handoff {handoff}."
    guidance = "`muniment handoff list` shows the handoffs of this workspace."


class ExportExists(Conflict):
    """The folder to export into exists."""

    code = "EXPORT_EXISTS"
    retryable = False
    what = "The folder to export into exists already."
    guidance = "Name a folder that does not exist; nothing is overwritten."


class NoncesInside(Blocked):
    """The folder of nonces lies inside the shared root."""

    code = "NONCES_INSIDE"
    what = "The nonces would lie inside the root that the workers share."
    guidance = "Set handoff.nonces to a folder outside of the workspace."


class ExportDamaged(NotVerified):
    """An exported folder does not prove what it says."""

    code = "EXPORT_DAMAGED"
    what = "The exported folder does not prove what it says."
    guidance = "Ask for a new export; compare its witness with the ledger it came from."


class RootNotGiven(Blocked):
    """A contract over a root that nobody named."""

    code = "ROOT_NOT_GIVEN"
    what = "A contract needs a root that was named or found, not just the current folder."
    guidance = "Name the workspace with --workspace, or run `muniment init` in it first."


class BoardConflict(Conflict):
    """The part of the board that a proposal touches is another one by now."""

    code = "BOARD_CONFLICT"
    retryable = False
    what = "The part of the board that the proposal touches has changed since."
    guidance = "Look at it with `muniment board show`, and propose anew on top of what stands there now."


class ProposalRefused(Blocked):
    """A proposal that can not be applied to this board."""

    code = "PROPOSAL_REFUSED"
    what = "The proposal can not be applied to this board."
    guidance = "Nothing was changed. Correct what is named and propose it again."


class NotTheWriter(Blocked):
    """Somebody other than the board's one writer wants to apply a proposal."""

    code = "NOT_THE_WRITER"
    what = "{writer} may not write this board."
    guidance = "Leave it to the writer that the contract names; everybody else proposes."


class NoProposal(NotFound):
    """A handoff without a proposal for the board."""

    code = "NO_PROPOSAL"
    what = "{handoff} proposes nothing for the board."
    guidance = "Its worker makes one with `muniment board propose`."


class MessageUnknown(NotFound):
    """No message of this id."""

    code = "MESSAGE_UNKNOWN"
    what = "There is no message {message} for {recipient}."
    guidance = "`muniment inbox read` shows what is there."


class NoCallRecord(Blocked):
    """The worker can not be said to have been asked again, because nothing shows it."""

    code = "NO_CALL_RECORD"
    what = "{handoff} can not be asked again in this way."
    guidance = "Say nothing of having asked again. Use the adapter's own channel, or leave word in the inbox."


class AgentSilent(Unreachable):
    """An agent elsewhere gave no answer that could be understood."""

    code = "AGENT_SILENT"
    what = "The agent at {agent} gave no answer that can be believed."
    guidance = "Whether it got the work is not known. `muniment handoff look` asks it before anything else."


class AgentRefused(Blocked):
    """An agent elsewhere said no, or something that it may not say."""

    code = "AGENT_REFUSED"
    what = "{agent} refused, or answered what can not stand."
    guidance = "Nothing of it was taken in. Look at the task on the agent's side."


class BadAddress(UsageError):
    """An agent's address that is none."""

    code = "BAD_ADDRESS"
    what = "This is no address of an agent."
    guidance = "An address begins with http:// or https:// and names a host."


class AgentUnknown(NotFound):
    """No agent of this name is set."""

    code = "AGENT_UNKNOWN"
    what = "No agent is set under the name {agent}."
    guidance = "The person names agents in the setting handoff.agents; a packet can not."
