"""Recommenders: one system per file, over LensKit components.

Every module of this folder declares one system; what they share is in the package
``recommenders.shared``. Listing the systems and checking their settings imports neither
LensKit nor torch. Every system is a LensKit component, too: ``from recommenders import RM2Scorer,
RM2Config``.
"""

from recommenders.shared.as_component import component as component
from recommenders.shared.as_component import component_attribute as _component_attribute
from recommenders.shared.full_ranks import candidate_ranks as candidate_ranks
from recommenders.shared.full_ranks import full_ranks as full_ranks
from recommenders.shared.full_ranks import held_out_items as held_out_items
from recommenders.shared.lenskit_bridge import list_metric as list_metric
from recommenders.shared.register import find_system as find_system
from recommenders.shared.register import read_settings as read_settings
from recommenders.shared.register import system_set as system_set
from recommenders.shared.register import systems as systems
from recommenders.shared.scorers import BatchScorer as BatchScorer
from recommenders.shared.system import PROCESS_BYTES as PROCESS_BYTES
from recommenders.shared.system import Choice as Choice
from recommenders.shared.system import Range as Range
from recommenders.shared.system import Settings as Settings
from recommenders.shared.system import SystemSpec as SystemSpec
from recommenders.shared.system import search_space as search_space
from recommenders.shared.system import searched as searched
from recommenders.shared.system import system as system
from recommenders.shared.system import workers_within as workers_within
from recommenders.shared.train_and_rank import recommend as recommend
from recommenders.shared.train_and_rank import require_memory as require_memory
from recommenders.shared.train_and_rank import train as train
from recommenders.shared.train_and_rank import train_checked as train_checked
from recommenders.shared.user_system import UNKNOWN_FAMILY as UNKNOWN_FAMILY
from recommenders.shared.user_system import file_of as file_of
from recommenders.shared.user_system import is_user_system as is_user_system
from recommenders.shared.user_system import label_of as label_of

__getattr__ = _component_attribute
