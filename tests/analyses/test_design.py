import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from analyses.design import Design, Settings, design
from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.measure import Measure, Measures, Scores
from analyses.shared.result import tables_of
from analyses.shared.work import ScoresAlone
from analyses.significance.needed_users import needed_users
from analyses.swaps import Settings as SwapsSettings
from analyses.swaps import swaps
from runs import InputError

QUICK = {"simulations": 0, "halves": 10, "replicates": 20}
N_USERS = 60


def scores_of(values: np.ndarray) -> Scores:
    measures = Measures(Measure(f"m{number}", 5) for number in range(len(values)))
    systems = tuple(f"s{number}" for number in range(values.shape[1]))
    return Scores(values, measures, systems, np.arange(values.shape[2]).astype(np.str_))


def designed(values: np.ndarray, **settings: Any) -> Design:
    return design(ScoresAlone(scores_of(values), seed=3), Settings(**QUICK | settings))


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    """Five systems by a sharp measure and a blunt one, with three times the noise."""
    rng = np.random.default_rng(8)
    noise = rng.normal(size=(2, 5, N_USERS)) * np.array([0.1, 0.3])[:, None, None]
    return 0.5 + 0.05 * np.arange(5)[:, None] + noise


@pytest.fixture(scope="module")
def found(values: np.ndarray) -> Design:
    return designed(values, bound=0.05, bayes=True, draws=50)


def test_a_measure_with_three_times_the_noise_needs_about_nine_times_the_users(
    found: Design,
) -> None:
    ratio, low, high = found.ratio(1, 0)
    assert low < 9 < high
    assert ratio == found.needed[1] / found.needed[0]
    said = found.findings()[0]
    assert said.startswith("For 80 % of the pairs of systems to differ at p < 0.05, m0@5 needs ")
    assert "times as many" in said


def test_measures_that_differ_by_chance_alone_seldom_differ_beyond_noise() -> None:
    rng = np.random.default_rng(2)
    beyond = []
    for _ in range(20):
        alike = 0.1 * rng.normal(size=(6, 1)) + rng.normal(size=(5, 6, 100))
        found = designed(alike, replicates=100, halves=0)
        fewest, most = int(found.needed.argmin()), int(found.needed.argmax())
        beyond.append(found.ratio(most, fewest)[1] > 1)
    assert sum(beyond) <= 3


def test_users_of_a_pair_are_those_of_its_standardised_difference(
    found: Design, values: np.ndarray
) -> None:
    d = values[0, 0] - values[0, 1]
    effect = np.abs(d.mean()) / d.std(ddof=1)
    (users,) = needed_users(np.array([effect]), alpha=0.05, power=0.8)
    assert found.observed[0, 0] == users
    (users,) = needed_users(
        0.05 * values[:1].mean() / d.std(ddof=1, keepdims=True), alpha=0.05, power=0.8
    )
    assert found.relative[0, 0] == users


def test_halves_swap_what_the_analysis_of_swaps_counts(found: Design, values: np.ndarray) -> None:
    rates = swaps(ScoresAlone(scores_of(values), seed=3), SwapsSettings(repeats=10)).rates
    assert found.halves.swap_rate == pytest.approx(rates)


def test_curves_reach_the_share_with_the_users_that_are_needed(found: Design) -> None:
    for needed, curve in zip(found.needed, found.shares, strict=True):
        at = np.interp(np.log(needed), np.log(found.sizes), curve)
        assert at == pytest.approx(0.8, abs=0.01)


def test_verdicts_of_a_pair_follow_from_its_p_values(found: Design) -> None:
    pairs = found.frames()["design_pairs"]
    expected = np.where(
        pairs.p_equivalent <= 0.05,
        "equivalent",
        np.where(pairs.p_different <= 0.05, "different", "undecided"),
    )
    assert pairs.verdict.tolist() == expected.tolist()
    assert {"different", "undecided"} <= set(pairs.verdict)
    assert (pairs.b_better + pairs.neither + pairs.a_better).tolist() == pytest.approx([1] * 20)


