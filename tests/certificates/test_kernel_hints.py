"""Conic programs by relations, pivots, held unknowns, tight rows and charges, in the kernel and the second checker."""

from fractions import Fraction

import numpy as np
import pytest
import second_checker as exact
from conic_files import both, entries, proof, proved, said, stated
from forgery import archive, packed
from test_kernel_bounds import certificate

from convexmetric.certificates.kernel import Arrays, Ball, CertificateError, ConicProgram, NotProven
from convexmetric.certificates.kernel.conic import exactly_semidefinite
from convexmetric.certificates.kernel.systems import Sparse


def wide(**changes):
    """Minimise (x - y)^2 / 2 + x + y + w with x + y = 1, x >= 0, y >= 0: 1; P is not symmetric.

    The equation stands there twice, w >= 0 and w <= 0, and a variable v of no cost is not negative.
    """
    P = [[1, 0, 0, 0], [-2, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    A = [[1, 1, 0, 0], [2, 2, 0, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 0], [0, 0, 2, 0], [0, 0, 0, -1]]
    statement = {"q": [1, 1, 1, 0], "A": A, "b": [1, 2, 0, 0, 0, 0, 0], "cones": {"zero": 2, "nonnegative": 5}, "P": P}
    hints = {
        # Equations: 0, 1, and the tight rows 4 and 5; 1 follows from 0, 2 from 3, of which w is the pivot.
        "tight": [4, 5],
        "x": [0.25, 0.5, 7, 3],
        "x_spreads": [1, 1, 9, 0],
        "x_follow": [1, 2],
        "x_relation": [[-2, 0], [1, 0], [0, 2], [0, 1]],
        "x_pivot_equations": [3],
        "x_pivot_unknowns": [2],
        # Columns x, y, w and v; v is idle, and of w the multiplier 5 is the pivot.
        "z": [-1, 0, 0, 0, 1 - 2.0**-30, 0, 0],
        "z_spreads": [1, 0, 0, 0, 1, 1, 0],
        "z_pivot_equations": [2],
        "z_pivot_unknowns": [4],
        "h": [0.5, 0.5, 0, 0],
        "h_spreads": [1, 1, 0, 0],
    }
    return filled(statement, hints, changes)


def filled(statement, hints, changes):
    """A file with changes, None for what is left out."""
    given = {name: of for name, of in ({**statement, **hints} | changes).items() if of is not None}
    own = {name: given.pop(name) for name in ("q", "A", "b", "cones", "P") if name in given}
    document, arrays = proof(stated(**own), **given)
    document["problem"]["columns"] = [["x", 0, 1], ["y", 1, 0], ["x", 1, len(own["q"]) - 1]]
    return document, arrays


def charged(**changes):
    """Minimise x^2 / 2 - y with |x| <= 2, y = x; the curvature lacks 2^-10, and is charged."""
    statement = {"q": [0, -1], "A": [[1, -1], [0, 0], [1, 0]], "b": [0, 2, 0], "P": [[1, 0], [0, -(2.0**-10)]]}
    statement["cones"] = {"zero": 1, "second_order": [2]}
    hints = {"x": [1, 0.5], "x_spreads": [0, 1], "z": [-1, 0, 0], "z_spreads": [1, 0, 0], "h": [1, 0]}
    return filled(statement, hints | {"h_spreads": [1, 0], "charges": [0, 2.0**-9]}, changes)


def alike():
    """Minimise x + y + 2 w with x + y + w = 1, x + y >= 0, w >= 0: 1; the columns of x and y are equal."""
    statement = {"q": [1, 1, 2], "A": [[1, 1, 1], [-1, -1, 0], [0, 0, -1]], "b": [1, 0, 0]}
    statement["cones"] = {"zero": 1, "nonnegative": 2}
    hints = {"tight": [2], "x": [0.5, 0.25, 1], "x_spreads": [1, 1, 1], "z": [-1, 0, 1 - 1e-9], "z_spreads": [1, 0, 1]}
    return filled(statement, hints | {"z_follow": [1], "z_relation": [[-1], [1], [0]]}, {})


def at_zero():
    """Minimise t + w with x = 0, and t and x where only zeros are: heads, corners, and triples; w >= -1: -1."""
    A = np.zeros((12, 3))
    A[[2, 6, 8, 11], 0], A[[1, 4, 5, 7, 9, 10], 1], A[3, 2], A[0, 0] = -1.0, -1.0, -1.0, 1.0
    cones = {"zero": 1, "second_order": [2], "semidefinite": [2], "exponential": 1, "power": [0.5]}
    tight = [1, 2, 4, 5, 6, 7, 8, 9, 10, 11]
    relation = np.zeros((11, 9))
    for k, row in enumerate(tight[1:]):
        relation[k + 2, k], relation[0 if A[row, 0] else 1, k] = 1.0, 1.0 if A[row, 0] else -1.0
    hints = {"tight": tight, "x": [0.5, 1, -1 + 1e-9], "x_spreads": [1, 1, 0]}
    hints |= {"x_follow": list(range(2, 11)), "x_relation": relation}
    z, spreads = np.zeros(12), np.zeros(12)
    z[[1, 3, 5]], spreads[[1, 3, 5]] = [0.4, 1.1, 0.5], 1.0
    statement = {"q": [0, 1, 1], "A": A, "b": 1.0 * (np.arange(12) == 3), "cones": cones}
    return filled(statement, hints | {"z": z, "z_spreads": spreads}, {})


EXACTLY = {
    "wide": (wide, 1, 1 + Fraction(1, 4) ** 2 / 2, 1),
    "charged": (
        charged,
        -Fraction(1, 2) - Fraction(4, 2**10),
        -Fraction(1, 2) - Fraction(1, 2**11),
        -Fraction(512, 1023),
    ),
    "alike": (alike, 1, 1, 1),
    "at zero": (at_zero, -1, -1 + Fraction(1e-9 - 1) + 1, -1),
}


@pytest.mark.parametrize("name", EXACTLY)
def test_programs_with_hints_are_proven_exactly(name):
    make, lower, upper, _ = EXACTLY[name]
    found = exact.judge(archive(packed(make())))
    # Up to the digits of bounds.
    assert lower - Fraction(1, 10**15) <= found.lower <= lower
    assert upper <= found.upper <= upper + Fraction(1, 10**15)
    assert not proved(make(), Fraction(1, 10**13)).reason


def test_charges_cost_half_their_sum_by_the_squares_of_bounds():
    assert both(charged(charges=[0, 2.0**-10 - 2.0**-40])).lower is None
    # Without the cone's line nothing bounds them; or from one side alone.
    cones = {"zero": 1, "nonnegative": 2}
    for change in (
        {"A": [[1, -1], [0, 0], [0, 0]]},
        {"A": [[1, -1], [1, 0], [0, 0]], "cones": cones, "b": [0, 2, 2]},
    ):
        found = both(charged(**change))
        assert found.lower is None
        assert "charged is not proven to be bounded" in found.reason
    assert both(charged(A=[[1, -1], [1, 0], [-1, 0]], cones=cones, b=[0, 2, 2])).lower is not None


def test_every_variable_that_is_charged_is_bounded():
    document, arrays = stated([0, 0], [[1, 0], [-1, 0]], [2, 1], {"nonnegative": 2})
    program = ConicProgram(document["problem"], Arrays(arrays))
    found, nothing = program.charge(np.array([3.0, 0.0])), program.charge(np.zeros(2))
    assert 6 <= found.upper() <= 6 + Fraction(1, 10**12)
    assert (nothing.mid, nothing.rad) == (0.0, 0.0)
    for charges in ([0.0, 1.0], [1.0, 1.0]):
        with pytest.raises(NotProven, match="charged is not proven to be bounded"):
            program.charge(np.array(charges))


UNPROVEN = {
    "a relation that does not hold": ({"x_relation": [[-1, 0], [1, 0], [0, 2], [0, 1]]}, "upper"),
    "a relation of the sides alone": ({"b": [1, 3, 0, 0, 0, 0, 0]}, "upper"),
    "a relation with another equation that follows": ({"x_relation": [[-2, 0], [1, 0], [1, 2], [0.5, 1]]}, "upper"),
    "a relation without its equation": ({"x_relation": [[-2, 0], [0, 0], [0, 2], [0, 1]]}, "upper"),
    "dependent equations": ({"x_follow": [2], "x_relation": [[0], [0], [2], [1]]}, "upper"),
    "no pivot, and nothing that moves": (
        {"x_spreads": [1, 1, 0, 0], "x_pivot_equations": None, "x_pivot_unknowns": None},
        "upper",
    ),
    "a pivot of zero": ({"x_pivot_unknowns": [3]}, "upper"),
    "coupled pivots": ({"x_pivot_equations": [0, 3], "x_pivot_unknowns": [0, 1]}, "upper"),
    "slack outside": ({"x": [2, -1, 7, 3]}, "upper"),
    "a dual point outside": ({"z": [-1, 0, 0, 0, 0, 2.0**-30, -1]}, "lower"),
    "an equation of held unknowns": (
        {"z_spreads": [1, 0, 0, 0, 0, 0, 0], "z_pivot_equations": None, "z_pivot_unknowns": None},
        "lower",
    ),
    "not convex": ({"P": [[1, 0, 0, 0], [-3, 1, 0, 0], [0] * 4, [0] * 4]}, "lower"),
    "not convex where a variable stands alone": (
        {"P": [[1, 0, 0, 0], [-2, 1, 0, 0], [0] * 4, [0, 0, 0, -1e-300]]},
        "lower",
    ),
    "a pivot that leaves too little": ({"z_pivot_equations": [0], "z_pivot_unknowns": [0]}, "lower"),
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_what_does_not_hold_is_not_proven(name):
    changes, side = UNPROVEN[name]
    found = both(wide(**changes))
    lower, upper = found.lower, found.upper
    assert (lower if side == "lower" else upper) is None
    assert lower is None or upper is None or lower <= upper


REFUSED = {
    "tight rows of none": {"tight": []},
    "a tight equation": {"tight": [1, 5]},
    "tight rows beyond": {"tight": [7]},
    "tight rows twice": {"tight": [5, 5]},
    "no follower": {"x_follow": [], "x_relation": [[], [], [], []]},
    "no pivots": {"x_pivot_equations": [], "x_pivot_unknowns": []},
    "a follower twice": {"x_follow": [1, 1]},
    "a follower beyond": {"x_follow": [1, 4]},
    "no relation": {"x_relation": None},
    "a relation too many": {"x_relation": [[-2, 0, 1], [1, 0, 0], [0, 2, 0], [0, 1, 0]]},
    "a relation of nothing": {"x_follow": None},
    "pivots twice": {"x_pivot_equations": [3, 3], "x_pivot_unknowns": [2, 3]},
    "unknowns twice": {"x_pivot_equations": [0, 3], "x_pivot_unknowns": [2, 2]},
    "a pivot of a follower": {"x_pivot_equations": [1], "x_pivot_unknowns": [0]},
    "pivots too few": {"x_pivot_unknowns": []},
    "a pivot beyond": {"x_pivot_unknowns": [4]},
    "unknowns of no pivot": {"x_pivot_equations": None},
    "negative spreads": {"x_spreads": [1, 1, -9, 0]},
    "negative charges": {"charges": [0, 0, -1, 0]},
    "charges too few": {"charges": [0]},
    "charges of no form": {"P": None, "h": None, "h_spreads": None, "charges": [0, 0, 0, 0]},
    "an array beside": {"y": [1]},
    "spreads of no metric": {"metric_spreads": []},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_malformed_is_refused(name):
    assert both(wide(**REFUSED[name])) is None


def test_hints_of_no_equations_are_refused():
    # Nothing is of the kind zero, nor tight.
    bare = stated([1], [[-1]], [0], {"nonnegative": 1})
    hints = {"x": [1e-9], "z": [1], "z_spreads": [1]}
    assert not both(proof(bare, **hints)).reason
    for more in (
        {"x_spreads": [1]},
        {"x_follow": [0], "x_relation": [[1]]},
        {"x_pivot_equations": [0], "x_pivot_unknowns": [0]},
    ):
        assert both(proof(bare, **hints, **more)) is None


@pytest.mark.parametrize(
    "columns",
    [
        [["x", 0, 5]], [["x", -1, 1]], [["x", 0, 2], ["y", 1, 1]], [["", 0, 1]], [["x\n", 0, 1]], [["x", 0]], {},
        [["x", 0, True]], [["x", False, 1]], [["x" * 201, 0, 1]], [["ü", 0, 1]], [[1, 0, 1]], ["x01"], [["x", 4, -1]],
        [["x", 5, 0]], [["x", 2, 3]], [{"x": 0, "y": 1, "z": 2}],
        [["x", "0", 1]], [["x", 0, 0]] * 4097, None, [["x", 0, 1, 1]],
    ],
)  # fmt: skip
def test_names_of_columns_are_refused(columns):
    assert both(said(wide(), "problem", columns=columns)) is None


@pytest.mark.parametrize("columns", [[], [["x" * 200, 0, 4]], [["x", 4, 0], ["~ ", 4, 0]], [["x", 0, 0]] * 4096])
def test_names_of_columns_prove_nothing(columns):
    found, other = both(said(wide(), "problem", columns=columns)), both(wide())
    assert (found.lower, found.upper) == (other.lower, other.upper)
    assert found.problem.sha256 != other.problem.sha256


def test_programs_of_version_2_are_refused_with_advice():
    document, arrays = wide()
    assert both((document | {"version": 2}, arrays)) is None
    with pytest.raises(CertificateError, match="write the file anew from its problem"):
        proved((document | {"version": 2}, arrays))


# Hints that are corrupted ---------------------------------------------------------------------------------------------


def corrupted(rng, contents):
    """One or two arrays of the proof changed."""
    document, arrays = contents
    arrays = dict(arrays)
    statement = ("a_", "p_", "q", "b", "second", "semi", "power")
    known = [name for name, of in arrays.items() if len(of) and not name.startswith(statement)]
    for name in rng.choice(known, rng.integers(1, 3), replace=False):
        of, kind = arrays[name].copy(), rng.integers(7)
        at, other = rng.integers(len(of), size=2)
        if kind == 0:
            of[at] = rng.integers(0, 2)
        elif kind == 1:
            of[[at, other]] = of[[other, at]]
        elif kind == 2:
            of = np.delete(of, at)
        elif kind == 3:
            of = np.append(of, of[at])
        elif of.dtype.kind == "f":
            of[at] = [-of[at], of[at] + 10.0 ** rng.uniform(-12, 1) * rng.choice([-1, 1]), of[at] * 2.0][kind - 4]
        else:
            of[at] = max(0, of[at] + rng.choice([-2, -1, 1, 2]))
        if kind == 6 and rng.random() < 0.3:
            del arrays[name]
        else:
            arrays[name] = of
    return document, arrays


@pytest.mark.parametrize("name", EXACTLY)
def test_corrupted_hints_prove_no_wrong_bound(name):
    make, _, _, optimum = EXACTLY[name]
    rng, contents, found, borders = np.random.default_rng(9), make(), [], 0
    for _ in range(120):
        wrong = corrupted(rng, contents)
        mine = both_far(wrong)
        found.append(mine is not None)
        if mine is not None:
            assert mine.lower is None or mine.lower <= optimum
            assert mine.upper is None or mine.upper >= optimum
            true = exact.judge(archive(packed(wrong)))
            borders += (mine.lower is None) != (true.lower is None) or (mine.upper is None) != (true.upper is None)
    assert 20 < sum(found) < 110
    # What is exactly on a border the kernel may not see.
    assert borders <= 12


def both_far(contents):
    """:func:`both`, for numbers that may be far from those of a proof."""
    try:
        return proved(contents, Fraction(1, 10**6))
    except CertificateError:
        with pytest.raises(exact.Refused):
            exact.judge(archive(packed(contents)))
        return None


def test_programs_with_a_corrupted_statement_are_those_of_the_second_checker():
    """Both triangles of P, entries, sizes and sides changed: another program, of which both say the same."""
    rng, known = np.random.default_rng(10), ("p_values", "p_rows", "p_columns", "a_values", "a_rows", "b", "q")
    for _ in range(150):
        document, arrays = [wide, charged, alike][rng.integers(3)]()
        name = rng.choice([name for name in known if name in arrays])
        of = arrays[name].copy()
        at = rng.integers(len(of))
        of[at] = max(0, of[at] + rng.integers(-1, 2)) if of.dtype.kind == "i" else of[at] + rng.choice([-2, 0.5, 1e-9])
        both_far((document, arrays | {name: of}))


# Given entries --------------------------------------------------------------------------------------------------------


def term(rng, k):
    """A program whose first k variables are given, with every kind of hint: its table and arrays, and entries."""
    own, zero, line, quadratic = int(rng.integers(3, 6)), 2, 5, bool(rng.integers(2))
    n = k + own
    A = rng.integers(-3, 4, (zero + line, n)) * (rng.random((zero + line, n)) < 0.8) * 1.0
    # Two rows and two columns are alike.
    A = np.vstack([A[:zero], A[:1] * -2, A[zero:]])
    A[:, -1] = A[:, -2]
    n, m, given, x = len(A.T), len(A), rng.integers(-3, 4, k) / 4, rng.integers(-3, 4, own) / 4
    slack = np.append(np.zeros(zero + 1), rng.integers(1, 4, line) / 2)
    slack[-1] = 0.0
    b = A @ np.append(given, x) + slack
    L = rng.integers(-1, 2, (n, n)) * (rng.random((n, n)) < 0.3)
    L[:, -1] = L[:, -2]
    S = (L.T @ L) * quadratic
    skew = np.triu(rng.integers(-2, 3, (n, n)) * (rng.random((n, n)) < 0.3), 1) * quadratic
    h = rng.integers(-2, 3, n) / 4 * quadratic
    z = np.append(rng.integers(-3, 4, zero + 1) / 4, rng.integers(1, 5, line) / 2)
    q = -(A.T @ z + S @ h)
    q[:k] = rng.integers(-3, 4, k)
    document, arrays = stated(q, A, b, {"zero": zero + 1, "nonnegative": line}, P=S + skew - skew.T)
    table = {key: document["problem"][key] for key in ("variables", "cones")} | {
        "kind": "conic",
        "quadratic": quadratic,
    }
    own_arrays = {name: of for name, of in arrays.items() if quadratic or not name.startswith("p_")}
    unknown = m + n * quadratic
    x_widths, z_widths = (np.exp(rng.uniform(-1, 1, count)) * (rng.random(count) < 0.9) for count in (own, unknown))
    v = np.append(z, h)[:unknown]
    v[z_widths > 0] += 1e-7 * rng.standard_normal(int((z_widths > 0).sum()))
    hints = {
        "tight": [m - 1], "x": x + 1e-7 * rng.standard_normal(own) * (x_widths > 0), "x_spreads": x_widths,
        "x_follow": [2], "x_relation": [[2], [0], [1], [0]], "z": v[:m], "z_spreads": z_widths[:m],
        "z_follow": [n - 1], "z_relation": np.eye(n)[:, -1:] - np.eye(n)[:, -2:-1],
    } | ({"h": v[m:], "h_spreads": z_widths[m:]} if quadratic else {})  # fmt: skip
    pivots = np.argwhere(A[:zero, k:])
    if len(pivots) and rng.random() < 0.7:
        equation, unknown = pivots[rng.integers(len(pivots))]
        hints |= {"x_pivot_equations": [equation], "x_pivot_unknowns": [unknown]}
    pivots = np.argwhere(A[:zero, k : n - 1])
    if len(pivots) and rng.random() < 0.7:
        unknown, equation = pivots[rng.integers(len(pivots))]
        hints |= {"z_pivot_equations": [k + equation], "z_pivot_unknowns": [unknown]}
    return table, proof((table, own_arrays), **hints)[1], given


def test_programs_with_given_entries_are_those_of_the_second_checker():
    rng, seen = np.random.default_rng(11), []
    for count in range(120):
        k = count % 4
        table, arrays, given = term(rng, k)
        for dual in (False, True):
            found, true = ends(table, arrays, given, k, dual), true_ends(table, arrays, given, k, dual)
            seen.append(true is not None)
            assert (found is None) == (true is None)
            for ball, one in zip(found or [], true or [], strict=True):
                assert ball.lower() <= one <= ball.upper()
                assert ball.upper() - ball.lower() <= Fraction(1, 10**9) * (1 + abs(one))
    assert 60 < sum(seen) < 240


def ends(table, arrays, given, k, dual):
    """The value at a point, or slope and constant of a dual point; None if they are not proven."""
    program = ConicProgram(table, Arrays(arrays), k)
    try:
        if not dual:
            return [program.value(Ball(given), program.point(Arrays(arrays)))]
        slope, constant = program.minorant(program.dual_point(Arrays(arrays)))
    except NotProven:
        return None
    return [*slope, constant]


def true_ends(table, arrays, given, k, dual):
    file = exact.File(arrays)
    program = exact.Conic(table, file, k)
    program.read_proof(file)
    try:
        if not dual:
            return [program.least(fractions(given))]
        slope, constant = program.says()
    except exact.Unproven:
        return None
    return [*slope, constant]


def fractions(numbers):
    return list(map(Fraction, np.asarray(numbers, dtype=float).tolist()))


# Bounds of variables, and curvature -----------------------------------------------------------------------------------


def test_bounds_of_variables_are_those_of_eight_rounds():
    rng, finite = np.random.default_rng(12), []
    for count in range(60):
        n, zero, line, cone = 6, 2, 5, [3, 1, 2]
        m = zero + line + sum(cone)
        A = rng.integers(-32, 33, (m, n)) / 16 * (rng.random((m, n)) < 0.25)
        A[zero : zero + 2, :2] = [[1.0, 0.0], [-1.0, 0.0]]
        if count % 2:
            # A chain, of which each link takes a round.
            A[:zero] = np.eye(n)[1 : zero + 1] - np.eye(n)[:zero]
        if count % 3 == 0:
            A[zero + line :] = 0.0
        # There is a feasible point, so that no bound is beyond another.
        slack = np.abs(rng.standard_normal(m)) + 1e-9
        slack[:zero], slack[zero + line :] = 0.0, slack[zero + line :] * [1.0, 0.1, 0.1, 1.0, 1.0, 0.1]
        slack[zero + line] += 1.0
        slack[-2] += 1.0
        scale = 2.0 ** rng.integers(-9, 10, m)
        scale[zero + line :] = 1.0
        x = rng.integers(-9, 10, n) / 4
        A, b = A * scale[:, None], (A @ x + slack) * scale
        document, arrays = stated(np.zeros(n), A, b, {"zero": zero, "nonnegative": line, "second_order": cone})
        if count % 5 == 0:
            # A stored zero says nothing.
            places = (arrays["a_rows"] != m - 1) | (arrays["a_columns"] != n - 1)
            for name, more in (("a_values", 0.0), ("a_rows", m - 1), ("a_columns", n - 1)):
                arrays[name] = np.append(arrays[name][places], more)
            arrays["b"][m - 1] -= A[m - 1, n - 1] * x[n - 1]
        program = ConicProgram(document["problem"], Arrays(arrays))
        ends = exact.Conic(document["problem"], exact.File(arrays)).ends()
        for found, (low, high) in zip(program.reach().tolist(), ends, strict=True):
            finite.append(np.isfinite(found))
            assert finite[-1] == (None not in (low, high))
            if finite[-1]:
                size = max(abs(low), abs(high))
                assert size <= Fraction(found) <= size * (1 + Fraction(1, 10**6)) + Fraction(1, 10**6)
    assert 0.2 < np.mean(finite) < 0.8


def test_bounds_of_variables_are_beyond_what_rounding_did():
    """Of numbers with all their digits, which nearly cancel: bounds of one round are ends of the next."""
    rng = np.random.default_rng(15)
    for _ in range(40):
        n, line, cone = 5, 14, [4]
        m = line + sum(cone)
        A, x = rng.standard_normal((m, n)), rng.standard_normal(n)
        A[: 2 * n] = np.vstack([np.eye(n), -np.eye(n)]) * rng.standard_normal((2 * n, 1)) ** 2
        A[2 * n :] *= rng.random((m - 2 * n, n)) < 0.6
        # All but the first are known well, and large.
        x[1:] *= 1e6
        slack = np.append(np.tile(np.where(np.arange(n) > 0, 1e-3, 1e9), 2), rng.random(m - 2 * n) * 1e-3)
        slack[line] += 1.0
        document, arrays = stated(np.zeros(n), A, A @ x + slack, {"nonnegative": line, "second_order": cone})
        program = ConicProgram(document["problem"], Arrays(arrays))
        ends = exact.Conic(document["problem"], exact.File(arrays)).ends()
        for found, (low, high) in zip(program.reach().tolist(), ends, strict=True):
            size = max(abs(low), abs(high))
            assert low < high
            assert size <= Fraction(found) <= size + Fraction(1, 10**6) * (1 + size)


def test_elimination_in_fractions_shows_what_is_semidefinite():
    rng, seen = np.random.default_rng(13), []
    for count in range(200):
        n, rank = int(rng.integers(1, 6)), int(rng.integers(0, 5))
        G = rng.integers(-2, 3, (rank, n)) * (rng.random((rank, n)) < 0.7)
        M = (G.T @ G).astype(float)
        if count % 2:
            i, j = rng.integers(n, size=2)
            M[i, j] += rng.choice([1.0, -1.0, 2.0**-60])
            M[j, i] = M[i, j]
        found = entries("m", M)
        own = Sparse(found["m_values"], found["m_rows"], found["m_columns"], M.shape)
        true = exact.semidefinite([fractions(row) for row in M])
        assert exactly_semidefinite(own) == true
        seen.append(true)
        # An entry as a sum.
        halves = Sparse(np.tile(own.values / 2, 2), np.tile(own.rows, 2), np.tile(own.columns, 2), M.shape)
        assert exactly_semidefinite(halves) == true
    assert 50 < sum(seen) < 180


@pytest.mark.parametrize(
    ("order", "last", "holds"),
    [(30, 0.0, True), (31, 0.0, False), (31, 1e-6, True), (30, -(2.0**-50), False), (2, 0.0, True), (1, 0.0, True)],
)
def test_singular_forms_are_shown_to_be_convex_up_to_some_order(order, last, holds):
    # Differences of neighbours: singular; and variables that stand alone, or in no form at all.
    n = order + 3
    M = np.zeros((n, n))
    for at in range(order - 1):
        M[at : at + 2, at : at + 2] += [[1.0, -1.0], [-1.0, 1.0]]
    M[:order, :order] += last * np.eye(order)
    M[n - 2, n - 2] = 1e-300
    i, j = np.nonzero(M)
    S = Sparse(M[i, j], i, j, (n, n))
    if holds:
        ConicProgram.convex(S)
        return
    with pytest.raises(NotProven, match="positive semidefinite"):
        ConicProgram.convex(S)


#: Radii are enlarged by the factor of all radii, a millionth.
HAIR, NEAR = 1e-5, Fraction(1, 10**5)


def banded(radii=(0.25, 0, 0.5), **changes):
    """Minimise x + 2 y with x >= 1, 0 <= 3 and y >= 2, each up to its radius: 5, and from 3.75 to 6.25."""
    statement = {"q": [1, 2], "A": [[-1, 0], [0, 0], [0, -1]], "b": [-1, 3, -2], "cones": {"nonnegative": 3}}
    hints = {"b_radii": radii, "x": [1.25 + HAIR, 2.5 + HAIR], "z": [1, 0, 2], "z_spreads": [1, 1, 1]}
    return filled(statement, hints, changes)


def test_bounds_hold_for_all_right_hand_sides_within_radii():
    plain, found = proved(banded(None)), proved(banded(), NEAR)
    assert not found.reason
    assert plain.lower == pytest.approx(5.0, abs=1e-14)
    assert Fraction(15, 4) - Fraction(1, 10**5) <= found.lower <= Fraction(15, 4)
    assert found.upper == pytest.approx(6.25 + 3 * HAIR, abs=1e-9)
    # A point that is inside for b alone is none.
    for x in ([1.25 - HAIR, 2.6], [1.3, 2.5 - HAIR]):
        assert proved(banded(x=x), NEAR).upper is None
    assert proved(banded(None, x=[1.25 - HAIR, 2.5 - HAIR])).upper is not None
    # A row without entries counts as well.
    for radius, holds in ((3 - HAIR, True), (3 + HAIR, False)):
        assert (proved(banded((0, radius, 0), x=[1.1, 2.1])).upper is not None) == holds


def test_multipliers_that_move_pay_for_radii():
    # The dual point moves to where its equations hold, and with it what it pays.
    found = proved(banded(z=[1 + 1e-3, 0, 2 - 1e-3]), NEAR)
    assert Fraction(15, 4) - Fraction(1, 10**5) <= found.lower <= Fraction(15, 4)


def test_tight_rows_have_no_radius():
    for radii, holds in (((0, 0, 0.5), True), ((0.25, 0, 0), False)):
        found = proved(banded(radii, tight=[0], x=[1, 2.6], x_spreads=[1, 0]), NEAR)
        assert (found.upper is not None) == holds


def test_radii_are_of_inequalities_alone_and_not_negative():
    assert both(banded((-0.25, 0, 0))) is None
    assert both(banded((0.25, 0))) is None
    for name, size in (("zero", 1), ("second_order", [1]), ("semidefinite", [1])):
        cones = {"nonnegative": 2, name: size}
        at = 0 if name == "zero" else 2
        more = {"x_spreads": [1, 1]} if name == "zero" else {}
        order = [2, 0, 1] if name == "zero" else [0, 1, 2]
        A, b = np.array([[-1, 0], [0, -1], [0, -1]])[order], np.array([-1, -2, -2])[order]
        radii = np.zeros(3)
        files = []
        for radius in (0.0, 0.5):
            radii[at] = radius
            files.append(banded(tuple(radii), A=A, b=b, cones=cones, z=[0, 1, 2], **more))
        assert both(files[0]) is not None
        assert both(files[1]) is None


def test_bounds_of_charged_variables_follow_from_wider_sides():
    # |x| <= 2 by two rows, with a radius of 1: a charge of 2^-10 costs 2^-11 times 9 in the place of 4.
    statement = {"q": [0], "A": [[1], [-1]], "b": [2, 2], "cones": {"nonnegative": 2}, "P": [[1 - 2.0**-10]]}
    hints = {"x": [0], "z": [0, 0], "z_spreads": [0, 0], "h": [0], "h_spreads": [1], "charges": [2.0**-10]}
    for radii, size in (([0, 0], 2), ([1, 1], 3), ([0, 1], 3)):
        found = proved(filled(statement, {**hints, "b_radii": radii}, {}), NEAR)
        assert -(2.0**-11) * size**2 * (1 + 1e-5) <= found.lower <= -(2.0**-11) * size**2


def test_unknowns_of_a_metric_that_moves_are_numbered_from_its_entries_on():
    document, arrays = certificate(np.random.default_rng(3), "few", "psd", "conic, of a metric that moves")
    k, n = len(arrays["metric_spreads"]), len(arrays["metric_spreads"]) + len(arrays["x"])
    plain = proved((document, arrays), 1e-9).upper
    # The first equation has all unknowns, the others those of the metric alone.
    for equation, unknown, fits in ((0, k, True), (0, n - 1, True), (1, 0, True), (1, k, False), (0, n, None)):
        pivot = {"x_pivot_equations": np.array([equation]), "x_pivot_unknowns": np.array([unknown])}
        contents = document, arrays | pivot
        if fits is None:
            with pytest.raises(CertificateError, match="outside of"):
                proved(contents)
            continue
        found, true = proved(contents, 1e-9), exact.judge(archive(packed(contents)))
        assert (found.upper is not None) == (true.upper is not None) == fits
        assert not fits or abs(found.upper - plain) <= 1e-6
    # One that does not move has the unknowns of the program alone.
    document, arrays = certificate(np.random.default_rng(3), "few", "psd", "conic")
    beyond = {"x_pivot_equations": np.array([0]), "x_pivot_unknowns": np.array([len(arrays["x"])])}
    with pytest.raises(CertificateError, match="outside of"):
        proved((document, arrays | beyond))
