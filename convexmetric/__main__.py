"""``python -m convexmetric`` is the command ``convexmetric``; its limit on time counts from the process's start."""

import sys

from convexmetric.deadline import BEGUN
from convexmetric.errors import NotInstalledError
from convexmetric.imports import optional


def run() -> None:
    """Run the command, in a process of its own."""
    try:
        # Takes half a second, in which Ctrl-C ends the command as later.
        for needed in ("rich", "typer"):
            optional(needed, "cli", "the command")
        from convexmetric.cli import main
    except NotInstalledError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted: nothing was begun", file=sys.stderr)
        sys.exit(130)
    main(BEGUN)


if __name__ == "__main__":
    run()
