"""Solve instances, write their certified bounds into their files, and renew the table of README.md.

    python problems/certify.py [NAME ...] [--tol 1e-6] [--max-seconds S] [--certificates FOLDER]    these, or all
    python problems/certify.py [NAME ...] --verify-only --certificates FOLDER [--instance-tolerance RELATIVE]
    python problems/certify.py --table-only

Every solution is written as a certificate, which is proven in exact arithmetic: these bounds go into the file as
rationals. Where the kernel has no rule for a block of the problem, the rules of all blocks are tried at random
metrics, and the file has bounds in float64 alone, of grade *float*; once there is a rule, the next call makes them
rigorous.
``--certificates`` keeps the certificates, and ``--verify-only`` proves those of a folder again: that each is about the
instance of its name, and proves the rational bounds in its file.

Only the block ``[bounds]`` at the end of a file is rewritten, or added where there is none yet, after it was checked.
Bounds that contradict those in the file are not written: either the statement or a solver has changed its meaning. Nor
are bounds of grade float in place of rigorous ones. Open instances are solved only if they are named; with them stand
the seconds of the processor that were spent in vain.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import convexmetric as cm
from convexmetric import cones
from convexmetric.bench import read_instance
from convexmetric.certificates import verify_instance
from convexmetric.certificates.statement import describe

FOLDER = Path(__file__).resolve().parent
README = FOLDER / "README.md"
#: Keys of the one weight in the table.
WEIGHTS = ("C", "reg", "alpha", "push")
#: What a file without bounds is read with.
NOTHING_KNOWN = 'lower = -inf\nupper = inf\nsolver = "none"\ntol = 1e-6\niterations = 0\nversion = "none"\n'


def certify(name: str, tol: float | None, max_seconds: float | None, certificates: Path, named: bool = True) -> None:
    """Solve an instance, prove its bounds where the kernel has rules for its blocks, and rewrite them in its file.

    An open one is left as it is unless it was named.
    """
    path = FOLDER / f"{name}.toml"
    if not path.is_file():
        sys.exit(f"there is no file {path.name}")
    head, separator, bounds = path.read_text(encoding="utf-8").partition("\n[bounds]\n")
    head, bounds = head.rstrip("\n") + "\n", bounds if separator else NOTHING_KNOWN
    instance = read_instance(f"{head}\n[bounds]\n{bounds}", path.name)
    if instance.open and separator and not named:
        return
    tol = tol or instance.how["tol"]
    # Kept beside the file while it takes long: the next call goes on from there.
    state = path.with_suffix(".npz")
    with warnings.catch_warnings():
        # The gap is printed and goes into the file, small or not.
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        problem, start = instance.problem(), time.process_time()
        solution = cm.solve(problem, tol=tol, max_seconds=max_seconds, checkpoint=state)
        seconds = time.process_time() - start
    print(f"{name}\n{solution}", flush=True)
    missing = no_rule(problem)
    if not missing:
        verdict = cm.write_certificate(certificates / f"{name}.npz", problem, solution=solution, title=instance.title)
        print(verdict, flush=True)
        exact = f'exact_lower = "{verdict.lower}"\nexact_upper = "{verdict.upper}"\n'
        # A stalled solver may leave a dual point that proves more than it saw in it.
        lower = max(solution.lower_bound, float(verdict.lower))
        bounded = replace(solution.certificate, lower_bound=lower)
    elif instance.grade == "rigorous":
        sys.exit(f"{name}: {missing}, but the bounds in the file are rigorous; it is left as it was")
    else:
        print(f"grade float: {missing}", flush=True)
        exact, bounded = "", checked(instance.problem(), solution)
    if bounded.lower_bound > instance.upper_bound or bounded.upper_bound < instance.lower_bound:
        sys.exit(f"{name}: {bounded} contradicts the file, which is left as it was: {instance}")
    known = instance.upper_bound - instance.lower_bound
    if separator and instance.open and bounded.upper_bound - bounded.lower_bound >= known:
        sys.exit(f"{name}: {bounded} is no better than the file, which is left as it was: {instance}")
    block = (
        f"lower = {bounded.lower_bound!r}\n"
        f"upper = {bounded.upper_bound!r}\n"
        f"{exact}"
        f'solver = "{solution.solver}"\n'
        f"tol = {tol!r}\n"
        f"iterations = {solution.iterations}\n"
        f'version = "{cm.__version__}"\n'
    )
    text = f"{head}\n[bounds]\n{block}"
    if read_instance(text, path.name).open:
        text += f"processor_seconds = {seconds:.1f}\nwhy = {json.dumps(instance.how.get('why', 'not known'))}\n"
    path.write_text(text, encoding="utf-8")
    state.unlink(missing_ok=True)


def no_rule(problem: cm.MetricProblem) -> str:
    """Which block the kernel has no rule for; nothing if it has one for each."""
    try:
        describe(problem)
    except cm.errors.InputError as error:
        return str(error)
    return ""


def checked(problem: cm.MetricProblem, solution: cm.Solution) -> cm.Certificate:
    """Both bounds anew, on a problem stated anew, from a metric and a dual point; they rest on rules that are tried."""
    cm.check_problem(problem)
    return cm.certify(problem, solution.certificate.M, solution.certificate.dual)


def verify(name: str, certificates: Path, tolerance: float = 0.0) -> str:
    """Prove a certificate of the folder again; what is wrong with it, or nothing."""
    instance, path = cm.bench.load_instance(name), certificates / f"{name}.npz"
    try:
        verdict, _ = verify_instance(path, instance.problem(), tolerance=tolerance)
        print(verdict, flush=True)
    except cm.certificates.CertificateError as error:
        return str(error)
    if not verdict.accepted:
        return verdict.reason
    if verdict.claimed != (instance.exact_lower, instance.exact_upper):
        return "it claims other bounds than the file"
    return ""


def table(instances: Iterable[cm.bench.Instance]) -> str:
    """The table of README.md, made from the files alone."""
    lines = [
        "| name | statement | data | rows x features | comparisons | C, lambda, alpha or mu "
        "| lower bound | upper bound | gap | grade |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for instance in instances:
        rows, features = instance.data["shape"]
        steps = ", ".join(instance.data["preprocessing"])
        lines.append(
            f"| `{instance.name}` "
            f"| {', '.join(variant(instance))} "
            f"| {instance.data['set']}{' *' if instance.needs_data_folder else ''} ({steps}) "
            f"| {rows} x {features} "
            f"| {count(instance)} "
            f"| {weight(instance)} "
            f"| {instance.proven[0]:.10g} "
            f"| {instance.proven[1]:.10g} "
            f"| {'open, ' * instance.open}{instance.gap:.1e} "
            f"| {instance.grade} |"
        )
    return "\n".join(lines)


def open_table(instances: Iterable[cm.bench.Instance]) -> str:
    """The table of open instances in README.md."""
    lines = [
        "| name | lower bound | upper bound | gap | processor, s | why it is hard |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    lines += [
        f"| `{instance.name}` | {instance.proven[0]:.7g} | {instance.proven[1]:.7g} | {instance.gap:.1e} "
        f"| {instance.how['processor_seconds']:.3g} | {instance.how['why']} |"
        for instance in instances
        if instance.open
    ]
    return "\n".join(lines)


def count(instance: cm.bench.Instance) -> int | str:
    """Of triplets or pairs; rankings of one modality have none."""
    n = instance.data["shape"][0]
    if instance.statement == "PairMarginProblem.from_labels":
        return n * (n - 1) // 2
    return next((table["count"] for table in instance.tables.values() if "count" in table), "")


def weight(instance: cm.bench.Instance) -> str:
    """C, lambda, alpha or mu; of composed problems every block has its own."""
    found = [instance.parameters[key] for key in WEIGHTS if key in instance.parameters]
    return f"{found[0]:g}" if found else ""


def variant(instance: cm.bench.Instance) -> list[str]:
    """What the problem is made of: classes of its blocks, or that of a paper and what else it has beside its weight."""
    said = instance.parameters
    if "class" not in said:
        return [name for name in dict.fromkeys(classes(said)) if name not in cones.__all__]
    rest = {key: value for key, value in said.items() if key not in ("class", *WEIGHTS)}
    # Names of data that say no more than the class does are left out.
    found = [f"{key} = {json.dumps(value)}" for key, value in rest.items() if value not in (key, "y", "r")]
    if "projection" in instance.tables:
        found.append("{kind} projection to {r}".format(**instance.tables["projection"]))
    return [instance.statement, *found]


def classes(table: Any) -> list[str]:
    """Names of the classes of a composed problem, in the order of its file."""
    if isinstance(table, list):
        return [name for one in table for name in classes(one)]
    if not isinstance(table, dict):
        return []
    own = [table["class"]] if "class" in table else []
    return own + [name for value in table.values() for name in classes(value)]


def with_table(readme: str) -> str:
    """The text of README.md with the tables of the files as they are now."""
    instances = [read_instance(path.read_text(encoding="utf-8"), path.name) for path in sorted(FOLDER.glob("*.toml"))]
    for name, made in (("open", open_table), ("table", table)):
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, found, rest = readme.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            sys.exit(f"{README.name} has lost its markers {begin} and {end}")
        readme = f"{before}{begin}\n{made(instances)}\n{end}{after}"
    return readme


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Certify instances and renew the table of README.md.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="instances; all if none is named")
    parser.add_argument("--tol", type=float, help="relative gap; by default that of each file")
    parser.add_argument("--max-seconds", type=float, help="limit for each instance; the gap reached is written")
    parser.add_argument("--certificates", type=Path, help="folder where certificates are kept")
    parser.add_argument("--verify-only", action="store_true", help="prove the certificates of the folder again")
    parser.add_argument(
        "--instance-tolerance", type=float, default=0.0, dest="tolerance",
        help="with --verify-only: prove bounds for instances whose floats differ by so much, relative",
    )  # fmt: skip
    parser.add_argument("--table-only", action="store_true", help="renew the table from the files")
    arguments = parser.parse_args()
    kept: Path | None = arguments.certificates
    if kept is not None and not kept.is_dir():
        sys.exit(f"there is no folder {kept}")
    if arguments.verify_only:
        if kept is None:
            sys.exit("--verify-only needs --certificates FOLDER")
        names = arguments.names or sorted(path.stem for path in kept.glob("*.npz"))
        wrong = {name: reason for name in names if (reason := verify(name, kept, arguments.tolerance))}
        sys.exit("\n".join(f"{name}: {reason}" for name, reason in wrong.items()) or None)
    if not arguments.table_only:
        for name in arguments.names or sorted(path.stem for path in FOLDER.glob("*.toml")):
            with tempfile.TemporaryDirectory() as folder:
                certify(name, arguments.tol, arguments.max_seconds, kept or Path(folder), bool(arguments.names))
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except cm.errors.ConvexMetricError as error:
        sys.exit(str(error))
