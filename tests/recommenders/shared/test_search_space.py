import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from recommenders import Choice, Range, Settings, SystemSpec, read_settings, search_space, systems
from recommenders.shared.system import searched

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
    value = place.tidy(place.low + position * (place.high - place.low))
    assert value in place
    assert (place.read(str(value)), type(place.read(str(value)))) == (value, type(value))


def test_numbers_have_three_digits_to_be_pasted() -> None:
    assert Range(0.0, 1000.0).tidy(123.456) == 123.0


@pytest.mark.parametrize(("low", "high", "log"), [(2, 2, False), (3.0, 1.0, False), (0, 1, True)])
def test_a_range_without_width_or_logarithm_is_refused(low: float, high: float, log: bool) -> None:
    with pytest.raises(ValueError, match="range must"):
        Range(low, high, log=log)


@pytest.mark.parametrize("values", [(), ("a",), ("a", "a")])
def test_a_choice_without_alternatives_is_refused(values: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="two different values"):
        Choice(values)


def test_a_default_outside_the_place_is_refused() -> None:
    with pytest.raises(ValueError, match="the default 3 is not where it is searched: 5 to 200"):
        searched(3, Range(5, 200))


def test_fields_without_a_place_are_not_searched() -> None:
    assert search_space(Example) == {
        "factors": Range(5, 200, log=True),
        "estimator": Choice(("mle", "nln")),
    }


def test_a_searched_setting_keeps_its_default_and_its_rule() -> None:
    assert Example().factors == 30
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        Example(factors=0)


def test_the_places_are_in_the_json_schema() -> None:
    schema = json.loads(json.dumps(Example.model_json_schema()))
    assert schema["properties"]["estimator"]["search"] == {"values": ["mle", "nln"]}


@pytest.mark.parametrize("spec", systems().values(), ids=lambda spec: spec.name)
def test_every_system_takes_what_may_be_drawn_for_it(spec: SystemSpec) -> None:
    for name, place in search_space(spec.settings).items():
        for value in place.values if isinstance(place, Choice) else (place.low, place.high):
            read_settings(spec.name, {name: value})
