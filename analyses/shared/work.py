"""What an analysis may use: scores, judgements, the truth, other worlds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyses.shared.families import Families, families_by_similarity
from analyses.shared.measure import Measure
from analyses.shared.scores import Scores
from analyses.shared.sentences import USER
from runs import InputError
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.progress import Progress, SilentProgress

if TYPE_CHECKING:
    from qrels import FullRanks, Qrels
    from qrels.ranks.full_ranks import CandidateRanks

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class Truth:
    """Scores of systems by judgements that are complete, or of items drawn at random.

    Parameters
    ----------
    scores
        True scores of every user of the truth, who need not be those of the study; systems in the
        order of the study's, and its measures, with the references.
    references
        Measures by which the truth says which system is better.
    origin
        Where the truth is from, a clause for captions: "of the simulated world".
    condensed
        Whether the lists that are scored hold each user's truly judged items alone.
    notes
        What the truth cannot show, in sentences.
    """

    scores: Scores
    references: tuple[Measure, ...]
    origin: str
    condensed: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.references:
            raise InputError("a truth needs a reference, such as nDCG@10.")
        for reference in self.references:
            if reference not in self.scores.measures:
                known = ", ".join(map(str, self.scores.measures))
                raise InputError(f"the truth has no scores of {reference}; it has {known}.")


Bias: TypeAlias = Literal["both", "exposure", "liking"]


class OtherWorld(NamedTuple):
    """A world like the study's, under a seed of its own.

    Parameters
    ----------
    strength
        Multiple of what observation owes to popularity and liking; 0: nothing.
    density
        Multiple of the number of ratings.
    seed
        Key of all that is random in it: tastes, ratings, split, training.
    bias
        What the strength multiplies: "both", "exposure" (popularity) or "liking" alone.
    """

    strength: float
    density: float
    seed: int
    bias: Bias = "both"


CountedIn = Literal["train", "test", "all"]
"""Where the ratings of an item are counted."""


class SumSamples(Protocol):
    """Scores under changed judgements, in the sum over blocks of users."""

    def __call__(self, kept: Masks, *, blocks: Numbers) -> Floats:
        """Score samples of the judgements.

        The result: sums of shape (n_measures, n_blocks, n_systems, n_samples); where there are
        several runs of a system, of what each adds to its scores, in the order of `Scores.runs`.
        """


class StudyWorld(Protocol):
    """What is asked of a world: a function of its work, which can be sent to other processes.

    Equal functions are written alike (``repr``): what was found is kept by that.
    """

    @property
    def result_class(self) -> type[Any]:
        """Class of what it finds, which can be kept as evidence."""

    def __call__(self, work: Work) -> Any:
        """Find it in the world of this work."""


class Work:
    """What an analysis may use; what takes time is made when it is asked for.

    What is not known is refused in a sentence, unless a kind of work gives it. ``name``: of the
    study, or of what is known; ``seed``: key of all that is random; ``n_jobs``: workers, on which
    results do not depend; ``progress``: shows what is being done.
    """

    name: str
    seed: int
    n_jobs: int
    progress: Progress
    known_truth: Truth | None = None
    """What the systems are truly worth, if that is known."""

    @property
    def unit(self) -> str:
        """What scores are of."""
        return USER

    def steps(self, label: str, total: int, items: Iterable[Item]) -> Iterator[Item]:
        """Go through so many items, and show how many are done."""
        with self.progress(label, total) as bar:
            for item in items:
                yield item
                bar.advance()

    @cached_property
    def scores(self) -> Scores:
        """Scores of every user, by measure and system."""
        self._refuse("scores")

    @cached_property
    def families(self) -> Families:
        """The families of the systems."""
        return families_by_similarity(self.scores)

    @cached_property
    def scales(self) -> Mapping[Measure, int]:
        """Factors that make the scores of some measures whole numbers."""
        self._refuse("scores")

    @cached_property
    def qrels(self) -> Qrels:
        """The judgements."""
        self._refuse("judgements")

    @cached_property
    def activity(self) -> Numbers:
        """Training ratings of each scored user; judgements, where nothing is trained."""
        self._refuse("judgements")

    @cached_property
    def popularity_counts(self) -> Mapping[CountedIn, Numbers]:
        """Ratings of every item, by where they are counted; -1 for what is not in the catalogue."""
        self._refuse("counts of ratings")

    @cached_property
    def recommended(self) -> Mapping[str, NDArray[np.int32]]:
        """By system: the items of its lists, (n_users, depth), -1 at the end of a row."""
        self._refuse("lists of items")

    @cached_property
    def full_ranks(self) -> Mapping[str, FullRanks]:
        """By system: where the relevant items stand among all candidates."""
        self._refuse("ranks among all candidates")

    @cached_property
    def candidate_ranks(self) -> Mapping[str, CandidateRanks]:
        """By system: where all candidates of some users stand."""
        self._refuse("ranks of all candidates, which studies that train systems have")

    @cached_property
    def truth(self) -> Truth:
        """What the systems are truly worth."""
        if self.known_truth is None:
            self._refuse("a truth")
        return self.known_truth

    @cached_property
    def judged_twice(self) -> tuple[Numbers, Numbers, Numbers]:
        """What both the qrels and the truth judge: numbers of users, and the grades of both."""
        self._refuse("a truth")

    def accumulation(self, measure: Measure) -> str:
        """Say how relevant items add up: "sum", "max", "cascade"; "" where there is no residual."""
        self._refuse("metrics")

    def score_lists(self, measure: Measure, grades: Floats) -> Floats:
        """Score lists of grades, (n_lists, depth), NaN where nothing is judged: (n_lists,)."""
        self._refuse("metrics")

    def rescorer(self, n_samples: int) -> SumSamples:
        """Give what scores the systems under changed judgements, of so many samples."""
        self._refuse("judgements")

    def in_worlds(self, worlds: Sequence[OtherWorld], study: StudyWorld) -> Iterator[Any]:
        """Train the systems in other worlds, and give what is found in each, in their order."""
        self._refuse("a simulated world")

    def _refuse(self, what: str) -> NoReturn:
        raise InputError(f"the analysis needs {what}; {self.name} has none.")


@dataclass(frozen=True, eq=False, kw_only=True)
class WorkInMemory(Work):
    """What an analysis may use where one thing is known, and nothing was trained."""

    seed: int = 0
    n_jobs: int = 1
    progress: Progress = field(default_factory=SilentProgress)


@dataclass(frozen=True, eq=False)
class ScoresWork(WorkInMemory):
    """Scores without judgements, such as tables and notebooks have them; perhaps with a truth."""

    name = "a table of scores"
    scores: Scores = field()
    scales: Mapping[Measure, int] = field(default_factory=dict, kw_only=True)
    known_truth: Truth | None = field(default=None, kw_only=True)

    @property
    def unit(self) -> str:
        """What scores are of: topics, where what they were made from says so."""
        return self.scores.unit


@dataclass(frozen=True, eq=False)
class RanksWork(WorkInMemory):
    """Full ranks of relevant items by system, such as a table of ranks has them."""

    name = "a table of ranks"
    full_ranks: Mapping[str, FullRanks] = field()
    candidate_ranks: Mapping[str, CandidateRanks] = field(default_factory=dict, kw_only=True)
