"""Files of strangers and disks that are full: only errors of the package, no memory beyond what a file may take."""

import bz2
import gzip
import io
import lzma
import os
import random
import re
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings
import zipfile
import zlib

import numpy as np
import pytest

import convexmetric as cm
from convexmetric import files
from convexmetric.audits import read_certificate, read_iterates, read_metric, write_solution
from convexmetric.errors import ConvexMetricError, InputError
from convexmetric.files import all_or_nothing, check_writable, read_array, read_arrays, write_arrays
from convexmetric.retrieval.command import _matrix
from convexmetric.shards.folder import StoredArray, digest

M = np.array([[2.0, -0.5, 0.1], [-0.5, 1.0, 0.0], [0.1, 0.0, 0.5]])


def npy(array):
    packed = io.BytesIO()
    np.save(packed, array)
    return packed.getvalue()


def npz(path, method=zipfile.ZIP_STORED, **members):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def small():
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3
    return rng.standard_normal((24, 4)) + np.eye(3, 4)[y], y


@pytest.fixture(scope="module")
def problem():
    return cm.RankingProblem.from_labels(*small(), C=10.0)


def peak(read):
    """Largest number of bytes that a call that is refused holds."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            read()
        return tracemalloc.get_traced_memory()[1], str(caught.value)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("read", [read_metric, read_arrays, read_iterates, cm.evaluation.SimilarityOperator.load])
def test_bombs_are_refused_unread(tmp_path, method, read):
    path = npz(tmp_path / "bomb.npz", method, M=npy(M) + bytes(2**24))
    assert path.stat().st_size < 2**15
    held, message = peak(lambda: read(path))
    assert "packed in another way than deflate" in message
    assert held < 2**22


def test_no_more_is_unpacked_than_the_archive_says(tmp_path):
    path = npz(tmp_path / "lie.npz", zipfile.ZIP_DEFLATED, M=npy(M) + bytes(2**24))
    raw = bytearray(path.read_bytes())
    # The size of the member, in front of it and in the directory.
    for place in (22, raw.index(b"PK\x01\x02") + 24):
        raw[place : place + 4] = struct.pack("<I", len(npy(M)))
    path.write_bytes(raw)
    held, _ = peak(lambda: read_metric(path))
    assert held < 2**22


# Bombs ------------------------------------------------------------------------------------------------------------

#: Reads each file in a process of its own, and prints megabytes and processor seconds at most, and what was said. To be
#: quick it allows a quarter of what the package does.
READ_APART = """
import os, resource, sys, warnings
import convexmetric as cm
from convexmetric.audits import read_metric
from convexmetric.bench.library import read_instance
from convexmetric import files
from convexmetric.files import read_arrays
from convexmetric.errors import ConvexMetricError
files.MAX_BYTES //= 4
warnings.simplefilter("ignore")
def table(path): cm.datasets.read_csv(path, 0)
def instance(path): read_instance(open(path).read(), "a.toml")
triplets = cm.datasets.read_triplets
for name, path in zip(sys.argv[1::2], sys.argv[2::2]):
    if pid := os.fork():
        os.waitpid(pid, 0)
        continue
    before = resource.getrusage(resource.RUSAGE_SELF)
    try:
        eval(name)(path)
        said = "read"
    except ConvexMetricError as error:
        said = str(error).replace("\\n", " ")
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(after.ru_maxrss // 1000, round(after.ru_utime - before.ru_utime, 1), said, flush=True)
    os._exit(0)
"""


def lying(method, size, **members):
    """A zip archive whose members say that they have a few bytes."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    raw = bytearray(raw.getvalue())
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        for found in re.finditer(re.escape(mark), bytes(raw)):
            raw[found.start() + place : found.start() + place + 4] = struct.pack("<I", size)
    return bytes(raw)


def streamed(unit, times, begin=b""):
    """Gzip of a megabyte or so, many times."""
    packer = zlib.compressobj(1, wbits=31)
    return b"".join([packer.compress(begin), *(packer.compress(unit) for _ in range(times)), packer.flush()])


MB, ZEROS = 2**20, bytes(2**26)
TOML = """
name = "a"
title = ""
data = {set = "wine", preprocessing = [], shape = [], sha256 = ""}
parameters = {}
[bounds]
lower = 1.0
upper = 2.0
solver = ""
tol = 0.1
iterations = 1
version = ""
exact_upper = "2"
exact_lower = """
BOMBS = {
    "t.zip": ("triplets", lambda: lying(zipfile.ZIP_BZIP2, 99, t=ZEROS), "packed in another way than deflate"),
    "deflated.zip": ("triplets", lambda: lying(zipfile.ZIP_DEFLATED, 99, t=ZEROS), "NUL|damaged"),
    "b.xlsx": ("table", lambda: lying(zipfile.ZIP_BZIP2, 99, **{"_rels/.rels": ZEROS}), "packed in another way"),
    "deflated.xlsx": ("table", lambda: lying(zipfile.ZIP_DEFLATED, 99, **{"_rels/.rels": ZEROS}), "damaged"),
    "m.npz": ("read_arrays", lambda: lying(zipfile.ZIP_DEFLATED, 99, **{"M.npy": ZEROS}), "damaged"),
    "newlines.csv": ("table", lambda: streamed(b"\n" * MB, 120), "takes more than 134217728 bytes of memory"),
    "comments.csv": ("table", lambda: streamed(b"#\n" * MB, 60, b"a,b\n1,2\n"), "takes more than 134217728 bytes"),
    "commas.csv": ("table", lambda: streamed(b"," * MB, 120), "a line of more than 8388608 letters"),
    "blank.csv": ("table", lambda: streamed(b",,,,,,\n" * 2**17, 120), "takes more than 134217728 bytes"),
    "letters.csv": ("table", lambda: streamed(b"a" * MB, 120), "a line of more than 8388608 letters"),
    "open.csv": ("table", lambda: streamed(b"a\n" * MB, 60, b'"'), "field larger than|more than 8388608 letters"),
    "quoted.csv": ("table", lambda: streamed(b'"a\n",' * 2**18, 80), "more than 8388608 letters"),
    "cells.csv": ("table", lambda: streamed(b"1,2\n" * 2**18, 120), "takes more than 134217728 bytes of memory"),
    "text.csv": ("table", lambda: streamed((b"1," + b"x" * 99_000 + b"\n") * 10, 120), "takes more than 134217728"),
    "sparse.csv": ("table", lambda: streamed(b"1 1000000:1\n" * 2**10, 99), "takes more than 134217728 bytes"),
    "names.csv": ("table", lambda: streamed(b"@attribute a b\n" * 2**16, 120, b"@relation a\n"), "more than 134217728"),
    "row.csv": ("read_metric", lambda: b"1 " * (15 * MB), "a line of more than 8388608 letters"),
    "rows.csv": ("read_metric", lambda: b"1\n" * (15 * MB), "takes more than 134217728 bytes of memory"),
    "exponent.toml": ("instance", lambda: (TOML + '"1e10000000"').encode(), "must be rationals, 'p/q'"),
    "deep.toml": ("instance", lambda: b"a = " + b"[" * 10_000, "not valid TOML"),
    "digits.toml": ("instance", lambda: b"a = " + b"9" * 10_000, "not valid TOML"),
    "dots.toml": ("instance", lambda: b"a" + b".a" * MB + b" = 1", "more than 16384 letters"),
    "hex.toml": ("instance", lambda: TOML.replace("1.0", "0x" + "f" * 9999).encode() + b"''", "too large"),
}


@pytest.mark.integration
def test_bombs_take_little_memory_and_time(tmp_path):
    asked = []
    for name, (reader, content, _) in BOMBS.items():
        (tmp_path / name).write_bytes(content())
        asked += [reader, str(tmp_path / name)]
    done = subprocess.run([sys.executable, "-c", READ_APART, *asked], capture_output=True, text=True, check=True)
    for (name, (*_, expected)), line in zip(BOMBS.items(), done.stdout.splitlines(), strict=True):
        megabytes, seconds, said = line.split(" ", 2)
        assert re.search(expected, said), (name, line)
        assert int(megabytes) < 300, (name, line)
        assert float(seconds) < 5.0, (name, line)


@pytest.mark.parametrize("kind", ["fifo", "socket", "loop", "folder", "long", "surrogate", "NUL", "device"])
def test_special_files_are_refused_at_once(tmp_path, problem, kind):
    path = tmp_path / "special"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind(str(path))
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path = tmp_path / {"long": "x" * 5000, "surrogate": "\udc80\ud800", "NUL": "a\0b"}[kind]
    readers = [
        lambda path: cm.datasets.read_csv(path, 0),
        cm.datasets.read_table,
        cm.datasets.read_triplets,
        read_arrays,
        read_array,
        read_iterates,
        lambda path: read_certificate(path, problem),
        StoredArray,
        digest,
        lambda path: cm.solve(problem, checkpoint=path),
        *(lambda path, read=read: read_metric(path, **read) for read in ({}, {"variable": "M"})),
    ]
    for suffix in (".csv", ".xlsx", ".npz", ".npy", ".mat", ""):
        named = path.with_name(path.name + suffix)
        if suffix and kind not in ("long", "surrogate", "NUL"):
            named.symlink_to(path)
        for read in readers:
            with pytest.raises(InputError):
                read(named)


def test_archives_of_very_many_members_are_refused(tmp_path):
    path = npz(tmp_path / "many.npz", **{f"a{number}": b"" for number in range(2000)})
    with pytest.raises(InputError, match="more than 1024 members"):
        read_metric(path)


def test_what_an_array_says_of_itself_is_held_against_its_bytes(tmp_path):
    whole = npy(M)
    for old, new, message in [
        (b"(3, 3)", b"(3, 99999999999)", "not the size that its header says"),
        (b"(3, 3)", b"(0, 99999999999)", "not the size"),
        (b"(3, 3)", b"(" * 40, "no header of an array"),
        (b"'<f8'", b"[('a', '<f8')]", "no header of an array"),
        (b"'<f8'", b"'<M8[ns]'", "no header of an array"),
        (b"'<f8'", b"'<f3'", "data type"),
        (b"'<f8'", b"'|O'", "pickled Python objects, which are never loaded"),
        (b"'<f8'", b"'<U0'", "not the size|too long"),
        (b"False", b"1 + 1", "no header of an array"),
    ]:
        text = whole[10:128].replace(old, new).rstrip()
        forged = whole[:10] + text.ljust(117)[:117] + b"\n" + whole[128:]
        (tmp_path / "M.npy").write_bytes(forged)
        npz(tmp_path / "M.npz", M=forged)
        for read in (read_array, read_metric, read_iterates, _matrix):
            with pytest.raises(InputError, match=message):
                read(tmp_path / "M.npy")
        with pytest.raises(InputError, match=message):
            read_metric(tmp_path / "M.npz")
    empty = npy(np.ones((0, 1))).replace(b"(0, 1)", b"(0, 99999999)").replace(b" " * 7 + b"\n", b"\n")
    (tmp_path / "M.npy").write_bytes(empty)
    with pytest.raises(InputError, match="sides that are too long"):
        read_array(tmp_path / "M.npy")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<i8", "|u1", "|b1", "<c16", "<U5", "|S3"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4), (0, 3)])
def test_numbers_and_text_come_back_bit_by_bit(tmp_path, order, dtype, shape):
    array = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype), order=order)
    np.savez(tmp_path / "a.npz", a=array)
    np.savez_compressed(tmp_path / "b.npz", a=array)
    np.save(tmp_path / "c.npy", array)
    for found in (read_arrays(tmp_path / "a.npz")["a"], read_arrays(tmp_path / "b.npz")["a"]):
        assert found.dtype == array.dtype
        assert found.flags.writeable
        np.testing.assert_array_equal(found, array, strict=True)
    np.testing.assert_array_equal(read_array(tmp_path / "c.npy"), array)


