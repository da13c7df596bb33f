"""Floor 1, `record`: the two TOML files of settings, as layers."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
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


def own_layers(declared: Sequence[Setting[Any]]) -> list[Layer]:
    """The layer of the user's own file; none where there is no folder for it."""
    from platformdirs import user_config_dir

    # People keep this file elsewhere and link to it; what they link to is what they mean.
    path = Path(os.path.realpath(Path(user_config_dir("muniment"), "config.toml")))
    if not path.parent.is_dir():
        return []
    with Root.open(path.parent) as own:
        return [read_layer(own, RelPath((path.name,)), declared)]
