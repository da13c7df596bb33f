"""Floor 2, `hosts`: what OpenClaw is given: its plugin with the skills, and the entries that load it.

OpenClaw takes no plugin file that has a second name, and package managers link what they install; so the
plugin is copied into a folder of OpenClaw's own, and loaded from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import muniment
from muniment.disk.root import Root
from muniment.hosts import json_text, offered
from muniment.hosts.errors import ConfigurationBroken, ConfigurationShape
from muniment.hosts.merging import Entry, Form
from muniment.hosts.openclaw.folders import configuration, state_folder
from muniment.hosts.setup import Configuration, Setup
from muniment.hosts.spot import Spot
from muniment.path import RelPath

ID = "muniment"
"""The name of the plugin in OpenClaw."""

FOLDER = "muniment-plugin"
FILES = ("package.json", "openclaw.plugin.json", "index.ts")
_ENTRY = ("plugins", "entries", ID)
_ALLOWED = ("plugins", "allow")


def setup(home: Path, environment: Mapping[str, str], program: Sequence[str], store: Path) -> Setup:
    """Everything of OpenClaw; its own variables say where it lives, and else the `home`."""
    environment = {"HOME": str(home), **environment}
    folder = state_folder(environment) / FOLDER
    place = configuration(environment)
    entries = [
        Entry(("plugins", "load", "paths"), str(folder), listed=True),
        Entry((*_ENTRY, "enabled"), True),
        Entry((*_ENTRY, "config", "program"), list(program)),
    ]
    if _has_allowlist(place):
        # Making one would keep every other plugin out.
        entries.append(Entry(_ALLOWED, ID, listed=True))
    copies = {folder / name: data for name, data in plugin_files().items()}
    copies |= offered.skill_files("openclaw", folder / "skills")
    return Setup("openclaw", store, (Configuration(place, Form.JSON, tuple(entries)),), copies)


def plugin_files() -> dict[str, bytes]:
    """The files of the plugin itself, by name."""
    with Root.open(Path(muniment.__file__).parent / "hosts" / "openclaw" / "plugin") as root:
        return {name: root.read(RelPath((name,))) for name in FILES}


def _has_allowlist(place: Path) -> bool:
    """Whether the configuration lets only plugins in that it names."""
    with Spot(place) as spot:
        held = spot.look()
    try:
        text = held.data.decode("utf-8-sig") if held is not None else ""
        return bool(text.strip()) and json_text.find(text, json_text.parse(text), _ALLOWED) is not None
    except (UnicodeDecodeError, ConfigurationBroken, ConfigurationShape):
        return False  # which the installation says itself, with the place
