"""Conic programs as text: readers written from the formats' definitions state the same program."""

import shutil
import subprocess

import cvxpy as cp
import numpy as np
import pytest

import convexmetric as cm
from convexmetric.bench import export_instance
from convexmetric.bench.conic_files import cbf, sdpa
from convexmetric.errors import InputError
from convexmetric.programs.canonical import canonical

#: Relative accuracy that is asked of solvers.
CLOSE = 1e-6


def read_cbf(text):
    """A problem of CVXPY from the Conic Benchmark Format (Friberg 2016), and its variable."""
    lines = iter([line for line in text.splitlines() if line and not line.startswith("#")])
    found = {}
    for keyword in lines:
        head = next(lines).split()
        if keyword in ("VER", "OBJSENSE", "OBJBCOORD"):
            found[keyword] = head[0]
        elif keyword == "POWCONES":
            sizes = []
            for _ in range(int(head[0])):
                sizes.append([float(next(lines)) for _ in range(int(next(lines)))])
            found[keyword] = sizes
        else:
            rows = int(head[1] if keyword in ("VAR", "CON") else head[0])
            found[keyword] = [next(lines).split() for _ in range(rows)]
            if keyword == "CON":
                found["rows"] = int(head[0])
    assert (found["VER"], found["OBJSENSE"]) == ("3", "MIN")
    ((kind, n),) = found["VAR"]
    assert kind == "F"
    x = cp.Variable(int(n))
    c = np.zeros(x.size)
    for j, value in found.get("OBJACOORD", ()):
        c[int(j)] = float(value)
    A, b = np.zeros((found.get("rows", 0), x.size)), np.zeros(found.get("rows", 0))
    for i, j, value in found.get("ACOORD", ()):
        A[int(i), int(j)] = float(value)
    for i, value in found.get("BCOORD", ()):
        b[int(i)] = float(value)
    s, at, constraints = A @ x + b if len(b) else None, 0, []
    for kind, size in found.get("CON", ()):
        own, at = s[at : at + int(size)], at + int(size)
        if kind == "L=":
            constraints.append(own == 0)
        elif kind == "L+":
            constraints.append(own >= 0)
        elif kind == "Q":
            constraints.append(cp.SOC(own[0], own[1:]) if int(size) > 1 else own[0] >= 0)
        elif kind == "EXP":
            # x1 >= x2 exp(x3 / x2)
            constraints.append(cp.ExpCone(own[2], own[1], own[0]))
        else:
            first, second = found["POWCONES"][int(kind.removeprefix("@").removesuffix(":POW"))]
            constraints.append(cp.PowCone3D(own[0], own[1], own[2], first / (first + second)))
    assert at == len(b)
    matrices = [
        [np.zeros((int(size), int(size), x.size)), np.zeros((int(size), int(size)))]
        for (size,) in found.get("PSDCON", ())
    ]
    for i, j, k, m, value in found.get("HCOORD", ()):
        matrices[int(i)][0][[int(k), int(m)], [int(m), int(k)], int(j)] = float(value)
    for i, k, m, value in found.get("DCOORD", ()):
        matrices[int(i)][1][[int(k), int(m)], [int(m), int(k)]] = float(value)
    for H, D in matrices:
        flat = H.reshape(-1, x.size) @ x + D.ravel()
        constraints.append(cp.reshape(flat, D.shape, order="C") >> 0)
    return cp.Problem(cp.Minimize(c @ x + float(found["OBJBCOORD"])), constraints), x


def read_sdpa(text):
    """A problem of CVXPY from SDPA's sparse format, with the constant of the comment."""
    comment, m, count, sizes, c, *entries = text.splitlines()
    assert comment.startswith('"')
    sizes, c = [int(size) for size in sizes.split()], np.array(c.split(), dtype=float)
    assert (len(c), len(sizes)) == (int(m), int(count))
    F = [np.zeros((abs(size), abs(size), len(c) + 1)) for size in sizes]
    for entry in entries:
        number, block, i, j, value = entry.split()
        i, j = int(i) - 1, int(j) - 1
        assert i == j if sizes[int(block) - 1] < 0 else i <= j
        F[int(block) - 1][[i, j], [j, i], int(number)] = float(value)
    x, constraints = cp.Variable(len(c)), []
    for size, own in zip(sizes, F, strict=True):
        if size < 0:
            rows = own[range(-size), range(-size)]
            constraints.append(rows[:, 1:] @ x - rows[:, 0] >= 0)
        else:
            flat = own.reshape(-1, len(c) + 1)
            constraints.append(cp.reshape(flat[:, 1:] @ x - flat[:, 0], (size, size), order="C") >> 0)
    constant = float(comment.rpartition("add ")[2].partition(" ")[0])
    return cp.Problem(cp.Minimize(c @ x + constant), constraints), x


