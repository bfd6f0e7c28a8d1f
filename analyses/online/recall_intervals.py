"""How sure differences between recall variants are: intervals over users, and over periods.

Users are resampled jointly: one weight for a user in the offline measures and in the rates. The
models stay as they are, and so do the conclusions: they are about these models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from analyses.intervals.resampling import CONFIDENCE, interval
from analyses.online.agreement.measure_names import (
    Pair,
    beta_pairs,
    label_columns,
    validation_pairs,
)
from analyses.online.agreement.rank_agreement import correlations
from analyses.online.agreement.wording import caution, print_rho
from analyses.online.arms.arm_settings import ArmSettings
from analyses.online.arms.both_sides import ExperimentWork
from analyses.online.arms.frame_tables import frame_table
from analyses.online.tables.experiment import Experiment
from analyses.ordering import spearman
from analyses.shared.analysis import analysis
from analyses.shared.drawing import axes_or_new, categories, draw_whiskers, label_curves
from analyses.shared.result import Result, figure
from runs import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

FAMILIES: Final[Mapping[str, Callable[[Sequence[str]], list[Pair]]]] = {
    "LLOO less LOO": validation_pairs,
    "beta > 0 less beta = 0": beta_pairs,
}
"""What is compared with what."""

BETWEEN_WHISKERS: Final = 0.008
"""Of beta."""


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
        found = compare_variants(
            sides.recalls,
            values=sides.values_again,
            rates=sides.rates_again,
            resampled=settings.resampled,
            cutoff=sides.variants[sides.shown[0]].cutoff,
        )
        bar.advance()
    return found


@dataclass(frozen=True, eq=False)
class RecallIntervals(Result):
    """Rhos of recall variants with the rates, and again for resampled users.

    Of shape (n_measures,) and (n_measures, n_replicates); the figure has one cut-off.
    """

    experiment: str
    variants: tuple[str, ...]
    n_models: int
    rhos: Floats
    replicates: Floats
    resampled: str
    cutoff: int

    @property
    def kinds(self) -> tuple[str, ...]:
        """Panels of the figure: those with a pair."""
        return tuple(name for name, pairs_of in FAMILIES.items() if pairs_of(self.variants))

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``recall_summary``, and ``recall_differences`` of all pairs, not corrected.

        Columns compared, measure, validation, beta, cutoff, weights (of the first), then those of
        `differences`.
        """
        import pandas as pd

        parts = []
        for name in self.kinds:
            pairs = FAMILIES[name](self.variants)
            labels = pd.DataFrame(label_columns([self.variants[first] for first, _ in pairs]))
            labels.insert(0, "compared", name)
            parts.append(pd.concat([labels, self.differences(pairs)], axis=1))
        return {
            "recall_summary": self.summary(),
            "recall_differences": pd.concat(parts, ignore_index=True),
        }

    def differences(self, pairs: Sequence[Pair]) -> pd.DataFrame:
        """Compare pairs of variants, by number.

        Columns second, difference (of rho, the first less the second), low, high (95 %) and
        beyond_noise: whether the interval excludes 0.
        """
        import pandas as pd

        first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        columns = _compared(
            self.rhos[first] - self.rhos[second], self.replicates[first] - self.replicates[second]
        )
        return pd.DataFrame({"second": [self.variants[number] for number in second], **columns})

    def summary(self) -> pd.DataFrame:
        """Average the differences of a family over its pairs with a rho: its one overall answer.

        Columns compared, pairs, difference, low, high (95 %) and beyond_noise.
        """
        import pandas as pd

        rows = []
        for name in self.kinds:
            pairs = np.array(FAMILIES[name](self.variants), dtype=np.intp).reshape(-1, 2)
            first, second = pairs[np.isfinite(self.rhos[pairs].sum(axis=1))].T
            columns = _compared(
                (self.rhos[first] - self.rhos[second]).mean(),
                (self.replicates[first] - self.replicates[second]).mean(axis=0),
            )
            rows.append({"compared": name, "pairs": len(first), **columns})
        return pd.DataFrame(rows)

    def caption(self) -> str:
        """Say what was resampled, and what the intervals are about."""
        undefined = int(np.isnan(self.replicates).sum())
        left_out = f" They leave out {undefined:,} undefined rhos." if undefined else ""
        return (
            f"Differences of Spearman's rho with the click-through rate over the {self.n_models} "
            f"models of {self.experiment}. Intervals: {100 * CONFIDENCE:.0f} % bootstrap over "
            f"{self.resampled}, {self.replicates.shape[1]:,} replicates, in which a user has one "
            "weight in the offline measures and in the rates. They are conditional on these "
            f"models: others may differ by more.{left_out}{caution(self.n_models)}"
        )

    def findings(self) -> Sequence[str]:
        """Say whether validations and exponents differ."""
        said = []
        for row in self.summary().to_dict("records"):
            beyond = "beyond" if row["beyond_noise"] else "within"
            mean, low, high = (print_rho(row[name]) for name in ("difference", "low", "high"))
            said.append(
                f"Mean difference of rho over {row['pairs']:,} pairs, {row['compared']}: "
                f"{mean} [{low}, {high}], {beyond} the noise of {self.resampled}."
            )
        return said

    recall_summary_table = frame_table(
        "recall_summary", "mean differences of rho between recall variants"
    )

    @figure("differences", "Differences of rho, with intervals", panels="kind", comparable=False)
    def plot(self, ax: Axes | None = None, *, kind: str) -> Axes:
        """Draw the differences of a family over the exponent, at one cut-off."""
        ax = axes_or_new(ax)
        frame = self.frames()["recall_differences"]
        frame = frame[(frame["cutoff"] == self.cutoff) & (frame["compared"] == kind)]
        curves = [curve for _, curve in frame.groupby("validation", sort=False)]
        labels = [str(curve["validation"].iloc[0]) for curve in curves]
        for number, (label, style) in enumerate(categories(labels)):
            curve = curves[number]
            # Side by side, so that whiskers do not cover each other.
            places = curve["beta"].to_numpy() + BETWEEN_WHISKERS * number
            limits = curve["low"].to_numpy(), curve["high"].to_numpy()
            draw_whiskers(ax, places, curve["difference"].to_numpy(), limits, style, label=label)
        ax.axhline(0, color="0.6", linewidth=0.8, zorder=0)
        ax.set_xlabel("beta")
        ax.set_ylabel(f"rho at {self.cutoff}: {kind}")
        if len(curves) > 1:
            label_curves(ax)
        return ax


