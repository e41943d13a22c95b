import io
import zipfile

import numpy as np
import pytest
from scipy.io import savemat

import convexmetric as cm
from convexmetric import files
from convexmetric.audits import read_certificate, read_iterates, read_metric, write_solution
from convexmetric.errors import DualError, InputError

M = np.array([[2.0, -0.5, 0.1], [-0.5, 1.0, 1e-17], [0.1, 1e-17, 1 / 3]])


class Trap:
    """Unpickling one of these would raise: it must never happen."""

    def __reduce__(self):
        return (exec, ("raise SystemExit('unpickled')",))


def small_data():
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3
    return rng.standard_normal((24, 4)) + np.eye(3, 4)[y], y


@pytest.fixture(scope="module")
def ranking():
    problem = cm.RankingProblem.from_labels(*small_data(), C=10.0)
    return problem, cm.solve(problem, solver="cutting-planes")


@pytest.fixture(scope="module")
def ranking_by_newton():
    data = cm.datasets.load("wine")
    problem = cm.RankingProblem.from_labels(cm.datasets.preprocess(data.X, ["zscore"])[::2, :4], data.y[::2], C=10.0)
    return problem, cm.solve(problem, solver="smoothed-newton")


@pytest.fixture(scope="module")
def relative():
    X, _ = small_data()
    triplets = np.random.default_rng(1).permuted(np.tile(np.arange(24), (60, 1)), axis=1)[:, :3]
    problem = cm.RelativeComparisonProblem(X, triplets)
    return problem, cm.solve(problem)


def save(path, array):
    if path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".npz":
        np.savez(path, metric=array)
    elif path.suffix == ".mat":
        savemat(path, {"metric": array, "C": 10.0, "note": "learned", "options": {"tol": 1e-6}})
    else:
        np.savetxt(path, array, delimiter=",", fmt="%.17g", header="a metric")
    return path


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mat", ".csv", ".CSV"])
@pytest.mark.parametrize("array", [M, M[0]], ids=["matrix", "weights"])
def test_every_format_comes_back_bit_by_bit(tmp_path, suffix, array):
    metric = read_metric(save(tmp_path / f"metric{suffix}", array))
    assert metric.dtype == np.float64
    np.testing.assert_array_equal(metric, array)


@pytest.mark.parametrize("text", ["1 2\n2 5\n", "1,2\n2,5", "\ufeff1\t2\r\n2\t5\r\n", "# M\n\n 1 , 2 # row\n2,5\n"])
def test_csv_takes_commas_and_white_space(tmp_path, text):
    path = tmp_path / "M.csv"
    path.write_bytes(text.encode())
    np.testing.assert_array_equal(read_metric(path), [[1.0, 2.0], [2.0, 5.0]])


@pytest.mark.parametrize("writer", [np.savez, lambda path, **arrays: savemat(path, arrays)], ids=["npz", "mat"])
def test_the_variable_is_the_only_one_or_the_papers_letter_or_the_one_named(tmp_path, writer, request):
    path = tmp_path / f"several.{request.node.callspec.id}"
    writer(path, L=2 * M, W=M)
    np.testing.assert_array_equal(read_metric(path), M)
    np.testing.assert_array_equal(read_metric(path, variable="L"), 2 * M)
    with pytest.raises(InputError, match=r"no variable 'Q'; it has: L, W"):
        read_metric(path, variable="Q")
    writer(path, A=M, B=M)
    with pytest.raises(InputError, match=r"several variables .* name one of: A, B"):
        read_metric(path)


def test_integers_and_booleans_are_numbers(tmp_path):
    np.save(tmp_path / "M.npy", np.eye(2, dtype=bool))
    np.testing.assert_array_equal(read_metric(tmp_path / "M.npy"), np.eye(2))


