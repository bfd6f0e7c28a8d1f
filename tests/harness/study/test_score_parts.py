"""The scores of a study: by its judgements, by the truth, and what ties in given runs change."""

import warnings
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import RunDeviations
from harness.metrics.shared.register import built_in_metrics, find_metric
from harness.readers.score_parquet import scores_from_parquet
from harness.scoring.means import Coverage, Means
from harness.scoring.score import score
from harness.study.score_parts import (
    ScoreParts,
    read_scores,
    score_files,
    true_score_files,
    truly_judged_runs,
    with_hidden_ranks,
)
from harness.study.system_lists import KeptLists, SystemLists
from harness.study.true_judgements import TrueJudgements
from harness.study.workers import RUN
from qrels import Catalogue, Judged, Qrels, Ratings
from qrels.ranks.judged_ranks import JudgedRanks
from runs import InputWarning, Numbering, Run
from runs.formats import run_to_parquet
from tests.harness.small import Recorded, systems_run, write_collection

pytestmark = pytest.mark.filterwarnings("ignore::runs.InputWarning")

METRICS = {name: find_metric(name, built_in_metrics()) for name in ("P", "RR", "LOO(beta=0.5)")}
TOPICS, ITEMS = Numbering.of(["u", "v"]), Numbering.of(["a", "b", "c"])

QRELS = Qrels(np.array([0, 2, 4]), np.array([0, 1, 0, 2], np.int32), np.array([1, 1, 0, 1]), 1)
"""To user u items a and b are relevant, to v item c, and a is not."""

LISTS = {"s-1": [[0, 2], [0, 2]], "s-2": [[2, 0], [2, 1]], "t": [[2, -1], [-1, -1]]}
"""Lists of items by run, for both users."""

PRECISIONS = {"s-1": [0.5, 0.5], "s-2": [0.5, 0.5], "t": [0.0, 0.0]}
RECIPROCAL = {"s-1": [1.0, 0.5], "s-2": [0.5, 1.0], "t": [0.0, 0.0]}
MEASURES = Measures([Measure("P", 2), Measure("RR", 2)])


@pytest.fixture
def lists(tmp_path: Path) -> KeptLists:
    """Kept lists of two runs of one system, and of one of another."""
    for tag, items in LISTS.items():
        run = Run(tag, np.array(items, np.int32))
        (tmp_path / f"{tag}.parquet").write_bytes(run_to_parquet(run, TOPICS, ITEMS))
    return KeptLists(
        files=tuple(tmp_path / f"{tag}.parquet" for tag in LISTS),
        system_of_runs=("s", "s", "t"),
        are_replicated=False,
        topics=TOPICS,
        items=ITEMS,
        depth=2,
    )


def scored(lists: KeptLists, folder: Path, **options: Any) -> dict[str, Any]:
    """Score lists by the judgements; write the files, and read those that are results."""
    arguments: dict[str, Any] = {"hidden_files": {}, "average": "users", "unit": "topic"} | options
    files = score_files(
        lists,
        QRELS,
        TOPICS,
        MEASURES,
        METRICS,
        Catalogue(3),
        arguments["hidden_files"],
        arguments["average"],
        arguments["unit"],
        progress=arguments.get("progress", Recorded()),
    )
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return files


# Scores by the judgements


def test_every_user_run_and_measure_is_scored(lists: KeptLists, tmp_path: Path) -> None:
    progress = Recorded()
    files = scored(lists, tmp_path, progress=progress)
    assert {*files} == {"scores.parquet", "evidence/means.npz", "evidence/coverage.npz"}
    scores = scores_from_parquet(files["scores.parquet"])
    assert scores.systems == ("s-1", "s-2", "t")
    assert scores.users.tolist() == ["u", "v"]
    assert [*scores.measures] == [*MEASURES]
    assert scores.values.tolist() == [[*PRECISIONS.values()], [*RECIPROCAL.values()]]
    assert progress.begun == [("Scoring the runs", 3)]
    assert len(progress.done) == 3


