"""A study repeated with other seeds: what other splits and training runs would have given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.systems import deviation_over_systems
from analyses.ordering import tau_b
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined
from analyses.shared.drawing import COLOURS, MARKERS, axes_or_new, chosen_panel, label_curves
from analyses.shared.estimate import Estimates, deviations
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import listed, paired, percent
from analyses.shared.table import Cell, Table, shown
from harness.scoring.means import Means

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SURE = 0.95
"""Share of the seeds from which on a conclusion is said to hold."""

SOURCES = ("users", "systems", "splits")
"""Where chance comes from; training seeds are among splits."""

APART = 0.22
"""Rows between what users, systems and splits contribute to one measure."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Repeats(Result):
    """Estimates and mean scores of one study under several seeds.

    Parameters
    ----------
    measures
        Report measures.
    systems, seeds
        Labels of axes; the first seed is that of the study.
    quantities, subjects, in_words
        What was estimated: its name, what it is about, and what it is, in words.
    falling
        Whether less is better, of shape (n_quantities,).
    values
        Estimates, of shape (n_quantities, n_measures, n_seeds); NaN where there is none.
    users, over_systems
        Standard deviations under one seed: over resampled users, and over systems by the delete-d
        jackknife; root mean squares over the seeds, of shape (n_quantities, n_measures).
    signs
        By quantity, pair of measures (as `itertools.combinations` has them) and seed: 1 where the
        first is better beyond the noise of all pairs at once, -1 where the second is, else 0.
    means
        Mean scores, of shape (n_measures, n_systems, n_seeds).
    """

    measures: Measures
    systems: tuple[str, ...]
    seeds: tuple[int, ...]
    quantities: tuple[str, ...]
    subjects: tuple[str, ...]
    in_words: tuple[str, ...]
    falling: NDArray[np.bool_]
    values: Floats
    users: Floats
    over_systems: Floats
    signs: NDArray[np.int8]
    means: Floats

    @cached_property
    def first(self) -> Floats:
        """Share of the seeds in which each measure is first, (n_quantities, n_measures).

        Measures that are level share a seed.
        """
        better = np.where(self.falling[:, None, None], -self.values, self.values)
        highest = np.where(np.isnan(better), -np.inf, better).max(axis=1, keepdims=True)
        leads = better == highest
        return np.asarray((leads / np.maximum(leads.sum(axis=1, keepdims=True), 1)).mean(axis=2))

    @cached_property
    def sources(self) -> Floats:
        """Standard deviations over users, systems and splits, (3, n_quantities, n_measures)."""
        return np.stack([self.users, self.over_systems, deviation_of_defined(self.values)])

    @cached_property
    def taus(self) -> Floats:
        """Kendall's tau-b between the orderings of the systems under every two seeds.

        Of shape (n_measures, n_pairs_of_seeds).
        """
        one, other = np.array([*combinations(range(len(self.seeds)), 2)]).T
        by_seed = self.means.swapaxes(1, 2)
        return tau_b(by_seed[:, one], by_seed[:, other])

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``repeats``, ``repeats_sources``, ``repeats_pairs`` and ``repeats_means``.

        Returns
        -------
        ``repeats`` has columns quantity, metric, cutoff, seed, value; ``repeats_sources`` quantity,
        metric, cutoff and the standard deviations users, systems, splits; ``repeats_pairs``
        quantity, metric_a, cutoff_a, metric_b, cutoff_b, first_better, second_better, undecided
        (shares of the seeds); ``repeats_means`` metric, cutoff, system, seed, mean.
        """
        import pandas as pd

        names, cutoffs = [m.metric for m in self.measures], self.measures.column
        n_quantities, n_measures, n_seeds = self.values.shape
        values = pd.DataFrame(
            {
                "quantity": np.repeat(self.quantities, n_measures * n_seeds),
                "metric": np.tile(np.repeat(names, n_seeds), n_quantities),
                "cutoff": np.tile(cutoffs.repeat(n_seeds), n_quantities),
                "seed": np.tile(self.seeds, n_quantities * n_measures),
                "value": self.values.ravel(),
            }
        )
        sources = pd.DataFrame(
            {
                "quantity": np.repeat(self.quantities, n_measures),
                "metric": np.tile(names, n_quantities),
                "cutoff": np.tile(cutoffs, n_quantities),
                **dict(zip(SOURCES, self.sources.reshape(len(SOURCES), -1), strict=True)),
            }
        )
        first, second = np.array(self._pairs, dtype=np.intp).reshape(-1, 2).T
        of_metrics = np.array(names, dtype=object)
        pairs = pd.DataFrame(
            {
                "quantity": np.repeat(self.quantities, len(first)),
                "metric_a": np.tile(of_metrics[first], n_quantities),
                "cutoff_a": np.tile(cutoffs[first], n_quantities),
                "metric_b": np.tile(of_metrics[second], n_quantities),
                "cutoff_b": np.tile(cutoffs[second], n_quantities),
                **{
                    share: (self.signs == sign).mean(axis=2).ravel()
                    for share, sign in (("first_better", 1), ("second_better", -1))
                },
                "undecided": (self.signs == 0).mean(axis=2).ravel(),
            }
        )
        means = pd.DataFrame(
            {
                "metric": np.repeat(names, len(self.systems) * n_seeds),
                "cutoff": cutoffs.repeat(len(self.systems) * n_seeds),
                "system": np.tile(np.repeat(self.systems, n_seeds), n_measures),
                "seed": np.tile(self.seeds, n_measures * len(self.systems)),
                "mean": self.means.ravel(),
            }
        )
        return {
            "repeats": values,
            "repeats_sources": sources,
            "repeats_pairs": pairs,
            "repeats_means": means,
        }

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.measures)), 2))

    @table("repeats", "what users, systems and splits contribute, and who is first")
    def repeats_table(self) -> Table:
        """Tabulate each estimate over the seeds, with what it varies by."""
        rows: list[list[Cell]] = []
        means = mean_of_defined(self.values)
        for place, quantity in enumerate(self.quantities):
            for number, label in enumerate(self.measures.reported.labels):
                numbers = (
                    self.values[place, number, 0],
                    means[place, number],
                    *self.sources[:, place, number],
                    self.first[place, number],
                )
                rows.append([label, quantity, *map(float, numbers)])
        return Table(
            name="repeats",
            title=f"The study under {len(self.seeds)} seeds",
            note=self.caption(),
            headings=["measure", "of", "this seed", "mean", *SOURCES, "first"],
            rows=rows,
        )

    @table("repeats_means", "other seeds: spread of the mean scores of the systems")
    def means_table(self) -> Table:
        """Tabulate the standard deviation over the seeds of each system's mean score."""
        deviations = deviation_of_defined(self.means)
        cells = {
            (system, label): float(deviations[number, column])
            for column, system in enumerate(self.systems)
            for number, label in enumerate(self.measures.reported.labels)
        }
        title = f"Standard deviations of mean scores over {len(self.seeds)} seeds"
        return Table.crossed("repeats_means", title, self.caption(), "system", cells)

    def about(self, measure: Measure) -> Mapping[str, str]:
        """Say in which share of the seeds a measure is first, and how alike the orderings are."""
        if measure not in self.measures:
            return {}
        number = self.measures.index(measure)
        shares = zip(self.quantities, self.first[:, number].tolist(), strict=True)
        tau = float(mean_of_defined(self.taus)[number])
        return {f"first in {name}": shown(share) for name, share in shares} | {
            "tau-b of the systems under two seeds": shown(tau)
        }

    def findings(self) -> Sequence[str]:
        """Say which conclusions hold under most seeds."""
        taus = mean_of_defined(self.taus).tolist()
        by_label = dict(zip(self.measures.reported.labels, taus, strict=True))
        alike = ", ".join(f"{label} {shown(tau)}" for label, tau in by_label.items())
        return (
            *self._contributions(),
            *(self._finding(place) for place in range(len(self.quantities))),
            f"Under two seeds the systems are ordered with a mean tau-b of: {alike}.",
        )

    def _contributions(self) -> list[str]:
        """Say what users, systems and splits contribute to the chance of each quantity."""
        squares = root_mean_square(self.sources) ** 2
        return [
            f"{subject} ({words}) varies by {listed(_shares(dict(zip(SOURCES, of, strict=True))))}."
            for subject, words, of in zip(self.subjects, self.in_words, squares.T, strict=True)
        ]

    @figure(
        "repeats",
        "What users, systems and splits contribute",
        panels="subject",
        comparable=False,
        roomy=True,
    )
    def plot(self, ax: Axes | None = None, *, subject: str | None = None) -> Axes:
        """Draw the mean of each measure over the seeds, and what it varies by on either side."""
        place, ax = chosen_panel(self.subjects, subject), axes_or_new(ax)
        means, rows = mean_of_defined(self.values[place]), np.arange(len(self.measures))[::-1]
        for number, (source, own) in enumerate(zip(SOURCES, self.sources[:, place], strict=True)):
            ax.errorbar(
                means,
                rows + APART * (1 - number),
                xerr=own,
                fmt=MARKERS[number],
                color=COLOURS[number],
                markersize=3.5,
                linewidth=1.2,
                label=source,
            )
        ax.set_yticks(rows, self.measures.reported.labels)
        ax.set_xlabel(self.in_words[place])
        ax.set_title(self.subjects[place])
        label_curves(ax)
        return ax

    def _finding(self, place: int) -> str:
        labels, n_seeds = self.measures.reported.labels, len(self.seeds)
        shares = dict(zip(labels, self.first[place].tolist(), strict=True))
        leaders = sorted((m for m in labels if shares[m] > 0), key=lambda m: -shares[m])
        held = [
            (labels[a], labels[b]) if sign > 0 else (labels[b], labels[a])
            for sign in (1, -1)
            for (a, b), share in zip(
                self._pairs, (self.signs[place] == sign).mean(axis=1), strict=True
            )
            if share >= SURE
        ]
        first = listed([f"{name} in {100 * shares[name]:.0f} %" for name in leaders])
        return (
            f"{self.subjects[place]}, under {n_seeds} seeds: first was {first}. Ahead beyond "
            f"noise in at least {100 * SURE:.0f} % of the seeds, the better one first: "
            f"{paired(held) if held else 'no measure of another'}."
        )

    def cautions(self) -> Sequence[str]:
        """Say where another seed moves estimates more than resampling says."""
        users, _, splits = self.sources
        beyond = [
            f"{label} ({quantity})"
            for place, quantity in enumerate(self.quantities)
            for number, label in enumerate(self.measures.reported.labels)
            if splits[place, number] > 2 * users[place, number]
        ]
        if not beyond:
            return ()
        return (
            "Other seeds move these by more than twice what resampled users do, so that "
            f"their intervals are for this split alone: {listed(beyond)}.",
        )

    def caption(self) -> str:
        """Say what was repeated."""
        return (
            f"The whole study was made with seeds {self.seeds[0]} to {self.seeds[-1]}: splits and "
            "training differ, the data are the same. Users, systems and splits stand for standard "
            "deviations: over resampled users and over systems (delete-d jackknife) under one "
            "seed, and over the seeds. Resampled users bring the chance of their own split with "
            "them, so that splits count in part twice; first is the share of the seeds in which a "
            "measure has the best value."
        )


