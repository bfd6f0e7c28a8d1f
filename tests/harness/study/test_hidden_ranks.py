"""Ranks of hidden items, which metrics may ask for."""

from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from analyses.shared.evidence import read_evidence
from analyses.shared.measure import Measure
from harness.readers.score_parquet import scores_from_parquet
from harness.study.run import check
from harness.study.study import Study
from qrels.ranks.judged_ranks import JudgedRanks
from qrels.trec import read_qrels
from runs import InputError
from tests.conftest import figures_left_out
from tests.harness.small import (
    ANALYSES,
    METRICS,
    NO_ANALYSES,
    SYSTEMS,
    VALIDITY,
    WORLD,
    contents,
    made_again,
    made_at,
    manifest_of,
    read_frame,
    run_text,
)

HIDING = METRICS.replace('"P", "nDCG"', '"LOO(beta=0.5)@5", "LLOO@5", "nDCG@20"')
MEANS = """
import numpy as np

from recommenders import Settings, system
from recommenders.shared.scorers import FactorScorer

@system("means", family="mine", source="-")
def means(ratings, settings: Settings, *, seed) -> FactorScorer:
    \"\"\"Score items by a factor of 1.\"\"\"
    ones = [np.ones((len(ids), 1)) for ids in (ratings.users, ratings.items)]
    return FactorScorer(ratings, *ones)
"""


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose metrics hide items, with all analyses."""
    base = tmp_path_factory.mktemp("hidden")
    with figures_left_out():
        return run_text(WORLD + SYSTEMS + HIDING + ANALYSES + VALIDITY, base, output=base / "study")


def refusal(text: str) -> str:
    with pytest.raises(InputError) as found:
        check(Study.parse(text, source="study.toml", base=Path(), changes={}))
    return str(found.value)


def test_systems_that_score_training_users_alone_are_refused_before_any_work(
    tmp_path: Path,
) -> None:
    (tmp_path / "means.py").write_text(MEANS)
    text = WORLD + SYSTEMS.replace('"random"', f'"random", "{tmp_path}/means.py:means"') + HIDING
    assert "LOO(beta=0.5) hides items" in refusal(text)
    assert "means.py:means can only score users as they were in training" in refusal(text)


def test_last_items_are_not_known_without_times(tmp_path: Path) -> None:
    rows = [f"u{user},i{item},5" for user in range(4) for item in range(user, user + 5)]
    (tmp_path / "ratings.csv").write_text("\n".join(["user,item,rating", *rows]))
    begin = 'name = "x"\n[ratings]\npath = "ratings.csv"\nthreshold = 4.0\n'
    text = begin + SYSTEMS + HIDING + NO_ANALYSES
    with pytest.raises(InputError, match=r"line 13: LLOO hides items rated later.* have no time"):
        run_text(text, tmp_path, output=tmp_path / "study")


@pytest.mark.slow
def test_scores_are_those_of_the_ranks_that_are_kept(hidden: Path) -> None:
    scores = scores_from_parquet((hidden / "scores.parquet").read_bytes())
    level = manifest_of(hidden)["collection"]["relevance level"]  # type: ignore[index]
    file = read_qrels(hidden / "qrels/test.qrels")
    qrels = file.to_qrels(file.items, relevance_level=level)
    for system, found in zip(
        scores.systems, scores.values[scores.measures.index(Measure("LLOO", 5))], strict=True
    ):
        ranks = read_evidence(hidden / f"hidden/{system}.npz", JudgedRanks).require("lloo")
        n_found, n_hidden = qrels.count_by_user(ranks <= 5), qrels.count_by_user(qrels.relevant)
        np.testing.assert_allclose(found, n_found / np.maximum(n_hidden, 1), rtol=0, atol=1e-12)


def test_hidden_items_alone_have_no_validity_which_is_said_before_any_work(tmp_path: Path) -> None:
    text = WORLD + SYSTEMS + HIDING.replace(', "nDCG@20"', "") + "[analyses.validity]\n"
    with pytest.raises(
        InputError, match=r"line 20: LOO and LLOO are undefined against ground truth"
    ):
        run_text(text, tmp_path, output=tmp_path / "study")


@pytest.mark.slow
def test_what_hides_items_is_left_out_of_validity(hidden: Path) -> None:
    assert set(read_frame(hidden, "validity").metric) == {"nDCG"}
    assert "LOO(beta=0.5)@5 and LLOO@5 is unknown" in (hidden / "report.html").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_hidden_ranks_join_a_study_and_leave_it_with_the_metric(
    hidden: Path, tmp_path: Path
) -> None:
    copied = copytree(hidden, tmp_path / "study")
    before = made_at(copied)
    (copied / "hidden/popularity.npz").unlink()
    run_text(WORLD + SYSTEMS + HIDING + ANALYSES + VALIDITY, tmp_path, output=copied)
    assert made_again(copied, before) == {"hidden-popularity"}
    assert contents(copied, "hidden/*") == contents(hidden, "hidden/*")
    run_text(WORLD + SYSTEMS + METRICS + NO_ANALYSES, tmp_path, output=copied)
    assert contents(copied, "hidden/*") == {}
    assert contents(copied, "runs/*") == contents(hidden, "runs/*")
