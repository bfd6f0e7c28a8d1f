"""The one experiment, as studies ask it: ways to estimate by metric, system and repeat.

A study names some ways, and looks at the frame: what is expected, how far off and how noisy it is,
and which systems come out in order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from analyses.sampled.expectation.crossings import DECIMALS
from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.shared.facts import Drawn, Ranked, coverage, mean_of_users, tidy
from analyses.sampled.shared.settings import DrawnSettings, read_metrics
from analyses.sampled.shared.trials import SampledSystems, Way, whole_curves
from analyses.shared.drawing import axes_or_new, chosen_panel
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, tables_of
from analyses.significance.permutation.pairs import pair_indices
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]
Made = TypeVar("Made", bound="Experiment")

ROUNDING = 1e-6
"""Bias below it is that of the grid."""

NUMBERS = ("bias", "noise", "in_expectation", "in_samples", "covered", "winner")
"""What is known of every way; see `Experiment.numbers`."""

LEAST_COVERED = 90
"""Of 100 intervals; an estimator whose intervals hold the truth in fewer is not for levels."""


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
    sampled = SampledSystems.of(work, getattr(settings, "draws", "shared"))
    first = sampled.first
    metrics = (whole_curves if kind.curves else read_metrics)(settings.metrics)
    asked: dict[str, Any] = {"label": kind.label, "repeats": repeats, "expect": not kind.curves}
    asked["curved"] = repeats > 0
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
    def names(self) -> list[str]:
        """The estimators of the ways as tables have them: without options that go without saying.

        They can be read as the same estimators.
        """
        usual = re.compile(",prior=uniform|mode=floor,")
        return [usual.sub("", name) for name in self.estimators]

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
    def counted(self) -> str:
        """How many systems there are, in words."""
        return f"{len(self.systems):,} system{'s' * (len(self.systems) > 1)}"

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
        true, rightly, _ = self._pairs
        exact, estimated = (np.round(of, DECIMALS) for of in (self.exact, self.estimated))
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
                self.in_samples(self.users),
                coverage(apart).mean(axis=2),
                np.where(best.sum(axis=1) == 1, found.mean(axis=2), np.nan),
            ]
        )

    def in_samples(self, users: int) -> Floats:
        """Give the shares of pairs in the true order in samples of so many users, as of `numbers`.

        Of shape (n_ways, n_metrics).
        """
        true, rightly, noise = self._pairs
        noise = noise * np.sqrt(self.ranked.n_users / users)
        surely = np.where(rightly > 0, np.inf, -np.inf)
        far = np.divide(rightly, noise, out=surely, where=noise > 0)
        return shares_in_order(ndtr(far), true)

    @cached_property
    def _pairs(self) -> tuple[Floats, Floats, Floats]:
        """Which of two systems is better, how far it is in expectation, and the noise in samples.

        Of shapes (n_metrics, n_pairs), and twice (n_ways, n_metrics, n_pairs).
        """
        a, b = pair_indices(len(self.systems))
        exact = np.round(self.exact, DECIMALS)
        true = np.sign(exact[:, a] - exact[:, b])
        rightly = np.round(self.expected[:, :, a] - self.expected[:, :, b], DECIMALS) * true
        apart = self.estimated[:, :, a] - self.estimated[:, :, b]
        return true, rightly, apart.std(axis=3, ddof=1)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give the one table, called as the first that is printed; see `to_frame`."""
        return {tables_of(type(self))[0].name: self.to_frame()}

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each way, metric and system.

        Returns
        -------
        Columns metric, cutoff, system, estimator, sample, m, prior, iterations, repeats,
        replace; scored, items for a user, and share, that of the candidates; exact and expected
        values, and the expected_sd that goes with these. Of samples also mean, sd and
        standard_error (of the mean) of estimates over the repeats; error and error_sd, in per cent,
        and zero_cutoffs, those left out; likelihood and likelihood_sd.
        """
        return self.rows().drop(columns=["measure", "way"])

    def rows(self) -> pd.DataFrame:
        """Give the same with number of the way, and the metric with its cut-off, the measure."""
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

    def _over_repeats(self) -> dict[str, NDArray[Any]]:
        of = {"": self.estimated, "error": self.errors, "likelihood": self.likelihoods[:, None]}
        found: dict[str, NDArray[Any]] = {"zero_cutoffs": self.zero_cutoffs}
        found["standard_error"] = self.sd / np.sqrt(self.n_repeats)
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
        frame = self.rows()
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
