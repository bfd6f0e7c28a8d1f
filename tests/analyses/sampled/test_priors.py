"""Corrections with several priors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyses.sampled.estimates import estimates
from analyses.sampled.estimators import Cells, bv, mn
from analyses.sampled.expectation.metrics import rank_metric
from analyses.sampled.priors import Priors, Settings, priors
from analyses.sampled.samples.designs import SampleDesign
from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.work import RanksAlone
from qrels import FullRanks
from runs import InputError
from tests.analyses.sampled.estimators.rankings import power_law
from tests.analyses.sampled.references import expectation
from tests.analyses.sampled.studied import study

NEAR = FullRanks.of([1, 2, 4, 8, 16, 32, 64] * 30, n_candidates=200)
FAR = FullRanks.of([2, 5, 9, 17, 33, 70, 150] * 30, n_candidates=200)
SEVERAL = FullRanks.of([1, 9, 4, 20], n_candidates=[50, 50, 70, 70], user=[0, 0, 5, 5])


def _studied(n_jobs: int = 1, **asked: Any) -> Priors:
    settings: dict[str, Any] = {
        "metrics": ["Recall", "AP"],
        "negatives": 20,
        "repeats": 5,
    }
    return _compared({"near": NEAR, "far": FAR}, **settings | asked, seed=3, n_jobs=n_jobs)


def _compared(systems: dict[str, FullRanks], *, seed: int, n_jobs: int = 1, **asked: Any) -> Priors:
    work = RanksAlone(systems, seed=seed, n_jobs=n_jobs)
    return priors(work, Settings.model_construct(**asked))


@pytest.fixture(scope="module")
def result() -> Priors:
    return _studied()


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_threads(result: Priors) -> None:
    assert to_evidence(result) == to_evidence(_studied(n_jobs=3))


def test_the_result_survives_being_kept(result: Priors, tmp_path: Path) -> None:
    (tmp_path / "priors.npz").write_bytes(to_evidence(result))
    back = read_evidence(tmp_path / "priors.npz", Priors)
    assert back.to_frame().equals(result.to_frame())


@pytest.mark.slow
def test_errors_are_those_of_the_estimator_with_that_prior(result: Priors) -> None:
    names = result.each[:-1]
    known = study(
        estimates,
        {"near": NEAR, "far": FAR},
        metrics=["Recall@10", "AP@10"],
        estimators=[f"mn(prior={prior})" for prior in names],
        negatives=20,
        repeats=5,
        seed=3,
    )
    assert (result.errors[-6:-1] == known.errors).all()


def test_a_uniform_distribution_given_is_the_uniform_prior() -> None:
    sample = SampleDesign((20,)).draw(NEAR, seed=1, repeat=0)
    counted = Cells.of([sample], path="full")
    given = mn(prior="mle").fit_cells(counted, learn=lambda _: np.full((200, 1), 1 / 200))
    known = mn(prior="uniform").fit_cells(counted)
    np.testing.assert_allclose(given.estimate("AP@10"), known.estimate("AP@10"), rtol=1e-12)


def test_the_posterior_mean_with_the_true_prior_is_right_on_average() -> None:
    sample = SampleDesign((20,)).draw(NEAR, seed=1, repeat=0)
    counted = Cells.of([sample], path="full")
    fits = bv(1.0).fit_cells(counted, learn=lambda cells: cells.true_masses(NEAR))
    exact = rank_metric("Recall@10").exact(NEAR)
    assert expectation(fits, "Recall@10", NEAR) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("metric", ["nDCG@10", "AP@50"])
def test_the_grid_and_every_rank_agree_where_the_true_prior_is_taken_rank_by_rank(
    metric: str,
) -> None:
    ranks = FullRanks.of(np.arange(1, 2001, 7), n_candidates=2000)
    sample = SampleDesign((50,)).draw(ranks, seed=1, repeat=0)
    on_grid, full = (
        mn(prior="uniform").fit(sample, path=path).estimate(metric) for path in ("grid", "full")
    )
    assert on_grid == pytest.approx(full, rel=1e-4)


def test_ranks_beyond_the_mean_number_of_candidates_count_as_last() -> None:
    ranks = FullRanks.of([1, 40], n_candidates=[10, 40])
    sample = SampleDesign((5,)).draw(ranks, seed=1, repeat=0)
    masses = Cells.of([sample], path="full").true_masses(ranks)
    assert np.flatnonzero(masses[:, 0]).tolist() == [0, 24]


def test_the_true_prior_of_rr_is_of_first_relevant_items() -> None:
    cells = Cells.of([SampleDesign((5,)).draw(SEVERAL, seed=1)], path="full")
    first = np.bincount(SEVERAL.above[SEVERAL.order == 1], minlength=len(cells.nodes))
    np.testing.assert_allclose(cells.first.true_masses(SEVERAL)[:, 0], first / first.sum())


@pytest.mark.slow
def test_several_relevant_items_are_corrected() -> None:
    found = study(priors, {"several": SEVERAL}, negatives=5, seed=1)
    assert np.isfinite(found.errors).all()


def test_priors_that_nobody_has_say_so_everywhere(result: Priors) -> None:
    hidden = result.to_frame().drop_duplicates("prior").set_index("prior")["unavailable"].to_dict()
    assert hidden == {
        "uniform": "",
        "mle@100": "",
        "mes": "",
        "pooled:mle@100": "uses the other repeats",
        "pooled:mes": "uses the other repeats",
        "true": "an oracle: the true ranks",
    }
    for prior in ("pooled:mle@100", "pooled:mes", "true"):
        assert f"{prior}: {hidden[prior]}" in result.caption()
    assert "shaded: nobody has it" in result.plot().get_xlabel()
    assert len(result.plot().patches) == 3


@pytest.mark.slow
def test_what_has_no_truth_is_drawn_as_nothing() -> None:
    beyond = FullRanks.of([60, 70, 80], n_candidates=200)
    found = study(priors, {"beyond": beyond}, negatives=20, seed=1)
    assert np.isnan(found.errors).all()
    assert np.isnan(np.asarray(found.plot().get_lines()[0].get_ydata())).all()


def test_the_figure_has_a_mark_for_each_estimator(result: Priors) -> None:
    axes = result.plot(metric="AP")
    assert axes.get_legend_handles_labels()[1] == ["BV(gamma=0.1)", "BV(gamma=0.01)", "MN"]
    assert [text.get_text() for text in axes.get_xticklabels()] == list(result.each)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"priors": ["mle", "mle@100"]}, "the prior mle@100 is duplicated"),
        ({"priors": []}, "at least one prior"),
        ({"priors": ["best"]}, "`prior` must be uniform"),
        ({"metrics": ["best"]}, "no metric of ranks is called 'best'"),
        ({"repeats": 1}, "`repeats` must be at least 2"),
        ({"negatives": 200}, "must not be above the irrelevant candidates"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        _studied(**asked)


def test_a_metric_that_was_not_studied_is_not_drawn(result: Priors) -> None:
    with pytest.raises(InputError, match="there are Recall, AP to draw, got P"):
        result.plot(metric="P")


@pytest.mark.slow
def test_errors_are_as_measured_on_ranks_of_the_size_of_pinterest() -> None:
    rng = np.random.default_rng(1)
    ranks = rng.choice(9916, 55187, p=power_law(9916, offset=20, exponent=0.9685)) + 1
    found = _compared(
        {"power law": FullRanks.of(ranks, n_candidates=9916)},
        metrics=["Recall"],
        priors=["uniform", "mle", "pooled:mle", "true"],
        negatives=99,
        repeats=6,
        seed=1,
    )
    uniform, own, pooled, true = found.errors.mean(axis=3).reshape(3, 4).T
    assert uniform[0] == pytest.approx(29.1, abs=1.0)
    assert own[2] == pytest.approx(4.0, abs=2.5)
    assert pooled[2] == pytest.approx(3.43, abs=1.5)
    assert (true < own).all()
