"""The script that measures passes on a GPU, on machines without one."""

import sys

import bench_accelerators
import pytest

from convexmetric.comparisons import passes


def printed(monkeypatch, capsys, card):
    monkeypatch.setattr(bench_accelerators, "card", lambda: card)
    monkeypatch.setattr(sys, "argv", ["bench_accelerators.py", "--threads", "1"])
    bench_accelerators.main()
    return capsys.readouterr().out.splitlines()


def test_without_a_gpu_passes_of_an_array_library_are_those_of_numpy(monkeypatch, capsys):
    (said,) = printed(monkeypatch, capsys, None)
    assert said.startswith("No GPU is at hand")
    pytest.importorskip("array_api_compat")
    assert float(said.split()[-2]) < 1e-13


def test_rows_of_a_device_and_of_the_processor(monkeypatch, capsys):
    """A library on the processor stands for the card."""
    pytest.importorskip("array_api_compat")
    move = pytest.importorskip("array_api_strict").asarray
    monkeypatch.setattr(passes, "HOST", None)
    monkeypatch.setattr(bench_accelerators, "SIZES", ((300, 8),))
    monkeypatch.setattr(bench_accelerators, "SIDE", 64)
    lines = printed(monkeypatch, capsys, ("card", move))[-2:]
    rows = [[cell.strip(" %)") for cell in line.split("|")] for line in lines]
    assert [row[1:3] for row in rows] == [["300 x 8", "card"], ["300 x 8", "processor"]]
    assert all(0.0 < float(share) < 100.0 for row in rows for share in row[4:6])
    assert all(float(row[6].split("(")[1]) <= 1e-2 for row in rows)
