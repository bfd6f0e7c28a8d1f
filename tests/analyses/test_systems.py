from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from pydantic import ValidationError
from scipy.stats import t

from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.sentences import letter_groups
from analyses.shared.work import ScoresWork
from analyses.significance.bootstrap_max_t import max_t_test
from analyses.significance.corrections import sign_flip_max_t_test
from analyses.systems import Settings, Systems, shortened_letters, systems
from harness.readers.score_files import read_score_tables
from runs import InputError
from tests.analyses.made import Totals
from tests.drawn import explained, points, segments

MEASURES = Measures([Measure("P", 5), Measure("loss", 5)], lower_is_better_for={"loss"})


def compared(levels: list[float], *, n_users: int = 60, seed: int = 3) -> Systems:
    """Systems whose users score around levels; the second measure is the first, negated."""
    noise = np.random.default_rng(seed).normal(scale=0.1, size=(len(levels), n_users))
    values = np.array(levels)[:, None] + noise
    names = tuple("abcdefgh"[: len(levels)])
    users = np.array([f"u{n:03}" for n in range(n_users)])
    scores = Scores(np.stack([values, -values]), MEASURES, names, users)
    return systems(ScoresWork(scores, seed=7), Settings(permutations=499))


def test_ranks_and_letters_come_from_one_simultaneous_test() -> None:
    found = compared([0.5, 0.1, 0.49, 0.3])
    better = found.better()[0]
    low, high = found.rank_intervals()
    for system in range(4):
        assert low[0, system] == 1 + sum(better[other, system] for other in range(4))
        assert high[0, system] == 4 - sum(better[system, other] for other in range(4))
    letters = found.letters(0)
    for a in range(4):
        for b in range(4):
            differ = better[a, b] or better[b, a]
            assert bool(set(letters[a]) & set(letters[b])) == (not differ)


def test_p_values_are_those_of_max_t() -> None:
    noise = np.random.default_rng(1).normal(size=(2, 3, 40))
    users = np.array([f"u{n:02}" for n in range(40)])
    scores = Scores(noise, MEASURES, ("a", "b", "c"), users)
    found = systems(ScoresWork(scores, seed=5), Settings(permutations=299))
    expected = max_t_test(noise, permutations=299, seed=5)
    assert np.array_equal(found.p_adjusted, expected)
    by_signs = Settings(permutations=299, correction="max-t-sign-flip")
    found = systems(ScoresWork(scores, seed=5), by_signs)
    expected = sign_flip_max_t_test(noise, permutations=299, seed=5)
    assert np.array_equal(found.p_adjusted, expected)


def test_systems_that_score_for_fewer_than_five_users_are_named() -> None:
    """The first of three scores for four of 40 users, the second for five."""
    values = np.zeros((2, 3, 40))
    values[:, 0, :4] = 1.0
    values[:, 1, :5] = 0.5
    values[:, 2] = np.arange(40)
    users = np.array([f"u{n:02}" for n in range(40)])
    scores = Scores(values, MEASURES, ("few", "enough", "all"), users)
    compared_systems = systems(ScoresWork(scores), Settings(permutations=99))
    assert compared_systems.n_scoring_users.tolist() == [[4, 5, 39], [4, 5, 39]]
    cautions = compared_systems.cautions()
    assert len(cautions) == 2
    assert all("few" in caution and "enough" not in caution for caution in cautions)


def test_fewer_than_ten_users_are_too_few_for_the_bootstrap() -> None:
    few_users = compared([0.5, 0.1], n_users=9)
    assert not few_users.better().any()
    assert len(few_users.cautions()) == 1
    assert compared([0.5, 0.1], n_users=10).cautions() == []


def test_less_is_better_for_falling_measures() -> None:
    found = compared([0.5, 0.1, 0.3])
    assert np.array_equal(found.order(0), found.order(1))
    assert np.array_equal(found.better()[0], found.better()[1])


def test_intervals_of_means_are_students() -> None:
    found = compared([0.5, 0.1])
    reach = (found.high - found.low) / 2
    frame = found.frames()["systems"].query("metric == 'P'").set_index("system")
    assert frame.loc["a", "mean"] == pytest.approx(found.means[0, 0])
    noise = np.random.default_rng(3).normal(scale=0.1, size=(2, 60))
    expected = t.ppf(0.975, 59) * noise.std(axis=1, ddof=1) / np.sqrt(60)
    assert reach[0] == pytest.approx(expected)


