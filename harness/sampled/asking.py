"""Studies of sampled metrics from a table of ranks, as the command line asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyses.sampled.rank_table import read_rank_table
from analyses.sampled.sampled_studies import STUDIES
from runs.shared.progress import watched

if TYPE_CHECKING:
    from harness.catalogue import Result
    from harness.study.study import SampledSection


def section_of(studies: Sequence[str], **asked: Any) -> SampledSection:
    """Put together what a study file would say in [analyses.sampled]; empty is the default.

    What makes no sense is refused by the studies themselves.
    """
    from harness.study.study import SAMPLED_STUDIES, SampledSection

    names = [*(SAMPLED_STUDIES if "all" in studies else ()), *studies]
    chosen = [name for name in dict.fromkeys(names) if name != "all"] or ["estimates"]
    given = {name: value for name, value in asked.items() if value not in (None, ())}
    return SampledSection.model_construct(**given | {"studies": tuple(chosen)})


def make_studies(
    path: Path,
    section: SampledSection,
    *,
    candidates: int | None,
    seed: int,
    n_jobs: int,
    quiet: bool,
) -> dict[str, Result]:
    """Make the studies of a section, by name, from a table of ranks.

    Raises
    ------
    InputError
        If the table or what is asked breaks a rule.
    """
    systems = read_rank_table(path, candidates=candidates)
    results: dict[str, Result] = {}
    for name in section.studies:
        with watched(quiet=quiet)(STUDIES[name].progress, len(systems)) as bar:
            results[name] = STUDIES[name].run(
                systems, section, seed=seed, n_jobs=n_jobs, advance=bar.advance
            )
    return results
