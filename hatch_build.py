"""Compiles the message catalogues before the wheel is made, so that the wheel speaks every language."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LOCALES = Path("src/muniment/faces/i18n/locale")


def compile_catalogues(project: Path) -> list[Path]:
    """Join each language's room catalogues (`<language>/<room>.po`) into its one `muniment.mo`."""
    written = []
    for folder in sorted((project / LOCALES).glob("*/")):
        whole = None
        for source in sorted(folder.glob("*.po")):
            with source.open("rb") as stream:
                part = read_po(stream, locale=folder.name, domain="muniment", abort_invalid=True)
            if whole is None:
                whole = part
                continue
            for message in part:
                if message.id:
                    whole[message.id] = message
        if whole is not None:
            target = folder / "LC_MESSAGES" / "muniment.mo"
            target.parent.mkdir(exist_ok=True)
            # Somebody may be reading it: in its place it is whole at every moment.
            fresh = target.with_stem(f"{target.stem}.{os.getpid()}")
            with fresh.open("wb") as stream:
                write_mo(stream, whole)
            fresh.replace(target)
            written.append(target)
    return written


class CatalogueHook(BuildHookInterface[Any]):
    """Runs for wheels, source distributions and editable installs alike."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by the builder before it collects files."""
        compile_catalogues(Path(self.root))


if __name__ == "__main__":
    compile_catalogues(Path(__file__).parent)
