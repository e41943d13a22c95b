"""Checks of exercise 10: by the conditions that projections alone meet, and by weak duality."""

import warnings

import numpy as np
from checking import Wrong, expect, numbers, positive_part, same, several, task, wine


def symmetric():
    """Differences of covariances of two growers' wines, with eigenvalues of both signs, and more of their kind."""
    X, y = wine()
    one, two, three = (np.cov(X[y == grower], rowvar=False) for grower in range(3))
    return one - two, two - 2.0 * three, (one - three)[:4, :4], two, -two


def in_cone(found, d, what):
    """Read a positive semidefinite matrix."""
    P = numbers(found, (d, d), what)
    size = np.abs(P).max()
    expect(
        np.abs(P - P.T).max() <= 1e-9 * size,
        f"{what}: expected a symmetric matrix; yours is not symmetric",
        "A symmetric matrix from its eigenvectors, columns of `vectors`: (vectors * values) @ vectors.T.",
    )
    least = np.linalg.eigvalsh(P)[0]
    expect(
        least >= -1e-9 * size,
        f"{what}: expected a positive semidefinite matrix; yours is not feasible, it has the eigenvalue {least:.3g}",
        "That all entries are nonnegative is another condition: eigenvalues count.",
    )
    return P


@task(2)
def project(answer):
    for S in symmetric():
        found = answer(S)
        values, vectors = np.linalg.eigh(S)
        if np.shape(found) == S.shape and np.allclose(found, np.maximum(S, 0.0)):
            raise Wrong("the eigenvalues should be nonnegative, not the entries", "Begin with `numpy.linalg.eigh`.")
        if np.shape(found) == S.shape and values[0] < -1e-9 and np.allclose(found, S):
            raise Wrong(
                f"the projection: yours is not feasible, it has the eigenvalue {values[0]:.3g}", "That is S itself."
            )
        P = in_cone(found, len(S), "the projection")
        same(
            P,
            positive_part(S),
            "Go to the basis of the eigenvectors of S. There the matrix is diagonal: what is nearest to it?",
            "S - P must be negative semidefinite and orthogonal to P: P keeps the positive eigenvalues.",
            what="the projection",
            mistakes={
                "Negative eigenvalues become 0, not positive.": (vectors * np.abs(values)) @ vectors.T,
                "This keeps the negative part.": positive_part(-S),
                "Eigenvectors are the columns of `vectors`: V diag(values) V^T.": (vectors.T * np.maximum(values, 0.0))
                @ vectors,
                "All eigenvalues were raised by the same amount: only those below 0 need to change.": S
                - min(values[0], 0.0) * np.eye(len(S)),
            },
        )


@task(1)
def project_diagonal(answer):
    for S in symmetric():
        diagonal = np.diag(S)
        if np.shape(found := answer(S)) == diagonal.shape:
            raise Wrong(f"expected a matrix {S.shape}; yours is a vector", "`numpy.diag` makes one of the other.")
        same(
            found,
            np.diag(np.maximum(diagonal, 0.0)),
            "The squared distance is a sum over entries: choose each entry of the diagonal by itself.",
            what="the projection",
            mistakes={
                "Entries off the diagonal must be 0.": np.maximum(S, 0.0),
                "Negative entries become 0.": np.diag(diagonal),
                "Negative entries become 0, not positive.": np.diag(np.abs(diagonal)),
                "This is the diagonal of the other projection. The nearest diagonal matrix is nearer.": np.diag(
                    np.diag(positive_part(S))
                ),
            },
        )


@task(2)
def witness(answer):
    rng = np.random.default_rng(0)
    for S in symmetric():
        nearest = positive_part(S)
        B = rng.normal(size=S.shape)
        for P in (
            np.zeros_like(S),
            nearest + 1e-2 * B @ B.T,
            2.0 * nearest + np.eye(len(S)),
            0.9 * nearest + 0.1 * B @ B.T,
            0.75 * nearest,
        ):
            if np.allclose(P, nearest):
                continue
            Z = in_cone(answer(S, P), len(S), "Z")
            product = np.sum((S - P) * (Z - P))
            expect(
                product > 0.0,
                f"expected <S - P, Z - P> > 0; yours is {product:.3g}",
                "S - P may have no part in the cone that is large enough: is there a Z that you know already?"
                if np.allclose(Z, positive_part(S - P))
                else "Which Z of the cone is nearer to S than P is?",
                "Try the projection of task 1, and show that it always works.",
            )


