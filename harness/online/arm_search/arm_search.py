"""The search for models of clearly different quality, each trial kept in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analyses.online.clicks.poisson_bootstrap import poisson_weights
from analyses.online.planning.list_overlap import overlap_matrix
from analyses.online.planning.model_choice import choose_models
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
from runs.shared.progress import Progress, Silent

if TYPE_CHECKING:
    import pandas as pd

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


@dataclass(frozen=True, eq=False)
class Search:
    """Trials, and the models chosen among them.

    Parameters
    ----------
    trials
        In the order of their numbers.
    models
        Settings of the chosen, by falling recall, of length n_models.
    chosen
        Their trials' numbers, of shape (n_models,).
    recalls, standard_errors
        Mean recall of the tuning users and its bootstrap error, NaN for a trial that failed, of
        shape (n_trials,).
    overlaps
        Mean Jaccard overlap of the lists of the chosen, of shape (n_models, n_models).
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
    models: tuple[EmbeddingSettings, ...]
    chosen: NDArray[np.intp]
    recalls: Floats
    standard_errors: Floats
    overlaps: Floats
    step_errors: Floats
    n_missed: int
    n_users: int
    metric: str

    @property
    def steps(self) -> Floats:
        """How much better each chosen model is than the next, of shape (n_models - 1,)."""
        return -np.diff(self.recalls[self.chosen])

    @property
    def is_clear(self) -> NDArray[np.bool_]:
        """Mark the steps above two of their standard errors, of shape (n_models - 1,)."""
        return self.steps > 2 * self.step_errors

    def to_frame(self) -> pd.DataFrame:
        """One row per trial.

        Returns
        -------
        Columns trial, those of the settings that were searched, recall, standard_error, seconds,
        finding (why it failed) and place (1 for the best of the chosen, missing for others).
        """
        import pandas as pd

        places = dict(zip(self.chosen.tolist(), range(1, len(self.chosen) + 1), strict=True))
        numbers = [trial.number for trial in self.trials]
        return pd.DataFrame(
            {
                "trial": numbers,
                **pd.DataFrame([dict(trial.settings) for trial in self.trials]),
                "recall": self.recalls,
                "standard_error": self.standard_errors,
                "seconds": [trial.seconds for trial in self.trials],
                "finding": [trial.finding for trial in self.trials],
                "place": pd.array([places.get(number) for number in numbers], dtype="Int64"),
            }
        )

    def caption(self) -> str:
        """Say what was chosen from what, and which neighbours cannot be told apart."""
        n_failed = int(np.isnan(self.recalls).sum())
        best, worst = self.recalls[self.chosen[[0, -1]]]
        return (
            f"{len(self.models)} models of {len(self.trials)} trials ({n_failed} failed), from "
            f"{best:.4f} to {worst:.4f} by {self.metric} over {self.n_users:,} tuning users, who "
            f"were cut from training. {self._steps_in_words()} {self.n_missed} of "
            f"{len(self.steps)} steps had no candidate near."
        )

    def _steps_in_words(self) -> str:
        """Say which models are too close."""
        close = [f"{place + 1} and {place + 2}" for place in np.flatnonzero(~self.is_clear)]
        if close:
            return f"Not two standard errors apart: {', '.join(close)}."
        return "Each is more than two standard errors better than the next."


def search_models(
    interactions: Interactions,
    space: Space = SPACE,
    *,
    n_models: int,
    trials: int,
    seed: int,
    n_jobs: int,
    cutoff: int = 5,
    beta: float = 0.5,
    base: EmbeddingSettings | None = None,
    floor: float = 0.4,
    tuning_share: float = 0.1,
    most_tuning_users: int = 10_000,
    test_users: Numbering | None = None,
    table: Path | None = None,
    progress: Progress | None = None,
) -> Search:
    """Search settings at random, and choose models that differ in quality and in lists.

    Every trial is trained without the tuning users and measured on them by popularity-stratified
    recall under leave last one out. `choose_models` then chooses.

    Parameters
    ----------
    interactions
        Of the training users.
    space
        Where to draw settings, all different. A space of choices alone is a grid, and is tried
        whole if there are as many trials.
    n_models
        Models wanted.
    trials
        Trials, those in the table included; fewer if the space is used up.
    seed
        Of the draws, of the tuning users and of training.
    n_jobs
        Threads of a trial; no result depends on it.
    cutoff, beta
        Of recall. Kasalický (2021) has cut-off 5, and a beta of 5 that lies outside its own range;
        0.5 may be meant.
    base
        Settings that are not searched.
    floor
        Recall of the worst model wanted, as a share of the best.
    tuning_share, most_tuning_users
        Of the training users with two distinct items or more.
    test_users
        Users whose events must not be seen, and are left out.
    table
        A csv file, a line for each trial, written whole after each; beside it a folder for what
        users got. The same call goes on from there, and one with more trials or another choice
        uses what is there. None to keep nothing.
    progress
        Shows the trials; nothing by default.

    Raises
    ------
    InputError
        If the space names no setting, implicit is missing, fewer trials than models came to
        something, the table cannot be read, or a number is out of range.

    References
    ----------
    Kasalický (2021), sections 2.2 and 4.1, whose AutoALS this stands for.
    """
    _require_settings(space)
    _require_plan(n_models=n_models, trials=trials, floor=floor)
    import_implicit()
    # Draws go by the order of the settings, the key of the table does not.
    space = dict(sorted(space.items()))
    seen = interactions if test_users is None else split_users(interactions, test_users)[0]
    bench = Bench.of(
        seen,
        base=base or EmbeddingSettings(),
        cutoff=cutoff,
        beta=beta,
        tuning_share=tuning_share,
        most_tuning_users=most_tuning_users,
        seed=seed,
        n_jobs=n_jobs,
    )
    ledger = TrialLedger.of(table, space, bench) if table else None
    drawn = draw_settings(space, trials=trials, seed=seed)
    outcomes: list[Outcome] = []
    with (progress or Silent())("Searching models", len(drawn)) as bar:
        for number, settings in enumerate(drawn):
            known = ledger.find(number) if ledger else None
            outcomes.append(known or bench.measure(number, settings))
            if ledger and not known:
                ledger.note(*outcomes[number])
            bar.advance()
    return _search_of(outcomes, bench, n_models=n_models, floor=floor)


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


