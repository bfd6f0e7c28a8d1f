"""Validity in one study: the measures of a study are compared with a truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from analyses.shared.analysis import SettingError, StudyFacts, analysis
from analyses.significance.question import Question, Test
from analyses.validity.comparison import Comparison, JointUsers
from analyses.validity.loss_curves import LossOfJudgements
from analyses.validity.truth_agreement import ITSELF, ResampledComparison
from analyses.validity.validity_result import Validity
from runs.shared.settings import Levels, Whole

if TYPE_CHECKING:
    from analyses.shared.work import Work


class Settings(Question):
    """Comparison with what the systems are truly worth."""

    removed: ClassVar[Mapping[str, str]] = {
        "repeats": "validity is not asked of subsets of the users; see the analysis users"
    }

    test: Test = Field("t", description="Of measured and of true differences between systems.")
    replicates: Whole = Field(
        400, ge=0, description="Resamples of the users for intervals; 0: none."
    )
    judgements: bool = Field(
        True, description="Whether judgements are taken away, too: curves of validity."
    )
    levels: Levels = Field(
        tuple(percent / 100 for percent in range(100, 0, -10)),
        min_length=1,
        description="Shares of the judgements that are kept.",
    )
    samples: Whole = Field(20, ge=1, description="Samples of the judgements per level.")
    popular_levels: Levels = Field(
        tuple(percent / 100 for percent in range(100, 79, -2)),
        min_length=1,
        description="Shares of the items that are kept, the least popular.",
    )

    def check(self, given: StudyFacts) -> None:
        """Refuse a study that has no truth."""
        if not given.has_truth:
            raise SettingError(
                "test",
                'the analysis validity needs a truth: give a file with `path = "..."` in [truth], '
                "or study a simulated world.",
            )


@analysis(
    "validity",
    source="Pereira, Said & Santos (2025); Urbano, Lima & Hanjalic (2019)",
    needs=("truth",),
    question="Which measures order the systems as the truth does?",
)
def validity(work: Work, settings: Settings) -> Validity:
    """Compare the ordering of the systems by every measure with the true ordering.

    The truth is the same measure on true judgements, and each reference that the truth names.
    Measures that have no value on the truth are left out.
    """
    truth, comparison = work.truth, Comparison.of(work)
    measured, true = comparison.measured, comparison.true
    users = JointUsers.of(measured, true, replicates=settings.replicates, seed=work.seed)
    resampled = ResampledComparison(comparison, users)
    kept = popular = None
    with work.progress("Comparing with the truth", 3 + 2 * settings.judgements) as bar:
        tau, regret = resampled.tau(), resampled.regret()
        bar.advance()
        p, true_p = comparison.p_values(work, settings)
        bar.advance()
        rates = resampled.rates(p, true_p, settings)
        bar.advance()
        if settings.judgements:
            loss = LossOfJudgements(work, comparison, settings.replicates // 2)
            kept = loss.at_random(settings.levels, n_samples=settings.samples)
            bar.advance()
            popular = loss.of_popular(settings.popular_levels)
            bar.advance()
    return Validity(
        measures=measured.measures,
        systems=measured.systems,
        truths=(ITSELF, *map(str, truth.references)),
        measured=resampled.means,
        true=resampled.true_means,
        tau=tau,
        tau_aps=resampled.tau_aps(),
        regret=regret,
        tau_replicates=resampled.tau_replicates,
        rates=rates,
        p=p,
        true_p=true_p,
        attainable=comparison.attainable(),
        kept=kept,
        popular=popular,
        n_users=len(measured.users),
        n_true_users=len(true.users),
        n_shared=len(np.intersect1d(measured.users, true.users)),
        unmeasured=tuple(str(m) for m in work.scores.measures if m not in measured.measures),
        condensed=truth.condensed,
        test=settings.test,
        correction=settings.correction,
        alpha=settings.alpha,
        seed=work.seed,
        origin=truth.origin,
    )
