"""Faces, web: logs as JSON, a line an event, on standard error; no token and no label stands in them."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from typing import Any

from muniment.clock import Clock, instant


class Lines(logging.Formatter):
    """One record as one line of JSON."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def format(self, record: logging.LogRecord) -> str:
        """When, how grave, who says it, what, and the facts beside it."""
        told: dict[str, Any] = {
            "at": instant(self._clock()),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            told["trace"] = "".join(traceback.format_exception(record.exc_info[1]))
        return json.dumps(told, default=str)


def log_as_json(clock: Clock, *, verbose: bool = False) -> None:
    """From now on ours and uvicorn's logs go to standard error in that form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines(clock))
    for name, level in (("muniment.serve", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(logging.DEBUG if verbose else level)
