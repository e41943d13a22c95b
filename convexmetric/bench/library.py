"""Instances: problems on real data whose optimal value is known between certified bounds.

Each is a TOML file in ``problems/`` that says which data set, what was done to its rows, which statement, and
which bounds were certified by which solver. The hashes in the file are checked when the problem is built, so that
the bounds are never compared with a problem on other data.
"""

from __future__ import annotations

import difflib
import hashlib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from convexmetric.arguments import not_one_of
from convexmetric.bench.blocks import MADE, compose, pairs_by_name
from convexmetric.certificates import relative_gap
from convexmetric.comparisons import triplets_from_labels
from convexmetric.comparisons.pairs import ListedPairs
from convexmetric.datasets import Dataset, load, preprocess, sha256
from convexmetric.datasets.bundled import BUNDLED
from convexmetric.errors import InputError
from convexmetric.features import Projection, make_projection
from convexmetric.papers import (
    CrossModalProblem,
    LargeMarginProblem,
    PairMarginProblem,
    RankingProblem,
    RelativeComparisonProblem,
    TripletProblem,
    balanced_pairs,
)
from convexmetric.problem import MetricProblem

Rows = tuple[Any, NDArray[Any]]
"""Points after preprocessing, and their labels."""

Keys = tuple[dict[str, type], dict[str, type]]
"""Keys that a table of a file must have, and keys that it may have, with their types."""


@dataclass(frozen=True)
class Instance:
    """A problem on real data, with certified bounds on its optimal value.

    Attributes
    ----------
    name : str
        What :func:`~convexmetric.load_problem` takes.
    title : str
        One line for a table.
    method : str
        ``"ranking"``, ``"relative-comparisons"``, ``"triplets"``, ``"pairs"``, ``"cross-modal"``, ``"large-margin"``
        or ``"blocks"``.
    data : mapping
        ``set``, ``preprocessing``, ``shape`` (rows and features after preprocessing) and ``sha256`` of the set as
        published; perhaps ``labels`` (the extra of the data set that replaces its classes), ``without`` (classes
        left out), ``parts`` (only rows with these values of the extra ``part``) and ``rows`` (after preprocessing, so
        many rows at equal distances).
    parameters : mapping
        Arguments of the statement, such as ``C`` or ``reg``. For pairs ``reg``, perhaps ``margin`` or ``margins`` (of
        similar and of dissimilar pairs), ``penalty`` and ``kernel`` (a name). For blocks tables by names of classes
        (``convexmetric/bench/blocks.py``).
    triplets : mapping or None
        For relative comparisons ``count``, ``seed``, perhaps ``also`` (see
        :func:`~convexmetric.comparisons.triplets_from_labels`), and ``sha256`` of the triplets as little-endian int64.
        For triplets ``count``, and ``n_same`` and ``n_other`` (0 for all) or ``graph = true`` (the links of the data
        set); where neighbours or links are listed also ``sha256`` of these pairs, sorted, as little-endian int64.
        For large margins ``count``, and ``sha256`` of the pairs of target neighbours, in the same form.
    pairs : mapping or None
        For pairs either ``count``, ``seed`` (see :func:`~convexmetric.papers.balanced_pairs`) and ``sha256`` of rows
        (i, j, +1 or -1) as little-endian int64, or ``all = true``, of which there is no list; with ``balanced = false``
        similar and dissimilar pairs come, or weigh, as they are.
    projection : mapping or None
        ``kind`` and ``r`` (see :func:`~convexmetric.features.make_projection`); of random ones also ``seed``, and
        ``sha256`` of the map in multiples of 2^-30, rounded, as little-endian int64.
    modalities : mapping or None
        For cross-modal problems ``other`` (the extra of the data set that is the second modality), its
        ``preprocessing``, ``rows`` (the extra that lists the rows taken, before preprocessing), ``queries`` (``"X"``
        or the name of the other), the ``count`` of triples, and ``sha256`` of the second modality, then the
        representatives, in multiples of 2^-20, rounded, as little-endian int64.
    arrays : mapping or None
        For blocks the arrays made of the data, and extras of the set, that the problem names: ``sha256`` of each,
        integers as little-endian int64, other numbers in multiples of 2^-20, rounded.
    lower_bound, upper_bound : float
        Certified: the optimal value lies between them.
    exact_lower, exact_upper : Fraction or None
        Bounds proven in exact arithmetic by :mod:`convexmetric.certificates.checker`; None where a block has no rule
        there.
    how : mapping
        How they were obtained: ``solver``, ``tol``, ``iterations``, ``version``.
    """

    name: str
    title: str
    method: str
    data: Mapping[str, Any]
    parameters: Mapping[str, Any]
    triplets: Mapping[str, Any] | None
    pairs: Mapping[str, Any] | None
    projection: Mapping[str, Any] | None
    modalities: Mapping[str, Any] | None
    arrays: Mapping[str, Any] | None
    lower_bound: float
    upper_bound: float
    how: Mapping[str, Any]
    exact_lower: Fraction | None = None
    exact_upper: Fraction | None = None

    @property
    def gap(self) -> float:
        """Relative gap of the bounds."""
        return relative_gap(self.upper_bound, self.lower_bound)

    @property
    def grade(self) -> Literal["rigorous", "float"]:
        """How the bounds are established: by a proof in exact arithmetic, or by evaluation in float64."""
        return "float" if self.exact_lower is None else "rigorous"

    @property
    def needs_data_folder(self) -> bool:
        """Whether the data set has to be read from the data folder."""
        return self.data["set"] not in BUNDLED

    def problem(self) -> MetricProblem:
        """Load the data, check their hashes, and state the problem.

        Raises
        ------
        DataNotFoundError
            If the data set is not there.
        InputError
            If the data, the triplets or the pairs differ from those that were certified, or the file asks for what the
            data set, a preprocessing step or the statement does not have; the message names the file.
        """
        try:
            return METHODS[self.method].build(self)
        except InputError as error:
            raise type(error)(f"{self.name}.toml: {error}") from error

    def rows(self) -> Rows:
        """Points after preprocessing, and the names of their classes.

        Raises
        ------
        DataNotFoundError
            If the data set is not there.
        InputError
            If the data differ from those that were certified.
        """
        return _rows(self.data)

    def __str__(self) -> str:
        bounds = f"{self.lower_bound!r} <= optimum <= {self.upper_bound!r}"
        return f"{self.name}: {self.title}\n  {bounds}, grade {self.grade}"


