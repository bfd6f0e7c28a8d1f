"""Comparison of a finished study with published numbers: values and orderings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from analyses.ordering import tau_b
from analyses.shared.result import FigureFace
from analyses.shared.sentences import listed
from analyses.shared.table import Table, frame_table, rounded
from harness.readers.means_table import Published, read_published
from harness.report.study_folder import FinishedStudy
from harness.report.tables import estimates_of
from runs import InputError
from runs.shared.errors import nearest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

NEAR = 0.1
"""Largest relative difference of values that are counted as near."""

MOST_NAMED = 5
"""Missing numbers that a sentence names at most."""


@dataclass(frozen=True)
class Publication:
    """The numbers that a finished study and a publication both have."""

    study: FinishedStudy
    published: Published

    @classmethod
    def of(cls, studies: Sequence[FinishedStudy], tables: Sequence[Path]) -> Publication:
        """Read a table of published numbers, to stand beside a study."""
        if len(studies) != 1 or len(tables) != 1:
            raise InputError(
                "a table of published numbers is compared with one study, got "
                f"{len(studies)} and {len(tables)}."
            )
        made = cls(studies[0], read_published(tables[0]))
        if made.frame().empty:
            subjects, measures = map(set, zip(*made._own, strict=True))
            (subject, measure), *_ = made.published.numbers
            unknown, known = (subject, subjects) if measure in measures else (measure, measures)
            raise InputError(
                f"{tables[0]}: {studies[0].folder} has none of these numbers, for example no "
                f"{unknown!r}; {nearest(unknown, sorted(known))}"
            )
        return made

    @property
    def title(self) -> str:
        """Names of the study and of the table."""
        return f"{self.study.name} – {self.published.path.name}"

    lead = "How close are the results of the study to published numbers?"

    @property
    def data(self) -> list[str]:
        """What the study is of."""
        return [self.study.manifest["data"]]

    @cached_property
    def _own(self) -> dict[tuple[str, str], float]:
        """Numbers of the study, by subject and measure."""
        means = self.study.means
        if self.published.subject == "system":
            return {
                (system, str(measure)): float(level)
                for measure, levels in zip(means.measures, means.values, strict=True)
                for system, level in zip(means.systems, levels, strict=True)
            }
        return {
            (each.name, label): estimate.value
            for _, each in estimates_of(self.study)
            for label, estimate in each.of(each.measures).items()
        }

    @property
    def _falling(self) -> set[str]:
        """What is better where it is less: measures of systems, or quantities."""
        measures = self.study.means.measures
        falling = {str(measure) for measure in measures if measure.metric in measures.falling}
        return falling | {e.name for _, e in estimates_of(self.study) if e.lower_is_better}

    def frame(self) -> pd.DataFrame:
        """Give what both have as a tidy table: of, name, ours, published, ratio.

        A measure orders the systems that are named, or a quantity the measures.
        """
        import pandas as pd

        theirs = self.published.numbers
        rows = [(*key, ours, theirs[key]) for key, ours in self._own.items() if key in theirs]
        names = ["name", "of"] if self.published.subject == "system" else ["of", "name"]
        made = pd.DataFrame(rows, columns=[*names, "ours", "published"])
        known = made.published.where((made.published != 0) & (not self.published.are_ranks))
        made["ratio"] = made.ours / known
        return made[["of", "name", "ours", "published", "ratio"]]

    def orderings(self) -> pd.DataFrame:
        """Count the levels that are near, and correlate the orderings: of, numbers, near, tau."""
        import pandas as pd

        ranks_rise = {of: -1 if of not in self._falling else 1 for of in self.frame()["of"]}
        rows = [
            (
                of,
                len(some),
                int((abs(some.ratio - 1) <= NEAR).sum()),
                float(tau_b(some.ours.to_numpy(), some.published.to_numpy()))
                * (ranks_rise[of] if self.published.are_ranks else 1),
            )
            for of, some in self.frame().groupby("of", sort=False)
        ]
        return pd.DataFrame(rows, columns=["of", "numbers", "within 10 %", "tau-b"])

    def tables(self) -> Iterator[Table]:
        """Tabulate values, a row for each number, and the agreement of the orderings."""
        yield frame_table("levels", "Values", self.frame(), "Published numbers may be ranks.")
        title = "Agreement with the published orderings (Kendall's tau-b)"
        yield frame_table("orderings", title, self.orderings(), "")

    def findings(self) -> Iterator[str]:
        """Say how far values and orderings agree, and which numbers are missing."""
        for of, n, near, tau in self.orderings().itertuples(index=False):
            near_values = f"{near} of {n} values are within 10 % of the published ones, and "
            yield (
                f"{of}: {near_values * (not self.published.are_ranks)}the orderings agree with "
                f"tau-b = {rounded(tau, 2)}."
            )
        missing = [f"{m} of {s}" for s, m in self.published.numbers if (s, m) not in self._own]
        if missing:
            named = [*missing[:MOST_NAMED], f"{len(missing) - MOST_NAMED} more"]
            yield f"Published numbers that the study lacks: {listed(named[: len(missing)])}."

    def figures(self) -> Iterator[tuple[FigureFace, str, Figure]]:
        """Draw nothing: what was published are numbers."""
        return iter(())
