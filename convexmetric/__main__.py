"""``python -m convexmetric`` is the command ``convexmetric``; its limit on time counts from the process's start."""

import sys

from convexmetric.deadline import BEGUN


def run() -> None:
    """Run the command, in a process of its own."""
    try:
        # Takes half a second, in which Ctrl-C ends the command as later.
        from convexmetric.cli import main
    except ModuleNotFoundError as error:
        lacking = str(error.name).partition(".")[0]
        if lacking not in ("rich", "typer"):
            raise
        print(f"error: the command needs the package {lacking}: pip install 'convexmetric[cli]'", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted: nothing was begun", file=sys.stderr)
        sys.exit(130)
    main(BEGUN)


if __name__ == "__main__":
    run()
