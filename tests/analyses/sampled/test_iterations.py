"""Errors and the likelihood against iterations of EM."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyses.sampled.estimates import estimates
from analyses.sampled.iterations import LIKELIHOOD, Iterations, iterations
from analyses.shared.evidence import read_evidence, to_evidence
from qrels import FullRanks
from runs import InputError
from tests.analyses.sampled.studied import study

NEAR = FullRanks.of([1, 2, 4, 8, 16, 32, 64] * 30, n_candidates=200)
FAR = FullRanks.of([2, 5, 9, 17, 33, 70, 150] * 30, n_candidates=200)
SEVERAL = FullRanks.of([1, 9, 4, 20], n_candidates=[50, 50, 70, 70], user=[0, 0, 5, 5])
BEYOND = FullRanks.of([60, 70, 80], n_candidates=200)


def _studied(n_jobs: int = 1, **asked: Any) -> Iterations:
    settings: dict[str, Any] = {
        "metrics": ["Recall", "AP"],
        "iterations": [1, 10, 300],
        "negatives": 20,
        "repeats": 5,
        "seed": 3,
    }
    systems = {"near": NEAR, "far": FAR}
    return study(iterations, systems, **settings | asked, n_jobs=n_jobs)


@pytest.fixture(scope="module")
def result() -> Iterations:
    return _studied()


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_threads(result: Iterations) -> None:
    assert to_evidence(result) == to_evidence(_studied(n_jobs=3))


def test_the_result_survives_being_kept(result: Iterations, tmp_path: Path) -> None:
    (tmp_path / "iterations.npz").write_bytes(to_evidence(result))
    back = read_evidence(tmp_path / "iterations.npz", Iterations)
    assert back.to_frame().equals(result.to_frame())


@pytest.mark.parametrize(("design", "estimator"), [(0, "mle"), (1, "adaptive-mle")])
def test_errors_are_those_of_the_estimator_with_as_many_iterations(
    design: int, estimator: str
) -> None:
    asked: dict[str, Any] = {"negatives": 20, "repeats": 3, "seed": 3}
    known = study(
        estimates,
        {"near": NEAR},
        metrics=["Recall@10", "AP@10"],
        estimators=[f"{estimator}(iters={number})" for number in (1, 10)],
        **asked,
    )
    found = study(iterations, {"near": NEAR}, metrics=["Recall", "AP"], iterations=[1, 10], **asked)
    assert (found.errors[2 * design : 2 * design + 2] == known.errors).all()


def test_a_number_of_iterations_has_its_error_whatever_the_others(result: Iterations) -> None:
    alone = _studied(iterations=[300])
    assert (alone.errors == result.errors[[2, 5]]).all()


def test_the_likelihood_always_rises(result: Iterations) -> None:
    assert (np.diff(result.likelihoods.reshape(2, 3, 2, 5), axis=1) > 0).all()


@pytest.mark.slow
def test_errors_fall_and_rise_again() -> None:
    errors = _studied(repeats=20).errors.mean(axis=(1, 2, 3)).reshape(2, 3)
    assert (errors[:, 1] < errors[:, 0]).all()
    assert (errors[:, 1] < errors[:, 2]).all()


def test_the_best_number_has_the_smallest_mean_error(result: Iterations) -> None:
    frame = result.to_frame()
    best = frame[frame["best"]].set_index(["sample", "metric", "system"])["error"]
    least = frame.groupby(["sample", "metric", "system"])["error"].min()
    assert best.sort_index().to_dict() == least.to_dict()


def test_rows_of_the_frame_carry_their_own_numbers(result: Iterations) -> None:
    rows = result.to_frame().query("iterations == 10 and metric == 'AP' and system == 'far'")
    row = rows[rows["sample"] == result.samples[4]]
    assert row["error"].item() == result.errors[4, 1, 1].mean()
    assert row["likelihood"].item() == result.likelihoods[4, 1].mean()


def test_several_relevant_items_have_no_adaptive_samples() -> None:
    found = study(iterations, {"several": SEVERAL}, iterations=[1, 5], negatives=5, seed=1)
    assert set(found.samples) == {"m = 5"}


def test_systems_without_a_truth_have_no_best_number() -> None:
    asked: dict[str, Any] = {"metrics": ["Recall"], "negatives": 20, "iterations": [1, 5]}
    found = study(iterations, {"beyond": BEYOND}, **asked, seed=1)
    assert found.best.empty
    assert "not known, since the truth is 0" in found.caption()
    assert not found.to_frame()["best"].any()


def test_there_is_a_panel_for_each_metric_and_the_likelihood(result: Iterations) -> None:
    assert result.parts == ("Recall", "AP", LIKELIHOOD)
    for part in result.parts:
        axes = result.plot(part=part)
        assert axes.get_legend_handles_labels()[1] == list(dict.fromkeys(result.samples))


def test_a_figure_marks_the_smallest_error(result: Iterations) -> None:
    axes, best = result.plot(part="AP"), result.best.query("metric == 'AP'")["iterations"]
    for number, least in enumerate(best.tolist()):
        curve = axes.get_lines()[3 * number + 2]  # after those of the two systems
        assert curve.get_label() == [*dict.fromkeys(result.samples)][number]
        assert curve.get_markevery() == [result.iterations.index(least)]


def test_the_caption_names_the_best_numbers(result: Iterations) -> None:
    for row in result.best.itertuples():
        assert f"{row.metric} after {row.iterations} (" in result.caption()
    assert "rises all the while" in result.caption()


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"iterations": []}, r"`iterations` must rise from at least 1, got \[\]"),
        ({"iterations": [0, 5]}, "must rise from at least 1"),
        ({"iterations": [5, 5]}, r"must rise from at least 1, got \[5, 5\]"),
        ({"metrics": ["best"]}, "no metric of ranks is called 'best'"),
        ({"repeats": 1}, "`repeats` must be at least 2"),
        ({"n_max": 50}, "`n0`, 21, times a power of 2, got 50"),
        ({"negatives": 200}, "must not be above the irrelevant candidates"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        _studied(**asked)


def test_what_was_not_studied_is_not_drawn(result: Iterations) -> None:
    with pytest.raises(InputError, match="there are Recall, AP to draw, got P"):
        result.plot(part="P")
