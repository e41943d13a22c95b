"""Large margins on 208 spectra of 60 bands beside others: seconds, and the objective that they reach.

    python benchmarks/bench_peers.py [--limit 300] [--threads 1]

Others are the same statement by CVXPY with CLARABEL and SCS, gradient steps on a factor of the metric in PyTorch until
the objective is within 1e-3 of the lower bound, metric-learn's LMNN and scikit-learn's NCA. The last two have
objectives of their own; for LMNN that of the large margins at its metric is shown. Each runs in a process of its own,
and what is not installed is named. metric-learn 0.7 needs a scikit-learn before 1.8.
"""

import argparse
import time
import warnings
from importlib.util import find_spec

import numpy as np
from bench_waiting import margins
from environment import add_threads_option, limit_threads, surroundings
from isolated import run
from made_sets import spectra
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from tables import markdown

import convexmetric as cm

TOL = 1e-3


def objective(problem, M):
    """Objective at a metric on the features as they are given."""
    K = problem.unwhitening
    return problem.value(problem.cone.project(K.T @ M @ K))


def by_cvxpy(problem, solver):
    """Objective of the statement's solution."""
    statement = problem.statement()
    statement.problem.solve(solver=solver)
    return problem.value(problem.cone.project(statement.metric.value))


def by_torch(problem, goal, limit):
    """Objective after steps of Adam on a factor, until it is as low as the goal; every step sees all triplets."""
    import torch

    start, rankings = time.perf_counter(), problem.risk.rankings
    X, lists = torch.as_tensor(rankings.X), [rankings.relevance.of(q) for q in range(problem.risk.parts)]
    weights, margin = torch.as_tensor(problem.risk.weights), problem.risk.margin
    queries = torch.as_tensor(rankings.rows(np.arange(len(lists))))
    near = torch.as_tensor(np.array([near for near, _ in lists]))
    others = torch.zeros(len(lists), len(X), dtype=torch.bool)
    for row, (_, far) in enumerate(lists):
        others[row, far] = True
    G = torch.as_tensor(problem.cone.from_coordinates(problem.linear()))
    L = torch.eye(X.shape[1], dtype=torch.float64, requires_grad=True)
    optimizer, best = torch.optim.Adam([L], lr=0.01), np.inf
    while best > goal and time.perf_counter() - start < limit:
        optimizer.zero_grad()
        images = X @ L.T
        squared = (images**2).sum(1)
        distances = squared[queries, None] + squared - 2.0 * images[queries] @ images.T
        pairs = margin + distances.gather(1, near)[:, :, None] - distances[:, None, :]
        hinges = (pairs.clamp(min=0.0) * others[:, None, :]).sum((1, 2))
        loss = (weights * hinges).sum() + (G * (L.T @ L)).sum()
        best = min(best, float(loss))
        loss.backward()
        optimizer.step()
    return best


def by_lmnn(problem, X, y):
    """Objective at metric-learn's metric."""
    from metric_learn import LMNN

    return objective(problem, LMNN(random_state=0).fit(X, y).get_mahalanobis_matrix())


def by_nca(X, y):
    """No objective: that of NCA is another."""
    NeighborhoodComponentsAnalysis(random_state=0).fit(X, y)


PEERS = {
    "convexmetric": lambda problem, *_: cm.solve(problem, TOL).upper_bound,
    "CVXPY, CLARABEL": lambda problem, *_: by_cvxpy(problem, "CLARABEL"),
    "CVXPY, SCS": lambda problem, *_: by_cvxpy(problem, "SCS"),
    "PyTorch, steps": lambda problem, X, y, goal, limit: by_torch(problem, goal, limit),
    "metric-learn, LMNN": lambda problem, X, y, *_: by_lmnn(problem, X, y),
    "scikit-learn, NCA": lambda problem, X, y, *_: by_nca(X, y),
}
NEEDS = {"PyTorch, steps": "torch", "metric-learn, LMNN": "metric_learn"}


def peer(name, goal, limit):
    """Seconds, and the objective at the metric; None where the objective is another."""
    warnings.simplefilter("ignore")
    problem, (X, y) = margins(None), spectra(208, 60)
    X = cm.datasets.preprocess(X, ["zscore"])
    start = time.perf_counter()
    value = PEERS[name](problem, X, y, goal, limit)
    return time.perf_counter() - start, value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds (default %(default)s)")
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings("scikit-learn", "metric-learn", "torch"), flush=True)
    bound = cm.solve(margins(None), 0.1 * TOL).lower_bound
    rows = []
    for name in PEERS:
        if name in NEEDS and find_spec(NEEDS[name]) is None:
            rows.append([name, "not installed", ""])
            continue
        goal = (1.0 + TOL) * bound
        done = run(peer, name, goal, arguments.limit, limit=arguments.limit + 10.0, threads=arguments.threads)
        if done.failure:
            rows.append([name, done.failure, ""])
        else:
            seconds, value = done.value
            rows.append([name, f"{seconds:.1f}", "" if value is None else f"{value / bound - 1.0:.1e}"])
        print(rows[-1], flush=True)
    print("\n" + markdown(["", "s", "objective above the bound"], rows))


if __name__ == "__main__":
    main()
