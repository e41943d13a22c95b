"""Files of conic programs that try to be expensive: their proofs take no more than is estimated, or are refused."""

import os
import resource
import time

import numpy as np
import pytest
from conic_files import KINDS
from forgery import DEFLATED, archive, packed

from convexmetric.certificates import checker, kernel
from convexmetric.certificates.kernel import CertificateError

rng = np.random.default_rng(0)


def entries(name, values, rows, columns):
    order = np.lexsort((rows, columns))
    parts = {"values": np.asarray(values, dtype=float), "rows": np.asarray(rows), "columns": np.asarray(columns)}
    return {f"{name}_{part}": of[order] for part, of in parts.items()}


def program(n, cones, a=((0.0,), (0,), (0,)), p=None, **arrays):
    """A program by entries of A and P, whose other numbers are zero where they are not given."""
    table, made = dict.fromkeys(KINDS, 0), {}
    for kind, of in cones.items():
        table[kind] = of if isinstance(of, int) else len(of)
        if not isinstance(of, int):
            made["power_exponents" if kind == "power" else f"{kind}_sizes"] = np.array(of)
    m = kernel.ConeProduct(table, kernel.Arrays(made)).rows
    made |= {"q": np.zeros(n), "b": np.zeros(m), "x": np.zeros(n), "z": np.zeros(m), "z_spreads": np.zeros(m)}
    made |= {"x_spreads": np.zeros(n)} if table["zero"] else {}
    made |= entries("a", *map(np.asarray, a))
    if p is not None:
        made |= {"h": np.zeros(n), "h_spreads": np.zeros(n)} | entries("p", *map(np.asarray, p))
    problem = {"kind": "conic program", "variables": n, "cones": table, "quadratic": p is not None, "maximise": False}
    document = {"problem": problem | {"columns": []}, "dual": {}, "claimed": {"lower": "-1", "upper": "1"}, "title": ""}
    document |= {"format": kernel.FORMAT, "version": kernel.VERSION, "sha256": {}}
    return document, made | {name: np.asarray(of) for name, of in arrays.items()}


def diagonal(n):
    return np.ones(n), np.arange(n), np.arange(n)


def dense(n, unknowns=None):
    """A system of n equations of one entry each, or more unknowns."""
    j = np.arange(unknowns or n)
    return program(len(j), {"zero": n}, (np.ones(len(j)), j % n, j), x_spreads=np.ones(len(j)))


def dense_dual(n):
    ones = np.ones(n)
    return program(n, {"nonnegative": n}, diagonal(n), z=ones, z_spreads=ones, q=-ones)


def fill(pivots, moving, left):
    """Pivots with as many moving unknowns beside them, all of which are in all equations that are left."""
    parts = [(k, [k, *range(pivots, pivots + moving)]) for k in range(pivots)]
    parts += [(pivots + row, range(pivots)) for row in range(left)]
    i, j = (np.concatenate(of) for of in zip(*((np.full(len(own), at), own) for at, own in parts), strict=True))
    n, own = pivots + moving, np.arange(pivots)
    a = rng.standard_normal(len(i)), i, j
    spreads = {"x_spreads": np.ones(n), "x_pivot_equations": own, "x_pivot_unknowns": own}
    return program(n, {"zero": pivots + left}, a, **spreads)


def charges(size, head):
    """A cone of which the head has many entries, all of which are in a line with each of its tails."""
    i, j = np.append(np.zeros(head, int), np.arange(1, size)), np.append(np.arange(head), np.arange(1, size) % head)
    a = np.ones(len(i)), i, j
    return program(head, {"second_order": [size]}, a, ([1.0], [0], [0]), charges=np.ones(head), b=1.0 * (i[:size] == 0))


def relations(count, length):
    """Equations that follow from the first one, with entries whose fractions are long."""
    row = rng.standard_normal(length) * 10.0 ** rng.uniform(-300, 300, length)
    i, j = np.repeat(np.arange(count + 1), length), np.tile(np.arange(length), count + 1)
    follow = np.arange(1, count + 1)
    relation = np.tile([1.0, -1.0], count), np.stack([0 * follow, follow], 1).ravel(), np.repeat(follow - 1, 2)
    own = {"x_follow": follow} | entries("x_relation", *relation)
    return program(length, {"zero": count + 1}, (np.tile(row, count + 1), i, j), **own)


def relation(equations):
    """One relation of equations of five entries and of all sizes."""
    i, j = np.repeat(np.arange(equations), 5), np.tile(np.arange(5), equations)
    values, weights = (rng.standard_normal(of) * 10.0 ** rng.uniform(-300, 300, of) for of in (len(i), equations))
    own = {"x_follow": [0]} | entries("x_relation", weights, np.arange(equations), 0 * np.arange(equations))
    return program(5, {"zero": equations}, (values, i, j), **own)


def matrices(order, count=1):
    own = np.tile(np.eye(order)[np.triu_indices(order)], count)
    return program(1, {"semidefinite": [order] * count}, b=own, z=own)


def coupled(n):
    """A form of neighbours, whose matrix is dense."""
    k = np.arange(n - 1)
    p = np.append(np.full(n, 2.0), -np.ones(n - 1)), np.append(np.arange(n), k), np.append(np.arange(n), k + 1)
    return program(n, {"nonnegative": 1}, p=p)


