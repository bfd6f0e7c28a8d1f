"""The search for models, its table, and what it must not see."""

import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from harness.online.arm_search import trial_bench
from harness.online.arm_search.arm_search import Search, search_models
from harness.online.arm_search.search_section import SearchSection
from harness.online.arm_search.trial_bench import Bench
from harness.tuning.search import Space
from qrels.interactions.interactions import Interactions
from qrels.interactions.test_users import draw_test_users, split_users
from recommenders import Choice, Range
from recommenders.kernels.embeddings import similarity
from runs import InputError, Numbering
from runs.shared.progress import Silent
from tests.embedding_example import two_tastes

pytest.importorskip("implicit", reason="implicit is not installed")

SPACE = {"factors": Range(1, 12), "neighbours": Range(1, 8)}
TRIALS = 6
NOBODY = Numbering.of([])


def _search(
    events: Interactions | None = None,
    *,
    table: Path | None = None,
    space: Space = SPACE,
    seed: int = 1,
    share: float = 0.5,
    test_users: Numbering = NOBODY,
    **asked: Any,
) -> Search:
    section = SearchSection(**({"models": 3, "trials": TRIALS} | asked))
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(trial_bench, "TUNING_SHARE", share)
        return search_models(
            two_tastes() if events is None else events,
            section,
            space,
            seed=seed,
            n_jobs=1,
            test_users=test_users,
            table=table or Path(folder, "trials.csv"),
            progress=Silent(),
        )


def _results(found: Search) -> list[Any]:
    """Give all but the seconds that trials took."""
    trials = [replace(trial, seconds=0.0) for trial in found.trials]
    arrays = [found.recalls.tolist(), found.step_errors.tolist()]
    return [trials, found.caption(), found.models, *arrays]


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
    assert _results(resumed) == _results(whole)


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
        {"space": SPACE | {"sweeps": Range(3, 4)}},
        {"events": two_tastes(seed=2)},
        {"share": 0.4},
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
    assert written["score"].tolist() == [trial.score for trial in found.trials]
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
    assert _results(one) == _results(another)


@pytest.mark.slow
def test_leaving_test_users_out_is_what_the_search_does_itself() -> None:
    events = two_tastes()
    test_users = draw_test_users(events, share=0.3, seed=1)
    train, _ = split_users(events, test_users)
    one, other = _search(events, test_users=test_users), _search(train)
    assert _results(one) == _results(other)


@pytest.mark.slow
def test_tuning_users_remain_when_test_users_were_drawn_with_the_same_seed() -> None:
    events = two_tastes()
    train, _ = split_users(events, draw_test_users(events, share=0.5, seed=1))
    assert _search(train).n_users > 0


def test_models_do_not_learn_from_tuning_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_bench, "TUNING_SHARE", 0.5)
    monkeypatch.setattr(trial_bench, "MOST_TUNING_USERS", 9)
    bench = Bench.of(two_tastes(), SearchSection(), seed=1, n_jobs=1)
    assert len(np.unique(bench.tuning.user)) == 9
    assert not np.intersect1d(bench.train.user, bench.tuning.user).size


def test_a_trial_that_cannot_be_trained_is_noted_and_passed_over() -> None:
    space = {"min_users_per_item": Choice((1, 2, 3, 1000))}
    found = _search(space=space, trials=4)
    assert sum("pruning leaves nothing" in trial.finding for trial in found.trials) == 1
    assert sum(trial.score is None for trial in found.trials) == 1


@pytest.mark.slow
def test_a_space_of_choices_is_tried_whole() -> None:
    space = {"factors": Choice((1, 4)), "neighbours": Choice((2, 5))}
    found = _search(space=space, trials=99)
    pairs = {tuple(trial.settings.values()) for trial in found.trials}
    assert pairs == {(1, 2), (1, 5), (4, 2), (4, 5)}


@pytest.mark.slow
def test_chosen_models_fall_in_recall_and_have_their_settings() -> None:
    found = _search(models=4)
    assert (found.steps >= 0).all()
    factors = [trial.settings["factors"] for trial in found.chosen]
    assert [model.factors for model in found.models] == factors


def test_a_model_is_not_clearly_better_than_its_like() -> None:
    """Of twelve items, eleven neighbours or more are the same: all."""
    found = _search(space={"neighbours": Choice((11, 12, 13))}, trials=3)
    assert found.steps.tolist() == found.step_errors.tolist() == [0.0, 0.0]
    assert "Not two standard errors apart: 1 and 2, 2 and 3." in found.caption()


@pytest.mark.slow
def test_the_order_of_the_settings_does_not_matter() -> None:
    turned = dict(reversed(SPACE.items()))
    assert _results(_search(space=turned)) == _results(_search())


def test_more_models_than_trials_are_refused_before_any_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained = _counted(monkeypatch)
    with pytest.raises(InputError, match="`n_models` must be from 1 to the 6 trials, got 7"):
        _search(models=TRIALS + 1)
    assert not trained


@pytest.mark.parametrize("wrong", [{"cutoff": 0}, {"beta": -1.0}, {"beta": math.inf}])
def test_searches_by_no_recall_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        SearchSection(**wrong)


def test_a_search_without_any_model_says_why() -> None:
    with pytest.raises(InputError, match="no trial came to anything; the first: pruning leaves"):
        _search(space={"min_users_per_item": Choice((1000, 1001))})
