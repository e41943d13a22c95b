"""A third of the instance library, solved and recorded: what test_frozen.py holds later versions against.

python tests/frozen.py --record [NAME ...]    solve these, or all, and write what comes into frozen.json
python tests/frozen.py [NAME ...]             solve them and print what differs from the file, and by how much

With one thread (OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1) and CONVEXMETRIC_DATA. Record anew only
what a change was meant to change, and commit the numbers together with it. The recorded seconds only say which solves
are slow, loading of compiled loops included; benchmarks/compare_checkouts.py compares seconds, in one run.
"""

import argparse
import json
import time
import warnings
from fractions import Fraction
from pathlib import Path

import convexmetric as cm

FILE = Path(__file__).with_name("frozen.json")

#: Every method, statement and finishing solver of the library (a test says so); quick ones where there is a choice, and
#: of every family the easy and the hard weights.
NAMES = (
    "blocks-budget-root-wine",
    "blocks-constant-wine",
    "blocks-itakura-saito-wine",
    "blocks-itml-breast-cancer-diagonal",
    "blocks-l1-logdet-iris",
    "blocks-log-wine",
    "blocks-logistic-breast-cancer",
    "blocks-prior-auc-wine",
    "blocks-prior-identity-triplets-wine",
    "blocks-distance-wine",
    "blocks-sum-rankings-pairs-wine",
    "blocks-trace-distance-wine",
    "blocks-two-groups-wine",
    "blocks-zero-wine",
    "cross-modal-wikipedia-image-text-a86-b7.1",
    "cross-modal-wikipedia-text-image-a86-b7.1",
    "cross-modal-wikipedia-text-image-centre-a3000-b1",
    "large-margin-breast-cancer-diagonal",
    "large-margin-wine",
    "large-margin-wine-diagonal",
    "pairs-breast-cancer-2000-rbf",
    "pairs-breast-cancer-2000-trace-margins",
    "pairs-digits-2000",
    "pairs-digits-4000-trace",
    "pairs-wine-1000",
    "pairs-wine-1000-margins",
    "pairs-wine-1000-rbf",
    "pairs-wine-all",
    "pairs-wine-all-trace-margins",
    "pairs-wine-all-unbalanced",
    "ranking-auc-balance-scale-c100",
    "ranking-auc-breast-cancer-c100",
    "ranking-auc-breast-cancer-c100-frobenius",
    "ranking-auc-wine-c1",
    "ranking-auc-wine-c100-diagonal",
    "ranking-auc-wine-c100-frobenius",
    "ranking-auc-wine-c10000",
    "ranking-err-wine-c100",
    "ranking-knn-balance-scale-c1",
    "ranking-knn-breast-cancer-c100",
    "ranking-knn-wine-c100",
    "ranking-map-breast-cancer-c1",
    "ranking-map-breast-cancer-c100-diagonal",
    "ranking-map-ionosphere-c1",
    "ranking-map-wine-c100",
    "ranking-map-wine-c100-frobenius",
    "ranking-map-wine-c10000",
    "ranking-mrr-balance-scale-c1",
    "ranking-mrr-breast-cancer-c100",
    "ranking-mrr-wine-c100",
    "ranking-ndcg-breast-cancer-c100",
    "ranking-ndcg-ionosphere-c100",
    "ranking-ndcg-wine-c100",
    "ranking-ndcg-log2-wine-c100",
    "ranking-precision-breast-cancer-c10000",
    "ranking-precision-ionosphere-c1",
    "ranking-precision-wine-c100",
    "relative-digits-2000",
    "relative-digits-5000",
    "relative-webkb-university-2000",
    "relative-wine-1000",
    "relative-wine-1000-rbf",
    "relative-wine-hard",
    "relative-wine-hard-rbf",
    "triplets-breast-cancer-10x10-1e-4",
    "triplets-breast-cancer-10x10-diagonal-1e-2",
    "triplets-cora-g-gaussian-300-1e-2",
    "triplets-digits-10x10-1e-3",
    "triplets-digits-20x20-1e-2",
    "triplets-webkb-linqs-d-1e-2",
    "triplets-wine-10x10-1e-2",
    "triplets-wine-10x10-1e-4",
    "triplets-wine-10x10-intra-1e-2",
)

