"""The one job of all experiments: it keeps what is finished, survives failures, ends when it must, and fills pages."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import reproduce
from cross_modal_paper.learners import settings_of
from experiments import pool
from experiments.pages import fill, markers
from experiments.paper import begun, grouped, known
from experiments.results import Results
from experiments.sheet import Sheet, mean_text

from convexmetric.deadline import Clock
from convexmetric.solvers.runtime import Monitor

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def work(split, nap=0.0, note=None):
    """A task: notes that it ran, and naps."""
    if note is not None:
        with Path(note).open("a") as file:
            file.write(f"{split}\n")
    time.sleep(nap)
    return {"square": split * split}


def broken(split):
    raise RuntimeError(f"no luck with {split}")


def killed(split):
    os.kill(os.getpid(), signal.SIGKILL)


def unwritable(split):
    return {"of": {1, 2}}


def spent(split):
    """Seconds that a limit of a solve and one of its parts count while the process sleeps."""
    monitor, clock = Monitor(1e-3, None, 1.0), Clock(1.0)
    time.sleep(0.5)
    return {"seconds": max(monitor.seconds, clock.spent)}


def queue_of(results, count, function=work):
    return pool.Queue(results.path.stem, iter([[(results, {"split": at}, function) for at in range(count)]]))


def test_results_are_kept_with_their_seconds_and_not_made_again(tmp_path):
    note = tmp_path / "note"
    for _ in range(2):
        results = Results(tmp_path / "kept.jsonl")
        assert pool.run_queues([queue_of(results, 3, partial(work, note=str(note)))], jobs=2) == []
    assert sorted(note.read_text().split()) == ["0", "1", "2"]
    again = Results(tmp_path / "kept.jsonl")
    assert [again.get({"split": at}) for at in range(3)] == [{"square": 0}, {"square": 1}, {"square": 4}]
    assert all(0.0 <= again.seconds({"split": at}) < 5.0 for at in range(3))
    assert again.seconds({"split": 3}) is None


def test_results_survive_a_kill_in_the_middle_of_a_line(tmp_path):
    path = tmp_path / "folder" / "results.jsonl"
    results = Results(path)
    first, second = {"data": "wine", "split": 0}, {"data": "wine", "split": 1}
    results.add(first, {"errors": [0.5]})
    results.add(second, {"errors": [0.25]})
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    again = Results(path)
    assert again.get(first) == {"errors": [0.5]}
    assert again.get(second) is None
    again.add(second, {"errors": [0.25]})
    assert path.read_bytes() == whole
    assert Results(path).get(dict(reversed(second.items()))) == {"errors": [0.25]}
    assert Results(path).get(second | {"C": [1.0]}) is None


@pytest.mark.integration
def test_limits_of_solves_count_seconds_of_the_processor(tmp_path):
    results = Results(tmp_path / "kept.jsonl")
    assert pool.run_queues([queue_of(results, 1, spent)], jobs=1) == []
    assert results.get({"split": 0})["seconds"] < 0.4


@pytest.mark.integration
def test_a_failure_stops_nothing_else_but_the_stages_behind_it(tmp_path, capsys):
    good, bad = Results(tmp_path / "good.jsonl"), Results(tmp_path / "bad.jsonl")
    asked = []

    def stages(results, functions):
        for stage, function in enumerate(functions):
            asked.append((results.path.stem, stage))
            yield [(results, {"split": 2 * stage + at}, function) for at in range(2)]

    def impossible():
        raise FileNotFoundError("no data")
        yield []

    queues = [pool.Queue("good", stages(good, [work, work])), pool.Queue("bad", stages(bad, [broken, work]))]
    queues += [
        queue_of(Results(tmp_path / f"{name}.jsonl"), 1, function)
        for name, function in (("killed", killed), ("odd", unwritable))
    ]
    failed = pool.run_queues([*queues, pool.Queue("none", impossible())], jobs=2)
    assert asked == [("good", 0), ("bad", 0), ("good", 1)]
    assert [good.get({"split": 2 + at}) for at in range(2)] == [{"square": 4}, {"square": 9}]
    assert sorted(line.partition(":")[0] for line in failed) == ["bad", "bad", "killed", "none", "odd"]
    for told in ("no luck with 1", "killed, perhaps for want of memory", "none: FileNotFoundError: no data"):
        assert any(told in line for line in failed)
    assert "Traceback" in capsys.readouterr().err
    assert not (tmp_path / "odd.jsonl").exists()


@pytest.mark.integration
def test_a_stage_sees_the_results_of_the_one_before(tmp_path):
    results = Results(tmp_path / "kept.jsonl")

    def stages():
        yield [(results, {"split": at}, work) for at in range(3)]
        yield [(results, {"split": results.get({"split": 2})["square"]}, work)]

    assert len(begun(stages())) == 3
    assert pool.run_queues([pool.Queue("a", stages())], jobs=2) == []
    assert results.get({"split": 4}) == {"square": 16}
    assert known(begun(stages()))[-1] == ({"split": 4}, {"square": 16})


def test_first_repetitions_of_all_queues_come_first(tmp_path):
    queues = [queue_of(Results(tmp_path / f"{name}.jsonl"), count) for name, count in (("a", 2), ("b", 3))]
    for queue in queues:
        queue.advance()
    picked = []
    while (queue := pool._next(queues)) is not None:
        picked.append((queue.name, queue.waiting.pop(0)[1]["split"]))
        queue.running += 1
    assert picked == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("b", 2)]


def test_nothing_starts_when_the_time_is_over(tmp_path):
    results = Results(tmp_path / "kept.jsonl")
    assert pool.run_queues([queue_of(results, 1)], jobs=1, until=time.monotonic()) == []
    assert not results.path.exists()


@pytest.mark.integration
def test_an_interrupt_ends_it_and_keeps_what_is_finished(tmp_path, capsys):
    results, before, start = Results(tmp_path / "kept.jsonl"), signal.getsignal(signal.SIGINT), time.monotonic()

    class Interrupting(Results):
        """Interrupts as a result is kept: the next task has not begun."""

        def add(self, *result):
            super().add(*result)
            os.kill(os.getpid(), signal.SIGINT)

    slow = (results, {"split": 1}, partial(work, nap=600.0))
    tasks = [(Interrupting(tmp_path / "first.jsonl"), {"split": 0}, work), slow, (results, {"split": 2}, work)]
    assert pool.run_queues([pool.Queue("a", iter([tasks]))], jobs=2, grace=1.0) == []
    assert time.monotonic() - start < 300.0
    assert Results(tmp_path / "first.jsonl").get({"split": 0}) == {"square": 0}
    assert "a: 1: ended with the time that was given" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


def test_means_have_errors_and_results_are_grouped():
    assert [mean_text(values, 1) for values in ([], [2.0], [1.0, 2.0, 3.0])] == ["-", "2.0", "2.0 ± 0.6"]
    found = [({"a": 1, "b": 2}, {"x": 0}), ({"a": 1, "b": 3}, None), ({"a": 1}, {"x": 1})]
    assert grouped(found, "a") == {1: [{"x": 0}, {"x": 1}]}
    assert grouped(found, "a", "b") == {(1, 2): [{"x": 0}]}


def test_a_choice_waits_for_all_folds_and_decides_what_is_tested(tmp_path):
    """Cross-modal ranking: the second stage has what the first one chose; while a fold is missing nothing is chosen."""
    paper = reproduce.cross_modal_paper.paper
    stages = partial(paper.stages, tmp_path, tasks=("image-text",), methods=("CFA",), folds=2)
    first = begun(stages())
    assert sorted(settings["fold"] for _, settings, _ in first) == [0, 0, 0, 1, 1, 1]
    for results, settings, _ in first:
        assert begun(stages())[len(first) :] == []
        scores = np.zeros(18)
        scores[7] = 0.5 + 0.1 * (settings["preprocessing"] == "zscore") + 0.02 * settings["fold"]
        results.add(settings, {"map": scores.tolist(), "gap": 0.0})
    tests = begun(stages())[len(first) :]
    wanted = settings_of("CFA", "image-text")[7]
    assert [of["preprocessing"] for _, of, _ in tests if of["setting"] == wanted] == ["zscore"]
    assert {of["setting"]["distance"] for _, of, _ in tests} == {"euclidean", "cosine", "inner"}
    for results, settings, _ in tests:
        score = 0.25 if settings["setting"] == wanted else 0.2
        results.add(settings, {"map": score, "standard_error": 0.01, "recall": [0.0, 1.0], "precision": [1.0, 0.5]})
    tables = paper.tables({"wikipedia": known(begun(stages()))}, tmp_path)
    assert ["CFA", "0.250 ± 0.010 / 0.279", "- / 0.231", "- / 0.255"] in tables["table-2"].rows
    assert tables["choices"].rows[0][1:5] == ["zscore", "c 3, distance cosine", "0.610 ± 0.010", "0.250 ± 0.010"]
    assert tables["distances"].rows[0][2] == "**0.610** / 0.250"


#: A few cheap tasks of every paper: the part whose tables show them, settings, and tables that are written.
SMALL = {
    "ranking_paper": (
        "wine",
        {"splits": 1, "validated": 1, "C": (1.0,), "methods": ("MLR-AUC", "Euclidean")},
        ["table-2"],
    ),
    "relative_paper": (
        "relative-header",
        {"splits": 1, "words": ("header",), "notions": ("university-4",), "test_triplets": 500, "tol": 0.5},
        ["parts-of-pages"],
    ),
    "graph_paper": ("webkb-topics", {"methods": ("Euclidean",)}, ["table-4"]),
    "operator_paper": (
        "letters",
        {"experiments": ("rotation",), "samples": 1, "learners": ("exact", "descent"), "images": 3, "steps": 300},
        ["reached", "table-2", "table-4", "table-4-descent"],
    ),
    "cross_modal_paper": (
        "wikipedia",
        {
            "tasks": ("text-image",),
            "methods": ("Random", "CFA"),
            "folds": 2,
            "columns": (1,),
            "starts": 1,
            "max_steps": 9,
        },
        ["choices", "descents", "distances", "table-2"],
    ),
}


@pytest.mark.integration
@pytest.mark.parametrize("paper", reproduce.PAPERS, ids=lambda paper: paper.folder)
def test_a_paper_runs_makes_its_tables_and_runs_nothing_again(paper, tmp_path, data_folder):
    part, settings, tables = SMALL[paper.folder]
    stages = partial(paper.parts[part], tmp_path, **settings)
    assert pool.run_queues([pool.Queue(part, stages())], jobs=1) == []
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl")}
    assert kept
    found = known(begun(stages()))
    assert found
    assert all(result is not None for _, result in found)
    made = paper.tables({part: found}, tmp_path)
    assert sorted(name for name, sheet in made.items() if sheet is not None and sheet.rows) == tables
    assert all(len(row) == len(sheet.columns) for sheet in made.values() if sheet is not None for row in sheet.rows)
    assert all(picture.stat().st_size > 1000 for picture in tmp_path.glob("*.png"))
    assert pool.run_queues([pool.Queue(part, stages())], jobs=1) == []
    assert kept == {path: path.read_bytes() for path in kept}


@pytest.mark.parametrize("paper", reproduce.PAPERS, ids=lambda paper: paper.folder)
def test_markers_of_a_page_are_those_of_its_tables(paper, tmp_path):
    text = (EXAMPLES / paper.folder / "RESULTS.md").read_text()
    tables = paper.tables({}, tmp_path)
    assert sorted(markers(text)) == sorted(tables)
    for name in tables:
        assert f"<!-- begin: {name} -->\n\n|" in text
        assert f"\n\n<!-- end: {name} -->\n" in text
    # No part, no table, and no picture.
    assert not [name for name, sheet in tables.items() if sheet is not None and sheet.rows]
    assert list(tmp_path.iterdir()) == []
    assert len(reproduce.PARTS) == sum(len(of.parts) for of in reproduce.PAPERS)


def without(text, name):
    before, _, rest = text.partition(f"<!-- begin: {name} -->")
    return before + rest.partition(f"<!-- end: {name} -->")[2]


def test_committed_results_make_the_tables_of_their_page_and_nothing_else_is_touched(tmp_path):
    """Table 2 of the ranking paper, of 2,800 tasks."""
    folder, page = tmp_path / "ranking_paper", EXAMPLES / "ranking_paper" / "RESULTS.md"
    folder.mkdir()
    emptied = page.read_text().replace("| MLR-AUC | 8.6 / ", "| MLR-AUC | 0.0 / ")
    for paper in reproduce.PAPERS:
        (tmp_path / paper.folder).mkdir(exist_ok=True)
        (tmp_path / paper.folder / "RESULTS.md").write_text((EXAMPLES / paper.folder / "RESULTS.md").read_text())
    (folder / "RESULTS.md").write_text(emptied)
    parts = ["wine", "balance", "ionosphere", "wdbc"]
    assert reproduce.report(parts, EXAMPLES / "results", tmp_path) == ["ranking_paper: table-2"]
    assert (folder / "RESULTS.md").read_text() == page.read_text() != emptied
    assert without(emptied, "table-2") == without(page.read_text(), "table-2")
    assert [row[1] for row in reproduce.listed(parts, EXAMPLES / "results").rows] == ["1000", "600", "600", "600"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no table", "its markers are"),
        ("<!-- begin: other -->\n<!-- end: other -->\n", "its markers are"),
        ("<!-- begin: one -->\n", "each begin marker needs one end marker"),
        ("<!-- end: one -->\n<!-- begin: one -->\n", "each begin marker needs one end marker"),
        ("<!-- begin: one -->\n<!-- end: two -->\n", "each begin marker needs one end marker"),
        ("<!-- begin: one -->\n<!-- end: one -->\n" * 2, "no name comes twice"),
    ],
)
def test_a_page_with_other_markers_is_refused_as_it_is(text, message, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        fill(path, {"one": Sheet("", ["a"], [["1"]])})
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "say which parts to run"),
        ("--all --pages", "--pages needs --report"),
        ("--parts win", "invalid choice: 'win'"),
    ],
)
def test_command_lines_that_are_refused(line, told, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["reproduce.py", *line.split()])
    with pytest.raises(SystemExit):
        reproduce.main()
    assert told in capsys.readouterr().err


@pytest.mark.integration
def test_a_report_and_a_list_by_the_command(tmp_path):
    results = Results(tmp_path / "isolet" / "isolet.jsonl")
    for _, settings, _ in begun(reproduce.PARTS["isolet"](tmp_path / "isolet")):
        if settings["method"] == "Euclidean" and settings["split"] < 2:
            row = {"errors": [[0.08, 0.09]], "held_out": [[0.1, 0.2]], "dimensions": [170], "gaps": [], "seconds": []}
            results.add(settings, {"rows": [[None, None]], **row}, 1800.0)
    command = [
        sys.executable,
        str(EXAMPLES / "reproduce.py"),
        "--parts",
        "isolet",
        "--report",
        "--output",
        str(tmp_path),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert "written: ranking_paper: IsoLet" in ran.stdout
    assert "isolet │ 2 │ 210 │ 1.00" in " ".join(ran.stdout.split())
    assert "| Euclidean | 2 | 8.0 / 8.0 ± 0.0 / 8.1 |  |" in (tmp_path / "ranking_paper" / "tables.md").read_text()
