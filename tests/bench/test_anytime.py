"""Curves on a grid of times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexmetric.bench import Run
from convexmetric.bench.anytime import Watch, time_grid
from convexmetric.certificates import relative_gap


class Listener:
    """A channel that keeps what is sent."""

    def __init__(self):
        self.reports, self.added = [], 0.0

    def report(self, run):
        self.reports.append(run)

    def extend(self, seconds):
        self.added += seconds


def watch(limit=10.0, bound=1.0, tol=1e-6):
    return Watch(Listener(), Run("p", "s", tol, limit, 1, "error"), bound)


@pytest.mark.parametrize("limit", [0.5, 1.0, 60.0, 1e-4])
def test_grids_are_geometric_shared_and_end_at_the_limit(limit):
    times = np.array(time_grid(limit))
    assert times[-1] == limit
    assert (np.diff(times) > 0.0).all()
    if limit > 1e-3:
        np.testing.assert_allclose(times[:-1], 10.0 ** (np.arange(len(times) - 1) / 8.0 - 3.0), rtol=5e-3)
        # Eight a decade, up to the limit.
        assert len(times) - 1 == np.ceil(8.0 * np.log10(limit / 1e-3) - 1e-9)
    assert set(times[:-1]) <= set(time_grid(1000.0))


@given(
    st.lists(st.tuples(st.floats(0.0, 20.0), st.floats(1.0, 100.0), st.floats(-5.0, 1.0)), min_size=1, max_size=30),
    st.booleans(),
)
def test_a_curve_has_the_state_at_each_grid_time(events, own):
    # Found anew by looking through all events for each time.
    events = sorted(events)
    seen, best, lower = watch(), np.inf, -np.inf
    states = []
    for seconds, objective, bound in events:
        best, lower = min(best, objective), max(lower, bound)
        seen.note(seconds, 1, best, lower, own)
        states.append((seconds, best, lower))
    expected = []
    for at in time_grid(10.0):
        before = [state for state in states if state[0] <= at]
        if before and at < max(events[-1][0], 1e-3) * 10.0 ** (1 / 8) * 1.01:
            _, objective, bound = before[-1]
            gap = relative_gap(objective, bound) if own else np.inf
            expected.append((at, objective, gap, relative_gap(objective, 1.0)))
    found = seen.points
    assert found == expected[: len(found)]
    # It ends at the first grid time that is not before the last event.
    ends = [at for at in time_grid(10.0) if at >= events[-1][0]]
    if ends:
        assert found[-1][0] == ends[0]


def test_gaps_are_reached_once_and_reported_at_once():
    seen = watch()
    for k, value in enumerate((3.0, 1.05, 1.005, 1.04)):
        seen.note(0.01 * (k + 1), k, value, 1.0, own=True)
    assert seen.reached == [0.02, 0.03, np.inf, np.inf, np.inf, np.inf]
    reports = seen.channel.reports
    assert [run.upper_bound for run in reports] == [3.0, 1.05, 1.005]
    assert reports[-1].curve[-1][:2] == (0.0316, 1.005)
    assert {run.status for run in reports} == {"limit"}
