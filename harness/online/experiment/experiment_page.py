"""The page of an online study: what was found in plain words, tables, figures, provenance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analyses.online.agreement.spearman_null import smallest_rho
from analyses.online.agreement.wording import caution, print_rho
from analyses.shared.table import Cell, Table
from harness.online.experiment.findings import Findings, shown_measures
from harness.online.experiment.numbered_outputs import Picture
from harness.online.experiment.record import Record
from harness.report.page import image_source, render_page
from runs import InputError

if TYPE_CHECKING:
    from harness.online.experiment.experiment_file import OnlineStudy

FEW = 5
"""Arms that experiments such as those of Kasalický (2021) have."""

TABLES: Mapping[str, str] = {
    "arms": "Arms and their models (table 4.1)",
    "rates": "Click-through rates (table 4.2)",
    "sample_ratio": "Users of the arms, against the planned shares",
    "robots": "Rates with and without robots",
    "log": "How the tables of the log fit together",
    "truth": "The truth of the simulated world",
    "recall_of_arms": "Recall of the arms (table 4.3)",
    "levels": "Whether recall is higher under LOO or LLOO (table 4.4)",
    "best": "The measures that agree best with the rates (tables 4.5, 4.7)",
    "bins": "Measures by how well they agree, and random rates (table 4.6)",
    "orderings": "Different orderings of the arms that the measures make",
    "validations": "Whether rho is higher under LOO or LLOO (table 4.8)",
    "betas": "Whether rho is higher at beta 0 or above (table 4.9)",
    "crossed": "Both at once (tables 4.10, 4.11)",
    "arms_needed": "What experiments with fewer arms would show",
    "choices": "The measure found best by fewer arms, as observed and in truth",
    "arms_for_best": "How often the best measure of fewer arms stands the test",
    "off_policy": "Clicks per list, estimated from the lists that an arm drew",
    "cycles": "Cycles of the rates by day and week",
}
"""Tables of the page by name; longer ones are files beside it."""

MOST_ROWS = 40


@dataclass(frozen=True, eq=False)
class Page:
    """What a page shows.

    Parameters
    ----------
    found, record
        What was found, of what.
    frames, pictures
        Tables and figures by name.
    """

    found: Findings
    record: Record
    frames: Mapping[str, pd.DataFrame]
    pictures: Mapping[str, Picture]


def render_online_page(
    study: OnlineStudy, page: Page, figures: Path, manifest: Mapping[str, Any]
) -> bytes:
    """Make the page, with the figures that are in a folder."""
    found, frames = page.found, page.frames
    return render_page(
        "online.html",
        name=study.name,
        lead=_lead(found),
        warnings=list(_warnings(found)),
        findings=list(findings_in_words(found)),
        remarks=page.record.remarks,
        tables=[
            _table(name, title, frames[name]) for name, title in TABLES.items() if name in frames
        ],
        pictures=[
            {
                "name": name,
                "title": picture.title,
                "caption": picture.caption,
                "source": image_source((figures / f"{name}.svg").read_bytes()),
            }
            for name, picture in page.pictures.items()
        ],
        files=sorted(frames),
        study=study.to_toml().decode(),
        manifest=json.dumps(manifest, indent=1),
    )


def _lead(found: Findings) -> str:
    overall = found.clicks.overall
    return (
        f"Do offline metrics follow clicks? {len(found.experiment.models)} models, "
        f"{overall.n_slates.sum():,} lists shown to {overall.n_users.sum():,} users, "
        f"{len(found.experiment.measures):,} measures."
    )


def _warnings(found: Findings) -> Iterator[str]:
    if found.clicks.ratio.mismatch:
        yield (
            f"The arms do not have the planned shares of the users (p = {found.clicks.ratio.p:.2g}"
            "): nothing below should be believed before the reason is known, and no winner named."
        )


def findings_in_words(found: Findings) -> Iterator[str]:
    """Say in plain words what was found, in sentences."""
    yield found.best.conclusion() + caution(len(found.experiment.models))
    yield from _by_exponent(found)
    n_orderings = int(found.agreement.orderings()["orderings"].iloc[0])
    yield (
        f"The {len(found.experiment.measures):,} measures order the arms in {n_orderings:,} "
        "different ways: no more observations than these."
    )
    yield from _validations(found)
    n_models = len(found.experiment.models)
    yield (
        f"With {n_models} arms a measure that was chosen beforehand needs a rho of "
        f"{print_rho(smallest_rho(n_models))} to be significant at the level .05 (one-sided), with "
        f"{FEW} arms {print_rho(smallest_rho(FEW))}."
    )
    if found.needed is not None:
        for measure in found.needed.measures:
            with suppress(InputError):
                yield found.needed.conclusion(measure, arms=FEW)
    yield found.clicks.ratio.caption()


def _by_exponent(found: Findings) -> Iterator[str]:
    """Say how recall with low, middle and high exponents follows the rates, with intervals."""
    rows = {row["measure"]: row for row in found.comparison.to_frame().to_dict("records")}
    said = []
    for number in shown_measures(found.measured):
        row = rows[found.experiment.measures[number]]
        rho, low, high = (print_rho(row[name]) for name in ("rho", "low", "high"))
        said.append(f"{row['measure']} {rho} [{low}, {high}]")
    yield f"Rho with the rates, with 95 % intervals over {found.resampled}: {'; '.join(said)}."


def _validations(found: Findings) -> Iterator[str]:
    for row in found.comparison.summary().to_dict("records"):
        beyond = "beyond" if row["beyond_noise"] else "within"
        yield (
            f"Mean difference of rho over {row['pairs']:,} pairs, {row['compared']}: "
            f"{print_rho(row['difference'])} [{print_rho(row['low'])}, {print_rho(row['high'])}], "
            f"{beyond} the noise of {found.resampled}."
        )


def _table(name: str, title: str, frame: pd.DataFrame) -> Table:
    kept = frame.dropna(axis=1, how="all").head(MOST_ROWS)
    note = "" if len(frame) <= MOST_ROWS else f"The first {MOST_ROWS} of {len(frame):,} rows."
    return Table(
        name=name,
        title=title,
        note=note,
        headings=[str(column).replace("_", " ") for column in kept.columns],
        rows=[[_cell(value) for value in row] for row in kept.itertuples(index=False)],
        best={},
    )


def _cell(value: Any) -> Cell:
    if isinstance(value, float | np.floating):
        return f"{int(value):,}" if float(value).is_integer() and value > 1 else float(value)
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    return str(value)
