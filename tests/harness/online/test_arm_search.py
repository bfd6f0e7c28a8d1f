"""The search for models, how they are chosen, and what the search must not see."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from harness.online import arm_search
from harness.online.arm_search import (
    Search,
    SearchSection,
    choose_models,
    measure_model,
    search_models,
)
from harness.online.simulation import NeighbourModel
from harness.tuning.search import Space
from qrels.interactions.held_out_users import draw_test_users, split_users
from qrels.interactions.interactions import Interactions
from recommenders import Choice, Range
from runs import InputError, Numbering
from runs.shared.progress import Silent
from tests.embedding_example import two_tastes
from tests.hidden_example import TRAIN_COUNTS, golden_events, similarity

pytest.importorskip("implicit", reason="implicit is not installed")

SPACE = {"factors": Range(1, 12), "neighbours": Range(1, 8)}
TRIALS = 6
NOBODY = Numbering.of([])


def _search(
    events: Interactions | None = None,
    *,
    space: Space = SPACE,
    seed: int = 1,
    share: float = 0.5,
    test_users: Numbering = NOBODY,
    **asked: Any,
) -> Search:
    section = SearchSection(**({"models": 3, "trials": TRIALS} | asked))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arm_search, "TUNING_SHARE", share)
        return search_models(
            two_tastes() if events is None else events,
            section,
            space,
            seed=seed,
            n_jobs=1,
            test_users=test_users,
            progress=Silent(),
        )


def _results(found: Search) -> list[Any]:
    """Give all but the seconds that trials took."""
    trials = [replace(trial, seconds=0.0) for trial in found.trials]
    return [trials, found.caption(), found.models]


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
    recalls = [trial.score or 0.0 for trial in found.chosen]
    assert recalls == sorted(recalls, reverse=True)
    factors = [trial.settings["factors"] for trial in found.chosen]
    assert [model.factors for model in found.models] == factors


@pytest.mark.slow
def test_the_order_of_the_settings_does_not_matter() -> None:
    turned = dict(reversed(SPACE.items()))
    assert _results(_search(space=turned)) == _results(_search())


def test_more_models_than_trials_are_refused_before_any_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(arm_search, "NeighbourModel")
    with pytest.raises(InputError, match="`n_models` must be from 1 to the 6 trials, got 7"):
        _search(models=TRIALS + 1)


@pytest.mark.parametrize("wrong", [{"cutoff": 0}, {"beta": -1.0}, {"beta": math.inf}])
def test_searches_by_no_recall_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        SearchSection(**wrong)


def test_a_search_without_any_model_says_why() -> None:
    with pytest.raises(InputError, match="no trial came to anything; the first: pruning leaves"):
        _search(space={"min_users_per_item": Choice((1000, 1001))})


def test_the_recall_of_a_trial_is_that_found_by_hand() -> None:
    section, events = SearchSection(cutoff=2, beta=0.5), golden_events()
    model = NeighbourModel(lambda _: similarity()).fit(events)
    found = measure_model(model, TRAIN_COUNTS, events, section, n_jobs=1)
    assert found == pytest.approx(0.4022204304, abs=1e-7)


def test_models_are_the_nearest_to_equal_steps_below_the_best() -> None:
    """Steps at 1, .7 and .4."""
    assert choose_models(np.array([0.4, 0.66, 1.0, 0.69]), n_models=3, floor=0.4) == [2, 3, 0]


def test_a_model_is_chosen_once() -> None:
    assert choose_models(np.array([0.9, 1.0, 0.95]), n_models=3, floor=0.4) == [1, 2, 0]


@pytest.mark.parametrize(
    ("values", "n_models", "sentence"),
    [
        ([0.5], 2, "from 1 to the 1 candidates"),
        ([0.5, 0.4], 0, "from 1 to the 2 candidates"),
        ([0.0, 0.0], 2, "no candidate has a value above 0"),
    ],
)
def test_choices_that_cannot_be_made_are_refused(
    values: list[float], n_models: int, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        choose_models(np.array(values), n_models=n_models, floor=0.4)
