r"""
Exercise 12. A proof that is changed until it is refused
========================================================

Before: lessons 10, 12 and 15 (lecture 4). ★★★

A certificate file has the statement of a problem, claims about its optimum, and what proves them. ``convexmetric
verify`` (or ``cm.verify``) proves the claims anew and trusts no one. Its verdict is one of three: *accepted*, *not
proven*, or *refused*, if the file is not a certificate.

The file of this exercise is about the forty triplets of wines of exercise 6. It is a ZIP archive of a table and arrays,
which you get as a dictionary ``document`` and a dictionary ``arrays``:

- ``document["problem"]``: the statement in words and numbers. Its arrays are points, terms and triplets.
- ``document["claimed"]``: ``{"lower": "p/q", "upper": "p/q"}``, here rounded outward to three digits.
- ``document["sha256"]``: the hash of every array, in hexadecimal.
- The other arrays prove the claims: weights_of_metric, slopes (multipliers over C) and slope, which is at least
  :math:`\sum_t u_t d_t`.

Change what you get, in place or in copies, and return ``document, arrays``. Each task states the verdict that
``cm.verify`` must give. (All but task 1 need convexmetric.)

**Task 1.** Write ``digest(array)``: the SHA-256, in hexadecimal, of the text ``dtype shape;`` as NumPy prints them,
such as ``<f8 (178, 13);``, followed by the bytes of the array in C order.

**Task 2.** Write ``damaged(document, arrays)``: one number of an array is changed, and nothing else. It
must be refused.

**Task 3.** Write ``boastful(document, arrays)``: the arrays are as they were, and the claims say more than the file
proves. It must be read, and not be proven.

**Task 4.** Write ``survivor(document, arrays)``: slopes or weights have changed, with the right hashes, and claims and
statement are as they were. It must be accepted: smaller multipliers prove a bound too, and any metric does.

**Task 5.** Write ``another_problem(document, arrays)``: points have changed, with the right hashes, and the claims are
as they were. It must be accepted, as a true statement about another problem. Anyone who looks only for "accepted" is
fooled.

**Task 6.** What protects from task 5 is the hash of the statement. Write ``statement_hash(document, arrays)``: the
SHA-256, in hexadecimal, of lines joined by newlines. The first is ``document["problem"]`` as JSON with sorted keys and
no spaces; then for each array of the statement, by name, ``name hash``.

**To think about.** Why can no change of the arrays make a false claim accepted, while a change of the program that
verifies can?
"""

import hashlib
import json

import numpy as np


def digest(array):
    """Compute the hash of an array."""
    raise NotImplementedError("task 1")


def damaged(document, arrays):
    """Change a number, and be refused."""
    raise NotImplementedError("task 2")


def boastful(document, arrays):
    """Claim more than is proven."""
    raise NotImplementedError("task 3")


def survivor(document, arrays):
    """Change the proof, and still be accepted."""
    raise NotImplementedError("task 4")


def another_problem(document, arrays):
    """Change the statement, and be accepted."""
    raise NotImplementedError("task 5")


def statement_hash(document, arrays):
    """Compute the hash of the statement."""
    raise NotImplementedError("task 6")


if __name__ == "__main__":
    import checking

    checking.main(globals())
