"""Files that attack the checker: bombs, headers that lie, text for terminals, machines that compute otherwise."""

import ast
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from catalogue import instance
from forgery import archive, claim, noisy, opened, packed, written
from hypothesis import given
from hypothesis import strategies as st

import convexmetric as cm
from convexmetric.certificates import CertificateError, checker, kernel

KERNEL = Path(kernel.__file__).parent
NAMES = ("ranking from labels", "psd triplets, trace, G", "relative, rbf, soft", "map")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """A file and its verdict for some problems."""
    folder, made = tmp_path_factory.mktemp("certificates"), {}
    for number, name in enumerate(NAMES):
        if name == "map":
            rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 4)
            problem = cm.RankingProblem.from_labels(
                rng.standard_normal((12, 3)) + 0.5 * y[:, None], y, measure="map", C=20.0
            )
        else:
            problem = instance(name)
        path = folder / f"{number}.npz"
        made[name] = path, cm.write_certificate(path, problem, solution=cm.solve(problem, tol=1e-6))
    return made


def changed(path, contents, **tables):
    document = json.loads(json.dumps(contents[0]))
    for key, change in tables.items():
        change(document[key]) if callable(change) else document.__setitem__(key, change)
    return written(path, (document, contents[1]))


def test_the_limit_on_bytes_is_that_of_the_reader(certificates):
    """What it refuses (test_kernel_reader.py) the checker refuses."""
    path, _ = certificates["ranking from labels"]
    size = path.stat().st_size
    with pytest.raises(CertificateError, match=f"larger than {size - 1} bytes"):
        cm.verify(path, max_bytes=size - 1)


def long_lists(contents, count, length):
    """So many queries, with so many near and as many negatives together."""
    document, arrays = contents[0], dict(contents[1])
    arrays["near"], arrays["far"] = np.arange(length) % 11, np.full(length, 11)
    for name in ("near", "far"):
        arrays[f"{name}_stops"] = length // count * np.arange(1, count + 1)
    arrays["anchors"] = arrays["groups"] = np.zeros(count, dtype=int)
    hidden = ("itself",)
    return document, {name: array for name, array in arrays.items() if name not in hidden}


def many_points(contents, n):
    """Queries with one positive each, all others being far."""
    document, arrays = contents[0], dict(contents[1])
    arrays |= {"points": np.zeros((n, 3)), "near": np.zeros(n, dtype=int), "itself": np.full(n, n)}
    arrays |= {"near_stops": np.arange(1, n + 1), "anchors": np.arange(n), "groups": np.zeros(n, dtype=int)}
    return document, {name: array for name, array in arrays.items() if not name.startswith("far")}


def other(c, table=None, **arrays):
    return c[0] | {"problem": c[0]["problem"] | (table or {})}, c[1] | arrays


BOMBS = {
    "many queries": ("ranking from labels", lambda c: long_lists(c, 10**6, 10**6), "operations"),
    "a large table": ("map", lambda c: long_lists(c, 1, 2**14), "written out"),
    "a large factor": ("ranking from labels", lambda c: other(c, factor=np.zeros((2**14, 3))), "matrix"),
    "points": ("map", lambda c: many_points(c, 12_000), "operations"),
    "features": ("ranking from labels", lambda c: other(c, {"features": 2**14}), "matrix"),
    "witnesses": ("map", lambda c: other(c, steps=np.zeros((2**20, len(c[1]["near"])), dtype=np.uint8)), "operations"),
}


@pytest.mark.parametrize("bomb", sorted(BOMBS))
def test_small_files_that_would_take_long_or_much_are_refused(bomb, certificates, tmp_path):
    name, made, message = BOMBS[bomb]
    path = written(tmp_path / "c.npz", made(opened(certificates[name][0])))
    start = time.perf_counter()
    with pytest.raises(CertificateError, match=message):
        cm.verify(path, max_work=1e10)
    assert time.perf_counter() - start < 20.0


