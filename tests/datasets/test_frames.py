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


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PARTS = {"worksheet": "/xl/worksheets/sheet1.xml", "sharedStrings": "sharedStrings.xml", "styles": "styles.xml"}


def cell(value):
    """XML of a cell: text is shared (number 0) where it is "oak", else in line."""
    if isinstance(value, bool):
        return f'<c t="b"><v>{value:d}</v></c>'
    if isinstance(value, datetime.date):
        return f'<c s="1"><v>{(value - datetime.date(1899, 12, 30)).days}</v></c>'
    if isinstance(value, str):
        return '<c t="s"><v>0</v></c>' if value == "oak" else f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    return f"<c><v>{value!r}</v></c>"


def book(sheet, *others, strings="<si><r><t>oa</t></r><r><t>k</t></r><rPh><t>?</t></rPh></si>", about="", **more):
    """Members of a workbook with the rows of a sheet as XML."""
    names = "".join(f'<sheet name="{name}" r:id="r{k}"/>' for k, name in enumerate(["Sheet", *others]))
    kinds = [*PARTS.items(), *[("worksheet", "worksheets/none.xml") for _ in others]]
    ids = ["r0", "rS", "rT", *[f"r{k}" for k in range(1, len(kinds))]]
    related = "".join(
        f'<Relationship Id="{name}" Type="{OFFICE}/{kind}" Target="{place}"/>'
        for name, (kind, place) in zip(ids, kinds, strict=False)
    )
    return {
        "_rels/.rels": f'<R><Relationship Id="a" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></R>',
        "xl/workbook.xml": f'<workbook xmlns:r="{OFFICE}">{about}<sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f"<R>{related}</R>",
        "xl/styles.xml": '<s><numFmts><numFmt numFmtId="165" formatCode="yyyy"/></numFmts>'
        '<cellStyleXfs><xf/></cellStyleXfs><cellXfs><xf/><xf numFmtId="14"/><xf numFmtId="165"/></cellXfs></s>',
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{strings}</sst>',
        "xl/worksheets/sheet1.xml": f'<w:worksheet xmlns:w="{MAIN}"><sheetData>{sheet}</sheetData></w:worksheet>',
        **more,
    }


def packed(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def workbook(tmp_path):
    def write(rows, *others):
        sheet = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        return packed(tmp_path / "trees.xlsx", book(sheet, *others))

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


@pytest.mark.parametrize(
    ("sheet", "message"),
    [
        ('<row r="999999999999"><c><v>1</v></c></row>', "a row of the number 999999999999; a sheet has 1048576 rows"),
        ('<row><c r="XFE1"><v>1</v></c></row>', "row 1 has more than 16384 columns"),
        ("<row>" + "<c/>" * 20000 + "</row>", "row 1 has more than 16384 columns"),
        ('<row><c r="XFD1"><v>1</v></c></row>' * 2000, "more than 536870912 bytes"),
        ("<a>" * 100, "too deep"),
        ("".join(f"<a{k:x}/>" for k in range(20000)), "too many kinds"),
        (f"<row a='{' ' * 2**22}'/>", "is too long"),
        (f"<row><c><v>{' ' * 2**22}</v></c></row>", "is too long"),
        ('<row><c t="s"><v>7</v></c></row>', "damaged"),
        ("<row><c><v>1</v></c></row", "damaged"),
    ],
)
def test_what_no_sheet_has_is_refused(tmp_path, sheet, message):
    with pytest.raises(InputError, match=message):
        cm.datasets.read_csv(packed(tmp_path / "t.xlsx", book(sheet)), 0)


def test_sheets_say_where_cells_are_and_what_they_hold(tmp_path):
    sheet = (
        '<row r="2"><c r="B2" t="str"><f>A1</f><v>kind</v></c><c r="A2" t="inlineStr"><is><t>day</t></is></c></row>'
        '<row r="5"><c r="A5" s="2"><v>1.5</v></c><c r="B5" t="s"><v>0</v></c><c r="C5" t="e"><v>#N/A</v></c></row>'
    )
    path = packed(tmp_path / "t.xlsx", book(sheet, about='<workbookPr date1904="1"/>'))
    with pytest.raises(InputError, match="line 5: column 'day' holds '1904-01-02 12:00:00', which is no number"):
        cm.datasets.read_table(path, ["day"], header=True)
    path = packed(tmp_path / "t.xlsx", book(sheet.replace(' s="2"', "")))
    assert cm.datasets.read_table(path, ["day"], header=True).X.tolist() == [[1.5]]


def test_entities_bombs_and_other_ways_to_pack_are_refused(tmp_path):
    path, entity = tmp_path / "t.xlsx", '<!DOCTYPE w [<!ENTITY a "aaaa">]><w>&a;</w>'
    for name in ("xl/workbook.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"):
        for text in (entity, entity.encode("utf-16")):
            with pytest.raises(InputError, match="defines XML of its own"):
                cm.datasets.read_csv(packed(path, book("") | {name: text}), 0)
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with pytest.raises(InputError, match="packed in another way than deflate"):
            cm.datasets.read_csv(packed(path, book(""), method), 0)


@pytest.mark.parametrize("kind", ["list", "struct", "fixed", "binary"])
def test_parquet_holds_numbers_and_text_only(parquet, kind):
    pa = pytest.importorskip("pyarrow")
    made = {
        "list": pa.array([[1.0]] * 3),
        "struct": pa.array([{"a": 1.0}] * 3),
        "fixed": pa.array([b"ab"] * 3, pa.binary(2)),
        "binary": pa.array([b"ab"] * 3),
    }
    with pytest.raises(InputError, match=r"column 'odd' holds .*; write it as numbers or text, or leave it out"):
        cm.datasets.read_csv(parquet(COLUMNS | {"odd": made[kind]}), "kind")


def test_pages_of_parquet_are_what_their_headers_say(parquet, monkeypatch):
    path = parquet({"kind": ["a" * 10**6], "width": [1.0]}, compression="zstd", use_dictionary=False)
    monkeypatch.setattr("convexmetric.datasets.frames.PAGE", 10**6)
    with pytest.raises(InputError, match="a page of more than 1000000 bytes"):
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
    with pytest.raises(InputError, match="is a workbook or an archive, not text"):
        cm.datasets.read_csv(tmp_path / "t.zip", "kind")
