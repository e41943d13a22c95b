"""Metrics from elsewhere, judged: scikit-learn's, and SciPy's L-BFGS on a factor, against one instance of the library.

    python examples/audit_foreign_solver.py [FOLDER]

Linear discriminant analysis and neighbourhood components analysis give a linear map L; their metric is M = L^T L. They
were trained for objectives of their own, so that no verdict here says that they are bad at those: the audit says how
far they are from optimal for ranking by AUC, and whether scale, directions or comparisons make the difference.

L-BFGS minimises the very objective of the instance, over factors L of some ranks. It is watched while it runs, next to
three of our own solvers. The folder then holds the metrics (lda.csv, nca.mat), the iterates (lbfgs.npz), and pictures.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.io import savemat
from scipy.optimize import minimize
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis

import convexmetric as cm
from convexmetric.bench import plot_trails
from convexmetric.plotting import save_picture

NAME = "ranking-auc-wine-c100"
RANK = 4
MAX_ITER = 150


def factor_descent(problem, show, rank=RANK):
    """L-BFGS on f(L^T L). With the hinges' kinks this is a heuristic, and a fair picture of what many people run."""
    d = problem.cone.d
    everything = np.zeros(problem.risk.parts, dtype=int)

    evaluations = [0]

    def value_and_slope(flat):
        evaluations[0] += 1
        L = flat.reshape(rank, d)
        M = L.T @ L
        # The supporting plane of the risk at M: minus its normal is a subgradient. The penalty here is tr M.
        normal = problem.cone.from_coordinates(problem.risk.separate(M, everything).normals[0])
        return problem.objective(M), 2.0 * (L @ (np.eye(d) - normal)).ravel()

    # One evaluation is one pass over all queries.
    start = 0.1 * np.random.default_rng(0).standard_normal(rank * d)
    show(start.reshape(rank, d), 0)
    options = {"maxiter": MAX_ITER}
    minimize(
        value_and_slope, start, jac=True, method="L-BFGS-B", options=options,
        callback=lambda flat: show(flat.reshape(rank, d), evaluations[0]),
    )  # fmt: skip


def lbfgs(problem, record):
    """The first way: a callable that is given the problem and a function to record iterates with."""
    factor_descent(problem, lambda L, passes: record(L.T @ L, passes=passes))


def write_iterates(problem, path):
    """The second way: a file of iterates, with the seconds and passes at each."""
    iterates, seconds, passes = [], [], []
    begin = time.perf_counter()

    def keep(L, done):
        iterates.append(L.T @ L)
        seconds.append(time.perf_counter() - begin)
        passes.append(done)

    factor_descent(problem, keep, rank=1)
    np.savez(path, iterates=iterates, seconds=seconds, passes=passes)


def command(*arguments):
    """Run the command, and show it."""
    print("$ convexmetric", *arguments, flush=True)
    subprocess.run([sys.executable, "-m", "convexmetric", *map(str, arguments)], check=True)


def main(folder: Path) -> None:
    """Train, store, judge, draw."""
    folder.mkdir(parents=True, exist_ok=True)
    instance = cm.bench.load_instance(NAME)
    problem = instance.problem()
    X, y = instance.rows()

    lda = LinearDiscriminantAnalysis().fit(X, y)
    nca = NeighborhoodComponentsAnalysis(n_components=2, random_state=0, max_iter=200).fit(X, y)
    L = lda.scalings_[:, : len(lda.classes_) - 1].T
    np.savetxt(folder / "lda.csv", L.T @ L, delimiter=",")
    savemat(folder / "nca.mat", {"M": nca.components_.T @ nca.components_})
    for file in ("lda.csv", "nca.mat"):
        stem = file.split(".")[0]
        command(
            "audit", NAME, folder / file, "--solve", "--quiet", "--worst", 4, "--plot", folder / f"audit-{stem}.png"
        )

    solution = cm.solve(problem)
    trails = [cm.bench.trace(problem, lbfgs, reference=solution, max_seconds=20.0, name=f"L-BFGS, rank {RANK}")]
    print(trails[0])
    print(cm.audit(problem, trails[0].M, reference=solution).verdict)
    write_iterates(problem, folder / "lbfgs.npz")
    command("audit", NAME, folder / "lbfgs.npz", "--iterates")
    with np.load(folder / "lbfgs.npz") as file:
        kept = {key: file[key] for key in file.files}
    trails.append(cm.bench.audit_iterates(problem, **kept, reference=solution, name="L-BFGS, rank 1"))
    for solver in ("smoothed-newton", "cutting-planes", "subgradient"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cm.errors.GapWarning)
            ours = cm.solve(problem, solver=solver, max_iter=300)
        trails.append(cm.bench.AuditTrail.of_solution(ours, reference=solution))
    figure = plot_trails(trails)[0].figure
    figure.suptitle(instance.title, fontsize="medium")
    save_picture(figure, folder / "audit-trails.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("audit-foreign"))
