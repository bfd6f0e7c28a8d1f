"""Loss of judgements: which ones a sample keeps, and agreement with all judgements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.shared.analysis import AnalysisSettings, SettingError, StudyFacts
from analyses.shared.work import CountedIn
from qrels import Qrels
from runs.shared.arrays import Masks, Numbers
from runs.shared.settings import Levels, Repeats
from runs.shared.streams import random_words

if TYPE_CHECKING:
    from analyses.shared.work import Work


Mode = Literal["all", "per-user", "stratified"]


@dataclass(frozen=True)
class Sampling:
    """How random samples of the judgements are drawn.

    Parameters
    ----------
    mode
        "all": a share of all judgements, whoever's they are (`sample_judgements`). "per-user": a
        share of each user's, at least one. "stratified": a share of each user's relevant and of the
        user's judged non-relevant items, and at least so many of each, or all where there are
        fewer; items in the pool without a judgement are a stratum without a minimum.
    least_relevant
        Smallest number of relevant items of a user that are kept, if "stratified".
    least_nonrelevant
        The same for judged non-relevant items.

    References
    ----------
    Buckley & Voorhees (2004), Retrieval evaluation with incomplete information: 1 and 10 documents
    of every topic are left.
    """

    mode: Mode = "all"
    least_relevant: int = 1
    least_nonrelevant: int = 10

    def draw(self, qrels: Qrels, level: float, *, n_samples: int, seed: int) -> Masks:
        """Draw samples of a share of the judgements, the level.

        They are drawn from all judgements, from those of each user, or, "stratified", from those of
        each user and relevance. The result marks the judgements of each sample, of shape
        (n_judgements, n_samples). Sample k depends on seed, level, k and mode alone.
        """
        if self.mode == "all":
            n_judgements = len(qrels.items)
            return sample_judgements(n_judgements, level=level, n_samples=n_samples, seed=seed)
        groups = qrels.users.astype(np.int64)
        least_kept = np.ones(qrels.n_users, dtype=np.int64)
        if self.mode == "stratified":
            # Three strata of each user: relevant, without a judgement, judged non-relevant.
            stratum = np.where(qrels.relevant, 0, 1 + qrels.nonrelevant)
            groups = 3 * groups + stratum
            least_of_strata = [self.least_relevant, 0, self.least_nonrelevant]
            least_kept = np.tile(least_of_strata, qrels.n_users)
        return _sample_groups(
            groups,
            least_kept,
            level=level,
            n_samples=n_samples,
            key=(seed, "sparsity", self.mode),
        )

    def in_words(self, unit: str = "user") -> str:
        """Describe in a sentence, without its full stop, how judgements are drawn, for captions.

        ``unit`` is what judgements are of: "user" or "topic".
        """
        if self.mode == "all":
            return "Judgements are drawn without replacement from the whole test set"
        if self.mode == "per-user":
            return f"The same share of the judgements of each {unit} is drawn, at least 1"
        return (
            f"The same share of the relevant and of the judged non-relevant items of each {unit} "
            f"is drawn, at least {self.least_relevant} and {self.least_nonrelevant}"
        )


def sample_judgements(n_judgements: int, *, level: float, n_samples: int, seed: int) -> Masks:
    """Draw samples of round(level * n_judgements) judgements, at least one, without replacement.

    The result marks the judgements of each sample, of shape (n_judgements, n_samples). Sample k
    depends on seed, level, k and n_judgements alone.
    """
    n_kept = max(1, round(level * n_judgements))
    is_kept = np.empty((n_samples, n_judgements), dtype=np.bool_)
    for sample in range(n_samples):
        # A random key of 32 bits for each judgement: two in a word.
        n_words = (n_judgements + 1) // 2
        words = random_words(n_words, seed, "sparsity", round(level * 1e9), sample)
        keys = words.astype("<u8").view("<u4")[:n_judgements]
        # The lowest keys, of equal ones at the border the first.
        border = np.partition(keys, n_kept - 1)[n_kept - 1]
        is_chosen = keys < border
        n_at_border = n_kept - np.count_nonzero(is_chosen)
        at_border = np.flatnonzero(keys == border)[:n_at_border]
        is_chosen[at_border] = True
        is_kept[sample] = is_chosen
    return np.ascontiguousarray(is_kept.T)


def _sample_groups(
    groups: NDArray[np.integer],
    least_kept: NDArray[np.integer],
    *,
    level: float,
    n_samples: int,
    key: tuple[int | str, ...],
) -> Masks:
    """Draw samples of the judgements of each group: round(level * n) of n, or the least number.

    Parameters
    ----------
    groups
        Number of the group of each judgement, from 0, of shape (n_judgements,).
    least_kept
        Least number of judgements of each group, of shape (n_groups,); of smaller groups all are
        kept.
    level
        Share of the judgements to keep.
    n_samples
        Number of samples.
    key
        Key of the random numbers, to which the level and the sample are added.

    Returns
    -------
    Which judgements each sample has, of shape (n_judgements, n_samples).
    """
    by_group = np.argsort(groups, kind="stable")
    n_judgements = len(by_group)
    group_sizes = np.bincount(groups, minlength=len(least_kept))
    group_starts = np.cumsum(group_sizes) - group_sizes
    # Of each judgement, sorted by group: where its group starts, and its position in the group.
    starts = np.repeat(group_starts, group_sizes)
    positions = (np.arange(n_judgements) - starts).astype(np.uint64)
    shares = np.rint(level * group_sizes).astype(np.int64)
    n_kept = np.maximum(shares, least_kept)
    is_lowest = positions < np.repeat(n_kept, group_sizes)
    # A key of 64 bits has the group in the highest bits, then random bits, then the position of the
    # judgement in its group: sorted keys stay in their groups, in random order.
    group_bits = len(least_kept).bit_length()
    position_bits = int(group_sizes.max(initial=0)).bit_length()
    sorted_groups = groups[by_group].astype(np.uint64)
    shifted_groups = sorted_groups << np.uint64(64 - group_bits)
    fixed_bits = shifted_groups | positions
    random_mask = np.uint64((1 << (64 - group_bits)) - (1 << position_bits))
    position_mask = np.uint64((1 << position_bits) - 1)
    is_kept = np.zeros((n_samples, n_judgements), dtype=np.bool_)
    for sample in range(n_samples):
        words = random_words(n_judgements, *key, round(level * 1e9), sample)
        keys = np.sort(fixed_bits | (words & random_mask))
        chosen_positions = (keys[is_lowest] & position_mask).astype(np.int64)
        chosen = by_group[starts[is_lowest] + chosen_positions]
        is_kept[sample, chosen] = True
    return np.ascontiguousarray(is_kept.T)


def percent_grid(start: int, stop: int, step: int) -> tuple[float, ...]:
    """List shares from a percentage to another, that left out: percent_grid(100, 0, -50) is 1, .5.

    ``step`` is in percentage points.
    """
    return tuple(percent / 100 for percent in range(start, stop, step))


class LossSettings(AnalysisSettings):
    """Settings of an analysis of random samples of the judgements."""

    levels: Levels = Field(
        percent_grid(100, 0, -5), description="Shares of the judgements to keep."
    )
    samples: Repeats = Field(50, ge=1, description="Number of random samples at each level.")
    replicates: Repeats = Field(200, ge=0, description="Bootstrap replicates; 0: no intervals.")


RATINGS_IN_WORDS = {"train": "training ratings", "test": "judgements", "all": "ratings"}
"""What is counted, by where ratings are counted."""


class CountedSettings(AnalysisSettings):
    """Settings of an analysis that counts ratings of items."""

    section: ClassVar[str]

    counted_in: CountedIn | None = Field(
        None,
        description="Ratings in which the popularity of items is counted; default: train if the "
        "study has training ratings, else test.",
    )

    def check(self, study: StudyFacts) -> None:
        """Refuse, with SettingError, to count in training ratings where there are none."""
        if not study.has_training and self.counted_in in ("train", "all"):
            raise SettingError(
                "counted_in",
                f"without training ratings, `counted_in` in [analyses.{self.section}] must be "
                f"'test', got {self.counted_in!r}.",
            )

    def item_counts(self, work: Work) -> tuple[CountedIn, Numbers]:
        """Look up where ratings are counted, and the number of ratings of each item there.

        That is the setting ``counted_in``: "train", "test" or "all"; by default the first of
        ``work.popularity_counts``: training if there is any, else test. The numbers are of shape
        (n_items,); -1 for an item that is not in the catalogue.
        """
        counts = work.popularity_counts
        counted_in = self.counted_in
        if counted_in is None:
            counted_in, *_ = counts
        return counted_in, counts[counted_in]
