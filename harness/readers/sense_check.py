"""Whether runs and qrels that can be read make sense together, before any number is computed.

Input of a valid form may have another meaning than a person thinks: ids that match nothing give
zeros, a run that failed looks like a bad one. What is unlikely is named, with how many lists it
concerns, an example, and what to do. Studies, commands and Python ask the same questions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from qrels.qrels import Qrels
from qrels.trec import QrelsFile
from runs import InputError
from runs.run_file import RunFile
from runs.shared.arrays import Ints, Longs
from runs.shared.errors import warn

LOWEST_JUDGED_SHARE: Final = 0.01
"""Share of the distinct items of a run that are in the qrels, below which ids may not match."""

LOWEST_TOPIC_SHARE: Final = 0.5
"""Share of the topics with lists, below which a run may have failed."""

LOWEST_MATCHING_SHARE: Final = 0.5
"""Share of ids that match once they are written otherwise, from which that is named."""

FIRST_LINES: Final = 1_000
"""Lines of a run that are looked at before all of them are."""

HIGHEST_CANDIDATE_SHARE: Final = 0.5
"""Share of all items that lists may hold down to a cut-off, above which it tells little."""

REWRITINGS: Final[Mapping[str, Callable[[str], str]]] = {
    "a decimal part": lambda name: name.removesuffix(".0"),
    "leading zeros": lambda name: name.lstrip("0"),
    "capitals": str.casefold,
    "what stands before the last `-`": lambda name: name.rpartition("-")[2],
    "what stands before the last `_`": lambda name: name.rpartition("_")[2],
    "what stands before the last `/`": lambda name: name.rpartition("/")[2],
    "what stands before the last `:`": lambda name: name.rpartition(":")[2],
}
"""Ways in which ids of one thing differ between files."""


EQUALITIES: Final[Mapping[tuple[str, str], str]] = {
    ("P", "Recall"): "P@n is Recall@n / n",
    ("AP", "RR"): "AP is RR",
    ("bpref", "Recall"): "bpref is Recall",
}
"""Measures that are one another where each user has one relevant item."""


@dataclass(frozen=True)
class RunSense:
    """What was counted in one run.

    Parameters
    ----------
    label
        The file, and the system where the file holds several.
    n_topics
        Number of topics of the qrels with a list.
    judged_share
        Share of the distinct items that are in the qrels, in [0, 1]; or, if that is larger, share
        of the judged items that are listed.
    odd_item
        An item of the run that is not in the qrels; "" if there is none.
    has_judged_pair
        Whether an item is judged for a topic that lists it.
    """

    label: str
    n_topics: int
    judged_share: float
    odd_item: str
    has_judged_pair: bool


@dataclass
class SenseCheck:
    """Checks of runs against the qrels that judge them, one run after the other.

    Parameters
    ----------
    qrels
        The judgements.
    source
        What messages call the qrels.
    """

    qrels: QrelsFile
    source: str
    runs: list[RunSense] = field(default_factory=list)

    def add(self, run: RunFile, item_in_qrels: Ints | None = None) -> None:
        """Count what a run has in common with the qrels.

        Ids are looked up in the qrels: a number of -1 is for those that are not there. Counts are
        added to ``self.runs``. ``item_in_qrels`` are the numbers of the items of the run, of shape
        (n_items,), if they have been looked up before.
        """
        if item_in_qrels is None:
            item_in_qrels = self.qrels.items.numbers(run.items.ids)
        user_in_qrels = self.qrels.users.numbers(run.users.ids)
        is_topic = user_in_qrels >= 0
        is_judged = item_in_qrels >= 0
        n_judged = int(np.count_nonzero(is_judged))
        n_smaller = min(len(run.items), len(self.qrels.items))
        odd_items = run.items.ids[~is_judged]
        odd_item = str(odd_items[0]) if len(odd_items) else ""
        run_sense = RunSense(
            label=str(run.path) or run.system,
            n_topics=int(np.count_nonzero(is_topic)),
            judged_share=n_judged / n_smaller,
            odd_item=odd_item,
            has_judged_pair=self._has_judged_pair(run, user_in_qrels, item_in_qrels),
        )
        self.runs.append(run_sense)

    def _has_judged_pair(self, run: RunFile, user_in_qrels: Ints, item_in_qrels: Ints) -> bool:
        """Tell whether an item is judged for a topic that lists it.

        Parameters
        ----------
        run
            The run.
        user_in_qrels, item_in_qrels
            Number in the qrels of each user, (n_users,), and each item, (n_items,), of the run;
            -1 for those that are not there.
        """
        n_items = len(self.qrels.items)
        last_place = len(self._judged_pairs) - 1
        # Nearly always the first lines have one.
        for lines in (slice(FIRST_LINES), slice(None)):
            user = user_in_qrels[run.user[lines]]
            item = item_in_qrels[run.item[lines]]
            is_in_qrels = (user >= 0) & (item >= 0)
            user = user[is_in_qrels].astype(np.int64)
            item = item[is_in_qrels]
            listed_pairs = user * n_items + item
            places = np.searchsorted(self._judged_pairs, listed_pairs)
            places = np.minimum(places, last_place)
            is_judged = self._judged_pairs[places] == listed_pairs
            if is_judged.any():
                return True
        return False

    @cached_property
    def _judged_pairs(self) -> Longs:
        """A number for each pair of topic and item that is judged, rising, (n_judgements,)."""
        n_items = len(self.qrels.items)
        user = self.qrels.user.astype(np.int64)
        pairs = user * n_items + self.qrels.item
        return np.sort(pairs)

    def finish(self) -> None:
        """Refuse runs none of which has a judged item; warn of single ones, and of few topics.

        Raises
        ------
        InputError
            If no item of any run is in the qrels: all measures would be 0.
        """
        has_judged_item = any(run.judged_share > 0 for run in self.runs)
        if self.runs and not has_judged_item:
            finding = self._unjudged(self.runs[0], "no run has")
            raise InputError(finding)
        for run in self.runs:
            if not run.has_judged_pair:
                finding = self._unjudged(run, f"{run.label} does not have")
                warn(finding)
        for run in self.runs:
            if run.has_judged_pair and run.judged_share < LOWEST_JUDGED_SHARE:
                percentage = 100 * run.judged_share
                share = f"{percentage:.2g} %"
                warn(
                    f"{run.label}: only {share} of its items are in {self.source}, such as not "
                    f"{run.odd_item!r}. Are ids written alike in both?"
                )
            self._warn_of_few_topics(run)

    def _unjudged(self, run: RunSense, subject: str) -> str:
        """Write that nothing listed is judged, with an id of either side and what may differ.

        ``subject`` begins the sentence, such as "no run has". If items are in the qrels, but for
        other topics, the sentence says so instead.
        """
        if run.judged_share > 0:
            return (
                f"{subject} an item that is judged for the topic that lists it: its items are in "
                f"{self.source}, but for other topics. Do the ids of topics match?"
            )
        judged_item = str(self.qrels.items.ids[0])
        examples = f"{run.odd_item!r} in {run.label}, and as {judged_item!r} in {self.source}"
        difference = self._difference(run)
        return (
            f"{subject} an item that is judged, so that all measures would be 0: items are written "
            f"as {examples}.{difference}"
        )

    def _difference(self, run: RunSense) -> str:
        """Name a way in which ids would match; if none is known, ask for ids written alike.

        Ways are `REWRITINGS`, such as without leading zeros: the item of the run that is not judged
        and the judged items are written so. The sentence begins with a space.
        """
        judged_items = set(self.qrels.items.ids.tolist())
        for words, rewrite in REWRITINGS.items():
            rewritten_items = {rewrite(item) for item in judged_items}
            if rewrite(run.odd_item) in rewritten_items:
                return f" They match without {words}."
        return " Write ids alike in both files."

    def _warn_of_few_topics(self, run: RunSense) -> None:
        """Warn of a run that has lists for few of the topics, which score 0 without."""
        n_topics = len(self.qrels.users)
        if 0 < run.n_topics < LOWEST_TOPIC_SHARE * n_topics:
            warn(
                f"{run.label} has lists for {run.n_topics:,} of the {n_topics:,} topics; the "
                "others score 0. A run that failed is no bad run: complete it, or leave it out."
            )


def check_grades(qrels: Qrels, *, remedy: str) -> None:
    """Warn of graded judgements that are all relevant, as ratings are without a threshold.

    Parameters
    ----------
    qrels
        The judgements, with the relevance level that is used.
    remedy
        How the level is set here, such as "`-l 4`", with a placeholder ``{level}``.
    """
    is_judged = qrels.grades >= 0
    grades = np.unique(qrels.grades[is_judged])
    if len(grades) < 2 or not qrels.relevant.all():
        return
    middle = len(grades) // 2
    level = int(grades[middle])
    grades_in_words = ", ".join(map(str, grades))
    remedy_with_level = remedy.format(level=level)
    warn(
        f"Every judged item is relevant: all grades, {grades_in_words}, reach the "
        f"relevance level {qrels.relevance_level}. If grades are ratings, name the lowest one that "
        f"is relevant: {remedy_with_level}."
    )


def deep_cutoffs(cutoffs: Iterable[int], n_items: int) -> list[int]:
    """Find the cut-offs, rising, down to which lists hold more than half of the ``n_items`` items.

    `HIGHEST_CANDIDATE_SHARE` is that half.
    """
    most_items = HIGHEST_CANDIDATE_SHARE * n_items
    return sorted(cutoff for cutoff in cutoffs if cutoff > most_items)


def equal_measures(qrels: Qrels, names: Collection[str]) -> list[str]:
    """Name the measures that are one another where each user has one relevant item.

    Parameters
    ----------
    qrels
        The judgements.
    names
        Names of the metrics that are computed.

    Returns
    -------
    Equalities such as "AP is RR"; none if a user has more relevant items, or fewer.
    """
    n_relevant = qrels.count_by_user(qrels.relevant)
    has_one_relevant = n_relevant == 1
    if not len(n_relevant) or not has_one_relevant.all():
        return []
    computed_metrics = set(names)
    return [
        equality for metrics, equality in EQUALITIES.items() if computed_metrics.issuperset(metrics)
    ]


def check_runs(runs: Sequence[RunFile], qrels: QrelsFile, *, source: str) -> None:
    """Check runs against their qrels; see `SenseCheck`."""
    check = SenseCheck(qrels, source)
    for run in runs:
        check.add(run)
    if runs:
        check.finish()
