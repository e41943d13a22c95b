from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# Before anything imports matplotlib: no test opens a window.
os.environ["MPLBACKEND"] = "Agg"

import pytest
from hypothesis import settings

from convexmetric.errors import NotInstalledError

_VARIABLE = "CONVEXMETRIC_DATA"
_BESIDE_REPOSITORY = Path(__file__).resolve().parents[2] / "shared" / "data"
if not os.environ.get(_VARIABLE) and _BESIDE_REPOSITORY.is_dir():
    os.environ[_VARIABLE] = str(_BESIDE_REPOSITORY)

# The first call compiles or solves something: a time limit for one example says nothing here.
settings.register_profile("convexmetric", deadline=None)
settings.load_profile("convexmetric")


# Thousands of tests and their parameters stay until the end: the collector need not look at them again and again.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is slow or integration, unless ``-m`` names it; thousands of skips would take their time."""
    left = {mark for mark in ("slow", "integration") if mark not in config.getoption("-m")}
    out = [item for item in items if left.intersection(item.keywords)]
    items[:] = [item for item in items if not left.intersection(item.keywords)]
    config.hook.pytest_deselected(items=out)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skip what needs a room beside the core, where the package that is tested has none (test_rooms.py)."""
    try:
        return (yield)
    except NotInstalledError as error:
        if "this copy of the package has no folder" not in str(error):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets; tests that ask for it are skipped where there is none."""
    value = os.environ.get(_VARIABLE)
    if not value or not Path(value).is_dir():
        pytest.skip(f"no data folder ({_VARIABLE})")
    return Path(value)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command in this process; gives exit code, standard output and standard error."""
    from convexmetric.cli import main

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["convexmetric", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return stop.value.code or 0, captured.out, captured.err

    return run
