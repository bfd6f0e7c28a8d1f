"""Settings, search spaces, memory and facts of systems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

import recommenders
from qrels import Ratings
from recommenders import (
    Choice,
    Range,
    Settings,
    SystemSpec,
    read_settings,
    search_space,
    systems,
    workers_within,
)
from recommenders.shared.system import (
    AtLeastOne,
    Factors,
    Gigabytes,
    NotNegative,
    Positive,
    require_nonzero,
    searched,
)
from runs import InputError, Numbering
from tests.described import described

every_system = pytest.mark.parametrize("spec", systems().values(), ids=lambda spec: spec.name)


def test_an_unknown_system_is_told_the_nearest_name() -> None:
    with pytest.raises(InputError, match="'popularty'; did you mean 'popularity'"):
        recommenders.find_system("popularty")


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("ease", {"regularisation": 1.0}, "no setting 'regularisation'; did you mean 'regularizat"),
        ("wrmf", {"weight": -1}, "the setting 'weight' must be greater than 0, got -1."),
        ("svd", {"damping": float("nan")}, "'damping' must be a finite number, got nan."),
    ],
)
def test_a_wrong_setting_is_a_sentence(
    name: str, settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_settings(name, settings)
    assert sentence in str(caught.value)


PLACES = [
    Range(1, 4),
    Range(5, 200, log=True),
    Range(0.0, 1.0),
    Range(0.0123456, 98.7654, log=True),
    Choice(("mle", "nln")),
    Choice((True, False)),
    Choice((0.5, 2.0, 8.0)),
]


class Example(Settings):
    factors: int = searched(30, Range(5, 200, log=True), ge=1, description="Factors.")
    estimator: str = searched("mle", Choice(("mle", "nln")), description="Estimator.")
    epochs: int = Field(10, description="Sweeps.")


@pytest.mark.parametrize("place", [p for p in PLACES if isinstance(p, Range)], ids=str)
@given(position=st.floats(0, 1))
def test_a_tidy_number_is_in_its_range_and_read_back_from_text(
    place: Range, position: float
) -> None:
    value = place.rounded(place.low + position * (place.high - place.low))
    assert value in place
    assert (place.parse(str(value)), type(place.parse(str(value)))) == (value, type(value))


@pytest.mark.parametrize(("low", "high", "log"), [(3.0, 1.0, False), (0, 1, True)])
def test_a_range_without_width_or_logarithm_is_refused(low: float, high: float, log: bool) -> None:
    with pytest.raises(ValueError, match="range must"):
        Range(low, high, log=log)


def test_a_choice_without_alternatives_is_refused() -> None:
    with pytest.raises(ValueError, match="two different values"):
        Choice(("a", "a"))


def test_a_default_outside_the_place_is_refused() -> None:
    with pytest.raises(ValueError, match="the default 3 is not where it is searched: 5 to 200"):
        searched(3, Range(5, 200))


@pytest.mark.parametrize("spec", systems().values(), ids=lambda spec: spec.name)
def test_every_system_takes_what_may_be_drawn_for_it(spec: SystemSpec) -> None:
    for name, place in search_space(spec.settings).items():
        for value in place.values if isinstance(place, Choice) else (place.low, place.high):
            read_settings(spec.name, {name: value})


NEEDS = st.lists(st.integers(0, 100), min_size=1, max_size=8)


@given(available=st.integers(0, 300), needs=NEEDS, n_jobs=st.integers(1, 8))
def test_whichever_trainings_meet_they_fit(available: int, needs: list[int], n_jobs: int) -> None:
    n_workers = workers_within(available, needs, n_jobs=n_jobs)
    assert 1 <= n_workers <= n_jobs
    assert n_workers == 1 or sum(sorted(needs)[-n_workers:]) <= available


class Bounded(Settings):
    """A setting of every kind, at its bound where it may be."""

    at_least_one: AtLeastOne = 1
    factors: Factors = 2000
    positive: Positive = 0.5
    not_negative: NotNegative = 0.0
    gigabytes: Gigabytes = 4.0


def test_kinds_of_settings_are_bounded() -> None:
    assert described(Bounded) == {
        "at_least_one": "1; >= 1",
        "factors": "2000; >= 1; <= 2000",
        "positive": "0.5; > 0",
        "not_negative": "0.0; >= 0",
        "gigabytes": "4.0; > 0",
    }


@pytest.mark.parametrize("wrong", [{"factors": 30.0}, {"factors": "30"}, {"estimator": 3}])
def test_a_setting_has_its_own_type(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Example.model_validate(wrong)


def test_places_are_found_with_their_bounds() -> None:
    assert search_space(Example) == {
        "factors": Range(5, 200, log=True),
        "estimator": Choice(("mle", "nln")),
    }
    assert Example.model_fields["factors"].description == "Factors."


@pytest.mark.parametrize(
    ("place", "shares", "values"),
    [
        (Range(1, 100, log=True), (0, 0.5, 1), (1, 10, 100)),
        (Range(1, 4), (0, 0.5, 0.9, 1), (1, 2, 4, 4)),
        (Range(0.5, 2.5), (0, 0.25, 1), (0.5, 1.0, 2.5)),
        (Range(0.01, 1.0, log=True), (0.5, 0.25), (0.1, 0.0316)),
        (Choice(("a", "b", "c")), (0, 0.33, 0.34, 0.66, 0.67, 1), ("a", "a", "b", "b", "c", "c")),
    ],
)
def test_values_stand_evenly_or_by_ratios(
    place: Range | Choice, shares: tuple[float, ...], values: tuple[object, ...]
) -> None:
    assert tuple(place.value_at(share) for share in shares) == values


def test_numbers_are_tidied_to_three_digits_within_the_bounds() -> None:
    place = Range(0.0123456, 98.7654)
    assert [place.rounded(number) for number in (1.23456, 0.0123456, 98.7654, 0.0, 100.0)] == [
        1.23,
        0.0123456,
        98.7654,
        0.0123456,
        98.7654,
    ]
    assert Range(1, 4).rounded(2.6) == 3


def test_only_ranges_between_whole_numbers_are_whole() -> None:
    assert [Range(1, 4).is_whole, Range(1, 4.0).is_whole, Range(1.0, 4).is_whole] == [
        True,
        False,
        False,
    ]


def test_bounds_are_in_a_range_and_texts_are_not() -> None:
    place = Range(1, 4)
    assert [value in place for value in (0, 1, 4, 5, "2")] == [False, True, True, False, False]
    assert ("b" in Choice(("a", "b")), "c" in Choice(("a", "b"))) == (True, False)


def test_a_range_may_begin_anywhere_if_differences_count() -> None:
    assert Range(-1.0, 1.0).value_at(0.5) == 0
    with pytest.raises(ValueError, match="bounds of a range must rise, got 1 and 1"):
        Range(1, 1)
    with pytest.raises(ValueError, match="must begin above 0, got -1"):
        Range(-1, 1, log=True)


def test_a_choice_of_one_is_none() -> None:
    with pytest.raises(ValueError, match="two different values"):
        Choice(("a",))
    with pytest.raises(ValueError, match="two different values"):
        Choice(("a", "b", "a"))


def test_a_value_of_a_choice_is_read_back() -> None:
    place = Choice((False, True, 0.5))
    assert [place.parse(str(value)) for value in place.values] == [False, True, 0.5]


@pytest.mark.parametrize(
    ("available", "n_workers"), [(0, 1), (6, 1), (10, 1), (11, 2), (13, 2), (14, 3), (99, 3)]
)
def test_the_largest_trainings_may_meet(available: int, n_workers: int) -> None:
    """Of 3, 6 and 5 bytes two take up to 11, and all take 14; three workers are wanted."""
    assert workers_within(available, [3, 6, 5], n_jobs=3) == n_workers


def test_ratings_that_are_not_all_zero_can_be_trained_on() -> None:
    user, item = np.array([0, 0], dtype=np.int32), np.array([0, 1], dtype=np.int32)
    names = Numbering.of("ab")
    require_nonzero(Ratings(names, names, user, item, np.array([0.0, 1.0])), system="mine")
    with pytest.raises(InputError, match="'mine' cannot be trained: every training rating is 0"):
        require_nonzero(Ratings(names, names, user, item, np.zeros(2)), system="mine")


def test_facts_of_a_system_are_what_its_file_says() -> None:
    facts = systems()["ease"].facts()
    assert (facts["name"], facts["family"], facts["lenskit"]) == ("ease", "item-linear", True)
    assert facts["settings"]["regularization"] == {
        "default": 300.0,
        "description": "Ridge penalty on the weights (the paper's lambda): above 0. 100 to 1000 "
        "work well on MovieLens.",
        "exclusiveMinimum": 0,
        "search": {"high": 5000.0, "log": True, "low": 10.0},
        "type": "number",
    }
    assert systems()["random"].facts()["lenskit"] is False
    assert systems()["rm2"].stem == "RM2"


def test_only_systems_whose_scorer_does_score_histories() -> None:
    assert {name: systems()[name].scores_histories for name in ("ease", "rw", "bprmf")} == {
        "ease": True,
        "rw": False,
        "bprmf": False,
    }


def test_systems_that_take_ratings_for_amounts_are_these() -> None:
    assert {name for name, spec in systems().items() if spec.requires_nonnegative} == {
        *("als-knn", "chi2", "ht", "kld", "lda", "lm-wsr-ib", "lm-wsr-ub", "plsa", "rm1", "rm2"),
        "rsv",
    }


def test_systems_whose_training_takes_much_memory_say_so() -> None:
    assert {name for name, spec in systems().items() if spec.memory_need} == {
        *("ease", "ht", "krichene-y", "krichene-z", "nncosngbr-ib", "nncosngbr-ub", "uir-item")
    }


@pytest.mark.parametrize("factors", ["5", 5.0, True, None, [5]])
def test_a_setting_is_of_its_type_and_nothing_that_looks_like_it(factors: object) -> None:
    with pytest.raises(InputError, match="the setting 'factors'"):
        read_settings("puresvd", {"factors": factors})


@pytest.mark.parametrize("penalty", [float("inf"), float("nan")])
def test_a_number_is_finite(penalty: float) -> None:
    with pytest.raises(InputError, match="the setting 'regularization'"):
        read_settings("ease", {"regularization": penalty})
