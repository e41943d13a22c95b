"""The one job for all tables: it shares its time, ends when it must, keeps what is finished, and survives failures."""

import importlib
import os
import shlex
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import reproduce
from cross_modal_paper.learners import settings_of
from experiments import pool
from experiments.pages import fill as fill_page
from experiments.pages import markers
from experiments.results import Results
from experiments.sheet import Row, Sheet, row_of, rows_sheet
from operator_paper.experiments import _sample, load
from ranking_paper import matchings

from convexmetric.deadline import Clock
from convexmetric.solvers.runtime import Monitor

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def work(value, nap=0.0, note=None):
    """A task: notes that it ran, and when."""
    if note is not None:
        with Path(note).open("a") as file:
            file.write(f"{value}\n")
    time.sleep(nap)
    return {"square": value * value}


def broken(value):
    raise RuntimeError(f"no luck with {value}")


def killed(value):
    os.kill(os.getpid(), signal.SIGKILL)


def unwritable(value):
    return {"of": {1, 2}}


def spent(value):
    """Seconds that a limit of a solve and one of its parts count while the process sleeps."""
    monitor, clock = Monitor(1e-3, None, 1.0), Clock(1.0)
    time.sleep(0.5)
    return {"seconds": max(monitor.seconds, clock.spent)}


def tasks_of(results, count, function=work, **arguments):
    return [(results, {"split": at}, function, {"value": at, **arguments}) for at in range(count)]


def test_results_are_kept_with_their_seconds_and_not_made_again(tmp_path):
    note = tmp_path / "note"
    for _ in range(2):
        results = Results(tmp_path / "kept.jsonl")
        assert pool.run_missing(tasks_of(results, 3, note=str(note)), jobs=2) == []
    assert sorted(note.read_text().split()) == ["0", "1", "2"]
    again = Results(tmp_path / "kept.jsonl")
    assert [again.get({"split": at}) for at in range(3)] == [{"square": 0}, {"square": 1}, {"square": 4}]
    assert all(0.0 <= again.seconds({"split": at}) < 5.0 for at in range(3))
    assert again.seconds({"split": 3}) is None


def test_limits_of_solves_count_seconds_of_the_processor(tmp_path):
    results = Results(tmp_path / "kept.jsonl")
    assert pool.run_missing(tasks_of(results, 1, spent), jobs=1) == []
    assert results.get({"split": 0})["seconds"] < 0.4


def test_a_failure_stops_nothing_else_but_the_stages_behind_it(tmp_path, capsys):
    good, bad = Results(tmp_path / "good.jsonl"), Results(tmp_path / "bad.jsonl")
    asked = []

    def stages(results, functions):
        for stage, function in enumerate(functions):
            asked.append((results.path.stem, stage))
            yield [(results, {"stage": stage, "split": at}, function, {"value": at}) for at in range(2)]

    queues = [pool.Queue("good", stages(good, [work, work])), pool.Queue("bad", stages(bad, [broken, work]))]
    queues += [
        pool.Queue("killed", iter([tasks_of(Results(tmp_path / "killed.jsonl"), 1, killed)])),
        pool.Queue("odd", iter([tasks_of(Results(tmp_path / "odd.jsonl"), 1, unwritable)])),
    ]
    failed = pool.run_queues(queues, jobs=2)
    assert asked == [("good", 0), ("bad", 0), ("good", 1)]
    assert [good.get({"stage": 1, "split": at}) for at in range(2)] == [{"square": 0}, {"square": 1}]
    assert sorted(line.partition(":")[0] for line in failed) == ["bad", "bad", "killed", "odd"]
    assert [line for line in failed if "no luck with 1" in line]
    assert [line for line in failed if "killed, perhaps for want of memory" in line]
    assert "Traceback" in capsys.readouterr().err
    assert not (tmp_path / "odd.jsonl").exists()


def test_a_stage_sees_the_results_of_the_one_before(tmp_path):
    results = Results(tmp_path / "kept.jsonl")

    def stages():
        yield tasks_of(results, 3)
        best = max(results.get({"split": at})["square"] for at in range(3))
        yield [(results, {"best": best}, work, {"value": best})]

    assert pool.run_stages(stages(), jobs=2) == []
    assert results.get({"best": 4}) == {"square": 16}


def test_a_stage_that_cannot_be_made_is_a_failure_of_its_queue(tmp_path):
    def stages():
        raise FileNotFoundError("no data")
        yield []

    results = Results(tmp_path / "kept.jsonl")
    failed = pool.run_queues([pool.Queue("a", stages()), pool.Queue("b", iter([tasks_of(results, 1)]))], jobs=1)
    assert failed == ["a: FileNotFoundError: no data"]
    assert results.get({"split": 0}) == {"square": 0}


