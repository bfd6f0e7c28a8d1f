"""Digests of what made the tables of the page on replications: studies, code, and contents.

The numbers of a table are made by the settings of a study file, by the code that splits, trains,
ranks and scores for the study, and by the analyses that they are from. The digest of the code is
the one by which studies know whether a part is stale (`harness.study.reachable_code`): it is of all
definitions that compute the numbers, without comments, docstrings, texts of errors, figures and
sentences. A digest of whole modules would differ after nearly every commit, and nobody would run
the studies as often. Versions of packages are left out: numbers of the page have six digits.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias

from analyses.online.thesis_tables import thesis_tables
from analyses.sampled.papers import RECALL, Example, aaai_winners, kdd_orders, kdd_values
from analyses.shared.analysis import find_analysis, members_of
from harness.metrics.shared.register import available_metrics
from harness.online.arm_models import NeighbourModel, NeighbourRecommender
from harness.online.click_world import make_click_world
from harness.online.simulation import simulate
from harness.study.parts import content_key
from harness.study.reachable_code import Maker, place_of, reach
from harness.study.score_parts import score_files
from harness.study.sections import with_preset
from harness.study.system_lists import maker_of_system
from harness.study.workers import RELEVANT_RANKS, RUN, training_ratings
from qrels import find_split
from qrels.interactions.held_out_users import draw_test_users, split_users
from recommenders import system_set, train_checked

ROOT = Path(__file__).parents[2]

PAGE = ROOT / "docs/replications"
STUDIES = ROOT / "studies"
KEPT = PAGE / "digests.json"

SHOWING = frozenset(
    ROOT / "analyses/shared" / f"{name}.py"
    for name in ("drawing", "figures", "latex", "number_format", "result", "sentences", "table")
)
"""Modules that show numbers, which classes of results name: none is computed by them."""

EXAMPLE: Final = "example"
"""Stands for the toy example of `harness sampled --example`, which has no study file."""

OF_EXAMPLE = ("kdd2020-table1", "kdd2020-table2", "rendle2019-table1", "rendle2019-table2")
"""Tables of the toy example."""

OF_ANALYSES: Final[Mapping[str, tuple[str, ...]]] = {
    "recsys2018-table2": (),
    "recsys2018-authors-p10": (),
    "recsys2018-figure1": ("correlation",),
    "recsys2018-figure5": ("correlation",),
    "recsys2018-figure3": ("popularity",),
    "recsys2018-table3": ("discrimination",),
    "recsys2018-sparsity": ("sparsity",),
    "recsys2018-popularity": ("popularity",),
    "recsys2018-discrimination": ("discrimination",),
}
"""The analyses that tables of scores are from."""

NOT_MADE = ("tables", "conclusions", "remarks")
"""CSV files of the page that no study makes: tests compare the first two with the others."""

Digests: TypeAlias = dict[str, str]
"""Digests of the study file, the code and the content of a table, by "study", "code", "content"."""


def source_of(table: str) -> str:
    """Name what a table of the page is made from: the stem of a study file, or `EXAMPLE`."""
    return EXAMPLE if table in OF_EXAMPLE else table.partition("-")[0]


@cache
def _tables_of(source: str) -> dict[str, Any]:
    """Read the tables of a study file, with those of its preset; the data need not be there."""
    tables = tomllib.loads((STUDIES / f"{source}.toml").read_text("utf-8"))
    if "preset" in tables.get("systems", {}):
        tables["systems"] = with_preset(tables["systems"])
    return tables


@cache
def study_digest(source: str) -> str:
    """Hash the settings of a study file, without its comments, and those of its preset.

    ``source`` is the stem of the file. Of `EXAMPLE`, returns "".
    """
    return "" if source == EXAMPLE else content_key(_tables_of(source))


@cache
def code_digest(table: str) -> str:
    """Hash the code that makes the numbers of a table of the page."""
    source = source_of(table)
    if source == EXAMPLE:
        makers: list[Maker] = [Example.__init__]
    elif "experiment" in _tables_of(source):
        makers = _makers_of_experiment()
    else:
        makers = _makers_of_study(_tables_of(source), table)
    return reach([place_of(maker) for maker in makers], left_out=SHOWING).digest


def _makers_of_study(tables: Mapping[str, Any], table: str) -> list[Maker]:
    """List the functions that split, train, rank, score and analyse for a table of a study.

    ``tables`` are those of the study file.
    """
    makers: list[Maker] = [train_checked, training_ratings, RUN.make]
    names = tables["systems"]["names"]
    systems = system_set(names) if isinstance(names, str) else names
    makers += [maker_of_system(name) for name in systems]
    makers.append(find_split(tables["split"]["method"]).make)
    sampled = tables.get("analyses", {}).get("sampled")
    if sampled is not None:
        makers += [RELEVANT_RANKS.make, kdd_values, kdd_orders, RECALL, aaai_winners]
        members = {analysis.name: analysis for analysis in members_of("sampled")}
        analyses = [members[name] for name in sampled["studies"]]
    else:
        metrics = available_metrics()
        makers.append(score_files)
        makers += [metrics[name].function for name in tables["metrics"]["names"]]
        analyses = [find_analysis(name) for name in OF_ANALYSES[table]]
    return makers + [analysis.make for analysis in analyses]


def _makers_of_experiment() -> list[Maker]:
    """List the functions that simulate an experiment, rank hidden items, and analyse both."""
    makers: list[Maker] = [make_click_world, simulate, draw_test_users, split_users]
    makers += [NeighbourModel, NeighbourRecommender, thesis_tables]
    return makers + [analysis.make for analysis in members_of("online")]


def kept() -> dict[str, Digests]:
    """Read the digests that the page names, by the name of a table."""
    digests: dict[str, Digests] = json.loads(KEPT.read_text("utf-8"))
    return digests


def made_tables() -> list[str]:
    """List the tables of the page that a study, or the example, makes."""
    names = sorted(path.stem for path in PAGE.glob("*.csv"))
    return [name for name in names if name not in NOT_MADE]


def content_digest(table: str) -> str:
    """Hash the CSV file of a table."""
    return sha256((PAGE / f"{table}.csv").read_bytes()).hexdigest()


def digests_of(table: str) -> Digests:
    """Compute the digests of a table from the study file, the code and the CSV that are here."""
    return {
        "study": study_digest(source_of(table)),
        "code": code_digest(table),
        "content": content_digest(table),
    }


def write(tables: Iterable[str]) -> None:
    """Write the digests of tables that were just made; the others keep theirs."""
    digests = {name: kept_of for name, kept_of in kept().items() if name in made_tables()}
    for table in tables:
        digests[table] = digests_of(table)
    text = json.dumps(digests, indent=1, sort_keys=True)
    KEPT.write_text(text + "\n", encoding="utf-8")
