"""``harness design``: how many users it takes, from a pilot's scores."""

from __future__ import annotations

from typing import Any

import click

from harness.cli.console import answer_of_scores
from harness.cli.options import SettingsCommand, imported, removed, score_options


@click.command(
    cls=SettingsCommand,
    epilog="Tables are those of `harness discriminate`: a column for every system, a row for every "
    "topic, one measure a file, which names it.",
)
@score_options(
    imported("analyses.design.Settings"),
    metavar="STUDY|SCORES.csv...",
    output="A folder for tables, the figure and its caption.",
)
@removed("--halves", "swap rates of random halves are the analysis `swaps` of a study.")
@removed("--bayes", "Bayesian signed-rank tests are in the package baycomp.")
@removed("--draws", "Bayesian signed-rank tests are in the package baycomp.")
@removed("--bound", "see analyses.significance.effects.equivalence_test in Python.")
@removed("--simulations", "power is computed; `make coverage` checks it by simulation.")
def design(**asked: Any) -> None:
    """Say how many users each measure needs, from a pilot: a study, or tables of scores.

    How many users make pairs of systems differ, find a difference of some per cent, and order
    systems reliably; and what the users that there are can find.
    """
    from analyses.design import design as analysis

    answer_of_scores(analysis, **asked)
