"""What a metric is: a function of judged lists with a name; and where metrics are found."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from qrels import Judged
from runs import InputError


class MetricFunction(Protocol):
    """Scores of all users: judged lists in, float64 of shape (n_users,) out."""

    def __call__(self, judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
        """Score every user."""


Defined = TypeVar("Defined", bound=MetricFunction)


@dataclass(frozen=True)
class Metric:
    """A metric and what is known of it, as data.

    Parameters
    ----------
    name
        As printed, say ``nDCG``.
    function
        The definition.
    source
        Where it was published.
    trec_eval
        The measure that agrees in trec_eval, "" where there is none.
    lattice
        For a cut-off, a whole number that makes every score an integer when multiplied with
        it, or None; the exact permutation test then counts ties exactly.
    """

    name: str
    function: MetricFunction
    source: str
    trec_eval: str = ""
    lattice: Callable[[int], int | None] = lambda cutoff: None

    @property
    def summary(self) -> str:
        """First line of the definition's docstring."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]

    def __call__(self, judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
        """Score every user, and check what came back.

        Raises
        ------
        InputError
            If the definition fails, or does not return one finite number per user.
        """
        try:
            values = np.asarray(self.function(judged, cutoff=cutoff), dtype=np.float64)
        except Exception as error:
            raise InputError(f"metric {self.name!r} fails {_place_of(error)}") from error
        if values.shape != (judged.n_users,):
            raise InputError(
                f"metric {self.name!r} must return one value per user, of shape "
                f"({judged.n_users},), got shape {values.shape}."
            )
        if not np.isfinite(values).all():
            user = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InputError(
                f"metric {self.name!r} must return finite values, got {values[user]} at cut-off "
                f"{cutoff} for user number {user}."
            )
        return values


def metric(
    name: str,
    *,
    source: str,
    trec_eval: str = "",
    lattice: Callable[[int], int | None] = lambda cutoff: None,
) -> Callable[[Defined], Defined]:
    """Declare a function over judged lists a metric; the function itself stays as it is.

    Parameters
    ----------
    name, source, trec_eval, lattice
        See `Metric`.

    Examples
    --------
    >>> @metric("hits", source="by hand")
    ... def hits(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    ...     "Number of relevant items in the list."
    ...     return judged.relevant[:, :cutoff].sum(axis=1).astype(float)
    >>> hits.metric.name, hits.metric.summary
    ('hits', 'Number of relevant items in the list.')
    """

    def declare(function: Defined) -> Defined:
        declared = Metric(name, function, source=source, trec_eval=trec_eval, lattice=lattice)
        function.metric = declared  # type: ignore[attr-defined]
        return function

    return declare


def ratio(numerator: NDArray[np.float64], denominator: NDArray[np.number]) -> NDArray[np.float64]:
    """Divide, giving 0 where the denominator is 0, as trec_eval does.

    Examples
    --------
    >>> ratio(np.array([1.0, 1.0]), np.array([2, 0]))
    array([0.5, 0. ])
    """
    quotient = np.zeros(len(numerator))
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)


def built_in_metrics() -> dict[str, Metric]:
    """Give the metrics of ``harness/metrics/``, by name.

    The folder is the list: a file added there is found here.
    """
    from harness import metrics

    modules = [
        importlib.import_module(f"{metrics.__name__}.{found.name}")
        for found in pkgutil.iter_modules(metrics.__path__)
    ]
    return {name: declared for module in modules for name, declared in _declared(module).items()}


def plugin_metrics(path: Path) -> dict[str, Metric]:
    """Give the metrics that a user's Python file declares, by name.

    Raises
    ------
    InputError
        If the file is missing, fails when run, or declares no metric.
    """
    if not path.is_file():
        raise InputError(f"{path}: the metric plug-in does not exist.")
    spec = importlib.util.spec_from_file_location(f"harness_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: a metric plug-in must be a Python file (.py).")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(
            f"{path}: the plug-in fails with {type(error).__name__}: {error}"
        ) from error
    declared = _declared(module)
    if not declared:
        raise InputError(f"{path}: no function in it is declared with @metric(...).")
    return declared


def available_metrics(plugins: Sequence[Path] = ()) -> dict[str, Metric]:
    """Give the built-in metrics and those of the plug-ins, by name.

    Raises
    ------
    InputError
        If a plug-in takes a name that is already taken.
    """
    found = built_in_metrics()
    for path in plugins:
        for name, declared in plugin_metrics(path).items():
            if name in found:
                raise InputError(f"{path}: a metric called {name!r} exists already.")
            found[name] = declared
    return found


def find_metric(name: str, metrics: Mapping[str, Metric]) -> Metric:
    """Give the metric of this name.

    Raises
    ------
    InputError
        If there is none; the sentence names the nearest.

    Examples
    --------
    >>> find_metric("nDGC", built_in_metrics())
    Traceback (most recent call last):
    runs.errors.InputError: no metric is called 'nDGC'; did you mean 'nDCG'?
    """
    if name in metrics:
        return metrics[name]
    raise InputError(f"no metric is called {name!r}; {nearest(name, list(metrics))}")


def nearest(name: str, names: Sequence[str]) -> str:
    """Say which name may have been meant, or which there are."""
    folded = {known.casefold(): known for known in names}
    close = get_close_matches(name.casefold(), folded, n=1)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    return f"there are {', '.join(names)}."


def _place_of(error: Exception) -> str:
    """Say where and how a function failed, in the file where it did."""
    frame = extract_tb(error.__traceback__)[-1]
    place = f"in {frame.filename}, line {frame.lineno}"
    return f"{place}: {type(error).__name__}: {error}"


def _declared(module: ModuleType) -> dict[str, Metric]:
    candidates = (getattr(value, "metric", None) for value in vars(module).values())
    return {found.name: found for found in candidates if isinstance(found, Metric)}
