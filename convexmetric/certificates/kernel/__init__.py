r"""The kernel of proofs: evaluates the two bounds of a certificate, and searches for nothing.

.. math:: \min_{M \in K} \; F(M) = R(M) + \langle G, M \rangle + \Omega(M)

*Upper bound*: F at the metric of the file. *Lower bound*: its dual point gives :math:`R(M) \ge v - \langle S, M
\rangle`, its *slope* :math:`\Omega(M) \ge \langle P, M \rangle - e`. Where R is nonnegative, a multiple
:math:`0 \le \theta \le 1` (the *share* of the file) of the first holds, too. So :math:`P \succeq \theta S - G` leaves
:math:`F(M) \ge \theta v - e`.
The statement, what is to be shown of a file, and the theorems with their proofs are in ``docs/certificate-format.md``.

It imports NumPy and the standard library only, and this folder runs alone: ``python kernel FILE ...``. It does not
limit the cost of a proof, as ``checker.py`` does for untrusted files. To be read in this order:

==================  =============================================================================================
``errors``          refusals, and proofs that fail
``balls``           arithmetic of numbers with radii, and what is assumed of the machine
``files``           hashes, rationals and arrays
``reader``          the reader of files
``metrics``         metrics, and minorants of risks
``points``          squared distances between points, and matrices of dual points
``measures``        measures of rankings
``lists``           risks over lists
``losses``          losses of a comparison
``comparisons``     risks of listed comparisons
``own``             risks of rules of others
``sums``            worst parts and sums of risks
``regularizers``    regularizers, and what each has to show of its slope
``systems``         linear equations, by exact solutions near those of a file
``conic``           conic programs, by points near those of a file
``proofs``          the problem, and its two bounds
==================  =============================================================================================
"""

from .balls import Ball, U, exactly, exp, log, rounded, semidefinite
from .comparisons import AllPairs, ListedChoices, ListedRisk
from .conic import ConeProduct, ConicProgram, ConicStatement
from .errors import CertificateError, NotProven, refusals, require_proven, require_valid

from .files import (  # isort: skip
    FORMAT, SUMMAND, TERM, VERSION, Arrays, Contents, digest, entry, keys, natural, statement_digest,
)  # fmt: skip
from .lists import Choices, ListRisk, Rankings
from .losses import LOSSES, Loss
from .measures import MEASURES, Measure
from .metrics import Cone, Minorant
from .own import OwnRisk, Risk
from .points import SparseRows
from .proofs import STATEMENTS, Problem, Proof, prove, some_rows, stated
from .reader import MAX_BYTES, MAX_LENGTH, MAX_NUMBERS, contents
from .regularizers import REGULARIZERS, ConicTerm, QuadraticForm, Regularizer, SumRegularizer, Zero
from .sums import OF, RISKS, SUMMANDS, SumRisk, Worst, summands

__all__ = [
    "FORMAT",
    "LOSSES",
    "MAX_BYTES",
    "MAX_LENGTH",
    "MAX_NUMBERS",
    "MEASURES",
    "OF",
    "REGULARIZERS",
    "RISKS",
    "STATEMENTS",
    "SUMMAND",
    "SUMMANDS",
    "TERM",
    "VERSION",
    "AllPairs",
    "Arrays",
    "Ball",
    "CertificateError",
    "Choices",
    "Cone",
    "ConeProduct",
    "ConicProgram",
    "ConicStatement",
    "ConicTerm",
    "Contents",
    "ListRisk",
    "ListedChoices",
    "ListedRisk",
    "Loss",
    "Measure",
    "Minorant",
    "NotProven",
    "OwnRisk",
    "Problem",
    "Proof",
    "QuadraticForm",
    "Rankings",
    "Regularizer",
    "Risk",
    "SparseRows",
    "SumRegularizer",
    "SumRisk",
    "U",
    "Worst",
    "Zero",
    "contents",
    "digest",
    "entry",
    "exactly",
    "exp",
    "keys",
    "log",
    "natural",
    "prove",
    "refusals",
    "require_proven",
    "require_valid",
    "rounded",
    "semidefinite",
    "some_rows",
    "stated",
    "statement_digest",
    "summands",
]  # fmt: skip
