"""What an estimator is, and what a fitted one answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import PchipInterpolator

from analyses.sampled.estimators.shared.cells import Candidates, Cells, Group
from analyses.sampled.estimators.shared.equations import Equations
from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.expectation.rank_pmf import moments
from analyses.sampled.samples.sampled_ranks import SampledRanks
from qrels import FullRanks
from runs import InputError
from runs.shared.threads import single_threaded

Floats = NDArray[np.float64]
Metrics = tuple[RankMetric, ...]
Orders = tuple[int, ...]


@dataclass(frozen=True)
class Estimator:
    """An estimator of exact metrics from sampled ranks: a value with a printed form.

    Attributes
    ----------
    label
        Its name without options.
    linear
        Whether estimates are means over the users of corrected values v(t), or over a learned
        distribution of ranks, where all users have one relevant item and one number of candidates.
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
        """Refuse samples that the estimator is wrong for.

        Raises
        ------
        InputError
            If users have several numbers of negatives, and it takes one.
        """
        sizes = sorted({group.n_negatives for group in cells.groups})
        if self.one_size and len(sizes) > 1:
            raise InputError(
                f"{self} takes samples of one size, and these have {sizes[0]} to {sizes[-1]} "
                "negatives: use adaptive-mle."
            )

    def learn(self, cells: Cells, *, first_only: bool = False) -> Floats | None:
        """Learn a distribution of ranks, (n_nodes, n_samples) or one for all; None: uniform."""
        return None

    def correct(self, at: Equations) -> Floats:
        """Correct values: (n_negatives + 1, n_columns).

        By default they are what metrics are expected to be given the sample.
        """
        return at.products / at.reached[:, np.newaxis]

    def fit(self, sampled: SampledRanks, *, n: Candidates = "mean", path: str = "grid") -> Fitted:
        """Fit one sample.

        Parameters
        ----------
        sampled
            The sample.
        n
            Candidates, the relevant items among them: a number, ``"mean"`` for the mean of the
            sample or ``"users"`` for each user's own, rounded to steps of 2 %.
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
        >>> print(round(bv(1.0).fit(sampled).estimate("Recall@1") * 15, 9))  # (8/15 + 8/15) / 4
        4.0
        """
        return Fitted(self.fit_repeats([sampled], n=n, path=path))

    def fit_repeats(
        self, samples: Sequence[SampledRanks], *, n: Candidates = "mean", path: str = "grid"
    ) -> Fits:
        """Fit repeated samples of the same users at once, each for itself.

        Priors that begin with ``pooled:`` alone see the other repeats.
        """
        if any(one.inverse_mass_above is not None for one in samples):
            raise InputError(
                f"{self} needs negatives drawn uniformly, and these were drawn from a proposal: "
                "use ht-plugin."
            )
        return self.fit_cells(Cells.of(samples, n=n, path=path))

    def fit_cells(self, cells: Cells, *, masses: Floats | None = None) -> Fits:
        """Fit repeated samples that were counted before, once for many estimators.

        A distribution of the ranks at the nodes, (n_nodes, 1) or one for each sample, may be given
        instead of a learned one.
        """
        self.check(cells)
        return Fits(self, cells, masses)


