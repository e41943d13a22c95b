"""Listed triplets under full metrics, at growing numbers of features and triplets: which solver, by their sizes?

python benchmarks/bench_listed_triplets.py [--zappos FOLDER] [--limit 12] [--solvers NAME ...] [--sizes DxT ...]

Points and answers are made by a seed, a fifth of the answers wrong; with `--zappos` they are those of people about 85
pictures of shoes (`cnn_feats.csv.zip` and `deconflicted_triplets.csv.zip` of that folder), of which some are drawn. Of
the centred features the first D principal components stay, scaled to a mean squared norm of one, which makes the weight
of a trace mean the same everywhere. Hinges have the margin 1 and add up to their mean. Times are seconds of the
processor to a gap of 1e-6, of one thread, for the whole solve; a run of a few triplets before loads compiled loops.
"""

import argparse
import io
import re
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from tables import markdown

import convexmetric as cm
from convexmetric.comparisons import Triplets
from convexmetric.cones import PSDCone
from convexmetric.losses import Hinge
from convexmetric.regularizers import SquaredFrobenius, Trace
from convexmetric.risks import SeparableRisk

SOLVERS = ("exact", "factored-lagrangian", "interior-point", "cutting-planes")
SIZES = ("13x500", "13x5000", "30x500", "30x3000", "30x20000", "84x1000", "84x3000", "84x10000", "84x98656")


def zappos(folder):
    """Features of 85 pictures, whose rows run together in the file, and all answers."""
    with zipfile.ZipFile(Path(folder) / "cnn_feats.csv.zip") as archive:
        fields = archive.read("cnn_feats.csv").decode().split(",")
    joined = [re.fullmatch(r"(\d+\.\d+)(\d\.\d+)", field) for field in fields]
    numbers = [part for field, two in zip(fields, joined, strict=True) for part in (two.groups() if two else [field])]
    with zipfile.ZipFile(Path(folder) / "deconflicted_triplets.csv.zip") as archive:
        answers = np.loadtxt(io.StringIO(archive.read("deconflicted_triplets.csv").decode()), delimiter=",", dtype=int)
    return np.array(numbers, dtype=np.float64).reshape(85, -1), answers


def made():
    """Points whose answers depend on ten of their directions, and are wrong one time in five."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 84)) * np.geomspace(1.0, 0.1, 84)
    answers = np.array([rng.choice(200, 3, replace=False) for _ in range(100_000)])
    images = X @ rng.standard_normal((84, 10))
    near, far = (((images[answers[:, 0]] - images[answers[:, c]]) ** 2).sum(axis=1) for c in (1, 2))
    swapped = (near > far) != (rng.random(len(answers)) < 0.2)
    answers[swapped] = answers[swapped][:, [0, 2, 1]]
    return X, answers


def problem(X, answers, d, count, regularizer):
    """Mean hinge of some of the answers on principal components."""
    U, sizes, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    P = (U * sizes)[:, :d]
    rows = np.sort(np.random.default_rng(0).permutation(len(answers))[:count])
    compared = Triplets(P / np.sqrt((P**2).sum(axis=1).mean()), answers[rows], PSDCone(d))
    return cm.MetricProblem(SeparableRisk(compared, Hinge(1.0 / len(rows))), regularizer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zappos", help="folder of the answers about shoes")
    parser.add_argument("--limit", type=float, default=12.0, help="seconds of the processor a solve")
    parser.add_argument("--reg", type=float, default=3e-4, help="weight of the regularizer")
    parser.add_argument("--solvers", nargs="+", default=SOLVERS)
    parser.add_argument("--sizes", nargs="+", default=SIZES)
    add_threads_option(parser)
    parser.set_defaults(threads=1)
    options = parser.parse_args()
    limit_threads(options.threads)
    warnings.simplefilter("ignore", cm.errors.GapWarning)
    X, answers = zappos(options.zappos) if options.zappos else made()
    print(f"{surroundings()}\n")
    rows = []
    for size in options.sizes:
        d, count = map(int, size.split("x"))
        for regularizer in (Trace(options.reg), SquaredFrobenius(options.reg)):
            for solver in options.solvers:
                cm.solve(problem(X, answers, 13, 200, regularizer), solver=solver, tol=1e-2, max_iter=20)
                stated = problem(X, answers, d, count, regularizer)
                begun, wall = time.process_time(), time.perf_counter()
                late = lambda _, begun=begun: time.process_time() - begun > options.limit  # noqa: E731
                try:
                    solution = cm.solve(stated, solver=solver, callback=late)
                except cm.errors.UnsupportedProblemError as error:
                    print(size, type(regularizer).__name__, error)
                    continue
                spent = time.process_time() - begun, time.perf_counter() - wall
                figures = [f"{value:.2f}" for value in spent]
                rows.append(
                    [size, type(regularizer).__name__, solver, solution.solver, *figures, f"{solution.gap:.0e}"]
                )
                print(*rows[-1], flush=True)
    print(
        "\n" + markdown(("features x triplets", "regularizer", "asked", "ended by", "processor", "wall", "gap"), rows)
    )


if __name__ == "__main__":
    main()
