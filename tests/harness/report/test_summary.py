import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness.report.study_folder import FinishedStudy
from harness.report.summary import Estimate, comparison, summarise
from tests.harness.tables import choose_coefficient, write_areas, write_table


def found(folder: Path, opening: str) -> str:
    """The finding that begins so, or nothing."""
    findings = summarise(FinishedStudy.at(folder)).findings
    return next((finding for finding in findings if finding.startswith(opening)), "")


def warned(folder: Path) -> str:
    return " ".join(summarise(FinishedStudy.at(folder)).cautions)


def write_powers(folder: Path, at_5: list[object], at_20: list[object]) -> None:
    metrics = ["P", "AP", "RR"][: len(at_5)]
    columns: dict[str, Sequence[object]] = {
        "metric": [*metrics, *metrics],
        "cutoff": [5] * len(at_5) + [20] * len(at_20),
        "dp": [*at_5, *at_20],
        "significant_05": [0.95] * 2 * len(at_5),
    }
    write_table(folder, "discrimination", columns)
    write_table(folder, "power_differences", {"metric_a": [], "metric_b": []})


def write_taus(folder: Path, taus: Mapping[tuple[str, str], object]) -> None:
    columns: dict[str, Sequence[object]] = {
        "metric_a": [a for a, _ in taus],
        "metric_b": [b for _, b in taus],
        "cutoff": [20] * len(taus),
        "tau": list(taus.values()),
    }
    write_table(folder, "correlation_metrics", columns)


def test_overlapping_intervals_may_be_noise() -> None:
    told = comparison([Estimate("P", 0.9, 0.8, 1.0), Estimate("AP", 0.85, 0.7, 0.95)], "robust")
    assert told.endswith("The intervals overlap, so the order of these two may be noise.")


def test_intervals_apart_are_said_to_be() -> None:
    told = comparison([Estimate("P", 0.9, 0.88, 0.95), Estimate("AP", 0.5, 0.4, 0.6)], "robust")
    assert told.endswith("The intervals do not overlap.")


def test_without_intervals_noise_is_not_ruled_out() -> None:
    told = comparison([Estimate("P", 0.9), Estimate("AP", 0.5)], "robust")
    assert told.endswith("Without intervals it is not known whether that difference is noise.")


def test_the_most_robust_metric_has_the_largest_area(copied: Path) -> None:
    write_areas(copied, "sparsity", {"P": 0.7, "nDCG": 0.9}, margin=0.01)
    assert "nDCG was the most robust: 0.9000 [0.8900, 0.9100]. Next came P" in found(
        copied, "Robustness to random loss"
    )


def write_differences(folder: Path, *rows: tuple[str, int, str, int, float, float, float]) -> None:
    names = ["metric_a", "cutoff_a", "metric_b", "cutoff_b", "difference", "low", "high"]
    columns: dict[str, Sequence[object]] = dict(zip(names, zip(*rows, strict=True), strict=True))
    columns["beyond_noise"] = [not row[-2] <= 0 <= row[-1] for row in rows]
    write_table(folder, "sparsity_area_differences", columns)


def test_a_known_difference_says_more_than_intervals_that_overlap(copied: Path) -> None:
    write_areas(copied, "sparsity", {"P": 0.9, "nDCG": 0.8}, margin=0.2)
    write_differences(copied, ("P", 20, "nDCG", 20, 0.1, 0.05, 0.15))
    assert found(copied, "Robustness").endswith(
        "Their difference, 0.1000 [0.0500, 0.1500], is beyond noise."
    )


def test_a_difference_is_turned_to_the_better_metric(copied: Path) -> None:
    write_areas(copied, "sparsity", {"P": 0.8, "nDCG": 0.9})
    write_differences(copied, ("P", 20, "nDCG", 20, -0.1, -0.3, 0.2))
    assert found(copied, "Robustness").endswith(
        "Their difference, 0.1000 [-0.2000, 0.3000], is within noise."
    )


@pytest.mark.parametrize(
    ("low", "told"),
    [
        (0.01, "Less by P* (* beyond noise)."),
        (-0.01, "Less by P, all within noise."),
        (float("nan"), "Less by P."),
    ],
)
def test_cutoffs_that_differ_beyond_noise_are_marked(copied: Path, low: float, told: str) -> None:
    columns: dict[str, Sequence[object]] = {
        "metric": ["P", "P"],
        "cutoff": [5, 20],
        "area": [0.9, 0.8],
    }
    write_table(copied, "sparsity_areas", columns)
    write_differences(copied, ("P", 5, "P", 20, 0.1, low, 0.2))
    assert found(copied, "Is cut-off 20 more robust").endswith(told)


