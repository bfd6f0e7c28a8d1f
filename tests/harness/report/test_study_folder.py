from pathlib import Path

import numpy as np
import pytest
from harness.catalogue import FIGURES

from analyses.sparsity import Sparsity
from harness.report.study_folder import FinishedStudy, read_manifest
from runs import InputError
from tests.harness.small import METRICS, NO_ANALYSES, SYSTEMS, WORLD, run_text

PLUGIN = """
from harness.metrics.shared.metric import metric

@metric("misses", source="by hand", higher_is_better=False)
def misses(judged, *, cutoff=None):
    "Share of the ranks without a relevant item."
    return 1 - judged.hits(cutoff) / cutoff
"""


@pytest.fixture(scope="module")
def with_plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a metric of which less is better."""
    base = tmp_path_factory.mktemp("plugin")
    (base / "mine.py").write_text(PLUGIN)
    metrics = METRICS.replace('"nDCG"]', '"misses"]\nplugins = ["mine.py"]')
    return run_text(WORLD + SYSTEMS + metrics + NO_ANALYSES, base, output=base / "study")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"name": "npm"}'])
def test_another_manifest_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(InputError, match=r"manifest\.json: not the manifest of a study"):
        read_manifest(tmp_path)


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no finished study is here"):
        FinishedStudy.at(tmp_path)


def test_a_study_of_a_world_says_so(finished: Path) -> None:
    study = FinishedStudy.at(finished)
    facts = study.manifest["collection"]
    assert study.data() == (
        f"Data: small ({facts['users']} users with {facts['judgements']} judgements, from 1,500 "
        "ratings of a simulated world); 3 systems; study seed 3."
    )


def test_a_study_of_given_runs_names_no_ratings(given: Path) -> None:
    data = FinishedStudy.at(given).data()
    assert data.startswith("Data: given (3 users with 7 judgements); 2 systems; study seed ")


def test_a_result_is_read_back(finished: Path) -> None:
    result = FinishedStudy.at(finished).result("sparsity")
    assert isinstance(result, Sparsity)
    assert np.nanmax(result.taus) == 1.0


def test_the_result_behind_every_figure_is_read_back(finished: Path) -> None:
    study = FinishedStudy.at(finished)
    drawn = {FIGURES[figure["name"]].analysis for figure in study.manifest["figures"]}
    assert drawn >= {"correlation", "sparsity", "popularity", "discrimination"}
    assert all(study.result(analysis).caption() for analysis in drawn)


def test_a_table_that_is_missing_is_empty(finished: Path) -> None:
    assert FinishedStudy.at(finished).rows("absent") == []


def test_a_cutoff_chooses_rows(finished: Path) -> None:
    assert {r["cutoff"] for r in FinishedStudy.at(finished).rows("means", cutoff=5)} == {"5"}


def test_metrics_of_which_less_is_better_are_known(with_plugin: Path) -> None:
    assert FinishedStudy.at(with_plugin).falling_metrics() == {"misses"}


def test_a_lost_plugin_cannot_say_what_is_better(with_plugin: Path) -> None:
    (with_plugin.parent / "mine.py").unlink()
    study = FinishedStudy.at(with_plugin)
    assert study.falling_metrics() == set()
    with pytest.raises(InputError, match=r"mine\.py"):
        study.available_metrics()
