from dataclasses import replace

import matplotlib
import matplotlib.pyplot as pyplot
import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

import convexmetric as cm
from convexmetric.bench import plot_trails
from convexmetric.errors import InputError
from convexmetric.plotting import (
    plot_audit,
    plot_bounds,
    plot_embedding,
    plot_gap,
    plot_precision_recall,
    plot_roc,
    plot_scale,
    plot_solution,
    plot_spectrum,
    plot_validation,
    plot_violated_ranking,
    plot_weights,
    plot_worst,
    save_picture,
    show_pictures,
)
from convexmetric.plotting.axes import COLOURS, UPPER, shortened
from convexmetric.plotting.embeddings import metric_plane
from convexmetric.selection import Validation
from convexmetric.solution import Progress


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    y = np.arange(40) % 3
    return rng.standard_normal((40, 5)) * [3, 1, 1, 2, 1] + 2 * np.eye(3, 5)[y] + 10.0, y


@pytest.fixture(scope="module")
def solution(data):
    return cm.solve(cm.RankingProblem.from_labels(*data, C=30.0), solver="cutting-planes")


def psd(rank, d=5, seed=0):
    L = np.random.default_rng(seed).standard_normal((rank, d))
    return L.T @ L


def with_history(solution, bounds):
    history = [Progress(t, 0.1 * t, u, lo, g) for t, (u, lo, g) in enumerate(bounds, start=1)]
    return cm.Solution(solution.problem, solution.certificate, "optimal", 1e-6, history, 1.0, "interior-point")


def visible_labels(axis):
    low, high = sorted(axis.get_view_interval())
    return [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]


def drawn(ax):
    """All points of all classes, in the order of the classes."""
    return np.concatenate([collection.get_offsets() for collection in ax.collections])


