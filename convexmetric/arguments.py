"""Checks of arguments that many functions take."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from convexmetric.errors import InputError

#: Letters of a value in a message.
LONGEST = 200


@runtime_checkable
class Learner(Protocol):
    """Any object with a method ``fit``, as scikit-learn's estimators have."""

    @property
    def fit(self) -> Any:
        """The method that learns."""


def shown(value: object) -> str:
    """Return ``repr(value)`` for a message, shortened where it is long."""
    with np.printoptions(threshold=6, edgeitems=2):
        text = " ".join(repr(value).split()) if isinstance(value, np.ndarray) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def check_count(value: object, name: str, otherwise: str = "") -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless ``value`` is a positive integer.

    ``otherwise`` is added to the requirement in the message, if the caller accepts something else as well.
    """
    check_integer(value, 1, np.inf, f"{name} must be a positive integer{otherwise}")


def check_integer(value: object, least: float, most: float, what: str) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless ``value`` is an integer from ``least`` to ``most``.

    ``what`` begins the message: ``"r must be an integer from 1 to 4"``.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        raise InputError(f"{what}, got {shown(value)}")


def check_flag(value: object, name: str) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless ``value`` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, got {shown(value)}")


def check_positive_number(value: object, name: str) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless ``value`` is a positive finite number."""
    if not is_real(value) or not 0.0 < float(value) < np.inf:
        raise InputError(f"{name} must be a positive finite number, got {shown(value)}")


def check_seconds(value: object, name: str) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless ``value`` is a limit on time: positive, or None."""
    if value is not None and not (is_real(value) and value > 0.0):
        raise InputError(f"{name} must be positive or None, got {shown(value)}")


def check_share(value: object, name: str) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless ``value`` is a number above 0 and below 1."""
    if not is_real(value) or not 0.0 < float(value) < 1.0:
        raise InputError(f"{name} must be a number above 0 and below 1, got {shown(value)}")


def checked_part_weights(weights: Any, count: int, name: str, part: str) -> NDArray[np.float64] | None:
    """``(count,)`` weights of the parts of a risk, such as its queries or pairs; None stays None: all weigh 1.

    Raises
    ------
    InputError
        If they are not ``count`` nonnegative finite numbers of which one is positive.
    """
    if weights is None:
        return None
    try:
        array = np.asarray(weights)
        if np.iscomplexobj(array):
            raise TypeError("complex numbers")
        array = np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold real numbers, one a {part} ({error})") from error
    if array.shape != (count,):
        raise InputError(f"{name} must have one number a {part}, shape ({count},), got {array.shape}")
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0.0)))
    if wrong.size:
        at = int(wrong[0])
        raise InputError(f"{name} must be finite and not negative; 0 leaves a {part} out, {name}[{at}] = {array[at]:g}")
    if not array.any():
        raise InputError(f"{name} is zero for every {part}, which leaves nothing to learn from; make one positive")
    return array


def fitted(given: Any, attribute: str, name: str) -> Any:
    """Return an attribute of a fitted estimator, or of the ``estimator_`` that a search has chosen.

    Raises
    ------
    InputError
        If there is none: it is not fitted, or learns something else.
    """
    estimator = getattr(given, "estimator_", given)
    found = getattr(estimator, attribute, None)
    if found is None:
        what = type(estimator).__name__
        raise InputError(
            f"{name}: this {what} has no {attribute}: it is not fitted, comes from a pickle, or is not made for that"
        )
    return found


def closest(given: str, known: Iterable[str], question: str) -> str:
    """Fill the question, such as ``"; did you mean {}?"``, with the known name most like ``given``; else empty."""
    close = difflib.get_close_matches(given, list(known), n=1)
    return question.format(repr(close[0])) if close else ""


def not_one_of(name: str, choices: Iterable[str], got: object, otherwise: str = "") -> str:
    """Message for an argument ``got`` that is none of ``choices``, with the most similar one as a suggestion.

    ``otherwise`` is added after the names, if the caller accepts something else as well.
    """
    known = list(choices)
    hint = closest(str(got).lower(), known, "; did you mean {}?")
    return f"{name} must be one of {', '.join(map(repr, known))}{otherwise}, got {shown(got)}{hint}"


def check_one_of(value: object, choices: Iterable[str], name: str) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless ``value`` is one of the texts ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(not_one_of(name, choices, value))


#: Well-known methods that the package does not have under these names, and what to use instead.
OTHER_METHODS = {
    "nca": "NCA is not convex; scikit-learn has it, as NeighborhoodComponentsAnalysis. For nearest neighbours of "
    "labelled rows use cm.NeighborMetric (--method neighbors)",
    "itml": "ITML is cm.InformationTheoreticProblem, which cm.solve takes. An estimator for pairs that are similar or "
    "not is cm.OperatorMarginMetric (--method operator)",
    "lda": "LDA has a closed form; scikit-learn has it, as LinearDiscriminantAnalysis. For nearest neighbours of "
    "labelled rows use cm.NeighborMetric (--method neighbors)",
}


def is_real(value: object) -> TypeGuard[float]:
    """Whether ``value`` is a real number; booleans are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def checked_weight(value: float, name: str, *, infinite: bool = False, zero: bool = False) -> float:
    """Return ``value`` as a positive float; infinity, and zero to leave a term out, only where allowed.

    Raises
    ------
    InputError
        If it is not a number, not positive, or infinite where that is not allowed.
    """
    if zero and is_real(value) and value <= 0.0:
        if value == 0.0:
            return 0.0
        raise InputError(f"{name} must be positive, or 0 to leave the term out, got {shown(value)}")
    if isinstance(value, str):
        raise InputError(f"{name} must be a positive number, got the text {value!r}")
    if np.ndim(value):
        raise InputError(f"{name} must be a positive number, got {shown(value)}")
    try:
        weight = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a positive number, got {shown(value)}") from error
    if isinstance(value, bool) or np.isnan(weight) or weight <= 0.0:
        raise InputError(f"{name} must be positive, got {shown(value)}")
    if np.isinf(weight) and not infinite:
        raise InputError(f"{name} must be finite, got {shown(value)}")
    return weight


def checked_margins(margin: Any) -> tuple[float, float]:
    """Return the margins of similar and of dissimilar pairs, from one number for both or from two.

    Raises
    ------
    InputError
        If they are not positive numbers.
    """
    if isinstance(margin, tuple | list | np.ndarray):
        if len(margin) != 2:
            raise InputError(f"margin must be a number, or two: (similar, dissimilar), got {len(margin)}")
        return checked_weight(margin[0], "margin[0]"), checked_weight(margin[1], "margin[1]")
    return checked_weight(margin, "margin"), checked_weight(margin, "margin")


def as_generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    """Return a generator made from a seed, or the generator that was given.

    Raises
    ------
    InputError
        If it is neither, nor None for fresh randomness.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    is_seed = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool) and random_state >= 0
    if random_state is not None and not is_seed:
        raise InputError(f"random_state must be a nonnegative integer, a Generator or None, got {shown(random_state)}")
    return np.random.Generator(np.random.PCG64(random_state))
