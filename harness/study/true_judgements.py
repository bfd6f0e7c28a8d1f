"""True judgements, of a world or of a file, over the users and items of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np

from analyses.shared.measure import Measures
from analyses.shared.sentences import listed
from harness.readers.rankings import judgements_of
from harness.report.checks import OF_WORLD
from harness.study.inputs import checksum, facts_of
from harness.study.sections import QRELS, Candidates, TruthSection
from qrels import Qrels, Ratings, Scale, Split, qrels_from_columns, rating_scale
from qrels.grades import GradeRule
from qrels.qrels import judgement_facts
from qrels.ratings import world
from qrels.ratings.datasets import FORMATS, read_ratings
from qrels.ratings.datasets.source import open_source
from qrels.ratings.statistics import describe_values, usual_threshold
from qrels.trec import QrelsFile
from runs import InputError, Numbering, Run
from runs.shared.arrays import Ints, Longs, Sparse
from runs.shared.errors import require_choice, warn
from runs.shared.fields import place_in_group
from runs.shared.ids import trec_ids
from runs.shared.streams import random_uniforms

MOST_PAIRS = 30_000_000
"""Pairs of user and item of a world that are judged; users are drawn where there are more."""

USERS_AT_ONCE = 256

LEAST_LISTED = 0.95
"""Share of the truly judged items that a system scores without a caution."""

LISTS = {"judged": "of items with a true judgement", "all": "of all items, as for the study"}

LEFT_OUT = "judgements left out: of users or items that the study does not know, or of training"
UNTOLD = "test users without a true judgement"


@dataclass(frozen=True, eq=False)
class TrueJudgements:
    """What the systems are truly judged by, and which of their lists are.

    Parameters
    ----------
    trec_ids, topics
        The users of the truth: how TREC files carry them, and their ids.
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

    trec_ids: Numbering
    topics: Numbering
    qrels: Qrels
    origin: str
    candidates: Candidates
    facts: dict[str, Any]
    users: Ints
    rows: Ints
    inputs: tuple[dict[str, Any], ...] = ()

    @property
    def has_own_lists(self) -> bool:
        """Whether other lists than those of the study are judged."""
        return self.candidates == "judged" or bool((self.rows < 0).any())

    def usual_lists(self, run: Run) -> Run:
        """Take the lists of these users from those of the topics of the study."""
        return Run(run.system, run.items[self.rows])

    def listed(self, n_items: int) -> Sparse | None:
        """Mark what each user's own list may hold, of shape (n_users, n_items); None for all."""
        from scipy.sparse import csr_array

        if self.candidates == "all":
            return None
        judged = self.qrels.keep(self.qrels.grades >= 0)
        marks = np.ones(len(judged.items), dtype=np.bool_)
        return csr_array((marks, judged.items, judged.offsets), shape=(judged.n_users, n_items))

    def completed(self, run: Run, depth: int, *, seed: int) -> Run:
        """Rank the judged items last that the system leaves out, as far down as the depth.

        They are in a random order, which is the same for all systems.
        """
        judged = self.qrels.keep(self.qrels.grades >= 0)
        n_items = 1 + max(int(judged.items.max(initial=0)), int(run.items.max(initial=0)))
        user = np.repeat(np.arange(judged.n_users), np.diff(judged.offsets))
        shuffled = np.argsort(random_uniforms(np.arange(len(user)), seed, "unscored"))
        user, item = user[shuffled], judged.items[shuffled]
        listed_user, rank = np.nonzero(run.items >= 0)
        taken = listed_user * n_items + run.items[listed_user, rank]
        left = ~np.isin(user.astype(np.int64) * n_items + item, taken)
        order = np.argsort(user[left], kind="stable")
        user, item = user[left][order], item[left][order]
        places = (run.items >= 0).sum(axis=1)[user] + place_in_group(user) - 1
        fits = places < depth
        items = np.full((len(run.items), depth), -1, dtype=run.items.dtype)
        items[:, : run.items.shape[1]] = run.items
        items[user[fits], places[fits]] = item[fits]
        return replace(run, items=items)

    def notes(self, lists: Sequence[Run], reported: Measures, *, trained: bool) -> Iterator[str]:
        """Say what scores on lists of judged items alone cannot show."""
        yield (
            "The truth is scored on condensed lists, which favours bpref and other measures of "
            "condensed lists."
        )
        n_judged = np.diff(self.qrels.keep(self.qrels.grades >= 0).offsets)
        room = np.minimum(n_judged, max(run.items.shape[1] for run in lists)).sum()
        shares = {run.system: float((run.items >= 0).sum() / room) for run in lists}
        few = {system: share for system, share in shares.items() if share < LEAST_LISTED}
        if few and trained:
            named = [f"{system} ({share:.0%})".replace("%", " %") for system, share in few.items()]
            yield (
                f"Some systems do not score all truly judged items: {listed(named)}. The items "
                "that they leave out are ranked last, in a random order that all systems share."
            )
        typical = int(np.median(n_judged))
        deep = [str(measure) for measure in reported if (measure.cutoff or 0) >= typical]
        if deep:
            yield (
                f"Half of the users have at most {typical} truly judged items, so that measures at "
                f"this depth or deeper hardly depend on the ranking: {listed(deep)}. Report them "
                "at a smaller depth ([metrics] report)."
            )

    def of_given(self, run: Run) -> Run:
        """Take what may be listed from lists of these users that were made elsewhere."""
        if self.candidates == "all":
            return run
        items = np.full_like(run.items, -1)
        judged = self.qrels.keep(self.qrels.grades >= 0)
        for user, ranked in enumerate(run.items):
            own = judged.items[slice(*judged.offsets[user : user + 2])]
            kept = ranked[np.isin(ranked, own)]
            items[user, : len(kept)] = kept
        return Run(run.system, items)