def test_groups_are_the_largest_without_a_difference() -> None:
    differs = np.zeros((5, 5), dtype=bool)
    for a, b in [(0, 3), (0, 4), (1, 4)]:
        differs[a, b] = differs[b, a] = True
    assert letter_groups(differs) == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]


def test_the_table_of_one_measure_has_its_numbers_in_columns() -> None:
    found = compared([0.5, 0.1])
    assert found.tabulate(measure="P@5").headings == ["system", "mean", "letters", "95 %", "ranks"]
    with pytest.raises(InputError, match="P@5, loss@5"):
        found.tabulate(measure="P@7")


def test_one_system_is_not_compared() -> None:
    scores = Scores(np.zeros((2, 1, 3)), MEASURES, ("a",), np.array(["1", "2", "3"]))
    with pytest.raises(InputError, match="at least two systems and one user, got 1 and"):
        systems(ScoresWork(scores), Settings())


def by_hand(p_adjusted: list[float] | None = None) -> Systems:
    """Four systems: c is best, then a, then d and b; of the six pairs some differ."""
    means = np.array([0.5, 0.1, 0.6, 0.2])
    p = np.array([0.01, 0.3, 0.05, 0.001, 0.2, 0.001] if p_adjusted is None else p_adjusted)
    return Systems(
        measures=MEASURES,
        systems=("a", "b", "c", "d"),
        means=np.array([means, -means]),
        low=np.array([means - 0.1, -means - 0.1]),
        high=np.array([means + 0.2, -means + 0.2]),
        p_adjusted=np.array([p, np.ones(6)]),
        n_scoring_users=np.full((2, 4), 60),
        n_users=60,
        correction="max-t",
        alpha=0.05,
        permutations=499,
        seed=7,
    )


def test_a_p_of_alpha_itself_is_significant() -> None:
    """Pairs are ab, ac, ad, bc, bd, cd."""
    better = by_hand().better()[0]
    names = "abcd"
    found = {names[i] + names[j] for i, j in np.argwhere(better)}
    assert found == {"ab", "ad", "cb", "cd"}
    above = by_hand([0.01, 0.3, np.nextafter(0.05, 1), 0.001, 0.2, 0.001]).better()[0]
    assert {names[i] + names[j] for i, j in np.argwhere(above)} == {"ab", "cb", "cd"}


def test_ranks_count_who_is_better_and_who_is_worse() -> None:
    low, high = by_hand().rank_intervals()
    assert low[0].tolist() == [1, 3, 1, 3]
    assert high[0].tolist() == [2, 4, 2, 4]
    # Where no pair differs, all ranks are possible.
    assert (low[1].tolist(), high[1].tolist()) == ([1] * 4, [4] * 4)


def test_the_frame_goes_from_the_best_to_the_worst_under_each_measure() -> None:
    frame = by_hand().frame()
    first = frame.iloc[:4]
    assert first["system"].tolist() == ["c", "a", "d", "b"]
    assert first["mean"].tolist() == [0.6, 0.5, 0.2, 0.1]
    assert first["low"].tolist() == pytest.approx([0.5, 0.4, 0.1, 0.0])
    assert first["high"].tolist() == pytest.approx([0.8, 0.7, 0.4, 0.3])
    assert first["groups"].tolist() == ["a", "a", "b", "b"]
    assert first[["rank_low", "rank_high"]].to_numpy().tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]
    second = frame.iloc[4:]
    assert second["system"].tolist() == ["c", "a", "d", "b"]
    assert second["groups"].tolist() == ["a"] * 4


def test_the_finding_counts_the_systems_that_may_rank_first() -> None:
    (finding,) = by_hand().findings()
    assert "of 4: 2 under P@5 and 4 under loss@5" in finding
    (finding,) = by_hand([0.001] * 6).findings()
    assert "1 under P@5" in finding


