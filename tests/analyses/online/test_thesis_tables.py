"""Tables of the thesis, of which every number is stated."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest

from analyses.online.thesis_tables import frame_of, label_measures, thesis_table, thesis_tables
from analyses.shared.result import Result

NAMES = [
    f"{side}(beta={beta})@{cutoff}"
    for side in ("LOO", "LLOO")
    for beta in ("0", "0.5", "1")
    for cutoff in (5, 10)
]


def labelled(dataset: str, column: str, numbers: list[Any], **labels: Any) -> pd.DataFrame:
    return label_measures(NAMES).assign(dataset=dataset, **labels, **{column: numbers})


def rhos_of(dataset: str, loo: list[Any], lloo: list[Any]) -> pd.DataFrame:
    """Rhos by beta 0, .5 and 1, and within a beta by cut-off 5 and 10."""
    return labelled(dataset, "rho", [*loo, *lloo])


A = rhos_of("A", [0.5, -1.0, 0.4, 0.0, 0.3, -0.5], [0.5, 0.0, 0.6, 0.2, 0.3, None])
B = rhos_of("B", [0.1, 0.1, 0.2, 0.0, 0.9, 0.1], [0.1, 0.2, 0.2, 1.0, 0.8, 0.1])
VALUES = pd.concat(
    [
        labelled("A", "value", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6] * 2, system="x"),
        labelled("A", "value", [0.2] * 6 + [0.1, 0.2, 0.3, 0.1, 0.15, 0.1], system="y"),
    ],
    ignore_index=True,
)


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    found = thesis_tables(VALUES, pd.concat([A, B], ignore_index=True), chosen=["B"])
    return {name.removeprefix("thesis2021-table"): frame for name, frame in found.items()}


def counts(frame: pd.DataFrame, dataset: str) -> list[Any]:
    own = frame[(frame["dataset"] == dataset) & (frame["unit"] == "")]
    return own["value"].tolist()


def shares(frame: pd.DataFrame, dataset: str) -> list[float]:
    own = frame[(frame["dataset"] == dataset) & (frame["unit"] == "%")]
    return [float(value) for value in own["value"]]


COUNTED = "quantity value unit note"
BEST = "row datasets validation beta cutoff quantity statistic value note"
CROSSED = "datasets penalisation_comparison validation_comparison value unit note"
COLUMNS = {
    "4.3": "dataset system metric paper_metric validation beta cutoff value unit note",
    "4.4": f"dataset {COUNTED}",
    "4.5": BEST,
    "4.6": f"dataset spearman_interval {COUNTED}",
    "4.7": BEST,
    "4.8": f"dataset comparison_of_correlation {COUNTED}",
    "4.9": f"dataset comparison_of_correlation {COUNTED}",
    "4.10": CROSSED,
    "4.11": CROSSED,
}


def test_tables_have_the_columns_of_the_printed_ones(tables: dict[str, pd.DataFrame]) -> None:
    columns = {number: " ".join(frame.columns) for number, frame in tables.items()}
    assert columns == COLUMNS


def test_names_of_recalls_are_read() -> None:
    found = label_measures(["LLOO(beta=0.35,weights='stratified')@15", "LOO(beta=1)@5", "AUC"])
    assert found["validation"].tolist() == ["LLOO", "LOO", None]
    assert found["beta"].tolist()[:2] == [0.35, 1.0]
    assert found["cutoff"].tolist()[:2] == [15, 5]
    assert found["weights"].tolist() == ["stratified", "uniform", None]
    assert found[["beta", "cutoff"]].isna().to_numpy().tolist()[2] == [True, True]


def test_table_3_has_recalls_in_percent_at_cutoff_5_with_beta_1(
    tables: dict[str, pd.DataFrame],
) -> None:
    frame = tables["4.3"]
    assert frame.index.tolist() == [0, 1, 2, 3]
    assert frame["system"].tolist() == ["x", "x", "y", "y"]
    assert frame["paper_metric"].tolist() == ["PS-UN-LOO recall", "PS-UN-LLOO recall"] * 2
    assert frame["value"].tolist() == pytest.approx([50, 50, 20, 15])
    assert frame["note"].tolist() == ["uniform weights"] * 4


def test_table_4_counts_recalls_of_loo_above_those_of_lloo(tables: dict[str, pd.DataFrame]) -> None:
    """Of x none; of y those at .1, .1, .15 and .1, of 12 cells."""
    frame = tables["4.4"]
    assert frame["value"].tolist() == [4, pytest.approx(100 * 4 / 12)]
    assert frame["note"].tolist() == ["out of 12", "out of 12"]
    assert frame.columns.tolist() == ["dataset", "quantity", "value", "unit", "note"]


def test_table_5_has_the_largest_mean_rhos_of_what_is_defined_in_all(
    tables: dict[str, pd.DataFrame],
) -> None:
    """LLOO of beta = .5 at 10 has .2 and 1, and LOO of beta = 1 at 5 has .3 and .9."""
    frame = tables["4.5"]
    assert frame.index.tolist() == [*range(30)]
    assert frame["row"].tolist() == [n for n in range(1, 11) for _ in range(3)]
    first = frame[frame["row"] <= 2]
    assert first["statistic"].tolist() == ["minimal", "average", "maximum"] * 2
    assert first["value"].tolist() == pytest.approx([0.3, 0.6, 0.9, 0.2, 0.6, 1.0])
    assert first["beta"].tolist() == [1.0] * 3 + [0.5] * 3
    assert {*frame["datasets"]} == {"A, B"}
    assert {*frame["note"]} == {"uniform weights"}
    undefined = (frame["validation"] == "LLOO") & (frame["beta"] == 1) & (frame["cutoff"] == 10)
    assert not undefined.any()
    of_b = tables["4.7"]
    assert of_b["value"][:6].tolist() == pytest.approx([1.0, 1.0, 1.0, 0.9, 0.9, 0.9])
    assert {*of_b["datasets"]} == {"B"}


def test_table_6_has_rhos_by_intervals_that_are_closed_above(
    tables: dict[str, pd.DataFrame],
) -> None:
    """Of A: -1 and -.5; two of 0; .5, .4, .3, .5, .2 and .3; .6. One is undefined."""
    frame = tables["4.6"]
    assert counts(frame, "A") == [2, 2, 6, 1]
    assert shares(frame, "A") == pytest.approx([200 / 12, 200 / 12, 50, 100 / 12])
    assert counts(frame, "B") == [0, 1, 8, 3]
    assert frame["spearman_interval"].tolist()[0:8:2] == [
        *("[-1.0, -0.5]", "(-0.5, 0.0]", "(0.0, 0.5]", "(0.5, 1.0]")
    ]


def test_table_8_compares_rhos_of_loo_and_lloo(tables: dict[str, pd.DataFrame]) -> None:
    """Of A none is larger, two are equal, and three are smaller; one is undefined."""
    frame = tables["4.8"]
    assert counts(frame, "A") == [0, 2, 3]
    assert counts(frame, "B") == [1, 3, 2]
    assert counts(frame, "total") == [1, 5, 5]
    assert frame["comparison_of_correlation"].tolist()[0:6:2] == [
        *("LOO > LLOO", "LOO = LLOO", "LOO < LLOO")
    ]
    note = frame[(frame["dataset"] == "A")]["note"].tolist()
    # The undefined one is in the number of cells, and in no class.
    assert {*note} == {"out of 6"}
    assert shares(frame, "B") == pytest.approx([100 / 6, 50, 200 / 6])


def test_table_9_compares_rhos_of_beta_0_with_those_above(tables: dict[str, pd.DataFrame]) -> None:
    """Of A, .5 is above .4, .3 and .3, and below .6; -1 is below both; 0 is below .2."""
    frame = tables["4.9"]
    assert counts(frame, "A") == [3, 0, 4]
    # .1 < .2, .1 > 0, .1 < .9, .1 = .1; .1 < .2, .2 < 1, .1 < .8, .2 > .1.
    assert counts(frame, "B") == [2, 1, 5]
    assert frame["comparison_of_correlation"].tolist()[0:6:2] == [
        *("beta=0 > beta>0", "beta=0 = beta>0", "beta=0 < beta>0")
    ]


def test_tables_10_and_11_cross_both_comparisons(tables: dict[str, pd.DataFrame]) -> None:
    """Of B by beta and cut-off: .5 at 5 and 10, 1 at 5 and 10, for LOO and for LLOO."""
    frame = tables["4.11"]
    cells = {
        (row["penalisation_comparison"], row["validation_comparison"]): row["value"]
        for _, row in frame.iterrows()
    }
    above, equal, below = "beta=0 > beta>0", "beta=0 = beta>0", "beta=0 < beta>0"
    expected = {
        # LOO = LLOO: .5 at 5 (twice below); LOO < LLOO: .5 at 10 (above, below); LOO > LLOO: 1 at
        # 5 (twice below); LOO = LLOO: 1 at 10 (equal, above).
        **{(above, "LOO > LLOO"): 0, (above, "LOO = LLOO"): 1, (above, "LOO < LLOO"): 1},
        **{(equal, "LOO > LLOO"): 0, (equal, "LOO = LLOO"): 1, (equal, "LOO < LLOO"): 0},
        **{(below, "LOO > LLOO"): 2, (below, "LOO = LLOO"): 2, (below, "LOO < LLOO"): 1},
        **{(above, "total"): 2, (equal, "total"): 1, (below, "total"): 5},
        **{("total", "LOO > LLOO"): 2, ("total", "LOO = LLOO"): 4, ("total", "LOO < LLOO"): 2},
        ("total", "total"): 8,
    }
    assert cells == pytest.approx({key: 100 * n / 8 for key, n in expected.items()})
    assert frame["note"][0] == "0 of 8 cells"
    every = tables["4.10"]
    # Of A, the cell that is undefined counts in neither.
    assert every["note"].iloc[-1] == "14 of 14 cells"
    assert {*every["datasets"]} == {"A, B"}


@pytest.mark.slow
def test_of_all_data_sets_chosen_or_of_one_there_are_fewer_tables() -> None:
    both = pd.concat([A, B], ignore_index=True)
    whole = thesis_tables(VALUES, both, chosen=["A", "B"])
    assert "thesis2021-table4.7" not in whole
    assert {*whole["thesis2021-table4.8"]["dataset"]} == {"A", "B", "total"}
    one = thesis_tables(VALUES, A, chosen=["A"])
    assert {*one["thesis2021-table4.8"]["dataset"]} == {"A"}
    three = pd.concat([both, rhos_of("C", [0.1] * 6, [0.2] * 6)], ignore_index=True)
    part = thesis_tables(VALUES, three, chosen=["A", "C"])
    groups = [*dict.fromkeys(part["thesis2021-table4.8"]["dataset"])]
    assert groups == ["A", "B", "C", "A + C", "total"]
    assert counts(part["thesis2021-table4.8"], "A + C") == [0, 2, 9]
    assert {*part["thesis2021-table4.7"]["datasets"]} == {"A, C"}


def test_systems_of_a_table_keep_the_order_in_which_they_first_stand() -> None:
    swapped = VALUES.iloc[::-1].reset_index(drop=True)
    frame = thesis_tables(swapped, A, chosen=["A"])["thesis2021-table4.3"]
    assert frame["system"].tolist() == ["y", "y", "x", "x"]


@dataclass(frozen=True, eq=False)
class Framed(Result):
    """A result of one frame."""

    def frames(self) -> dict[str, pd.DataFrame]:
        return {"numbers": pd.DataFrame({"n": [1.0, 2.0, 3.0]})}

    def caption(self) -> str:
        return "What it is."

    some = frame_of(
        "some", "the first numbers", frame="numbers", decimals=2, part=lambda frame: frame.head(2)
    )
    numbers = frame_of("numbers", "all numbers", "A note.")
    absent = thesis_table("4.99", "what is not there")


def test_a_table_shows_a_frame_or_a_part_of_it() -> None:
    some, numbers, absent = Framed().some(), Framed().numbers(), Framed().absent()
    assert (some.title, some.note, some.decimals) == ("The first numbers", "What it is.", 2)
    assert [*map(list, some.rows)] == [[1.0], [2.0]]
    assert (numbers.title, numbers.note, numbers.decimals) == ("All numbers", "A note.", 4)
    assert len(numbers.rows) == 3
    assert [*absent.rows] == []
