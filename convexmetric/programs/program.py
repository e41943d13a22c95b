"""A paper's program in plain CVXPY, printed as it is read.

Import this module where a program is made: it imports CVXPY, whose problem is the base class here.
"""

from __future__ import annotations

import re
import warnings

import cvxpy as cp

__all__ = ["Program"]

#: Patterns in CVXPY's output, and what is printed instead.
SPELLING = (
    (re.compile(r", None, False\)"), ")"),
    (re.compile(r"^0\.0 <= (\w+)$"), r"\1 >= 0"),
    (re.compile(r" \+ Promote\(-0\.0, \([\d, ]+\)\) >> 0"), " >> 0"),
    (re.compile(r"\breshape\((\w+), \(\d+,\), F\)"), r"\1"),
    (re.compile(r"quad_over_lin\((\w+), 1\.0\)"), r"sum_squares(\1)"),
    (re.compile(r"PnormApprox\((\w+), 2\)"), r"norm(\1)"),
    (re.compile(r"Pnorm\((\w+), 2\)"), r"norm(\1)"),
    (re.compile(r"psd_wrap\((\w+)\)"), r"\1"),
    (re.compile(r"PowerApprox\((.*), 2\.0\)"), r"square(\1)"),
    (re.compile(r"maximum\((.*), 0\.0\)"), r"pos(\1)"),
    (re.compile(r"(?<!\w)\((Sum\([^()]*\))\)"), r"\1"),
    (re.compile(r"(?<!\w)\((\w+ @ Delta\[[^()]*\])\)"), r"\1"),
    (re.compile(r" \+ -(?=[\w(])"), " - "),
)
#: Numbers of seven decimals or more, which are printed with six significant digits.
LONG = re.compile(r"\d+\.\d{7,}(e[-+]\d+)?")


class Program(cp.Problem):
    """A CVXPY problem that states what a paper prints.

    It is solved, changed and asked like any other: ``program.solve()``, ``program.var_dict["W"].value``,
    ``program.param_dict["C"].value = 10``. Its constraints carry labels.

    Parameters
    ----------
    objective : cvxpy.Expression
        Minimised.
    constraints : list of cvxpy.Constraint
    metric : cvxpy.Variable
        The metric, or the weights of a diagonal one, on the features that :attr:`Solution.M
        <convexmetric.Solution.M>` is about.
    latex : str
        The program in LaTeX, for notebooks.
    """

    def __init__(
        self, objective: cp.Expression, constraints: list[cp.Constraint], metric: cp.Variable, latex: str
    ) -> None:
        with warnings.catch_warnings():
            # CVXPY advises to write many terms as one vector; here they are kept apart to be read.
            warnings.filterwarnings("ignore", "Objective contains too many subexpressions")
            super().__init__(cp.Minimize(objective), constraints)
        self._metric, self._latex = metric, latex

    @property
    def metric(self) -> cp.Variable:
        """The metric's variable."""
        return self._metric

    def latex(self) -> str:
        """The program as a formula."""
        return self._latex

    def _repr_latex_(self) -> str:
        return self._latex

    def __str__(self) -> str:
        terms = self.objective.expr.args if isinstance(self.objective.expr, _Sum) else [self.objective.expr]
        lines = ["minimize   " + _spelled(terms[0])]
        lines += ["           + " + _spelled(term) for term in terms[1:]]
        for at, constraint in enumerate(self.constraints):
            lines.append(("subject to " if at == 0 else "           ") + _spelled(constraint))
        lines += [
            f"           {variable.name()} >= 0" for variable in self.variables() if variable.attributes["nonneg"]
        ]
        return "\n".join(lines).replace("+ -", "- ")


_Sum = type(cp.Variable() + cp.Variable())


def _spelled(stated: cp.Expression | cp.Constraint) -> str:
    text = str(stated)
    for found, instead in SPELLING:
        text = found.sub(instead, text)
    return LONG.sub(lambda number: f"{float(number.group()):.6g}", text)
