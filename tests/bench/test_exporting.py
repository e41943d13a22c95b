"""Exported instances: files that are read without the package say the same, and have the same bytes every time."""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from fractions import Fraction
from pathlib import Path

import archive
import numpy as np
import pytest
from readers import read_instance
from samples import random_metric

import convexmetric as cm
from convexmetric.bench import export_instance, exporting
from convexmetric.errors import InputError

READER = Path(read_instance.__file__).with_name("read_instance.m")
#: One instance of every kind of risk, loss, measure, regularizer and cone of the library.
KINDS = [
    "blocks-budget-hinge-wine",
    "blocks-budget-root-wine",
    "blocks-itml-breast-cancer-diagonal",
    "blocks-itml-wine",
    "blocks-l1-logdet-iris",
    "blocks-linear-held-iris",
    "blocks-log-wine",
    "blocks-logistic-breast-cancer",
    "blocks-odd-one-out-iris",
    "blocks-prior-auc-wine",
    "blocks-softmax-matrices-wine",
    "blocks-softmax-wine",
    "blocks-sum-rankings-pairs-wine",
    "blocks-trace-distance-wine",
    "blocks-two-groups-wine",
    "blocks-worst-map-wine",
    "blocks-zero-wine",
    "large-margin-wine-diagonal",
    "pairs-wine-1000",
    "pairs-wine-all-trace-margins",
    "ranking-err-wine-c100",
    "ranking-knn-wine-c100",
    "ranking-mrr-wine-c100",
    "ranking-ndcg-log2-wine-c100",
    "ranking-ndcg-wine-c100",
    "ranking-precision-wine-c100",
    "relative-wine-hard",
    "relative-wine-hard-rbf",
]


@pytest.fixture(scope="module")
def solved():
    problem = cm.load_problem("relative-wine-1000")
    return problem, cm.solve(problem)


def read(name, folder):
    export_instance(name, folder)
    description, arrays = read_instance.read(folder / name)
    return description, arrays


def some_metric(problem):
    """A random metric of full rank; where the objective is infinite there, a little more than an optimal one."""
    cone = problem.cone
    M = 0.03 * random_metric(np.random.default_rng(0), cone)
    M = M if cone.free else M + 0.01 * cone.identity()
    return M if np.isfinite(problem.value(M)) else 1.01 * cm.solve(problem, max_seconds=60).certificate.M


def agrees(name, folder):
    """Whether the reader's objective is the problem's own at some metrics."""
    description, arrays = read(name, folder)
    problem = cm.load_problem(name)
    for M in (problem.cone.identity(), some_metric(problem)):
        with np.errstate(all="ignore"):
            found, value = read_instance.objective(description["problem"], arrays, M), problem.value(M)
        assert found == value or abs(found - value) <= 1e-12 * abs(value), name


@pytest.mark.parametrize("name", KINDS)
def test_a_reader_of_numpy_alone_has_the_same_objective(name, tmp_path):
    agrees(name, tmp_path)


def test_every_kind_of_the_library_is_read():
    tried = {name: cm.bench.load_instance(name) for name in KINDS}
    tables = [kernel_table(instance) for instance in tried.values()]
    losses = {loss for table in tables for loss in names(table, "loss")}
    assert losses == set(read_instance.LOSSES)
    assert {of for table in tables for of in names(table, "measure")} == {*read_instance.GAINS, "auc"}
    kinds = {kind for table in tables for kind in names(table["regularizer"], "kind")}
    assert kinds - {"sum"} == set(read_instance.REGULARIZERS)


def kernel_table(instance):
    return cm.certificates.statement.describe(instance.problem())[0]


def names(table, key):
    if isinstance(table, dict):
        found = {table[key]} if key in table else set()
        return found.union(*(names(value, key) for value in table.values()), set())
    return set().union(*(names(value, key) for value in table)) if isinstance(table, list) else set()


def test_hashes_and_bounds_are_those_of_the_specification(tmp_path):
    name = "relative-wine-1000"
    description, arrays = read(name, tmp_path)
    lines = [json.dumps(description["problem"], sort_keys=True, separators=(",", ":"))]
    for key in sorted(arrays):
        text = f"{arrays[key].dtype.str} {arrays[key].shape};".encode()
        found = hashlib.sha256(text + arrays[key].tobytes()).hexdigest()
        assert description["sha256"][key] == found
        lines.append(f"{key} {found}")
    assert description["statement"] == hashlib.sha256("\n".join(lines).encode()).hexdigest()
    instance = cm.bench.load_instance(name)
    assert [Fraction(bound) for bound in description["bounds"]] == [instance.exact_lower, instance.exact_upper]
    assert description["sources"]["data"]["sha256"] == instance.data["sha256"]


