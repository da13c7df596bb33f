"""Floor 1, `record`: the two TOML files of settings, as layers."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

from muniment.disk.errors import NotThere
from muniment.disk.root import Root
from muniment.errors import MunimentError
from muniment.message import say
from muniment.path import RelPath, printable
from muniment.settings import BadSetting, Layer, Setting, flatten


def read_layer(
    root: Root, rel: RelPath, declared: Sequence[Setting[Any]], *, of_workspace: bool = False
) -> Layer:
    """The settings of one TOML file; a file that is not there sets nothing."""
    origin = f"{root.path}/{rel.posix}"
    try:
        data = root.read(rel, limit=1 << 20)
    except NotThere:
        return Layer(origin, {}, of_workspace)
    except MunimentError as error:
        why = error.why or error.message
        raise BadSetting(name=printable(rel.name), where=printable(origin), why=why) from error
    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        why = say("{finding}", finding=printable(str(error)))
        raise BadSetting(name=printable(rel.name), where=printable(origin), why=why) from error
    return Layer(origin, flatten(table, declared), of_workspace)