def test_means_and_coverage_are_of_the_scores_and_lists(lists: KeptLists, tmp_path: Path) -> None:
    scored(lists, tmp_path)
    means = read_evidence(tmp_path / "evidence/means.npz", Means)
    assert means.values.tolist() == [[0.5, 0.5, 0.0], [0.75, 0.75, 0.0]]
    assert (means.unit, means.average, means.sizes, means.spreads) == ("topic", "users", None, None)
    coverage = read_evidence(tmp_path / "evidence/coverage.npz", Coverage)
    assert (coverage.systems, coverage.unit) == (("s-1", "s-2", "t"), "topic")
    assert coverage.without_list.tolist() == [0, 0, 1]
    assert coverage.n_items.tolist() == [2, 3, 1]


def test_users_are_weighted_by_their_relevant_items(lists: KeptLists, tmp_path: Path) -> None:
    """The users have 2 and 1 relevant items: their weights are 4/3 and 2/3."""
    files = scored(lists, tmp_path, average="judgements")
    means = read_evidence(tmp_path / "evidence/means.npz", Means)
    assert means.average == "judgements"
    assert means.values[1].tolist() == pytest.approx([5 / 6, 2 / 3, 0])
    # Scores are kept as metrics give them.
    assert scores_from_parquet(files["scores.parquet"]).values[1, 0].tolist() == [1.0, 0.5]


def test_runs_of_one_system_are_averaged(lists: KeptLists, tmp_path: Path) -> None:
    files = scored(replace(lists, are_replicated=True), tmp_path)
    assert "evidence/runs.npz" in files
    scores = scores_from_parquet(files["scores.parquet"])
    assert scores.systems == ("s", "t")
    assert scores.values[1].tolist() == [[0.75, 0.75], [0.0, 0.0]]
    means = read_evidence(tmp_path / "evidence/means.npz", Means)
    assert means.sizes is not None
    assert means.sizes.tolist() == [2, 1]
    assert means.spreads is not None
    assert means.spreads[1].tolist() == pytest.approx([0.0, np.nan], nan_ok=True)
    runs = read_evidence(tmp_path / "evidence/runs.npz", RunDeviations)
    assert runs.systems.tolist() == [0, 0, 1]
    weighted = scored(replace(lists, are_replicated=True), tmp_path, average="judgements")
    runs = read_evidence(tmp_path / "evidence/runs.npz", RunDeviations)
    assert runs.values[1].tolist() == pytest.approx([1 / 12, -1 / 12, 0])
    assert scores_from_parquet(weighted["scores.parquet"]).systems == ("s", "t")


def test_hidden_ranks_join_what_is_known_of_items(tmp_path: Path) -> None:
    ranks = JudgedRanks(loo=np.array([3, 1], np.uint16))
    (tmp_path / "s.npz").write_bytes(to_evidence(ranks))
    catalogue = Catalogue(3, n_raters=5)
    assert with_hidden_ranks(catalogue, {}) is catalogue
    known = with_hidden_ranks(catalogue, {"s": tmp_path / "s.npz"})
    assert known.n_raters == 5
    assert known.require("hidden_ranks")["s"].require("loo").tolist() == [3, 1]


def test_scores_are_read_with_weights_and_what_runs_differ_by(
    lists: KeptLists, tmp_path: Path
) -> None:
    scored(replace(lists, are_replicated=True), tmp_path)
    weights = np.array([0.5, 1.5])
    path = tmp_path / "scores.parquet"
    scores = read_scores(path, tmp_path / "evidence/runs.npz", weights)
    assert scores.weights is weights
    assert scores.runs is not None
    assert scores.runs.systems.tolist() == [0, 0, 1]
    assert read_scores(path, None, None).runs is None


# Scores by the truth

TRUE_QRELS = Qrels(np.array([0, 2, 4]), np.array([0, 1, 1, 2], np.int32), np.array([1, 0, 1, 1]), 1)
"""User v, then u: for v only a is relevant, b is not; for u b and c are."""

KNOWN = TrueJudgements(
    trec_topics=Numbering.of(["w", "x"]),
    topics=Numbering.of(["v1", "w1"]),
    qrels=TRUE_QRELS,
    origin="by hand",
    candidates="all",
    facts={},
    users=np.array([1, 0], np.int32),
    rows=np.array([1, 0], np.int32),
)


