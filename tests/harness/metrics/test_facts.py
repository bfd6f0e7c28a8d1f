"""What metrics declare: ranges, directions, what they rest on, and which values options take."""

from math import e, inf

import pytest

from harness.metrics.shared.metric import Metric
from harness.metrics.shared.register import built_in_metrics

METRICS = built_in_metrics()
ABOVE_ONE = {
    "alpha-nDCG": e / (e - 1),
    "ARP": inf,
    "Calibration": inf,
    "DCG": inf,
    "EILD": 2.0,
    "ILD": 2.0,
    "MSI": inf,
}
Allowed = dict[str, tuple[str, object]]
SHARE = "a number, above 0 and below 1"
FROM_0 = "a number, at least 0"
WEIGHTS: Allowed = {
    "beta": (FROM_0, 0.0),
    "propensity": ("popularity or table", "popularity"),
    "clip": ("a number, at least 0 and below 1", 0.0),
}
GAINS: Allowed = {
    "gains": ("rating, exp or {grade:gain, ...}", "rating"),
    "discount": ("log2 or lenskit", "log2"),
    **WEIGHTS,
}
ANY_DISCOUNT, ANY_RELEVANCE = f"none, log2 or {SHARE}", "none, binary or graded"
NOVELTY: Allowed = {"discount": (ANY_DISCOUNT, "none"), "relevance": (ANY_RELEVANCE, "none")}
ROUNDED: Allowed = {"rounding": ("up or nearest", "up")}
OPTIONS: dict[str, Allowed] = {
    "AP": {"capped": ("true or false", False)},
    "alpha-nDCG": {"alpha": ("a number, at least 0 and at most 1", 0.5)},
    "Calibration": {"alpha": (SHARE, 0.01), "discount": (ANY_DISCOUNT, "none")},
    "Compat": {"p": (SHARE, 0.95)},
    "DCG": GAINS,
    "EILD": {"discount": (ANY_DISCOUNT, "log2"), "relevance": (ANY_RELEVANCE, "binary")},
    "EPC": NOVELTY,
    "ERR": {"top": ("a whole number, at least 1", None)},
    "ERR-IA": {"alpha": ("a number, above 0 and at most 1", 0.5)},
    "IAP": ROUNDED,
    "INSQ": {"T": ("a number, at least 0.5", 1.0)},
    "INST": {"T": ("a number, at least 0.5", 1.0)},
    "IPrec": {"recall": ("a number, at least 0 and at most 1", 0.5), **ROUNDED},
    "LLOO": {"beta": (FROM_0, 0.0)},
    "LOO": {"beta": (FROM_0, 0.0)},
    "MSI": NOVELTY,
    "nDCG": GAINS,
    "Q-measure": {"beta": ("a number, above 0", 1.0)},
    "RBP": {"p": (SHARE, 0.9)},
    "Recall": WEIGHTS,
    "Rprec": {"multiple": ("a number, above 0", 1.0)},
    "SetF": {"beta": ("a number, above 0", 1.0)},
}
every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


@every_metric
def test_scores_lie_between_0_and_1_unless_the_definition_goes_beyond(metric: Metric) -> None:
    assert (metric.low, metric.high) == (0, ABOVE_ONE.get(metric.name, 1))


@every_metric
def test_more_is_better_but_for_popularity_and_distance_from_the_profile(metric: Metric) -> None:
    assert metric.higher_is_better == (metric.name not in ("ARP", "Calibration"))


@every_metric
def test_a_metric_of_relevant_items_has_their_level(metric: Metric) -> None:
    of_grades_or_lists = {"ARP", "Calibration", "DCG", "ERR", "ILD", "Judged", "nDCG"}
    assert metric.has_level == (metric.name not in {*of_grades_or_lists, "LOO", "LLOO"})


@every_metric
def test_only_the_recalls_of_hidden_items_need_ranks_of_these(metric: Metric) -> None:
    assert metric.needs == {"LOO": ("loo",), "LLOO": ("lloo",)}.get(metric.name, ())
    assert not metric.per_user


@every_metric
def test_relevant_items_add_up_where_one_more_only_raises_the_score(metric: Metric) -> None:
    how = dict.fromkeys(("DCG", "P", "RBP"), "sum") | dict.fromkeys(("RR", "Success"), "max")
    assert metric.accumulates == {**how, "ERR": "cascade"}.get(metric.name, "")


@every_metric
def test_an_option_takes_what_the_definition_allows(metric: Metric) -> None:
    found = {option.name: (option.allowed_values, option.default) for option in metric.options}
    assert found == OPTIONS.get(metric.name, {})


@pytest.mark.parametrize(
    ("name", "scales"),
    [
        ("P", [1, 2, 3, 7, 10, 11]),
        ("Success", [1, 1, 1, 1, 1, 1]),
        ("RR", [1, 2, 6, 420, 2520, None]),
        ("nDCG", [None] * 6),
    ],
)
def test_scores_are_multiples_of_one_over_this_number(name: str, scales: list[int | None]) -> None:
    assert [METRICS[name].lattice(cutoff) for cutoff in (1, 2, 3, 7, 10, 11)] == scales
