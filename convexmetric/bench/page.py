"""The page of a benchmark: one HTML file with its pictures, which needs neither network nor scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from convexmetric.bench.anytime import FIRST, time_grid
from convexmetric.bench.profiles import plot_data_profile, plot_performance_profile
from convexmetric.bench.records import GAPS, CurvePoint, Run, SolveTimes, shifted_geometric_mean, solve_times
from convexmetric.cli.pages import page
from convexmetric.plotting.axes import COLOURS, look, plain, svg_of

#: Suboptimalities below this are drawn as this: the library's own bounds are up to 1e-6 apart.
FLOOR = 1e-7
#: Seconds that curves of runs without a limit are drawn to, at most.
LONGEST = 1e9
STYLE = """
body{font:16px/1.45 system-ui,sans-serif;margin:auto;max-width:1200px;padding:0 1em;color:#222}
svg{width:100%;height:auto;display:block}.wide{overflow-x:auto}table{border-collapse:collapse}
.all{display:grid;gap:1em;grid-template-columns:repeat(auto-fill,minmax(min(var(--w,340px),100%),1fr))}
td,th{padding:.25em .7em;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
td:last-child:not(.n){min-width:12em}.n{text-align:right;white-space:nowrap}
.big{--w:480px}b{margin:0 .4em 0 1em}
"""
#: Letters that look like the markers of the pictures.
SYMBOLS = "●■▲◆▼✚✖★◀▶⬟"
MEANS = """Seconds to a relative gap: shifted geometric means (shift 1 s) over the {count} instances that all solvers
were run on, and on how many it was reached; elsewhere the time limit counts, whatever the reason. The gap is the
solver's own, certified; for a callable, the distance of its best metric from the library's certified lower bound."""
CURVES = """The relative distance of the best objective so far from the library's certified lower bound, which is up to
1e-6 below the optimum. Metrics of solvers of your own are evaluated by this package, with their clock stopped. A
line ends with its solver; in the median it stays where it was, and is infinite before the first metric."""


def benchmark_page(runs: Sequence[Run], tol: float, suite: str | None = None, *, curves: bool = False) -> str:
    """Make the HTML text: settings and machine, means, profiles, how runs ended and, on request, curves over time.

    Raises
    ------
    InputError
        If there is nothing to compare.
    """
    times = solve_times(runs, tol)
    profiles: list[Any] = []
    for draw in (plot_performance_profile, plot_data_profile):
        ax = draw(runs, tol)
        profiles.append(ax.figure)
        ax.set_ylabel(f"share of {_instances(times)}")
        ax.legend_ = None
    looks = zip(cycle(COLOURS), cycle(SYMBOLS), map(escape, times.solvers), strict=False)
    key = (f'<span class="n"><b style="color:{colour}">{symbol}</b>{name}</span> ' for colour, symbol, name in looks)
    parts = [
        f"<h1>Solvers on {escape(suite) if suite else _instances(times)}</h1>{_about(runs, suite)}",
        f"<h2>Means</h2><p>{MEANS.format(count=len(times.instances))}</p>{_means(runs, times)}",
        f'<h2>Profiles</h2><p>{"".join(key)}</p><div class="all big">{_svgs(profiles)}</div>',
        _curves(times) if curves else "",
        f"<h2>Runs that did not reach {tol:.0e}</h2>{_others(runs)}",
    ]
    return page("Benchmark", "".join(parts), STYLE)


def _about(runs: Sequence[Run], suite: str | None) -> str:
    """List the settings and machines of the runs; settings in which runs differ have several values."""
    names = ("solver", "machine", "cores", "version", "threads", "seed", "tol", "max_seconds")
    facts = {name: ", ".join(dict.fromkeys(str(getattr(run, name)) for run in runs)) for name in names}
    return _table(("suite", suite or "none"), facts.items())


def _means(runs: Sequence[Run], times: SolveTimes) -> str:
    gaps = [gap for gap in GAPS if gap >= max(run.tol for run in runs)]
    rows = []
    for solver in times.solvers:
        own = [times.runs[name, solver] for name in times.instances]
        cells = [solver]
        for gap in gaps:
            seconds = np.array([run.seconds_to(gap) for run in own])
            mean = shifted_geometric_mean(seconds, [run.max_seconds for run in own])
            cells.append(f"{mean:.3g} ({np.isfinite(seconds).sum()})")
        rows.append(cells)
    return _table(("solver", *(f"{gap:.0e}" for gap in gaps)), rows, numbers=True)


def _curves(times: SolveTimes) -> str:
    """Draw the median over instances, and every instance."""
    # Runs of other tools may have no limit.
    known = (run.max_seconds if np.isfinite(run.max_seconds) else run.seconds for run in times.runs.values())
    limit = min(max((end for end in known if np.isfinite(end)), default=0.0), LONGEST)
    limit = max(limit, 10.0 * FIRST)
    grid, median = time_grid(limit), f"median of {_instances(times)}"
    # Margins by hand: to find them by layout takes most of the time where there are many.
    figures = {name: Figure(figsize=(4.2, 3.0)) for name in (median, *dict(times.runs.keys()))}
    for name, figure in figures.items():
        ax = plain(figure.add_axes((0.17, 0.16, 0.79, 0.74)), "both")
        ax.set(xscale="log", yscale="log", xlim=(FIRST, limit), ylim=(FLOOR / 1.5, 3.0))
        ax.set(title=name, xlabel="seconds", ylabel="suboptimality, at most")
        for k, solver in enumerate(times.solvers):
            if name == median:
                states = [_states(times.runs[instance, solver].curve, grid) for instance in times.instances]
                curve = [*zip(grid, np.median(states, axis=0), strict=True)]
            else:
                run = times.runs.get((name, solver))
                curve = [(point[0], point[3]) for point in run.curve] if run else []
            at, values = np.array(curve).reshape(-1, 2).T
            ends: dict[str, Any] = {"where": "post", "ms": 4, "markevery": [-1] if len(at) else None}
            ax.step(at, np.maximum(values, FLOOR), lw=1.6, **ends, **look(k))
    return f'<h2>Suboptimality over time</h2><p>{CURVES}</p><div class="all">{_svgs(figures.values())}</div>'


def _instances(times: SolveTimes) -> str:
    count = len(times.instances)
    return f"{count} instance{'s' * (count != 1)}"


def _states(curve: Iterable[CurvePoint], grid: Sequence[float]) -> list[float]:
    """The suboptimality at each time; infinite before the first metric."""
    points = [(0.0, np.inf), *((point[0], point[3]) for point in curve)]
    return [next(value for at, value in reversed(points) if at <= time) for time in grid]


def _others(runs: Sequence[Run]) -> str:
    """Table of runs that did not end well: those of one solver that ended alike are one row."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for run in runs:
        if run.status != "optimal":
            found.setdefault((run.solver, run.status, run.message), []).append(run.instance)
    head = ("solver", "status", "message", "instances")
    return _table(head, ((*key, f"{len(names)}: {', '.join(names)}") for key, names in found.items()))


def _table(head: Iterable[str], rows: Iterable[Iterable[str]], *, numbers: bool = False) -> str:
    """An HTML table of texts, which are escaped; ``numbers`` aligns all columns but the first on the right."""

    def line(cells: Iterable[str], tag: str) -> str:
        kinds = (' class="n"' if numbers and k else "" for k in range(99))
        return "<tr>" + "".join(f"<{tag}{c}>{escape(x)}</{tag}>" for x, c in zip(cells, kinds, strict=False)) + "</tr>"

    return f'<div class="wide"><table>{line(head, "th")}{"".join(line(row, "td") for row in rows)}</table></div>'


def _svgs(figures: Iterable[Figure]) -> str:
    """The pictures for the page, with its fonts."""
    return "".join(svg_of(figure, {"svg.fonttype": "none", "font.family": "sans-serif"}) for figure in figures)