def test_nothing_starts_that_would_end_too_late(tmp_path):
    results = Results(tmp_path / "kept.jsonl")
    start = time.monotonic()

    every = [{"method": method, "split": split} for split in range(2) for method in ("short", "long")]

    def queue():
        tasks = [(results, settings, work, {"value": 3}) for settings in every]
        return pool.Queue("a", iter([tasks]), guess=lambda task: 500.0 * (task[1]["method"] == "long"))

    assert pool.run_queues([queue()], jobs=1, until=start) == []
    assert pool.run_queues([queue()], jobs=1, longest=-1.0) == []
    assert not results.path.exists()
    assert pool.run_queues([queue()], jobs=1, until=start + 400.0) == []
    assert [results.get(settings) for settings in every] == [{"square": 9}, None, {"square": 9}, None]
    assert time.monotonic() - start < 300.0


def test_an_interrupt_ends_it_and_keeps_what_is_finished(tmp_path, capsys):
    results = Results(tmp_path / "kept.jsonl")
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def guess(task):
        # The first is finished when the second one is chosen.
        seen.append(task[1]["method"])
        if seen[-1] == "long" and seen.count("long") == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return 0.0

    every = [{"method": "short" if split == 0 else "long", "split": split} for split in range(5)]
    tasks = [(results, one, work, {"value": 3, "nap": 600.0 * (one["method"] == "long")}) for one in every]
    start = time.monotonic()
    assert pool.run_queues([pool.Queue("a", iter([tasks]), guess)], jobs=1, grace=1.0) == []
    assert time.monotonic() - start < 300.0
    assert [results.get(settings) for settings in every] == [{"square": 9}, None, None, None, None]
    assert "a: long 1: ended with the time that was given" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_time_is_shared_and_first_repetitions_come_first(tmp_path, weight):
    """Picks, without processes: seconds go by weight, and none of a long part's tasks waits for a short part's last."""
    long, short = Results(tmp_path / "long.jsonl"), Results(tmp_path / "short.jsonl")
    every = [(long, {"method": m, "split": at}, work, {}) for m in "ab" for at in range(50)]
    queues = [
        pool.Queue("long", iter([every]), lambda task: 100.0),
        pool.Queue("short", iter([tasks_of(short, 1000)]), lambda task: 10.0, weight),
    ]
    for queue in queues:
        queue.advance()
    picked = []
    for _ in range(200):
        queue, task = pool._next(queues, 1e9, None)
        queue.waiting.remove(task)
        queue.spent += queue.estimate(task)
        picked.append((queue.name, task[1]["split"]))
    spent = {queue.name: queue.spent for queue in queues}
    assert spent["short"] == pytest.approx(weight * spent["long"], abs=weight * 100.0 + 10.0)
    assert {name for name, _ in picked[:2]} == {"long", "short"}
    splits = [split for name, split in picked if name == "long"]
    assert splits == sorted(splits)
    assert splits.count(0) == 2


def test_a_process_stays_with_a_queue_for_some_seconds(tmp_path):
    queues = [
        pool.Queue(name, iter([tasks_of(Results(tmp_path / f"{name}.jsonl"), 100)]), lambda task: 5.0) for name in "ab"
    ]
    last, names = None, []
    for queue in queues:
        queue.advance()
    for _ in range(20):
        last, task = pool._next(queues, 1e9, last)
        last.waiting.remove(task)
        last.spent += 5.0
        names.append(last.name)
    changes = sum(one != other for one, other in pairwise(names))
    assert 2 <= changes <= 6
    assert abs(names.count("a") - names.count("b")) <= 3
    assert pool._next(queues, 4.0, last) is None


def test_every_part_is_a_command_line_of_its_script(tmp_path):
    assert len({part.name for part in reproduce.PARTS}) == len(reproduce.PARTS)
    for part in reproduce.PARTS:
        script = importlib.import_module(part.script)
        arguments = script.parser().parse_args([*shlex.split(part.line), "--output", str(tmp_path / part.name)])
        assert arguments.output == tmp_path / part.name
        assert {"stages", "report", "main"} <= set(dir(script))
        assert part.seconds[""] > 0.0
        assert list(part.seconds)[-1] == ""
    assert {part.script for part in reproduce.PARTS} == {
        path.stem for path in EXAMPLES.glob("*.py") if "run_script(" in path.read_text()
    }


