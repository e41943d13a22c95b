"""How large the package is, and how much of it one fit runs: the figures that a change of structure should lower.

python benchmarks/structure.py [CHECKOUT ...]    a column each; this checkout if none is named

Lines of code are those that hold more than comments, blanks and docstrings; the core is what is left without the
folders in BESIDE. What a fit runs are files of the package of which it calls a function, seen by ``sys.setprofile``;
what is called while a module is imported does not count. A setting is a field of a solver's dataclass, or of a
dataclass that is the default of one, and counts once however many classes inherit it.
"""

import argparse
import ast
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
BESIDE = ("approximate", "theory", "retrieval", "bench", "shards")
#: The folder of files at the top of the package.
TOP = "(top)"
NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)

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
    "names at the root": len(cm.__all__),
    "settings of solvers": sum(owner in own for owner, _ in settings),
    "files that MLR on wine runs": len(ran),
    "of these solver files": sum(pathlib.Path(file).relative_to(root).parts[0] == "solvers" for file in ran),
}))
"""


def code_lines(source: str) -> int:
    """Lines of a file that hold more than docstrings, comments and blanks."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        described = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if described and ast.get_docstring(node, clean=False) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def is_kind(node: ast.expr) -> bool:
    """Whether this reads ``kind``, and not that of a data type."""
    if isinstance(node, ast.Attribute):
        return node.attr == "kind" and getattr(node.value, "attr", "") != "dtype"
    return isinstance(node, ast.Name) and node.id == "kind"


def names_text(node: ast.expr) -> bool:
    """Whether a string stands in an expression, or a constant by its name."""
    inside = list(ast.walk(node))
    return any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in inside) or any(
        isinstance(one, ast.Name) and one.id.isupper() for one in inside
    )


def kind_tests(source: str) -> int:
    """Comparisons of a ``kind`` with strings."""
    compared = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Compare)]
    return sum(is_kind(node.left) and any(map(names_text, node.comparators)) for node in compared)


def calls_of(source: str, method: str) -> int:
    """Calls of a method, of whatever object."""
    called = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return sum(isinstance(function, ast.Attribute) and function.attr == method for function in called)


def class_tests(source: str, *classes: str) -> int:
    """Calls of ``isinstance`` that name one of the classes."""
    found = 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            found += any(isinstance(one, ast.Name) and one.id in classes for one in ast.walk(node.args[1]))
    return found


def figures(checkout: Path) -> dict[str, int]:
    """All figures of a checkout, by what they count."""
    package = checkout / PACKAGE
    sources = {path.relative_to(package): path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    folders: Counter[str] = Counter()
    for path, source in sources.items():
        folders[path.parts[0] if len(path.parts) > 1 else TOP] += code_lines(source)
    flat = [path for path in sources if len(path.parts) == 1 and not path.name.startswith("__")]
    certificates = [source for path, source in sources.items() if path.parts[0] == "certificates"]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    # Python looks in the current folder first.
    ran = subprocess.run([sys.executable, "-c", RUN], env=environment, cwd=checkout, stdout=subprocess.PIPE, check=True)
    return {
        "lines of code": folders.total(),
        "of these the core": folders.total() - sum(folders[name] for name in BESIDE),
        **{f"{PACKAGE}/{name}": count for name, count in folders.most_common()},
        "flat modules at the top": len(flat),
        **json.loads(ran.stdout),
        "isinstance tests for Reason or Unsupported": sum(
            class_tests(source, "Reason", "Unsupported") for source in sources.values()
        ),
        "lines that name Unsupported...": sum(
            "Unsupported" in line for s in sources.values() for line in s.split("\n")
        ),
        "tests of kind against strings in certificates": sum(map(kind_tests, certificates)),
        "calls of .form(": sum(calls_of(source, "form") for source in sources.values()),
    }


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
