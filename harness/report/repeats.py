"""Repeats: a study with several seeds, or with several settings of its systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, compress
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from analyses.ordering import tau_b
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined
from analyses.shared.drawing import MARKERS, colours, explain, label_curves, panel_index
from analyses.shared.limits import standard_deviations
from analyses.shared.measure import Measures
from analyses.shared.measure_estimates import Estimates
from analyses.shared.number_format import rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import listed
from analyses.shared.table import Table
from harness.scoring.means import Means
from runs.shared.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Varied = Literal["splits", "settings"]
"""What differs between repetitions; splits include the random seeds of training."""

MARKER_DISTANCE = 0.22
"""Distance, in rows, between the markers of users, systems and splits of one measure."""


@dataclass(frozen=True, eq=False)
class Repeats(Result):
    """Estimates and mean scores of one study under several seeds, or settings of the systems.

    Parameters
    ----------
    measures
        Report measures.
    systems, seeds
        Labels of axes; the first seed is that of the study. With other settings, numbers from 1.
    quantities, subjects, in_words
        What was estimated: its name, what it is about, and what it is, in words.
    values
        Estimates, of shape (n_quantities, n_measures, n_seeds); NaN where there is none.
    users, over_systems
        Standard deviations under one seed: over resampled users, and over systems by the delete-d
        jackknife; root mean squares over the seeds, of shape (n_quantities, n_measures).
    means
        Mean scores, of shape (n_measures, n_systems, n_seeds).
    signs
        1 for quantities of which more is better, else -1.
    varied
        What differs between the repetitions.
    """

    measures: Measures
    systems: tuple[str, ...]
    seeds: tuple[int, ...]
    quantities: tuple[str, ...]
    subjects: tuple[str, ...]
    in_words: tuple[str, ...]
    values: Floats
    users: Floats
    over_systems: Floats
    means: Floats
    signs: Floats
    varied: Varied = "splits"

    @property
    def names(self) -> tuple[str, str, str]:
        """Names of the sources of chance."""
        return "users", "systems", self.varied

    def of_settings(self, estimates: Estimates | None) -> Floats | None:
        """Select the values of a quantity under all settings of the systems.

        Returns
        -------
        Values of shape (n_measures, n_settings) over the measures of the estimates; NaN for
        measures that are not reported. None if settings were not varied, or the quantity was not
        estimated in all repetitions.
        """
        if estimates is None or self.varied != "settings" or estimates.name not in self.quantities:
            return None
        over_settings = np.full((len(estimates.measures), len(self.seeds)), np.nan)
        values = self.values[self.quantities.index(estimates.name)]
        for measure, values_of_measure in zip(self.measures, values, strict=True):
            if measure in estimates.measures:
                over_settings[estimates.measures.index(measure)] = values_of_measure
        return over_settings

    @cached_property
    def sources(self) -> Floats:
        """Standard deviations over users, systems and seeds, (3, n_quantities, n_measures)."""
        return np.stack([self.users, self.over_systems, deviation_of_defined(self.values)])

    @cached_property
    def taus(self) -> Floats:
        """Kendall's tau-b between the orderings of the systems under every two seeds.

        Of shape (n_measures, n_pairs_of_seeds).
        """
        pairs_of_seeds = list(combinations(range(len(self.seeds)), 2))
        first_seeds, second_seeds = np.array(pairs_of_seeds).T
        means_by_seed = self.means.swapaxes(1, 2)
        return tau_b(means_by_seed[:, first_seeds], means_by_seed[:, second_seeds])

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``repeats``, ``repeats_sources`` and ``repeats_means``.

        Returns
        -------
        ``repeats`` has columns quantity, metric, cutoff, seed, value; ``repeats_sources`` quantity,
        metric, cutoff and the standard deviations users, systems, and splits or settings;
        ``repeats_means`` metric, cutoff, system, seed, mean.
        """
        import pandas as pd

        measure_numbers = range(len(self.measures))

        def to_frame(columns: Mapping[str, Floats], **axes: Sequence[Any]) -> pd.DataFrame:
            """Tabulate arrays over the same axes; "measure" becomes metric and cutoff.

            ``columns`` are arrays by heading, ``axes`` the labels of their axes, in order; labels
            of the axis measure are positions. A row stands for each element.
            """
            index = pd.MultiIndex.from_product(list(axes.values()), names=list(axes))
            flat_columns = {name: values.ravel() for name, values in columns.items()}
            frame = pd.DataFrame(flat_columns, index).reset_index()
            numbers = frame.pop("measure").to_numpy(dtype=np.intp)
            position = list(axes).index("measure")
            metrics = [self.measures[number].metric for number in numbers]
            frame.insert(position, "metric", metrics)
            frame.insert(position + 1, "cutoff", self.measures.cutoff_column[numbers])
            return frame

        return {
            "repeats": to_frame(
                {"value": self.values},
                quantity=self.quantities,
                measure=measure_numbers,
                seed=self.seeds,
            ),
            "repeats_sources": to_frame(
                dict(zip(self.names, self.sources, strict=True)),
                quantity=self.quantities,
                measure=measure_numbers,
            ),
            "repeats_means": to_frame(
                {"mean": self.means},
                measure=measure_numbers,
                system=self.systems,
                seed=self.seeds,
            ),
        }

    @table("repeats", "standard deviations over users, systems and repetitions")
    def repeats_table(self) -> Table:
        """Tabulate each estimate over the seeds, with its standard deviations.

        A row for each quantity and report measure: its value in this study (the first seed), its
        mean over the seeds, and deviations over users, systems and seeds. NaN where there is none.
        """
        labels = self.measures.reported.labels
        # Of shape (n_quantities, n_measures).
        values_of_study = self.values[..., 0]
        means = mean_of_defined(self.values)
        columns: dict[str, Any] = {
            "measure": list(labels) * len(self.quantities),
            "quantity": np.repeat(self.quantities, len(labels)),
            "this study": values_of_study.ravel(),
            "mean": means.ravel(),
        }
        for name, deviations in zip(self.names, self.sources, strict=True):
            columns[f"sd {name}"] = deviations.ravel()
        title = f"The study under {len(self.seeds)} {self._repetitions}"
        return Table.from_columns("repeats", title, self.caption(), columns)

    def findings(self) -> Sequence[str]:
        """Word how much each source of chance contributes, and how far the orderings agree.

        A sentence for each quantity has root mean squares over the measures; one has the mean tau-b
        over pairs of seeds for each measure; the last say how often each measure was the best.
        """
        sentences = []
        deviations_over_measures = root_mean_square(self.sources)
        for index, (subject, words) in enumerate(zip(self.subjects, self.in_words, strict=True)):
            deviations = deviations_over_measures[:, index].tolist()
            spread = [
                f"{rounded(deviation)} over {source}"
                for source, deviation in zip(self.names, deviations, strict=True)
            ]
            sentences.append(f"{subject} ({words}) has standard deviations of {listed(spread)}.")
        mean_taus = mean_of_defined(self.taus).tolist()
        labels = self.measures.reported.labels
        taus = [
            f"{rounded(tau, 2)} ({label})" for label, tau in zip(labels, mean_taus, strict=True)
        ]
        sentences.append(
            f"The orderings of the systems under two {self._repetitions} agree with tau-b = "
            f"{listed(taus)}."
        )
        return (*sentences, *self._sentences_of_best())

    def _sentences_of_best(self) -> Iterator[str]:
        """Word how often each measure is the best, a sentence for each quantity.

        Of equally good measures the first counts; one without a value (NaN) is worst.
        ``self.values`` has the shape (n_quantities, n_measures, n_seeds).
        """
        for subject, values, sign in zip(self.subjects, self.values, self.signs, strict=True):
            comparable = np.where(np.isnan(values), -np.inf, sign * values)
            best_measures = comparable.argmax(axis=0).tolist()
            counts = Counter(best_measures).most_common()
            times = [f"{self.measures[number]} ({count})" for number, count in counts]
            repetitions = f"{len(self.seeds)} {self._repetitions}"
            yield f"{subject}: of {repetitions}, the best measure is {listed(times)}."

    @property
    def _repetitions(self) -> str:
        """What repetitions differ by, in the plural."""
        return "seeds" if self.varied == "splits" else "settings of the systems"

    @figure(
        "repeats",
        "Standard deviations over users, systems and repetitions",
        panels="subject",
        comparable=False,
        wide=True,
    )
    def plot(self, ax: Axes, *, subject: str | None = None) -> Axes:
        """Draw the mean of each measure over the seeds, with its standard deviations.

        A row for each measure has lines for users, systems and seeds, one below the other, each a
        standard deviation to both sides; the first measure is on top. ``subject`` chooses the
        quantity by what it is about; None takes the first. Draws into ``ax`` and returns it.
        """
        index = panel_index(self.subjects, subject)
        means = mean_of_defined(self.values[index])
        rows = np.arange(len(self.measures))[::-1]
        palette = colours()
        for number, source in enumerate(self.names):
            shift = MARKER_DISTANCE * (1 - number)
            ax.errorbar(
                means,
                rows + shift,
                xerr=self.sources[number, index],
                label=source,
                fmt=MARKERS[number],
                color=palette[number % len(palette)],
                markersize=3.5,
                linewidth=1.2,
            )
        explain(ax, "Lines: one standard deviation to each side of the mean.")
        ax.set_yticks(rows, list(map(str, self.measures.reported)))
        ax.set_xlabel(self.in_words[index])
        ax.set_title(self.subjects[index])
        label_curves(ax)
        return ax

    def cautions(self) -> Sequence[str]:
        """Caution of estimates that vary more than twice as much over repetitions as over users.

        One sentence names them, by standard deviations; no sentence if there are none. Deviations
        over users, systems and repetitions are each of shape (n_quantities, n_measures); NaN, where
        one is unknown, gives no caution.
        """
        over_users, _, over_repetitions = self.sources
        varies_more = over_repetitions > 2 * over_users
        labels = self.measures.reported.labels
        varying = []
        for quantity, marks in zip(self.quantities, varies_more, strict=True):
            varying += [f"{label} ({quantity})" for label in compress(labels, marks)]
        if not varying:
            return []
        return [
            f"These vary more than twice as much over {self._repetitions} as over users, so their "
            f"intervals over users hold for this study only: {listed(varying)}."
        ]

    def caption(self) -> str:
        """Word what was repeated, and what the standard deviations are."""
        if self.varied == "settings":
            varied = "settings of the systems: data, split and seed are the same"
        else:
            seeds = f"random seeds ({self.seeds[0]} to {self.seeds[-1]})"
            varied = f"{seeds}: the data are the same, splits and training differ"
        return (
            f"The study with {len(self.seeds)} {varied}. Standard deviations over users "
            "(bootstrap) and systems (jackknife) are root mean squares over the repetitions; "
            f"those over {self.varied} are of the values in the repetitions."
        )


