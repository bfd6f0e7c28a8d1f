"""The options of every command, and what commands print of what they are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from harness.cli.main import _commands, _groups, main
from harness.cli.options import _SettingsPlaceholder
from runs.shared.members import import_modules
from tests.harness.small import write_qrels, write_ratings, write_run

PRINTED = {"--format": "text|csv|json|latex|markdown; text"}
SEEDED = {"--seed": "0 to 9223372036854775807; 0"}
JOBS, DASK, QUIET = {"--jobs": "from 1"}, {"--dask": "text"}, {"--quiet": "flag"}
PLUGIN = {"--plugin": "path, repeated"}
PUBLISHED = {**PRINTED, "--output": "folder", **QUIET}
COLUMN = {"--column": "NAME=VALUE, repeated"}
TEXT = {**COLUMN, "--separator": "text", "--encoding": "text"}
SCORES = {**TEXT, "--settings": "made", **SEEDED, **JOBS, **PUBLISHED}
OPTIONS: dict[str, dict[str, str]] = {
    "init": {
        "--output": "file; study.toml",
        "--overwrite": "flag",
        "--yes": "flag",
        "--system": "text, repeated",
        "--settings": "made",
    },
    "run": {
        "--experiment": "flag",
        **JOBS,
        **DASK,
        "--seed": "0 to 9223372036854775807",
        "--output": "folder",
        **PLUGIN,
        **QUIET,
    },
    "report": PLUGIN,
    "table": {
        **PRINTED,
        "--cutoff": "integer",
        "--measure": "text",
        "--details": "letters|intervals|ranks|all",
        "--convention": "dp|dp_ordered",
        **PLUGIN,
    },
    "figure": {"--output": "file", "--settings": "made", "--axes": "share|pairs", **PLUGIN},
    "compare": {**PRINTED, "--output": "folder", **PLUGIN},
    "export": {
        "--output": "folder, required",
        "--run-format": "parquet|lenskit|recbole|ir_metadata, repeated",
    },
    "verify": {},
    "metrics": {**PLUGIN, **PRINTED},
    "check": {
        "--cutoff": "1 to 100",
        "--tries": "1 to 100000",
        "--against": "text",
        "--breaks": "text, repeated",
        **PLUGIN,
        "--format": "text|json; text",
    },
    "card": {"--output": "file", "--tries": "1 to 100000", **PLUGIN},
    "evaluate": {
        "--qrels": "path, required",
        "-m/--measure": "text, repeated",
        "-q": "flag",
        "--topics": "qrels|run; qrels",
        "-c": "flag",
        "-l": "from 1; 1",
        "-M": "from 1",
        "-J": "flag",
        "--precision": "double|single; double",
        "--rounding": "up|nearest; up",
        "--format": "trec|text|csv|json|latex|markdown; trec",
        **TEXT,
        "--qrels-separator": "text",
        "--qrels-encoding": "text",
        "--qrels-column": "NAME=VALUE, repeated",
        **PLUGIN,
    },
    "correlate": {**TEXT, "--settings": "made", **SEEDED, **PUBLISHED},
    "discriminate": {**SCORES, "--candidate": "text", "--lower-is-better": "text, repeated"},
    "design": SCORES,
    "sampled": {
        "--study": "estimates|ranks|sizes|all, repeated; ('estimates',)",
        "--example": "flag",
        "--candidates": "from 2",
        "--settings": "made",
        **SEEDED,
        **JOBS,
        **DASK,
        **PUBLISHED,
    },
    "correct": {
        "--negatives": "from 1",
        "--candidates": "from 2",
        "--replace/--without-replacement": "flag; True",
        "--settings": "made",
        **SEEDED,
        **PUBLISHED,
    },
    "recall": {
        "--model": "text, repeated",
        "--ranks": "path",
        "--settings": "made",
        **DASK,
        **JOBS,
        **PUBLISHED,
    },
    "clicks": {"--settings": "made", **JOBS, **PUBLISHED},
    "online": {"--chosen": "text, repeated", "--settings": "made", **SEEDED, **PUBLISHED},
    "describe": {"--settings": "made", **PRINTED},
    "world": {
        "--like": "path, required",
        "--output": "folder",
        "--settings": "made",
        **PRINTED,
        **QUIET,
    },
    "systems": PRINTED,
    "tune": {
        "--measure": "text; nDCG@10",
        "--search": "random|tpe; random",
        "--trials": "from 1; 20",
        **JOBS,
        **DASK,
        "--output": "folder",
        **PLUGIN,
        **QUIET,
    },
    "schema": {**PLUGIN, "--experiment": "flag"},
    "docs": {},
}
ARGUMENTS = {
    "init": "DATA",
    "run": "[STUDY.toml]",
    "report": "STUDY",
    "table": "STUDY [table2|table3|NAME]",
    "figure": "STUDY [fig1|fig2|...]",
    "compare": "STUDY STUDY...|PUBLISHED.csv",
    "export": "STUDY",
    "verify": "STUDY",
    "metrics": "",
    "check": "METRIC|FILE.py",
    "card": "MEASURE [STUDY]...",
    "evaluate": "RUN...",
    "correlate": "FILE...",
    "discriminate": "STUDY|SCORES.csv...",
    "design": "STUDY|SCORES.csv...",
    "sampled": "[RANKS.csv]",
    "correct": "SAMPLED.csv...",
    "recall": "INTERACTIONS",
    "clicks": "RECOMMENDATIONS INTERACTIONS",
    "online": "VALUES.csv RATES.csv | FOLDER...",
    "describe": "PATH",
    "world": "",
    "systems": "[NAME|FILE.py:CLASS]...",
    "tune": "STUDY.toml [SYSTEM]...",
    "schema": "",
    "docs": "[NAME]",
}


def told(option: click.Option) -> str:
    """Describe an option: what it takes, how often, and its default."""
    if isinstance(option, _SettingsPlaceholder):
        return "made"
    kind = option.type
    match kind:
        case click.IntRange():
            takes = f"from {kind.min}" if kind.max is None else f"{kind.min} to {kind.max}"
        case click.Choice():
            takes = "|".join(kind.choices)
        case click.Path():
            takes = "file" if not kind.dir_okay else "path" if kind.file_okay else "folder"
        case _:
            takes = "flag" if option.is_flag else kind.name
    takes += ", repeated" * option.multiple + ", required" * option.required
    default = option.default
    is_given = default is not None and default is not False and default != ()
    return f"{takes}; {default}" if is_given and "unset" not in repr(default).lower() else takes


DECLARED = {
    name: value
    for module in import_modules("harness.cli")
    for name, value in vars(module).items()
    if isinstance(value, click.Command) and value.callback
}
"""The commands as they are declared: options of settings are not made yet."""


@pytest.mark.parametrize("name", OPTIONS)
def test_a_command_has_these_options(name: str) -> None:
    options = [p for p in DECLARED[name].params if isinstance(p, click.Option)]
    found = {"/".join([*each.opts, *each.secondary_opts]): told(each) for each in options}
    assert found == OPTIONS[name]


@pytest.mark.parametrize("name", OPTIONS)
def test_a_command_has_these_arguments(name: str) -> None:
    usage = CliRunner(env={"COLUMNS": "200"}).invoke(main, [name, "--help"]).stdout.splitlines()[0]
    assert usage.partition("[OPTIONS]")[2].strip() == ARGUMENTS[name]
    arguments = [p for p in _commands()[name].params if isinstance(p, click.Argument)]
    assert sum(not each.required for each in arguments) == ARGUMENTS[name].count("[")


def test_commands_stand_in_seven_groups_in_this_order() -> None:
    assert [heading for heading, _ in _groups()] == [
        "Studies",
        "Measures",
        "Tables of scores",
        "Sampled metrics",
        "Recall and clicks",
        "Data",
        "Help",
    ]
    assert [*_commands()] == [*OPTIONS]
    places = sorted(m.GROUP[0] for m in import_modules("harness.cli") if hasattr(m, "GROUP"))
    assert places == [1, 2, 3, 4, 5, 6, 7]


def harness(*arguments: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(main, [str(argument) for argument in arguments])


MINE = """
from harness.metrics.shared.metric import metric
@metric('signed', source='here', low=-1, has_level=False)
def signed(judged, *, cutoff=None, p: float = 0.5):
    "Nothing in particular."
    return judged.hits(cutoff) * 0
