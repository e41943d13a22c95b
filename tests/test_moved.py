"""Old paths of modules say the new one, and every new one is there."""

import importlib
import subprocess
import sys

import pytest

import convexmetric as cm
from convexmetric.moved import MOVED, tell


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_says_where_the_module_went(old):
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(f"convexmetric.{old}")
    assert str(caught.value) == f"convexmetric.{old} is now convexmetric.{MOVED[old]}"
    assert importlib.import_module(f"convexmetric.{MOVED[old]}").__name__ == f"convexmetric.{MOVED[old]}"


@pytest.mark.parametrize(
    ("statement", "new"),
    [
        ("from convexmetric.operators import SimilarityOperator", "convexmetric.similarity.operators"),
        ("import convexmetric.checker", "convexmetric.certificates.checker"),
        ("from convexmetric import proofs", "convexmetric.certificates.writer"),
        ("from convexmetric.solvers import conic_qp", "convexmetric.solvers.numerics.program"),
        ("from convexmetric.solvers.conic_qp import ConicQP", "convexmetric.solvers.numerics.program"),
    ],
)
def test_it_does_so_in_every_kind_of_import(statement, new):
    with pytest.raises(ModuleNotFoundError, match=f" is now {new}$"):
        exec(statement)


def test_what_never_was_is_missing_as_usual():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'convexmetric\.nonsense'"):
        importlib.import_module("convexmetric.nonsense")
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        exec("from convexmetric import nonsense")
    assert not hasattr(cm, "operators")


def test_saying_it_twice_asks_one_finder():
    before = len(sys.meta_path)
    tell()
    assert len(sys.meta_path) == before


def test_functions_are_not_hidden_by_folders_of_the_same_name():
    """Whichever folder is imported first: cm.audit and cm.benchmark are functions."""
    program = "import convexmetric.benchmark.records, convexmetric.audit.traces, convexmetric as cm; "
    program += "assert callable(cm.audit) and callable(cm.benchmark) and callable(cm.hyperbolic_pca)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
