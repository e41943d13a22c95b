"""Formulas as MathML, made when the site is built: readers need neither a script nor a network.

``math-core`` translates TeX to MathML Core, which browsers have laid out by themselves since 2023. It refuses TeX that
it does not know, so that a misspelt command stops the build. Sizes and brackets come from a font in ``_static/fonts``.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

LOG = logging.getLogger(__name__)
CONVERTER = LatexToMathML(fancy_error=False)


def aligned(tex: str) -> str:
    r"""Lines that end in ``\\`` and equations between empty lines, as one aligned block; what is aligned stays.

    >>> aligned("a &= b")
    '\\begin{aligned}a &= b\\end{aligned}'
    """
    equations = [part.strip() for part in re.split(r"\n\s*\n", tex) if part.strip()]
    lines = r" \\ ".join(equations)
    alone = r"\begin{" in lines or not ("&" in lines or r"\\" in lines)
    return lines if alone else rf"\begin{{aligned}}{lines}\end{{aligned}}"


def mathml(tex: str, display: bool = False) -> str:
    """The ``<math>`` element of a formula.

    Raises
    ------
    math_core.LatexError
        If the formula has a command that is not known, or is not well formed.
    """
    return CONVERTER.convert_with_local_state(aligned(tex) if display else tex, displaystyle=display)


def translated(node: nodes.Element, display: bool) -> str:
    """The formula of a node; what cannot be translated is a warning at its place, and stays TeX."""
    try:
        return mathml(node.astext(), display)
    except LatexError as error:
        LOG.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{nodes.Text(node.astext())}</code>"


def visit_inline(writer: Any, node: nodes.math) -> None:
    """A formula in a line."""
    writer.body.append(writer.starttag(node, "span", "", CLASS="math notranslate"))
    writer.body.append(translated(node, display=False) + "</span>")
    raise nodes.SkipNode


def visit_block(writer: Any, node: nodes.math_block) -> None:
    """A formula on its own, with its number if it has one."""
    writer.body.append(writer.starttag(node, "div", "", CLASS="math notranslate"))
    if node.get("number"):
        writer.body.append(f'<span class="eqno">({get_node_equation_number(writer, node)})')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    writer.body.append(translated(node, display=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Make this the renderer of formulas."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
