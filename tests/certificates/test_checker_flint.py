"""A second opinion: the decisive numbers of small certificates anew in 128-bit ball arithmetic (python-flint)."""

from fractions import Fraction

import numpy as np
import pytest
from catalogue import instance
from forgery import opened

import convexmetric as cm
from convexmetric.certificates import kernel

flint = pytest.importorskip("flint")
arb, arb_mat, fmpq = flint.arb, flint.arb_mat, flint.fmpq


@pytest.fixture(autouse=True)
def precision():
    before, flint.ctx.prec = flint.ctx.prec, 128
    yield
    flint.ctx.prec = before


def number(text):
    """A rational, or a float as it stands."""
    value = Fraction(text)
    return arb(fmpq(value.numerator, value.denominator))


def matrix(array):
    return arb_mat([[number(float(value)) for value in row] for row in array])


def hinge(t):
    return t if t > 0 else arb(0)


def forms(d, weighted):
    """The sum of weighted outer products of differences."""
    total = arb_mat(d, d)
    for weight, row in weighted:
        column = arb_mat([[value] for value in row])
        total += (column * column.transpose()) * weight
    return total


def differences(points, i, j):
    return [number(float(a)) - number(float(b)) for a, b in zip(points[i], points[j], strict=True)]


def square(B, v):
    image = B * arb_mat([[value] for value in v])
    return sum((image[i, 0] * image[i, 0] for i in range(image.nrows())), arb(0))


CASES = [
    "triplets, labels",
    "psd triplets, trace",
    "psd logistic, trace, G",
    "pairs, listed, frobenius, features, margin (0.5, 1.5)",
    "pairs, all, trace, unit-rbf, margin 1.0",
    "similarity, squared, trace",
]


@pytest.mark.parametrize("name", CASES)
def test_objective_dual_and_residual_overlap(name, tmp_path):
    problem = instance(name)
    path = tmp_path / "c.npz"
    verdict = cm.write_certificate(path, problem, solution=cm.solve(problem, tol=1e-7))
    document, arrays = opened(path)
    given = kernel.Arrays(arrays)
    stated = kernel.Problem(document, given)
    risk, factor = stated.risk, arrays["factor"]
    # flint has no matrices of no rows and some columns.
    X, B = arrays["points"], matrix(factor if len(factor) else np.zeros((1, stated.cone.d)))
    value, dual, weighted = arb(0), arb(0), []
    if isinstance(risk, kernel.ListedRisk):
        table = document["problem"]["risk"]["terms"]
        for t, slope in enumerate(arrays["slopes"]):
            term = table[int(risk.kind[t])]
            c, mu, sign = number(term["weight"]), number(term["margin"]), term["sign"]
            if "targets" in arrays:
                c, mu = c * number(float(arrays["comparison_weights"][t])), number(float(arrays["targets"][t]))
            i, j, *k = risk.items[t]
            near, far = differences(X, i, j), differences(X, i, k[0]) if k else None
            s = sign * (square(B, near) if far is None else square(B, far) - square(B, near))
            of = risk.losses[risk.kind[t]]
            a = number(float(np.clip(slope, of.low, of.high)))
            loss = term["loss"]
            if loss == "hinge":
                value, dual = value + c * hinge(mu - s), dual + c * mu * a
            elif loss == "squared":
                value, dual = value + c * (mu - s) ** 2, dual + c * (mu * a - a * a / 4)
            else:
                assert loss == "logistic"
                value, dual = value + c * (1 + (-s).exp()).log(), dual - c * (a * a.log() + (1 - a) * (1 - a).log())
            weighted.append((c * a * sign * (1 if far is None else -1), near))
            if far is not None:
                weighted.append((c * a * sign, far))
    else:
        weight, mu = number(document["problem"]["risk"]["weight"]), number(document["problem"]["risk"]["margin"])
        for q, (near, far) in enumerate(zip(risk.near, risk.far, strict=True)):
            for i in near:
                for j in far:
                    t = mu - square(B, differences(X, q, j)) + square(B, differences(X, q, i))
                    value += weight * hinge(t)
    G = matrix(np.zeros((stated.cone.d, stated.cone.d)) if stated.G is None else stated.G)
    M = B.transpose() * B
    omega = stated.omega.weight
    weight = number(document["problem"]["regularizer"]["weight"])
    if "over_root_of" in document["problem"]["regularizer"]:
        weight /= arb(document["problem"]["regularizer"]["over_root_of"]).sqrt()
    assert overlap(omega, weight)
    trace = sum((M[i, i] for i in range(stated.cone.d)), arb(0))
    norm = sum((M[i, j] * M[i, j] for i in range(stated.cone.d) for j in range(stated.cone.d)), arb(0))
    kind = document["problem"]["regularizer"]["kind"]
    penalty = {"trace": trace, "frobenius": norm.sqrt(), "squared frobenius": norm / 2}[kind]
    linear = sum((G[i, j] * M[i, j] for i in range(stated.cone.d) for j in range(stated.cone.d)), arb(0))
    objective = value + weight * penalty + linear
    assert objective < number(verdict.upper) or objective.overlaps(number(verdict.upper))
    assert abs(float(objective.mid()) - float(verdict.upper)) <= 1e-11 * abs(float(verdict.upper))
    assert overlap(risk.value(factor), value)
    if not weighted:
        return
    says = risk.dual(document["dual"], kernel.Arrays(arrays))
    S = forms(stated.cone.d, weighted)
    assert overlap(says.value, dual)
    radii = np.broadcast_to(says.S.rad, says.S.mid.shape)
    for i in range(stated.cone.d):
        for j in range(stated.cone.d):
            assert overlap(kernel.Ball(says.S.mid[i, j], radii[i, j]), S[i, j])
    if kind == "trace":
        # weight I - share S + G has no negative eigenvalue: its pivots are positive.
        share, d = number(document["dual"]["share"]), stated.cone.d
        L = arb_mat([[(weight if i == j else 0) - share * S[i, j] + G[i, j] for j in range(d)] for i in range(d)])
        for k in range(d):
            assert L[k, k] > 0
            for i in range(k + 1, d):
                for j in range(k + 1, d):
                    L[i, j] -= L[i, k] * L[k, j] / L[k, k]


def overlap(ball, exact):
    """Whether a ball of the checker and one of flint have a number in common."""
    return arb(float(ball.mid), float(ball.rad) * (1 + 1e-9)).overlaps(exact)


def test_functions_overlap():
    rng = np.random.default_rng(0)
    xs = rng.uniform(-600.0, 600.0, 200)
    balls = kernel.balls.exp(kernel.Ball(xs))
    for x, mid, rad in zip(xs, balls.mid, balls.rad, strict=True):
        assert overlap(kernel.Ball(mid, rad), arb(float(x)).exp())
    xs = np.exp(xs / 2.0)
    balls = kernel.balls.log(kernel.Ball(xs))
    for x, mid, rad in zip(xs, balls.mid, np.broadcast_to(balls.rad, balls.mid.shape), strict=True):
        assert overlap(kernel.Ball(mid, rad), arb(float(x)).log())
