"""The search for models of clearly different quality, each trial kept in a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.poisson_bootstrap import poisson_weights
from analyses.online.planning.list_overlap import overlap_matrix
from analyses.online.planning.model_choice import choose_models
from harness.online.arm_search.search_section import SearchSection
from harness.online.arm_search.trial_bench import Bench, Outcome
from harness.online.arm_search.trial_evidence import Evidence
from harness.online.arm_search.trial_ledger import TrialLedger
from harness.tuning.search import Space, draw_new, random_search
from harness.tuning.trials import Trial
from qrels.interactions.interactions import Interactions
from qrels.interactions.test_users import split_users
from recommenders import Choice, Range
from recommenders.kernels.embeddings import EmbeddingSettings
from recommenders.kernels.embeddings.als import import_implicit
from recommenders.shared.search_space import Value
from runs import InputError, Numbering
from runs.shared.progress import Progress

Floats = NDArray[np.float64]

SPACE: Space = MappingProxyType(
    {
        "factors": Range(32, 1024, log=True),
        "regularization": Choice((0.1, 1.0, 10.0)),
        "min_items_per_user": Range(2, 20),
        "min_users_per_item": Range(2, 20),
    }
)
"""Table 4.1 of Kasalický (2021), where b is 0.75 throughout."""

REPLICATES = 500
"""Of the bootstrap over users."""

FLOOR = 0.4
"""Recall of the worst model wanted, as a share of the best."""


@dataclass(frozen=True, eq=False)
class Search:
    """Trials, and the models chosen among them.

    Parameters
    ----------
    trials
        In the order of their numbers.
    chosen
        Those of the chosen models, by falling recall.
    step_errors
        Bootstrap error of the difference of each chosen model and the next, of shape
        (n_models - 1,), both measured on the same users.
    n_missed
        Steps of quality at which there was no candidate.
    n_users
        Tuning users.
    metric
        Name of what was measured.
    """

    trials: tuple[Trial, ...]
    chosen: tuple[Trial, ...]
    step_errors: Floats
    n_missed: int
    n_users: int
    metric: str

    @property
    def models(self) -> tuple[EmbeddingSettings, ...]:
        """Settings of the chosen models."""
        return tuple(EmbeddingSettings(**dict[str, Any](each.settings)) for each in self.chosen)

    @property
    def recalls(self) -> Floats:
        """Mean recall of the tuning users by each chosen model, of shape (n_models,)."""
        return np.array([trial.score for trial in self.chosen])

    @property
    def steps(self) -> Floats:
        """How much better each chosen model is than the next, of shape (n_models - 1,)."""
        return -np.diff(self.recalls)

    def caption(self) -> str:
        """Say what was chosen from what, and which neighbours cannot be told apart."""
        n_failed = sum(trial.score is None for trial in self.trials)
        best, worst = self.recalls[[0, -1]]
        return (
            f"{len(self.chosen)} models of {len(self.trials)} trials ({n_failed} failed), from "
            f"{best:.4f} to {worst:.4f} by {self.metric} over {self.n_users:,} tuning users, who "
            f"were cut from training. {self._steps_in_words()} {self.n_missed} of "
            f"{len(self.steps)} steps had no candidate near."
        )

    def _steps_in_words(self) -> str:
        """Say which models are too close."""
        is_close = self.steps <= 2 * self.step_errors
        close = [f"{place + 1} and {place + 2}" for place in np.flatnonzero(is_close)]
        if close:
            return f"Not two standard errors apart: {', '.join(close)}."
        return "Each is more than two standard errors better than the next."


def search_models(
    interactions: Interactions,
    section: SearchSection,
    space: Space,
    *,
    seed: int,
    n_jobs: int,
    test_users: Numbering,
    table: Path,
    progress: Progress,
) -> Search:
    """Search settings at random, and choose models that differ in quality and in lists.

    Every trial is trained without the tuning users and measured on them by popularity-stratified
    recall under leave last one out. `choose_models` then chooses.

    Parameters
    ----------
    interactions
        Of all users; what test users did is left out.
    section
        What is asked. Kasalický (2021) has cut-off 5, and a beta of 5 that lies outside its own
        range; 0.5 may be meant.
    space
        Where to draw settings, all different; one of choices alone is tried whole if there are as
        many trials.
    seed
        Of the draws, of the tuning users and of training.
    n_jobs
        Threads of a trial; no result depends on it.
    test_users
        Users whose events must not be seen.
    table
        A csv file, a line for each trial, written whole after each; beside it a folder for what
        users got. The same call goes on from there, and one with more trials or another choice
        uses what is there.
    progress
        Shows the trials.

    Raises
    ------
    InputError
        If implicit is missing, fewer trials than models came to something, or the table cannot be
        read.

    References
    ----------
    Kasalický (2021), sections 2.2 and 4.1, whose AutoALS this stands for.
    """
    n_models, trials = section.models, section.trials
    if n_models > trials:
        raise InputError(f"`n_models` must be from 1 to the {trials} trials, got {n_models}.")
    import_implicit()
    # Draws go by the order of the settings, the key of the table does not.
    space = dict(sorted(space.items()))
    seen, _ = split_users(interactions, test_users)
    bench = Bench.of(seen, section, seed=seed, n_jobs=n_jobs)
    ledger = TrialLedger.of(table, space, bench)
    drawn = draw_settings(space, trials=trials, seed=seed)
    outcomes: list[Outcome] = []
    with progress("Searching models", len(drawn)) as bar:
        for number, settings in enumerate(drawn):
            known = ledger.find(number)
            outcomes.append(known or bench.measure(number, settings))
            if not known:
                ledger.note(*outcomes[number])
            bar.advance()
    return _search_of(outcomes, bench)


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


def _search_of(outcomes: Sequence[Outcome], bench: Bench) -> Search:
    """Choose among the trials, and say how sure their differences are."""
    found = [(trial, evidence) for trial, evidence in outcomes if evidence]
    if not found:
        raise InputError(f"no trial came to anything; the first: {outcomes[0][0].finding}")
    every = [evidence for _, evidence in found]
    choice = choose_models(
        np.array([evidence.mean for evidence in every]),
        overlap_matrix(np.stack([evidence.lists for evidence in every])),
        n_models=bench.section.models,
        floor=FLOOR,
    )
    replicates = _replicates([every[place] for place in choice.chosen], seed=bench.seed)
    return Search(
        trials=tuple(trial for trial, _ in outcomes),
        chosen=tuple(found[place][0] for place in choice.chosen),
        step_errors=np.diff(replicates, axis=0).std(axis=1, ddof=1),
        n_missed=choice.n_missed,
        n_users=len(every[0].users),
        metric=bench.metric,
    )


def _replicates(found: Sequence[Evidence], *, seed: int) -> Floats:
    """Give mean recalls in each replicate, the same users drawn for all: (n_models, n)."""
    users = found[0].users
    recalls = np.stack([evidence.recalls for evidence in found]).astype(np.float64)
    means = np.empty((len(found), REPLICATES))
    for replicate in range(REPLICATES):
        weights = poisson_weights(users, replicate=replicate, seed=seed)
        means[:, replicate] = (recalls * weights).sum(axis=1) / max(weights.sum(), 1)
    return means
