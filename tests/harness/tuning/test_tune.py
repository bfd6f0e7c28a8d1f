import csv
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import main
from harness.metrics.shared.register import built_in_metrics
from harness.scoring.score import score
from harness.study.run import check
from harness.study.study import parse_study
from harness.study.workers import train_and_rank, try_and_rank
from harness.tuning.search import Budget, prepare
from harness.tuning.validation import validation_of
from recommenders import recommend, search_space, systems, train
from runs import InputError
from runs.shared.progress import Silent
from tests.harness.small import (
    METRICS,
    NO_ANALYSES,
    SYSTEMS,
    TREC,
    TREC_METRICS,
    WORLD,
    run_text,
    start,
    write_collection,
)
from tests.harness.tuning.test_validation import BY_TIME, CUT, log, new_pairs, write_log

FAILED, MISUSED = 1, 2
NEW = "study-tuned"
TIGHT = "[systems.settings.ease]\nmax_gigabytes = 1e-6\n"
COSTS = '''
from harness.metrics.shared.metric import metric

@metric("Misses", source="by hand", higher_is_better=False, has_level=False)
def misses(judged, *, cutoff=None):
    """Share of users without a judged item."""
    return (~(judged.relevant | judged.nonrelevant)[:, :cutoff].any(axis=1)).astype(float)
'''

MINE = '''
import numpy as np
from recommenders import Range, Settings, searched, system
from recommenders.shared.scorers import FactorScorer

class MySettings(Settings):
    damping: float = searched(5.0, Range(0.1, 100.0, log=True), description="Imagined ratings.")

@system("mean", family="baseline", source="-")
def mean_rating(ratings, settings: MySettings, *, seed):
    """Rank items by their damped mean rating."""
    sums = np.bincount(ratings.item, weights=ratings.rating, minlength=len(ratings.items))
    counts = ratings.item_counts() + settings.damping
    means = (sums + settings.damping * ratings.rating.mean()) / counts
    return FactorScorer(ratings, np.ones((len(ratings.users), 1)), means[:, np.newaxis])
'''


def tune(folder: Path, system: str, *options: str | Path, text: str = WORLD) -> Result:
    """Tune a system of a study in this folder, by one worker."""
    (folder / "study.toml").write_text(text, encoding="utf-8")
    fixed = ("--output", folder / "study", "--jobs", "1", "--quiet")
    arguments = ("tune", folder / "study.toml", system, *fixed, *options)
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def rows(folder: Path, system: str = "puresvd") -> list[dict[str, str]]:
    """The table of trials without the seconds, which differ."""
    with (folder / f"study/tuning/{system}.csv").open(newline="") as stream:
        found = list(csv.DictReader(stream))
    for row in found:
        del row["seconds"]
    return found


