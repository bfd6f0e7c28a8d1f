from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analyses.discrimination import Discrimination, discriminate
from analyses.measure import Measure, Scores
from runs import InputError

MEASURES = (Measure("P", 5), Measure("nDCG", 5), Measure("P", 10), Measure("nDCG", 10))
SCALES = {Measure("P", 5): 5, Measure("P", 10): 10}


@pytest.fixture
def scores(rng: np.random.Generator) -> Scores:
    """Four measures of five systems, each a little better than the one before; 80 users."""
    values = rng.beta(0.5, 2.0, size=(4, 5, 80)) + 0.05 * np.arange(5)[:, np.newaxis]
    values[0] = np.round(values[0] * 5) / 5
    values[2] = np.round(values[2] * 10) / 10
    users = np.array([f"u{number}" for number in range(80)])
    return Scores(values, MEASURES, ("a", "b", "c", "d", "e"), users)


@pytest.fixture
def exact(scores: Scores) -> Discrimination:
    return discriminate(scores)


def test_the_table_of_pairs_has_one_row_per_measure_and_pair(exact: Discrimination) -> None:
    frame = exact.to_frame()
    assert frame.columns.tolist() == [
        "metric", "cutoff", "system_a", "system_b", "difference", "p", "method",
    ]  # fmt: skip
    assert len(frame) == 4 * 10
    assert frame.iloc[14][["metric", "cutoff", "system_a", "system_b"]].tolist() == [
        "nDCG", 5, "b", "c",
    ]  # fmt: skip


def test_differences_are_those_of_the_means(scores: Scores, exact: Discrimination) -> None:
    means = dict(zip(scores.systems, scores.means()[3], strict=True))
    row = exact.to_frame().iloc[-1]
    assert row.difference == means["d"] - means["e"]


def test_the_summary_names_every_convention(exact: Discrimination) -> None:
    summary = exact.summary()
    assert summary.columns.tolist() == [
        "metric", "cutoff", "dp", "dp_ordered", "significant_05", "median_p",
        "dp_mean", "significant_01",
    ]  # fmt: skip
    p = exact.to_frame().query("metric == 'nDCG' and cutoff == 10").p
    row = summary.iloc[3]
    assert row.dp == pytest.approx(p.sum())
    assert row.dp_ordered == pytest.approx(2 * p.sum())
    assert row.dp_mean == pytest.approx(p.mean())
    assert row.median_p == p.median()
    assert row.significant_05 == (p < 0.05).mean()
    assert row.significant_01 == (p < 0.01).mean()


def test_ties_count_with_a_declared_scale_as_without(scores: Scores) -> None:
    declared, found = discriminate(scores, scales=SCALES), discriminate(scores)
    np.testing.assert_array_equal(declared.p, found.p)


def test_monte_carlo_comes_near_the_exact_values(scores: Scores, exact: Discrimination) -> None:
    drawn = discriminate(scores, test="monte-carlo", permutations=4000, seed=2)
    assert np.abs(drawn.p - exact.p).max() < 5 * np.sqrt(0.25 / 4000)
    assert (drawn.methods == "monte-carlo").all()


@pytest.mark.parametrize("test", ["exact", "monte-carlo"])
def test_the_number_of_jobs_changes_no_bit(test: str, scores: Scores) -> None:
    one, two = (
        discriminate(scores, test=test, permutations=5000, n_jobs=n)  # type: ignore[arg-type]
        for n in (1, 2)
    )
    pd.testing.assert_frame_equal(one.to_frame(), two.to_frame(), check_exact=True)


def test_the_table_written_twice_has_the_same_bytes(scores: Scores, tmp_path: Path) -> None:
    for name in ("one.csv", "other.csv"):
        discriminate(scores).to_frame().drop(columns="method").to_csv(tmp_path / name, index=False)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()


def test_monte_carlo_signs_stay_with_the_users(scores: Scores) -> None:
    backwards = Scores(
        scores.values[:, :, ::-1], scores.measures, scores.systems, scores.users[::-1]
    )
    one, other = (discriminate(s, test="monte-carlo", permutations=99) for s in (scores, backwards))
    np.testing.assert_array_equal(one.p, other.p)


def test_what_no_exact_method_can_do_is_drawn_and_said() -> None:
    values = np.zeros((1, 3, 600))
    values[0, 1] = np.repeat([np.pi, -np.pi], [310, 290])
    values[0, 2] = np.random.default_rng(0).random(600)
    scores = Scores(
        values, (Measure("strange", 1),), ("a", "b", "c"), np.arange(600).astype(np.str_)
    )
    result = discriminate(scores, permutations=500, seed=8)
    assert result.methods[0].tolist() == ["monte-carlo", "bound", "exact-product"]
    drawn = discriminate(scores, test="monte-carlo", permutations=500, seed=8)
    assert result.p[0, 0] == drawn.p[0, 0]
    assert "1 of 3 (500 random sign flips" in result.caption()


