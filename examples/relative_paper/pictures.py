"""The paper's pictures: the learning curve, and pages in the plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import KernelPCA

from convexmetric.plotting import COLOURS, panels, plot_embedding, save_picture

from .protocol import NOTIONS, full_weights, split_pages

__all__ = ["distances", "draw_curve", "draw_maps"]


#: The paper's three maps, and those of universities: a file, and of its panels the title, the notion, and whether the
#: distance is the learned one.
MAPS = {
    "topics.png": (("a) binary", "topic", False), ("b) Topic", "topic", True), ("c) Topic+FS", "topic+", True)),
    "universities.png": (("binary", "university-7", False), ("University", "university-7", True)),
}


def draw_curve(found: Mapping[int, Sequence[Mapping[str, Any]]], title: str, paper: float, path: Path) -> None:
    """Figure 2: the mean over the splits, and their range, next to the number in the paper's table."""
    sizes = list(found)
    learned = [np.array([result["learned"] for result in results]) for results in found.values()]
    figure, (ax,) = panels()
    low, high = [shares.min() for shares in learned], [shares.max() for shares in learned]
    ax.fill_between(sizes, low, high, color=COLOURS[0], alpha=0.2, lw=0)
    means = [shares.mean() for shares in learned]
    ax.plot(sizes, means, color=COLOURS[0], marker="o", ms=4, label="learned, certified")
    for key, name, colour, line in (("binary", "binary", COLOURS[1], "--"), ("tfidf", "TF-IDF", COLOURS[2], "-.")):
        mean = np.mean([result[key] for result in found[sizes[-1]]])
        ax.axhline(mean, color=colour, ls=line, lw=1.5, label=name)
    ax.axhline(paper, color=COLOURS[5], ls=":", lw=1.5, label="learned, in the paper's table")
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{size / 1000:g}" for size in sizes], fontsize="small")
    ax.minorticks_off()
    ax.set_xlabel("training triplets (thousands)")
    ax.set_ylabel("test triplets satisfied (%)")
    splits = max(len(shares) for shares in learned)
    ax.set_title(f"{title}:\nmean and range of {splits} splits", fontsize="medium")
    ax.legend(frameon=False, fontsize="small", loc="center right")
    save_picture(figure, path)


def distances(X: Any, w: np.ndarray) -> np.ndarray:
    """All distances ``sqrt(sum_f w_f (x_f - x'_f)^2)`` of sparse points."""
    gram = (X.multiply(w).tocsr() @ X.T).toarray()
    squares = np.diag(gram)[:, None] + np.diag(gram) - 2.0 * gram
    squares = np.maximum(0.5 * (squares + squares.T), 0.0)
    np.fill_diagonal(squares, 0.0)
    return np.sqrt(squares)


def draw_maps(learned: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
    """Draw the maps for which there are results, of the first split, by notion; on words of ten pages or more."""
    for name, shown in MAPS.items():
        if all(notion in learned for _, notion, _ in shown):
            _draw_map(
                [(title, notion, learned[notion] if fitted else None) for title, notion, fitted in shown], folder / name
            )


def _draw_map(maps: Sequence[tuple[str, str, Mapping[str, Any] | None]], path: Path) -> None:
    """Test pages by classical scaling: title, notion, and the result that holds the weights; without it binary."""
    figure, axes = panels(len(maps), height=4.0)
    for ax, (title, notion, result) in zip(axes, maps, strict=True):
        part = split_pages(NOTIONS[notion], "page", 10, 0, 1, 1)
        features = part.test.shape[1]
        w = np.ones(features) if result is None else full_weights(result, features)
        # Classical multidimensional scaling.
        scaling = KernelPCA(2, kernel="precomputed", eigen_solver="dense")
        squares = distances(part.test, w) ** 2
        plot_embedding(scaling.fit_transform(-0.5 * squares), part.test_labels, None, ax=ax)
        # The scatter around the mean is half the mean squared distance, a point.
        shares = scaling.eigenvalues_ / (0.5 * squares.mean() * len(squares))
        ax.set_xlabel(f"1st axis ({shares[0]:.0%} of the scatter)")
        ax.set_ylabel(f"2nd axis ({shares[1]:.0%} of the scatter)")
        ax.set_title(title, fontsize="medium")
        for collection in ax.collections:
            collection.set_sizes([9.0])
            collection.set_linewidth(0.0)
    save_picture(figure, path)