def list_problems() -> list[str]:
    """Names of all instances, sorted.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import convexmetric as cm
    >>> [name for name in cm.bench.list_problems() if name.startswith("relative-wine")]
    ['relative-wine-1000', 'relative-wine-1000-rbf', 'relative-wine-hard', 'relative-wine-hard-rbf']
    """
    return sorted(file.name.removesuffix(".toml") for file in _folder().iterdir() if file.name.endswith(".toml"))


def load_instance(name: str) -> Instance:
    """Read an instance by name; no data is loaded.

    Parameters
    ----------
    name : str
        One of :func:`~convexmetric.bench.list_problems`.

    Returns
    -------
    Instance

    Raises
    ------
    InputError
        If there is no instance of that name, or its file is malformed.
    """
    known = list_problems()
    if not isinstance(name, str) or name not in known:
        close = difflib.get_close_matches(str(name).lower(), known, n=3)
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"known: {', '.join(known)}"
        raise InputError(f"there is no problem named {name!r}; {hint}")
    file = _folder() / f"{name}.toml"
    return read_instance(file.read_text(encoding="utf-8"), file.name)


def load_problem(name: str) -> MetricProblem:
    """State a problem of the library on its data.

    Parameters
    ----------
    name : str
        One of :func:`~convexmetric.bench.list_problems`.

    Returns
    -------
    MetricProblem

    Raises
    ------
    InputError
        If there is no instance of that name, its file is malformed, or the data differ from those certified.
    DataNotFoundError
        If its data set is not there.

    Examples
    --------
    >>> import convexmetric as cm
    >>> problem = cm.load_problem("ranking-auc-wine-c1")
    >>> instance = cm.bench.load_instance("ranking-auc-wine-c1")
    >>> problem.value(problem.cone.identity()) >= instance.lower_bound
    True
    """
    return load_instance(name).problem()


