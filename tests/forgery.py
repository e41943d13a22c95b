"""Certificate files opened, changed and written again, with honest hashes or not."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from convexmetric import checker

Contents = tuple[dict[str, Any], dict[str, np.ndarray]]

#: Arrays that prove something and state nothing, by what they are.
HINTS = ("factor", "weights_of_metric", "witnesses", "widths", "weights", "slopes", "exception_slopes", "hint")


def opened(path: Path) -> Contents:
    """Description and arrays."""
    document, arrays = checker.read(path)
    return document, {name: array.copy() for name, array in arrays.items()}


def written(path: Path, contents: Contents, *, honest: bool = True) -> Path:
    """Write a file; an honest one has the hashes of its arrays."""
    document, arrays = copy.deepcopy(contents[0]), contents[1]
    if honest:
        document["sha256"] = {name: checker.digest(array) for name, array in arrays.items()}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("certificate.json", json.dumps(document))
        for name, array in arrays.items():
            packed = io.BytesIO()
            np.lib.format.write_array(packed, array, allow_pickle=True)
            archive.writestr(f"{name}.npy", packed.getvalue())
    return path


def claim(contents: Contents, lower: Fraction, upper: Fraction) -> Contents:
    """The same with other claims."""
    document = contents[0] | {"claimed": {"lower": str(lower), "upper": str(upper)}}
    return document, contents[1]


def noisy(rng: np.random.Generator, contents: Contents, size: float) -> Contents:
    """The same with noise on some of what proves, relative to its own size."""
    document, arrays = contents[0], dict(contents[1])
    present = [name for name in HINTS if name in arrays and arrays[name].size]
    for name in rng.choice(present, rng.integers(1, len(present) + 1), replace=False):
        array = arrays[name].astype(float)
        scale = max(float(np.abs(array).max()), 1e-300)
        kind = rng.integers(4)
        if kind == 0:
            array = array + size * scale * rng.standard_normal(array.shape)
        elif kind == 1:
            array = array * (1.0 + size * rng.standard_normal())
        elif kind == 2:
            at = tuple(rng.integers(n) for n in array.shape)
            array[at] += size * scale * rng.standard_normal()
        else:
            array = array + size * scale
        if name == "weights_of_metric":
            array = np.maximum(array, 0.0)
        arrays[name] = np.ascontiguousarray(array)
    return document, arrays
