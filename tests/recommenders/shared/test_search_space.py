import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from recommenders import Choice, Range, Settings, SystemSpec, read_settings, search_space, systems
from recommenders.shared.system import Place, searched

PLACES = [
    Range(1, 4),
    Range(5, 200, log=True),
    Range(0.0, 1.0),
    Range(0.0123456, 98.7654, log=True),
    Choice(("mle", "nln")),
    Choice((True, False)),
    Choice((0.5, 2.0, 8.0)),
]

every_place = pytest.mark.parametrize("place", PLACES, ids=str)
positions = st.floats(0, 1, exclude_max=True)


class Example(Settings):
    factors: int = searched(30, Range(5, 200, log=True), ge=1, description="Factors.")
    estimator: str = searched("mle", Choice(("mle", "nln")), description="Estimator.")
    epochs: int = Field(10, description="Sweeps.")


@every_place
@given(position=positions)
def test_what_is_drawn_is_in_the_place(place: Place, position: float) -> None:
    assert place.at(position) in place


@every_place
@given(position=positions)
def test_what_is_drawn_is_read_back_from_text(place: Place, position: float) -> None:
    drawn = place.at(position)
    read = place.read(str(drawn))
    assert (read, type(read)) == (drawn, type(drawn))


@pytest.mark.parametrize("place", [Range(2, 9), Range(2.0, 9.0), Range(2, 9, log=True)], ids=str)
def test_a_range_is_drawn_from_to_both_ends(place: Range) -> None:
    assert place.at(0.0) == 2
    assert place.at(np.nextafter(1.0, 0.0)) == 9


def test_whole_numbers_are_equally_likely() -> None:
    drawn = [Range(1, 5).at(position) for position in (np.arange(1000) + 0.5) / 1000]
    assert np.bincount(np.array(drawn, dtype=int)).tolist() == [0, 200, 200, 200, 200, 200]


def test_values_of_a_choice_are_equally_likely() -> None:
    drawn = [Choice(("a", "b", "c", "d")).at(position) for position in np.arange(8) / 8]
    assert drawn == ["a", "a", "b", "b", "c", "c", "d", "d"]


def test_ratios_count_in_a_logarithmic_range() -> None:
    place = Range(0.01, 100.0, log=True)
    assert [place.at(position) for position in (0.25, 0.5, 0.75)] == [0.1, 1.0, 10.0]


def test_numbers_have_three_digits_to_be_pasted() -> None:
    assert Range(0.0, 1000.0).at(0.123456) == 123.0


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
        for position in (0.0, 0.5, np.nextafter(1.0, 0.0)):
            read_settings(spec.name, {name: place.at(position)})