def read_instance(text: str, file: str) -> Instance:
    """Read an instance from the text of its TOML file; every key is checked.

    Raises
    ------
    InputError
        If a key is missing, unknown or of the wrong type; the message names file and key.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file} is not valid TOML: {error}") from error
    method = METHODS.get(_text(document, "method", file))
    if method is None:
        raise InputError(f"{file}: method must be one of {', '.join(METHODS)}, got {document['method']!r}")
    kinds = (("triplets", method.triplets), ("pairs", method.pairs), ("modalities", method.modalities))
    formed = {key: keys for key, keys in kinds if keys}
    tables, optional = ["data", "parameters", "bounds"], ["projection"] if method.projection else []
    (optional if method.composed else tables).extend(formed)
    optional += ["arrays"] if method.composed else []
    required: dict[str, type] = {"name": str, "title": str, "method": str} | dict.fromkeys(tables, dict)
    _check(document, required, dict.fromkeys(optional, dict), file)
    if f"{document['name']}.toml" != file:
        raise InputError(f"{file}: name must be that of the file, got {document['name']!r}")
    _check(document["data"], DATA, DATA_OPTIONAL, f"{file} [data]")
    if not method.composed:
        _check(document["parameters"], method.parameters, method.optional, f"{file} [parameters]")
    for key, keys in formed.items():
        if key in document:
            _check(document[key], *keys, f"{file} [{key}]")
    _check(document.get("arrays", {}), {}, dict.fromkeys(document.get("arrays", {}), str), f"{file} [arrays]")
    if "projection" in document:
        _check(document["projection"], PROJECTION, PROJECTION_RANDOM, f"{file} [projection]")
    bounds = dict(document["bounds"])
    _check(bounds, BOUNDS, EXACT, f"{file} [bounds]")
    lower, upper = float(bounds.pop("lower")), float(bounds.pop("upper"))
    if not lower <= upper:
        raise InputError(f"{file} [bounds]: lower must be at most upper, got {lower!r} and {upper!r}")
    least, most = _exact(bounds, lower, upper, f"{file} [bounds]")
    read: Any = {key: document.get(key) for key in READ}
    return Instance(**read, lower_bound=lower, upper_bound=upper, how=bounds, exact_lower=least, exact_upper=most)


def _exact(
    bounds: dict[str, Any], lower: float, upper: float, where: str
) -> tuple[Fraction, Fraction] | tuple[None, None]:
    """Take the rational bounds out of the table: both or none, equal to the float bounds up to ``AGREEMENT``."""
    given = [bounds.pop(key) for key in EXACT if key in bounds]
    if not given:
        return None, None
    if len(given) == 1:
        raise InputError(f"{where}: exact_lower and exact_upper come together")
    try:
        exact_lower, exact_upper = (Fraction(text) for text in given)
    except (ValueError, ZeroDivisionError) as error:
        raise InputError(f"{where}: exact_lower and exact_upper must be rationals, 'p/q', got {given}") from error
    if exact_lower > exact_upper:
        raise InputError(f"{where}: exact_lower must be at most exact_upper")
    slack = AGREEMENT * max(abs(lower), abs(upper))
    near = np.isfinite(slack) and all(
        abs(exact - Fraction(bound)) <= slack for exact, bound in ((exact_lower, lower), (exact_upper, upper))
    )
    if not near:
        raise InputError(f"{where}: exact_lower and exact_upper are not the bounds lower and upper, but for rounding")
    return exact_lower, exact_upper


#: Keys that an instance keeps as they are in the file; bounds are read separately.
READ = ("name", "title", "method", "data", "parameters", "triplets", "pairs", "projection", "modalities", "arrays")
DATA: dict[str, type] = {"set": str, "preprocessing": list, "shape": list, "sha256": str}
DATA_OPTIONAL: dict[str, type] = {"labels": str, "without": list, "parts": list, "rows": int}
DRAWN: Keys = {"count": int, "seed": int, "sha256": str}, {"also": list}
FORMED: Keys = {"count": int}, {"n_same": int, "n_other": int, "graph": bool, "sha256": str}
MODALITIES: Keys = ({"other": str, "preprocessing": list, "rows": str, "queries": str, "count": int, "sha256": str}, {})
PAIRS: Keys = {}, {"count": int, "seed": int, "sha256": str, "all": bool, "balanced": bool}
PROJECTION: dict[str, type] = {"kind": str, "r": int}
PROJECTION_RANDOM: dict[str, type] = {"seed": int, "sha256": str}
BOUNDS: dict[str, type] = {
    "lower": float,
    "upper": float,
    "solver": str,
    "tol": float,
    "iterations": int,
    "version": str,
}
EXACT: dict[str, type] = {"exact_lower": str, "exact_upper": str}
#: Largest relative difference of the exact bounds from the float ones.
AGREEMENT = 1e-7


def _check(table: Mapping[str, Any], required: dict[str, type], optional: dict[str, type], where: str) -> None:
    known = required | optional
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            raise InputError(f"{where}: unknown key {key!r}" + (f"; did you mean {close[0]!r}?" if close else ""))
    for key in required:
        if key not in table:
            raise InputError(f"{where}: the key {key!r} is missing")
    for key, value in table.items():
        kinds = (int, float) if known[key] is float else known[key]
        if isinstance(value, bool) != (kinds is bool) or not isinstance(value, kinds):
            raise InputError(f"{where}: {key} must be a {known[key].__name__}, got {value!r}")


def _text(document: Mapping[str, Any], key: str, file: str) -> str:
    _check({key: document[key]} if key in document else {}, {key: str}, {}, file)
    return str(document[key])


def _folder() -> Traversable:
    """Find the folder of instances: inside an installed package, or beside the package in a checkout."""
    inside = files("convexmetric") / "problems"
    return inside if inside.is_dir() else Path(__file__).resolve().parents[2] / "problems"


def _dataset(data: Mapping[str, Any]) -> Dataset:
    dataset = load(data["set"])
    _same(sha256(dataset), data["sha256"], f"[data]: the data set {dataset.name!r} found here is")
    return dataset


def _same(found: str, expected: str, subject: str) -> None:
    """Compare a hash of data with the one for which the bounds were certified; refuse another one."""
    if found != expected:
        raise InputError(f"{subject} not what was certified: the sha256 is {found}, expected {expected}")


def _rows(data: Mapping[str, Any]) -> Rows:
    dataset = _dataset(data)
    X, labels = dataset.X, _labels(dataset, data.get("labels"))
    for name in data.get("without", []):
        if name not in labels:
            raise InputError(f"[data]: without names the class {name!r}, which no row has")
    if "without" in data:
        kept = np.flatnonzero(~np.isin(labels, data["without"]))
        X, labels = X[kept], labels[kept]
    if "parts" in data:
        part = dataset.extras.get("part")
        if part is None:
            raise InputError(f"[data]: the data set {dataset.name!r} has no parts")
        kept = np.flatnonzero(np.isin(part, data["parts"]))
        X, labels = X[kept], labels[kept]
    X = preprocess(X, data["preprocessing"])
    if "rows" in data:
        if not 0 < data["rows"] <= len(labels):
            raise InputError(f"[data]: rows must be between 1 and {len(labels)}, got {data['rows']}")
        kept = np.linspace(0, len(labels) - 1, data["rows"]).astype(np.int64)
        X, labels = X[kept], labels[kept]
    _check_shape(X, data)
    return X, labels


def _linked_rows(data: Mapping[str, Any]) -> tuple[Any, Any]:
    """Load points after preprocessing and the graph of links between them; labels are not needed."""
    dataset = _dataset(data)
    adjacency = dataset.extras.get("adjacency")
    if adjacency is None:
        raise InputError(f"[triplets]: the data set {dataset.name!r} has no graph")
    for key in DATA_OPTIONAL:
        if key in data:
            raise InputError(f"[data]: {key} does not go with graph = true, which is about all rows; leave it out")
    X = preprocess(dataset.X, data["preprocessing"])
    _check_shape(X, data)
    return X, adjacency


def _check_shape(X: Any, data: Mapping[str, Any]) -> None:
    if list(X.shape) != data["shape"]:
        raise InputError(f"[data]: shape is {data['shape']}, but preprocessing gave {list(X.shape)}")


def _labels(dataset: Dataset, extra: str | None) -> NDArray[Any]:
    """Name of the class of every row; the same name for all where the data set has no classes."""
    if extra is None and dataset.y is None:
        return np.full(dataset.X.shape[0], "all")
    if extra is None:
        codes, names = dataset.y, dataset.target_names
    else:
        codes, names = dataset.extras.get(extra), dataset.extras.get(f"{extra}_names", ())
    if codes is None or codes.ndim != 1 or not names:
        kind = "classes, one a row" if extra is None else f"labels {extra!r}"
        raise InputError(f"[data]: the data set {dataset.name!r} has no {kind}")
    return np.array(names)[codes]


def _ranking(instance: Instance) -> MetricProblem:
    X, labels = instance.rows()
    return RankingProblem.from_labels(X, labels, **instance.parameters)


def _relative_comparisons(instance: Instance) -> MetricProblem:
    X, labels = instance.rows()
    return RelativeComparisonProblem(X, _drawn_triplets(labels, instance.triplets or {}), **instance.parameters)


def _drawn_triplets(labels: NDArray[Any], wanted: Mapping[str, Any]) -> NDArray[Any]:
    triplets = triplets_from_labels(labels, wanted["count"], random_state=wanted["seed"], also=wanted.get("also", ()))
    _same(_sha256(triplets), wanted["sha256"], "[triplets]: the triplets drawn here are")
    return triplets


def _triplets(instance: Instance) -> MetricProblem:
    formed = instance.triplets or {}
    graph, numbers = formed.get("graph", False), [formed[key] for key in ("n_same", "n_other") if key in formed]
    if len(numbers) != (0 if graph else 2):
        raise InputError("[triplets]: either graph = true, or both n_same and n_other, 0 for all")
    X, about = _linked_rows(instance.data) if graph else instance.rows()
    options = {**instance.parameters, "projection": _projection(instance.projection, X)}
    if graph:
        problem = TripletProblem.from_graph(X, about, **options)
    else:
        n_same, n_other = (number or None for number in numbers)
        problem = TripletProblem.from_labels(X, about, n_same=n_same, n_other=n_other, **options)
    listed = [pairs.pairs for pairs in (problem.similar, problem.dissimilar) if isinstance(pairs, ListedPairs)]
    if listed:
        found = _sha256(np.concatenate([np.unique(pairs, axis=0) for pairs in listed]))
        _same(found, formed.get("sha256", "none"), "[triplets]: the pairs found here are")
    if problem.count != formed["count"]:
        raise InputError(f"[triplets]: count is {formed['count']}, but there are {problem.count}")
    return problem


def _large_margin(instance: Instance) -> MetricProblem:
    X, labels = instance.rows()
    wanted, problem = instance.triplets or {}, LargeMarginProblem(X, labels, **instance.parameters)
    _same(_sha256(np.unique(problem.targets, axis=0)), wanted["sha256"], "[triplets]: the target neighbours here are")
    if problem.count != wanted["count"]:
        raise InputError(f"[triplets]: count is {wanted['count']}, but there are {problem.count}")
    return problem


def _pairs(instance: Instance) -> MetricProblem:
    wanted, options = dict(instance.pairs or {}), dict(instance.parameters)
    everything, balanced = wanted.pop("all", False), wanted.pop("balanced", True)
    if set(wanted) != (set() if everything else {"count", "seed", "sha256"}):
        raise InputError("[pairs]: either all = true, or all of count, seed and sha256")
    if "margin" in options and "margins" in options:
        raise InputError("[parameters]: margin and margins exclude each other; leave one of them out")
    if "margins" in options:
        options["margin"] = options.pop("margins")
    X, labels = instance.rows()
    if everything:
        return PairMarginProblem.from_labels(X, labels, balanced=balanced, **options)
    return PairMarginProblem(X, *_drawn_pairs(labels, wanted, balanced), **options)


def _drawn_pairs(labels: NDArray[Any], wanted: Mapping[str, Any], balanced: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    for key, least in (("count", 1), ("seed", 0)):
        if wanted[key] < least:
            raise InputError(f"[pairs]: {key} must be at least {least}, got {wanted[key]}")
    pairs, r = balanced_pairs(labels, wanted["count"], random_state=wanted["seed"], balanced=balanced)
    _same(_sha256(np.column_stack([pairs, r])), wanted["sha256"], "[pairs]: the pairs drawn here are")
    return pairs, r


def _blocks(instance: Instance) -> MetricProblem:
    X, labels = instance.rows()
    data: dict[str, Any] = {"X": X, "y": labels, "identity": np.eye(X.shape[1])}
    if instance.triplets is not None:
        data["triplets"] = _drawn_triplets(labels, instance.triplets)
    if instance.pairs is not None:
        data |= pairs_by_name(*_drawn_pairs(labels, instance.pairs, instance.pairs.get("balanced", True)))
    return compose(instance.parameters, data | _arrays(instance, X, data))


def _arrays(instance: Instance, X: Any, drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Build the arrays of ``[arrays]``, from points and pairs, or from extras of a data set used with all rows."""
    found = {}
    for name, expected in (instance.arrays or {}).items():
        if name in MADE:
            if name not in ("covariance", "precision") and "pairs" not in drawn:
                raise InputError(f"[arrays]: {name} is made of pairs; there is no table [pairs]")
            array = MADE[name](X, drawn)
        else:
            array = _extra(instance.data, name)
        numbers = array if array.dtype.kind in "iub" else np.rint(2.0**20 * array)
        _same(_sha256(numbers), expected, f"[arrays]: {name} is")
        found[name] = array
    return found


