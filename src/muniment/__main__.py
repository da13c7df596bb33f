"""Floor 5, the entrance: `muniment` and `python -m muniment`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run one call; `hook` goes its own way before anything heavy is imported."""
    try:
        if sys.argv[1:2] == ["hook"]:
            from muniment.faces.hooks import main as hook

            return hook(sys.argv[2:])
        from muniment.app import main as command_line

        return command_line()
    except KeyboardInterrupt:  # before the command line stands ready to say so itself
        return 130


if __name__ == "__main__":
    sys.exit(main())
