"""Ranks among all candidates, which analyses may ask for."""

from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from analyses.sampled.metrics import rank_metric
from analyses.shared.evidence import read_evidence
from analyses.shared.measure import Measure
from harness.readers.score_parquet import scores_from_parquet
from qrels import FullRanks
from runs import InputError
from tests.harness.small import (
    METRICS,
    NO_ANALYSES,
    RANKED,
    SAMPLED,
    SYSTEMS,
    TREC,
    TREC_METRICS,
    WORLD,
    contents,
    made_again,
    made_at,
    run_text,
    undrawn,
    write_collection,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures")]

SCORED = {"scores", "true-scores"}
SAMPLES = {"sampled_estimates", "sampled_ranks"}
MADE = {"ranks-random", "ranks-popularity", "ranks-puresvd", *SAMPLES}
RANKS_OF_SVD = {"ranks-puresvd", "ranks-all-puresvd"}
WHOLE = {"ranks-all-random", "ranks-all-popularity", "ranks-all-puresvd"}


@pytest.fixture
def copied(ranked: Path, tmp_path: Path) -> Path:
    """A copy of the study with full ranks."""
    return copytree(ranked, tmp_path / "study")


def test_damaged_ranks_alone_are_made_again(ranked: Path, copied: Path) -> None:
    before = made_at(copied)
    (copied / "ranks/popularity.npz").write_bytes(b"damaged")
    run_text(RANKED, copied, output=copied)
    assert made_again(copied, before) == {"ranks-popularity"}
    assert contents(copied, "ranks/*") == contents(ranked, "ranks/*")


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("factors = 5", "factors = 6", {"run-puresvd", *RANKS_OF_SVD, *SCORED, *SAMPLES}),
        ("threshold = 4.0", "threshold = 3.0", {"qrels", "true-qrels", *SCORED, *MADE}),
        ("repeats = 4\nestimators", "repeats = 3\nestimators", {"sampled_estimates"}),
    ],
)
def test_a_change_makes_again_what_depends_on_it(
    copied: Path, old: str, new: str, parts: set[str]
) -> None:
    before = made_at(copied)
    run_text(RANKED.replace(old, new), copied, output=copied)
    assert undrawn(made_again(copied, before)) == parts


def test_full_ranks_come_with_the_analysis_that_asks_for_them(ranked: Path, tmp_path: Path) -> None:
    text = WORLD + SYSTEMS + METRICS
    folder = run_text(text + NO_ANALYSES, tmp_path, output=tmp_path / "study")
    before = made_at(folder)
    run_text(text + SAMPLED, tmp_path, output=folder)
    assert undrawn(made_again(folder, before)) == MADE | WHOLE
    assert contents(folder, "ranks/*") == contents(ranked, "ranks/*")


def test_full_ranks_agree_with_the_runs(ranked: Path) -> None:
    """Everybody's first relevant item is at the rank that RR says."""
    ranks = read_evidence(ranked / "ranks/puresvd.npz", FullRanks)
    best = ranks.rank[ranks.order == 1]
    scores = scores_from_parquet((ranked / "scores.parquet").read_bytes())
    hits = scores.values[scores.measures.index(Measure("P", 20)), scores.systems.index("puresvd")]
    assert (best <= 20).sum() == (hits > 0).sum()


def test_exact_metrics_are_those_of_the_study_but_for_users_without_relevant_items(
    ranked: Path,
) -> None:
    scores = scores_from_parquet((ranked / "scores.parquet").read_bytes())
    totals = scores.values[scores.measures.index(Measure("P", 20))].sum(axis=1)
    files = [ranked / f"ranks/{system}.npz" for system in scores.systems]
    every = [read_evidence(file, FullRanks) for file in files]
    found = [rank_metric("P@20").exact(one) * len(np.unique(one.user)) for one in every]
    np.testing.assert_allclose(found, totals)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("negatives = 99", "`negatives` must be from 1 to the number of irrelevant"),
        ('negatives = 9\nestimators = ["adaptive-mle"]', "one relevant item each"),
    ],
)
def test_samples_that_the_data_lack_are_refused_before_training(
    tmp_path: Path, line: str, sentence: str
) -> None:
    text = WORLD + SYSTEMS + METRICS + f"[analyses.sampled]\n{line}\n"
    with pytest.raises(InputError, match=rf"study\.toml, line \d+: .*{sentence}"):
        run_text(text, tmp_path, output=tmp_path / "study")
    assert not (tmp_path / "study" / "runs").exists()


def test_runs_made_elsewhere_have_no_full_ranks(tmp_path: Path) -> None:
    write_collection(tmp_path)
    sentence = r"line \d+: .*needs systems that are trained"
    with pytest.raises(InputError, match=sentence):
        run_text(TREC + TREC_METRICS + SAMPLED, tmp_path, output=tmp_path / "study")
    assert not (tmp_path / "study" / "runs").exists()
