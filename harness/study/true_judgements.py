"""True judgements, of a world or of a file, over the users and items of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np

from analyses.shared.measure import Measures
from analyses.shared.sentences import listed
from harness.readers.judgements import judgements_of
from harness.report.checks import OF_WORLD
from harness.study.inputs import checksum, source_checksum
from harness.study.sections import QRELS, Candidates, TruthSection
from qrels import Qrels, Ratings, Scale, Split, qrels_from_columns, rating_scale
from qrels.grades import GradeRule
from qrels.qrels import judgement_facts
from qrels.ratings import world
from qrels.ratings.datasets import FORMATS, read_ratings
from qrels.ratings.statistics import describe_values, usual_threshold
from qrels.trec import QrelsFile
from runs import InputError, Numbering, Run
from runs.shared.arrays import Ints, Longs, Sparse
from runs.shared.errors import require_choice, warn
from runs.shared.fields import place_in_group
from runs.shared.ids import trec_ids
from runs.shared.streams import random_uniforms
from runs.tables.source import open_source

MAX_PAIRS = 30_000_000
"""Pairs of user and item of a world that are judged; users are drawn where there are more."""

USERS_AT_ONCE = 256
"""Number of users whose true ratings are held in memory at a time."""

MIN_SCORED_SHARE = 0.95
"""Share of the truly judged items that a system scores without a caution."""

LISTS = {"judged": "of items with a true judgement", "all": "of all items, as for the study"}
"""Which lists are judged, as the manifest describes it, by candidates."""

UNUSED_JUDGEMENTS = (
    "judgements left out: of users or items that the study does not know, or of training"
)
UNJUDGED_USERS = "test users without a true judgement"


@dataclass(frozen=True, eq=False)
class TrueJudgements:
    """What the systems are truly judged by, and which of their lists are.

    Parameters
    ----------
    trec_topics, topics
        The users of the truth: as TREC files write them, and by their ids.
    qrels
        Their judgements, over the items of the study; none of what they rated in training.
    origin
        Where the truth is from, a clause: "of the simulated world".
    candidates
        Whether lists of the judged items alone are judged, or the usual ones.
    facts
        Counts for the manifest and the report.
    users
        Numbers of the users among those whom systems rank for.
    rows
        Number of each among the topics of the study; -1 for those that are none.
    inputs
        Path and sha256 of what was read.
    """

    trec_topics: Numbering
    topics: Numbering
    qrels: Qrels
    origin: str
    candidates: Candidates
    facts: dict[str, Any]
    users: Ints
    rows: Ints
    inputs: tuple[dict[str, Any], ...] = ()

    @property
    def has_separate_lists(self) -> bool:
        """Whether other lists than those of the study are judged."""
        return self.candidates == "judged" or bool((self.rows < 0).any())

    def judged_items(self) -> Qrels:
        """Select the judgements but those of a negative grade, which count as unjudged."""
        return self.qrels.keep(self.qrels.grades >= 0)

    def select_users(self, run: Run) -> Run:
        """Select the lists of the users of the truth from a run over the topics of the study."""
        return Run(run.system, run.items[self.rows])

    def allowed_items(self, n_items: int) -> Sparse | None:
        """Mark the items that a user's list may hold, of shape (n_users, n_items).

        These are the judged items of the user. None if lists are of all items.
        """
        from scipy.sparse import csr_array

        if self.candidates == "all":
            return None
        judged = self.judged_items()
        marks = np.ones(len(judged.items), dtype=np.bool_)
        return csr_array((marks, judged.items, judged.offsets), shape=(judged.n_users, n_items))

    def with_unranked_items(self, run: Run, depth: int, *, seed: int) -> Run:
        """Append the judged items that a system does not rank to its lists, down to a depth.

        They are in a random order, which is the same for all systems. Items of negative grade count
        as unjudged.

        Parameters
        ----------
        run
            Lists of the users of the truth, item numbers of shape (n_users, run depth), -1 at the
            end of shorter lists; not deeper than ``depth``.
        depth
            Length of the lists that are returned.
        seed
            Random seed of the order.

        Returns
        -------
        Lists of shape (n_users, depth), with -1 at the end of those that are shorter.

        Raises
        ------
        ValueError
            If the lists are not of as many users as the truth has.
        """
        self._require_own_users(run)
        judged = self.judged_items()
        highest_item = max(int(judged.items.max(initial=0)), int(run.items.max(initial=0)))
        n_items = 1 + highest_item
        users = np.repeat(np.arange(judged.n_users), np.diff(judged.offsets))
        uniforms = random_uniforms(np.arange(len(users)), seed, "unscored")
        shuffled = np.argsort(uniforms)
        users = users[shuffled]
        items = judged.items[shuffled]

        is_filled = run.items >= 0
        ranked_users, ranked_columns = np.nonzero(is_filled)
        ranked_pairs = ranked_users * n_items + run.items[ranked_users, ranked_columns]
        is_unranked = ~np.isin(users.astype(np.int64) * n_items + items, ranked_pairs)
        users = users[is_unranked]
        items = items[is_unranked]

        by_user = np.argsort(users, kind="stable")
        users = users[by_user]
        items = items[by_user]
        # The first judged item of a user goes behind the last ranked one: places count from 1.
        columns = is_filled.sum(axis=1)[users] + place_in_group(users) - 1
        fits = columns < depth
        lists = np.full((len(run.items), depth), -1, dtype=run.items.dtype)
        lists[:, : run.items.shape[1]] = run.items
        lists[users[fits], columns[fits]] = items[fits]
        return replace(run, items=lists)

    def notes(self, lists: Sequence[Run], reported: Measures, *, trained: bool) -> Iterator[str]:
        """Word what scores on lists of judged items alone cannot show, a sentence each.

        The first sentence is always yielded. Others name systems that score less than 95 % of the
        truly judged items, and measures whose depth is at least the median number of truly judged
        items of a user.

        Parameters
        ----------
        lists
            The lists of every system, of shape (n_users, depth).
        reported
            The measures that are compared.
        trained
            Whether the systems are trained here; then shares of scored items are reported.
        """
        yield (
            "The truth is scored on condensed lists, which favours bpref and other measures of "
            "condensed lists."
        )
        n_judged = np.diff(self.judged_items().offsets)
        deepest = max(run.items.shape[1] for run in lists)
        # A list holds judged items alone: no more than there are, nor than its depth.
        n_rankable = np.minimum(n_judged, deepest).sum()
        incomplete = []
        for run in lists:
            share = float((run.items >= 0).sum() / n_rankable)
            if share < MIN_SCORED_SHARE:
                percentage = f"{share:.0%}".replace("%", " %")
                incomplete.append(f"{run.system} ({percentage})")
        if incomplete and trained:
            yield (
                f"Some systems do not score all truly judged items: {listed(incomplete)}. The "
                "items that they leave out are ranked last, in a random order that all systems "
                "share."
            )
        median = int(np.median(n_judged))
        deep = [str(measure) for measure in reported if (measure.cutoff or 0) >= median]
        if deep:
            yield (
                f"Half of the users have at most {median} truly judged items, so that measures at "
                f"this depth or deeper hardly depend on the ranking: {listed(deep)}. Report them "
                "at a smaller depth ([metrics] report)."
            )

    def restrict_lists(self, run: Run) -> Run:
        """Remove unjudged items from lists of the users of the truth, if only judged ones count.

        Lists of item numbers keep their shape, (n_users, depth): items move up, and -1 fills the
        end. Items of negative grade are unjudged. If all items count, the run is returned as it is.
        Raises ValueError if the lists are not of as many users as the truth has.
        """
        self._require_own_users(run)
        if self.candidates == "all":
            return run
        lists = np.full_like(run.items, -1)
        judged = self.judged_items()
        for user, ranked_items in enumerate(run.items):
            start = judged.offsets[user]
            stop = judged.offsets[user + 1]
            judged_items = judged.items[start:stop]
            remaining = ranked_items[np.isin(ranked_items, judged_items)]
            lists[user, : len(remaining)] = remaining
        return Run(run.system, lists)

    def _require_own_users(self, run: Run) -> None:
        """Refuse lists of another number of users, such as those of the topics of the study."""
        n_lists = len(run.items)
        if n_lists != self.qrels.n_users:
            raise ValueError(
                f"run {run.system!r} must have a list for each of the {self.qrels.n_users} users "
                f"of the truth, got {n_lists}."
            )


class StudyIds(NamedTuple):
    """Users whom systems rank for, the items they rank, and the topics of the study.

    ``train`` is what the users rated in training, over the same numbering, where that is known.
    """

    users: Numbering
    items: Numbering
    topics: Numbering
    train: Ratings | None = None


def judgements_of_world(
    truth: world.Truth, split: Split, scale: Scale, *, candidates: Candidates, seed: int
) -> TrueJudgements:
    """Judge every item that a user did not rate in training by its true rating.

    All test users are judged, or a random sample of them if there are more than `MAX_PAIRS` (30
    million) pairs of user and item. True ratings are computed for `USERS_AT_ONCE` users at a time.

    Parameters
    ----------
    truth
        The true ratings of all users and items of the world.
    split
        Training and test ratings; a user and an item of it are found in the world by id.
    scale
        Grades the true ratings, each as the nearest rating on its side of the threshold.
    candidates
        What is kept with the result: whether lists will be judged by their judged items alone
        ("judged"), or as they are ("all").
    seed
        Random seed of the sample.

    Raises
    ------
    InputError
        If no true rating is relevant.
    """
    n_items = len(split.train.items)
    users = split.test_users[sample_user_indices(split.test_users, n_items, seed)]
    world_users = truth.users.numbers(split.train.users.ids[users])
    world_items = truth.items.numbers(split.train.items.ids)
    rated = split.train.matrix()
    n_unrated = n_items - split.train.user_counts()[users]
    offsets = np.append(0, np.cumsum(n_unrated)).astype(np.int64)
    n_judgements = offsets[-1]
    items = np.empty(n_judgements, dtype=np.int32)
    grades = np.empty(n_judgements, dtype=np.int32)
    for start in range(0, len(users), USERS_AT_ONCE):
        stop = min(start + USERS_AT_ONCE, len(users))
        is_unrated = np.ones((stop - start, n_items), dtype=np.bool_)
        # By stored places: a rating of 0 is a rating.
        rated_of_users = rated[users[start:stop]].tocoo()
        is_unrated[rated_of_users.row, rated_of_users.col] = False
        judgements = slice(offsets[start], offsets[stop])
        items[judgements] = np.nonzero(is_unrated)[1]
        true_ratings = truth.ratings(world_users[start:stop])[:, world_items][is_unrated]
        grades[judgements] = scale.nearest_grades(true_ratings)
    qrels = Qrels(offsets, items, grades, scale.level)
    if not qrels.relevant.any():
        raise InputError(
            f"no true rating of the simulated world reaches the threshold {scale.threshold:g}: the "
            f"highest grade is {grades.max(initial=0)}, and {scale.level} is relevant. True "
            "ratings are expectations, inside the scale: use a lower `threshold` in [truth]."
        )
    facts = {
        "threshold": scale.threshold,
        "grades": f"{scale.rule}, true ratings rounded to the scale",
        UNJUDGED_USERS: len(split.test_users) - len(users),
    }
    ids = StudyIds(split.train.users, split.train.items, split.topics, split.train)
    return _over_users(
        ids, users, qrels, origin=OF_WORLD, candidates=candidates, source_facts=facts
    )


def sample_user_indices(users: Ints, n_items: int, seed: int) -> Longs:
    """Draw indices into ``users``, rising, so that users times items are at most `MAX_PAIRS`.

    `MAX_PAIRS` is 30 million. All indices, if that many pairs are few enough; at least one. Draws
    depend on the seed and the numbers of users and items alone.
    """
    max_users = max(MAX_PAIRS // n_items, 1)
    indices = np.arange(len(users))
    if len(users) <= max_users:
        return indices
    uniforms = random_uniforms(indices, seed, "truth")
    order = np.argsort(uniforms, kind="stable")
    return np.sort(order[:max_users])


def judgements_of_file(file: TruthFile, ids: StudyIds, *, candidates: Candidates) -> TrueJudgements:
    """Select the judgements of users for whom systems rank, of items that they may rank.

    ``file`` has the judgements, of a user, an item and a grade each, over a numbering of its own
    (``file.judged``); ``ids`` has the users and items of the study, which are found by id: a number
    of -1 is for an unknown one. ``candidates`` says whether lists of judged items alone ("judged")
    or the usual ones ("all") are judged.

    If training ratings are known, leaves out users without any, and pairs that are rated there.
    Warns of judgements that are left out and of topics without a judgement.

    Raises
    ------
    InputError
        If no judgement is left, or none that is relevant.
    """
    path = file.input["path"]
    users = ids.users
    items = ids.items
    # Runs that are given have the ids of their qrels, whatever these are.
    if file.is_trec and ids.train is not None:
        users = trec_ids(users)
        items = trec_ids(items)
    user = users.numbers(file.judged.users.ids)[file.judged.user]
    item = items.numbers(file.judged.items.ids)[file.judged.item]
    is_usable = (user >= 0) & (item >= 0)
    if ids.train is not None:
        n_items = np.int64(len(ids.items))
        # The last entry, which is index -1, is for the number -1 of unknown users.
        has_profile = np.append(ids.train.user_counts() > 0, False)
        training_pairs = ids.train.user * n_items + ids.train.item
        is_in_training = np.isin(user * n_items + item, training_pairs)
        is_usable &= has_profile[user] & ~is_in_training
    if not is_usable.any():
        raise InputError(
            f"{path}: none of its {len(is_usable):,} judgements is of a user and an item of the "
            "study without a training rating; do the ids match?"
        )
    judged_users, topic = np.unique(user[is_usable], return_inverse=True)
    subtopics = file.judged.subtopics
    qrels = qrels_from_columns(
        topic,
        item[is_usable],
        file.judged.grade[is_usable],
        n_users=len(judged_users),
        relevance_level=file.level,
        subtopics=None if subtopics is None else subtopics.select(np.flatnonzero(is_usable)),
    )
    if not qrels.relevant.any():
        raise InputError(
            f"{path}: none of the {is_usable.sum():,} judgements that the study can use is "
            f"relevant: the highest grade is {qrels.grades.max()}, the lowest relevant one "
            f"{file.level}."
        )
    is_unjudged_topic = ~np.isin(ids.topics.ids, ids.users.ids[judged_users])
    counts = {
        UNUSED_JUDGEMENTS: int((~is_usable).sum()),
        UNJUDGED_USERS: int(is_unjudged_topic.sum()),
    }
    if any(counts.values()):
        finding = "; ".join(f"{count:,} {subject}" for subject, count in counts.items() if count)
        warn(f"{path} (truth): {finding}.")
    true_judgements = _over_users(
        ids,
        judged_users.astype(np.int32),
        qrels,
        origin=f"of {PurePath(path).name}",
        candidates=candidates,
        source_facts=file.facts | counts,
    )
    return replace(true_judgements, inputs=(file.input,))


def _over_users(
    ids: StudyIds,
    users: Ints,
    qrels: Qrels,
    *,
    origin: str,
    candidates: Candidates,
    source_facts: Mapping[str, Any],
) -> TrueJudgements:
    """Look up ids and topics of the judged users, and count their judgements.

    ``users``, (n_judged_users,), has the number of each row of the qrels among all users whom
    systems rank for. ``origin`` is a clause such as "of the simulated world"; ``source_facts`` are
    further facts for the manifest.
    """
    topics = ids.users.select(users)
    trec_users = trec_ids(ids.users)
    facts = {
        "truth": origin,
        "lists": LISTS[candidates],
        **judgement_facts(qrels),
        **source_facts,
    }
    return TrueJudgements(
        trec_topics=topics if trec_users is ids.users else trec_users.select(users),
        topics=topics,
        qrels=qrels,
        origin=origin,
        candidates=candidates,
        facts=facts,
        users=users,
        rows=ids.topics.numbers(topics.ids),
    )


@dataclass(frozen=True, eq=False)
class TruthFile:
    """What a file of true judgements says, over a numbering of its own.

    Parameters
    ----------
    judged
        Its judgements.
    level
        Lowest relevant grade.
    facts
        How it was graded, for the manifest.
    input
        Path and sha256.
    is_trec
        Whether ids are those that TREC files write.
    """

    judged: QrelsFile
    level: int
    facts: dict[str, Any]
    input: dict[str, Any]
    is_trec: bool = False


def read_truth(
    section: TruthSection, *, threshold: float | None = None, rule: GradeRule | None = None
) -> TruthFile:
    """Read the file of true judgements: qrels, or ratings that become grades.

    Parameters
    ----------
    section
        The table [truth] of the study, which has a path.
    threshold, rule
        Lowest relevant rating and rule of grades of the study's own ratings, None where it has
        none. A threshold of the section replaces both; for implicit feedback the threshold is the
        lowest true rating. Without any, it is the usual one of the scale.

    Raises
    ------
    InputError
        If the format is unknown, no threshold is stated or usual, or no rating is relevant.
    """
    assert section.path is not None, "only a simulated world has no file"
    if section.is_qrels:
        return _read_true_qrels(section, section.path)
    if section.format is not None:
        require_choice("format", section.format, (*FORMATS, QRELS))
    source = open_source(section.path)
    ratings = read_ratings(source, **section.of_file)
    if section.threshold is not None:
        threshold = section.threshold
        rule = None
    if section.implicit:
        threshold = float(ratings.rating.min())
    elif threshold is None:
        threshold = usual_threshold(ratings)
    if threshold is None:
        raise InputError(
            "`threshold` in [truth] is missing: the lowest relevant true rating. Ratings are: "
            f"{describe_values(ratings.rating)}."
        )
    scale = rating_scale(ratings, threshold=threshold, rule=rule)
    grades = scale.grades_of(ratings.rating)
    if not (grades >= scale.level).any():
        raise InputError(
            f"{source.label}: no true rating reaches the threshold {scale.threshold:g}: nothing is "
            f"truly relevant. The ratings are: {describe_values(ratings.rating)}."
        )
    judged = QrelsFile(ratings.users, ratings.items, ratings.user, ratings.item, grades)
    facts = {"threshold": scale.threshold, "grades": scale.rule}
    return TruthFile(judged, scale.level, facts, source_checksum(source))


def _read_true_qrels(section: TruthSection, path: Path) -> TruthFile:
    """Read true judgements in the format of qrels; grades from the threshold (or 1) are relevant.

    The threshold is that of the section [truth]. Raises InputError if it is not a whole number of
    at least 1, or the file cannot be read as qrels.
    """
    level = 1.0 if section.threshold is None else section.threshold
    if level < 1 or not level.is_integer():
        raise InputError(
            "`threshold` in [truth] is the lowest relevant grade of qrels, a whole number of at "
            f"least 1, got {level:g}."
        )
    file = judgements_of(path, section)
    facts = {"grades": "those of the qrels"}
    return TruthFile(file, int(level), facts, checksum(path), is_trec=True)
