"""What an estimator is, and what a fitted one answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cache, cached_property, lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyses.sampled.estimators.shared.cells import Cells, Group
from analyses.sampled.estimators.shared.equations import Equations
from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.samples.sampled_ranks import SampledRanks
from runs import InputError
from runs.shared.parallel import single_threaded

Floats = NDArray[np.float64]
Metrics = Sequence[RankMetric]
Learn = Callable[[Cells], Floats | None]


@dataclass(frozen=True)
class Estimator:
    """An estimator of exact metrics from sampled ranks: a value with a printed form.

    Attributes
    ----------
    label
        Its name without options.
    linear
        Whether estimates are means over the users of corrected values v(t), or over a learned
        distribution of ranks, where all users have one relevant item.
    sums_ranks
        Whether it takes sums over all ranks, which a grid limits to some cut-offs.
    one_size
        Whether all users must have as many negatives.
    """

    label: ClassVar[str] = ""
    linear: ClassVar[bool] = True
    sums_ranks: ClassVar[bool] = True
    one_size: ClassVar[bool] = True

    def __str__(self) -> str:
        return self.printed()

    def printed(self, *, without: str = "") -> str:
        """Print it, maybe without an option.

        Examples
        --------
        >>> from analyses.sampled.estimators import bv
        >>> bv(0.1).printed(without="prior")
        'BV(gamma=0.1)'
        """
        names = [one.name for one in fields(self) if one.name != without]
        options = ",".join(f"{name}={_shown(getattr(self, name))}" for name in names)
        return f"{self.label}({options})" if options else self.label

    def check(self, cells: Cells) -> None:
        """Refuse samples that the estimator is wrong for."""
        sizes = sorted({group.n_negatives for group in cells.groups})
        if self.one_size and len(sizes) > 1:
            raise InputError(
                f"{self} takes samples of one size, and these have {sizes[0]} to {sizes[-1]} "
                "negatives: use adaptive-mle."
            )

    def learn(self, cells: Cells) -> Floats | None:
        """Learn a distribution of ranks, (n_nodes, n_samples) or one for all; None: uniform."""
        return None

    def correct(self, at: Equations) -> Floats:
        """Correct values: (n_negatives + 1, n_columns).

        By default they are what metrics are expected to be given the sample.
        """
        return at.products / at.reached[:, np.newaxis]

    def fit(self, sampled: SampledRanks, *, path: str = "grid") -> Fits:
        """Fit one sample, as if all users had the mean number of candidates.

        Parameters
        ----------
        sampled
            The sample.
        path
            ``"grid"`` takes sums over ranks on a quadrature grid, which errs by less than 1e-4
            (CLS of AUC apart, whose values are hardly determined); ``"full"`` takes every rank.

        Raises
        ------
        InputError
            If the estimator is wrong for such samples.

        Examples
        --------
        >>> from analyses.sampled.estimators import bv
        >>> from analyses.sampled.samples.sampled_ranks import SampledRanks
        >>> sampled = SampledRanks.of([1, 1, 2, 3], n_negatives=2, n_candidates=5)
        >>> (bv(1.0).fit(sampled).estimate("Recall@1") * 15).round(9)  # (8/15 + 8/15) / 4
        array([4.])
        """
        return self.fit_repeats([sampled], path=path)

    def fit_repeats(self, samples: Sequence[SampledRanks], *, path: str = "grid") -> Fits:
        """Fit repeated samples of the same users at once, each for itself.

        Priors that begin with ``pooled:`` alone see the other repeats.
        """
        if any(one.inverse_mass_above is not None for one in samples):
            raise InputError(
                f"{self} needs negatives drawn uniformly, and these were drawn from a proposal: "
                "use ht-plugin."
            )
        return self.fit_cells(Cells.of(samples, path=path))

    def fit_cells(self, cells: Cells, *, learn: Learn | None = None) -> Fits:
        """Fit samples that were counted before; ranks may be learned in another way."""
        self.check(cells)
        return Fits(self, cells, learn or self.learn)


@dataclass(frozen=True, eq=False)
class Fits:
    """An estimator fitted to repeated samples, or one; every answer has one value a sample."""

    estimator: Estimator
    cells: Cells
    learn: Learn

    @cached_property
    def masses(self) -> Floats | None:
        """The learned distributions of ranks at the nodes, or None."""
        return self.learn(self.cells)

    @cached_property
    def first(self) -> Fits:
        """The fit to each user's first relevant item alone."""
        return Fits(self.estimator, self.cells.first, self.learn)

    def estimate(self, name: str | RankMetric) -> Floats:
        """Estimate a metric such as ``Recall@10``, of shape (n_samples,)."""
        return self.estimates([name])[:, 0]

    def curve(self, name: str, cutoffs: Sequence[int]) -> Floats:
        """Estimate a metric at cut-offs, of shape (n_samples, n_cutoffs)."""
        return self.estimates([f"{name}@{cutoff}" for cutoff in cutoffs])

    def estimates(self, names: Sequence[str | RankMetric]) -> Floats:
        """Estimate metrics, of shape (n_samples, n_metrics), from one fit.

        RR is estimated from what first relevant items tell alone: it asks for no others. A cut-off
        below the top ranks of the grid is refused.
        """
        metrics = self._checked(names)
        apart = np.array([metric.name == "RR" and not self.cells.simple for metric in metrics])
        found = np.empty((self.cells.counts.shape[1], len(metrics)))
        # Matrices are small, and threads that wait for each other slow.
        with single_threaded("blas"):
            for fits, own in ((self, ~apart), (self.first, apart)):
                if own.any():
                    found[:, own] = fits._alike([metrics[n] for n in np.flatnonzero(own).tolist()])
        return found

    def _alike(self, metrics: Metrics) -> Floats:
        """Estimate metrics that one distribution of ranks is learned for."""
        cells, masses, n = self.cells, self.masses, self.cells.nodes.n_irrelevant
        if not self.estimator.linear and cells.simple and masses is not None:
            scores = _scores(cells.nodes.above, n, metrics=metrics, orders=[1])
            return np.asarray(masses.T @ scores)
        total = np.zeros((cells.counts.shape[1], len(metrics)))
        for number in range(len(cells.groups)):
            of_group = cells.cells[:, 0] == number
            (_, order, n_relevant, x), counts = cells.cells[of_group].T, cells.counts[of_group]
            orders = np.unique(order)
            rescaled = [m.rescaling(order, n_relevant, n_irrelevant=n) for m in metrics]
            factors, place = np.stack(rescaled, axis=1), np.searchsorted(orders, order)
            # One distribution serves all samples, or each its own.
            one_for_all = masses is None or masses.shape[1] == 1
            for sample, values in enumerate(self._corrected(number, metrics, orders.tolist())):
                served = slice(None) if one_for_all else slice(sample, sample + 1)
                total[served] += counts[:, served].T @ (factors * values[x, place])
        return total / cells.n_users

    def _corrected(self, group: int, metrics: Metrics, orders: Sequence[int]) -> Iterator[Floats]:
        """Correct values for each distribution: (n_negatives + 1, n_orders, n_metrics)."""
        here, n_users = self.cells.groups[group], self.cells.n_users
        if self.masses is None and list(orders) == [1]:
            yield _uniformly_corrected(self.estimator, astuple(here), n_users, tuple(metrics))
            return
        weights = here.nodes.weights[:, np.newaxis]
        masses = weights if self.masses is None else self.masses
        yield from _corrected(self.estimator, here, masses, n_users, metrics, orders)

    def corrected(self, name: str | RankMetric, *, order: int = 1) -> Floats:
        """Give the corrected values v(1), v(2), ... of a metric, of shape (n_negatives + 1,).

        They may be negative or above 1: they are no metrics of users, only their mean is. They are
        for relevant item number ``order`` of users that have as many, from the first sample.

        Raises
        ------
        InputError
            If there are none, for other estimators, or if a cut-off lies below the top ranks of the
            grid.
        """
        of_first = rank_metric(name).name == "RR" and not self.cells.simple
        return (self.first if of_first else self).all_corrected([name], order=order)[:, 0]

    def all_corrected(self, names: Sequence[str | RankMetric], *, order: int = 1) -> Floats:
        """Give those of metrics, but for RR of several relevant items: (n_negatives + 1, n)."""
        if not self.estimator.linear:
            raise InputError(f"{self.estimator} does not correct values one by one.")
        return next(self._corrected(0, self._checked(names), [order]))[:, 0]

    def bootstrap(self, replicates: int, *, seed: int) -> Fits:
        """Redraw users so many times, and repeat the whole fit, prior, iterations and all.

        Estimates of other systems and metrics with the same seed see the same users. Estimates have
        one value a replicate; their standard deviation is the standard error.
        """
        return Fits(self.estimator, self.cells.resampled(replicates, seed=seed), self.learn)

    def _checked(self, names: Sequence[str | RankMetric]) -> Metrics:
        metrics, nodes = [rank_metric(name) for name in names], self.cells.nodes
        largest = max((metric.cutoff or 0 for metric in metrics), default=0)
        if self.estimator.sums_ranks and len(nodes) > nodes.head < largest:
            raise InputError(
                f"cut-offs on the grid must be at most {nodes.head}, got {largest}; "
                'fit with path="full" for it.'
            )
        return metrics


