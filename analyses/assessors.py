"""Assessors: whether judgements by one assessor, such as a language model, agree with another's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
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
from runs.shared.arrays import Floats, Masks, Numbers
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
    count for the scores, not for the table of grades. Raises InputError if no item was judged by
    both, or if the truth has other systems or none of the measures, or there are fewer than two
    systems.
    """
    user, first_grades, second_grades = work.judged_twice
    if not len(user):
        raise InputError("no item was judged by both assessors.")
    grades = np.unique([first_grades, second_grades])
    first_numbers = np.searchsorted(grades, first_grades)
    second_numbers = np.searchsorted(grades, second_grades)
    # Counts of items by both grades, (1 + n_replicates, n_grades, n_grades), first of all users.
    tables = _grade_tables(
        user,
        first_numbers,
        second_numbers,
        n_grades=len(grades),
        replicates=settings.replicates,
        seed=work.seed,
    )
    comparison = Comparison.of_work(work)
    measures = comparison.measured.measures
    reported = measures.indices(measures.reported)
    means, true_means = comparison.means()
    p_values, true_p_values = comparison.p_values(work, settings)
    # True values are of shape (n_truths, n_measures, ...); the first truth is the same measure.
    measured = means[reported]
    true = true_means[0, reported]
    is_significant = p_values[reported] <= settings.alpha
    is_truly_significant = true_p_values[0, reported] <= settings.alpha
    agreement = _count_agreements(
        measured, true, is_significant=is_significant, is_truly_significant=is_truly_significant
    )
    differences, n_users = _score_differences(comparison, reported)
    low, high = mean_limits(differences, level=0.95, runs=None)
    bias = np.stack([differences.mean(axis=2), low, high])
    systems = comparison.measured.systems
    top = tuple(size for size in settings.top if size < len(systems))
    return Assessors(
        measures=Measures(measures.reported, reported=measures.reported),
        systems=systems,
        grades=tuple(grades.tolist()),
        level=work.qrels.relevance_level,
        tables=tables,
        measured=measured,
        true=true,
        agreement=agreement,
        bias=bias,
        top=top,
        n_users=n_users,
        alpha=settings.alpha,
        condensed=work.truth.condensed,
    )


def _grade_tables(
    user: Numbers,
    first_grades: Numbers,
    second_grades: Numbers,
    *,
    n_grades: int,
    replicates: int,
    seed: int,
) -> Floats:
    """Count the items by both grades, of all users and of resampled ones.

    Parameters
    ----------
    user
        Number of the user of each item, of shape (n_items,).
    first_grades, second_grades
        Number of the grade by each assessor, from 0 for the lowest, of shape (n_items,).
    n_grades
        Number of grades.
    replicates
        Number of bootstrap replicates of the users.
    seed
        Random seed.

    Returns
    -------
    Tables of shape (1 + replicates, n_grades, n_grades): rows are grades of the first assessor.
    """
    user_ids, rows = np.unique(user, return_inverse=True)
    n_users = len(user_ids)
    by_user = np.zeros((n_users, n_grades, n_grades))
    np.add.at(by_user, (rows, first_grades, second_grades), 1.0)
    cells = by_user.reshape(n_users, n_grades**2)
    weights = resampled_users(0, replicates, n_users=n_users, seed=seed)
    observed = cells.sum(axis=0)[np.newaxis]
    # Weights, (replicates, n_users), are how often each user is drawn.
    tables = np.concatenate([observed, weights @ cells])
    return tables.reshape(-1, n_grades, n_grades)


def _score_differences(comparison: Comparison, indices: Sequence[int]) -> tuple[Floats, int]:
    """Subtract the scores by the second assessor from those by the first, where both judged.

    The comparison holds the scores by both, each of shape (n_measures, n_systems, n_users), and
    ``indices`` are positions of measures among those of the first; the same measures are compared.
    The result: differences of shape (n_indices, n_systems, n_shared_users) for the users that both
    have, and the number of these.
    """
    measured = comparison.measured
    true = comparison.true
    users, columns, true_columns = np.intersect1d(measured.users, true.users, return_indices=True)
    # The first of the references of a measure is the measure itself.
    true_indices = comparison.references[0][indices]
    first_scores = measured.values[indices][..., columns]
    second_scores = true.values[true_indices][..., true_columns]
    return first_scores - second_scores, len(users)