"""


@pytest.mark.slow
def test_a_metric_is_listed_with_its_options_and_the_name_in_trec_eval(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    answer = harness("metrics", "--format", "json", "--plugin", tmp_path / "mine.py")
    rows = {row["name"]: row for row in rows_of(answer.stdout)}
    assert rows["P"]["options"] == "rel, condensed, mean"
    assert rows["P"]["trec_eval"] == "P.n"
    assert rows["DCG"]["trec_eval"] == "none"
    assert rows["nDCG"]["options"].startswith("condensed, mean\ngains: rating, exp or {grade:gain")
    assert rows["signed"]["options"] == "condensed\np: a number; 0.5 by default"
    assert rows["signed"]["definition"] == "Nothing in particular."
    assert rows["signed"]["source"] == "here"


def rows_of(printed: str) -> list[dict[str, Any]]:
    """Give the rows of the one table of a JSON document."""
    found = json.loads(printed)
    while not isinstance(found, list):
        (found,) = found.values() if isinstance(found, dict) else (found,)
    return found


def test_a_system_is_listed_with_defaults_and_ranges(tmp_path: Path) -> None:
    listed = harness("systems", "--format", "csv").stdout
    assert "factors (30; 5 to 200, log)" in listed
    assert listed.splitlines()[0] == "name,family,summary,settings,source"
    one = harness("systems", "puresvd", "--format", "csv").stdout.splitlines()
    assert one[0] == "setting,default,tuned over,meaning"
    assert one[1].startswith('factors,30,"5 to 200, log",')
    facts = json.loads(harness("systems", "puresvd", "--format", "json").stdout)
    assert [each["name"] for each in facts] == ["puresvd"]
    assert "none" in harness("systems", "--format", "csv").stdout


@pytest.fixture
def collection(tmp_path: Path) -> tuple[Path, Path]:
    qrels = write_qrels(tmp_path, {"u1": {"a": 2, "b": 0}, "u2": {"c": 1}})
    return qrels, write_run(tmp_path, "als", {"u1": ["x", "b", "a"], "u2": ["y", "c"]})


def test_official_measures_are_printed_by_default(collection: tuple[Path, Path]) -> None:
    qrels, run = collection
    default = harness("evaluate", "--qrels", qrels, run).stdout
    assert default == harness("evaluate", "--qrels", qrels, run, "-m", "official").stdout
    assert len(default.splitlines()) == 30


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ([], "0.4167"),
        (["-l", "2"], "0.1667"),
        (["-M", "2"], "0.2500"),
        (["-J"], "0.7500"),
        (["-c"], "0.4167"),
    ],
)
def test_options_of_trec_eval_mean_what_they_do_there(
    collection: tuple[Path, Path], options: list[str], value: str
) -> None:
    qrels, run = collection
    answer = harness("evaluate", "--qrels", qrels, run, "-m", "recip_rank", *options)
    assert answer.stdout.split() == ["recip_rank", "all", value]
    per_topic = harness("evaluate", "--qrels", qrels, run, "-m", "recip_rank", "-q", *options)
    assert [line.split()[1] for line in per_topic.stdout.splitlines()] == ["u1", "u2", "all"]


def test_what_all_trec_leaves_out_is_said_once(collection: tuple[Path, Path]) -> None:
    qrels, run = collection
    assert "all_trec leaves out" in harness("evaluate", "--qrels", qrels, run, "-mall_trec").stderr
    assert "leaves out" not in harness("evaluate", "--qrels", qrels, run, "-mmap").stderr


@pytest.mark.slow
def test_a_card_of_laws_is_checked_against_a_metric_of_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    path = tmp_path / "mine.py"
    answer = harness("check", path, "--tries", "1", "--against", "signed", "--format", "json")
    (card,) = json.loads(answer.stdout)
    assert card["metric"] == "signed"
    assert card["outcomes"][12]["law"] == "against"
    assert card["cases per law"] == 1
    assert answer.exit_code == 1  # It does not reach the top of its range.
    alone = harness("check", "P@5", "--tries", "2", "--format", "json")
    assert "against" not in [each["law"] for each in json.loads(alone.stdout)[0]["outcomes"]]
    assert json.loads(alone.stdout)[0]["cutoffs"] == [5]


def test_ratings_are_described_with_thresholds_or_without(tmp_path: Path) -> None:
    write_ratings(tmp_path / "ratings.csv")
    answer = harness("describe", tmp_path / "ratings.csv", "--format", "csv")
    ratings = pd.read_csv(tmp_path / "ratings.csv")
    assert f"ratings,{len(ratings)}" in answer.stdout
    assert "threshold,relevant ratings,users without relevant," in answer.stdout
    equal = ratings.assign(**{ratings.columns[2]: 1.0})
    equal.to_csv(tmp_path / "equal.csv", index=False)
    printed = harness("describe", tmp_path / "equal.csv")
    assert "All pairs count alike" in printed.stdout
    assert printed.stderr == ""
    other = harness("describe", tmp_path / "equal.csv", "--format", "csv")
    assert "All pairs count alike" in other.stderr
    assert "implicit" not in other.stdout


@pytest.mark.slow
def test_files_of_an_export_are_named_or_counted(given: Path, tmp_path: Path) -> None:
    answer = harness("export", given, "--output", tmp_path / "x")
    lines = answer.stdout.splitlines()
    assert lines[-1] == f"Compare the means with trec_eval: cd {tmp_path / 'x'} && sh trec_eval.sh"
    n_runs = len(list((given / "runs").glob("*.parquet")))
    named = ", ".join(sorted(path.name for path in (tmp_path / "x/runs").iterdir()))
    assert n_runs < 5
    assert f"{tmp_path / 'x/runs'}: {named}" in lines


@pytest.mark.parametrize(
    ("n_files", "printed"), [(4, "f0, f1, f2, f3"), (5, "5 files, such as f0")]
)
def test_more_than_four_files_of_a_folder_are_counted(
    n_files: int, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "harness.trec_eval.export.export_study",
        lambda study, output, run_formats: [output / f"f{n}" for n in range(n_files)],
    )
    answer = harness("export", tmp_path, "--output", tmp_path / "x")
    assert answer.stdout.splitlines()[0] == f"{tmp_path / 'x'}: {printed}"


@pytest.mark.slow
def test_tables_and_figures_of_a_study_are_listed_without_a_name(given: Path) -> None:
    listed = harness("table", given)
    assert f"CSV files with all digits are in {given / 'tables'}: " in listed.stdout
    assert "means" in listed.stdout
    as_csv = harness("table", given, "--format", "csv")
    assert as_csv.stdout.splitlines()[0] == "name,title"
    assert "CSV files" not in as_csv.stdout
    assert "fig" in harness("figure", given).stdout


def test_a_schema_is_that_of_a_study_or_of_an_experiment() -> None:
    of_study = json.loads(harness("schema").stdout)["properties"]
    of_experiment = json.loads(harness("schema", "--experiment").stdout)["properties"]
    assert "ratings" in of_study
    assert "experiment" not in of_study
    assert "experiment" in of_experiment


def test_the_schema_says_that_its_plugins_are_of_analyses() -> None:
    (plugin_help,) = [
        option.help
        for option in DECLARED["schema"].params
        if isinstance(option, click.Option) and option.name == "plugins"
    ]
    assert plugin_help is not None
    assert "analyses" in plugin_help
    assert "metrics" not in plugin_help


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sampled"], "give a table of ranks (RANKS.csv), or --example."),
        (["sampled", "r.csv", "--example"], "give a table of ranks (RANKS.csv), or --example."),
        (["sampled", "--example", "--seed", "3"], "--seed does not apply to --example"),
        (["sampled", "--example", "--candidates", "3"], "--candidates does not apply"),
        (["sampled", "r.csv", "--study", "sizes", "--repeats", "3"], "does not apply to sizes"),
        (["recall", "x.csv", "--ranks", "r.csv", "--dask", "local"], "--dask does not apply to"),
        (["online", "x.toml", "y"], "a study file is run by `harness run x.toml`"),
        (["online", "a", "b", "c"], "a: several inputs must be folders with values.csv"),
        (["run", "x.toml", "--experiment"], "--experiment does not apply to a study file"),
        (["evaluate", "r", "--qrels", "q", "-c", "--topics", "run"], "leave out --topics run"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = harness(*arguments)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert sentence in answer.stderr
