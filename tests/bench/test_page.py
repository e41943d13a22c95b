"""The page and the JSON file of a benchmark."""

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.bench import GAPS, Run, shifted_geometric_mean
from convexmetric.bench.page import _states, benchmark_page
from convexmetric.bench.reports import benchmark_markdown
from convexmetric.bench.results import processor, write_results

INF = math.inf


def run(instance, solver, seconds=INF, status="limit", message="", curve=()):
    status = "optimal" if seconds < INF else status
    settings = {"tol": 1e-6, "max_seconds": 9.0, "threads": 1, "version": "1.2", "machine": "abacus", "cores": 2}
    reached = (seconds,) * len(GAPS)
    return Run(
        instance, solver, status=status, message=message, seconds=seconds, reached=reached, curve=curve, **settings
    )


CURVE = ((1e-3, 4.0, INF, 0.75), (1.33e-3, 2.0, INF, 0.5), (1.78e-3, 1.0, INF, 1e-9))
HOSTILE = "<script>alert('x')</script> & co."
RUNS = [
    run("p", "exact", 1.0, curve=CURVE),
    run("p", "mine.py", 3.0, curve=CURVE[:1]),
    run("q", "exact", 2.0, curve=CURVE[:2]),
    run("q", "mine.py", status="error", message=HOSTILE),
]


class Reader(HTMLParser):
    """Tags that are open, all tags and attributes, and the cells of tables."""

    EMPTY = ("meta", "path", "use", "rect", "circle", "line", "br")

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.links, self.rows = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name.split(":")[-1] in ("href", "src")]
        if tag != "meta":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag != "meta":
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def read(text):
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader


@pytest.mark.parametrize("curves", [False, True])
def test_a_page_stands_alone(curves):
    text = benchmark_page(RUNS, 1e-6, "small-1", curves=curves)
    page = read(text)
    assert "script" not in page.tags
    assert "link" not in page.tags
    # Only references within the page.
    assert all(link.startswith("#") for link in page.links)
    assert not re.search(r"@import|url\((?!#)", text)
    # Two profiles; with curves the median and every instance.
    assert page.tags.count("svg") == (5 if curves else 2)


def test_messages_are_escaped_and_alike_runs_are_one_row():
    page = read(
        benchmark_page([*RUNS, run("r", "mine.py", status="error", message=HOSTILE), run("r", "exact", 1.0)], 1e-6)
    )
    assert ["mine.py", "error", HOSTILE, "2: q, r"] in page.rows


def test_the_table_of_means_is_that_of_the_formula():
    rows = {row[0]: row[1:] for row in read(benchmark_page(RUNS, 1e-6)).rows if len(row) == 1 + len(GAPS)}
    exact, mine = shifted_geometric_mean([1.0, 2.0]), shifted_geometric_mean([3.0, 9.0])
    assert rows["solver"] == [f"{gap:.0e}" for gap in GAPS]
    assert rows["exact"] == [f"{exact:.3g} (2)"] * len(GAPS)
    assert rows["mine.py"] == [f"{mine:.3g} (1)"] * len(GAPS)


def test_names_of_machines_and_of_others_solvers_bring_no_control_characters(tmp_path, monkeypatch):
    """Neither into the page, nor into the table, nor, where it is this machine's, into the results."""
    odd = "\x1b[2J\u202e|\nabacus"
    run_there = replace(run("p\n| q |", "exact\n| x |", 1.0), machine=odd)
    page, table = benchmark_page([run_there], 1e-6), benchmark_markdown([run_there], 1e-6)
    assert r"\x1b[2J\u202e|" in page
    assert len(table.splitlines()) == 3
    monkeypatch.setattr("platform.processor", lambda: odd)
    monkeypatch.setattr("pathlib.Path.read_text", lambda *_, **__: f"model name : a{odd}")
    name = processor()
    assert name.startswith(r"a\x1b[2J")
    for text in (page, table, name):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_a_page_says_what_was_run_where():
    rows = {row[0]: row[1] for row in read(benchmark_page(RUNS, 1e-6, "small-1")).rows if len(row) == 2}
    assert rows["suite"] == "small-1"
    assert rows["solver"] == "exact, mine.py"
    assert (rows["machine"], rows["cores"], rows["version"]) == ("abacus", "2", "1.2")


def test_states_are_carried_and_infinite_before_the_first():
    assert _states(CURVE, [1e-4, 1e-3, 1.5e-3, 1.78e-3, 5.0]) == [INF, 0.75, 0.5, 1e-9, 1e-9]
    assert _states((), [1.0]) == [INF]


def test_one_metric_is_a_point_that_is_seen():
    alone = [run("p", "one.py", 3.0, curve=CURVE[:1])]
    text = benchmark_page(alone, 1e-6, curves=True)
    with_none = benchmark_page([replace(alone[0], curve=())], 1e-6, curves=True)
    assert text.count("<use") > with_none.count("<use")


def test_results_say_machine_versions_settings_and_curves(tmp_path):
    path = tmp_path / "results.json"
    write_results(RUNS, path, "small-1")
    text = path.read_text(encoding="utf-8")
    assert "NaN" not in text
    assert "Infinity" not in text
    found = json.loads(text)
    assert found["suite"] == "small-1"
    assert found["versions"]["convexmetric"] == cm.__version__
    assert found["versions"]["numpy"] == np.__version__
    assert set(found["versions"]) == {"python", "convexmetric", "numpy", "scipy", "numba"}
    assert set(found["machine"]) == {"processor", "cores", "memory_bytes"}
    assert (found["threads"], found["seed"], found["tol"], found["max_seconds"]) == (1, 0, 1e-6, 9.0)
    assert [row["status"] for row in found["runs"]] == ["optimal", "optimal", "optimal", "error"]
    assert found["runs"][0]["curve"] == {
        "seconds": [1e-3, 1.33e-3, 1.78e-3],
        "objective": [4.0, 2.0, 1.0],
        "gap": [None] * 3,
        "suboptimality": [0.75, 0.5, 1e-9],
    }
    assert found["runs"][3]["message"] == HOSTILE


@pytest.mark.parametrize(
    ("limit", "seconds"), [(INF, 3.0), (INF, INF), (INF, math.nan), (1e308, 1.0), (1e-300, 1e-300)]
)
def test_curves_are_drawn_whatever_the_limit(limit, seconds):
    odd = replace(run("p", "theirs"), max_seconds=limit, seconds=seconds)
    assert "Suboptimality over time" in benchmark_page([odd], 1e-6, curves=True)
