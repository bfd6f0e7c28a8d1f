"""A run of a study of systems: what the analyses and metrics of it need."""

from pathlib import Path

import numpy as np
import pytest

from analyses.shared.analysis import Need
from tests.harness.small import systems_run, write_collection

TREC = 'name = "given"\n[runs]\npaths = ["*.run"]\n[qrels]\npath = "test.qrels"\n'
ASKED = "[analyses]\nnames = ['sampled', 'swaps', 'pools']\n[analyses.swaps]\nrepeats = 7\n"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    write_collection(tmp_path)
    return tmp_path


def test_analyses_come_with_their_settings(base: Path) -> None:
    analyses = systems_run(TREC + ASKED, base).analyses
    settings = {analysis.key: settings for analysis, settings in analyses}
    assert {*settings} == {"sampled_estimates", "sampled_sizes", "sampled_ranks", "swaps", "pools"}
    assert settings["swaps"].repeats == 7


def test_needs_are_those_of_all_analyses_with_their_settings(base: Path) -> None:
    needs = systems_run(TREC + ASKED, base).needs
    assert needs == {Need.FULL_RANKS, Need.ALL_CANDIDATE_RANKS, Need.SINGLE_LISTS}
    drawn = ASKED + "[analyses.sampled]\ndraws = 'items'\n"
    needs = systems_run(TREC + drawn, base).needs
    assert needs == {Need.FULL_RANKS, Need.CANDIDATE_RANKS, Need.SINGLE_LISTS}
    assert systems_run(TREC + "[analyses]\nnames = ['swaps']\n", base).needs == set()


def test_items_are_hidden_as_metrics_ask_for(base: Path) -> None:
    text = TREC + "[analyses]\nnames = []\n"
    assert systems_run(text, base).hidden_validations == ()
    assert systems_run(text, base, metrics=("P", "LLOO")).hidden_validations == ("lloo",)
    both = systems_run(text, base, metrics=("LLOO", "P", "LOO(beta=0.5)"))
    assert both.hidden_validations == ("loo", "lloo")


def test_the_catalogue_is_of_all_items_and_the_tables_of_the_study(base: Path) -> None:
    (base / "counts.csv").write_text("item,count\na,6\n")
    text = TREC + "[items]\npopularity = 'counts.csv'\n[analyses]\nnames = []\n"
    run = systems_run(text, base)
    items = run.collection.items.ids
    assert run.catalogue.n_items == len(items)
    expected = np.where(items == "a", 6, 0)
    assert run.catalogue.require("popularity").tolist() == expected.tolist()
    assert run.catalogue is run.catalogue
