"""Write all instances as one archive that needs nothing of this package (docs/instances-for-everybody.md).

    python problems/archive.py [FILE.zip] [--certificates FOLDER]

Certificates are those of ``problems/certify.py --certificates FOLDER``; the archive has those that prove the very
statements in it.
"""

import argparse
from pathlib import Path

from convexmetric.bench import export_library


def main() -> None:
    """Write the archive, and say what is in it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("archive", nargs="?", type=Path, default=Path("build/instances.zip"))
    parser.add_argument("--certificates", type=Path, help="a folder of certificates, NAME.npz")
    given = parser.parse_args()
    given.archive.parent.mkdir(parents=True, exist_ok=True)
    names = export_library(given.archive, certificates=given.certificates)
    print(f"{given.archive}: {len(names)} instances with their arrays, {given.archive.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
