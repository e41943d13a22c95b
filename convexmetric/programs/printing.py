"""CVXPY's expressions and constraints as text that reads like a formula.

CVXPY prints its expression trees, with its internal classes and every number in full. Here the sum of a product of two
matrices is an inner product ``<D, M>``, a named parameter or constant is its name, and an expression without a rule
below is printed as a call of CVXPY's class.
"""

from __future__ import annotations

import cvxpy as cp

#: Names of the functions with which users make CVXPY's classes.
CALLED = {"Sum": "sum", "Trace": "trace", "QuadForm": "quad_form"}
OF_POWER: dict[tuple[str, ...], str] = {("Power", "2"): "square", ("Power", "1/2"): "sqrt", ("Pnorm", "2"): "norm"}
SIGNS = {"multiply": "*", "MulExpression": "@", "DivExpression": "/"}
#: Classes that change only the shape of their argument, or what CVXPY assumes of it.
SILENT = {"Promote", "broadcast_to", "reshape", "psd_wrap"}
#: Precedence of an expression: sums, products, and all else.
SUM, PRODUCT, ATOM = range(3)
GREEK = {"alpha", "beta", "gamma", "lambda", "mu", "rho", "tau", "xi"}


def written(constraint: cp.Constraint) -> str:
    """Return a constraint with its label as text; a side without variables stands on the right."""
    kind, sides = type(constraint).__name__, [_read(side) for side in constraint.args]
    if kind == "PSD":
        text = f"{sides[0]} >> 0"
    elif kind == "Equality":
        text = " == ".join(sides)
    elif kind == "Inequality":
        text = " <= ".join(sides) if constraint.args[0].variables() else " >= ".join(reversed(sides))
    else:
        return str(constraint)
    return text if constraint.label is None else f"{constraint.label}: {text}"


def terms(e: cp.Expression) -> list[str]:
    """Return the terms of a sum, without the zeros that comparisons with 0 leave in CVXPY's sums."""
    parts = e.args if type(e).__name__ == "AddExpression" else [e]
    return [_read(part, PRODUCT) for part in parts if not part.is_zero()] or ["0"]


def tex(name: str) -> str:
    r"""Return the name of a number of a program in LaTeX: ``gamma_-1`` becomes ``\gamma_{-1}``."""
    letter, _, index = name.partition("_")
    spelled = f"\\{letter}" if letter in GREEK else f"\\mathrm{{{letter}}}" if len(letter) > 1 else letter
    return spelled + (f"_{{{index}}}" if len(index) > 1 else f"_{index}" if index else "")


def _read(e: cp.Expression, inside: int = SUM) -> str:
    """Return the text of an expression, in brackets if its precedence is lower than that of ``inside``."""
    text, level = _form(e)
    return f"({text})" if level < inside else text


def _form(e: cp.Expression) -> tuple[str, int]:
    """Return the text of an expression, and its precedence."""
    kind, args = type(e).__name__, e.args
    if isinstance(e, cp.Constant) and e.is_scalar() and e._name is None:
        return f"{float(e.value):g}", ATOM
    if not args:
        return (f"array{e.shape}" if "\n" in e.name() else e.name()), ATOM
    if kind in SILENT:
        return _form(args[0])
    if kind == "AddExpression":
        return " + ".join(terms(e)).replace(" + -", " - "), SUM
    if kind == "NegExpression":
        return f"-{_read(args[0], PRODUCT)}", PRODUCT
    if kind in SIGNS:
        right = PRODUCT if kind == "multiply" and args[0].is_scalar() else ATOM
        return f"{_read(args[0], PRODUCT)} {SIGNS[kind]} {_read(args[1], right)}", PRODUCT
    of = args[0] if kind == "Sum" and e.is_scalar() else e
    if isinstance(of, cp.multiply) and of.args[0].shape == of.args[1].shape:
        return f"<{', '.join(map(_read, of.args))}>", ATOM
    if kind.endswith("index"):
        return _read(args[0], ATOM) + e.name()[len(args[0].name()) :], ATOM
    texts = [_read(arg) for arg in args]
    if kind == "quad_over_lin" and texts[1] == "1":
        return f"sum_squares({texts[0]})", ATOM
    if kind == "maximum" and texts[1:] == ["0"]:
        return f"pos({texts[0]})", ATOM
    data = [str(item) for item in e.get_data() or () if item is not None and item is not False]
    called = OF_POWER.get((kind.removesuffix("Approx"), *data[:1]))
    return f"{called or CALLED.get(kind, kind)}({', '.join(texts if called else [*texts, *data])})", ATOM