def truly_scored(
    lists: KeptLists,
    known: TrueJudgements = KNOWN,
    *,
    measures: Measures = MEASURES,
    references: tuple[Measure, ...] = (Measure("P", 2),),
    train: Ratings | None = None,
    average: Any = "users",
    completing_seed: int | None = None,
    progress: Recorded | None = None,
) -> dict[str, bytes]:
    return true_score_files(
        lists,
        known,
        measures,
        references,
        METRICS,
        Catalogue(3),
        train,
        average,
        completing_seed,
        progress=progress or Recorded(),
    )


def test_usual_lists_are_scored_by_the_truth_of_its_users(lists: KeptLists) -> None:
    progress = Recorded()
    files = truly_scored(lists, progress=progress)
    assert [*files] == ["truth/scores.parquet"]
    scores = scores_from_parquet(files["truth/scores.parquet"])
    assert scores.users.tolist() == ["v1", "w1"]
    assert scores.systems == ("s-1", "s-2", "t")
    # Of v's lists, a c, c b and none; of u's, a c, c a and c.
    assert scores.values[0].tolist() == [[0.5, 0.5], [0.0, 0.5], [0.0, 0.5]]
    assert scores.values[1].tolist() == [[1.0, 0.5], [0.0, 1.0], [0.0, 1.0]]
    assert progress.begun == [("Scoring by the truth", 3)]
    assert len(progress.done) == 3


def test_references_are_measured_too_and_what_hides_items_is_not(lists: KeptLists) -> None:
    measures = Measures([Measure("LOO(beta=0.5)", 2), Measure("P", 2)])
    references = (Measure("P", 2), Measure("RR", 1))
    files = truly_scored(lists, measures=measures, references=references)
    scores = scores_from_parquet(files["truth/scores.parquet"])
    assert [*scores.measures] == [Measure("P", 2), Measure("RR", 1)]
    assert [*scores.measures.reported] == [Measure("P", 2)]


def test_lists_of_judged_items_are_completed_if_systems_are_trained(lists: KeptLists) -> None:
    """System t lists nothing for the second user, whose two judged items are relevant."""
    own = replace(KNOWN, candidates="judged")
    left_out = scores_from_parquet(truly_scored(lists, own)["truth/scores.parquet"])
    assert left_out.values[0, 2].tolist() == [0.0, 0.0]
    completed = truly_scored(lists, own, completing_seed=1)["truth/scores.parquet"]
    assert scores_from_parquet(completed).values[0, 2, 1] == 1.0
    usual = scores_from_parquet(truly_scored(lists, completing_seed=1)["truth/scores.parquet"])
    assert usual.values[0, 2].tolist() == [0.0, 0.5]


def test_the_truth_weighs_users_by_its_own_judgements(lists: KeptLists) -> None:
    replicated = replace(lists, are_replicated=True)
    files = truly_scored(replicated, average="judgements")
    assert [*files] == ["truth/scores.parquet", "truth/runs.npz"]
    scores = scores_from_parquet(files["truth/scores.parquet"])
    assert scores.systems == ("s", "t")
    assert scores.values[0, 0].tolist() == [0.25, 0.5]


def test_profiles_are_those_of_the_users_of_the_truth(
    lists: KeptLists, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Catalogue] = []

    def recorded(*arguments: Any, catalogue: Catalogue, **options: Any) -> Any:
        shown.append(catalogue)
        return score(*arguments, catalogue=catalogue, **options)

    monkeypatch.setattr("harness.study.score_parts.score", recorded)
    number = np.array([0, 1], np.int32)
    train = Ratings(TOPICS, ITEMS, number, number, np.array([4.0, 2.0]))
    truly_scored(lists, train=train)
    truly_scored(lists)
    assert shown[0].require("profiles").toarray().tolist() == [[0, 2, 0], [4, 0, 0]]
    assert shown[1].profiles is None


