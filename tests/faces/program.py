"""The tests' own commands as a program, for what only a real process can show."""

from __future__ import annotations

import os
import sys

from tests.faces.calling import SettledHouse
from tests.faces.commands import TESTED

from muniment.faces.cli.main import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], SettledHouse(), os.environ, sys.stdin, sys.stdout, sys.stderr, root=TESTED))
