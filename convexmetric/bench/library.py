"""Instances: problems on real data whose optimal value is known between certified bounds.

Each is a TOML file in ``problems/`` that names the data set, the preprocessing of its rows, the statement, and the
certified bounds with their solver. The hashes in the file are checked when the problem is built, so that the bounds are
never compared with a problem on other data.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from convexmetric.bench.blocks import check_keys, compose
from convexmetric.bench.named_data import check_found, chosen_rows, named_data
from convexmetric.certificates.certificate import Bounds
from convexmetric.certificates.programs import outward
from convexmetric.datasets.bundled import BUNDLED
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem


@dataclass(frozen=True)
class Instance(Bounds):
    """A problem on real data, with certified bounds on its optimal value.

    Attributes
    ----------
    name : str
        Name that :func:`~convexmetric.load_problem` takes.
    title : str
        One line for a table.
    data : mapping
        ``set``, ``preprocessing``, ``shape`` (rows and features after preprocessing) and ``sha256`` of the set as
        published; perhaps ``labels`` (the extra of the data set that replaces its classes), ``without`` (classes
        left out), ``parts`` (only rows with these values of the extra ``part``) and ``rows`` (after preprocessing, so
        many rows at equal distances).
    parameters : mapping
        Arguments of :class:`~convexmetric.MetricProblem`, or ``class``, a problem of a paper or one of its other
        constructors, and its arguments; blocks are tables by names of classes (``convexmetric/bench/blocks.py``).
    tables : mapping
        Data that the arguments name, with hashes (``convexmetric/bench/named_data.py``), if the file has them:
        ``triplets``, ``pairs`` and ``projection``, which are drawn; ``extras`` of the data set, with their
        preprocessing; ``arrays``, made of the data; ``found``, results that the problem computes from the data.
    lower_bound, upper_bound : float
        Certified: the optimal value lies between them.
    exact_lower, exact_upper : Fraction or None
        Bounds proven in exact arithmetic by :mod:`convexmetric.certificates.checker`; None if a block has no rule
        there.
    how : mapping
        How they were obtained: ``solver``, ``tol``, ``iterations``, ``version``; for open instances also
        ``processor_seconds``, after which a solve was stopped or had ended by itself, and ``why`` it is hard.
    """

    name: str
    title: str
    data: Mapping[str, Any]
    parameters: Mapping[str, Any]
    tables: Mapping[str, Mapping[str, Any]]
    lower_bound: float
    upper_bound: float
    how: Mapping[str, Any]
    exact_lower: Fraction | None = None
    exact_upper: Fraction | None = None

    @property
    def open(self) -> bool:
        """Whether the optimal value is not known to 1e-3, relative: today's solvers do not close the gap."""
        return self.gap > OPEN_GAP

    @property
    def grade(self) -> Literal["rigorous", "float"]:
        """How the bounds are established: by a proof in exact arithmetic, or by evaluation in float64."""
        return "float" if self.exact_lower is None else "rigorous"

    @property
    def proven(self) -> tuple[float, float]:
        """The bounds to which ``grade`` applies: the rational ones rounded outward, or else those of float64."""
        if self.exact_lower is None or self.exact_upper is None:
            return self.lower_bound, self.upper_bound
        return outward(self.exact_lower, -1), outward(self.exact_upper, 1)

    @property
    def statement(self) -> str:
        """Class of the problem, or its other constructor, by name."""
        return str(self.parameters.get("class", MetricProblem.__name__))

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
            If the data, the triplets or the pairs differ from those that were certified, or the file refers to
            something that the data set, a preprocessing step or the statement lacks; the message names the file.
        """
        try:
            named = named_data(self.data, self.tables)
            problem = compose(self.parameters, named)
            check_found(problem, self.tables, named)
        except InputError as error:
            raise type(error)(f"{self.name}.toml: {error}") from error
        return problem

    def rows(self) -> tuple[Any, NDArray[Any]]:
        """Points after preprocessing, and the names of their classes.

        Raises
        ------
        DataNotFoundError
            If the data set is not there.
        InputError
            If the data differ from those that were certified.
        """
        rows = chosen_rows(self.data)
        return rows.X, rows.labels

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
    return sorted(file.name.removesuffix(".toml") for file in library_folder().iterdir() if file.name.endswith(".toml"))


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
        hint = (
            f"did you mean {' or '.join(map(repr, close))}?"
            if close
            else "'convexmetric list' and cm.bench.list_problems() name all"
        )
        raise InputError(f"there is no problem named {name!r}; {hint}")
    file = library_folder() / f"{name}.toml"
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
    if len(text) > MAX_LETTERS:
        raise InputError(f"{file} has more than {MAX_LETTERS} letters and was not read")
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # Also where it is too deep, or has an integer of thousands of digits.
        raise InputError(f"{file} is not valid TOML: {error}") from error
    try:
        return _instance(document, file)
    except (OverflowError, RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{file} has a number that is too large, or is too deep: {error}") from error


def _instance(document: dict[str, Any], file: str) -> Instance:
    """Check the tables of an instance and what they hold."""
    _check(document, WHOLE, dict.fromkeys(TABLES, dict), file)
    if f"{document['name']}.toml" != file:
        raise InputError(f"{file}: name must be that of the file, got {document['name']!r}")
    for key, (required, optional) in {"data": DATA, "bounds": BOUNDS, **TABLES}.items():
        if key in document:
            # A table whose keys are names: all of one type.
            known = dict.fromkeys(document[key], optional) if isinstance(optional, type) else optional
            _check(document[key], required, known, f"{file} [{key}]")
    bounds = dict(document["bounds"])
    lower, upper = float(bounds.pop("lower")), float(bounds.pop("upper"))
    if not lower <= upper:
        raise InputError(f"{file} [bounds]: lower must be at most upper, got {lower!r} and {upper!r}")
    least, most = _exact(bounds, lower, upper, f"{file} [bounds]")
    return Instance(
        name=document["name"],
        title=document["title"],
        data=document["data"],
        parameters=document["parameters"],
        tables={key: document[key] for key in TABLES if key in document},
        lower_bound=lower,
        upper_bound=upper,
        how=bounds,
        exact_lower=least,
        exact_upper=most,
    )


def _exact(
    bounds: dict[str, Any], lower: float, upper: float, where: str
) -> tuple[Fraction, Fraction] | tuple[None, None]:
    """Take the rational bounds out of the table: both or none, equal to the float bounds up to ``AGREEMENT``."""
    given = [bounds.pop(key) for key in EXACT if key in bounds]
    if not given:
        return None, None
    if len(given) == 1:
        raise InputError(f"{where}: exact_lower and exact_upper come together")
    # No exponents: a few letters would make a number of any length.
    if not all(RATIONAL.fullmatch(text) for text in given):
        raise InputError(f"{where}: exact_lower and exact_upper must be rationals, 'p/q', got {given}")
    exact_lower, exact_upper = map(Fraction, given)
    if exact_lower > exact_upper:
        raise InputError(f"{where}: exact_lower must be at most exact_upper")
    slack = AGREEMENT * max(abs(lower), abs(upper))
    both = (exact_lower, lower), (exact_upper, upper)
    if not (np.isfinite(slack) and all(abs(exact - Fraction(bound)) <= slack for exact, bound in both)):
        raise InputError(f"{where}: exact_lower and exact_upper are not the bounds lower and upper, but for rounding")
    return exact_lower, exact_upper


#: A rational number, in digits that Python converts.
RATIONAL = re.compile("[+-]?[0-9]{1,1000}(?:/0*[1-9][0-9]{0,999})?", re.ASCII)
#: Letters of the longest file that is read.
MAX_LETTERS = 2**14
EXACT: dict[str, type] = {"exact_lower": str, "exact_upper": str}
#: Keys that a file must have; keys that its tables must have, and keys that they may have.
WHOLE: dict[str, type] = {"name": str, "title": str, "data": dict, "parameters": dict, "bounds": dict}
DATA: tuple[dict[str, type], dict[str, type]] = (
    {"set": str, "preprocessing": list, "shape": list, "sha256": str},
    {"labels": str, "without": list, "parts": list, "rows": int},
)
BOUNDS: tuple[dict[str, type], dict[str, type]] = (
    {"lower": float, "upper": float, "solver": str, "tol": float, "iterations": int, "version": str},
    EXACT | {"processor_seconds": float, "why": str},
)
#: The same of tables that a file may have; of those whose keys are names, the type of all.
TABLES: dict[str, tuple[dict[str, type], dict[str, type] | type]] = {
    "triplets": ({"count": int, "seed": int, "sha256": str}, {"also": list}),
    "pairs": ({"count": int, "seed": int, "sha256": str}, {}),
    "projection": ({"kind": str, "r": int, "seed": int, "sha256": str}, {}),
    "extras": ({}, list),
    "arrays": ({}, str),
    "found": ({"count": int}, {"sha256": str}),
}
#: Relative gap above which an instance is open.
OPEN_GAP = 1e-3
#: Largest relative difference of the exact bounds from the float ones.
AGREEMENT = 1e-7


def _check(table: Mapping[str, Any], required: dict[str, type], optional: dict[str, type], where: str) -> None:
    known = required | optional
    check_keys(table, required, known, where)
    for key, value in table.items():
        kinds = (int, float) if known[key] is float else known[key]
        if isinstance(value, bool) != (kinds is bool) or not isinstance(value, kinds):
            raise InputError(f"{where}: {key} must be a {known[key].__name__}, got {value!r}")


def library_folder() -> Traversable:
    """Find the folder of instances: inside an installed package, or next to the package in a checkout."""
    inside = files("convexmetric") / "problems"
    return inside if inside.is_dir() else Path(__file__).resolve().parents[2] / "problems"
