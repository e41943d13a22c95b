"""``python kernel FILE ...``: the kernel alone, with NumPy and the standard library."""

import sys
from pathlib import Path

if __package__:
    from .proofs import main
else:  # The folder itself.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from kernel.proofs import main  # type: ignore[import-not-found, no-redef]

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
