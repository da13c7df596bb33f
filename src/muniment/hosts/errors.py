"""Errors of `hosts`: the workspace or the session is not what the host says."""

from __future__ import annotations

from muniment.errors import Blocked, Conflict


class WorkspaceMissing(Blocked):
    """The workspace named does not exist or is no folder."""

    code = "WORKSPACE_MISSING"
    what = "The workspace does not exist or is no folder."
    guidance = "Name an existing folder with --workspace, or make it first."


class InvalidWorkspace(Blocked):
    """A folder that can not be a workspace, because archives would nest."""

    code = "INVALID_WORKSPACE"
    what = "A folder of this name can not be a workspace."
    guidance = "Use the folder above it: the archive is made below the workspace."


class InvalidFlag(Blocked):
    """A flag says something that only the host may say."""

    code = "INVALID_FLAG"
    what = "The flag {flag} can not be used like this."
    guidance = "Leave it out; the host decides this."


class InvalidSession(Blocked):
    """No session identity can be told, or two sources tell different ones."""

    code = "INVALID_SESSION"
    what = "invalid Session"
    guidance = "Ask the host for the session again and hand its answer on as it is; do not make one up."


class ConfigurationBroken(Blocked):
    """A host's configuration can not be read as what it has to be."""

    code = "CONFIGURATION_BROKEN"
    what = "A configuration file of the host can not be read."
    guidance = "Nothing in it was touched. Mend the place named (line:column), then run it again."


class ConfigurationShape(Blocked):
    """A host's configuration can be read, but has something else where an entry belongs."""

    code = "CONFIGURATION_SHAPE"
    what = "A configuration file of the host has something else where the entry belongs."
    guidance = (
        "Nothing in it was touched. Look at the place named (line:column) and make it what the host expects."
    )


class ConfigurationChanging(Conflict):
    """Somebody else keeps writing the file."""

    code = "CONFIGURATION_CHANGING"
    what = (
        "A configuration file of the host was written by somebody else at the same moment, again and again."
    )
    guidance = "Nothing of theirs was lost. End the host's program, then run it again."


class ConfigurationLink(Blocked):
    """A configuration file is a link that leads nowhere, or to something that is no file."""

    code = "CONFIGURATION_LINK"
    what = "A configuration file of the host is a link that leads to no file."
    guidance = "Mend or remove the link, then run it again."