@dataclass(frozen=True, eq=False)
class Fits:
    """An estimator fitted to repeated samples; every answer has one value a sample.

    Parameters
    ----------
    estimator, cells
        What was fitted, and the samples.
    given
        Distribution of the ranks that takes the place of a learned one, or None.
    """

    estimator: Estimator
    cells: Cells
    given: Floats | None = None
    _learned: dict[bool, Floats | None] = field(default_factory=dict, init=False, repr=False)

    def masses(self, *, first_only: bool = False) -> Floats | None:
        """Give the learned distributions of ranks at the nodes, or None.

        Raises
        ------
        InputError
            If a distribution of all relevant items was given, and one of the first is needed.
        """
        if self.given is not None:
            if first_only:
                raise InputError("RR needs the ranks of the first relevant items, not of all.")
            return self.given
        if first_only not in self._learned:
            self._learned[first_only] = self.estimator.learn(self.cells, first_only=first_only)
        return self._learned[first_only]

    def estimate(self, name: str | RankMetric) -> Floats:
        """Estimate a metric such as ``Recall@10``, of shape (n_samples,)."""
        return self.estimates([name])[:, 0]

    def curve(self, name: str, cutoffs: Sequence[int]) -> Floats:
        """Estimate a metric at cut-offs, of shape (n_samples, n_cutoffs)."""
        return self.estimates([f"{name}@{cutoff}" for cutoff in cutoffs])

    def estimates(self, names: Sequence[str | RankMetric]) -> Floats:
        """Estimate metrics, of shape (n_samples, n_metrics), from one fit.

        RR is estimated from what first relevant items tell alone: it asks for no others.

        Raises
        ------
        InputError
            If a cut-off lies below the top ranks of the grid.
        """
        metrics = self._checked(names)
        apart = np.array([metric.name == "RR" and not self.cells.simple for metric in metrics])
        found = np.empty((self.cells.counts.shape[1], len(metrics)))
        # Matrices are small, and threads that wait for each other slow.
        with single_threaded("blas"):
            for first_only in np.unique(apart).tolist():
                some = np.flatnonzero(apart == first_only)
                found[:, some] = self._alike(tuple(metrics[n] for n in some), first_only)
        return found

    def _alike(self, metrics: Metrics, first_only: bool) -> Floats:
        """Estimate metrics that one distribution of ranks is learned for."""
        cells, masses = self.cells, self.masses(first_only=first_only)
        if not self.estimator.linear and cells.simple and masses is not None:
            above, n_irrelevant = cells.nodes.above, cells.groups[0].n_irrelevant
            return np.asarray(masses.T @ _scores(metrics, (1,), above, n_irrelevant))
        total = np.zeros((cells.counts.shape[1], len(metrics)))
        for number, group in enumerate(cells.groups):
            of_group = cells.cells[:, 0] == number
            (_, order, n_relevant, x), counts = cells.cells[of_group].T, cells.counts[of_group]
            orders = np.unique(order)
            rescaled = [
                m.rescaling(order, n_relevant, n_irrelevant=group.n_irrelevant) for m in metrics
            ]
            factors, place = np.stack(rescaled, axis=1), np.searchsorted(orders, order)
            every = self._corrected(number, metrics, tuple(orders.tolist()), masses)
            # One distribution serves all samples, or each its own.
            one_for_all = masses is None or masses.shape[1] == 1
            for sample, values in enumerate(every):
                served = slice(None) if one_for_all else slice(sample, sample + 1)
                total[served] += counts[:, served].T @ (factors * values[x, place])
        return total / cells.n_users

    def _corrected(
        self, group: int, metrics: Metrics, orders: Orders, masses: Floats | None
    ) -> Iterator[Floats]:
        """Correct values for each distribution: (n_negatives + 1, n_orders, n_metrics)."""
        here = self.cells.groups[group]

        def at(above: ArrayLike, n_irrelevant: int) -> Floats:
            return _scores(metrics, orders, above, n_irrelevant)

        exact = at(here.nodes.above, here.n_irrelevant)
        for mass in here.within(masses).T:
            asked = Equations(here, mass, exact, at, self.cells.n_users)
            yield self.estimator.correct(asked).reshape(-1, len(orders), len(metrics))

    def corrected(self, name: str | RankMetric, *, order: int = 1) -> list[Floats]:
        """Correct the values of a metric from the first sample, a column for each group.

        Raises
        ------
        InputError
            If the estimator corrects no values one by one, or a cut-off lies below the top ranks
            of the grid.
        """
        if not self.estimator.linear:
            raise InputError(f"{self.estimator} does not correct values one by one.")
        metrics = self._checked([name])
        masses = self.masses(first_only=metrics[0].name == "RR" and not self.cells.simple)
        groups = range(len(self.cells.groups))
        return [next(self._corrected(g, metrics, (order,), masses))[:, 0, 0] for g in groups]

    def expected(self, ranks: FullRanks) -> Fits:
        """Fit samples as they are expected of these ranks, with the distribution that was learned.

        Raises
        ------
        InputError
            If the estimator is not linear.
        """
        if not self.estimator.linear:
            raise InputError(f"{self.estimator} does not correct values one by one.")
        masses = self.masses()
        return Fits(
            self.estimator, self.cells.expected(ranks), None if masses is None else masses[:, :1]
        )

    def bootstrap(self, replicates: int, *, seed: int) -> Fits:
        """Redraw users and repeat the whole fit, prior, iterations and all.

        Parameters
        ----------
        replicates
            How many times.
        seed
            Estimates of other systems and metrics with the same seed see the same users.

        Returns
        -------
        Fits whose estimates have one value a replicate; their standard deviation is the standard
        error. The counts of all cells are held for all replicates.
        """
        return Fits(self.estimator, self.cells.resampled(replicates, seed=seed), self.given)

    def _checked(self, names: Sequence[str | RankMetric]) -> Metrics:
        metrics = tuple(rank_metric(name) for name in names)
        nodes = self.cells.nodes
        largest = max((metric.cutoff or 0 for metric in metrics), default=0)
        if self.estimator.sums_ranks and len(nodes) > nodes.head < largest:
            raise InputError(
                f"cut-offs on the grid must be at most {nodes.head}, got {largest}; "
                'fit with path="full" for it.'
            )
        return metrics