def kappa(tables: Floats) -> Floats:
    r"""Compute Cohen's kappa of tables of counts.

    .. math:: \kappa = \frac{p_o - p_e}{1 - p_e}

    with :math:`p_o` the share on the diagonal and :math:`p_e` the share expected of independent
    assessors with the same margins. Tables are of shape (..., n, n), the result of (...); NaN where
    both assessors always give one and the same grade, or a table is empty.

    Cohen (1960), A coefficient of agreement for nominal scales.

    Examples
    --------
    >>> float(kappa(np.array([[20.0, 5.0], [10.0, 15.0]])).round(2))
    0.4
    """
    totals = tables.sum(axis=(-2, -1), keepdims=True)
    shares = tables / totals
    observed = np.trace(shares, axis1=-2, axis2=-1)
    first_margins = shares.sum(axis=-1)
    second_margins = shares.sum(axis=-2)
    expected = (first_margins * second_margins).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((observed - expected) / (1 - expected))


def _count_agreements(
    measured: Floats, true: Floats, *, is_significant: Masks, is_truly_significant: Masks
) -> Numbers:
    """Count the pairs of systems by `AGREEMENTS`, of shape (n_measures, 6).

    Pairs are active, mixed or passive as both, one or neither assessor finds them significant; they
    are disagreements if the means have opposite orders. A tie by an assessor is an agreement.

    Parameters
    ----------
    measured, true
        Mean scores by the first and the second assessor, of shape (n_measures, n_systems).
    is_significant, is_truly_significant
        Whether the first, and the second, finds a pair significant, of shape (n_measures, n_pairs).
    """
    measured_signs = np.sign(pair_differences(measured))
    true_signs = np.sign(pair_differences(true))
    signs = measured_signs * true_signs
    n_significant = is_significant.astype(np.intp) + is_truly_significant
    # 0 to 5: active, mixed, passive; of each the agreements, then the disagreements.
    first_indices = 2 * (2 - n_significant)
    indices = first_indices + (signs < 0)
    n_kinds = len(AGREEMENTS)
    return np.stack([np.bincount(row, minlength=n_kinds) for row in indices])


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
        """Estimate kappa over all grades, of relevance, and of each grade against the others.

        Keys are "all grades", "relevance" (grades from ``self.level`` on are relevant) and "grade
        0" and so on. Intervals are 95 % percentiles over resampled users. NaN where kappa is not
        defined: both assessors always chose one group.
        """
        numbers = np.arange(len(self.grades))
        is_relevant = np.array(self.grades) >= self.level
        groupings = {"all grades": numbers, "relevance": is_relevant}
        for number, grade in enumerate(self.grades):
            groupings[f"grade {grade}"] = numbers == number
        return {name: self._kappa_of(groups) for name, groups in groupings.items()}

    def _kappa_of(self, groups: NDArray[Any]) -> Estimate:
        """Estimate kappa over groups of grades.

        ``groups`` has the group of each grade, of shape (n_grades,): numbers or truth values. The
        rows and columns of ``self.tables``, (1 + n_replicates, n_grades, n_grades), are added up by
        group; the first table is that of all users, and gives the value. The limits are 95 %
        percentiles of the other tables' kappas.
        """
        distinct_groups = np.unique(groups)[:, np.newaxis]
        is_member = distinct_groups == groups
        is_in_group = is_member.astype(np.float64)
        tables = is_in_group @ self.tables @ is_in_group.T
        value, *replicates = kappa(tables)
        low, high = percentiles(np.array(replicates))
        return Estimate(float(value), float(low), float(high))

    @property
    def item_counts(self) -> NDArray[np.int64]:
        """Items that both judged, by the grades of the first (rows) and the second assessor."""
        return self.tables[0].astype(np.int64)

    def correlations(self) -> dict[str, tuple[Floats, Floats]]:
        """Compute tau-b and tau_AP, each of shape (n_measures,), of the top systems and of all.

        Keys are "top 5" and so on, and "all systems". The top systems of a measure are those with
        the highest means by the second assessor, ``self.true``, which is the reference. Both have
        the means by ``self.measured`` and ``self.true``, (n_measures, n_systems). NaN where tau-b
        or tau_AP is undefined: all systems tie, or, for tau_AP, any two.
        """
        n_systems = len(self.systems)
        correlations = {}
        for size in (*self.top, n_systems):
            best = np.argsort(-self.true, axis=1, kind="stable")
            best = best[:, :size]
            # An axis for the pairs of orderings, of which there is one.
            measured = np.take_along_axis(self.measured, best, axis=1)
            true = np.take_along_axis(self.true, best, axis=1)
            orderings = measured[:, np.newaxis]
            references = true[:, np.newaxis]
            tau = tau_b(orderings, references)
            ap = tau_ap(orderings, references)
            name = "all systems" if size == n_systems else f"top {size}"
            correlations[name] = (tau[:, 0], ap[:, 0])
        return correlations

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``assessors`` and three more.

        ``assessors``: metric, cutoff, the numbers of pairs of systems by agreement (such as
        active_agreement), and tau and tau_ap of all systems (tau_all) and of the top ones
        (tau_top_5). ``assessor_grades``: first, second (grades), items. ``assessor_kappas``: of
        (such as "relevance"), kappa, low, high. ``assessor_bias``: metric, cutoff, system, first,
        second (mean scores), bias, low, high. Limits are of 95 % intervals over users.
        """
        import pandas as pd

        main = tidy(self.measures)
        for name, counts in zip(AGREEMENTS, self.agreement.T, strict=True):
            main[name.replace(" ", "_")] = counts
        for name, (tau, ap) in self.correlations().items():
            suffix = name.replace("all systems", "all").replace(" ", "_")
            main[f"tau_{suffix}"] = tau
            main[f"tau_ap_{suffix}"] = ap
        kappas = []
        for name, estimate in self.kappas().items():
            kappas.append((name, estimate.value, estimate.low, estimate.high))
        bias, low, high = self.bias
        by_system = tidy(
            self.measures,
            {"system": self.systems},
            first=self.measured,
            second=self.true,
            bias=bias,
            low=low,
            high=high,
        )
        first_grades = {"first": self.grades}
        second_grades = {"second": self.grades}
        by_grades = tidy(first_grades, second_grades, items=self.item_counts)
        kappa_frame = pd.DataFrame(kappas, columns=["of", "kappa", "low", "high"])
        return {
            "assessors": main,
            "assessor_grades": by_grades,
            "assessor_kappas": kappa_frame,
            "assessor_bias": by_system,
        }

    def caption(self) -> str:
        """Write who is compared with whom, and what kinds of pairs are."""
        return (
            "The first assessor made the qrels, the second the truth. Pairs of systems: active, "
            f"mixed or passive where both, one or neither finds them significant (p ≤ "
            f"{self.alpha:g}); agreement where the order of the means is the same."
        )

    def findings(self) -> Sequence[str]:
        """Write how far the assessors agree, and name the systems that the first one favours.

        It favours a system whose bias (mean score by the first less that by the second assessor) is
        significantly above the mean bias over the systems: the lower 95 % limit is above that mean.
        ``self.bias`` holds values, lower and upper limits, of shape (3, n_measures, n_systems). A
        sentence counts the significant differences in opposite directions, if there are any.
        """
        kappas = self.kappas()
        relevance = kappas["relevance"]
        n_items = int(self.item_counts.sum())
        findings = [f"Agreement on relevance of {n_items:,} items: Cohen's kappa = {relevance}."]
        contradictions = []
        n_opposite = self.agreement[:, AGREEMENTS.index("active disagreement")]
        n_pairs = self.agreement.sum(axis=1)
        for label, n, n_of in zip(self.labels, n_opposite, n_pairs, strict=True):
            if n:
                contradictions.append(f"{n:,} of {n_of:,} under {label}")
        if contradictions:
            findings.append(
                f"Significant differences in opposite directions: {listed(contradictions)}."
            )
        values, lows, _ = self.bias
        mean_bias = values.mean(axis=1)
        is_favoured = lows - mean_bias[:, np.newaxis] > 0
        for number, label in enumerate(self.labels):
            favoured = [*compress(self.systems, is_favoured[number])]
            if favoured:
                mean = rounded(float(mean_bias[number]))
                findings.append(
                    f"Under {label}, the first assessor favours {listed(favoured)}: the bias is "
                    f"significantly above its mean over the systems, {mean}."
                )
        return findings

    def cautions(self) -> Sequence[str]:
        """Warn if the second assessor's scores are of lists of judged items alone."""
        if not self.condensed:
            return []
        return [
            "The second assessor's scores are of lists of judged items alone, so that they are "
            'higher; with candidates = "all" in [truth], both assessors judge the same lists.'
        ]

    @table("assessors", "agreement of the assessors on the systems")
    def agreement_on_systems(self) -> Table:
        """Tabulate the numbers of pairs of systems by agreement, and tau-b, a row by measure."""
        columns: dict[str, Any] = {"measure": self.labels}
        columns |= dict(zip(AGREEMENTS, self.agreement.T, strict=True))
        for name, (tau, _) in self.correlations().items():
            columns[f"tau-b, {name}"] = tau
        title = "Agreement on systems"
        return Table.from_columns("assessors", title, self.caption(), columns, decimals=2)

    @table("assessor_grades", "items by the grades of both assessors")
    def confusion(self) -> Table:
        """Tabulate the items that both judged: grades of the first down, of the second across."""
        columns: dict[str, Any] = {"first \\ second": self.grades}
        for grade, counts in zip(self.grades, self.item_counts.T, strict=True):
            columns[str(grade)] = counts
        return Table.from_columns("assessor_grades", "Items by grade", "", columns)

    @table("assessor_kappas", "Cohen's kappa")
    def agreement_on_items(self) -> Table:
        """Tabulate Cohen's kappa with its interval over users.

        Rows are those of `kappas`: all grades, relevance, and each grade against the others.
        """
        kappas = self.kappas()
        values = [estimate.value for estimate in kappas.values()]
        intervals = [estimate.interval for estimate in kappas.values()]
        columns: dict[str, list[Any]] = {"of": list(kappas), "kappa": values, "95 %": intervals}
        note = f"Intervals: 95 % bootstrap over {self.units}."
        return Table.from_columns("assessor_kappas", "Cohen's kappa", note, columns, decimals=2)

    @figure("assessors", "Bias of the first assessor, by system", panels="label", wide=True)
    def plot(self, ax: Axes, *, label: str | None = None) -> None:
        """Draw the bias of every system with its interval, and the mean bias as a line.

        ``label`` is the name of a report measure, by default the first; InputError if there is none
        of this name. ``self.bias`` holds values, lower and upper limits, of shape (3, n_measures,
        n_systems). `explain` attaches a sentence for the caption to what is drawn.
        """
        number = panel_index(self.labels, label)
        values, low, high = self.bias[:, number]
        mean = float(values.mean())
        line = ax.axvline(mean, color="0.6", linewidth=1, linestyle=":")
        explain(line, "Dotted line: mean bias over the systems.")
        explanation = f"Points: bias of a system. Lines: 95 % intervals over {self.units}."
        draw_rows(ax, self.systems, values, (low, high), explanation=explanation)
        ax.set(xlabel="mean score, first less second assessor", title=self.labels[number])
