"""The campaigns: problems, mutations and attacks, exact judges and workers with limits.

One exact judge reads and evaluates statements: ``second_checker`` of the tests, which proves bounds from the hints in a
file. What is known of an optimum comes from another file: the problem's own, or that of its twin in other units.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "certificates"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
