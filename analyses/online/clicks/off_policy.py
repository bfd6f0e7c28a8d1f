"""Off-policy estimates: how many clicks a model's lists would have had, from another's log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.rates import with_limits
from analyses.online.logs.recommendations import rows_in_order
from analyses.online.logs.slates import Slates
from qrels.interactions.columns import read_floats, read_ids
from qrels.interactions.table import LogTable
from runs import InputError, Numbering

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


class Target(NamedTuple):
    """What a policy would do at the places of a log, of shape (n_places,) all.

    The chance that it shows the logged item there; and, for DR, clicks that a model of the reward
    expects of the logged item, and of what the policy would show.
    """

    chance: Floats
    logged: Floats | None = None
    shown: Floats | None = None


@dataclass(frozen=True, eq=False)
class OffPolicy:
    r"""Expected clicks per list of a target, estimated from the log of another policy.

    Estimators are "IPS", "SNIPS" and, with a model of the reward, "DR"; values and standard errors
    over users have the shape (n_estimators,). Matched are places where the target may show what the
    log showed, all that IPS learns from; the effective size, :math:`(\sum w)^2 / \sum w^2`, are
    places of a log with equal weights that would say as much. What a target earns by items that the
    log never showed at that position is not in the estimates (of DR, only by the model).
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

    def to_frame(self) -> pd.DataFrame:
        """One row per estimator.

        Columns estimator, clicks_per_slate, error, low, high (95 %, over users), slates, users,
        matched_places, effective_size and largest_weight.
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
            }
        )

    def caption(self) -> str:
        """Say what the estimates assume and rest on."""
        return (
            f"Expected clicks per list, from {self.n_slates:,} logged lists of {self.n_users:,} "
            f"users; {self.n_matched:,} of {self.n_places:,} places match, worth "
            f"{self.effective_size:,.0f} equally weighted ones, the largest weight being "
            f"{self.largest_weight:,.1f}. Clicks are taken to depend on item and position alone. "
            "95 % intervals are over users."
        )


def off_policy(slates: Slates, target: NDArray[np.int32] | Target) -> OffPolicy:
    r"""Estimate how often a target's lists would have been clicked, had it shown them.

    At place k of a logged list the log's policy had put item :math:`a_k` with propensity
    :math:`\pi_0`, and it was clicked or not, :math:`c_k`; the target would have shown it with the
    chance :math:`\pi(a_k)`, which is 1 or 0 of one that shows an item for sure. With
    :math:`w_k = \pi(a_k) / \pi_0`, n lists and expected clicks q,

    .. math::
        \mathrm{IPS} &= \tfrac1n \sum_{lists} \sum_k w_k c_k \\
        \mathrm{SNIPS} &= \sum_k \tfrac{n_k}{n}
            \left( \sum_{lists} w_k c_k \middle/ \sum_{lists} w_k \right) \\
        \mathrm{DR} &= \tfrac1n \sum_{lists} \sum_k E_\pi q(k) + w_k (c_k - q(a_k, k))

    where :math:`n_k` lists have a place k: all, if lists are equally long.

    The log needs clicks and propensities. A target is numbers of items at the places of the log, of
    shape (n_places,), or a `Target`. A model of the reward must not know the clicks of the users
    that it is used for.

    Raises
    ------
    InputError
        If the log has no lists, clicks or propensities, a chance is not in [0, 1], the target shows
        an item that the log never showed, or nothing matches.

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
    >>> off_policy(log, Target(np.array([0.25, 0.75]))).values.tolist()
    [0.25, 0.25]
    """
    clicked, propensity = _require_log(slates)
    policy = target if isinstance(target, Target) else _deterministic(slates, target)
    _require_chances(slates, policy.chance)
    weights = policy.chance / propensity
    estimates = {"IPS": _mean(slates, weights * clicked), "SNIPS": _snips(slates, weights, clicked)}
    if policy.logged is not None and policy.shown is not None:
        residuals = weights * (clicked - policy.logged)
        estimates["DR"] = _mean(slates, policy.shown + residuals)
    return OffPolicy(
        estimators=tuple(estimates),
        values=np.array([value for value, _ in estimates.values()]),
        errors=np.array([_error(slates, influence) for _, influence in estimates.values()]),
        n_slates=len(slates),
        n_users=len(np.unique(slates.user)),
        n_places=len(slates.item),
        n_matched=int(np.count_nonzero(weights)),
        effective_size=float(weights.sum() ** 2 / (weights**2).sum()),
        largest_weight=float(weights.max()),
    )


def _require_log(slates: Slates) -> tuple[NDArray[np.bool_], Floats]:
    """Give clicks and propensities."""
    if len(slates) == 0:
        raise InputError("an off-policy estimate needs a list, and the log has none.")
    if slates.clicked is None or slates.propensity is None:
        raise InputError("an off-policy estimate needs a log with clicks and propensities.")
    return slates.clicked, slates.propensity


def _deterministic(slates: Slates, shown: NDArray[np.int32]) -> Target:
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
    return Target((slates.item == shown).astype(np.float64))


def _require_chances(slates: Slates, chances: Floats) -> None:
    if chances.shape != slates.item.shape or not ((chances >= 0) & (chances <= 1)).all():
        raise InputError(
            f"a target needs a chance in [0, 1] at each of {len(slates.item):,} places."
        )
    if not chances.any():
        raise InputError("the target shows nothing that the log showed at the same place.")


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


def read_target(path: Path, slates: Slates) -> NDArray[np.int32] | Target:
    """Read what a policy would have done in place of each list of a log, under its ``rec_id``.

    Either other items, in ``items`` or ``item``; or, of a stochastic policy, ``propensity``: its
    chance of what the log showed. Both are lists as long as those of the log, or stand in a row for
    each ``position``. Refused are lists that are missing or of another length, and items that
    neither table of the log has.
    """
    table = LogTable.open(path)
    by_place = "position" in table
    name = "propensity" if "propensity" in table else "item" if by_place else "items"
    table.require("rec_id", name)
    rec = read_ids(table.column("rec_id"), table.fail("rec_id"))
    if by_place:
        rows = rows_in_order(table, rec)
        order, values, fail = rows, table.column(name), table.fail(name)
        ids, first = rec.ids, np.cumsum([0, *np.bincount(rec.places)])
    else:
        table.require_once("rec_id", rec)
        lists = table.lists(name)
        values, fail, ids, first = lists.values, lists.fail, rec.ids[rec.places], lists.first
        rows, order = np.repeat(np.arange(len(ids)), np.diff(first)), np.arange(first[-1])
    own = _rows_of(ids, table, slates)
    _require_lengths(np.diff(first)[own], rows[first[own]], table, slates)
    places = np.repeat(first[own] - slates.first[:-1], slates.lengths) + np.arange(len(slates.item))
    if name == "propensity":
        return Target(read_floats(values, fail)[order][places])
    items = read_ids(values, fail)
    unknown = items.numbers(slates.items)[order][places] < 0
    if unknown.any():
        at = places[unknown.argmax()]
        finding = f"{items[order[at]]!r} is in neither table of the log: nothing is known of it."
        raise table.error(name, int(rows[at]), finding)
    return items.numbers(slates.items)[order][places]


def _rows_of(ids: NDArray[np.str_], table: LogTable, slates: Slates) -> NDArray[np.intp]:
    """Find the row of the table that stands for each list of the log, of shape (n_slates,)."""
    at = Numbering.of(ids).numbers(slates.ids)
    if (at < 0).any():
        raise InputError(
            f"{table.path}: there must be a list for each one in the log, but "
            f"{str(slates.ids[(at < 0).argmax()])!r} has none."
        )
    return np.argsort(ids)[at]


def _require_lengths(
    lengths: NDArray[np.int64], rows: NDArray[np.integer], table: LogTable, slates: Slates
) -> None:
    differing = lengths != slates.lengths
    if differing.any():
        at = int(differing.argmax())
        finding = (
            f"list {str(slates.ids[at])!r} has {slates.lengths[at]} items in the log, got "
            f"{lengths[at]}."
        )
        raise table.error("rec_id", int(rows[at]), finding)
