"""Labelled CSV files of one's own, and the message each malformed one gets."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pytest
import sklearn.datasets

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


#: Numbers with a label last, and no line of names: wine as the UCI repository has it, but for the place of the label.
BARE = [["0.02", "0.31", "oak"], ["0.4", "0.5", "ash"], ["0.02", "1", "oak"], ["3", "0", "ash"]]


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
        (changed(2, 2, " "), {"label": "kind"}, "line 3: column 'kind' has no value"),
        ([*TABLE, ["1", "2"]], {"label": "kind"}, "line 5: 2 cells, but the first line has 3"),
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


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
@pytest.mark.parametrize("numbers", ["0123", "1234", "3107"])
def test_row_numbers_without_a_name_are_left_out_and_that_is_said(tmp_path, name, numbers):
    rows = [[name, "width", "kind"], *map(list, zip(numbers, "2267", "abab", strict=True))]
    with pytest.warns(UserWarning, match="column 0 of trees.csv has no name and numbers the rows: it is left out"):
        data = cm.datasets.read_csv(written(tmp_path, rows), label="kind")
    assert data.extras["columns"] == ("width",)
    assert data.X.ravel().tolist() == [2.0, 2.0, 6.0, 7.0]


def test_warnings_point_to_the_line_that_reads(tmp_path):
    rows = [["", "width", "kind"], ["0", "", "a"], ["1", "2", "b"], ["2", "3", "b"]]
    for read in (
        lambda path: cm.datasets.read_csv(path, "kind", drop_missing=True),
        lambda path: cm.datasets.read_table(path, drop=["kind"], drop_missing=True),
    ):
        with pytest.warns(UserWarning, match="left out") as caught:
            read(written(tmp_path, rows))
        assert [warning.filename for warning in caught] == [__file__] * 2


def test_lines_of_rows_are_those_of_the_file(tmp_path):
    path = tmp_path / "trees.csv"
    path.write_text("width,kind\n1,a\n\n,b\n2,b\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="left out"):
        data = cm.datasets.read_csv(path, "kind", drop_missing=True)
    assert data.extras["lines"].tolist() == [2, 5]


def test_tables_without_labels_are_read_by_names_or_whole(tmp_path):
    path = written(tmp_path, TABLE)
    chosen = cm.datasets.read_table(path, ["height", "width"])
    np.testing.assert_array_equal(chosen.X, [[2.5, 1.0], [-4.0, 30.0], [6.0, 5.0]])
    assert (chosen.y, chosen.target_names, chosen.extras["columns"]) == (None, (), ("height", "width"))
    np.testing.assert_array_equal(cm.datasets.read_table(path, drop=["kind"]).X, chosen.X[:, ::-1])
    with pytest.raises(InputError, match="did you mean 'height'"):
        cm.datasets.read_table(path, ["heigt"])
    with pytest.raises(InputError, match="'oak', which is no number"):
        cm.datasets.read_table(path)
    with pytest.raises(InputError, match="no column left"):
        cm.datasets.read_table(path, drop=["kind", "width", "height"])


def test_an_unnamed_column_of_measurements_stays(tmp_path):
    rows = [["", "width", "kind"], ["0.5", "1", "a"], ["0.5", "2", "b"], ["7", "9", "a"]]
    data = cm.datasets.read_csv(written(tmp_path, rows), label="kind")
    assert data.X[:, 0].tolist() == [0.5, 0.5, 7.0]


@pytest.mark.parametrize(("name", "numbers"), [("nr", "1234"), ("nr", "4213"), ("ID", "9257")])
def test_a_named_column_that_numbers_rows_stays_with_a_warning(tmp_path, name, numbers):
    rows = [[name, "width", "kind"], *map(list, zip(numbers, "2267", "abab", strict=True))]
    with pytest.warns(UserWarning, match=f"column '{name}' of trees.csv seems to number the rows.*--drop {name}"):
        data = cm.datasets.read_csv(written(tmp_path, rows), label="kind")
    assert data.extras["columns"] == (name, "width")


def test_delimiters_at_the_ends_of_lines_make_no_column(tmp_path):
    data = cm.datasets.read_csv(written(tmp_path, [[*row, ""] for row in TABLE]), label="kind")
    assert data.extras["columns"] == ("width", "height")


@pytest.mark.parametrize("label", [-1, "-1", 2, "2"])
@pytest.mark.parametrize("header", [None, False])
def test_without_names_no_row_is_lost_and_columns_have_numbers(tmp_path, recwarn, label, header):
    data = cm.datasets.read_csv(written(tmp_path, BARE), label, header=header)
    np.testing.assert_array_equal(data.X, [[float(cell) for cell in row[:2]] for row in BARE])
    assert data.y.tolist() == [1, 0, 1, 0]
    assert data.extras["columns"] == ("0", "1")
    said = [str(warning.message) for warning in recwarn]
    assert len(said) == (header is None)
    assert all("first line of trees.csv is taken for data" in message for message in said)


@pytest.mark.parametrize("label", ["oak", "kind"])
def test_a_name_for_a_column_without_one_is_refused_with_what_to_write(tmp_path, label):
    with pytest.raises(InputError, match=r"first line holds data, not names: .*--no-header --label 2"):
        cm.datasets.read_csv(written(tmp_path, BARE), label)


@pytest.mark.parametrize(
    "names",
    [["0", "1", "kind"], ["400.5", "401", "kind"], ["0.02", "0.31", "type"], ["", "1", "kind"]],
    ids=["pandas", "wavelengths", "unlike the labels", "one without"],
)
def test_names_that_are_numbers_are_names(tmp_path, recwarn, names):
    data = cm.datasets.read_csv(written(tmp_path, [names, *BARE]), -1)
    assert data.X.shape == (4, 2)
    assert data.extras["columns"] == tuple(names[:2])
    assert not recwarn


def test_numbers_alone_are_names_only_where_they_are_evenly_spaced(tmp_path):
    rows = [["2.5", "3", "1"], ["7", "1", "0"], ["9", "0", "1"]]
    with pytest.warns(UserWarning, match="taken for data"):
        assert len(cm.datasets.read_csv(written(tmp_path, rows), -1).X) == 3
    assert len(cm.datasets.read_csv(written(tmp_path, [["0", "1", "2"], *rows]), -1).X) == 3
    assert len(cm.datasets.read_csv(written(tmp_path, rows), -1, header=True).X) == 2


def test_columns_are_left_out_by_number(tmp_path):
    assert cm.datasets.read_csv(written(tmp_path, TABLE), label=-1, drop=[0]).extras["columns"] == ("height",)


@pytest.mark.parametrize("cell", ["", "NA", "nan", "?", "#N/A"])
def test_rows_with_missing_values_are_named_or_left_out(tmp_path, cell):
    path = written(tmp_path, [*changed(2, 1, cell), ["8", "9", cell]])
    with pytest.raises(
        InputError, match=r"line 3: column 'height' has no value \(2 rows of 4 like this\).*--drop-missing"
    ):
        cm.datasets.read_csv(path, "kind")
    with pytest.warns(UserWarning, match="left out for a missing value: 2 rows of 4 in trees.csv"):
        data = cm.datasets.read_csv(path, "kind", drop_missing=True)
    assert data.X.tolist() == [[1.0, 2.5], [5.0, 6.0]]
    assert data.target_names == ("oak",)


def test_a_column_without_any_value_is_left_out_and_that_is_said(tmp_path):
    rows = [[*row, "depth" if r == 0 else "NA"] for r, row in enumerate(TABLE)]
    with pytest.warns(UserWarning, match=r"left out: column\(s\) of trees\.csv without a value: 'depth'"):
        data = cm.datasets.read_csv(written(tmp_path, rows), "kind", drop_missing=True)
    assert data.X.shape == (3, 2)
    with pytest.raises(InputError, match="every row lacks a value"):
        cm.datasets.read_csv(
            written(tmp_path, [["a", "b", "kind"], ["1", "", "x"], ["", "2", "x"]]), "kind", drop_missing=True
        )


@pytest.mark.parametrize(
    ("words", "columns", "numbers"),
    [
        (["True", "false", "TRUE"], ("c",), [[1], [0], [1]]),
        (["5%", "7.5%", "-1 %"], ("c",), [[5], [7.5], [-1]]),
        (["1970-01-02", "1970-01-03T12:00", "05.01.1970"], ("c",), [[1], [2.5], [4]]),
        (["b", "a", "b"], ("c=a", "c=b"), [[0, 1], [1, 0], [0, 1]]),
        (["yes", "no", "maybe"], ("c=maybe", "c=no", "c=yes"), [[0, 0, 1], [0, 1, 0], [1, 0, 0]]),
    ],
)
def test_words_become_numbers_where_that_is_asked_for(tmp_path, words, columns, numbers):
    path = written(tmp_path, [["c", "d", "kind"], *([word, "1", "oak"] for word in words)])
    with pytest.raises(InputError, match="--encode"):
        cm.datasets.read_csv(path, "kind")
    with pytest.warns(UserWarning, match="column 'c' of trees.csv is encoded"):
        data = cm.datasets.read_csv(path, "kind", encode=True)
    assert {*data.extras["columns"]} == {*columns, "d"}
    assert [data.X[:, data.extras["columns"].index(name)].tolist() for name in columns] == np.transpose(
        numbers
    ).tolist()


def test_many_words_and_a_typo_are_not_encoded_and_all_such_columns_are_named(tmp_path):
    rows = [["a", "b", "c", "kind"], *([f"n{i}", "3O" if i == 9 else str(i % 7), "x", "oak"] for i in range(21))]
    path = written(tmp_path, rows)
    with pytest.raises(
        InputError, match=r"'a' holds 'n0'.*nor do 'b' \('3O'\), 'c' \('x'\) .*--drop a --drop b --drop c"
    ):
        cm.datasets.read_csv(path, "kind")
    with (
        pytest.warns(UserWarning, match="'c'"),
        pytest.raises(InputError, match=r"'a' holds.*nor do 'b' \('3O'\) hold"),
    ):
        cm.datasets.read_csv(path, "kind", encode=True)


@pytest.mark.parametrize("text", ["a|b|kind\n1|2|x\n3|4|y\n", "a  b kind\n 1 2   x \n3 4 y\n"])
def test_bars_and_blanks_separate_columns(tmp_path, text):
    (tmp_path / "t.csv.xz").write_bytes(lzma.compress(text.encode()))
    data = cm.datasets.read_csv(tmp_path / "t.csv.xz", "kind")
    assert (data.name, data.X.tolist()) == ("t", [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.mat", b"MATLAB 5.0 MAT-file, Platform", "is a MATLAB file, not text"),
        ("t.npy", b"\x93NUMPY\x01\x00", "is an array of NumPy"),
        ("t.arff", b"% !!!!\n!, a\n", "is named as ARFF, but does not begin with @relation"),
    ],
)
def test_files_that_are_no_tables_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        cm.datasets.read_csv(tmp_path / name, "kind")


@pytest.mark.parametrize("delimiter", [";", "\t"])
@pytest.mark.parametrize("header", [None, False])
def test_decimal_commas_are_read_and_said(tmp_path, delimiter, header):
    rows = [["1,25", "3", "oak"], ["0,5", "4", "ash"], ["-2,75", "7", "oak"]]
    names = [["width", "height", "kind"]] if header is None else []
    with pytest.warns(UserWarning, match=r"decimal commas: 1,25 is read as 1\.25"):
        data = cm.datasets.read_csv(written(tmp_path, [*names, *rows], delimiter), -1, header=header)
    assert data.X.tolist() == [[1.25, 3.0], [0.5, 4.0], [-2.75, 7.0]]


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (["a;b;kind", "1,5;2.5;oak", "2,5;3;ash"], {}, "line 2: column 'b' holds '2.5', but other numbers"),
        (["a,b,kind", "1,5,2,5,oak"], {}, "5 cells, but the first line has 3; with decimal commas"),
        (["a,b,kind", '"1,5",2,oak'], {}, "column 'a' holds '1,5'.*separate columns by semicolons"),
        (["a b kind", "1 1 2 oak", "2 3 4 ash"], {}, r"no column 'kind'; columns are separated by .*; in R write\.csv"),
        (["kind", "oak", "ash"], {}, "no column beside 'kind'.*separated by commas, semicolons or tabs"),
        (["a,b,kind", "1,2,oak"], {"label": 3}, "no column 3; columns have the numbers 0 to 2, or -3 to -1"),
        (["a,b,kind", "1,2,oak"], {"encoding": "utf-9"}, "encoding must be a name that Python knows"),
        (["1,1,oak", "1,2,ash"], {"header": True, "label": "oak"}, "two columns are called '1'.*--no-header"),
        (["a,b,kind"], {"drop_missing": True}, "no row below"),
    ],
)
def test_what_else_strangers_bring(tmp_path, lines, options, message):
    with pytest.raises(InputError, match=message):
        cm.datasets.read_csv(written(tmp_path, [[line] for line in lines]), **{"label": "kind"} | options)


def test_other_encodings_are_named_and_read(tmp_path):
    rows = [["h\xf6he", "art"], ["1", "b\xe4r"], ["2", "esche"]]
    for encoding in ("latin-1", "utf-16"):
        path = written(tmp_path, rows, encoding=encoding)
        with pytest.raises(InputError, match=f"not UTF-8 text; .*--encoding {encoding}"):
            cm.datasets.read_csv(path, "art")
        assert cm.datasets.read_csv(path, "art", encoding=encoding).target_names == ("b\xe4r", "esche")


def test_folders_workbooks_and_empty_files(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        cm.datasets.read_csv(tmp_path, "kind")
    path = tmp_path / "book.csv"
    for content, message in [(b"", "is empty"), (b"\n \n", "is empty"), (b"PK\x03\x04\x14", "is a workbook")]:
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            cm.datasets.read_csv(path, "kind")


def labelled(labels):
    return [["width", "value"], *([str(i % 7), label] for i, label in enumerate(labels))]


@pytest.mark.parametrize(
    "labels", [[f"{i / 8}" for i in range(60)], [str(i) for i in range(60)], [f"{i % 20}.5" for i in range(60)]]
)
def test_measurements_are_no_labels(tmp_path, labels):
    with pytest.raises(InputError, match=r"'value' are \d+ different numbers in 60 rows.*bins.*another column"):
        cm.datasets.read_csv(written(tmp_path, labelled(labels)), "value")


@pytest.mark.parametrize(
    "labels", [[str(i // 3) for i in range(60)], [f"c{i}" for i in range(60)], [f"{i % 5}.5" for i in range(60)]]
)
def test_codes_and_names_are_labels(tmp_path, labels):
    data = cm.datasets.read_csv(written(tmp_path, labelled(labels)), "value")
    assert len(data.target_names) == len(set(labels))


@pytest.mark.parametrize(("suffix", "packed"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_packed_files_are_read_of_several_streams_too(tmp_path, suffix, packed):
    path = tmp_path / f"trees.csv{suffix}"
    text = written(tmp_path, TABLE).read_bytes()
    path.write_bytes(packed(text[:20]) + packed(text[20:]))
    data = cm.datasets.read_csv(path, "kind")
    assert (data.name, data.X.tolist()) == ("trees", [[1.0, 2.5], [30.0, -4.0], [5.0, 6.0]])


@pytest.mark.parametrize(
    ("lines", "values", "message"),
    [
        (['"1,234",5', '"1,234,567.5",6'], [1234.0, 1234567.5], "thousands separators: 1,234 is read as 1234"),
        (["1.234,5;5", "7;2,5"], [1234.5, 7.0], r"thousands separators: 1\.234,5 is read as 1234\.5"),
        (["1,234;5.5", "7;2"], [1234.0, 7.0], "thousands separators: 1,234 is read as 1234"),
        (["1\xa0234;2,5", "7;2"], [1234.0, 7.0], "thousands separators: .* is read as 1234"),
        (["1'234.5;2", "7;2"], [1234.5, 7.0], r"thousands separators: 1'234\.5 is read as 1234\.5"),
        (["1,234;5", "7;2"], [1.234, 7.0], r"decimal commas: 1,234 is read as 1\.234"),
    ],
)
def test_thousands_are_separated_where_numbers_can_be_read_in_one_way(tmp_path, lines, values, message):
    delimiter = ";" if ";" in lines[0] else ","
    rows = [[line, "oak"] for line in [f"a{delimiter}b", *lines]]
    rows[0][1] = "kind"
    with pytest.warns(UserWarning, match=message):
        data = cm.datasets.read_csv(written(tmp_path, rows, delimiter), "kind")
    assert data.X[:, 0].tolist() == values


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['"1,234",2', '"1,5",3'], "holds '1,234', which is no number; with decimal commas"),
        (['"0,123",2', '"0,456",3'], "holds '0,123', which is no number; with decimal commas"),
        (["1,23,456;2.5", "1;2"], "holds '1,23,456', which is no number"),
    ],
)
def test_what_may_be_decimal_commas_or_nothing_is_not_taken_for_thousands(tmp_path, lines, message):
    delimiter = ";" if ";" in lines[0] else ","
    path = written(tmp_path, [[f"kind{delimiter}a{delimiter}b"], *[[f"oak{delimiter}{line}"] for line in lines]])
    with pytest.raises(InputError, match=message):
        cm.datasets.read_csv(path, "kind")


@pytest.mark.parametrize(
    ("text", "lines", "said"),
    [
        ("# of trees\n#\na,b,kind\n1,2,oak\n# from here, on\n3,4,ash\n", [4, 6], "3 lines that begin"),
        ("# one, two, three\na,b,kind\n1,2,oak\n3,4,ash\n", [3, 4], "a line that begins"),
        ("# a,b,kind\n1,2,oak\n3,4,ash\n", [2, 3], None),
        ("# of trees\n#a,b,kind\n1,2,oak\n3,4,ash\n", [3, 4], "a line that begins"),
    ],
)
def test_comments_are_left_out_but_names_are_not(tmp_path, recwarn, text, lines, said):
    path = tmp_path / "trees.csv"
    path.write_text(text)
    data = cm.datasets.read_csv(path, "kind")
    assert (data.X.tolist(), data.extras["columns"]) == ([[1.0, 2.0], [3.0, 4.0]], ("a", "b"))
    assert data.extras["lines"].tolist() == lines
    assert [said in str(warning.message) for warning in recwarn] == [True] * (said is not None)


def test_cells_that_begin_with_a_number_sign_stay(tmp_path):
    rows = [["kind", "a", "b"], ["#1", "1", "2"], ["#2", "3", "4"]]
    assert cm.datasets.read_csv(written(tmp_path, rows), "kind").target_names == ("#1", "#2")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1,2,oak", "3O,4,ash", "5,6,ash"], "line 3: column 'a' holds '3O', .* a letter where a number was expected"),
        (
            ["oak,2,oak", "ash,4,ash", "5,6,ash"],
            r"line 2: column 'a' holds 'oak', .*\(--encode\).*, or leave out: --drop a",
        ),
        (["1,2,oak", "3,4,ash, young"], "line 3: 4 cells, but the first line has 3; put text that has a comma"),
        (["1,2,oak", "3,5,4,5,ash"], "line 3: 5 cells, but the first line has 3; with decimal commas"),
        ([f"{2**53 + 1},2,oak", "3,4,ash"], r"line 2: column 'a' holds 9007199254740993, an integer above 2\^53"),
        ([f"1,-{10**30},oak", "3,4,ash"], r"line 2: column 'b' holds -1000.*--drop b"),
    ],
)
def test_the_advice_fits_the_fault(tmp_path, lines, message):
    with pytest.raises(InputError, match=message):
        cm.datasets.read_csv(written(tmp_path, [["a,b,kind"], *[[line] for line in lines]]), "kind")


def test_integers_that_floats_hold_and_long_decimals_are_read(tmp_path):
    rows = [["a", "b", "kind"], [str(2**53), "12345678901234567890.5", "oak"], ["1e300", "3", "ash"]]
    data = cm.datasets.read_csv(written(tmp_path, rows), "kind")
    np.testing.assert_array_equal(data.X, [[2.0**53, 12345678901234567890.5], [1e300, 3.0]])


def test_a_column_of_random_identifiers_stays_with_a_warning(tmp_path):
    rng = np.random.default_rng(0)
    numbers = rng.choice(10**6, size=30, replace=False).tolist()
    rows = [["customer", "width", "kind"]]
    rows += [
        [str(number), f"{width:.3f}", "ab"[int(width > 0)]]
        for number, width in zip(numbers, rng.normal(size=30), strict=True)
    ]
    with pytest.warns(
        UserWarning, match="column 'customer' of trees.csv has another whole number in every row.*--drop customer"
    ):
        assert cm.datasets.read_csv(written(tmp_path, rows), "kind").extras["columns"] == ("customer", "width")


def test_counts_that_come_twice_are_no_identifiers(tmp_path, recwarn):
    rows = [["rings", "kind"], *[[str(17 * k + 40), "ab"[k % 2]] for k in range(30)], ["40", "a"]]
    cm.datasets.read_csv(written(tmp_path, rows), "kind")
    assert not recwarn


def test_one_row_is_a_table(tmp_path):
    path = written(tmp_path, TABLE[:2])
    assert cm.datasets.read_csv(path, "kind").X.tolist() == [[1.0, 2.5]]
    assert cm.datasets.read_table(path, ["height"]).X.tolist() == [[2.5]]
    path = written(tmp_path, [["1", "2.5"]])
    with pytest.raises(InputError, match=r"no row below the names.*its only line holds data: header=False"):
        cm.datasets.read_table(path)
    assert cm.datasets.read_table(path, header=False).X.tolist() == [[1.0, 2.5]]


@pytest.mark.parametrize("gap", [".", "-", "missing", "NA"])
def test_a_first_row_with_a_gap_is_data_where_the_rest_of_it_are_numbers(tmp_path, gap):
    path = written(tmp_path, [["0.02", gap, "oak"], *BARE[1:]])
    with pytest.raises(InputError, match=r"line 1: column '1' has no value \(1 row of 4 like this\)"):
        cm.datasets.read_csv(path, -1, header=None)
    with pytest.warns(UserWarning, match=r"taken for data|1 row of 4"):
        assert cm.datasets.read_csv(path, -1, drop_missing=True).extras["lines"].tolist() == [2, 3, 4]
    signs = [["a", "kind"], ["1", "-"], ["2", "+"], ["3", "-"]]
    with pytest.warns(UserWarning, match="number the rows"):
        assert cm.datasets.read_csv(written(tmp_path, signs), "kind").target_names == ("+", "-")


@pytest.mark.parametrize(
    ("text", "names", "lines"),
    [
        ('"a" "b" "kind"\n"1" 1 2 "oak"\n"x y" 3 4 "old ash"\n', True, [2, 3]),
        ('"a" "b" "kind"\n1 2 "oak"\n\n3 4 "old ash"\n', False, [2, 4]),
        ('"a"\t"b"\t"kind"\n"1"\t1\t2\t"oak"\n"2"\t3\t4\t"old ash"\n', True, [2, 3]),
        ('"a","b","kind"\n"1",1,2,"oak"\n"2",3,4,"old ash"\n', True, [2, 3]),
    ],
)
def test_tables_of_r_are_read_without_names_of_rows(tmp_path, recwarn, text, names, lines):
    (tmp_path / "trees.txt").write_text(text)
    data = cm.datasets.read_csv(tmp_path / "trees.txt", "kind")
    assert (data.X.tolist(), data.target_names) == ([[1.0, 2.0], [3.0, 4.0]], ("oak", "old ash"))
    assert (data.extras["columns"], data.extras["lines"].tolist()) == (("a", "b"), lines)
    assert [str(w.message) for w in recwarn] == ["left out: the names of rows in trees.txt, as R writes them"] * names
    assert all(warning.filename == __file__ for warning in recwarn)


@pytest.mark.parametrize("text", ["a;b\n1;2;3\n", '"a","b"\n1,2,3\n', "a b\n1 2 3\n1 2\n", '"a" "b"\n"1" 2 3 4\n'])
def test_other_rows_of_too_many_cells_are_no_names_of_rows(tmp_path, text):
    (tmp_path / "trees.txt").write_text(text)
    with pytest.raises(InputError, match=r"cells, but|separated by commas|is not a CSV file"):
        cm.datasets.read_csv(tmp_path / "trees.txt", 0)


def test_blanks_between_groups_of_digits_separate_no_columns(tmp_path):
    for lines, values in ((["3.5", "1 234"], [3.5, 1234.0]), (["a b", "1 234 567", "2"], [1234567.0, 2.0])):
        with pytest.warns(UserWarning, match="thousands separators"):
            data = cm.datasets.read_table(written(tmp_path, [[line] for line in lines]), header=len(lines) > 2)
        assert data.X.ravel().tolist() == values


ARFF = """% of trees
@RELATION trees

