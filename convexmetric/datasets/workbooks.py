"""Rows of the first sheet of an Excel workbook as text: its XML is parsed as a stream, and only cells are held."""

from __future__ import annotations

import posixpath
import re
import warnings
import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from xml.parsers import expat

from convexmetric.datasets.columns import NAME, Columns
from convexmetric.errors import InputError
from convexmetric.files import Held, guarded, opened_archive, opened_member

#: Suffixes of workbooks.
WORKBOOKS = (".xlsx", ".xlsm")
#: Most rows and columns of a sheet, by the format.
MOST_ROWS, MOST_COLUMNS = 2**20, 2**14
#: Bytes of XML that are parsed at a time, and of the longest tag; most kinds of tags, depth of tags, and tags.
CHUNK, LONGEST, KINDS, DEPTH, TAGS = 2**16, 2**21, 2**12, 64, 2**24
#: Numbers of date formats, and the parts of a format's text that are not date letters.
DATES = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])
_NO_DATE = re.compile(r'"[^"]*"|\[(?!h+\]|m+\]|s+\])[^\]]*\]|[\\_*].|general', re.IGNORECASE)
#: Day 0 of a workbook, and of one that counts from 1904.
EPOCH, EPOCH_OF_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)

Start = Callable[[str, dict[str, str]], None]


def is_workbook(path: Path, start: bytes) -> bool:
    """Whether a file is a workbook, by its suffix and the zip signature."""
    return path.suffix.lower() in WORKBOOKS and start.startswith(b"PK\x03\x04")


def read_workbook(path: Path, held: Held) -> Columns:
    """Read the rows of the first sheet that are not empty, with their row numbers.

    Raises
    ------
    InputError
        If it is damaged, or takes more than :data:`~convexmetric.files.MAX_BYTES`.
    """

    def read() -> Columns:
        with opened_archive(path) as archive:
            return _Workbook(path, archive, held).table()

    return guarded(path, read)


class _Workbook:
    """A workbook whose parts are parsed one after the other."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, held: Held) -> None:
        self.path, self.archive, self.held = path, archive, held
        self.members = {info.filename.lower(): info for info in archive.infolist()}
        self.sheets: list[tuple[str, str]] = []
        self.strings: list[str] = []
        #: Custom formats of the workbook that are dates, and for each cell style whether it is a date.
        self.dates, self.styles = set(DATES), list[bool]()
        self.epoch = EPOCH
        self.tags = 0

    def table(self) -> Columns:
        """The table of the first sheet."""
        place = next((target for _, kind, target in self._related("") if kind == "officeDocument"), "xl/workbook.xml")
        self._parse(place, _Part(self._about))
        related = self._related(place)
        targets = {name: target for name, kind, target in related if kind == "worksheet"}
        sheets = [(title, targets[name]) for title, name in self.sheets if name in targets]
        if not sheets:
            raise ValueError("it has no sheet of cells")
        if len(sheets) > 1:
            warnings.warn(f"{self.path.name} is read from {sheets[0][0]!r}, the first of its sheets", stacklevel=7)
        for _, kind, target in related:
            if kind == "sharedStrings":
                self._parse(target, _Strings(self.strings, self.held))
            elif kind == "styles":
                self._parse(target, _Part(self._style))
        cells = _Cells(self)
        self._parse(sheets[0][1], cells)
        return cells.rows

    def _related(self, place: str) -> list[tuple[str, str, str]]:
        """Name, kind and place of the parts to which a part refers."""
        folder, name = posixpath.split(place)
        found: list[tuple[str, str, str]] = []

        def start(tag: str, about: dict[str, str]) -> None:
            if tag == "Relationship":
                target = posixpath.normpath(posixpath.join("/", folder, about["Target"])).lstrip("/")
                found.append((about["Id"], about["Type"].rpartition("/")[2], target))

        self._parse(posixpath.join(folder, "_rels", f"{name}.rels"), _Part(start))
        return found

    def _about(self, tag: str, about: dict[str, str]) -> None:
        if tag == "sheet":
            self.sheets.append((about["name"], next(value for key, value in about.items() if key.endswith(":id"))))
        elif tag == "workbookPr" and about.get("date1904", "0") in ("1", "true"):
            self.epoch = EPOCH_OF_1904

    def _style(self, tag: str, about: dict[str, str]) -> None:
        if tag == "numFmt" and re.search(
            "[dmhys]", _NO_DATE.sub("", about["formatCode"].partition(";")[0]), re.IGNORECASE
        ):
            self.dates.add(int(about["numFmtId"]))
        elif tag == "cellXfs":
            self.styles.clear()
        elif tag == "xf":
            self.styles.append(int(about.get("numFmtId", "0")) in self.dates)

    def _parse(self, place: str, part: _Part) -> None:
        """Parse a part of the workbook in chunks, with limits on what a parser holds."""
        parser, fed = expat.ParserCreate(), 0
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = _refuse
        parser.StartElementHandler, parser.EndElementHandler = part.open, part.close
        parser.CharacterDataHandler = part.text.append
        with opened_member(self.archive, self.members[place.lower()], self.path) as stream:
            while chunk := stream.read(CHUNK):
                fed += len(chunk)
                parser.Parse(chunk)
                if max(fed - parser.CurrentByteIndex, sum(map(len, part.text))) > LONGEST or len(parser.intern) > KINDS:
                    raise ValueError("a tag or text in it is too long, or tags are of too many kinds")
                self.tags += part.tags
                part.tags = 0
                if self.tags > TAGS:
                    raise InputError(f"{self.path} has more than {TAGS} tags and was not read; save it as CSV")
        parser.Parse(b"", True)


class _Part:
    """Handler of a part of a workbook: ``start`` is called with every tag."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self.text: list[str] = []
        self.depth = self.tags = 0

    def open(self, name: str, about: dict[str, str]) -> None:
        self.depth += 1
        self.tags += 1
        if self.depth > DEPTH:
            raise ValueError("tags in it are too deep")
        self.text.clear()
        self.start(name.rpartition(":")[2] if ":" in name else name, about)

    def close(self, name: str) -> None:
        self.depth -= 1
        self.end(name.rpartition(":")[2] if ":" in name else name)

    def end(self, tag: str) -> None:
        """Process the content of a tag."""
        self.text.clear()