def test_archives_with_sizes_of_64_bits_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    write_arrays(tmp_path / "wide.npz", {"a": M, "b": 2 * M})
    assert zipfile.ZipFile(tmp_path / "wide.npz").infolist()[1].extra
    np.testing.assert_array_equal(read_arrays(tmp_path / "wide.npz")["b"], 2 * M)


def test_bytes_count_as_the_numbers_that_they_become(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 2000)
    np.save(tmp_path / "M.npy", np.zeros((16, 16), dtype=np.uint8))
    np.savez(tmp_path / "M.npz", iterates=np.zeros((2, 16, 16), dtype=np.uint8))
    with pytest.raises(InputError, match="more than 2000 bytes, 8 a number"):
        read_metric(tmp_path / "M.npy")
    with pytest.raises(InputError, match="more than 2000 bytes, 8 a number"):
        read_iterates(tmp_path / "M.npz")
    (tmp_path / "M.csv").write_text("1 " * 300)
    with pytest.raises(InputError, match="larger than 500 bytes"):
        read_metric(tmp_path / "M.csv")


def test_a_table_that_is_packed_otherwise_or_twice_is_told(tmp_path):
    path = tmp_path / "t.csv"
    for content in (lzma.compress(gzip.compress(b"a,b\n1,2\n")), gzip.compress(bz2.compress(b"a,b\n1,2\n"))):
        path.write_bytes(content)
        for encoding in ("utf-8", "latin-1"):
            with pytest.raises(InputError, match="save it as CSV, unpacked"):
                cm.datasets.read_csv(path, label="b", encoding=encoding)


