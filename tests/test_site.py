"""Formulas of the site, and the check of its pages, which finds what is wrong with a bad one."""

import doctest
import importlib
import inspect
import re
import textwrap

import check_pages
import pytest
from check_pages import contrast, ground_colour, luminance, over, raw_tex

import convexmetric as cm

pytestmark = pytest.mark.integration

GOOD = "<p>Plain text, <code>$\\lambda$</code>.</p>"
BAD = {
    "raw TeX": "<p>a cone \\(M \\succeq 0\\)</p>",
    "pixels wide": "<main><div style='width: 1400px'>wide</div></main>",
    "cut off": "<main style='overflow: hidden; width: 300px'><table style='width: 400px'><tr><td>x</table></main>",
    "cut off: listing": "<main><pre style='overflow: auto; width: 9ch'>listing of code</main>",
    "contrast": "<p style='color: #777; background: #666'>grey</p>",
    "asks for http://example.com/a.css": "<link rel=stylesheet href='http://example.com/a.css'>",
    "not there": "<img src=missing.png>",
    "broken script": "<script>throw Error('broken script')</script>",
}


@pytest.mark.parametrize(
    "text",
    [r"\(x\)", r"\[x\]", "$$x$$", r"$\alpha$", "$x^2$", r"M \succeq 0", r"\tfrac12", r"\begin{aligned}", "$w_i$"],
)
def test_raw_tex_is_found(text):
    assert raw_tex(f"Some {text} here")


@pytest.mark.parametrize("text", ["from $5 to $6", r"C:\n", "M^2 and x_i", "$HOME", "a | b", "(x), [y]"])
def test_prose_is_no_tex(text):
    assert not raw_tex(text)


def test_contrast_of_known_pairs():
    black, white = [0.0] * 3, [255.0] * 3
    assert luminance(white) == pytest.approx(1.0)
    assert contrast(black, white) == contrast(white, black) == pytest.approx(21.0)
    assert contrast(white, white) == 1.0
    # The lightest grey that WCAG allows on white, and the next one.
    assert contrast([118.0] * 3, white) >= 4.5 > contrast([119.0] * 3, white)


def test_grounds_lie_on_each_other():
    clear, half, green = [0, 0, 0, 0], [255, 0, 0, 127.5], [0, 255, 0, 255]
    assert ground_colour([clear, green, half, half]) == [0, 255, 0]
    assert ground_colour([clear, half, green]) == over(half, green) == [127.5, 127.5, 0]


def test_formulas_become_mathml():
    pytest.importorskip("math_core")
    pytest.importorskip("sphinx")
    mathml = importlib.import_module("mathml")
    assert "<mfrac" in mathml.mathml(r"\tfrac12 \|w\|")
    lines = mathml.mathml("a &= b \\\\\nc &= d\n\ne &= f", display=True)
    assert lines.count("<mtr>") == 3
    assert 'display="block"' in lines
    with pytest.raises(importlib.import_module("math_core").LatexError):
        mathml.mathml(r"\succeqq M")


def test_pages_of_estimators_have_the_attributes_of_their_bases():
    conf = importlib.import_module("conf")
    for name in ("MLR", "LargeMargin", "RandomProjectionMetric", "OperatorMarginMetric", "CrossModalMetric"):
        kind = getattr(cm, name)
        lines = inspect.cleandoc(kind.__doc__).splitlines()
        conf.inherit_attributes(None, "class", name, kind, None, lines)
        entries = "\n".join(lines).partition("Attributes\n----------\n")[2].splitlines()
        described = [entry.partition(" : ")[0] for entry in entries if re.match(r"\w+_(, \w+_)* : ", entry)]
        assert {"components_", "certificate_", "gap_", "solution_", "n_features_in_"} <= set(described)
        assert len(described) == len(set(described))


def test_links_to_examples_are_addresses_on_the_repository():
    pytest.importorskip("sphinx")
    conf = importlib.import_module("conf")
    content = ["[a](../examples/a/RESULTS.md#b), [c](../../examples/c.py), [page](papers/ranking.md), `](examples/`"]
    conf.link_out(None, "page", content)
    own = ["[1](../examples/plot_01_one.py) [2](../../examples/exercises/exercise_02_two.py)"]
    conf.link_out(None, "page", own)
    assert own == ["[1](/gallery/plot_01_one.rst) [2](#exercise-2)"]
    shown = ["[Picture 2 of lesson 5: It](../../examples/plot_05_duality.py)\n\n<!--\n```{toctree}\na\n```\n-->"]
    conf.link_out(None, "page", shown)
    assert shown == [":::{picture} plot_05_duality 2\nIt\n:::\n\n```{toctree}\na\n```"]
    there = f"{conf.SOURCE}/blob/main"
    assert content[0].startswith(f"[a]({there}/examples/a/RESULTS.md#b), [c]({there}/examples/c.py)")
    assert content[0].endswith("[page](papers/ranking.md), `](examples/`")


def test_names_that_the_reference_has_lead_there_but_not_in_listings():
    pytest.importorskip("sphinx")
    conf = importlib.import_module("conf")
    listing = "\n```py\nsaid = '`cm.solve`'\n```\n"
    linked = "{py:obj}`cm.solve <convexmetric.solve>` and `cm.nothing`"
    assert conf.link_names(f"`cm.solve` and `cm.nothing`{listing}") == linked + listing


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("playwright")
    pytest.importorskip("PIL")
    if check_pages.browser_path() is None:
        pytest.skip("no Chromium")
    return tmp_path_factory.mktemp("site")


def written(site, body, name="page.html"):
    page = site / name
    head = "<!doctype html><meta charset=utf-8><meta name=color-scheme content='light dark'>"
    page.write_text(head + textwrap.dedent(body), encoding="utf-8")
    return page


def test_a_good_page_passes(site):
    assert list(check_pages.check([written(site, GOOD)])) == []


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_page_does_not(site, kind):
    found = list(check_pages.check([written(site, GOOD + BAD[kind])]))
    assert found
    assert all(re.search(r"\((light|dark)", line) for line in found)
    assert any(kind in line for line in found)


def test_a_picture_without_a_ground_is_found_in_the_dark(site):
    image = pytest.importorskip("PIL.Image")
    image.new("RGBA", (40, 40), (0, 0, 0, 0)).save(site / "clear.png")
    image.new("RGB", (40, 40)).save(site / "opaque.png")
    body = "<style>@media (prefers-color-scheme: dark) { body { background: #111 } }</style><main><img src=%s></main>"
    (found,) = {line.split(": ", 1)[1] for line in check_pages.check([written(site, body % "clear.png")])}
    assert "dark ground" in found
    assert not list(check_pages.check([written(site, body % "opaque.png")]))


@pytest.mark.parametrize("module", ["check_pages", "man_page", "mathml"])
def test_examples_of_its_docstrings(module):
    if module == "mathml":
        pytest.importorskip("math_core")
        pytest.importorskip("sphinx")
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0
