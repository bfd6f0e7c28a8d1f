"""Evidence of a trial, on the example found by hand."""

from pathlib import Path

import numpy as np
import pytest

from harness.online.arm_search import trial_evidence
from harness.online.arm_search.trial_evidence import Evidence, gather_evidence, top_lists
from tests.hidden_example import PROFILES, TRAIN_COUNTS, golden_events, similarity

USERS = np.arange(3, dtype=np.int32)


def _evidence() -> Evidence:
    return gather_evidence(
        similarity(), golden_events(), TRAIN_COUNTS, cutoff=2, beta=0.5, n_jobs=1
    )


def test_the_mean_is_the_recall_found_by_hand() -> None:
    assert _evidence().mean == pytest.approx(0.4022204304, abs=1e-7)


def test_lists_are_those_of_profiles_summed_up() -> None:
    """Of user 0: 3 gets .5 of 1, 4 .75 of 2, 5 .125 of 0."""
    scores = np.array([similarity().toarray()[list(profile)].sum(axis=0) for profile in PROFILES])
    for row, profile in zip(scores, PROFILES, strict=True):
        row[list(profile)] = 0
    expected = [[j for j in np.argsort(-row, kind="stable")[:2] if row[j] > 0] for row in scores]
    found = top_lists(similarity(), golden_events(), USERS, depth=2)
    assert found[0].tolist() == [4, 3]
    assert [[item for item in row if item >= 0] for row in found.tolist()] == expected


def test_lists_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = top_lists(similarity(), golden_events(), USERS, depth=2)
    monkeypatch.setattr(trial_evidence, "BLOCK_BYTES", 1)
    np.testing.assert_array_equal(top_lists(similarity(), golden_events(), USERS, depth=2), whole)


def test_lists_are_kept_of_users_spread_over_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three users at most two are listed: the first and the third."""
    lists = _evidence().lists
    monkeypatch.setattr(trial_evidence, "LISTED_USERS", 2)
    np.testing.assert_array_equal(_evidence().lists, lists[[0, 2]])


def test_evidence_comes_back_from_its_file(tmp_path: Path) -> None:
    evidence = _evidence()
    evidence.write(tmp_path / "trial.npz")
    back = Evidence.read(tmp_path / "trial.npz")
    assert back is not None
    for name in ("users", "recalls", "lists"):
        np.testing.assert_array_equal(getattr(back, name), getattr(evidence, name))


@pytest.mark.parametrize("kept", [0, 1, 100, -30])
def test_a_file_cut_short_is_no_evidence(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "trial.npz"
    _evidence().write(path)
    path.write_bytes(path.read_bytes()[:kept])
    assert Evidence.read(path) is None


def test_a_missing_file_is_no_evidence(tmp_path: Path) -> None:
    assert Evidence.read(tmp_path / "trial.npz") is None
