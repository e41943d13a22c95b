r"""Solution of exercise 12.

A changed array has another hash than the table says, so the file is refused before anything is proven. With claims that
are too good the file is well formed; what its arrays prove is less, and the verdict says so.

Multipliers a little smaller prove a slightly lower bound, and a metric a little larger has a slightly higher objective.
Both are still within the claims, which were rounded outward, and so these stay proven: by weak duality any
multipliers are good for something.

A wine that moved makes another problem. Its triplet has room to spare, and so the optimum is the same, as exercise 6
has it. The claims are true of the new problem, and only the hash of the statement tells the two apart.

The arrays are looked at as numbers that are put into an inequality which holds for all of them. The program is what
the inequality is checked by: that is why it is small, and why there is a second one.
"""

import hashlib
import json

import numpy as np


def digest(array):
    """Hash type, shape and bytes."""
    return hashlib.sha256(f"{array.dtype.str} {array.shape};".encode() + array.tobytes()).hexdigest()


def changed(document, arrays, name, array):
    """Put an array in the place of another, with its hash."""
    return document | {"sha256": document["sha256"] | {name: digest(array)}}, arrays | {name: array}


def damaged(document, arrays):
    """Add 1 to the first slope."""
    arrays["slopes"][0] += 1.0
    return document, arrays


def boastful(document, arrays):
    """Claim that the optimum is the upper bound."""
    return document | {"claimed": document["claimed"] | {"lower": document["claimed"]["upper"]}}, arrays


def survivor(document, arrays):
    """Make the metric a little larger."""
    return changed(document, arrays, "weights_of_metric", 1.0001 * arrays["weights_of_metric"])


def another_problem(document, arrays):
    """Move the far wine of a triplet that has no part in the proof."""
    points, idle = arrays["points"].copy(), np.argmin(arrays["slopes"])
    points[arrays["triplets"][idle, 2], 0] += 1e-4
    return changed(document, arrays, "points", points)


def statement_hash(document, arrays):
    """Hash the table, and the names and hashes of its arrays."""
    lines = [json.dumps(document["problem"], sort_keys=True, separators=(",", ":"))]
    lines += [f"{name} {digest(arrays[name])}" for name in ("points", "terms", "triplets")]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


if __name__ == "__main__":
    import sys

    sys.path.insert(0, sys.path[0] + "/..")
    import checking

    checking.main(globals())
