"""From interactions to recall: robots, test users, a model, hidden ranks, values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from harness.recall.user_shards import read_apart, shards_of
from qrels.interactions.held_out_users import filter_robots, removed_in_words, split_users
from qrels.interactions.interaction_file import read_interactions
from qrels.interactions.interactions import Interactions
from qrels.interactions.shards import Reading
from qrels.ranks.hidden_rank_files import read_hidden_ranks
from qrels.ranks.hidden_ranks import HiddenItems, HiddenRanks
from recommenders.kernels.hidden import Hiding, rank_hidden
from recommenders.kernels.hidden.hiding import Lists
from runs import InputError
from runs.shared.parallel import on_cluster
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
    reading: Reading,
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
        how: dict[str, Any] = {"reading": reading, "progress": progress}
        if len(parsed) > 1:
            own = {label: (name, (*settings, *given)) for label, name, given in parsed}
            return measure_models(interactions, question, own, **how)
        _, model, given = parsed[0]
        every = (*settings, *given)
        return measure_model(interactions, question, model=model, settings=every, **how)
    if settings or reading.dask is not None:
        raise InputError("with --ranks nothing is trained or ranked; leave out --set and --dask.")
    return measure_ranks(interactions, rank_table, question, progress=progress)


def measure_model(
    path: Path,
    question: RecallQuestion,
    *,
    model: ModelName,
    settings: Sequence[str],
    reading: Reading,
    progress: Progress,
) -> MeasuredRecalls:
    """Train a model on a part of the users, and measure its recall on the others; see `model_of`.

    The result depends neither on the threads nor on the cluster that ranks; see `on_cluster`.

    Raises
    ------
    InputError
        If the file or what is asked breaks a rule.
    """
    name, train_model = model_of(model, settings, seed=question.seed, n_jobs=reading.n_jobs)
    learned = _learn(path, question, {name: train_model}, reading, progress)
    ranks = learned.rank(question.lists, question, reading, progress)[name]
    facts = [*learned.facts, learned.users, learned.unreachable_in_words(name, ranks.hidden)]
    return _measured(name, ranks, learned.counts, question, facts, progress)


def measure_models(
    path: Path,
    question: RecallQuestion,
    models: Mapping[str, tuple[ModelName, Sequence[str]]],
    *,
    reading: Reading,
    progress: Progress,
) -> RecallsOfModels:
    """Train several models on the same users, and measure them on the same others.

    The log is read once; users who count alike are what recalls are means of.
    """
    trained = {
        label: model_of(name, settings, seed=question.seed, n_jobs=reading.n_jobs)[1]
        for label, (name, settings) in models.items()
    }
    learned = _learn(path, question, trained, reading, progress)
    ranks, counts = learned.rank(None, question, reading, progress), learned.counts
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
    return RecallsOfModels(grids, np.stack(errors, axis=1), tuple(learned.facts))


@dataclass(frozen=True, eq=False)
class _Learned:
    """Models, the users they are tested on, how popular items are, and what was left out.

    Of all events only those of the test users outlive training; users are counted in words.
    """

    similarities: Mapping[str, csr_array[Any]]
    test: Interactions
    counts: NDArray[np.intp]
    facts: Sequence[str]
    users: str

    def rank(
        self, lists: Lists | None, question: RecallQuestion, reading: Reading, progress: Progress
    ) -> Mapping[str, HiddenRanks]:
        """Rank what is hidden of the test users by every model."""
        hiding = Hiding(deepest=max(Hiding.deepest, *question.cutoffs), lists=lists)
        ranks = {}
        with (
            on_cluster(reading.dask),
            progress("Ranking hidden items", len(self.similarities)) as bar,
        ):
            for label, similarity in self.similarities.items():
                ranks[label] = rank_hidden(similarity, self.test, hiding, n_jobs=reading.n_jobs)
                bar.advance()
        return ranks

    def unreachable_in_words(self, model: str, hidden: HiddenItems) -> str:
        """Say how many hidden items cannot be found."""
        votes = np.bincount(self.similarities[model].indices, minlength=len(self.counts))
        return (
            f"{np.count_nonzero(votes[hidden.item] == 0):,} of {len(hidden):,} hidden items are "
            "misses for sure, as no item votes for them."
        )


def _learn(
    path: Path,
    question: RecallQuestion,
    models: Mapping[str, Train],
    reading: Reading,
    progress: Progress,
) -> _Learned:
    """Train models on the events of those who are not tested."""
    with shards_of(path, question, reading, progress) as log:
        training, test, facts = read_apart(log, question, progress)
        similarities = {}
        with progress("Training", len(models)) as bar:
            for label, train_model in models.items():
                similarities[label] = train_model(training)
                bar.advance()
    users = (
        f"{len(test.users):,} test users with {len(test):,} events, "
        f"{training.n_users:,} training users with {training.n_events:,}."
    )
    return _Learned(similarities, test, training.counts, facts, users)


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
        found = filter_robots(read_interactions(path), most_per_day=question.robots)
        events = found.kept
        facts = [] if question.robots is None else [removed_in_words(*found.removed)]
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
