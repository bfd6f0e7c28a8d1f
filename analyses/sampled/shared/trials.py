"""The one experiment: full ranks are sampled again and again, and metrics are estimated from that.

Ways to estimate (an estimator with its prior and iterations, given samples of a design) by metric,
system and repeat. Studies ask it for some ways, and look at its frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from scipy.special import ndtr

from analyses.sampled.estimators import Cells, Estimator, Fits
from analyses.sampled.estimators.ht_plugin import HorvitzThompson
from analyses.sampled.estimators.learned_priors import WithPrior
from analyses.sampled.estimators.mle import AdaptiveMaximumLikelihood, MaximumLikelihood
from analyses.sampled.estimators.shared.nodes import HEAD
from analyses.sampled.expectation.crossings import DECIMALS, first_of
from analyses.sampled.expectation.metrics import RankMetric, rank_metric
from analyses.sampled.expectation.rank_pmf import moments
from analyses.sampled.samples.designs import Adaptive, Design
from analyses.sampled.samples.from_candidates import Negatives
from analyses.sampled.samples.sampled_ranks import SampledRanks
from analyses.sampled.shared.facts import Drawn, Ranked, coverage, mean_of_users, tidy
from analyses.sampled.shared.settings import DrawnSettings, read_metrics
from analyses.shared.drawing import axes_or_new, chosen_panel
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, tables_of
from analyses.significance.permutation.pairs import pair_indices
from qrels import FullRanks
from qrels.ranks.candidate_ranks import CandidateRanks
from runs import InputError
from runs.shared.processes import processes
from runs.shared.threads import single_threaded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]
Made = TypeVar("Made", bound="Experiment")

Draws = Literal["items", "shared", "independent"]

CUTOFFS = range(1, 51)
"""Where a curve is compared with the true one."""

CURVES = ("Recall", "nDCG", "AP")
"""Those that Li et al. (2023) look at."""


ROUNDING = 1e-6
"""Bias below it is that of the grid."""

NUMBERS = ("bias", "noise", "in_expectation", "in_samples", "covered", "winner")
"""What is known of every way; see `Experiment.numbers`."""

RESAMPLED = 20
"""Samples of which users are resampled, if they are."""

LEAST_COVERED = 90
"""Of 100 intervals; an estimator whose intervals hold the truth in fewer is not for levels."""


@dataclass(frozen=True)
class Way:
    """An estimator and its samples, maybe with an oracle: the true ranks as prior."""

    estimator: Estimator
    design: Design
    oracle: bool = False

    def fit(
        self, samples: Sequence[SampledRanks], cells: Cells, *, true: FullRanks | None = None
    ) -> Fits:
        """Fit repeated samples, which were counted; only Horvitz-Thompson sees their chances."""
        if isinstance(self.estimator, HorvitzThompson):
            return self.estimator.fit_repeats(samples)
        learn = partial(Cells.true_masses, ranks=true) if self.oracle and true else None
        return self.estimator.fit_cells(cells, learn=learn)


def takes(estimator: Estimator, design: Design) -> bool:
    """Say whether an estimator is for such samples: adaptive ones for adaptive, else others."""
    return isinstance(estimator, AdaptiveMaximumLikelihood) == isinstance(design, Adaptive)


def whole_curves(names: Sequence[str | RankMetric]) -> tuple[RankMetric, ...]:
    """Take the whole curves of metrics, each once and up to the last cut-off; if none, the usual.

    Examples
    --------
    >>> [str(metric) for metric in whole_curves(["Recall@10", "AP", "AUC"])]
    ['Recall@50', 'AP@50']
    """
    cut = [metric for metric in map(rank_metric, names) if metric.name != "AUC"]
    chosen = cut or map(rank_metric, CURVES)
    return tuple(dict.fromkeys(replace(metric, cutoff=CUTOFFS[-1]) for metric in chosen))


def relative_error(estimates: Floats, truth: Floats) -> Floats:
    r"""Compare curves, (..., n_cutoffs), with the true one, (n_cutoffs,), in per cent: (...).

    .. math:: 100 \cdot \mathrm{mean}_K \frac{|\hat M@K - M@K|}{M@K}

    Cut-offs where the truth is 0 are left out, since nothing can be relative to it; it is NaN if
    that is so at all of them. The released code of Li et al. (2023) takes estimates there for
    right.

    Examples
    --------
    >>> relative_error(np.array([[0.3, 0.75, 0.5]]), np.array([0.0, 0.5, 1.0]))
    array([50.])
    """
    known = truth != 0
    if not known.any():
        return np.full(estimates.shape[:-1], np.nan)
    off = np.abs(estimates - truth)[..., known] / truth[known]
    return np.asarray(100 * off.mean(axis=-1))


def path_for(metrics: Sequence[RankMetric]) -> str:
    """Say where to take sums over ranks: on the grid, unless a cut-off lies below its head."""
    return "grid" if max(metric.cutoff or 0 for metric in metrics) <= HEAD else "full"


def curve_of(metric: RankMetric) -> list[RankMetric]:
    """Give a metric at all cut-offs; AUC has none."""
    return [replace(metric, cutoff=k) for k in CUTOFFS if metric.name != "AUC"]


@dataclass(frozen=True, eq=False)
class Trial:
    """One system, sampled again and again, from a first number of the repeat on.

    Systems share the random numbers of a repeat, if they have the same first one; or the items, if
    it is known how the system ranks all candidates. So many times are users of the first samples
    resampled.
    """

    ranks: FullRanks
    metrics: tuple[RankMetric, ...]
    repeats: int
    seed: int
    expect: bool
    first: int
    every: CandidateRanks | None
    replicates: int

    @cached_property
    def columns(self) -> list[RankMetric]:
        """All that is estimated: the metrics, and those of their curves, each once."""
        curves = (each for metric in self.metrics for each in curve_of(metric))
        return [*dict.fromkeys([*self.metrics, *curves])]

    def places(self, metrics: Sequence[RankMetric]) -> list[int]:
        """Find metrics among the columns."""
        return [self.columns.index(metric) for metric in metrics]

    @cached_property
    def truth(self) -> Floats:
        """Every column among all candidates."""
        return np.array([metric.exact(self.ranks) for metric in self.columns])

    @cached_property
    def curves(self) -> list[list[int]]:
        """Places of the curve of each metric among the columns."""
        return [self.places(curve_of(metric)) for metric in self.metrics]

    def find(self, ways: Sequence[Way]) -> dict[str, Any]:
        """Estimate in all ways: what `Experiment` has of one system."""
        drawn = {design: self._draw(design) for design in dict.fromkeys(w.design for w in ways)}
        count = cache(lambda design, path: Cells.of(drawn[design], path=path))
        found = []
        for way in ways:
            samples, path = drawn[way.design], "full" if way.oracle else path_for(self.columns)
            of_way = self._estimated(way, samples, count(way.design, path))
            if self.replicates:
                of_way["resampled"] = self._resampled(way, samples, path)
            found.append(of_way | {"scored": _mean_length(samples)})
        return {name: np.array([each[name] for each in found]) for name in found[0]} | {
            "exact": self.truth[self.places(self.metrics)],
            "zero_cutoffs": np.array([(self.truth[of] == 0).sum() for of in self.curves]),
            "spread": np.array([metric.of_users(self.ranks).std() for metric in self.metrics]),
        }

    def _estimated(self, way: Way, samples: Sequence[SampledRanks], cells: Cells) -> dict[str, Any]:
        fits = way.fit(samples, cells, true=self.ranks)
        values = fits.estimates(self.columns)[: self.repeats]
        own, likelihoods = values[:, self.places(self.metrics)], np.full(len(values), np.nan)
        if isinstance(way.estimator, MaximumLikelihood) and fits.masses is not None:
            likelihoods = cells.likelihoods(fits.masses)
        expected, variance = self._expected(way, fits, own)
        return {
            "estimated": own.T,
            "errors": [relative_error(values[:, of], self.truth[of]) for of in self.curves],
            "expected": expected,
            "expected_variance": variance,
            "likelihoods": likelihoods,
        }

    def _resampled(self, way: Way, samples: Sequence[SampledRanks], path: str) -> list[Floats]:
        """Estimate from resampled users of the first samples: (n_metrics, n_replicates) of each."""
        fits = (way.fit([one], Cells.of([one], path=path)) for one in samples[:RESAMPLED])
        drawn = (fit.bootstrap(self.replicates, seed=self.seed) for fit in fits)
        return [fit.estimates(self.metrics).T for fit in drawn]

    def _draw(self, design: Design) -> list[SampledRanks]:
        """Draw the samples; if there are none, one in which nothing is above."""
        if self.every is not None:
            items = Negatives(self.every, self.ranks, self.repeats, self.seed, **design.of_items)
            return items.rank(self.every, self.ranks, design.sizes)
        repeats = range(self.first, self.first + max(self.repeats, 1))
        drawn = [design.draw(self.ranks, seed=self.seed, repeat=repeat) for repeat in repeats]
        return drawn if self.repeats else [replace(drawn[0], rank=drawn[0].order)]

    def _expected(self, way: Way, fits: Fits, values: Floats) -> tuple[Floats, Floats]:
        """Give what estimates are expected to be, and their variance if it is known: (n_metrics,).

        Of adaptive samples it is the mean. A prior that repeats share is learned from samples as
        they are expected: its expectation, but for its noise.
        """
        unknown = np.full(len(self.metrics), np.nan)
        if not self.expect or isinstance(way.design, Adaptive):
            return values.mean(axis=0), unknown
        estimator, cells = way.estimator, fits.cells
        if isinstance(estimator, WithPrior):
            estimator = estimator.with_prior(estimator.prior.removeprefix("pooled:"))
        expected = estimator.fit_cells(cells.expected(self.ranks)).estimates(self.metrics)[0]
        learns = not estimator.linear or fits.masses is not None
        if learns or (self.ranks.n_relevant > 1).any():
            return expected, unknown
        corrected = np.stack([fits.corrected(metric) for metric in self.metrics], axis=1)
        return expected, moments(self.ranks, corrected, replace=cells.groups[0].replace)[1]


def _mean_length(samples: Sequence[SampledRanks]) -> float:
    """Give the mean number of items that are scored for a user, relevant ones included."""
    every = [mean_of_users(one.n_negatives + one.n_relevant, one) for one in samples]
    return float(np.mean(every))


class Sampled(NamedTuple):
    """Systems to be sampled: full ranks, those of all candidates if known, and what they share."""

    systems: Mapping[str, FullRanks]
    every: Mapping[str, CandidateRanks]
    draws: Draws

    @property
    def first(self) -> FullRanks:
        """Ranks of the first system, whose users and candidates are those of all others."""
        return first_of(self.systems)

    @classmethod
    def of(cls, work: Work, draws: Draws | None) -> Sampled:
        """Let systems share items: by default if all candidates of all users are ranked.

        If it is asked for, users whose candidates are not all ranked are left out.
        """
        given = cls(work.full_ranks, {}, draws or "shared")
        if draws not in (None, "items"):
            return given
        every = work.candidate_ranks
        systems = {name: ranks.of_relevant(work.qrels) for name, ranks in every.items()}
        if draws is None and not (every and len(first_of(systems)) == len(given.first)):
            return given
        if not every:
            raise InputError(
                "to draw items, it must be known how systems rank all candidates, which studies "
                "that train systems know: `draws` must be shared or independent."
            )
        return cls(systems, every, "items")

    def tried(
        self,
        work: Work,
        ways: Sequence[Way],
        metrics: tuple[RankMetric, ...],
        *,
        label: str,
        repeats: int,
        expect: bool = False,
        replicates: int = 0,
    ) -> dict[str, NDArray[Any]]:
        """Sample the systems, and estimate in all ways, in threads, or on the cluster in use.

        What is found of each system has an axis of systems after that of metrics; replicates, if
        there are some, are (n_ways, n_resampled, n_metrics, n_replicates, n_systems).
        """
        apart = repeats if self.draws == "independent" else 0
        trials = [
            Trial(
                ranks,
                metrics,
                repeats,
                work.seed,
                expect,
                place * apart,
                self.every.get(name),
                replicates,
            )
            for place, (name, ranks) in enumerate(self.systems.items())
        ]
        workers, found = processes(work.n_jobs, return_as="generator", prefer="threads"), []
        # Threads of the linear algebra may change last digits, and slow small matrices.
        with work.progress(label, len(trials)) as bar, single_threaded("blas"):
            for each in workers(delayed(_find)(trial, ways) for trial in trials):
                found.append(each)
                bar.advance()
        axes = {"estimated": 2, "errors": 2, "likelihoods": 1}
        return {n: np.stack([of[n] for of in found], axis=axes.get(n, -1)) for n in found[0]}


def experiment(
    kind: type[Made], work: Work, settings: DrawnSettings, ways: Sequence[Way], **facts: Any
) -> Made:
    """Sample the systems, and estimate in all ways.

    The result is of a kind of experiment, and has some facts besides; without a setting of repeats
    it is of expectations alone.
    """
    repeats = getattr(settings, "repeats", 0)
    if repeats == 1:
        raise InputError(f"`repeats` must be at least 2, got {repeats}.")
    sampled = Sampled.of(work, getattr(settings, "draws", "shared"))
    first = sampled.first
    metrics = (whole_curves if kind.curves else read_metrics)(settings.metrics)
    asked: dict[str, Any] = {"label": kind.label, "repeats": repeats, "expect": not kind.curves}
    names = [replace(metric, cutoff=None) if kind.curves else metric for metric in metrics]
    return kind(
        measures=Measures(Measure(str(metric)) for metric in names),
        systems=tuple(sampled.systems),
        estimators=tuple(way.estimator.printed(without=kind.without) for way in ways),
        samples=tuple(str(way.design) for way in ways),
        priors=tuple("true" if w.oracle else getattr(w.estimator, "prior", "") for w in ways),
        iterations=tuple(getattr(way.estimator, "iters", 0) for way in ways),
        negatives=tuple(way.design.sizes[0] for way in ways),
        **sampled.tried(work, ways, metrics, **asked),
        ranked=Ranked.of(first),
        mean_candidates=mean_of_users(first.n_candidates, first),
        drawn=Drawn(settings.replace, work.seed, sampled.draws if repeats else ""),
        users=getattr(settings, "users", None) or len(np.unique(first.user)),
        **facts,
    )


def shares_in_order(right: NDArray[Any], true: Floats) -> Floats:
    """Give the share of what is right among pairs, the last axis, that truly differ; or NaN."""
    counted, n_pairs = (right * (true != 0)).sum(axis=-1), np.abs(np.sign(true)).sum(axis=-1)
    return np.divide(counted, n_pairs, out=np.full(counted.shape, np.nan), where=n_pairs > 0)


def nearest(numbers: Floats) -> NDArray[np.intp]:
    """Number the estimators to report levels by, with intervals that cover if any do.

    Of `Experiment.numbers`, (6, ..., n_estimators, n_metrics), they are (..., n_metrics).
    """
    off, holds = np.hypot(*numbers[:2]), numbers[4] >= LEAST_COVERED
    allowed = holds | ~holds.any(axis=-2, keepdims=True)
    return np.asarray(np.where(allowed, off, np.inf).argmin(axis=-2))


def _find(trial: Trial, ways: Sequence[Way]) -> dict[str, Any]:
    with single_threaded("blas"):
        return trial.find(ways)


@dataclass(frozen=True, eq=False)
class Experiment(Result):
    """Estimates of metrics in several ways, from samples that are drawn again and again.

    Parameters
    ----------
    measures, systems
        Labels of axes: metrics, and systems.
    estimators, samples, priors, iterations, negatives
        Labels of the ways: the estimator, its samples, its prior and its iterations, nothing and 0
        where it has none, and how many negatives are sampled at first.
    exact
        Metrics among all candidates, of shape (n_metrics, n_systems).
    estimated
        Of shape (n_ways, n_metrics, n_systems, n_repeats).
    errors
        Relative error of the metric's curve at cut-offs 1 to 50, in per cent, of the same shape;
        NaN for metrics of whole lists, and where the truth is 0 everywhere.
    expected
        What estimates come to with more and more users, or their mean: (n_ways, n_metrics,
        n_systems).
    expected_variance
        Exact variance of linear estimates of uniform priors over samples, likewise; NaN of others,
        and where users have several relevant items.
    likelihoods
        Mean log-likelihood of an item's cell, in natural units, of shape (n_ways, n_systems,
        n_repeats); NaN but for maximum likelihood. Those of different samples are not comparable.
    scored
        Mean number of items scored for a user, the relevant ones included: (n_ways, n_systems).
    zero_cutoffs
        Cut-offs that errors leave out, because the truth is 0, of shape (n_metrics, n_systems).
    spread
        Standard deviation over users of the exact metrics, of shape (n_metrics, n_systems).
    ranked, mean_candidates, drawn
        Of whom the ranks are, how many candidates a user has, and how samples were drawn.
    users
        So many that advice is for; by default those of the ranks.
    """

    measures: Measures
    systems: tuple[str, ...]
    estimators: tuple[str, ...]
    samples: tuple[str, ...]
    priors: tuple[str, ...]
    iterations: tuple[int, ...]
    negatives: tuple[int, ...]
    exact: Floats
    estimated: Floats
    errors: Floats
    expected: Floats
    expected_variance: Floats
    likelihoods: Floats
    scored: Floats
    zero_cutoffs: NDArray[np.int64]
    spread: Floats
    ranked: Ranked
    mean_candidates: float
    drawn: Drawn
    users: int

    label: ClassVar[str] = ""
    """What progress is called."""

    curves: ClassVar[bool] = True
    """Whether metrics stand for their curves, and are called without cut-offs; else they are as
    they are, and what they come to with more and more users is expected."""

    without: ClassVar[str] = ""
    """An option that names of estimators leave out, as it is told apart elsewhere."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return self.measures.metrics

    @property
    def distinct(self) -> tuple[str, ...]:
        """The estimators, each once."""
        return tuple(dict.fromkeys(self.estimators))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of negatives, each once."""
        return tuple(dict.fromkeys(self.negatives))

    def by_size(self, values: NDArray[Any]) -> NDArray[Any]:
        """Tell sizes and estimators apart, if ways are all estimators of each size in turn.

        Of values of shape (n_ways, ...) they are (n_sizes, n_estimators, ...).
        """
        return values.reshape(len(self.sizes), -1, *values.shape[1:])

    @property
    def n_repeats(self) -> int:
        """Samples of each system."""
        return self.errors.shape[-1]

    @property
    def mean(self) -> Floats:
        """Mean of the estimates over the repeats: (n_ways, n_metrics, n_systems)."""
        return np.asarray(self.estimated.mean(axis=-1))

    @property
    def sd(self) -> Floats:
        """Their standard deviation: the noise of sampling, not that of users."""
        return np.asarray(self.estimated.std(axis=-1, ddof=1))

    @cached_property
    def numbers(self) -> Floats:
        """What is known of every way for so many users: (6, n_ways, n_metrics).

        Bias, the root mean square over systems of what is expected less the exact value; noise,
        that of the deviation over samples; the shares of pairs of systems in the true order, in
        expectation and in samples, as if differences were normal; how many of 100 intervals over
        users hold the exact value, as bias lets them; and the share of the samples that find the
        best system. NaN where there are no pairs, and no best, but true ties.
        """
        scale, off = np.sqrt(self.ranked.n_users / self.users), self.expected - self.exact
        a, b = pair_indices(len(self.systems))
        exact, estimated = (np.round(of, DECIMALS) for of in (self.exact, self.estimated))
        true = np.sign(exact[:, a] - exact[:, b])
        rightly = np.round(self.expected[:, :, a] - self.expected[:, :, b], DECIMALS) * true
        noise = (self.estimated[:, :, a] - self.estimated[:, :, b]).std(axis=3, ddof=1) * scale
        surely = np.where(rightly > 0, np.inf, -np.inf)
        far = np.divide(rightly, noise, out=surely, where=noise > 0)
        error = np.hypot(self.sd * scale, self.spread / np.sqrt(self.users))
        off = np.where(np.abs(off) < ROUNDING, 0.0, off)
        apart = np.divide(off, error, out=np.where(off == 0, 0.0, np.inf), where=error > 0)
        best = exact == exact.max(axis=1, keepdims=True)
        first = estimated == estimated.max(axis=2, keepdims=True)
        found = (first.sum(axis=2) == 1) & (first & best[..., np.newaxis]).any(axis=2)
        return np.array(
            [
                np.sqrt(((self.expected - self.exact) ** 2).mean(axis=2)),
                np.sqrt(((self.sd * scale) ** 2).mean(axis=2)),
                shares_in_order(rightly > 0, true),
                shares_in_order(ndtr(far), true),
                coverage(apart).mean(axis=2),
                np.where(best.sum(axis=1) == 1, found.mean(axis=2), np.nan),
            ]
        )

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the one table, called as the first that is printed; see `to_frame`."""
        return {tables_of(type(self))[0].name: self.to_frame()}

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each way, metric and system.

        Returns
        -------
        Columns way, system, metric, cutoff, estimator, sample, m, prior, iterations, repeats,
        replace; scored, items for a user, and share, that of the candidates; exact and expected
        values, and the expected_sd that goes with these; mean, sd and standard_error (of the mean)
        of estimates over the repeats; error and error_sd, in per cent, and zero_cutoffs, those left
        out; likelihood and likelihood_sd.
        """
        frame = tidy(
            {"way": range(len(self.estimators)), "metric": self.metrics, "system": self.systems},
            **self._labels(),
            repeats=self.n_repeats,
            replace=self.drawn.replace,
            scored=self.scored[:, np.newaxis],
            share=self.scored[:, np.newaxis] / self.mean_candidates,
            exact=self.exact,
            expected=self.expected,
            expected_sd=np.sqrt(self.expected_variance),
            zero_cutoffs=self.zero_cutoffs,
            **(self._over_repeats() if self.n_repeats else {}),
        )
        return without_cutoffs(frame)

    def _labels(self) -> dict[str, NDArray[Any]]:
        ways = {
            "estimator": self.estimators,
            "sample": self.samples,
            "m": self.negatives,
            "prior": self.priors,
            "iterations": self.iterations,
        }
        kinds = {"m": np.int64, "iterations": np.int64}
        return {
            n: np.array(of, dtype=kinds.get(n, object))[:, None, None] for n, of in ways.items()
        }

    def _over_repeats(self) -> dict[str, Floats]:
        of = {"": self.estimated, "error": self.errors, "likelihood": self.likelihoods[:, None]}
        found = {"standard_error": self.sd / np.sqrt(self.n_repeats)}
        for name, values in of.items():
            found[name or "mean"] = values.mean(axis=3)
            found[f"{name}_sd" if name else "sd"] = values.std(axis=3, ddof=1)
        return found

    def advice(self) -> pd.DataFrame:
        """Give one row for each metric and way: what advice for so many users is from.

        Returns
        -------
        Columns metric, cutoff, estimator, sample, m, users; bias, noise, in_expectation,
        in_samples, covered and winner, as of `numbers`.
        """
        labels = {name: self._labels()[name][:, 0, 0] for name in ("estimator", "sample", "m")}
        numbers = {name: of.T for name, of in zip(NUMBERS, self.numbers, strict=True)}
        axes = {"metric": self.metrics, "way": range(len(self.estimators))}
        frame = tidy(axes, **labels, users=self.users, **numbers)
        return without_cutoffs(frame).drop(columns=["way", "measure"])

    def panel(self, ax: Axes | None, metric: str | None) -> tuple[Axes, pd.DataFrame]:
        """Give axes with the name of a metric, by default the first, and its rows."""
        number = chosen_panel(self.measures.metrics, metric)
        ax = axes_or_new(ax)
        ax.set_title(self.measures.metrics[number])
        frame = self.to_frame()
        return ax, frame[frame["measure"] == self.measures.metrics[number]]

    @property
    def of_samples(self) -> str:
        """Of whom samples are, how they were drawn, and what is made of them, in words."""
        samples = [f"{s} items" if " to " in s else s for s in dict.fromkeys(self.samples)]
        adaptive = (
            "; adaptive ones, drawn with replacement, double from their first size up to their "
            "last while the relevant item is the first"
        )
        repeats = (
            f"{self.n_repeats:,} samples of the negatives, not of the users, seed "
            f"{self.drawn.seed},"
        )
        return (
            f"{self.ranked} among n = {self.ranked.n} candidates; "
            f"{repeats if self.n_repeats else 'negatives'} drawn uniformly "
            f"{self.drawn.how}: {'; '.join(samples)}{adaptive * any(' to ' in s for s in samples)}."
            " Corrections use the mean number of candidates. Estimators: "
            f"{'; '.join(self.distinct)}."
        )


def without_cutoffs(frame: pd.DataFrame) -> pd.DataFrame:
    """Take the cut-offs out of the names of metrics, which stay as measures, and put them first."""
    import pandas as pd

    read = [*map(rank_metric, frame["metric"])]
    frame.insert(0, "measure", frame.pop("metric"))
    frame.insert(0, "cutoff", pd.Series([metric.cutoff for metric in read], dtype="Int64"))
    frame.insert(0, "metric", [str(replace(metric, cutoff=None)) for metric in read])
    return frame
