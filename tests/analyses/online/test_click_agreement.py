import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy.stats import spearmanr

from analyses.online.click_agreement import ClickStudy, Settings, click_agreement, study_clicks
from analyses.online.experiments import Experiment, read_experiments
from analyses.online.rho_intervals import rho_intervals
from analyses.recall.parametrisations import name_recall
from analyses.shared.analysis import SettingError, StudyFacts
from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.measure import Measure, Measures
from analyses.shared.number_format import rounded
from analyses.shared.scores import Scores
from analyses.shared.work import ScoresWork
from runs import InputError, InputWarning
from tests.analyses.made import Totals
from tests.analyses.online.examples import experiment, random_experiment, write, write_grid
from tests.drawn import explained

COUNTED = "quantity value unit note"
BEST = "row datasets validation beta cutoff quantity statistic value note"
CROSSED = "datasets penalisation_comparison validation_comparison value unit note"
PRINTED = [
    ("4.3", "dataset system metric paper_metric validation beta cutoff value unit note", 50),
    ("4.4", f"dataset {COUNTED}", 10),
    ("4.5", BEST, 30),
    ("4.6", f"dataset spearman_interval {COUNTED}", 40),
    ("4.7", BEST, 30),
    ("4.8", f"dataset comparison_of_correlation {COUNTED}", 42),
    ("4.9", f"dataset comparison_of_correlation {COUNTED}", 42),
    ("4.10", CROSSED, 16),
    ("4.11", CROSSED, 16),
]


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> ClickStudy:
    """Two experiments, in which opposite betas agree with the rates."""
    experiments = read_experiments(*write_grid(tmp_path_factory.mktemp("grid")))
    return study_clicks(experiments, permutations=500, seed=1)


@pytest.fixture(scope="module")
def thesis() -> ClickStudy:
    """Five data sets of five models, as in the thesis, with errors; A, D and E are chosen."""
    rng = np.random.default_rng(5)
    sets = [random_experiment(rng, name=name) for name in "ABCDE"]
    return study_clicks(sets, permutations=99, seed=1, chosen=["A", "D", "E"])


def counts(frame: pd.DataFrame) -> list[int]:
    return frame.loc[frame["unit"] == "", "value"].tolist()


def rhos_of(study: ClickStudy) -> pd.DataFrame:
    """Give rhos by measure and data set."""
    rhos = study.tables["online_rhos"]
    wide = rhos.pivot(index="measure", columns="dataset", values="rho")
    return wide.loc[rhos["measure"].unique()]


def test_rhos_are_those_of_scipy() -> None:
    one = random_experiment(np.random.default_rng(5))
    expected = [spearmanr(values, one.rates).statistic for values in one.values]
    found = study_clicks([one], permutations=99, seed=1)
    np.testing.assert_allclose(rhos_of(found)["A"], expected, atol=1e-11)


def test_each_measure_keeps_its_p_values(grid: ClickStudy) -> None:
    frame = grid.frames()["online"].set_index("measure")
    for name in ("LOO(beta=1)@5", "nDCG@10", "AUC"):
        assert frame.loc[name, "p_adjusted"] == grid.best.p_adjusted[grid.best.measures.index(name)]
    row = frame.T["LOO(beta=0)@5"]
    assert (row["min"], row["mean"], row["max"]) == (-1.0, 0.0, 1.0)


def test_the_best_of_588_recalls_counts_588(thesis: ClickStudy) -> None:
    assert len(thesis.best.measures) == 588
    assert sum(counts(thesis.frames()["thesis2021-table4.6"])) == 5 * 588