@pytest.mark.integration
@pytest.mark.parametrize("packed", [gzip.compress, bz2.compress])
def test_tables_are_unpacked_up_to_a_limit_and_damage_is_told(tmp_path, monkeypatch, packed):
    path = tmp_path / "t.csv"
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    path.write_bytes(packed(b"a,b\n" + b"1,2\n" * 2**23))
    held, message = peak(lambda: cm.datasets.read_csv(path, label="b"))
    assert "more than 1048576 bytes" in message
    assert held < 2**23
    path.write_bytes(packed(b"a,b\n1,2\n")[:-4])
    with pytest.raises(InputError, match="damaged"):
        cm.datasets.read_csv(path, label="b")


def test_numbers_too_large_and_words_for_numbers_are_told(tmp_path):
    (tmp_path / "qrels.txt").write_text(f"q 0 d {2**63}\n")
    with pytest.raises(InputError, match="line 1: the degree must be an integer"):
        cm.retrieval.read_qrels(tmp_path / "qrels.txt")
    np.savez(tmp_path / "words.npz", components=np.array(["one", "two"]))
    with pytest.raises(InputError, match="components"):
        cm.retrieval.export.read_adapter(tmp_path / "words.npz")
    np.save(tmp_path / "narrow.npy", np.zeros((3, 0)))
    with pytest.raises(InputError, match="one or two dimensions"):
        StoredArray(tmp_path / "narrow.npy")