def test_the_truth_judges_its_own_lists_or_the_usual_ones_of_its_users(lists: KeptLists) -> None:
    usual = truly_judged_runs(lists, KNOWN)
    assert [run.items.tolist() for run in usual] == [items[::-1] for items in LISTS.values()]
    own = truly_judged_runs(lists, replace(KNOWN, candidates="judged"))
    assert [run.items.tolist() for run in own] == [*LISTS.values()]


# The parts of a study

TREC = """
name = "given"
[runs]
paths = ["*.run"]
[qrels]
path = "test.qrels"
[metrics]
names = ["P"]
cutoffs = [1, 2]
[analyses]
names = []
"""
TRUTH = '[truth]\npath = "true.qrels"\nreferences = ["P@2", "RR@1"]\n'


def parts_of(text: str, base: Path, **options: Any) -> ScoreParts:
    """The lists of a study, kept, and its scores, which are not yet."""
    run = systems_run(text, base, references=("P", "RR"), **options)
    lists = SystemLists(run)
    lists.keep()
    return ScoreParts(run, lists)


@pytest.fixture
def given(tmp_path: Path) -> Path:
    write_collection(tmp_path)
    (tmp_path / "true.qrels").write_text("u1 0 b 1\nu1 0 x 0\nu3 0 z 1\n")
    return tmp_path


@pytest.mark.slow
def test_a_study_keeps_its_scores_and_what_is_drawn_of_them(given: Path) -> None:
    scores = parts_of(TREC, given)
    scores.keep()
    names = ["scores", "drawn-means", "drawn-coverage"]
    assert scores.run.parts.names == [*scores.lists.part_names(RUN), *names]
    assert scores.scores.values.tolist() == [[[1, 1, 0], [0, 0, 0]], [[0.5, 0.5, 0.5], [0, 0.5, 0]]]
    assert scores.scores.systems == ("full", "partial")
    assert scores.scores.weights is None
    assert scores.scores.runs is None
    assert scores.truth is None
    assert scores.true_runs == []
    assert scores.catalogue is scores.run.catalogue
    assert (scores.run.folder / "tables/means.csv").exists()
    assert (scores.run.folder / "tables/coverage.csv").exists()


def test_a_study_keeps_its_scores_by_the_truth(given: Path) -> None:
    scores = parts_of(TREC + TRUTH, given)
    scores.keep()
    assert scores.run.parts.names[-1] == "true-scores"
    truth = scores.truth
    assert truth is not None
    assert truth.references == (Measure("P", 2), Measure("RR", 1))
    assert [*truth.scores.measures] == [Measure("P", 1), Measure("P", 2), Measure("RR", 1)]
    # Lists are condensed: b x and z, and x b and none. They are not completed.
    assert truth.scores.users.tolist() == ["u1", "u3"]
    assert truth.scores.values[0].tolist() == [[1, 1], [0, 0]]
    assert truth.scores.values[1].tolist() == [[0.5, 0.5], [0.5, 0]]
    assert (truth.origin, truth.condensed) == ("of true.qrels", True)
    assert truth.scores.weights is None
    (run, _) = scores.true_runs
    assert run.items.shape[0] == 2


def test_the_truth_of_all_lists_is_not_condensed(given: Path) -> None:
    scores = parts_of(TREC + TRUTH + 'candidates = "all"\n', given)
    scores.keep()
    truth = scores.truth
    assert truth is not None
    assert not truth.condensed
    assert truth.notes == ()
    # Of all lists the first items are a and y, x and none.
    assert truth.scores.values[0].tolist() == [[0, 0], [0, 0]]


def test_notes_tell_what_condensed_lists_of_given_runs_cannot_show(given: Path) -> None:
    """A system that leaves judged items out is named if it was trained: then they come last."""
    scores = parts_of(TREC + TRUTH, given)
    scores.keep()
    truth = scores.truth
    assert truth is not None
    assert any("condensed lists" in note for note in truth.notes)
    assert not any("ranked last" in note for note in truth.notes)


