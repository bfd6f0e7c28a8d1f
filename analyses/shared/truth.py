"""What systems are truly worth."""

from __future__ import annotations

from dataclasses import dataclass

from analyses.shared.measure import Measure, Scores
from runs import InputError


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

    Raises
    ------
    InputError
        If there is no reference, or a reference was not measured.
    """

    scores: Scores
    references: tuple[Measure, ...]
    origin: str
    condensed: bool = False

    def __post_init__(self) -> None:
        if not self.references:
            raise InputError("a truth needs a reference, such as nDCG@10.")
        for reference in self.references:
            if reference not in self.scores.measures:
                known = ", ".join(map(str, self.scores.measures))
                raise InputError(f"the truth has no scores of {reference}, but of {known}.")