def test_pickles_are_refused(tmp_path):
    trap = np.array([Trap()], dtype=object)
    np.save(tmp_path / "M.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "M.npz", M=trap)
    for name in ("M.npy", "M.npz"):
        with pytest.raises(InputError, match="pickled Python objects, which are never loaded"):
            read_metric(tmp_path / name)
    np.savez(tmp_path / "M.npz", M=M, extra=trap)
    np.testing.assert_array_equal(read_metric(tmp_path / "M.npz"), M)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("M.txt", b"1", r"read from \.npy, \.npz, \.csv, \.mat, not from '\.txt'"),
        ("M", b"1", "not from 'no suffix'"),
        ("M.npy", b"1 2 3", "damaged or no .npy file"),
        ("M.npy", npy(M)[:-8], "damaged or no .npy file"),
        ("M.npy", npy(M).replace(b"(3, 3)", b"(3, 99999999999)"), "damaged or no .npy file"),
        ("M.npy", npy(M.astype(complex)), "real numbers, this array has type complex128"),
        ("M.npy", npy(np.array(["a"])), "real numbers"),
        ("M.npy", npy(np.float64(1.0)), r"shape \(\)"),
        ("M.npy", npy(np.ones((2, 2, 2))), r"shape \(2, 2, 2\)"),
        ("M.npy", npy(np.ones((0, 0))), r"shape \(0, 0\)"),
        ("M.npz", b"PK\x03\x04", "damaged or no .npz file"),
        ("M.npz", b"", "damaged or no .npz file"),
        ("M.mat", b"garbage" * 100, "damaged or no .mat file"),
        ("M.mat", b"", "damaged or no .mat file"),
        ("M.mat", b"\x89HDF\r\n\x1a\n" + bytes(600), "MATLAB 7.3 file; save it with the option -v7"),
        ("M.csv", b"", "no numbers"),
        ("M.csv", b"a,b\n1,2\n", "could not convert string 'a'"),
        ("M.csv", b"1,2\n3\n", "columns"),
        ("M.csv", b"\xff\xfe1", "damaged or no .csv file"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_metric(path)


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_metric(tmp_path / "none.npy")
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_metric(tmp_path)


def test_variable_is_for_files_of_several(tmp_path):
    with pytest.raises(InputError, match="holds one array"):
        read_metric(save(tmp_path / "M.npy", M), variable="M")


def test_matlab_files_hold_matrices_of_numbers(tmp_path):
    savemat(tmp_path / "M.mat", {"M": np.array([1, "a"], dtype=object), "gap": 0.5})
    with pytest.raises(InputError, match="holds no numeric matrix"):
        read_metric(tmp_path / "M.mat")
    with pytest.raises(InputError, match="must be a numeric array, but it is cell"):
        read_metric(tmp_path / "M.mat", variable="M")


def test_large_files_are_refused_before_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    np.savez_compressed(tmp_path / "bomb.npz", M=np.zeros((100, 100)))
    with pytest.raises(InputError, match="decompresses to more than 1000 bytes"):
        read_metric(tmp_path / "bomb.npz")
    with pytest.raises(InputError, match="larger than 1000 bytes"):
        read_metric(save(tmp_path / "M.npy", np.zeros((100, 100))))


@pytest.mark.parametrize("kind", ["ranking", "ranking_by_newton", "relative"])
def test_a_solution_comes_back_with_its_proof(tmp_path, kind, request):
    problem, solution = request.getfixturevalue(kind)
    path = write_solution(tmp_path / "solution.npz", solution)
    np.testing.assert_array_equal(read_metric(path), solution.certificate.M)
    certificate = read_certificate(path, problem)
    assert certificate.lower_bound == pytest.approx(solution.lower_bound, rel=1e-12)
    assert certificate.upper_bound == pytest.approx(solution.upper_bound, rel=1e-10)
    with np.load(path, allow_pickle=False) as file:
        assert float(file["gap"]) == solution.gap
        assert str(file["status"]) == "optimal"
    assert [entry.name for entry in tmp_path.iterdir()] == ["solution.npz"]


def test_claimed_bounds_are_not_believed(tmp_path, ranking):
    problem, solution = ranking
    with np.load(write_solution(tmp_path / "honest.npz", solution)) as file:
        arrays = dict(file)
    arrays["lower_bound"] = arrays["upper_bound"]
    arrays["M"] = np.eye(4)
    np.savez(tmp_path / "forged.npz", **arrays)
    assert read_certificate(tmp_path / "forged.npz", problem).gap > 0.1


def test_a_proof_of_something_else_is_refused(tmp_path, ranking, relative):
    path = write_solution(tmp_path / "ranking.npz", ranking[1])
    with pytest.raises(InputError):
        read_certificate(path, relative[0])
    X, y = small_data()
    with pytest.raises(DualError, match="groups must hold 20 integers"):
        read_certificate(path, cm.RankingProblem.from_labels(X[:20], y[:20]))
    with pytest.raises(InputError, match="no metric with a dual point: it has metric"):
        read_certificate(save(tmp_path / "M.npz", M), ranking[0])


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, ranking, monkeypatch):
    path = write_solution(tmp_path / "solution.npz", ranking[1])
    before = path.read_bytes()

    def full(file, **arrays):
        file.write(b"PK")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(InputError, match=r"cannot write .*solution\.npz: No space left"):
        write_solution(path, ranking[1])
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["solution.npz"]


@pytest.mark.parametrize(("name", "message"), [("s.npy", "saved as .npz"), ("none/s.npz", "no folder")])
def test_a_bad_place_for_a_solution_is_refused(tmp_path, ranking, name, message):
    with pytest.raises(InputError, match=message):
        write_solution(tmp_path / name, ranking[1])


def test_solution_files_are_plain_npz(tmp_path, ranking):
    with zipfile.ZipFile(write_solution(tmp_path / "solution.npz", ranking[1])) as archive:
        assert {"M.npy", "lower_bound.npy", "upper_bound.npy", "gap.npy"} <= set(archive.namelist())
        assert {"witnesses.npy", "weights.npy", "groups.npy"} <= set(archive.namelist())
        assert all(b"|O" not in archive.read(name)[:100] for name in archive.namelist())


def test_iterates_come_back_from_every_form(tmp_path):
    rng = np.random.default_rng(0)
    metrics = rng.standard_normal((12, 3, 3))
    np.savez(tmp_path / "all.npz", iterates=metrics, seconds=np.arange(12), passes=np.arange(12) / 2)
    np.savez(tmp_path / "bare.npz", iterates=metrics[:, 0])
    np.save(tmp_path / "array.npy", metrics)
    folder = tmp_path / "run"
    folder.mkdir()
    for k, M in enumerate(metrics):
        if k % 2:
            np.save(folder / f"M_{k}.npy", M)
        else:
            np.savetxt(folder / f"M_{k}.csv", M, delimiter=",", fmt="%.17g")
    (folder / "notes.txt").write_text("not a metric")
    everything = read_iterates(tmp_path / "all.npz")
    np.testing.assert_array_equal(everything.metrics, metrics)
    np.testing.assert_array_equal(everything.seconds, np.arange(12))
    np.testing.assert_array_equal(everything.passes, np.arange(12) / 2)
    bare = read_iterates(tmp_path / "bare.npz")
    np.testing.assert_array_equal(bare.metrics, metrics[:, 0])
    assert bare.seconds is None
    assert bare.passes is None
    # In order of their numbers: 2 before 10.
    for path in (tmp_path / "array.npy", folder):
        np.testing.assert_array_equal(read_iterates(path).metrics, metrics)


def test_files_that_hold_no_iterates(tmp_path, monkeypatch):
    np.savez(tmp_path / "other.npz", M=np.eye(3))
    np.savez(tmp_path / "words.npz", iterates=np.array(["one", "two"]))
    np.savez(tmp_path / "flat.npz", iterates=np.zeros(3))
    np.savez(tmp_path / "pickled.npz", iterates=np.array([{}], dtype=object))
    (tmp_path / "damaged.npz").write_bytes(b"PK")
    np.savetxt(tmp_path / "one.csv", np.eye(2))
    for name, twice in (("empty", []), ("twice", ["a1.npy", "b1.npy"]), ("uneven", ["a1.npy", "a2.npy"])):
        (tmp_path / name).mkdir()
        for k, file in enumerate(twice):
            np.save(tmp_path / name / file, np.eye(2 + k))
    for name, message in {
        "none.npz": "there is no such file",
        "other.npz": "has no variable 'iterates'; it has: M",
        "words.npz": "iterates must hold real numbers",
        "flat.npz": r"iterates have shape \(T, d, d\) or \(T, d\), this array has shape \(3,\)",
        "pickled.npz": "pickled Python objects",
        "damaged.npz": "is damaged",
        "one.csv": "iterates are read from .npz, .npy or a folder",
        "empty": "holds no .npy or .csv files whose names end in a number",
        "twice": "holds several files of number 1: a1.npy, b1.npy",
        "uneven": r"has shape \(3, 3\), the first iterate has \(2, 2\)",
    }.items():
        with pytest.raises(InputError, match=message):
            read_iterates(tmp_path / name)
    monkeypatch.setattr(files, "MAX_BYTES", 200)
    (tmp_path / "large").mkdir()
    for k in range(3):
        np.save(tmp_path / "large" / f"{k}.npy", np.zeros((3, 3)))
    with pytest.raises(InputError, match=r"more than 200 bytes of iterates|larger than 200 bytes"):
        read_iterates(tmp_path / "large")
