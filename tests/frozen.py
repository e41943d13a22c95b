"""The instance library, solved and recorded: what test_frozen.py holds later versions against.

python tests/frozen.py --record [PATTERN ...]    solve these, or all, and write what comes into frozen.json
python tests/frozen.py [PATTERN ...]             solve them and print what differs from the file, and by how much
python tests/frozen.py --short                   the same for those that the ordinary suite solves

With one thread (OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1) and CONVEXMETRIC_DATA. Record anew only
what a change was meant to change, and commit the numbers together with it. The recorded seconds only say which solves
are slow, loading of compiled loops included; benchmarks/compare_checkouts.py compares seconds, in one run. The file has
null for an instance whose solve was given up at the limit (--limit, seconds of the processor), and for open ones, which
are not tried: nothing is held against it, and --record with its name and a higher limit tries again.
"""

import argparse
import json
import signal
import time
import warnings
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import scipy
from sklearn.utils.fixes import parse_version

import convexmetric as cm

FILE = Path(__file__).with_name("frozen.json")

#: Iterations may grow by so much, and by so many: other versions of BLAS round otherwise, which takes a step more or
#: less where there are few, and other turns where there are many. With SciPy before 1.16 L-BFGS takes half as many
#: again.
ITERATIONS_FACTOR, ITERATIONS_MORE = 1.25 if parse_version(scipy.__version__) >= parse_version("1.16") else 1.75, 3
#: Seconds of the processor after which a solve that is to be recorded is given up.
LIMIT_SECONDS = 60.0
#: Seconds of the processor, by the records, that the ordinary suite may take for all its solves, and for one of them.
SHORT_SECONDS, SHORT_SOLVE = 12.0, 1.0
#: Parameters of which every value counts for the kind of an instance; of others it counts that they are there.
VALUES = ("measure", "penalty", "kernel", "diagonal", "X", "balanced")


class TooLong(BaseException):
    """The processor was used for longer than allowed; no ``Exception``, which a solver might take for its own."""


@contextmanager
def processor_limit(seconds):
    """Raise :class:`TooLong` after so many seconds of the processor; None for no limit.

    Again every second, as what is raised within a callback from C is only printed.
    """

    def stop(*_):
        raise TooLong

    if seconds is None:
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def classes(table):
    """All classes that the tables of a composed problem name, and its other keys."""
    below = [one for value in table.values() for one in (value if isinstance(value, list) else [value])]
    own = {table["class"]} if "class" in table else {*table}
    return own.union(*(classes(one) for one in below if isinstance(one, dict)))


def kinds(instance):
    """What an instance is about but for its data and weights: classes, parameters; and the solver that certified it."""
    said = instance.parameters
    about = (
        {(instance.statement, key, said[key] if key in VALUES else True) for key in said} if "class" in said else set()
    )
    about |= {(instance.statement, "hard margins")} if said.get("C") == float("inf") else set()
    return about | {("any", name) for name in classes(said)} | {("solver", instance.how["solver"])}


def short(records):
    """Names for the ordinary suite: the quickest instance of every kind, then the quickest others while there is time.

    Kinds are taken by the seconds of their quickest instance, so that one that has several stands for all of them;
    one whose quickest takes longer than ``SHORT_SOLVE`` is left out.
    """
    found = {name: record["seconds"] for name, record in records.items() if record is not None}
    seconds = {name: took for name, took in found.items() if took <= SHORT_SOLVE}
    quickest, covered, chosen = sorted(seconds, key=seconds.__getitem__), set(), []
    for name in quickest:
        found = kinds(cm.bench.load_instance(name))
        if not found <= covered:
            covered |= found
            chosen.append(name)
    left = SHORT_SECONDS - sum(seconds[name] for name in chosen)
    for name in (name for name in quickest if name not in chosen):
        left -= seconds[name]
        if left < 0.0:
            break
        chosen.append(name)
    return sorted(chosen)


def solved(name, limit=None):
    """What a record has, from a solve made now at the tolerance that the file's bounds were asked for.

    None if it takes longer than ``limit`` seconds of the processor.
    """
    instance = cm.bench.load_instance(name)
    problem, start = instance.problem(), time.process_time()
    try:
        with warnings.catch_warnings(action="ignore", category=cm.errors.GapWarning), processor_limit(limit):
            solution = cm.solve(problem, tol=instance.how["tol"])
    except TooLong:
        return None
    seconds = time.process_time() - start
    if limit is not None and seconds > limit:
        return None
    return {
        "lower": solution.lower_bound,
        "upper": solution.upper_bound,
        "status": solution.status,
        "iterations": solution.iterations,
        "turns": len(solution.turns),
        "solver": solution.solver,
        "seconds": round(seconds, 3),
    }


def differences(name, recorded, found):
    """In words, what of a solve is outside the limits; nothing if it is as recorded.

    The optimum lies in the interval [exact_lower, exact_upper] that was proven for the instance (in [lower, upper]
    where the checker has no rule for a block), so that certified bounds overlap it, and an upper bound whose gap is at
    most tol is above it by no more than tol. The status is the recorded one, and the solver one that the default takes.
    Iterations may be fewer, and are not compared where solvers took turns.
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
        wrong += [] if found["solver"] in asked else ["a solver that the default does not take"]
    # Where solvers take turns, seconds decide, and not the same ones on every machine.
    if (
        found["turns"] == recorded["turns"] == 1
        and found["solver"] == recorded["solver"]
        and found["iterations"] > most
    ):
        wrong.append(f"more than {most:g} iterations")
    return f"{name}: {', '.join(wrong)}\n  recorded: {recorded}\n  now:      {found}" if wrong else ""


def change(recorded, found):
    """How far a solve that is within the limits is from the record."""
    moved = max(abs(found[key] / recorded[key] - 1.0) for key in ("lower", "upper"))
    return f"as recorded; bounds moved by {moved:.0e}, iterations by {found['iterations'] - recorded['iterations']}"


def read():
    """The records by name; None for what was not solved in time."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="of names; all if none is given")
    parser.add_argument("--short", action="store_true", help="only those that the ordinary suite solves")
    parser.add_argument("--record", action="store_true", help="write what comes into the file")
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="of a solve to record (default %(default)s)")
    arguments = parser.parse_args()
    try:
        names = cm.bench.chosen_instances(arguments.patterns or ["*"])
    except cm.errors.InputError as error:
        parser.error(str(error))
    # Records of instances that left the library go.
    library = cm.bench.list_problems()
    records = {name: record for name, record in read().items() if name in library} if FILE.exists() else {}
    if arguments.short:
        names = [name for name in short(records) if name in names]
    for name in names:
        if not arguments.record and records.get(name) is None:
            print(f"{name}: not recorded", flush=True)
            continue
        found = None
        if not cm.bench.load_instance(name).open:
            found = solved(name, arguments.limit if arguments.record else None)
        print(f"{name}: {found or 'not solved in time'}", flush=True)
        if arguments.record:
            records[name] = found
            FILE.write_text(json.dumps(dict(sorted(records.items())), indent=1) + "\n", encoding="utf-8")
        else:
            print(differences(name, records[name], found) or f"  {change(records[name], found)}", flush=True)


if __name__ == "__main__":
    main()
