"""Conic programs in the kernel: every kind of cone, known optima, and numbers that must not be accepted."""

from fractions import Fraction

import numpy as np
import pytest
from conic_files import KINDS, both, certificate, changed, entries, proved, said, stated, without

from convexmetric.certificates import kernel
from convexmetric.certificates.kernel import Arrays, Ball, CertificateError, ConeProduct, ConicProgram, NotProven


def linear():
    """Minimise x + 2 y, x + y = 1, x and y not negative: 1."""
    A = [[1, 1], [-1, 0], [0, -1]]
    return certificate(
        stated([1, 2], A, [1, 0, 0], {"zero": 1, "nonnegative": 2}), [1 - 1e-7, 1.1e-7], [1e-7 - 1, 1.1e-7, 1]
    )


def quadratic():
    """Minimise x^2 + y^2 / 2 - x, x = 2 y, x + y <= 1/2: -5/24."""
    statement = stated([-1, 0], [[1, -2], [1, 1]], [0, 0.5], {"zero": 1, "nonnegative": 1}, P=[[2, 0], [0, 1]])
    # 4.5 y^2 - 2 y is least at y = 2/9, where 3 y > 1/2: so y = 1/6.
    return certificate(statement, [1 / 3 - 1e-6, 1 / 6], [1 / 6, 1 / 6], [1 / 3, 1 / 6 + 1e-6])


def curved():
    """Minimise x^2 + x y + y^2 + x under abs(x) <= 1, abs(y) <= 1: -1/3."""
    A = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    statement = stated([1, 0], A, [1] * 4, {"nonnegative": 4}, P=[[2, 1], [1, 2]], constant="7/3")
    return certificate(statement, [-2 / 3, 1 / 3], [1e-9] * 4, [-2 / 3, 1 / 3])


def ball():
    """Maximise 7 less x + y over the unit disc: 7 plus the root of 2."""
    A, root = [[0, 0], [-1, 0], [0, -1]], np.sqrt(0.5)
    statement = stated([1, 1], A, [1, 0, 0], {"second_order": [3]}, maximise=True, constant="7")
    return certificate(statement, [1e-9 - root, 1e-9 - root], [np.sqrt(2) + 1e-9, 1, 1])


def matrices():
    """Maximise s with C + t D - s I semidefinite and abs(t) <= 5, as a minimum: -1."""
    C, D = np.diag([1.0, 2.0, 3.0]), np.array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, -1.0]])
    i, j = np.triu_indices(3)
    A = np.column_stack([-D[j, i], np.eye(3)[j, i]])
    statement = stated(
        [0, -1],
        np.vstack([A, [[1, 0], [-1, 0]]])[[6, 7, 0, 1, 2, 3, 4, 5]],
        [5, 5, *C[j, i]],
        {"nonnegative": 2, "semidefinite": [3]},
    )
    return certificate(statement, [0, 1 - 1e-7], [1e-8, 1e-8, 1 - 2e-7, 1e-7, 1e-9, 1e-7, 1e-9, 1e-7])


def exponential():
    """Minimise x + e^-x, as t with (-x, 1, t - x) in the cone: 1."""
    A = [[1, 0], [0, 0], [1, -1]]
    return certificate(stated([0, 1], A, [0, 1, 0], {"exponential": 1}), [0, 1 + 1e-9], [-1, 1e-8 - 1, 1])


def power():
    """Maximise, as a minimum, z with x^(1/2) y^(1/2) >= z and x + y <= 2: 1."""
    A = [[1, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, -1]]
    statement = stated([0, 0, -1], A, [2, 0, 0, 0], {"nonnegative": 1, "power": [0.5]})
    return certificate(statement, [1 - 1e-9, 1 - 1e-9, 1 - 2e-9], [0.5 + 1e-8, 0.5, 0.5, -1 + 1e-9])


def uneven():
    """Maximise z - x with x^(1/4) 1^(3/4) >= z: 3 * 4^(-4/3) at x = 4^(-4/3); a row has no entries."""
    A = [[0, 0], [-1, 0], [0, 0], [0, -1]]
    statement = stated([1, -1], A, [1, 0, 1, 0], {"nonnegative": 1, "power": [0.25]}, maximise=True)
    x = 4 ** (-4 / 3)
    return certificate(statement, [x, x**0.25 - 1e-9], [1e-9, 1, 3 * x + 1e-9, -1])


