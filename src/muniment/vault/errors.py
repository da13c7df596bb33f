"""Errors of `vault`."""

from __future__ import annotations

from muniment.errors import Blocked, Conflict, NotAuthorised, NotFound, NotVerified, Unreachable, UsageError


class UnknownSnapshot(NotFound):
    """No snapshot has this id."""

    code = "SNAPSHOT_UNKNOWN"
    what = "The vault has no such snapshot."
    guidance = "`muniment backup list` shows those that there are."


class UploadGone(NotFound):
    """The upload was never begun, has ended, or was idle for too long."""

    code = "UPLOAD_GONE"
    what = "The upload is not there any more."
    guidance = "Begin it again; what was handed in before is not sent twice while it is kept."


class QuotaExceeded(Conflict):
    """All slots are taken; nobody but the caller chooses what goes."""

    code = "QUOTA_EXCEEDED"
    retryable = False
    what = "No place is left; {limit} is the most that may be kept."
    guidance = "Delete one, or name the one that the new snapshot shall replace."


class SessionsExceeded(Conflict):
    """As many uploads are under way as may be at once."""

    code = "SESSIONS_EXCEEDED"
    what = "{limit} uploads are under way, which is the most."
    guidance = "Let one of them end, or give one up; one that nobody touches for an hour ends by itself."


class OffsetConflict(Conflict):
    """Bytes were sent for another offset than the one at which the upload stands."""

    code = "OFFSET_CONFLICT"
    what = "The upload stands at offset {offset}."
    guidance = "Go on from there."


class BadUpload(Blocked):
    """What was sent is not what was said of it."""

    code = "UPLOAD_REFUSED"
    what = "The upload was refused."
    guidance = "Nothing of this call was kept. Send it again as it was announced."


class SnapshotTooLarge(Blocked):
    """The snapshot is larger than the vault takes."""

    code = "SNAPSHOT_TOO_LARGE"
    what = "The snapshot has {size} bytes; the vault takes {limit} at most."
    guidance = "Leave something out by the rules file, or raise the vault's limit."


class BadLabel(Blocked):
    """The label is longer than labels may be, or holds control characters."""

    code = "LABEL_REFUSED"
    what = "The label can not be used."
    guidance = "Give one of at most {limit} printable characters."


class BadDescription(Blocked):
    """What was said of the snapshot is too long, or can not be written down."""

    code = "DESCRIPTION_REFUSED"
    what = "What was said of the snapshot can not be kept."
    guidance = "Nothing was kept. Say less, in plain JSON, and run it again."


class ExtentsMissing(Conflict):
    """An index names extents that the vault does not have."""

    code = "EXTENTS_MISSING"
    what = "{count} of the pieces that the snapshot names are not in the vault."
    guidance = "Run the backup again: it asks what is missing and sends it."


class SnapshotDamaged(NotVerified):
    """Pieces of the snapshot are lost or damaged in the vault."""

    code = "SNAPSHOT_DAMAGED"
    what = "The snapshot is damaged in the vault."
    guidance = (
        "Run `muniment vault fsck --repair`. A new backup of the same files heals what they still hold."
    )


class BadPack(NotVerified):
    """A file of the vault is not a pack, or not the one that its name says."""

    code = "PACK_REFUSED"
    what = "A file of the vault was refused."
    guidance = "Run `muniment vault fsck`; with --repair its sound pieces are kept."


class CatalogueLost(NotVerified):
    """The catalogue is missing or can not be read, though there are packs."""

    code = "CATALOGUE_LOST"
    what = "The vault's catalogue can not be used."
    guidance = "Run `muniment vault rebuild`: it makes the catalogue again from what is stored."


class CatalogueBusy(Conflict):
    """Another process held the catalogue for longer than anyone should."""

    code = "CATALOGUE_BUSY"
    what = "Another process holds the vault's catalogue."
    guidance = "Wait until it has ended, then try again."


class NotAVault(Blocked):
    """The folder holds something else, or a vault of a version that is not known here."""

    code = "NOT_A_VAULT"
    what = "The folder is no vault that can be used here."
    guidance = "Nothing was changed. Name an empty folder, a new one, or one that is a vault."


class VaultInside(Blocked):
    """The vault and what should be saved lie in one another."""

    code = "VAULT_INSIDE"
    what = "The vault and what should be saved lie one inside the other."
    guidance = "Set `vault.url` to a folder elsewhere, best on another device."


class TokenRefused(NotAuthorised):
    """A bearer token is missing or does not hold."""

    code = "TOKEN_REFUSED"
    what = "The token was refused."
    guidance = "Ask whoever keeps the vault for a new one; `muniment vault token` makes it."


class PeerRefused(NotAuthorised):
    """The caller's address is not among those that may call."""

    code = "PEER_REFUSED"
    what = "Calls from this address are refused."
    guidance = "Call from an address that `serve.peers` allows."


class NoKeys(NotAuthorised):
    """There is no key with which a token could be checked."""

    code = "NO_KEYS"
    what = "There is no key to check tokens with."
    guidance = "Run `muniment vault token --user NAME`: it makes the first key."


class BadKeys(NotAuthorised):
    """The file of keys can not be used."""

    code = "KEYS_REFUSED"
    what = "The file of keys can not be used."
    guidance = "Mend the file; only its owner may read and write it."


class BadCall(UsageError):
    """A call over HTTP is not one that the vault knows."""

    code = "CALL_REFUSED"
    what = "The call was not understood."
    guidance = "`/openapi.json` lists the calls and what they take."


class NoSuchFile(NotFound):
    """A snapshot holds no file of that path."""

    code = "FILE_UNKNOWN"
    what = "The snapshot holds no such file."
    guidance = "Its manifest lists the files that it holds."


class VaultUnreachable(Unreachable):
    """The vault did not answer, or its answer was cut short."""

    code = "VAULT_UNREACHABLE"
    what = "The vault could not be reached."
    guidance = "Check its address and that it runs; then run it again."


class VaultAnswer(NotVerified):
    """The vault answered something that no vault says."""

    code = "VAULT_ANSWER"
    what = "The answer of the vault can not be used."
    guidance = "Check that the address is that of a vault; nothing of the answer was believed."


class KeptElsewhere(Blocked):
    """The vault is kept by a server, and only there it can be looked after."""

    code = "KEPT_ELSEWHERE"
    what = "The vault is kept by a server."
    guidance = "Run this where the server keeps it, with its folder as `vault.url`."
