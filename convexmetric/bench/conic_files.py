"""Conic programs as text: the Conic Benchmark Format, version 3, and the sparse format of SDPA.

H. A. Friberg: CBLIB 2014: a benchmark library for conic mixed-integer and continuous optimization. Mathematical
Programming Computation 8 (2016). K. Fujisawa, M. Kojima, K. Nakata, M. Yamashita: SDPA user's manual (2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from convexmetric.errors import InputError
from convexmetric.programs.canonical import Program


def cbf(program: Program, constant: float, about: str) -> str:
    """``min q'x + c0`` such that ``b - A x`` is in a product of cones, in the Conic Benchmark Format.

    Matrices are ``PSDCON``, of lower triangles. (x, y, z) of an exponential cone is (z, y, x) there.
    """
    K = program.cones
    zero, _, round_, triangles, exponential, power = K.slices
    turned = np.arange(exponential.start, exponential.stop).reshape(-1, 3)[:, ::-1].ravel()
    plain = np.concatenate([np.arange(zero.start, round_.stop), turned, np.arange(power.start, power.stop)])
    kinds = [("L=", zero.stop), ("L+", K.nonnegative), *(("Q", size) for size in K.second_order)]
    kinds += [("EXP", 3)] * K.exponential + [(f"@{number}:POW", 3) for number in range(len(K.powers))]
    domains = [f"{kind} {size}" for kind, size in kinds if size]
    powers = [f"2\n{alpha!r}\n{1.0 - alpha!r}" for alpha in K.powers]
    A, b, n = sp.csr_array(program.A), program.b, len(program.q)
    own = [_places(order, number) for number, order in enumerate(K.semidefinite)]
    block, i, j = np.concatenate([np.zeros((3, 0), dtype=np.int64), *own], axis=1)
    inside = sp.coo_array(A[triangles])
    outside, D, c = sp.coo_array(A[plain]), np.flatnonzero(b[triangles]), np.flatnonzero(b[plain])
    costs = np.flatnonzero(program.q)
    sections = [
        f"# {about}\nVER\n3\n",
        f"POWCONES\n{len(powers)} {2 * len(powers)}\n" + "\n".join(powers) + "\n" if powers else "",
        f"OBJSENSE\nMIN\n\nVAR\n{n} 1\nF {n}\n",
        _section("PSDCON", K.semidefinite),
        f"CON\n{len(plain)} {len(domains)}\n" + "\n".join(domains) + "\n" if domains else "",
        _section("OBJACOORD", costs, program.q[costs]),
        f"OBJBCOORD\n{constant!r}\n",
        _section("ACOORD", outside.row, outside.col, -outside.data),
        _section("BCOORD", c, b[plain][c]),
        _section("HCOORD", block[inside.row], inside.col, i[inside.row], j[inside.row], -inside.data),
        _section("DCOORD", block[D], i[D], j[D], b[triangles][D]),
    ]
    return "\n".join(section for section in sections if section)


def sdpa(program: Program, constant: float, about: str) -> str:
    """``min q'x`` such that ``sum_j x_j F_j - F_0`` is positive semidefinite, block by block: the sparse SDPA format.

    The first block is diagonal: equations as two inequalities each, then inequalities. A second-order cone is the
    matrix with s_1 on its diagonal and the rest of s in its first row. The constant is in the comment.

    Raises
    ------
    InputError
        If the program has exponential or power cones.
    """
    K = program.cones
    zero, line, _, _, exponential, _ = K.slices
    if K.exponential or K.powers:
        raise InputError("SDPA's format has no exponential and no power cones, which this program needs: pass to='cbf'")
    diagonal = np.r_[np.arange(line.stop), np.arange(zero.stop)].astype(np.int64)
    signs = np.where(np.arange(len(diagonal)) < line.stop, 1.0, -1.0)
    at = np.arange(len(diagonal))
    # For each entry of a matrix: row of the program, block, and place; SDPA counts from 1.
    found, sizes = [np.array([diagonal, 0 * at, at, at])], [-len(diagonal)]
    for kind, size, rows in K.blocks():
        number, first = len(sizes), rows.start
        if kind == "matrix":
            block, j, i = _places(size, number)
            found.append(np.array([np.arange(first, rows.stop), block, i, j]))
        else:
            each = np.arange(size)
            for row, i, j in ((0 * each + first, each, each), (first + each[1:], 0 * each[1:], each[1:])):
                found.append(np.array([row, 0 * i + number, i, j]))
        sizes.append(size)
    row, block, i, j = np.concatenate(found, axis=1)
    signs = np.append(signs, np.ones(len(row) - len(signs)))
    spread = sp.csr_array((signs, (np.arange(len(row)), row)), shape=(len(row), exponential.start))
    F = sp.csc_array(spread @ -sp.hstack([sp.csr_array(program.b[:, None]), program.A], format="csr"))
    F.eliminate_zeros()
    F.sort_indices()
    of, at = np.repeat(np.arange(F.shape[1]), np.diff(F.indptr)), F.indices
    kept = [size for size in sizes if size]
    block = block + (1 if sizes[0] else 0)
    head = f'"{about}; add {constant!r} to the optimal value\n{len(program.q)}\n{len(kept)}\n'
    head += " ".join(map(str, kept)) + "\n" + " ".join(map(repr, program.q.tolist())) + "\n"
    return head + _lines(of, block[at], i[at] + 1, j[at] + 1, F.data)


def _places(order: int, number: int) -> NDArray[np.int64]:
    """Number of a matrix, and rows and columns of its lower triangle, column by column."""
    j, i = np.triu_indices(order)
    return np.array([np.full(len(i), number), i, j])


def _lines(*columns: Any) -> str:
    """A table of numbers, whose floats are read back unchanged."""
    return "".join(
        " ".join(map(repr, row)) + "\n" for row in zip(*(np.asarray(c).tolist() for c in columns), strict=True)
    )


def _section(name: str, *columns: Sequence[Any] | NDArray[Any]) -> str:
    """A section of the Conic Benchmark Format: its length and its lines; nothing if it has none."""
    return f"{name}\n{len(columns[0])}\n{_lines(*columns)}" if len(columns[0]) else ""