def bowl():
    """Minimise x^2 + y^2 / 1e20 - x, of no constraint: -1/4."""
    statement = stated([-1, 0], np.zeros((0, 2)), [], {}, P=[[2, 0], [0, 2e-20]])
    return certificate(statement, [0.5 + 1e-9, 1e-9], [], [0.5 - 1e-9, 1e-9])


def flat_form():
    """Minimise x, which is not negative, with a quadratic term that has no entries: 0."""
    statement = stated([1], [[-1]], [0], {"nonnegative": 1}, P=[[0]])
    return certificate(statement, [1e-9], [1], [0])


PROGRAMS = {
    "bowl": (bowl, -0.25),
    "flat form": (flat_form, 0.0),
    "linear": (linear, 1.0),
    "quadratic": (quadratic, -5 / 24),
    "curved": (curved, 2.0),
    "ball": (ball, 7 + np.sqrt(2)),
    "matrices": (matrices, -1.0),
    "exponential": (exponential, 1.0),
    "power": (power, -1.0),
    "uneven": (uneven, 3 * 4 ** (-4 / 3)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_bounds_enclose_known_optima_closely(name):
    make, optimum = PROGRAMS[name]
    found = proved(make())
    assert not found.reason
    assert float(found.lower) <= optimum * (1 + 1e-15) + 1e-15
    assert float(found.upper) >= optimum * (1 - 1e-15) - 1e-15
    assert found.upper - found.lower <= 3e-6


def test_claims_beyond_what_is_proven_are_not_accepted():
    document, arrays = linear()
    true = proved((document, arrays))
    for end, by in (("lower", 1), ("upper", -1)):
        claimed = {"lower": str(true.lower), "upper": str(true.upper)}
        assert not proved((document | {"claimed": claimed}, arrays)).reason
        claimed[end] = str(getattr(true, end) + by * Fraction(1, 10**17))
        assert "claimed" in proved((document | {"claimed": claimed}, arrays)).reason


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_point_near_or_far_proves_a_wrong_bound(name):
    make, optimum = PROGRAMS[name]
    rng, seen = np.random.default_rng(0), set()
    for size in (1e-9, 1e-6, 1e-3, 1e-1, 3.0) * 4:
        document, arrays = make()
        for hint in ("x", "z", "h"):
            if hint in arrays:
                arrays[hint] = arrays[hint] + size * rng.standard_normal(len(arrays[hint]))
                if f"{hint}_spreads" in arrays:
                    arrays[f"{hint}_spreads"] = np.exp(rng.uniform(-4, 4, len(arrays[hint])))
        # A point that is far moves far, and is known less well.
        found = proved((document, arrays), Fraction(1))
        seen |= {found.lower is None, found.upper is None}
        assert found.lower is None or found.lower <= optimum + 1e-15
        assert found.upper is None or found.upper >= optimum - 1e-15
        assert (found.lower is None or found.upper is None) == bool(found.reason)
    assert seen == ({True, False} if arrays["b"].size else {False})


def product(**cones):
    """A product of cones as the kernel reads it."""
    document, arrays = stated([0.0], np.zeros((1, 1)), [0.0], cones)
    return ConeProduct(document["problem"]["cones"], Arrays(arrays))


def contained(cones, s, dual):
    try:
        cones.contain(s, "it", dual)
    except NotProven:
        return False
    return True


def inside(cones, s, dual=False):
    return contained(cones, Ball(np.array(s, dtype=float)), dual)


#: Boundary points of cones and of dual cones, and directions that lead out.
EDGES = [
    ({"nonnegative": 2}, [0.0, 3.0], [-1, 0], False),
    ({"nonnegative": 2}, [3.0, 0.0], [0, -1], True),
    ({"second_order": [3]}, [5.0, 3.0, 4.0], [-1, 0, 0], False),
    ({"second_order": [3]}, [5.0, 3.0, -4.0], [0, 1, 0], True),
    ({"second_order": [1, 2]}, [0.5, 2.0, -2.0], [0, 0, -1], False),
    ({"second_order": [2, 1]}, [2.0, 1.0, 0.0], [0, 0, -1], True),
    ({"semidefinite": [2]}, [1.0, 2.0, 4.0], [0, 1, 0], False),
    ({"semidefinite": [2]}, [1.0, 4.0, 4.0], [0, 1, 0], True),
    ({"semidefinite": [3]}, [2.0, -1.0, -1.0, 2.0, -1.0, 2.0], [0, -1, 0, 0, 0, 0], False),
    ({"semidefinite": [1, 2]}, [1.0, 2.0, 2.0, 2.0], [0, -1, 0, 0], False),
    ({"semidefinite": [3]}, [1.0, 0.0, 2.0, 3.0, 0.0, 1.0], [0, 0, 1, 0, 0, 0], True),
    ({"semidefinite": [2, 2]}, [1.0, 0.5, 1.0, 4.0, 2.0, 1.0], [0, 0, 0, 0, 1, 0], False),
    ({"exponential": 1}, [2.0, 1.0, np.exp(2.0)], [0, 0, -1], False),
    ({"exponential": 2}, [0.0, 1.0, 2.0, -1.0, 2.0, 2 * np.exp(-0.5)], [0, 0, 0, 1, 0, 0], False),
    ({"exponential": 1}, [-1.0, 0.0, np.exp(-1.0)], [0, 0, -1], True),
    ({"exponential": 1}, [-2.0, 1.0, 2 * np.exp(-1.5)], [0, -1, 0], True),
    ({"power": [0.25]}, [16.0, 1.0, 2.0], [0, 0, 1], False),
    ({"power": [0.75, 0.5]}, [1.0, 1.0, 0.0, 4.0, 9.0, -6.0], [0, 0, 0, -1, 0, 0], False),
    ({"power": [0.25]}, [0.25, 0.75, 1.0], [0, -1, 0], True),
    ({"power": [0.75]}, [0.75 * 16, 0.25, -8.0], [0, 0, -1], True),
]


@pytest.mark.parametrize(("cones", "s", "out", "dual"), EDGES)
def test_a_hair_inside_is_inside_and_a_hair_outside_is_not(cones, s, out, dual):
    K, s, out = product(**cones), np.array(s), np.array(out)
    assert inside(K, s - 1e-9 * out, dual)
    assert not inside(K, s + 1e-9 * out, dual)
    # What is known to a radius is inside if all of it is, whichever entry has the radius.
    for rad, holds in ((1e-5 * np.abs(out), False), (1e-7 * np.abs(out), True)):
        assert contained(K, Ball(s - 1e-6 * out, rad), dual) == holds
    for at in np.flatnonzero(np.abs(s) + np.abs(out)):
        assert contained(K, Ball(s - 1e-6 * out, 1e-9 * np.eye(len(s))[at]), dual)


@pytest.mark.parametrize(
    ("cones", "s", "dual"),
    [
        ({"exponential": 1}, [-1.0, 0.0, 1.0], False),
        ({"exponential": 1}, [1.0, -1.0, 1.0], False),
        ({"exponential": 1}, [-1.0, 1.0, -1.0], False),
        ({"exponential": 1}, [1.0, 0.0, 1.0], True),
        ({"power": [0.5]}, [-1.0, 1.0, 0.0], False),
        ({"power": [0.5]}, [-1.0, -1.0, 0.5], False),
        ({"power": [0.5]}, [1.0, -1.0, 0.0], True),
        ({"second_order": [2]}, [-1.0, 0.0], False),
    ],
)
def test_what_is_beyond_the_edges_is_not_inside(cones, s, dual):
    assert not inside(product(**cones), s, dual)


def test_exact_zeros_are_on_the_boundary():
    assert inside(product(nonnegative=2), [0.0, 1.0])
    assert not inside(product(nonnegative=2), [-5e-324, 1.0])
    cones = {"second_order": [2, 1, 3], "semidefinite": [2, 3], "exponential": 2, "power": [0.5, 0.25, 0.75, 0.5]}
    own, rows = product(**cones), 6 + 9 + 18
    for dual in (False, True):
        zero, other = np.zeros(rows), np.zeros(rows)
        assert inside(own, zero, dual)
        # Of the second cones, and of the last row and column of the larger matrix, and the rest is zero.
        inner = [(2, [1.0]), (9, [1.0, 0.5, 0.0, 2.0])]
        inner += [(18, [-1.0, 0.0, 1.0] if dual else [0.0, 1.0, 2.0]), (24, [1.0, 1.0, 0.5])]
        for at, values in inner:
            other[at : at + len(values)] = values
            assert inside(own, other, dual)
        for at in range(rows):
            assert not contained(own, Ball(zero, 1e-300 * np.eye(rows)[at]), dual)
            # No entry off the diagonal beside a zero, and no triple of which one is zero but nearly.
            if at not in (0, 2, 3, 6, 8, 9, 12, 14):
                assert not inside(own, zero + 1e-300 * np.eye(rows)[at], dual)


def test_sizes_are_at_least_one():
    for kind in ("second_order", "semidefinite"):
        with pytest.raises(CertificateError, match="at least 1"):
            product(**{kind: [0], "nonnegative": 1})


def given(A, b, zero, q=(0.0, 0.0, 0.0), fixed=2):
    """A program whose first variables are given."""
    document, arrays = stated(q, A, b, {"zero": zero, "nonnegative": len(b) - zero})
    return ConicProgram(document["problem"], Arrays(arrays), fixed)


@pytest.mark.parametrize(
    ("x", "rad", "holds"),
    [
        ([2.5, 1.0], [0.0, 0.0], True),
        ([2.5, 1.0 + 2.0**-52], [0.0, 0.0], False),
        ([2.5 + 2.0**-51, 1.0], [0.0, 0.0], False),
        ([2.5, 1.0], [1e-300, 0.0], False),
        ([2.5, 1.0], [0.0, 1e-300], False),
    ],
)
def test_equations_between_given_entries_hold_exactly_or_not_at_all(x, rad, holds):
    # x0 - 2 x1 = 1/2, and x1 + 3 y = 4.
    program = given([[1.0, -2.0, 0.0], [0.0, 1.0, 3.0], [0.0, 0.0, -1.0]], [0.5, 4.0, 0.0], 2)
    point = program.point(Arrays({"x": np.array([0.9]), "x_spreads": np.ones(1)}))
    if holds:
        for exactly in (Ball(x), Ball(x, np.array(rad))):
            assert 0 <= program.value(exactly, point).upper() <= 1e-100
        return
    with pytest.raises(NotProven, match="given entries alone"):
        program.value(Ball(x, np.array(rad)), point)


def test_given_entries_may_be_known_to_a_radius_where_no_such_equation_has_them():
    program = given([[0.0, 2.0, 0.0], [1.0, 1.0, 3.0], [0.0, 0.0, -1.0]], [4.0, 4.0, 0.0], 2, q=(0.0, 0.0, 1.0))
    value = program.value(
        Ball([1.0, 2.0], np.array([1e-6, 0.0])), program.point(Arrays({"x": np.array([0.3]), "x_spreads": np.ones(1)}))
    )
    assert value.lower() <= Fraction(1, 3) <= value.upper()
    assert 1e-7 <= float(value.rad) <= 1e-6
    # Equations of some variables, not of all.
    program = given([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]], [3.0, 5.0], 2, q=(0.0, 0.0, 1.0, 1.0))
    point = program.point(Arrays({"x": np.zeros(2), "x_spreads": np.ones(2)}))
    value = program.value(Ball([1.0, 1.0]), point)
    assert value.lower() <= 6 <= value.upper()


def test_there_are_as_many_variables_as_given_entries():
    with pytest.raises(CertificateError, match="at least 2"):
        given([[1.0]], [1.0], 0, q=(0.0,))


def test_rows_that_are_zero_are_any_numbers_of_a_dual_point():
    assert inside(product(zero=2, nonnegative=1), [-3.0, 7.0, 1.0], True)


def test_equations_that_depend_on_each_other_prove_nothing():
    A = np.array([[1.0, 1.0], [2.0, 2.0], [-1.0, 0.0]])
    document, arrays = certificate(
        stated([1, 1], A, [1, 2, 0], {"zero": 2, "nonnegative": 1}), [0.5, 0.5], [-1, 0, 1e-9]
    )
    found = both((document, arrays))
    assert "not proven to be independent" in found.reason
    assert found.upper is None
    # A variable without a row, which costs something or nothing.
    for cost in (1, 0):
        statement = stated([1, cost], [[-1, 0]], [0], {"nonnegative": 1})
        found = both(certificate(statement, [1e-9, 0], [1]))
        assert (found.lower is None) == bool(cost)
        assert found.upper is not None


@pytest.mark.parametrize("P", [[[1, 0], [0, -1e-9]], [[1, 2], [2, 1]], [[0, 1], [1, 0]]])
def test_a_quadratic_term_that_is_not_convex_proves_no_lower_bound(P):
    statement = stated([0, 0], np.vstack([np.eye(2), -np.eye(2)]), np.ones(4), {"nonnegative": 4}, P=P)
    found = both(certificate(statement, [0, 0], [1, 1, 1, 1], [0, 0]))
    assert found.lower is None
    assert found.upper >= 0


def test_an_unbounded_program_has_no_lower_bound():
    statement = stated([-1], [[-1]], [0], {"nonnegative": 1})
    found = both(certificate(statement, [5], [1]))
    assert (found.lower, found.upper >= -5) == (None, True)


BAD = {
    "x of another length": lambda: changed(linear(), x=np.ones(3)),
    "no z": lambda: changed(linear(), z=None),
    "a negative spread": lambda: changed(linear(), z_spreads=np.array([1.0, -1e-300, 1.0])),
    "a note": lambda: said(linear(), "problem", note=1),
    "no variables at all": lambda: certificate(stated([], np.zeros((1, 0)), [0], {"nonnegative": 1}), [], [1]),
    "negative spreads": lambda: changed(quadratic(), h_spreads=-np.ones(2)),
    "no spreads": lambda: changed(linear(), x_spreads=None),
    "spreads that nothing asks for": lambda: changed(ball(), x_spreads=np.ones(2)),
    "h without a quadratic term": lambda: changed(linear(), h=np.zeros(2)),
    "an array beside": lambda: changed(linear(), points=np.ones((1, 1))),
    "q of integers": lambda: changed(linear(), q=np.array([1, 2])),
    "b is NaN": lambda: changed(linear(), b=np.full(3, np.nan)),
    "a place twice": lambda: changed(linear(), a_rows=np.array([0, 0, 0, 2])),
    "rows before columns": lambda: changed(linear(), a_rows=np.array([1, 0, 0, 2])),
    "a row beyond": lambda: changed(linear(), a_rows=np.array([0, 3, 0, 2])),
    "a column beyond": lambda: changed(linear(), a_columns=np.array([0, 0, 1, 2])),
    "places too few": lambda: changed(linear(), a_columns=np.array([0, 0, 1])),
    "p rows before columns": lambda: changed(curved(), p_rows=np.array([1, 0, 0, 1])),
    "a place of p twice": lambda: changed(curved(), p_rows=np.array([0, 0, 0, 1])),
    "an entry of p that has no half": lambda: changed(curved(), p_values=np.array([2.0, 1.0, 5e-324, 2.0])),
    "no columns": lambda: without(linear(), "problem", "columns"),
    "sizes of zero": lambda: changed(ball(), second_order_sizes=np.array([0])),
    "sizes too few": lambda: said(matrices(), "problem", "cones", semidefinite=2),
    "exponent of one": lambda: changed(power(), power_exponents=np.array([1.0])),
    "exponent of zero": lambda: changed(power(), power_exponents=np.array([0.0])),
    "rows too many": lambda: said(linear(), "problem", "cones", nonnegative=3),
    "negative count": lambda: said(linear(), "problem", "cones", zero=-1, nonnegative=4),
    "another cone": lambda: said(linear(), "problem", "cones", spectral=0),
    "count as text": lambda: said(linear(), "problem", "cones", zero="1"),
    "another kind": lambda: said(linear(), "problem", kind="program"),
    "another key": lambda: said(linear(), "problem", cone="psd"),
    "quadratic as a number": lambda: said(linear(), "problem", quadratic=0),
    "maximise as a number": lambda: said(linear(), "problem", maximise=1),
    "constant as a number": lambda: said(linear(), "problem", constant=1),
    "no variables": lambda: said(linear(), "problem", variables=0),
    "too many variables": lambda: said(linear(), "problem", variables=2**24),
    "a share": lambda: said(linear(), "dual", share="1"),
    "rows of nothing": lambda: said(linear(), "dual", rows=[0, 2]),
}


@pytest.mark.parametrize("name", BAD)
def test_malformed_files_are_refused(name):
    assert both(BAD[name]()) is None


def test_counts_have_a_limit_before_anything_is_held():
    with pytest.raises(CertificateError, match="below 16777216"):
        kernel.prove([said(linear(), "problem", "cones", zero=2**24)])
    document, arrays = said(linear(), "problem", "cones", zero=2**23, nonnegative=2**23)
    with pytest.raises(CertificateError, match="more than 16777216 rows"):
        kernel.prove([(document, arrays)])


def test_the_hash_is_of_the_statement_alone():
    document, arrays = quadratic()
    found = proved((document, arrays)).problem.sha256
    assert proved(changed((document, arrays), z=arrays["z"] + 1e-6)).problem.sha256 == found
    assert proved(changed((document, arrays), b=arrays["b"] + 1e-6)).problem.sha256 != found
    assert proved(said((document, arrays), "problem", constant="1")).problem.sha256 != found


def test_a_program_has_one_part():
    contents = said(linear(), "dual", rows=[0, 1])
    assert not proved(contents).reason
    twice = kernel.prove([contents, contents])
    assert "more than one part" in twice.reason
    assert (twice.lower, twice.upper) == (None, None)


def test_numbers_of_rows_do_not_wrap_around():
    # 2^18 triangles of about 2^47 numbers are more than 2^64.
    document, arrays = said(matrices(), "problem", "cones", semidefinite=2**18)
    arrays = arrays | {"semidefinite_sizes": np.full(2**18, 2**24 - 1)}
    with pytest.raises(CertificateError, match="rows"):
        kernel.prove([(document, arrays)])


@pytest.mark.parametrize(
    ("factor", "holds"),
    [
        ([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]], True),
        ([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0], [0.0, 0.0, 0.0]], True),
        ([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]], False),
        ([[1.0, 1.0, 0.0]], False),
        ([[1.0, 0.0, 2.0], [5e-324, 3.0, 1.0]], False),
    ],
)
def test_entries_of_a_metric_are_zero_where_no_row_of_its_factor_has_both_numbers(factor, holds):
    # The trace, where M_01 = 0: entries are M_00, M_10, M_20, M_11, M_21, M_22.
    table = {"kind": "conic", "variables": 6, "cones": dict.fromkeys(KINDS, 0) | {"zero": 1}, "quadratic": False}
    arrays = {"q": np.array([1.0, 0, 0, 1, 0, 1]), "b": np.zeros(1), **entries("a", np.array([[0.0, 1, 0, 0, 0, 0]]))}
    cone = kernel.Cone({"cone": "psd", "features": 3}, Arrays({}))
    omega = kernel.ConicTerm(table, Arrays(arrays), cone, None)
    factor = np.array(factor)
    given = omega.program.point(Arrays({"x": np.zeros(0), "x_spreads": np.zeros(0)})), None
    if holds:
        value = omega.value(factor, cone.metric(factor), given)
        assert value.lower() <= 15 <= value.upper()
        return
    with pytest.raises(NotProven, match="given entries alone"):
        omega.value(factor, cone.metric(factor), given)


@pytest.mark.parametrize("problem", [None, ["kind"], "kind", 3])
def test_a_statement_is_a_table(problem):
    document, arrays = linear()
    with pytest.raises(CertificateError, match="must be a table"):
        kernel.prove([(document | {"problem": problem}, arrays)])
