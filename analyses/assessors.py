"""Assessors: whether judgements by one assessor, such as a language model, agree with another's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from analyses.intervals.percentile_intervals import percentiles
from analyses.intervals.resampling import resampled_users
from analyses.ordering import tau_ap, tau_b
from analyses.shared.analysis import Need, analysis
from analyses.shared.drawing import draw_rows, explain, panel_index
from analyses.shared.estimate import Estimate
from analyses.shared.measure import Measures, tidy
from analyses.shared.number_format import rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import listed
from analyses.shared.table import Table
from analyses.significance.effects import mean_limits
from analyses.significance.permutation import pair_differences
from analyses.significance.question import Question
from analyses.validity.comparison import Comparison
from runs import InputError
from runs.shared.arrays import Floats, Numbers
from runs.shared.settings import Repeats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

AGREEMENTS = (
    "active agreement",
    "active disagreement",
    "mixed agreement",
    "mixed disagreement",
    "passive agreement",
    "passive disagreement",
)
"""Pairs of systems by significance under both, one or neither assessor, and by their order."""


class Settings(Question):
    """Agreement of two assessors."""

    top: tuple[int, ...] = Field(
        (5, 10), description="Numbers of best systems, by the second assessor, that are ordered."
    )
    replicates: Repeats = Field(1000, ge=20, description="Bootstrap replicates of the users.")


@analysis(
    "assessors",
    source="Moffat, Scholer & Thomas (2012); Cohen (1960)",
    needs=(Need.TRUTH,),
    on_request=True,
    question="Do two assessors agree on items, on the systems and on their significance?",
)
def assessors(work: Work, settings: Settings) -> Assessors:
    """Compare the judgements of the qrels with those of the truth, and what follows from both.

    The first assessor made the qrels, the second the truth. Items that only one of them judged
    count for the scores, not for the table of grades.
    """
    comparison = Comparison.of(work)
    reported = comparison.measured.measures.reported
    chosen = comparison.measured.measures.indices(reported)
    user, first, second = work.judged_twice
    if not len(user):
        raise InputError("no item was judged by both assessors.")
    grades = np.unique([first, second])
    rows, place = np.unique(user, return_inverse=True)
    by_user = np.zeros((len(rows), len(grades), len(grades)))
    np.add.at(by_user, (place, *(np.searchsorted(grades, own) for own in (first, second))), 1.0)
    of_users = by_user.reshape(len(rows), -1)
    drawn = resampled_users(0, settings.replicates, n_users=len(of_users), seed=work.seed)
    tables = np.concatenate([of_users.sum(axis=0)[None], drawn @ of_users])
    p, true_p = (each[..., chosen, :] for each in comparison.p_values(work, settings))
    measured, true = (each[..., chosen, :] for each in comparison.means())
    shared, places, others = np.intersect1d(
        comparison.measured.users, comparison.true.users, return_indices=True
    )
    own, by_first = comparison.references[0][chosen], comparison.measured.values[chosen]
    gaps = by_first[..., places] - comparison.true.values[own][..., others]
    low, high = mean_limits(gaps, level=0.95, runs=None)
    return Assessors(
        measures=Measures(reported, reported=reported),
        systems=comparison.measured.systems,
        grades=tuple(grades.tolist()),
        level=work.qrels.relevance_level,
        tables=tables.reshape(-1, len(grades), len(grades)),
        measured=measured,
        true=true[0],
        agreement=_agreement(measured, p, true[0], true_p[0], settings.alpha),
        bias=np.stack([gaps.mean(axis=2), low, high]),
        top=tuple(k for k in settings.top if k < len(comparison.measured.systems)),
        n_users=len(shared),
        alpha=settings.alpha,
        condensed=work.truth.condensed,
    )


def kappa(tables: Floats) -> Floats:
    r"""Give Cohen's kappa of tables of counts.

    .. math:: \kappa = \frac{p_o - p_e}{1 - p_e}

    with :math:`p_o` the share on the diagonal and :math:`p_e` the share expected of independent
    assessors with the same margins. Tables are of shape (..., n, n); NaN where both assessors
    always give one and the same grade.

    Cohen (1960), A coefficient of agreement for nominal scales.

    Examples
    --------
    >>> float(kappa(np.array([[20.0, 5.0], [10.0, 15.0]])).round(2))
    0.4
    """
    shares = tables / tables.sum(axis=(-2, -1), keepdims=True)
    observed = np.trace(shares, axis1=-2, axis2=-1)
    expected = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((observed - expected) / (1 - expected))


def _agreement(means: Floats, p: Floats, true: Floats, true_p: Floats, alpha: float) -> Numbers:
    """Count the pairs of systems by `AGREEMENTS`, of shape (n_measures, 6)."""
    signs = np.sign(pair_differences(means)) * np.sign(pair_differences(true))
    n_significant = (p <= alpha).astype(np.intp) + (true_p <= alpha)
    kind = 2 * (2 - n_significant) + (signs < 0)
    return np.stack([np.bincount(row, minlength=6) for row in kind])


@dataclass(frozen=True, eq=False)
class Assessors(Result):
    """Agreement of two assessors on items, on the ordering of systems, and on significance.

    Parameters
    ----------
    measures, systems, grades
        Labels: the report measures, the systems, and the grades, rising.
    level
        Lowest relevant grade.
    tables
        Items judged by both, by the grade of the first (rows) and of the second assessor, of shape
        (1 + n_replicates, n_grades, n_grades): first all users, then resampled ones.
    measured, true
        Mean scores by the first and the second assessor, of shape (n_measures, n_systems).
    agreement
        Pairs of systems by `AGREEMENTS`, of shape (n_measures, 6).
    bias
        Mean score by the first assessor less that by the second, and its 95 % limits, of shape (3,
        n_measures, n_systems), over the users that both judged.
    top, n_users, alpha
        Settings, and the number of users that both judged.
    condensed
        Whether the second assessor's scores are of lists of judged items alone.
    """

    measures: Measures
    systems: tuple[str, ...]
    grades: tuple[int, ...]
    level: int
    tables: Floats
    measured: Floats
    true: Floats
    agreement: Numbers
    bias: Floats
    top: tuple[int, ...]
    n_users: int
    alpha: float
    condensed: bool = False

    def kappas(self) -> dict[str, Estimate]:
        """Give kappa over all grades, of relevance, and of each grade against the others."""
        n = len(self.grades)
        groupings = {"all grades": np.arange(n), "relevance": np.array(self.grades) >= self.level}
        groupings |= {f"grade {g}": np.arange(n) == k for k, g in enumerate(self.grades)}
        found = {}
        for name, group in groupings.items():
            share = (np.unique(group)[:, None] == group).astype(np.float64)
            value, *replicates = kappa(share @ self.tables @ share.T)
            low, high = percentiles(np.array(replicates))
            found[name] = Estimate(float(value), float(low), float(high))
        return found

    def correlations(self) -> dict[str, tuple[Floats, Floats]]:
        """Give tau-b and tau_AP of all systems, and of the top ones, each of (n_measures,)."""
        found = {}
        for size in (*self.top, len(self.systems)):
            best = np.argsort(-self.true, axis=1, kind="stable")[:, :size]
            both = self.measured, self.true
            one, other = (np.take_along_axis(each, best, axis=1)[:, None] for each in both)
            name = "all systems" if size == len(self.systems) else f"top {size}"
            found[name] = tau_b(one, other)[:, 0], tau_ap(one, other)[:, 0]
        return found

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``assessors`` and three more.

        ``assessors``: metric, cutoff, the numbers of pairs of systems by agreement, and tau and
        tau_ap of all systems and of the top ones. ``assessor_grades``: first, second (grades),
        items. ``assessor_kappas``: of, kappa, low, high. ``assessor_bias``: metric, cutoff, system,
        first, second (mean scores), bias, low, high.
        """
        import pandas as pd

        main = tidy(self.measures)
        for number, kind in enumerate(AGREEMENTS):
            main[kind.replace(" ", "_")] = self.agreement[:, number]
        for name, (tau, ap) in self.correlations().items():
            which = name.replace("all systems", "all").replace(" ", "_")
            main[f"tau_{which}"], main[f"tau_ap_{which}"] = tau, ap
        kappas = [(of, one.value, one.low, one.high) for of, one in self.kappas().items()]
        bias, low, high = self.bias
        scores = {"first": self.measured, "second": self.true, "bias": bias}
        grades = {"first": self.grades}, {"second": self.grades}
        return {
            "assessors": main,
            "assessor_grades": tidy(*grades, items=self.tables[0].astype(np.int64)),
            "assessor_kappas": pd.DataFrame(kappas, columns=["of", "kappa", "low", "high"]),
            "assessor_bias": tidy(
                self.measures, {"system": self.systems}, **scores, low=low, high=high
            ),
        }

    def caption(self) -> str:
        """Say who is compared with whom."""
        return (
            "The first assessor made the qrels, the second the truth. Pairs of systems: active, "
            f"mixed or passive where both, one or neither finds them significant (p ≤ "
            f"{self.alpha:g}); agreement where the order of the means is the same."
        )

    def findings(self) -> Sequence[str]:
        """Say how far the assessors agree, and name the systems that one of them favours."""
        agreed, n_items = self.kappas()["relevance"], int(self.tables[0].sum())
        found = [f"Agreement on relevance of {n_items:,} items: Cohen's kappa = {agreed}."]
        wrong = [
            f"{count:,} of {row.sum():,} under {label}"
            for label, row in zip(self.labels, self.agreement, strict=True)
            if (count := row[1])
        ]
        if wrong:
            found.append(f"Significant differences in opposite directions: {listed(wrong)}.")
        relative = self.bias - self.bias[0].mean(axis=1)[None, :, None]
        for number, label in enumerate(self.labels):
            favoured = np.flatnonzero(relative[1, number] > 0)
            if len(favoured):
                names = listed([self.systems[place] for place in favoured])
                mean = rounded(float(self.bias[0, number].mean()))
                found.append(
                    f"Under {label}, the first assessor favours {names}: the bias is significantly "
                    f"above its mean over the systems, {mean}."
                )
        return found

    def cautions(self) -> Sequence[str]:
        """Say where the assessors do not judge the same lists."""
        sentence = (
            "The second assessor's scores are of lists of judged items alone, so that they are "
            'higher; with candidates = "all" in [truth], both assessors judge the same lists.'
        )
        return [sentence] * self.condensed

    @table("assessors", "agreement of the assessors on the systems")
    def agreement_on_systems(self) -> Table:
        """Tabulate the pairs of systems by agreement, and the correlations, by measure."""
        columns = {"measure": self.labels, **dict(zip(AGREEMENTS, self.agreement.T, strict=True))}
        columns |= {f"tau-b, {name}": tau for name, (tau, _) in self.correlations().items()}
        title = "Agreement on systems"
        return Table.from_columns("assessors", title, self.caption(), columns, decimals=2)

    @table("assessor_grades", "items by the grades of both assessors")
    def confusion(self) -> Table:
        """Tabulate the items that both judged: grades of the first down, of the second across."""
        counts = dict(zip(map(str, self.grades), self.tables[0].astype(int).T, strict=True))
        columns = {"first \\ second": self.grades, **counts}
        return Table.from_columns("assessor_grades", "Items by grade", "", columns)

    @table("assessor_kappas", "Cohen's kappa")
    def agreement_on_items(self) -> Table:
        """Tabulate Cohen's kappa with its interval over users."""
        kappas = self.kappas()
        values, intervals = zip(*((k.value, k.interval) for k in kappas.values()), strict=True)
        columns = {"of": kappas, "kappa": values, "95 %": intervals}
        note = f"Intervals: 95 % bootstrap over {self.units}."
        return Table.from_columns("assessor_kappas", "Cohen's kappa", note, columns, decimals=2)

    @figure("assessors", "Bias of the first assessor, by system", panels="label", wide=True)
    def plot(self, ax: Axes, *, label: str | None = None) -> None:
        """Draw the bias of every system with its interval, and the mean bias as a line."""
        number = panel_index(self.labels, label)
        value, low, high = self.bias[:, number]
        mean = ax.axvline(float(value.mean()), color="0.6", linewidth=1, linestyle=":")
        explain(mean, "Dotted line: mean bias over the systems.")
        points = f"Points: bias of a system. Lines: 95 % intervals over {self.units}."
        draw_rows(ax, self.systems, value, (low, high), explanation=points)
        ax.set(xlabel="mean score, first less second assessor", title=self.labels[number])