def pasted(answer: Result) -> dict[str, Any]:
    """The settings that were printed, as a study would read them."""
    assert answer.exit_code == 0, answer.stderr
    settings: dict[str, Any] = tomllib.loads(answer.stdout)["systems"]["settings"]
    return settings


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random search of six trials."""
    folder = tmp_path_factory.mktemp("undisturbed")
    tune(folder, "puresvd", "--trials", "6")
    return folder


# What is found


def test_the_first_trial_has_the_defaults(undisturbed: Path) -> None:
    (trial, *_) = rows(undisturbed)
    assert (trial["trial"], trial["factors"]) == ("0", "30")


def test_a_score_is_the_mean_over_the_validation_users(undisturbed: Path) -> None:
    study = parse_study(WORLD, source="study.toml", base=Path(), changes={})
    validation = validation_of(study)
    ratings, users = validation.split.train, validation.split.test_users
    scorer = train("puresvd", {}, ratings, seed=study.seed)
    run = recommend(scorer, ratings, users, system="puresvd", depth=50)
    measures = parse_study(
        WORLD + '[metrics]\nnames = ["nDCG@10"]\n', source="x", base=Path(), changes={}
    ).measures
    ids = validation.split.topics.ids
    scores = score([run], validation.qrels, measures, built_in_metrics(), users=ids)
    assert float(rows(undisturbed)[0]["score"]) == scores.means()[0, 0]


def test_the_best_settings_are_printed(undisturbed: Path) -> None:
    settings = pasted(tune(undisturbed, "puresvd", "--trials", "6"))
    best = max(rows(undisturbed), key=lambda row: float(row["score"]))
    assert settings == {"puresvd": {"factors": int(best["factors"])}}


def test_what_is_printed_can_be_pasted_into_the_study(undisturbed: Path) -> None:
    block = tune(undisturbed, "puresvd", "--trials", "6").stdout
    text = WORLD + '[systems]\nnames = ["random", "puresvd"]\n' + block
    check(parse_study(text, source="study.toml", base=Path(), changes={}))


def test_the_score_of_the_defaults_stands_beside(undisturbed: Path) -> None:
    answer = tune(undisturbed, "puresvd", "--trials", "6")
    default = float(rows(undisturbed)[0]["score"])
    assert f"the defaults: {default:.5f}\n" in answer.stdout


def test_settings_that_are_not_searched_stay_as_the_study_has_them(tmp_path: Path) -> None:
    text = WORLD + "[systems.settings.ease]\nmax_gigabytes = 2.5\nregularization = 7.0\n"
    text = text.replace("[systems.", '[systems]\nnames = ["random", "ease"]\n[systems.', 1)
    assert pasted(tune(tmp_path, "ease", "--trials", "1", text=text)) == {
        "ease": {"regularization": 300.0, "max_gigabytes": 2.5}
    }


def test_a_metric_without_a_cutoff_is_measured_at_the_depth_of_the_study(tmp_path: Path) -> None:
    text = WORLD + SYSTEMS + METRICS
    tune(tmp_path, "puresvd", "--metric", "AP", "--trials", "1", text=text)
    assert rows(tmp_path)[0]["metric"] == "AP@20"


@pytest.mark.slow
def test_what_is_better_lower_is_made_low(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(COSTS)
    options = ("--metric", "Misses@1", "--plugin", tmp_path / "mine.py", "--trials", "5")
    settings = pasted(tune(tmp_path, "puresvd", *options))
    scores = {int(row["factors"]): float(row["score"]) for row in rows(tmp_path)}
    assert scores[settings["puresvd"]["factors"]] == min(scores.values()) < max(scores.values())


@pytest.mark.slow
def test_a_geometric_mean_is_made_high_as_it_is_printed(tmp_path: Path) -> None:
    for metric in ("AP@10", "AP(mean=geometric)@10"):
        tune(tmp_path, "puresvd", "--metric", metric, "--trials", "1")
    arithmetic, geometric = (float(row["score"]) for row in rows(tmp_path))
    assert 0 < geometric < arithmetic


@pytest.mark.slow
def test_users_weigh_in_a_trial_as_they_do_in_the_study(tmp_path: Path) -> None:
    for average in ("users", "judgements"):
        text = f'{WORLD}[metrics]\naverage = "{average}"\n'
        tune(tmp_path, "puresvd", "--metric", "Recall@10", "--trials", "1", text=text)
    plain, weighted = rows(tmp_path)
    assert plain["key"] != weighted["key"]
    assert plain["score"] != weighted["score"]


@pytest.mark.slow
def test_a_study_of_test_items_is_tuned_on_validation_items(tmp_path: Path) -> None:
    few = WORLD.replace("n_items = 80", "n_items = 300").replace("gini = 0.5", "gini = 0.7")
    scores = {}
    for candidates in ("trained", "test"):
        text = f'{few}[systems]\ncandidates = "{candidates}"\n'
        tune(tmp_path, "puresvd", "--trials", "1", text=text)
        scores[candidates] = float(rows(tmp_path)[-1]["score"])
    assert scores["trained"] < scores["test"]


@pytest.mark.slow
@pytest.mark.parametrize("is_named_by_the_study", [True, False])
def test_a_system_of_the_user_is_tuned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_named_by_the_study: bool
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path if is_named_by_the_study else folder)
    named = '[systems]\nnames = ["random", "mine/mine.py:mean_rating"]\n'
    text = WORLD + (named if is_named_by_the_study else "")
    answer = tune(tmp_path, "mine.py:mean_rating", "--trials", "4", text=text)
    settings = pasted(answer)[f"{folder}/mine.py:mean_rating"]
    found = rows(tmp_path, "mine.py%3Amean_rating")
    assert len(found) == 4
    assert str(settings["damping"]) in {row["damping"] for row in found}
    text = WORLD + named + answer.stdout
    check(parse_study(text, source="study.toml", base=tmp_path, changes={}))


@pytest.mark.slow
def test_other_test_ratings_find_the_same(tmp_path: Path) -> None:
    training = log(first=1, last=CUT)
    found = []
    for name, tested in (
        ("one", log(first=CUT, last=9 * CUT)),
        ("two", log(first=CUT, last=CUT + 9)),
    ):
        folder = tmp_path / name
        folder.mkdir()
        write_log(folder, training + new_pairs(tested, training) + [(name, name, 0.5, CUT)])
        tune(folder, "puresvd", "--trials", "4", text=BY_TIME)
        found.append(rows(folder))
    assert len(found[0]) == 4
    assert found[0] == found[1]


# Every system of a study


SEVERAL = (
    WORLD
    + """
