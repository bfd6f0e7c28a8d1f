import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.online.agreement.measure_names import (
    beta_pairs,
    find_parametrisation,
    label_columns,
    validation_pairs,
)
from analyses.recall.hidden_parts import Validation
from analyses.recall.parametrisations import Parametrisation, recall_grid
from analyses.recall.stratification import Weights
from tests.analyses.online.examples import GRID


def test_the_grid_of_the_thesis_has_588_different_names() -> None:
    assert len(set(GRID)) == 588


def test_the_last_label_of_the_grid_changes_first() -> None:
    names = [str(one) for one in recall_grid(betas=[0, 0.5], cutoffs=[1, 5])]
    assert names[:4] == ["LOO(beta=0)@1", "LOO(beta=0)@5", "LOO(beta=0.5)@1", "LOO(beta=0.5)@5"]
    assert names[4] == "LLOO(beta=0)@1"


@given(
    validation=st.sampled_from(["LOO", "LLOO"]),
    beta=st.floats(0, 1e6),
    cutoff=st.integers(1, 10**6),
    weights=st.sampled_from(["uniform", "stratified"]),
)
def test_a_name_reads_back(
    validation: Validation, beta: float, cutoff: int, weights: Weights
) -> None:
    one = Parametrisation(validation, beta, cutoff, weights)
    assert find_parametrisation(str(one)) == one


@pytest.mark.parametrize("name", ["nDCG@10", "LOO", "LOO(beta=x)@5", "LOO(beta=.)@5", "LOO@5"])
def test_other_measures_are_no_parametrisations(name: str) -> None:
    assert find_parametrisation(name) is None


def test_every_lloo_has_its_loo() -> None:
    pairs = validation_pairs(GRID)
    assert len(pairs) == 294
    assert all(GRID[lloo] == f"L{GRID[loo]}" for lloo, loo in pairs)


def test_every_beta_above_0_is_paired_with_beta_0() -> None:
    pairs = beta_pairs(GRID)
    assert len(pairs) == 2 * 14 * 20
    assert all(GRID[zero] == re.sub(r"=[0-9.]+\)", "=0)", GRID[above]) for above, zero in pairs)


def test_measures_of_other_weights_are_no_pair() -> None:
    assert validation_pairs(["LOO(beta=1)@5", "LLOO(beta=1,weights='stratified')@5"]) == []


def test_labels_of_other_measures_are_missing() -> None:
    columns = label_columns(["nDCG@10", "LOO(beta=1)@5"])
    assert columns["validation"] == [None, "LOO"]
    assert columns["cutoff"].isna().tolist() == [True, False]