def singular(n=28):
    """A form that elimination in fractions is tried on, with entries of all sizes; the last two columns are alike."""
    G, M = rng.standard_normal((n, n)), np.zeros((n + 2, n + 2))
    M[:n, :n], M[n:, n:], M[n:, 0], M[0, n:] = G.T @ G + np.eye(n), 1.0, 2.0**-30, 2.0**-30
    sizes = 2.0 ** rng.integers(-250, 250, n + 2)
    sizes[-1] = sizes[-2]
    i, j = np.indices(M.shape).reshape(2, -1)
    M = np.triu(M * np.outer(sizes, sizes))
    return program(n + 2, {"nonnegative": 1}, p=((M + np.triu(M, 1).T).ravel(), i, j))


def held(equations, length):
    """Equations of held unknowns."""
    row = rng.standard_normal(length) * 10.0 ** rng.uniform(-300, 300, length)
    i, j = np.repeat(np.arange(equations), length), np.tile(np.arange(length), equations)
    b = np.ones(equations)
    return program(length, {"zero": equations}, (np.tile(row, equations), i, j), x=rng.standard_normal(length), b=b)


def cones(count, size=2):
    own = np.tile(1.0 * (np.arange(size) == 0), count)
    return program(1, {"second_order": [size] * count}, b=own, z=own)


def triples(count):
    b, z = (np.append(np.tile(of, count), np.tile([1.0, 1.0, 0.5], count)) for of in ([0.0, 1, 2], [-1.0, 0, 1]))
    return program(1, {"exponential": count, "power": [0.5] * count}, b=b, z=z)


def bounded(n):
    i = np.arange(2 * n)
    a = np.repeat([1.0, -1.0], n), i, i % n
    return program(n, {"nonnegative": 2 * n}, a, diagonal(n), charges=np.ones(n), b=np.ones(2 * n))


def pivots(n):
    own = np.arange(n)
    given = {"x_spreads": np.ones(n), "x_pivot_equations": own, "x_pivot_unknowns": own}
    return program(n, {"zero": n}, diagonal(n), **given)


WORK = {
    "a dense system": lambda: dense(400),
    "a wide system": lambda: dense(20, 30_000),
    "a dense system of a dual point": lambda: dense_dual(400),
    "an entry between many": lambda: fill(1, 500, 500),
    "many entries in one place": lambda: fill(200, 80, 80),
    "few equations": lambda: fill(1_000, 100, 5),
    "a long cone with charges": lambda: charges(500, 500),
    "charges of many": lambda: charges(10_000, 20),
    "many relations": lambda: relations(500, 100),
    "a long relation": lambda: relation(10_000),
    "a matrix": lambda: matrices(500),
    "small matrices": lambda: matrices(2, 2_000),
    "a form": lambda: coupled(500),
    "a form in fractions": singular,
    "held unknowns": lambda: held(3_000, 30),
    "many cones": lambda: cones(5_000),
    "a long cone": lambda: cones(1, 200_000),
    "many triples": lambda: triples(20_000),
    "many bounds": lambda: bounded(50_000),
    "many pivots": lambda: pivots(50_000),
}


def taken(contents):
    """Seconds and bytes of a proof, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            start = time.process_time()
            kernel.prove([contents])
            seconds = time.process_time() - start
            used = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
            os.write(write, f"{seconds} {used}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as said:
        words = said.read().split()
    os.waitpid(child, 0)
    return float(words[0]), int(words[1])


@pytest.mark.parametrize("name", WORK)
def test_no_proof_takes_more_than_is_estimated(name):
    contents = WORK[name]()
    work = checker.operations(*contents)
    seconds, used = taken(contents)
    # With room for a slow machine, and for what every proof holds.
    assert seconds < 4e-9 * work
    assert used < 1.5e-3 * work + 2e7
    checker.limited(*contents, max_work=1.01 * work)
    with pytest.raises(CertificateError, match="operations"):
        checker.limited(*contents, max_work=0.99 * work)


BOMBS = {
    "a dense system": lambda: dense(4_000),
    "a dense system of a dual point": lambda: dense_dual(4_000),
    "a wide system": lambda: dense(300, 150_000),
    "an entry between many": lambda: fill(1, 3_500, 3_500),
    "a long cone with charges": lambda: charges(4_000, 4_000),
    "a matrix": lambda: matrices(4_500),
    "a form": lambda: coupled(4_500),
}


@pytest.mark.parametrize("name", BOMBS)
def test_small_files_of_large_proofs_are_refused_with_the_limits_as_they_are(name):
    contents = BOMBS[name]()
    with pytest.raises(CertificateError, match="operations"):
        checker.limited(*contents, max_work=checker.MAX_WORK)
    # Zeros and rows of numbers take little room in a file.
    members = packed(contents) if name.startswith("a dense") else []
    for member in members:
        member.method = DEFLATED
    assert len(archive(members)) < 30_000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variables": 2**39}, "array q"),
        ({"zero": 2**23}, "array b"),
        ({"a_rows": np.array([2**39])}, "a_rows has entries outside"),
        ({"a_columns": np.array([2**39])}, "a_columns has entries outside"),
        ({"x_pivot_equations": np.array([0])}, "as many equations with a pivot"),
        ({"x_pivot_equations": np.array([2**39])}, "entries outside"),
        ({"tight": np.array([2**39])}, "entries outside"),
    ],
)
def test_numbers_of_a_file_are_looked_at_before_anything_is_held(changes, message):
    document, arrays = program(1, {"zero": 1})
    problem = document["problem"] | {name: of for name, of in changes.items() if name == "variables"}
    problem["cones"] = problem["cones"] | {name: of for name, of in changes.items() if name == "zero"}
    arrays |= {name: of for name, of in changes.items() if name not in ("variables", "zero")}
    with pytest.raises(CertificateError, match=message):
        checker.operations(document | {"problem": problem}, arrays)
