"""Files of small conic programs, and what the kernel and the second checker say of them."""

import copy
from fractions import Fraction

import numpy as np
import pytest
import second_checker as exact
from forgery import archive, packed

from convexmetric.certificates import kernel
from convexmetric.certificates.kernel import CertificateError

KINDS = ("zero", "nonnegative", "second_order", "semidefinite", "exponential", "power")


def entries(name, M):
    """A matrix by its entries, column by column."""
    j, i = np.nonzero(M.T)
    return {f"{name}_values": M[i, j], f"{name}_rows": i, f"{name}_columns": j}


def stated(q, A, b, cones, P=None, maximise=False, constant=None):
    """Description and arrays of a statement; a cone is a number of rows, sizes, or exponents."""
    table = dict.fromkeys(KINDS, 0)
    arrays = {"q": np.array(q, dtype=float), "b": np.array(b, dtype=float), **entries("a", np.array(A, dtype=float))}
    for kind, of in cones.items():
        table[kind] = of if isinstance(of, int) else len(of)
        if kind == "power":
            arrays["power_exponents"] = np.array(of)
        elif not isinstance(of, int):
            arrays[f"{kind}_sizes"] = np.array(of)
    problem = {"kind": "conic program", "variables": len(q), "cones": table}
    problem |= {"quadratic": P is not None, "maximise": maximise, "columns": []} | (
        {"constant": constant} if constant else {}
    )
    arrays |= {} if P is None else entries("p", np.array(P, dtype=float))
    document = {"problem": problem, "dual": {}, "claimed": {"lower": "-1000", "upper": "1000"}, "title": "a program"}
    return document | {"format": kernel.FORMAT, "version": kernel.VERSION, "sha256": {}}, arrays


def certificate(statement, x, z, h=None, spread=1.0):
    """The statement with a proof; all spreads are the same."""
    document, arrays = statement
    found = {"x": np.array(x, dtype=float), "z": np.array(z, dtype=float)}
    found |= {} if h is None else {"h": np.array(h, dtype=float)}
    spreads = ["z", *(["h"] if h is not None else []), *(["x"] if document["problem"]["cones"]["zero"] else [])]
    found |= {f"{name}_spreads": np.full(len(found[name]), spread) for name in spreads}
    return copy.deepcopy(document), {**arrays, **found}


def proved(contents, close=Fraction(1, 10**12)):
    """Bounds of the kernel, which those of the second checker are inside of, and close to."""
    found, true = kernel.prove([contents]), exact.judge(archive(packed(contents)))
    for mine, its, sign in ((found.lower, true.lower, 1), (found.upper, true.upper, -1)):
        assert mine is None or (its is not None and (its - mine) * sign >= 0)
        assert mine is None or abs(its - mine) <= (abs(its) + 1) * close
    return found


def both(contents):
    """What the kernel says, after the second checker has been asked: None if a file is refused."""
    try:
        found = proved(contents)
    except CertificateError:
        with pytest.raises(exact.Refused):
            exact.judge(archive(packed(contents)))
        return None
    return found


def changed(contents, **changes):
    """Arrays replaced, or left out where None."""
    arrays = contents[1] | changes
    return contents[0], {name: array for name, array in arrays.items() if array is not None}


def said(contents, *way, **values):
    """A table of the description changed."""
    document = copy.deepcopy(contents[0])
    table = document
    for key in way:
        table = table[key]
    table |= values
    return document, contents[1]


def without(contents, *way):
    """A table of the description without its last key."""
    document = copy.deepcopy(contents[0])
    table = document
    for key in way[:-1]:
        table = table[key]
    del table[way[-1]]
    return document, contents[1]


INTEGERS = ("tight", "follow", "equations", "unknowns")


def proof(statement, **hints):
    """The statement with what proves it; relations are matrices."""
    found = {}
    for name, of in hints.items():
        made = np.array(of, dtype=np.int64 if name.endswith(INTEGERS) else float)
        found |= entries(name, made) if name.endswith("relation") else {name: made}
    return copy.deepcopy(statement[0]), {**statement[1], **found}