def _extra(data: Mapping[str, Any], name: str) -> NDArray[Any]:
    extras = load(data["set"]).extras
    fewer = [key for key in ("without", "parts", "rows") if key in data]
    if not isinstance(extras.get(name), np.ndarray) or extras[name].dtype.kind not in "iubf":
        raise InputError(f"[arrays]: {not_one_of('a key', [*MADE, *extras], name)}")
    if fewer:
        raise InputError(f"[arrays]: {name} is about all rows; leave {fewer[0]} out")
    return np.asarray(extras[name])


def _cross_modal(instance: Instance) -> MetricProblem:
    said, data = instance.modalities or {}, instance.data
    for key in DATA_OPTIONAL:
        if key in data:
            raise InputError(f"[data]: {key} does not go with two modalities; leave it out")
    dataset = _dataset(data)
    other, rows = dataset.extras.get(said["other"]), dataset.extras.get(said["rows"])
    if other is None or rows is None:
        raise InputError(
            f"[modalities]: the data set {dataset.name!r} has no extras {said['other']} and {said['rows']}"
        )
    if said["queries"] not in ("X", said["other"]):
        raise InputError(f"[modalities]: queries must be 'X' or {said['other']!r}, got {said['queries']!r}")
    X = preprocess(dataset.X[rows], data["preprocessing"])
    _check_shape(X, data)
    Y, labels = preprocess(other[rows], said["preprocessing"]), _labels(dataset, None)[rows]
    first, second = (X, Y) if said["queries"] == "X" else (Y, X)
    problem = CrossModalProblem(first, second, labels, labels, **instance.parameters)
    numbers = np.concatenate([Y.ravel(), problem.representatives.items.ravel()])
    _same(_sha256(np.rint(2.0**20 * numbers)), said["sha256"], "[modalities]: what represents the objects here is")
    if problem.count != said["count"]:
        raise InputError(f"[modalities]: count is {said['count']}, but there are {problem.count}")
    return problem


