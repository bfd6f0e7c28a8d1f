"""The study of a log: printed in every format, and written into a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyses.online.clicks.click_study import Clicks
from analyses.online.clicks.click_tables import frames_of, tables_of
from analyses.online.clicks.verdict import alarm, cautions, verdict
from analyses.shared import publish as publishing
from analyses.shared.publish import records_of, under_titles, write_figure, write_frames
from runs.shared.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RED = "#C00000"


def as_table(found: Clicks) -> str:
    """Print all tables in aligned columns, rounded, and what they come to; an alarm is red."""
    import click

    text = "\n".join([*under_titles(tables_of(found)), conclusion(found)])
    warned = alarm(found)
    return text.replace(warned, click.style(warned, fg="red", bold=True)) if warned else text


def as_csv(found: Clicks) -> str:
    """Print the rates of the arms with every column, in full precision."""
    return publishing.as_csv(frames_of(found)["arms"])


def as_json(found: Clicks) -> str:
    """Print what was asked and all tables in full precision; null where nothing is known."""
    document = {
        "question": asdict(found.question),
        "sample_ratio_mismatch": found.mismatch,
        "verdict": verdict(found),
        "cautions": [*cautions(found)],
        **{name: records_of(frame) for name, frame in frames_of(found).items()},
    }
    return json.dumps(document, indent=1, ensure_ascii=False, default=str) + "\n"


def as_latex(found: Clicks) -> str:
    """Print all tables for a paper; see `Table.to_latex`."""
    warned = alarm(found)
    mark = f"% {warned}\n" if warned else ""
    return mark + publishing.as_latex(tables_of(found))


FORMATS: Mapping[str, Callable[[Clicks], str]] = {
    "table": as_table,
    "csv": as_csv,
    "json": as_json,
    "latex": as_latex,
}


def conclusion(found: Clicks) -> str:
    """Say which arm is clicked most, a sentence a line; first what forbids to say so."""
    halves = [] if found.halves is None else [found.halves.caption()]
    warned = alarm(found)
    return "\n".join([*([warned] if warned else []), verdict(found), *halves]) + "\n"


def write_files(found: Clicks, folder: Path) -> None:
    """Write the tables, the conclusion, and the figures with their captions."""
    write_frames(frames_of(found), folder)
    notes = "".join(f"{caution}\n" for caution in cautions(found))
    write_whole(folder / "conclusion.txt", (conclusion(found) + notes).encode())
    warned = alarm(found)
    mark = f"{warned} " if warned else ""
    for name, (draw, caption) in drawings(found).items():
        figure = _marked(draw, is_marked=found.mismatch)
        write_figure(figure, folder, name, f"{mark}{caption}")


def drawings(found: Clicks) -> dict[str, tuple[Callable[[Axes], Axes], str]]:
    """Give what draws each figure, and its caption."""
    rates, split, cycles = found.chosen.rates, found.chosen.split, found.cycles
    figures: dict[str, tuple[Callable[[Axes], Axes], str]] = {}
    figures["arms"] = (rates.plot, f"{rates.caption()} {found.question.accepted_when()}")
    if found.robots is not None:
        figures["robots"] = (found.robots.plot, found.robots.caption())
    if split is not None and len(split.days) > 1:
        figures["sample_ratio"] = (split.plot, split.caption())
    if cycles is not None:
        figures["over_time"] = (cycles.plot, cycles.caption())
        for over in cycles_shown(len(cycles.periods)):
            draw = _profile(cycles.plot_profile, over)
            figures[f"{over}_profile"] = (draw, cycles.caption())
    if found.halves is not None:
        figures["halves"] = (found.halves.plot, found.halves.caption())
    if found.placebo is not None:
        figures["placebo"] = (found.placebo.plot, found.placebo.caption())
    if found.policy is not None:
        figures["off_policy"] = (found.policy.plot, found.policy.caption())
    return figures


def cycles_shown(n_periods: int) -> tuple[Any, ...]:
    """Name the profiles of so many cycles: a week's is drawn if the log has two."""
    return ("day", "week")[:n_periods]


def _profile(plot: Callable[..., Axes], over: str) -> Callable[[Axes], Axes]:
    return lambda axes: plot(over, axes)


def _marked(draw: Callable[[Axes], Axes], *, is_marked: bool) -> Figure:
    """Draw a panel; under a red line, if users are not split as planned."""
    from analyses.shared.figures import panel_of

    figure = panel_of(draw)
    if is_marked:
        figure.suptitle("Sample-ratio mismatch (p < .001)", color=RED, fontweight="bold")
    return figure