@task(3)
def trace_bound(answer):
    as_it_is = "theta is in [0, 1]. If S has no positive eigenvalue it is feasible as it is: theta = 1."
    for S in symmetric():
        for scale in (0.01, 1.0, 30.0):
            a, values = 2.5, np.linalg.eigvalsh(scale * S)
            top = values[-1]
            found = answer(a, scale * S)
            if np.ndim(found) == 0 and np.isneginf(found):
                raise Wrong(
                    f"expected a finite bound; yours is {found}, at theta = 1",
                    "For a smaller theta the dual point is feasible: theta S must have no eigenvalue above 1.",
                )
            same(
                found,
                a * min(1.0, 1.0 / top) if top > 0.0 else a,
                "tr W - <S, W> = <I - S, W>. For which matrices I - S is this nonnegative for all W of the cone?",
                "theta S must have no eigenvalue above 1, and theta may not be above 1.",
                what=f"the bound for a = {a} and largest eigenvalue {top:.3g}",
                mistakes={
                    "Not feasible: where S has an eigenvalue above 1 the bound is not proven. Shrink it.": a,
                    "theta may not be above 1." if top > 0.0 else as_it_is: a / top,
                    "If S has no positive eigenvalue theta is 1, not 0.": np.inf if top > 0.0 else 0.0,
                    "Only positive eigenvalues can be too large, not those of largest modulus.": a
                    / max(1.0, np.abs(values).max()),
                    "The largest eigenvalue counts, not the trace.": a / max(1.0, values.sum()),
                    "The largest eigenvalue counts, not the norm.": a / max(1.0, np.linalg.norm(values)),
                    "`eigvalsh` gives ascending eigenvalues: the last is the largest.": a / max(1.0, values[0]),
                    "A bound that is not feasible need not be thrown away: shrink it.": 0.0 if top > 1.0 else a,
                },
            )


@task(2)
def dual_point(answer):
    import cvxpy  # noqa: F401

    import convexmetric as cm

    X, y = wine()
    problem = cm.RankingProblem.from_labels(X[::3], y[::3], measure="auc", C=10.0)
    solution = cm.solve(problem, solver="cutting-planes", tol=1e-7)
    program = problem.to_cvxpy(rankings=solution.working_set)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = program.solve(solver="CLARABEL")
    try:
        found = answer(program)
    except Exception as error:
        error.add_note("`for c in program.constraints[:-1]`: the last constraint, the cone, has the label None.")
        error.add_note("c.label is a text such as 'ranking 3, 0'; the parameters are 'Delta[3, 0]' and 'dpsi[3, 0]'.")
        raise
    several(found, "two things, a and S", "a, S")
    hint = "Each constraint says xi_q >= Delta - <W, dpsi>: add them up, each times its multiplier."
    same(found[0], value, hint, what="a, which at the optimum is the value of the program", rtol=1e-5)
    S = numbers(found[1], (13, 13), "S")
    top = np.linalg.eigvalsh(S)[-1]
    expect(
        abs(top - 1.0) <= 1e-4,
        f"expected a largest eigenvalue of 1, as multipliers of an optimum have it; yours is {top:.6g}",
        "The sign: R(W) >= a - <S, W>, so S adds up +dpsi." if abs(np.linalg.eigvalsh(-S)[-1] - 1.0) <= 1e-4 else hint,
    )
    same(S, S.T, what="S")
    # The sum must be a bound everywhere, of which only the multipliers can make the tight one.
    rng = np.random.default_rng(0)
    for _ in range(5):
        B = rng.normal(size=(13, 3)) / 13
        W = B @ B.T
        expect(found[0] - np.sum(S * W) <= problem.risk.value(W) + 1e-6, "a - <S, W> is above R(W)", hint)