def test_estimates_are_renewed_by_what_was_measured(tmp_path):
    part = reproduce.Part("wine", reproduce.RANKING, "--data wine --splits 2 --validated 1 --C 1", {"LMNN": 7.0, "": 5})
    job = reproduce.Job(part, tmp_path)
    tasks = job.tasks()
    assert len(tasks) == 30
    before = {task[1]["method"]: job.queue.estimate(task) for task in tasks}
    assert before["LMNN"] == 7.0
    assert set(before.values()) == {5.0, 7.0}
    results, settings, _, _ = tasks[0]
    results.add(settings, {"errors": []}, 3.0)
    again = reproduce.Job(part, tmp_path)
    later = [task for task in again.tasks() if again.queue.estimate(task) == 3.0]
    assert [(task[0].path.stem, task[1]["method"], task[1]["split"]) for task in later] == [
        ("wine", settings["method"], 0),
        ("wine", settings["method"], 1),
    ]
    row = {row[0]: row[1:] for row in reproduce.listed([again]).rows}["all"]
    left = (3.0 + 27 * 5.0 + 3 * 7.0 - 5.0 + (7.0 if settings["method"] == "LMNN" else 0.0)) / 3600.0
    assert row[:3] == ["1", "30", "0.00"]
    assert float(row[3]) == pytest.approx(left, abs=0.006)


def test_rows_have_the_error_of_the_mean():
    row = row_of("error on wine", 1.4, [1.0, 2.0, 3.0], "splits", 1)
    assert (row.ours, row.error, row.count) == (2.0, pytest.approx(3**-0.5), 3)
    assert rows_sheet([row]).rows == [["error on wine", "1.4", "2.0", "0.6", "3 splits", "+1.0"]]
    assert rows_sheet([row_of("x", None, [0.5], "splits")]).rows == [["x", "-", "0.500", "-", "1 split", "-"]]


def job_of(part, tmp_path):
    return reproduce.Job(next(of for of in reproduce.PARTS if of.name == part), tmp_path)


def fill(tasks, result_of, left_out=0):
    """Made-up results for all tasks but some of the last."""
    for results, settings, _, _ in tasks[: len(tasks) - left_out]:
        results.add(settings, result_of(settings))


def test_a_choice_waits_for_all_folds_and_decides_what_is_tested(tmp_path, data_folder):
    """Cross-modal tables: the second stage has what the first one chose; while a fold is missing nothing is chosen."""
    line = "--tasks image-text --methods CFA --folds 2 --no-descents"
    part = reproduce.Part("a", reproduce.MODALITIES, line, {"": 1})
    first = reproduce.Job(part, tmp_path).tasks()
    assert sorted(task[1]["fold"] for task in first) == [0, 0, 0, 1, 1, 1]

    def held_out(settings):
        scores = np.zeros(18)
        scores[7] = 0.5 + 0.1 * (settings["preprocessing"] == "zscore") + 0.02 * settings["fold"]
        return {"map": scores.tolist(), "gap": 0.0}

    fill(first, held_out, left_out=1)
    assert len(reproduce.Job(part, tmp_path).tasks()) == len(first)
    fill(first, held_out)
    again = reproduce.Job(part, tmp_path)
    tests = again.tasks()[len(first) :]
    wanted = settings_of("CFA", "image-text")[7]
    assert [task[1]["preprocessing"] for task in tests if task[1]["setting"] == wanted] == ["zscore"]
    assert {task[1]["setting"]["distance"] for task in tests} == {"euclidean", "cosine", "inner"}
    fill(tests, lambda settings: {"map": 0.25, "standard_error": 0.01, "queries": 693})
    assert list(again.script.rows(again.arguments)) == [Row("image-text, CFA, MAP", 0.279, 0.25, 0.01, 693, "queries")]


def test_studies_go_on_with_the_lambda_of_least_risk(tmp_path, data_folder):
    job = job_of("studies", tmp_path)
    first = job.tasks()

    def result(settings):
        risk = abs(settings["reg"] - 0.05) + 0.01 * len(settings["categories"])
        measures = dict.fromkeys(("area", "error", "input_area", "input_error"), 0.5) | {"risk": risk}
        return {"gap": 0.0, "tests": {name: measures for name, _ in settings["tests"]}}

    fill(first, result)
    later = reproduce.Job(job.part, tmp_path).tasks()[len(first) :]
    assert {task[1]["reg"] for task in later} == {0.005, 0.05}
    fits = [task for task in later if "task" in task[1]]
    assert sum(task[1]["task"] == "coil20" for task in fits) == 4 * 25
    fill(fits, result)
    most = {row.what: row for row in job.script.rows(job.arguments)}["objects, 16 learned from: risk"]
    assert (most.printed, most.count) == (0.379, 25)
    assert most.ours == pytest.approx(0.045 + 0.16)
    assert most.error == pytest.approx(0.0, abs=1e-9)


