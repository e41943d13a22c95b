"""What the pages that run Python in the reader's browser are served with; ``make docs`` fetches and copies it.

Pyodide, which is Python for browsers, comes from npm, and the NumPy, SciPy, scikit-learn and Matplotlib that were built
for it from where Pyodide publishes them, or where that cannot be reached from a package of PyPI that has them inside.
``in_browser.lock.json`` names every file with its SHA-256, and where to ask for it, in turn. The hash decides, wherever
a file was found. What runs in this Python are files of the checkout.

    python docs/in_browser.py            # fetch what is not there yet, into docs/_build: 45 MB, or 115 by the detour
    python docs/in_browser.py --lock     # write the lock anew, for the version and the archives that it names
"""

from __future__ import annotations

import csv
import functools
import hashlib
import http.client
import io
import json
import re
import shutil
import sys
import tarfile
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib")
#: Files of the package of npm, of which the last has the hashes of all that was built for it.
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
#: Seconds without an answer, and for one file, after which a server is given up; and bytes of the largest file.
SILENT, SLOW, MAX_BYTES = 20.0, 120.0, 2**28
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LOCK_FILE = HERE / "in_browser.lock.json"
LOCK: dict[str, Any] = json.loads(LOCK_FILE.read_text(encoding="utf-8"))
PYODIDE: str = LOCK["pyodide"]
RUNTIME = HERE / "_build" / f"pyodide-{PYODIDE}"
CERTIFICATES = ROOT / "convexmetric" / "certificates"
EXERCISES = ROOT / "examples" / "exercises"
#: Exercises whose checks solve by the package. Others get by with NumPy, but for a task of exercise 5, which would take
#: minutes where loops are not compiled.
BY_PACKAGE = ("04_oracles", "03_a_tight_lift", "11_sgd_audited", "12_certificates")
#: Lessons with a page on which their numbers can be changed.
LESSONS = ("plot_03_cutting_planes.py", "plot_05_duality.py")


class WrongHashError(Exception):
    """A file that was fetched is another one than the one meant."""


def fetch() -> None:
    """Put Pyodide and its packages into :data:`RUNTIME`, all files or none.

    Raises
    ------
    WrongHashError
        If what came is not what is locked.
    OSError
        If a file can be had nowhere.
    """
    RUNTIME.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=RUNTIME.parent) as folder:
        made, servers = Path(folder) / "made", Servers(LOCK["archives"])
        made.mkdir()
        for name, file in LOCK["files"].items():
            (made / name).write_bytes(servers.file(name, file["sha256"], file["from"]))
        made.replace(RUNTIME)


class Servers:
    """Files of other machines, each asked for with a time limit; a server that failed is not asked again."""

    def __init__(self, archives: dict[str, str]) -> None:
        self.archives, self.failed = archives, dict[str, OSError]()
        self.archive = functools.cache(self._archive)

    def file(self, name: str, sha256: str, addresses: list[str]) -> bytes:
        """The file of a hash from the first address that has it: a URL, or one of an archive, ``#`` and a member."""
        errors: list[Exception] = []
        for address in addresses:
            url, _, member = address.partition("#")
            try:
                return hashed(name, member_of(url, self.archive(url), member) if member else self.data(url), sha256)
            except (OSError, WrongHashError) as error:
                errors.append(error)
        raise next((error for error in errors if isinstance(error, WrongHashError)), errors[-1])

    def data(self, url: str) -> bytes:
        """What a URL has."""
        host, data, end = urlsplit(url).netloc, bytearray(), time.monotonic() + SLOW
        if host in self.failed:
            raise self.failed[host]
        try:
            with urllib.request.urlopen(url, timeout=SILENT) as answer:
                while chunk := answer.read1(2**20):
                    data += chunk
                    if len(data) > MAX_BYTES or time.monotonic() > end:
                        raise OSError("it is too large, or too slow")
        except (OSError, http.client.HTTPException) as error:
            self.failed[host] = OSError(f"{url}: {error}")
            raise self.failed[host] from error
        return bytes(data)

    def _archive(self, url: str) -> bytes:
        return hashed(url, self.data(url), self.archives[url])


def hashed(name: str, data: bytes, sha256: str) -> bytes:
    """What was fetched, if it has the hash."""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise WrongHashError(f"{name} has another SHA-256 than the one in {LOCK_FILE.name}")
    return data


def member_of(url: str, archive: bytes, member: str) -> bytes:
    """A member of an archive whose hash was checked, a wheel or else a tarball."""
    if url.endswith(".whl"):
        return zipfile.ZipFile(io.BytesIO(archive)).read(member)
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        found = opened.extractfile(member)
        assert found is not None
        return found.read()


def lock() -> None:
    """Write the lock anew, with the hashes that its archives have now and those that Pyodide lists."""
    servers = Servers({})
    npm, carrier = ((url, servers.data(url)) for url in LOCK["archives"])
    made: dict[str, Any] = {}
    for name in FILES:
        sha256 = hashlib.sha256(member_of(*npm, f"package/{name}")).hexdigest()
        made[name] = {"sha256": sha256, "from": [f"{npm[0]}#package/{name}"]}
    inside = {Path(name).name: name for name in zipfile.ZipFile(io.BytesIO(carrier[1])).namelist()}
    for wheel in wheels(json.loads(member_of(*npm, "package/pyodide-lock.json"))["packages"]):
        name = wheel["file_name"]
        own = f"https://cdn.jsdelivr.net/pyodide/v{PYODIDE}/full/{name}"
        made[name] = {"sha256": wheel["sha256"], "from": [own, f"{carrier[0]}#{inside[name]}"]}
    hashes = {url: hashlib.sha256(data).hexdigest() for url, data in (npm, carrier)}
    text = json.dumps({"pyodide": PYODIDE, "archives": hashes, "files": made}, indent=1)
    LOCK_FILE.write_text(text + "\n", encoding="utf-8")


def wheels(packages: dict[str, dict[str, str]]) -> list[dict[str, str]]:
    """Entries of :data:`PACKAGES`, and of all that they need, in Pyodide's list of packages."""
    names = list(PACKAGES)
    for name in names:
        names += [needed for needed in packages[name]["depends"] if needed not in names]
    return [packages[name] for name in names]


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
    package = [path for kind in ("*.py", "*.json") for path in (ROOT / "convexmetric").rglob(kind)]
    for path in sorted((*package, *(HERE / "browser").glob("*.py"), *scripts)):
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
        text = text.partition("\n\nif __name__")[0]
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
        if sys.argv[1:] == ["--lock"]:
            lock()
        elif not RUNTIME.is_dir():
            fetch()
    except OSError as error:
        print(f"pages that run Python in the browser are built without it: {error}", file=sys.stderr)
    except WrongHashError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