def root_mean_square(values: Floats) -> Floats:
    """Give the root of the mean of the squares along the last axis, of what is not NaN."""
    return np.sqrt(mean_of_defined(values**2))


def _shares(variances: Mapping[str, float]) -> list[str]:
    """Say how much each source varies by, and its part of the variance of those that are known."""
    whole = sum(variance for variance in variances.values() if not np.isnan(variance)) or 1.0
    return [
        f"an unknown number over {source}"
        if np.isnan(variance)
        else f"{shown(variance**0.5, decimals=3)} over {source} ({percent(variance / whole)})"
        for source, variance in variances.items()
    ]


def gather(
    means: Sequence[Means], results: Sequence[Iterable[Result]], seeds: Sequence[int]
) -> Repeats:
    """Put together the means and results of a study under each seed."""
    reported = means[0].measures.reported
    systems = means[0].systems
    found = [
        {headline.name: headline for result in every if (headline := result.headline()) is not None}
        for every in results
    ]
    names = [name for name in found[0] if all(name in others for others in found)]
    of_first = [found[0][name] for name in names]
    by_seed = [[each[name] for each in found] for name in names]

    def gathered(number: Callable[[Estimates], Floats | None]) -> Floats:
        every = [[_by_measure(number(e), e, reported) for e in of] for of in by_seed]
        return np.array(every).reshape(len(names), len(seeds), -1).swapaxes(1, 2)

    def over_systems(estimates: Estimates) -> Floats | None:
        within = estimates.within
        return None if within is None else deviation_over_systems(within, len(systems))

    return Repeats(
        measures=reported,
        systems=systems,
        seeds=tuple(seeds),
        quantities=tuple(names),
        subjects=tuple(each.subject for each in of_first),
        in_words=tuple(each.quantity for each in of_first),
        falling=np.array([each.lower_is_better for each in of_first], dtype=np.bool_),
        values=gathered(lambda each: each.values),
        users=root_mean_square(gathered(lambda each: deviations(each.replicates))),
        over_systems=root_mean_square(gathered(over_systems)),
        signs=np.array(
            [[list(_signs(e, reported)) for e in every] for every in by_seed], dtype=np.int8
        )
        .reshape(len(names), len(seeds), -1)
        .swapaxes(1, 2),
        means=np.stack([each.values[each.measures.numbers(reported)] for each in means], axis=-1),
    )


def _by_measure(found: Floats | None, estimates: Estimates, reported: Measures) -> Floats:
    """Give what was found for each report measure, along the last axis; NaN where nothing was."""
    made, own = np.full(len(reported), np.nan), estimates.measures
    for place, measure in enumerate(reported):
        if found is not None and measure in own:
            made[place] = found[own.index(measure)]
    return made


def _signs(estimates: Estimates, reported: Measures) -> Iterator[int]:
    for a, b in combinations(reported, 2):
        if a not in estimates.measures or b not in estimates.measures:
            yield 0
            continue
        difference = estimates.difference(a, b, among=estimates.every_two)
        sign = -1 if estimates.lower_is_better else 1
        yield int(difference.is_beyond_noise) * sign * (1 if difference.value > 0 else -1)