@pytest.mark.parametrize("rank", [1, 2])
def test_distances_in_the_plane_are_those_of_a_metric_of_rank_two_or_less(data, rank):
    X, _ = data
    M = psd(rank)
    plane = metric_plane(X, M)
    assert plane.rank == rank
    seen = plane.points[:, np.array(plane.in_metric)]
    assert_allclose(cdist(seen, seen), cdist(X, X, "mahalanobis", VI=M), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("M", [psd(4), np.array([0.0, 3.0, 0.2, 1.0, 0.0]), None], ids=["matrix", "weights", "none"])
def test_the_plane_shrinks_distances_and_holds_the_most_it_can(data, M):
    X, _ = data
    plane = metric_plane(X, M)
    full = np.eye(5) if M is None else M if M.ndim == 2 else np.diag(M)
    assert np.all(cdist(plane.points, plane.points) <= cdist(X, X, "mahalanobis", VI=full) + 1e-9)
    assert_allclose(plane.directions.T @ plane.directions, np.eye(2), atol=1e-12)
    if M is None:
        values = np.linalg.eigvalsh(np.cov(X.T))[::-1]
        assert_allclose(plane.shares, values[:2] / values.sum())
        assert_allclose(plane.points.var(axis=0, ddof=1), values[:2])
    else:
        values = np.linalg.eigvalsh(full)[::-1]
        assert_allclose(plane.weights, values[:2])
        assert_allclose(plane.shares, values[:2] / values.sum())


def test_signs_do_not_depend_on_the_order_of_the_points_or_the_solver(data):
    X, _ = data
    for M in (psd(3), None):
        plane = metric_plane(X, M)
        assert np.all(plane.directions[np.abs(plane.directions).argmax(axis=0), [0, 1]] > 0)
        assert_allclose(metric_plane(X[::-1], M).points, plane.points[::-1], atol=1e-9)
        assert_allclose(metric_plane(sp.csr_array(X), M).points, plane.points, atol=1e-6)


def test_a_diagonal_matrix_and_its_weights_show_the_same(data):
    X, _ = data
    w = np.array([0.0, 3.0, 0.2, 1.0, 0.0])
    plane = metric_plane(X, w)
    assert_allclose(plane.points, (X - X.mean(axis=0))[:, [1, 3]] * np.sqrt([3.0, 1.0]))
    assert_allclose(metric_plane(X, np.diag(w)).points, plane.points)
    assert plane.rank == 3


@pytest.mark.parametrize("M", [psd(1), np.array([0.0, 0.0, 2.0, 0.0, 0.0])], ids=["matrix", "weights"])
def test_the_second_axis_of_a_metric_of_rank_one_is_what_it_ignores(data, M):
    X, _ = data
    plane = metric_plane(X, M)
    v, second = plane.directions.T
    rest = (X - X.mean(axis=0)) @ (np.eye(5) - np.outer(v, v))
    values = np.linalg.eigvalsh(rest.T @ rest)[::-1]
    assert plane.in_metric == (True, False)
    assert abs(v @ second) < 1e-12
    assert_allclose(np.sum(plane.points[:, 1] ** 2), values[0])
    assert_allclose(plane.shares[1], values[0] / values.sum())
    ax = plot_embedding(X, None, M)
    assert "weight 0 in the metric" in ax.get_ylabel()
    assert "100% of the trace" in ax.get_xlabel()
    assert ax.get_aspect() == "auto"


def test_the_zero_metric_and_a_single_feature_have_pictures_too(data):
    X, _ = data
    plane = metric_plane(X, np.zeros((5, 5)))
    assert plane.rank == 0
    assert_allclose(plane.points, metric_plane(X).points)
    for M in (None, [[4.0]], [4.0]):
        single = metric_plane(X[:, :1], M)
        assert_allclose(np.abs(single.points[:, 0]), np.abs(X[:, 0] - X[:, 0].mean()) * (1 if M is None else 2))
        assert_allclose(single.points[:, 1], 0.0)
    assert plot_embedding(X[:, :1], None, [4.0]).get_ylabel() == "no further direction"


def test_wide_sparse_data_are_never_made_dense(monkeypatch):
    X = sp.random_array((60, 3000), density=0.01, rng=np.random.default_rng(0), format="csr")
    dense = metric_plane(X.toarray())
    monkeypatch.setattr(sp.csr_array, "toarray", lambda *_: pytest.fail("made dense"))
    assert_allclose(np.abs(metric_plane(X).points), np.abs(dense.points), atol=1e-6)
    weights = np.zeros(3000)
    weights[5] = 1.0
    assert metric_plane(X, weights).in_metric == (True, False)


def test_the_embedding_draws_every_point_in_the_marker_of_its_class(data):
    X, y = data
    ax = plot_embedding(X, y, psd(2), target_names=["a", "b", "c"])
    points = metric_plane(X, psd(2)).points
    for k, collection in enumerate(ax.collections):
        assert_allclose(collection.get_offsets(), points[y == k])
        assert same_color(collection.get_facecolor()[0][:3], COLOURS[k])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    assert ax.get_aspect() == 1.0
    assert plot_embedding(X, None, None).get_legend() is None


def test_classes_are_called_by_their_labels(data):
    X, y = data
    for labels, names in ((y, ["class 0", "class 1", "class 2"]), (np.array(["b", "a", "c"])[y], ["a", "b", "c"])):
        texts = plot_embedding(X, labels, None).get_legend().get_texts()
        assert [text.get_text() for text in texts] == names


def test_the_axes_of_a_diagonal_metric_are_features(data):
    ax = plot_embedding(data[0], None, [0.0, 3.0, 0.0, 1.0, 0.0])
    assert ax.get_xlabel().startswith("feature 1 ")
    assert ax.get_ylabel().startswith("feature 3 ")
    assert "75% of the trace" in ax.get_xlabel()


def test_a_legend_of_many_classes_is_left_out(data):
    X, _ = data
    ax = plot_embedding(X, np.arange(40), None)
    assert ax.get_legend() is None
    assert len(drawn(ax)) == 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(3)}, "X has 40 rows, y has 3"),
        ({"target_names": ["a"]}, "must name the 3 classes of y, got 1"),
        ({"M": np.eye(4)}, r"M must have shape \(5, 5\) or \(5,\) to fit the 5 features of X, got \(4, 4\)"),
        ({"M": np.full((5, 5), np.nan)}, "NaN"),
        ({"M": np.triu(np.ones((5, 5)))}, "symmetric"),
        ({"X": np.zeros(5)}, "two-dimensional"),
    ],
)
def test_what_does_not_fit_is_said(data, change, message):
    arguments = {"X": data[0], "y": data[1], "M": None} | change
    with pytest.raises(InputError, match=message):
        plot_embedding(**arguments)


