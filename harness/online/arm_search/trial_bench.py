"""Where models are tried: what they learn from, and whom they are measured on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, TypeAlias

from harness.online.arm_search.search_section import SearchSection
from harness.online.arm_search.trial_evidence import Evidence, gather_evidence
from harness.study.store import content_key
from harness.tuning.search import Space
from harness.tuning.trials import Trial
from harness.version import __version__
from qrels.interactions.interactions import Interactions
from qrels.interactions.test_users import draw_test_users, split_users
from recommenders.kernels.embeddings import EmbeddingSettings, similarity
from recommenders.shared.search_space import Value
from runs import InputError

Outcome: TypeAlias = tuple[Trial, Evidence | None]
"""A trial and what it came to; nothing if it failed."""


TUNING_SHARE, MOST_TUNING_USERS = 0.1, 10_000
"""Tuning users, of the training users with two distinct items or more."""


@dataclass(frozen=True, eq=False)
class Bench:
    """Tries settings, all alike: on the events of tuning users, of whom models do not learn."""

    train: Interactions
    tuning: Interactions
    section: SearchSection
    seed: int
    n_jobs: int

    @classmethod
    def of(
        cls, interactions: Interactions, section: SearchSection, *, seed: int, n_jobs: int
    ) -> Bench:
        """Cut the tuning users from training."""
        # Not the draw of the test users: with their seed, those whom it takes are gone.
        draw_seed = int(content_key("tuning users", seed)[:15], 16)
        ids = draw_test_users(
            interactions, share=TUNING_SHARE, most=MOST_TUNING_USERS, seed=draw_seed
        )
        return cls(*split_users(interactions, ids), section, seed, n_jobs)

    @property
    def metric(self) -> str:
        """Name of what is measured."""
        return f"Recall@{self.section.cutoff} (LLOO, beta {self.section.beta:g})"

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
        versions = (__version__, version("implicit"))
        numbers = (self.section.cutoff, self.section.beta, self.seed)
        return content_key(versions, data, places, asdict(EmbeddingSettings()), numbers)

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

    def _evidence(self, settings: Mapping[str, Any]) -> Evidence:
        chosen = EmbeddingSettings(**settings)
        return gather_evidence(
            similarity(self.train, chosen, seed=self.seed, n_jobs=self.n_jobs),
            self.tuning,
            self.train.event_counts(),
            cutoff=self.section.cutoff,
            beta=self.section.beta,
            n_jobs=self.n_jobs,
        )
