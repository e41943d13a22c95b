"""Problems of the library composed of blocks by the names of their classes.

A table with the key ``class`` stands for the object that its class makes from the other keys: numbers, flags, lists,
tables of further blocks, and names of data. The class is one that a package of blocks exports, or one of its other
constructors (``"Relevance.from_labels"``); nothing else is ever looked up. The instance defines the names of data.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from convexmetric import comparisons, cones, losses, measures, papers, regularizers, risks
from convexmetric.arguments import closest, not_one_of
from convexmetric.bench.named_data import MADE
from convexmetric.comparisons import Comparisons, Rankings, Relevance
from convexmetric.cones import Cone
from convexmetric.errors import InputError
from convexmetric.losses import Loss
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import Regularizer
from convexmetric.risks import Risk

#: Classes that a file may name, by name.
CLASSES: dict[str, type] = {"MetricProblem": MetricProblem} | {
    name: vars(package)[name]
    for package in (cones, comparisons, losses, measures, regularizers, risks, papers)
    for name in package.__all__
    if isinstance(vars(package)[name], type)
}
#: Required base class of an argument, by the argument's name.
KINDS: dict[str, type] = {
    "risk": Risk,
    "risks": Risk,
    "regularizer": Regularizer,
    "rest": Regularizer,
    "comparisons": Comparisons,
    "loss": Loss,
    "rankings": Rankings,
    "relevance": Relevance,
    "cone": Cone,
}
#: Arguments that are refused, as they would draw what no hash covers; but for k-means, whose result ``[found]`` covers.
DRAWING, COVERED = ("random_state", "rng", "seed", "n_pairs", "count"), ("CrossModalProblem",)


def compose(table: Mapping[str, Any], data: Mapping[str, Any]) -> MetricProblem:
    """Build the problem of ``[parameters]``: arguments of :class:`~convexmetric.MetricProblem`, or of another class.

    Parameters
    ----------
    table : mapping
        Keys ``risk`` and ``regularizer``, perhaps ``G`` and ``constant``; or ``class``, a problem, and its arguments.
    data : mapping
        Arrays by name; text in the table that is one of these names stands for the array.

    Raises
    ------
    InputError
        If a class, a key or an argument is missing or of the wrong kind; the message names the table and the key.
    """
    problem = _made({"class": "MetricProblem"} | dict(table), data, "parameters")
    if not isinstance(problem, MetricProblem):
        raise InputError(f"[parameters]: class must be a problem, and {table['class']} is none")
    return problem


def _made(table: Mapping[str, Any], data: Mapping[str, Any], place: str) -> Any:
    """Call the class, or constructor, of a table with its arguments."""
    if "class" not in table:
        raise InputError(f"[{place}]: the key 'class' is missing")
    make, where = _constructor(table["class"], f"[{place}]"), f"[{place}] {table['class']}"
    given = {key: value for key, value in table.items() if key != "class"}
    parameters, kind = inspect.signature(make).parameters, table["class"].partition(".")[0]
    named = {key: of for key, of in parameters.items() if of.kind is not of.VAR_KEYWORD}
    # A constructor of further options checks these itself.
    known = named if len(named) == len(parameters) else given
    check_keys(given, [key for key, of in named.items() if of.default is of.empty], known, where)
    drawn = [key for key in DRAWING if key in given and kind not in COVERED]
    if drawn:
        raise InputError(f"{where}: {drawn[0]} would draw what no hash covers; draw in [triplets] or [pairs]")
    arguments = {key: _value(value, data, f"{place}.{key}") for key, value in given.items()}
    # Problems of papers take names of regularizers and losses, not blocks: no check of kinds.
    if kind not in papers.__all__:
        _check_kinds(arguments, place)
    listed = [key for key, of in parameters.items() if of.kind is of.VAR_POSITIONAL]
    several = [one for key in listed for one in arguments.pop(key)]
    try:
        return make(*several, **arguments)
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"{where}: {error}") from error


def _constructor(name: Any, where: str) -> Callable[..., Any]:
    kind, _, other = name.partition(".") if isinstance(name, str) else ("", "", "")
    if kind not in CLASSES:
        raise InputError(f"{where}: {not_one_of('class', sorted(CLASSES), name)}")
    made = CLASSES[kind]
    if inspect.isabstract(made):
        raise InputError(f"{where}: {kind} is a contract; name a class that keeps it")
    if not other:
        return made
    others = [key for key in dir(made) if not key.startswith("_") and inspect.ismethod(getattr(made, key))]
    if other not in others:
        raise InputError(f"{where}: {not_one_of(f'the constructor of {kind}', others, other)}")
    return getattr(made, other)


def check_keys(given: Collection[str], required: Collection[str], known: Collection[str], where: str) -> None:
    """Refuse keys that are not known, and missing ones.

    Raises
    ------
    InputError
        If there are some; the message has the first of them.
    """
    for key in given:
        if key not in known:
            raise InputError(f"{where}: unknown key {key!r}" + closest(key, known, "; did you mean {}?"))
    for key in required:
        if key not in given:
            raise InputError(f"{where}: the key {key!r} is missing")


def _check_kinds(arguments: Mapping[str, Any], place: str) -> None:
    for key in KINDS.keys() & arguments.keys():
        made = arguments[key]
        for one in made if key == "risks" and isinstance(made, list) else [made]:
            if not isinstance(one, KINDS[key]):
                kind = one if isinstance(one, str) else type(one).__name__
                raise InputError(f"[{place}.{key}] must be a {KINDS[key].__name__}, got {kind}")


def _value(value: Any, data: Mapping[str, Any], place: str) -> Any:
    if isinstance(value, dict):
        return _made(value, data, place)
    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
        return [_value(one, data, f"{place}.{number}") for number, one in enumerate(value)]
    if isinstance(value, list):
        return _array(value, place)
    if isinstance(value, str) and value in MADE and value not in data:
        raise InputError(f"[{place}]: {value!r} must be listed in [arrays], with its sha256")
    return data[value] if isinstance(value, str) and value in data else value


def _array(value: list[Any], place: str) -> Any:
    try:
        array = np.array(value)
    except ValueError as error:
        raise InputError(f"[{place}]: rows of different lengths: {error}") from error
    return array if array.dtype.kind in "if" else value
