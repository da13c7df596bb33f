"""Faces, scripts: errors that only the original scripts have."""

from __future__ import annotations

from muniment.errors import Blocked


class ApiDirMissing(Blocked):
    """The folder that `--api-dir` names is not there, often for a variable that was never set."""

    code = "API_DIR_MISSING"
    what = "{option} does not exist: {folder}"
    guidance = "Name the folder by its literal path: shell variables do not outlive a call."
