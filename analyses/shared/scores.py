"""Scores of all users, labelled with measures, systems and users; and deviations of single runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measures
from analyses.shared.table import excerpt, overview
from runs import InputError
from runs.shared.arrays import Floats, Masks, Numbers, mean_in_order
from runs.shared.arrow import arrow_stream
from runs.shared.errors import counted

if TYPE_CHECKING:
    import pandas as pd


SYSTEMS_IN_TEXT = 10
SYSTEMS_IN_HTML = 30
"""Number of systems that `Scores` shows by default, as text and as HTML."""

USER = "user"
TOPIC = "topic"
"""The unit of scores: topics where runs are given, else users."""


@dataclass(frozen=True, eq=False)
class RunDeviations:
    """Mean scores of runs, less those of their system, over users for whom all its runs rank.

    Parameters
    ----------
    values
        Of shape (n_measures, n_runs): 0 for the only run of a system, and where its runs have no
        user in common.
    systems
        Number of the system of each run, from 0, of shape (n_runs,).
    complete
        Whether all runs of a system rank for every user, of shape (n_systems,).
    """

    values: Floats
    systems: Numbers
    complete: Masks

    def __post_init__(self) -> None:
        """Refuse, with ValueError, runs or systems that do not fit the deviations.

        ``self.systems`` must have a number for each run, the second axis of ``self.values``, and
        ``self.complete`` a truth value for each system up to the highest number.
        """
        n_runs = self.values.shape[1]
        n_systems = int(self.systems.max(initial=-1)) + 1
        if self.systems.shape != (n_runs,) or self.complete.shape != (n_systems,):
            raise ValueError(
                f"systems of shape {self.systems.shape}, and `complete` of shape "
                f"{self.complete.shape}, do not fit the deviations of {n_runs:,} runs."
            )

    def select(self, indices: list[int], signs: float | Floats = 1.0) -> RunDeviations:
        """Select measures by position, and multiply the deviations of each by its sign.

        ``signs``: 1.0 or -1.0 for all measures, or an array of shape (n_indices,).
        """
        selected = self.values[indices]
        return replace(self, values=(selected.T * signs).T)

    def variances(self) -> tuple[Floats, Numbers]:
        """Estimate the variance of each system's mean over its runs, and count degrees of freedom.

        The variance of a mean of R runs is the sum of their squared deviations from it,
        ``self.values``, (n_measures, n_runs), over R (R - 1). The variances are of shape
        (n_measures, n_systems), the degrees of freedom (R - 1) of shape (n_systems,). Both are 0
        for a system with a single run.
        """
        n_runs = np.bincount(self.systems)
        n_systems = len(n_runs)
        is_run_of = self.systems[:, np.newaxis] == np.arange(n_systems)
        sums_of_squares = self.values**2 @ is_run_of
        # The sum of a single run is 0: any divisor does.
        divisors = np.maximum(n_runs * (n_runs - 1), 1)
        return sums_of_squares / divisors, n_runs - 1


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
        If the shape of the values does not fit the labels, that of the weights not the users, or a
        value is not finite.

    Examples
    --------
    Scores of two systems for three users by one measure:

    >>> from analyses.shared.measure import Measure, Measures
    >>> scores = Scores(
    ...     np.array([[[0.5, 0.2, 0.2], [0.1, 0.3, 0.2]]]),
    ...     measures=Measures([Measure("RR")]),
    ...     systems=("a", "b"),
    ...     users=np.array(["u1", "u2", "u3"]),
    ... )
    >>> scores.means().round(2).to_dict()
    {'RR': {'a': 0.3, 'b': 0.2}}
    """

    values: Floats
    measures: Measures
    systems: tuple[str, ...]
    users: NDArray[np.str_]
    runs: RunDeviations | None = None
    unit: str = USER
    weights: Floats | None = None

    def __post_init__(self) -> None:
        """Refuse, with InputError, arrays that do not fit the labels, NaN and infinite values.

        Scores must be of shape (n_measures, n_systems, n_users), weights of (n_users,); NaN and
        infinite weights are not refused.
        """
        shape = (len(self.measures), len(self.systems), len(self.users))
        if self.values.shape != shape:
            raise InputError(f"scores of shape {self.values.shape} do not fit labels of {shape}.")
        if self.weights is not None and self.weights.shape != self.users.shape:
            raise InputError(
                f"weights of shape {self.weights.shape} do not fit {len(self.users)} users."
            )
        is_infinite = ~np.isfinite(self.values)
        if is_infinite.any():
            measure, system, user = np.argwhere(is_infinite)[0]
            value = self.values[measure, system, user]
            labels = f"{self.measures[measure]}, {self.systems[system]}"
            raise InputError(
                f"scores must be finite, got {value} for {labels}, {self.unit} {self.users[user]}."
            )

    def require(self, analysis: str, *, users: int = 1) -> None:
        """Refuse, with InputError, fewer than two systems or too few users for an analysis.

        ``analysis`` is its name, to begin the sentence; ``users`` the number it needs: 1 or 2.
        """
        if len(self.systems) < 2 or len(self.users) < users:
            least = f"one {self.unit}" if users == 1 else f"two {self.unit}s"
            raise InputError(
                f"{analysis} needs at least two systems and {least}, got {len(self.systems)} and "
                f"{len(self.users)}."
            )

    def select(self, measures: Measures) -> Scores:
        """Select the scores of some measures, in the order in which they are given."""
        indices = self.measures.indices(measures)
        runs = None if self.runs is None else self.runs.select(indices)
        return replace(self, values=self.values[indices], measures=measures, runs=runs)

    @cached_property
    def weighted_values(self) -> Floats:
        """The values times the weights of the users, of shape (n_measures, n_systems, n_users).

        Their plain means over users are the weighted means. Without weights: the values.
        """
        return self.values if self.weights is None else self.values * self.weights

    def mean_values(self) -> Floats:
        """Average the weighted values over all users: means of shape (n_measures, n_systems).

        Users are added one by one, by rising id (a text), as trec_eval does: the last bits depend
        on it.
        """
        values = self.weighted_values
        is_unsorted = (self.users[1:] < self.users[:-1]).any()
        if is_unsorted:
            by_id = np.argsort(self.users, kind="stable")
            values = values[:, :, by_id]
        return mean_in_order(values)

    def means(self) -> pd.DataFrame:
        """Tabulate the means over all users: a row for each system, a column for each measure.

        The index has the names of the systems, the columns those of the measures, such as "P@5".

        Examples
        --------
        >>> from analyses.shared.measure import Measure
        >>> values = np.array([[[0.0, 0.5], [1.0, 0.5]]])
        >>> users = np.array(["u1", "u2"])
        >>> Scores(values, Measures([Measure("AP")]), ("a", "b"), users).means().to_dict()
        {'AP': {'a': 0.25, 'b': 0.75}}
        """
        import pandas as pd

        systems = pd.Index(self.systems, name="system")
        measures = [str(measure) for measure in self.measures]
        return pd.DataFrame(self.mean_values().T, index=systems, columns=measures)

    def frame(self) -> pd.DataFrame:
        """Tabulate all scores, a row each: columns measure, system, user, score.

        Scores are without the weights of users. Users vary fastest, then systems.
        """
        import pandas as pd

        measures = [str(measure) for measure in self.measures]
        index = pd.MultiIndex.from_product(
            [measures, self.systems, self.users], names=["measure", "system", "user"]
        )
        return pd.DataFrame({"score": self.values.ravel()}, index=index).reset_index()

    def __repr__(self) -> str:
        n_measures, n_systems, n_users = self.values.shape
        counts = [
            counted(n_measures, "measure"),
            counted(n_systems, "system"),
            counted(n_users, self.unit),
        ]
        title = f"Scores: {', '.join(counts)}. Means:"
        frame = self.means().reset_index()
        return overview(title, frame, ".means(), .frame()", rows=SYSTEMS_IN_TEXT)

    def _repr_html_(self) -> str:
        title = f"Mean scores of {counted(len(self.users), self.unit)}"
        return excerpt(title, self.means().reset_index(), (), rows=SYSTEMS_IN_HTML)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand out the table of `frame` as Arrow."""
        frame = self.frame()
        columns = {str(name): frame[name].to_numpy() for name in frame}
        return arrow_stream(columns, requested_schema=requested_schema)