@dataclass(frozen=True, eq=False)
class Fitted:
    """An estimator fitted to one sample.

    Parameters
    ----------
    fits
        The fit, as that of one repeat.
    """

    fits: Fits

    def estimate(self, name: str | RankMetric) -> float:
        """Estimate a metric such as ``Recall@10``."""
        return float(self.fits.estimate(name)[0])

    def curve(self, name: str, cutoffs: Sequence[int]) -> Floats:
        """Estimate a metric at cut-offs, of shape (n_cutoffs,)."""
        return self.fits.curve(name, cutoffs)[0]

    def bootstrap(self, replicates: int, *, seed: int) -> Fits:
        """Redraw users and repeat the whole fit; see `Fits.bootstrap`."""
        return self.fits.bootstrap(replicates, seed=seed)

    def rank_distribution(self) -> Floats:
        """Give the estimated share of the users at each rank, from 1: (n_candidates,).

        On the grid, it is interpolated between nodes.

        Raises
        ------
        InputError
            If the estimator learns none.
        """
        mass = self.fits.masses()
        if mass is None:
            raise InputError(f"{self.fits.estimator} estimates no distribution of ranks.")
        nodes = self.fits.cells.nodes
        angles = np.arcsin(np.sqrt(nodes.above / nodes.above[-1]))
        density = PchipInterpolator(angles, mass[:, 0] / nodes.weights)
        ranks = np.arange(nodes.above[-1] + 1)
        shares: Floats = density(np.arcsin(np.sqrt(ranks / nodes.above[-1])))
        return shares / shares.sum()

    def corrected(self, name: str | RankMetric, *, order: int = 1) -> Floats:
        """Give the corrected values v(1), v(2), ... of a metric, of shape (n_negatives + 1,).

        They may be negative or above 1: they are no metrics of users, only their mean is. They are
        for relevant item number ``order`` of users that have as many.

        Raises
        ------
        InputError
            If there are none, or several: for other estimators, and samples of several sizes; or if
            a cut-off lies below the top ranks of the grid.
        """
        self._one_group()
        return self.fits.corrected(name, order=order)[0]

    def _one_group(self) -> Group:
        first, *others = self.fits.cells.groups
        if others:
            raise InputError("numbers of candidates differ, and with them the corrected values.")
        return first

    def expectation(self, name: str | RankMetric, ranks: ArrayLike | FullRanks) -> float:
        """Give the mean of the estimate over samples, were the true ranks these, v held fixed.

        Parameters
        ----------
        name
            The metric.
        ranks
            Full ranks of users with one or several relevant items and candidates of their own,
            sampled as they are and corrected for the candidates that the fit takes; or ranks from
            1 of users with one relevant item and the candidates of the fit, of shape (n_users,).

        Raises
        ------
        InputError
            If the estimator is not linear, a rank is out of range, or plain ranks meet a fit with
            several numbers of candidates.
        """
        return float(self.fits.expected(self._full(ranks)).estimate(name)[0])

    def variance(self, name: str | RankMetric, ranks: ArrayLike | FullRanks) -> float:
        """Give the variance of the estimate over samples, were the true ranks these, v held fixed.

        Users, with one relevant item each, do not vary: for that, see `bootstrap`. Arguments and
        errors are those of :meth:`expectation`, but that users may not have several numbers of
        candidates to be corrected for.
        """
        full, group = self._full(ranks), self._one_group()
        _, variance = moments(full, self.corrected(name)[:, np.newaxis], replace=group.replace)
        return float(variance[0])

    def _full(self, ranks: ArrayLike | FullRanks) -> FullRanks:
        if isinstance(ranks, FullRanks):
            return ranks
        return FullRanks.of(ranks, n_candidates=self._one_group().n_irrelevant + 1)


def _scores(metrics: Metrics, orders: Orders, above: ArrayLike, n_irrelevant: int) -> Floats:
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