def test_a_split_of_isolet_is_whole_when_all_weights_are_there(tmp_path):
    part = reproduce.Part("a", reproduce.RANKING, "--data isolet --splits 2 --methods MLR-AUC --isolet-C 1 2", {"": 1})
    job = reproduce.Job(part, tmp_path)

    def result(settings):
        C, split = settings["C"][0], settings["split"]
        # Validation prefers the other weight.
        errors = {"errors": [[0.1 * C + 0.02 * split, 0.5]], "held_out": [[0.3 - 0.1 * C, 0.5]]}
        return {"rows": [[C, None]], **errors, "dimensions": [1], "gaps": [0.01], "seconds": [1.0]}

    tasks = job.tasks()
    assert [task[1]["C"] for task in tasks] == [[1.0], [2.0]] * 2
    fill(tasks, result, left_out=1)
    assert [row.count for row in job.script.rows(job.arguments)] == [1, 1]
    fill(tasks, result)
    hindsight, validated = job.script.rows(job.arguments)
    assert (hindsight.count, hindsight.ours, hindsight.error) == (2, pytest.approx(11.0), pytest.approx(1.0))
    assert (validated.count, validated.ours, validated.printed) == (2, pytest.approx(21.0), 4.5)


def test_rows_of_trials_and_samples(tmp_path, data_folder):
    """A fold has one number, the mean of its trials; a sample of letters has one as well."""
    job = job_of("webkb-topics", tmp_path)
    fill(job.tasks(), lambda settings: {"auc": [0.5 + 0.1 * settings["part"], 0.7 + 0.1 * settings["part"]]})
    row = next(row for row in job.script.rows(job.arguments) if row.what.startswith("Table 4, G on"))
    assert (row.ours, row.error, row.count) == (pytest.approx(0.7), pytest.approx(0.1 / 3**0.5), 3)
    assert row.printed == pytest.approx(0.9433)

    job = job_of("letters", tmp_path)
    tasks = job.tasks()
    assert sorted({task[1].get("sample", 0) for task in tasks}) == [0, 1, 2, 3, 4]
    measures = {"area": 1.0, "error": 0.0}
    names = ("rotated-digits", "scaled-digits", "rotated-scaled-digits")
    fill(
        tasks,
        lambda settings: {
            "tests": {name: measures | {"risk": 0.1 + 0.1 * settings.get("sample", 0)} for name in names}
        },
    )
    row = next(row for row in job.script.rows(job.arguments) if row.what == "scale, scaled-digits, exact: risk")
    assert (row.printed, row.count, row.ours) == (0.061, 5, pytest.approx(0.3))


def test_sets_of_users_have_other_metrics_planted(tmp_path):
    (train, test), (other, _) = (matchings.intervals(0.01, sample=sample) for sample in (0, 1))
    np.testing.assert_array_equal(train.planted, test.planted)
    assert np.abs(train.planted - other.planted).max() > 1e-3
    job = job_of("matchings", tmp_path)
    fill(job.tasks(), lambda settings: {"scores": [0.5 + 0.1 * settings.get("sample", 0), 0.4, 0.3]})
    row = next(row for row in job.script.rows(job.arguments) if row.what == "MLR-MAP on matchings, AUC")
    assert (row.ours, row.error, row.count) == (pytest.approx(0.7), pytest.approx(0.1 * 2.5**0.5 / 5**0.5), 5)


def test_a_sample_of_letters_is_drawn_as_the_data_set_is():
    X, y = load("scaled-digits")
    X0, y0 = _sample("scaled-digits", 0)
    np.testing.assert_array_equal(X0, X)
    np.testing.assert_array_equal(y0, y)
    X1, y1 = load("scaled-digits", sample=1)
    np.testing.assert_array_equal(y1, y)
    assert np.abs(X1 - X).max() > 0.5
    assert np.median(np.abs(X1.mean(axis=0) - X.mean(axis=0))) < 0.1


PAGES = EXAMPLES.parent / "docs"


