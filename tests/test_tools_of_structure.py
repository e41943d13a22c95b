"""How benchmarks/compare_checkouts.py holds two checkouts against each other."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from compare_checkouts import differences
from corpus.make import archive, contents, packed

ROOT = Path(__file__).resolve().parents[1]


def written(path, contents):
    path.write_bytes(archive(packed(contents)))
    return path


def changed(change):
    """The triplet of the corpus with something done to its description and its arrays."""
    description, arrays = contents("triplet")
    change(description, arrays)
    return description, arrays


def keys(description, arrays):
    description["problem"]["risk"]["terms"][0]["margin"] = "2"
    description["problem"]["features"] = True
    description["note"] = description.pop("title")


def entries(description, arrays):
    arrays["points"][1, 0] += 0.25
    arrays["triplets"] = arrays["triplets"].astype(np.int32)
    arrays["rows"] = arrays.pop("slopes")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda description, arrays: None, []),
        (
            keys,
            [
                "note is new",
                "problem.features: 1 -> true",
                'problem.risk.terms[0].margin: "1" -> "2"',
                "title is gone",
            ],
        ),
        (
            entries,
            [
                "array points: 1 of 3 entries, by 2.5e-01 at most",
                "array rows is new",
                "array slopes is gone",
                "array triplets: <i8 (1, 3) -> <i4 (1, 3)",
            ],
        ),
        (
            lambda description, arrays: arrays["points"].__setitem__(0, -0.0),
            ["array points: 0 of 3 entries, by 0.0e+00 at most"],
        ),
    ],
)
def test_what_differs_between_certificate_files_is_named(change, expected, tmp_path):
    before = written(tmp_path / "before.npz", contents("triplet"))
    assert differences(before, written(tmp_path / "after.npz", changed(change))) == expected


def test_other_bytes_of_the_same_contents_are_a_difference(tmp_path):
    before, members = written(tmp_path / "before.npz", contents("triplet")), packed(contents("triplet"))
    after = tmp_path / "after.npz"
    after.write_bytes(archive([members[0], *reversed(members[1:])]))
    assert differences(before, after) == [
        "the contents are the same, and the bytes are not: packed otherwise, or in another order"
    ]


@pytest.mark.integration
def test_a_checkout_writes_the_same_files_as_itself(tmp_path):
    command = [sys.executable, "benchmarks/compare_checkouts.py", str(ROOT), "--certificates"]
    command += ["--instances", "relative-wine-hard"]
    done = subprocess.run([*command, "--keep", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "all 1 files are the same, byte for byte" in done.stdout
    assert len(list(tmp_path.glob("relative-wine-hard-*.npz"))) == 5


@pytest.mark.integration
def test_seconds_are_compared_and_a_run_that_was_ended_goes_on(tmp_path):
    kept = tmp_path / "results.jsonl"
    command = [sys.executable, "benchmarks/compare_checkouts.py", str(ROOT), "--clock=processor", "--threads=1"]
    command += ["--json", str(kept), "--instances", "relative-wine-hard"]
    for instances, lines in ([], 1), (["relative-wine-1000"], 2):
        done = subprocess.run([*command, *instances], cwd=ROOT, capture_output=True, text=True, check=True)
        assert "ratio of seconds: geometric mean" in done.stdout
        rows = [json.loads(line) for line in kept.read_text().splitlines()]
        assert [row["asked"]["name"] for row in rows] == ["relative-wine-hard", "relative-wine-1000"][:lines]
        for row in rows:
            assert row["here"]["upper"] == row["other"]["upper"]
            assert row["here"]["package"] == str(ROOT / "convexmetric" / "__init__.py")
    # What was measured by other options is no answer.
    subprocess.run([*command, "--tol=1e-3"], cwd=ROOT, capture_output=True, check=True)
    assert len(kept.read_text().splitlines()) == 3
