"""Files that attack the checker: bombs, headers that lie, text for terminals, machines that compute otherwise."""

import ast
import json
import os
import platform
import shutil
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from forgery import Member, archive, claim, noisy, opened, packed, written
from hypothesis import given
from hypothesis import strategies as st
from samples import instance

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
            problem = cm.RankingProblem.from_labels(rng.standard_normal((12, 3)) + 0.5 * y[:, None], y, "map", C=20.0)
        else:
            problem = instance(name)
        path = folder / f"{number}.npz"
        made[name] = path, cm.write_certificate(path, problem, cm.solve(problem, tol=1e-6))
    return made


def changed(path, contents, **tables):
    document = json.loads(json.dumps(contents[0]))
    for key, change in tables.items():
        change(document[key]) if callable(change) else document.__setitem__(key, change)
    return written(path, (document, contents[1]))


def replaced(path, source, member, data, method=zipfile.ZIP_DEFLATED):
    """The same archive with other bytes for a member."""
    with zipfile.ZipFile(source) as original, zipfile.ZipFile(path, "w") as archive:
        for info in original.infolist():
            own = info.filename == member
            content = data if own else original.read(info)
            archive.writestr(info.filename, content, method if own else zipfile.ZIP_STORED)
    return path


def header(shape="(12, 3)", descr="'<f8'", more=""):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, {more}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (header(f"({2**40}, {2**20})"), "header"),
        (header(f"({2**33}, 3)"), "side above"),
        (header(f"({2**14}, {2**14})"), "numbers"),
        (header("(12, 4)"), "size"),
        (header("(12, 3, 1, 1)"), "header"),
        (header("(-12, -3)"), "header"),
        (header("(12, 3)", more="'x': '''\n"), "header"),
        (header("(12, 3)", "[('a', '<f8')]"), "header"),
        (header("(12, 3)", "'|O'"), r"type \|O"),
        (header("(12, 3)").replace(b"\x01\x00", b"\x03\x00", 1), "header"),
        (b"", "header"),
    ],
)
def test_headers_that_lie_are_refused(start, message, certificates, tmp_path):
    path, _ = certificates["ranking from labels"]
    with pytest.raises(CertificateError, match=message):
        cm.verify(replaced(tmp_path / "c.npz", path, "points.npy", start + bytes(8 * 36)))


def test_headers_of_both_versions_and_orders_are_read(certificates, tmp_path):
    path, verdict = certificates["ranking from labels"]
    points = opened(path)[1]["points"]
    second = header().replace(b"\x01\x00", b"\x02\x00", 1)
    second = second[:10] + b"\0\0" + second[10:]
    fortran = header().replace(b"False", b"True")
    fortran = fortran[:8] + (len(fortran) - 10).to_bytes(2, "little") + fortran[10:]
    for start, data in ((header(), points.tobytes()), (second, points.tobytes()), (fortran, points.tobytes("F"))):
        assert cm.verify(replaced(tmp_path / "c.npz", path, "points.npy", start + data)).sha256 == verdict.sha256


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_are_stored_or_deflated(method, certificates, tmp_path):
    path, _ = certificates["ranking from labels"]
    with pytest.raises(CertificateError, match="deflate"):
        cm.verify(replaced(tmp_path / "c.npz", path, "points.npy", b"\0" * 10**6, method))