def test_the_diagram_has_ranks_with_their_limits_and_bars_over_who_does_not_differ() -> None:
    ax = by_hand().plot(label="P@5")
    ranks, *bars = map(points, ax.lines)
    assert ranks.tolist() == [[1, 1], [2, 2], [3, 3], [4, 4]]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["c", "a", "d", "b"]
    assert segments(ax).tolist() == [
        [[1, 1], [2, 1]],
        [[1, 2], [2, 2]],
        [[3, 3], [4, 3]],
        [[3, 4], [4, 4]],
    ]
    assert [bar[:, 1].tolist() for bar in bars] == [[1, 2], [3, 4]]
    columns = [bar[0, 0] for bar in bars]
    assert 1 < columns[0] < columns[1]
    # The best is on top.
    lowest, highest = ax.get_ylim()
    assert lowest > highest


def test_the_table_has_each_number_of_a_measure() -> None:
    rows = by_hand().tabulate(measure="P@5").rows
    assert [row[0] for row in rows] == ["c", "a", "d", "b"]
    assert [float(str(row[1])) for row in rows] == [0.6, 0.5, 0.2, 0.1]
    assert [rows[0][2], rows[0][4]] == ["a", "1–2"]
    low, high = str(rows[0][3]).strip("[]").split(", ")
    assert (float(low), float(high)) == (0.5, 0.8)


def test_a_single_possible_rank_is_written_once() -> None:
    rows = by_hand([0.001] * 6).tabulate(measure="P@5").rows
    assert [row[4] for row in rows] == ["1", "2", "3", "4"]


def test_settings_have_their_defaults_and_bounds() -> None:
    settings = Settings()
    assert (settings.correction, settings.alpha, settings.permutations) == ("max-t", 0.05, 10_000)
    Settings(alpha=1e-4, permutations=99)
    for refused in ({"alpha": 0.00009}, {"alpha": 1.0}, {"permutations": 98}):
        with pytest.raises(ValidationError):
            Settings.model_validate(refused)
    assert Settings(alpha=0.999).alpha == 0.999


def test_the_table_of_several_measures_has_a_cell_for_each() -> None:
    table = by_hand().tabulate()
    assert [*table.headings] == ["system", "P@5", "loss@5"]
    rows = [[*row] for row in table.rows]
    assert [row[0] for row in rows] == ["c", "a", "d", "b"]
    assert rows[0][1] == ".600 a 1–2\n[.500, .800]"
    assert rows[0][2] == "-.600 a 1–4\n[-.700, -.400]"
    assert table.title == "Comparison of the systems"
    assert by_hand().tabulate(measure="P@5").title == "Comparison of the systems under P@5"


def test_the_order_of_the_table_is_that_of_the_measure() -> None:
    """By the second measure, of which less is better, a is best."""
    found = by_hand()
    means = found.means.copy()
    means[1] = [-0.9, -0.1, -0.6, -0.2]
    table = replace(found, means=means).tabulate(measure="loss@5")
    assert [row[0] for row in table.rows] == ["a", "c", "d", "b"]


def test_latex_is_that_of_the_table() -> None:
    assert by_hand().to_latex(measure="P@5") == by_hand().tabulate(measure="P@5").to_latex()


def test_captions_have_the_test_and_the_numbers_of_users_and_systems() -> None:
    caption = by_hand().caption()
    assert "mean over 60 users" in caption
    assert "significantly better, to 4, less the number" in caption
    test = (
        "the step-down max-T bootstrap test of the differences in means, 499 bootstrap replicates; "
        "family-wise error rate"
    )
    assert f"({test} .05; seed 7)" in caption
    assert "ordered by P@5." in caption
    assert f"({test} 0.05; seed 7)" in by_hand().caption_of("means")
    assert "mean over 60 users" in by_hand().caption_of("means")


def test_bars_stand_right_of_the_panel_and_are_explained() -> None:
    ax = by_hand().plot(label="P@5")
    _, first, second = ax.lines
    assert np.asarray(first.get_xdata()).tolist() == [1.02, 1.02]
    assert np.asarray(second.get_xdata()).tolist() == [1.04, 1.04]
    (lines,) = ax.collections
    assert to_hex(np.asarray(lines.get_edgecolor())[0]) == to_hex(ax.lines[0].get_color())
    # Beside the panel, bars are drawn as well.
    assert not first.get_clip_on()
    assert "do not differ significantly" in explained(ax)
    apart = by_hand([0.001] * 6).plot(label="P@5")
    assert len(apart.lines) == 1


