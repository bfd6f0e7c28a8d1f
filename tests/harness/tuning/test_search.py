import sys
from collections.abc import Mapping

import pytest

from harness.tuning.sampler import Sampler, draw_new, import_optuna
from harness.tuning.trials import Space, Trial
from recommenders import Choice, Range
from recommenders.shared.system import Value
from runs import InputError

SPACE: Space = {
    "factors": Range(5, 200, log=True),
    "penalty": Range(0.01, 1.0, log=True),
    "estimator": Choice(("mle", "nln")),
}
SMALL: Space = {"neighbours": Range(1, 3), "estimator": Choice(("mle", "nln"))}


def draw(
    sampler: Sampler, space: Space, trials: list[Trial], *, seed: int = 1, higher: bool = True
) -> Mapping[str, Value]:
    tried = [trial.settings for trial in trials]
    drawn = draw_new(sampler, space, tried, trials, higher_is_better=higher, seed=seed)
    assert drawn is not None
    return drawn


def finished(sampler: Sampler, n_trials: int, *, higher: bool = True, seed: int = 1) -> list[Trial]:
    """Trials that are better the nearer the penalty is to 0.1; those of nln fail."""
    trials: list[Trial] = []
    for number in range(n_trials):
        drawn = draw(sampler, SPACE, trials, seed=seed, higher=higher)
        distance = max(float(drawn["penalty"]) / 0.1, 0.1 / float(drawn["penalty"]))
        score = None if drawn["estimator"] == "nln" else (-distance if higher else distance)
        trials.append(Trial(number, drawn, score, 1.0))
    return trials


def settings(trials: list[Trial]) -> list[Mapping[str, Value]]:
    return [trial.settings for trial in trials]


def test_a_seed_settles_the_sequence() -> None:
    assert settings(finished("random", 5)) == settings(finished("random", 5))


def test_another_seed_gives_another_sequence() -> None:
    one, other = finished("random", 5), finished("random", 5, seed=2)
    assert [
        pair for pair in zip(settings(one), settings(other), strict=True) if pair[0] == pair[1]
    ] == []


def test_a_random_search_learns_nothing() -> None:
    failed = [Trial(trial.number, trial.settings, None, 1.0) for trial in finished("random", 4)]
    assert draw("random", SPACE, failed) == finished("random", 5)[4].settings


def test_every_setting_is_drawn_in_its_place() -> None:
    for drawn in settings(finished("random", 50)):
        assert list(drawn) == list(SPACE)
        assert all(drawn[name] in place for name, place in SPACE.items())


def test_nothing_is_drawn_twice_until_the_space_is_used_up() -> None:
    tried: list[Mapping[str, Value]] = []
    while drawn := draw_new("random", SMALL, tried, [], higher_is_better=True, seed=1):
        assert drawn not in tried
        tried.append(drawn)
    assert len(tried) == 3 * 2


def test_a_missing_optuna_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match="needs the package 'optuna'; install it with"):
        import_optuna()


class TestTPE:
    def test_a_seed_and_the_trials_settle_the_next(self) -> None:
        trials = finished("tpe", 15)
        assert draw("tpe", SPACE, trials) == draw("tpe", SPACE, list(trials))

    def test_every_setting_is_drawn_in_its_place(self) -> None:
        for drawn in settings(finished("tpe", 20)):
            assert all(drawn[name] in place for name, place in SPACE.items())

    @pytest.mark.parametrize("higher", [True, False])
    def test_draws_gather_where_trials_were_good(self, higher: bool) -> None:
        later = settings(finished("tpe", 40, higher=higher))[20:]
        near = [drawn for drawn in later if 0.03 < float(drawn["penalty"]) < 0.3]
        assert len(near) > 2 * len(later) / 3  # Half of them by chance.

    def test_draws_avoid_what_failed(self) -> None:
        later = settings(finished("tpe", 40))[20:]
        assert sum(drawn["estimator"] == "mle" for drawn in later) > 2 * len(later) / 3

    def test_defaults_outside_the_space_do_no_harm(self) -> None:
        outside = Trial(0, {"neighbours": 0, "estimator": "mle"}, 0.5, 1.0)
        assert draw("tpe", SMALL, [outside])["neighbours"] in SMALL["neighbours"]
