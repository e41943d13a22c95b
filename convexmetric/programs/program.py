"""A paper's program in plain CVXPY, printed like a formula.

Import this module only where a program is made: it imports CVXPY, whose ``Problem`` is the base class here.
"""

from __future__ import annotations

import re
import warnings
from html import escape

import cvxpy as cp

from convexmetric.programs.printing import terms, tex, written

__all__ = ["Program"]

#: Names of numbers; CVXPY calls constants without a name by their value.
NAME = re.compile(r"[A-Za-z|]")


class Program(cp.Problem):
    """A CVXPY problem that states a program as its paper prints it.

    It is solved, changed and read like any other: ``program.solve()``, ``program.var_dict["W"].value``,
    ``program.param_dict["C"].value = 10``. Its constraints have labels.

    Parameters
    ----------
    objective : cvxpy.Expression
        Minimised.
    constraints : list of cvxpy.Constraint
    metric : cvxpy.Variable
        The metric, or the weights of a diagonal one, on the same features as :attr:`Solution.M
        <convexmetric.Solution.M>`.
    latex : str
        The program in LaTeX, for notebooks.
    """

    def __init__(
        self, objective: cp.Expression, constraints: list[cp.Constraint], metric: cp.Variable, latex: str
    ) -> None:
        with warnings.catch_warnings():
            # CVXPY advises to write many terms as one vector; here they stay separate so that they can be read.
            warnings.filterwarnings("ignore", "Objective contains too many subexpressions")
            super().__init__(cp.Minimize(objective), constraints)
        #: The metric's variable.
        self.metric: cp.Variable = metric
        self._latex = latex

    @property
    def given(self) -> dict[str, cp.Expression]:
        """Parameters and constants by name. Constants, such as the number of comparisons, cannot be changed."""
        leaves = [*self.parameters(), *self.constants()]
        return {leaf.name(): leaf for leaf in leaves if leaf.is_constant() and NAME.match(leaf.name())}

    def latex(self) -> str:
        """Return the program as a formula, with the current values of its parameters."""
        text = self._latex
        for name, number in self.param_dict.items():
            before = rf"(?<![\w\\{{])({re.escape(tex(name))} = )[-+.\w]+"
            text = re.sub(before, rf"\g<1>{number.value:g}", text) if number.is_scalar() else text
        return text

    def _repr_latex_(self) -> str:
        return self.latex()

    def _repr_html_(self) -> str:
        return f'<div class="math">{escape(self.latex())}</div>'

    def __str__(self) -> str:
        lines = ["minimize   " + "\n           + ".join(terms(self.objective.expr))]
        for at, constraint in enumerate(self.constraints):
            lines.append(f"{'subject to' if at == 0 else '':10} {written(constraint)}")
        lines += [f"{'':11}{variable.name()} >= 0" for variable in self.variables() if variable.attributes["nonneg"]]
        numbers = [
            f"{name} = {leaf.value:g}" for name, leaf in self.given.items() if leaf.is_scalar() and "[" not in name
        ]
        lines += [f"with       {', '.join(numbers)}"] if numbers else []
        return "\n".join(lines).replace("+ -", "- ")