[systems] # Mine.
names = ["random", "puresvd", "item-knn", "ease"]
[systems.settings.ease]
max_gigabytes = 1.5
"""
)


def levels(folder: Path) -> dict[str, list[str]]:
    return {s: [row["score"] for row in rows(folder, s)] for s in ("puresvd", "item-knn", "ease")}


@pytest.fixture(scope="module")
def tuned_study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A study all of whose systems were tuned."""
    folder = tmp_path_factory.mktemp("several")
    return folder, tune(folder, "--all", "--trials", "3", text=SEVERAL)


def test_every_system_with_a_range_has_the_same_budget(tuned_study: tuple[Path, Result]) -> None:
    folder, answer = tuned_study
    assert {system: len(scores) for system, scores in levels(folder).items()} == {
        "puresvd": 3,
        "item-knn": 3,
        "ease": 3,
    }
    for system, scores in levels(folder).items():
        shown = [f"{float(score):.4f}" for score in (scores[0], max(scores))]
        assert [system, *shown, "3", "0"] in [line.split() for line in answer.stdout.splitlines()]


def test_the_tuned_study_is_the_study_with_the_settings_found(
    tuned_study: tuple[Path, Result],
) -> None:
    folder, _ = tuned_study
    before, after = (tomllib.loads((folder / f"{s}.toml").read_text()) for s in ("study", NEW))
    settings = after["systems"].pop("settings")
    assert set(settings) == {"puresvd", "item-knn", "ease"}
    best = max(rows(folder, "ease"), key=lambda row: float(row["score"]))
    assert settings["ease"] == {
        "max_gigabytes": 1.5,
        "regularization": float(best["regularization"]),
    }
    del before["systems"]["settings"]
    assert after == {**before, "name": "small-tuned"}
    text = (folder / f"{NEW}.toml").read_text()
    check(parse_study(text, source="study.toml", base=folder, changes={}))


@pytest.mark.slow
def test_systems_are_tuned_together_as_they_are_alone(
    tuned_study: tuple[Path, Result], tmp_path: Path
) -> None:
    for system in ("puresvd", "item-knn", "ease"):
        tune(tmp_path, system, "--trials", "3", "--jobs", "2", text=SEVERAL)
    assert levels(tmp_path) == levels(tuned_study[0])


