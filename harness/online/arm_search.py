"""The search for models of clearly different quality, which become the arms of an experiment."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.recall.user_recalls import user_recalls
from harness.online.simulation.arms import NeighbourModel, NeighbourRecommender
from harness.online.simulation.profiles import profiles_before
from harness.study.store import content_key
from harness.tuning.search import Space, draw_new, random_search
from harness.tuning.trials import Trial
from qrels.interactions.interactions import Interactions
from qrels.interactions.test_users import draw_test_users, split_users
from recommenders import Choice, Range
from recommenders.kernels.embeddings import EmbeddingSettings
from recommenders.kernels.embeddings.als import import_implicit
from recommenders.kernels.hidden import Hiding
from recommenders.shared.search_space import Value
from runs import InputError, Numbering
from runs.shared.progress import Progress
from runs.shared.settings import Section, Sizes, Whole

Floats = NDArray[np.float64]
Lists = NDArray[np.int32]

TUNING_SHARE: Final = 0.1
MOST_TUNING_USERS: Final = 10_000
LISTED_USERS: Final = 2000
"""Users at most whose lists are compared, spread over all."""

FLOOR: Final = 0.4
"""Recall of the worst model wanted, as a share of the best."""

REACH: Final = 0.25
"""How far from a step of quality a candidate for it may be, in steps."""


class SearchSection(Section):
    """A search for models of clearly different quality, before the experiment."""

    models: Whole = Field(10, ge=3, le=79, description="Models that become arms.")
    trials: Whole = Field(30, ge=3, description="Settings that are tried.")
    factors: Sizes = Field(
        (4, 8, 16, 32, 64, 128), min_length=1, description="Lengths of vectors to try."
    )
    cutoff: Whole = Field(5, ge=1, description="Of the recall that trials are scored by.")
    beta: float = Field(
        0.5, ge=0, allow_inf_nan=False, description="Exponent of popularity in that recall."
    )

    @property
    def space(self) -> Space:
        """Where settings are drawn: table 4.1 of Kasalický (2021), with factors of one's own.

        There b is 0.75 throughout.
        """
        return {
            "factors": Choice(self.factors),
            "min_items_per_user": Range(2, 20),
            "min_users_per_item": Range(2, 20),
            "regularization": Choice((0.1, 1.0, 10.0)),
        }

    @property
    def metric(self) -> str:
        """Name of what trials are scored by."""
        return f"Recall@{self.cutoff} (LLOO, beta {self.beta:g})"


@dataclass(frozen=True, eq=False)
class Evidence:
    """How one model serves the tuning users: recalls, of shape (n_users,), and lists of some."""

    recalls: Floats
    lists: Lists


@dataclass(frozen=True, eq=False)
class Search:
    """Trials, and the models chosen among them.

    Parameters
    ----------
    trials, chosen
        All, and those of the chosen models, by falling recall.
    step_errors
        Standard error over users of the difference of each chosen model and the next, of shape
        (n_models - 1,), both measured on the same users.
    n_missed
        Steps of quality at which there was no candidate.
    n_users, metric
        Tuning users, and what was measured.
    """

    trials: tuple[Trial, ...]
    chosen: tuple[Trial, ...]
    step_errors: Floats
    n_missed: int
    n_users: int
    metric: str

    @classmethod
    def of(
        cls, outcomes: Sequence[tuple[Trial, Evidence | None]], section: SearchSection
    ) -> Search:
        """Choose among the trials, and say how sure their differences are."""
        found = [(trial, evidence) for trial, evidence in outcomes if evidence]
        if not found:
            raise InputError(f"no trial came to anything; the first: {outcomes[0][0].finding}")
        scores = np.array([trial.score for trial, _ in found], dtype=np.float64)
        lists = np.stack([evidence.lists for _, evidence in found])
        chosen, n_missed = choose_models(scores, lists, n_models=section.models, floor=FLOOR)
        steps = np.diff([found[place][1].recalls for place in chosen], axis=0)
        n_users = steps.shape[1]
        return cls(
            trials=tuple(trial for trial, _ in outcomes),
            chosen=tuple(found[place][0] for place in chosen),
            step_errors=steps.std(axis=1, ddof=1) / np.sqrt(n_users),
            n_missed=n_missed,
            n_users=n_users,
            metric=section.metric,
        )

    @property
    def models(self) -> tuple[EmbeddingSettings, ...]:
        """Settings of the chosen models."""
        return tuple(EmbeddingSettings(**dict[str, Any](each.settings)) for each in self.chosen)

    def caption(self) -> str:
        """Say what was chosen from what, and which neighbours cannot be told apart."""
        recalls = np.array([trial.score for trial in self.chosen])
        n_failed = sum(trial.score is None for trial in self.trials)
        is_close = -np.diff(recalls) <= 2 * self.step_errors
        close = [f"{place + 1} and {place + 2}" for place in np.flatnonzero(is_close)]
        apart = (
            f"Not two standard errors apart: {', '.join(close)}."
            if close
            else "Each is more than two standard errors better than the next."
        )
        return (
            f"{len(self.chosen)} models of {len(self.trials)} trials ({n_failed} failed), from "
            f"{recalls[0]:.4f} to {recalls[-1]:.4f} by {self.metric} over {self.n_users:,} tuning "
            f"users, who were cut from training. {apart} {self.n_missed} of "
            f"{len(self.step_errors)} steps had no candidate near."
        )


def search_models(
    interactions: Interactions,
    section: SearchSection,
    space: Space,
    *,
    seed: int,
    n_jobs: int,
    test_users: Numbering,
    progress: Progress,
) -> Search:
    """Search settings at random, and choose models that differ in quality and in lists.

    Every trial is trained without the tuning users, who are cut from those that are not tested, and
    measured on them by popularity-stratified recall under leave last one out. `choose_models` then
    chooses. Kasalický (2021), sections 2.2 and 4.1, whose AutoALS this stands for, has cut-off 5,
    and a beta of 5 that lies outside its own range; 0.5 may be meant.

    Raises
    ------
    InputError
        If implicit is missing, or fewer trials than models came to something.
    """
    if section.models > section.trials:
        raise InputError(
            f"`n_models` must be from 1 to the {section.trials} trials, got {section.models}."
        )
    import_implicit()
    seen, _ = split_users(interactions, test_users)
    # Not the draw of the test users: with their seed, those whom it takes are gone.
    draw_seed = int(content_key("tuning users", seed)[:15], 16)
    ids = draw_test_users(seen, share=TUNING_SHARE, most=MOST_TUNING_USERS, seed=draw_seed)
    train, tuning = split_users(seen, ids)
    drawn = draw_settings(dict(sorted(space.items())), trials=section.trials, seed=seed)
    outcomes: list[tuple[Trial, Evidence | None]] = []
    with progress("Searching models", len(drawn)) as bar:
        for number, settings in enumerate(drawn):
            begun, found, finding = time.perf_counter(), None, ""
            try:
                chosen = EmbeddingSettings(**dict[str, Any](settings))
                model = NeighbourModel.embedded(chosen, seed=seed, n_jobs=n_jobs).fit(train)
                found = measure_model(model, train.event_counts(), tuning, section, n_jobs=n_jobs)
            except InputError as error:
                finding = str(error)
            score = None if found is None else float(found.recalls.mean())
            seconds = time.perf_counter() - begun
            outcomes.append((Trial(number, settings, score, seconds, finding=finding), found))
            bar.advance()
    return Search.of(outcomes, section)


def draw_settings(space: Space, *, trials: int, seed: int) -> list[dict[str, Value]]:
    """Draw different settings, which do not depend on what comes of them.

    Examples
    --------
    >>> drawn = draw_settings({"factors": Choice((8, 16))}, trials=5, seed=1)
    >>> sorted(settings["factors"] for settings in drawn)
    [8, 16]
    """
    drawn: list[dict[str, Value]] = []
    while len(drawn) < trials:
        settings = draw_new(random_search, space, drawn, [], higher_is_better=True, seed=seed)
        if settings is None:
            break
        drawn.append(settings)
    return drawn


def measure_model(
    model: NeighbourRecommender,
    counts: NDArray[np.integer],
    tuning: Interactions,
    section: SearchSection,
    *,
    n_jobs: int,
) -> Evidence:
    """Measure a model on tuning users, and let it recommend from all that some of them had.

    Items had so many events in training.
    """
    ranks = model.hidden_ranks(tuning, Hiding(deepest=section.cutoff), n_jobs=n_jobs)
    grid: dict[str, Any] = {"betas": [section.beta], "cutoffs": [section.cutoff]}
    blocks = list(user_recalls(ranks, counts, validation="LLOO", **grid))
    users = np.concatenate([block.users for block in blocks])
    recalls = np.concatenate([block.shares[:, 0, 0] for block in blocks])
    listed = users[:: -(-len(users) // LISTED_USERS)]
    ends = np.full(len(listed), np.iinfo(np.int64).max)
    profiles = profiles_before(tuning, listed, ends, n_items=len(tuning.items))
    lists = model.recommend(profiles, depth=section.cutoff)
    return Evidence(recalls.astype(np.float64), lists)


def choose_models(
    values: Floats, lists: Lists, *, n_models: int, floor: float
) -> tuple[NDArray[np.intp], int]:
    r"""Choose models of clearly different quality, and at equal quality of different lists.

    The best is kept. Then, at equal steps from its value :math:`v` down to :math:`f v`, of the
    candidates within a quarter of a step that one is taken whose lists overlap least, on average,
    with the lists of those already chosen. So these are half a step apart at least. Where no
    candidate is as near, the nearest is taken. Of equal overlaps the value nearer to the step
    decides, then the lower number.

    Values have the shape (n_candidates,), lists (n_candidates, n_users, depth). Given are numbers
    of the candidates, by falling value, and the steps at which there was no candidate.

    Notes
    -----
    Kasalický (2021) has models "of different quality" found by a search and does not say how they
    are chosen of its trials; this rule is ours.
    """
    if not 1 <= n_models <= len(values):
        raise InputError(
            f"models to choose must be from 1 to the {len(values)} candidates that there are, "
            f"got {n_models}."
        )
    best = int(values.argmax())
    if not values[best] > 0:
        raise InputError("no candidate has a value above 0, so that none is worse than the best.")
    targets, step = np.linspace(values[best], floor * values[best], n_models, retstep=True)
    chosen, n_missed = [best], 0
    for target in targets[1:]:
        distances = np.abs(values - target)
        distances[chosen] = np.inf
        near = np.flatnonzero(distances <= REACH * abs(step))
        if len(near) == 0:
            n_missed += 1
            near = np.array([distances.argmin()])
        common = [np.mean([jaccard(lists[one], lists[c]).mean() for c in chosen]) for one in near]
        chosen.append(int(near[np.lexsort((distances[near], common))[0]]))
    numbers = np.array(chosen)
    return numbers[np.argsort(-values[numbers], kind="stable")], n_missed


def jaccard(ones: Lists, others: Lists) -> Floats:
    """Divide the items common to two lists by those of either; 1 where both are empty.

    Lists do not repeat an item and have -1 at the end, of shape (n_users, depth) each.
    """
    same = (ones[:, :, np.newaxis] == others[:, np.newaxis, :]) & (ones >= 0)[:, :, np.newaxis]
    common = same.sum(axis=(1, 2))
    either = (ones >= 0).sum(axis=1) + (others >= 0).sum(axis=1) - common
    return np.where(either > 0, common / np.maximum(either, 1), 1.0)