def test_a_certificate_goes_along_if_it_proves_this_statement(solved, tmp_path):
    problem, solution = solved
    good = tmp_path / "good.npz"
    verdict = cm.write_certificate(good, problem, solution=solution)
    made = export_instance("relative-wine-1000", tmp_path, certificate=good)
    description, _ = read_instance.read(tmp_path / "relative-wine-1000")
    beside = tmp_path / description["certificate"]
    assert beside in made
    assert description["bounds"] == [str(verdict.lower), str(verdict.upper)]
    assert cm.verify(beside).sha256 == description["statement"]

    with pytest.raises(InputError, match="another problem"):
        export_instance("relative-wine-hard", tmp_path, certificate=good)
    with pytest.raises(InputError, match="a certificate is about arrays"):
        export_instance("relative-wine-1000", tmp_path, to="cbf", certificate=good)


def forged(good, path, **claimed):
    """A copy of a certificate with another claim."""
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(path, "w") as new:
        for member in old.namelist():
            content = old.read(member)
            if member == "certificate.json":
                document = json.loads(content)
                document["claimed"] |= claimed
                content = json.dumps(document).encode()
            new.writestr(zipfile.ZipInfo(member), content)


def test_a_forged_certificate_is_refused_and_left_out_of_the_archive(solved, tmp_path):
    problem, solution = solved
    good, folder = tmp_path / "good.npz", tmp_path / "certificates"
    folder.mkdir()
    cm.write_certificate(good, problem, solution=solution)
    forged(good, folder / "relative-wine-1000.npz", lower="118", upper="119")
    with pytest.raises(InputError, match="not proven"):
        export_instance("relative-wine-1000", tmp_path, certificate=folder / "relative-wine-1000.npz")
    archive.export_library(tmp_path / "a.zip", ["relative-wine-1000"], folder)
    assert not any("certificate" in member for member in zipfile.ZipFile(tmp_path / "a.zip").namelist())
    shutil.copy(good, folder / "relative-wine-1000.npz")
    archive.export_library(tmp_path / "b.zip", ["relative-wine-1000"], folder)
    assert "instances/relative-wine-1000.certificate.npz" in zipfile.ZipFile(tmp_path / "b.zip").namelist()


def test_the_archive_has_the_same_bytes_every_time_and_says_what_is_in_it(tmp_path):
    chosen = ["relative-wine-hard", "blocks-linear-iris", "pairs-orl-faces-all-rbf"]
    for file in ("a.zip", "b.zip"):
        assert archive.export_library(tmp_path / file, chosen, tmp_path) == ["blocks-linear-iris", "relative-wine-hard"]
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as packed:
        index = json.loads(packed.read("index.json"))["instances"]
        assert sorted(index) == sorted(chosen)
        for name, entry in index.items():
            for file, found in entry["files"].items():
                assert hashlib.sha256(packed.read(f"instances/{file}")).hexdigest() == found
            assert Fraction(entry["bounds"][0]) <= Fraction(entry["bounds"][1])
            # Data that may not be passed on are named, by the hash in the library.
            assert entry["sources"]["data"]["sha256"] == cm.bench.load_instance(name).data["sha256"]
        assert index["pairs-orl-faces-all-rbf"]["files"] == {}


def test_the_archive_script_certifies_what_is_solved_and_leaves_open_ones_and_data_of_others(monkeypatch, tmp_path):
    is_open = next(name for name in cm.bench.list_problems() if cm.bench.load_instance(name).open)
    chosen = ["relative-wine-hard", is_open, "pairs-orl-faces-all-rbf"]
    monkeypatch.setattr(archive, "list_problems", lambda: chosen)
    archive.certify(tmp_path, 60.0)
    assert [path.name for path in tmp_path.iterdir()] == ["relative-wine-hard.npz"]
    archive.export_library(tmp_path / "a.zip", chosen, tmp_path)
    with zipfile.ZipFile(tmp_path / "a.zip") as packed:
        proven = [name for name in packed.namelist() if name.endswith(".certificate.npz")]
    assert proven == ["instances/relative-wine-hard.certificate.npz"]


def test_titles_are_plain_text():
    # They stand in comments of files of other formats, and between quotes.
    for name in cm.bench.list_problems():
        title = cm.bench.load_instance(name).title
        assert title.isascii()
        assert title.isprintable()
        assert not set('"\\{}') & set(title)