class Ranked(NamedTuple):
    """Users whom systems rank for, the items they rank, and the topics of the study.

    ``train`` is what the users rated in training, over the same numbering, where that is known.
    """

    users: Numbering
    items: Numbering
    topics: Numbering
    train: Ratings | None = None


def of_world(
    truth: world.Truth, split: Split, scale: Scale, *, candidates: Candidates, seed: int
) -> TrueJudgements:
    """Judge every item that a user did not rate in training by its true rating."""
    n_items = len(split.train.items)
    users = split.test_users[drawn_places(split.test_users, n_items, seed)]
    rows = truth.users.numbers(split.train.users.ids[users])
    columns = truth.items.numbers(split.train.items.ids)
    rated = split.train.matrix()
    offsets = np.append(0, np.cumsum(n_items - split.train.user_counts()[users])).astype(np.int64)
    items, grades = np.empty((2, offsets[-1]), dtype=np.int32)
    for first in range(0, len(users), USERS_AT_ONCE):
        some = slice(first, min(first + USERS_AT_ONCE, len(users)))
        here = slice(offsets[some.start], offsets[some.stop])
        left = np.ones((some.stop - some.start, n_items), dtype=np.bool_)
        left[rated[users[some]].nonzero()] = False
        items[here] = np.nonzero(left)[1]
        grades[here] = scale.nearest_grades(truth.ratings(rows[some])[:, columns][left])
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
        UNTOLD: len(split.test_users) - len(users),
    }
    ranked = Ranked(split.train.users, split.train.items, split.topics, split.train)
    return _over(ranked, users, qrels, OF_WORLD, candidates, facts)


