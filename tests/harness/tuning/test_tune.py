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
from harness.study.other_settings import Trial
from harness.study.run import check
from harness.study.study import Study
from harness.study.workers import train_and_rank
from harness.tuning.search import Search
from harness.tuning.search import tune as search_settings
from harness.tuning.validation import validation_of
from recommenders import Choice, Range, recommend, train
from recommenders.shared.system import SearchDomain
from runs import InputError
from tests.full import Full
from tests.harness.small import METRICS, SYSTEMS, TREC, TREC_METRICS, WORLD, start, write_collection
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


def tune(folder: Path, *options: str | Path, text: str = WORLD) -> Result:
    """Tune systems of a study in this folder, by one worker."""
    (folder / "study.toml").write_text(text, encoding="utf-8")
    fixed = ("--output", folder / "study", "--jobs", "1", "--quiet")
    arguments = ("tune", folder / "study.toml", *fixed, *options)
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def rows(folder: Path, system: str = "puresvd") -> list[dict[str, str]]:
    """The table of trials without the seconds, which differ."""
    (path,) = (folder / "study/tuning").glob(f"{system}-*.csv")
    with path.open(newline="") as stream:
        found = list(csv.DictReader(stream))
    for row in found:
        del row["seconds"]
    return found


def found_by(answer: Result, folder: Path) -> dict[str, Any]:
    """The settings of the tuned study."""
    assert answer.exit_code == 0, answer.stderr
    tuned = tomllib.loads((folder / f"{NEW}.toml").read_text())
    settings: dict[str, Any] = tuned["systems"]["settings"]
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
    study = Study.parse(WORLD, source="study.toml", base=Path(), changes={})
    validation = validation_of(study)
    ratings, users = validation.split.train, validation.split.test_users
    scorer = train("puresvd", {}, ratings, seed=study.seed)
    run = recommend(scorer, ratings, users, system="puresvd", depth=50)
    measures = Study.parse(
        WORLD + '[metrics]\nnames = ["nDCG@10"]\n', source="x", base=Path(), changes={}
    ).measures
    ids = validation.split.topics.ids
    scores = score([run], validation.qrels, measures, built_in_metrics(), users=ids)
    assert float(rows(undisturbed)[0]["score"]) == scores.mean_values()[0, 0]


def test_settings_that_are_not_searched_stay_as_the_study_has_them(tmp_path: Path) -> None:
    text = WORLD + "[systems.settings.ease]\nmax_gigabytes = 2.5\nregularization = 7.0\n"
    text = text.replace("[systems.", '[systems]\nnames = ["random", "ease"]\n[systems.', 1)
    assert found_by(tune(tmp_path, "ease", "--trials", "1", text=text), tmp_path) == {
        "ease": {"regularization": 300.0, "max_gigabytes": 2.5}
    }


def test_a_metric_without_a_cutoff_is_measured_at_the_depth_of_the_study(tmp_path: Path) -> None:
    text = WORLD + SYSTEMS + METRICS
    answer = tune(tmp_path, "puresvd", "--measure", "AP", "--trials", "1", text=text)
    assert "AP@20 on the validation part" in answer.stdout