def test_bombs_are_refused_whatever_they_say_of_their_size(certificates, tmp_path):
    path, _ = certificates["ranking from labels"]
    bad = tmp_path / "bad.npz"
    with pytest.raises(CertificateError, match=r"certificate\.json"):
        cm.verify(replaced(bad, path, "certificate.json", b" " * (2**20 + 1)))
    # 50 MB of zeros, of which the archive says that they are 400 bytes.
    replaced(bad, path, "points.npy", header() + bytes(5 * 10**7))
    data, size = bad.read_bytes(), (len(header()) + 5 * 10**7).to_bytes(4, "little")
    assert data.count(size) == 2
    bad.write_bytes(data.replace(size, (400).to_bytes(4, "little")))
    tracemalloc.start()
    with pytest.raises(CertificateError, match="size or the sum"):
        cm.verify(bad)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6
    with pytest.raises(CertificateError, match="unpacks to"):
        cm.verify(replaced(bad, path, "points.npy", bytes(10**6)), max_bytes=10**5)
    with zipfile.ZipFile(bad, "w") as archive:
        for number in range(65):
            archive.writestr(f"{number}", "")
    with pytest.raises(CertificateError, match="members"):
        cm.verify(bad)
    bad.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(CertificateError, match="end like"):
        cm.verify(bad)
    with pytest.raises(CertificateError, match="not a file"):
        cm.verify(tmp_path)


def long_lists(contents, count, length):
    """So many queries, with so many near and as many far items together."""
    document, arrays = contents[0], dict(contents[1])
    arrays["near"], arrays["far"] = np.arange(length) % 11, np.full(length, 11)
    for name in ("near", "far"):
        arrays[f"{name}_stops"] = length // count * np.arange(1, count + 1)
    arrays["anchors"] = arrays["groups"] = np.zeros(count, dtype=int)
    hidden = ("itself",)
    return document, {name: array for name, array in arrays.items() if name not in hidden}


def many_points(contents, n):
    """Queries with one near item each, all others being far."""
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
    "points": ("map", lambda c: many_points(c, 12_000), "matrix"),
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


def overlapping(members):
    """A member in the data of another: both in the directory."""
    inner = archive([Member("zz.npy", members[1].data)])
    outer = Member("points.npy", inner[: inner.index(b"PK\1\2")])
    at = archive([members[0], outer]).index(b"zz.npy") - 30
    return archive([members[0], outer, Member("zz.npy", members[1].data, central={"offset": at})])


def without(members, number):
    """A member that the directory leaves out."""
    whole, end = archive(members), archive(members)[-22:]
    at, entries = whole.index(b"PK\1\2"), []
    for member in members:
        entries.append(whole[at : at + 46 + len(member.name)])
        at += len(entries[-1])
    kept = b"".join(entry for other, entry in enumerate(entries) if other != number)
    start, count = struct.unpack("<L", end[16:20])[0], len(members) - 1
    return whole[:start] + kept + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(kept), start, 0)


LAYOUTS = {
    "bytes before": lambda members: archive(members, prefix=b"#!/bin/sh\n"),
    "bytes after": lambda members: archive(members) + b"more",
    "a comment": lambda members: archive(members, suffix=b"more"),
    "another name before the data": lambda members: archive(members).replace(b"points.npy", b"pointz.npy", 1),
    "another size before the data": lambda members: archive([replace(members[0], local={"size": 7}), *members[1:]]),
    "another sum before the data": lambda members: archive([replace(members[0], local={"crc": 7}), *members[1:]]),
    "sizes after the data": lambda members: archive([replace(members[0], local={"flags": 8}), *members[1:]]),
    "a note on a member": lambda members: archive([replace(members[0], comment=b"note"), *members[1:]]),
    "an extra field": lambda members: archive([replace(members[0], extra=b"UT\0\0"), *members[1:]]),
    "members that overlap": overlapping,
    "bytes between members": lambda members: without(members, 1),
    "bytes after the last member": lambda members: without(members, len(members) - 1),
}


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_every_byte_of_an_archive_is_spoken_for(layout, certificates, tmp_path):
    members = packed(opened(certificates["ranking from labels"][0]))
    path = tmp_path / "c.npz"
    path.write_bytes(archive(members))
    assert cm.verify(path).accepted
    path.write_bytes(LAYOUTS[layout](members))
    with pytest.raises(CertificateError, match=r"does not end like|is not where and what|there twice|between or after"):
        cm.verify(path)


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
