"""What an analysis may use: scores, judgements, the truth, other worlds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyses.shared.contested_pairs import ContestedPairs, contested_pairs
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
        """Refuse, with InputError, a truth without reference measures, or without scores of one."""
        if not self.references:
            raise InputError("a truth needs a reference, such as nDCG@10.")
        for reference in self.references:
            if reference not in self.scores.measures:
                measures = ", ".join(map(str, self.scores.measures))
                raise InputError(f"the truth has no scores of {reference}; it has {measures}.")


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
    """A function that scores the systems under samples of the judgements."""

    def __call__(self, is_kept: Masks, /, *, blocks: Numbers) -> Floats:
        """Score samples of the judgements, and add up the scores over blocks of users.

        Parameters
        ----------
        is_kept
            Which judgements each sample has, of shape (n_judgements, n_samples).
        blocks
            Number of the block of each user, from 0, of shape (n_users,).

        Returns
        -------
        Sums of shape (n_measures, n_blocks, n_systems, n_samples). Where there are several runs of
        a system, they have a row for each run in place of each system, in the order of
        `Scores.runs`: what the run adds to the scores of its system.
        """


class StudyWorld(Protocol):
    """What is computed in a world: a function of its work, which can be sent to other processes.

    Equal functions are written alike (``repr``): results are stored under that text.
    """

    @property
    def result_class(self) -> type[Any]:
        """Class of the result, which can be stored as evidence."""

    def __call__(self, work: Work) -> Any:
        """Compute the result in the world of this work."""


class Work:
    """What an analysis may use; what takes time is computed when it is first asked for.

    Subclasses provide what they know; all else raises InputError, with a sentence.

    Attributes
    ----------
    name
        Name of the study, or of what is known.
    seed
        Random seed.
    n_jobs
        Number of workers, on which results do not depend.
    progress
        Shows what is being done.
    """

    name: str
    seed: int
    n_jobs: int
    progress: Progress
    known_truth: Truth | None = None
    """What the systems are truly worth, if that is known."""

    @property
    def unit(self) -> str:
        """What a score belongs to: "user" or "topic"."""
        return USER

    def steps(self, label: str, total: int, items: Iterable[Item]) -> Iterator[Item]:
        """Go through items, ``total`` in number, and show under a label how many are done."""
        with self.progress(label, total) as bar:
            for item in items:
                yield item
                bar.advance()

    @cached_property
    def scores(self) -> Scores:
        """Scores of every user, by measure and system; see `Scores`."""
        self._refuse("scores")

    @cached_property
    def families(self) -> Families:
        """The families of the systems."""
        return families_by_similarity(self.scores)

    @cached_property
    def contested(self) -> ContestedPairs:
        """The pairs of systems that the report measures do not agree on."""
        return contested_pairs(self.scores, uses_judgements=self.uses_judgements)

    def uses_judgements(self, measure: Measure) -> bool:
        """Tell whether a relevant item in place of a non-relevant one can raise the score.

        True where that cannot be tried, as in tables of scores.
        """
        return True

    @cached_property
    def scales(self) -> Mapping[Measure, int]:
        """By measure: the factor that makes its scores whole numbers, where there is one."""
        self._refuse("scores")

    @cached_property
    def qrels(self) -> Qrels:
        """The judgements."""
        self._refuse("judgements")

    @cached_property
    def activity(self) -> Numbers:
        """Number of training ratings of each scored user, of shape (n_users,).

        Where nothing is trained, the number of judgements.
        """
        self._refuse("judgements")

    @cached_property
    def popularity_counts(self) -> Mapping[CountedIn, Numbers]:
        """Number of ratings of every item, of shape (n_items,), by where they are counted.

        The first is the default of analyses. -1 for an item that is not in the catalogue.
        """
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
        """What both the qrels and the truth judge, an entry for each judgement: (n_judgements,).

        Three arrays: the number of the user, the grade in the qrels, the grade in the truth.
        """
        self._refuse("a truth")

    def accumulation(self, measure: Measure) -> str:
        """Look up how relevant items add up to a score: "sum", "max" or "cascade".

        The result is "" for a measure whose scores have no residual (unjudged part).
        """
        self._refuse("metrics")

    def score_lists(self, measure: Measure, grades: Floats) -> Floats:
        """Score lists by a measure: scores of shape (n_lists,).

        ``grades`` are those of the items at each rank, of shape (n_lists, depth), NaN where an item
        is not judged.
        """
        self._refuse("metrics")

    def rescorer(self, n_samples: int) -> SumSamples:
        """Make the function that scores the systems under samples of the judgements.

        ``n_samples`` is how many samples will be scored in all.
        """
        self._refuse("judgements")

    def in_worlds(self, worlds: Sequence[OtherWorld], study: StudyWorld) -> Iterator[Any]:
        """Train the systems in other worlds, and yield the result of a study in each, in order."""
        self._refuse("a simulated world")

    def _refuse(self, requirement: str) -> NoReturn:
        """Raise InputError: the analysis needs something that is not known."""
        raise InputError(f"the analysis needs {requirement}; {self.name} has none.")


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
        """What a score belongs to: that of the scores, "user" or "topic"."""
        return self.scores.unit


@dataclass(frozen=True, eq=False)
class RanksWork(WorkInMemory):
    """Full ranks of relevant items by system, such as a table of ranks has them."""

    name = "a table of ranks"
    full_ranks: Mapping[str, FullRanks] = field()
    candidate_ranks: Mapping[str, CandidateRanks] = field(default_factory=dict, kw_only=True)
