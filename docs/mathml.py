"""Formulas as MathML, made when the site is built: pages need no script and no other host.

Browsers draw MathML themselves, in the mathematical font that the site brings along.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

CONVERTER = LatexToMathML()


def mathml(latex: str, display: bool) -> str:
    """The formula as a MathML element."""
    try:
        return CONVERTER.convert_with_local_state(latex, displaystyle=display)
    except LatexError as error:
        raise ExtensionError(f"no MathML for {latex!r}: {error}") from error


def in_lines(latex: str) -> str:
    r"""Lines below each other where Sphinx would set them so: at blank lines, and aligned at ``&`` and ``\\``."""
    parts = [part.strip() for part in re.split(r"\n\s*\n", latex.strip())]
    lines = [_aligned(part) for part in parts]
    return lines[0] if len(lines) == 1 else r"\begin{gathered}" + r" \\ ".join(lines) + r"\end{gathered}"


def _aligned(latex: str) -> str:
    if r"\begin" in latex or not re.search(r"(?<!\\)&|\\\\", latex):
        return latex
    return rf"\begin{{aligned}}{latex}\end{{aligned}}"


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """A formula in a line of text."""
    self.body.append(mathml(node.astext(), display=False))
    raise nodes.SkipNode


def visit_display(self: HTML5Translator, node: nodes.math_block) -> None:
    """A formula of its own, with its number if it has a label; it scrolls by itself where it is wider than the page."""
    self.body.append(self.starttag(node, "div", CLASS="math display"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})</span>')
    self.body.append(mathml(in_lines(node.astext()), display=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
