"""What rigour costs: how much the gap grows, and in seconds, as the number of features does.

python benchmarks/bench_certificates.py [--tol 1e-6] [NAME ...]

Every instance is solved, written as a certificate, and proven by the checker. *Loss* is by how much the proven lower
bound is below the float one and the proven upper bound above it, relative; *float* are the seconds of a certificate
in float64 from the same metric and dual point.
"""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

from environment import add_threads_option, limit_threads, surroundings
from tables import markdown, seconds

import convexmetric as cm

NAMES = (
    "ranking-auc-wine-c100",
    "ranking-map-wine-c100",
    "triplets-wine-10x10-1e-2",
    "pairs-wine-1000",
    "ranking-auc-ionosphere-c100",
    "ranking-ndcg-ionosphere-c1",
    "triplets-digits-all-1e-2",
    "cross-modal-wikipedia-text-image-a86-b7.1",
    "ranking-auc-isolet-2000-c1",
    "pairs-digits-600-all-rbf",
    "relative-webkb-topic-2000",
)


def row(name, tol, folder):
    chosen = cm.bench.load_instance(name)
    problem = chosen.problem()
    solution = cm.solve(problem, tol=max(tol, chosen.how["tol"]))
    begin = time.perf_counter()
    cm.certify(problem, solution.certificate.M, solution.certificate.dual)
    plain = time.perf_counter() - begin
    path = Path(folder) / "certificate.npz"
    cm.write_certificate(path, problem, solution=solution)
    verdict = cm.verify(path)
    scale = max(abs(solution.upper_bound), abs(solution.lower_bound))
    exact = float((verdict.upper - verdict.lower) / max(abs(verdict.upper), abs(verdict.lower)))
    return [
        name,
        problem.cone.d,
        f"{solution.gap:.2e}",
        f"{exact:.2e}",
        f"{(solution.lower_bound - float(verdict.lower)) / scale:.0e}",
        f"{(float(verdict.upper) - solution.upper_bound) / scale:.0e}",
        seconds(plain),
        seconds(verdict.seconds),
        f"{path.stat().st_size / 2**20:.2f}",
        "yes" if verdict.accepted else "NO",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--tol", type=float, default=1e-6)
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    warnings.simplefilter("ignore", cm.errors.GapWarning)
    print(surroundings() + "\n")
    with tempfile.TemporaryDirectory() as folder:
        rows = [row(name, arguments.tol, folder) for name in arguments.names]
    header = [
        "instance",
        "features",
        "gap",
        "proven gap",
        "loss below",
        "loss above",
        "float s",
        "proof s",
        "MiB",
        "accepted",
    ]
    print(markdown(header, rows))


if __name__ == "__main__":
    main()
