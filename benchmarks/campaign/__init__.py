"""The campaign against the checker of certificates: problems, mutations, exact judges and workers with limits.

One exact judge reads and evaluates statements: ``second_checker`` of the tests, which proves bounds from the hints in a
file and knows no optimum. ``optima`` takes what it has read apart into a convex function of one number, of which it
finds the optimum without any hint, and the hints of extreme files are made from it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "certificates"))
