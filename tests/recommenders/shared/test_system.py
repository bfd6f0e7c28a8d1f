"""The register, settings, search spaces and memory of systems."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

import recommenders
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
from recommenders.shared.system import searched
from runs import InputError

every_system = pytest.mark.parametrize("spec", systems().values(), ids=lambda spec: spec.name)


@pytest.mark.slow
def test_listing_and_checking_imports_nothing_slow() -> None:
    code = """
import sys
import recommenders
recommenders.systems()
recommenders.read_settings("ease", {"regularization": 100.0})
print({"lenskit", "torch", "sklearn", "scipy.sparse", "pandas"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


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
    value = place.tidy(place.low + position * (place.high - place.low))
    assert value in place
    assert (place.read(str(value)), type(place.read(str(value)))) == (value, type(value))


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