def test_all_permutations_are_announced_and_done() -> None:
    progress = Totals()
    scores = Scores(
        np.random.default_rng(1).random((2, 3, 20)), MEASURES, ("a", "b", "c"),
        np.array([f"u{n:02}" for n in range(20)]),
    )  # fmt: skip
    systems(ScoresWork(scores, progress=progress), Settings(permutations=150))
    assert progress.announced == progress.done == 150


def test_the_frame_has_the_columns_of_its_docstring() -> None:
    frame = by_hand().frame()
    assert frame.columns.tolist() == [
        *("metric", "cutoff", "system", "mean", "low", "high", "groups", "rank_low", "rank_high")
    ]
    assert frame.index.tolist() == [*range(8)]


SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "trec-per-topic"


def test_letters_of_the_129_runs_of_trec_8_fit_a_line_or_are_left_out() -> None:
    """All largest groups without a difference by AP were 463 letters."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent")
    scores = read_score_tables([SHARED / "adhoc8_ap.csv"])
    of_runs = systems(ScoresWork(scores, seed=7), Settings(permutations=499))
    assert len(of_runs.systems) == 129
    for letters in of_runs.letters(0):
        assert len(letters) <= 12
    for row in of_runs.tabulate().rows:
        for cell in row:
            assert all(len(line) <= 80 for line in str(cell).splitlines())


def test_where_there_would_be_more_than_twelve_letters_ranks_stand_alone() -> None:
    """Thirteen systems that all differ under the first measure, and not under the second."""
    n_systems = 13
    n_pairs = n_systems * (n_systems - 1) // 2
    means = np.linspace(0.1, 0.9, n_systems)
    shape = (2, n_systems)
    compared_systems = replace(
        by_hand(),
        systems=tuple("abcdefghijklm"),
        means=np.array([means, -means]),
        low=np.zeros(shape),
        high=np.ones(shape),
        p_adjusted=np.array([np.full(n_pairs, 0.001), np.ones(n_pairs)]),
        n_scoring_users=np.full(shape, 60),
    )
    assert compared_systems.letters(0) == ("",) * n_systems
    assert compared_systems.letters(1) == ("a",) * n_systems
    table = compared_systems.tabulate(measure="P@5")
    assert "letters" not in table.headings
    assert [row[-1] for row in table.rows] == [str(rank) for rank in range(1, n_systems + 1)]
    first_cells = [str(row[1]) for row in compared_systems.tabulate().rows]
    assert first_cells[0] == ".900 1\n[.000, 1.000]"
    frame = compared_systems.frames()["systems"]
    assert frame.query("metric == 'P'")["groups"].tolist() == [""] * n_systems
    # Without groups, there are no bars.
    assert len(compared_systems.plot(label="P@5").lines) == 1


def test_in_columns_each_system_has_one_line_with_the_details_that_are_chosen() -> None:
    found = by_hand()
    assert found.tabulate(details="letters").headings == [
        "system",
        "P@5",
        "P@5, letters",
        "loss@5",
        "loss@5, letters",
    ]
    assert [*found.tabulate(details="letters").rows[0]] == ["c", ".600", "a", "-.600", "a"]
    assert [*found.tabulate(details="intervals").rows[0]][:4] == ["c", ".600", "a", "[.500, .800]"]
    assert [*found.tabulate(details="ranks").rows[0]][:4] == ["c", ".600", "a", "1–2"]
    everything = ["c", ".600", "a", "[.500, .800]", "1–2"]
    assert [*found.tabulate(details="all").rows[0]][:5] == everything
    assert [*found.tabulate(measure="P@5").rows[0]] == everything
    assert [*found.tabulate(measure="P@5", details="ranks").rows[0]] == ["c", ".600", "a", "1–2"]


def test_latex_has_means_and_letters_where_nothing_else_is_chosen() -> None:
    found = by_hand()
    assert found.to_latex() == found.to_latex(details="letters")
    assert r"c & .600 & \textsuperscript{a} & $-$.600 & \textsuperscript{a} \\" in found.to_latex()


def test_four_letters_in_a_row_are_a_range() -> None:
    assert shortened_letters("abcd") == "a–d"
    assert shortened_letters("bcdefgh") == "b–h"
    for text in ("", "a", "abc", "abce", "acde"):
        assert shortened_letters(text) == text
