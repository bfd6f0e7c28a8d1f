"""Runs: ranked lists as matrices, and TREC run files in and out."""

from runs.errors import InputError, InputWarning
from runs.ids import first_unfit_id, id_fault
from runs.numbering import Numbering
from runs.run import NO_ITEM, Run, top_items

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
