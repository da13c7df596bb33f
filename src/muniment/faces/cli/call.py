"""Faces, command line: one call of the program, as a command sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from muniment.faces.cli.options import Options
from muniment.faces.cli.streams import Streams
from muniment.faces.cli.terminal import Terminal
from muniment.faces.house import BuildHouse, House
from muniment.faces.i18n.language import language_of
from muniment.faces.i18n.translate import Translator


class Call:
    """What every command gets as its first argument: the terminal, the options, the house."""

    def __init__(
        self,
        streams: Streams,
        environment: Mapping[str, str],
        build_house: BuildHouse,
        glanced: Options,
        host_language: str | None = None,
    ) -> None:
        self.environment = environment
        self.options = Options()
        self.glanced = glanced
        self._streams = streams
        self._host_language = host_language
        self.build_house = build_house
        self._house: House | None = None
        self.terminal = self._terminal(glanced)

    @property
    def house(self) -> House:
        """The rooms, built when first asked for."""
        if self._house is None:
            self._house = self.build_house(
                workspace=self.options.workspace, environment=self.environment, note=self.terminal.note
            )
        return self._house

    def close(self) -> None:
        """Let go of what the rooms hold open, if they were asked for."""
        if self._house is not None:
            self._house.close()

    def take(self, name: str, value: object) -> None:
        """Keep a common option that was given, on whichever level of the command it stood."""
        self.options = replace(self.options, **{name: value})  # type: ignore[arg-type]

    def begin(self) -> None:
        """The call is understood: from now on the parsed options count, not the glance at them."""
        self.terminal = self._terminal(self.options)

    def _terminal(self, options: Options) -> Terminal:
        language = language_of(options.lang, self.environment, self._host_language)
        return Terminal(self._streams, options, Translator(language), self.environment)
