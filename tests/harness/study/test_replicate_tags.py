"""Runs of a study that are of one system: told by tags, averaged, and what they spread."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analyses.shared.evidence import read_evidence
from analyses.shared.scores import RunDeviations
from harness.report.study_folder import FinishedStudy
from harness.study.collection import collect
from harness.study.study import Study
from runs import InputError
from tests.harness.small import (
    ANALYSES,
    FULL,
    JUDGEMENTS,
    NO_ANALYSES,
    PARTIAL,
    TREC,
    TREC_METRICS,
    manifest_of,
    read_frame,
    run_text,
    write_collection,
    write_qrels,
    write_ratings,
    write_run,
)

SEEDS = r"replicates = '(?P<system>.+)-seed(?P<replicate>\d+)'"
SAME_TAG = "replicates = '(?P<system>.+)'"


def with_replicates(line: str) -> str:
    return TREC.replace('paths = ["*.run"]', f'paths = ["*.run"]\n{line}')


def systems_in(base: Path, line: str) -> tuple[str, ...]:
    study = Study.parse(with_replicates(line), source="study.toml", base=base, changes={})
    return collect(study).systems_of_runs


@pytest.fixture
def seeds(tmp_path: Path) -> Path:
    """Two seeds of one system, three of another."""
    write_qrels(tmp_path, JUDGEMENTS)
    for seed in (1, 2, 3):
        lists = {user: items[seed - 1 :] + items[: seed - 1] for user, items in FULL.items()}
        write_run(tmp_path, f"slim-seed{seed}", lists)
        if seed < 3:
            write_run(tmp_path, f"ease-seed{seed}", FULL if seed == 1 else {**FULL, **PARTIAL})
    return tmp_path


def test_tags_tell_the_system(seeds: Path) -> None:
    assert systems_in(seeds, SEEDS) == ("ease",) * 2 + ("slim",) * 3


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("replicates = '(?P<system>.+'", "must be a regular expression"),
        ("replicates = 'seed.*'", r"must have a group \(\?P<system>...\)"),
        (r"replicates = '(?P<system>slim)-seed\d'", r"ease-seed1\.run: the tag 'ease-seed1' does"),
        (r"replicates = '(?P<system>)[a-z]+-seed\d'", "which gives the system of each run"),
    ],
)
def test_a_pattern_that_does_not_fit_is_refused_with_its_line(
    seeds: Path, line: str, finding: str
) -> None:
    with pytest.raises(InputError, match=rf"study\.toml, line 5.*{finding}"):
        systems_in(seeds, line)


def test_two_files_of_one_replicate_are_refused(seeds: Path) -> None:
    write_run(seeds, "slim-seed1", FULL, name="twice.run")
    finding = r"twice\.run: the tag 'slim-seed1' names the replicate '1' of 'slim', and so does"
    with pytest.raises(InputError, match=finding):
        systems_in(seeds, SEEDS)


def test_runs_that_share_a_tag_are_numbered(tmp_path: Path) -> None:
    write_collection(tmp_path)
    write_run(tmp_path, "full", FULL, name="z.run")
    text = with_replicates(SAME_TAG)
    collection = collect(Study.parse(text, source="study.toml", base=tmp_path, changes={}))
    assert [run.system for run in collection.runs] == ["full-1", "partial", "full-2"]
    assert collection.systems_of_runs == ("full", "partial", "full")


def test_means_are_over_replicates_with_their_spread_beside(seeds: Path, tmp_path: Path) -> None:
    text = with_replicates(SEEDS) + TREC_METRICS + NO_ANALYSES
    plain = TREC + TREC_METRICS + NO_ANALYSES
    folder = run_text(text, seeds, output=tmp_path / "study")
    single = run_text(plain, seeds, output=tmp_path / "single")
    means, of_runs = read_frame(folder, "means"), read_frame(single, "means")
    of_runs["run"], of_runs["system"] = of_runs["system"], of_runs["system"].str[:4]
    grouped = of_runs.groupby(["system", "metric", "cutoff"])["mean"]
    keys = [*zip(means.system, means.metric, means.cutoff, strict=True)]
    np.testing.assert_allclose(means["mean"], grouped.mean()[keys], atol=1e-12)
    np.testing.assert_allclose(means["sd_replicates"], grouped.std()[keys], atol=1e-12)
    assert set(zip(means.system, means.replicates, strict=True)) == {("ease", 2), ("slim", 3)}
    table = FinishedStudy.open(folder).means.table(cutoff=2)
    assert table.headings[:3] == ["system", "P", "± P"]
    manifest = manifest_of(folder)
    assert manifest["systems"] == ["ease", "slim"]
    assert len([*folder.glob("runs/*.parquet")]) == 5


def test_runs_differ_by_their_means_over_judgements(seeds: Path, tmp_path: Path) -> None:
    metrics = TREC_METRICS + 'average = "judgements"\n' + NO_ANALYSES
    folder = run_text(with_replicates(SEEDS) + metrics, seeds, output=tmp_path / "study")
    means = read_frame(run_text(TREC + metrics, seeds, output=tmp_path / "single"), "means")
    grouped = means.groupby([means.system.str[:4], "metric", "cutoff"])["mean"]
    apart = (means["mean"] - grouped.transform("mean")).to_numpy().reshape(5, -1).T
    found = read_evidence(folder / "evidence/runs.npz", RunDeviations)
    np.testing.assert_allclose(found.values, apart, atol=1e-12)


@pytest.mark.usefixtures("no_figures")
def test_folds_give_what_the_joined_run_gives(tmp_path: Path) -> None:
    scores = []
    for name, parts in (("whole", [["u1", "u2", "u3"]]), ("folds", [["u1"], ["u2", "u3"]])):
        base = tmp_path / name
        write_collection(base)
        (base / "full.run").unlink()
        for number, users in enumerate(parts):
            lists = {user: FULL[user] for user in users}
            write_run(base, f"full-seed{number}", lists)
        (base / "partial.run").unlink()
        write_run(base, "partial-seed0", PARTIAL)
        text = with_replicates(SEEDS) + TREC_METRICS + ANALYSES
        folder = run_text(text, base, output=base / "study")
        tables = ("sparsity", "pvalues", "correlation_metrics")
        scores.append([(folder / f"tables/{table}.csv").read_bytes() for table in tables])
    assert scores[0] == scores[1]


def test_replicates_stand_beside_trained_systems_and_are_truly_judged(tmp_path: Path) -> None:
    write_ratings(tmp_path / "ratings.csv")
    lists = {f"u{user}": [f"i{item}" for item in (0, 5, 9)] for user in range(8)}
    for seed, items in ((1, lists), (2, dict(list(lists.items())[::-1]))):
        write_run(tmp_path, f"slim-seed{seed}", items)
    truth = "".join(f"u{user},i{item},{1 + item % 5}\n" for user in range(8) for item in range(10))
    (tmp_path / "true.csv").write_text("user,item,rating\n" + truth)
    text = f"""
