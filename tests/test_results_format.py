"""Results have the keys and the types that ``docs/benchmarking.md`` says, and no others."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.arrays import RESULTS_VERSION
from convexmetric.bench import GAPS, Run
from convexmetric.bench.results import write_results

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarking.md"
ROW = re.compile(r"^\| `([\w.]+)` \| ([^|]+?) \| ([^|]+) \|$", re.MULTILINE)
KINDS = {"string": str, "integer": int, "boolean": bool, "object": dict, "number": (int, float)}
NAME = "ranking-auc-wine-c1"


def documented(section):
    """Types of the keys in the table of a section."""
    text = PAGE.read_text(encoding="utf-8").partition(f"\n### {section}\n")[2].partition("\n### ")[0]
    return {key: kind for key, kind, _ in ROW.findall(text)}


def fits(value, kind):
    """Whether a value is of a type in the words of the page."""
    if kind.startswith("list of "):
        each = re.sub(r"s\b", "", kind.removeprefix("list of "))
        return isinstance(value, list) and all(fits(entry, each) for entry in value)
    first, _, other = kind.partition(" or ")
    if value is None:
        return other == "null"
    return isinstance(value, KINDS[first]) and isinstance(value, bool) == (first == "boolean")


def flat(result, kinds):
    """Pairs of key and value, with those inside of what the table breaks up."""
    for key, value in result.items():
        yield key, value
        if any(name.startswith(f"{key}.") for name in kinds):
            for entry in value if isinstance(value, list) else [value] if value is not None else []:
                yield from ((f"{key}.{name}", inner) for name, inner in entry.items())


def check(section, *results):
    kinds, found = documented(section), set()
    assert kinds["schema"] == "integer"
    for result in results:
        assert result == json.loads(json.dumps(result, allow_nan=False))
        assert result["schema"] == RESULTS_VERSION
        pairs = list(flat(result, kinds))
        assert {key for key, _ in pairs} <= set(kinds)
        assert {key for key in kinds if "." not in key} == set(result)
        wrong = [(key, value) for key, value in pairs if not fits(value, kinds[key])]
        assert not wrong
        found |= {key for key, _ in pairs}
    assert found == set(kinds)


@pytest.fixture(scope="module")
def solution():
    return cm.solve(NAME, tol=1e-3)


def printed(command, *arguments):
    code, out, _ = command(*arguments, "--json")
    assert code == 0
    return json.loads(out)


def test_audits(solution, command, tmp_path):
    beside, alone = cm.audit(NAME, np.eye(13), reference=solution), cm.audit(NAME, np.eye(13))
    hard = cm.audit("relative-wine-hard", np.zeros(13))
    results = [audit.to_dict() for audit in (beside, alone, hard)]
    check("Audit", *results)
    assert (results[1]["subspace"], results[2]["objective"]) == (None, None)
    assert json.loads(beside.to_json()) == results[0]
    np.save(tmp_path / "M.npy", np.eye(13))
    shown = printed(command, "audit", NAME, tmp_path / "M.npy")
    assert shown == {"name": NAME, "file": str(tmp_path / "M.npy"), **results[1]}
    assert list(shown) == ["name", "file", *results[1]]


def test_solutions(solution, command):
    check("Solution", solution.to_dict())
    shown = printed(command, "solve", NAME, "--tol", "1e-3", "--quiet")
    assert list(shown) == ["name", *solution.to_dict()]


def test_trails(solution, command, tmp_path):
    given = cm.bench.audit_iterates(NAME, [np.eye(13), np.zeros((13, 13))])
    hard = cm.bench.audit_iterates("relative-wine-hard", [np.zeros(13)], seconds=[1.0])
    results = [trail.to_dict() for trail in (given, hard, cm.bench.AuditTrail.of_solution(solution))]
    check("Trail", *results)
    assert (results[0]["seconds"], results[1]["objectives"]) == ([None, None], [None])
    np.savez(tmp_path / "iterates.npz", iterates=[np.eye(13), np.zeros((13, 13))])
    shown = printed(command, "audit", NAME, tmp_path / "iterates.npz", "--iterates")
    assert {key: shown[key] for key in results[0]} == results[0]


def test_runs():
    failed = Run(NAME, "a", 1e-6, 60.0, 1, "error", "it broke")
    done = replace(failed, status="optimal", seconds=1.0, reached=(1.0,) * len(GAPS), lower_bound=1.0, upper_bound=1.0)
    check("Run", failed.to_dict(), done.to_dict())
    assert set(done.to_dict()["reached"]) == {f"{gap:.0e}" for gap in GAPS}
    assert done.to_dict()["reached"]["1e-06"] == 1.0
    assert failed.to_dict()["reached"]["1e-06"] is None


def test_benchmarks(tmp_path):
    run = Run(NAME, "a", 1e-6, 60.0, 1, "stalled", upper_bound=1.0, curve=((1e-3, 1.0, np.inf, 0.5),))
    found = []
    for suite in (None, "small-1"):
        write_results([run], tmp_path / "results.json", suite)
        found.append(json.loads((tmp_path / "results.json").read_text(encoding="utf-8")))
    check("Benchmark", *found)
    check("Run", *found[0]["runs"])
    assert cm.bench.read_runs(tmp_path / "results.json")[0].curve == run.curve


def test_a_key_that_is_not_on_the_page_is_found(solution):
    with pytest.raises(AssertionError):
        check("Solution", solution.to_dict() | {"extra": 1})
    with pytest.raises(AssertionError):
        check("Solution", solution.to_dict() | {"rank": 1.5})
    with pytest.raises(AssertionError):
        check("Solution", {key: value for key, value in solution.to_dict().items() if key != "rank"})