def test_tables_have_the_numbers_of_a_count_by_hand(thesis: ClickStudy) -> None:
    frames = thesis.frames()
    rhos = frames["online_rhos"]
    cell = rhos.set_index(["dataset", "validation", "beta", "cutoff"])["rho"].to_dict()
    betas, cutoffs = sorted(rhos["beta"].unique()), sorted(rhos["cutoff"].unique())
    validation = {
        name: [
            np.sign(cell[name, "LOO", *at] - cell[name, "LLOO", *at])
            for at in product(betas, cutoffs)
        ]
        for name in "ABCDE"
    }
    beta = {
        name: [
            np.sign(cell[name, way, 0.0, k] - cell[name, way, b, k])
            for way, b, k in product(("LOO", "LLOO"), betas[1:], cutoffs)
        ]
        for name in "ABCDE"
    }
    for number, found in (("4.8", validation), ("4.9", beta)):
        groups = [[name] for name in "ABCDE"] + [["A", "D", "E"], [*"ABCDE"]]
        signs = [[sign for name in group for sign in found[name]] for group in groups]
        expected = [own.count(sign) for own in signs for sign in (1, 0, -1)]
        assert counts(frames[f"thesis2021-table{number}"]) == expected
    of_a = rhos_of(thesis)["A"]
    bins = [
        ((of_a > low) & (of_a <= high)).sum()
        for low, high in ((-2, -0.5), (-0.5, 0), (0, 0.5), (0.5, 1))
    ]
    assert counts(frames["thesis2021-table4.6"])[:4] == bins


def test_crossed_cells_add_up_to_both_comparisons(thesis: ClickStudy) -> None:
    frames = thesis.frames()
    crossed = frames["thesis2021-table4.11"].set_index(
        ["penalisation_comparison", "validation_comparison"]
    )["value"]
    beta = frames["thesis2021-table4.9"].query("dataset == 'A + D + E' and unit == '%'")
    assert crossed.xs("total", level=1).tolist()[:3] == pytest.approx(beta["value"].tolist())
    assert crossed["total", "total"] == 100


def test_counts_have_their_percentages(grid: ClickStudy) -> None:
    frames = grid.frames()
    for number in ("4.4", "4.6", "4.8", "4.9"):
        frame = frames[f"thesis2021-table{number}"]
        share = frame[frame["unit"] == "%"]["value"].to_numpy(dtype=float)
        total = frame[frame["unit"] == "%"]["note"].str.extract(r"(\d+)")[0].astype(int)
        assert counts(frame) == pytest.approx(share * total.to_numpy() / 100)
    assert counts(frames["thesis2021-table4.4"]) == [0, 0]


@pytest.mark.parametrize(("number", "columns", "n_rows"), PRINTED)
def test_tables_have_the_columns_and_rows_of_the_printed_ones(
    thesis: ClickStudy, number: str, columns: str, n_rows: int
) -> None:
    made = thesis.frames()[f"thesis2021-table{number}"]
    assert (made.columns.tolist(), len(made)) == (columns.split(), n_rows)


def test_undefined_rhos_are_in_no_cell() -> None:
    names = ["LOO(beta=0)@5", "LLOO(beta=0)@5", "LOO(beta=1)@5", "LLOO(beta=1)@5"]
    values = [[1, 2, 3], [1, 1, 1], [3, 2, 1], [1, 2, 3]]
    frames = study_clicks([experiment(values, [1, 2, 3], measures=names)], seed=1).frames()
    assert counts(frames["thesis2021-table4.8"]) == [0, 0, 1]
    assert counts(frames["thesis2021-table4.9"]) == [1, 0, 0]


def test_the_result_can_be_kept(thesis: ClickStudy, tmp_path: Path) -> None:
    (tmp_path / "found.npz").write_bytes(to_evidence(thesis))
    back = read_evidence(tmp_path / "found.npz", ClickStudy)
    assert to_evidence(back) == to_evidence(thesis)
    for name, frame in thesis.frames().items():
        assert back.frames()[name].to_csv() == frame.to_csv()


def interval(rate_errors: np.ndarray) -> list[float]:
    values, rates = np.array([[1.0, 3, 2, 5, 4, 7, 6, 8]]), np.arange(8.0)
    one = Experiment("w", tuple("abcdefgh"), ("m",), values, rates, rate_errors=rate_errors)
    found = study_clicks([one], seed=1).frames()["online_intervals"]
    return found[["low", "rho", "high"]].iloc[0].tolist()