@dataclass(frozen=True, eq=False)
class _Measures:
    """What trials came to, NaN for those that failed.

    Parameters
    ----------
    recalls
        Means over the tuning users, of shape (n_trials,).
    replicates
        The same in each replicate of the bootstrap, of shape (n_trials, n_replicates).
    overlaps
        Of lists, of shape (n_trials, n_trials).
    """

    recalls: Floats
    replicates: Floats
    overlaps: Floats

    @classmethod
    def of(cls, found: Mapping[int, Evidence], *, n_trials: int, seed: int) -> _Measures:
        numbers = np.array(list(found))
        recalls = np.full(n_trials, np.nan)
        recalls[numbers] = [evidence.mean for evidence in found.values()]
        replicates = np.full((n_trials, REPLICATES), np.nan)
        replicates[numbers] = _replicates(list(found.values()), seed=seed)
        overlaps = np.full((n_trials, n_trials), np.nan)
        lists = np.stack([evidence.lists for evidence in found.values()])
        overlaps[np.ix_(numbers, numbers)] = overlap_matrix(lists)
        return cls(recalls, replicates, overlaps)


def _search_of(outcomes: Sequence[Outcome], bench: Bench, *, n_models: int, floor: float) -> Search:
    """Choose among the trials, and say how sure their differences are."""
    trials = tuple(trial for trial, _ in outcomes)
    found = {trial.number: evidence for trial, evidence in outcomes if evidence}
    if not found:
        raise InputError(f"no trial came to anything; the first: {trials[0].finding}")
    measures = _Measures.of(found, n_trials=len(trials), seed=bench.seed)
    choice = choose_models(measures.recalls, measures.overlaps, n_models=n_models, floor=floor)
    chosen = choice.chosen
    return Search(
        trials=trials,
        models=tuple(bench.settings_of(trials[number].settings) for number in chosen.tolist()),
        chosen=chosen,
        recalls=measures.recalls,
        standard_errors=measures.replicates.std(axis=1, ddof=1),
        overlaps=measures.overlaps[np.ix_(chosen, chosen)],
        step_errors=np.diff(measures.replicates[chosen], axis=0).std(axis=1, ddof=1),
        n_missed=choice.n_missed,
        n_users=len(next(iter(found.values())).users),
        metric=bench.metric,
    )


def _replicates(found: Sequence[Evidence], *, seed: int) -> Floats:
    """Give the mean recall of each model in each replicate, the same users drawn for all."""
    users = found[0].users
    recalls = np.stack([evidence.recalls for evidence in found]).astype(np.float64)
    means = np.empty((len(found), REPLICATES))
    for replicate in range(REPLICATES):
        weights = poisson_weights(users, replicate=replicate, seed=seed)
        means[:, replicate] = (recalls * weights).sum(axis=1) / max(weights.sum(), 1)
    return means


def _require_settings(space: Space) -> None:
    """Refuse to search what is no setting."""
    names = asdict(EmbeddingSettings())
    for name in space:
        if name not in names:
            raise InputError(
                f"als-knn has no setting called {name!r}; there are: {', '.join(names)}."
            )


def _require_plan(*, n_models: int, trials: int, floor: float) -> None:
    """Refuse a choice that cannot be made, before the trials."""
    if not 1 <= n_models <= trials:
        raise InputError(f"`n_models` must be from 1 to the {trials} trials, got {n_models}.")
    if not 0 <= floor < 1:
        raise InputError(f"`floor` must be at least 0 and below 1, got {floor}.")
