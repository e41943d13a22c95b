"""What the worker of a page calls: a function of another module of this folder, by name, with arguments in JSON."""

from __future__ import annotations

import importlib
import json
import platform
import warnings

import numpy as np

# threadpoolctl asks Pyodide in a way that is going out of use.
warnings.filterwarnings("ignore", "JsProxy", RuntimeWarning)


def answer(call: str, given: str) -> str:
    """Call ``"module.function"`` with keyword arguments, and write in JSON what it returns."""
    module, _, name = call.partition(".")
    return json.dumps(getattr(importlib.import_module(f"browser.{module}"), name)(**json.loads(given)))


def versions() -> str:
    """Name what runs."""
    return f"Python {platform.python_version()}, NumPy {np.__version__}"