def test_work_is_limited(certificates):
    path, _ = certificates["psd triplets, trace, G"]
    for limit in (1e3, float("nan")):
        with pytest.raises(CertificateError, match="operations"):
            cm.verify(path, max_work=limit)


def run_alone(tmp_path, *arguments, before="", **environment):
    """The checker in a process of its own, with NumPy and the standard library only."""
    alone = tmp_path / "checker.py"
    alone.write_text(Path(checker.__file__).read_text())
    shutil.copytree(KERNEL, tmp_path / "kernel", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    blocked = "import sys; sys.modules['convexmetric'] = sys.modules['scipy'] = sys.modules['numba'] = None; "
    script = "import runpy; sys.argv = sys.argv[1:]; sys.path.insert(0, '.'); "
    code = blocked + before + script + "runpy.run_path(sys.argv[0], run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", code, str(alone), *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
        env=os.environ | environment,
    )
    return done.returncode, done.stdout, done.stderr


def imported(path):
    """The packages that a module imports; beginning with a dot those beside it."""
    tree = ast.parse(path.read_text())
    named = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    named |= {f"{'.' * node.level}{node.module}" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name if name.startswith(("convexmetric", ".")) else name.partition(".")[0] for name in named}


def test_the_kernel_imports_numpy_and_the_standard_library():
    modules = {f".{path.stem}" for path in KERNEL.glob("*.py")}
    for path in KERNEL.glob("*.py"):
        here = {"kernel"} if path.stem == "__main__" else set()
        assert imported(path) - sys.stdlib_module_names - modules <= {"numpy"} | here
    assert imported(Path(checker.__file__)) - sys.stdlib_module_names == {
        "numpy",
        "kernel",
        "convexmetric.certificates",
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_reads_by_itself_what_the_checker_reads(name, certificates):
    path, verdict = certificates[name]
    done = subprocess.run([sys.executable, KERNEL, path], capture_output=True, text=True, timeout=60)
    bounds, statement, said = done.stdout.splitlines()
    assert (done.returncode, said) == (0, "accepted")
    assert bounds == f"{verdict.lower} <= optimum <= {verdict.upper}"
    assert statement == f"statement: {verdict.sha256}"


def test_the_checker_runs_alone(certificates, tmp_path):
    path, _ = certificates["psd triplets, trace, G"]
    code, out, _ = run_alone(tmp_path, path)
    assert code == 0
    assert "accepted" in out
    forged = written(tmp_path / "c.npz", claim(opened(path), Fraction(10), Fraction(10)))
    assert run_alone(tmp_path, forged)[0] == 1
    forged.write_text("nothing")
    assert run_alone(tmp_path, forged)[0] == 2
    assert run_alone(tmp_path, tmp_path / "nowhere.npz")[0] == 2
    assert run_alone(tmp_path, path, "--max-work", "10")[0] == 2


def test_what_a_file_says_cannot_reach_the_terminal_as_it_is(certificates, tmp_path):
    contents = opened(certificates["psd triplets, trace, G"][0])
    title = changed(tmp_path / "t.npz", contents, title="Bühler, Café")
    code, out, _ = run_alone(tmp_path, title, PYTHONIOENCODING="ascii")
    assert code == 0
    assert r"B\xfchler, Caf\xe9" in out
    key = changed(tmp_path / "k.npz", contents, **{"\x1b[2K\raccepted\n": 1})
    code, out, error = run_alone(tmp_path, key)
    assert (code, out) == (2, "")
    assert error.startswith("refused: ")
    assert error.rstrip("\n").isprintable()


#: Sets bits of the control word of arithmetic, which stands at the end of the C library's environment.
CONTROL = """
import ctypes, ctypes.util
libm, state = ctypes.CDLL(ctypes.util.find_library('m')), (ctypes.c_uint32 * 8)()
libm.fegetenv(state); state[7] |= {bits}; libm.fesetenv(state)
"""


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="sets a register of x86-64")
@pytest.mark.parametrize(
    ("bits", "message"),
    [(0x2000, "round"), (0x4000, "round"), (0x6000, "round"), (0x8000, "subnormal"), (0x0040, "subnormal")],
)
def test_a_machine_that_computes_otherwise_is_refused(bits, message, certificates, tmp_path):
    path, _ = certificates["psd triplets, trace, G"]
    # NumPy first: it computes constants when it is imported.
    before = f"import numpy, fractions, decimal; exec({CONTROL.format(bits=bits)!r}); "
    code, _, error = run_alone(tmp_path, path, before=before)
    assert code == 2
    assert message in error


