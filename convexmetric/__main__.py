"""``python -m convexmetric`` is the command ``convexmetric``."""

from convexmetric.cli import main

if __name__ == "__main__":
    main()
