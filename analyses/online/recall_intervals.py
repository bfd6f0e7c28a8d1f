"""How sure differences between recall variants are: intervals over users, and over periods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyses.online.agreement.measure_pairs import (
    FAMILIES,
    Comparison,
    Family,
    compare_parametrisations,
)
from analyses.online.agreement.wording import print_rho
from analyses.online.arms.arm_settings import ArmSettings
from analyses.online.arms.both_sides import ExperimentWork
from analyses.shared.analysis import analysis
from analyses.shared.result import Result, figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@analysis(
    "recall_intervals",
    source="Kasalický (2021), section 4.4",
    needs=["experiment"],
    on_request=True,
)
def recall_intervals(work: ExperimentWork, settings: ArmSettings) -> RecallIntervals:
    """Compare how recall variants follow the rates, again for resampled users and periods."""
    with work.progress("Resampling users", 1) as bar:
        sides = work.sides(settings)
        variants = sides.measured.parametrisations
        found = RecallIntervals(
            comparison=compare_parametrisations(
                sides.recalls, values=sides.values_again, rates=sides.rates_again
            ),
            resampled=settings.resampled,
            shown=tuple(str(variants[number]) for number in sides.shown),
            cutoff=variants[sides.shown[0]].cutoff,
        )
        bar.advance()
    return found


@dataclass(frozen=True, eq=False)
class RecallIntervals(Result):
    """Rhos of recall variants with the rates, and their differences, with intervals.

    Those that are shown have low, middle and high exponents at one cut-off.
    """

    comparison: Comparison
    resampled: str
    shown: tuple[str, ...]
    cutoff: int

    @property
    def kinds(self) -> tuple[Family, ...]:
        """Panels of the figure."""
        return tuple(FAMILIES)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give all tables in full, by name; see `Comparison`."""
        return {
            "differences_validations": self.comparison.family("validations"),
            "differences_betas": self.comparison.family("betas"),
            "intervals": self.comparison.to_frame(),
        }

    def caption(self) -> str:
        """Say what was resampled, and what the intervals are about."""
        periods = "Periods were resampled together with users. "
        return f"{'' if self.resampled == 'users' else periods}{self.comparison.caption()}"

    def findings(self) -> Sequence[str]:
        """Say how recall follows the rates, and whether validations and exponents differ."""
        rows = {row["measure"]: row for row in self.comparison.to_frame().to_dict("records")}
        said = []
        for name in self.shown:
            rho, low, high = (print_rho(rows[name][end]) for end in ("rho", "low", "high"))
            said.append(f"{name} {rho} [{low}, {high}]")
        every = f"Rho with the rates, with 95 % intervals over {self.resampled}: {'; '.join(said)}."
        return [every, *self._of_families()]

    def _of_families(self) -> Iterator[str]:
        for row in self.comparison.summary().to_dict("records"):
            beyond = "beyond" if row["beyond_noise"] else "within"
            mean, low, high = (print_rho(row[name]) for name in ("difference", "low", "high"))
            yield (
                f"Mean difference of rho over {row['pairs']:,} pairs, {row['compared']}: "
                f"{mean} [{low}, {high}], {beyond} the noise of {self.resampled}."
            )

    @figure("differences", "Differences of rho, with intervals", panels="kind", comparable=False)
    def plot(self, ax: Axes | None = None, *, kind: Family) -> Axes:
        """Draw the differences of a family over the exponent, at one cut-off."""
        return self.comparison.plot(ax, family=kind, cutoff=self.cutoff)
