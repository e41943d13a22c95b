"""``python -m convexmetric`` is the command ``convexmetric``; its limit on time counts from the process's start."""

from convexmetric.cli import main
from convexmetric.deadline import BEGUN


def run() -> None:
    """Run the command, in a process of its own."""
    main(BEGUN)


if __name__ == "__main__":
    run()
