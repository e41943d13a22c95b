"""Words of whole WebKB pages, read from an archive without extracting it."""

import io
import lzma
import tarfile

import numpy as np
import pytest

from convexmetric import files
from convexmetric.datasets import load
from convexmetric.errors import InputError

PAGES = {
    "webkb/course/cornell/http_^^www.CS.Cornell.edu^cs1.html": "Server: NCSA/1.4\n\n<A HREF=x1.gif>Cornell cs1 cs1",
    "webkb/student/misc/http_^^paul.rutgers.edu_80^~a^": "Server: CERN\n\n<p>cs1</p>",
    "webkb/faculty/misc/http_^^cs.nyu.edu:8080^": "Server: CERN\n\ncaf\xe9",
    "webkb/staff/texas/http_^^www.utexas.edu^": "not one of the four topics",
    "readme/of/the^^archive": "nothing",
}


def archive(folder, pages=PAGES, extra=(), change=lambda raw: raw):
    """A tar.xz of pages in a data folder; ``extra`` members are added as they are."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, text in pages.items():
            content = text.encode("latin-1")
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member in extra:
            tar.addfile(member)
    place = folder / "webkb-cmu" / "webkb-pages.tar.xz"
    place.parent.mkdir()
    place.write_bytes(change(lzma.compress(buffer.getvalue())))
    return folder


def test_words_of_header_and_html_are_counted(tmp_path):
    data = load("webkb-cmu", data_folder=archive(tmp_path), words="page", min_pages=1)
    vocab = data.extras["vocab"].tolist()
    assert data.target_names == ("course", "faculty", "project", "student")
    assert [data.target_names[code] for code in data.y] == ["course", "student", "faculty"]
    assert [data.extras["university_names"][code] for code in data.extras["university"]] == ["cornell", "misc", "misc"]
    assert data.extras["host"].tolist() == ["www.cs.cornell.edu", "paul.rutgers.edu", "cs.nyu.edu"]
    assert data.extras["page"][0] == "course/cornell/http_^^www.CS.Cornell.edu^cs1.html"
    assert vocab == sorted(vocab)
    assert {"server", "ncsa", "1", "href", "x1", "gif", "cornell", "cern", "caf"} <= set(vocab)
    assert not {"topics", "nothing", "html"} & set(vocab)
    assert data.X[0, vocab.index("cs1")] == 2.0
    assert data.X[1, vocab.index("cs1")] == 1.0
    assert data.X[2, vocab.index("cs1")] == 0.0
    assert data.X.has_canonical_format


def test_rare_words_are_left_out(tmp_path):
    folder = archive(tmp_path)
    assert load("webkb-cmu", data_folder=folder, words="page", min_pages=3).extras["vocab"].tolist() == ["server"]
    twice = load("webkb-cmu", data_folder=folder, words="page", min_pages=2)
    assert twice.extras["vocab"].tolist() == ["cern", "cs1", "server"]
    with pytest.raises(InputError, match="no word is in 10 pages or more; there are 3 pages"):
        load("webkb-cmu", data_folder=folder, words="page")


def test_header_and_html_are_told_apart_by_the_first_empty_line(tmp_path):
    pages = {
        "webkb/course/misc/http_^^a.edu^": "Server: x\r\n\r\none\n\ntwo",
        "webkb/student/misc/http_^^b.edu^": "no empty line",
    }
    folder = archive(tmp_path, pages)
    found = {
        words: load("webkb-cmu", data_folder=folder, words=words, min_pages=1).extras["vocab"].tolist()
        for words in ("page", "html", "header")
    }
    assert found["html"] == ["one", "two"]
    assert found["header"] == ["empty", "line", "no", "server", "x"]
    assert found["page"] == sorted(found["html"] + found["header"])


def test_links_and_devices_are_not_read_and_nothing_is_written(tmp_path):
    link, device = tarfile.TarInfo("webkb/course/misc/http_^^a.edu^"), tarfile.TarInfo("webkb/student/misc/x")
    link.type, link.linkname, device.type = tarfile.SYMTYPE, "/etc/passwd", tarfile.CHRTYPE
    folder = archive(tmp_path, extra=(link, device))
    assert len(load("webkb-cmu", data_folder=folder, words="page", min_pages=1).y) == 3
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["webkb-cmu", "webkb-pages.tar.xz"]


def test_members_outside_are_names_and_no_paths(tmp_path):
    pages = PAGES | {"../../webkb/course/misc/http_^^b.edu^": "outside"}
    data = load("webkb-cmu", data_folder=archive(tmp_path, pages), words="page", min_pages=1)
    assert len(data.y) == 3
    assert "outside" not in data.extras["vocab"]


@pytest.mark.parametrize(
    "change",
    [lambda raw: raw[:-20], lambda raw: lzma.compress(b"no archive at all" * 100), lambda raw: raw + b"more"],
    ids=["cut off", "no tar", "more after the end"],
)
def test_a_damaged_archive_is_refused(tmp_path, change):
    with pytest.raises(InputError, match="is damaged"):
        load("webkb-cmu", data_folder=archive(tmp_path, change=change), words="page")


@pytest.mark.parametrize("name", ["webkb/course/nowhere/http_^^a.edu^", "flat", "webkb/course/misc/no-address"])
def test_a_page_that_is_not_where_pages_are_is_damage(tmp_path, name):
    with pytest.raises(InputError, match="is damaged"):
        load("webkb-cmu", data_folder=archive(tmp_path, PAGES | {name: "x"}), words="page", min_pages=1)


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    folder = archive(tmp_path, PAGES | {"webkb/course/misc/http_^^a.edu^": "x" * 20_000_000})
    monkeypatch.setattr(files, "MAX_BYTES", 10_000_000)
    with pytest.raises(InputError, match="decompresses to more than 10000000 bytes"):
        load("webkb-cmu", data_folder=folder, words="page", min_pages=1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"words": "tags"}, "words must be one of text, page, html, header, got 'tags'"),
        ({"words": "page", "min_pages": 0}, "min_pages must be a positive integer"),
        ({"min_pages": 3}, "min_pages is not for words of the text"),
        ({"word": "page"}, "has the options words, min_pages, not word"),
    ],
)
def test_wrong_options_are_named(tmp_path, options, said):
    with pytest.raises(InputError, match=said):
        load("webkb-cmu", data_folder=archive(tmp_path), **options)


def test_other_sets_have_no_options():
    with pytest.raises(InputError, match="'wine' has no options, not words"):
        load("wine", words="page")


@pytest.mark.integration
def test_the_real_pages_are_those_of_the_text(data_folder):
    text = load("webkb-cmu", data_folder=data_folder)
    page = load("webkb-cmu", data_folder=data_folder, words="page")
    assert page.X.shape == (4199, 7870)
    for name in ("university", "page", "host"):
        np.testing.assert_array_equal(page.extras[name], text.extras[name])
    np.testing.assert_array_equal(page.y, text.y)
    assert (page.target_names, page.extras["university_names"]) == (text.target_names, text.extras["university_names"])
    assert {"href", "mime", "ncsa"} <= set(page.extras["vocab"])
