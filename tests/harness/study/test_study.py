from pathlib import Path
from typing import Any

import pytest

from analyses.shared.measure import Measure, Measures
from harness.study.study import Study, read_study, run_paths
from runs import InputError
from tests.harness.small import RANKED, WHOLE

RATINGS = 'name = "x"\n[ratings]\npath = "ratings.csv"\n'
RUNS = 'name = "x"\n[runs]\npaths = ["*.run"]\n[qrels]\npath = "test.qrels"\n'


def parse(text: str, base: Path = Path("/data"), **changes: Any) -> Study:
    return Study.parse(text, source="study.toml", base=base, changes=changes)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "study.toml: `name` is missing."),
        ("name = x\n", "study.toml: not a TOML file: Invalid value (at line 1, column 8)."),
        ('name = "a/b"\n', "study.toml, line 1: `name` must begin with a letter or digit"),
        ('name = "x"\n', "study.toml: a study needs [ratings], or [runs] and [qrels]."),
        (RATINGS + RUNS[11:], "study.toml: a study needs [ratings], or [runs]"),
        ('name = "x"\n[runs]\npaths = ["a"]\n', "study.toml: [runs] and [qrels] need each other."),
        ('name = "x"\nratings = 3\n', "study.toml, line 2: `ratings` must be a table, got 3."),
        ('name = "x"\n[ratings]\n', "study.toml, line 2: `ratings`: `path` or format"),
        ("seed = -1\n" + RATINGS, "line 1: `seed` must be at least 0, got"),
        (RATINGS + 'format = "world"\n', 'a study of format "world" has no `path`.'),
        (RATINGS + '[repeat]\ntrials = "tuned"\n', "`trials` are for other settings"),
        (RATINGS + "[repeat]\nseeds = 2\nsettings = 2\n", "are repeated in two studies"),
        (RATINGS + 'like = "b.csv"\n', '`preset`, `like` and `world` need format = "world".'),
        (RATINGS + 'preset = "small"\n', '`preset`, `like` and `world` need format = "world".'),
        (RATINGS + "treshold = 4\n", "line 4: there is no `treshold` in [ratings]; did you mean `"),
        (RATINGS + "threshold = nan\n", "line 4: `threshold` in [ratings] must be a fin"),
        (RATINGS + "threshold = 4\nimplicit = true\n", "with `implicit` all items are relevant"),
        (RATINGS + 'decimal = ";"\n', "line 4: `decimal` in [ratings] must be '.' or ','"),
        (RATINGS + 'missing = "keep"\n', "line 4: `missing` in [ratings] must be 'error'"),
        (
            RATINGS + 'grades = "value"\n',
            'line 4: `grades` in [ratings] must be "values", "ranks" or a list of rising',
        ),
        (RATINGS + "grades = [3, 3]\n", "rising thresholds, got [3, 3]."),
        (RATINGS + 'duplicates = "first"\n', "line 4: `duplicates` in [ratings] must be"),
        (RATINGS + "[metric]\n", "line 4: there is no `metric`; did you mean `metrics`?"),
        (RATINGS + "[split]\ntest_share = 1.0\n", "line 5: `test_share` in [split] must"),
        (
            RATINGS + '[split]\nmethod = "k-fold"\nfold = 0\n',
            "line 6: `fold` in [split] must be at least",
        ),
        (
            RATINGS + '[systems]\nnames = "som"\n',
            "line 5: `names` in [systems]: there is no set of systems 'som'; there are valcarce-2",
        ),
        (
            RATINGS + '[systems]\nnames = ["ease", "svd", "ease"]\n',
            "study.toml, line 5: `names` in [systems]: 'ease' is duplicated.",
        ),
        (RATINGS + '[metrics]\nnames = ["P", "P"]\n', "`names` in [metrics]: 'P' is duplicated."),
        (RATINGS + "[metrics]\ncutoffs = [5, 5]\n", "`cutoffs` in [metrics]: 5 is duplicated."),
        (
            RATINGS + '[metrics]\naverage = "volume"\n',
            "line 5: `average` in [metrics] must be 'users' or 'judgements', got 'volume'",
        ),
        (RATINGS + "[metrics]\ncutoffs = 5\n", "`cutoffs` in [metrics] must be a list, got 5."),
        (RATINGS + "[metrics]\ncutoffs = [0]\n", "`cutoffs` in [metrics] must be at least"),
        (
            RATINGS + '[metrics]\nnames = ["nDCG@0"]\n',
            "line 5: `names` in [metrics]: 'nDCG@0': behind the @ stands a cut-off",
        ),
        (
            RATINGS + '[metrics]\nreport = ["P", "nDCG@10@5"]\n',
            "line 5: `report` in [metrics]: 'nDCG@10@5': behind the @ stands a cut-off",
        ),
        (RATINGS + "[metrics]\nreport = []\n", "`report` in [metrics] must have at least"),
        (RATINGS + "[analyses]\nnames = 3\n", "line 5: `names` in [analyses] must be a list of n"),
        (
            RATINGS + '[analyses]\nnames = ["swap"]\n',
            "line 5: `names` in [analyses]: no analysis is called 'swap'; did you mean 'swaps'?",
        ),
        (RATINGS + '[analyses]\nnames = ["users", "users"]\n', "'users' is duplicated."),
        (
            RATINGS + "[systems]\ndepth = 50\n",
            "the deepest cut-off, 100, is below the rankings, which end at rank 50",
        ),
        (
            RATINGS + "[analyses.sparsity]\nlevels = [1.0, 0.5, 1.0]\n",
            "line 5: `levels` in [analyses.sparsity]: 1.0 is duplicated.",
        ),
        (RATINGS + "[analyses.sparsity]\nlevels = [1.1]\n", "must be at most"),
        (RATINGS + "[analyses.popularity]\nlevels = [0.0]\n", "must be greater than 0"),
        (RATINGS + '[analyses.discrimination]\ntest = "u"\n', "must be 'exact', 'monte-"),
        (
            RATINGS + '[analyses.discrimination]\ncorrection = "tukey"\nbaseline = "random"\n',
            "the correction 'tukey' tests all pairs of systems at once; with a baseline, choose",
        ),
        (RATINGS + '[analyses.sparsity]\nmode = "user"\n', "must be 'all', 'per-user' or"),
        (RATINGS + "[analyses.users]\nsizes = [0, 9]\n", "`sizes` in [analyses.users] must be"),
        (RATINGS + "[analyses.users]\nsizes = [9, 9]\n", "9 is duplicated"),
        (RATINGS + "[analyses.sparsty]\n", "no `sparsty` in [analyses]; did you mean 'sparsity'?"),
        (RUNS + "relevance_level = 0\n", "line 6: `relevance_level` in [qrels] must be"),
        (RATINGS.replace("ratings.csv", "a\\u0000b"), "cannot be a path ("),
    ],
)
def test_a_broken_rule_is_answered_with_place_rule_and_value(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert sentence in str(caught.value)


def test_inputs_count_from_the_folder_of_the_study_file(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(RATINGS)
    section = read_study(tmp_path / "study.toml").ratings
    assert section is not None
    assert section.path == tmp_path / "ratings.csv"


def test_all_usual_analyses_are_made_where_the_table_is_absent() -> None:
    asked = parse(RATINGS).analyses.settings_by_key
    usual = {"systems", "correlation", "sparsity", "popularity", "users", "discrimination"}
    assert set(asked) == usual
    assert [key for key, settings in asked.items() if settings != type(settings)()] == []


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('metrics = ["nDGC"]', "did you mean 'nDCG'"),
        ('estimators = ["bv"]', "bv needs the option `gamma`"),
        ("negatives = 0", "at least 1"),
        ("repeats = 1", "at least 2"),
        ('studies = ["cost"]', "no study is called 'cost'"),
        ('priors = ["mle"]', "there is no `priors`"),
    ],
)
def test_what_cannot_be_sampled_is_refused_with_its_line(line: str, sentence: str) -> None:
    with pytest.raises(InputError, match=rf"line \d+: .*{sentence}"):
        parse(RATINGS + "[analyses.sampled]\n" + line)


