"""Pages with sliders: their numbers are those of the lesson and of the package, and Chromium draws them."""

import re
from urllib.parse import urlsplit

import in_browser
import numpy as np
import pytest
from browser import cutting_planes, duality
from browsing import PATIENCE, opening, serving
from legible import faults

import convexmetric as cm

PAGE = "in-browser"
METRIC = np.array([0.3, 0.2])


@pytest.fixture(params=("map", "auc", "mrr", "ndcg"))
def ranked(request):
    X, y = cutting_planes.wine()
    return cm.RankingProblem.from_labels(X, y, measure=request.param, C=25.0, diagonal=True)


def test_a_plane_is_that_of_the_written_program(ranked):
    batch = ranked.worst_rankings(METRIC)
    offset, normal = cutting_planes.plane(cutting_planes.wine()[0], 25.0, batch)
    given = ranked.to_cvxpy(rankings=[batch]).param_dict
    assert np.isclose(offset, 25.0 * given["Delta[0]"].value)
    assert np.allclose(normal, 25.0 * given["dpsi[0]"].value)
    assert np.isclose(METRIC.sum() + offset - normal @ METRIC, ranked.objective(METRIC))


def test_the_master_is_that_of_the_written_program():
    X, y = cutting_planes.wine()
    problem = cm.RankingProblem.from_labels(X, y, measure="map", C=25.0, diagonal=True)
    batches = [problem.worst_rankings(w) for w in (np.zeros(2), METRIC, 2.0 * METRIC[::-1])]
    bound, w = cutting_planes.master([cutting_planes.plane(X, 25.0, batch) for batch in batches])
    written = problem.to_cvxpy(rankings=batches)
    assert np.isclose(bound, written.solve(solver="CLARABEL"), rtol=1e-6)
    assert np.allclose(w, written.metric.value, atol=1e-5)


@pytest.mark.parametrize("multiplier", [0.0, 0.1, 7.0, -1.0])
def test_no_mistake_of_the_master_makes_its_bound_wrong(multiplier):
    b, Psi = np.array([2.0, 3.0]), np.array([[1.0, 4.0], [2.0, -1.0]])
    right, _ = cutting_planes.master(list(zip(b, Psi, strict=True)))
    assert right > 0.0
    for ratio in (-1.0, 0.5, 2.0):
        assert cutting_planes.bound(multiplier * np.array([1.0, ratio]), b, Psi) <= right + 1e-12


@pytest.mark.parametrize("stabilisation", [0.0, 0.5])
def test_the_bounds_of_algorithm_1_hold_the_optimum(ranked, stabilisation):
    solution = cm.solve(ranked, tol=1e-6)
    planes, record = cutting_planes.algorithm_1(ranked.measure.name, 25.0, stabilisation)
    for _, (w, upper), _, lower in record:
        assert lower <= solution.upper_bound * (1 + 1e-9)
        assert solution.lower_bound <= upper * (1 + 1e-9)
        assert np.isclose(upper, ranked.objective(w))
    assert upper - lower <= cutting_planes.TOL * upper
    assert len(planes) == len(record) < cutting_planes.PASSES


def test_both_sides_of_the_dual_hold_the_optimum():
    reg = 2.0
    problem, _ = duality.stated(reg)
    solution = cm.solve(problem, tol=1e-6)
    for momentum in (False, True):
        record = duality.climb(reg, 1.0, momentum)
        for lower, upper, u, R in record[::80]:
            certificate = cm.certify(problem, R, u)
            # The package also shrinks u, where a part of it proves more.
            assert lower <= certificate.lower_bound + 1e-12
            assert np.isclose(upper, certificate.upper_bound, rtol=1e-9)
            assert certificate.lower_bound <= solution.upper_bound
            assert solution.lower_bound <= upper
    # Without momentum, steps that are safe never lower the bound.
    bounds = np.array([row[0] for row in duality.climb(reg, 1.0, False)])
    assert (np.diff(bounds) >= -1e-12).all()


