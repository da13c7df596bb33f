"""Envs: reads TES tasks with `py-tes`, which lets no unknown member through, and prints what it saw."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any


def seen(file: str) -> dict[str, Any]:
    """State, image and exit codes of a task, as the library holds them."""
    models: Any = importlib.import_module("tes.models")
    utils: Any = importlib.import_module("tes.utils")
    task = utils.unmarshal(Path(file).read_text("utf-8"), models.Task, convert_camel_case=False)
    valid, why = task.is_valid()
    log = task.logs[0]
    return {
        "valid": valid,
        "why": str(why),
        "state": task.state,
        "image": task.executors[0].image,
        "exit_codes": [one.exit_code for one in log.logs],
        "outputs": [[one.path, str(one.size_bytes)] for one in log.outputs],
    }


if __name__ == "__main__":
    json.dump({file: seen(file) for file in sys.argv[1:]}, sys.stdout)
