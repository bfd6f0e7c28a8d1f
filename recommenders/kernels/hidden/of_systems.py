"""Hidden ranks of systems that are trained on a split: each relevant item is hidden in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from qrels import Ratings, Split
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import MISS, HiddenItems
from qrels.ranks.judged_ranks import JudgedRanks, Validation
from recommenders.kernels.hidden.by_scores import rank_hidden_by_scores
from recommenders.kernels.hidden.hiding import Hiding
from recommenders.shared.scorers import HistoriesScorer, row_of_entry

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def rank_held_out(
    scorer: HistoriesScorer,
    split: Split,
    relevant: NDArray[np.bool_],
    *,
    validations: Sequence[Validation],
    candidates: NDArray[np.bool_] | None = None,
    positives: float | None = None,
) -> JudgedRanks:
    """Rank every relevant test item with a profile of all else that its user rated.

    Profiles hold ratings of either part, training and test, with their values. Under leave last one
    out they are those before the item. Candidates are the items with training ratings that are not
    in the profile; what the system cannot score is a miss, and so is what is beyond rank 65534.

    Parameters
    ----------
    scorer
        A system that was trained on the training part.
    split
        Ratings of both parts.
    relevant
        Which test ratings are relevant, and hidden in turn, of shape (n_test_ratings,).
    validations
        What is asked for: "loo", "lloo".
    candidates
        Mask over the items that may be recommended; all by default.
    positives
        The lowest rating that the system is shown; by default it is shown all. What is in the
        profile is no candidate, however low.

    Returns
    -------
    Ranks of the test ratings, in their order.
    """
    trained = split.train.item_counts() > 0
    allowed = trained if candidates is None else trained & candidates
    everything, values = _everything(split)
    with threadpool_limits(1):
        ranks = rank_hidden_by_scores(
            _Candidates(scorer, allowed, positives),
            everything,
            Hiding(reachable="all", deepest=MISS - 1),
            n_jobs=1,
            hidden=_hidden(split.test.select(relevant)),
            values=values,
            validations=validations,
        )
    rows = np.where(relevant, np.cumsum(relevant) - 1, -1)
    asked = {"loo": ranks.rank_loo, "lloo": ranks.rank_lloo}
    return JudgedRanks(**{name: asked[name] for name in validations}).select(rows)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Scores of what may be recommended; NaN for other items."""

    scorer: HistoriesScorer
    allowed: NDArray[np.bool_]
    positives: float | None

    def __call__(self, profiles: csr_array[Any], owners: NDArray[np.int32]) -> NDArray[np.float32]:
        scores = self.scorer.score_histories(self._shown(profiles), owners).astype(np.float32)
        scores[:, ~self.allowed] = np.nan
        return scores

    def _shown(self, profiles: csr_array[Any]) -> csr_array[Any]:
        if self.positives is None:
            return profiles
        kept = profiles.data >= self.positives
        places = (row_of_entry(profiles)[kept], profiles.indices[kept])
        return type(profiles)((profiles.data[kept], places), shape=profiles.shape)


def _everything(split: Split) -> tuple[Interactions, NDArray[np.float64]]:
    """Put the ratings of the test users together, by user and time; and give their values."""
    tested = np.isin(split.train.user, split.test_users)
    parts = (split.train.select(tested), split.test)
    user, item, value = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("user", "item", "rating")
    )
    time = np.concatenate([_times(part) for part in parts])
    order = np.lexsort((item, time, user))
    users, items = split.train.users, split.train.items
    columns = {"user": user[order], "item": item[order], "time": time[order]}
    return Interactions.of(users, items, **columns), value[order]


def _hidden(relevant: Ratings) -> HiddenItems:
    everything = np.ones(len(relevant), dtype=np.bool_)
    columns = (relevant.user, relevant.item, _times(relevant), everything)
    return HiddenItems(relevant.users, relevant.items, *columns)


def _times(ratings: Ratings) -> NDArray[np.int64]:
    """Give the times of ratings; one for all if there is none."""
    return np.zeros(len(ratings), dtype=np.int64) if ratings.time is None else ratings.time
