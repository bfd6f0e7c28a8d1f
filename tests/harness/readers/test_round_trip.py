"""What commands write goes into the commands that take such tables, and means the same."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import main

MEASURES = ("-m", "map", "-m", "ndcg", "-m", "P.5")
TAKERS = ("correlate", "discriminate", "design")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs over twelve topics, and their qrels."""
    random = Random(2)
    path = tmp_path_factory.mktemp("collection")
    topics = [f"t{number}" for number in range(12)]
    judgements = [f"{t} 0 d{d} {random.choice([0, 0, 1, 2])}\n" for t in topics for d in range(20)]
    (path / "q").write_text("".join(judgements))
    for system in "abc":
        lines = [
            f"{topic} Q0 d{item} {rank} {20 - rank} {system}\n"
            for topic in topics
            for rank, item in enumerate(random.sample(range(20), 12), start=1)
        ]
        (path / f"{system}.run").write_text("".join(lines))
    return path


def harness(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def evaluated(folder: Path, *options: str, runs: Sequence[str] = "abc") -> str:
    paths = [folder / f"{run}.run" for run in runs]
    answer = harness("evaluate", "--qrels", folder / "q", *paths, *MEASURES, *options)
    assert answer.exit_code == 0
    return answer.stdout


def printed_by(command: str, *tables: Path) -> dict[str, Any]:
    answer = harness(command, *tables, "--format", "json", "--quiet")
    assert answer.exit_code == 0, answer.stderr
    return json.loads(answer.stdout)


@pytest.fixture(scope="module")
def written(folder: Path) -> dict[str, list[Path]]:
    """The same scores in every form that `harness evaluate -q` has."""
    forms = {}
    for form in ("csv", "json"):
        path = folder / f"topics.{form}"
        path.write_text(evaluated(folder, "-q", "--format", form))
        forms[form] = [path]
    forms["trec"] = []
    for run in "abc":
        path = folder / f"{run}.eval"
        path.write_text(evaluated(folder, "-q", runs=run))
        forms["trec"].append(path)
    return forms


@pytest.mark.parametrize("form", ["json", "trec"])
@pytest.mark.parametrize("command", TAKERS)
def test_scores_of_topics_mean_the_same_in_every_form(
    written: dict[str, list[Path]], command: str, form: str
) -> None:
    """The lines of trec_eval have four decimals: there, the same things are measured."""
    of_csv = printed_by(command, *written["csv"])
    of_form = printed_by(command, *written[form])
    if form == "trec":
        assert labels(of_form) - METHODS == labels(of_csv) - METHODS
    else:
        assert nearly(of_form, of_csv)


METHODS = {"enumeration", "exact-convolution", "exact-fourier"}
"""How a p-value was computed may depend on the digits of the scores."""


def labels(document: Any) -> set[str]:
    """Collect the texts in a document: names of systems and measures."""
    if isinstance(document, dict):
        document = list(document.values())
    if isinstance(document, list):
        return set().union(*map(labels, document))
    return {document} if isinstance(document, str) else set()


def nearly(one: Any, another: Any) -> bool:
    """Compare two documents; numbers may differ in the last digits."""
    if isinstance(one, dict):
        return one.keys() == another.keys() and all(nearly(one[k], another[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(another) and all(map(nearly, one, another))
    if isinstance(one, float) and isinstance(another, float):
        return one == pytest.approx(another, rel=1e-9, nan_ok=True)
    return bool(one == another)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_means_are_correlated_as_means_in_every_form(folder: Path, form: str) -> None:
    path = folder / f"means.{form}"
    path.write_text(evaluated(folder, "--format", form))
    rows = printed_by("correlate", path)["correlation_metrics"]
    of_topics = folder / "of_topics.csv"
    of_topics.write_text(evaluated(folder, "-q", "--format", "csv"))
    expected = {
        (row["metric_a"], row["metric_b"]): row["tau"]
        for row in printed_by("correlate", of_topics)["correlation_metrics"]
    }
    assert {(row["metric_a"], row["metric_b"]): row["tau"] for row in rows} == expected
    assert all(row["low"] is None for row in rows)


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize("command", ["discriminate", "design"])
def test_means_are_no_scores_of_topics(folder: Path, command: str, form: str) -> None:
    path = folder / f"means_alone.{form}"
    path.write_text(evaluated(folder, "--format", form))
    answer = harness(command, path)
    assert answer.exit_code == 2
    assert "harness evaluate -q" in answer.stderr
