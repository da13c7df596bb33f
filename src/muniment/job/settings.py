"""Room `job`: its settings."""

from __future__ import annotations

from muniment.settings import Setting, choice, text, words

ROOT: Setting[str] = Setting(
    "job.root", "/data/output", text, "The folder that holds a folder for each job.", ("OPENCLAW_JOBS_ROOT",)
)
ENGINE: Setting[str] = Setting(
    "job.engine", "cwl", choice("cwl", "wes", "fkit"), "The engine of a job that names none."
)
WES_URL: Setting[str] = Setting(
    "job.wes_url",
    "",
    text,
    "Where the WES server is, up to and without /runs.",
    personal=True,
)
WES_TOKEN: Setting[str] = Setting(
    "job.wes_token", "", text, "The bearer token for the WES server.", personal=True
)
WES_SHARED: Setting[str] = Setting(
    "job.wes_shared", "", text, "The folder through which this machine sees the files of the WES server."
)
FKIT: Setting[tuple[str, ...]] = Setting(
    "job.fkit",
    ("fkit",),
    words,
    "The program of BioLine's command line.",
    personal=True,
)

SETTINGS = (ROOT, ENGINE, WES_URL, WES_TOKEN, WES_SHARED, FKIT)
"""All settings of this room."""
