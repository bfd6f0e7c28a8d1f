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
    """How judgements are drawn.

    "all": a share of all judgements, whoever's they are (`sample_judgements`). "per-user": a share
    of each user's, at least one. "stratified": a share of each user's relevant and of the user's
    judged non-relevant items, and at least so many of each, or all where there are fewer; items in
    the pool without a judgement are a stratum without a minimum (Buckley & Voorhees, 2004,
    Retrieval evaluation with incomplete information: 1 and 10 documents of every topic are left).
    """

    mode: Mode = "all"
    least_relevant: int = 1
    least_nonrelevant: int = 10

    def draw(self, qrels: Qrels, level: float, *, n_samples: int, seed: int) -> Masks:
        """Draw samples, as masks of shape (n_judgements, n_samples)."""
        if self.mode == "all":
            n_judgements = len(qrels.items)
            return sample_judgements(n_judgements, level=level, n_samples=n_samples, seed=seed)
        groups = qrels.users.astype(np.int64)
        least = np.ones(qrels.n_users, dtype=np.int64)
        if self.mode == "stratified":
            groups = 3 * groups + np.where(qrels.relevant, 0, 1 + qrels.nonrelevant)
            least = np.tile([self.least_relevant, 0, self.least_nonrelevant], qrels.n_users)
        key = seed, "sparsity", self.mode
        return _sample_groups(groups, least, level=level, n_samples=n_samples, key=key)

    def in_words(self, unit: str = "user") -> str:
        """Say how in a sentence without its full stop, for captions."""
        if self.mode == "all":
            return "Judgements are drawn without replacement from the whole test set"
        if self.mode == "per-user":
            return f"The same share of the judgements of each {unit} is drawn, at least 1"
        return (
            f"The same share of the relevant and of the judged non-relevant items of each {unit} "
            f"is drawn, at least {self.least_relevant} and {self.least_nonrelevant}"
        )


def sample_judgements(n_judgements: int, *, level: float, n_samples: int, seed: int) -> Masks:
    """Keep round(level * n_judgements) judgements, at least one, without replacement.

    The result: masks of shape (n_judgements, n_samples).
    """
    n_kept = max(1, round(level * n_judgements))
    kept = np.empty((n_samples, n_judgements), dtype=np.bool_)
    for sample in range(n_samples):
        words = random_words((n_judgements + 1) // 2, seed, "sparsity", round(level * 1e9), sample)
        keys = words.astype("<u8").view("<u4")[:n_judgements]
        # The lowest keys, of equal ones at the border the first.
        border = np.partition(keys, n_kept - 1)[n_kept - 1]
        chosen = keys < border
        chosen[np.flatnonzero(keys == border)[: n_kept - np.count_nonzero(chosen)]] = True
        kept[sample] = chosen
    return np.ascontiguousarray(kept.T)


def _sample_groups(
    groups: NDArray[np.integer],
    least: NDArray[np.integer],
    *,
    level: float,
    n_samples: int,
    key: tuple[int | str, ...],
) -> Masks:
    """Keep round(level * n) judgements of each group of n, or the least number, or all."""
    order = np.argsort(groups, kind="stable")
    counts = np.bincount(groups, minlength=len(least))
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    places = (np.arange(len(order)) - starts).astype(np.uint64)
    wanted = np.maximum(np.rint(level * counts).astype(np.int64), least)
    lowest = places < np.repeat(wanted, counts)
    for_group, for_place = (int(n).bit_length() for n in (len(least), counts.max(initial=0)))
    fixed = (groups[order].astype(np.uint64) << np.uint64(64 - for_group)) | places
    drawn = np.uint64((1 << (64 - for_group)) - (1 << for_place))
    kept = np.zeros((n_samples, len(order)), dtype=np.bool_)
    for sample in range(n_samples):
        words = random_words(len(order), *key, round(level * 1e9), sample)
        chosen = np.sort(fixed | (words & drawn))[lowest] & np.uint64((1 << for_place) - 1)
        kept[sample, order[starts[lowest] + chosen.astype(np.int64)]] = True
    return np.ascontiguousarray(kept.T)


def percent_grid(start: int, stop: int, step: int) -> tuple[float, ...]:
    """Give shares from a percentage down to another, that left out."""
    return tuple(percent / 100 for percent in range(start, stop, step))


class LossSettings(AnalysisSettings):
    """Settings of an analysis of random samples of the judgements."""

    levels: Levels = Field(
        percent_grid(100, 0, -5), description="Shares of the judgements to keep."
    )
    samples: Repeats = Field(50, ge=1, description="Number of random samples at each level.")
    replicates: Repeats = Field(200, ge=0, description="Bootstrap replicates; 0: no intervals.")


RATINGS_IN_WORDS = {"train": "training ratings", "test": "judgements", "all": "ratings"}


class CountedSettings(AnalysisSettings):
    """Settings of an analysis that counts ratings of items."""

    section: ClassVar[str]

    counted_in: CountedIn | None = Field(
        None,
        description="Ratings in which the popularity of items is counted; default: train if the "
        "study has training ratings, else test.",
    )

    def check(self, study: StudyFacts) -> None:
        """Refuse to count in training ratings where there are none."""
        if not study.has_training and self.counted_in in ("train", "all"):
            raise SettingError(
                "counted_in",
                f"without training ratings, `counted_in` in [analyses.{self.section}] must be "
                f"'test', got {self.counted_in!r}.",
            )

    def item_counts(self, work: Work) -> tuple[CountedIn, Numbers]:
        """Say where is counted, and give the ratings of each item there."""
        counts = work.popularity_counts
        where = next(iter(counts)) if self.counted_in is None else self.counted_in
        return where, counts[where]
