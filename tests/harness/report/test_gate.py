"""The gate of discriminate, by scipy's tests, and its exit codes."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from scipy.stats import permutation_test, t, ttest_1samp, ttest_rel

from analyses.discrimination import Settings, discrimination
from analyses.shared.work import ScoresWork
from harness.cli.main import main
from harness.readers.scores import scores_of
from harness.report.gate import Gate, gates_of
from runs.shared.arrays import Floats

SYSTEMS = ("worse", "base", "better", "close")
N_USERS = 40


def frames() -> dict[str, pd.DataFrame]:
    """Scores by a measure, and by an error, of which lower values are better: 1 less the score."""
    rng = np.random.default_rng(8)
    levels = np.array([0.45, 0.5, 0.55, 0.495])
    users = rng.random((N_USERS, 1)) / 10
    scores = users + levels + 0.06 * rng.normal(size=(N_USERS, len(SYSTEMS)))
    frame = pd.DataFrame(scores.round(4), columns=SYSTEMS)
    return {"P@10": frame, "RMSE": (1 - frame).round(4)}


def losses_of_users(candidate: str, measure: str) -> Floats:
    """By how much each user is served worse by the candidate than by the baseline."""
    frame = frames()[measure]
    differences = frame["base"] - frame[candidate]
    return np.asarray(differences if measure == "P@10" else -differences)


def gate(candidate: str, **settings: object) -> Gate:
    tests = discrimination(
        ScoresWork(scores_of(frames())),
        Settings.model_validate({"baseline": "base", "replicates": 0, **settings}),
    )
    (only,) = gates_of(tests, candidate)
    return only


@pytest.mark.parametrize("candidate", ["worse", "better", "close"])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_the_largest_loss_is_the_one_sided_limit_of_t(candidate: str, alpha: float) -> None:
    compared = gate(candidate, margin=0.1, alpha=alpha)
    for number, measure in enumerate(frames()):
        losses = losses_of_users(candidate, measure)
        error = losses.std(ddof=1) / np.sqrt(N_USERS)
        limit = losses.mean() + t.ppf(1 - alpha, N_USERS - 1) * error
        assert compared.losses[number] == pytest.approx(losses.mean())
        assert compared.largest_losses[number] == pytest.approx(limit)


@pytest.mark.parametrize("candidate", ["worse", "better", "close"])
@pytest.mark.parametrize("margin", [0.005, 0.02, 0.04, 0.08])
def test_with_a_margin_it_passes_if_the_one_sided_test_rejects_a_larger_loss(
    candidate: str, margin: float
) -> None:
    compared = gate(candidate, margin=margin)
    for number, measure in enumerate(frames()):
        losses = losses_of_users(candidate, measure)
        p_value = ttest_1samp(losses, margin, alternative="less").pvalue
        assert compared.passes[number] == (p_value < 0.05)


def test_margins_of_the_test_let_some_pass_and_others_not() -> None:
    assert not gate("close", margin=0.005).passes.any()
    assert gate("close", margin=0.04).passes.all()
    assert not gate("worse", margin=0.04).passes.any()


@pytest.mark.parametrize("test", ["t", "exact"])
def test_without_a_margin_a_significantly_worse_mean_fails(test: str) -> None:
    for candidate, passes in (("worse", False), ("better", True), ("close", True)):
        compared = gate(candidate, test=test)
        assert compared.passes.tolist() == [passes, passes]
        frame = frames()["P@10"]
        if test == "t":
            expected = ttest_rel(frame[candidate], frame["base"]).pvalue
            assert compared.p_values == pytest.approx([expected, expected])


def test_p_values_are_those_of_scipys_permutation_test() -> None:
    """Of 12 users, all 4,096 sign assignments."""
    users = {name: frame.iloc[:12] for name, frame in frames().items()}
    tests = discrimination(ScoresWork(scores_of(users)), Settings(baseline=("base",), replicates=0))
    (compared,) = gates_of(tests, "worse")
    pair = (users["P@10"]["worse"].to_numpy(), users["P@10"]["base"].to_numpy())
    expected = permutation_test(
        pair, lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=10_000
    ).pvalue
    assert compared.p_values == pytest.approx([expected, expected])


def test_a_significantly_worse_candidate_passes_within_a_wide_margin() -> None:
    assert not gate("worse").passes.any()
    assert gate("worse", margin=0.2).passes.all()


def test_a_correction_counts_all_measures_and_baselines() -> None:
    plain = gate("close", test="t").p_values
    corrected = gate("close", test="t", correction="bonferroni", across_measures=True).p_values
    # Three pairs with the baseline, by two measures.
    assert corrected == pytest.approx(np.minimum(6 * plain, 1))


def test_a_single_user_shows_nothing() -> None:
    users = {name: frame.iloc[:1] for name, frame in frames().items()}
    settings = Settings(baseline=("base",), replicates=0, margin=5.0)
    (compared,) = gates_of(discrimination(ScoresWork(scores_of(users)), settings), "better")
    assert not compared.passes.any()


def test_each_baseline_has_a_gate() -> None:
    settings = Settings(baseline=("base", "worse"), replicates=0)
    gates = gates_of(discrimination(ScoresWork(scores_of(frames())), settings), "close")
    assert [compared.baseline for compared in gates] == ["base", "worse"]
    assert gates[1].losses[0] < 0 < gates[0].losses[0]


def discriminate(folder: Path, *arguments: str) -> Result:
    paths = []
    for name, frame in frames().items():
        paths.append(str(folder / f"{name}.csv"))
        frame.to_csv(paths[-1], index=False)
    options = ["--jobs", "1", "--quiet", "--replicates", "0", "--baseline", "base"]
    return CliRunner().invoke(main, ["discriminate", *paths, *options, *arguments])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [
        (["--candidate", "better"], 0),
        (["--candidate", "close"], 0),
        (["--candidate", "worse"], 3),
        (["--candidate", "close", "--margin", "0.005"], 3),
        (["--candidate", "close", "--margin", "0.04"], 0),
        (["--candidate", "close", "--lower-is-better", "P"], 0),
        (["--candidate", "better", "--lower-is-better", "P"], 3),
        (["--candidate", "base"], 2),
        (["--candidate", "nobody"], 2),
    ],
)
def test_the_exit_code_is_3_if_a_measure_fails_the_candidate(
    arguments: list[str], exit_code: int, tmp_path: Path
) -> None:
    assert discriminate(tmp_path, *arguments).exit_code == exit_code


def test_a_candidate_needs_a_baseline(tmp_path: Path) -> None:
    frames()["P@10"].to_csv(tmp_path / "P@10.csv", index=False)
    arguments = ["discriminate", str(tmp_path / "P@10.csv"), "--candidate", "better"]
    assert CliRunner().invoke(main, arguments).exit_code == 2


@pytest.mark.slow
def test_where_the_output_is_no_text_the_gate_is_on_standard_error(tmp_path: Path) -> None:
    answer = discriminate(tmp_path, "--candidate", "worse", "--format", "csv")
    assert answer.exit_code == 3
    assert answer.stdout.startswith("metric,")
    assert "worse" in answer.stderr
