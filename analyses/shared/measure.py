"""A metric at a cut-off, and scores labelled with measures, systems and users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import combinations
from math import inf, nan
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from analyses.shared.table import excerpt, listing, overview
from runs import InputError
from runs.shared.arrays import Floats, Masks, Numbers, mean_in_order
from runs.shared.errors import ErrorCollector, counted, suggestion

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Measure:
    """A metric at a cut-off, or over whole lists."""

    metric: str
    cutoff: int | None = None

    @property
    def cutoff_label(self) -> str:
        """The cut-off as a label in a legend or above a column."""
        return "whole lists" if self.cutoff is None else f"@{self.cutoff}"

    def __str__(self) -> str:
        return self.metric if self.cutoff is None else f"{self.metric}@{self.cutoff}"


class Measures(tuple[Measure, ...]):
    """The measures of a study: a tuple with the roles of its members.

    Parameters
    ----------
    every
        All measures.
    lower_is_better_for
        Names of the metrics for which less is better.
    reported
        Measures that tables, figures and sentences compare; by default each metric at its deepest
        cut-off.
    grid
        Measures for curves over cut-offs; by default all.
    """

    lower_is_better_for: frozenset[str]
    _reported: tuple[Measure, ...]
    _grid: tuple[Measure, ...]

    def __new__(
        cls,
        every: Iterable[Measure],
        *,
        lower_is_better_for: Iterable[str] = (),
        reported: Iterable[Measure] | None = None,
        grid: Iterable[Measure] | None = None,
    ) -> Self:
        """Make the tuple with the roles of its members."""
        made = super().__new__(cls, every)
        made.lower_is_better_for = frozenset(lower_is_better_for)
        made._reported = _deepest(made) if reported is None else tuple(reported)
        made._grid = tuple(made if grid is None else grid)
        return made

    def __repr__(self) -> str:
        named = {"all": self, "compared": self._reported}
        return listing(counted(len(self), "measure"), named, ".metrics, .cutoffs, .reported")

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(
            Measures,
            lower_is_better_for=self.lower_is_better_for,
            reported=self._reported,
            grid=self._grid,
        )
        return make, (tuple(self),)

    def with_lower_is_better_for(self, metrics: Iterable[str]) -> Measures:
        """Set the metrics for which less is better."""
        return Measures(self, lower_is_better_for=metrics, reported=self._reported, grid=self._grid)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics, in order of appearance."""
        return tuple(dict.fromkeys(measure.metric for measure in self))

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """Cut-offs in rising order, without measures of whole lists."""
        return sorted_cutoffs(self)

    @property
    def cutoff_column(self) -> NDArray[np.object_]:
        """Cut-offs as a column of a data frame, None for whole lists (never as floats)."""
        return np.array([measure.cutoff for measure in self], dtype=object)

    @property
    def signs(self) -> Floats:
        """Give -1 for measures of which less is better, else 1."""
        return np.array(
            [-1.0 if measure.metric in self.lower_is_better_for else 1.0 for measure in self]
        )

    @property
    def reported(self) -> Measures:
        """The measures that are compared with one another, at the depth each is used at."""
        return self._only(self._reported)

    @property
    def grid(self) -> Measures:
        """The measures for curves over cut-offs."""
        return self._only(self._grid)

    @property
    def curves(self) -> Mapping[str, Measures]:
        """Measures of the grid by metric, rising, for metrics with several cut-offs."""
        found = {metric: self.curve(metric) for metric in self.metrics}
        return {metric: own for metric, own in found.items() if len(own) > 1}

    def curve(self, metric: str) -> Measures:
        """Give the measures of a metric in the grid, by rising cut-off."""
        own = (m for m in self._grid if m.metric == metric and m.cutoff is not None)
        return self._only(sorted(own, key=depth_of))

    def restricted_to(self, measures: Iterable[Measure]) -> Measures:
        """Keep the measures that are among others; the roles stay where possible."""
        others = set(measures)
        every, reported, grid = (
            [measure for measure in some if measure in others]
            for some in (self, self._reported, self._grid)
        )
        return Measures(
            every,
            lower_is_better_for=self.lower_is_better_for,
            reported=reported or None,
            grid=grid,
        )

    def require(self, names: Sequence[str], cutoffs: Sequence[int]) -> None:
        """Refuse names of no metric or measure, and cut-offs at which nothing is measured."""
        labels = [str(measure) for measure in self]
        errors = ErrorCollector()
        for name in names:
            metric, _, _ = name.partition("@")
            if name in labels or name in self.metrics:
                continue
            if metric in self.metrics:
                others = [str(measure) for measure in self if measure.metric == metric]
                errors.add(f"{name} was not measured; there are {', '.join(others)}.")
            else:
                hint = suggestion(name, [*self.metrics, *labels])
                errors.add(f"no measure is called {name!r}; {hint}")
        for cutoff in cutoffs:
            if cutoff not in self.cutoffs:
                depths = ", ".join(map(str, self.cutoffs)) or "none"
                errors.add(f"nothing was measured at cut-off {cutoff}; there are {depths}.")
        errors.raise_any()

    def choose(self, names: Sequence[str], cutoffs: Sequence[int]) -> Measures:
        """Report some alone: by the name of a metric or measure, at some cut-offs or its usual."""

        def is_meant(measure: Measure) -> bool:
            is_named = not names or measure.metric in names or str(measure) in names
            return is_named and (not cutoffs or measure.cutoff in cutoffs)

        every, grid = filter(is_meant, self), filter(is_meant, self._grid)
        usual = {
            *self._reported,
            *_deepest(m for m in self if m.metric not in self.reported.metrics),
        }
        reported = [m for m in every if cutoffs or m in usual or str(m) in names]
        return Measures(
            self, lower_is_better_for=self.lower_is_better_for, reported=reported, grid=grid
        )

    def at_cutoff(self, cutoff: int | None) -> Measures:
        """Give the measures at a cut-off, or of whole lists."""
        return self._only(measure for measure in self if measure.cutoff == cutoff)

    def reported_or_at(self, cutoff: int | None = None) -> Measures:
        """Give the report measures, or all metrics at a cut-off."""
        return self.reported if cutoff is None else self.at_cutoff(cutoff)

    def comparable_with(self, measure: Measure) -> Measures:
        """Give the measures that one is compared with, including itself."""
        return self.reported if measure in self._reported else self.at_cutoff(measure.cutoff)

    def are_comparable(self, first: Measure, second: Measure) -> bool:
        """Tell whether two measures share a cut-off or a metric, or are both reported."""
        alike = first.cutoff == second.cutoff or first.metric == second.metric
        return alike or {first, second} <= set(self._reported)

    def indices(self, measures: Iterable[Measure]) -> list[int]:
        """Find some measures among these."""
        return [self.index(measure) for measure in measures]

    @property
    def common_depth(self) -> str:
        """Where all are measured, such as "cut-off 10" or "whole lists"; empty if that differs."""
        if len({measure.cutoff for measure in self}) != 1:
            return ""
        return "whole lists" if self[0].cutoff is None else f"cut-off {self[0].cutoff}"

    @property
    def title_suffix(self) -> str:
        """The same, to end a title."""
        place = self.common_depth
        return place and f" {'of' if self[0].cutoff is None else 'at'} {place}"

    @property
    def is_grid(self) -> bool:
        """Whether these are metrics by cut-offs, be it one, and not measures of several depths."""
        return bool(self.curves or self.common_depth)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the metrics if all have one `common_depth`, else of the measures."""
        return tuple(measure.metric if self.common_depth else str(measure) for measure in self)

    def with_label(self, label: str) -> Measure:
        """Find a measure by its label."""
        return self[self.labels.index(label)]

    def cells_by_cutoff(
        self, values: Iterable[float], *, heading: str
    ) -> dict[tuple[str, str], float]:
        """Lay a number of each out by metric and cut-off; below a heading if there is no grid."""
        numbers = list(zip(self, map(float, values), strict=True))
        if not self.is_grid:
            return {(str(measure), heading): number for measure, number in numbers}
        # The first row has all columns, from the shallowest.
        columns = {(self[0].metric, m.cutoff_label): nan for m in sorted(self, key=depth_of)}
        return columns | {(m.metric, m.cutoff_label): number for m, number in numbers}

    def _only(self, some: Iterable[Measure]) -> Measures:
        chosen = tuple(some)
        return Measures(
            chosen, lower_is_better_for=self.lower_is_better_for, reported=chosen, grid=()
        )


def _deepest(every: Iterable[Measure]) -> tuple[Measure, ...]:
    """Give each metric at its deepest: over whole lists, or at the last cut-off."""
    by_metric: dict[str, Measure] = {}
    for measure in every:
        known = by_metric.setdefault(measure.metric, measure)
        if depth_of(measure) > depth_of(known):
            by_metric[measure.metric] = measure
    return tuple(by_metric.values())


def depth_of(measure: Measure) -> float:
    """Give the cut-off; infinity for whole lists."""
    return inf if measure.cutoff is None else measure.cutoff


SYSTEMS_IN_TEXT, SYSTEMS_IN_HTML = 10, 30

USER, TOPIC = "user", "topic"
"""What scores are of: topics where runs are given, else users."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of all users, for every system and measure.

    ``means()`` and ``frame()`` give data frames; `harness.discriminate` and other functions take
    the object as it is.

    Parameters
    ----------
    values
        float64 of shape (n_measures, n_systems, n_users).
    measures
        Labels of the first axis.
    systems
        Labels of the second axis.
    users
        Ids of the users (topics), the labels of the third axis.
    runs
        Deviations of single runs, if the values are means over several runs of a system.
    unit
        What a score belongs to: "user" or "topic".
    weights
        Weights of the users in means over them, of shape (n_users,), with the mean 1; None if all
        weigh the same.

    Raises
    ------
    InputError
        If the shape of the values does not fit the labels, or a value is not finite.
    """

    values: Floats
    measures: Measures
    systems: tuple[str, ...]
    users: NDArray[np.str_]
    runs: RunDeviations | None = None
    unit: str = USER
    weights: Floats | None = None

    def __post_init__(self) -> None:
        labels = (len(self.measures), len(self.systems), len(self.users))
        if self.values.shape != labels:
            raise InputError(f"scores of shape {self.values.shape} do not fit labels of {labels}.")
        if not np.isfinite(self.values).all():
            measure, system, user = np.argwhere(~np.isfinite(self.values))[0]
            raise InputError(
                f"scores must be finite, got {self.values[measure, system, user]} for "
                f"{self.measures[measure]}, {self.systems[system]}, {self.unit} "
                f"{self.users[user]}."
            )

    def require(self, analysis: str, *, users: int = 1) -> None:
        """Refuse fewer than two systems, or fewer users than an analysis needs: one or two."""
        if len(self.systems) < 2 or len(self.users) < users:
            least = f"one {self.unit}" if users == 1 else f"two {self.unit}s"
            raise InputError(
                f"{analysis} needs at least two systems and {least}, got {len(self.systems)} and "
                f"{len(self.users)}."
            )

    def select(self, measures: Measures) -> Scores:
        """Take the scores of some measures."""
        numbers = self.measures.indices(measures)
        runs = None if self.runs is None else self.runs.select(numbers)
        return replace(self, values=self.values[numbers], measures=measures, runs=runs)

    @cached_property
    def weighted_values(self) -> Floats:
        """The values times the weights of the users, whose plain means are weighted means."""
        return self.values if self.weights is None else self.values * self.weights

    def mean_values(self) -> Floats:
        """Average over all users, by rising id; the means are of shape (n_measures, n_systems)."""
        values = self.weighted_values
        if (self.users[1:] < self.users[:-1]).any():
            values = values[:, :, np.argsort(self.users, kind="stable")]
        return mean_in_order(values)

    def means(self) -> pd.DataFrame:
        """Give the mean over all users: a row for each system, a column for each measure.

        Examples
        --------
        >>> values = np.array([[[0.0, 0.5], [1.0, 0.5]]])
        >>> users = np.array(["u1", "u2"])
        >>> Scores(values, Measures([Measure("AP")]), ("a", "b"), users).means().to_dict()
        {'AP': {'a': 0.25, 'b': 0.75}}
        """
        import pandas as pd

        systems, measures = pd.Index(self.systems, name="system"), [*map(str, self.measures)]
        return pd.DataFrame(self.mean_values().T, index=systems, columns=measures)

    def frame(self) -> pd.DataFrame:
        """Give a row for each measure, system and user: columns measure, system, user, score."""
        import pandas as pd

        labels = [*map(str, self.measures)], self.systems, self.users
        index = pd.MultiIndex.from_product(labels, names=["measure", "system", "user"])
        return pd.DataFrame({"score": self.values.ravel()}, index=index).reset_index()

    def __repr__(self) -> str:
        n_measures, n_systems, n_users = self.values.shape
        counts = counted(n_measures, "measure"), counted(n_systems, "system")
        title = f"Scores: {', '.join(counts)}, {counted(n_users, self.unit)}. Means:"
        frame = self.means().reset_index()
        return overview(title, frame, ".means(), .frame()", rows=SYSTEMS_IN_TEXT)

    def _repr_html_(self) -> str:
        title = f"Mean scores of {counted(len(self.users), self.unit)}"
        return excerpt(title, self.means().reset_index(), (), rows=SYSTEMS_IN_HTML)


def tidy(
    *axes: Measures | Mapping[str, Iterable[Any]] | pd.DataFrame, **columns: Any
) -> pd.DataFrame:
    """Cross the labels of the axes of arrays, and put their numbers beside, a row for each.

    Measures have the columns metric and cutoff.
    """
    import pandas as pd

    labels = [
        pd.DataFrame({"metric": [m.metric for m in axis], "cutoff": axis.cutoff_column})
        if isinstance(axis, Measures)
        else pd.DataFrame(axis)
        for axis in axes
    ]
    frame, shape = reduce(partial(pd.merge, how="cross"), labels), [*map(len, labels)]
    return frame.assign(**{n: np.broadcast_to(of, shape).ravel() for n, of in columns.items()})


def pair_labels(names: Sequence[str], *columns: str) -> dict[str, list[str]]:
    """Label the first and the second of every pair by these columns."""
    pairs = [*combinations(names, 2)]
    return {column: [pair[side] for pair in pairs] for side, column in enumerate(columns)}


def sorted_cutoffs(measures: Iterable[Measure]) -> tuple[int, ...]:
    """Give every cut-off at which something is measured, rising."""
    return tuple(sorted({m.cutoff for m in measures if m.cutoff is not None}))


@dataclass(frozen=True, eq=False)
class RunDeviations:
    """Mean scores of runs, less those of their system, over users for whom all its runs rank.

    Parameters
    ----------
    values
        Of shape (n_measures, n_runs): 0 for the only run of a system, and where its runs have no
        user in common.
    systems
        Number of the system of each run, of shape (n_runs,).
    complete
        Whether all runs of a system rank for every user, of shape (n_systems,).
    """

    values: Floats
    systems: Numbers
    complete: Masks

    def select(self, indices: list[int], signs: float | Floats = 1.0) -> RunDeviations:
        """Take some of the measures, perhaps turned round."""
        return replace(self, values=(self.values[indices].T * signs).T)

    def variances(self) -> tuple[Floats, Numbers]:
        """Give the variances of systems' means over their runs, and the degrees of freedom of each.

        Of shapes (n_measures, n_systems) and (n_systems,); 0 of a system with a single run.
        """
        sizes = np.bincount(self.systems)
        squares = self.values**2 @ (self.systems[:, None] == np.arange(len(sizes)))
        return squares / np.maximum(sizes * (sizes - 1), 1), sizes - 1


def to_grid(scores: Floats) -> Floats:
    """Round each measure's scores to whole numbers of its grid, whose sums float64 holds.

    The grid 2^k has n_users max|x| 2^-k < 2^51, so that every partial sum, and every difference
    of two, is a whole number below 2^53.
    """
    scaled = np.ldexp(scores, -grid_exponents(scores))
    return np.rint(scaled, out=scaled)


def grid_exponents(scores: Floats) -> NDArray[np.intc]:
    """Give the k of each measure's grid 2^k, of shape (n_measures, 1, 1)."""
    largest = np.abs(scores).max(axis=(1, 2), keepdims=True, initial=0.0)
    return sum_grid_exponents(largest, scores.shape[2])


def sums_on_grid(rows: Floats, weights: Floats) -> Floats:
    """Add up rows, (n_rows, n_users), with whole weights, (n_users, n_sums), on their one grid.

    Weights of a sum that add up to no more than n_users fit the grid as plain sums do.
    """
    grid, exponents = to_grid(rows[None])[0], grid_exponents(rows[None])[0]
    return np.asarray(np.ldexp(grid @ weights, exponents))


def sum_grid_exponents(largest: Floats, count: int) -> NDArray[np.intc]:
    """Give the k of the grid 2^k for sums of so many numbers that are no larger, likewise."""
    return np.frexp(largest * count)[1] - 51
