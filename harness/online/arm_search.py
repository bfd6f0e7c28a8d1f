"""The search for models of clearly different quality, which become the arms of an experiment."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.recall.user_recalls import user_recalls
from harness.online.simulation.arms import NeighbourModel, NeighbourRecommender
from harness.study.store import content_key
from harness.tuning.search import Space, draw_new, random_search
from harness.tuning.trials import Trial
from qrels.interactions.held_out_users import draw_test_users, split_users
from qrels.interactions.interactions import Interactions
from recommenders import Choice, Range
from recommenders.kernels.embeddings import EmbeddingSettings
from recommenders.kernels.embeddings.als import import_implicit
from recommenders.kernels.hidden import Hiding
from recommenders.shared.search_space import Value
from runs import InputError, Numbering
from runs.shared.progress import Progress
from runs.shared.settings import Section, Sizes, Whole

Floats = NDArray[np.float64]

TUNING_SHARE: Final = 0.1
MOST_TUNING_USERS: Final = 10_000

FLOOR: Final = 0.4
"""Recall of the worst model wanted, as a share of the best."""


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


@dataclass(frozen=True)
class Search:
    """Trials, those chosen among them by falling recall, and by what, over how many users."""

    trials: tuple[Trial, ...]
    chosen: tuple[Trial, ...]
    n_users: int
    metric: str

    @property
    def models(self) -> tuple[EmbeddingSettings, ...]:
        """Settings of the chosen models."""
        return tuple(EmbeddingSettings(**dict[str, Any](each.settings)) for each in self.chosen)

    def caption(self) -> str:
        """Say what was chosen from what."""
        best, worst = (trial.score for trial in (self.chosen[0], self.chosen[-1]))
        n_failed = sum(trial.score is None for trial in self.trials)
        return (
            f"{len(self.chosen)} models of {len(self.trials)} trials ({n_failed} failed), from "
            f"{best:.4f} to {worst:.4f} by {self.metric} over {self.n_users:,} tuning users, who "
            "were cut from training."
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
    """Search settings at random, and choose models that differ in quality.

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
    trials = []
    with progress("Searching models", len(drawn)) as bar:
        for number, settings in enumerate(drawn):
            begun = time.perf_counter()
            score, finding = _try(settings, train, tuning, section, seed=seed, n_jobs=n_jobs)
            trials.append(Trial(number, settings, score, time.perf_counter() - begun, finding))
            bar.advance()
    found = [trial for trial in trials if trial.score is not None]
    if not found:
        raise InputError(f"no trial came to anything; the first: {trials[0].finding}")
    scores = np.array([trial.score for trial in found], dtype=np.float64)
    chosen = choose_models(scores, n_models=section.models, floor=FLOOR)
    named = tuple(found[place] for place in chosen)
    return Search(tuple(trials), named, len(ids), section.metric)


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


def _try(
    settings: Mapping[str, Any],
    train: Interactions,
    tuning: Interactions,
    section: SearchSection,
    *,
    seed: int,
    n_jobs: int,
) -> tuple[float | None, str]:
    """Train and measure a model; or say why it cannot be trained."""
    try:
        model = NeighbourModel.embedded(EmbeddingSettings(**settings), seed=seed, n_jobs=n_jobs)
        learned = model.fit(train)
        return measure_model(learned, train.event_counts(), tuning, section, n_jobs=n_jobs), ""
    except InputError as error:
        return None, str(error)


def measure_model(
    model: NeighbourRecommender,
    counts: NDArray[np.integer],
    tuning: Interactions,
    section: SearchSection,
    *,
    n_jobs: int,
) -> float:
    """Give the mean recall of a model on tuning users; items had so many events in training."""
    ranks = model.hidden_ranks(tuning, Hiding(deepest=section.cutoff), n_jobs=n_jobs)
    grid: dict[str, Any] = {"betas": [section.beta], "cutoffs": [section.cutoff]}
    blocks = user_recalls(ranks, counts, validation="LLOO", **grid)
    recalls = np.concatenate([block.shares[:, 0, 0] for block in blocks])
    return float(recalls.mean(dtype=np.float64))


def choose_models(values: Floats, *, n_models: int, floor: float) -> list[int]:
    r"""Choose the best model, and those nearest to equal steps below it.

    Steps go from the best value :math:`v` down to :math:`f v`; a model is chosen once. Of equally
    near ones the first is taken.

    Returns
    -------
    Numbers of the models, by falling value.

    Notes
    -----
    Kasalický (2021) has models "of different quality" found by a search and does not say how they
    are chosen of its trials; this rule is ours.

    Examples
    --------
    Steps are at 1, .7 and .4:

    >>> choose_models(np.array([0.95, 1.0, 0.6, 0.1]), n_models=3, floor=0.4)
    [1, 2, 3]
    """
    if not 1 <= n_models <= len(values):
        raise InputError(
            f"models to choose must be from 1 to the {len(values)} candidates that there are, "
            f"got {n_models}."
        )
    best = values.max()
    if not best > 0:
        raise InputError("no candidate has a value above 0, so that none is worse than the best.")
    chosen: list[int] = []
    for target in np.linspace(best, floor * best, n_models):
        distances = np.abs(values - target)
        distances[chosen] = np.inf
        chosen.append(int(distances.argmin()))
    return sorted(chosen, key=lambda number: -values[number])