def test_for_little_c_the_best_metric_is_zero_with_every_measure():
    for measure in ("map", "auc", "mrr", "ndcg"):
        (best, _), _, lower = cutting_planes.algorithm_1(measure, 0.1, 0.0)[1][-1][1:]
        assert not best.any()
        assert lower > 0.0
    page = in_browser.HERE / f"{PAGE}.md"
    least = re.search(r'name="C" min="(\S+)"', page.read_text(encoding="utf-8"))[1]
    assert 10 ** float(least) == 0.1


def test_a_plane_is_written_with_its_signs():
    for measure, C, shown in (("map", 25.0, 4), ("map", 25.0, 6), ("ndcg", 100.0, 3)):
        planes = cutting_planes.algorithm_1(measure, C, 0.0)[0]
        text = cutting_planes.answer(measure, C, 0.0, shown)["text"]
        b, *signed = re.search(r">= (\S+) ([-+] \S+) w_1 ([-+] \S+) w_2$", text, re.MULTILINE).groups()
        offset, normal = planes[shown - 1]
        assert np.allclose([float(b), *(-float(one.replace(" ", "")) for one in signed)], [offset, *normal], atol=1e-4)


def test_values_below_the_picture_are_written_and_noise_is_named_where_there_is_some(monkeypatch):
    drawn = []
    monkeypatch.setattr("browser.lessons.png", drawn.append)
    for spoilt in (0.0, 2.0):
        text = duality.answer(0.1, 1.0, 60.0, "no", spoilt)["text"]
        assert ("with noise" in text) == ("not clipped" in text) == (spoilt > 0.0)
        (ax,) = drawn[-1].axes
        proven = float(re.search(r"^cm.certify +(\S+) <=", text, re.MULTILINE)[1])
        written = [float(one.get_text()) for one in ax.texts]
        assert np.allclose(written, [proven], rtol=0.01) if proven < ax.get_ylim()[0] else not written
        assert spoilt == 0.0 or written
        (each,) = (line for line in ax.lines if "each step" in line.get_label())
        assert np.array_equal(each.get_ydata(), [row[0] for row in duality.climb(0.1, 1.0, False, 60)])


def test_noise_spoils_a_bound_and_never_makes_it_wrong():
    problem, _ = duality.stated(2.0)
    optimum = cm.solve(problem, tol=1e-6).upper_bound
    proven = []
    for spoilt in (0.0, 0.5, 2.0):
        text = duality.answer(2.0, 1.0, 60.0, "yes", spoilt)["text"]
        proven.append(float(re.search(r"^cm.certify +(\S+) <=", text, re.MULTILINE)[1]))
    assert proven == sorted(proven, reverse=True)
    assert proven[0] <= optimum


@pytest.mark.parametrize(
    ("page", "given"),
    [
        (cutting_planes, ("map", 25.0, 0.0, 1.0)),
        (cutting_planes, ("map", 25.0, 0.0, 4.0)),
        (cutting_planes, ("map", 0.1, 0.0, 1.0)),
        (cutting_planes, ("ndcg", 1000.0, 0.5, 60.0)),
        (duality, (2.0, 1.0, 60.0, "no", 0.0)),
        (duality, (0.1, 1.0, 4.0, "no", 2.0)),
        (duality, (0.1, 1.0, 200.0, "yes", 2.0)),
    ],
)
def test_pictures_of_the_pages_can_be_read_on_a_telephone(monkeypatch, page, given):
    drawn = []
    monkeypatch.setattr("browser.lessons.png", drawn.append)
    page.answer(*given)
    assert [faults(figure) for figure in drawn] == [[]]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    yield from serving(tmp_path_factory.mktemp("site"), PAGE)


def form(call):
    """The selector of a lesson by the function that it calls."""
    return f'.lesson[data-call="{call}"]'


DUALITY, PLANES = form("duality.answer"), form("cutting_planes.answer")


