"""A method: what is solved and proven, and the same problem in plain CVXPY to compare with."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cvxpy as cp

#: All methods, by their names, in the order of their numbers.
METHODS: dict[str, Method] = {}


@dataclass
class Method:
    """A method of metric learning.

    Attributes
    ----------
    number : int
        Its number in the table, which variants share.
    name, source, how : str
        Name, paper, and by which blocks it is stated.
    state : callable
        Makes the problem: a :class:`convexmetric.MetricProblem`, or a program of CVXPY, which
        ``convexmetric.certify_program`` takes.
    blocks : tuple of class
        Classes of the method's own.
    as_printed : callable
        From a bound of the stated problem to one of the objective as the paper prints it.
    rules : path or None
        File of rules of proof that the kernel does not have.
    options : dict
        Of ``certify_program``, for a program of CVXPY.
    slow : bool
        Whether it takes more than a few seconds.
    plain : callable or None
        Makes the printed problem in CVXPY alone; None where no statement of this size exists.
    """

    number: int
    name: str
    source: str
    how: str
    state: Callable[[], Any]
    blocks: tuple[type, ...] = ()
    as_printed: Callable[[float], float] = float
    rules: Path | None = None
    options: dict[str, Any] = field(default_factory=dict)
    slow: bool = False
    plain: Callable[[], cp.Problem] | None = field(default=None, init=False)

    def printed(self, lower: float, upper: float) -> tuple[float, float]:
        """Bounds of the objective as it is printed, from those of the stated problem."""
        low, high = sorted((self.as_printed(lower), self.as_printed(upper)))
        return low, high

    def in_cvxpy(self, plain: Callable[[], cp.Problem]) -> Callable[[], cp.Problem]:
        """Decorator: the printed problem in CVXPY."""
        self.plain = plain
        return plain

    @property
    def lines(self) -> int:
        """Lines of code of the method and its own classes and rules, without docstrings, comments and blank lines."""
        own = [inspect.getsource(one) for one in (self.state, *self.blocks)]
        return sum(code_lines(source) for source in own) + (
            code_lines(self.rules.read_text("utf-8")) if self.rules else 0
        )


def method(number: int, name: str, source: str, how: str, **options: Any) -> Callable[[Callable[[], Any]], Method]:
    """Decorator: enter a function that states a method into :data:`METHODS`."""

    def entered(state: Callable[[], Any]) -> Method:
        METHODS[name] = Method(number, name, source, how, state, **options)
        return METHODS[name]

    return entered


def code_lines(source: str) -> int:
    """Lines of code of a function, a class or a file: no docstrings, comments, blank lines, decorators or imports."""
    tree = ast.parse(textwrap.dedent(source))
    left_out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            left_out |= set(range(node.lineno, node.end_lineno + 1))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node) is not None:
            left_out |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
        if isinstance(node, ast.FunctionDef) and any("method" in ast.unparse(one) for one in node.decorator_list):
            left_out |= set(range(node.decorator_list[0].lineno, node.lineno))
    lines = enumerate(textwrap.dedent(source).splitlines(), 1)
    return sum(
        number not in left_out and bool(line.strip()) and not line.strip().startswith("#") for number, line in lines
    )
