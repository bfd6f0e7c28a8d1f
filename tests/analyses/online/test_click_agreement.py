from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from analyses.online.click_agreement import ClickStudy, study_clicks
from analyses.online.experiments import Experiment, read_experiments
from analyses.online.rho_intervals import rho_intervals
from analyses.shared.evidence import read_evidence, to_evidence
from tests.analyses.online.examples import experiment, random_experiment, write_grid

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