def test_the_lines_of_the_bounds_carry_the_history(solution):
    ax = plot_bounds(solution)
    upper, lower = ax.get_lines()
    passes = [p.iteration for p in solution.history]
    assert_allclose(upper.get_xdata(), passes)
    assert_allclose(upper.get_ydata(), [p.upper_bound for p in solution.history])
    assert_allclose(lower.get_ydata(), [p.lower_bound for p in solution.history])
    assert ax.get_xlabel() == "passes"
    assert len(ax.collections) == 1
    gap = plot_gap(solution).get_lines()[0]
    assert_allclose(gap.get_ydata(), [p.gap for p in solution.history])


def test_the_axis_of_the_bounds_shows_the_closing(solution):
    optimum = solution.upper_bound
    far = with_history(solution, [(1e9, -1e9, 1.0), (2 * optimum, 1e-9, 1.0), (optimum, solution.lower_bound, 1e-7)])
    ax = plot_bounds(far)
    assert ax.get_yscale() == "log"
    low, high = ax.get_ylim()
    assert optimum / 1e5 < low < optimum < high < optimum * 1e5
    near = with_history(solution, [(1.2 * optimum, 0.8 * optimum, 0.3), (optimum, solution.lower_bound, 1e-7)])
    ax = plot_bounds(near)
    assert ax.get_yscale() == "linear"
    low, high = ax.get_ylim()
    assert 0.7 * optimum < low < 0.8 * optimum < 1.2 * optimum < high < 1.3 * optimum


def test_bounds_that_are_not_finite_yet_leave_a_hole(solution, tmp_path):
    inf = np.inf
    late = with_history(solution, [(inf, -inf, inf), (inf, 0.5, inf), (9.0, 0.5, 0.9), (9.0, 9.0, 0.0)])
    upper, lower = plot_bounds(late).get_lines()
    assert_allclose(upper.get_ydata(), [np.nan, np.nan, 9.0, 9.0])
    assert_allclose(lower.get_ydata(), [np.nan, 0.5, 0.5, 9.0])
    assert_allclose(plot_gap(late).get_lines()[0].get_xdata(), [3])
    save_picture(plot_solution(late), tmp_path / "late.png")


def test_a_solution_without_history_has_no_bounds_to_plot(solution):
    for plot in (plot_bounds, plot_gap, plot_solution):
        with pytest.raises(InputError, match="no history"):
            plot(with_history(solution, []))


def test_a_solve_of_one_iteration_is_visible(solution, tmp_path):
    once = with_history(solution, [(solution.upper_bound, solution.lower_bound, solution.gap)])
    save_picture(plot_solution(once), tmp_path / "once.svg")
    assert plot_bounds(once).get_lines()[0].get_marker() not in ("None", "", None)


def test_the_axes_given_are_drawn_on_and_pyplot_is_left_alone(solution, data):
    axes = Figure().subplots(1, 3)
    assert plot_bounds(solution, ax=axes[0]) is axes[0]
    assert plot_gap(solution, ax=axes[1]) is axes[1]
    assert plot_embedding(*data, None, ax=axes[2]) is axes[2]
    before = dict(matplotlib.rcParams)
    plot_solution(solution, data[0], y=data[1])
    assert pyplot.get_fignums() == []
    assert dict(matplotlib.rcParams) == before


def test_the_whole_picture_has_bounds_gap_before_and_after(solution, data, tmp_path):
    X, y = data
    figure = plot_solution(solution, X, y=y, target_names=["a", "b", "c"])
    bounds, gap, before, after = figure.axes
    assert [ax.get_xlabel() for ax in (bounds, gap)] == ["", "passes"]
    assert_allclose(drawn(before), metric_plane(X).points[np.argsort(y, kind="stable")])
    assert_allclose(drawn(after), metric_plane(X, solution.M).points[np.argsort(y, kind="stable")])
    assert after.get_title() == f"After: optimal, rank {solution.rank}"
    assert len(plot_solution(solution).axes) == 2
    save_picture(figure, tmp_path / "picture.png")
    height, width, _ = pyplot.imread(tmp_path / "picture.png").shape
    assert (width, height) == (960, 1620)


