"""``python -m convexmetric`` is the command ``convexmetric``; its limit on time counts from the process's start."""

import atexit
import gc
import sys

from convexmetric.deadline import BEGUN
from convexmetric.errors import NotInstalledError
from convexmetric.imports import optional, uncollected


def run() -> None:
    """Run the command, in a process of its own."""
    # Garbage is not looked for where the process ends.
    atexit.register(gc.freeze)
    try:
        # Takes half a second, in which Ctrl-C ends the command as later.
        with uncollected():
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
