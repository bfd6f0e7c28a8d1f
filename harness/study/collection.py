"""The test collection of a study (topics, items, judgements), and the files that keep it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from math import inf
from typing import Any

import numpy as np

from analyses.shared.sentences import TOPIC, USER
from analyses.shared.work import CountedIn
from harness.readers.judgements import judgements_in, judgements_of
from harness.readers.sense_check import check_grades, check_runs
from harness.study.inputs import (
    checksum,
    judge_test,
    load_ratings,
    order_runs,
    order_runs_beside_trained,
    read_runs,
    relevance_threshold,
    split_ratings,
)
from harness.study.sections import TruthSection
from harness.study.study import QrelsSection, RatingsSection, Study, run_paths
from harness.study.true_judgements import (
    StudyIds,
    TrueJudgements,
    judgements_of_file,
    judgements_of_world,
    read_truth,
)
from qrels import Qrels, Ratings, Scale, Split, describe, k_core, rating_scale, split_counts
from qrels.qrels import judgement_facts, no_relevant_sentence
from qrels.ratings.splitter import leakage
from qrels.ratings.world import Observation, Truth, World
from qrels.trec import QrelsFile, format_qrels
from runs import InputError, InputWarning, Numbering, Run
from runs.run_file import RunFile, common_items
from runs.shared.arrays import Numbers
from runs.shared.errors import warn
from runs.shared.ids import trec_ids


@dataclass(frozen=True, eq=False)
class Collection:
    """What systems are judged on.

    Parameters
    ----------
    topics, items
        The users in the qrels, and every item that may be ranked.
    qrels
        Judgements of the topics.
    inputs
        Path and sha256 of every file read, or the settings of the world.
    facts
        Counts for the manifest and the report.
    split
        Training and test ratings, where the study begins with ratings.
    runs
        The runs that were made elsewhere.
    systems_of_runs
        By run, the name of its system, where several may be of one; empty otherwise.
    truth
        The true ratings, where the study begins with a world.
    true_judgements
        What the systems are truly judged by, if that is known.
    true_runs
        The runs that were made elsewhere, ranked for the users of the truth, where lists other
        than those of the study are judged truly.
    observation
        What decides which ratings are observed, where the study begins with a world.
    threshold
        Lowest rating that is relevant, where the study begins with ratings.
    is_implicit
        Whether every rating is relevant.
    training_counts
        Number of training ratings of every item, of shape (n_items,), where they are known without
        a split.
    """

    topics: Numbering
    items: Numbering
    qrels: Qrels
    inputs: tuple[dict[str, Any], ...]
    facts: dict[str, Any]
    split: Split | None = None
    runs: tuple[Run, ...] = ()
    systems_of_runs: tuple[str, ...] = ()
    truth: Truth | None = None
    true_judgements: TrueJudgements | None = None
    true_runs: tuple[Run, ...] = ()
    observation: Observation | None = None
    threshold: float | None = None
    is_implicit: bool = False
    training_counts: Numbers | None = None

    @property
    def unit(self) -> str:
        """What scores are of: a topic where runs are given, else a user."""
        return TOPIC if self.split is None else USER

    @cached_property
    def trec_topics(self) -> Numbering:
        """Topics as TREC files write them: by their ids, or by numbers where ids do not fit.

        Test users have the numbers that they have among all users of the training ratings.
        """
        if self.split is None:
            return trec_ids(self.topics)
        users = trec_ids(self.split.train.users)
        has_fit_ids = users is self.split.train.users
        return self.topics if has_fit_ids else users.select(self.split.test_users)

    @cached_property
    def trec_items(self) -> Numbering:
        """Items as TREC files write them: by their ids, or by numbers where ids do not fit."""
        return trec_ids(self.items)

    @property
    def replaces_ids(self) -> bool:
        """Whether TREC files have numbers in the place of ids of topics or items."""
        return self.trec_topics is not self.topics or self.trec_items is not self.items

    def relevant_ratings(self) -> Ratings | None:
        """Select the test ratings of relevant items; None where the study begins with runs."""
        if self.split is None or self.threshold is None:
            return None
        test = self.split.test
        return test.select(test.rating >= self.threshold)

    def popularity_counts(self) -> dict[CountedIn, Numbers]:
        """Count the ratings of every item in "train", in "test", and in both ("all").

        Those of "test" are the judgements, of any grade. If training counts are not known, the
        result has "test" alone. The catalogue is every item with a count above 0.

        Returns
        -------
        Counts, each of shape (n_items,); -1 for items that are not in the catalogue.
        """
        test = np.bincount(self.qrels.items, minlength=len(self.items))
        train = self.training_counts if self.split is None else self.split.train.item_counts()
        if train is None:
            return {"test": np.where(test > 0, test, -1)}
        total = train + test
        in_catalogue = total > 0
        return {
            "train": np.where(in_catalogue, train, -1),
            "test": np.where(in_catalogue, test, -1),
            "all": np.where(in_catalogue, total, -1),
        }


def collect(study: Study) -> Collection:
    """Read or simulate what the study begins with, and judge it.

    A study begins with ratings (from files or a simulated world), or with runs and qrels. Raises
    InputError with file and line if the input breaks a rule.
    """
    if study.ratings is not None:
        return _collect_ratings(study, study.ratings)
    assert study.qrels is not None, "a study begins with one of both"
    return _collect_trec_files(study, study.qrels)


def _collect_ratings(study: Study, section: RatingsSection) -> Collection:
    """Load and split ratings, judge the test part, and read runs of other programs beside it.

    Adds true judgements if the study has a truth: of its simulated world, or of a file. ``section``
    is [ratings] of the study.

    Raises InputError if input breaks a rule, no test rating is relevant, or a system learns only
    from ratings higher than all training ratings. Warns where a split given as files tests users or
    items without training ratings.
    """
    # Errors in files name the file.
    is_world = section.format == "world" and section.like is None
    with study.errors_at("ratings") if is_world else nullcontext():
        ratings, inputs, world = load_ratings(section, study.split)
    core = k_core(ratings, user_min=section.user_min, item_min=section.item_min)
    split = split_ratings(core, study.split, seed=study.seed)
    with study.errors_at("ratings", "threshold"):
        threshold = relevance_threshold(section, ratings, test=split.test)
    with study.errors_at("ratings", "grades"):
        scale = rating_scale(ratings, threshold=threshold, rule=section.grades)
    is_implicit = bool(threshold <= ratings.rating.min())
    with study.errors_at("ratings", "threshold"):
        qrels = judge_test(split, scale)
    if study.split.find_parts() is not None:
        _warn_of_unknown(split, threshold=threshold)
    _require_positive_ratings(study, split.train)
    facts = {
        "ratings": describe(core),
        "threshold": "none: everything is relevant" if is_implicit else threshold,
        "grades": scale.rule,
        "split": split_counts(core, split) | leakage(split),
        **judgement_facts(qrels),
    }
    paths = run_paths(study)
    checksums = [checksum(path) for path in (*study.split.files, *paths)]
    collection = Collection(
        topics=split.topics,
        items=core.items,
        qrels=qrels,
        inputs=(*inputs, *checksums),
        facts=facts,
        split=split,
        truth=None if world is None else world.truth,
        observation=None if world is None else world.observation,
        threshold=threshold,
        is_implicit=is_implicit,
    )
    run_files, systems = read_runs(paths, study)
    runs = order_runs_beside_trained(
        run_files,
        study,
        split,
        systems,
        trec_topics=collection.trec_topics,
        trec_items=collection.trec_items,
    )
    collection = replace(collection, runs=runs, systems_of_runs=systems)
    if study.truth is None:
        return collection
    with study.errors_at("truth"):
        if world is None:
            truth_file = read_truth(study.truth, threshold=threshold, rule=section.grades)
            ids = StudyIds(split.train.users, core.items, split.topics, split.train)
            true_judgements = judgements_of_file(
                truth_file, ids, candidates=study.truth.judged_lists
            )
        else:
            true_judgements = _judge_by_world(world, ratings, study, study.truth, split, scale)
    return _with_truth(collection, true_judgements, run_files)


def _require_positive_ratings(study: Study, train: Ratings) -> None:
    """Refuse a system that learns only from ratings higher than all training ratings.

    That is if its ``positives``, the lowest rating that it learns from (None: it learns from all),
    is above the highest rating of ``train``. Raises InputError with the line of the key in the
    study file.
    """
    highest = train.rating.max(initial=-np.inf)
    for label, name in study.systems.labels.items():
        positives = study.systems.positives_of(name)
        if positives is not None and not positives <= highest:
            with study.errors_at("systems", "positives"):
                raise InputError(f"no training rating reaches {positives:g}: {label} cannot learn.")


def _judge_by_world(
    world: World, ratings: Ratings, study: Study, section: TruthSection, split: Split, scale: Scale
) -> TrueJudgements:
    """Derive the true judgements of the test users from the simulated world.

    True ratings are graded as the test ratings are, by the scale. If the section [truth] has a
    threshold (lowest relevant rating) of its own, a scale of all ratings with that threshold grades
    them. Raises InputError if no true rating is relevant.
    """
    if section.threshold is not None:
        scale = rating_scale(ratings, threshold=section.threshold)
    return judgements_of_world(
        world.truth, split, scale, candidates=section.judged_lists, seed=study.seed
    )


def _with_truth(
    collection: Collection, true_judgements: TrueJudgements, run_files: Sequence[RunFile]
) -> Collection:
    """Add true judgements to a collection.

    Files and counts of the truth are added to inputs and facts. If lists other than those of the
    study are judged truly, the run files are ranked again, for the users of the truth, without
    items that the truth does not judge if only judged items count; else ``true_runs`` is empty.
    Run files have ids as TREC files write them where there is a split, else ids as they are.
    """
    runs: list[Run] = []
    if true_judgements.has_separate_lists:
        users = true_judgements.trec_topics
        items = collection.trec_items
        if collection.split is None:
            users = true_judgements.topics
            items = collection.items
        with warnings.catch_warnings():
            # Findings about runs were reported when their usual lists were read.
            warnings.simplefilter("ignore", InputWarning)
            for run_file in run_files:
                run = run_file.to_run(users, items)
                runs.append(true_judgements.restrict_lists(run))
    return replace(
        collection,
        true_judgements=true_judgements,
        true_runs=tuple(runs),
        inputs=(*collection.inputs, *true_judgements.inputs),
        facts=collection.facts | {"truth": true_judgements.facts},
    )


def _warn_of_unknown(split: Split, *, threshold: float) -> None:
    """Warn if users or items of a given test part have no training rating.

    The warning counts the relevant test ratings (of at least the threshold) of such items.
    """
    test = split.test
    is_test_user = test.user_counts() > 0
    is_test_item = test.item_counts() > 0
    is_new_user = is_test_user & (split.train.user_counts() == 0)
    is_new_item = is_test_item & (split.train.item_counts() == 0)
    if is_new_user.any() or is_new_item.any():
        relevant_items = test.item[test.rating >= threshold]
        n_relevant = np.count_nonzero(is_new_item[relevant_items])
        warn(
            f"The given test part has {is_new_user.sum():,} of {is_test_user.sum():,} users and "
            f"{is_new_item.sum():,} of {is_test_item.sum():,} items ({n_relevant:,} relevant "
            "ratings) without training ratings. Every number counts them, and systems never "
            "recommend such items."
        )


def _collect_trec_files(study: Study, section: QrelsSection) -> Collection:
    """Read qrels (a file, or a data set of ir_datasets) and runs, and true judgements if there are.

    Sections of the study say what is read: ``section`` is [qrels]. The lowest relevant grade is
    that of the section, else of the data set, else 1. Raises InputError if a file breaks a rule, no
    judgement is relevant, or runs or the truth are refused (`collect_lists`, `judgements_of_file`).
    """
    if section.path is None:
        source = str(section.ir_datasets)
        file, usual_level = judgements_in(source)
        # These judgements are in no file of their own.
        qrels = file.to_qrels(file.items, relevance_level=1)
        lines = format_qrels(qrels, file.users, file.items)
        qrels_facts = {"ir_datasets": source, "sha256": sha256(lines).hexdigest()}
    else:
        source = str(section.path)
        file = judgements_of(section.path, section)
        usual_level = 1
        qrels_facts = checksum(section.path)
    paths = run_paths(study)
    run_files, systems = read_runs(paths, study)
    with study.errors_at("truth"):
        truth_file = None if study.truth is None else read_truth(study.truth)
    truly_judged_items = [] if truth_file is None else truth_file.judged.items.ids.tolist()
    collection = collect_lists(
        run_files,
        file,
        relevance_level=section.relevance_level or usual_level,
        source=source,
        systems=systems,
        level_option="`relevance_level = {level}` in [qrels]",
        truly_judged_items=truly_judged_items,
    )
    checksums = [checksum(path) for path in paths]
    collection = replace(collection, inputs=(qrels_facts, *checksums))
    if study.truth is None or truth_file is None:
        return collection
    # Systems rank for the users of the runs, who need not be topics of the qrels.
    user_ids = np.concatenate([run_file.users.ids for run_file in run_files])
    ids = StudyIds(Numbering.of(user_ids), collection.items, collection.topics)
    with study.errors_at("truth"):
        true_judgements = judgements_of_file(truth_file, ids, candidates=study.truth.judged_lists)
    return _with_truth(collection, true_judgements, run_files)


def collect_lists(
    run_files: Sequence[RunFile],
    file: QrelsFile,
    *,
    relevance_level: int,
    source: str,
    systems: tuple[str, ...] = (),
    popularity: Mapping[str, int] | None = None,
    truly_judged_items: Sequence[str] = (),
    min_systems: int = 2,
    depth: float = inf,
    level_option: str = "`relevance_level={level}`",
) -> Collection:
    """Judge runs by qrels, wherever both were read.

    Items are those of the runs, of the qrels, of ``popularity`` and of ``truly_judged_items``.
    Warns of what is suspicious in runs and grades, such as grades that are all relevant.

    Parameters
    ----------
    run_files, file
        Runs and qrels, each over a numbering of its own.
    relevance_level
        Lowest relevant grade.
    source
        Name of the qrels, for errors.
    systems
        Name of the system of each run; empty if each run is of a system of its own.
    popularity
        Number of training ratings by item id; other items count 0.
    truly_judged_items
        Ids of items that true judgements judge.
    min_systems
        Smallest number of systems.
    depth
        Rank at which lists are cut; infinite for whole lists.
    level_option
        How a person sets the relevance level, with ``{level}`` in the place of its value.

    Returns
    -------
    Collection
        Topics, items, qrels and runs; ``inputs`` is empty, and nothing is known of a split.

    Raises
    ------
    InputError
        If no judgement is relevant, there are fewer systems than ``min_systems``, or `order_runs`
        refuses a run.
    """
    items = common_items(run_files, file.items, [*(popularity or ()), *truly_judged_items])
    qrels = file.to_qrels(items, relevance_level=relevance_level)
    if not qrels.relevant.any():
        raise InputError(f"{source}: {no_relevant_sentence(qrels)}")
    training_counts = None
    if popularity is not None:
        training_counts = np.zeros(len(items), dtype=np.intp)
        training_counts[items.numbers(popularity)] = list(popularity.values())
    runs = order_runs(run_files, file.users, items, systems, min_systems=min_systems, depth=depth)
    check_runs(run_files, file, source=source)
    check_grades(qrels, remedy=level_option)
    return Collection(
        topics=file.users,
        items=items,
        qrels=qrels,
        inputs=(),
        facts=judgement_facts(qrels, "topics"),
        runs=runs,
        systems_of_runs=systems,
        training_counts=training_counts,
    )