def test_areas_that_are_undefined_are_left_out(copied: Path) -> None:
    write_areas(copied, "popularity", {"P": 0.7, "nDCG": float("nan")})
    assert found(copied, "Robustness to loss").endswith("The only metric, P, has 0.7000.")


def test_without_any_defined_area_nothing_is_said(copied: Path) -> None:
    write_areas(copied, "sparsity", {"P": float("nan")})
    assert found(copied, "Robustness to random loss") == ""


def test_the_most_discriminative_metric_has_the_lowest_dp(copied: Path) -> None:
    write_powers(copied, [0.3, 0.2, 0.1], [0.3, 0.2, 0.4])
    assert "AP was the most discriminative: 0.2000. Next came P" in found(copied, "Discriminative")


def test_level_metrics_are_all_named(copied: Path) -> None:
    write_powers(copied, [0.3, 0.2, 0.1], [0.2, 0.2, 0.4])
    assert "P and AP were level as the most discriminative: 0.2000." in found(
        copied, "Discriminative"
    )


def test_deeper_cutoffs_are_compared_metric_by_metric(copied: Path) -> None:
    write_powers(copied, [0.3, 0.2, 0.1], [0.1, 0.2, 0.4])
    assert found(copied, "Is cut-off") == (
        "Is cut-off 20 more discriminative than 5? More by P; less by RR; as much by AP."
    )


def test_a_metric_without_a_number_is_not_compared(copied: Path) -> None:
    write_powers(copied, [0.3, ""], [0.1, 0.2])
    assert found(copied, "Is cut-off").endswith("than 5? More by P.")


def test_agreement_counts_each_pair_once(copied: Path) -> None:
    taus = {("P", "P"): 1.0, ("P", "nDCG"): 0.6, ("nDCG", "P"): 0.6, ("nDCG", "nDCG"): 1.0}
    write_taus(copied, taus)
    assert found(copied, "Agreement").endswith("P and nDCG agree with 0.6000.")


def test_agreement_is_called_by_the_chosen_coefficient(copied: Path) -> None:
    choose_coefficient(copied, "spearman")
    assert "at cut-off 20 by Spearman's rho: P and" in found(copied, "Agreement")


def test_agreement_that_is_the_same_for_all_is_told_once(copied: Path) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    (copied / "manifest.json").write_text(json.dumps(manifest | {"metrics": ["P", "AP", "RR"]}))
    write_taus(copied, {("P", "AP"): 1.0, ("P", "RR"): 1.0, ("AP", "RR"): 1.0})
    assert found(copied, "Agreement").endswith("1.0000 in each of 3 pairs of metrics.")


def test_an_undefined_agreement_is_not_told(copied: Path) -> None:
    write_taus(copied, {("P", "nDCG"): ""})
    assert found(copied, "Agreement") == ""


def test_mostly_significant_pairs_are_cautioned_against(copied: Path) -> None:
    write_powers(copied, [0.1], [0.1])
    assert "finds at least 95 % of pairs of systems different" in warned(copied)


def test_few_systems_make_coarse_taus(finished: Path) -> None:
    assert "With 3 systems, one pair that is swapped lowers tau by 0.67." in warned(finished)


def test_intervals_are_explained_where_there_are_any(copied: Path) -> None:
    write_areas(copied, "sparsity", {"P": 0.5})
    write_powers(copied, [0.1], [0.1])
    assert "Intervals" not in warned(copied)
    write_areas(copied, "sparsity", {"P": 0.5}, margin=0.1)
    assert "Intervals (in brackets, 95 %)" in warned(copied)


def test_a_study_without_analyses_has_no_findings(scored: Path) -> None:
    assert summarise(FinishedStudy.at(scored)).findings == ()


@pytest.mark.parametrize("areas", [{}, {"P": 0.5}])
def test_few_areas_are_no_failure(copied: Path, areas: dict[str, float]) -> None:
    write_areas(copied, "sparsity", areas)
    assert summarise(FinishedStudy.at(copied)).cautions


def test_the_closest_estimator_of_sampled_metrics_is_named(finished: Path) -> None:
    sentence = found(finished, "Metrics estimated from 10 sampled negatives")
    assert sentence.count("closest to the exact values came") == 1
    for metric in ("Recall@10", "nDCG@10", "AP", "AUC"):
        assert metric in sentence


def test_nothing_is_said_of_negatives_that_were_not_sampled(scored: Path) -> None:
    assert not found(scored, "Metrics estimated from")
