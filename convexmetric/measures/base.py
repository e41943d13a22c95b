r"""The contract of a ranking measure, and brute force over all rankings.

All that matters of a ranking of p relevant and n irrelevant items is the number :math:`b_i` of irrelevant items above
relevant item i (relevant items from top to bottom, so that :math:`b_1 \le \dots \le b_p`). Every measure here is a sum
of gains that each depend on one of these numbers,

.. math:: \mathrm{score}(y) = \sum_{i=1}^{p} g(i, b_i), \qquad \Delta(y) = 1 - \mathrm{score}(y),

and the feature of the ranking changes by 2/(p n) for every inverted pair (paper 1, equation 3). With items sorted by
distance, x of the relevant and z of the irrelevant ones, the most violated ranking maximises

.. math:: \Delta(y) - \langle W, \delta\psi(q, y) \rangle
   = 1 - \sum_i \Bigl[ g(i, b_i) + \frac{2}{p n} \sum_{j \le b_i} (z_j - x_i) \Bigr].

:mod:`convexmetric.measures.reference` solves this for any gains in O(p n), and is used for user-defined measures;
each measure's file here has a faster way.

A loss needs a perfect ranking of score 1. A measure of the first k places has none if a query has p < k relevant items,
because at most p of the k places are then relevant. The paper prints Score(y*) - Score(y) = 1 - Score(y); for such a
query only the left side is 0 at the perfect ranking. For queries with p < k learning has two options:

- ``short="cut"`` departs from the paper: k <- min(k, p), and the loss is again 1 - Score(y);
- ``short="printed"`` keeps k, and the loss is Score(y*) - Score(y), at most Score(y*) < 1. Its gains are those of the
  paper, with 1 - Score(y*) added to the first, whatever the ranking.

Scores of retrieval (``plain_gains``) do not cut k, and add nothing.

A measure is registered by one line above its class, ``@register()``: it can then be asked for by name, and the
dynamic program for any gains finds its most violated rankings, or its own oracle with ``@register(compiled=...)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from itertools import permutations
from typing import Any, ClassVar, TypeVar

import numpy as np

from convexmetric.arguments import check_count, check_one_of, not_one_of
from convexmetric.arrays import Array
from convexmetric.described import Described
from convexmetric.errors import InputError

#: What learning does with queries of fewer than k relevant items.
SHORT = ("cut", "printed")


class Measure(ABC):
    """Score of rankings in [0, 1], 1 for the perfect one."""

    #: Name by which a user asks for the measure, and which is used in prose.
    name: ClassVar[str]
    #: Name in tables; empty if it is ``name``. It differs where tables elsewhere use ``name`` for another measure.
    shown: ClassVar[str] = ""
    title: ClassVar[str]
    #: Whether ``Delta`` is the mean of inverted pairs, ``g(i, b) = (n - b) / (p n)``, so that the risk is a hinge for
    #: each pair. A subclass that overrides :meth:`gains` does not inherit it.
    pairwise: ClassVar[bool] = False
    #: Number of places that count; 0 if all of them do.
    k: int = 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "gains" in vars(cls) and "pairwise" not in vars(cls):
            cls.pairwise = False
        if "gains" in vars(cls) and "plain_gains" not in vars(cls):
            cls.plain_gains = Measure.plain_gains  # type: ignore[method-assign]

    @abstractmethod
    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """``g(i, b)``: contribution to the score of relevant item i (1 is the highest) with b irrelevant ones above it.

        All arguments may be arrays: p and n are the numbers of items of the query that i belongs to. Gains are in
        [0, 1], and those of the perfect ranking, ``b = 0``, add up to 1.
        """

    def plain_gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> Array:
        """Gain of relevant item i for scores of a retrieval, by the plain definition of the measure.

        Equal to :meth:`gains` unless the measure has k places and the query fewer than k relevant items:
        the perfect ranking may then score less than 1. A subclass that overrides only :meth:`gains` uses those.
        """
        return self.gains(i, b, p, n)

    def score(self, relevant: np.ndarray) -> float:
        """Score of a ranking, 1 - Delta, given from top to bottom as booleans (is the item relevant?)."""
        relevant = np.asarray(relevant, dtype=bool)
        above = np.cumsum(~relevant)[relevant]
        p = above.size
        return float(self.gains(np.arange(1, p + 1), above, p, relevant.size - p).sum())

    def contents(self) -> tuple[Any, ...]:
        """Contents for fingerprints: name, k, and all other attributes of a user-defined measure."""
        return self.name, self.k, *sorted(vars(self).items())

    def _described(self) -> Described:
        """Name of the measure; classes that certificates support use this as ``described``."""
        return Described({"measure": self.name})

    @property
    def label(self) -> str:
        """Label for tables, such as ``precision@10``."""
        name = self.shown or self.name
        return f"{name}@{self.k}" if self.k else name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.k or ''})"


class MeasureAtK(Measure):
    """A measure of the first k places.

    Parameters
    ----------
    k : int
        Number of places.
    short : str
        Rule of learning for a query that has p < k relevant items: ``"cut"`` takes the first p places and the loss
        1 - Score(y); ``"printed"`` the first k places and the paper's Score(y*) - Score(y), y* the perfect ranking.

    Raises
    ------
    InputError
        If k is not a positive integer, or short is neither.
    """

    short: str = "cut"

    def __init__(self, k: int = 10, short: str = "cut") -> None:
        check_count(k, "k")
        check_one_of(short, SHORT, "short")
        self.k = int(k)
        self.short = short

    def _head(self, p: Any) -> Any:
        """Number of places that count in learning, for queries with p relevant items."""
        return np.minimum(self.k, p) if self.short == "cut" else np.full_like(p, self.k)

    @staticmethod
    def _completed(gains: Array, i: np.ndarray, perfect: Any) -> Array:
        """Completed gains, which sum to 1 at the perfect ranking, from gains whose sum is ``perfect`` there."""
        return np.asarray(gains + np.where(i == 1, 1.0 - perfect, 0.0))

    def _described(self) -> Described:
        """Name and k, and ``short`` where it is not the default."""
        table: dict[str, Any] = {"measure": self.name, "k": self.k}
        return Described(table if self.short == "cut" else table | {"short": self.short})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.k}{'' if self.short == 'cut' else f', short={self.short!r}'})"


@lru_cache(maxsize=64)
def rankings_of(p: int, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """All rankings of p relevant and n irrelevant items that differ in an inverted pair.

    Returns pairs ``(Y, relevant)``: the ``(p, n)`` booleans of inverted pairs, and the ranking from top to
    bottom as booleans. Brute force, ``(p + n)!`` steps: for statements and tests of a few items.
    """
    seen: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
    for order in permutations(range(p + n)):
        position = np.argsort(order)
        inverted = position[None, p:] < position[:p, None]
        key = inverted.tobytes()
        if key not in seen:
            seen[key] = inverted, np.asarray(order) < p
    return list(seen.values())


Kind = TypeVar("Kind", bound=type[Measure])

#: Ranking measures by the name a user types.
MEASURES: dict[str, type[Measure]] = {}
#: Compiled oracles by exact class: a subclass may have other gains.
COMPILED: dict[type[Measure], Callable[..., None]] = {}


def register(compiled: Callable[..., None] | None = None) -> Callable[[Kind], Kind]:
    """Decorator: let users ask for a measure by its ``name``.

    Parameters
    ----------
    compiled : callable, optional
        Oracle over the rows of a block, such as ``every_mrr`` of ``convexmetric/measures/mrr.py``. Default: the dynamic
        program for any gains.

    Raises
    ------
    InputError
        If another measure has that name, or what is registered is no measure with a name.

    Examples
    --------
    >>> import numpy as np
    >>> import convexmetric as cm
    >>> from convexmetric.measures import Measure, register
    >>> @register()
    ... class FirstOnly(Measure):
    ...     name, title = "first", "whether the first item is relevant"
    ...
    ...     def gains(self, i, b, p, n):
    ...         return np.where((i == 1) & (b == 0), 1.0, 0.0)
    >>> iris = cm.datasets.load("iris")
    >>> cm.RankingProblem.from_labels(iris.X, iris.y, measure="first").measure.title
    'whether the first item is relevant'
    """

    def listed(measure: Kind) -> Kind:
        name = getattr(measure, "name", None)
        if not (isinstance(measure, type) and issubclass(measure, Measure) and isinstance(name, str)):
            raise InputError(f"register is for a Measure with a name, got {measure!r}")
        before = MEASURES.get(name, measure)
        # A notebook cell that is run again defines the same class again.
        if (before.__module__, before.__qualname__) != (measure.__module__, measure.__qualname__):
            raise InputError(f"there is a measure {name!r} already, {before.__name__}: give this one another name")
        MEASURES[name] = measure
        if compiled is not None:
            COMPILED[measure] = compiled
        return measure

    return listed


def measure_named(name: str, k: int | None = None, *, short: str = "cut") -> Measure:
    """Return a measure by its name, or its name in tables; for those with k, ``k=None`` is 10 and ``short`` matters.

    Raises
    ------
    InputError
        If there is no such measure, k is no positive integer, the measure has no k, or there is no such ``short``.
    """
    measure = next((one for known, one in MEASURES.items() if name in (known, one.shown or known)), None)
    if not isinstance(name, str) or measure is None:
        raise InputError(not_one_of("measure", sorted(MEASURES), name))
    if issubclass(measure, MeasureAtK):
        return measure(10 if k is None else k, short)
    for option in [option for option, given in (("k", k is not None), ("short", short != "cut")) if given]:
        at_k = ", ".join(repr(other.name) for other in MEASURES.values() if issubclass(other, MeasureAtK))
        raise InputError(f"measure {name!r} looks at the whole list: leave {option} out (it is for {at_k})")
    return measure()
