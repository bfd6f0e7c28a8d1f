"""Groups of users: against computations group by group, and a reversal that is made."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from pydantic import ValidationError

from analyses.groups import LEVELS, QUANTITIES, Groups, Settings, groups
from analyses.intervals.resampling import random_blocks, resampled_users
from analyses.ordering import tau_b
from analyses.shared.analysis import SettingError
from analyses.shared.judgement_samples import sample_judgements
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.significance.paired_tests import t_test
from tests.drawn import points, segments

N_USERS, SYSTEMS = 80, ("a", "b", "c", "d")
MEASURES = Measures([Measure("P", 10), Measure("RR", 10)], reported=[Measure("P", 10)])


def some_work(values: np.ndarray, activity: np.ndarray) -> Any:
    """Work whose judgements do not matter: every sample scores as all of them do."""
    users = np.array([f"u{n:02}" for n in range(values.shape[2])])

    def rescore(kept: np.ndarray, *, blocks: np.ndarray) -> np.ndarray:
        sums = [values[:, :, blocks == block].sum(axis=2) for block in range(blocks.max() + 1)]
        return np.repeat(np.stack(sums, axis=1)[..., None], kept.shape[1], axis=3)

    return SimpleNamespace(
        scores=Scores(values, MEASURES, SYSTEMS, users),
        activity=activity,
        qrels=SimpleNamespace(items=np.arange(50)),
        rescorer=lambda n_samples: rescore,
        steps=lambda label, total, items: items,
        seed=3,
        unit="user",
    )


def random_values(seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    quality = np.array([0.2, 0.3, 0.35, 0.5])[None, :, None]
    return np.clip(quality + 0.3 * draw.normal(size=(2, 4, N_USERS)), 0, 1).round(2)


def test_every_number_is_that_of_the_group_alone() -> None:
    values, activity = random_values(1), np.arange(N_USERS) // 2
    found = groups(some_work(values, activity), Settings(samples=1, replicates=20))
    assert found.sizes == (20, 20, 20, 20)
    for group in range(4):
        own = values[:1, :, 20 * group : 20 * (group + 1)]
        means, power = own.mean(axis=2), t_test(own).sum()
        agreement = tau_b(means[:, None], values[:1].mean(axis=2)[:, None])[0, 0]
        by_name = dict(zip(QUANTITIES, found.values[:, group, 0, 0], strict=True))
        assert by_name["mean score"] == pytest.approx(means.mean())
        assert by_name["tau-b with all"] == pytest.approx(agreement)
        assert by_name["DP"] == pytest.approx(power)
        assert by_name["area"] == pytest.approx(1.0)
    assert len(LEVELS) == 4


def test_a_difference_that_is_there_is_found_and_one_that_is_not_is_not() -> None:
    values = random_values(2)
    values[:, :, 40:] /= 4
    found = groups(some_work(values, np.arange(N_USERS) // 20), Settings(samples=1))
    _, low, high = found.differences[:, 0, :, 0]
    apart = dict(zip(combinations(range(4), 2), (low > 0) | (high < 0), strict=True))
    assert apart[0, 2]
    assert apart[1, 3]
    assert not apart[0, 1]


def test_groups_are_resampled_apart_from_each_other() -> None:
    values = random_values(4)
    values[..., 20:] = np.tile(values[..., :20], 3)
    found = groups(some_work(values, np.arange(N_USERS) // 20), Settings(samples=1))
    gap, low, high = found.differences[:, 0, 0, 0]
    assert low < gap == 0 < high


def test_a_reversal_in_most_groups_is_named() -> None:
    values = np.zeros((2, 4, N_USERS))
    values[0, 0, :60], values[0, 1, :60] = 0.1, 0.2
    values[0, 0, 60:], values[0, 1, 60:] = 0.9, 0.1
    found = groups(some_work(values, np.arange(N_USERS) // 20), Settings(samples=1, replicates=20))
    assert found.reversals(0) == [("a", "b")]
    assert any("a and b" in finding for finding in found.findings())


def test_groups_are_read_from_a_table(tmp_path: Path) -> None:
    table = tmp_path / "groups.csv"
    lines = [f"{'often' if n < 60 else 'rarely'},u{n:02}" for n in range(N_USERS)]
    table.write_text("\n".join(["group,user", *lines]), encoding="utf-8")
    work = some_work(random_values(1), np.zeros(N_USERS))
    found = groups(work, Settings(users=table, samples=1, replicates=20))
    assert (found.groups, found.sizes) == (("often", "rarely"), (60, 20))


@pytest.mark.parametrize(
    ("lines", "finding"),
    [
        (["user,group", "u00,x"], "79 of 80 users have no group, such as u01"),
        (["who,group"], "the columns user and group are needed"),
        (["user,group", "u00,x", "u00,y"], "line 3: u00 is in two groups"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(
    tmp_path: Path, lines: list[str], finding: str
) -> None:
    table = tmp_path / "groups.csv"
    table.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ValueError, match=finding):
        groups(some_work(random_values(1), np.zeros(N_USERS)), Settings(users=table))


def test_one_group_is_refused() -> None:
    with pytest.raises(SettingError, match="two groups"):
        groups(some_work(random_values(1), np.zeros(N_USERS)), Settings())


def lossy_work(n_users: int = 20) -> tuple[Any, np.ndarray]:
    """Work in which each judgement is worth something: five items of each user."""
    worth = np.random.default_rng(8).random((2, 4, n_users, 5)).round(2)
    values = worth.sum(axis=3)
    work = some_work(values, np.arange(n_users))

    def rescore(kept: np.ndarray, *, blocks: np.ndarray) -> np.ndarray:
        of_users = np.einsum("msui,uik->msuk", worth, kept.reshape(n_users, 5, -1))
        sums = [of_users[:, :, blocks == block].sum(axis=2) for block in range(blocks.max() + 1)]
        return np.stack(sums, axis=1)

    work.qrels = SimpleNamespace(items=np.arange(5 * n_users))
    work.rescorer = lambda n_samples: rescore
    return work, worth


def two_groups(tmp_path: Path, n_users: int = 20) -> Path:
    table = tmp_path / "halves.csv"
    lines = [f"u{n:02},{'first' if n < n_users // 2 else 'second'}" for n in range(n_users)]
    table.write_text("\n".join(["user,group", *lines]), encoding="utf-8")
    return table


def test_the_area_is_the_mean_tau_of_the_samples_within_the_group(tmp_path: Path) -> None:
    work, worth = lossy_work()
    settings = Settings(users=two_groups(tmp_path), samples=3, replicates=20)
    found = groups(work, settings)
    for number, members in enumerate((slice(0, 10), slice(10, 20))):
        taus = []
        for level in (0.8, 0.6, 0.4, 0.2):
            kept = sample_judgements(100, level=level, n_samples=3, seed=3).reshape(20, 5, 3)
            lost = np.einsum("sui,uik->ks", worth[0, :, members], kept[members])
            full = worth[0, :, members].sum(axis=(1, 2))
            taus.append(tau_b(lost, full[None]))
        assert found.values[3, number, 0, 0] == pytest.approx(np.mean(taus))


def test_replicates_are_the_numbers_of_resampled_members(tmp_path: Path) -> None:
    work, _ = lossy_work()
    found = groups(work, Settings(users=two_groups(tmp_path), samples=1, replicates=20))
    values = work.scores.values[:1]
    for number, members in enumerate((np.arange(10), np.arange(10, 20))):
        weights = resampled_users(0, 20, n_users=10, seed=3 + number).astype(int)
        for replicate in (0, 7, 19):
            drawn = values[:, :, np.repeat(members, weights[replicate])]
            means = drawn.mean(axis=2)
            tau = tau_b(means[:, None], values.mean(axis=2)[:, None])[0, 0]
            expected = [means.mean(), tau, t_test(drawn).sum()]
            assert found.values[:3, number, 0, 1 + replicate] == pytest.approx(expected)
            assert found.means[number, 0, :, 1 + replicate] == pytest.approx(means[0])


def test_replicates_of_areas_are_of_resampled_members(tmp_path: Path) -> None:
    """Ten members are a block each, in a random order."""
    work, worth = lossy_work()
    found = groups(work, Settings(users=two_groups(tmp_path), samples=1, replicates=20))
    for number, members in enumerate((slice(0, 10), slice(10, 20))):
        blocks = random_blocks(10, n_blocks=20, seed=3 + number)
        weights = resampled_users(0, 20, n_users=10, seed=3 + number)
        for replicate in (0, 19):
            own = weights[replicate][blocks]
            taus = []
            for level in (0.8, 0.6, 0.4, 0.2):
                kept = sample_judgements(100, level=level, n_samples=1, seed=3).reshape(20, 5)
                lost = np.einsum("u,sui,ui->s", own, worth[0, :, members], kept[members])
                full = np.einsum("u,sui->s", own, worth[0, :, members])
                taus.append(float(tau_b(lost, full)))
            assert found.values[3, number, 0, 1 + replicate] == pytest.approx(np.mean(taus))


def test_groups_by_activity_are_its_quartiles() -> None:
    """Of 48 users with 0, 1, ... ratings quarters end at 11.75, 23.5 and 35.25."""
    values = random_values(1)[..., :48]
    found = groups(some_work(values, np.arange(48)), Settings(samples=1, replicates=20))
    assert found.groups == ("0 to 11", "12 to 23", "24 to 35", "36 to 47")
    assert found.sizes == (12, 12, 12, 12)
    # Who is at the end of a quarter is in it: quarters end at 2, 3 and 4.
    counts = np.repeat([1, 2, 3, 4], [10, 20, 20, 30])
    found = groups(some_work(random_values(1), counts), Settings(samples=1, replicates=20))
    assert found.groups == ("1 to 2", "3 to 3", "4 to 4")
    assert found.sizes == (30, 20, 30)
    counts = np.repeat([1, 2], [30, 50])
    found = groups(some_work(random_values(1), counts), Settings(samples=1, replicates=20))
    assert (found.groups, found.sizes) == (("1 to 1", "2 to 2"), (30, 50))


@pytest.mark.parametrize(("n_first", "fits"), [(10, True), (9, False)])
def test_a_group_has_ten_users_or_more(n_first: int, fits: bool, tmp_path: Path) -> None:
    table = tmp_path / "groups.csv"
    lines = [f"u{n:02},{'few' if n < n_first else 'many'}" for n in range(N_USERS)]
    table.write_text("\n".join(["user,group", *lines]), encoding="utf-8")
    work = some_work(random_values(1), np.zeros(N_USERS))
    settings = Settings(users=table, samples=1, replicates=20)
    if fits:
        assert groups(work, settings).sizes == (10, 70)
    else:
        with pytest.raises(SettingError, match="there are 2, and the smallest has 9"):
            groups(work, settings)


def by_hand() -> Groups:
    """Two groups, one measure; three replicates lie evenly about each value."""
    values = np.array([[0.5, 0.3], [0.6, 0.9], [4.0, 1.0], [0.7, 0.2]])[:, :, None]
    steps = np.array([0.0, -1, 0, 1])
    spread = np.array([0.01, 0.02, 0.0, 0.03])[:, None, None, None]
    replicates = values[..., None] + spread * steps
    replicates[2] = values[2, ..., None] * np.exp(0.1 * steps)
    means = np.array([[0.1, 0.4], [0.3, 0.2]])[:, None, :, None] + 0.02 * steps
    return Groups(
        measures=Measures([Measure("P", 10)]),
        systems=("a", "b"),
        groups=("few", "many"),
        sizes=(12, 30),
        values=replicates,
        means=means,
        everyone=np.array([[0.3, 0.2]]),
    )


Z = 1.959964


def test_limits_are_on_the_scale_of_each_quantity() -> None:
    frame = by_hand().frame()
    assert frame["quantity"].tolist() == [*np.repeat(QUANTITIES, 2)]
    assert frame["users"].tolist() == [12, 30] * 4
    limits: Any = frame.set_index(["quantity", "group"])[["value", "low", "high"]]
    mean, dp = limits.loc["mean score", "few"], limits.loc["DP", "few"]
    assert [*mean] == pytest.approx([0.5, 0.5 - 0.01 * Z, 0.5 + 0.01 * Z], abs=1e-6)
    assert [*dp] == pytest.approx([4, 4 * np.exp(-0.1 * Z), 4 * np.exp(0.1 * Z)], abs=1e-5)
    for quantity, value, step, wider in (
        ("tau-b with all", 0.6, 0.02, 1.1),
        ("area", 0.7, 0.03, 0.92),
    ):
        angles = np.arcsin(value + step * np.array([-1, 0, 1]))
        reach = Z * wider * np.std(angles, ddof=1)
        expected = [value, np.sin(np.arcsin(value) - reach), np.sin(np.arcsin(value) + reach)]
        assert [*limits.loc[quantity, "few"]] == pytest.approx(expected, abs=1e-6)


def test_differences_are_of_the_first_group_less_the_second() -> None:
    """The same replicates of both leave no deviation; where one is twice as wide, its own."""
    found = by_hand()
    frame = found.frames()["group_differences"]
    row = frame[frame["quantity"] == "mean score"].iloc[0]
    assert row[["first", "second"]].tolist() == ["few", "many"]
    assert row[["difference", "low", "high"]].tolist() == pytest.approx([0.2, 0.2, 0.2])
    values = found.values.copy()
    values[0, 0, 0, 1:] = 0.5 + np.array([-0.02, 0, 0.02])
    _, low, high = replace(found, values=values).differences[:, 0, 0, 0]
    assert (low, high) == pytest.approx((0.2 - 0.01 * Z, 0.2 + 0.01 * Z), abs=1e-6)


def test_means_of_systems_have_percentiles_over_the_replicates() -> None:
    frame = by_hand().frames()["group_means"].set_index(["group", "system"])
    row: Any = frame.loc[("few", "b"), ["mean", "low", "high"]]
    # Of .38, .4 and .42 the quantile 2.5 % is .05 of the way to the second.
    assert [*row] == pytest.approx([0.4, 0.381, 0.419])


@pytest.mark.parametrize(("third", "reversed_pairs"), [(0.1, []), (-0.1, [("a", "b")])])
def test_a_reversal_is_in_more_than_half_of_the_groups(
    third: float, reversed_pairs: list[tuple[str, str]]
) -> None:
    """Over all a is better; it is worse in one group of two, or in two of three."""
    found = by_hand()
    assert found.reversals(0) == []
    extra = np.array([0.5 + third, 0.5])[None, None, :, None] * np.ones((1, 1, 2, 4))
    three = replace(found, means=np.concatenate([found.means, extra]))
    assert three.reversals(0) == reversed_pairs
    tied = replace(three, everyone=np.array([[0.2, 0.2 + 1e-14]]))
    assert tied.reversals(0) == []


def test_findings_count_the_pairs_of_groups_that_differ() -> None:
    found = by_hand()
    sentences = found.findings()
    assert any(
        "Of 1 pair of groups, the mean score differs" in one and "1 under P@10" in one
        for one in sentences
    )
    values = found.values.copy()
    values[0, 1] = values[0, 0]
    rest = replace(found, values=values).findings()
    assert not any("mean score" in sentence for sentence in rest)


def test_the_figure_has_a_point_with_its_limits_for_each_group() -> None:
    found = by_hand()
    ax = found.plot(aspect="DP")
    assert [points(line)[0, 0] for line in ax.lines] == [4.0, 1.0]
    ends = [segments(ax, group)[0, :, 0].tolist() for group in (0, 1)]
    _, low, high = found.limits[:, 2, :, 0]
    assert ends == [[low[0], high[0]], [low[1], high[1]]]
    places = [points(line)[0, 1] for line in ax.lines]
    assert places == pytest.approx([0.075, -0.075])


def test_limits_of_differences_hold_for_all_pairs_of_groups_at_once() -> None:
    """Of three groups that vary alike, by Tukey: the studentized range, 3.314, over sqrt(2)."""
    found = by_hand()
    noise = np.random.default_rng(1).normal(size=(4, 3, 1, 4001))
    noise[..., 0] = 0
    three = replace(found, groups=("few", "some", "many"), sizes=(12, 20, 30), values=1 + noise)
    _, low, high = three.differences[:, 0, :, 0]
    assert (high - low) / 2 == pytest.approx(np.full(3, np.sqrt(2) * 3.314 / np.sqrt(2)), rel=0.05)
    deviations = np.std([noise[0, i] - noise[0, j] for i, j in ((0, 1), (0, 2), (1, 2))], axis=-1)
    reaches = (high - low) / 2 / deviations[:, 0]
    assert np.ptp(reaches) == pytest.approx(0, abs=0.01)


def test_settings_have_their_defaults_and_bounds() -> None:
    settings = Settings()
    assert (settings.users, settings.samples, settings.replicates) == ("activity", 20, 400)
    Settings(samples=1, replicates=20)
    for refused in ({"samples": 0}, {"replicates": 19}):
        with pytest.raises(ValidationError):
            Settings.model_validate(refused)


def test_the_table_has_a_row_for_each_measure_and_group() -> None:
    table = by_hand().table()
    assert table.headings == ["measure", "group", "users", *QUANTITIES]
    rows = [[*row] for row in table.rows]
    assert [row[:3] for row in rows] == [["P@10", "few", 12], ["P@10", "many", 30]]
    # The limits are .5 less and plus 1.96 times .01, and 1 times e to the power of .196.
    assert rows[0][3] == ".500 [.480, .520]"
    assert rows[1][5] == "1.00 [.82, 1.22]"


def test_the_caption_has_the_sizes_of_the_groups() -> None:
    assert by_hand().caption().startswith("2 systems in groups of users: few (12) and many (30).")
    assert "20 to 80 % of the judgements" in by_hand().caption()


def test_measures_have_rows_and_groups_a_legend_beside_the_mean() -> None:
    two = by_hand()
    doubled = replace(
        two,
        measures=Measures([Measure("P", 10), Measure("RR", 10)]),
        values=np.concatenate([two.values, two.values / 2], axis=2),
    )
    ax = doubled.plot()
    few, many = (points(line) for line in ax.lines)
    np.testing.assert_allclose(few, [[0.5, 1.075], [0.25, 0.075]])
    np.testing.assert_allclose(many, [[0.3, 0.925], [0.15, -0.075]])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["P@10", "RR@10"]
    assert ax.get_yticks().tolist() == [1, 0]
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["few", "many"]
    assert legend.get_title().get_text() == "users"
    assert two.plot(aspect="DP").get_legend() is None
    colours = [to_hex(line.get_color()) for line in ax.lines]
    assert colours[0] != colours[1]
    assert [to_hex(np.asarray(each.get_edgecolor())[0]) for each in ax.collections] == colours


def test_groups_of_three_or_more_differ_in_pairs() -> None:
    found = by_hand()
    values = np.concatenate([found.values, found.values[:, :1] + 0.001], axis=1)
    three = replace(found, groups=("few", "many", "some"), sizes=(12, 30, 20), values=values)
    assert any("Of 3 pairs of groups" in one for one in three.findings())


def test_pairs_of_systems_are_tested_alike_however_many_at_a_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    work, _ = lossy_work()
    settings = Settings(users=two_groups(tmp_path), samples=1, replicates=20)
    whole = groups(work, settings).values
    monkeypatch.setattr("analyses.groups.NUMBERS_AT_ONCE", 1)
    np.testing.assert_allclose(groups(work, settings).values, whole)


def test_a_table_needs_both_columns_and_a_line_of_each_width(tmp_path: Path) -> None:
    table = tmp_path / "groups.csv"
    work = some_work(random_values(1), np.zeros(N_USERS))
    for text, finding in (
        ("user,team\nu00,x\n", "line 1: the columns user and group are needed, found"),
        ("", "line 1: the columns user and group are needed, found"),
        ("user,group\nu00\n", "line 2: 2 fields expected"),
    ):
        table.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=finding):
            groups(work, Settings(users=table))