def _projection(wanted: Mapping[str, Any] | None, X: Any) -> Projection | None:
    if wanted is None:
        return None
    made = make_projection(wanted["kind"], X, wanted["r"], random_state=wanted.get("seed"))
    if made.kind != "pca":
        if "seed" not in wanted:
            raise InputError(f"[projection]: the key 'seed' is missing, which {made.kind!r} needs")
        L = made.L if isinstance(made.L, np.ndarray) else made.L.toarray()
        _same(_sha256(np.rint(2.0**30 * L)), wanted.get("sha256", "none"), "[projection]: the map drawn here is")
    return made


def _sha256(numbers: NDArray[Any]) -> str:
    """Hash the numbers as little-endian int64, in C order."""
    return hashlib.sha256(numbers.astype("<i8").tobytes()).hexdigest()


@dataclass(frozen=True)
class Method:
    """Reader of the instances of one method: the builder, and the keys of the tables with their types."""

    build: Callable[[Instance], MetricProblem]
    parameters: dict[str, type]
    optional: dict[str, type]
    triplets: Keys | None = None
    pairs: Keys | None = None
    projection: bool = False
    modalities: Keys | None = None
    composed: bool = False


METHODS: dict[str, Method] = {
    "ranking": Method(
        _ranking, {"measure": str, "C": float}, {"k": int, "short": str, "penalty": str, "diagonal": bool, "prior": str}
    ),
    "relative-comparisons": Method(_relative_comparisons, {"C": float}, {"kernel": str, "A": list}, DRAWN),
    "triplets": Method(
        _triplets,
        {"reg": float},
        {"margin": float, "intra": float, "inter": float, "diagonal": bool, "penalty": str, "prior": str},
        FORMED,
        projection=True,
    ),
    "pairs": Method(
        _pairs, {"reg": float}, {"margin": float, "margins": list, "penalty": str, "kernel": str}, pairs=PAIRS
    ),
    "cross-modal": Method(
        _cross_modal,
        {"alpha": float, "beta": float, "n_clusters": int, "n_neighbors": int, "random_state": int},
        {},
        modalities=MODALITIES,
    ),
    "large-margin": Method(
        _large_margin, {"n_neighbors": int, "push": float}, {"diagonal": bool}, ({"count": int, "sha256": str}, {})
    ),
    "blocks": Method(_blocks, {}, {}, DRAWN, (DRAWN[0], {"balanced": bool}), composed=True),
}
"""A new paper adds one entry here."""
