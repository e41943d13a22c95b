"""The table and the learning curve of relative comparisons, on few triplets."""

import argparse

import numpy as np
import relative_comparisons_webkb as example
from rich.console import Console


def test_several_values_are_said_with_their_deviation():
    assert example.said(np.array([79.5])) == "79.50"
    assert example.said(np.array([79.0, 81.0])) == "80.00 ± 1.41"


def test_the_curve_is_fitted_printed_and_drawn(data_folder, tmp_path):
    arguments = argparse.Namespace(sizes=[200, 100], repeats=2, seed=0, test_triplets=1000, tol=1e-6)
    console = Console(width=150, record=True)
    curve = example.learning_curve(example.ROWS[2], arguments, console)
    assert curve.sizes == [100, 200]
    assert curve.learned.shape == (2, 2)
    assert all(fit.gap <= 1e-6 for fits in curve.fits for fit in fits)
    assert np.all((curve.learned > 50.0) & (curve.learned < 100.0))
    example.print_curve(console, example.ROWS[2], curve)
    assert f"{curve.learned[:, 0].mean():.2f} ±" in console.export_text()
    example.draw_curve(example.ROWS[2], curve, tmp_path / "curve.png")
    assert 0 < (tmp_path / "curve.png").stat().st_size < 200_000
