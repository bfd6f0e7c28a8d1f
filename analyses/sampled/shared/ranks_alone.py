"""Full ranks without scores and judgements, such as a table of ranks has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from runs import InputError
from runs.shared.progress import Progress, Silent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from analyses.shared.measure import Measure, Scores
    from analyses.shared.work import CountedIn, SumSamples
    from qrels import FullRanks, Qrels


@dataclass(frozen=True, eq=False)
class RanksAlone:
    """What an analysis may use where only full ranks are known; see `analyses.shared.work.Work`.

    Parameters
    ----------
    full_ranks
        By system: where the relevant items stand among all candidates.
    seed
        Key of all that is random.
    n_jobs
        Workers; results do not depend on it.
    progress
        Shows what is being done.
    name
        What the study is called.
    """

    full_ranks: Mapping[str, FullRanks]
    seed: int = 0
    n_jobs: int = 1
    progress: Progress = field(default_factory=Silent)
    name: str = "ranks"

    @property
    def scores(self) -> Scores:
        """Refuse: there are none."""
        self._refuse("scores")

    @property
    def scales(self) -> Mapping[Measure, int]:
        """Refuse: there are no scores."""
        self._refuse("scores")

    @property
    def qrels(self) -> Qrels:
        """Refuse: there are none."""
        self._refuse("judgements")

    @property
    def popularity_counts(self) -> Mapping[CountedIn, NDArray[np.intp]]:
        """Refuse: there are none."""
        self._refuse("counts of ratings")

    def rescorer(self, n_samples: int) -> SumSamples:
        """Refuse: without judgements nothing can be scored anew."""
        self._refuse("judgements")

    def _refuse(self, what: str) -> NoReturn:
        raise InputError(f"the analysis needs {what}, and only ranks are known.")