def made(table: str) -> list[str]:
    return [analysis.key for analysis, _ in parse(RATINGS + table).analyses.chosen()]


def test_only_the_analyses_named_are_made() -> None:
    assert made('[analyses]\nnames = ["sparsity"]\n') == ["sparsity"]
    assert made("[analyses]\nnames = []\n") == []


def test_a_group_may_be_named() -> None:
    assert made('[analyses]\nnames = ["sampled"]\n') == [
        key for key in made("[analyses.sampled]\n") if key.startswith("sampled_")
    ]


@pytest.mark.parametrize("text", [WHOLE, RANKED, RATINGS, RUNS])
def test_a_study_written_as_toml_is_the_study_that_is_read_back(text: str) -> None:
    study = parse(text, output=Path("there"))
    assert parse(study.to_toml().decode(), Path("/elsewhere")) == study


def test_run_files_come_in_the_order_of_the_patterns_then_of_their_names(tmp_path: Path) -> None:
    for name in ("b.run", "a.run", "c.trec"):
        (tmp_path / name).touch()
    study = parse(RUNS.replace('"*.run"', '"c.trec", "*.run"'), tmp_path)
    assert [path.name for path in run_paths(study)] == ["c.trec", "a.run", "b.run"]


def test_a_pattern_without_a_run_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\*\.run: no run file matches\."):
        run_paths(parse(RUNS, tmp_path))


