"""Groups of users: against computations group by group, and a reversal that is made."""

from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analyses.groups import LEVELS, QUANTITIES, Settings, groups
from analyses.ordering import tau_b
from analyses.shared.analysis import SettingError
from analyses.shared.measure import Measure, Measures, Scores
from analyses.significance.paired_tests import t_test

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
