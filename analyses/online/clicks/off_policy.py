"""Off-policy estimates: how many clicks a model's lists would have had, from another's log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.rates import REACH, with_limits
from analyses.online.logs.slates import Slates
from analyses.shared.drawing import axes_or_new
from runs import InputError
from runs.shared.streams import random_uniforms

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

FOLDS: Final = 5
STRENGTH: Final = 10.0
"""Lists that the rate of a position is worth."""


class ExpectedClicks(NamedTuple):
    """A model of the reward: the chance of a click on what was logged and would be shown.

    Both are of shape (n_places,).
    """

    logged: Floats
    shown: Floats


@dataclass(frozen=True, eq=False)
class OffPolicy:
    r"""Expected clicks per list of a target, estimated from the log of another policy.

    Parameters
    ----------
    estimators
        "IPS", "SNIPS" and, with a model of the reward, "DR".
    values, errors
        Estimates and their standard errors over users, of shape (n_estimators,).
    n_slates, n_users, n_places
        Size of the log.
    n_matched
        Places where the target shows what the log showed: all that IPS learns from.
    effective_size
        :math:`(\sum w)^2 / \sum w^2`: places of a log with equal weights that would say as much.
    largest_weight
        Before clipping.
    clipped_share
        Share of the weights' sum that clipping took away.
    unsupported_share
        Share of the target's places whose item the log never showed at that position: what it earns
        there is not in the estimates (of DR, only by the model).
    """

    estimators: tuple[str, ...]
    values: Floats
    errors: Floats
    n_slates: int
    n_users: int
    n_places: int
    n_matched: int
    effective_size: float
    largest_weight: float
    clipped_share: float
    unsupported_share: float

    def to_frame(self) -> pd.DataFrame:
        """One row per estimator.

        Columns estimator, clicks_per_slate, error, low, high (95 %, over users), slates, users,
        matched_places, effective_size, largest_weight, clipped_share and unsupported_share.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "estimator": self.estimators,
                "clicks_per_slate": self.values,
                **with_limits(self.values, self.errors),
                "slates": self.n_slates,
                "users": self.n_users,
                "matched_places": self.n_matched,
                "effective_size": self.effective_size,
                "largest_weight": self.largest_weight,
                "clipped_share": self.clipped_share,
                "unsupported_share": self.unsupported_share,
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the estimates with their intervals."""
        axes = axes_or_new(ax)
        places = np.arange(len(self.estimators))
        axes.errorbar(places, self.values, yerr=REACH * self.errors, fmt="o")
        axes.set_xticks(places, self.estimators)
        axes.set_xlim(-0.5, len(places) - 0.5)
        axes.set_ylabel("expected clicks per list")
        return axes

    def caption(self) -> str:
        """Say what the estimates assume and rest on."""
        return (
            f"Expected clicks per list, from {self.n_slates:,} logged lists of {self.n_users:,} "
            f"users; {self.n_matched:,} of {self.n_places:,} places match, worth "
            f"{self.effective_size:,.0f} equally weighted ones, the largest weight being "
            f"{self.largest_weight:,.1f}; clipping took {self.clipped_share:.1%} of the weights. "
            "Clicks are taken to depend on item and position alone. 95 % intervals are over users."
        )


def off_policy(
    slates: Slates,
    shown: NDArray[np.int32],
    *,
    clip: float | None = None,
    expected: ExpectedClicks | None = None,
) -> OffPolicy:
    r"""Estimate how often a target's lists would have been clicked, had it shown them.

    At place k of a logged list the log's policy had put item :math:`a_k` with propensity
    :math:`\pi_0`, and it was clicked or not, :math:`c_k`; the target would have shown :math:`g_k`.
    With :math:`w_k = [g_k = a_k] / \pi_0`, n lists and expected clicks q,

    .. math::
        \mathrm{IPS} &= \tfrac1n \sum_{lists} \sum_k w_k c_k \\
        \mathrm{SNIPS} &= \sum_k \tfrac{n_k}{n}
            \left( \sum_{lists} w_k c_k \middle/ \sum_{lists} w_k \right) \\
        \mathrm{DR} &= \tfrac1n \sum_{lists} \sum_k q(g_k, k) + w_k (c_k - q(a_k, k))

    where :math:`n_k` lists have a place k: all, if lists are equally long.

    The log needs clicks and propensities. What the target shows are numbers of items at the places
    of the log, of shape (n_places,). A model of the reward must not know the clicks of the users
    that it is used for, see `cross_fitted_clicks`. Weights above ``clip`` are cut down to it, which
    trades variance for bias.

    Raises
    ------
    InputError
        If the log has no lists, clicks or propensities, a propensity is not in (0, 1], the target
        shows an item that the log never showed, or nothing matches.

    Notes
    -----
    IPS: Li et al. (2018), the item-position model. SNIPS: Swaminathan & Joachims (2015). DR: Dudík
    et al. (2011). They estimate clicks per list, not the chance of one or more. Errors are those of
    sums over users, as of `analyses.online.clicks.rates.click_through`.

    Examples
    --------
    Two lists of one item; the target would have shown "a" twice, which had a chance of 1/2:

    >>> from dataclasses import replace
    >>> log = Slates.of([["a"], ["b"]], user=["u", "v"], arm=["A", "A"], time=[0, 0])
    >>> log = replace(log, clicked=np.array([True, False]), propensity=np.array([0.5, 0.5]))
    >>> found = off_policy(log, np.zeros(2, dtype=np.int32))
    >>> found.values.tolist(), found.n_matched
    ([1.0, 1.0], 1)
    """
    clicked, propensity = _require_log(slates, shown, clip)
    matches = slates.item == shown
    if not matches.any():
        raise InputError("the target shows nothing that the log showed at the same place.")
    raw = matches / propensity
    weights = raw if clip is None else np.minimum(raw, clip)
    estimates = {"IPS": _mean(slates, weights * clicked), "SNIPS": _snips(slates, weights, clicked)}
    if expected is not None:
        residuals = weights * (clicked - expected.logged)
        estimates["DR"] = _mean(slates, expected.shown + residuals)
    return OffPolicy(
        estimators=tuple(estimates),
        values=np.array([value for value, _ in estimates.values()]),
        errors=np.array([_error(slates, influence) for _, influence in estimates.values()]),
        n_slates=len(slates),
        n_users=len(np.unique(slates.user)),
        n_places=len(slates.item),
        n_matched=int(np.count_nonzero(matches)),
        effective_size=float(weights.sum() ** 2 / (weights**2).sum()),
        largest_weight=float(raw.max()),
        clipped_share=float(1 - weights.sum() / raw.sum()),
        unsupported_share=_unsupported_share(slates, shown),
    )


def _require_log(
    slates: Slates, shown: NDArray[np.int32], clip: float | None
) -> tuple[NDArray[np.bool_], Floats]:
    """Check everything, and give clicks and propensities."""
    if len(slates) == 0:
        raise InputError("an off-policy estimate needs a list, and the log has none.")
    if slates.clicked is None or slates.propensity is None:
        raise InputError("an off-policy estimate needs a log with clicks and propensities.")
    if clip is not None and not clip > 0:
        raise InputError(f"`clip` must be above 0, got {clip}.")
    if len(shown) != len(slates.item):
        raise InputError(
            f"the target must show an item at each of {len(slates.item):,} places, got "
            f"{len(shown):,}."
        )
    never = ~np.isin(shown, slates.item)
    if never.any():
        item = str(slates.items.ids[shown[never.argmax()]])
        raise InputError(
            f"the target shows {item!r}, which the log never showed: nothing is known of it."
        )
    return slates.clicked, slates.propensity


def _mean(slates: Slates, values: Floats) -> tuple[float, Floats]:
    """Mean over lists of sums over places, and the influence of each list on it."""
    sums = np.bincount(slates.slate, values, minlength=len(slates))
    mean = float(sums.mean())
    return mean, (sums - mean) / len(slates)


def _snips(slates: Slates, weights: Floats, clicked: NDArray[np.bool_]) -> tuple[float, Floats]:
    """Rate of clicks at each position, normalised by the weights there, summed over positions."""
    column = slates.position - 1
    totals = np.bincount(column, weights)
    rates = np.divide(
        np.bincount(column, weights * clicked), totals, out=np.zeros_like(totals), where=totals > 0
    )
    shares = np.bincount(column) / len(slates)
    # A position without a match has the rate 0, and no influence.
    scales: Floats = np.divide(shares, totals, out=np.zeros_like(totals), where=totals > 0)
    excess = scales[column] * weights * (clicked - rates[column])
    influence = np.bincount(slates.slate, excess, minlength=len(slates)).astype(np.float64)
    return float((shares * rates).sum()), influence


def _error(slates: Slates, influence: Floats) -> float:
    """Standard error of what lists influence by so much, users being the independent units."""
    users, row = np.unique(slates.user, return_inverse=True)
    if len(users) == 1:
        return float("nan")
    by_user = np.bincount(row, influence)
    return float(np.sqrt(len(users) / (len(users) - 1) * (by_user**2).sum()))


def _unsupported_share(slates: Slates, shown: NDArray[np.int32]) -> float:
    column, n_items = slates.position - 1, len(slates.items)
    known = np.isin(column * n_items + shown, column * n_items + slates.item)
    return float(1 - known.mean())


def cross_fitted_clicks(slates: Slates, shown: NDArray[np.int32], *, seed: int) -> ExpectedClicks:
    """Predict clicks from item and position, for each user from the clicks of others.

    Users fall into folds. For those of one, the chance of a click is the rate of the item at the
    position among the users of the others, as if it had been shown there `STRENGTH` times more with
    the rate of the position. What a target shows is given as for :func:`off_policy`.

    Raises
    ------
    InputError
        If the log has no clicks.
    """
    if slates.clicked is None:
        raise InputError("a model of clicks needs a log with clicks.")
    fold = (random_uniforms(slates.user, seed, "folds") * FOLDS).astype(np.int64)[slates.slate]
    rates = _rates_of_others(slates, slates.clicked, fold)
    column = slates.position - 1
    return ExpectedClicks(rates[fold, slates.item, column], rates[fold, shown, column])


def _rates_of_others(slates: Slates, clicked: NDArray[np.bool_], fold: NDArray[np.int64]) -> Floats:
    """Give the rates outside of each fold, of shape (folds, n_items, n_positions)."""
    column = slates.position - 1
    shape = (FOLDS, len(slates.items), int(column.max()) + 1)
    cells = np.ravel_multi_index((fold, slates.item, column), shape)
    n_cells = int(np.prod(shape))
    inside = [np.bincount(cells, w, minlength=n_cells).reshape(shape) for w in (None, clicked)]
    n_shown, n_clicked = (counts.sum(axis=0) - counts for counts in inside)
    positions = n_clicked.sum(axis=1, keepdims=True) / np.maximum(
        n_shown.sum(axis=1, keepdims=True), 1
    )
    rates: Floats = (n_clicked + STRENGTH * positions) / (n_shown + STRENGTH)
    return rates