def test_products_that_are_not_exact_are_noticed(monkeypatch):
    checker.arithmetic()
    # So many digits that the sums do not fit.
    monkeypatch.setattr(checker.math, "log2", lambda terms: 0.0)
    checker.arithmetic.cache_clear()
    with pytest.raises(CertificateError, match="leading digits"):
        checker.arithmetic()


def test_a_verdict_states_its_problem(certificates, tmp_path):
    path, verdict = certificates["ranking from labels"]
    contents = opened(path)
    assert "auc" in verdict.problem
    assert "C 20;" in verdict.problem
    assert verdict.sizes == {"features": 3, "points": 12, "queries": 12, "pairs": 12 * 3 * 8}
    # Another C under the same title.
    other = cm.verify(changed(tmp_path / "c.npz", contents, problem=lambda table: table["risk"].update(C="2")))
    assert "C 2;" in str(other)
    assert other.sha256 not in (verdict.sha256, "")
    # Hints and claims are no part of the statement; every array of it is.
    rng = np.random.default_rng(0)
    assert cm.verify(written(tmp_path / "c.npz", noisy(rng, contents, 1e-3))).sha256 == verdict.sha256
    arrays = contents[1] | {"points": contents[1]["points"] + 1e-9}
    assert cm.verify(written(tmp_path / "c.npz", (contents[0], arrays))).sha256 != verdict.sha256


@given(st.fractions(), st.integers(-700, 700))
def test_decimals_are_rounded_outward(value, exponent):
    value *= Fraction(10) ** exponent
    low, high = Fraction(checker.decimal(value, -1)), Fraction(checker.decimal(value, 1))
    assert low <= value <= high
    assert high - low <= abs(value) * Fraction(1, 10**15)


def test_bounds_beyond_the_largest_float_are_printed():
    huge = Fraction(10) ** 400 / 3
    assert "e+399 <= optimum" in str(checker.Verdict(True, huge, huge, (huge, huge), "", "", "", 0.0))


@pytest.mark.parametrize("name", NAMES[:3])
def test_a_constant_shifts_both_bounds(name, certificates, tmp_path):
    path, verdict = certificates[name]
    table = opened(path)[0]["problem"]
    for constant in ("-7/3", "0", "1000000"):
        found = cm.verify(changed(tmp_path / "c.npz", opened(path), problem=table | {"constant": constant}))
        shift = Fraction(constant)
        assert f"constant {shift}" in found.problem
        slack = Fraction(1, 10**15) * (abs(shift) + abs(verdict.upper))
        assert abs(verdict.lower + shift - found.lower) <= slack
        assert abs(found.upper - verdict.upper - shift) <= slack


def measured(path, risk):
    """The contents of a file with a risk of rankings in the place of its own."""
    document, arrays = opened(path)
    return document | {"problem": document["problem"] | {"risk": risk}}, arrays


def test_a_table_of_discounts_is_made_once(certificates, tmp_path):
    """Made anew for each of 12 queries it took ten times as long as was estimated, and minutes for more of them."""
    risk = {"kind": "rankings", "measure": "ndcg", "C": "20", "k": 10**6, "short": "printed"}
    contents = measured(certificates["map"][0], risk)
    work, start = checker.operations(*contents), time.process_time()
    verdict = cm.verify(written(tmp_path / "c.npz", contents), max_work=work)
    # Estimates are about right; here with room for a slow machine.
    assert time.process_time() - start < 4e-9 * work
    assert verdict.upper is not None
    with pytest.raises(CertificateError, match="operations"):
        cm.verify(tmp_path / "c.npz", max_work=0.5 * work)


