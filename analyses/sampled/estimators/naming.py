"""Reading estimators by name, as study files write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches

from analyses.sampled.estimators.bv import BiasVariance
from analyses.sampled.estimators.cls import ConstrainedLeastSquares
from analyses.sampled.estimators.ht_plugin import HorvitzThompson
from analyses.sampled.estimators.ls import LeastSquares
from analyses.sampled.estimators.mes import MaximumEntropy
from analyses.sampled.estimators.mle import AdaptiveMaximumLikelihood, MaximumLikelihood
from analyses.sampled.estimators.mn import Multinomial
from analyses.sampled.estimators.rank_estimate import RankEstimate
from analyses.sampled.estimators.shared.estimator import Estimator
from analyses.sampled.estimators.uncorrected import Uncorrected
from runs import InputError

ESTIMATORS: Mapping[str, type[Estimator]] = {
    "uncorrected": Uncorrected,
    "rank-estimate": RankEstimate,
    "ls": LeastSquares,
    "cls": ConstrainedLeastSquares,
    "bv": BiasVariance,
    "mn": Multinomial,
    "mle": MaximumLikelihood,
    "adaptive-mle": AdaptiveMaximumLikelihood,
    "mes": MaximumEntropy,
    "ht-plugin": HorvitzThompson,
}
"""All estimators by the name that study files use."""

WRITTEN = re.compile(r"\s*([A-Za-z_-]+)\s*(?:\((.*)\))?\s*")
READ: Mapping[str, tuple[Callable[[str], object], str]] = {
    "bool": (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "str": (str, "a word"),
    "str | float": (lambda t: float(t) if re.match(r"[-+.0-9]", t) else t, "a number"),
}
"""How the value of an option is read, and what it must be, by its type."""


def find_estimator(text: str | Estimator) -> Estimator:
    """Read an estimator: ``bv(gamma=0.1)``, or the printed form ``BV(gamma=0.1,prior=uniform)``.

    Raises
    ------
    InputError
        If there is no such estimator or option, or a value is out of range.

    Examples
    --------
    >>> print(find_estimator("rank-estimate(denominator=m+1)"))
    RankEstimate(mode=floor,denominator=m+1)
    """
    if isinstance(text, Estimator):
        return text
    found = WRITTEN.fullmatch(text)
    if found is None:
        raise InputError(f"{text!r} is no estimator: it is written NAME or NAME(option=value).")
    kind = _kind(found[1])
    options = dict(_option(part, kind) for part in (found[2] or "").split(",") if part.strip())
    for one in fields(kind):
        if one.default is MISSING and one.name not in options:
            written = f"{kind.label.lower()}({one.name}=0.1)"
            raise InputError(f"{found[1]} needs the option `{one.name}`, as {written}.")
    return kind(**options)


def _kind(name: str) -> type[Estimator]:
    """Find an estimator by its name in study files or in print, whatever the case and hyphens."""
    folded = name.lower().replace("-", "").replace("_", "")
    for known, kind in ESTIMATORS.items():
        if folded in (known.replace("-", ""), kind.label.lower()):
            return kind
    close = get_close_matches(name.lower(), ESTIMATORS, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(ESTIMATORS)}."
    raise InputError(f"no estimator is called {name!r}; {hint}")


def _option(part: str, kind: type[Estimator]) -> tuple[str, object]:
    name, _, text = (piece.strip() for piece in part.partition("="))
    types = {one.name: str(one.type) for one in fields(kind)}
    if name not in types:
        known = ", ".join(types) or "none"
        raise InputError(f"{kind.label} has no option {name!r}; its options: {known}.")
    read, wanted = READ[types[name]]
    try:
        return name, read(text)
    except (KeyError, ValueError):
        raise InputError(f"the option `{name}` must be {wanted}, got {text!r}.") from None
