"""How large the repository is, and how much of the package one fit runs: the figures that a change of structure lowers.

python benchmarks/structure.py [CHECKOUT ...]    a column each; this checkout if none is named

A line of code is one on which a name or a keyword stands: comments, blanks, strings, numbers and brackets alone are
none. The core is what is left of the package without the folders in BESIDE. ``tests/test_size.py`` holds the first of
the figures to those of ``[tool.convexmetric.size]`` in ``pyproject.toml``. What a fit runs are files of the package of
which it calls a function, seen by ``sys.setprofile``; what is called while a module is imported does not count. A
setting is a field of a solver's dataclass, or of a dataclass that is the default of one, and counts once however many
classes inherit it.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

from tables import markdown

HERE = Path(__file__).resolve().parents[1]
PACKAGE = "convexmetric"
#: Folders that import the core, and that the core does not import.
BESIDE = ("approximate", "retrieval", "bench", "shards")
#: Folders that are written by ``make docs``.
MADE = {"_build", "generated", "gallery"}
#: Tokens around an f-string, which Python takes apart from 3.12 on and which is a string here.
F_STRING = getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "FSTRING_END", -1)
#: The folder of files at the top of the package.
TOP = "(top)"

#: Run by the Python of a checkout: what only a running package says.
RUN = """
import dataclasses, importlib, inspect, json, pathlib, pkgutil, sys, warnings
import convexmetric as cm
warnings.simplefilter("ignore")
root, ran = str(pathlib.Path(cm.__file__).parent), set()

def importing(frame):
    while frame is not None:
        if frame.f_code.co_filename.startswith(root) and frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False

def look(frame, event, _):
    code = frame.f_code
    # Bodies of classes and modules are no functions: their names are not kept in slots.
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_filename not in ran:
        if code.co_filename.startswith(root) and not importing(frame):
            ran.add(code.co_filename)

wine = cm.datasets.load("wine")
X, estimator = cm.datasets.preprocess(wine.X, ["zscore"]), cm.MLR(C=10, tol=1e-2)
sys.setprofile(look)
estimator.fit(X, wine.y)
sys.setprofile(None)

for module in pkgutil.walk_packages(cm.__path__, "convexmetric."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
kinds, settings = [cm.solvers.Solver], {}
for kind in kinds:
    kinds += [other for other in kind.__subclasses__() if other not in kinds]
    for field in dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ():
        owner = next(base for base in reversed(kind.__mro__) if field.name in getattr(base, "__dataclass_fields__", ()))
        settings[owner, field.name] = True
        value = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if dataclasses.is_dataclass(value) and type(value) not in kinds:
            kinds.append(type(value))
own = [kind for kind in kinds if kind.__module__.startswith("convexmetric.")]
print(json.dumps({
    "root_names": len(cm.__all__),
    "solver_settings": sum(owner in own for owner, _ in settings),
    "files that MLR on wine runs": len(ran),
    "of these solver files": sum(pathlib.Path(file).relative_to(root).parts[0] == "solvers" for file in ran),
}))
"""


def code_lines(source: str) -> int:
    """Lines of a file on which a name or a keyword stands."""
    lines, within = set(), 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        within += (token.type == F_STRING[0]) - (token.type == F_STRING[1])
        if token.type == tokenize.NAME and not within:
            lines.add(token.start[0])
    return len(lines)


def files(checkout: Path, folder: str, *endings: str) -> list[Path]:
    """Files of a folder with one of the endings, without those that ``make docs`` writes."""
    found = (path for path in (checkout / folder).rglob("*") if path.suffix in endings)
    return [path for path in found if MADE.isdisjoint(path.relative_to(checkout).parts)]


def sizes(checkout: Path) -> dict[str, int]:
    """Lines of code by folder, pages and words of the documentation, and flat modules at the top of the package."""
    package: Counter[str] = Counter()
    for path in files(checkout, PACKAGE, ".py"):
        parts = path.relative_to(checkout).parts[1:]
        package[parts[0] if len(parts) > 1 else TOP] += code_lines(path.read_text(encoding="utf-8"))
    flat = [path.stem for path in files(checkout, PACKAGE, ".py") if path.parent == checkout / PACKAGE]
    pages = [path.read_text(encoding="utf-8") for path in files(checkout, "docs", ".md", ".rst")]
    return {
        PACKAGE: package.total(),
        "core": package.total() - sum(package[name] for name in BESIDE),
        **{
            folder: sum(code_lines(path.read_text(encoding="utf-8")) for path in files(checkout, folder, ".py"))
            for folder in ("benchmarks", "examples", "tests")
        },
        "pages": len(pages),
        "words": sum(len(page.split()) for page in pages),
        "flat_modules": sum(not name.startswith("__") for name in flat),
        **{f"{PACKAGE}/{name}": count for name, count in package.most_common()},
    }


def figures(checkout: Path) -> dict[str, int]:
    """All figures of a checkout, by what they count."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    # Python looks in the current folder first.
    ran = subprocess.run([sys.executable, "-c", RUN], env=environment, cwd=checkout, stdout=subprocess.PIPE, check=True)
    return sizes(checkout) | json.loads(ran.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", type=Path, default=[HERE], metavar="CHECKOUT")
    checkouts = [checkout.resolve() for checkout in parser.parse_args().checkouts]
    found = [figures(checkout) for checkout in checkouts]
    # A folder that one of them does not have has a dash there.
    counted = dict.fromkeys(name for one in found for name in one)
    rows = [[name, *(one.get(name, "-") for one in found)] for name in counted]
    print(markdown(["", *(str(checkout) for checkout in checkouts)], rows))


if __name__ == "__main__":
    main()