def test_texts_do_not_overlap(solution, data):
    figure = plot_solution(solution, data[0], y=data[1], target_names=["a", "b", "c"])
    figure.suptitle("A title over everything")
    FigureCanvasAgg(figure).draw()
    texts = [figure._suptitle]
    for ax in figure.axes:
        texts += [ax.title, ax.xaxis.label, ax.yaxis.label, *visible_labels(ax.xaxis), *visible_labels(ax.yaxis)]
    boxes = [text.get_window_extent().shrunk(0.95, 0.9) for text in texts if text.get_text() and text.get_visible()]
    canvas = figure.bbox
    inside = [box for box in boxes if box.width > 0]
    assert len(inside) > 20
    for i, box in enumerate(inside):
        assert canvas.x0 <= box.x0 <= box.x1 <= canvas.x1
        assert not any(box.overlaps(other) for other in inside[:i])


def test_a_picture_that_cannot_be_written_is_an_input_error(solution, tmp_path):
    with pytest.raises(InputError, match="cannot write"):
        save_picture(plot_solution(solution), tmp_path / "no" / "folder.png")


def test_spectra_are_drawn_from_the_largest_down(solution):
    ax = Figure().subplots()
    weights = np.array([0.0, 3.0, 0.5, 0.0])
    assert plot_spectrum({"learned": solution, "matrix": psd(2), "weights": weights}, ax=ax) is ax
    learned, matrix, diagonal = ax.get_lines()
    values = np.linalg.eigvalsh(solution.M)[::-1]
    assert_allclose(learned.get_ydata(), values[values > 1e-12 * values[0]])
    assert_allclose(matrix.get_ydata()[:2], np.linalg.eigvalsh(psd(2))[:-3:-1])
    assert_allclose(diagonal.get_ydata(), [3.0, 0.5])
    assert_allclose(diagonal.get_xdata(), [1, 2])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["learned", "matrix", "weights"]
    assert plot_spectrum(np.eye(3)).get_legend() is None
    for wrong in (np.zeros((2, 3)), [[np.nan]], np.zeros((0, 0)), [[1.0, 2.0], [0.0, 1.0]]):
        with pytest.raises(InputError):
            plot_spectrum(wrong)


def test_roc_curves_carry_their_points_and_areas(data):
    X, y = data
    curve = cm.evaluation.roc_curve(None, X, y)
    axes = Figure().subplots(1, 2)
    assert plot_roc(curve, ax=axes[0]) is axes[0]
    assert plot_roc({"before": curve, "after": curve}, ax=axes[1]) is axes[1]
    for ax, labels in zip(axes, ([""], ["before, ", "after, "]), strict=True):
        for line in ax.get_lines()[:-1]:
            assert_allclose(line.get_xdata(), curve.false_positive_rate)
            assert_allclose(line.get_ydata(), curve.true_positive_rate)
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        assert texts == [f"{label}area {curve.area:.3f}" for label in labels]


def test_precision_and_recall_are_those_of_the_curve(data):
    X, y = data
    curve = cm.evaluation.retrieval_curve(cdist(X, X), y[:, None] == y)
    ax = Figure().subplots()
    assert plot_precision_recall({"Euclidean": curve}, ax=ax) is ax
    (line,) = ax.get_lines()
    assert_allclose(line.get_xdata(), curve.recall)
    assert_allclose(line.get_ydata(), curve.precision)
    assert ax.get_legend().get_texts()[0].get_text() == f"Euclidean, MAP {curve.mean_average_precision:.3f}"