def test_without_a_bound_nothing_is_said_of_equivalence(values: np.ndarray) -> None:
    plain = designed(values)
    assert plain.equivalence_table().rows == []
    assert "verdict" not in plain.frames()["design_pairs"]
    assert not any("equivalent" in said for said in plain.findings())


def test_the_bayesian_test_needs_a_bound() -> None:
    with pytest.raises(ValidationError, match="`bayes` needs a `bound`"):
        Settings(bayes=True)


def test_pairs_that_are_alike_by_every_measure_are_left_out(values: np.ndarray) -> None:
    doubled = np.concatenate([values, values[:, :1]], axis=1)
    assert len(designed(doubled).pairs) == 15 - 1


def test_systems_that_never_differ_are_never_told_apart() -> None:
    nothing = designed(np.full((2, 3, 10), 0.5), bound=0.1)
    assert np.isinf(nothing.needed).all()
    assert "no number of users is enough" in nothing.findings()[0]
    assert {row[3] for row in nothing.equivalence_table().rows} == {"3"}


def test_scores_of_nothing_but_zeros_make_every_table_and_sentence() -> None:
    empty = designed(np.zeros((1, 3, 10)), bound=0.1)
    assert all(face.make(empty).to_columns() for face in tables_of(Design))
    assert empty.findings()
    assert empty.plot().lines


def test_standardised_scores_know_no_scale_of_a_user(values: np.ndarray) -> None:
    scales = np.random.default_rng(1).integers(1, 9, size=N_USERS)
    one, other = (designed(v, standardised="normal") for v in (values, values * scales))
    assert one.needed.tolist() == other.needed.tolist()
    assert "standardised user by user (normal)" in one.caption()
    assert one.needed.tolist() != designed(values).needed.tolist()


def test_the_permutation_test_is_tried_where_users_are_few(values: np.ndarray) -> None:
    tried = designed(values[:1], simulations=20, difference=0.2)
    assert tried.simulated[0] > 0.4
    assert np.isnan(designed(values[:1], simulations=20, difference=1e-3).simulated).all()


def test_a_power_that_falls_short_is_a_caution(values: np.ndarray) -> None:
    weak = replace(designed(values), simulated=np.array([0.8, 0.5]), simulations=200)
    (said,) = [said for said in weak.cautions() if "permutation test" in said]
    assert said.endswith("m1@5 0.50.")


def test_noise_that_is_taken_for_differences_is_a_caution(rng: np.random.Generator) -> None:
    cautions = designed(rng.normal(1, 1, size=(1, 6, 40))).cautions()
    assert any("too large on average" in said for said in cautions)
    assert any("a variance is known to 23 %" in said for said in cautions)


def test_the_result_is_kept_bit_for_bit(found: Design, tmp_path: Path) -> None:
    (tmp_path / "design.npz").write_bytes(to_evidence(found))
    kept = read_evidence(tmp_path / "design.npz", Design)
    assert to_evidence(kept) == to_evidence(found)
    for name, frame in found.frames().items():
        pd.testing.assert_frame_equal(kept.frames()[name], frame)


def test_the_figure_has_a_curve_for_every_measure(found: Design) -> None:
    labels = found.plot().get_legend_handles_labels()[1]
    assert [label.split()[0] for label in labels] == ["m0", "m1"]


def test_workers_change_nothing(values: np.ndarray) -> None:
    asked = Settings(simulations=3, halves=2, replicates=3, difference=0.3)
    one, two = (
        design(ScoresAlone(scores_of(values), seed=3, n_jobs=n_jobs), asked) for n_jobs in (1, 2)
    )
    assert to_evidence(one) == to_evidence(two)


def test_a_pilot_has_two_systems_and_three_users() -> None:
    with pytest.raises(InputError, match="two systems and three users, got 2 and 2"):
        designed(np.ones((1, 2, 2)))


def test_frames_are_written_in_full(found: Design) -> None:
    text = found.frame().to_csv(index=False)
    read = pd.read_csv(io.StringIO(text), float_precision="round_trip")
    assert read.needed.tolist() == found.needed.tolist()
    assert list(found.frames()) == ["design", "design_pairs", "design_curves"]
