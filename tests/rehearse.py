"""Rehearse a release: build sdist and wheel, check them, and use the wheel alone, away from the checkout.

python tests/rehearse.py [dist]

Needs build, twine and check-wheel-contents. Nothing is uploaded: .github/workflows/publish.yml does that with the files
that this leaves in the folder.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
import importlib.metadata, importlib.resources, pathlib, sys
import numpy as np
import convexmetric as cm

where = pathlib.Path(cm.__file__)
assert "site-packages" in where.parts, where
assert (where.parent / "py.typed").exists()
assert importlib.metadata.version("convexmetric") == cm.__version__
assert (pathlib.Path(sys.prefix) / "share/man/man1/convexmetric.1").exists()
assert str(cm.bench.load_suite("small")) == "small-1"
problem = cm.load_problem("ranking-auc-wine-c1")
instance = cm.bench.load_instance("ranking-auc-wine-c1")
solution = cm.solve(problem)
assert solution.gap <= 1e-6
assert solution.lower_bound <= instance.upper_bound and instance.lower_bound <= solution.upper_bound
np.save("metric.npy", solution.M)
verdict = cm.audit(problem, solution.M, reference=instance.lower_bound)
assert verdict.feasible and verdict.suboptimality <= 2e-6
wine = cm.datasets.load("wine")
names = [name.replace("/", "_") for name in wine.extras["feature_names"]]
rows = np.column_stack([wine.X, wine.y])
np.savetxt("wine.csv", rows, "%.17g", ",", header=",".join([*names, "cultivar"]), comments="")
print(solution)
"""
COMMANDS = [
    ["python", "-m", "pip", "check"],
    ["python", "-W", "error", "-c", "import convexmetric"],
    ["convexmetric", "--version"],
    ["convexmetric", "warm-up"],
    ["python", "-c", PROGRAM],
    ["convexmetric", "list"],
    ["convexmetric", "demo", "--plot", "demo.png"],
    ["convexmetric", "fit", "wine.csv", "--label", "cultivar", "--save", "wine.npz", "--quiet"],
    ["convexmetric", "apply", "wine.npz", "wine.csv", "--save", "images.csv"],
    ["convexmetric", "solve", "ranking-auc-wine-c1", "--certificate", "proof.npz", "--plot", "bounds.png", "--quiet"],
    ["convexmetric", "verify", "proof.npz", "--instance", "ranking-auc-wine-c1"],
    ["convexmetric", "audit", "ranking-auc-wine-c1", "metric.npy"],
]
WRITTEN = ["demo.png", "wine.npz", "images.csv", "proof.npz", "bounds.png"]


def run(*command: str, **options) -> None:
    """Run a command that must succeed, and say how long it took."""
    shown, begun = " ".join(word.strip().partition("\n")[0] for word in command), time.perf_counter()
    print("$", shown, flush=True)
    subprocess.run(command, check=True, **options)
    print(f"  {time.perf_counter() - begun:.0f} s", flush=True)


def build(dist: Path) -> Path:
    """Build and check both archives; returns the wheel."""
    dist.mkdir(exist_ok=True)
    run(sys.executable, "-m", "build", "--outdir", str(dist), str(ROOT))
    wheel, sdist = (max(dist.glob(pattern), key=os.path.getmtime) for pattern in ("*.whl", "*.tar.gz"))
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    run(sys.executable, "-m", "check_wheel_contents", str(wheel))
    return wheel.resolve()


def main() -> None:
    """Build, check, install, use."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", type=Path, nargs="?", default=ROOT / "dist", help="folder of the archives")
    wheel = build(parser.parse_args().dist)
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CONVEXMETRIC_DATA")}
    with tempfile.TemporaryDirectory() as folder:
        home, work = Path(folder) / "venv", Path(folder) / "work"
        work.mkdir()
        venv.create(home, with_pip=True)
        scripts = home / ("Scripts" if sys.platform == "win32" else "bin")
        for command in [
            ["python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)],
            *COMMANDS,
        ]:
            run(str(scripts / command[0]), *command[1:], cwd=work, env=environment)
        for name in WRITTEN:
            assert (work / name).stat().st_size > 0, name
    print(f"{wheel.name} works on its own, Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
