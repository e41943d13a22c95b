"""Answers to the malformed calls of ``bad_calls.md``; ``python tests/bad_calls.py`` renews them.

A new call is a row with two empty cells behind it: its error must name the argument and the fix.
"""

import re
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import convexmetric as cm

PAGE = Path(__file__).with_suffix(".md")

_rng = np.random.default_rng(0)
X = _rng.normal(size=(12, 3))
y = np.repeat([0, 1, 2], 4)
triplets = np.array([[0, 1, 4], [4, 5, 8], [8, 9, 0]])
ranking = cm.RankingProblem.from_labels(X, y)
relative = cm.RelativeComparisonProblem(X, triplets)
X_nan = X.copy()
X_nan[3, 1] = np.nan
contradictory = np.array([[0, 1, 4], [0, 4, 1]])
graph = np.eye(12, k=1) + np.eye(12, k=-1)
margins = cm.TripletProblem(X, triplets)
crossed = cm.CrossModalProblem(X, X[:, :2], y, y, 1.0, 0.1, n_clusters=2, n_neighbors=3, random_state=0)
T = cm.evaluation.SimilarityOperator(np.eye(3) / 4.0)
composed = cm.MetricProblem(margins.risk, margins.regularizer)
lists = ranking.rankings
pairs, r = np.array([[0, 1], [0, 4], [5, 6]]), np.array([1, -1, 1])

NAMES = {
    "np": np,
    "sp": sp,
    "cm": cm,
    "X": X,
    "y": y,
    "triplets": triplets,
    "ranking": ranking,
    "relative": relative,
    "X_nan": X_nan,
    "contradictory": contradictory,
    "graph": graph,
    "margins": margins,
    "crossed": crossed,
    "T": T,
    "composed": composed,
    "lists": lists,
    "pairs": pairs,
    "r": r,
    "inf": np.inf,
    "nan": np.nan,
}

#: A row: a call, the class of its error, and the message.
ROW = re.compile(r"\| `(.+)` \| (\w*) \| (.*) \|")


def calls():
    """Calls of the table, with the class and the message that stand beside each."""
    return [found.groups() for line in PAGE.read_text(encoding="utf-8").splitlines() if (found := ROW.fullmatch(line))]


def answer(call):
    """Class and message of the exception that a call raises."""
    try:
        eval(call, dict(NAMES))
    except Exception as error:
        return type(error).__name__, " ".join(str(error).split()).replace("|", "\\|")
    raise AssertionError(f"{call} was accepted")


if __name__ == "__main__":
    head = PAGE.read_text(encoding="utf-8").partition("| `")[0]
    rows = ["| `{}` | {} | {} |\n".format(call, *answer(call)) for call, _, _ in calls()]
    PAGE.write_text(head + "".join(rows), encoding="utf-8")