def test_a_tuned_study_is_written_again_and_nothing_else_over(
    tuned_study: tuple[Path, Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, answer = tuned_study
    monkeypatch.setattr("harness.tuning.search.try_and_rank", None)
    assert tune(folder, "--all", "--trials", "3", text=SEVERAL).stdout == answer.stdout
    (folder / f"{NEW}.toml").write_text("mine = 1\n")
    refused = tune(folder, "--all", "--trials", "3", text=SEVERAL)
    assert refused.exit_code == MISUSED
    assert "study-tuned.toml: there is such a file, which `harness tune`" in refused.stderr


def test_no_tuned_study_is_written_where_a_system_always_failed(tmp_path: Path) -> None:
    text = WORLD + '[systems]\nnames = ["puresvd", "ease"]\n' + TIGHT
    answer = tune(tmp_path, "--all", "--trials", "1", text=text)
    assert (answer.exit_code, answer.stdout) == (FAILED, "")
    assert answer.stderr.startswith("Failed: no trial of ease worked; the first: system 'ease'")
    assert not (tmp_path / f"{NEW}.toml").exists()


def test_a_study_without_ranges_has_nothing_to_tune(tmp_path: Path) -> None:
    text = WORLD + '[systems]\nnames = ["random", "popularity"]\n'
    answer = tune(tmp_path, "--all", text=text)
    assert answer.exit_code == MISUSED
    assert "no system of the study has a setting that is searched." in answer.stderr


@pytest.mark.parametrize("systems", [(), ("puresvd", "--all")])
def test_either_systems_are_named_or_all_are_meant(tmp_path: Path, systems: Any) -> None:
    (tmp_path / "study.toml").write_text(WORLD)
    answer = CliRunner().invoke(main, ["tune", str(tmp_path / "study.toml"), *systems])
    assert (answer.exit_code, answer.stdout) == (MISUSED, "")
    assert "Name systems, or say --all." in answer.stderr


# Going on


@pytest.mark.slow
def test_a_search_goes_on_from_its_table(undisturbed: Path, tmp_path: Path) -> None:
    for trials in ("2", "4", "6"):
        tune(tmp_path, "puresvd", "--trials", trials)
    assert rows(tmp_path) == rows(undisturbed)


@pytest.mark.slow
def test_a_search_that_was_interrupted_goes_on(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(label: tuple[str, Any], *args: Any, **options: Any) -> Any:
        if label[1].number == 3:
            raise KeyboardInterrupt
        return try_and_rank(label, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr("harness.tuning.search.try_and_rank", interrupted)
        assert tune(tmp_path, "puresvd", "--trials", "6").exit_code == FAILED
    assert rows(tmp_path) == rows(undisturbed)[:3]
    tune(tmp_path, "puresvd", "--trials", "6")
    assert rows(tmp_path) == rows(undisturbed)


@pytest.mark.slow
def test_a_search_that_was_killed_goes_on(undisturbed: Path, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(WORLD)
    options = ("--output", tmp_path / "study", "--jobs", "1", "--trials", "10000", "--quiet")
    killed = start("tune", tmp_path / "study.toml", "puresvd", *options)
    while not (tmp_path / "study/tuning/puresvd.csv").exists() and killed.is_alive():
        time.sleep(0.005)
    killed.kill()
    killed.join()
    assert rows(tmp_path)
    tune(tmp_path, "puresvd", "--trials", "6")
    assert rows(tmp_path)[:6] == rows(undisturbed)


@pytest.mark.slow
def test_a_lost_line_is_made_again(undisturbed: Path, tmp_path: Path) -> None:
    tune(tmp_path, "puresvd", "--trials", "6")
    path = tmp_path / "study/tuning/puresvd.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:3] + lines[4:]))
    tune(tmp_path, "puresvd", "--trials", "6")
    assert rows(tmp_path) == rows(undisturbed)


def test_trials_are_not_made_again(undisturbed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.tuning.search.try_and_rank", None)
    assert tune(undisturbed, "puresvd", "--trials", "6").exit_code == 0


@pytest.mark.slow
def test_two_workers_find_the_same_as_one(undisturbed: Path, tmp_path: Path) -> None:
    tune(tmp_path, "puresvd", "--trials", "6", "--jobs", "2")
    assert rows(tmp_path) == rows(undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"), [("seed = 3", "seed = 4"), ("threshold = 4.0", "threshold = 3.0")]
)
def test_trials_of_a_changed_study_do_not_count(tmp_path: Path, old: str, new: str) -> None:
    tune(tmp_path, "puresvd", "--trials", "2")
    before = rows(tmp_path)
    tune(tmp_path, "puresvd", "--trials", "2", text=WORLD.replace(old, new))
    assert rows(tmp_path)[:2] == before
    assert [row["trial"] for row in rows(tmp_path)] == ["0", "1", "0", "1"]


@pytest.mark.slow
def test_a_search_for_another_metric_has_lines_of_its_own(tmp_path: Path) -> None:
    for metric in ("nDCG@10", "P@5"):
        tune(tmp_path, "puresvd", "--metric", metric, "--trials", "2")
    found = [(row["metric"], row["factors"]) for row in rows(tmp_path)]
    assert [metric for metric, _ in found] == ["nDCG@10", "nDCG@10", "P@5", "P@5"]
    assert [factors for _, factors in found[:2]] == [factors for _, factors in found[2:]]


@pytest.mark.slow
def test_a_run_of_the_study_leaves_the_table(tmp_path: Path) -> None:
    tune(tmp_path, "puresvd", "--trials", "2")
    before = rows(tmp_path)
    run_text(WORLD + SYSTEMS + METRICS + NO_ANALYSES, tmp_path, output=tmp_path / "study")
    assert rows(tmp_path) == before


def test_tpe_goes_on_as_if_undisturbed(tmp_path: Path) -> None:
    for name, budgets in (("whole", ["14"]), ("parts", ["5", "12", "14"])):
        (tmp_path / name).mkdir()
        for trials in budgets:
            tune(tmp_path / name, "puresvd", "--search", "tpe", "--trials", trials)
    assert len(rows(tmp_path / "whole")) == 14
    assert rows(tmp_path / "whole") == rows(tmp_path / "parts")


# The budget


def test_minutes_that_are_over_leave_time_for_one_trial(tmp_path: Path) -> None:
    for expected in (1, 2):
        tune(tmp_path, "puresvd", "--minutes", "1e-9")
        assert len(rows(tmp_path)) == expected


def test_a_space_that_is_used_up_ends_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recommenders import Range

    monkeypatch.setattr("harness.tuning.search.search_space", lambda _: {"factors": Range(29, 31)})
    tune(tmp_path, "puresvd")
    assert sorted(row["factors"] for row in rows(tmp_path)) == ["29", "30", "31"]


# Failures


def fails_above(factors: int, error: Exception) -> Any:
    def trained(system: str, settings: dict[str, Any], *args: Any, **options: Any) -> Any:
        if settings["factors"] > factors:
            raise error
        return train_and_rank(system, settings, *args, **options)

    return trained


@pytest.mark.parametrize(
    ("error", "finding"),
    [
        (InputError("too much memory."), "too much memory."),
        (MemoryError(), "MemoryError:"),
        (ZeroDivisionError("division\nby zero"), "ZeroDivisionError: division by zero"),
    ],
)
def test_a_failed_trial_is_noted_and_the_search_goes_on(
    undisturbed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    finding: str,
) -> None:
    monkeypatch.setattr("harness.study.workers.train_and_rank", fails_above(20, error))
    pasted(tune(tmp_path, "puresvd", "--trials", "6"))
    for row, without in zip(rows(tmp_path), rows(undisturbed), strict=True):
        failed = {**without, "score": "", "state": "failed", "finding": finding}
        assert row == (failed if int(row["factors"]) > 20 else without)


def test_where_all_trials_fail_the_first_is_explained(tmp_path: Path) -> None:
    text = WORLD + '[systems]\nnames = ["random", "ease"]\n' + TIGHT
    answer = tune(tmp_path, "ease", "--trials", "3", text=text)
    assert (answer.exit_code, answer.stdout) == (FAILED, "")
    sentence = "Failed: no trial worked; the first: system 'ease' needs about 0.0 GB"
    assert answer.stderr.startswith(sentence)
    assert [row["state"] for row in rows(tmp_path, "ease")] == ["failed"] * 3


def test_a_package_that_is_missing_is_no_failure_of_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_: Any, **__: Any) -> Any:
        try:
            raise ModuleNotFoundError
        except ModuleNotFoundError as error:
            raise InputError("system 'puresvd' needs the package 'lenskit'") from error

    monkeypatch.setattr("harness.study.workers.train_and_rank", absent)
    answer = tune(tmp_path, "puresvd")
    assert answer.exit_code == MISUSED
    assert "needs the package 'lenskit'" in answer.stderr
    assert not (tmp_path / "study/tuning").exists()


@pytest.mark.parametrize(
    ("system", "options", "sentence"),
    [
        ("puresv", (), "no system is called 'puresv'; did you mean 'puresvd'?"),
        ("random", (), "the system 'random' has no setting that is searched"),
        ("puresvd", ("--metric", "nDGC"), "no metric is called 'nDGC'; did you mean 'nDCG'?"),
        ("puresvd", ("--metric", "nDCG@0"), "stands a cut-off of at least 1"),
        ("puresvd", ("--search", "grid"), "'grid' is not one of 'random', 'tpe'"),
        ("puresvd", ("--trials", "0"), "0 is not in the range x>=1"),
        ("puresvd", ("--minutes", "0"), "0.0 is not in the range x>0"),
    ],
)
def test_a_mistake_is_answered_with_a_sentence_and_exit_code_2(
    tmp_path: Path, system: str, options: tuple[str, ...], sentence: str
) -> None:
    answer = tune(tmp_path, system, *options)
    assert (answer.exit_code, answer.stdout) == (MISUSED, "")
    assert sentence in answer.stderr
    assert not (tmp_path / "study").exists()


def test_a_study_without_ratings_is_answered_with_a_sentence(tmp_path: Path) -> None:
    write_collection(tmp_path)
    answer = tune(tmp_path, "puresvd", text=TREC + TREC_METRICS)
    assert answer.exit_code == MISUSED
    assert "study.toml, line 3: a study of runs made elsewhere has no ratings" in answer.stderr


def test_nothing_is_trained_before_all_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.tuning.search.validation_of", None)
    study = parse_study(WORLD, source="study.toml", base=Path(), changes={})
    with pytest.raises(InputError):
        prepare(
            study,
            ["puresvd"],
            metric="nDGC@10",
            sampler="random",
            budget=Budget(1),
            progress=Silent(),
        )


def test_the_list_of_systems_shows_where_settings_are_searched() -> None:
    shown = CliRunner(env={"COLUMNS": "400"}).invoke(main, ["systems"]).stdout
    for spec in systems().values():
        for name, place in search_space(spec.settings).items():
            default = spec.settings.model_fields[name].default
            assert f"{name} ({default}; {place})" in shown
