"""Recommenders: one system per file, over LensKit components.

Every module of this folder declares one system; what they share is in the package
``recommenders.shared``. Listing the systems and checking their settings imports neither
LensKit nor torch. Every system is a LensKit component, too: ``from recommenders import RM2Scorer,
RM2Config``.
"""

from recommenders.shared.as_component import component, imported_from_recommenders
from recommenders.shared.full_ranks import candidate_ranks, full_ranks, rankable
from recommenders.shared.lenskit_bridge import list_metric
from recommenders.shared.register import find_system, read_settings, system_set, systems
from recommenders.shared.scorers import BatchScorer
from recommenders.shared.system import (
    PROCESS_BYTES,
    Choice,
    Range,
    Settings,
    SystemSpec,
    search_space,
    searched,
    system,
    workers_within,
)
from recommenders.shared.train_and_rank import recommend, require_memory, train
from recommenders.shared.user_system import file_of, is_user_system, label_of

__all__ = [
    "PROCESS_BYTES",
    "BatchScorer",
    "Choice",
    "Range",
    "Settings",
    "SystemSpec",
    "candidate_ranks",
    "component",
    "file_of",
    "find_system",
    "full_ranks",
    "is_user_system",
    "label_of",
    "list_metric",
    "rankable",
    "read_settings",
    "recommend",
    "require_memory",
    "search_space",
    "searched",
    "system",
    "system_set",
    "systems",
    "train",
    "workers_within",
]

__getattr__ = imported_from_recommenders
