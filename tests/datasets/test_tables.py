"""Labelled CSV files of one's own, and the message each malformed one gets."""

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.errors import InputError

TABLE = [["width", "height", "kind"], ["1", "2.5", "oak"], ["3e1", "-4", "ash"], ["5", "6", "oak"]]


def written(tmp_path, rows, delimiter=",", end="\n", encoding="utf-8"):
    path = tmp_path / "trees.csv"
    path.write_bytes((end.join(delimiter.join(row) for row in rows) + end).encode(encoding))
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_numbers_and_labels_come_back(tmp_path, delimiter, end, encoding):
    data = cm.datasets.read_csv(written(tmp_path, TABLE, delimiter, end, encoding), label="kind")
    np.testing.assert_array_equal(data.X, [[1.0, 2.5], [30.0, -4.0], [5.0, 6.0]])
    assert [data.target_names[code] for code in data.y] == ["oak", "ash", "oak"]
    assert data.target_names == ("ash", "oak")
    assert data.extras["columns"] == ("width", "height")
    assert data.name == "trees"


def test_quotes_blank_lines_and_columns_to_drop(tmp_path):
    path = tmp_path / "trees.csv"
    path.write_text('"number, of row",width, kind \n1,2,"oak, old"\n\n2,3, ash\n', encoding="utf-8")
    data = cm.datasets.read_csv(str(path), label="kind", drop=["number, of row"])
    np.testing.assert_array_equal(data.X, [[2.0], [3.0]])
    assert data.target_names == ("ash", "oak, old")


def test_the_same_as_the_bundled_wine(tmp_path):
    wine = cm.datasets.load("wine")
    rows = [[f"f{i}" for i in range(13)] + ["class"]]
    rows += [[*map(repr, row.tolist()), str(code)] for row, code in zip(wine.X, wine.y, strict=True)]
    data = cm.datasets.read_csv(written(tmp_path, rows), label="class")
    np.testing.assert_array_equal(data.X, wine.X)
    np.testing.assert_array_equal(data.y, wine.y)


def changed(row, column, cell):
    table = [list(cells) for cells in TABLE]
    table[row][column] = cell
    return table


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (TABLE, {"label": "knd"}, "no column 'knd'; did you mean 'kind'"),
        (TABLE, {"label": "kind", "drop": ["depth"]}, "no column 'depth'"),
        (TABLE, {"label": "kind", "drop": "width"}, r"such as \['width'\]"),
        (TABLE, {"label": "kind", "drop": ["width", "height"]}, "no column beside 'kind'"),
        (TABLE[:1], {"label": "kind"}, "no row below"),
        ([[""]], {"label": "kind"}, "is empty"),
        (changed(0, 1, "width"), {"label": "kind"}, "two columns are called 'width'"),
        (changed(2, 0, "wide"), {"label": "kind"}, "line 3: column 'width' holds 'wide'"),
        (changed(3, 1, ""), {"label": "kind"}, "line 4: column 'height' has no value"),
        (changed(3, 1, "NaN"), {"label": "kind"}, "line 4: column 'height' has no value"),
        (changed(1, 1, "inf"), {"label": "kind"}, "line 2: column 'height' holds 'inf'"),
        (changed(2, 2, " "), {"label": "kind"}, "line 3: the label in column 'kind' is missing"),
        ([*TABLE, ["1", "2"]], {"label": "kind"}, "line 5: 2 cells, but the first line names 3"),
        (changed(1, 0, '"1'), {"label": "kind"}, "is not a CSV file"),
    ],
)
def test_malformed_tables(tmp_path, rows, options, message):
    with pytest.raises(InputError, match=message):
        cm.datasets.read_csv(written(tmp_path, rows), **options)


def test_files_that_are_no_text_or_not_there(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        cm.datasets.read_csv(tmp_path / "none.csv", label="kind")
    path = tmp_path / "binary.csv"
    path.write_bytes(b"\xff\xfe\x00width")
    with pytest.raises(InputError, match="not UTF-8"):
        cm.datasets.read_csv(path, label="kind")


def test_a_file_beyond_the_bound_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("convexmetric.files.MAX_BYTES", 10)
    with pytest.raises(InputError, match="larger than 10 bytes"):
        cm.datasets.read_csv(written(tmp_path, TABLE), label="kind")
