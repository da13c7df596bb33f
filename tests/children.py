"""What the child processes of tests run: the tree under test, wherever the tests are run from."""

from __future__ import annotations

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
SOURCE = PROJECT / "src"
MODULES = os.pathsep.join([str(SOURCE), str(PROJECT)])
"""Where a child finds Muniment and the tests."""

ENVIRONMENT = {**os.environ, "PYTHONPATH": MODULES}
