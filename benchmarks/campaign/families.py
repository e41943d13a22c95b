"""Cases of the campaign of solves by number: problems of the papers, and composed ones."""

from __future__ import annotations

import numpy as np

from campaign.composed import COMPOSED
from campaign.draws import KINDS, Case, RedrawError, draw
from campaign.papers import PAPERS

__all__ = ["FAMILIES", "drawn"]

FAMILIES = PAPERS | COMPOSED


def drawn(seed: int, number: int, most: int = 30) -> tuple[str, str, Case, list[str]]:
    """Family, kind, case and notes of a number; of so many points at most."""
    names = list(FAMILIES)
    name, kind = names[number % len(names)], KINDS[(number // len(names) + number) % len(KINDS)]
    for attempt in range(1000):
        of = draw(np.random.default_rng([seed, number, attempt]), kind, most)
        try:
            return name, kind, FAMILIES[name](of), of.notes
        except RedrawError:
            continue
    raise RuntimeError(f"nothing to draw for {name}, {kind}")