def test_intervals_grow_with_the_noise() -> None:
    low, rho, high = interval(np.zeros(8))
    assert (low, high) == pytest.approx((rho, rho))
    small, large = (interval(np.full(8, error)) for error in (0.2, 9.0))
    assert large[0] < -0.5 < small[0] <= small[2]


def test_without_errors_of_the_rates_there_is_no_interval(grid: ClickStudy) -> None:
    assert "online_intervals" not in grid.frames()


@pytest.mark.validity
def test_intervals_cover_the_rho_without_noise() -> None:
    rng, covered = np.random.default_rng(2), []
    for _ in range(200):
        truth = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=10)
        seen = truth + 0.5 * rng.normal(size=truth.shape)
        one = Experiment(
            "w",
            tuple("abcdefghij"),
            ("m",),
            seen[None, :, 0],
            seen[:, 1],
            value_errors=np.full((1, 10), 0.5),
            rate_errors=np.full(10, 0.5),
        )
        low, high = rho_intervals(one, ["m"], seed=1)[:, 0]
        covered.append(low <= spearmanr(*truth.T).statistic <= high)
    assert np.mean(covered) > 0.92


# Numbers that are stated by hand


def of_two_experiments(**changes: Any) -> ClickStudy:
    """Four measures of four models, in two experiments; AUC and a recall are undefined in one."""
    names = ("P@5", "P@10", "AUC", "LOO(beta=0.5)@5", "LLOO(beta=1)@10")
    values = [[1, 2, 3, 4], [2, 1, 3, 4], [1, 1, 1, 1], [4, 3, 2, 1], [1, 3, 2, 4]]
    others = [[1, 2, 3, 4], [1, 2, 4, 3], [4, 3, 2, 1], [1, 1, 1, 1], [1, 2, 3, 4]]
    first = experiment(values, [1, 2, 3, 4], measures=names)
    second = experiment(others, [1, 2, 3, 4], measures=names, name="B", own="x")
    return study_clicks([first, second], permutations=99, seed=1, **changes)


def test_measures_are_ranked_by_their_mean_rho() -> None:
    """The rhos of a swap of two of four models are .8, and their tau-b is 2/3."""
    table = of_two_experiments().tables["online"].set_index("measure")
    assert table.index.tolist() == ["P@5", "LLOO(beta=1)@10", "P@10", "AUC", "LOO(beta=0.5)@5"]
    rows = table[["min", "mean", "max", "undefined", "tau_b"]]
    assert [*rows.loc["P@5"]] == [1, 1, 1, 0, 1]
    assert [*rows.loc["P@10"]] == pytest.approx([0.8, 0.8, 0.8, 0, 2 / 3])
    assert [*rows.loc["LLOO(beta=1)@10"]] == pytest.approx([0.8, 0.9, 1, 0, 5 / 6])
    assert [*rows.loc["AUC"].isna()] == [True, True, True, False, True]
    assert rows.loc["AUC", "undefined"] == 1
    assert table["rank"].tolist()[:3] == [1, 2, 3]
    assert table["rank"].isna().tolist() == [False, False, False, True, True]
    assert table.columns.tolist() == [
        *("validation", "beta", "cutoff", "weights", "min", "mean", "max", "undefined"),
        *("rank", "tau_b", "p_alone", "p_adjusted"),
    ]
    assert table["p_adjusted"].isna().tolist() == [False, False, False, True, True]


def test_the_table_of_rhos_has_those_of_each_experiment() -> None:
    rhos = of_two_experiments().tables["online_rhos"]
    assert rhos.index.tolist() == [*range(10)]
    row = rhos[(rhos.dataset == "B") & (rhos.measure == "P@10")].iloc[0]
    assert (row.models, row.rho) == (4, pytest.approx(0.8))
    assert row.tau_b == pytest.approx(2 / 3)
    recall = rhos[rhos.measure == "LLOO(beta=1)@10"].iloc[0]
    assert [recall.validation, recall.beta, recall.cutoff, recall.weights] == [
        *("LLOO", 1, 10, "uniform")
    ]


