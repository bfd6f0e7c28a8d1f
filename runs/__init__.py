"""Runs: ranked lists as matrices, and TREC run files in and out."""

from runs.run import NO_ITEM, Run, top_items
from runs.shared.errors import InputError, InputWarning
from runs.shared.ids import Numbering, first_unfit_id, id_fault

__all__ = [
    "NO_ITEM",
    "InputError",
    "InputWarning",
    "Numbering",
    "Run",
    "first_unfit_id",
    "id_fault",
    "top_items",
]