def test_a_metric_may_have_options_and_a_cutoff_of_its_own() -> None:
    study = parse(
        'name = "x"\n[ratings]\nformat = "world"\n[metrics]\n'
        'names = ["P(rel=3)", "nDCG@7"]\ncutoffs = [5, 10]\n'
    )
    assert [str(measure) for measure in study.measures] == ["P(rel=3)@5", "P(rel=3)@10", "nDCG@7"]


def measured(table: str) -> Measures:
    return parse(RUNS + f"[metrics]\n{table}").measures


def test_a_report_measure_outside_the_grid_is_measured_too() -> None:
    measures = measured(
        'names = ["P"]\ncutoffs = [5, 10]\nreport = ["AP@1000", "P@5", "RR", "P(rel=4)@all"]\n'
    )
    assert measures.reported.labels == ("AP@1000", "P@5", "RR@10", "P(rel=4)")
    assert [str(measure) for measure in measures] == ["P@5", "P@10", "AP@1000", "RR@10", "P(rel=4)"]
    assert measures.grid.labels == ("P@5", "P@10")


def test_without_cutoffs_a_bare_name_is_of_whole_lists() -> None:
    measures = measured('names = ["AP", "bpref@all"]\ncutoffs = []\n')
    assert measures.reported == (Measure("AP"), Measure("bpref"))


@pytest.mark.parametrize(
    ("wrong", "finding"),
    [
        ({"ratings": {"pth": "a.csv"}}, "no `pth` in [ratings]; did you mean `path`?"),
        ({"rating": {}}, "no `rating`; did you mean `ratings`?"),
        ({"seed": -1}, "`seed` must be at least 0, got -1."),
        ({"split": {"method": "user-randm"}}, "did you mean 'user-random'?"),
        ({"analyses": {"sparsty": {}}}, "no `sparsty` in [analyses]; did you mean 'sparsity'?"),
        ({"analyses": {"sparsity": {"samples": 0}}}, "in [analyses.sparsity] must be at least 1"),
    ],
)
def test_a_study_made_in_python_is_refused_with_the_sentences_of_files(
    wrong: dict[str, Any], finding: str
) -> None:
    given = {"name": "x", "ratings": {"format": "world"}} | wrong
    with pytest.raises(InputError) as refused:
        Study(**given)
    assert str(refused.value).startswith("the study: ")
    assert finding in str(refused.value)


def test_a_study_made_in_python_is_that_of_a_file_that_says_the_same() -> None:
    text = 'name = "x"\n[ratings]\nformat = "world"\n'
    read = Study.parse(text, source="study.toml", base=Path(), changes={})
    made = Study(**{"name": "x", "ratings": {"format": "world"}})
    assert made.model_dump() == read.model_dump()


def test_the_study_under_another_seed_has_a_folder_in_that_of_the_study() -> None:
    study = Study(name="x", ratings={"format": "world"}, output=Path("out"), repeat={"seeds": 3})
    other = study.with_seed(7)
    assert (other.seed, other.folder) == (7, Path("out/seeds/7"))
    assert other.repeat.seeds == 1
