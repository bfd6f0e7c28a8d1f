"""Mean ranks over data sets: tables, rows, sentences and diagrams, by hand and by scipy."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, kendalltau, rankdata, studentized_range

from analyses.intervals.data_sets import DataSetRanks
from harness.report.mean_ranks import MeanRanks
from tests.drawn import points_of

SCORES = np.array(
    [
        [0.1, 0.9, 0.5, 0.3],
        [0.2, 0.8, 0.6, 0.4],
        [0.3, 0.9, 0.2, 0.1],
        [0.1, 0.7, 0.7, 0.2],
        [0.1, 0.6, 0.8, 0.3],
        [0.0, 0.9, 0.5, 0.4],
    ]
)
"""Of four systems in six data sets; b is first in four, and c and b share a place in one."""

SYSTEMS = ("a", "b", "c", "d")


def ranks_of(
    scores: Any = SCORES, label: str = "P@5", names: Sequence[str] = SYSTEMS
) -> DataSetRanks:
    values = np.array(scores, dtype=np.float64)
    data_sets = tuple(f"set {number}" for number in range(len(values)))
    return DataSetRanks(label, data_sets, tuple(names[: values.shape[1]]), values)


def columns_of(table: Any) -> dict[str, list[Any]]:
    return {
        heading: list(column)
        for heading, column in zip(table.headings, zip(*table.rows, strict=True), strict=True)
    }


def mean_ranks(scores: Any = SCORES) -> Any:
    """Rank 1 is the highest score."""
    return rankdata(-np.array(scores), axis=1).mean(axis=0)


def test_the_table_has_the_best_mean_rank_first() -> None:
    ranks, means = ranks_of(), mean_ranks()
    table, _ = MeanRanks("system", [ranks]).tables()
    columns = columns_of(table)
    order = np.argsort(means)
    assert columns["measure, system"] == [f"P@5, {SYSTEMS[n]}" for n in order]
    assert columns["mean rank"] == pytest.approx(means[order].tolist())
    assert columns["mean rank"] == pytest.approx([7.5 / 6, 11.5 / 6, 19 / 6, 22 / 6])
    low, high = ranks.rank_limits
    assert columns["95 %"] == [f"[{low[n]:.1f}, {high[n]:.1f}]" for n in order]
    assert columns["strength"] == pytest.approx(ranks.strengths[order].tolist())
    assert sum(columns["strength"]) == pytest.approx(1)


def test_places_are_a_span_or_a_single_number() -> None:
    """The third of four is third in all data sets; the first two change places."""
    scores = [[4, 3, 2, 1], [3, 4, 2, 1], [4, 3, 2, 1], [3, 4, 2, 1], [4, 3, 2, 1]]
    table, _ = MeanRanks("system", [ranks_of(scores)]).tables()
    assert columns_of(table)["place"] == ["1–2", "1–2", "3", "4"]
    assert columns_of(table)["95 %"][2:] == ["", ""]
    few, _ = MeanRanks("system", [ranks_of(scores[:3])]).tables()
    assert columns_of(few)["place"] == [""] * 4
    assert columns_of(few)["95 %"] == [""] * 4


def test_two_that_do_not_differ_share_a_letter() -> None:
    """CD of four names in six data sets is 3.633 sqrt(4 x 5 / (12 x 6)) = 1.91."""
    table, _ = MeanRanks("system", [ranks_of()]).tables()
    columns = columns_of(table)
    order = [row.removeprefix("P@5, ") for row in columns["measure, system"]]
    means = mean_ranks()
    letters = dict(zip(order, columns["letters"], strict=True))
    for one, other in combinations(range(4), 2):
        differs = abs(means[one] - means[other]) > 1.91
        assert ({*letters[SYSTEMS[one]]}.isdisjoint(letters[SYSTEMS[other]])) == differs
    assert {*letters["b"]} == {"a"}


def test_tests_are_those_of_friedman_and_nemenyi() -> None:
    _, table = MeanRanks("system", [ranks_of()]).tables()
    columns = columns_of(table)
    assert columns["measure"] == ["P@5"]
    assert columns["p"] == [friedmanchisquare(*SCORES.T).pvalue]
    quantile = studentized_range.ppf(0.95, 4, np.inf) / np.sqrt(2)
    assert columns["critical difference"] == [pytest.approx(quantile * np.sqrt(20 / 36))]
    ranks = rankdata(-SCORES, axis=1)
    taus = []
    for number, own in enumerate(ranks):
        others = np.delete(ranks, number, axis=0).mean(axis=0)
        taus.append(kendalltau(others, own).statistic)
    assert [columns[f"set {number}"][0] for number in range(6)] == pytest.approx(taus)
    assert columns["mean tau-b"] == [pytest.approx(np.mean(taus))]


def test_a_data_set_without_a_quantity_has_no_tau_of_it() -> None:
    of_two = DataSetRanks("DP", ("set 1", "new"), ("P@5", "AP@5"), np.array([[1.0, 2], [1, 2]]))
    every = [ranks_of(SCORES[:2, :2], "area", ("P@5", "AP@5")), of_two]
    _, table = MeanRanks("measure", every).tables()
    columns = columns_of(table)
    assert columns["quantity"] == ["area", "DP"]
    assert [np.isnan(columns[name]).tolist() for name in ("set 0", "set 1", "new")] == [
        [False, True],
        [False, False],
        [True, False],
    ]


def test_strengths_have_limits_from_five_data_sets_on() -> None:
    for n_data_sets, has_limits in ((4, False), (5, True)):
        ranks = ranks_of(SCORES[:n_data_sets])
        table, _ = MeanRanks("system", [ranks]).tables()
        assert ("strength, 95 %" in table.headings) == has_limits
    low, high = ranks.strength_limits
    order = np.argsort(ranks.mean_ranks, kind="stable")
    for n, cell in zip(order, columns_of(table)["strength, 95 %"], strict=True):
        limits = [float(limit) for limit in cell.strip("[]").split(", ")]
        assert limits == pytest.approx([low[n], high[n]], abs=0.05)


def test_rows_have_every_rank_mean_rank_and_tau() -> None:
    ranks = ranks_of()
    rows = {row[:3]: row[3:] for row in MeanRanks("system", [ranks]).rows()}
    own = rankdata(-SCORES, axis=1)
    low, high = ranks.rank_limits
    for n, name in enumerate(SYSTEMS):
        for number in range(6):
            value, *limits = rows[f"rank of {name}", "P@5", f"set {number}"]
            assert value == own[number, n]
            assert np.isnan(limits).all()
        expected = (own[:, n].mean(), low[n], high[n])
        assert rows[f"mean rank of {name}", "P@5", "all"] == pytest.approx(expected, nan_ok=True)
    for number, tau in enumerate(ranks.taus):
        key = ("tau-b of systems, with other data sets", "P@5", f"set {number}")
        assert rows[key][0] == tau
    assert len(rows) == 4 * 7 + 6


def test_rows_of_measures_are_by_quantity() -> None:
    rows = {
        row[:3]: row[3]
        for row in MeanRanks("measure", [ranks_of(SCORES[:, :2], "area", ("P@5", "AP@5"))]).rows()
    }
    assert rows["rank by area", "P@5", "set 0"] == 2
    assert rows["rank by area", "AP@5", "set 0"] == 1
    assert rows["mean rank by area", "AP@5", "all"] == 1


def test_those_that_do_not_differ_from_the_best_may_be_best() -> None:
    """Mean ranks are 3.67, 1.25, 1.92 and 3.17; the critical difference is 1.91."""
    first, pairs, taus, *more = MeanRanks("system", [ranks_of()]).findings()
    assert "b or c (P@5)" in first
    assert "2 of 6 (P@5)" in pairs
    assert "(P@5)" in taus
    assert f"{ranks_of().taus.mean():.2f}".lstrip("0") in taus
    assert not more


def test_a_measure_that_is_poor_is_not_called_the_best() -> None:
    ranks = ranks_of(SCORES[:, 1:3], "area", ("P@5", "AP@5"))
    any_measure, *_ = MeanRanks("measure", [ranks]).findings()
    assert "any measure (area)" in any_measure
    poor, *_ = MeanRanks("measure", [ranks], unacceptable={"area": ["P@5"]}).findings()
    assert "AP@5 (area)" in poor
    none, *_ = MeanRanks("measure", [ranks], unacceptable={"area": ["P@5", "AP@5"]}).findings()
    assert "no acceptable measure (area)" in none


@pytest.mark.parametrize(("n_data_sets", "are_few"), [(4, True), (5, False)])
def test_fewer_than_five_data_sets_are_few(n_data_sets: int, are_few: bool) -> None:
    """The quantity with the fewest data sets is meant, whose ranks differ by 3 at most."""
    every = [ranks_of(label="AP@5"), ranks_of(SCORES[:n_data_sets])]
    sentences = [*MeanRanks("system", every).findings()]
    few = [one for one in sentences if "data sets are few" in one]
    assert bool(few) == are_few
    if are_few:
        difference = studentized_range.ppf(0.95, 4, np.inf) * np.sqrt(20 / (12 * n_data_sets))
        assert few[0].startswith(f"{n_data_sets} data sets")
        assert f"by {difference:.1f} " in few[0]
        assert "more than 3." in few[0]


def test_two_systems_can_differ_in_six_or_more_data_sets() -> None:
    (few,) = [
        one
        for one in MeanRanks("system", [ranks_of(SCORES[:3, :2])]).findings()
        if "data sets are few" in one
    ]
    assert "six or more" in few
    assert ranks_of(np.tile([1.0, 2.0], (5, 1))).friedman_p_value > 0.05
    assert ranks_of(np.tile([1.0, 2.0], (6, 1))).friedman_p_value < 0.05


@pytest.mark.slow
def test_the_diagram_has_mean_ranks_cliques_and_the_critical_difference() -> None:
    ranks, means = ranks_of(), mean_ranks()
    face, caption, figure = MeanRanks("system", [ranks]).figure()
    assert face.file_stem == "mean_ranks_systems"
    (ax,) = figure.axes
    (points,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert points_of(points) == [(mean, 0) for mean in means]
    (difference,) = [line for line in ax.lines if line.get_marker() == "|"]
    quantile = studentized_range.ppf(0.95, 4, np.inf) / np.sqrt(2)
    (start, _), (end, _) = points_of(difference)
    assert [start, end] == pytest.approx([1, 1 + quantile * np.sqrt(20 / 36)])
    bars = [[x for x, _ in points_of(line)] for line in ax.lines if line.get_linewidth() > 2]
    # b and c do not differ, and neither do c, d and a.
    a, b, c, _ = means
    assert bars == [[b, c], [c, a]]
    assert "Bars connect systems" in caption


@pytest.mark.slow
@pytest.mark.parametrize(("n_names", "length"), [(2, 4), (5, 12), (20, 6), (20, 16), (20, 30)])
def test_labels_of_the_diagram_do_not_touch_in_one_column(n_names: int, length: int) -> None:
    """Names are equally long; a ranking of close means, and one of distant ones."""
    rng = np.random.default_rng(3)
    names = [f"{number}{'n' * length}"[:length] for number in range(10, 10 + n_names)]
    rankings = []
    for label, spread in (("nDCG@10", 0.0), ("Recall(rel=4)@100", 4.0)):
        levels = np.linspace(0, spread, n_names)
        rankings.append(ranks_of(levels + rng.normal(size=(8, n_names)), label, names))
    _, _, figure = MeanRanks("system", rankings).figure()
    assert figure.get_size_inches()[0] == pytest.approx(3.33)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for ax in figure.axes for text in ax.texts]
    assert len(boxes) >= 2 * n_names
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    width, height = figure.canvas.get_width_height()
    for box in boxes:
        assert 0 <= box.x0 < box.x1 <= width
        assert 0 <= box.y0 < box.y1 <= height
