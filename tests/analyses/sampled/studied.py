"""Studies of sampled metrics on a few ranks."""

from collections.abc import Mapping
from typing import Any, TypeVar

from analyses.shared.analysis import Analysis
from analyses.shared.result import Result
from analyses.shared.work import RanksAlone
from qrels import FullRanks

Found = TypeVar("Found", bound=Result)


def study(
    analysis: Analysis[Any, Found],
    systems: Mapping[str, FullRanks],
    *,
    seed: int = 0,
    n_jobs: int = 1,
    **asked: Any,
) -> Found:
    """Make a study with settings that nothing has checked before."""
    settings = analysis.settings.model_construct(**asked)
    return analysis(RanksAlone(systems, seed=seed, n_jobs=n_jobs), settings)