def of_choices(d, k, n, queries, listed, kind="trace norm", wide=1):
    """A certificate of choices under the zero matrix: its queries have lists of ``listed`` items each."""
    rng, count = np.random.default_rng(0), queries * listed
    risk = {"kind": "choices", "weight": "1", "temperature": "1"}
    problem = {"cone": "matrices", "features": d, "features_of_items": k, "risk": risk, "linear": False}
    problem |= {"regularizer": {"kind": kind, "weight": "1"}}
    dual = {"kind": "probabilities", "bits": 20, "share": "0", "regularizer": {}}
    arrays = {"points": rng.standard_normal((n, k)), "queries": rng.standard_normal((queries, d))}
    arrays |= {"near": rng.integers(0, n, queries), "near_stops": np.arange(queries) + 1, "matrix": np.zeros((d, k))}
    arrays |= {"far": rng.integers(0, n, count), "far_stops": listed * (np.arange(queries) + 1)}
    arrays["probabilities"] = np.tile(2**20 * (np.arange(listed + 1) == 0), queries)
    if kind == "trace norm":
        arrays |= {"left": np.zeros((d, wide)), "right": np.zeros((k, wide))}
    return document_of(problem, dual), arrays


def of_trials(candidates, trials, d, n):
    """A certificate of choices among listed pairs, at the zero metric."""
    risk = {"kind": "listed choices", "weight": "1", "temperature": "1", "candidates": candidates, "chosen": 1}
    problem = {"cone": "psd", "features": d, "risk": risk, "linear": False, "regularizer": {"kind": "zero"}}
    dual = {"kind": "probabilities", "bits": 20, "share": "0", "regularizer": {}}
    rng = np.random.default_rng(0)
    arrays = {"points": rng.standard_normal((n, d)), "pairs": rng.integers(0, n, (trials * candidates, 2))}
    arrays["factor"] = np.zeros((1, d))
    arrays["probabilities"] = np.tile(2**20 * (np.arange(candidates) == 0), trials)
    return document_of(problem, dual), arrays


def document_of(problem, dual):
    claims = {"lower": "-1", "upper": "1000000000"}
    return {
        "format": "convexmetric-certificate", "version": 3, "title": "zero", "problem": problem, "dual": dual,
        "claimed": claims,
    }  # fmt: skip


WORK = {
    "a wide matrix": lambda: of_choices(3, 20_000, 50, 40, 3),
    "a tall matrix": lambda: of_choices(20_000, 3, 50, 40, 3),
    "a square matrix": lambda: of_choices(400, 400, 50, 40, 3, "frobenius"),
    "wide factors": lambda: of_choices(200, 200, 20, 10, 3, wide=5_000),
    "tall queries": lambda: of_choices(2_000, 400, 50, 200, 1, "squared frobenius"),
    "many candidates": lambda: of_choices(3, 3, 500, 100, 2_000),
    "many queries": lambda: of_choices(3, 3, 50, 300, 1),
    "trials of many": lambda: of_trials(100_000, 3, 4, 50),
    "many trials": lambda: of_trials(3, 50_000, 4, 50),
}


@pytest.mark.parametrize("name", WORK)
def test_no_proof_takes_longer_than_is_estimated(name, tmp_path):
    contents = WORK[name]()
    work = checker.operations(*contents)
    cm.verify(written(tmp_path / "warm.npz", of_choices(3, 3, 5, 2, 1)))
    path = written(tmp_path / "c.npz", contents)
    start = time.process_time()
    verdict = cm.verify(path, max_work=work)
    # With room for a slow machine, as above.
    assert time.process_time() - start < 4e-9 * work
    assert verdict.accepted, verdict.reason
    with pytest.raises(CertificateError, match="operations"):
        cm.verify(path, max_work=0.99 * work)


