"""Install a wheel into an empty environment and use it from an empty folder, away from the checkout.

python tests/try_wheel.py dist/convexmetric-0.2.0rc1-py3-none-any.whl
"""

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROGRAM = """
import importlib.metadata, importlib.resources, pathlib
import numpy as np
import convexmetric as cm

where = pathlib.Path(cm.__file__)
assert "site-packages" in where.parts, where
assert (where.parent / "py.typed").exists()
assert importlib.metadata.version("convexmetric") == cm.__version__
assert str(cm.bench.load_suite("small")) == "small-1"
problem = cm.load_problem("ranking-auc-wine-c1")
instance = cm.bench.load_instance("ranking-auc-wine-c1")
solution = cm.solve(problem)
assert solution.gap <= 1e-6
assert solution.lower_bound <= instance.upper_bound and instance.lower_bound <= solution.upper_bound
np.save("metric.npy", solution.M)
verdict = cm.audit(problem, solution.M, reference=instance.lower_bound)
assert verdict.feasible and verdict.suboptimality <= 2e-6
print(solution)
"""


def main() -> None:
    """Make the environment, install, run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    wheel = parser.parse_args().wheel.resolve()
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CONVEXMETRIC_DATA")}
    with tempfile.TemporaryDirectory() as folder:
        home, work = Path(folder) / "venv", Path(folder) / "work"
        work.mkdir()
        venv.create(home, with_pip=True)
        scripts = home / ("Scripts" if sys.platform == "win32" else "bin")

        def run(*command: str) -> None:
            print("$", *command[:4], flush=True)
            subprocess.run([str(scripts / command[0]), *command[1:]], cwd=work, env=environment, check=True)

        run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
        run("python", "-c", PROGRAM)
        run("convexmetric", "list")
        run("convexmetric", "solve", "ranking-auc-wine-c1", "--json", "--plot", "bounds.png")
        run("convexmetric", "audit", "ranking-auc-wine-c1", "metric.npy")
        assert (work / "bounds.png").stat().st_size > 0
    print(f"{wheel.name} works on its own, Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
