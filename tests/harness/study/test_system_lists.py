"""What the systems of a study recommend: which parts each has, and how they are kept."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyses.shared.evidence import read_evidence
from harness.study import system_lists, true_judgements
from harness.study.run import run_study
from harness.study.study import Study
from harness.study.system_lists import SystemLists, list_files, maker_of_system, training_task
from harness.study.workers import (
    CANDIDATE_RANKS,
    HIDDEN_RANKS,
    RELEVANT_RANKS,
    RUN,
    TRUE_RUN,
    HiddenItems,
    SystemPart,
    UserCandidates,
    all_candidate_ranks,
    hidden_ranks,
    recommended_lists,
    relevant_ranks,
    train_system,
    truly_judged_lists,
)
from qrels import FullRanks
from qrels.ranks.full_ranks import CandidateRanks
from qrels.ranks.judged_ranks import JudgedRanks
from recommenders import PROCESS_BYTES, find_system, require_memory
from runs import InputError, Numbering, Run
from runs.formats import read_run, runs_from_parquet
from tests.harness.small import METRICS, Recorded, systems_run, write_collection, write_run

# Handfuls of lists and judgements lack users that others have.
pytestmark = pytest.mark.filterwarnings("ignore::runs.InputWarning")

RATINGS = """
name = "small"
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
"""
SYSTEMS = """
[systems]
names = ["random", "uir-item"]
depth = 4
"""
SHALLOW = '[metrics]\nnames = ["P"]\ncutoffs = [2]\n'
JUDGED = '[truth]\ncandidates = "judged"\n'
NONE = "[analyses]\nnames = []\n"
FULL = "[analyses]\nnames = ['sampled']\n[analyses.sampled]\nstudies = ['ranks']\n"
SAMPLED = "[analyses]\nnames = ['sampled']\n[analyses.sampled]\nstudies = ['estimates']\n"
TREC = 'name = "given"\n[runs]\npaths = ["*.run"]\n[qrels]\npath = "test.qrels"\n'


PARTS = (RUN, RELEVANT_RANKS, HIDDEN_RANKS, TRUE_RUN, CANDIDATE_RANKS)
NO_PARTS: dict[SystemPart, tuple[str, ...]] = dict.fromkeys(PARTS, ())


def lists_of(text: str, base: Path, **options: Any) -> SystemLists:
    """The lists of a study whose folder is `study`; its cut-offs are below its short lists."""
    return SystemLists(systems_run(text + SHALLOW, base, **options))


# Names


def test_a_study_that_trains_has_its_systems_before_given_runs(tmp_path: Path) -> None:
    write_run(tmp_path, "theirs", {"u01": ["i01"]})
    lists = lists_of(RATINGS + SYSTEMS + '[runs]\npaths = ["*.run"]\n' + NONE, tmp_path)
    assert lists.trained_systems == ("random", "uir-item")
    assert lists.run_names == lists.system_of_runs == lists.systems
    assert lists.systems == ("random", "uir-item", "theirs")


@pytest.fixture
def replicated(tmp_path: Path) -> SystemLists:
    """Two runs of one system, and one of another."""
    write_collection(tmp_path)
    (tmp_path / "full.run").unlink()
    for seed in (1, 2):
        write_run(tmp_path, f"full-{seed}", {"u1": ["a"]} if seed == 1 else {"u2": ["d", "a"]})
    text = TREC.replace(
        '["*.run"]',
        r"""["*.run"]