def test_a_system_against_itself_has_p_one(scores: Scores) -> None:
    twice = Scores(scores.values[:, [0, 0]], scores.measures, ("a", "again"), scores.users)
    for test in ("exact", "monte-carlo"):
        assert (discriminate(twice, test=test, permutations=99).p == 1).all()


def test_more_users_discriminate_better(rng: np.random.Generator) -> None:
    values = rng.beta(0.5, 2.0, size=(1, 8, 800)) + 0.02 * np.arange(8)[:, np.newaxis]

    def dp(n_users: int) -> float:
        chosen = (rng.choice(800, n_users, replace=False) for _ in range(10))
        users = np.arange(n_users).astype(np.str_)
        systems = tuple("abcdefgh")
        return float(
            np.mean(
                [
                    discriminate(Scores(values[:, :, some], MEASURES[:1], systems, users)).dp
                    for some in chosen
                ]
            )
        )

    assert dp(100) > dp(300) > dp(800)


@pytest.mark.parametrize(("test", "total"), [("exact", 4), ("monte-carlo", 5000)])
def test_it_reports_all_that_is_done(test: str, total: int, scores: Scores) -> None:
    finished: list[int] = []
    discriminate(scores, test=test, permutations=5000, advance=finished.append)  # type: ignore[arg-type]
    assert sum(finished) == total


def test_one_system_has_no_pairs(scores: Scores) -> None:
    alone = Scores(scores.values[:, :1], scores.measures, ("a",), scores.users)
    with pytest.raises(InputError, match="at least two systems, got 1"):
        discriminate(alone)


def test_a_scale_must_fit(scores: Scores) -> None:
    with pytest.raises(InputError, match="nDCG@5 are not multiples of 1/5"):
        discriminate(scores, scales={Measure("nDCG", 5): 5})


def test_the_test_must_be_known(scores: Scores) -> None:
    with pytest.raises(InputError, match="'exact' or 'monte-carlo', got 'wilcoxon'"):
        discriminate(scores, test="wilcoxon")  # type: ignore[arg-type]


def test_there_must_be_permutations(scores: Scores) -> None:
    with pytest.raises(InputError, match="at least 1, got 0"):
        discriminate(scores, permutations=0)


@pytest.mark.parametrize("choice", [{}, {"metric": "P", "cutoff": 5}])
def test_a_plot_needs_one_of_metric_and_cutoff(
    choice: dict[str, int | str], exact: Discrimination
) -> None:
    with pytest.raises(InputError, match="either a `metric` or a `cutoff`"):
        exact.plot(**choice)  # type: ignore[arg-type]


def test_a_plot_needs_a_known_metric(exact: Discrimination) -> None:
    with pytest.raises(InputError, match="nothing was measured for AP"):
        exact.plot(metric="AP")


def test_a_metric_has_one_curve_per_cutoff(exact: Discrimination) -> None:
    labels = [line.get_label() for line in exact.plot(metric="nDCG").get_lines()[:2]]
    assert labels == ["@5", "@10"]


def test_a_cutoff_has_one_curve_per_metric(exact: Discrimination) -> None:
    labels = [str(line.get_label()) for line in exact.plot(cutoff=10).get_lines()[:2]]
    assert [label.split()[0] for label in labels] == ["P", "nDCG"]


def test_curves_fall(exact: Discrimination) -> None:
    curve = np.asarray(exact.plot(metric="P").get_lines()[0].get_ydata())
    np.testing.assert_array_equal(curve, -np.sort(-exact.p[0])[: len(curve)])


def test_the_plot_uses_the_axes_it_is_given(exact: Discrimination) -> None:
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert exact.plot(ax, cutoff=5) is ax


def test_the_caption_states_the_facts(scores: Scores) -> None:
    drawn = discriminate(scores, test="monte-carlo", permutations=1000, seed=7)
    caption = drawn.caption(cutoff=5)
    for fact in (
        "10 unordered pairs of 5 systems over 80 users",
        "by Monte-Carlo (1,000 random sign flips shared by all pairs, seed 7)",
        "sum of the p-values over unordered pairs",
        "every metric at cut-off 5",
    ):
        assert fact in caption


def test_the_caption_of_exact_values_mentions_no_draws(exact: Discrimination) -> None:
    assert "computed exactly" in exact.caption()
    assert "seed" not in exact.caption()
