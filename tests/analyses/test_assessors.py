"""Assessors: kappa against scikit-learn, pairs counted one by one, and a favoured system."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats

from analyses.assessors import AGREEMENTS, Assessors, Settings, assessors, kappa
from analyses.intervals.resampling import resampled_users
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import Truth
from analyses.significance.paired_tests import t_test
from runs import InputError
from runs.shared.progress import SilentProgress
from tests.drawn import points, segments

P = Measure("P", 10)
MEASURES = Measures([P], reported=[P])
SYSTEMS = ("a", "b", "c", "d")
N_USERS = 60


def some_scores(seed: int, *, favour: float = 0.0) -> Scores:
    draw = np.random.default_rng(seed)
    values = np.clip(
        np.array([0.3, 0.33, 0.5, 0.52])[None, :, None] + 0.2 * draw.normal(size=(1, 4, N_USERS)),
        0,
        1,
    )
    values[0, 1] += favour
    return Scores(
        values.round(3), MEASURES, SYSTEMS, np.array([f"u{n:02}" for n in range(N_USERS)])
    )


def some_work(seed: int, *, favour: float = 0.0, judged: Any = None) -> Any:
    draw = np.random.default_rng(seed)
    user, first = np.sort(draw.integers(0, N_USERS, 400)), draw.integers(0, 3, 400)
    second = np.where(draw.random(400) < 0.7, first, draw.integers(0, 3, 400))
    return SimpleNamespace(
        scores=some_scores(seed, favour=favour),
        truth=Truth(some_scores(seed), (P,), "of an expert"),
        judged_twice=(user, first, second) if judged is None else judged,
        qrels=SimpleNamespace(relevance_level=1),
        seed=1,
        n_jobs=1,
        unit="user",
        progress=SilentProgress(),
    )


def test_kappa_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    work = some_work(1)
    _, first, second = work.judged_twice
    found = assessors(work, Settings(test="t", replicates=20)).kappas()
    assert found["all grades"].value == pytest.approx(metrics.cohen_kappa_score(first, second))
    relevant = metrics.cohen_kappa_score(first >= 1, second >= 1)
    assert found["relevance"].value == pytest.approx(relevant)
    assert found["grade 2"].value == pytest.approx(
        metrics.cohen_kappa_score(first == 2, second == 2)
    )


def test_kappa_is_unknown_where_there_is_one_grade() -> None:
    assert np.isnan(kappa(np.array([[5.0, 0.0], [0.0, 0.0]])))


def test_pairs_are_counted_by_order_and_significance() -> None:
    work = some_work(2)
    work.truth = Truth(some_scores(3), (P,), "of an expert")
    found = assessors(work, Settings(test="t", replicates=20))
    mine, theirs = work.scores.values, work.truth.scores.values
    p, true_p = t_test(mine)[0], t_test(theirs)[0]
    counts = dict.fromkeys(AGREEMENTS, 0)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for n, (i, j) in enumerate(pairs):
        same = (mine[0, i] - mine[0, j]).mean() * (theirs[0, i] - theirs[0, j]).mean() > 0
        kind = ("passive", "mixed", "active")[(p[n] <= 0.05) + int(true_p[n] <= 0.05)]
        counts[f"{kind} {'agreement' if same else 'disagreement'}"] += 1
    assert found.agreement[0].tolist() == list(counts.values())


def test_a_pair_that_ties_by_one_assessor_is_no_disagreement() -> None:
    work = some_work(2)
    work.scores.values[0, 1] = work.scores.values[0, 0]
    found = assessors(work, Settings(test="t", replicates=20))
    assert found.agreement[0, 1::2].sum() == 0
    assert found.agreement[0].sum() == 6


def test_the_top_systems_are_those_of_the_second_assessor() -> None:
    work = some_work(5)
    # By the second, d and c are best in this order; the first turns a and b round.
    work.truth.scores.values[0] = work.scores.values[0] = np.arange(4.0)[:, None] / 4
    work.scores.values[0, :2] = work.scores.values[0, [1, 0]]
    found = assessors(work, Settings(test="t", replicates=20, top=(2,)))
    assert found.correlations()["top 2"][0] == 1
    assert found.correlations()["all systems"][0] < 1


def favoured(found: Assessors) -> list[str]:
    return [finding for finding in found.findings() if "favours" in finding]


def test_a_favoured_system_is_named_and_an_unbiased_assessor_is_not_blamed() -> None:
    (sentence,) = favoured(assessors(some_work(4, favour=0.2), Settings(test="t", replicates=20)))
    assert "favours b:" in sentence
    assert favoured(assessors(some_work(4), Settings(test="t", replicates=20))) == []


def test_assessors_without_an_item_in_common_are_refused() -> None:
    with pytest.raises(InputError, match="no item was judged by both"):
        assessors(some_work(1, judged=(np.zeros(0, dtype=int),) * 3), Settings(replicates=20))


def test_kappa_is_chance_corrected_and_can_be_negative() -> None:
    """Of 50 items .7 agree, .5 by chance; all disagree, and .5 by chance; all agree."""
    tables = np.array([[[20, 5], [10, 15]], [[0, 25], [25, 0]], [[10, 0], [0, 40]]])
    assert kappa(tables.astype(float)).tolist() == pytest.approx([0.4, -1.0, 1.0])
    # By rows of 3 and 7, columns of 4 and 6: (.9 - .54) / .46.
    assert kappa(np.array([[3.0, 0.0], [1.0, 6.0]])) == pytest.approx(0.36 / 0.46)


def by_hand() -> Assessors:
    """Two measures of three systems, by grades 0, 1 and 2; replicates of the table are known."""
    table = np.array([[10.0, 2, 0], [1, 5, 2], [0, 1, 9]])
    replicates = [np.diag([10.0, 10, 10]), np.full((3, 3), 5.0), table]
    return Assessors(
        measures=Measures([P, Measure("AP", 10)]),
        systems=("a", "b", "c"),
        grades=(0, 1, 2),
        level=1,
        tables=np.stack([table, *replicates]),
        measured=np.array([[0.1, 0.3, 0.2], [0.1, 0.2, 0.3]]),
        true=np.array([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]]),
        agreement=np.array([[1, 1, 0, 0, 1, 0], [2, 0, 1, 0, 0, 0]]),
        bias=np.array(
            [
                [[0.0, 0.1, -0.1], [0.3, 0.3, 0.6]],
                [[-0.05, 0.0, -0.2], [0.2, 0.2, 0.41]],
                [[0.05, 0.2, 0.0], [0.4, 0.4, 0.7]],
            ]
        ),
        top=(2,),
        n_users=40,
        alpha=0.05,
    )


def test_kappas_of_relevance_and_of_single_grades_are_of_joined_tables() -> None:
    found = by_hand().kappas()
    assert [*found] == ["all grades", "relevance", "grade 0", "grade 1", "grade 2"]
    expected = {
        "all grades": kappa(np.array([[10.0, 2, 0], [1, 5, 2], [0, 1, 9]])),
        "relevance": kappa(np.array([[10.0, 2], [1, 17]])),
        "grade 0": kappa(np.array([[17.0, 1], [2, 10]])),
        "grade 1": kappa(np.array([[19.0, 3], [3, 5]])),
        "grade 2": kappa(np.array([[18.0, 2], [1, 9]])),
    }
    assert {name: one.value for name, one in found.items()} == pytest.approx(
        {name: float(value) for name, value in expected.items()}
    )


def test_limits_of_kappa_are_percentiles_over_the_replicates() -> None:
    """Kappas are 1, 0 and that of the table: the outer .025 are .05 of the way to the middle."""
    value, low, high = (
        getattr(by_hand().kappas()["all grades"], e) for e in ("value", "low", "high")
    )
    assert low == pytest.approx(0.05 * value)
    assert high == pytest.approx(1 - 0.05 * (1 - value))
    row = by_hand().frames()["assessor_kappas"].iloc[0]
    assert row.tolist() == ["all grades", value, low, high]


def test_tables_of_replicates_have_the_items_of_the_users_who_are_drawn() -> None:
    """One user has three items of agreement, the other one of disagreement."""
    user = np.array([3, 3, 3, 8])
    work = some_work(1, judged=(user, np.array([0, 1, 1, 0]), np.array([0, 1, 1, 1])))
    found = assessors(work, Settings(test="t", replicates=25))
    assert found.tables[0].tolist() == [[1, 1], [0, 2]]
    weights = resampled_users(0, 25, n_users=2, seed=1)
    expected = [[[w[0], w[1]], [0, 2 * w[0]]] for w in weights.tolist()]
    assert found.tables[1:].tolist() == expected


def test_correlations_are_of_all_systems_and_of_the_best_by_the_second_assessor() -> None:
    found = by_hand().correlations()
    assert found["all systems"][0].tolist() == pytest.approx([1 / 3, 1])
    # The first assessor's best, b, is second by the other: of two below it one is right.
    assert found["all systems"][1].tolist() == pytest.approx([2 * (0 / 1 + 2 / 2) / 2 - 1, 1])
    assert found["top 2"][0].tolist() == [-1, 1]
    frame = by_hand().frame()
    assert frame[["tau_all", "tau_top_2"]].to_numpy().tolist() == pytest.approx(
        np.array([[1 / 3, -1], [1, 1]])
    )
    assert frame["tau_ap_top_2"].tolist() == [-1, 1]


def test_as_many_top_systems_as_there_are_systems_are_all() -> None:
    found = assessors(some_work(1), Settings(test="t", replicates=20, top=(3, 4, 5)))
    assert found.top == (3,)
    assert [*found.correlations()] == ["top 3", "all systems"]


def test_the_bias_is_a_mean_difference_with_students_limits_over_the_users_of_both() -> None:
    work, truth = some_work(6), some_scores(7)
    fewer = Scores(truth.values[..., 10:], MEASURES, SYSTEMS, truth.users[10:])
    work.truth = Truth(fewer, (P,), "of an expert")
    found = assessors(work, Settings(test="t", replicates=20))
    gaps = work.scores.values[0][:, 10:] - fewer.values[0]
    assert found.n_users == 50
    means, errors = gaps.mean(axis=1), stats.sem(gaps, axis=1)
    low, high = stats.t.interval(0.95, 49, means, errors)
    np.testing.assert_allclose(found.bias[:, 0], [means, low, high])
    frame = found.frames()["assessor_bias"]
    assert frame["first"].tolist() == pytest.approx(work.scores.values[0].mean(axis=1).tolist())
    assert frame["second"].tolist() == pytest.approx(fewer.values[0].mean(axis=1).tolist())


@pytest.mark.parametrize(("alpha", "kinds"), [(0.5, 0), (0.49, 4)])
def test_a_p_of_alpha_itself_is_significant(alpha: float, kinds: int) -> None:
    """Two users who agree have p = .5 by the exact permutation test, of every pair."""
    values = np.tile(np.arange(4.0)[None, :, None] / 4, (1, 1, 2))
    scores = Scores(values, MEASURES, SYSTEMS, np.array(["u0", "u1"]))
    work = some_work(1, judged=(np.zeros(1, int), np.zeros(1, int), np.zeros(1, int)))
    work.scores, work.truth, work.scales = scores, Truth(scores, (P,), "of an expert"), {}
    found = assessors(work, Settings(replicates=20, alpha=alpha))
    assert found.agreement[0].tolist() == [6 * (kind == kinds) for kind in range(6)]


def test_findings_count_opposite_differences_and_name_who_is_favoured_above_the_mean() -> None:
    agreed, opposite, favoured_system = by_hand().findings()
    assert "relevance of 30 items" in agreed
    assert "1 of 3 under P@10" in opposite
    assert "AP" not in opposite
    # The limit of c, .41, is above the mean bias of AP, .4; that of b, 0, is not above 0, of P.
    assert "Under AP@10, the first assessor favours c:" in favoured_system
    mean = float(favoured_system.split()[-1].rstrip("."))
    assert mean == 0.4


def test_tables_and_the_figure_have_the_numbers() -> None:
    found = by_hand()
    assert [[*row] for row in found.confusion().rows] == [[0, 10, 2, 0], [1, 1, 5, 2], [2, 0, 1, 9]]
    rows = [[*row] for row in found.agreement_on_systems().rows]
    assert rows[0][:7] == ["P@10", 1, 1, 0, 0, 1, 0]
    assert rows[0][7:] == pytest.approx([-1, 1 / 3])
    ax = found.plot(label="AP@10")
    mean, systems = map(points, ax.lines)
    assert mean[:, 0].tolist() == pytest.approx([0.4, 0.4])
    # Of equal systems the first is lower; c is on top.
    assert systems.tolist() == [[0.3, 0], [0.3, 1], [0.6, 2]]
    assert segments(ax)[:, :, 0].tolist() == [[0.2, 0.4], [0.2, 0.4], [0.41, 0.7]]
    grades = found.frames()["assessor_grades"].set_index(["first", "second"])["items"]
    assert (grades[0, 1], grades[1, 0]) == (2, 1)


def test_the_walk_of_tau_ap_is_down_the_order_of_the_first_assessor() -> None:
    """By the first a, c, d, b; by the second b, a, c, d: 1/1, 2/2 and 0/3 above are right."""
    means = np.array([[0.4, 0.1, 0.3, 0.2]]), np.array([[0.3, 0.4, 0.2, 0.1]])
    measures = Measures([P])
    found = replace(
        by_hand(), measures=measures, systems=SYSTEMS, measured=means[0], true=means[1], top=(2,)
    )
    _, tau_ap = found.correlations()["all systems"]
    assert tau_ap == pytest.approx([2 / 3 * (1 + 1 + 0) - 1])
    # The best two of the second are b and a, which the first has the other way round.
    tau, _ = found.correlations()["top 2"]
    assert tau.tolist() == [-1]
    # The best two of the first, a and c, would agree.


def test_lists_that_differ_between_the_assessors_are_a_caution() -> None:
    assert list(by_hand().cautions()) == []
    (caution,) = replace(by_hand(), condensed=True).cautions()
    assert "lists of judged items alone" in caution


def test_settings_have_their_defaults_and_bounds() -> None:
    settings = Settings()
    assert (settings.top, settings.replicates) == ((5, 10), 1000)
    Settings(replicates=20)
    with pytest.raises(ValidationError):
        Settings(replicates=19)


def test_the_table_of_kappas_has_each_with_its_interval() -> None:
    table = by_hand().agreement_on_items()
    kappas = by_hand().kappas()
    assert table.headings == ["of", "kappa", "95 %"]
    assert [row[0] for row in table.rows] == [*kappas]
    assert [row[1] for row in table.rows] == [one.value for one in kappas.values()]
    assert [row[2] for row in table.rows] == [one.interval for one in kappas.values()]
    assert table.decimals == by_hand().agreement_on_systems().decimals == 2


def test_the_caption_has_the_level_of_significance() -> None:
    assert "(p ≤ 0.05)" in by_hand().caption()
