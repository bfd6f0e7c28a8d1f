"""What an estimator is, and what a fitted one answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import PchipInterpolator

from analyses.sampled.estimators.shared.linear import posterior_means
from analyses.sampled.estimators.shared.tally import Candidates, Group, Tally, tally
from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.expectation.user_moments import Addends, moments_of_mean
from analyses.sampled.samples.sampled_ranks import SampledRanks
from qrels import FullRanks
from runs import InputError
from runs.shared.threads import single_threaded

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Problem:
    """Metrics to be corrected in the samples of a group, for some places of relevant items.

    Masses are distributions of the ranks, one a column: (n_nodes, n_sets); the sample has U users.
    """

    group: Group
    masses: Floats
    metrics: tuple[RankMetric, ...]
    orders: tuple[int, ...]
    n_users: float

    @classmethod
    def of(
        cls,
        tally: Tally,
        group: Group,
        masses: Floats | None,
        metrics: tuple[RankMetric, ...],
        orders: tuple[int, ...],
    ) -> Problem:
        """Take learned distributions among the ranks that the group has, or the uniform one."""
        inside = group.uniform if masses is None else group.within(masses)
        return cls(group, inside, metrics, orders, tally.n_users[0])

    def at(self, above: ArrayLike, *, n_irrelevant: int) -> Floats:
        """Give the metrics of items with so many irrelevant ones above.

        They are those of users with as many relevant items as the place of the item says: (n_above,
        n_orders * n_metrics).
        """
        places = np.asarray(above, dtype=np.float64)
        columns = [
            metric.summands(places + order, n=n_irrelevant + order, order=order, n_relevant=order)
            for order in self.orders
            for metric in self.metrics
        ]
        return np.stack(columns, axis=1)

    @cached_property
    def targets(self) -> Floats:
        """Exact metrics at the nodes, (n_nodes, n_orders * n_metrics)."""
        return self.at(self.group.nodes.above, n_irrelevant=self.group.n_irrelevant)

    def weighted(self) -> Iterator[tuple[Floats, Floats]]:
        """Give P'DP and DP for each distribution: (n_cells, n_cells) and (n_nodes, n_cells)."""
        for gram, mass in zip(self.group.grams(self.masses), self.masses.T, strict=True):
            yield gram, self.group.table * mass[:, np.newaxis]


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
        options = ",".join(f"{one.name}={_shown(getattr(self, one.name))}" for one in fields(self))
        return f"{self.label}({options})" if options else self.label

    def check(self, tally: Tally) -> None:
        """Refuse samples that the estimator is wrong for.

        Raises
        ------
        InputError
            If they were drawn from a proposal, or users have several numbers of negatives.
        """
        if tally.places is not None:
            raise InputError(
                f"{self} needs negatives drawn uniformly, and these were drawn from a proposal: "
                "use ht-plugin."
            )
        sizes = sorted({group.n_negatives for group in tally.groups})
        if self.one_size and len(sizes) > 1:
            raise InputError(
                f"{self} takes samples of one size, and these have {sizes[0]} to {sizes[-1]} "
                "negatives: use adaptive-mle."
            )

    def learn(self, tally: Tally, *, first_only: bool = False) -> Floats | None:
        """Learn a distribution of ranks, (n_nodes, n_samples) or one for all; None: uniform."""
        return None

    def totals(
        self, tally: Tally, metrics: tuple[RankMetric, ...], masses: Floats | None
    ) -> Floats:
        """Add up estimates over all relevant items of all users: (n_samples, n_metrics)."""
        return np.sum(
            [
                self._group_totals(tally, number, metrics, masses)
                for number in range(len(tally.groups))
            ],
            axis=0,
        )

    def _group_totals(
        self, tally: Tally, number: int, metrics: tuple[RankMetric, ...], masses: Floats | None
    ) -> Floats:
        """Add the corrected values of all relevant items of a group: (n_samples, n_metrics)."""
        group, orders = tally.groups[number], tally.orders
        problem = Problem.of(tally, group, masses, metrics, orders)
        of_group = tally.cells[:, 0] == number
        cells, counts = tally.cells[of_group], tally.counts[of_group]
        divisors = _divisors(metrics, cells, n_irrelevant=group.n_irrelevant)
        places = np.searchsorted(np.array(orders), cells[:, 1])
        # One distribution serves all samples, or each its own.
        served = counts.T[np.newaxis] if problem.masses.shape[1] == 1 else counts.T[:, np.newaxis]
        shape = (-1, len(orders), len(metrics))
        return np.concatenate(
            [
                rows @ (divisors * values.reshape(shape)[cells[:, 3], places])
                for rows, values in zip(served, self.corrections(problem), strict=True)
            ]
        )

    def corrections(self, problem: Problem) -> Iterator[Floats]:
        """Correct values for each distribution: (n_negatives + 1, n_orders * n_metrics).

        By default they are what metrics are expected to be given the sample.
        """
        for mass in problem.masses.T:
            yield posterior_means(problem.group.table, mass, problem.targets)

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
            (CLS of AUC apart, whose values are hardly determined);
            ``"full"`` takes every rank.

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
        return self.fit_tally(tally(samples, n=n, path=path))

    def fit_tally(self, counted: Tally, *, masses: Floats | None = None) -> Fits:
        """Fit repeated samples that were counted before, once for many estimators.

        Parameters
        ----------
        counted
            The samples.
        masses
            Distribution of the ranks at the nodes to take instead of learning one: of shape
            (n_nodes, n_samples), or (n_nodes, 1) for all samples of a linear estimator.

        Raises
        ------
        InputError
            If the estimator is wrong for such samples.
        """
        self.check(counted)
        return Fits(self, counted, masses)