def _corrected(
    estimator: Estimator,
    here: Group,
    masses: Floats,
    n_users: int,
    metrics: Metrics,
    orders: Sequence[int],
) -> Iterator[Floats]:
    scores = partial(_scores, metrics=metrics, orders=orders)
    exact = cache(partial(scores, here.nodes.above, here.nodes.n_irrelevant))
    for mass in (masses / masses.sum(axis=0)).T:
        asked = Equations(here, mass, scores, exact, n_users)
        yield estimator.correct(asked).reshape(-1, len(orders), len(metrics))


@lru_cache(maxsize=128)
def _uniformly_corrected(
    estimator: Estimator, group: tuple[Any, ...], n_users: int, metrics: tuple[RankMetric, ...]
) -> Floats:
    """Correct values for the uniform prior, the same for all systems: (n_negatives + 1, 1, n)."""
    here = Group(*group)
    masses = here.nodes.weights[:, np.newaxis]
    return next(_corrected(estimator, here, masses, n_users, metrics, [1]))


def _scores(
    above: ArrayLike, n_irrelevant: int, *, metrics: Metrics, orders: Sequence[int]
) -> Floats:
    """Score items with so many irrelevant ones above: (n_above, n_orders * n_metrics).

    They are of users with as many relevant items as the place of the item says.
    """
    ranks = np.asarray(above, dtype=np.float64)
    columns = [
        metric.summands(ranks + j, n=n_irrelevant + j, order=j, n_relevant=j)
        for j in orders
        for metric in metrics
    ]
    return np.stack(columns, axis=1)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
