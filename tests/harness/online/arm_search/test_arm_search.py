"""The search for models, its table, and what it must not see."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.online.arm_search.arm_search import Search, search_models
from harness.online.arm_search.trial_bench import Bench
from qrels.interactions.interactions import Interactions
from qrels.interactions.test_users import draw_test_users, split_users
from recommenders import Choice, Range
from recommenders.kernels.embeddings import EmbeddingSettings, similarity
from runs import InputError
from tests.embedding_example import two_tastes

pytest.importorskip("implicit", reason="implicit is not installed")

SPACE = {"factors": Range(1, 12), "neighbours": Range(1, 8)}
BASE = EmbeddingSettings(regularization=0.1, sweeps=3, neighbours=5)
TRIALS = 6


def _search(events: Interactions | None = None, **choices: Any) -> Search:
    defaults: dict[str, Any] = {
        "n_models": 2,
        "trials": TRIALS,
        "seed": 1,
        "n_jobs": 1,
        "base": BASE,
        "tuning_share": 0.5,
        "space": SPACE,
    }
    return search_models(two_tastes() if events is None else events, **(defaults | choices))


def _results(found: Search) -> pd.DataFrame:
    return found.to_frame().drop(columns="seconds")


def _counted(monkeypatch: pytest.MonkeyPatch, *, until: int | None = None) -> list[int]:
    """Count the models that are trained, and be killed at one of them."""
    trained: list[int] = []

    def counting(*arguments: Any, **options: Any) -> Any:
        if len(trained) == until:
            raise KeyboardInterrupt
        trained.append(len(trained))
        return similarity(*arguments, **options)

    monkeypatch.setattr("harness.online.arm_search.trial_bench.similarity", counting)
    return trained


@pytest.mark.slow
def test_a_search_that_was_killed_goes_on_to_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "trials.csv"
    whole = _search()
    with monkeypatch.context() as patch:
        _counted(patch, until=4)
        with pytest.raises(KeyboardInterrupt):
            _search(table=table)
    resumed = _search(table=table)
    pd.testing.assert_frame_equal(_results(resumed), _results(whole))
    np.testing.assert_array_equal(resumed.overlaps, whole.overlaps)


@pytest.mark.slow
def test_trials_in_the_table_are_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "trials.csv"
    _search(table=table, trials=4)
    trained = _counted(monkeypatch)
    _search(table=table)
    assert len(trained) == TRIALS - 4


@pytest.mark.slow
def test_a_trial_whose_evidence_is_gone_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "trials.csv"
    _search(table=table)
    next(tmp_path.rglob("trial-0.npz")).write_bytes(b"broken")
    trained = _counted(monkeypatch)
    _search(table=table)
    assert len(trained) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        {"seed": 2},
        {"beta": 0.0},
        {"base": replace(BASE, sweeps=4)},
        {"events": two_tastes(seed=2)},
        {"tuning_share": 0.4},
    ],
)
def test_another_search_makes_its_own_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]
) -> None:
    table = tmp_path / "trials.csv"
    _search(table=table)
    trained = _counted(monkeypatch)
    _search(table=table, **other)
    assert len(trained) == TRIALS


@pytest.mark.slow
def test_the_table_has_a_line_for_each_trial(tmp_path: Path) -> None:
    table = tmp_path / "trials.csv"
    found = _search(table=table)
    written = pd.read_csv(table, float_precision="round_trip")
    np.testing.assert_array_equal(written["score"], found.recalls)
    assert written["factors"].tolist() == [trial.settings["factors"] for trial in found.trials]


@pytest.mark.slow
def test_what_test_users_did_changes_nothing() -> None:
    """All that test users did is turned to other items, in the other order."""
    events = two_tastes()
    test_users = draw_test_users(events, share=0.3, seed=1)
    of_test = (test_users.numbers(events.users.ids) >= 0)[events.user]
    other = Interactions.of(
        events.users,
        events.items,
        user=events.user,
        item=np.where(of_test, 11 - events.item, events.item),
        time=np.where(of_test, -events.time, events.time),
    )
    one, another = (_search(each, test_users=test_users) for each in (events, other))
    pd.testing.assert_frame_equal(_results(one), _results(another))


@pytest.mark.slow
def test_leaving_test_users_out_is_what_the_search_does_itself() -> None:
    events = two_tastes()
    test_users = draw_test_users(events, share=0.3, seed=1)
    train, _ = split_users(events, test_users)
    one, other = _search(events, test_users=test_users), _search(train)
    pd.testing.assert_frame_equal(_results(one), _results(other))


@pytest.mark.slow
def test_tuning_users_remain_when_test_users_were_drawn_with_the_same_seed() -> None:
    events = two_tastes()
    train, _ = split_users(events, draw_test_users(events, share=0.5, seed=1))
    assert _search(train).n_users > 0


def test_models_do_not_learn_from_tuning_users() -> None:
    bench = Bench.of(
        two_tastes(),
        base=BASE,
        cutoff=5,
        beta=0.5,
        tuning_share=0.5,
        most_tuning_users=9,
        seed=1,
        n_jobs=1,
    )
    assert len(np.unique(bench.tuning.user)) == 9
    assert not np.intersect1d(bench.train.user, bench.tuning.user).size


def test_a_trial_that_cannot_be_trained_is_noted_and_passed_over() -> None:
    space = {"min_users_per_item": Choice((1, 2, 1000))}
    found = _search(space=space, trials=3)
    assert sum("pruning leaves nothing" in trial.finding for trial in found.trials) == 1
    assert np.isnan(found.recalls).sum() == 1


@pytest.mark.slow
def test_a_space_of_choices_is_tried_whole() -> None:
    space = {"factors": Choice((1, 4)), "neighbours": Choice((2, 5))}
    found = _search(space=space, trials=99)
    pairs = {tuple(trial.settings.values()) for trial in found.trials}
    assert pairs == {(1, 2), (1, 5), (4, 2), (4, 5)}


@pytest.mark.slow
def test_chosen_models_fall_in_recall_and_have_their_settings() -> None:
    found = _search(n_models=3)
    assert (found.steps >= 0).all()
    factors = [found.trials[number].settings["factors"] for number in found.chosen]
    assert [model.factors for model in found.models] == factors


def test_a_model_is_not_clearly_better_than_its_like() -> None:
    """Of twelve items, eleven neighbours or twelve are the same: all."""
    found = _search(space={"neighbours": Choice((11, 12))}, trials=2)
    assert found.steps.tolist() == found.step_errors.tolist() == [0.0]
    assert "Not two standard errors apart: 1 and 2." in found.caption()


@pytest.mark.slow
def test_the_standard_error_is_that_of_a_mean_over_users(tmp_path: Path) -> None:
    """Poisson weights give about sd / sqrt(n)."""
    found = _search(table=tmp_path / "trials.csv")
    recalls = np.load(next(tmp_path.rglob("trial-0.npz")))["recalls"]
    expected = recalls.std() / np.sqrt(len(recalls))
    assert found.standard_errors[0] == pytest.approx(expected, rel=0.2)


def test_what_is_no_setting_is_refused() -> None:
    with pytest.raises(InputError, match="no setting called 'factor'"):
        _search(space={"factor": Choice((1, 2))})


@pytest.mark.slow
def test_the_order_of_the_settings_does_not_matter() -> None:
    turned = dict(reversed(SPACE.items()))
    pd.testing.assert_frame_equal(_results(_search(space=turned)), _results(_search()))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n_models": TRIALS + 1}, "`n_models` must be from 1 to the 6 trials, got 7"),
        ({"floor": 1.0}, "`floor` must be at least 0 and below 1, got 1.0"),
        ({"cutoff": 0}, "`cutoff` must be at least 1, got 0"),
        ({"beta": -1.0}, "`beta` must not be negative, got -1.0"),
    ],
)
def test_searches_that_lead_nowhere_are_refused_before_any_trial(
    monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any], sentence: str
) -> None:
    trained = _counted(monkeypatch)
    with pytest.raises(InputError, match=sentence):
        _search(**wrong)
    assert not trained


def test_a_search_without_any_model_says_why() -> None:
    with pytest.raises(InputError, match="no trial came to anything; the first: pruning leaves"):
        _search(space={"min_users_per_item": Choice((1000, 1001))})