name = "beside"
[ratings]
path = "ratings.csv"
[systems]
names = ["popularity", "item-knn"]
depth = 4
[runs]
paths = ["*.run"]
{SEEDS}
[truth]
path = "true.csv"
[metrics]
names = ["nDCG"]
cutoffs = [4]
"""
    folder = run_text(text + NO_ANALYSES, tmp_path, output=tmp_path / "study")
    systems = {"popularity", "item-knn", "slim"}
    for name in ("scores.parquet", "truth/scores.parquet"):
        assert {*pd.read_parquet(folder / name).system} == systems
    assert read_frame(folder, "means").replicates.tolist() == [1, 1, 2]
    assert len([*folder.glob("truth/runs/*.parquet")]) == 4


def test_a_run_of_a_system_that_is_trained_here_is_refused(tmp_path: Path) -> None:
    write_ratings(tmp_path / "ratings.csv")
    write_run(tmp_path, "popularity-seed1", {"u1": ["i1"]})
    text = f'name = "x"\n[ratings]\npath = "ratings.csv"\n[runs]\npaths = ["*.run"]\n{SEEDS}\n'
    with pytest.raises(InputError, match="tag 'popularity-seed1' is the name of a trained system"):
        collect(Study.parse(text, source="study.toml", base=tmp_path, changes={}))


@pytest.mark.parametrize("name", ["exposure", "pools"])
def test_analyses_of_single_lists_are_refused_before_anything_is_scored(
    seeds: Path, tmp_path: Path, name: str
) -> None:
    text = with_replicates(SEEDS) + TREC_METRICS + f'[analyses]\nnames = ["{name}"]\n'
    with pytest.raises(InputError, match=f"{name} is of one list for each user and system"):
        run_text(text, seeds, output=tmp_path / "study")
    assert not [*(tmp_path / "study").glob("scores*")]