def test_chosen_experiments_rank_the_measures() -> None:
    table = of_two_experiments(chosen=["B"]).tables["online"].set_index("measure")
    assert [*table.loc["AUC", ["min", "mean", "max", "undefined"]]] == [-1, -1, -1, 0]
    assert table.loc["LLOO(beta=1)@10", "mean"] == 1


def test_the_short_table_has_at_most_ten_measures_with_a_p(thesis: ClickStudy) -> None:
    table = of_two_experiments().online()
    assert table.headings == ["measure", "min", "mean", "max", "tau_b", "p_alone", "p_adjusted"]
    assert [row[0] for row in table.rows] == ["P@5", "LLOO(beta=1)@10", "P@10"]
    assert len(thesis.online().rows) == 10


def with_errors(*names: str) -> ClickStudy:
    """Experiments of eight models whose rates have errors."""
    rng = np.random.default_rng(4)
    rates = np.arange(8.0)
    values = np.stack([rates + rng.normal(size=8), -rates])
    sets = [
        Experiment(
            name,
            tuple(f"{name}{n}" for n in range(8)),
            ("P@5", "P@10"),
            values,
            rates,
            rate_errors=np.full(8, 0.2),
        )
        for name in names
    ]
    return study_clicks(sets, permutations=99, seed=1)


@pytest.mark.slow
def test_intervals_of_the_best_are_in_the_findings() -> None:
    found = with_errors("A", "B")
    table = found.tables["online_intervals"]
    assert table.columns.tolist() == ["measure", "dataset", "rho", "low", "high"]
    assert table[["measure", "dataset"]].to_numpy().tolist() == [
        ["P@5", "A"], ["P@10", "A"], ["P@5", "B"], ["P@10", "B"]
    ]  # fmt: skip
    rho = found.tables["online_rhos"]["rho"][0]
    first, of_a, of_b = found.findings()
    assert first == found.best.finding()
    assert of_a.startswith(f"In A, P@5 has rho = {rounded(float(rho), 2)};")
    assert of_b.startswith("In B, P@5 has rho =")


@pytest.mark.slow
def test_the_caption_names_who_is_left_out() -> None:
    found = of_two_experiments(left_out=["d", "e"])
    assert found.caption().endswith("Left out, because they have no rate: d, e.")
    assert "Left out" not in of_two_experiments().caption()


@pytest.mark.slow
def test_panels_are_of_metrics_and_of_recalls_by_validation() -> None:
    assert of_two_experiments().panels == (
        "A, metrics", "A, LOO", "A, LLOO", "B, metrics", "B, LOO", "B, LLOO"
    )  # fmt: skip
    with pytest.raises(InputError, match="there is no panel 'C, LOO'; there are A, metrics"):
        of_two_experiments().plot(panel="C, LOO")
    with pytest.raises(InputError, match="there is no panel 'A, XLOO'"):
        of_two_experiments().plot(panel="A, XLOO")


def test_metrics_are_drawn_over_cutoffs_and_whole_runs_last() -> None:
    names = ("P@10", "P@5", "AP")
    one = experiment([[2, 1, 3, 4], [1, 2, 3, 4], [4, 3, 2, 1]], [1, 2, 3, 4], measures=names)
    ax = study_clicks([one], seed=1).plot(panel="A, metrics")
    places = {
        label.get_text(): x for x, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
    }
    assert [*places] == ["5", "10", "all"]
    lines = {str(line.get_label()): line for line in ax.lines}
    of_p = np.asarray(lines["P"].get_ydata(), dtype=np.float64)
    of_ap = np.asarray(lines["AP"].get_ydata(), dtype=np.float64)
    np.testing.assert_allclose(of_p, [1, 0.8, np.nan])
    np.testing.assert_allclose(of_ap, [np.nan, np.nan, -1])
    assert ax.get_ylim() == (-1.05, 1.05)
    assert "rho = 0" in explained(ax)
    (zero,) = (line for line in ax.lines if str(line.get_label()).startswith("_"))
    assert np.asarray(zero.get_ydata()).tolist() == [0, 0]


