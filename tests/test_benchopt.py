import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from convexmetric.bench import load_instance

pytestmark = pytest.mark.integration

FOLDER = Path(__file__).parents[1] / "benchmarks" / "benchopt"
INSTANCE = "relative-wine-1000"


def installed(name):
    """Whether a distribution is there: the folder benchmarks/benchopt can be imported by that name as well."""
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@pytest.mark.skipif(not installed("benchopt"), reason="benchopt is not installed")
def test_benchopt_runs_solvers_and_records_suboptimality(tmp_path):
    import pandas as pd

    # Results are written into the folder.
    folder = shutil.copytree(FOLDER, tmp_path / "folder", ignore=shutil.ignore_patterns("outputs", "__*__"))
    datasets = ["-d", f"Instances[instance={INSTANCE}]", "-d", "Instances[instance=relative-wine-hard]"]
    options = ["-s", "exact", "-s", "conic[solver=clarabel]", "-s", "stochastic-batch", "-n", "30", "-r", "1"]
    call = [sys.executable, "-m", "benchopt", "run", str(folder), *datasets, *options, "--no-plot"]
    done = subprocess.run(call, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "margins are hard" in done.stdout
    assert "its risk is not a sum of hinges over pairs" in done.stdout
    (file,) = (folder / "outputs").glob("*.parquet")
    table = pd.read_parquet(file)
    assert set(table.solver_name) == {"exact", "conic[solver=clarabel]"}
    bound = load_instance(INSTANCE).lower_bound
    assert (table.objective_value >= bound).all()
    assert table.groupby("solver_name").objective_suboptimality.min().max() <= 2e-6