def six_cones():
    """A problem that has every cone, and a constant."""
    x, S = cp.Variable(4), cp.Variable((3, 3), symmetric=True)
    constraints = [
        cp.sum(x) == 1,
        x >= -2,
        cp.norm(x) <= 3,
        cp.exp(x[0]) + cp.exp(-x[1]) <= 4,
        cp.PowCone3D(x[2] + 2, cp.Constant(1.5), x[3], 0.3),
        S >> np.diag([1.0, 2.0, 3.0]) + 0.5,
        S[0, 1] == x[0],
    ]
    return cp.Problem(cp.Minimize(np.array([1.0, -2.0, 0.5, -1.0]) @ x + cp.trace(S) + S[1, 2] + 7.0), constraints)


def linear_and_round():
    x, S = cp.Variable(3), cp.Variable((2, 2), symmetric=True)
    constraints = [cp.sum(x) == 1, x >= -1, cp.norm(x - 0.5) <= 2, S >> cp.diag(x[:2]), S[0, 1] == 0.25]
    return cp.Problem(cp.Minimize(np.array([1.0, -2.0, 0.5]) @ x + cp.trace(S) - 4.0), constraints)


def test_the_conic_benchmark_format_has_all_six_cones():
    problem = six_cones()
    form = canonical(problem, quadratic=False)
    K = form.program.cones
    assert min(K.zero, K.nonnegative, len(K.second_order), len(K.semidefinite), K.exponential, len(K.powers)) > 0
    read, _ = read_cbf(cbf(form.program, form.constant, "six cones"))
    certificate = cm.certify_program(problem)
    value = read.solve(solver="CLARABEL")
    slack = CLOSE * abs(value)
    assert certificate.lower_bound - slack <= value <= certificate.upper_bound + slack


def test_sdpa_has_linear_round_and_semidefinite_cones():
    problem = linear_and_round()
    form = canonical(problem, quadratic=False)
    read, _ = read_sdpa(sdpa(form.program, form.constant, "a small one"))
    assert read.solve(solver="CLARABEL") == pytest.approx(problem.solve(solver="CLARABEL"), rel=CLOSE)
    form = canonical(six_cones(), quadratic=False)
    with pytest.raises(InputError, match="no exponential and no power cones"):
        sdpa(form.program, form.constant, "six cones")


@pytest.mark.parametrize(("write", "read"), [(cbf, read_cbf), (sdpa, read_sdpa)])
def test_what_is_read_are_the_very_numbers(write, read):
    form = canonical(linear_and_round(), quadratic=False)
    program, rng = form.program, np.random.default_rng(1)
    stated, x = read(write(program, form.constant, "a small one"))
    for _ in range(3):
        x.value = rng.standard_normal(x.size)
        assert stated.objective.value == pytest.approx(program.value(x.value) + form.constant, rel=1e-14)
        # All entries of b - A x, up to their order, among those of the matrices that are read.
        found = np.concatenate([np.ravel(of.value) for one in stated.constraints for of in one.args])
        for s in program.b - program.A @ x.value:
            assert np.abs(found - s).min() <= 1e-13 * max(1.0, abs(s))


@pytest.mark.integration
def test_exported_instances_have_the_proven_optimum(tmp_path):
    for name, to, read in [
        ("blocks-linear-iris", "cbf", read_cbf),
        ("blocks-l1-logdet-iris", "cbf", read_cbf),
        ("blocks-linear-iris", "sdpa", read_sdpa),
    ]:
        (path,) = export_instance(name, tmp_path, to=to)
        value, instance = read(path.read_text())[0].solve(solver="CLARABEL"), cm.bench.load_instance(name)
        slack = CLOSE * max(1.0, abs(value))
        assert instance.lower_bound - slack <= value <= instance.upper_bound + slack


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("csdp") is None, reason="CSDP is not installed")
@pytest.mark.parametrize("name", ["relative-wine-1000", "blocks-trace-distance-wine", "blocks-two-groups-wine"])
def test_csdp_finds_the_proven_optimum(name, tmp_path):
    (path,) = export_instance(name, tmp_path, to="sdpa")
    told = subprocess.run(["csdp", path], capture_output=True, text=True, timeout=240, cwd=tmp_path)
    line = next(line for line in told.stdout.splitlines() if line.startswith("Primal objective value:"))
    value, instance = float(line.split()[-1]), cm.bench.load_instance(name)
    constant = float(path.read_text().partition("\n")[0].rpartition("add ")[2].partition(" ")[0])
    slack = CLOSE * abs(value)
    assert instance.lower_bound - slack <= value + constant <= instance.upper_bound + slack
