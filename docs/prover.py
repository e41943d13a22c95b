"""What the page that proves certificates in the reader's browser is served with; ``make docs`` fetches and copies it.

Pyodide, which is Python for browsers, comes from npm, its version and hash pinned below. Its list of packages has the
hash of the NumPy that was built for it; PyPI and npm have that wheel only inside of other packages, of which one is
named below. The hash decides, wherever the wheel was found. The checker and the kernel are those of the checkout.

    python docs/prover.py     # fetch what is not there yet, into docs/_build: 46 MB, of which 15 MB are kept
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PYODIDE = "0.29.0"
INTEGRITY = "sha512-ObIvsTmcrxAWKg+FT1GjfSdDmQc5CabnYe/nn5BCuhr9BVVITeQ24DBdZuG5B2tIiAZ9YonBpnDB7cmHZyd2Rw=="
#: A package of PyPI that has NumPy's wheel for this version of Pyodide in it.
CARRIER = "gbdraw==0.14.2"
LOCK = "pyodide-lock.json"
FILES = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", LOCK)
HERE = Path(__file__).resolve().parent
RUNTIME = HERE / "_build" / f"pyodide-{PYODIDE}"
CERTIFICATES = HERE.parent / "convexmetric" / "certificates"


class WrongHashError(Exception):
    """A file that was fetched is another one than the one meant."""


def fetch() -> None:
    """Put Pyodide and its NumPy into :data:`RUNTIME`, all files or none.

    Raises
    ------
    WrongHashError
        If what came is not what is pinned.
    OSError, subprocess.CalledProcessError
        If npm is not installed, or a registry cannot be reached.
    """
    RUNTIME.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RUNTIME.parent) as folder:
        there, made = Path(folder), Path(folder) / "made"
        made.mkdir()
        npm = ["npm", "pack", "--silent", "--fetch-retries=0", f"pyodide@{PYODIDE}"]
        subprocess.run(npm, cwd=there, check=True, stdout=subprocess.DEVNULL)
        packed = (there / f"pyodide-{PYODIDE}.tgz").read_bytes()
        if f"sha512-{base64.b64encode(hashlib.sha512(packed).digest()).decode()}" != INTEGRITY:
            raise WrongHashError(f"npm has another pyodide {PYODIDE} than the one pinned in docs/prover.py")
        with tarfile.open(there / f"pyodide-{PYODIDE}.tgz") as archive:
            for name in FILES:
                member = archive.extractfile(f"package/{name}")
                assert member is not None
                (made / name).write_bytes(member.read())
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--no-deps", "--only-binary=:all:", "--dest", folder, CARRIER], check=True)
        (carrier,) = there.glob("*.whl")
        numpy = json.loads((made / LOCK).read_text())["packages"]["numpy"]
        (made / numpy["file_name"]).write_bytes(member_of(carrier, numpy["file_name"], numpy["sha256"]))
        made.replace(RUNTIME)


def member_of(archive: Path, name: str, sha256: str) -> bytes:
    """The file of a name in a ZIP archive, in whatever folder of it, if it has the hash."""
    with zipfile.ZipFile(archive) as opened:
        for member in opened.namelist():
            if Path(member).name == name and hashlib.sha256(data := opened.read(member)).hexdigest() == sha256:
                return data
    raise WrongHashError(f"{archive.name} has no {name} with the SHA-256 {sha256}")


def serve(static: Path) -> None:
    """Copy the runtime into a folder of the site, and beside it the checker and the kernel of the checkout."""
    shutil.copytree(RUNTIME, static / "pyodide", dirs_exist_ok=True)
    with zipfile.ZipFile(static / "certificates.zip", "w") as archive:
        for path in (CERTIFICATES / "checker.py", *sorted((CERTIFICATES / "kernel").glob("*.py"))):
            archive.write(path, path.relative_to(CERTIFICATES))


def main() -> int:
    """Fetch the runtime if it is not there; without a network the site is built without it, and says so."""
    try:
        if not RUNTIME.is_dir():
            fetch()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"the page that proves in the browser is built without Python: {error}", file=sys.stderr)
    except WrongHashError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
