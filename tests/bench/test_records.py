import itertools
import json
import math
import os
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg

import convexmetric as cm
from convexmetric.bench import (
    GAPS,
    Run,
    RunFile,
    performance_profile,
    plot_benchmark,
    plot_data_profile,
    plot_performance_profile,
    shifted_geometric_mean,
    solve_times,
)
from convexmetric.bench.reports import benchmark_markdown, benchmark_table
from convexmetric.errors import InputError

INF = math.inf


def run(instance, solver, seconds, **other):
    """Certified to all gaps after so many seconds, or never."""
    status = "optimal" if seconds < INF else "limit"
    gap = 1e-7 if seconds < INF else 0.5
    reached = (seconds,) * len(GAPS)
    known = {"tol": 1e-6, "max_seconds": 9.0, "threads": 1, "version": "1", "machine": "m", "cores": 2} | other
    return Run(instance, solver, status=status, seconds=min(seconds, 9.0), reached=reached, gap=gap, **known)


def runs_of(table, solvers="abcdefgh"):
    return [run(f"p{p}", s, float(t)) for p, row in enumerate(table) for s, t in zip(solvers, row, strict=False)]


TABLE = [[1.0, 2.0, INF], [3.0, 3.0, 0.75], [INF, 8.0, INF], [INF, INF, INF], [0.5, 4.0, 0.5]]


def shares(ax):
    """Share of each line as a function of x: the height of the last step at or left of it."""
    lines = {line.get_label(): np.array(line.get_data(), dtype=float) for line in ax.get_lines()}
    return {label: (lambda at, x=x, y=y: y[np.flatnonzero(x <= at)[-1]]) for label, (x, y) in lines.items()}


def naive_profile(table, s, tau):
    solved = 0
    for row in table:
        if row[s] < INF and all(row[s] <= tau * other for other in row):
            solved += 1
    return solved / len(table)


def test_lines_are_the_shares_of_the_definition():
    drawn = shares(plot_performance_profile(runs_of(TABLE)))
    assert set(drawn) == {"a", "b", "c"}
    for s, label in enumerate("abc"):
        for tau in (1.0, 1.5, 2.0, 3.9, 4.0, 7.9, 8.0):
            assert drawn[label](tau) == pytest.approx(naive_profile(TABLE, s, tau)), (label, tau)


def test_lines_against_time_are_counts():
    drawn = shares(plot_data_profile(runs_of(TABLE)))
    for s, label in enumerate("abc"):
        for seconds in (0.5, 0.75, 1.0, 2.5, 3.0, 8.0, 11.0):
            expected = sum(row[s] <= seconds for row in TABLE) / len(TABLE)
            assert drawn[label](seconds) == pytest.approx(expected), (label, seconds)


@given(
    st.integers(1, 6).flatmap(
        lambda solvers: st.lists(
            st.lists(st.one_of(st.floats(1e-3, 1e3), st.just(INF)), min_size=solvers, max_size=solvers),
            min_size=1,
            max_size=8,
        )
    ),
    st.floats(1.0, 100.0),
)
def test_profiles_agree_with_the_definition_counted_naively(table, tau):
    ratios = performance_profile(np.array(table))
    for s in range(len(table[0])):
        count = sum(row[s] < INF and row[s] / min(row) <= tau for row in table)
        assert np.count_nonzero(ratios[:, s] <= tau) == count
    solved = np.isfinite(table).any(axis=1)
    assert np.array_equal((ratios == 1.0).any(axis=1), solved)


def test_times_too_small_to_tell_apart_are_ties():
    assert np.array_equal(performance_profile(np.array([[1e-6, 1e-3, 2e-3]])), [[1.0, 1.0, 2.0]])


def test_a_picture_of_eight_solvers_tells_them_apart():
    rng = np.random.default_rng(0)
    figure = plot_benchmark(runs_of(rng.uniform(0.1, 9.0, (12, 8))))
    for ax in figure.axes:
        looks = {(line.get_color(), str(line.get_linestyle()), line.get_marker()) for line in ax.get_lines()}
        assert len(looks) == 8
        assert ax.get_legend() is None
    assert [text.get_text() for text in figure.legends[0].get_texts()] != []


