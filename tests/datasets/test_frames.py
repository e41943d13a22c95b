"""Parquet files and workbooks: read as their CSV files are, or the command that installs what reads them."""

import datetime
import io
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.errors import InputError, NotInstalledError

COLUMNS = {"width": [1.0, 3.5, 7.0], "ripe": [True, False, True], "kind": ["oak", "ash", "oak"]}


@pytest.fixture
def parquet(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    def write(columns=COLUMNS, **options):
        path = tmp_path / "trees.parquet"
        pq.write_table(pa.table(columns), path, **options)
        return path

    return write


@pytest.fixture
def workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")

    def write(rows, *others):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        for name in others:
            book.create_sheet(name)
        path = tmp_path / "trees.xlsx"
        book.save(path)
        return path

    return write


ROWS = [[*COLUMNS], *map(list, zip(*COLUMNS.values(), strict=True))]


def test_both_are_read_as_tables_are(parquet, workbook):
    for path in (parquet(), workbook(ROWS)):
        data = cm.datasets.read_csv(path, "kind")
        assert data.X.tolist() == [[1.0, 1.0], [3.5, 0.0], [7.0, 1.0]]
        assert ([data.target_names[code] for code in data.y], data.name) == (COLUMNS["kind"], "trees")
        assert data.extras["columns"] == ("width", "ripe")
        assert cm.datasets.read_table(path, ["width"]).X.ravel().tolist() == COLUMNS["width"]


def test_floats_come_back_bit_by_bit_from_parquet_and_to_16_digits_from_workbooks(parquet, workbook):
    width = np.random.default_rng(0).standard_normal(50).tolist()
    kinds = ["ab"[k % 2] for k in range(50)]
    path = parquet({"width": width, "kind": kinds})
    assert cm.datasets.read_csv(path, "kind").X.ravel().tolist() == width
    path = workbook([["width", "kind"], *zip(width, kinds, strict=True)])
    np.testing.assert_allclose(cm.datasets.read_csv(path, "kind").X.ravel(), width, rtol=1e-15)


def test_missing_values_and_names_that_are_numbers(parquet):
    path = parquet({"1": [1.0, None, 3.0], "2": [0.5, 0.25, 8.0], "kind": ["a", "b", "a"]})
    with pytest.raises(InputError, match=r"line 2: column '1' has no value"):
        cm.datasets.read_csv(path, "kind")
    with pytest.warns(UserWarning, match="left out for a missing value"):
        data = cm.datasets.read_csv(path, "kind", drop_missing=True)
    assert (data.extras["columns"], data.extras["lines"].tolist()) == (("1", "2"), [1, 3])


def test_the_index_of_pandas_is_left_out(parquet):
    path = parquet({"width": [1.0, 3.5], "kind": ["a", "b"], "__index_level_0__": [4, 2]})
    with pytest.warns(UserWarning, match="numbers the rows: it is left out"):
        assert cm.datasets.read_csv(path, "kind").extras["columns"] == ("width",)


def test_the_first_sheet_is_read_without_empty_rows_and_cells(workbook):
    rows = [[], [*COLUMNS], [], *ROWS[1:]]
    with pytest.warns(UserWarning, match="trees.xlsx is read from 'Sheet', the first of its sheets"):
        data = cm.datasets.read_csv(workbook(rows, "other"), "kind")
    assert data.extras["lines"].tolist() == [4, 5, 6]


def test_what_is_damaged_or_no_number_is_told(parquet, workbook):
    days = [["day", "kind"], [datetime.date(2026, 1, 2), "a"], [datetime.date(2026, 1, 3), "b"]]
    path = workbook(days)
    with pytest.raises(InputError, match=r"line 2: column 'day' holds '2026-01-02.*', which is no number"):
        cm.datasets.read_csv(path, "kind")
    for path in (parquet(), workbook(ROWS)):
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(InputError, match="is damaged or no"):
            cm.datasets.read_csv(path, "kind")


def test_no_more_is_unpacked_than_the_limit(parquet, workbook, monkeypatch):
    monkeypatch.setattr("convexmetric.files.MAX_BYTES", 2**17)
    many = 2**15
    path = parquet({"width": np.zeros(many), "kind": ["a"] * many})
    assert path.stat().st_size < 2**13
    with pytest.raises(InputError, match="more than 131072 bytes"):
        cm.datasets.read_csv(path, "kind")
    path = parquet({"width": [1.0] * 100, "kind": ["long" * 2**10] * 100}, use_dictionary=True)
    with pytest.raises(InputError, match="more than 131072 bytes"):
        cm.datasets.read_csv(path, "kind")
    path = workbook([["width", "kind"], *[[1.0, "a"]] * 5000])
    with pytest.raises(InputError, match="more than 131072 bytes"):
        cm.datasets.read_csv(path, "kind")


def test_a_long_text_of_many_rows_is_not_written_out(parquet, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    kind = pa.DictionaryArray.from_arrays(pa.array([0] * 1000), ["long" * 2**16])
    monkeypatch.setattr("convexmetric.files.MAX_BYTES", 2**20)
    for stored in ({}, {"store_schema": False}):
        path = parquet({"width": np.zeros(1000), "kind": kind}, **stored)
        tracemalloc.start()
        with pytest.raises(InputError, match="more than 1048576 bytes"):
            cm.datasets.read_csv(path, "kind")
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert held < 2**24


def test_rows_that_no_sheet_has_are_refused(workbook):
    path = workbook(ROWS)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    members[sheet] = (
        members[sheet].replace(b'<row r="4">', b'<row r="999999999">').replace(b'r="A4"', b'r="A999999999"')
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(InputError, match="a row of the number 999999999; a sheet has 1048576 rows at most"):
        cm.datasets.read_csv(path, "kind")


def test_what_reads_parquet_is_named_where_it_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(NotInstalledError, match=r"needs the package pyarrow: pip install 'convexmetric\[tables\]'"):
        cm.datasets.read_csv(tmp_path / "t.parquet", "kind")


def test_other_archives_are_no_workbooks(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("t.csv", "a,b")
    (tmp_path / "t.zip").write_bytes(packed.getvalue())
    with pytest.raises(InputError, match="is a workbook, an archive or compressed"):
        cm.datasets.read_csv(tmp_path / "t.zip", "kind")
