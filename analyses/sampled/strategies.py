"""Strategies of sampling: what each tells of systems, against full ranking and the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.special import stdtr

from analyses.ordering import tau_b
from analyses.sampled.estimators import find_estimator
from analyses.sampled.samples.designs import SampleDesign, require_negatives
from analyses.sampled.samples.from_candidates import Weigh, top_items
from analyses.sampled.shared.facts import mean_of_users, tidy
from analyses.sampled.shared.settings import (
    ESTIMATORS,
    METRICS,
    EstimatorNames,
    MetricNames,
    Negatives,
    RankSettings,
    read_metrics,
)
from analyses.sampled.shared.trials import RESAMPLED, SampledSystems, Way
from analyses.shared.analysis import Given, SettingError, analysis
from analyses.shared.drawing import axes_or_new, categories, chosen_panel, label_curves
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Cell, Table
from analyses.significance.corrections.adjustments import holm
from analyses.significance.permutation.pairs import pair_indices
from analyses.validity.comparison import oriented
from qrels import FullRanks
from runs import InputError
from runs.shared.settings import Whole
from runs.shared.streams import random_words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]

LEVEL = 0.05

FULL, FEWER, HARD = "full", "fewer users in full", "hard"
WEIGHTED = ("uncorrected", "ht-plugin")
"""What is made of samples whose chances are known but not equal."""

ASPECTS = ("apart", "wrong", "fidelity", "exposure", "validity")
HEADINGS = ("told apart", "wrongly", "full ranking", "popular lost", "truth")
"""Of the columns with the aspects."""


class Settings(RankSettings):
    """Ways to draw negatives, and what each tells of the systems."""

    metrics: MetricNames = METRICS
    negatives: Negatives = 100
    estimators: EstimatorNames = ESTIMATORS
    repeats: Whole = Field(100, ge=2, description="Samples of each system.")
    replicates: Whole = Field(
        100, ge=20, description="Resampled sets of users for p-values, of the first 20 samples."
    )
    power: float = Field(
        0.75, gt=0, description="Popular negatives are drawn by training ratings to this power."
    )
    hard_by: str | None = Field(
        None, description="System whose top items are hard negatives; by default the first."
    )
    lost: float = Field(
        0.1, gt=0, lt=1, description="Share of the items, the most popular, that lose judgements."
    )

    def check(self, given: Given) -> None:
        """Refuse what has no ranks, too few systems, and hard negatives of no system."""
        super().check(given)
        if len(given.systems) < 2:
            raise SettingError("studies", "strategies compare systems; there must be two or more.")
        if self.hard_by is not None and self.hard_by not in given.systems:
            raise SettingError("hard_by", f"`hard_by` is no system of the study: {self.hard_by!r}.")

    def designs(self, ranks: FullRanks) -> None:
        """Refuse more negatives than some user has."""
        require_negatives(self.negatives, ranks.n_irrelevant)


@analysis(
    "strategies",
    source="Pereira, Said & Santos (2025)",
    needs=("candidate_ranks",),
    on_request=True,
)
def strategies(work: Work, settings: Settings) -> Strategies:
    """Sample negatives in several ways, and compare what full ranking and the truth say.

    All systems rank the same sampled items of a user.
    """
    every, counts = work.candidate_ranks, work.popularity_counts["train"]
    popular = np.argsort(-counts, kind="stable")[: int(settings.lost * np.sum(counts >= 0))]
    left = work.qrels.keep(~np.isin(work.qrels.items, popular))
    all_judged, some_lost = (SampledSystems.by_items(every, of) for of in (work.qrels, left))
    first, others = (next(iter(one.systems.values())) for one in (all_judged, some_lost))
    n_users = len(np.unique(first.user))
    if n_users < 2 or not len(others):
        raise InputError("strategies need two users, and judgements of other than popular items.")
    names, found = _means(work, settings, all_judged, replicates=settings.replicates)
    _, without = _means(work, settings, some_lost)
    true, named = None, ""
    if work.known_truth is not None:
        scores, ruler = oriented(work.known_truth.scores), work.known_truth.references[0]
        true = scores.values[scores.measures.index(ruler)].mean(axis=1)
        named = f"{ruler} {work.known_truth.origin}"
    aspects = [
        _aspects(one, found[0], other.values, true)
        for one, other in zip(found, without, strict=True)
    ]
    return Strategies(
        measures=Measures(Measure(str(metric)) for metric in read_metrics(settings.metrics)),
        systems=tuple(every),
        ways=tuple(way for way, _ in names),
        estimators=tuple(estimator for _, estimator in names),
        numbers=np.stack(aspects, axis=1),
        n_users=n_users,
        n_fewer=found[1].n_users,
        scored=settings.negatives + mean_of_users(first.n_relevant, first),
        n_candidates=mean_of_users(first.n_candidates, first),
        negatives=settings.negatives,
        power=settings.power,
        hard_by=settings.hard_by or next(iter(every)),
        lost=settings.lost,
        lost_judgements=1 - len(others) / len(first),
        truth=named,
        seed=work.seed,
    )


class Measured(NamedTuple):
    """Means of the systems by a way to sample, and standard errors of differences of pairs.

    They are of shape (n_repeats, n_metrics, n_systems) and (n_tested, n_metrics, n_pairs): of the
    first repeats, 0 if errors are not asked for. Means are of so many users.
    """

    values: Floats
    errors: Floats
    n_users: int

    @classmethod
    def of_users(cls, sets: Sequence[Floats]) -> Measured:
        """Give means over sets of users, each of shape (n_metrics, n_systems, n_users)."""
        n_users, (a, b) = sets[0].shape[-1], pair_indices(sets[0].shape[1])
        errors = [(one[:, a] - one[:, b]).std(axis=2, ddof=1) for one in sets[:RESAMPLED]]
        means = np.array([one.mean(axis=2) for one in sets])
        return cls(means, np.array(errors) / np.sqrt(n_users), n_users)

    @property
    def differences(self) -> Floats:
        """Differences of all pairs in the first repeats, (n_tested, n_metrics, n_pairs)."""
        a, b = pair_indices(self.values.shape[2])
        return np.asarray(self.values[:RESAMPLED, :, a] - self.values[:RESAMPLED, :, b])

    def told_apart(self) -> NDArray[np.bool_]:
        """Tell which pairs a t-test has apart, p-values corrected for their number by Holm."""
        apart = np.abs(self.differences)
        surely = np.where(apart > 0, np.inf, 0.0)
        far = np.divide(apart, self.errors, out=surely, where=self.errors > 0)
        return np.asarray(holm(2 * stdtr(self.n_users - 1, -far)) < LEVEL)


def _means(
    work: Work, settings: Settings, sampled: SampledSystems, *, replicates: int = 0
) -> tuple[list[tuple[str, str]], list[Measured]]:
    """Give means by every way, in full first, and the names of these: way and estimator."""
    metrics, systems = read_metrics(settings.metrics), sampled.systems.values()
    exact = np.array([[metric.of_users(ranks) for ranks in systems] for metric in metrics])
    n_users, (a, b) = exact.shape[-1], pair_indices(len(systems))
    # So many users in full cost what the samples of all do.
    first = sampled.first
    n_scored = n_users * settings.negatives + len(first)
    n_fewer = max(round(n_scored / mean_of_users(first.n_candidates, first)), 2)
    orders = (
        random_words(n_users, work.seed, "fewer users", repeat).argsort(kind="stable")
        for repeat in range(settings.repeats)
    )
    fewer = [exact[..., order[:n_fewer]] for order in orders]
    found = [Measured.of_users([exact] * settings.repeats), Measured.of_users(fewer)]
    ways = ways_to_sample(settings, sampled, work.popularity_counts["train"])
    tried = sampled.tried(
        work,
        ways,
        metrics,
        label="Trying ways to sample",
        repeats=settings.repeats,
        replicates=replicates,
    )
    for number, means in enumerate(tried["estimated"]):
        errors = np.zeros(())
        if replicates:
            every = np.moveaxis(tried["resampled"][number], -1, 0)
            apart = [(every[i] - every[j]).std(axis=2, ddof=1) for i, j in zip(a, b, strict=True)]
            # The variance over resampled users lacks the factor n / (n - 1).
            errors = np.stack(apart, axis=-1) * np.sqrt(n_users / (n_users - 1))
        found.append(Measured(np.moveaxis(means, -1, 0), errors, n_users))
    names = [(way.design.of, str(way.estimator)) for way in ways if isinstance(way.design, Chosen)]
    return [(FULL, ""), (FEWER, ""), *names], found


@dataclass(frozen=True)
class Chosen(SampleDesign):
    """So many known items of every user, chosen in a way of this name; see `Negatives`."""

    of: str = ""
    by: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def of_items(self) -> Mapping[str, Any]:
        """How items are drawn."""
        return {"replace": self.replace, **self.by}


def ways_to_sample(
    settings: Settings, sampled: SampledSystems, counts: NDArray[np.intp]
) -> list[Way]:
    """Give ways to sample, each with what is made of its samples, from training ratings of items.

    Half hard are draws from uniform items and from hard ones, as often.
    """
    m, ranks = settings.negatives, sampled.every[settings.hard_by or next(iter(sampled.every))]
    weights = np.maximum(counts, 0).astype(np.float64) ** settings.power
    hard = top_items(ranks, sampled.first, m=m)
    chances: Mapping[str, Weigh] = {
        "popular": lambda _, items: weights[items],
        "half hard": lambda user, items: 1 / len(items) + np.isin(items, hard[user]) / m,
    }
    pairs = [
        *((Chosen((m,), of="uniform"), name) for name in settings.estimators),
        *((Chosen((m,), of=of, by={"weigh": w}), n) for of, w in chances.items() for n in WEIGHTED),
        (Chosen((m,), replace=False, of=HARD, by={"top": hard}), WEIGHTED[0]),
    ]
    return [Way(find_estimator(name), design) for design, name in pairs]


def _aspects(found: Measured, exact: Measured, lost: Floats, true: Floats | None) -> Floats:
    """Give every aspect of a way to sample: (n_aspects, n_metrics, n_repeats)."""
    numbers = np.full((len(ASPECTS), *found.values.shape[:2]), np.nan)
    apart = found.told_apart()
    wrong = apart & (found.differences * exact.differences < 0)
    numbers[:2, : len(apart)] = apart.mean(axis=2), wrong.mean(axis=2)
    numbers[2:4] = tau_b(found.values, exact.values), tau_b(found.values, lost)
    if true is not None:
        numbers[4] = tau_b(found.values, true)
    return numbers.swapaxes(1, 2)


@dataclass(frozen=True, eq=False)
class Strategies(Result):
    """What ways to sample negatives tell of systems.

    Parameters
    ----------
    measures, systems, ways, estimators
        Metrics with their cut-offs, systems, ways to sample and, of the same length, what is made
        of the samples.
    numbers
        Of shape (n_aspects, n_ways, n_metrics, n_repeats): shares of the pairs of systems that are
        told apart, and that wrongly, against full ranking; tau-b with full ranking, with what is
        found where judgements of popular items are lost, and with the truth. NaN where no truth is
        known, and for shares of all but the first repeats.
    n_users, n_fewer
        Users, and those whose full ranking costs as much as a sample of all.
    scored, n_candidates
        Items that are scored for a user, in a sample and in all.
    negatives, power, hard_by, lost, seed
        What was asked.
    lost_judgements
        Share of the judgements that popular items have.
    truth
        What the truth is, or nothing.
    """

    measures: Measures
    systems: tuple[str, ...]
    ways: tuple[str, ...]
    estimators: tuple[str, ...]
    numbers: Floats
    n_users: int
    n_fewer: int
    scored: float
    n_candidates: float
    negatives: int
    power: float
    hard_by: str
    lost: float
    lost_judgements: float
    truth: str
    seed: int

    @property
    def labels(self) -> list[str]:
        """Ways and estimators, without priors that are uniform."""
        pairs = zip(self.ways, self.estimators, strict=True)
        labels = (f"{way}, {name}" if name else way for way, name in pairs)
        return [label.replace(",prior=uniform", "") for label in labels]

    @cached_property
    def means(self) -> Floats:
        """Means over the repeats in which there are numbers: (n_aspects, n_ways, n_metrics)."""
        known = ~np.isnan(self.numbers)
        sums, counts = np.where(known, self.numbers, 0.0).sum(axis=3), known.sum(axis=3)
        return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``sampled_strategies``: a row for each metric, way and estimator.

        Returns
        -------
        Columns metric, way, estimator; users and scored, the items scored for each; apart, wrong,
        fidelity, exposure and validity, means over the repeats, and their standard deviations.
        """
        import pandas as pd

        numbers = pd.DataFrame(self.numbers.reshape(-1, self.numbers.shape[-1]))
        deviations = numbers.std(axis=1).to_numpy().reshape(self.means.shape)
        full, fewer = np.isin(self.ways, [FULL, FEWER]), np.array(self.ways) == FEWER
        columns = dict(zip(ASPECTS, self.means.swapaxes(1, 2), strict=True))
        for name, of in zip(ASPECTS, deviations.swapaxes(1, 2), strict=True):
            columns[f"{name}_sd"] = of
        frame = tidy(
            {"metric": self.measures.metrics, "place": range(len(self.ways))},
            way=np.array(self.ways, dtype=object),
            estimator=np.array(self.estimators, dtype=object),
            users=np.where(fewer, self.n_fewer, self.n_users),
            scored=np.where(full, self.n_candidates, self.scored),
            **columns,
        )
        return {"sampled_strategies": frame.drop(columns="place")}

    @table("sampled_strategies", "ways to sample negatives, against full ranking and the truth")
    def compared(self) -> Table:
        """Tabulate all aspects by metric and way to sample."""
        told = len(ASPECTS) if self.truth else len(ASPECTS) - 1
        rows: list[list[Cell]] = [
            [f"{metric}, {label}", *self.means[:told, w, m].tolist()]
            for m, metric in enumerate(self.measures.metrics)
            for w, label in enumerate(self.labels)
        ]
        return Table(
            name="sampled_strategies",
            title="Ways to sample negatives: pairs told apart, and tau with ...",
            note=self.caption(),
            headings=["metric, way to sample", *HEADINGS[:told]],
            rows=rows,
        )

    @figure(
        "sampled_strategies",
        "Ways to sample negatives, against full ranking and the truth",
        number=27,
        panels="metric",
        comparable=False,
    )
    def plot(self, ax: Axes | None = None, *, metric: str | None = None) -> Axes:
        """Draw every aspect of every way to sample; the first metric by default."""
        number = chosen_panel(self.measures.metrics, metric)
        ax = axes_or_new(ax)
        places = np.arange(len(self.ways))[::-1]
        for (heading, style), values in zip(categories(HEADINGS), self.means, strict=True):
            if not np.isnan(values).all():
                style |= {"linestyle": "none", "markersize": 5}
                ax.plot(values[:, number], places, label=heading, alpha=0.8, **style)
        ax.set_yticks(places, self.labels)
        ax.grid(axis="y", linewidth=0.4)
        ax.set_xlim(min(-0.05, 1.1 * float(np.nanmin(self.means))), 1.05)
        ax.set_title(self.measures.metrics[number])
        ax.set_xlabel("share of the pairs, tau-b")
        label_curves(ax)
        return ax

    def caption(self) -> str:
        """Say what is shown."""
        truth = f"; with the truth, {self.truth}" if self.truth else ""
        return (
            f"{len(self.systems)} systems on m = {self.negatives:,} negatives of {self.n_users:,} "
            f"users, of {self.n_candidates:,.0f} candidates, all on the same sampled items; "
            f"means over {self.numbers.shape[-1]} samples, seed {self.seed}. Told apart: pairs of "
            f"systems by t-tests over users in the first {RESAMPLED} samples, p < {LEVEL} after "
            "Holm; wrongly: against the means of full ranking. The others are tau-b: with full "
            "ranking of all users; with what the same way says when the "
            f"{100 * self.lost:.0f} % most popular items lose their "
            f"judgements ({100 * self.lost_judgements:.0f} % of all){truth}. "
            f"Fewer users in full: {self.n_fewer:,}, who cost what the samples do. Popular: drawn "
            f"by training ratings to the power {self.power:g}; hard: the top items of "
            f"{self.hard_by}, all, or half of the draws beside uniform ones. HT: Horvitz-Thompson."
        )

    def findings(self) -> Sequence[str]:
        """Say for each metric which way is nearest to full ranking, and to the truth."""
        return [
            f"{metric} at the cost of {self.negatives:,} negatives of {self.n_users:,} users: "
            + "; ".join(self._said(place))
            + "."
            for place, metric in enumerate(self.measures.metrics)
        ]

    def _said(self, place: int) -> Iterator[str]:
        values = self.means[:, :, place]
        plain = self.ways.index(FEWER)
        sampled = np.where(np.isin(self.ways, [FULL, FEWER]), np.nan, values[2])
        near = int(np.nan_to_num(sampled, nan=-2).argmax())
        told = self._told(near, values[2])
        yield f"of the samples, most like full ranking is {told}, {self._apart(near, values)}"
        few = f"{self.n_fewer:,} users in full have {values[2, plain]:.2f}"
        yield f"{few}, {self._apart(plain, values)}"
        if self.truth:
            best = int(np.nan_to_num(values[4], nan=-2).argmax())
            full = "" if best == 0 else f", full ranking has {values[4, 0]:.2f}"
            yield f"most like the truth is {self._told(best, values[4])}{full}"

    def _told(self, way: int, taus: Floats) -> str:
        return f"{self.labels[way]} (tau {taus[way]:.2f})"

    def _apart(self, way: int, values: Floats) -> str:
        wrong = f", {100 * values[1, way]:.0f} % wrongly" if values[1, way] >= 0.005 else ""
        return f"{100 * values[0, way]:.0f} % of the pairs told apart{wrong}"