def test_estimates_of_matrices_and_trials_are_not_far_too_large():
    """What is in use has to be within the limit: 20,000 queries among as many items, with 1,000 features each."""
    document, arrays = of_choices(3, 3, 5, 2, 1)
    large = {"points": (20_000, 1_000), "queries": (20_000, 1_000), "matrix": (1_000, 1_000)}
    arrays |= {name: np.broadcast_to(0.0, shape) for name, shape in large.items()}
    arrays |= {name: np.broadcast_to(0.0, (1_000, 1_000)) for name in ("left", "right")}
    arrays |= {"near": np.arange(20_000), "near_stops": np.arange(20_000) + 1, "far": np.arange(20_000)}
    arrays |= {"far_stops": np.arange(20_000) + 1, "probabilities": np.zeros(40_000, dtype=np.int64)}
    document["problem"] |= {"features": 1_000, "features_of_items": 1_000}
    assert checker.operations(document, arrays) < 0.5 * checker.MAX_WORK
    # A trial is held at once.
    contents = of_trials(3, 2, 4, 50)
    contents[0]["problem"]["risk"]["candidates"] = 2**40 - 1
    with pytest.raises(CertificateError, match="more than 67108864 numbers"):
        checker.operations(*contents)


def test_far_items_are_counted_where_near_ones_are_there_twice(certificates):
    """Rest lists of near lists with one item 300 times have as many pairs as the same lists written out."""
    path, _ = certificates["ranking from labels"]
    document, arrays = opened(path)
    n = 301
    document["problem"]["risk"] = {"kind": "pairs of lists", "loss": "logistic", "weight": "1"}
    arrays = {name: array for name, array in arrays.items() if not name.startswith(("near", "far", "anchors"))}
    arrays |= {"points": np.zeros((n, 3)), "near": np.zeros(n - 1, dtype=np.int64), "near_stops": np.array([n - 1])}
    arrays |= {"anchors": np.zeros(1, dtype=np.int64)}
    lists = {"far": np.arange(1, n), "far_stops": np.array([n - 1])}
    rest = {name: array for name, array in arrays.items() if name != "itself"} | {"itself": np.array([n])}
    written_out = {name: array for name, array in arrays.items() if name != "itself"} | lists
    assert checker.operations(document, rest) >= 0.99 * checker.operations(document, written_out)


@pytest.mark.parametrize(
    ("where", "key", "value"),
    [
        ("risk", "summands", []),
        ("risk", "terms", []),
        ("risk", "loss", "hinge"),
        ("regularizer", "of", "gram of A"),
        ("regularizer", "summands", []),
        ("problem", "more", 1),
    ],
)
@pytest.mark.parametrize("name", ["map", "ranking from labels"])
def test_keys_are_checked_before_work_is_estimated(where, key, value, name, certificates):
    document, arrays = opened(certificates[name][0])
    (document["problem"] if where == "problem" else document["problem"][where])[key] = value
    with pytest.raises(CertificateError, match="keys are missing or unknown"):
        checker.operations(document, arrays)


def two_directories(members, others):
    """An archive whose end points to one directory, and stands behind another, where zipfile looks for it."""
    first, second = archive(members)[:-22], archive(others)[:-22]
    end = archive(members)[-22:]
    assert end[12:16] == archive(others)[-22:][12:16]
    return first + second + end


