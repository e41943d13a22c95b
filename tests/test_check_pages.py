"""What the check of the site's pages takes for a fault; pages are looked at by ``make docs-check``."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).resolve().parents[1] / "docs" / "check_pages.py"
SPEC = importlib.util.spec_from_file_location("check_pages", PATH)
check_pages = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_pages)


@pytest.mark.parametrize("text", [r"so that \(M \succeq 0\)", r"$$\min_M$$", r"where \tfrac12 is", r"\begin{aligned}"])
def test_tex_that_was_not_set_is_seen(text):
    found = check_pages.raw_tex(f"a page {text} and so on")
    assert found in f"a page {text} and so on"
    assert found[0] in "\\$"


@pytest.mark.parametrize("text", ["costs $5 and C:/temp", "a back\\slash", "the minimum (M) is [0]", ""])
def test_prose_is_none(text):
    assert check_pages.raw_tex(text) is None


def test_contrast_is_that_of_wcag():
    assert check_pages.contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21.0)
    assert check_pages.contrast("rgb(255, 255, 255)", "rgb(0, 0, 0)") == pytest.approx(21.0)
    assert check_pages.contrast("rgb(119, 119, 119)", "rgb(255, 255, 255)") == pytest.approx(4.478, abs=1e-3)
    assert check_pages.contrast("rgb(7, 7, 7)", "rgb(7, 7, 7)") == pytest.approx(1.0)