WORLD = """
name = "world"
seed = 3
[ratings]
format = "world"
threshold = 4.0
[ratings.world]
n_users = 12
n_items = 15
n_ratings = 90
min_ratings = 2
gini = 0.3
[systems]
names = ["random", "chi2"]
depth = 4
[metrics]
names = ["P", "LOO(beta=0.5)"]
cutoffs = [2]
[analyses]
names = []
[truth]
candidates = "judged"
references = ["P@2"]
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> ScoreParts:
    metrics = ("P", "LOO(beta=0.5)")
    text = WORLD.replace('"chi2"', '"uir-item"')
    scores = parts_of(text, tmp_path_factory.mktemp("trained"), metrics=metrics)
    scores.keep()
    return scores


@pytest.mark.slow
def test_hidden_ranks_of_trained_systems_are_scored(trained: ScoreParts) -> None:
    assert trained.run.catalogue.hidden_ranks is None
    assert {*trained.catalogue.require("hidden_ranks")} == {"random", "uir-item"}
    loo = trained.scores.values[trained.scores.measures.index(Measure("LOO(beta=0.5)", 2))]
    assert loo.max() > 0


@pytest.mark.slow
def test_lists_of_trained_systems_are_completed_for_the_truth(trained: ScoreParts) -> None:
    truth, known = trained.truth, trained.run.collection.true_judgements
    assert truth is not None
    assert known is not None
    assert [*truth.scores.measures] == [Measure("P", 2)]
    runs = [known.with_unranked_items(run, 4, seed=3) for run in trained.true_runs]
    for number, run in enumerate(runs):
        marks = np.zeros((len(run.items), 15))
        marks[known.qrels.users, known.qrels.items] = known.qrels.relevant
        hits = np.take_along_axis(marks, run.items[:, :2], axis=1).sum(axis=1)
        assert hits.any()
        np.testing.assert_allclose(truth.scores.values[0, number], hits / 2)


# Ties

GRADES = {"a": 1, "b": 0, "c": 1}
SCORES = {"t1": {"a": 2, "b": 2, "x": 2, "c": 1}, "t2": {"b": 3, "c": 3, "x": 1, "a": 1}}

Scored = dict[str, dict[str, int]]


def write(folder: Path, name: str, scores: Scored) -> None:
    lines = [
        f"{topic} Q0 {item} 1 {score} {name}"
        for topic, own in scores.items()
        for item, score in own.items()
    ]
    (folder / f"{name}.run").write_text("\n".join(lines) + "\n", encoding="utf-8")


def cautions(
    folder: Path,
    scores: Scored,
    grades: dict[str, int],
    metrics: str = 'names = ["P", "AP", "RR"]\ncutoffs = [2]',
    *,
    level: int = 1,
) -> list[str]:
    """What is said of ties in a run, beside another one without ties."""
    whole = {t: {item: 9 - n for n, item in enumerate(own)} for t, own in scores.items()}
    write(folder, "tied", scores)
    write(folder, "whole", whole)
    judged = [f"{topic} 0 {item} {grade}" for topic in scores for item, grade in grades.items()]
    (folder / "q.qrels").write_text("\n".join(judged) + "\n", encoding="utf-8")
    text = f"""
