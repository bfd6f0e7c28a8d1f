import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from analyses.intervals.percentile_intervals import percentiles
from analyses.intervals.resampling import resample_means
from analyses.shared.estimate import Estimate
from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from analyses.shared.result import FigureDeclaration
from analyses.shared.table import FORMATS
from harness.cli.main import main
from harness.report.comparison import Comparison
from harness.report.ledger import Entry, Ledger
from harness.report.shared_estimates import significant_pairs
from harness.report.study_folder import FinishedStudy
from harness.scoring.means import Means
from tests.conftest import figures_left_blank
from tests.harness.page import Page
from tests.harness.results import Numbers, discrimination_of, keep, sparsity_of

pytestmark = pytest.mark.slow

AREAS: Numbers = {("nDCG", 20): 0.9, ("P", 20): 0.8, ("AP", 20): 0.7}
TURNED: Numbers = {("nDCG", 20): 0.9, ("P", 20): 0.6, ("AP", 20): 0.7}
ROBUSTNESS = "area, random loss of judgements"


def compare(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def rename(folder: Path, name: str) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(manifest | {"study": name}), encoding="utf-8")


def judge_otherwise(folder: Path, file: str = "qrels/test.qrels") -> None:
    """Let a study have another test part, as its ledger says."""
    page = folder / ".ledger/qrels.json"
    entry = json.loads(page.read_text())
    entry["files"][file] = "0" * 64
    page.write_text(json.dumps(entry))


def compared(*folders: Path) -> Comparison:
    return Comparison.of_studies([FinishedStudy.open(folder) for folder in folders])


@pytest.fixture
def both(finished: Path, tmp_path: Path) -> tuple[Path, Path]:
    one, other = (copytree(finished, tmp_path / name) for name in ("one", "other"))
    rename(other, "other")
    return one, other


def test_every_number_is_that_of_its_study(both: tuple[Path, Path]) -> None:
    made = compared(*both)
    frame = made.frame().set_index(["quantity", "study", "measure"])["value"]
    for name, by_study in made.quantities.items():
        for study, estimates in by_study.items():
            for label, own in estimates.by_label(estimates.measures.reported).items():
                measure = estimates.measures.reported.with_label(label)
                assert frame[name, study, str(measure)] == own.value


def test_what_holds_on_all_is_told_from_what_is_turned_round(both: tuple[Path, Path]) -> None:
    keep(both[0], "sparsity", sparsity_of(AREAS, margin=0.01, apart=0.01))
    keep(both[1], "sparsity", sparsity_of(TURNED, margin=0.01, apart=0.01))
    alike, opposite = significant_pairs(compared(*both).quantities[ROBUSTNESS])
    assert alike == [("nDCG@20", "P@20"), ("nDCG@20", "AP@20")]
    assert opposite == [("P@20", "AP@20")]


def test_a_metric_is_not_compared_with_itself_at_another_cut_off(both: tuple[Path, Path]) -> None:
    keep(both[0], "sparsity", sparsity_of({("P", 5): 0.9, ("AP", 5): 0.8}))
    keep(both[1], "sparsity", sparsity_of({("P", 20): 0.9, ("AP", 20): 0.8}))
    assert ROBUSTNESS not in compared(*both).quantities


def test_a_metric_of_one_cut_off_is_found_among_several(both: tuple[Path, Path]) -> None:
    keep(both[0], "sparsity", sparsity_of({("P", 20): 0.9, ("AP", 20): 0.8}))
    keep(both[1], "sparsity", sparsity_of({("P", 20): 0.7, ("AP", 50): 0.8}))
    (made,) = [t for t in compared(*both).quantity_tables() if "random_loss" in t.name]
    assert [row[0::2] for row in made.rows] == [["P@20", "", ""]]


def test_the_best_of_poor_measures_is_not_bold(both: tuple[Path, Path]) -> None:
    keep(both[0], "sparsity", sparsity_of(AREAS, margin=0.01, apart=0.01))
    keep(both[1], "sparsity", sparsity_of({m: a - 0.9 for m, a in AREAS.items()}, margin=0.01))
    (made,) = [t for t in compared(*both).quantity_tables() if "random_loss" in t.name]
    assert 1 in {column for _, column in made.bold}
    assert 3 not in {column for _, column in made.bold}


