"""What browsers run, where no loop is compiled: ``python tests/plain_python.py`` writes in JSON what comes out.

Numbers are those of compiled loops in ``test_plain_python.py``, which asks for a warning to be an error: compiled loops
divide by zero in silence.
"""

import importlib
import json

if __name__ == "__main__":
    # Before the package.
    importlib.import_module("browser.plain_loops")

import in_browser
from browser import cutting_planes, duality
from catalogue import REPRESENTATIVES, instance

import convexmetric as cm

#: No metric, one of the size of the optimum, and one at which exponentials of distances overflow.
SIZES = (0.0, 0.3, 1e4)


def objectives():
    """Objectives of problems that together have every block, at multiples of the identity."""
    problems = {name: instance(name) for name in REPRESENTATIVES}
    return {name: [p.objective(size * p.cone.identity()) for size in SIZES] for name, p in problems.items()}


def texts():
    """What the pages with sliders say."""
    slides = [duality.answer(2.0, 1.0, 4.0, "no", 0.0), duality.answer(0.1, 1.0, 4.0, "yes", 1.0)]
    slides += [cutting_planes.answer(measure, 1.0, 0.0, 60.0) for measure in ("auc", "ndcg")]
    return [slide["text"] for slide in slides]


def solved():
    """Gaps to which the problems are solved."""
    return {name: cm.solve(instance(name), tol=1e-2).gap for name in REPRESENTATIVES}


def exercises():
    """What the page of exercises says about the solutions."""
    exercising, found = importlib.import_module("browser.exercising"), {}
    for name, exercise in in_browser.exercises():
        text = (in_browser.EXERCISES / "solutions" / f"solution_{name}.py").read_text(encoding="utf-8")
        found[name] = exercising.check(name, text, exercise["elsewhere"])
    return found


if __name__ == "__main__":
    print(json.dumps([objectives(), texts(), solved(), exercises()]))
