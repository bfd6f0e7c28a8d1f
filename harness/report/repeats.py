"""Repeats: a study with several seeds, or with several settings of its systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from analyses.ordering import tau_b
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined
from analyses.shared.drawing import MARKERS, colours, explain, label_curves, panel_index
from analyses.shared.estimates import Estimates
from analyses.shared.limits import standard_deviations
from analyses.shared.measure import Measures
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

APART = 0.22
"""Rows between the markers of users, systems and splits of one measure."""


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

    def of_settings(self, one: Estimates | None) -> Floats | None:
        """Give what estimates are under all settings of the systems, if these were varied."""
        if one is None or self.varied != "settings" or one.name not in self.quantities:
            return None
        found = np.full((len(one.measures), len(self.seeds)), np.nan)
        values = self.values[self.quantities.index(one.name)]
        for measure, row in zip(self.measures, values, strict=True):
            if measure in one.measures:
                found[one.measures.index(measure)] = row
        return found

    @cached_property
    def sources(self) -> Floats:
        """Standard deviations over users, systems and seeds, (3, n_quantities, n_measures)."""
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
        """Give ``repeats``, ``repeats_sources`` and ``repeats_means``.

        Returns
        -------
        ``repeats`` has columns quantity, metric, cutoff, seed, value; ``repeats_sources`` quantity,
        metric, cutoff and the standard deviations users, systems, and splits or settings;
        ``repeats_means`` metric, cutoff, system, seed, mean.
        """
        import pandas as pd

        def measured(values: Mapping[str, Floats], **axes: Sequence[Any]) -> pd.DataFrame:
            index = pd.MultiIndex.from_product(list(axes.values()), names=list(axes))
            frame = pd.DataFrame({n: v.ravel() for n, v in values.items()}, index).reset_index()
            numbers = frame.pop("measure").to_numpy(dtype=np.intp)
            place = int("quantity" in axes)
            frame.insert(place, "metric", [self.measures[n].metric for n in numbers])
            frame.insert(place + 1, "cutoff", self.measures.cutoff_column[numbers])
            return frame

        every = range(len(self.measures))
        by_source = dict(zip(self.names, self.sources, strict=True))
        return {
            "repeats": measured(
                {"value": self.values}, quantity=self.quantities, measure=every, seed=self.seeds
            ),
            "repeats_sources": measured(by_source, quantity=self.quantities, measure=every),
            "repeats_means": measured(
                {"mean": self.means}, measure=every, system=self.systems, seed=self.seeds
            ),
        }

    @table("repeats", "standard deviations over users, systems and repetitions")
    def repeats_table(self) -> Table:
        """Tabulate each estimate over the seeds, with its standard deviations."""
        labels, sources = self.measures.reported.labels, zip(self.names, self.sources, strict=True)
        columns = {
            "measure": [*labels] * len(self.quantities),
            "quantity": np.repeat(self.quantities, len(labels)),
            "this study": self.values[..., 0].ravel(),
            "mean": mean_of_defined(self.values).ravel(),
            **{f"sd {name}": deviations.ravel() for name, deviations in sources},
        }
        title = f"The study under {len(self.seeds)} {self._repetitions}"
        return Table.from_columns("repeats", title, self.caption(), columns)

    def findings(self) -> Sequence[str]:
        """Say how much each source of chance contributes, and how far the orderings agree."""
        labels, deviations = self.measures.reported.labels, root_mean_square(self.sources)
        found = []
        for place, (subject, words) in enumerate(zip(self.subjects, self.in_words, strict=True)):
            sources = zip(self.names, deviations[:, place].tolist(), strict=True)
            spread = listed([f"{rounded(sd)} over {source}" for source, sd in sources])
            found.append(f"{subject} ({words}) has standard deviations of {spread}.")
        taus = zip(labels, mean_of_defined(self.taus).tolist(), strict=True)
        alike = listed([f"{rounded(tau, 2)} ({label})" for label, tau in taus])
        agree = f"The orderings of the systems under two {self._repetitions} agree with tau-b"
        return (*found, f"{agree} = {alike}.", *self._leaders())

    def _leaders(self) -> Iterator[str]:
        """Say how often each measure comes first, by quantity."""
        for subject, values, sign in zip(self.subjects, self.values, self.signs, strict=True):
            ordered = np.where(np.isnan(values), -np.inf, sign * values)
            first = Counter(ordered.argmax(axis=0).tolist()).most_common()
            times = listed([f"{self.measures[n]} ({count})" for n, count in first])
            repeated = f"{len(self.seeds)} {self._repetitions}"
            yield f"{subject}: of {repeated}, the best measure is {times}."

    @property
    def _repetitions(self) -> str:
        """What repetitions have of their own."""
        return "seeds" if self.varied == "splits" else "settings of the systems"

    @figure(
        "repeats",
        "Standard deviations over users, systems and repetitions",
        panels="subject",
        comparable=False,
        wide=True,
    )
    def plot(self, ax: Axes, *, subject: str | None = None) -> Axes:
        """Draw the mean of each measure over the seeds, with its standard deviations."""
        place = panel_index(self.subjects, subject)
        means, rows = mean_of_defined(self.values[place]), np.arange(len(self.measures))[::-1]
        for n, (source, own) in enumerate(zip(self.names, self.sources[:, place], strict=True)):
            colour = colours()[n % len(colours())]
            look: dict[str, Any] = {"fmt": MARKERS[n], "color": colour, "linewidth": 1.2}
            places = rows + APART * (1 - n)
            ax.errorbar(means, places, xerr=own, label=source, markersize=3.5, **look)
        explain(ax, "Lines: one standard deviation to each side of the mean.")
        ax.set_yticks(rows, self.measures.reported.labels)
        ax.set_xlabel(self.in_words[place])
        ax.set_title(self.subjects[place])
        label_curves(ax)
        return ax

    def cautions(self) -> Sequence[str]:
        """Name estimates that vary more over seeds than over resampled users."""
        users, _, own = self.sources
        beyond = [
            f"{label} ({quantity})"
            for place, quantity in enumerate(self.quantities)
            for number, label in enumerate(self.measures.reported.labels)
            if own[place, number] > 2 * users[place, number]
        ]
        if not beyond:
            return []
        return [
            f"These vary more than twice as much over {self._repetitions} as over users, so their "
            f"intervals over users hold for this study only: {listed(beyond)}."
        ]

    def caption(self) -> str:
        """Say what was repeated."""
        seeds = f"random seeds ({self.seeds[0]} to {self.seeds[-1]})"
        differ = f"{seeds}: the data are the same, splits and training differ"
        if self.varied == "settings":
            differ = "settings of the systems: data, split and seed are the same"
        return (
            f"The study with {len(self.seeds)} {differ}. Standard deviations over users "
            "(bootstrap) and systems (jackknife) are root mean squares over the repetitions; "
            f"those over {self.varied} are of the values in the repetitions."
        )


def root_mean_square(values: Floats) -> Floats:
    """Give the root of the mean of the squares along the last axis, of what is not NaN."""
    return np.sqrt(mean_of_defined(values**2))


def gather(
    means: Sequence[Means],
    results: Sequence[list[Result]],
    seeds: Sequence[int],
    varied: Varied = "splits",
) -> Repeats:
    """Put together the means and results of a study under each seed, or with each settings."""
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
        return None if estimates.systems is None else np.sqrt(estimates.systems.variances)

    return Repeats(
        measures=reported,
        systems=systems,
        seeds=tuple(seeds),
        quantities=tuple(names),
        subjects=tuple(each.subject for each in of_first),
        in_words=tuple(each.quantity for each in of_first),
        values=gathered(lambda each: each.values),
        users=root_mean_square(gathered(lambda each: standard_deviations(each.replicates))),
        over_systems=root_mean_square(gathered(over_systems)),
        means=np.stack([each.values[each.measures.indices(reported)] for each in means], axis=-1),
        signs=np.array([-1.0 if each.lower_is_better else 1.0 for each in of_first]),
        varied=varied,
    )


def _by_measure(found: Floats | None, estimates: Estimates, reported: Measures) -> Floats:
    """Give what was found for each report measure, along the last axis; NaN where nothing was."""
    made, own = np.full(len(reported), np.nan), estimates.measures
    for place, measure in enumerate(reported):
        if found is not None and measure in own:
            made[place] = found[own.index(measure)]
    return made