@attribute 'the width' REAL
@ATTRIBUTE height numeric
@attribute kind {oak, 'old ash'}
@DATA
1, 2.5, oak
% from here, on
3e1,-4,'old ash'
"""


def test_attributes_of_arff_are_columns(tmp_path):
    path = tmp_path / "trees.arff"
    path.write_text(ARFF)
    data = cm.datasets.read_csv(path, "kind")
    assert data.X.tolist() == [[1.0, 2.5], [30.0, -4.0]]
    assert [data.target_names[code] for code in data.y] == ["oak", "old ash"]
    assert (data.extras["columns"], data.extras["lines"].tolist()) == (("the width", "height"), [8, 10])
    path.write_text(ARFF + "?,1,oak\n")
    with pytest.raises(InputError, match="line 11: column 'the width' has no value"):
        cm.datasets.read_csv(path, "kind")
    path.write_text(ARFF.partition("1, 2.5")[0] + "{0 1, 2 oak}\n")
    with pytest.raises(InputError, match="sparse ARFF is not read: save it as CSV"):
        cm.datasets.read_csv(path, "kind")


@pytest.mark.parametrize("query", ["", "qid:4 "])
@pytest.mark.parametrize("least", [0, 1])
def test_features_of_svmlight_and_letor_are_columns(tmp_path, query, least):
    text = f"2 {query}{least}:0.5 3:2 # a document\n\n-1 {query}2:1e-3\n2 {query}\n"
    path = tmp_path / "t.txt"
    path.write_text(text)
    if query:
        with pytest.warns(
            UserWarning, match=r"column 'qid' of t\.txt is of queries, no feature: drop=\['qid'\]"
        ) as said:
            data = cm.datasets.read_csv(path, "label", drop=["qid"])
        assert said[0].filename == __file__
    else:
        data = cm.datasets.read_csv(path, "label")
    X, y = sklearn.datasets.load_svmlight_file(io.BytesIO(text.encode()))
    np.testing.assert_array_equal(data.X, X.toarray())
    assert [float(data.target_names[code]) for code in data.y] == y.tolist()
    assert data.extras["columns"] == tuple(map(str, range(least, 4)))
    for wrong in ("x:1", "1000000000:1", "-1:2", "1", "qid:5", "1:"):
        path.write_text(f"{text}1 {query}{wrong}\n")
        with pytest.raises(InputError, match="line 5: features must be number:value"):
            cm.datasets.read_csv(path, "label")


def test_long_cells_and_wide_tables(tmp_path):
    path = tmp_path / "t.csv"
    for text in ('"' * 10**6, "a,b\n" + "x" * 200_000 + ",1\n", "x" * 200_000, "1\n" * 3 + "x" * 10**7):
        path.write_text(text)
        for read in (cm.datasets.read_table, lambda path: cm.datasets.read_csv(path, 0), cm.datasets.read_triplets):
            with pytest.raises(InputError, match=r"is not a CSV file|has a line of more than"):
                read(path)
    path.write_text(",".join(["1.5"] * 50_000) + "\n" + ",".join(["2.5"] * 50_000) + "\n")
    assert cm.datasets.read_table(path, header=False).X.shape == (2, 50_000)


def test_notations_are_told_apart_beyond_the_first_block_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("convexmetric.datasets.columns.BLOCK_CELLS", 6)
    rows = [["a", "b"], *[["1", "2,5"]] * 7, ["1.000", "3"]]
    with pytest.warns(UserWarning, match=r"thousands separators: 1\.000 is read as 1000"):
        data = cm.datasets.read_table(written(tmp_path, rows, ";"))
    assert data.X.tolist() == [[1.0, 2.5]] * 7 + [[1000.0, 3.0]]
    with pytest.raises(InputError, match="line 10: column 'b' holds 'x'"):
        cm.datasets.read_table(written(tmp_path, [*rows, ["1", "x"]], ";"))
    with pytest.raises(InputError, match=r"holds '1\.000', but other"):
        cm.datasets.read_table(written(tmp_path, [*rows, ["1", "2.5"]], ";"))