@pytest.mark.parametrize("measure", ["auc", "map", "ndcg", "precision", "mrr", "knn"])
def test_the_violated_ranking_drawn_is_the_one_the_risk_pays_for(data, measure):
    X, y = data
    M = psd(3)
    whole = cm.RankingProblem.from_labels(
        X, y, measure=measure, k=4 if measure in ("ndcg", "precision", "knn") else None
    )
    problem = whole.with_queries([5])
    ax = Figure().subplots()
    assert plot_violated_ranking(problem, M, query=0, ax=ax, places=39) is ax
    relevant, irrelevant = (collection.get_offsets() for collection in ax.collections)
    p, n = len(relevant) // 2, len(irrelevant) // 2
    assert (p, n) == (int(np.sum(y == y[5])) - 1, int(np.sum(y != y[5])))
    distances = np.sort(cdist(X[[5]], np.delete(X, 5, axis=0), "mahalanobis", VI=M)[0] ** 2)
    for side in (0, 1):
        places = np.concatenate([points[points[:, 0] == side, 1] for points in (relevant, irrelevant)])
        assert sorted(places) == list(range(1, 40))
    left, right = (relevant[relevant[:, 0] == side, 1] for side in (0, 1))
    ranking = np.isin(np.arange(1, 40), right)
    # The change of the feature: every relevant item's place counts the irrelevant ones above it.
    x = distances[left.astype(int) - 1]
    z = distances[np.setdiff1d(np.arange(39), left.astype(int) - 1)]
    above = np.sort(right) - np.arange(1, p + 1)
    change = 2.0 / (p * n) * sum((z[: int(b)] - near).sum() for near, b in zip(x, above, strict=True))
    assert 1.0 - whole.measure.score(ranking) - change == pytest.approx(problem.risk.value(M), abs=1e-9)


def test_only_queries_and_places_that_exist_are_drawn(data):
    problem = cm.RankingProblem.from_labels(*data)
    for query, places, message in ((-1, 1, "query"), (40, 1, "below 40"), (0, 0, "places"), (True, 1, "query")):
        with pytest.raises(InputError, match=message):
            plot_violated_ranking(problem, np.eye(5), query=query, places=places)
    assert plot_violated_ranking(problem, np.eye(5), query=3, places=7).get_ylim() == (7.7, 0.3)


@pytest.fixture(scope="module")
def trails(solution):
    problem = solution.problem
    given = [problem.cone.identity(), 2.0 * solution.M, 1.5 * solution.M, 1.6 * solution.M]
    theirs = cm.bench.audit_iterates(
        problem, given, seconds=[0.1, 0.2, 0.4, 0.5], passes=[1, 2, 3, 4], reference=solution, name="theirs"
    )
    return theirs, cm.bench.audit_iterates(problem, given[:2], reference=solution, name="no clock"), solution


def test_trails_are_drawn_best_so_far_above_the_floor(trails):
    theirs, without, solution = trails
    ours = cm.bench.AuditTrail.of_solution(solution)
    axes = plot_trails([theirs, without, ours])
    seconds, passes = axes
    lines = {line.get_label(): line for line in passes.get_lines() if not line.get_label().startswith("_")}
    assert set(lines) == {"theirs", "no clock", solution.solver}
    assert_allclose(lines["theirs"].get_ydata(), theirs.best_so_far)
    assert_allclose(lines["theirs"].get_xdata(), theirs.passes)
    labels = [line.get_label() for line in seconds.get_lines()]
    assert "theirs" in labels
    assert "no clock" not in labels
    assert seconds.get_yscale() == passes.get_yscale() == "log"
    assert seconds.get_xlabel() == "seconds"
    assert passes.get_xlabel() == "passes or iterates"
    assert any(f"{solution.gap:.0e}" in text.get_text() for text in seconds.texts)
    low, high = seconds.get_ylim()
    assert low < solution.gap < high
    assert theirs.suboptimality.max() < high


def test_trails_on_axes_of_the_caller(trails):
    pair = Figure().subplots(1, 2)
    assert plot_trails(trails[:1], pair) == tuple(pair)
    lonely = plot_trails(trails[1:2])
    assert any("no seconds" in text.get_text() for text in lonely[0].texts)
    for wrong in ([], [trails[2]], ["theirs"]):
        with pytest.raises(InputError, match="trails must be AuditTrail objects"):
            plot_trails(wrong)
    with pytest.raises(InputError, match="axes must be two"):
        plot_trails(trails[:1], [Figure().add_subplot()])


