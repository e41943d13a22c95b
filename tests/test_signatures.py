"""Every public name is called as it was recorded: names, parameters, their kinds and their defaults."""

from dataclasses import dataclass, field

import signatures
from signatures import differences, entries, modules, read, snapshot


def test_public_names_are_called_as_recorded():
    changed = differences(read(), snapshot(modules()))
    assert not changed, f"\n{changed}\nmeant? python tests/signatures.py --record"


def test_everything_public_of_the_root_is_recorded():
    recorded = read()
    assert recorded["convexmetric.solve"] == "is convexmetric.solvers.solve"
    assert recorded["convexmetric.solvers.solve"].startswith("(problem, tol=1e-06, *, solver=None, ")
    assert recorded["convexmetric.RankingProblem"] == "is convexmetric.papers.RankingProblem"
    assert recorded["convexmetric.MLR"] == "is convexmetric.estimators.MLR"
    assert recorded["convexmetric.estimators.MLR.__init__"].startswith("(self, *, measure='map', ")
    assert recorded["convexmetric.estimators.MLR.fit"].startswith("(self, X, y")
    assert recorded["convexmetric.errors"] == "module"


def test_what_is_gone_new_and_changed_is_named():
    recorded = {"p.f": "(x, tol=1e-06)", "p.g": "(x)", "p.h": "(x)"}
    found = {"p.f": "(x, tol=1e-05)", "p.h": "(x)", "p.k": "class"}
    assert differences(recorded, found).splitlines() == [
        "gone: p.g (x)",
        "new: p.k class",
        "changed: p.f",
        "  recorded: (x, tol=1e-06)",
        "  now:      (x, tol=1e-05)",
    ]
    assert not differences(recorded, recorded)


def nothing(x):
    return x


class Base:
    def __init__(self, a: int, *rest: float, how=nothing, kind=int, at=object(), **more: str) -> None:  # noqa: B008
        pass

    def shared(self, x, /, *, y: "list[int]" = ()) -> None:
        pass

    def overridden(self, x):
        pass

    @property
    def gap(self):
        return 0.0

    def _private(self):
        pass


class Derived(Base, dict):
    overridden = None

    @classmethod
    def from_labels(cls, X, y=None):
        pass

    @staticmethod
    def made(n=3):
        pass


@dataclass
class Record:
    X: list
    names: list = field(default_factory=list)


def test_a_class_has_its_constructor_and_public_methods(monkeypatch):
    monkeypatch.setattr(signatures, "PACKAGE", __name__)
    assert entries("p.Derived", Derived) == {
        "p.Derived": "class",
        "p.Derived.__init__": "(self, a, *rest, how=nothing, kind=int, at=<object object>, **more)",
        "p.Derived.shared": "(self, x, /, *, y=())",
        "p.Derived.gap": "property",
        "p.Derived.from_labels": "classmethod (cls, X, y=None)",
        "p.Derived.made": "staticmethod (n=3)",
    }
    assert entries("p.Record", Record)["p.Record.__init__"] == "(self, X, names=<factory>)"
    assert entries("p.nothing", nothing) == {"p.nothing": "(x)"}
    assert entries("p.LIMIT", 3.0) == {"p.LIMIT": "data"}