replicates = '(?P<system>[a-z]+)(-\d)?'""",
    )
    return lists_of(text + NONE, tmp_path)


def test_several_runs_may_be_of_one_system(replicated: SystemLists) -> None:
    assert replicated.trained_systems == ()
    assert replicated.run_names == ("full-1", "full-2", "partial")
    assert replicated.system_of_runs == ("full", "full", "partial")
    assert replicated.systems == ("full", "partial")


def test_runs_are_told_apart_if_several_are_of_one_system(
    replicated: SystemLists, tmp_path: Path
) -> None:
    replicated.keep()
    lists = replicated.recommended
    of_runs = lists.replicates_of(lists.runs)
    assert of_runs is not None
    assert of_runs.systems == ("full", "partial")
    assert of_runs.runs_per_system().tolist() == [2, 1]
    assert replace(lists, are_replicated=False).replicates_of(lists.runs) is None


def test_trained_systems_have_a_summary_and_a_source(tmp_path: Path) -> None:
    lists = lists_of(RATINGS + SYSTEMS + NONE, tmp_path)
    spec = find_system("uir-item")
    assert [*lists.sources()] == ["random", "uir-item"]
    assert lists.sources()["uir-item"] == (spec.summary, spec.source)


def test_given_runs_have_no_sources(tmp_path: Path) -> None:
    write_collection(tmp_path)
    lists = lists_of(TREC + NONE, tmp_path)
    assert lists.sources() == {}
    assert lists.families == {}
    assert lists.names_by_part == NO_PARTS | {RUN: ("full", "partial")}


# Families

MINE = '''
import numpy as np

from recommenders import Settings, system
from recommenders.shared.scorers import TrainedOnRatings


class Scorer(TrainedOnRatings):
    def score_batch(self, user_numbers):
        return np.zeros((len(user_numbers), len(self.items)), dtype=np.float32)


@system("zeros", FAMILY source="-")
def zeros(ratings, settings: Settings, *, seed) -> Scorer:
    """Score nothing."""
    return Scorer(ratings)
'''


def test_a_baseline_is_a_family_of_its_own(tmp_path: Path) -> None:
    names = SYSTEMS.replace('"random"', '"random", "popularity"')
    lists = lists_of(RATINGS + names + NONE, tmp_path)
    assert lists.families == {
        "random": "random",
        "popularity": "popularity",
        "uir-item": "relevance models",
    }


def test_the_family_of_a_system_of_ones_own_is_known_if_it_is_declared(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE.replace("FAMILY", 'family="mine",'))
    (tmp_path / "other.py").write_text(MINE.replace("FAMILY", 'family="yours",'))
    names = SYSTEMS.replace('"random"', '"mine.py:zeros", "other.py:zeros"')
    lists = lists_of(RATINGS + names + NONE, tmp_path)
    assert lists.families == {"mine.py:zeros": "mine", "uir-item": "relevance models"}


def test_families_of_runs_are_those_that_the_study_names(tmp_path: Path) -> None:
    write_collection(tmp_path)
    table = "[runs.families]\npartial = 'neighbours'\n"
    assert lists_of(TREC + table + NONE, tmp_path).families == {"partial": "neighbours"}
    unknown = lists_of(TREC + table + "ful = 'factors'\n" + NONE, tmp_path)
    with pytest.raises(InputError, match=r"study\.toml, line 8: there is no run 'ful'; did you"):
        unknown.families  # noqa: B018


# Which parts there are


def test_every_system_has_lists_and_what_is_needed_beside(tmp_path: Path) -> None:
    both = ("random", "uir-item")
    names = lists_of(RATINGS + SYSTEMS + NONE, tmp_path).names_by_part
    assert names == NO_PARTS | {RUN: both}
    names = lists_of(RATINGS + SYSTEMS + FULL, tmp_path).names_by_part
    assert names == NO_PARTS | {RUN: both, RELEVANT_RANKS: both}
    hiding = lists_of(RATINGS + SYSTEMS + NONE, tmp_path, metrics=("P", "LOO(beta=0.5)"))
    assert hiding.names_by_part == NO_PARTS | {RUN: both, HIDDEN_RANKS: both}
    names = lists_of(RATINGS + SYSTEMS + JUDGED + NONE, tmp_path).names_by_part
    assert names == NO_PARTS | {RUN: both, TRUE_RUN: both}


@pytest.mark.parametrize(
    ("table", "most_pairs", "is_kept"),
    [
        ("draws = 'items'\n", 5 * 15, True),
        ("", 11 * 15, True),
        ("", 11 * 15 - 1, False),
        ("draws = 'shared'\n", 11 * 15, False),
    ],
)
def test_all_candidates_are_ranked_if_that_is_needed_or_fits(
    table: str, most_pairs: int, is_kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(true_judgements, "MAX_PAIRS", most_pairs)
    lists = lists_of(RATINGS + SYSTEMS + SAMPLED + table, tmp_path)
    split = lists.run.collection.split
    assert split is not None
    assert len(split.test_users) * len(split.train.items) == 11 * 15
    assert lists.names_by_part[CANDIDATE_RANKS] == (("random", "uir-item") if is_kept else ())


def test_parts_and_their_files_are_named(tmp_path: Path) -> None:
    lists = lists_of(RATINGS + SYSTEMS + FULL, tmp_path)
    assert lists.part_names(RELEVANT_RANKS, RUN) == [
        *("ranks-random", "ranks-uir-item"),
        *("run-random", "run-uir-item"),
    ]
    assert lists.part_names(HIDDEN_RANKS) == []
    assert lists.files_of(RELEVANT_RANKS) == {
        name: tmp_path / f"study/ranks/{name}.npz" for name in ("random", "uir-item")
    }


# Given runs


def test_given_runs_are_written_as_they_were_read(tmp_path: Path) -> None:
    write_collection(tmp_path)
    lists = lists_of(TREC + NONE, tmp_path)
    lists.keep()
    assert lists.run.parts.names == ["run-full", "run-partial"]
    kept = lists.recommended
    folder = tmp_path / "study/runs"
    assert kept.files == (folder / "full.parquet", folder / "partial.parquet")
    assert (kept.system_of_runs, kept.are_replicated) == (("full", "partial"), False)
    assert kept.depth is None
    assert kept.replicates_of(kept.runs) is None
    for run, given in zip(kept.runs, lists.run.collection.runs, strict=True):
        assert run.system == given.system
        np.testing.assert_array_equal(run.items, given.items)
    assert lists.truly_judged is kept


def test_lists_for_the_truth_are_kept_beside(tmp_path: Path) -> None:
    write_collection(tmp_path)
    (tmp_path / "true.qrels").write_text("u1 0 b 1\nu1 0 x 0\nu3 0 z 1\n")
    lists = lists_of(TREC + '[truth]\npath = "true.qrels"\n' + NONE, tmp_path)
    lists.keep()
    # The first system lists nothing else of what is judged for u3.
    assert lists.part_names(TRUE_RUN) == ["true-run-full", "true-run-partial"]
    assert lists.run.parts.names == [*lists.part_names(RUN), *lists.part_names(TRUE_RUN)]
    kept = lists.truly_judged
    assert kept.files == tuple(lists.files_of(TRUE_RUN).values())
    assert (kept.system_of_runs, kept.depth) == (("full", "partial"), None)
    assert kept.topics.ids.tolist() == ["u1", "u3"]
    items = lists.run.collection.items.ids
    named = [[items[row[row >= 0]].tolist() for row in run.items] for run in kept.runs]
    assert named == [[["b", "x"], ["z"]], [["x", "b"], []]]


def test_a_given_run_without_truly_judged_items_is_named(tmp_path: Path) -> None:
    write_collection(tmp_path)
    (tmp_path / "true.qrels").write_text("u3 0 z 1\n")
    lists = lists_of(TREC + '[truth]\npath = "true.qrels"\n' + NONE, tmp_path)
    with pytest.raises(InputError, match="'partial' lists none of the truly judged items"):
        lists.keep()


def test_lists_that_are_all_empty_are_refused() -> None:
    topics, items = Numbering.of(["u", "v"]), Numbering.of(["a"])
    empty, some = (Run("s", np.array(items, np.int32)) for items in ([[-1], [-1]], [[-1], [0]]))
    with pytest.raises(InputError, match="'s' recommends nothing to any test user"):
        list_files(empty, topics, items, "runs/s.parquet", False)
    with pytest.raises(InputError, match="'s' lists none of the truly judged items"):
        list_files(empty, topics, items, "runs/s.parquet", True)
    ((name, content),) = list_files(some, topics, items, "runs/s.parquet", False).items()
    assert name == "runs/s.parquet"
    read = runs_from_parquet(name, content)[0]
    assert (read.users.ids.tolist(), read.items.ids.tolist()) == (["v"], ["a"])


# Training

EVERYTHING = RATINGS + SYSTEMS + JUDGED + SAMPLED + "draws = 'items'\n"
HIDING = ("P", "LOO(beta=0.5)")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> SystemLists:
    """Systems with all parts; the truth is of fewer users than are tested."""
    base = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(true_judgements, "MAX_PAIRS", 7 * 15)
        lists = lists_of(EVERYTHING, base, metrics=HIDING, progress=Recorded())
        lists.keep()
    return lists


def test_every_part_of_a_trained_system_is_kept(trained: SystemLists) -> None:
    """What is kept is what the system makes."""
    study, collection = trained.run.study, trained.run.collection
    split, truth = collection.split, collection.true_judgements
    assert split is not None
    assert truth is not None
    assert len(truth.users) == 7 < len(split.test_users)
    system = train_system("uir-item", {}, training_task(study, "uir-item", split))
    place = {kind: trained.files_of(kind)["uir-item"] for kind in trained.names_by_part}
    expected = recommended_lists(system).items
    run = read_run(place[RUN]).to_run(collection.trec_topics, collection.trec_items, depth=4)
    np.testing.assert_array_equal(run.items, expected)
    np.testing.assert_array_equal(trained.recommended.runs[1].items, expected)
    relevant = split.test.select(split.test.rating >= 4)
    ranks = read_evidence(place[RELEVANT_RANKS], FullRanks)
    np.testing.assert_array_equal(ranks.rank, relevant_ranks(system, relevant).rank)
    assert ranks.user.tolist() == relevant.user.tolist()
    marks = collection.qrels.relevant
    hidden = read_evidence(place[HIDDEN_RANKS], JudgedRanks)
    left_out = hidden_ranks(system, HiddenItems(split.test, marks, ("loo",)))
    np.testing.assert_array_equal(hidden.require("loo"), left_out.require("loo"))
    own = truly_judged_lists(system, UserCandidates(truth.users, truth.allowed_items(15)))
    np.testing.assert_array_equal(trained.truly_judged.runs[1].items, own.items)
    whole = read_evidence(place[CANDIDATE_RANKS], CandidateRanks)
    np.testing.assert_array_equal(whole.rank, all_candidate_ranks(system, whole.topic).rank)
    assert len(whole.topic) == 7


def test_lists_are_read_as_deep_as_they_are_kept(trained: SystemLists) -> None:
    assert trained.recommended.depth == 4
    assert trained.truly_judged.depth is None
    truth = trained.run.collection.true_judgements
    assert truth is not None
    assert trained.truly_judged.topics is truth.trec_topics


def test_progress_counts_the_systems(trained: SystemLists) -> None:
    progress: Any = trained.run.progress
    assert progress.begun == [("Training and ranking", 2)]
    assert sorted(done.partition(",")[0] for done in progress.done) == ["random", "uir-item"]
    assert all(0 <= float(done.split()[1]) < 100 for done in progress.done)


def test_parts_are_asked_for_by_system(trained: SystemLists) -> None:
    kinds = (RUN, RELEVANT_RANKS, HIDDEN_RANKS, TRUE_RUN, CANDIDATE_RANKS)
    expected = [kind.part_name(system) for system in ("random", "uir-item") for kind in kinds]
    assert trained.run.parts.names == expected


def test_only_what_is_missing_is_made_again(
    trained: SystemLists, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(true_judgements, "MAX_PAIRS", 7 * 15)
    before = {path: path.stat().st_mtime_ns for path in trained.run.folder.rglob("*.*")}
    missing = trained.files_of(RELEVANT_RANKS)["random"]
    content = missing.read_bytes()
    missing.unlink()
    base = trained.run.folder.parent
    again = lists_of(EVERYTHING, base, metrics=HIDING, progress=Recorded())
    again.keep()
    progress: Any = again.run.progress
    assert progress.begun == [("Training and ranking", 1)]
    assert missing.read_bytes() == content
    changed = {path for path, moment in before.items() if path.stat().st_mtime_ns != moment}
    assert {path.name for path in changed if path.is_file()} == {"random.npz", "ranks-random.json"}


def test_nothing_is_trained_where_nothing_is_missing(
    trained: SystemLists, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(true_judgements, "MAX_PAIRS", 7 * 15)
    base = trained.run.folder.parent
    again = lists_of(EVERYTHING, base, metrics=HIDING, progress=Recorded())
    again.keep()
    progress: Any = again.run.progress
    assert progress.begun == []


def test_workers_are_as_many_as_fit_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def within(available: int, bytes_needed: list[int], *, n_jobs: int) -> int:
        asked.append((bytes_needed, n_jobs))
        return 1

    monkeypatch.setattr(system_lists, "workers_within", within)
    lists = lists_of(RATINGS + SYSTEMS + NONE, tmp_path, n_jobs=5)
    lists.keep()
    split = lists.run.collection.split
    assert split is not None
    needed = require_memory("uir-item", {}, split.train)
    assert needed > 0
    assert asked == [([PROCESS_BYTES, PROCESS_BYTES + needed], 2)]


def test_what_a_system_learns_from_is_that_of_the_study(tmp_path: Path) -> None:
    options = SYSTEMS + "candidates = 'test'\n[systems.positives]\nuir-item = 3\n" + NONE
    lists = lists_of(RATINGS.replace("threshold", "shift = 2.0\nthreshold") + options, tmp_path)
    split = lists.run.collection.split
    assert split is not None
    task = training_task(lists.run.study, "uir-item", split)
    assert task.ratings is split.train
    assert task.users.tolist() == split.test_users.tolist()
    assert (task.seed, task.depth, task.shift) == (3, 4, 2.0)
    assert task.candidates is not None
    assert task.candidates.tolist() == (split.test.item_counts() > 0).tolist()
    assert task.positives == 3
    assert training_task(lists.run.study, "random", split).positives is None


def test_a_system_is_made_by_its_function_or_by_the_file_of_the_user() -> None:
    assert maker_of_system("random") is find_system("random").make
    assert maker_of_system("/here/mine.py:A") == Path("/here/mine.py")


# Ratings below 0


def centred(folder: Path, ratings: str, *, shift: float = -4.0) -> Study:
    """Make a study of four users who rate from -10 to 10, or higher."""
    rows = [f"{u},{i},{3 * u - 2 * i + shift}" for u in range(4) for i in range(5) if u != i]
    (folder / "ratings.csv").write_text("\n".join(["user,item,rating", *rows]))
    begin = 'name = "x"\n[ratings]\npath = "ratings.csv"\n'
    systems = '[systems]\nnames = ["als-knn", "chi2", "random"]\n'
    text = f"{begin}threshold = 0\n{ratings}{systems}{METRICS}"
    changes = {"output": folder / "study"}
    return Study.parse(text, source="x.toml", base=folder, changes=changes)


def test_ratings_below_zero_are_told_for_all_systems_before_training(tmp_path: Path) -> None:
    """The lowest of the ratings is -12; with a shift of 2 still, that is what is to be added."""
    for shift in ("", "shift = 2\n", "shift = 11.5\n"):
        with pytest.raises(InputError, match=r"^als-knn, chi2 cannot learn .* set `shift = 12` in"):
            run_study(centred(tmp_path, shift))
    with pytest.raises(InputError, match=r"the lowest is -11\.5: set `shift = 12` in"):
        run_study(centred(tmp_path, "", shift=-3.5))


def test_ratings_that_a_shift_lowers_to_zero_are_not_below_it(tmp_path: Path) -> None:
    """The lowest of the ratings is 1."""
    for shift, fits in (("shift = -1\n", True), ("shift = -2\n", False)):
        centred(tmp_path, "", shift=9.0)
        text = 'name = "x"\n[ratings]\npath = "ratings.csv"\nthreshold = 0\n' + shift
        systems = '[systems]\nnames = ["chi2", "random"]\ndepth = 3\n'
        lists = lists_of(text + systems + NONE, tmp_path)
        if fits:
            lists.keep()
            assert lists.files_of(RUN)["chi2"].exists()
        else:
            with pytest.raises(InputError, match=r"the lowest is 1: set `shift = -1` in"):
                lists.keep()


def test_ratings_below_zero_that_are_not_learnt_do_not_matter(tmp_path: Path) -> None:
    study = centred(tmp_path, "")
    positives = {"als-knn": 0.0}
    systems = study.systems.model_copy(update={"positives": positives})
    with pytest.raises(InputError, match=r"^chi2 cannot learn"):
        run_study(study.model_copy(update={"systems": systems}))


@pytest.mark.parametrize("shift", ["shift = 12\n", "shift = 12.5\n"])
def test_systems_learn_from_ratings_below_zero_with_a_shift(tmp_path: Path, shift: str) -> None:
    text = 'name = "x"\n[ratings]\npath = "ratings.csv"\nthreshold = 0\n' + shift
    centred(tmp_path, "")
    lists = lists_of(text + '[systems]\nnames = ["chi2", "random"]\ndepth = 3\n' + NONE, tmp_path)
    assert lists.run.collection.threshold == 0
    assert lists.run.collection.split is not None
    assert lists.run.collection.split.train.rating.min() < 0
    lists.keep()
    assert lists.files_of(RUN)["chi2"].exists()