@pytest.mark.parametrize("most", [0.6, 1.0, 2.0, 5.0, 20.0, 31.0, 2000.0])
def test_seconds_are_labelled_and_their_labels_do_not_overlap(most):
    figure = plot_benchmark(runs_of(np.geomspace(0.31, most, 12).reshape(4, 3)))
    axis = figure.axes[1].xaxis
    FigureCanvasAgg(figure).draw()
    start, end = axis.get_view_interval()
    boxes = []
    for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
        if tick.label1.get_text() and start <= tick.get_loc() <= end:
            boxes.append(tick.label1.get_window_extent())
    boxes.sort(key=lambda box: box.x0)
    assert len(boxes) >= 2
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_axes_are_taken_and_returned():
    ax = plot_performance_profile(runs_of(TABLE))
    assert ax.get_xscale() == "log"
    assert plot_data_profile(runs_of(TABLE), ax=ax) is ax


def test_nothing_solved_is_drawn_too():
    assert {f(1.5) for f in shares(plot_performance_profile(runs_of([[INF, INF]]))).values()} == {0.0}


def test_the_gap_decides_which_times_count():
    reached = (0.1, 0.2, 0.3, INF, INF, INF)
    stalled = replace(run("p", "a", 1.0), status="stalled", reached=reached)
    for gap, seconds in zip(GAPS, reached, strict=True):
        assert solve_times([stalled], gap).seconds == seconds
    assert solve_times([replace(stalled, tol=0.5, status="optimal")], 0.5).seconds == 1.0


def test_runs_that_were_not_asked_for_the_gap_are_left_out():
    times = solve_times([run("p", "a", 1.0), run("q", "a", 2.0, tol=1e-3)], 1e-6)
    assert times.instances == ("p",)
    with pytest.raises(InputError, match="no run was asked for a gap of 1e-06"):
        solve_times([run("q", "a", 2.0, tol=1e-3)], 1e-6)
    with pytest.raises(InputError, match="tol must be one of"):
        solve_times([run("q", "a", 2.0)], 2e-6)
    with pytest.raises(InputError, match="no runs"):
        solve_times([])


def test_instances_that_not_all_were_run_on_are_left_out_and_counted():
    times = solve_times([run("p", "a", 1.0), run("p", "b", 1.0), run("q", "a", 1.0)])
    assert (times.instances, times.left_out) == (("p",), 1)
    with pytest.raises(InputError, match="all solvers"):
        solve_times([run("p", "a", 1.0), run("q", "b", 1.0)])


def test_solvers_of_two_versions_are_two_lines():
    times = solve_times([run("p", "a", 1.0), run("p", "a", 2.0, version="2")])
    assert times.solvers == ("a (1)", "a (2)")
    assert np.array_equal(times.seconds, [[1.0, 2.0]])
    assert "| 1 | 2 |" in benchmark_markdown([run("p", "a", 1.0), run("p", "a", 2.0, version="2")])


def test_files_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "runs.csv"
    written = [
        replace(run("p", "a", 1.0 / 3.0), lower_bound=0.1, upper_bound=0.1 + 1e-17, suboptimality=0.0, peak_mb=1.5),
        replace(run("p", 'b, "quoted"', INF), lower_bound=0.0, upper_bound=1.0, peak_mb=2.0, message="ä, b"),
    ]
    file = RunFile(path)
    for one in written:
        file.add(one)
    assert cm.bench.read_runs(path) == written == RunFile(path).runs
    assert cm.bench.read_runs(path, path) == written


def test_a_line_that_was_cut_off_is_taken_away(tmp_path):
    path = tmp_path / "runs.csv"
    file = RunFile(path)
    file.add(replace(run("p", "a", 1.0), peak_mb=1.0))
    file.add(replace(run("q", "a", 1.0), peak_mb=1.0))
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert [one.instance for one in RunFile(path).runs] == ["p"]
    RunFile(path).add(replace(run("q", "a", 1.0), peak_mb=1.0))
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "x" + text, "is not a file of runs"),
        (lambda text: text.replace(",optimal,", ",splendid,"), "line 2, column status: must be one of"),
        (lambda text: text.replace("1e-06,9.0", "none,9.0"), "line 2, column tol: could not convert"),
        (lambda text: text + "a,b\n", "line 3"),
    ],
)
def test_other_files_are_refused(tmp_path, change, said):
    path = tmp_path / "runs.csv"
    RunFile(path).add(replace(run("p", "a", 1.0), peak_mb=1.0))
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError, match=said):
        cm.bench.read_runs(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"absent\.csv"):
        cm.bench.read_runs(tmp_path / "absent.csv")


def test_reports_say_how_runs_ended():
    unsupported = replace(run("p1", "b", INF), status="unsupported", gap=INF)
    runs = [run("p0", "a", 1.0), run("p0", "b", INF), run("p1", "a", 0.123456), unsupported]
    lines = benchmark_markdown(runs).splitlines()
    assert lines[2:] == ["| `p0` | 1 | limit (5e-01) |", "| `p1` | 0.12 | - |"]
    assert benchmark_table(runs).row_count == 2
    assert unsupported.to_dict()["gap"] is None
    assert runs[0].to_dict()["reached"]["1e-06"] == 1.0