def test_a_figure_has_a_panel_for_each_study(
    both: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = FinishedStudy.figures

    def of_sparsity(study: FinishedStudy) -> Iterator[tuple[str, FigureDeclaration]]:
        return ((key, face) for key, face in figures(study) if key == "sparsity")

    monkeypatch.setattr(FinishedStudy, "figures", of_sparsity)
    titles = {
        face.name: [axes.get_title() for axes in drawn.axes if axes.axison]
        for face, _, drawn in compared(*both).figures()
    }
    first, second = compared(*both).studies
    assert titles["sparsity_metrics"] == [f"(a) {first}", f"(b) {second}"]
    by_metric = titles["sparsity_cutoffs"]
    assert re.fullmatch(rf"\(a\) {first}, \w+", by_metric[0])
    assert re.fullmatch(rf"\(b\) {second}, \w+", by_metric[1])


@pytest.fixture(scope="module")
def written(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two studies that are judged by different test parts, and their comparison."""
    folder = tmp_path_factory.mktemp("written")
    for name in ("one", "other"):
        copytree(finished, folder / name)
    rename(folder / "other", "other")
    judge_otherwise(folder / "other")
    with figures_left_blank():
        result = compare(folder / "one", folder / "other", "--output", folder / "out")
    assert result.exit_code == 0, result.output
    return folder


def test_the_page_has_all_figures_and_numbers(written: Path) -> None:
    page = Page((written / "out/comparison.html").read_text(encoding="utf-8"))
    assert page.open == []
    linked = [ref for ref in page.references if not ref.startswith("data:")]
    assert linked
    assert all((written / "out" / ref).exists() for ref in linked)
    numbers = pd.read_csv(written / "out/tables/comparison.csv")
    expected = compared(written / "one", written / "other").frame()
    pd.testing.assert_frame_equal(numbers, expected)


@pytest.mark.parametrize("times", [1, 2])
def test_one_study_is_no_comparison(finished: Path, times: int) -> None:
    result = compare(*[finished] * times)
    assert result.exit_code == 2
    assert "two or more different studies" in result.output


def test_studies_that_share_nothing_are_refused(scored: Path, given: Path) -> None:
    result = compare(scored, given)
    assert result.exit_code == 2
    assert "have nothing to compare" in result.output


# Levels of systems


def test_levels_on_one_test_part_are_those_of_the_means(both: tuple[Path, Path]) -> None:
    made = compared(*both)
    frame = made.frame().set_index(["quantity", "measure", "study"])["value"]
    for study in made.studies.values():
        means = study.means
        for label, number in zip(
            means.measures.reported, means.measures.indices(means.measures.reported), strict=True
        ):
            for system, value in zip(means.systems, means.values[number], strict=True):
                assert frame[f"level of {system}", str(label), study.name] == value


def test_systems_that_are_the_same_gain_nothing(both: tuple[Path, Path]) -> None:
    (levels,) = [made for made in compared(*both).tables() if made.name == "levels"]
    assert levels.headings == ["", "small", "other", "difference, 95 %"]
    assert {(row[1] == row[2], row[3]) for row in levels.rows} == {(True, "[.000, .000]")}


def test_a_gain_is_that_of_the_same_users(both: tuple[Path, Path]) -> None:
    scores = both[1] / "scores.parquet"
    moved = pd.read_parquet(scores)
    of_puresvd = moved["system"] == "puresvd"
    moved.loc[of_puresvd, "score"] += 0.25
    moved.to_parquet(scores)
    means = FinishedStudy.open(both[1]).means
    values = means.values + 0.25 * (np.array(means.systems) == "puresvd")
    keep(both[1], "means", replace(means, values=values))
    (levels,) = [made for made in compared(*both).tables() if made.name == "levels"]
    gains = {row[0]: row[3] for row in levels.rows}
    assert gains["nDCG@20, puresvd"] == "[.250, .250]"
    assert gains["nDCG@20, random"] == "[.000, .000]"


def test_other_judgements_have_no_levels_side_by_side(apart: tuple[Path, Path]) -> None:
    made = compared(*apart)
    assert "levels" not in [table.name for table in made.tables()]
    assert not any(name.startswith("level of") for name in made.frame()["quantity"])


# Mean ranks over data sets


@pytest.fixture
def apart(both: tuple[Path, Path]) -> tuple[Path, Path]:
    """Give two studies that are judged by different test parts."""
    judge_otherwise(both[1])
    return both


def test_judgements_of_other_subtopics_are_others(both: tuple[Path, Path]) -> None:
    assert compared(*both).mean_scores
    judge_otherwise(both[1], "qrels/subtopics.qrels")
    assert not compared(*both).mean_scores
    assert compared(*both).mean_ranks


def test_ranks_are_those_of_the_mean_scores(apart: tuple[Path, Path]) -> None:
    means = FinishedStudy.open(apart[1]).means
    keep(apart[1], "means", replace(means, values=means.values[:, ::-1]))
    made = compared(*apart)
    of_systems = made.mean_ranks[0]
    reported = means.measures.reported
    for ranks, number in zip(of_systems.rankings, means.measures.indices(reported), strict=True):
        assert ranks.label == str(means.measures[number])
        assert ranks.names == means.systems
        assert ranks.scores.tolist() == [[*means.values[number]], [*means.values[number, ::-1]]]
    frame = made.frame().set_index(["quantity", "measure", "study"])["value"]
    ranks = of_systems.rankings[0]
    for name, mean, scores in zip(ranks.names, ranks.mean_ranks, ranks.scores.T, strict=True):
        assert frame[f"mean rank of {name}", ranks.label, "all"] == mean
        own = [frame[f"mean score of {name}", ranks.label, study] for study in made.studies]
        assert own == [*scores]


def test_where_less_is_better_the_lowest_is_first(apart: tuple[Path, Path]) -> None:
    means = FinishedStudy.open(apart[0]).means
    falling = means.measures.with_lower_is_better_for(means.measures.metrics)
    for folder in apart:
        keep(folder, "means", replace(means, measures=falling))
    for ranks in compared(*apart).mean_ranks[0].rankings:
        own = means.values[[str(measure) for measure in falling].index(ranks.label)]
        assert ranks.mean_ranks.argmin() == own.argmin()


def test_measures_are_ranked_by_each_quantity(apart: tuple[Path, Path]) -> None:
    keep(apart[0], "sparsity", sparsity_of(AREAS))
    keep(apart[1], "sparsity", sparsity_of(TURNED))
    (ranks,) = [r for r in compared(*apart).mean_ranks[1].rankings if r.label == ROBUSTNESS]
    assert dict(zip(ranks.names, ranks.mean_ranks, strict=True)) == {
        "nDCG@20": 1,
        "P@20": 2.5,
        "AP@20": 2.5,
    }


def test_a_measure_that_is_poor_somewhere_is_not_called_the_best(apart: tuple[Path, Path]) -> None:
    keep(apart[0], "sparsity", sparsity_of(AREAS))
    keep(apart[1], "sparsity", sparsity_of({m: a - 0.9 for m, a in AREAS.items()}))
    (leaders,) = [f for f in compared(*apart).findings() if "best mean rank" in f and "area" in f]
    assert re.search(rf"no acceptable measure \([^)]*{ROBUSTNESS}", leaders)


def test_systems_that_a_study_lacks_are_left_out_and_named(apart: tuple[Path, Path]) -> None:
    means = FinishedStudy.open(apart[1]).means
    others = replace(means, systems=("mine", *means.systems[1:]))
    keep(apart[1], "means", others)
    of_systems = compared(*apart).mean_ranks[0]
    assert {*of_systems.excluded} == {"mine", means.systems[0]}
    assert {ranks.names for ranks in of_systems.rankings} == {means.systems[1:]}
    assert "left out: " in next(of_systems.tables()).note


def test_studies_with_the_same_judgements_are_no_data_sets(
    apart: tuple[Path, Path], finished: Path, tmp_path: Path
) -> None:
    assert not compared(apart[0], finished).mean_ranks
    third = copytree(finished, tmp_path / "third")
    rename(third, "third")
    made = compared(*apart, third)
    assert not made.mean_ranks
    assert any("the same judgements" in finding for finding in made.findings())


def test_one_shared_system_has_no_ranks(apart: tuple[Path, Path]) -> None:
    means = FinishedStudy.open(apart[1]).means
    others = (means.systems[0], *(f"my {system}" for system in means.systems[1:]))
    keep(apart[1], "means", replace(means, systems=others))
    made = compared(*apart)
    assert [ranks.noun for ranks in made.mean_ranks] == ["measure"]
    assert any("Fewer than two systems" in finding for finding in made.findings())


def test_data_sets_that_split_the_same_ratings_are_not_called_independent(
    apart: tuple[Path, Path],
) -> None:
    assert "Not independent data sets" in " ".join(compared(*apart).findings())
    path = apart[1] / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(manifest | {"inputs": [{"sha256": "0"}]}), encoding="utf-8")
    assert "Not independent data sets" not in " ".join(compared(*apart).findings())


@pytest.mark.parametrize("format_", FORMATS)
def test_mean_ranks_are_printed_in_every_format(apart: tuple[Path, Path], format_: str) -> None:
    result = compare(*apart, "--format", format_)
    assert result.exit_code == 0, result.output
    assert "mean rank" in result.output


def test_the_page_has_a_diagram_of_systems_and_of_measures(written: Path) -> None:
    for kind in ("systems", "measures"):
        assert (written / f"out/figures/mean_ranks_{kind}.svg").exists()


# Numbers that are stated by hand


def powers(values: list[float], *, spread: float) -> Estimates:
    """DP of P, AP and RR at cut-off 20, of which less is better, and their replicates."""
    measures = Measures([Measure(name, 20) for name in ("P", "AP", "RR")])
    levels = np.array(values)
    replicates = levels[:, None] + spread * np.random.default_rng(1).normal(size=(3, 400))
    limits = levels - spread, levels + spread
    words = ("DP", "DP over unordered pairs", "Discriminative power", "discriminative")
    return Estimates(*words, measures, levels, *limits, replicates, lower_is_better=True)


def test_where_less_is_better_the_lower_of_a_pair_comes_first() -> None:
    one, other = powers([3.0, 1.0, 2.0], spread=0.01), powers([3.0, 2.0, 1.0], spread=0.01)
    alike, opposite = significant_pairs({"one": one, "other": other})
    assert alike == [("AP@20", "P@20"), ("RR@20", "P@20")]
    assert opposite == [("AP@20", "RR@20")]


def test_a_difference_that_one_study_does_not_show_is_neither_alike_nor_opposite() -> None:
    clear, vague = powers([3.0, 1.0, 2.0], spread=0.01), powers([3.0, 1.0, 2.0], spread=9.0)
    assert significant_pairs({"clear": clear, "vague": vague}) == ([], [])


@dataclass(frozen=True)
class Stated:
    """What a comparison reads of a finished study."""

    name: str
    folder: Path
    means: Means
    found: Mapping[str, Any]
    manifest: Any

    def results(self) -> Iterator[tuple[str, Any]]:
        yield from self.found.items()

    def figures(self) -> Iterator[tuple[str, Any]]:
        return iter(())


def stated(
    folder: Path,
    scores: list[list[float]],
    dp: list[float],
    *,
    sha: str,
    systems: tuple[str, ...] = ("a", "b", "c"),
    falling: tuple[str, ...] = (),
    **manifest: Any,
) -> Any:
    """A study with means of P@20 and AP@20, and with DP of P, AP and RR at 20."""
    study = folder / sha
    entry = Entry(key="k", files={"qrels/test.qrels": sha}, seconds=1.0, cpu_seconds=1.0)
    Ledger(study).write_entry("qrels", entry)
    measures = Measures([Measure("P", 20), Measure("AP", 20)], lower_is_better_for=falling)
    values = np.array(scores)
    p = {("P", 20): [dp[0] / 3] * 3, ("AP", 20): [dp[1] / 3] * 3, ("RR", 20): [dp[2] / 3] * 3}
    facts = {"collection": {}, "ratings": {}, "systems": [*systems], "inputs": [], "data": "x"}
    return Stated(
        sha,
        study,
        Means(measures, systems, values, np.zeros(values.shape), 60),
        {"discrimination": discrimination_of(p)},
        SimpleNamespace(**facts | manifest),
    )


@pytest.fixture
def three(tmp_path: Path) -> Comparison:
    """Three data sets; AP is the most discriminative in two of them."""
    return Comparison.of_studies(
        [
            stated(tmp_path, [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], [0.9, 0.3, 0.6], sha="one"),
            stated(tmp_path, [[0.2, 0.1, 0.3], [0.3, 0.3, 0.1]], [1.5, 0.6, 0.9], sha="two"),
            stated(tmp_path, [[0.1, 0.3, 0.2], [0.1, 0.2, 0.3]], [0.6, 1.2, 0.9], sha="six"),
        ]
    )


def test_the_measure_of_the_lowest_dp_has_rank_1(three: Comparison) -> None:
    (ranks,) = three.mean_ranks[1].rankings
    assert ranks.label == "mid-p DP"
    assert ranks.ranks.tolist() == [[3, 1, 2], [3, 1, 2], [1, 3, 2]]
    frame = three.frame().set_index(["quantity", "measure", "study"]).value
    assert frame["mean rank by mid-p DP", "AP@20", "all"] == pytest.approx(5 / 3)
    assert frame["mid-p DP", "AP@20", "six"] == pytest.approx(1.2)


def test_the_system_of_the_highest_mean_has_rank_1(three: Comparison) -> None:
    of_precision, of_average = three.mean_ranks[0].rankings
    assert of_precision.ranks.tolist() == [[3, 2, 1], [2, 3, 1], [3, 1, 2]]
    assert of_average.ranks.tolist() == [[1, 2, 3], [1.5, 1.5, 3], [3, 2, 1]]
    frame = three.frame().set_index(["quantity", "measure", "study"]).value
    assert frame["mean rank of c", "P@20", "all"] == pytest.approx(4 / 3)
    assert frame["mean score of b", "P@20", "six"] == 0.3


def test_of_a_metric_of_which_less_is_better_the_lowest_mean_has_rank_1(tmp_path: Path) -> None:
    scores = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]
    studies = [
        stated(tmp_path, scores, [1, 2, 3], sha=name, falling=("P",)) for name in ("one", "two")
    ]
    of_precision, of_average = Comparison.of_studies(studies).mean_ranks[0].rankings
    assert of_precision.ranks.tolist() == [[1, 2, 3]] * 2
    assert of_average.ranks.tolist() == [[1, 2, 3]] * 2


def test_tables_of_quantities_have_values_study_by_study(three: Comparison) -> None:
    (table,) = three.quantity_tables()
    assert [[row[0], *row[1::2]] for row in table.rows] == [
        ["P@20", pytest.approx(0.9), pytest.approx(1.5), pytest.approx(0.6)],
        ["AP@20", pytest.approx(0.3), pytest.approx(0.6), pytest.approx(1.2)],
        ["RR@20", pytest.approx(0.6), pytest.approx(0.9), pytest.approx(0.9)],
    ]
    assert table.headings[1::2] == ["one", "two", "six"]
    assert table.note.startswith("Lower is better")


def test_the_data_sets_are_described_by_their_manifests(tmp_path: Path) -> None:
    collection = {"users": 7, "topics": 3, "judgements": 50}
    ratings = {"ratings": 90, "items": 11, "density": 0.25, "gini": 0.5}
    scores = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]
    comparison = Comparison.of_studies(
        [
            stated(tmp_path, scores, [1, 2, 3], sha="one", collection=collection, ratings=ratings),
            stated(tmp_path, scores, [1, 2, 3], sha="two", collection={"topics": 4}),
        ]
    )
    table = next(comparison.tables())
    assert [*table.rows[0]] == ["one", 7, 90, 11, 0.25, 0.5, 50, 3]
    label, n_topics, *others, n_systems = table.rows[1]
    assert (label, n_topics, n_systems) == ("two", 4, 3)
    assert np.isnan(others).all()


@pytest.mark.parametrize(
    ("first", "second", "again"),
    [
        ([{"sha256": "s"}], [{"sha256": "s"}], True),
        ([{"sha256": "s"}], [{"sha256": "t"}], False),
        ([{"world": 3}], [{"world": 3}], True),
        ([], [], False),
    ],
)
def test_data_sets_of_the_same_origin_are_not_independent(
    first: list[Any], second: list[Any], again: bool, tmp_path: Path
) -> None:
    scores = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]
    studies = [
        stated(tmp_path, scores, [1, 2, 3], sha=name, inputs=inputs)
        for name, inputs in (("one", first), ("two", second))
    ]
    findings = [*Comparison.of_studies(studies).findings()]
    assert any("Not independent" in one for one in findings) == again


def test_pairs_of_measures_are_counted(three: Comparison) -> None:
    assert any("Of 3 pairs of measures, 0 differ" in one for one in three.findings())


def test_a_difference_over_users_is_as_uncertain_as_their_mean(both: tuple[Path, Path]) -> None:
    """Limits are 1.96 standard errors from the mean difference of the same users, or near."""
    scores = both[1] / "scores.parquet"
    moved = pd.read_parquet(scores)
    chosen = (moved["system"] == "puresvd") & (moved["metric"] == "nDCG") & (moved["cutoff"] == 20)
    gains = np.random.default_rng(2).normal(0.2, 0.3, size=int(chosen.sum()))
    moved.loc[chosen, "score"] += gains
    moved.to_parquet(scores)
    means = FinishedStudy.open(both[1]).means
    values = means.values.copy()
    place = [*map(str, means.measures)].index("nDCG@20"), means.systems.index("puresvd")
    values[place] += gains.mean()
    keep(both[1], "means", replace(means, values=values))
    (levels,) = [table for table in compared(*both).tables() if table.name == "levels"]
    (row,) = [row for row in levels.rows if row[0] == "nDCG@20, puresvd"]
    before, after = (float(cell) for cell in row[1:3])
    assert after - before == pytest.approx(gains.mean())
    limits = percentiles(resample_means(gains[None], replicates=1000, seed=0))
    assert row[3] == Estimate(0.0, *(float(limit[0]) for limit in limits)).interval
    low, high = (float(limit) for limit in str(row[3]).strip("[]").split(", "))
    half_width = 1.96 * gains.std(ddof=1) / np.sqrt(len(gains))
    assert low == pytest.approx(gains.mean() - half_width, abs=0.25 * half_width)
    assert high == pytest.approx(gains.mean() + half_width, abs=0.25 * half_width)


def test_means_that_are_no_plain_means_of_scores_have_no_interval(both: tuple[Path, Path]) -> None:
    """As geometric means are not; those of the other systems keep theirs."""
    means = FinishedStudy.open(both[1]).means
    values = means.values + 0.01 * (np.array(means.systems) == "puresvd")
    keep(both[1], "means", replace(means, values=values))
    (levels,) = [table for table in compared(*both).tables() if table.name == "levels"]
    intervals = {row[0]: row[3] for row in levels.rows}
    assert intervals["nDCG@20, puresvd"] == ""
    assert intervals["nDCG@20, random"] == "[.000, .000]"


SCORES = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]


def of_areas(folder: Path, areas: Numbers, *, sha: str) -> Any:
    """A study whose only result are areas that are .01 exact."""
    found = {"sparsity": sparsity_of(areas, margin=0.01, apart=0.01)}
    return replace(stated(folder, SCORES, [1, 2, 3], sha=sha), found=found)


def test_who_may_be_the_best_is_named_study_by_study(tmp_path: Path) -> None:
    level = dict.fromkeys(AREAS, 0.9)
    poor = {measure: area - 0.5 for measure, area in AREAS.items()}
    studies = [
        of_areas(tmp_path, areas, sha=name)
        for name, areas in {"clear": AREAS, "level": level, "poor": poor}.items()
    ]
    comparison = Comparison.of_studies(studies)
    (sentence,) = [one for one in comparison.findings() if one.startswith("May be the most")]
    assert "nDCG@20 (clear); any measure (level); no measure (poor)" in sentence
    assert "0 differ significantly in the same" in sentence
    (table,) = comparison.quantity_tables()
    assert [row[0] for row in table.rows] == ["nDCG@20", "P@20", "AP@20"]
    assert {*table.bold} == {(0, 1)}
    assert table.note.startswith("Higher is better")


def test_pairs_of_measures_that_differ_alike_and_oppositely_are_counted(tmp_path: Path) -> None:
    studies = [of_areas(tmp_path, AREAS, sha="one"), of_areas(tmp_path, TURNED, sha="two")]
    comparison = Comparison.of_studies(studies)
    (sentence,) = [one for one in comparison.findings() if one.startswith("May be the most")]
    assert "Of 3 pairs of measures, 2 (nDCG@20 and P@20; nDCG@20 and AP@20) differ" in sentence
    assert "1 (P@20 and AP@20) in opposite" in sentence
    frame = comparison.frame()
    is_average = (frame.measure == "AP@20") & (frame.quantity == ROBUSTNESS)
    row = frame[is_average & (frame.study == "two")].iloc[0]
    assert row.value == pytest.approx(0.7)
    limits = np.sin(np.arcsin(0.7) + np.array([-0.01, 0.01]))
    assert [row.low, row.high] == pytest.approx(limits.tolist(), abs=2e-4)


def test_studies_of_the_same_name_are_called_by_their_folders(tmp_path: Path) -> None:
    one, two = (of_areas(tmp_path, AREAS, sha=sha) for sha in ("one", "two"))
    alike = [replace(study, name="same") for study in (one, two)]
    assert [*Comparison.of_studies(alike).studies] == [str(tmp_path / "one"), str(tmp_path / "two")]
    assert [*Comparison.of_studies([one, two]).studies] == ["one", "two"]


def test_a_measure_that_a_study_scores_no_system_by_has_no_ranks_of_systems(tmp_path: Path) -> None:
    """P is undefined for one system of one study; AP is not."""
    undefined = [[0.1, np.nan, 0.3], [0.3, 0.2, 0.1]]
    studies = [
        stated(tmp_path, SCORES, [1, 2, 3], sha="one"),
        stated(tmp_path, undefined, [1, 2, 3], sha="two"),
    ]
    of_systems = Comparison.of_studies(studies).mean_ranks[0]
    assert [ranks.label for ranks in of_systems.rankings] == ["AP@20"]


def of_two_systems(
    folder: Path, name: str, *, metrics: tuple[str, ...] = ("P", "AP"), judgements: str = ""
) -> Any:
    """A study of two systems, whose DP by the first metrics is .03, .06, ..."""
    systems = (f"{name} system", "a", "b") if judgements else ("a", "b", f"{name} system")
    study = stated(folder, SCORES, [1, 2, 3], sha=name, systems=systems)
    p = {(metric, 20): [0.01 * number] * 3 for number, metric in enumerate(metrics, start=1)}
    if judgements:
        files = {"qrels/test.qrels": judgements}
        entry = Entry(key="k", files=files, seconds=1.0, cpu_seconds=1.0)
        Ledger(study.folder).write_entry("qrels", entry)
    return replace(study, found={"discrimination": discrimination_of(p)})


def test_two_systems_and_two_measures_have_ranks(tmp_path: Path) -> None:
    comparison = Comparison.of_studies([of_two_systems(tmp_path, name) for name in ("one", "two")])
    assert [ranks.noun for ranks in comparison.mean_ranks] == ["system", "measure"]
    assert comparison.mean_ranks[0].rankings[0].names == ("a", "b")
    assert [*comparison.mean_ranks[0].excluded] == ["one system", "two system"]
    (of_dp,) = comparison.mean_ranks[1].rankings
    assert of_dp.names == ("P@20", "AP@20")
    findings = [*comparison.findings()]
    assert not any("Fewer than two systems" in one for one in findings)
    # Without replicates, nothing is known to differ: both measures may be the best.
    (sentence,) = [one for one in findings if one.startswith("May be the most")]
    assert "any measure (one); any measure (two)" in sentence
    assert "Of 1 pair of measures, 0 differ" in sentence


def test_a_single_measure_has_no_ranks_and_is_called_by_its_name(tmp_path: Path) -> None:
    studies = [of_two_systems(tmp_path, name, metrics=("P",)) for name in ("one", "two")]
    comparison = Comparison.of_studies(studies)
    assert [ranks.noun for ranks in comparison.mean_ranks] == ["system"]
    (sentence,) = [one for one in comparison.findings() if one.startswith("May be the most")]
    assert "P@20 (one); P@20 (two)" in sentence
    assert "Of 0 pairs of measures, 0 differ" in sentence


def test_studies_of_one_collection_have_levels_and_no_ranks(tmp_path: Path) -> None:
    studies = [of_two_systems(tmp_path, name, judgements="0" * 64) for name in ("one", "two")]
    comparison = Comparison.of_studies(studies)
    assert {key[1] for key in comparison.mean_scores} == {"a", "b"}
    assert not comparison.mean_ranks
    assert not any("Some studies have the same" in one for one in comparison.findings())


def test_numbers_alone_are_enough_to_compare(tmp_path: Path) -> None:
    """Of one collection, by systems of which the studies share none."""
    studies = [
        replace(
            of_two_systems(tmp_path, name, judgements="0" * 64),
            means=stated(
                tmp_path, SCORES, [1, 2, 3], sha=f"{name} means", systems=(f"{name} a", name, "x")
            ).means,
        )
        for name in ("one", "two")
    ]
    studies = [
        replace(
            study, means=replace(study.means, systems=tuple(f"{study.name} {n}" for n in "abc"))
        )
        for study in studies
    ]
    comparison = Comparison.of_studies(studies)
    assert comparison.quantities
    assert not comparison.mean_scores
    assert not comparison.mean_ranks


def test_the_best_of_every_study_is_bold(tmp_path: Path) -> None:
    """Values are in the columns 1, 3 and 5."""
    best = {"one": AREAS, "two": {("nDCG", 20): 0.5, ("P", 20): 0.6, ("AP", 20): 0.9}}
    studies = [of_areas(tmp_path, areas, sha=name) for name, areas in best.items()]
    (table,) = Comparison.of_studies(
        [*studies, of_areas(tmp_path, AREAS, sha="six")]
    ).quantity_tables()
    assert {*table.bold} == {(0, 1), (2, 3), (0, 5)}


def test_measures_that_never_differ_are_neither_alike_nor_opposite() -> None:
    """Their difference is 0 in every replicate."""
    same = powers([3.0, 1.0, 2.0], spread=0.01)
    twins = replace(same, values=np.full(3, 2.0), replicates=np.tile(same.replicates[0], (3, 1)))
    assert significant_pairs({"one": twins, "two": twins}) == ([], [])


def test_measures_are_in_the_order_of_the_first_study(tmp_path: Path) -> None:
    one, two = (of_two_systems(tmp_path, name) for name in ("one", "two"))
    turned = {("AP", 20): [0.2] * 3, ("P", 20): [0.1] * 3}
    two = replace(two, found={"discrimination": discrimination_of(turned)})
    (table,) = Comparison.of_studies([one, two]).quantity_tables()
    assert [row[0] for row in table.rows] == ["P@20", "AP@20"]
    assert [row[1] for row in table.rows] == pytest.approx([0.03, 0.06])
