"""From interactions to recall: robots, test users, a model, hidden ranks, values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analyses.recall.hidden_parts import VALIDATIONS
from analyses.recall.recall import RecallGrid, measure_recall
from analyses.recall.stratification import Weights, popularity_counts
from analyses.recall.user_recalls import errors_of_means
from harness.recall.measured_recalls import MeasuredRecalls, RecallsOfModels
from harness.recall.models import ModelName, Train, model_of, parse_model
from harness.recall.recall_question import RecallQuestion
from qrels.interactions.interaction_file import read_interactions
from qrels.interactions.interactions import Interactions
from qrels.interactions.test_users import draw_test_users, filter_robots, split_users
from qrels.ranks.hidden_rank_files import read_hidden_ranks
from qrels.ranks.hidden_ranks import HiddenItems, HiddenRanks
from recommenders.kernels.hidden import Hiding, rank_hidden
from runs import InputError, Numbering
from runs.shared.cluster import on_cluster
from runs.shared.progress import Progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def measure(
    interactions: Path,
    question: RecallQuestion,
    *,
    rank_table: Path | None,
    models: Sequence[str],
    settings: Sequence[str],
    dask: str | None,
    n_jobs: int,
    progress: Progress,
) -> MeasuredRecalls | RecallsOfModels:
    """Measure a model, several in one reading, or a table of ranks if there is one.

    Raises
    ------
    InputError
        If a file or what is asked breaks a rule.
    """
    if rank_table is None:
        parsed = [parse_model(text) for text in models]
        how: dict[str, Any] = {"dask": dask, "n_jobs": n_jobs, "progress": progress}
        if len(parsed) > 1:
            own = {label: (name, (*settings, *given)) for label, name, given in parsed}
            return measure_models(interactions, question, own, **how)
        _, model, given = parsed[0]
        every = (*settings, *given)
        return measure_model(interactions, question, model=model, settings=every, **how)
    if settings or dask is not None:
        raise InputError("with --ranks nothing is trained or ranked; leave out --set and --dask.")
    return measure_ranks(interactions, rank_table, question, progress=progress)


def measure_model(
    path: Path,
    question: RecallQuestion,
    *,
    model: ModelName,
    settings: Sequence[str],
    dask: str | None,
    n_jobs: int,
    progress: Progress,
) -> MeasuredRecalls:
    """Train a model on a part of the users, and measure its recall on the others; see `model_of`.

    The result depends neither on the threads nor on the cluster that ranks; see `on_cluster`.

    Raises
    ------
    InputError
        If the file or what is asked breaks a rule.
    """
    name, train_model = model_of(model, settings, seed=question.seed, n_jobs=n_jobs)
    hiding = Hiding(deepest=max(Hiding.deepest, *question.cutoffs), lists=question.lists)
    with on_cluster(dask):
        learned = _learn(path, question, train_model, progress)
        with progress("Ranking hidden items", 1):
            ranks = rank_hidden(learned.similarity, learned.test, hiding, n_jobs=n_jobs)
    facts = [*learned.facts, learned.unreachable_in_words(ranks.hidden)]
    return _measured(name, ranks, learned.counts, question, facts, progress)


def measure_models(
    path: Path,
    question: RecallQuestion,
    models: Mapping[str, tuple[ModelName, Sequence[str]]],
    *,
    dask: str | None,
    n_jobs: int,
    progress: Progress,
) -> RecallsOfModels:
    """Train several models on the same users, and measure them on the same others.

    The log is read once; users who count alike are what recalls are means of.
    """
    trained = {
        label: model_of(name, settings, seed=question.seed, n_jobs=n_jobs)
        for label, (name, settings) in models.items()
    }
    hiding = Hiding(deepest=max(Hiding.deepest, *question.cutoffs))
    train, test, facts = _read_apart(path, question, progress)
    counts, ranks = popularity_counts(train, of=question.popularity), {}
    with on_cluster(dask), progress("Training and ranking", len(trained)) as bar:
        for label, (_, train_model) in trained.items():
            ranks[label] = rank_hidden(train_model(train), test, hiding, n_jobs=n_jobs)
            bar.advance()
    how: dict[str, Any] = {
        "betas": question.betas,
        "cutoffs": question.cutoffs,
        "stratification": question.stratification("uniform"),
    }
    with progress("Measuring recall", len(ranks)) as bar:
        grids = {}
        for label, of_model in ranks.items():
            grids[label] = measure_recall(of_model, counts, **how)
            bar.advance()
    errors = [errors_of_means(ranks, counts, validation=each, **how) for each in VALIDATIONS]
    return RecallsOfModels(grids, np.stack(errors, axis=1), tuple(facts))


@dataclass(frozen=True, eq=False)
class _Learned:
    """A model, the users it is tested on, how popular items are, and what was left out."""

    similarity: csr_array[Any]
    test: Interactions
    counts: NDArray[np.intp]
    facts: Sequence[str]

    def unreachable_in_words(self, hidden: HiddenItems) -> str:
        """Say how many hidden items cannot be found."""
        votes = np.bincount(self.similarity.indices, minlength=len(self.counts))
        return (
            f"{np.count_nonzero(votes[hidden.item] == 0):,} of {len(hidden):,} hidden items are "
            "misses for sure, as no item votes for them."
        )


def _learn(
    path: Path, question: RecallQuestion, train_model: Train, progress: Progress
) -> _Learned:
    """Train a model; of thirty million events only those of the test users outlive it."""
    train, test, facts = _read_apart(path, question, progress)
    with progress("Training", 1):
        similarity = train_model(train)
    counts = popularity_counts(train, of=question.popularity)
    users = (
        f"{len(test.users):,} test users with {len(test):,} events, "
        f"{np.count_nonzero(np.diff(train.starts)):,} training users with {len(train):,}."
    )
    return _Learned(similarity, test, counts, [*facts, users])


def _read_apart(
    path: Path, question: RecallQuestion, progress: Progress
) -> tuple[Interactions, Interactions, list[str]]:
    """Read the events of training and of test users, and say what was left out."""
    with progress("Reading", 1):
        events, facts = _without_robots(read_interactions(path), question)
    with progress("Splitting users", 1):
        train, test = _split(events, question)
    return train, test, facts


def measure_ranks(
    path: Path, rank_table: Path, question: RecallQuestion, *, progress: Progress
) -> MeasuredRecalls:
    """Measure recall from a table of ranks; see `read_hidden_ranks`.

    Items are as popular as they are among users without ranks; test users are those with ranks.

    Raises
    ------
    InputError
        If a file or what is asked breaks a rule, or all users have ranks.
    """
    with progress("Reading", 1):
        events, facts = _without_robots(read_interactions(path), question)
        ranks = read_hidden_ranks(rank_table, items=events.items)
    train, _ = split_users(events, ranks.hidden.users)
    if len(train) == 0:
        raise InputError(
            f"{path}: popularity is counted over the events of users without ranks, and all users "
            f"have ranks in {rank_table}."
        )
    known = popularity_counts(train, of=question.popularity)
    counts = np.zeros(len(ranks.hidden.items), dtype=np.intp)
    counts[ranks.hidden.items.numbers(events.items.ids)] = known
    facts.append(f"popularity counts {len(train):,} events of users without ranks.")
    return _measured(str(rank_table), ranks, counts, question, facts, progress)


def _without_robots(
    events: Interactions, question: RecallQuestion
) -> tuple[Interactions, list[str]]:
    if question.robots is None:
        return events, []
    found = filter_robots(events, most_per_day=question.robots)
    return found.kept, [found.in_words()]


def _split(events: Interactions, question: RecallQuestion) -> tuple[Interactions, Interactions]:
    """Part training from test users, who get numbers of their own: they are far fewer."""
    tested = draw_test_users(
        events,
        share=question.share,
        most=question.most,
        least_items=question.min_items,
        seed=question.seed,
    )
    train, test = split_users(events, tested)
    if len(train) == 0:
        raise InputError("all users are test users; nobody is left to learn from.")
    return train, _over(tested, test)


def _over(users: Numbering, events: Interactions) -> Interactions:
    """Number the users of events anew; these are all of them, in the same order."""
    first = np.diff(events.user, prepend=-1) > 0
    return replace(events, users=users, user=(np.cumsum(first) - 1).astype(np.int32))


def _measured(
    model: str,
    ranks: HiddenRanks,
    counts: NDArray[np.integer],
    question: RecallQuestion,
    facts: Sequence[str],
    progress: Progress,
) -> MeasuredRecalls:
    with progress("Measuring recall", len(question.weights)) as bar:
        grids: dict[Weights, RecallGrid] = {}
        for weights in question.weights:
            grids[weights] = measure_recall(
                ranks,
                counts,
                betas=question.betas,
                cutoffs=question.cutoffs,
                stratification=question.stratification(weights),
            )
            bar.advance()
    return MeasuredRecalls(model, grids, ranks, tuple(facts))