@pytest.mark.slow
def test_what_is_better_lower_is_made_low(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(COSTS)
    options = ("--measure", "Misses@1", "--plugin", tmp_path / "mine.py", "--trials", "5")
    settings = found_by(tune(tmp_path, "puresvd", *options), tmp_path)
    scores = {int(row["factors"]): float(row["score"]) for row in rows(tmp_path)}
    assert scores[settings["puresvd"]["factors"]] == min(scores.values()) < max(scores.values())


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
    return folder, tune(folder, "--trials", "3", text=SEVERAL)


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
    check(Study.parse(text, source="study.toml", base=folder, changes={}))


@pytest.mark.slow
def test_systems_are_tuned_together_as_they_are_alone(
    tuned_study: tuple[Path, Result], tmp_path: Path
) -> None:
    for system in ("puresvd", "item-knn", "ease"):
        tune(tmp_path, system, "--trials", "3", "--jobs", "2", text=SEVERAL)
    assert levels(tmp_path) == levels(tuned_study[0])


def test_no_tuned_study_is_written_where_a_system_always_failed(tmp_path: Path) -> None:
    text = WORLD + '[systems]\nnames = ["puresvd", "ease"]\n' + TIGHT
    answer = tune(tmp_path, "--trials", "1", text=text)
    assert (answer.exit_code, answer.stdout) == (FAILED, "")
    assert answer.stderr.startswith("Failed: all trials of ease failed, the first: system 'ease'")
    assert not (tmp_path / f"{NEW}.toml").exists()


# Going on


@pytest.mark.slow
def test_a_search_goes_on_from_its_table(undisturbed: Path, tmp_path: Path) -> None:
    for trials in ("2", "4", "6"):
        tune(tmp_path, "puresvd", "--trials", trials)
    assert rows(tmp_path) == rows(undisturbed)


@pytest.mark.slow
def test_a_search_that_was_killed_goes_on(undisturbed: Path, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(WORLD)
    options = ("--output", tmp_path / "study", "--jobs", "1", "--trials", "10000", "--quiet")
    killed = start("tune", tmp_path / "study.toml", "puresvd", *options)
    while not [*tmp_path.glob("study/tuning/*.csv")] and killed.is_alive():
        time.sleep(0.005)
    killed.kill()
    killed.join()
    assert rows(tmp_path)
    tune(tmp_path, "puresvd", "--trials", "6")
    assert rows(tmp_path)[:6] == rows(undisturbed)


def test_trials_are_not_made_again(undisturbed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.tuning.search.try_and_rank", None)
    assert tune(undisturbed, "puresvd", "--trials", "6").exit_code == 0


@pytest.mark.slow
def test_two_workers_find_the_same_as_one(undisturbed: Path, tmp_path: Path) -> None:
    tune(tmp_path, "puresvd", "--trials", "6", "--jobs", "2")
    assert rows(tmp_path) == rows(undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed = 3", "seed = 4"),
        ("threshold = 4.0", "threshold = 3.0"),
        ("seed = 3", 'seed = 3\nmetrics.average = "judgements"'),
    ],
)
def test_trials_of_a_changed_study_do_not_count(tmp_path: Path, old: str, new: str) -> None:
    tune(tmp_path, "puresvd", "--trials", "2")
    tune(tmp_path, "puresvd", "--trials", "2", text=WORLD.replace(old, new))
    assert len([*tmp_path.glob("study/tuning/*.csv")]) == 2


def test_tpe_goes_on_as_if_undisturbed(tmp_path: Path) -> None:
    for name, budgets in (("whole", ["14"]), ("parts", ["5", "12", "14"])):
        (tmp_path / name).mkdir()
        for trials in budgets:
            tune(tmp_path / name, "puresvd", "--search", "tpe", "--trials", trials)
    assert len(rows(tmp_path / "whole")) == 14
    assert rows(tmp_path / "whole") == rows(tmp_path / "parts")


def test_a_space_that_is_used_up_ends_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    found_by(tune(tmp_path, "puresvd", "--trials", "6"), tmp_path)
    for row, without in zip(rows(tmp_path), rows(undisturbed), strict=True):
        failed = {**without, "score": "", "finding": finding}
        assert row == (failed if int(row["factors"]) > 20 else without)


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
        ("puresv", (), "the study has no system 'puresv'; did you mean 'puresvd'?"),
        ("random", (), "the system 'random' has no setting to tune"),
        ("puresvd", ("--measure", "nDGC"), "no metric is called 'nDGC'; did you mean 'nDCG'?"),
        ("puresvd", ("--measure", "nDCG@0"), "stands a cut-off"),
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
    assert "study.toml, line 3: tuning needs a study of ratings" in answer.stderr


def test_draws_of_tpe_gather_where_trials_were_good() -> None:
    study = Study.parse(WORLD, source="study.toml", base=Path(), changes={})
    places: dict[str, SearchDomain] = {
        "penalty": Range(0.01, 1.0, log=True),
        "estimator": Choice(("mle", "nln")),
    }
    metric = built_in_metrics()["nDCG"]
    search = Search(study, "puresvd", metric, 10, "tpe", places, None, 0)  # type: ignore[arg-type]
    tried = [Trial(0, {"penalty": 0.5, "estimator": "mle"}, -5.0)]
    while len(tried) < 40:
        search.trials = dict(enumerate(tried))
        settings = search.draw_new_settings([trial.settings for trial in tried])
        assert settings is not None
        distance = max(float(settings["penalty"]) / 0.1, 0.1 / float(settings["penalty"]))
        score = None if settings["estimator"] == "nln" else -distance
        tried.append(Trial(len(tried), settings, score))
    near = [0.03 < float(trial.settings["penalty"]) < 0.3 for trial in tried[20:]]
    assert sum(near) > 2 * 20 / 3  # Half of them by chance.
    assert sum(trial.settings["estimator"] == "mle" for trial in tried[20:]) > 2 * 20 / 3


def test_a_table_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    tune(tmp_path, "puresvd", "--trials", "1")
    (path,) = tmp_path.glob("study/tuning/*.csv")
    path.write_text(path.read_text().replace("0,30", "0,many"))
    answer = tune(tmp_path, "puresvd", "--trials", "1")
    assert answer.exit_code == MISUSED
    assert f"{path}: no trials can be read from it" in answer.stderr


def test_every_bar_is_full_when_the_search_ends_and_failures_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "harness.study.workers.train_and_rank", fails_above(29, InputError("too many."))
    )
    study = Study.parse(WORLD, source="study.toml", base=tmp_path, changes={"output": tmp_path})
    progress = Full()
    asked: Any = {"metric": "nDCG@5", "sampler": "random", "n_jobs": 1, "progress": progress}
    search_settings(study, ["puresvd", "item-knn"], n_trials=2, **asked)
    assert progress.work == [("Reading the training ratings", 1), ("Tuning", 4)]
    assert progress.notes[0] == "puresvd: trial 0 failed: too many."
    again = asked["progress"] = Full()
    search_settings(study, ["puresvd"], n_trials=3, **asked)
    assert again.work == [("Reading the training ratings", 1), ("Tuning", 3)]
