"""``harness discriminate``: discriminative power from tables of scores."""

from __future__ import annotations

from typing import Any

import click

from harness.cli.console import answer_of_scores
from harness.cli.options import SettingsCommand, imported, score_options


@click.command(
    cls=SettingsCommand,
    epilog="A table has a column for every system and a row for every topic; the first column may "
    "hold the ids of the topics. Its measure is named by the file: ap.csv, nDCG@10.tsv. All tables "
    "have the same systems and topics.",
)
@score_options(
    imported("analyses.discrimination.Settings"),
    metavar="SCORES.csv...",
    output="A folder for p-values, summary, figures and captions.",
)
def discriminate(**asked: Any) -> None:
    """Say how surely measures tell systems apart, from tables of per-topic scores.

    Every pair of systems is tested for every measure. Measures are printed in the order of their
    discriminative power (DP, the sum of the p-values), the most discriminative first. In place of
    tables, the folder of a finished study may be named, or several: means over them, by user.
    """
    from analyses.discrimination import discrimination

    answer_of_scores(discrimination, only=["conventions"], **asked)
