"""The table [truth] of a study file: what the systems are truly judged by."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from analyses.shared.measure import Measure
from harness.metrics.shared.names import parse_name
from qrels.ratings.datasets.options import FileOptions
from runs import InputError
from runs.shared.members import Names

QRELS = "qrels"
"""The format of truth that is TREC's."""

Candidates = Literal["judged", "all"]


class TruthSection(FileOptions):
    """What the systems are truly judged by: everything, or items drawn at random.

    Neither training nor tuning sees it. The options of [ratings] say how a file is read; ``format``
    may be "qrels", too. A simulated world has a truth without a word about it.
    """

    path: Path | None = Field(
        None, description="File of the true judgements; none where a world is simulated."
    )
    threshold: float | None = Field(
        None,
        allow_inf_nan=False,
        description="Lowest true rating that is relevant, or lowest relevant grade of qrels; by "
        "default that of [ratings], or grade 1.",
    )
    candidates: Candidates | None = Field(
        None,
        description="What is judged by the truth: lists of each user's truly judged items alone "
        '("judged", the default for a file), or the usual lists ("all", the default in a world).',
    )
    references: Names = Field(
        ("nDCG@10", "P@10"),
        min_length=1,
        description="Measures that say, on the truth, which system is better.",
    )

    @field_validator("references")
    @classmethod
    def _readable(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            try:
                parse_name(name)
            except InputError as error:
                raise ValueError(str(error).rstrip(".")) from None
        return names

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The references; a name without a depth stands for whole lists."""
        parsed = map(parse_name, self.references)
        return tuple(Measure(name.label, name.cutoff) for name in parsed)

    @property
    def judged_lists(self) -> Candidates:
        """Which lists are judged."""
        return self.candidates or ("all" if self.path is None else "judged")

    @property
    def is_qrels(self) -> bool:
        """Whether the file says, or its name does, that it is a qrels file."""
        if self.format is None and self.path is not None:
            return any(ending in (".qrels", ".qrel") for ending in self.path.suffixes)
        return self.format == QRELS
