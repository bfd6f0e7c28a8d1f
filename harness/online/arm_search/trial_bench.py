"""Where models are tried: what they learn from, and whom they are measured on."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Any, TypeAlias

import harness
from harness.online.arm_search.trial_evidence import Evidence, gather_evidence
from harness.study.store import content_key
from harness.tuning.search import Space
from harness.tuning.trials import Trial
from qrels.interactions.interactions import Interactions
from qrels.interactions.test_users import draw_test_users, split_users
from recommenders.kernels.embeddings import EmbeddingSettings, similarity
from recommenders.shared.search_space import Value
from runs import InputError

Outcome: TypeAlias = tuple[Trial, Evidence | None]
"""A trial and what it came to; nothing if it failed."""


@dataclass(frozen=True, eq=False)
class Bench:
    """Tries settings, all alike.

    Parameters
    ----------
    train
        Events that models learn from.
    tuning
        Events of the tuning users, of whom they do not.
    base
        Settings that are not searched.
    cutoff, beta
        Of recall.
    seed, n_jobs
        Of training.
    """

    train: Interactions
    tuning: Interactions
    base: EmbeddingSettings
    cutoff: int
    beta: float
    seed: int
    n_jobs: int

    def __post_init__(self) -> None:
        if self.cutoff < 1:
            raise InputError(f"`cutoff` must be at least 1, got {self.cutoff}.")
        if not 0 <= self.beta < math.inf:
            raise InputError(f"`beta` must not be negative, got {self.beta}.")

    @classmethod
    def of(
        cls,
        interactions: Interactions,
        *,
        base: EmbeddingSettings,
        cutoff: int,
        beta: float,
        tuning_share: float,
        most_tuning_users: int,
        seed: int,
        n_jobs: int,
    ) -> Bench:
        """Cut the tuning users from training."""
        # Not the draw of the test users: with their seed, those whom it takes are gone.
        draw_seed = int(content_key("tuning users", seed)[:15], 16)
        ids = draw_test_users(
            interactions, share=tuning_share, most=most_tuning_users, seed=draw_seed
        )
        train, tuning = split_users(interactions, ids)
        return cls(train, tuning, base, cutoff, beta, seed, n_jobs)

    @property
    def metric(self) -> str:
        """Name of what is measured."""
        return f"Recall@{self.cutoff} (LLOO, beta {self.beta:g})"

    def key(self, space: Space) -> str:
        """Hash all that a trial depends on, but for its number."""
        from harness.study.stages import digest

        columns = [
            (part.user, part.item, part.time, part.value) for part in (self.train, self.tuning)
        ]
        data = digest(
            self.train.users.ids, self.train.items.ids, *(column for of in columns for column in of)
        )
        places = {name: str(place) for name, place in space.items()}
        versions = (harness.__version__, version("implicit"))
        numbers = (self.cutoff, self.beta, self.seed)
        return content_key(versions, data, places, asdict(self.base), numbers)

    def measure(self, number: int, settings: Mapping[str, Value]) -> Outcome:
        """Train and measure a model; a trial fails if it cannot be trained."""
        begun = time.perf_counter()
        try:
            evidence = self._evidence(settings)
        except InputError as error:
            seconds = time.perf_counter() - begun
            return Trial(number, settings, None, seconds, finding=str(error)), None
        seconds = time.perf_counter() - begun
        return Trial(number, settings, evidence.mean, seconds), evidence

    def _evidence(self, settings: Mapping[str, Value]) -> Evidence:
        model = similarity(
            self.train, self.settings_of(settings), seed=self.seed, n_jobs=self.n_jobs
        )
        return gather_evidence(
            model,
            self.tuning,
            self.train.event_counts(),
            cutoff=self.cutoff,
            beta=self.beta,
            n_jobs=self.n_jobs,
        )

    def settings_of(self, searched: Mapping[str, Any]) -> EmbeddingSettings:
        """Fill in the settings that are not searched."""
        return replace(self.base, **searched)
