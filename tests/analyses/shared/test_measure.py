import pickle

import pytest

from analyses.shared.measure import Measure, Measures


def test_measures_are_compared_where_most_metrics_are_measured() -> None:
    measures = Measures([Measure("P", 5), Measure("P", 10), Measure("AP", 10), Measure("RR")])
    assert measures.cutoff == 10
    assert measures.reported == (Measure("P", 10), Measure("AP", 10))


@pytest.mark.parametrize(
    ("measures", "cutoff"),
    [
        ([], None),
        ([Measure("ap"), Measure("P", 10)], None),
        ([Measure("ap"), Measure("P", 10), Measure("RR", 10)], 10),
        ([Measure("P", 5), Measure("P", 10)], 10),
    ],
)
def test_of_several_places_whole_lists_or_the_deepest_count(
    measures: list[Measure], cutoff: int | None
) -> None:
    assert Measures(measures).cutoff == cutoff


def test_measures_travel_between_processes() -> None:
    measures = Measures([Measure("P", 5)], falling=["P"])
    back = pickle.loads(pickle.dumps(measures))
    assert (back, back.falling) == (measures, measures.falling)