def test_an_audit_in_a_picture(solution, tmp_path):
    problem = solution.problem
    audit = cm.audit(problem, 3.0 * solution.M, reference=solution, worst=3)
    ax = plot_scale(audit, problem)
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert_allclose(lines["as given"].get_xydata(), [[1.0, audit.objective]])
    assert_allclose(
        lines[f"best, times {audit.scale.best:.3g}"].get_xydata(), [[audit.scale.best, audit.scale.objective]]
    )
    assert_allclose(lines["certified bound"].get_ydata(), audit.lower_bound)
    bars = plot_worst(audit)
    assert [label.get_text().split("\n")[0] for label in bars.get_yticklabels()] == [part.name for part in audit.worst]
    assert_allclose([bar.get_width() for bar in bars.containers[0]], [part.loss for part in audit.worst])
    assert_allclose([bar.get_width() for bar in bars.containers[1]], [part.reference_loss for part in audit.worst])
    figure = plot_audit(audit, problem, reference=solution)
    spectra = [line.get_ydata() for line in figure.axes[1].get_lines()]
    assert_allclose(spectra[0], spectra[1], rtol=1e-2)
    save_picture(figure, tmp_path / "audit.png")
    assert audit.verdict in figure.get_supxlabel().replace("\n", " ")


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_an_audit_with_nothing_to_show(solution, scale, tmp_path):
    audit = cm.audit(solution.problem, scale * solution.M, reference=solution.lower_bound, worst=0)
    assert "nothing costs more" in plot_worst(audit).texts[0].get_text()
    save_picture(plot_audit(audit, solution.problem), tmp_path / "audit.png")


def test_an_audit_of_weights_that_violate_hard_margins(tmp_path):
    problem = cm.RelativeComparisonProblem([[0.0, 1.0], [1.0, 0.0], [3.0, 2.0]], [[0, 1, 2]], C=np.inf)
    for w in (np.zeros(2), 1e-3 * np.ones(2)):
        save_picture(plot_audit(cm.audit(problem, w), problem), tmp_path / "audit.png")


def test_long_names_that_begin_and_end_alike_keep_what_tells_them_apart():
    names = [f"the share of the {part} in the whole of the sample" for part in ("acid", "sugar")]
    assert shortened(names) == ["...acid...", "...sugar..."]
    assert shortened(["a", "b" * 30]) == ["a", "b" * 11 + "..." + "b" * 10]
    assert shortened(["a" * 30] * 2) == ["a" * 11 + "..." + "a" * 10] * 2


def test_bars_are_the_largest_shares_of_the_trace():
    M = np.diag([1.0, 6.0, 3.0]) + 0.1
    for metric in (M, np.diag(M)):
        ax = plot_weights(metric, ["a", "b", "c" * 40], most=2)
        assert_allclose([bar.get_width() for bar in ax.patches], np.array([6.1, 3.1]) / 10.3)
        assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "c" * 11 + "..." + "c" * 10]
    assert [bar.get_width() for bar in plot_weights(np.zeros(2), ["a", "b"]).patches] == [0.0, 0.0]
    assert plot_weights(np.ones(1)).get_yticklabels()[0].get_text() == "feature 0"
    with pytest.raises(InputError, match="names must name the 3 features"):
        plot_weights(M, ["a"])


def test_a_path_of_weights_shows_means_deviations_and_the_choice():
    accuracy = np.array([[0.5, 0.7], [0.9, 0.9], [0.8, 0.6]])
    tried = ("reg",), ((1.0,), (0.1,), (0.01,)), {"accuracy": accuracy}, 0.0 * accuracy, 1, 9, 9, 0.0
    path = Validation(*tried)
    ax = plot_validation(path)
    curve, line = ax.containers[0][0], ax.lines[-1]
    assert_allclose(curve.get_xydata(), np.column_stack([path.values, [0.6, 0.9, 0.7]]))
    assert line.get_xdata()[0] == 0.1
    assert ax.get_xlabel() == "reg"


def test_without_a_screen_pictures_are_saved(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["folder/script.py"])
    pyplot.switch_backend("Agg")
    pyplot.close("all")
    saved = []
    for _ in range(2):
        _figure, ax = pyplot.subplots()
        ax.plot([0, 1], [0, 1])
        saved += show_pictures()
    assert not pyplot.get_fignums()
    assert len(set(saved)) == 2
    printed = capsys.readouterr().out
    for path in saved:
        assert path.name.startswith("script-")
        assert pyplot.imread(path).std() > 0
        assert str(tmp_path / path) in printed


