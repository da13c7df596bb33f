"""The tests' own commands as a program, for what only a real process can show."""

from __future__ import annotations

import os
import sys
from typing import cast

from tests.faces.calling import SettledHouse
from tests.faces.commands import TESTED

from muniment.faces.cli.main import run
from muniment.faces.house import BuildHouse

if __name__ == "__main__":
    house = cast(BuildHouse, SettledHouse())
    sys.exit(run(sys.argv[1:], house, os.environ, sys.stdin, sys.stdout, sys.stderr, root=TESTED))
