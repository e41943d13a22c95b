"""Seventeen methods of metric learning that the package was not made for, and a learned threshold: all proven.

    python examples/foreign_methods.py
    python examples/foreign_methods.py --only MMC GMML --folder certificates
    python examples/foreign_methods.py --programs

Each is stated by the public parts of the package, a class of its own where these do not suffice, or in CVXPY; solved;
written as a certificate; and proven by ``convexmetric verify`` in another process. The printed problem, in plain CVXPY,
is solved by CLARABEL for comparison. With ``--programs`` that program is also certified as it stands, which takes
minutes. The data come with scikit-learn. Prints a table.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import cvxpy as cp
from foreign import lists, pairs, shapes, triplets  # noqa: F401 - they enter their methods
from foreign.method import METHODS, Method

import convexmetric as cm

HEAD = ("#", "method", "how", "lines", "solver", "s", "proven gap", "CVXPY s", "difference", "rules", "verdict")


@dataclass(frozen=True)
class Row:
    """A method that was solved, proven and compared.

    Attributes
    ----------
    method : Method
    solver : str
    seconds, seconds_of_cvxpy : float
        Of statement and solve, each once; NaN where nothing was compared.
    lower, upper : float
        Proven bounds of the objective as it is printed.
    gap : float
        Proven relative gap of the stated problem.
    difference : float
        Of the value at our solution from CLARABEL's, over the size of that; NaN where nothing was compared.
    accepted : bool
        Whether ``convexmetric verify`` accepted the file.
    """

    method: Method
    solver: str
    seconds: float
    seconds_of_cvxpy: float
    lower: float
    upper: float
    gap: float
    difference: float
    accepted: bool

    def cells(self) -> tuple[str, ...]:
        """Cells of the table."""
        compared = self.difference == self.difference
        return (
            str(self.method.number),
            self.method.name,
            self.method.how,
            str(self.method.lines),
            self.solver,
            f"{self.seconds:.2f}",
            f"{self.gap:.0e}",
            f"{self.seconds_of_cvxpy:.2f}" if compared else "-",
            f"{self.difference:.0e}" if compared else "-",
            "kernel" if self.method.rules is None else f"--rules {self.method.rules.name}",
            "accepted, rigorous" if self.accepted else "refused",
        )


def proven(method: Method, folder: Path, *, compare: bool = True, shell: bool = True) -> Row:
    """Solve a method, write its certificate, verify it, in another process with ``shell``, and compare with CVXPY."""
    start, path = perf_counter(), folder / f"{method.name.replace(' ', '-').replace(',', '')}.npz"
    problem = method.state()
    if isinstance(problem, cp.Problem):
        solution, solver = cm.certify_program(problem, **method.options), method.options.get("solver", "CLARABEL")
    else:
        solution = cm.solve(problem)
        solver = solution.solver
    seconds = perf_counter() - start
    rules = {} if method.rules is None else {"rules": method.rules}
    verdict = cm.write_certificate(path, solution, **rules)
    accepted = verified_by_shell(path, method) if shell else cm.verify(path, **rules).accepted
    seconds_of_cvxpy, difference = float("nan"), float("nan")
    if compare and method.plain is not None:
        start = perf_counter()
        value = float(method.plain().solve(solver="CLARABEL"))
        seconds_of_cvxpy = perf_counter() - start
        difference = (method.as_printed(float(verdict.upper)) - value) / abs(value)
    bounds = method.printed(float(verdict.lower), float(verdict.upper))
    return Row(method, solver, seconds, seconds_of_cvxpy, *bounds, verdict.gap, difference, accepted)


def verified_by_shell(path: Path, method: Method) -> bool:
    """Whether ``convexmetric verify`` accepts a file of a method."""
    rules = [] if method.rules is None else ["--rules", str(method.rules)]
    command = [sys.executable, "-m", "convexmetric", "verify", str(path), *rules]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def of_programs(method: Method) -> tuple[str, ...]:
    """Cells of a method whose printed problem is certified as it stands in CVXPY."""
    if method.plain is None:
        return str(method.number), method.name, "-", "-"
    start = perf_counter()
    try:
        found = f"{cm.certify_program(method.plain()).gap:.0e}"
    except cm.errors.InputError as error:
        found = str(error)
    return str(method.number), method.name, f"{perf_counter() - start:.1f}", found


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Rows as a Markdown table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ("--",) * len(head), *rows])


def main() -> None:
    """Solve and prove the methods, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(METHODS), metavar="METHOD", help="names of methods")
    parser.add_argument("--folder", type=Path, help="where to leave the certificates")
    parser.add_argument("--programs", action="store_true", help="certify the programs in CVXPY instead")
    arguments = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as temporary, warnings.catch_warnings():
        # CLARABEL says of some programs that they may be inaccurate; the table shows how far.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for method in sorted(METHODS.values(), key=lambda each: each.number):
            if arguments.only is None or method.name in arguments.only:
                rows.append(of_programs(method) if arguments.programs else proven(method, folder).cells())
                print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    print(table(("#", "method", "s", "proven gap") if arguments.programs else HEAD, rows))


if __name__ == "__main__":
    main()
