"""Sparsity: how random loss of judgements changes the ordering of the systems.

Figures 2 and 6 of Valcarce et al. (2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import Field

from analyses.intervals.random_loss import RandomLoss, lose_at_random
from analyses.shared.analysis import analysis
from analyses.shared.judgement_samples import LossSettings, Mode, Sampling
from analyses.shared.result import figure
from runs.shared.settings import Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work


class Settings(LossSettings):
    """Random loss of judgements."""

    mode: Mode = Field(
        "all",
        description="Sample all judgements, per user, or per user and relevance (stratified).",
    )
    least_relevant: Whole = Field(
        1, ge=0, description="Minimum of relevant items per user (stratified)."
    )
    least_nonrelevant: Whole = Field(
        10, ge=0, description="Minimum of judged non-relevant items per user (stratified)."
    )

    @property
    def sampling(self) -> Sampling:
        """How judgements are drawn."""
        return Sampling(self.mode, self.least_relevant, self.least_nonrelevant)


@analysis(
    "sparsity",
    source="Valcarce et al. (2018), Figures 2 and 6; Buckley & Voorhees (2004)",
    question="Do the measures keep their ordering when judgements are removed at random?",
)
def sparsity(work: Work, settings: Settings) -> Sparsity:
    """Compare the orderings of the systems on random samples of the judgements and on all.

    A level is the share of the judgements that is kept. The result has Kendall's tau-b of each
    sample's ordering with that on all judgements. Sample k of a level depends on (seed, level, k)
    alone.

    Buckley & Voorhees (2004); Valcarce et al. (2018), section 4.1.
    """
    sampling = settings.sampling
    draw = partial(sampling.draw, work.qrels, n_samples=settings.samples, seed=work.seed)
    return lose_at_random(
        Sparsity,
        work,
        settings,
        draw,
        loss="random loss of judgements",
        drawing=sampling.in_words(work.unit),
        mode=settings.mode,
    )


@dataclass(frozen=True, eq=False)
class Sparsity(RandomLoss):
    """Agreement of every measure with itself when judgements are lost at random.

    Parameters
    ----------
    mode
        From what judgements were drawn: all, or those of each user.
    """

    name = "sparsity"
    least_area = 0.8

    mode: Mode

    def to_frame(self) -> pd.DataFrame:
        """Tabulate a row for each measure and level: the columns of `RandomLoss`, and the mode.

        The mode, after the column judgements, says from what they are drawn, such as "all".
        """
        frame = super().to_frame()
        position = 1 + list(frame).index("judgements")
        frame.insert(position, "mode", self.mode)
        return frame

    @figure(
        "sparsity_cutoffs",
        "Robustness to random loss of judgements, by cut-off",
        number=2,
        panels="metric",
        over_cutoffs=True,
    )
    @figure("sparsity_metrics", "Robustness to random loss of judgements", number=6)
    def plot(self, ax: Axes, *, metric: str | None = None) -> None:
        """Draw mean tau against the share kept; see `RandomLoss`."""
        self.plot_curves(ax, metric=metric)
