"""Runs: ranked lists as matrices, and TREC run files in and out."""

from runs.run import NO_ITEM as NO_ITEM
from runs.run import Run as Run
from runs.run import top_items as top_items
from runs.shared.errors import InputError as InputError
from runs.shared.errors import InputWarning as InputWarning
from runs.shared.ids import Numbering as Numbering