WINE = "ranking-auc-wine-c1"
BOUND = cm.bench.load_instance(WINE).proven[0]


def others(tmp_path, text, name="theirs.csv"):
    path = tmp_path / name
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return path


@given(st.permutations(["instance", "solver", "seconds", "objective"]), st.floats(0.0, 2e-6), st.floats(1e-3, 1e3))
def test_an_objective_of_another_tool_is_judged_here(tmp_path_factory, order, above, seconds):
    objective = BOUND * (1.0 + above)
    row = {"instance": WINE, "solver": "theirs", "seconds": seconds, "objective": objective}
    folder = tmp_path_factory.mktemp("runs")
    table = f"{','.join(order)}\n{','.join(str(row[name]) for name in order)}\n"
    (found,) = cm.bench.read_runs(others(folder, table))
    # Not equal from Python 3.13 on, where fields that are nan are not.
    assert repr([found]) == repr(cm.bench.read_runs(others(folder, [row], "theirs.json")))
    gap = (objective - BOUND) / max(objective, BOUND)
    assert found.gap == found.suboptimality == pytest.approx(gap, abs=1e-15)
    assert (found.status == "optimal") == (found.gap <= 1e-6)
    assert (found.lower_bound, found.upper_bound, found.seconds) == (BOUND, objective, seconds)
    assert found.reached == tuple(seconds if found.gap <= wanted else INF for wanted in GAPS)


def test_what_a_tool_claims_is_noted_and_not_believed(tmp_path):
    table = (
        "solver,instance,seconds,gap,suboptimality,status,objective\n"
        f"a,{WINE},1,1e-9,0,optimal,\n"
        "a,mine,1,,,optimal,3\n"
        f"a,{WINE}0,1,1e-9,,optimal,3\n"
        f"b,{WINE},1,1e-9,1e-9,optimal,{3.0 * BOUND!r}\n"
        f"c,{WINE},1,1e-9,1e-9,optimal,{0.9 * BOUND!r}\n"
        f"d,{WINE},,,,unsupported,\n"
    )
    found = cm.bench.read_runs(others(tmp_path, table))
    assert [one.status for one in found] == ["stalled", "stalled", "stalled", "stalled", "error", "unsupported"]
    assert all(one.reached == (INF,) * len(GAPS) for one in found)
    assert [one.gap for one in found] == [INF, INF, INF, pytest.approx(2.0 / 3.0), INF, INF]
    assert found[0].message == "reports gap 1e-09 and suboptimality 0, which nothing certifies"
    assert found[2].message == "reports upper_bound 3 and gap 1e-09, which nothing certifies"
    assert "below the certified bound" in found[4].message
    assert math.isnan(found[5].seconds)


def test_a_run_over_its_limit_reached_nothing(tmp_path):
    table = f"instance,solver,seconds,upper_bound,max_seconds,tol\n{WINE},a,3,{BOUND!r},2,1e-3\n"
    (found,) = cm.bench.read_runs(others(tmp_path, table))
    assert (found.status, found.gap, found.tol, found.reached) == ("limit", 0.0, 1e-3, (INF,) * len(GAPS))


def test_runs_as_json_are_read_as_they_were_written(tmp_path):
    runs = [run(WINE, "a", 2.0), replace(run(WINE, "b", INF), lower_bound=0.0, upper_bound=1.0)]
    curve = ((1e-3, 2.5, INF, 0.5), (2e-3, 2.0, 0.25, 0.125))
    runs = [replace(one, peak_mb=1.0, seed=7, curve=curve) for one in runs]
    assert cm.bench.read_runs(others(tmp_path, [one.to_dict() for one in runs], "runs.json")) == runs


def test_columns_that_runs_do_not_have_are_named(tmp_path):
    table = f"\ufeffinstance,colour,solver,seconds,objective,size\n{WINE},red,a,1,{BOUND!r},9\n\n"
    with pytest.warns(UserWarning, match=r"theirs.csv: left out the columns colour, size"):
        (found,) = cm.bench.read_runs(others(tmp_path, table))
    assert found.status == "optimal"


