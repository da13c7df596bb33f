"""Errors of `hosts`: the workspace or the session is not what the host says."""

from __future__ import annotations

from muniment.errors import Blocked


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
