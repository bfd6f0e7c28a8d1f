"""A study repeated with other seeds: what other splits and training runs would have given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.ordering import tau_b
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result, table
from analyses.shared.sentences import capitalised, listed, paired
from analyses.shared.table import Cell, Table, shown

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]

SURE = 0.95
"""Share of the seeds from which on a conclusion is said to hold."""


@dataclass(frozen=True, eq=False)
class Repeats(Result):
    """Estimates and mean scores of one study under several seeds.

    Parameters
    ----------
    measures
        Report measures.
    systems, seeds
        Labels of axes; the first seed is that of the study.
    quantities, subjects
        What was estimated: its name, and what it is about, in words.
    falling
        Whether less is better, of shape (n_quantities,).
    values
        Estimates, of shape (n_quantities, n_measures, n_seeds); NaN where there is none.
    errors
        Standard errors of those of the first seed, as its 95 % intervals have them (their width
        over 2 x 1.96); of shape (n_quantities, n_measures).
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
    falling: NDArray[np.bool_]
    values: Floats
    errors: Floats
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
    def taus(self) -> Floats:
        """Kendall's tau-b between the orderings of the systems under every two seeds.

        Of shape (n_measures, n_pairs_of_seeds).
        """
        one, other = np.array([*combinations(range(len(self.seeds)), 2)]).T
        by_seed = self.means.swapaxes(1, 2)
        return tau_b(by_seed[:, one], by_seed[:, other])

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``repeats``, ``repeats_pairs`` and ``repeats_means``.

        Returns
        -------
        ``repeats`` has columns quantity, metric, cutoff, seed, value; ``repeats_pairs`` quantity,
        metric_a, cutoff_a, metric_b, cutoff_b, first_better, second_better, undecided (shares of
        the seeds); ``repeats_means`` metric, cutoff, system, seed, mean.
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
        return {"repeats": values, "repeats_pairs": pairs, "repeats_means": means}

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.measures)), 2))

    @table("repeats", "other seeds: spread over splits and training, and who is first")
    def repeats_table(self) -> Table:
        """Tabulate each estimate over the seeds, beside its error by resampling."""
        rows: list[list[Cell]] = []
        means, deviations = mean_of_defined(self.values), deviation_of_defined(self.values)
        for place, quantity in enumerate(self.quantities):
            for number, label in enumerate(self.measures.reported.labels):
                numbers = (
                    self.values[place, number, 0],
                    self.errors[place, number],
                    means[place, number],
                    deviations[place, number],
                    self.first[place, number],
                )
                rows.append([label, quantity, *map(float, numbers)])
        return Table(
            name="repeats",
            title=f"The study under {len(self.seeds)} seeds",
            note=self.caption(),
            headings=["measure", "of", "this seed", "its error", "mean", "sd", "first"],
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
            *(self._finding(place) for place in range(len(self.quantities))),
            f"Under two seeds the systems are ordered with a mean tau-b of: {alike}.",
        )

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
            f"{self.subjects[place]}, under {n_seeds} seeds: first was {first}. Better beyond "
            f"noise in at least {100 * SURE:.0f} % of the seeds: "
            f"{capitalised(paired(held)) if held else 'no measure than another'}."
        )

    def cautions(self) -> Sequence[str]:
        """Say where another seed moves estimates more than resampling says."""
        deviations = deviation_of_defined(self.values)
        beyond = [
            f"{label} ({quantity})"
            for place, quantity in enumerate(self.quantities)
            for number, label in enumerate(self.measures.reported.labels)
            if deviations[place, number] > 2 * self.errors[place, number]
        ]
        if not beyond:
            return ()
        return (
            "Other seeds move these by more than twice their error by resampling users, so that "
            f"their intervals are for this split alone: {listed(beyond)}.",
        )

    def caption(self) -> str:
        """Say what was repeated."""
        return (
            f"The whole study was made with seeds {self.seeds[0]} to {self.seeds[-1]}: splits and "
            "training differ, the data are the same. An error is that of this seed, from "
            "resampling users; sd is the standard deviation over seeds; first is the share of the "
            "seeds in which a measure has the best value."
        )
