"""Functions that a page takes from the script of its lesson, and pictures for it."""

from __future__ import annotations

import ast
import base64
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# From a file: scikit-learn takes a browser seconds to load.
from exercises.checking import wine as wine

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def take(script: str, names: Iterable[str], namespace: dict[str, Any]) -> None:
    """Define functions of a script of ``examples`` in a namespace, which has the other names that they use."""
    path = EXAMPLES / script
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in set(names)]
    exec(compile(ast.Module(found, type_ignores=[]), str(path), "exec"), namespace)


def png(figure: Any) -> str:
    """Draw a figure of Matplotlib as the address of a picture."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    return "data:image/png;base64," + base64.b64encode(drawn.getvalue()).decode()
