"""Graded loss: judgements of popular items are lost with a higher probability."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.intervals.random_loss import RandomLoss, lose_at_random
from analyses.popularity import LEAST_AREA
from analyses.shared.analysis import analysis
from analyses.shared.judgement_samples import RATINGS_IN_WORDS, CountedSettings, LossSettings
from analyses.shared.result import figure
from qrels import Qrels
from runs.shared.arrays import Masks
from runs.shared.streams import random_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from analyses.shared.work import Work


class Settings(CountedSettings, LossSettings):
    """Loss of judgements with a probability that depends on popularity."""

    section = "graded_loss"

    gamma: float = Field(
        1.0,
        ge=-5.0,
        le=5.0,
        description="Judgements are drawn with weight popularity^-gamma; 0: at random; below 0: "
        "popular items are kept more often.",
    )


@analysis(
    "graded_loss",
    source="Yang et al. (2018), section 3; Steck (2010)",
    on_request=True,
    question="Do orderings hold when judgements of popular items are lost more often?",
)
def graded_loss(work: Work, settings: Settings) -> GradedLoss:
    r"""Score systems on samples of the judgements in which popular items are rarer.

    Of n judgements round(level n), at least one, are drawn without replacement, each with weight
    :math:`\max(c_i, 1)^{-\gamma}`, where c are the ratings of its item, counted where the settings
    say. Sample k of a level depends on (seed, level, k) alone. The result has Kendall's tau-b
    between the ordering of the systems on each sample and that on all judgements.

    Yang et al. (2018), whose propensities are a power of popularity; Efraimidis & Spirakis (2006),
    weighted sampling without replacement: the first to arrive of exponential waiting times.
    """
    counted_in, item_counts = settings.item_counts(work)
    gamma = settings.gamma
    draw = partial(
        keep_graded,
        work.qrels,
        item_counts[work.qrels.items],
        gamma=gamma,
        n_samples=settings.samples,
        seed=work.seed,
    )
    drawing = (
        "Judgements are drawn without replacement with weight popularity to the power of "
        f"{-gamma:g}; popularity is an item's number of {RATINGS_IN_WORDS[counted_in]}, at least 1"
    )
    return lose_at_random(
        GradedLoss,
        work,
        settings,
        draw,
        loss=f"graded loss of judgements (gamma {gamma:g})",
        drawing=drawing,
    )


def keep_graded(
    qrels: Qrels,
    popularity: NDArray[np.integer],
    level: float,
    *,
    gamma: float,
    n_samples: int,
    seed: int,
) -> Masks:
    """Draw judgements without replacement, those of popular items with a lower probability.

    Parameters
    ----------
    qrels
        Judgements to draw from.
    popularity
        Number of ratings of the item of each judgement, of shape (n_judgements,); 0 counts as 1.
        A count per item becomes one per judgement by ``item_counts[qrels.items]``.
    level
        Share of the judgements that each sample keeps, in (0, 1]; at least one is kept.
    gamma
        A judgement has the weight ``popularity ** -gamma``.
    n_samples
        Number of samples.
    seed
        Random seed. Sample k depends on seed, level and k alone.

    Returns
    -------
    Whether each judgement is kept, of shape (n_judgements, n_samples).

    Raises
    ------
    ValueError
        If there is not one count for each judgement.
    """
    n_judgements = len(qrels.items)
    if popularity.shape != (n_judgements,):
        raise ValueError(
            f"`popularity` must hold a count for each of the {n_judgements:,} judgements, got an "
            f"array of shape {popularity.shape}."
        )
    n_kept = max(1, round(level * n_judgements))
    # The judgements that arrive first, after exponential times with these rates, are kept.
    arrival_rates = np.maximum(popularity, 1.0) ** -gamma
    # A whole number, as keys of random streams are the same on all machines.
    level_key = round(level * 1e9)
    is_kept = np.zeros((n_samples, n_judgements), dtype=np.bool_)
    for sample in range(n_samples):
        words = random_words(n_judgements, seed, "graded loss", level_key, sample)
        # The upper 53 bits, as numbers between 0 and 1.
        upper_bits = words >> np.uint64(11)
        uniforms = (upper_bits + 0.5) * 2.0**-53
        arrival_times = -np.log(uniforms) / arrival_rates
        first_to_arrive = np.argpartition(arrival_times, n_kept - 1)[:n_kept]
        is_kept[sample, first_to_arrive] = True
    return np.ascontiguousarray(is_kept.T)


@dataclass(frozen=True, eq=False)
class GradedLoss(RandomLoss):
    """Agreement of every measure with itself when popular items lose more judgements."""

    name = "graded_loss"
    least_area = LEAST_AREA

    @figure(
        "graded_loss_cutoffs",
        "Robustness to graded loss of judgements, by cut-off",
        panels="metric",
        over_cutoffs=True,
    )
    @figure("graded_loss_metrics", "Robustness to graded loss of judgements")
    def plot(self, ax: Axes, *, metric: str | None = None) -> None:
        """Draw mean tau against the share kept; see `RandomLoss`."""
        self.plot_curves(ax, metric=metric)