@pytest.mark.slow
def test_recalls_are_drawn_by_beta_and_cutoff() -> None:
    """Betas 0, .1 to 1 are eleven: every second is written."""
    names = [name_recall("LOO", n / 10, k) for n in range(11) for k in (5, 20)]
    values = np.tile([1.0, 2, 3, 4], (22, 1))
    values[3] = [4, 3, 2, 1]
    values[4] = 1
    one = experiment(values, [1, 2, 3, 4], measures=names)
    ax = study_clicks([one], seed=1).plot(panel="A, LOO")
    (image,) = ax.images
    cells: np.ndarray = np.ma.filled(np.ma.asarray(image.get_array()), np.nan)
    assert cells.shape == (2, 11)
    # Beta = .1 at cut-off 20, and beta = .2 at cut-off 5.
    assert cells[1, 1] == -1
    assert np.isnan(cells[0, 2])
    assert np.nansum(cells) == 20 - 1
    assert image.get_clim() == (-1, 1)
    assert image.origin == "lower"
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        "0",
        "0.2",
        "0.4",
        "0.6",
        "0.8",
        "1",
    ]
    assert ax.get_xticks().tolist() == [0, 2, 4, 6, 8, 10]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["5", "20"]
    assert "Grey cells" in explained(ax)
    few = study_clicks([experiment(values[:4], [1, 2, 3, 4], measures=names[:4])], seed=1)
    known = few.plot(panel="A, LOO")
    assert [label.get_text() for label in known.get_xticklabels()] == ["0", "0.1"]
    assert "Grey cells" not in explained(known)


def test_of_two_weights_the_first_is_drawn() -> None:
    names = ["LOO(beta=1)@5", "LOO(beta=1,weights='stratified')@5"]
    one = experiment([[1, 2, 3, 4], [4, 3, 2, 1]], [1, 2, 3, 4], measures=names)
    (image,) = study_clicks([one], seed=1).plot(panel="A, LOO").images
    assert np.asarray(image.get_array()).tolist() == [[1]]


RATES_OF_FOUR = "model,rate\na,0.1\nb,0.2\nc,0.3\nd,0.4\n"


def test_settings_refuse_rates_that_do_not_fit_and_name_who_is_left_out(tmp_path: Path) -> None:
    settings = Settings(rates=write(tmp_path, "rates.csv", RATES_OF_FOUR))
    assert (settings.over_time, settings.permutations) == ("thesis", 10_000)
    measures = Measures([Measure("P", 5)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settings.check(StudyFacts(tuple("abcd"), measures, has_training=True))
    with pytest.warns(InputWarning, match=r"\[analyses\.online\]: e, d have no rate; left out"):
        settings.check(StudyFacts(tuple("abce"), measures, has_training=True))
    with pytest.raises(SettingError, match="at least 3 systems"):
        settings.check(StudyFacts(tuple("abef"), measures, has_training=True))
    with pytest.raises(ValidationError):
        Settings(rates=settings.rates, permutations=98)
    assert Settings(rates=settings.rates, permutations=99).permutations == 99


def test_the_analysis_compares_the_systems_that_have_a_rate(tmp_path: Path) -> None:
    settings = Settings(rates=write(tmp_path, "rates.csv", RATES_OF_FOUR), permutations=99)
    users = np.array(["u1", "u2"])
    values = np.array([[[1.0, 2], [3, 4], [2, 3], [9, 9], [5, 6]]])
    scores = Scores(values, Measures([Measure("P", 5)]), tuple("abced"), users)
    progress = Totals()
    found = click_agreement(ScoresWork(scores, seed=1, progress=progress), settings)
    assert found.left_out == ("e",)
    assert found.tables["online_rhos"]["models"].tolist() == [4]
    # The means of a, b, c and d are 1.5, 3.5, 2.5 and 5.5.
    assert found.tables["online_rhos"]["rho"].tolist() == pytest.approx([0.8])
    assert progress.announced == progress.done == 1
