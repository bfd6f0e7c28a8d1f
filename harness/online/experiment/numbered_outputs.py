"""Tables and figures of an online study, numbered as in Kasalický (2021) where they are there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recall.recall_curves import draw_recall_curves, draw_recall_over_time
from analyses.shared.figures import as_png, as_svg, panel_of, panels_of
from analyses.shared.publish import as_csv
from harness.online.experiment.findings import Findings, shown_measures
from harness.online.experiment.offline_values import VALIDATIONS
from harness.online.experiment.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Picture:
    """A figure of the page.

    Parameters
    ----------
    title, caption
        What it shows.
    figure
        The figure.
    """

    title: str
    caption: str
    figure: Figure

    def files(self, name: str) -> dict[str, bytes]:
        """Give its files by name."""
        return {
            f"figures/{name}.svg": as_svg(self.figure),
            f"figures/{name}.png": as_png(self.figure),
            f"figures/{name}.txt": f"{self.title}. {self.caption}\n".encode(),
        }


def frames_of(found: Findings, record: Record) -> dict[str, pd.DataFrame]:
    """Give all tables by name, in full."""
    clicks, agreement = found.clicks, found.agreement
    frames = {
        "arms": pd.DataFrame(record.settings),
        "rates": clicks.overall.to_frame(),
        "rate_differences": clicks.overall.differences(),
        "rates_by_period": _by_period(clicks.by_period),
        "sample_ratio": clicks.ratio.to_frame(),
        "log": record.logs.facts.to_frame(),
        "values": _values(found),
        "recall": _recall(found),
        "recall_by_period": _recall_by_period(found),
        "recall_of_arms": found.recalls,
        "levels": agreement.levels(),
        "agreement": agreement.to_frame(),
        "best": agreement.best(),
        "bins": agreement.bins(),
        "orderings": agreement.orderings(),
        "validations": agreement.validations(),
        "betas": agreement.betas(),
        "crossed": agreement.crossed(),
        "best_of_many": found.best.to_frame(),
        "best_of_many_null": found.best.null_frame(),
        "differences_validations": found.comparison.family("validations"),
        "differences_betas": found.comparison.family("betas"),
        "intervals": found.comparison.to_frame(),
        "arms_for_best": found.for_best.to_frame(),
    }
    if clicks.cycles is not None:
        frames |= {
            "cycles": clicks.cycles.to_frame(),
            "rates_by_hour": clicks.cycles.bins(),
            "day_profile": clicks.cycles.profile("day"),
        }
    if clicks.robots is not None:
        frames["robots"] = clicks.robots.to_frame()
    if found.truth is not None:
        frames["truth"] = found.truth.to_frame()
    if found.needed is not None:
        frames |= {"arms_needed": found.needed.to_frame(), "choices": found.needed.choices()}
    if record.off_policy:
        frames["off_policy"] = pd.DataFrame(record.off_policy)
    return frames


def _by_period(rates: Mapping[str, Any]) -> pd.DataFrame:
    parts = [each.to_frame().assign(period=int(name)) for name, each in rates.items()]
    return pd.concat(parts, ignore_index=True)


def _values(found: Findings) -> pd.DataFrame:
    """Give the mean value of every measure, a row for each arm: as `harness online` reads it."""
    frame = pd.DataFrame(found.experiment.values.T, columns=list(found.experiment.measures))
    frame.insert(0, "model", list(found.experiment.models))
    return frame


def _recall(found: Findings) -> pd.DataFrame:
    """Give every recall of every arm with what it rests on, mean over the periods (table 4.3)."""
    measured = found.measured
    return pd.concat(
        [
            grid.to_frame().assign(arm=arm, period=period + 1)
            for (arm, period), grid in measured.grids.items()
        ],
        ignore_index=True,
    )


def _recall_by_period(found: Findings) -> pd.DataFrame:
    """Give the recall variants of the figures, by arm and period (figure 4.6)."""
    measured = found.measured
    rows = [
        (arm, period + 1, found.experiment.measures[number], grid.values.ravel()[number])
        for (arm, period), grid in measured.grids.items()
        for number in shown_measures(measured)
    ]
    return pd.DataFrame(rows, columns=["arm", "period", "measure", "value"])


def pictures_of(found: Findings, record: Record) -> dict[str, Picture]:
    """Draw all figures, by name."""
    clicks, agreement, comparison = found.clicks, found.agreement, found.comparison
    pictures = {
        "rates": Picture(
            "Click-through rates of the arms",
            clicks.overall.caption(),
            panel_of(clicks.overall.plot),
        ),
        "sample_ratio": Picture(
            "Users of the arms, and the planned shares",
            clicks.ratio.caption(),
            panel_of(clicks.ratio.plot),
        ),
    }
    if clicks.cycles is not None:
        pictures["rates_over_time"] = Picture(
            "Click-through rates over time (figures 4.1 to 4.5)",
            clicks.cycles.caption(),
            panel_of(clicks.cycles.plot),
        )
        pictures["day_profile"] = Picture(
            "Click-through rates over the day",
            clicks.cycles.caption(),
            panel_of(lambda ax: clicks.cycles.plot_profile("day", ax)),  # type: ignore[union-attr]
        )
    pictures |= {
        "recall_over_time": _recall_over_time(found, record),
        "recall_over_beta": _recall_over_beta(found),
        "agreement": Picture(
            "Spearman's rho of recall with the click-through rate (tables 4.5 to 4.7)",
            agreement.caption(),
            panels_of(
                {
                    validation: _on(agreement.plot, validation=validation)
                    for validation in VALIDATIONS
                }
            ),
        ),
        "bins": Picture(
            "How many measures agree how well, and with random rates (table 4.6)",
            agreement.caption(),
            panel_of(agreement.plot_bins),
        ),
        "best_of_many": Picture(
            "The best of all measures, and what chance would make of it",
            found.best.caption(),
            panel_of(found.best.plot),
        ),
        "differences": Picture(
            f"Differences of rho, with intervals over {found.resampled}",
            _of_periods(found) + comparison.caption(),
            panels_of(
                {
                    "LLOO less LOO": _on(comparison.plot, family="validations"),
                    "beta less beta = 0": _on(comparison.plot, family="betas"),
                }
            ),
        ),
        "arms_for_best": Picture(
            "How often the best measure of fewer arms stands the test",
            found.for_best.caption(),
            panel_of(found.for_best.plot),
        ),
    }
    if found.needed is not None:
        needed = found.needed
        pictures["arms_needed"] = Picture(
            "What fewer arms would have shown",
            needed.caption(),
            panels_of({"sign of the true rho": needed.plot, "best measure": needed.plot_choices}),
        )
    return pictures


def _of_periods(found: Findings) -> str:
    if found.resampled == "users":
        return ""
    return "Periods were resampled together with users. "


def _on(plot: Callable[..., Axes], **options: Any) -> Callable[[Axes], Axes]:
    return lambda ax: plot(ax, **options)


def _recall_over_time(found: Findings, record: Record) -> Picture:
    """Draw one recall variant of every arm over the periods (figure 4.6)."""
    measured = found.measured
    number = list(shown_measures(measured))[-1]
    recalls, times = {}, {}
    for arm in measured.arms:
        places = sorted(place for place in measured.grids if place[0] == arm)
        recalls[arm] = np.array([measured.grids[place].values.ravel()[number] for place in places])
        starts = [record.starts[place] for place in places]
        times[arm] = np.array(starts, dtype="datetime64[ms]")
    name = found.experiment.measures[number]
    return Picture(
        "Recall over time (figure 4.6)",
        f"{name} of every arm's model, measured anew whenever it learnt; the test users are the "
        "same in all periods, so that points are not independent.",
        panel_of(lambda ax: draw_recall_over_time(recalls, times, label=name, ax=ax)),
    )


def _recall_over_beta(found: Findings) -> Picture:
    """Draw recall over beta for the best, the middle and the worst arm (figures 4.7 to 4.11)."""
    measured, section = found.measured, found.measured.section
    order = np.argsort(-found.experiment.rates, kind="stable")
    arms = [measured.arms[order[place]] for place in sorted({0, len(order) // 2, len(order) - 1})]
    n_recalls = len(measured.parametrisations)
    shape = (len(VALIDATIONS), len(section.betas), len(section.cutoffs))
    values = np.stack([measured.of_arm(arm)[:n_recalls].reshape(shape) for arm in arms])
    shares = np.mean([grid.effective_shares for grid in measured.grids.values()], axis=0)
    return Picture(
        "Recall over the exponent of popularity (figures 4.7 to 4.11)",
        f"Recall of the arms that were clicked most, in the middle and least ({', '.join(arms)}), "
        "mean over the periods, a line for each cut-off. Above: the effective share of the hidden "
        "items. The level of a recall says nothing about its worth.",
        draw_recall_curves(
            values,
            models=arms,
            validations=VALIDATIONS,
            betas=section.betas,
            cutoffs=section.cutoffs,
            effective_shares=shares,
        ),
    )


def files_of(
    frames: Mapping[str, pd.DataFrame], pictures: Mapping[str, Picture]
) -> dict[str, bytes]:
    """Give all files of tables and figures."""
    files = {f"tables/{name}.csv": as_csv(frame).encode() for name, frame in frames.items()}
    for name, picture in pictures.items():
        files |= picture.files(name)
    return files