def test_the_command_writes_files_and_says_what_it_cannot(command, tmp_path):
    code, out, _ = command("export-instance", "blocks-linear-iris", "--output", tmp_path)
    assert code == 0
    assert [Path(line).name for line in out.splitlines()] == ["blocks-linear-iris.json", "blocks-linear-iris.npz"]
    for asked, said in [
        (["blocks-linear"], "did you mean"),
        (["blocks-linear-iris", "--to", "mps"], "to must be one of"),
        (["ranking-map-wine-c1", "--to", "cbf"], "cannot be written out at this size"),
        (["ranking-auc-wine-c1", "--to", "cbf"], "too large to be written out"),
        (["ranking-map-wine-c1", "--to", "cvxpy"], "the risk 'map' is not written out"),
        (["blocks-odd-one-out-iris", "--to", "sdpa"], "no exponential"),
        (["blocks-linear-iris", "--output", tmp_path / "absent"], "there is no folder"),
    ]:
        code, _, err = command("export-instance", *asked)
        assert code == 2
        assert said in err


def test_an_infinite_weight_is_text(tmp_path):
    export_instance("relative-wine-hard", tmp_path)
    text = (tmp_path / "relative-wine-hard.json").read_text()
    assert json.loads(text, parse_constant=pytest.fail)["sources"]["parameters"]["C"] == "Infinity"


def test_nothing_is_written_out_beyond_the_limit(monkeypatch, tmp_path):
    monkeypatch.setattr(exporting, "MOST_ENTRIES", 10)
    with pytest.raises(InputError, match="too large"):
        export_instance("blocks-linear-iris", tmp_path, to="cvxpy")
    assert not list(tmp_path.iterdir())


needs_octave = pytest.mark.skipif(shutil.which("octave-cli") is None, reason="Octave is not installed")
#: Whose reading in Octave takes less than a second, of every kind of risk.
OCTAVE = [
    "blocks-itml-wine",
    "blocks-odd-one-out-iris",
    "blocks-softmax-matrices-wine",
    "blocks-sum-triplets-pairs-wine",
    "large-margin-wine-diagonal",
    "pairs-wine-all-trace-margins",
    "relative-wine-hard",
]


def octave(*arguments):
    return subprocess.run(
        ["octave-cli", "--norc", "--no-history", READER, *arguments], capture_output=True, text=True, timeout=1200
    )


def octave_agrees(name, folder):
    """Whether Octave finds every array as it was exported, and the problem's own objective at a metric."""
    export_instance(name, folder)
    problem = cm.load_problem(name)
    M = some_metric(problem)
    np.save(folder / "metric.npy", M)
    told = octave(folder / name, folder / "metric.npy")
    assert told.returncode == 0, told.stderr
    assert float(told.stdout) == pytest.approx(problem.value(M), rel=1e-12), name


@needs_octave
@pytest.mark.parametrize("name", OCTAVE)
def test_octave_reads_the_same_objective(name, tmp_path):
    octave_agrees(name, tmp_path)


@needs_octave
@pytest.mark.integration
@pytest.mark.parametrize("name", cm.bench.list_problems())
def test_both_readers_agree_on_every_instance(name, tmp_path, request):
    if cm.bench.load_instance(name).needs_data_folder:
        request.getfixturevalue("data_folder")
    agrees(name, tmp_path)
    octave_agrees(name, tmp_path)


@needs_octave
def test_octave_refuses_arrays_that_are_not_those_exported(tmp_path):
    name = "blocks-linear-iris"
    export_instance(name, tmp_path)
    arrays = dict(np.load(tmp_path / f"{name}.npz"))
    value = octave(tmp_path / name)
    assert value.returncode == 0
    problem = cm.load_problem(name)
    assert float(value.stdout) == pytest.approx(problem.value(problem.cone.identity()), rel=1e-12)
    for key in arrays:
        changed = {of: array.copy() for of, array in arrays.items()}
        changed[key].flat[-1] = np.nextafter(changed[key].flat[-1], 9.0) if changed[key].dtype.kind == "f" else 1
        if np.array_equal(changed[key], arrays[key]):
            changed[key].flat[-1] = 0
        np.savez(tmp_path / f"{name}.npz", **changed)
        told = octave(tmp_path / name)
        assert told.returncode != 0
        assert f"{key} is not the array that was exported" in told.stderr
    np.savez(tmp_path / f"{name}.npz", points=arrays["points"])
    assert "arrays are missing" in octave(tmp_path / name).stderr


def test_the_reader_runs_alone(tmp_path):
    export_instance("blocks-odd-one-out-iris", tmp_path)
    told = subprocess.run(
        [sys.executable, "-I", read_instance.__file__, tmp_path / "blocks-odd-one-out-iris"],
        capture_output=True,
        text=True,
    )
    problem = cm.load_problem("blocks-odd-one-out-iris")
    value = problem.value(problem.cone.identity())
    assert float(told.stdout.split()[0]) == pytest.approx(value, rel=1e-12), told.stderr