def test_one_file_is_one_certificate(certificates, tmp_path):
    contents = opened(certificates["ranking from labels"][0])
    other = json.loads(json.dumps(contents[0]))
    other["problem"]["risk"]["C"] = "2" + other["problem"]["risk"]["C"][1:]
    path = tmp_path / "c.npz"
    path.write_bytes(two_directories(packed(contents), packed((other, contents[1]))))
    with zipfile.ZipFile(path) as found:
        # What another reader finds: the second one.
        assert json.loads(found.read("certificate.json"))["problem"] == other["problem"]
    for program in ([KERNEL], [checker.__file__]):
        done = subprocess.run([sys.executable, *program, path], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (2, "")
        assert "does not end like a ZIP archive" in done.stderr


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_saves_is_read(save, certificates, tmp_path):
    """But for the description, which is no array: NumPy's archives with that added by zipfile."""
    path, verdict = certificates["ranking from labels"]
    document, arrays = opened(path)
    save(tmp_path / "c.npz", **arrays)
    with zipfile.ZipFile(tmp_path / "c.npz", "a") as made:
        made.writestr("certificate.json", json.dumps(document))
    assert cm.verify(tmp_path / "c.npz").sha256 == verdict.sha256


def test_the_kernel_alone_refuses_what_is_no_certificate(certificates, tmp_path):
    bad = tmp_path / "bad.npz"
    bad.write_text("nothing")
    document, arrays = opened(certificates["map"][0])
    strange = written(tmp_path / "strange.npz", (document | {"dual": []}, arrays))
    for files in ([tmp_path / "nowhere.npz"], [tmp_path], [bad], [strange], []):
        done = subprocess.run([sys.executable, KERNEL, *files], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("refused: ")
        assert done.stderr.count("\n") == 1
    unproven = written(tmp_path / "c.npz", claim((document, arrays), Fraction(10), Fraction(10)))
    assert subprocess.run([sys.executable, KERNEL, unproven], capture_output=True, timeout=60).returncode == 1


def test_a_verdict_begins_with_a_wide_gap():
    one = Fraction(1)
    close = checker.Verdict(True, one, one + Fraction(1, 10**4), (one, one), "", "", "", 0.0)
    wide = checker.Verdict(True, one, one + Fraction(1, 100), (one, one), "", "", "", 0.0)
    assert close.gap == pytest.approx(1e-4, rel=1e-3)
    assert "(relative gap 1.0e-04)" in str(close)
    assert str(close).splitlines()[-1].startswith("accepted")
    assert str(wide).startswith("far apart: the proven bounds have a relative gap of 9.9e-03\n")
    assert checker.Verdict(False, None, one, (one, one), "why", "", "", 0.0).gap == float("inf")
    zero = Fraction(0)
    assert checker.Verdict(True, zero, zero, (zero, zero), "", "", "", 0.0).gap == 0.0


def test_the_verdict_on_a_program_names_its_variables_and_the_steps_of_its_proof():
    verdict = cm.verify(Path(__file__).parents[1] / "corpus" / "accepted" / "program.npz")
    assert verdict.accepted
    assert verdict.steps == (
        "equations that follow from others by exact combinations: 2",
        "inequalities that the point holds with equality: 2",
        "variables eliminated by equations that define them: 1",
        "rows without a multiplier: 3",
        "multipliers eliminated by columns that define them: 1",
        "diagonal entries raised to prove convexity, by at most 2.0e-03: 1",
    )
    assert all(f"step:      {step}\n" in str(verdict) for step in verdict.steps)
    cones = "zero 2, nonnegative 2, second_order 1"
    assert verdict.problem == (
        f"minimise a quadratic function of x (2), w (1) over cones ({cones}), with the constant 0"
    )
    # Of an optimum of about 1/2 the gap is over one.
    assert verdict.gap == pytest.approx(float(verdict.upper - verdict.lower))
    names = [[f"v{number}", number, 1] for number in range(10)]
    table = verdict.description | {"columns": names, "maximise": True, "quadratic": False}
    said = checker.in_words(table | {"cones": dict.fromkeys(table["cones"], 0)})
    assert "maximise a linear function of v0 (1), v1 (1)" in said
    assert "v7 (1) and 2 others over cones (none)" in said
    assert "function of 3 over" in checker.in_words(table | {"columns": []})
    held = {"z_spreads": np.zeros(3), "z": np.array([0.0, 1.0, 0.0]), "z_pivot_unknowns": np.array([2])}
    assert checker.steps(held | {"z_follow": np.array([1])}) == (
        "columns that are exact combinations of others: 1",
        "rows without a multiplier: 1",
        "multipliers eliminated by columns that define them: 1",
    )
    assert checker.steps({"z": np.zeros(4), "points": np.zeros((3, 1))}) == ()