def test_with_a_screen_figures_are_shown(monkeypatch, tmp_path):
    shown = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(matplotlib, "get_backend", lambda: "QtAgg")
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(True))
    assert show_pictures() == []
    assert shown == [True]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("word", ["$$", r"$\frac{", r"a\$b$c$", "\x1b[31m"])
def test_names_are_drawn_as_they_are(word, tmp_path):
    X, y = np.random.default_rng(0).standard_normal((12, 2)), np.repeat([0, 1], 6)
    pictures = [
        plot_weights(np.ones(2), [word, "b"]),
        plot_embedding(X, y, None, target_names=[word, "b"]),
        plot_embedding(X, np.array([word, "b"])[y], None),
        plot_spectrum({word: np.eye(2)}),
    ]
    for ax in pictures:
        # A formula would be parsed here, and what has no glyph warned about.
        save_picture(ax.figure, tmp_path / "picture.svg")
        drawn = [text for text in ax.figure.findobj(matplotlib.text.Text) if word.strip("\x1b") in text.get_text()]
        drawn += [text for text in ax.figure.findobj(matplotlib.text.Text) if "\\$" in text.get_text()]
        assert drawn
        assert not any(matplotlib.cbook.is_math_text(text.get_text()) for text in drawn)


def nested(names=("scale", "strength"), begin=()):
    candidates = [(*begin, scale, strength) for scale in (0.3, 1.0) for strength in (10.0, 1.0)]
    tried = ((*begin, 1.0, 1e12), *candidates), {"accuracy": np.linspace(0.5, 0.9, 5)[:, None]}, np.zeros((5, 1))
    return Validation(names, *tried, 3, 9, 9, 0.0, unlearned="Euclidean distance")


@pytest.mark.parametrize("begin", [(), ("identity",)])
def test_candidates_of_several_parameters_have_a_line_each_and_euclidean_distance_a_horizontal_one(begin):
    path = nested(("prior",) * len(begin) + ("scale", "strength"), begin)
    ax = plot_validation(path)
    lines = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    curves = {container.get_label(): container[0].get_xydata() for container in ax.containers}
    level = lines["Euclidean distance"].get_ydata()
    assert_allclose(level, path.mean()[0])
    of = "identity, " * len(begin)
    assert sorted(curves) == [f"{of}scale = 0.3", f"{of}scale = 1"]
    assert_allclose(curves[f"{of}scale = 1"], [[10.0, 0.8], [1.0, 0.9]])
    # The axis ends near the strengths, and the legend names every line.
    assert ax.get_xlim()[1] < 100.0
    assert len(ax.get_legend().get_texts()) == 3
    assert ax.lines[-1].get_xydata().tolist() == [[10.0, path.mean()[3]]]
    assert ax.get_title() == f"Best: {of}scale = 1, strength = 10"


def test_a_prior_alone_has_a_horizontal_line():
    tried = (("one", 1.0), ("one", 0.1), ("one", 1e9)), {"accuracy": np.array([[0.5], [0.6], [0.7]])}, np.zeros((3, 1))
    ax = plot_validation(Validation(("prior", "strength"), *tried, 2, 9, 9, 0.0))
    levels = [line.get_ydata() for line in ax.lines if line.get_label() == "one, alone"]
    assert_allclose(levels, [[0.7, 0.7]])
    assert ax.get_xlim()[1] < 10.0


def test_euclidean_distance_that_is_chosen_is_named():
    path = nested()
    ax = plot_validation(replace(path, index=0))
    assert ax.get_title() == "Best: Euclidean distance"
    assert not any(line.get_color() == UPPER for line in ax.lines)


def test_an_estimator_draws_rows_before_and_after(data):
    X, y = data
    metric = cm.MLR(tol=1e-2, C=1.0).fit(X, y)
    before, after = metric.plot(X, y).axes
    for ax, points in ((before, X), (after, metric.transform(X))):
        plane = metric_plane(points)
        seen = np.concatenate([collection.get_offsets() for collection in ax.collections])
        assert_allclose(seen, np.concatenate([plane.points[y == k] for k in range(3)]))
    assert "After" in after.get_title()