def test_other_tools_have_a_place_beside_ours(tmp_path):
    theirs = cm.bench.read_runs(others(tmp_path, f"instance,solver,seconds,objective\n{WINE},a,2,{BOUND!r}\n"))
    times = solve_times([*theirs, run(WINE, "b", 1.0)], 1e-6)
    assert times.solvers == ("a", "b (1, m)")
    assert np.array_equal(times.seconds, [[2.0, 1.0]])
    assert shares(plot_data_profile([*theirs, run(WINE, "b", 1.0)]))["a"](2.5) == 1.0


HEAD = "instance,solver,seconds,objective"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"theirs.csv, line 1: this is not a file of runs"),
        ("instance,solver,seconds\np,a,1\n", "line 1: .* one of objective, upper_bound, gap, suboptimality"),
        ("instance,solver,objective\np,a,1\n", "line 1: .* columns instance, solver, seconds"),
        (f"{HEAD},seconds\np,a,1,1,1\n", "line 2: 5 cells under 4 different columns"),
        (f"{HEAD}\np,a,1\n", r"line 2: 3 cells under 4 different columns"),
        (f"{HEAD}\np,a,soon,1\n", "line 2, column seconds: could not convert"),
        (f"{HEAD}\np,a,1,1\np,a,-1,1\n", "line 3, column seconds: must not be negative"),
        (f"{HEAD}\n,a,1,1\n", "line 2, column instance: must be text"),
        (f"{HEAD},status\np,a,1,1,done\n", "line 2, column status: must be one of"),
        (f'{HEAD}\n"p\n",a,1,much\n', "line 3, column upper_bound: could not convert"),
        (f"{HEAD},threads\np,a,1,1,1.5\n", "line 2, column threads: invalid literal"),
        ("[{]", r"theirs.json is not a file of runs: .*line 1 column 3"),
        ("[" * 100_000, "theirs.json is not a file of runs"),
        ([3], "theirs.json, entry 1: this is not a file of runs"),
        ({"runs": 3}, "theirs.json, entry 1: this is not a file of runs"),
        ([{"instance": "p", "solver": "a", "seconds": 1, "gap": 0, "curve": {"gap": 1}}], "is not a file of runs"),
        ([{"instance": "p", "solver": "a", "seconds": 1.0}], "entry 1: .* one of objective"),
        ([{"instance": 3, "solver": "a", "seconds": 1.0, "gap": 0.0}], "entry 1, column instance: must be text, got 3"),
        ([{"instance": "p", "solver": "a", "seconds": True, "gap": 0.0}], "column seconds: must be a number, got True"),
        ([{"instance": "p", "solver": "a", "seconds": [], "gap": 0.0}], "column seconds: must be a number"),
        ([{"instance": "p", "solver": "a", "seconds": 10**400, "gap": 0.0}], "column seconds: int too large"),
        (
            [{"instance": "p", "solver": "a", "seconds": 1, "gap": 0, "cores": 1.5}],
            "column cores: must be a whole number",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_named_with_its_place(tmp_path, text, said):
    name = "theirs.json" if not isinstance(text, str) or text.startswith("[") else "theirs.csv"
    with pytest.raises(InputError, match=said):
        cm.bench.read_runs(others(tmp_path, text, name))


SPECIAL = {
    "pipe": (os.mkfifo, "no ordinary file"),
    "folder": (os.mkdir, "is a folder"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "no ordinary file"),
    "loop": (lambda path: path.symlink_to(path), "symbolic links"),
    "huge": (lambda path: (path.touch(), os.truncate(path, 2**40)), "larger than 33554432 bytes"),
    "many entries": (lambda path: path.write_bytes(b"[" + b"[]," * 1_000_001 + b"[]]"), "2000000 entries"),
    "many runs": (lambda path: path.write_text(f"{HEAD}\n" + "p,a,1,1\n" * 20_001), "more than 20000 runs"),
    "no text": (lambda path: path.write_bytes(b"\xff\xfe"), "damaged"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and devices")
@pytest.mark.parametrize("kind", SPECIAL)
def test_special_and_huge_files_are_refused_at_once(tmp_path, kind):
    path = tmp_path / "theirs.csv"
    make, said = SPECIAL[kind]
    make(path)
    for read in (cm.bench.read_runs, RunFile):
        if read is RunFile and kind in ("loop", "many entries", "many runs"):
            continue
        with pytest.raises(InputError, match=f"theirs.csv.*{said}"):
            read(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("instance", value) for value in (None, "", "x" * 2001)),
        ("solver", None),
        *(("tol", value) for value in (0, -1e-6, math.nan)),
        *(("max_seconds", value) for value in (0.0, -1, math.nan)),
        *((name, value) for name in ("threads", "iterations", "cores", "seed") for value in (-1, 10**39, 1e3)),
        *(("seconds_to_1e-01", value) for value in (-1.0, math.nan, [], {})),
        ("message", "x" * 2001),
    ],
)
def test_values_that_no_run_has_are_refused(tmp_path, name, value):
    entry = {"instance": "p", "solver": "a", "seconds": 1.0, "gap": 0.5, name: value}
    with pytest.raises(InputError, match=f"entry 1, column {name}: "):
        cm.bench.read_runs(others(tmp_path, [entry], "theirs.json"))


def test_texts_are_without_escapes(tmp_path):
    entry = {"instance": "p\x1b[2J", "solver": "a\ud800\n", "seconds": 1.0, "gap": 0.5}
    (found,) = cm.bench.read_runs(others(tmp_path, [entry], "theirs.json"))
    assert (found.instance, found.solver) == ("p [2J", "a  ")


def test_of_many_columns_that_are_left_out_ten_are_named(tmp_path):
    names = [f"{'c' * 60}{k}" for k in range(1000)]
    entry = {"instance": "p", "solver": "a", "seconds": 1.0, "gap": 0.5} | dict.fromkeys(names, 0)
    with pytest.warns(UserWarning, match=f"(, {'c' * 50}){{9}} and 990 more$"):
        cm.bench.read_runs(others(tmp_path, [entry], "theirs.json"))


def test_a_picture_has_not_too_many_solvers():
    with pytest.raises(InputError, match="at most 100 solvers, got 101"):
        plot_benchmark([run("p", f"s{k}", 1.0) for k in range(101)])


def test_runs_are_not_appended_to_the_file_of_another_tool(tmp_path):
    with pytest.raises(InputError, match="its first line must be instance,solver,tol"):
        RunFile(others(tmp_path, f"{HEAD}\n{WINE},a,1,1\n"))


def test_shifted_geometric_means_are_those_of_the_formula():
    times = np.array([[0.0, 0.5, INF], [3.0, 2.0, 8.0], [8.0, INF, INF]])
    limit = 10.0
    for s, column in enumerate(times.T):
        product = math.prod(min(t, limit) + 1.0 for t in column)
        assert shifted_geometric_mean(times, limit)[s] == pytest.approx(product ** (1 / 3) - 1.0, rel=1e-12)
    assert shifted_geometric_mean([2.0, 2.0], shift=0.1) == pytest.approx(2.0, rel=1e-12)
    # A limit of each run: unequal ones count as they are.
    assert shifted_geometric_mean([INF, INF], [1.0, 7.0]) == pytest.approx(3.0, rel=1e-12)
    # A large shift makes it the mean.
    assert shifted_geometric_mean([1.0, 3.0], shift=1e8) == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize(
    ("given", "said"), [([], "at least one"), ([-1.0], "nonnegative"), ([math.nan], "nonnegative")]
)
def test_means_of_what_is_no_time_are_refused(given, said):
    with pytest.raises(InputError, match=said):
        shifted_geometric_mean(given, 10.0)


def test_a_mean_needs_a_positive_shift():
    with pytest.raises(InputError, match="shift"):
        shifted_geometric_mean([1.0], shift=0.0)


def test_curves_seeds_and_sources_are_read_as_they_were_written(tmp_path):
    curve = ((1e-3, 2.5, INF, 1.0 / 3.0), (1.33e-3, 2.0, 0.1, 1e-17))
    written = replace(run("p", "a.py", 1.0, seed=7, source="0123456789abcdef", curve=curve), peak_mb=1.0)
    RunFile(tmp_path / "runs.csv").add(written)
    assert cm.bench.read_runs(tmp_path / "runs.csv") == [written]
    assert written.to_dict()["curve"]["gap"] == [None, 0.1]
    assert replace(written, seed=8).settings != written.settings != replace(written, source="").settings


@pytest.mark.parametrize("points", ["1:2:3", "1:2:3:4:5", "1:2:3:x"])
def test_a_malformed_curve_is_refused(tmp_path, points):
    path = tmp_path / "runs.csv"
    RunFile(path).add(replace(run("p", "a", 1.0), peak_mb=1.0, curve=((1.0, 2.0, 3.0, 4.0),)))
    text = path.read_text()
    path.write_text(text.replace("1.0:2.0:3.0:4.0", points))
    assert path.read_text() != text
    with pytest.raises(InputError, match="line 2"):
        cm.bench.read_runs(path)


def test_instances_without_their_data_are_not_compared():
    lost = replace(run("q", "a", INF), status="no data")
    assert solve_times([run("p", "a", 1.0), lost]).instances == ("p",)
    with pytest.raises(InputError, match="data that are there"):
        solve_times([lost])
