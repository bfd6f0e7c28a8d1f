"""How a correlation over models is put into words: with few of them it is described, not judged."""

from __future__ import annotations

import math

import numpy as np

FEWEST_MODELS = 8
"""Below this number of models the text describes; no order of few models is rare enough."""

ADVISED_MODELS = 20

ALPHA = 0.05


def are_enough(n_models: int) -> bool:
    """Tell whether a text may say that a correlation over so many models is significant.

    Examples
    --------
    >>> are_enough(7), are_enough(8)
    (False, True)
    """
    return n_models >= FEWEST_MODELS


def word_finding(rho: float, p: float, *, n_models: int) -> str:
    """Say what a correlation amounts to, in a clause; of several data sets, by the fewest models.

    Examples
    --------
    >>> word_finding(0.9, 0.04, n_models=5)
    'rho = +.90 over 5 models, which a random order of them reaches with chance .04'
    >>> word_finding(0.6, 0.003, n_models=24)
    'rho = +.60 over 24 models, significant at the level .05 (p = .003)'
    >>> word_finding(0.1, 0.3, n_models=24)
    'rho = +.10 over 24 models, not significant at the level .05 (p = .30)'
    """
    if math.isnan(rho):
        return f"no rho over {n_models} models: one side has all of them equal"
    beginning = f"rho = {print_rho(rho)} over {n_models} models"
    if not are_enough(n_models):
        return f"{beginning}, which a random order of them reaches with chance {print_p(p)}"
    verdict = "significant" if p <= ALPHA else "not significant"
    return f"{beginning}, {verdict} at the level {print_p(ALPHA)} (p = {print_p(p)})"


def caution(n_models: int) -> str:
    """Warn of few models, in a sentence after a space; nothing from 20 models on.

    Examples
    --------
    >>> caution(20)
    ''
    >>> caution(5)
    ' A correlation over 5 models can be described, not judged; take 20 or more.'
    """
    if n_models >= ADVISED_MODELS:
        return ""
    what = "shows if it is strong" if are_enough(n_models) else "can be described, not judged"
    return f" A correlation over {n_models} models {what}; take {ADVISED_MODELS} or more."


def print_rho(rho: float) -> str:
    """Print a correlation with its sign and two decimals.

    Examples
    --------
    >>> print_rho(0.9), print_rho(-0.304), print_rho(1), print_rho(-0.001)
    ('+.90', '-.30', '+1.00', '.00')
    """
    text = f"{rho:+.2f}".replace("0.", ".", 1)
    return ".00" if text in ("+.00", "-.00") else text


def print_p(p: float) -> str:
    """Print a chance with two decimals, small ones with a digit that is not 0.

    Examples
    --------
    >>> print_p(0.042), print_p(0.0034), print_p(0.00002), print_p(1)
    ('.04', '.003', '.00002', '1.00')
    """
    decimals = 2 if p >= 0.01 or p <= 0 else int(np.ceil(-np.log10(p)))
    return f"{p:.{decimals}f}".removeprefix("0")
