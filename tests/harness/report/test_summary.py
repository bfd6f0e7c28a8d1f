import json
import math
from pathlib import Path

import pytest

from analyses.shared.sentences import deeper_or_shallower
from harness.report.page import summarise
from harness.report.study_folder import FinishedStudy
from tests.harness.results import (
    choose_coefficient,
    correlation_of,
    discrimination_of,
    keep,
    popularity_of,
    sparsity_of,
)

AT_5 = {"P": 0.3, "AP": 0.2, "RR": 0.1}


def found(folder: Path, opening: str) -> str:
    """The finding that begins so, or nothing."""
    findings = summarise(FinishedStudy.at(folder)).findings
    return next((finding for finding in findings if finding.startswith(opening)), "")


def warned(folder: Path) -> str:
    return " ".join(summarise(FinishedStudy.at(folder)).cautions)


def keep_powers(folder: Path, at_20: dict[str, float]) -> None:
    """Let metrics have these DP at cut-off 20, and those of `AT_5` at 5."""
    powers = {(m, 5): AT_5[m] for m in at_20} | {(m, 20): dp for m, dp in at_20.items()}
    keep(folder, "discrimination", discrimination_of({m: [dp] for m, dp in powers.items()}))


def test_the_most_robust_metric_has_the_largest_area(copied: Path) -> None:
    keep(copied, "sparsity", sparsity_of({("P", 20): 0.7, ("nDCG", 20): 0.9}, margin=0.01))
    assert "nDCG was the most robust: 0.9000 [0.8898, 0.9098]. Next came P" in found(
        copied, "Robustness to random loss"
    )


def test_a_known_difference_says_more_than_intervals_that_overlap(copied: Path) -> None:
    areas = {("P", 20): 0.7, ("nDCG", 20): 0.6}
    keep(copied, "sparsity", sparsity_of(areas, margin=0.2, apart=0.05))
    assert found(copied, "Robustness").endswith(
        "P was the most robust: 0.7000 [0.5037, 0.8536]. Next came nDCG: 0.6000 [0.4101, 0.7608]. "
        "Their difference, 0.1000 [0.0500, 0.1500], is beyond noise."
    )


def test_a_difference_is_turned_to_the_better_metric(copied: Path) -> None:
    areas = {("P", 20): 0.6, ("nDCG", 20): 0.7}
    keep(copied, "sparsity", sparsity_of(areas, margin=0.2, apart=0.3))
    assert found(copied, "Robustness").endswith(
        "Their difference, 0.1000 [-0.2000, 0.4000], is within noise."
    )


@pytest.mark.parametrize(("apart", "told"), [(0.09, "less by P*"), (0.11, "less by P ")])
def test_cutoffs_that_differ_beyond_noise_are_marked(copied: Path, apart: float, told: str) -> None:
    areas = {("P", 5): 0.8, ("P", 20): 0.7}
    keep(copied, "sparsity", sparsity_of(areas, margin=0.1, apart=apart))
    assert told in found(copied, "Cut-off 20 against 5 (robust")


def test_areas_that_are_undefined_are_left_out(copied: Path) -> None:
    keep(copied, "popularity", popularity_of({("P", 20): 0.7, ("nDCG", 20): math.nan}))
    assert found(copied, "Robustness to loss").endswith("the only metric, P, has 0.7000.")


def test_without_any_defined_area_nothing_is_said(copied: Path) -> None:
    keep(copied, "sparsity", sparsity_of({("P", 20): math.nan}))
    assert found(copied, "Robustness to random loss") == ""


def test_the_most_discriminative_metric_has_the_lowest_dp(copied: Path) -> None:
    keep_powers(copied, {"P": 0.3, "AP": 0.2, "RR": 0.4})
    assert "AP was the most discriminative: 0.2000. Next came P" in found(copied, "Discriminative")


def test_level_metrics_are_all_named(copied: Path) -> None:
    keep_powers(copied, {"P": 0.2, "AP": 0.2, "RR": 0.4})
    assert "P and AP tie as the most discriminative: 0.2000." in found(copied, "Discriminative")


def test_deeper_cutoffs_are_compared_metric_by_metric(copied: Path) -> None:
    keep_powers(copied, {"P": 0.1, "AP": 0.2, "RR": 0.4})
    assert "more by P; less by RR; equally by AP" in found(copied, "Cut-off 20 against 5 (discr")


def test_a_metric_without_a_number_is_not_compared() -> None:
    areas = {("P", 5): 0.3, ("AP", 5): math.nan, ("P", 20): 0.4, ("AP", 20): 0.2}
    assert "AP" not in deeper_or_shallower(sparsity_of(areas).estimates())


def test_agreement_is_called_by_the_chosen_coefficient(copied: Path) -> None:
    choose_coefficient(copied, "rbo")
    assert "by rank-biased overlap (p = 0.9)" in found(copied, "Agreement")


def test_an_undefined_agreement_is_not_told(copied: Path) -> None:
    keep(copied, "correlation", correlation_of({("P", "nDCG"): math.nan}))
    assert found(copied, "Agreement") == ""


def test_mostly_significant_pairs_are_cautioned_against(copied: Path) -> None:
    keep(copied, "discrimination", discrimination_of({("P", 20): [*[0.01] * 20, 0.5]}))
    assert "finds at least 95 % of pairs of systems different" in warned(copied)


def test_few_systems_make_coarse_taus(finished: Path) -> None:
    assert "With 3 systems, one pair that is swapped lowers tau by 0.67." in warned(finished)


def without_validity(folder: Path) -> None:
    """Let a study of a world have no result that knows the truth."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["results"].remove("validity")
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_what_is_right_is_said_by_what_knows_the_truth_if_anything_does(copied: Path) -> None:
    assert "what users want is validity alone" in warned(copied)
    without_validity(copied)
    assert "none of these numbers says whether" in warned(copied)


def test_intervals_are_explained_where_there_are_any(copied: Path) -> None:
    without_validity(copied)
    keep(copied, "sparsity", sparsity_of({("P", 20): 0.5}))
    keep(copied, "popularity", popularity_of({("P", 20): 0.5}))
    keep_powers(copied, {"P": 0.1})
    assert "Intervals" not in warned(copied)
    keep(copied, "sparsity", sparsity_of({("P", 20): 0.5}, margin=0.1))
    assert "Intervals (in brackets, 95 %)" in warned(copied)


def test_a_study_without_analyses_has_no_findings(scored: Path) -> None:
    assert summarise(FinishedStudy.at(scored)).findings == ()


@pytest.mark.parametrize("areas", [{}, {("P", 20): 0.5}])
def test_few_areas_are_no_failure(copied: Path, areas: dict[tuple[str, int], float]) -> None:
    keep(copied, "sparsity", sparsity_of(areas))
    assert summarise(FinishedStudy.at(copied)).cautions


def test_nothing_is_said_of_negatives_that_were_not_sampled(scored: Path) -> None:
    findings = summarise(FinishedStudy.at(scored)).findings
    assert not any("negatives" in finding for finding in findings)