def _compared(difference: Floats, again: Floats) -> dict[str, Any]:
    """Give differences with their intervals, and whether these exclude 0."""
    low, high = interval(difference, again, limits=(-2.0, 2.0))
    beyond = (low > 0) | (high < 0)
    return {"difference": difference, "low": low, "high": high, "beyond_noise": beyond}


def compare_variants(
    experiment: Experiment, *, values: Floats, rates: Floats, resampled: str, cutoff: int
) -> RecallIntervals:
    """Correlate measures with click-through rates again for resampled users.

    Their offline values have the shape (n_replicates, n_measures, n_models), see
    `analyses.online.agreement.replicated_means`, and their rates (n_replicates, n_models).
    Resampling adds noise, and noise moves a rho towards 0: intervals are symmetric about what was
    observed, and hold the percentiles (see `analyses.intervals.resampling.interval`).
    """
    shape = (len(rates), len(experiment.measures), len(experiment.models))
    if len(rates) < 2 or values.shape != shape or rates.shape != (shape[0], shape[2]):
        raise InputError(
            f"{experiment.name}: at least 2 replicates are needed, of shapes {shape} and "
            f"{(shape[0], shape[2])}; got {values.shape} and {rates.shape}."
        )
    return RecallIntervals(
        experiment.name,
        experiment.measures,
        len(experiment.models),
        correlations(experiment),
        spearman(values, rates[:, np.newaxis]).T,
        resampled,
        cutoff,
    )
