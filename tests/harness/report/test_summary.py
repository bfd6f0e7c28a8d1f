import json
import math
from pathlib import Path

import pytest

from analyses.shared.sentences import deeper_or_shallower
from harness.report.page import summarise
from harness.report.study_folder import FinishedStudy
from tests.harness.results import (
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


def test_deeper_cutoffs_are_compared_metric_by_metric(copied: Path) -> None:
    keep_powers(copied, {"P": 0.1, "AP": 0.2, "RR": 0.4})
    assert "more by P; less by RR; equally by AP" in found(copied, "Cut-off 20 against 5 (discr")


def test_a_metric_without_a_number_is_not_compared() -> None:
    areas = {("P", 5): 0.3, ("AP", 5): math.nan, ("P", 20): 0.4, ("AP", 20): 0.2}
    assert "AP" not in deeper_or_shallower(sparsity_of(areas).estimates())


def test_an_undefined_agreement_is_not_told(copied: Path) -> None:
    keep(copied, "correlation", correlation_of({("P", "nDCG"): math.nan}))
    assert found(copied, "Agreement") == ""


def without_validity(folder: Path) -> None:
    """Let a study of a world have no result that knows the truth."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["results"].remove("validity")
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_what_is_right_is_said_by_what_knows_the_truth_if_anything_does(copied: Path) -> None:
    assert "is shown by validity." in warned(copied)
    without_validity(copied)
    assert "none of these numbers" in warned(copied)
