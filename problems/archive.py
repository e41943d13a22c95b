"""Write all instances as one archive that needs nothing of this package (docs/instances.md).

    python problems/archive.py [FILE.zip] [--certificates FOLDER] [--certify SECONDS]

The archive has the certificates of the folder that prove the very statements in it. ``--certify`` makes those that the
folder lacks, of every instance on data of scikit-learn that is solved within so many seconds.
"""

import argparse
import tempfile
import warnings
import zipfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

import convexmetric as cm
from convexmetric.bench import list_problems, load_instance
from convexmetric.bench.exporting import add_member, exported, json_bytes, origin
from convexmetric.datasets.bundled import SCIKIT_LEARN
from convexmetric.files import all_or_nothing


def certify(folder: Path, seconds: float) -> None:
    """Write certificates of the instances that are solved in time."""
    for name in list_problems():
        instance, path = load_instance(name), folder / f"{name}.npz"
        if instance.data["set"] not in SCIKIT_LEARN or instance.open or path.exists():
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cm.errors.GapWarning)
            solution = cm.solve(instance.problem(), tol=instance.how["tol"], max_seconds=seconds)
        if solution.status != "optimal":
            continue
        try:
            cm.write_certificate(path, solution, title=instance.title)
        except cm.errors.InputError as error:
            print(f"{name} has no certificate: {error}", flush=True)


def export_library(archive: Path, names: Iterable[str], certificates: Path) -> list[str]:
    """Write instances as one ZIP archive, with the same bytes on every call on a machine.

    ``index.json`` has one entry an instance: its bounds, what it is made of, and the files with their SHA-256. Only
    instances of data sets that come with scikit-learn have files; others are named with the hashes of their data.

    Parameters
    ----------
    archive : path
    names : iterable of str
    certificates : path
        A folder of certificates ``NAME.npz``. Each that is proven and about the statement exported here
        goes into the archive; the others are left out.

    Returns
    -------
    list of str
        Names of the instances that have files.
    """
    index = {}
    with all_or_nothing(archive) as unfinished, zipfile.ZipFile(unfinished, "x") as packed:
        for name in sorted(names):
            instance, files = load_instance(name), {}
            if instance.data["set"] in SCIKIT_LEARN:
                try:
                    files = exported(instance, "arrays", certificates / f"{name}.npz")
                except cm.errors.InputError:
                    files = exported(instance, "arrays")
            for file, content in files.items():
                add_member(packed, f"instances/{file}", content)
            index[name] = origin(instance) | {"files": {file: sha256(of).hexdigest() for file, of in files.items()}}
        add_member(
            packed, "index.json", json_bytes({"format": "convexmetric-instances", "version": 1, "instances": index})
        )
    return [name for name, entry in index.items() if entry["files"]]


def main() -> None:
    """Write the archive, and say what is in it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("archive", nargs="?", type=Path, default=Path("build/instances.zip"))
    parser.add_argument("--certificates", type=Path, help="a folder of certificates, NAME.npz")
    parser.add_argument("--certify", type=float, metavar="SECONDS", help="make those that it lacks, in so long each")
    given = parser.parse_args()
    given.archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as none:
        folder = given.certificates or Path(none)
        folder.mkdir(parents=True, exist_ok=True)
        if given.certify:
            certify(folder, given.certify)
        names = export_library(given.archive, list_problems(), folder)
    with zipfile.ZipFile(given.archive) as archive:
        proven = sum(name.endswith(".certificate.npz") for name in archive.namelist())
    size = given.archive.stat().st_size / 1e6
    print(f"{given.archive}: {len(names)} instances with their arrays, {proven} with a certificate, {size:.0f} MB")


if __name__ == "__main__":
    main()
