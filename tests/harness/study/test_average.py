"""A study whose means are over judgements."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analyses.shared.evidence import read_evidence
from analyses.validity import Validity
from tests.conftest import figures_left_out
from tests.harness.small import ANALYSES, METRICS, SYSTEMS, WORLD, run_text

pytestmark = pytest.mark.slow

VALIDITY = """
[analyses.validity]
judgements = false
replicates = 4
"""


@pytest.fixture(scope="module")
def weighted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = WORLD + SYSTEMS + METRICS + 'average = "judgements"\n' + ANALYSES + VALIDITY
    folder = tmp_path_factory.mktemp("weighted")
    with figures_left_out():
        return run_text(text, folder, output=folder / "study")


@pytest.fixture(scope="module")
def products(weighted: Path) -> pd.DataFrame:
    """Scores times the relevant items of their users, over the mean of these: made by hand."""
    scores = pd.read_parquet(weighted / "scores.parquet").astype({"user": str})
    qrels = pd.read_csv(weighted / "qrels/test.qrels", sep=r"\s+", header=None, dtype={0: str})
    volumes = qrels[qrels[3] >= 4].groupby(0)[3].count()
    weights = volumes.reindex(qrels[0].unique(), fill_value=0)
    assert weights.nunique() > 2
    return scores.assign(score=scores.score * (weights / weights.mean()).loc[scores.user].values)


def test_scores_are_kept_as_metrics_give_them(weighted: Path, finished: Path) -> None:
    kept, plain = (folder / "scores.parquet" for folder in (weighted, finished))
    pd.testing.assert_frame_equal(pd.read_parquet(kept), pd.read_parquet(plain))


def test_means_and_differences_are_weighted(weighted: Path, products: pd.DataFrame) -> None:
    by_system = products.groupby(["system", "metric", "cutoff"], observed=True).score.mean()
    means = pd.read_csv(weighted / "tables/means.csv").set_index(["system", "metric", "cutoff"])
    np.testing.assert_allclose(means["mean"], by_system[means.index], rtol=1e-12)
    pairs = pd.read_csv(weighted / "tables/pvalues.csv")
    first, second = (
        by_system[pd.MultiIndex.from_frame(pairs[[f"system_{x}", "metric", "cutoff"]])].to_numpy()
        for x in "ab"
    )
    np.testing.assert_allclose(pairs.difference, first - second, rtol=0, atol=1e-12)


@pytest.mark.parametrize("table", ["sparsity", "popularity", "users", "pvalues"])
def test_samples_subsets_and_tests_heed_the_weights(
    weighted: Path, finished: Path, table: str
) -> None:
    found, plain = (folder / f"tables/{table}.csv" for folder in (weighted, finished))
    assert found.read_bytes() != plain.read_bytes()


def test_the_truth_is_weighted_by_its_own_judgements(weighted: Path) -> None:
    folder = weighted / "truth"
    scores = pd.read_parquet(folder / "scores.parquet").astype({"user": str})
    qrels = pd.read_csv(folder / "true.qrels", sep=r"\s+", header=None, dtype={0: str})
    volumes = qrels.groupby(0)[3].agg(lambda grades: (grades >= 4).sum())
    weighed = scores.score * (volumes / volumes.mean()).loc[scores.user].to_numpy()
    chosen = scores.metric.eq("nDCG") & scores.cutoff.eq(10)
    truly = weighed[chosen].groupby(scores.system[chosen], observed=True).mean()
    found = read_evidence(weighted / "evidence/validity.npz", Validity)
    assert dict(zip(found.systems, found.true[1, 0], strict=True)) == pytest.approx(truly.to_dict())