def drawn_places(users: Ints, n_items: int, seed: int) -> Longs:
    """Draw places of as many users as may be judged or ranked on all items, if not all may."""
    most = max(MOST_PAIRS // n_items, 1)
    if len(users) <= most:
        return np.arange(len(users))
    order = np.argsort(random_uniforms(np.arange(len(users)), seed, "truth"), kind="stable")
    return np.sort(order[:most])


def of_file(file: TruthFile, ranked: Ranked, *, candidates: Candidates) -> TrueJudgements:
    """Keep the judgements of users for whom systems rank, of items that they may rank."""
    path = file.input["path"]
    # Runs that are given have the ids of their qrels, whatever these are.
    is_carried = file.is_trec and ranked.train is not None
    names = [trec_ids(n) if is_carried else n for n in (ranked.users, ranked.items)]
    user = names[0].numbers(file.judged.users.ids)[file.judged.user]
    item = names[1].numbers(file.judged.items.ids)[file.judged.item]
    kept = (user >= 0) & (item >= 0)
    if ranked.train is not None:
        has_profile = np.append(ranked.train.user_counts() > 0, False)
        known = ranked.train.user * np.int64(len(ranked.items)) + ranked.train.item
        kept &= has_profile[user] & ~np.isin(user * np.int64(len(ranked.items)) + item, known)
    if not kept.any():
        raise InputError(
            f"{path}: none of its {len(kept):,} judgements is of a user and an item of the "
            "study without a training rating; do the ids match?"
        )
    users, topic = np.unique(user[kept], return_inverse=True)
    qrels = qrels_from_columns(
        topic, item[kept], file.judged.grade[kept], n_users=len(users), relevance_level=file.level
    )
    if not qrels.relevant.any():
        raise InputError(
            f"{path}: none of the {kept.sum():,} judgements that the study can use is relevant: "
            f"the highest grade is {qrels.grades.max()}, the lowest relevant one {file.level}."
        )
    untold = ~np.isin(ranked.topics.ids, ranked.users.ids[users])
    counts = {LEFT_OUT: int((~kept).sum()), UNTOLD: int(untold.sum())}
    if any(counts.values()):
        finding = "; ".join(f"{n:,} {what}" for what, n in counts.items() if n)
        warn(f"{path} (truth): {finding}.")
    origin = f"of {PurePath(path).name}"
    facts = file.facts | counts
    made = _over(ranked, users.astype(np.int32), qrels, origin, candidates, facts)
    return replace(made, inputs=(file.input,))


def _over(
    ranked: Ranked,
    users: Ints,
    qrels: Qrels,
    origin: str,
    candidates: Candidates,
    facts: Mapping[str, Any],
) -> TrueJudgements:
    """Name the users, find them among the topics of the study, and count their judgements."""
    topics, written = ranked.users.select(users), trec_ids(ranked.users)
    named = topics if written is ranked.users else written.select(users)
    told = {"truth": origin, "lists": LISTS[candidates], **judgement_facts(qrels), **facts}
    rows = ranked.topics.numbers(topics.ids)
    return TrueJudgements(named, topics, qrels, origin, candidates, told, users, rows)


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
        Whether ids are those that TREC files carry.
    """

    judged: QrelsFile
    level: int
    facts: dict[str, Any]
    input: dict[str, Any]
    is_trec: bool = False


def read_truth(
    section: TruthSection, *, threshold: float | None = None, rule: GradeRule | None = None
) -> TruthFile:
    """Read the file that a section names."""
    assert section.path is not None, "only a simulated world has no file"
    if section.is_qrels:
        return _of_qrels(section, section.path)
    if section.format is not None:
        require_choice("format", section.format, (*FORMATS, QRELS))
    source = open_source(section.path)
    ratings = read_ratings(source, **section.of_file)
    if section.threshold is not None:
        threshold, rule = section.threshold, None
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
    grade = scale.grades_of(ratings.rating)
    if not (grade >= scale.level).any():
        raise InputError(
            f"{source.label}: no true rating reaches the threshold {scale.threshold:g}: nothing is "
            f"truly relevant. The ratings are: {describe_values(ratings.rating)}."
        )
    judged = QrelsFile(ratings.users, ratings.items, ratings.user, ratings.item, grade)
    facts = {"threshold": scale.threshold, "grades": scale.rule}
    return TruthFile(judged, scale.level, facts, facts_of(source))


def _of_qrels(section: TruthSection, path: Path) -> TruthFile:
    level = 1.0 if section.threshold is None else section.threshold
    if level < 1 or not level.is_integer():
        raise InputError(
            "`threshold` in [truth] is the lowest relevant grade of qrels, a whole number of at "
            f"least 1, got {level:g}."
        )
    file = judgements_of(path)
    facts = {"grades": "those of the qrels"}
    return TruthFile(file, int(level), facts, checksum(path), is_trec=True)
