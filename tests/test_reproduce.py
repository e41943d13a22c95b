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

import pytest
import reproduce
from experiments import pool
from experiments.results import Results
from experiments.sheet import row_of, rows_sheet

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

    def queue():
        return pool.Queue("a", iter([tasks_of(results, 3)]), estimate=lambda task: 500.0 * (task[1]["split"] == 1))

    assert pool.run_queues([queue()], jobs=1, until=start) == []
    assert pool.run_queues([queue()], jobs=1, longest=-1.0) == []
    assert results.get({"split": 0}) is None
    assert pool.run_queues([queue()], jobs=1, until=start + 400.0) == []
    assert [results.get({"split": at}) for at in range(3)] == [{"square": 0}, None, {"square": 4}]
    assert time.monotonic() - start < 300.0


def test_an_interrupt_ends_it_and_keeps_what_is_finished(tmp_path, capsys):
    results = Results(tmp_path / "kept.jsonl")
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def estimate(task):
        # The first is finished when the second one is chosen.
        seen.append(task[1]["split"])
        if seen.count(1) == 1 and seen[-1] == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return 0.0

    tasks = tasks_of(results, 1) + tasks_of(results, 5, nap=600.0)[1:]
    start = time.monotonic()
    assert pool.run_queues([pool.Queue("a", iter([tasks]), estimate)], jobs=1, grace=1.0) == []
    assert time.monotonic() - start < 300.0
    assert [results.get({"split": at}) for at in range(3)] == [{"square": 0}, None, None]
    assert "a: 1: ended with the time that was given" in capsys.readouterr().err
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
    before = {task[1]["method"]: job.estimate(task) for task in tasks}
    assert before["LMNN"] == 7.0
    assert set(before.values()) == {5.0, 7.0}
    results, settings, _, _ = tasks[0]
    results.add(settings, {"errors": []}, 3.0)
    again = reproduce.Job(part, tmp_path)
    later = [task for task in again.tasks() if again.estimate(task) == 3.0]
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
    assert rows_sheet([row]).rows == [["error on wine", "1.4", "2.0", "0.6", "3 splits"]]
    assert rows_sheet([row_of("x", None, [0.5], "splits")]).rows == [["x", "-", "0.500", "-", "1 splits"]]


@pytest.mark.integration
def test_cheap_tasks_of_the_real_table_and_again_without_work(tmp_path, data_folder):
    command = [sys.executable, str(EXAMPLES / "reproduce.py"), "--output", str(tmp_path), "--parts", "matchings-appeal"]
    command += ["faces", "--longest", "11", "--jobs", "1"]
    first = subprocess.run(command, capture_output=True, text=True, timeout=500, check=True)
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.jsonl") if path.stat().st_size}
    assert kept
    again = subprocess.run(command, capture_output=True, text=True, timeout=500, check=True)
    assert again.stderr == ""
    assert again.stdout == first.stdout
    assert kept == {path: path.read_bytes() for path in kept}
    subprocess.run([*command, "--report"], capture_output=True, text=True, timeout=500, check=True)
    assert "| input |" in (tmp_path / f"{reproduce.OPERATORS}.md").read_text()
