import pickle
from math import isnan

from analyses.shared.measure import Measure, Measures

P5, P10, AP, BPREF = Measure("P", 5), Measure("P", 10), Measure("AP", 10), Measure("bpref")


def test_by_default_each_metric_is_reported_at_its_deepest() -> None:
    assert Measures([P5, P10, AP, BPREF]).reported == (P10, AP, BPREF)
    assert Measures([Measure("AP"), AP]).reported == (Measure("AP"),)


def test_metrics_at_one_cutoff_need_no_cutoff_in_their_labels() -> None:
    measures = Measures([P5, P10, AP]).reported
    assert (measures.labels, measures.place, measures.where) == (
        ("P", "AP"),
        "cut-off 10",
        " at cut-off 10",
    )


def test_measures_of_several_depths_have_whole_names_and_no_place() -> None:
    measures = Measures([P10, BPREF])
    assert (measures.labels, measures.place, measures.where) == (("P@10", "bpref"), "", "")


def test_whole_lists_are_a_place() -> None:
    measures = Measures([BPREF, Measure("AP")])
    assert (measures.place, measures.where) == ("whole lists", " of whole lists")


def test_the_report_keeps_its_order() -> None:
    measures = Measures([P5, P10, BPREF], reported=[BPREF, P5])
    assert measures.reported.labels == ("bpref", "P@5")
    assert measures.numbers(measures.reported) == [2, 0]


def test_only_metrics_with_several_cutoffs_in_the_grid_have_curves() -> None:
    grid = [P10, P5, AP]
    measures = Measures([*grid, Measure("P", 100), BPREF], grid=grid)
    assert measures.curves == {"P": (P5, P10)}


def test_one_is_compared_with_what_is_reported_or_shares_its_cutoff() -> None:
    measures = Measures([P5, P10, AP, BPREF], reported=[P5, BPREF])
    assert measures.beside(BPREF) == (P5, BPREF)
    assert measures.beside(AP) == (P10, AP)
    assert measures.are_comparable(P5, BPREF)
    assert not measures.are_comparable(AP, BPREF)


def test_numbers_are_laid_out_by_metric_and_cutoff_from_the_shallowest() -> None:
    cells = Measures([P5, P10, BPREF, Measure("AP", 7)]).crossed([1, 2, 3, 4], heading="")
    assert list(dict.fromkeys(column for _, column in cells)) == ["@5", "@7", "@10", "whole lists"]
    known = {cell: number for cell, number in cells.items() if not isnan(number)}
    assert known == {
        ("P", "@5"): 1,
        ("P", "@10"): 2,
        ("bpref", "whole lists"): 3,
        ("AP", "@7"): 4,
    }


def test_numbers_without_a_grid_are_a_list() -> None:
    cells = Measures([P10, BPREF]).crossed([1, 2], heading="power")
    assert cells == {("P@10", "power"): 1, ("bpref", "power"): 2}


def test_measures_travel_between_processes() -> None:
    measures = Measures([P5, P10, BPREF], falling=["P"], reported=[P5], grid=[P5, P10])
    back = pickle.loads(pickle.dumps(measures))
    assert (back, back.falling, back.reported, back.curves) == (
        measures,
        measures.falling,
        measures.reported,
        measures.curves,
    )
