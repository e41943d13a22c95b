"""From a labelled CSV file of one's own to a certified metric in three lines, and on into scikit-learn.

    python examples/estimators_quickstart.py measurements.csv --label species
    python examples/estimators_quickstart.py

Without a file the wine data are written to one first. The first table is the certificate of each method on all rows;
the second the accuracy of the three nearest neighbours on rows held out, with parameters chosen by a grid search inside
every fold; the last line tells similar pairs from dissimilar ones by a threshold that was calibrated on other pairs.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import convexmetric as cm

#: Methods and what a grid search chooses for each.
METHODS = {
    "MLR": (cm.MLR(), {"C": [10.0, 100.0]}),
    "RelativeComparisonMetric": (cm.RelativeComparisonMetric(random_state=0), {"C": [0.01, 1.0]}),
    "RandomProjectionMetric": (cm.RandomProjectionMetric(random_state=0), {"n_same": [3, 10]}),
    "OperatorMarginMetric": (cm.OperatorMarginMetric(), {"reg": [0.005, 0.05]}),
}


def certified(path: Path, label: str) -> cm.MLR:
    """The three lines."""
    data = cm.datasets.read_csv(path, label=label)
    metric = cm.MLR().fit(StandardScaler().fit_transform(data.X), data.y)
    print(metric.certificate_)
    return metric


def wine_table(folder: Path) -> Path:
    """The wine data as a CSV file of your own."""
    data = cm.datasets.load("wine")
    path = folder / "wine.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"measurement {i}" for i in range(1, 14)), "cultivar"])
        writer.writerows([*row, f"cultivar {code + 1}"] for row, code in zip(data.X.tolist(), data.y, strict=True))
    return path


def certificates(X: np.ndarray, y: np.ndarray) -> Table:
    """Bounds on the optimum of every method on all rows."""
    table = Table(title="certified on all rows")
    for name in ("method", "lower bound", "upper bound", "gap", "rank", "seconds"):
        table.add_column(name, justify="left" if name == "method" else "right")
    for name, (estimator, _) in METHODS.items():
        started = time.perf_counter()
        estimator.fit(X, y)
        seconds = time.perf_counter() - started
        bounds = estimator.certificate_
        table.add_row(
            name,
            f"{bounds.lower_bound:.6g}",
            f"{bounds.upper_bound:.6g}",
            f"{estimator.gap_:.1e}",
            str(estimator.solution_.rank),
            f"{seconds:.2f}",
        )
    return table


def accuracies(X: np.ndarray, y: np.ndarray) -> Table:
    """Of three nearest neighbours on held-out rows, in five folds."""
    table = Table(title="3 nearest neighbours, held-out rows")
    table.add_column("metric")
    table.add_column("accuracy", justify="right")
    neighbours = make_pipeline(StandardScaler(), KNeighborsClassifier(3))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    table.add_row("Euclidean, scaled columns", f"{cross_val_score(neighbours, X, y, cv=folds).mean():.3f}")
    for name, (estimator, grid) in METHODS.items():
        pipeline = make_pipeline(StandardScaler(), estimator, KNeighborsClassifier(3))
        step = type(estimator).__name__.lower()
        search = GridSearchCV(pipeline, {f"{step}__{parameter}": values for parameter, values in grid.items()}, cv=3)
        table.add_row(name, f"{cross_val_score(search, X, y, cv=folds).mean():.3f}")
    return table


def verification(X: np.ndarray, y: np.ndarray) -> str:
    """Similar or not: an operator from half of the rows, its threshold from a quarter, its score on the last one."""
    learn, rest, y_learn, y_rest = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    calibrate, test, y_calibrate, y_test = train_test_split(
        rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0
    )
    scaler = StandardScaler().fit(learn)
    operator = cm.OperatorMarginMetric().fit(scaler.transform(learn), y_learn)
    pairs, r = cm.papers.balanced_pairs(y_calibrate, 500, random_state=0)
    operator.calibrate_threshold(scaler.transform(calibrate)[pairs], r)
    pairs, r = cm.papers.balanced_pairs(y_test, 500, random_state=1)
    new = scaler.transform(test)[pairs]
    return (
        f"pairs of rows never seen: ROC area {operator.score(new, r):.3f}, "
        f"{np.mean(operator.predict(new) == r):.1%} right at a threshold of {operator.threshold_:.3f}"
    )


def main() -> None:
    """Read the arguments and print everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?", help="a CSV file with names of columns in its first line")
    parser.add_argument("--label", default="cultivar", help="its column of labels")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.file or wine_table(Path(folder))
        certified(path, arguments.label)
        data = cm.datasets.read_csv(path, arguments.label)
    y = np.array(data.target_names)[data.y]
    console = Console(width=100)
    console.print(certificates(StandardScaler().fit_transform(data.X), y))
    console.print(accuracies(data.X, y))
    console.print(verification(data.X, y), highlight=False)


if __name__ == "__main__":
    main()
