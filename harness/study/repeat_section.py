"""The table [repeat] of a study file: the whole study under several seeds."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from runs.shared.members import Section, Whole


class RepeatSection(Section):
    """How often the whole study is made, each time with another seed."""

    seeds: Whole = Field(
        1,
        ge=1,
        le=1000,
        description="Seeds: that of the study, and the numbers after it. Each makes another split "
        "and trains anew, in a folder below seeds/.",
    )

    def others(self, seed: int) -> range:
        """Give the seeds beside that of the study."""
        return range(seed + 1, seed + self.seeds)


SEEDS = "seeds"
"""The folder, in that of a study, of its studies under other seeds."""


def seed_folder(folder: Path, seed: int) -> Path:
    """Name the folder of the study under another seed."""
    return folder / SEEDS / str(seed)
