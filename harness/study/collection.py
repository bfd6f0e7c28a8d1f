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
from harness.readers.rankings import judgements_in, judgements_of
from harness.study.inputs import (
    beside_trained,
    checksum,
    judge_test,
    lists_of,
    load_ratings,
    read_runs,
    split_ratings,
    threshold_of,
)
from harness.study.study import QrelsSection, RatingsSection, Study, run_paths
from harness.study.true_judgements import Ranked, TrueJudgements, of_file, of_world, read_truth
from qrels import Qrels, Ratings, Split, describe, k_core, rating_scale, split_counts
from qrels.qrels import judgement_facts, no_relevant_sentence
from qrels.ratings.splitter import leakage
from qrels.ratings.world import Observation, Truth
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
    replicated
        By run, the name of its system, where several may be of one; empty otherwise.
    truth
        The true ratings, where the study begins with a world.
    judged_truly
        What the systems are truly judged by, if that is known.
    true_lists
        Lists of the runs that were made elsewhere for the users of the truth, where these are
        others than the study judges.
    observation
        What decides which ratings are observed, where the study begins with a world.
    threshold
        Lowest rating that is relevant, where the study begins with ratings.
    is_implicit
        Whether every rating is relevant.
    trained
        Training ratings of every item, of shape (n_items,), where they are known without a split.
    """

    topics: Numbering
    items: Numbering
    qrels: Qrels
    inputs: tuple[dict[str, Any], ...]
    facts: dict[str, Any]
    split: Split | None = None
    runs: tuple[Run, ...] = ()
    replicated: tuple[str, ...] = ()
    truth: Truth | None = None
    judged_truly: TrueJudgements | None = None
    true_lists: tuple[Run, ...] = ()
    observation: Observation | None = None
    threshold: float | None = None
    is_implicit: bool = False
    trained: Numbers | None = None

    @property
    def unit(self) -> str:
        """What scores are of: a topic where runs are given, else a user."""
        return TOPIC if self.split is None else USER

    @cached_property
    def trec_ids(self) -> tuple[Numbering, Numbering]:
        """Topics and items as TREC files carry them: by their ids, or by numbers in their place."""
        if self.split is None:
            return trec_ids(self.topics), trec_ids(self.items)
        users = trec_ids(self.split.train.users)
        is_named = users is self.split.train.users
        topics = self.topics if is_named else users.select(self.split.test_users)
        return topics, trec_ids(self.items)

    @property
    def names(self) -> tuple[tuple[Numbering, Numbering], tuple[Numbering, Numbering]]:
        """Topics and items: how TREC files carry them, and their ids."""
        topics, items = self.trec_ids
        return (topics, self.topics), (items, self.items)

    def relevant_ratings(self) -> Ratings | None:
        """Give the test ratings of relevant items, where the study begins with ratings."""
        if self.split is None or self.threshold is None:
            return None
        test = self.split.test
        return test.select(test.rating >= self.threshold)

    def popularity_counts(self) -> dict[CountedIn, Numbers]:
        """Count the ratings of every item of the catalogue in training, in test, in both.

        The catalogue is every item with a rating; without ratings, every judged item.
        Other items count -1.
        """
        test = np.bincount(self.qrels.items, minlength=len(self.items))
        train = self.trained if self.split is None else self.split.train.item_counts()
        if train is None:
            return {"test": np.where(test > 0, test, -1)}
        counts: dict[CountedIn, Numbers]
        counts = {"train": train, "test": test, "all": train + test}
        return {name: np.where(train + test > 0, counts[name], -1) for name in counts}


def collect(study: Study) -> Collection:
    """Read or make what the study begins with, and judge it."""
    if study.ratings is not None:
        return _from_ratings(study, study.ratings)
    assert study.qrels is not None, "a study begins with one of both"
    return _from_trec_files(study, study.qrels)


def _from_ratings(study: Study, section: RatingsSection) -> Collection:
    # Errors in files name the file.
    is_world = section.format == "world" and section.like is None
    with study.errors_at("ratings") if is_world else nullcontext():
        ratings, inputs, world = load_ratings(section, study.split)
    truth = None if world is None else world.truth
    core = k_core(ratings, user_min=section.user_min, item_min=section.item_min)
    split = split_ratings(core, study.split, seed=study.seed)
    with study.errors_at("ratings", "threshold"):
        threshold = threshold_of(section, ratings, tested=split.test)
    with study.errors_at("ratings", "grades"):
        scale = rating_scale(ratings, threshold=threshold, rule=section.grades)
    is_implicit = bool(threshold <= ratings.rating.min())
    with study.errors_at("ratings", "threshold"):
        qrels = judge_test(split, scale)
    if study.split.parts is not None:
        _warn_of_unknown(split, threshold=threshold)
    highest = split.train.rating.max(initial=-np.inf)
    for label, name in study.systems.labels.items():
        positives = study.systems.positives_of(name)
        if positives is not None and not positives <= highest:
            with study.errors_at("systems", "positives"):
                raise InputError(f"no training rating reaches {positives:g}: {label} cannot learn.")
    facts = {
        "ratings": describe(core),
        "threshold": "none: everything is relevant" if is_implicit else threshold,
        "grades": scale.rule,
        "split": split_counts(core, split) | leakage(split),
    }
    paths = run_paths(study)
    collection = Collection(
        topics=split.topics,
        items=core.items,
        qrels=qrels,
        inputs=(*inputs, *map(checksum, [*study.split.files, *paths])),
        facts=facts | judgement_facts(qrels),
        split=split,
        truth=truth,
        observation=None if world is None else world.observation,
        threshold=threshold,
        is_implicit=is_implicit,
    )
    run_files, replicated = read_runs(paths, study)
    runs = beside_trained(run_files, study, split, collection.trec_ids, replicated)
    collection = replace(collection, runs=runs, replicated=replicated)
    if study.truth is None:
        return collection
    with study.errors_at("truth"):
        if truth is None:
            file = read_truth(study.truth, threshold=threshold, rule=section.grades)
            ranked = Ranked(split.train.users, core.items, split.topics, split.train)
            known = of_file(file, ranked, candidates=study.truth.judged_lists)
        else:
            own = study.truth.threshold
            scale = scale if own is None else rating_scale(ratings, threshold=own)
            lists = study.truth.judged_lists
            known = of_world(truth, split, scale, candidates=lists, seed=study.seed)
    return _with_truth(collection, known, run_files)


def _with_truth(collection: Collection, known: TrueJudgements, files: list[RunFile]) -> Collection:
    """Judge truly, too; lists that were made elsewhere are read anew where others are judged."""
    runs: tuple[Run, ...] = ()
    if known.has_own_lists:
        named = known.trec_ids, collection.trec_ids[1]
        if collection.split is None:
            named = known.topics, collection.items
        with warnings.catch_warnings():
            # What is odd about runs was said when their usual lists were read.
            warnings.simplefilter("ignore", InputWarning)
            runs = tuple(known.of_given(f.to_run(*named)) for f in files)
    inputs = (*collection.inputs, *known.inputs)
    facts = collection.facts | {"truth": known.facts}
    return replace(collection, judged_truly=known, true_lists=runs, inputs=inputs, facts=facts)


def _warn_of_unknown(split: Split, *, threshold: float) -> None:
    """Warn of users and items of a given test part that have no training rating."""
    test = split.test
    users, items = test.user_counts() > 0, test.item_counts() > 0
    n_users = np.count_nonzero(users & (split.train.user_counts() == 0))
    new_items = items & (split.train.item_counts() == 0)
    if n_users or new_items.any():
        n_relevant = np.count_nonzero(new_items[test.item[test.rating >= threshold]])
        warn(
            f"the given test part has {n_users:,} of {users.sum():,} users and {new_items.sum():,} "
            f"of {items.sum():,} items ({n_relevant:,} relevant ratings) without training ratings. "
            "Every number counts them, and systems never recommend such items."
        )


def _from_trec_files(study: Study, section: QrelsSection) -> Collection:
    if section.path is None:
        source = str(section.ir_datasets)
        file, level = judgements_in(source)
        # These judgements are in no file of their own.
        lines = format_qrels(file.to_qrels(file.items, relevance_level=1), file.users, file.items)
        facts = {"ir_datasets": source, "sha256": sha256(lines).hexdigest()}
    else:
        file, level, source = judgements_of(section.path, section.columns), 1, str(section.path)
        facts = checksum(section.path)
    paths = run_paths(study)
    run_files, systems = read_runs(paths, study)
    with study.errors_at("truth"):
        truth = None if study.truth is None else read_truth(study.truth)
    level = section.relevance_level or level
    others = () if truth is None else truth.judged.items.ids.tolist()
    collection = collect_lists(
        run_files, file, relevance_level=level, source=source, systems=systems, others=others
    )
    collection = replace(collection, inputs=(facts, *map(checksum, paths)))
    if study.truth is None or truth is None:
        return collection
    users = Numbering.of(np.concatenate([run_file.users.ids for run_file in run_files]))
    ranked = Ranked(users, collection.items, collection.topics)
    with study.errors_at("truth"):
        known = of_file(truth, ranked, candidates=study.truth.judged_lists)
    return _with_truth(collection, known, run_files)


def collect_lists(
    run_files: Sequence[RunFile],
    file: QrelsFile,
    *,
    relevance_level: int,
    source: str,
    systems: tuple[str, ...] = (),
    popularity: Mapping[str, int] | None = None,
    others: Sequence[str] = (),
    least: int = 2,
    depth: float = inf,
) -> Collection:
    """Judge runs by qrels, wherever they were read; at least two systems, or what is said.

    Lists are cut at the depth.
    """
    items = common_items(run_files, file.items, [*(popularity or ()), *others])
    qrels = file.to_qrels(items, relevance_level=relevance_level)
    if not qrels.relevant.any():
        raise InputError(f"{source}: {no_relevant_sentence(qrels)}")
    trained = None if popularity is None else np.zeros(len(items), dtype=np.intp)
    if trained is not None and popularity is not None:
        trained[items.numbers(popularity)] = [*popularity.values()]
    runs = lists_of(run_files, file.users, items, systems, least=least, depth=depth)
    return Collection(
        topics=file.users,
        items=items,
        qrels=qrels,
        inputs=(),
        facts=judgement_facts(qrels, "topics"),
        runs=runs,
        replicated=systems,
        trained=trained,
    )