@pytest.mark.parametrize(
    "path", ["a\0b.npz", "x" * 300 + ".npz", "\0/b.npz", "x" * 300 + "/b.npz"], ids=["NUL", "long", "NUL/", "long/"]
)
def test_names_that_no_file_can_have(tmp_path, problem, path):
    for read in (read_metric, read_iterates, read_arrays):
        with pytest.raises(InputError):
            read(tmp_path / path)
    for write in (check_writable, lambda path: write_arrays(path, {"a": M})):
        with pytest.raises(InputError, match="cannot write"):
            write(tmp_path / path)
    with pytest.raises(InputError, match="checkpoint must be a file that can be written"):
        cm.solve(problem, checkpoint=tmp_path / path)
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_no_file(tmp_path):
    for read in (read_arrays, check_writable):
        with pytest.raises(InputError, match="no ordinary file"):
            read(tmp_path.__class__("/dev/null"))


# Mutated files ----------------------------------------------------------------------------------------------------

CHOICES = [b"'|O'", b"'<U3'", b"[('a', '<f8')]", b"(", b"99999999999", b"-1", b"\x1b", b"", b"'<i4'", b"(3,)", b"True"]


def mutated(raw, rng):
    raw = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 5])):
        # Heads, directories and headers say more than entries do.
        place = rng.choice([rng.randrange(len(raw)), rng.randrange(min(200, len(raw))), -rng.randrange(1, 100)])
        place %= len(raw)
        kind = rng.randrange(6)
        if kind == 0:
            raw[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del raw[max(place, 1) :]
        elif kind == 2:
            raw[place:place] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 3:
            raw[place : place + 4] = struct.pack("<I", rng.choice([0, 1, 8, 14, 2**16 - 1, 2**31, 2**32 - 1]))
        else:
            found = list(re.finditer(rb"'[<|][a-z]\d+'|\([\d, ]+\)|False|\d+", raw))
            if found:
                start, stop = rng.choice(found).span()
                raw[start:stop] = rng.choice(CHOICES)
    return bytes(raw)


def rewritten(raw, rng):
    """The same archive with one member mutated, left out or of another type, and honest sums."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(members))
    kind = rng.randrange(4)
    if kind == 0:
        del members[name]
    elif kind == 1:
        members[name] = mutated(members[name], rng)
    else:
        array = np.load(io.BytesIO(members[name]))
        others = [array[None], array.ravel()[:0], array.astype("<U9"), np.zeros(())]
        others += [array.T * np.nan, -array, array * 1j] if array.dtype.kind == "f" else []
        members[name] = npy(rng.choice(others))
    packed = io.BytesIO()
    npz(packed, rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA]), **members)
    return packed.getvalue()


@pytest.mark.integration
def test_only_errors_of_the_package_come_out_of_mutated_files(tmp_path, problem):
    with warnings.catch_warnings(action="ignore"):
        begun = cm.solve(problem, solver="cutting-planes", checkpoint=tmp_path / "state.npz", max_iter=3)
        write_solution(tmp_path / "solution.npz", begun)
        cm.evaluation.SimilarityOperator.of(begun).save(tmp_path / "operator.npz")
        np.savez(tmp_path / "iterates.npz", iterates=np.array([M, M]), seconds=np.arange(2.0))
        np.save(tmp_path / "M.npy", M)

        def resumed(path):
            cm.solve(problem, solver="cutting-planes", checkpoint=path, max_iter=4)

        rng, path, read = random.Random(0), tmp_path / "file", 0
        for name, reader in {
            "state.npz": resumed,
            "solution.npz": lambda path: read_certificate(path, problem),
            "operator.npz": cm.evaluation.SimilarityOperator.load,
            "iterates.npz": read_iterates,
            "M.npy": read_metric,
        }.items():
            whole, path = (tmp_path / name).read_bytes(), tmp_path / f"mutated{name[-4:]}"
            for number in range(80):
                path.write_bytes(rewritten(whole, rng) if name.endswith("z") and number % 2 else mutated(whole, rng))
                tracemalloc.start()
                try:
                    reader(path)
                    read += 1
                except ConvexMetricError:
                    pass
                # Files of some kilobytes; a first read may import modules.
                assert tracemalloc.get_traced_memory()[1] < 2**25
                tracemalloc.stop()
        # Some harm nothing: else nothing but the first check would have been tried.
        assert 20 < read < 300


# Writing ----------------------------------------------------------------------------------------------------------


def test_files_have_the_permissions_of_new_ones(tmp_path):
    before = os.umask(0o027)
    try:
        write_arrays(tmp_path / "a.npz", {"a": M})
        (tmp_path / "b").touch()
    finally:
        os.umask(before)
    assert (tmp_path / "a.npz").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_the_longest_name_that_a_file_can_have(tmp_path):
    path = tmp_path / ("x" * 251 + ".npz")
    write_arrays(path, {"a": M})
    assert list(tmp_path.iterdir()) == [path]


def test_writers_at_once_do_not_share_a_file(tmp_path):
    path, failed = tmp_path / "a.npz", []

    def write(value):
        try:
            for _ in range(20):
                write_arrays(path, {"a": np.full(1000, value)})
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(value,)) for value in (1.0, 2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(np.unique(read_arrays(path)["a"])) == 1
    assert list(tmp_path.iterdir()) == [path]


KILLED = """
import os, signal, sys
from pathlib import Path
from convexmetric.files import all_or_nothing
with all_or_nothing(Path(sys.argv[1])) as unfinished:
    unfinished.write_bytes(bytes(1000))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_killed_writers_left_is_removed_by_the_next_one(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".unfinished-")
    # Of another machine, or where there are no locks, age tells.
    elsewhere, old = (tmp_path / f".unfinished-{name}" for name in ("elsewhere-1", "elsewhere-2"))
    for folder in (elsewhere, old):
        folder.mkdir()
    os.utime(old, (0, time.time() - 2 * files.LEFT_SECONDS))
    (tmp_path / ".unfinished-link").symlink_to(tmp_path)
    with all_or_nothing(path) as unfinished, all_or_nothing(tmp_path / "b.npz") as other:
        assert not left.exists()
        assert not old.exists()
        assert unfinished.parent.exists()
        # Whoever lives is left alone, however old its folder is.
        os.utime(unfinished.parent, (0, 0))
        write_arrays(tmp_path / "c.npz", {"a": M})
        unfinished.touch()
        other.touch()
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        ".unfinished-elsewhere-1", ".unfinished-link", "a.npz", "b.npz", "c.npz",
    ]  # fmt: skip