name = "ties"
[runs]
paths = ["*.run"]
[qrels]
path = "q.qrels"
relevance_level = {level}
[metrics]
{metrics}
[analyses]
names = []
"""
    run = systems_run(text, folder, metrics=("P", "AP", "RR", "nDCG"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ScoreParts(run, SystemLists(run)).warn_of_ties()
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("name", ["P", "AP", "RR"])
def test_the_range_is_that_of_all_orders_of_tied_items(tmp_path: Path, name: str) -> None:
    (caution,) = cautions(tmp_path, SCORES, GRADES)
    metric = find_metric(name, built_in_metrics())
    values = []
    for orders in product(*(permutations(own) for own in SCORES.values())):
        pairs = zip(orders, SCORES.values(), strict=True)
        if any([*map(own.__getitem__, o)] != sorted(own.values())[::-1] for o, own in pairs):
            continue
        grades = [[float(GRADES.get(item, "nan")) for item in order] for order in orders]
        judged = Judged(grades=np.array(grades), judgements=np.array([[1.0, 0.0, 1.0]] * 2))
        values.append(metric(judged, cutoff=2).mean())
    low, high = (f"{value:.3f}".removeprefix("0") for value in (min(values), max(values)))
    assert "100 % of the lists of tied" in caution
    assert f"({low} to {high})" in caution.split(f" {name}@2")[1].split(")")[0] + ")"


def test_an_unjudged_item_is_worth_less_than_a_relevant_and_more_than_another(
    tmp_path: Path,
) -> None:
    """Of x, unjudged, b of grade 1 and a of grade 2, the relevant one, a x and b x come first.

    Ties are ordered x b a. By the ideal a b, 2 + 1 / log2(3), nDCG@2 is .24, .76 and .38.
    """
    tied = {"t": {"a": 1, "b": 1, "x": 1}}
    metrics = 'names = ["nDCG"]\ncutoffs = [2]'
    (caution,) = cautions(tmp_path, tied, {"a": 2, "b": 1}, metrics, level=2)
    assert "nDCG@2 .240 (.240 to .760)" in caution


TIES = [
    {"a": 4, "b": 4, "c": 2, "x": 1},
    {"a": 4, "b": 3, "c": 3, "x": 1},
    {"a": 4, "b": 3, "c": 2, "x": 2},
    {"a": 4, "b": 3, "c": 2, "x": 1},
]
"""Ties at the first two ranks, at the second and third, at the last two, and none."""


@pytest.mark.parametrize(
    ("measures", "share"),
    [("P@1", 25), ("P@1', 'P@2", 50), ("P@1', 'P@3", 75), ("P@1', 'AP@all", 75)],
)
def test_lists_are_counted_whose_ties_reach_the_deepest_measure(
    measures: str, share: int, tmp_path: Path
) -> None:
    scores = {f"t{number}": ties for number, ties in enumerate(TIES)}
    (caution,) = cautions(tmp_path, scores, GRADES, f"names = ['{measures}']")
    assert caution.startswith(f"{share} % of the lists of tied have items with equal scores")


def test_ties_in_fewer_than_one_list_in_twenty_are_passed_over(tmp_path: Path) -> None:
    """One list begins with a tie of b and a, which is relevant; the others with a."""
    for n_topics, n_cautions in ((20, 1), (21, 0)):
        scores = {f"t{number:02}": TIES[3] for number in range(n_topics)}
        scores["t00"] = TIES[0]
        found = cautions(tmp_path, scores, GRADES, "names = ['P@1']")
        assert len(found) == n_cautions
        assert all("5 % of the lists" in one and "P@1 .950 (.950 to 1" in one for one in found)


def test_ties_that_move_no_mean_by_a_thousandth_are_passed_over(tmp_path: Path) -> None:
    """All lists are tied where it does not matter, one where it does: P@2 may gain 1/2."""
    metrics = 'names = ["P"]\ncutoffs = [2]'
    for n_topics, n_cautions in ((500, 1), (501, 0)):
        scores = {f"t{n:04}": {"x": 4, "y": 4, "z": 1} for n in range(n_topics)}
        scores["t0000"] = {"x": 4, "a": 2, "y": 2, "z": 1}
        assert len(cautions(tmp_path, scores, GRADES, metrics)) == n_cautions


def test_means_over_judgements_are_weighted_in_cautions(tmp_path: Path) -> None:
    """Of two topics one has a tie; it has 3 of the 4 relevant items."""
    for name, scores in (("tied", {"a": 1, "x": 1}), ("whole", {"a": 2, "x": 1})):
        write(tmp_path, name, {"t1": scores, "t2": {"x": 2, "a": 1}})
    judged = ["t1 0 a 1", "t1 0 b 1", "t1 0 c 1", "t2 0 a 1"]
    (tmp_path / "q.qrels").write_text("\n".join(judged) + "\n")
    text = TREC.replace("test.qrels", "q.qrels")
    text = text.replace("cutoffs = [1, 2]", 'cutoffs = [1]\naverage = "judgements"')
    run = systems_run(text, tmp_path)
    with pytest.warns(InputWarning, match=r"P@1 \.000 \(\.000 to \.750\)"):
        ScoreParts(run, SystemLists(run)).warn_of_ties()
