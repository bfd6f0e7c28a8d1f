"""Validity: agreement of the measures of a study with the true ordering of the systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from analyses.ordering import tau_ap_a
from analyses.shared.analysis import Need, SettingError, StudyFacts, analysis
from analyses.shared.judgement_samples import percent_grid
from analyses.significance.question import Question, Test
from analyses.validity.comparison import Comparison, JointUsers
from analyses.validity.loss_curves import LossOfJudgements
from analyses.validity.prediction_powered import prediction_powered
from analyses.validity.truth_agreement import ITSELF, ResampledComparison
from analyses.validity.validity_result import FIRST_REFERENCE, Validity
from runs.shared.settings import Levels, Repeats

if TYPE_CHECKING:
    from analyses.shared.work import Work

POPULAR_LEVELS = percent_grid(100, 79, -2)
"""Shares of the items that are kept when popular items are removed."""


class Settings(Question):
    """Comparison with the true ordering of the systems."""

    test: Test = Field("t", description="Significance test of measured and of true differences.")
    replicates: Repeats = Field(400, ge=0, description="Bootstrap replicates; 0: no intervals.")
    judgements: bool = Field(True, description="Also compute validity when judgements are lost.")
    levels: Levels = Field(
        percent_grid(100, 0, -10), description="Shares of the judgements to keep."
    )
    samples: Repeats = Field(20, ge=1, description="Number of random samples at each level.")

    def check(self, study: StudyFacts) -> None:
        """Refuse a study that has no truth, with SettingError."""
        if not study.has_truth:
            raise SettingError(
                "test",
                'the analysis validity needs a truth: set `path = "..."` in [truth], or study a '
                "simulated world.",
            )


@analysis(
    "validity",
    source="Pereira, Said & Santos (2025); Urbano, Lima & Hanjalic (2019)",
    needs=(Need.TRUTH,),
    question="Which measures order the systems as the truth does?",
)
def validity(work: Work, settings: Settings) -> Validity:
    """Compare the ordering of the systems by every measure with the true ordering.

    The truth is the same measure on true judgements, and each reference that the truth names.
    Measures that have no value on the truth are left out, and named in ``unmeasured``.
    With ``judgements`` set, validity is also computed when judgements are lost. Raises InputError
    if the truth has scores by none of the measures, or has other systems than the study.
    """
    truth = work.truth
    comparison = Comparison.of_work(work)
    measured = comparison.measured
    true = comparison.true
    users = JointUsers.of_scores(measured, true, replicates=settings.replicates, seed=work.seed)
    resampled = ResampledComparison(comparison, users, work.families)
    curves_at_random = None
    curves_without_popular = None
    # The steps of the progress bar: losses of judgements are two of them.
    n_steps = 5 if settings.judgements else 3
    with work.progress("Comparing with the truth", n_steps) as bar:
        tau = resampled.tau()
        regret = resampled.regret()
        bar.advance()
        p, true_p = comparison.p_values(work, settings)
        bar.advance()
        rates = resampled.rates(p, true_p, settings)
        contested = resampled.contested_shares(work.contested, truth=FIRST_REFERENCE)
        bar.advance()
        if settings.judgements:
            loss = LossOfJudgements(work, comparison, settings.replicates // 2)
            curves_at_random = loss.curves_at_random(settings.levels, n_samples=settings.samples)
            bar.advance()
            curves_without_popular = loss.curves_without_popular(POPULAR_LEVELS)
            bar.advance()
    labels_of_unmeasured = [str(m) for m in work.scores.measures if m not in measured.measures]
    unmeasured = tuple(labels_of_unmeasured)
    truths = (ITSELF, *map(str, truth.references))
    tau_aps = tau_ap_a(resampled.means, resampled.true_means)
    attainable = comparison.attainable()
    shared_users = np.intersect1d(measured.users, true.users)
    return Validity(
        measures=measured.measures,
        systems=measured.systems,
        families=work.families,
        truths=truths,
        measured=resampled.means,
        true=resampled.true_means,
        tau=tau,
        tau_aps=tau_aps,
        regret=regret,
        tau_replicates=resampled.tau_replicates,
        within=resampled.within,
        rates=rates,
        contested=contested,
        p=p,
        true_p=true_p,
        attainable=attainable,
        kept=curves_at_random,
        popular=curves_without_popular,
        powered=prediction_powered(comparison, truth.references),
        n_users=len(measured.users),
        n_true_users=len(true.users),
        n_shared=len(shared_users),
        unmeasured=unmeasured,
        notes=truth.notes,
        test=settings.test,
        correction=settings.correction,
        alpha=settings.alpha,
        origin=truth.origin,
    )