@pytest.mark.parametrize("page", reproduce.PAGES)
def test_markers_of_a_page_are_those_of_its_tables(page, tmp_path):
    text = (PAGES / f"{page}.md").read_text()
    tables = {}
    for script in reproduce.PAGES[page]:
        tables |= importlib.import_module(script).page({}, tmp_path)
    assert sorted(markers(text)) == sorted(tables)
    for name in tables:
        assert f"<!-- begin: {name} -->\n\n|" in text
        assert f"\n\n<!-- end: {name} -->\n" in text
    # No part, no table, and no picture.
    assert not [name for name, sheet in tables.items() if sheet is not None and sheet.rows]
    assert list(tmp_path.iterdir()) == []


def outside(text):
    """What is not between markers, and what is, by name."""
    tables = {}
    for name in markers(text):
        before, _, rest = text.partition(f"<!-- begin: {name} -->")
        tables[name], _, after = rest.partition(f"<!-- end: {name} -->")
        text = before + after
    return text, tables


def test_pages_are_filled_from_results_and_nothing_else_is_touched(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    before = {f"{page}.md": (PAGES / f"{page}.md").read_text() for page in reproduce.PAGES}
    for name, text in before.items():
        (folder / name).write_text(text)
    jobs = [job_of(part, tmp_path) for part in ("kernel", "graphs", "webkb-topics", "relative-header")]
    kernel, graphs, _, header = jobs
    fill(kernel.tasks(), lambda settings: {"map": 0.5 + 0.01 * settings["split"], "error": 0.125, "gap": 0.02})
    fit = {"gaps": [None], "seconds": [1.0]}
    fill(graphs.tasks(), lambda settings: fit | {"auc": [0.6 + 0.1 * settings["part"]]})
    one = {"binary": 0.0, "tfidf": 0.0, "rank": 7, "gap": 1e-4, "seconds": 1.0}
    fill(header.tasks(), lambda settings: one | {"learned": 90.0 + settings["split"]})
    jobs = [reproduce.Job(job.part, tmp_path) for job in jobs]
    names = reproduce.write_pages(jobs, folder)
    assert sorted(names) == ["graph-table-2", "ranking-kernel", "relative-parts-of-pages"]
    after = {name: (folder / name).read_text() for name in before}
    for name, text in before.items():
        (prose, tables), (new_prose, new_tables) = outside(text), outside(after[name])
        assert new_prose == prose
        assert {key for key, table in new_tables.items() if table != tables[key]} == set(names) & set(tables)
    # Ten values 0.50, 0.51, ..., 0.59; five 0.6, ..., 1.0; ten 90, ..., 99.
    error = np.std(np.arange(10), ddof=1) / 10**0.5
    assert f"| wine, gaussian | 10 | 0.545 ± {0.01 * error:.3f} | 12.5 ± 0.0 | 2e-02 |" in after["ranking-tables.md"]
    areas = f"0.800 ± {0.1 * np.std(np.arange(5), ddof=1) / 5**0.5:.3f}"
    assert f"| G | {areas} | {areas} | 0.791 | 0.726 |" in after["graph-tables.md"]
    row = f"| University, four named | HTML | 10 | 94.50 ± {error:.2f} | 0.00 ± 0.00 | 0.00 ± 0.00 | 7 |"
    assert row in after["relative-comparisons.md"]
    assert reproduce.write_pages(jobs, folder) == names
    assert after == {name: (folder / name).read_text() for name in before}


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
        fill_page(path, {"one": Sheet("", ["a"], [["1"]])})
    assert path.read_text() == text


@pytest.mark.integration
def test_cheap_tasks_of_the_real_table_and_again_without_work(tmp_path, data_folder):
    command = [sys.executable, str(EXAMPLES / "reproduce.py"), "--output", str(tmp_path), "--jobs", "1"]
    command += ["--parts", "phenotype-like", "objects", "--longest", "1"]
    first = subprocess.run(command, capture_output=True, text=True, timeout=500, check=True)
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl") if path.stat().st_size}
    assert [data.count(b"\n") for _, data in sorted(kept.items())] == [1, 3]
    again = subprocess.run(command, capture_output=True, text=True, timeout=500, check=True)
    assert again.stderr == ""
    assert again.stdout == first.stdout
    assert kept == {path: path.read_bytes() for path in kept}
    subprocess.run([*command, "--report"], capture_output=True, text=True, timeout=500, check=True)
    assert "| input |" in (tmp_path / f"{reproduce.OPERATORS}.md").read_text()
    rows = (tmp_path / "rows.md").read_text()
    assert "| objects: objects, objects 17-20, input: error | 0.375 | 0.237 | - | 1 sample | - |" in rows
    assert "| 3 folds |" in rows
