"""Tables of triplets: columns by place and by name, packed or not, and what is refused."""

import gzip
import io
import zipfile

import numpy as np
import pytest

import convexmetric as cm
from convexmetric import files
from convexmetric.errors import InputError

read = cm.datasets.read_triplets


def written(tmp_path, text, name="triplets.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def zipped(*members):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members:
            archive.writestr(name, text)
    return packed.getvalue()


def test_numbers_keep_their_order_and_need_no_head(tmp_path):
    rows, names = read(written(tmp_path, "28,62,7\n100,7,62\n"))
    assert names == ("7", "28", "62", "100")
    np.testing.assert_array_equal(rows, [[1, 2, 0], [3, 0, 2]])
    assert rows.dtype == np.int64


@pytest.mark.parametrize(
    "head", ["head,close,far", "anchor,near,far", "Query,Winner,Loser", "worker;i;j;k", "k;j;i;worker"]
)
def test_columns_are_known_by_name(tmp_path, head):
    delimiter = ";" if ";" in head else ","
    cells = {"worker": "anna"}
    for place, value in enumerate(("cup", "mug", "dog")):
        cells |= dict.fromkeys(cm.datasets.judgements.HEADS[place], value)
    line = delimiter.join(cells[name.lower()] for name in head.split(delimiter))
    rows, names = read(written(tmp_path, f"{head}\n{line}\n"))
    assert [names[at] for at in rows[0]] == ["cup", "mug", "dog"]


def test_packed_tables_are_tables(tmp_path):
    text = "a,b,c\nb,c,a\n"
    plain, names = read(written(tmp_path, text))
    for name, raw in (("t.csv.zip", zipped(("t.csv", text))), ("t.csv.gz", gzip.compress(text.encode()))):
        rows, same = read(written(tmp_path, raw, name))
        assert same == names == ("a", "b", "c")
        np.testing.assert_array_equal(rows, plain)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3,4\n", "columns must be three, or named head, near and far; got 1, 2"),
        ("head,near,what\n1,2,3\n", "columns must be three, or named"),
        ("head,near,far\n", "no row below the names"),
        ("1,2,3\n1,1,2\n", "line 2: an object is named twice"),
        ("head,near,far\n1,,2\n", "line 2: a cell is empty"),
        ("1,2,3\n1,2\n", "line 2: 2 cells"),
        ("", "is empty"),
        (zipped(("a.csv", "1,2,3"), ("b.csv", "1,2,3")), "has 2 members"),
        (zipped(), "columns must be three"),
        (zipped(("a.csv", "1,2,3"))[:40], "damaged"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
    ],
    # An archive's bytes hold the time: no name of a test, which is to be the same in every process.
    ids=lambda value: "packed" if isinstance(value, bytes) else None,
)
def test_other_tables_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(written(tmp_path, text, "t.csv.zip" if isinstance(text, bytes) else "t.csv"))


def test_no_more_is_unpacked_than_the_limit(tmp_path, monkeypatch):
    path = written(tmp_path, zipped(("t.csv", "1,2,3\n" * 5000)), "t.zip")
    monkeypatch.setattr(files, "MAX_BYTES", 2**12)
    with pytest.raises(InputError, match="more than"):
        read(path)
