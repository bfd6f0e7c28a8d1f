"""A search without its study folder: what is best, what is drawn, what is written."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyses.shared.measure import Measure
from harness.metrics.shared.register import built_in_metrics
from harness.study.other_settings import Trial
from harness.study.study import Study
from harness.tuning import search as searching
from harness.tuning.search import MARK, Search, comparison, require_free, write_tuned_study
from harness.tuning.validation import Validation, validation_of
from recommenders import PROCESS_BYTES, Choice, Range, find_system, read_settings
from recommenders.shared.system import SearchDomain
from runs import InputError
from runs.shared.progress import Cost
from tests.harness.small import WORLD

METRICS = built_in_metrics()
PLACES: dict[str, SearchDomain] = {"factors": Range(5, 200)}


def search_of(
    trials: dict[int, Trial] | None = None,
    *,
    metric: str = "nDCG",
    text: str = WORLD,
    space: dict[str, SearchDomain] = PLACES,
    **options: Any,
) -> Search:
    study = Study.parse(text, source="study.toml", base=Path(), changes={})
    given: dict[str, Any] = {
        "label": "puresvd",
        "cutoff": 10,
        "sampler": "random",
        "n_trials": 5,
    } | options
    return Search(
        study,
        metric=METRICS[metric],
        space=space,
        validation=given.pop("validation", None),
        trials=trials or {},
        **given,
    )


def scored(*scores: float | None) -> dict[int, Trial]:
    return {n: Trial(n, {"factors": n + 5}, score) for n, score in enumerate(scores)}


@pytest.mark.parametrize(
    ("metric", "scores", "best"),
    [
        ("nDCG", [0.1, 0.3, 0.3, 0.2], 1),
        ("nDCG", [None, 0.0, None], 1),
        ("nDCG", [0.0, -0.5], 0),
        ("ARP", [0.3, 0.1, 0.1, 0.2], 1),
        ("nDCG", [None, None], None),
        ("nDCG", [], None),
    ],
)
def test_the_best_trial_is_the_first_of_equals(
    metric: str, scores: list[float | None], best: int | None
) -> None:
    found = search_of(scored(*scores), metric=metric).best
    assert (None if found is None else found.number) == best


def test_trials_are_compared_by_their_numbers() -> None:
    late_first = dict(reversed(scored(0.1, 0.3, 0.3).items()))
    found = search_of(late_first).best
    assert found is not None
    assert found.number == 1


def test_measures_are_named_with_their_options_and_cut_off() -> None:
    assert search_of().measure == Measure("nDCG", 10)
    assert replace(search_of(), metric=METRICS["nDCG"](gains="exp")).measure == Measure(
        "nDCG(gains=exp)", 10
    )


def test_missing_trials_are_drawn_and_the_first_has_the_defaults() -> None:
    search = search_of()
    drawn = [*search.missing_trials()]
    assert [trial.number for trial in drawn] == [0, 1, 2, 3, 4]
    assert drawn[0].settings == {"factors": 30}
    assert len({trial.settings["factors"] for trial in drawn}) == 5
    # Those that are made are not drawn, and the others stay as they were.
    search.trials = {1: replace(drawn[1], score=0.5), 3: replace(drawn[3], score=None)}
    assert [*search.missing_trials()] == [drawn[0], drawn[2], drawn[4]]


def test_settings_that_the_study_has_are_not_searched_but_kept() -> None:
    text = WORLD + "[systems.settings.ease]\nmax_gigabytes = 2.5\nregularization = 7.0\n"
    space: dict[str, SearchDomain] = {"regularization": Range(1.0, 1000.0, log=True)}
    text = text.replace("[systems.", '[systems]\nnames = ["ease"]\n[systems.', 1)
    search = search_of(text=text, space=space, label="ease")
    assert search.fixed_settings == {"max_gigabytes": 2.5}
    assert next(search.missing_trials()).settings == {"regularization": 300.0}


def test_a_space_without_new_settings_is_used_up() -> None:
    search = search_of(space={"factors": Range(29, 30)})
    tried = [{"factors": 29}]
    assert search.draw_new_settings(tried) == {"factors": 30}
    assert search.draw_new_settings([*tried, {"factors": 30}]) is None
    assert [trial.settings["factors"] for trial in search.missing_trials()] == [30, 29]


@pytest.mark.parametrize(
    ("last", "patience", "n_draws", "n_learning"), [(7, 3, 7, 3), (2, 5, 2, 2), (200, 10, 200, 10)]
)
def test_draws_that_are_not_new_become_random_and_then_end(
    last: int, patience: int, n_draws: int, n_learning: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (searching.TPE_DRAWS, searching.MAX_DRAWS) == (10, 200)
    monkeypatch.setattr(searching, "MAX_DRAWS", last)
    monkeypatch.setattr(searching, "TPE_DRAWS", patience)
    draws: list[tuple[int, bool]] = []

    def draw(self: Search, seed: int, *, learns: bool) -> dict[str, int]:
        draws.append((seed, learns))
        return {"factors": 5}

    monkeypatch.setattr(Search, "_draw_settings", draw)
    assert search_of().draw_new_settings([{"factors": 5}]) is None
    assert [learns for _, learns in draws] == [True] * n_learning + [False] * (n_draws - n_learning)
    assert len({seed for seed, _ in draws}) == n_draws
    assert max(seed for seed, _ in draws) < 2**32


def test_draws_lie_in_the_space_and_choices_among_their_values() -> None:
    space: dict[str, SearchDomain] = {
        "whole": Range(3, 4),
        "penalty": Range(0.01, 1.0, log=True),
        "kind": Choice(("a", "b")),
    }
    search = search_of(space=space)
    drawn = [search._draw_settings(seed, learns=True) for seed in range(40)]
    assert {each["whole"] for each in drawn} == {3, 4}
    assert {each["kind"] for each in drawn} == {"a", "b"}
    penalties = [float(each["penalty"]) for each in drawn]
    assert 0.01 <= min(penalties) < 0.05
    assert 0.2 < max(penalties) <= 1
    assert sorted(penalties)[20] == pytest.approx(0.1, abs=0.1)  # evenly by logarithm
    assert search._draw_settings(3, learns=True) == drawn[3]


@pytest.fixture(scope="module")
def validation() -> Validation:
    return validation_of(Study.parse(WORLD, source="study.toml", base=Path(), changes={}))


def test_a_trial_needs_a_process_and_what_its_system_says(validation: Validation) -> None:
    estimate = find_system("ease").memory_need
    assert estimate is not None
    own = estimate(validation.split.train, read_settings("ease", {})).n_bytes
    assert own > 0
    for label, needed in (("ease", PROCESS_BYTES + own), ("random", PROCESS_BYTES)):
        assert search_of(validation=validation, label=label, space={}).bytes_needed == needed


def test_a_table_is_named_by_all_that_its_trials_depend_on(validation: Validation) -> None:
    first = search_of(validation=validation).path
    assert first.parent.name == "tuning"
    assert first.name.startswith("puresvd-")
    assert len(first.stem) == len("puresvd-") + 12
    assert search_of(validation=validation).path == first
    assert search_of(validation=validation, n_trials=99).path == first
    others = [
        search_of(validation=validation, cutoff=5),
        search_of(validation=validation, sampler="tpe"),
        search_of(validation=validation, metric="AP"),
        search_of(validation=validation, space={"factors": Range(5, 100)}),
        search_of(validation=validation, text=WORLD.replace("seed = 3", "seed = 4")),
        search_of(validation=validation, text=WORLD + '[systems]\ncandidates = "test"\n'),
        search_of(
            validation=replace(validation, qrels=replace(validation.qrels, relevance_level=1))
        ),
    ]
    paths = {search.path for search in others}
    assert len(paths) == len(others)
    assert first not in paths


def test_trials_are_written_by_number_with_seconds_to_the_millisecond(
    validation: Validation, tmp_path: Path
) -> None:
    text = WORLD.replace('name = "', f'output = "{tmp_path}"\nname = "', 1)
    search = search_of(validation=validation, text=text)
    search.trials[2] = Trial(2, {"factors": 9}, 0.25, 1.0)
    cost = Cost(seconds=0.12345, cpu_seconds=1.0)
    assert search.add(Trial(1, {"factors": 7}), "no memory", cost) == "no memory"
    assert search.path.read_text().splitlines() == [
        "trial,factors,score,seconds,finding",
        "1,7,,0.123,no memory",
        "2,9,0.25,1.0,",
    ]
    again = search_of(validation=validation, text=text)
    again.read()
    assert [*again.trials] == [1, 2]
    assert again.trials[1] == Trial(1, {"factors": 7}, None, 0.123, "no memory")


def test_a_comparison_has_the_defaults_the_best_and_how_many_failed() -> None:
    lines = comparison([search_of(scored(0.1, None, 0.25)), search_of(scored(None, 0.2))])
    assert lines.splitlines()[0] == "Tuning: nDCG@10 on the validation part"
    rows = [line.split() for line in lines.splitlines()[2:5]]
    assert rows == [
        ["system", "defaults", "best", "trials", "failed"],
        ["puresvd", "0.1000", "0.2500", "3", "1"],
        ["puresvd", "NaN", "0.2000", "2", "1"],
    ]


def test_a_file_of_ones_own_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "study-tuned.toml"
    require_free(path)
    path.write_text(f"{MARK} for study.toml\n")
    require_free(path)
    path.write_text('name = "mine"\n')
    with pytest.raises(InputError, match="was not written by `harness tune`: move it away"):
        require_free(path)


def test_a_tuned_study_has_the_best_settings_and_its_own_name(tmp_path: Path) -> None:
    source, target = tmp_path / "study.toml", tmp_path / "new.toml"
    source.write_text('name = "x"\noutput = "y"\n[systems]\nnames = ["puresvd"]\n')
    write_tuned_study(source, target, [search_of(scored(0.1, 0.2))])
    text = target.read_text()
    assert text.startswith(f"{MARK} for study.toml, by nDCG@10 on the validation part.\n\n")
    assert tomllib.loads(text) == {
        "name": "x-tuned",
        "systems": {"names": ["puresvd"], "settings": {"puresvd": {"factors": 6}}},
    }
    source.write_text('name = "x"\n[systems]\nnames = "all"\n[systems.settings.ease]\na = 1\n')
    write_tuned_study(source, target, [search_of(scored(None))])
    settings = tomllib.loads(target.read_text())["systems"]["settings"]
    assert settings == {"ease": {"a": 1}, "puresvd": {}}