def root_mean_square(values: Floats) -> Floats:
    """Compute the root of the mean of the squares along the last axis, of what is not NaN."""
    return np.sqrt(mean_of_defined(values**2))


def combine_repeats(
    means: Sequence[Means],
    results: Sequence[list[Result]],
    seeds: Sequence[int],
    varied: Varied = "splits",
) -> Repeats:
    """Combine the means and results of a study under each seed, or with each settings.

    Parameters
    ----------
    means, results
        Of each repetition; those of the study itself come first.
    seeds
        The seed of each repetition, or the number of its settings.
    varied
        What differs between the repetitions.

    Returns
    -------
    The estimates that all repetitions have, over the report measures of the study; NaN where one of
    these was not estimated.

    Raises
    ------
    ValueError
        If there are not as many means and results as seeds.
    """
    if not len(means) == len(results) == len(seeds):
        raise ValueError(
            f"each of the {len(seeds)} seeds must have means and results, got {len(means)} and "
            f"{len(results)}."
        )
    reported = means[0].measures.reported
    estimates_by_repetition = [_headlines(repetition_results) for repetition_results in results]
    quantities = [
        quantity
        for quantity in estimates_by_repetition[0]
        if all(quantity in estimates for estimates in estimates_by_repetition)
    ]
    of_study = [estimates_by_repetition[0][quantity] for quantity in quantities]

    def stack(number_of: Callable[[Estimates], Floats | None]) -> Floats:
        """Stack a number of all estimates: (n_quantities, n_measures, n_repetitions).

        ``number_of`` takes it from the estimates of a repetition, (n_measures,); NaN where it is
        None.
        """
        stacked = np.full((len(quantities), len(reported), len(seeds)), np.nan)
        for quantity_index, quantity in enumerate(quantities):
            for seed_index, estimates_by_quantity in enumerate(estimates_by_repetition):
                estimates = estimates_by_quantity[quantity]
                values = _over_measures(number_of(estimates), estimates, reported)
                stacked[quantity_index, :, seed_index] = values
        return stacked

    over_users = stack(lambda estimates: standard_deviations(estimates.replicates))
    over_systems = stack(_deviations_over_systems)
    signs = [-1.0 if estimates.lower_is_better else 1.0 for estimates in of_study]
    mean_scores = [
        repetition_means.values[repetition_means.measures.indices(reported)]
        for repetition_means in means
    ]
    return Repeats(
        measures=reported,
        systems=means[0].systems,
        seeds=tuple(seeds),
        quantities=tuple(quantities),
        subjects=tuple(estimates.subject for estimates in of_study),
        in_words=tuple(estimates.quantity for estimates in of_study),
        values=stack(lambda estimates: estimates.values),
        users=root_mean_square(over_users),
        over_systems=root_mean_square(over_systems),
        means=np.stack(mean_scores, axis=-1),
        signs=np.array(signs),
        varied=varied,
    )


def _headlines(results: Sequence[Result]) -> dict[str, Estimates]:
    """Collect the estimates that stand for each result, by name; not all results have some."""
    headlines = [result.headline() for result in results]
    return {headline.name: headline for headline in headlines if headline is not None}


def _deviations_over_systems(estimates: Estimates) -> Floats | None:
    """Compute the standard deviations over systems, (n_measures,); None if they are unknown."""
    return None if estimates.systems is None else np.sqrt(estimates.systems.variances)


def _over_measures(values: Floats | None, estimates: Estimates, reported: Measures) -> Floats:
    """Select values, over the measures of the estimates, for each report measure.

    NaN for measures without estimates, and for all if ``values`` is None.
    """
    selected = np.full(len(reported), np.nan)
    if values is None:
        return selected
    for index, measure in enumerate(reported):
        if measure in estimates.measures:
            selected[index] = values[estimates.measures.index(measure)]
    return selected