class _Strings(_Part):
    """Texts of a sheet, without phonetic guides."""

    def __init__(self, strings: list[str], held: Held) -> None:
        super().__init__(self._start)
        self.strings, self.held = strings, held
        self.parts: list[str] = []
        self.aside = False

    def _start(self, tag: str, about: dict[str, str]) -> None:
        if tag == "si":
            self.parts.clear()
        self.aside |= tag == "rPh"

    def end(self, tag: str) -> None:
        if tag == "t" and not self.aside:
            text = "".join(self.text)
            self.held.add(NAME + len(text))
            self.parts.append(text)
        elif tag == "rPh":
            self.aside = False
        elif tag == "si":
            self.strings.append("".join(self.parts))
        self.text.clear()


class _Cells(_Part):
    """Rows of a sheet that are not empty."""

    def __init__(self, book: _Workbook) -> None:
        super().__init__(self._start)
        self.book, self.rows = book, Columns(book.held)
        self.row: list[str] = []
        self.places: dict[str, int] = {}
        self.number = self.column = 0
        self.kind, self.style, self.value = "n", 0, ""

    def _start(self, tag: str, about: dict[str, str]) -> None:
        if tag == "c":
            place = about.get("r")
            self.column = self.column + 1 if place is None else self._column(place.rstrip("0123456789"))
            if not 0 < self.column <= MOST_COLUMNS:
                raise ValueError(f"row {self.number} has more than {MOST_COLUMNS} columns")
            self.kind, self.style, self.value = about.get("t", "n"), int(about.get("s", "0")), ""
        elif tag == "row":
            self.number = int(float(about.get("r", self.number + 1)))
            if not 0 < self.number <= MOST_ROWS:
                raise ValueError(f"it has a row of the number {self.number}; a sheet has {MOST_ROWS} rows at most")
            self.row, self.column = [], 0

    def _column(self, letters: str) -> int:
        """Number of a column from its letters."""
        if letters not in self.places:
            number = 0
            for letter in letters[:4].upper():
                number = 26 * number + ord(letter) - ord("A") + 1
            self.places[letters] = number
        return self.places[letters]

    def end(self, tag: str) -> None:
        if tag == "v" or (tag == "t" and self.kind == "inlineStr"):
            self.value += "".join(self.text)
        elif tag == "c" and self.value:
            self.row += [""] * (self.column - len(self.row))
            self.row[self.column - 1] = self._said().strip()
        elif tag == "row" and any(self.row):
            self.rows.add(self.number, self.row, sum(map(len, self.row)))
        self.text.clear()

    def _said(self) -> str:
        """The value as text, as it is in CSV files: with 0 and 1 for false and true."""
        if self.kind == "s":
            return self.book.strings[int(self.value)]
        if self.kind != "n":
            return self.value
        if self.style < len(self.book.styles) and self.book.styles[self.style]:
            try:
                return str(self.book.epoch + timedelta(milliseconds=round(86_400_000 * float(self.value))))
            except (OverflowError, ValueError):
                return "#VALUE!"
        return self.value if self.value.lstrip("-").isdecimal() else str(float(self.value))


def _refuse(*_: object) -> None:
    raise ValueError("it defines XML of its own")
