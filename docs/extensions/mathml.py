"""Formulas as MathML, which browsers draw by themselves: pages need no network and no LaTeX."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger
from sphinx.writers.html5 import HTML5Translator

LACKING = {r"\\[bB]igg?[lr]?(?![a-zA-Z])": "", r"\\dots(?![a-zA-Z])": r"\\ldots"}
"""Commands that the converter lacks, as regular expressions, and what stands for them."""

logger = getLogger(__name__)


def convert(formula: str, *, as_block: bool) -> str:
    r"""Write a formula of LaTeX as MathML.

    Raises
    ------
    docutils.utils.math.MathError
        If it has a command that there is not.

    Examples
    --------
    >>> "<mfrac>" in convert(r"\Big(\frac{1}{R}\Big)", as_block=False)
    True
    """
    for command, other in LACKING.items():
        formula = re.sub(command, other, formula)
    return str(tex2mathml(formula, as_block=as_block))


def _write(writer: HTML5Translator, node: nodes.Element, before: str, after: str) -> None:
    try:
        mathml = convert(node.astext(), as_block=bool(before))
    except MathError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
    else:
        writer.body.append(before + mathml + after)
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the way that formulas are written."""
    inline = partial(_write, before="", after="")
    block = partial(_write, before='<div class="math">', after="</div>")
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True}