def test_what_a_killed_process_left_blocks_nobody(tmp_path):
    (tmp_path / f".a.npz.{os.getpid()}.part").touch()
    (tmp_path / "a.npz.partial").mkdir()
    write_arrays(tmp_path / "a.npz", {"a": M})
    np.testing.assert_array_equal(read_arrays(tmp_path / "a.npz")["a"], M)


def test_a_disk_without_room_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.npz"
    write_arrays(path, {"a": M})
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(InputError, match=r"cannot write .*a\.npz: File too large"):
            write_arrays(path, {"a": np.zeros(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_of_the_writer_stays_what_it_is(tmp_path):
    with pytest.raises(ZeroDivisionError), all_or_nothing(tmp_path / "a"):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_ends_no_solve(tmp_path, problem, monkeypatch):
    path, calls = tmp_path / "state.npz", []

    def full(*_):
        calls.append(None)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("convexmetric.solvers.runtime.checkpoint.SHARE", np.inf)
    with monkeypatch.context() as patch:
        patch.setattr("convexmetric.files.os.fsync", full)
        with pytest.warns(UserWarning, match="the solve goes on: cannot write .*No space left") as caught:
            solution = cm.solve(problem, solver="cutting-planes", checkpoint=path)
    assert solution.status == "optimal"
    assert (len(caught), len(calls) > 1) == (1, True)
    assert list(tmp_path.iterdir()) == []
    assert cm.solve(problem, solver="cutting-planes", checkpoint=path).status == "optimal"
    assert list(tmp_path.iterdir()) == [path]
