"""Floor 3, `vault`: what can be set about a served vault; light, since every command reads settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from muniment.settings import Setting, Settings, integer, text, words

if TYPE_CHECKING:
    from muniment.bundle.vault import Limits

LOCAL_USER = "local"
"""The user that this machine's own clients are, where nobody set anything up."""


def _networks(value: object) -> tuple[str, ...]:
    from muniment.vault.access import networks

    found = words(value)
    networks(found)
    return found


FOLDER: Setting[str] = Setting(
    "serve.folder",
    "",
    text,
    "Where a served vault keeps everything; empty: in your own data folder.",
    personal=True,
)
KEYS: Setting[str] = Setting(
    "serve.keys",
    "",
    text,
    "The file of keys for tokens; empty: in your own configuration folder.",
    personal=True,
)
CLAIM_NAME: Setting[str] = Setting(
    "serve.claim",
    "userInfoID",
    text,
    "The claim of a token that names its tenant; `sub` only where it is absent.",
    personal=True,
)
PEERS: Setting[tuple[str, ...]] = Setting(
    "serve.peers",
    (),
    _networks,
    "Networks that may call, such as fdaa::/16; empty: all.",
    personal=True,
)
PROXIES: Setting[tuple[str, ...]] = Setting(
    "serve.trusted_proxies",
    (),
    _networks,
    "Networks of proxies whose X-Forwarded-For counts.",
    personal=True,
)
SNAPSHOTS: Setting[int] = Setting(
    "serve.snapshots",
    5,
    integer(0, 1_000_000),
    "How many snapshots a tenant may keep; 0: no limit.",
    personal=True,
)
SNAPSHOT_BYTES: Setting[int] = Setting(
    "serve.snapshot_bytes",
    500 << 20,
    integer(0, 1 << 50),
    "How many bytes the tar.gz of one snapshot may have; 0: no limit.",
    personal=True,
)
LABEL: Setting[int] = Setting(
    "serve.label",
    64,
    integer(1, 1024),
    "How many characters a label may have.",
    personal=True,
)
SESSIONS: Setting[int] = Setting(
    "serve.sessions",
    2,
    integer(0, 1_000),
    "How many uploads a tenant may have under way at once; 0: no limit.",
    personal=True,
)

SETTINGS = (FOLDER, KEYS, CLAIM_NAME, PEERS, PROXIES, SNAPSHOTS, SNAPSHOT_BYTES, LABEL, SESSIONS)


def folder_in(settings: Settings) -> Path:
    """The folder that is served."""
    from platformdirs import user_data_dir

    found = settings.get(FOLDER)
    return Path(found).expanduser() if found else Path(user_data_dir("muniment"), "served")


def keys_in(settings: Settings) -> Path:
    """The file of keys."""
    from platformdirs import user_config_dir

    found = settings.get(KEYS)
    return Path(found).expanduser() if found else Path(user_config_dir("muniment"), "vault-keys.json")


def served_limits(settings: Settings) -> Limits:
    """The limits of a served tenant."""
    from muniment.bundle.vault import Limits

    return Limits(
        snapshots=settings.get(SNAPSHOTS) or None,
        size=settings.get(SNAPSHOT_BYTES) or None,
        label=settings.get(LABEL),
        sessions=settings.get(SESSIONS) or None,
    )
