import gzip
import lzma
import shutil
import struct

import numpy as np
import pytest
from scipy.io import savemat

from convexmetric import files
from convexmetric.datasets import load
from convexmetric.errors import InputError


class Trap:
    """Unpickling one of these would raise: it must never happen."""

    def __reduce__(self):
        return (exec, ("raise SystemExit('unpickled')",))


def place(folder, relative, content=b""):
    path = folder / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_pickled_arrays_are_refused(tmp_path):
    path = place(tmp_path, "isolet/isolet.npz")
    np.savez(path, X_e4=np.array([Trap()], dtype=object), y=np.array([1]), part=np.array([1]))
    with pytest.raises(InputError, match=r"'isolet'.*pickled Python objects"):
        load("isolet", data_folder=tmp_path)


def test_a_large_file_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 10)
    place(tmp_path, "ionosphere/ionosphere.data", b"0,0,g\n" * 10)
    with pytest.raises(InputError, match="larger than 10 bytes"):
        load("ionosphere", data_folder=tmp_path)


def test_decompression_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 100_000)
    zeros = bytes(10_000_000)
    place(tmp_path, "cora/cora.content.xz", lzma.compress(zeros))
    place(tmp_path, "mnist-test/t10k-images-idx3-ubyte.gz", gzip.compress(zeros))
    np.savez_compressed(place(tmp_path, "isolet/isolet.npz"), X_e4=np.zeros(1_000_000))
    savemat(place(tmp_path, "coil20/COIL20.mat"), {"fea": np.zeros((1000, 1024))}, do_compression=True)
    for name in ("cora", "mnist-test", "isolet", "coil20"):
        # lzma keeps its own count of memory, and may refuse first.
        with pytest.raises(InputError, match=f"'{name}'.*(more than 100000 bytes|[Mm]emory)"):
            load(name, data_folder=tmp_path)


def test_xz_output_is_bounded_too(tmp_path, monkeypatch):
    path = place(tmp_path, "bomb.xz", lzma.compress(bytes(20_000_000), preset=0))
    monkeypatch.setattr(files, "MAX_BYTES", 10_000_000)
    with pytest.raises(InputError, match="more than 10000000 bytes"):
        files.read_lines_xz(path)


def test_a_matlab_file_may_hold_only_numbers(tmp_path):
    path = place(tmp_path, "coil20/COIL20.mat")
    for content, found in (({"fea": np.array([1, "a"], dtype=object)}, "cell"), ({"gnd": 1.0}, "missing")):
        savemat(path, {"gnd": np.ones(2), **content})
        with pytest.raises(InputError, match=f"variable fea must be a numeric array, but it is {found}"):
            load("coil20", data_folder=tmp_path)


def test_damaged_files_are_reported_with_the_data_set(tmp_path, data_folder):
    for relative in (
        "balance-scale/balance-scale.data",
        "isolet/isolet.npz",
        "cora/cora.content.xz",
        "wikipedia-chameleon/chameleon_features.json.xz",
        "coil20/COIL20.mat",
        "mnist-test/t10k-images-idx3-ubyte.gz",
    ):
        name, file = relative.split("/")
        shutil.copytree(data_folder / name, tmp_path / name, copy_function=shutil.copyfile)
        (tmp_path / name).chmod(0o755)
        raw = (data_folder / relative).read_bytes()
        for content in (raw[: len(raw) // 2 + 1], b"", b"garbage" * 100):
            (tmp_path / name / file).write_bytes(content)
            with pytest.raises(InputError, match=f"Data set '{name}'"):
                load(name, data_folder=tmp_path)


def test_bytes_after_the_end_of_a_stream_are_refused(tmp_path):
    path = place(tmp_path, "two.gz", gzip.compress(b"one") + b"two")
    with pytest.raises(ValueError, match="after the end"):
        files.read_gz(path)


def test_an_idx_file_of_another_kind_is_refused(tmp_path):
    raw = struct.pack(">II", 0x0D01, 1) + bytes(4)
    place(tmp_path, "mnist-test/t10k-images-idx3-ubyte.gz", gzip.compress(raw + bytes(100)))
    with pytest.raises(InputError, match="not an IDX file of bytes"):
        load("mnist-test", data_folder=tmp_path)


def test_windows_line_ends_and_a_missing_last_one(tmp_path):
    path = place(tmp_path, "lines.txt", b"a\r\n\nb\x0cc\nd")
    assert files.read_lines(path) == ["a", "b\x0cc", "d"]
