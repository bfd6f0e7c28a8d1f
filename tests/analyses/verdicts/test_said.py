import numpy as np

from analyses.shared.measure import Measure, Measures
from analyses.verdicts.said import beyond_chance, most_robust_and_most_valid, of_choices

MEASURES = Measures([Measure("P", 5), Measure("AP"), Measure("RR")])


def test_what_noise_explains_is_not_told() -> None:
    taus, ideal = np.array([0.8, 0.5, 0.2]), np.array([0.9, 0.9, 0.9])
    assert beyond_chance(MEASURES, taus, np.array([0.9, 0.95, 1.0]), ideal) == ""
    said = beyond_chance(MEASURES, taus, np.array([0.95, 0.7, 0.4]), ideal)
    assert "2 of 3 measures" in said
    assert said.endswith("explains: AP (0.50, ideal 0.90) to RR (0.20, ideal 0.90).")


def test_what_all_choose_rightly_is_told_of_all() -> None:
    said = of_choices("a", "P@10", {"a": ["P", "AP"]}, {})
    assert said == "By true P@10, a is best. Every measure puts it first."


def test_robust_and_valid_are_set_side_by_side() -> None:
    said = most_robust_and_most_valid(
        MEASURES, np.array([0.9, 0.8, 0.9]), np.array([0.1, 0.3, 0.2])
    )
    assert "robust to random loss of judgements: P@5 and RR; most valid: AP;" in said
    assert "tau-b between robustness and validity is -0.82" in said


def test_of_one_measure_and_of_undefined_ones_nothing_is_told() -> None:
    assert (
        most_robust_and_most_valid(Measures(MEASURES[:1]), np.array([0.9]), np.array([0.1])) == ""
    )
    assert most_robust_and_most_valid(MEASURES, np.array([0.9, np.nan, 0.9]), np.ones(3)) == ""