@dataclass(frozen=True, eq=False)
class Fits:
    """An estimator fitted to repeated samples; every answer has one value a sample.

    Parameters
    ----------
    estimator
        What was fitted.
    tally
        The samples.
    given
        Distribution of the ranks that takes the place of a learned one, or None.
    """

    estimator: Estimator
    tally: Tally
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
            self._learned[first_only] = self.estimator.learn(self.tally, first_only=first_only)
        return self._learned[first_only]

    def estimate(self, name: str | RankMetric) -> Floats:
        """Estimate a metric such as ``Recall@10``, of shape (n_samples,)."""
        return self.estimates([name])[:, 0]

    def curve(self, name: str, cutoffs: Sequence[int]) -> Floats:
        """Estimate a metric at cut-offs, of shape (n_samples, n_cutoffs)."""
        return self.estimates([f"{name}@{cutoff}" for cutoff in cutoffs])

    def estimates(self, names: Sequence[str | RankMetric]) -> Floats:
        """Estimate metrics, of shape (n_samples, n_metrics), from one fit.

        Raises
        ------
        InputError
            If a cut-off lies below the top ranks of the grid.
        """
        return self._answers(tuple(rank_metric(name) for name in names), self._estimates)

    def _answers(
        self,
        metrics: tuple[RankMetric, ...],
        answer: Callable[[tuple[RankMetric, ...], bool], Floats],
    ) -> Floats:
        """Answer for all metrics, the last axis: for RR from what first relevant items tell alone.

        RR asks for no others, so that they tell it nothing.
        """
        self._check_cutoffs(metrics)
        apart = np.array([metric.name == "RR" and not self.tally.simple for metric in metrics])
        sets = [np.flatnonzero(chosen) for chosen in (apart, ~apart) if chosen.any()]
        # Matrices are small, and threads that wait for each other slow.
        with single_threaded("blas"):
            answers = [
                answer(tuple(metrics[n] for n in some), bool(apart[some[0]])) for some in sets
            ]
        return np.concatenate(answers, axis=-1)[..., np.argsort(np.concatenate(sets))]

    def _estimates(self, metrics: tuple[RankMetric, ...], first_only: bool) -> Floats:
        masses = self.masses(first_only=first_only)
        if not self.estimator.linear and self.tally.simple and masses is not None:
            problem = Problem.of(self.tally, self.tally.groups[0], masses, metrics, (1,))
            return masses.T @ problem.targets
        totals = self.estimator.totals(self.tally, metrics, masses)
        return totals / self.tally.n_users[:, np.newaxis]

    def corrected(self, names: Sequence[str | RankMetric], *, orders: Sequence[int]) -> Floats:
        """Correct values from the first sample, for users with as many relevant items as the place.

        Returns
        -------
        Of shape (n_groups, n_orders, n_negatives + 1, n_metrics); orders are places of relevant
        items among those of their user.

        Raises
        ------
        InputError
            If the estimator corrects no values one by one, or a cut-off lies below the top ranks
            of the grid.
        """
        if not self.estimator.linear:
            raise InputError(f"{self.estimator} does not correct values one by one.")

        def answer(metrics: tuple[RankMetric, ...], first_only: bool) -> Floats:
            masses, values = self.masses(first_only=first_only), []
            for group in self.tally.groups:
                problem = Problem.of(self.tally, group, masses, metrics, tuple(orders))
                corrected = next(self.estimator.corrections(problem))
                values.append(corrected.reshape(-1, len(orders), len(metrics)).swapaxes(0, 1))
            return np.stack(values)

        return self._answers(tuple(rank_metric(name) for name in names), answer)

    def addends(self, names: Sequence[str | RankMetric], *, n_orders: int) -> Addends:
        """Give what relevant items, up to n_orders of a user, add to estimates.

        Values are corrected from the first sample.

        Raises
        ------
        InputError
            As for :meth:`corrected`.
        """
        groups = self.tally.groups
        return Addends(
            metrics=tuple(rank_metric(name) for name in names),
            values=self.corrected(names, orders=range(1, n_orders + 1)),
            sizes=np.array([group.n_irrelevant for group in groups]),
            replace=groups[0].replace,
        )

    def _check_cutoffs(self, metrics: Sequence[RankMetric]) -> None:
        if not self.estimator.sums_ranks:
            return
        head = self.tally.nodes.head
        largest = max((metric.cutoff or 0 for metric in metrics), default=0)
        if head < len(self.tally.nodes) and largest > head:
            raise InputError(
                f"cut-offs on the grid must be at most {head}, got {largest}; "
                'fit with path="full" for it.'
            )


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
        nodes = self.fits.tally.nodes
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
        self._require_one_group()
        return self.fits.corrected([name], orders=[order])[0, 0, :, 0]

    def _require_one_group(self) -> None:
        if len(self.fits.tally.groups) > 1:
            raise InputError("numbers of candidates differ, and with them the corrected values.")

    def expectation(self, name: str | RankMetric, ranks: ArrayLike | FullRanks) -> float:
        r"""Give the mean of the estimate over samples, were the true ranks these.

        .. math:: \frac1U \sum_u \sum_j \mathrm{E}[v_j(x_{uj})]

        with v held fixed.

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
        addends, full = self._asked(name, ranks)
        return float(addends.means(full).mean())

    def variance(self, name: str | RankMetric, ranks: ArrayLike | FullRanks) -> float:
        r"""Give the variance of the estimate over samples, were the true ranks these.

        .. math:: \frac1{U^2} \sum_u \mathrm{Var}[v(x_u)]

        with v held fixed; the users, with one relevant item each, do not vary: for that, see
        `bootstrap`. Arguments and errors are those of :meth:`expectation`.
        """
        addends, full = self._asked(name, ranks)
        return float(moments_of_mean(addends.moments(full)).variance[0])

    def _asked(
        self, name: str | RankMetric, ranks: ArrayLike | FullRanks
    ) -> tuple[Addends, FullRanks]:
        if not isinstance(ranks, FullRanks):
            self._require_one_group()
            n_candidates = self.fits.tally.groups[0].n_irrelevant + 1
            ranks = FullRanks.of(ranks, n_candidates=n_candidates)
        return self.fits.addends([name], n_orders=int(ranks.order.max(initial=1))), ranks

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
        error. The counts of all cells are held for all replicates; samples of a proposal have a
        cell for each row.
        """
        drawn = self.fits.tally.resampled(replicates=replicates, seed=seed)
        return Fits(self.fits.estimator, drawn, self.fits.given)


def _divisors(metrics: Sequence[RankMetric], cells: Integers, *, n_irrelevant: int) -> Floats:
    """Give what a user's number of relevant items changes: (n_cells, n_metrics)."""
    orders, n_relevant = cells[:, 1], cells[:, 2]
    columns = [m.rescaling(orders, n_relevant, n_irrelevant=n_irrelevant) for m in metrics]
    return np.stack(columns, axis=1)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
