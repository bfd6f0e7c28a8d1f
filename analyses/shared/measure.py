"""A metric at a cut-off, the measures of a study with their roles, and tables labelled by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import combinations
from math import inf, nan
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from analyses.shared.table import listing
from runs.shared.arrays import Floats
from runs.shared.errors import ErrorCollector, counted, suggestion

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Measure:
    """A metric at a cut-off, or over whole lists.

    Parameters
    ----------
    metric
        Name of the metric, with its options.
    cutoff
        Number of ranks that count; None for whole lists.

    Examples
    --------
    >>> measure = Measure("P(rel=4)", 10)
    >>> str(measure), measure.cutoff
    ('P(rel=4)@10', 10)
    """

    metric: str
    cutoff: int | None = None

    @property
    def cutoff_label(self) -> str:
        """The cut-off as a label in a legend or above a column: "@10", or "whole lists"."""
        return "whole lists" if self.cutoff is None else f"@{self.cutoff}"

    def __str__(self) -> str:
        return self.metric if self.cutoff is None else f"{self.metric}@{self.cutoff}"


class Measures(tuple[Measure, ...]):
    """The measures of a study: a tuple of `Measure` with the roles of its members.

    Parameters
    ----------
    measures
        All measures.
    lower_is_better_for
        Names of the metrics of which lower values are better.
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
        measures: Iterable[Measure],
        *,
        lower_is_better_for: Iterable[str] = (),
        reported: Iterable[Measure] | None = None,
        grid: Iterable[Measure] | None = None,
    ) -> Self:
        """Make the tuple, and set the roles of its members.

        ``reported`` are the measures that tables, figures and sentences compare; by default each
        metric at its deepest cut-off. ``grid`` are those for curves over cut-offs; by default all.
        Both may hold no others than ``measures``, which is not checked.
        """
        created = super().__new__(cls, measures)
        created.lower_is_better_for = frozenset(lower_is_better_for)
        created._reported = _deepest(created) if reported is None else tuple(reported)
        created._grid = tuple(created if grid is None else grid)
        return created

    def __repr__(self) -> str:
        roles = {"all": self, "compared": self._reported}
        return listing(counted(len(self), "measure"), roles, ".metrics, .cutoffs, .reported")

    def __reduce__(self) -> tuple[Any, ...]:
        """Describe for pickle and copy how to make the tuple again, with its roles."""
        make = partial(
            Measures,
            lower_is_better_for=self.lower_is_better_for,
            reported=self._reported,
            grid=self._grid,
        )
        return make, (tuple(self),)

    def with_lower_is_better_for(self, metrics: Iterable[str]) -> Measures:
        """Replace the names of the metrics of which lower values are better."""
        return Measures(
            self,
            lower_is_better_for=metrics,
            reported=self._reported,
            grid=self._grid,
        )

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics, in order of appearance."""
        return tuple(dict.fromkeys(measure.metric for measure in self))

    @cached_property
    def cutoffs(self) -> tuple[int, ...]:
        """Cut-offs in rising order, without measures of whole lists."""
        return sorted_cutoffs(self)

    @property
    def cutoff_column(self) -> NDArray[np.object_]:
        """Cut-offs as a column of a data frame, None for whole lists (never as floats)."""
        return np.array([measure.cutoff for measure in self], dtype=object)

    @property
    def signs(self) -> Floats:
        """-1.0 for each measure of which lower values are better, else 1.0: (n_measures,)."""
        lower_is_better = [measure.metric in self.lower_is_better_for for measure in self]
        return np.where(lower_is_better, -1.0, 1.0)

    @cached_property
    def reported(self) -> Measures:
        """The measures that are compared with one another, at the depth each is used at."""
        return self._subset(self._reported)

    @cached_property
    def grid(self) -> Measures:
        """The measures for curves over cut-offs."""
        return self._subset(self._grid)

    @cached_property
    def curves(self) -> Mapping[str, Measures]:
        """The curve of each metric with several cut-offs in the grid, by the metric's name."""
        by_metric = {metric: self.curve(metric) for metric in self.metrics}
        return {metric: curve for metric, curve in by_metric.items() if len(curve) > 1}

    def curve(self, metric: str) -> Measures:
        """Select the measures of a metric in the grid, by rising cut-off.

        A measure of whole lists is left out. The result is empty if the grid has no cut-off of the
        metric.
        """
        of_metric = [m for m in self._grid if m.metric == metric and m.cutoff is not None]
        return self._subset(sorted(of_metric, key=depth_of))

    def restricted_to(self, measures: Iterable[Measure]) -> Measures:
        """Select the members that are also in ``measures``, in their own order, with their roles.

        If no report measure is left, each metric at its deepest cut-off is reported. The result is
        empty if no member is left.
        """
        allowed = set(measures)
        remaining = [measure for measure in self if measure in allowed]
        reported = [measure for measure in self._reported if measure in allowed]
        grid = [measure for measure in self._grid if measure in allowed]
        return Measures(
            remaining,
            lower_is_better_for=self.lower_is_better_for,
            reported=reported or None,
            grid=grid,
        )

    def require(self, names: Sequence[str], cutoffs: Sequence[int]) -> None:
        """Refuse unknown names and cut-offs: raise one InputError with a sentence for each.

        A name is that of a metric (``nDCG``) or of a measure (``nDCG@10``). A cut-off must be that
        of some measure.
        """
        errors = ErrorCollector()
        for name in names:
            reason = self._why_unknown(name)
            if reason:
                errors.add(reason)
        for cutoff in cutoffs:
            if cutoff not in self.cutoffs:
                depths = ", ".join(map(str, self.cutoffs)) or "none"
                errors.add(f"nothing was measured at cut-off {cutoff}; there are {depths}.")
        errors.raise_any()

    def _why_unknown(self, name: str) -> str:
        """Explain in a sentence why a name is of no metric and no measure; empty if it is of one.

        For a known metric at another cut-off, the sentence lists the metric's measures; else it
        suggests the most similar name.
        """
        labels = [str(measure) for measure in self]
        if name in labels or name in self.metrics:
            return ""
        metric, _, _ = name.partition("@")
        if metric in self.metrics:
            of_metric = [str(measure) for measure in self if measure.metric == metric]
            return f"{name} was not measured; there are {', '.join(of_metric)}."
        hint = suggestion(name, [*self.metrics, *labels])
        return f"no measure is called {name!r}; {hint}"

    def choose(self, names: Sequence[str], cutoffs: Sequence[int]) -> Measures:
        """Copy all members, but let only the chosen ones be reported and in the grid.

        Names are those of metrics (nDCG) or of measures (nDCG@10); without names, every metric is
        chosen. With cut-offs, the metrics are reported at these. Without, a measure that is named
        is reported, and a metric that is named at its usual cut-off: that of the report, or else
        its deepest. Unknown names and cut-offs choose nothing.
        """

        def is_chosen(measure: Measure) -> bool:
            """Tell whether a measure has a chosen name, if there are any, and a chosen cut-off."""
            is_named = not names or measure.metric in names or str(measure) in names
            return is_named and (not cutoffs or measure.cutoff in cutoffs)

        reported_metrics = self.reported.metrics
        unreported = [m for m in self if m.metric not in reported_metrics]
        usual = {*self._reported, *_deepest(unreported)}
        reported = [
            measure
            for measure in filter(is_chosen, self)
            if cutoffs or measure in usual or str(measure) in names
        ]
        return Measures(
            self,
            lower_is_better_for=self.lower_is_better_for,
            reported=reported,
            grid=filter(is_chosen, self._grid),
        )

    def at_cutoff(self, cutoff: int | None) -> Measures:
        """Select the measures at a cut-off; None: those of whole lists."""
        return self._subset(measure for measure in self if measure.cutoff == cutoff)

    def reported_or_at(self, cutoff: int | None = None) -> Measures:
        """Select all measures at a cut-off; without one, the report measures."""
        return self.reported if cutoff is None else self.at_cutoff(cutoff)

    def comparable_with(self, measure: Measure) -> Measures:
        """Select the measures that a measure is ranked among, which it is one of.

        They are the report measures if it is one of them, else the measures at its cut-off.
        """
        return self.reported if measure in self._reported else self.at_cutoff(measure.cutoff)

    def are_comparable(self, first: Measure, second: Measure) -> bool:
        """Tell whether two measures share a cut-off or a metric, or are both reported."""
        share_cutoff = first.cutoff == second.cutoff
        share_metric = first.metric == second.metric
        are_reported = first in self._reported and second in self._reported
        return share_cutoff or share_metric or are_reported

    def indices(self, measures: Iterable[Measure]) -> list[int]:
        """Look up the positions of measures in this tuple, from 0; ValueError for another one."""
        return [self.index(measure) for measure in measures]

    @cached_property
    def common_depth(self) -> str:
        """The one depth of all, such as "cut-off 10" or "whole lists"; empty if depths differ."""
        cutoffs = {measure.cutoff for measure in self}
        if len(cutoffs) != 1:
            return ""
        (cutoff,) = cutoffs
        return "whole lists" if cutoff is None else f"cut-off {cutoff}"

    @property
    def title_suffix(self) -> str:
        """The end of a title: " at cut-off 10" or " of whole lists"; empty if depths differ."""
        depth = self.common_depth
        if not depth:
            return ""
        preposition = "of" if self[0].cutoff is None else "at"
        return f" {preposition} {depth}"

    @property
    def is_grid(self) -> bool:
        """Whether these are metrics by cut-offs, be it one, and not measures of several depths."""
        return bool(self.curves or self.common_depth)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of the metrics if all have one `common_depth`, else of the measures."""
        if self.common_depth:
            return tuple(measure.metric for measure in self)
        return tuple(map(str, self))

    def with_label(self, label: str) -> Measure:
        """Look up the measure with one of the `labels`; ValueError if no measure has it."""
        return self[self.labels.index(label)]

    def cells_by_cutoff(
        self, values: Iterable[float], *, heading: str
    ) -> dict[tuple[str, str], float]:
        """Lay out a number for each measure as cells of a table, by (row, column).

        Rows are metrics and columns cut-offs, from the shallowest. If the members are measures of
        several depths (not `is_grid`), rows are measures, in one column with the heading. The
        first row has a cell in every column: NaN where its metric has no such cut-off.
        """
        numbers = [float(value) for value in values]
        if not self.is_grid:
            rows = [(str(measure), heading) for measure in self]
            return dict(zip(rows, numbers, strict=True))
        first_metric = self[0].metric
        cells = {(first_metric, m.cutoff_label): nan for m in sorted(self, key=depth_of)}
        for measure, number in zip(self, numbers, strict=True):
            cells[measure.metric, measure.cutoff_label] = number
        return cells

    def _subset(self, measures: Iterable[Measure]) -> Measures:
        """Make Measures of some members: all are reported, and none are in the grid."""
        members = tuple(measures)
        return Measures(
            members,
            lower_is_better_for=self.lower_is_better_for,
            reported=members,
            grid=(),
        )


def _deepest(measures: Iterable[Measure]) -> tuple[Measure, ...]:
    """Select one measure of each metric: that of whole lists, or else at the deepest cut-off."""
    by_metric: dict[str, Measure] = {}
    for measure in measures:
        deepest = by_metric.setdefault(measure.metric, measure)
        if depth_of(measure) > depth_of(deepest):
            by_metric[measure.metric] = measure
    return tuple(by_metric.values())


def depth_of(measure: Measure) -> float:
    """Look up the cut-off of a measure as a number to sort by; infinity for whole lists."""
    return inf if measure.cutoff is None else measure.cutoff


def sorted_cutoffs(measures: Iterable[Measure]) -> tuple[int, ...]:
    """Collect the cut-offs of measures in rising order, each once; whole lists have none."""
    cutoffs = {measure.cutoff for measure in measures if measure.cutoff is not None}
    return tuple(sorted(cutoffs))


def tidy(
    *axes: Measures | Mapping[str, Iterable[Any]] | pd.DataFrame, **columns: Any
) -> pd.DataFrame:
    """Tabulate arrays with labelled axes: a row for each combination of labels.

    Parameters
    ----------
    *axes
        The labels of each axis, in order: columns by name, of equal length. Measures have the
        columns metric and cutoff.
    **columns
        Arrays by the name of their column; their shapes broadcast to the lengths of the axes.

    Returns
    -------
    A frame with the columns of all labels, then those of the arrays. The last axis varies fastest.
    """
    import pandas as pd

    labels = [_axis_labels(axis) for axis in axes]
    lengths = [len(frame) for frame in labels]
    frame = reduce(partial(pd.merge, how="cross"), labels)
    numbers = {name: np.broadcast_to(values, lengths).ravel() for name, values in columns.items()}
    return frame.assign(**numbers)


def _axis_labels(axis: Measures | Mapping[str, Iterable[Any]] | pd.DataFrame) -> pd.DataFrame:
    """Tabulate the labels of an axis; of measures in the columns metric and cutoff."""
    import pandas as pd

    if isinstance(axis, Measures):
        metrics = [measure.metric for measure in axis]
        return pd.DataFrame({"metric": metrics, "cutoff": axis.cutoff_column})
    return pd.DataFrame(axis)


def pair_labels(
    names: Sequence[str], first_column: str, second_column: str
) -> dict[str, list[str]]:
    """List all pairs of names, i < j, as two columns by their names: first and second of each.

    The order is that of `itertools.combinations`: (0, 1), (0, 2), ..., (1, 2), ...
    """
    pairs = list(combinations(names, 2))
    return {
        first_column: [first for first, _ in pairs],
        second_column: [second for _, second in pairs],
    }