#: Iterations may grow by so much, and by so many: other versions of BLAS round otherwise, which takes a step more or
#: less where there are few, and other turns where there are many.
ITERATIONS_FACTOR, ITERATIONS_MORE = 1.25, 2
#: Seconds of the processor that the solves of the ordinary suite may take each; others are slow.
QUICK_SECONDS = 2.0


def solved(name):
    """What a record has, from a solve made now at the tolerance that the file's bounds were asked for."""
    instance = cm.bench.load_instance(name)
    problem, start = instance.problem(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        solution = cm.solve(problem, tol=instance.how["tol"])
    return {
        "lower": solution.lower_bound,
        "upper": solution.upper_bound,
        "status": solution.status,
        "iterations": solution.iterations,
        "solver": solution.solver,
        "seconds": round(time.process_time() - start, 3),
    }


def differences(name, recorded, found):
    """In words, what of a solve is outside the limits; nothing if it is as recorded.

    The optimum lies in the interval [exact_lower, exact_upper] that was proven for the instance (in [lower, upper]
    where the checker has no rule for a block), so that certified bounds overlap it, and an upper bound whose gap is at
    most tol is above it by no more than tol. The status is the recorded one, iterations may be fewer, and the solver
    may be one that the default asks before: near its tolerance the rounding of the processor decides which one ends.
    """
    instance = cm.bench.load_instance(name)
    tol, proven = instance.how["tol"], f"the proven [{instance.lower_bound!r}, {instance.upper_bound!r}]"
    known = (instance.exact_lower, instance.exact_upper)
    floats = (instance.lower_bound, instance.upper_bound)
    least, largest = map(Fraction, floats if None in known else known)
    # Rationals and floats, infinite ones among them, are compared exactly.
    lower, upper = found["lower"], found["upper"]
    most = ITERATIONS_FACTOR * recorded["iterations"] + ITERATIONS_MORE
    wrong = []
    if lower > largest or upper < least:
        wrong.append(f"its bounds contradict {proven}")
    elif upper > largest + Fraction(tol) * abs(largest):
        wrong.append(f"its upper bound is more than {tol:g} above {proven}")
    elif lower < least - Fraction(tol) * abs(least):
        wrong.append(f"its lower bound is more than {tol:g} below {proven}")
    wrong += ["another status"] if found["status"] != recorded["status"] else []
    if found["solver"] != recorded["solver"]:
        asked = [step.name for step in cm.explain(instance.problem(), measure=False).steps]
        before = asked[: asked.index(recorded["solver"])] if recorded["solver"] in asked else []
        wrong += [] if found["solver"] in before else ["another solver"]
    if found["iterations"] > most:
        wrong.append(f"more than {most:g} iterations")
    return f"{name}: {', '.join(wrong)}\n  recorded: {recorded}\n  now:      {found}" if wrong else ""


def change(recorded, found):
    """How far a solve that is within the limits is from the record."""
    moved = max(abs(found[key] / recorded[key] - 1.0) for key in ("lower", "upper"))
    return f"as recorded; bounds moved by {moved:.0e}, iterations by {found['iterations'] - recorded['iterations']}"


def read():
    """The records by name."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of this selection; all if none is named")
    parser.add_argument("--record", action="store_true", help="write what comes into the file")
    arguments = parser.parse_args()
    if not set(arguments.names) <= set(NAMES):
        parser.error(f"not in the selection: {', '.join(sorted(set(arguments.names) - set(NAMES)))}")
    # Records of instances that left the selection go.
    records = {name: record for name, record in read().items() if name in NAMES} if FILE.exists() else {}
    for name in arguments.names or NAMES:
        found = solved(name)
        print(f"{name}: {found}", flush=True)
        if arguments.record:
            records[name] = found
            FILE.write_text(json.dumps(dict(sorted(records.items())), indent=1) + "\n", encoding="utf-8")
        elif name not in records:
            print("  not recorded", flush=True)
        else:
            print(differences(name, records[name], found) or f"  {change(records[name], found)}", flush=True)


if __name__ == "__main__":
    main()
