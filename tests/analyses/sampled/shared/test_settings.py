"""Settings of studies of sampled metrics, checked before any work."""

import pytest

from analyses.sampled.cost import cost
from analyses.sampled.estimates import estimates
from analyses.sampled.ranks import ranks
from analyses.shared.analysis import Analysis, Given, SettingError, members_of
from analyses.shared.measure import Measures
from qrels import FullRanks
from runs import InputError

FEW = FullRanks.of([1, 9], n_candidates=50, user=[0, 0])


def _refuse() -> FullRanks:
    raise InputError("there are none.")


def test_the_group_has_its_eight_studies() -> None:
    keys = {member.key for member in members_of("sampled")}
    names = ("adaptive", "cost", "estimates", "iterations", "priors", "ranks", "sizes")
    assert keys == {f"sampled_{name}" for name in (*names, "strategies")}


def test_adaptive_samples_and_strategies_are_made_on_request() -> None:
    requested = {member.name for member in members_of("sampled") if member.on_request}
    assert requested == {"adaptive", "strategies"}


def test_no_study_is_made_unasked() -> None:
    assert not any(member.is_usual for member in members_of("sampled"))


def test_settings_of_one_name_are_one_setting() -> None:
    known: dict[str, object] = {}
    for member in members_of("sampled"):
        for name, field in member.settings.model_fields.items():
            facts = (field.annotation, field.default, field.description)
            assert known.setdefault(name, facts) == facts


@pytest.mark.parametrize("study", members_of("sampled"))
def test_runs_have_no_full_ranks(study: Analysis) -> None:  # type: ignore[type-arg]
    given = Given((), Measures(()), has_training=False, best_ranks=_refuse)
    with pytest.raises(SettingError, match=r"\[analyses.sampled\] needs ranks") as caught:
        study.settings().check(given)
    assert str(caught.value).endswith("give a table of ranks to `harness sampled`.")


@pytest.mark.parametrize(
    ("study", "asked", "sentence"),
    [
        (estimates, {"negatives": 49}, "must not be above the irrelevant candidates, 48"),
        (estimates, {"estimators": ("adaptive-mle",), "negatives": 9}, "one relevant item each"),
        (cost, {"sizes": (9, 5)}, "must rise"),
    ],
)
def test_what_the_data_lack_is_refused(
    study: Analysis,  # type: ignore[type-arg]
    asked: dict[str, object],
    sentence: str,
) -> None:
    given = Given(("a",), Measures(()), has_training=True, best_ranks=lambda: FEW)
    with pytest.raises(SettingError, match=sentence) as caught:
        study.settings(**asked).check(given)
    assert caught.value.key == "negatives"


def test_what_samples_nothing_is_not_refused() -> None:
    ranks.settings().check(Given(("a",), Measures(()), has_training=True, best_ranks=lambda: FEW))