def drawn(window, lesson):
    window.wait_for_selector(f"{lesson}:not([data-busy]) img:not([hidden])", timeout=1000 * PATIENCE)
    assert window.inner_text(f"{lesson} [role=status]").startswith("Computed in ")
    assert window.evaluate("selector => document.querySelector(selector).naturalWidth", f"{lesson} img") > 500
    return window.inner_text(f"{lesson} pre"), window.get_attribute(f"{lesson} img", "src")


def pull(window, lesson, **values):
    """Set sliders and lists, as a reader does, and wait for the picture."""
    for name, value in values.items():
        window.evaluate(
            """([selector, value]) => {
              const field = document.querySelector(selector);
              field.value = value;
              field.dispatchEvent(new Event("input", {bubbles: true}));
            }""",
            [f"{lesson} [name={name}]", str(value)],
        )
    return drawn(window, lesson)


def bounds_in(text):
    return [tuple(map(float, pair)) for pair in re.findall(r"(\S+) <= optimum <= (\S+)", text)]


@pytest.mark.integration
def test_duality_with_sliders(site):
    for window, asked in opening(f"{site}{PAGE}.html"):
        assert window.is_disabled(f"{DUALITY} [name=reg]")
        window.click(f"{DUALITY} button")
        text, first = drawn(window, DUALITY)
        here = duality.answer(2.0, 1.0, 60.0, "no", 0.0)["text"]
        assert np.allclose(bounds_in(text), bounds_in(here), atol=2e-6)
        text, second = pull(window, DUALITY, steps=200, momentum="yes", spoilt=1)
        (lower, upper), (spoilt, _) = bounds_in(text)
        assert spoilt < lower <= upper
        assert np.allclose(
            [(lower, upper)], bounds_in(duality.answer(2.0, 1.0, 200.0, "yes", 1.0)["text"])[:1], atol=2e-6
        )
        assert first != second
        assert {urlsplit(url).netloc for url in asked} == {urlsplit(site).netloc}


@pytest.mark.integration
def test_a_lesson_that_does_not_load_or_is_cancelled_can_be_started_again(site):
    for window, _ in opening(f"{site}{PAGE}.html"):
        window.context.route("**/pyodide.asm.wasm", lambda route: route.abort())
        window.focus(f"{DUALITY} button")
        window.keyboard.press("Enter")
        window.wait_for_selector(f"{DUALITY} [role=status]:text('are you offline?')", timeout=1000 * PATIENCE)
        assert window.evaluate("document.activeElement.textContent") == "Start (42 MB)"
        assert window.is_disabled(f"{DUALITY} [name=reg]")
        window.context.unroute("**/pyodide.asm.wasm")
        window.click(f"{DUALITY} button")
        window.wait_for_selector(f"{DUALITY} .clock:not(:empty)")
        assert "The first picture takes longest" in window.inner_text(f"{DUALITY} [role=status]")
        window.click(f"{DUALITY} button:text-is('Cancel')")
        window.wait_for_selector(f"{DUALITY} button:text-is('Start (42 MB)')")
        assert window.inner_text(f"{DUALITY} [role=status]") == "No picture: Cancelled"
        assert window.inner_text(f"{DUALITY} .clock") == ""
        window.click(f"{DUALITY} button")
        drawn(window, DUALITY)


@pytest.mark.integration
def test_cutting_planes_with_sliders(site):
    for window, asked in opening(f"{site}{PAGE}.html"):
        window.click(f"{PLANES} button")
        text, first = drawn(window, PLANES)
        C = float(window.inner_text(f"{PLANES} label:has([name=C]) output"))
        here = cutting_planes.answer("map", C, 0.0, 4.0)
        assert np.allclose(bounds_in(text), bounds_in(here["text"]), rtol=1e-5)
        assert int(window.get_attribute(f"{PLANES} [name=shown]", "max")) == here["last"]
        text, second = pull(window, PLANES, shown=60)
        ((lower, upper),) = bounds_in(text)
        assert upper - lower <= 2.0 * cutting_planes.TOL * upper
        assert first != second
        assert {urlsplit(url).netloc for url in asked} == {urlsplit(site).netloc}
