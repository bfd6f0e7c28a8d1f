"""Runs: ranked lists as matrices, and TREC run files in and out."""

from runs.errors import InputError, InputWarning
from runs.numbering import Numbering
from runs.run import NO_ITEM, Run, top_items

__all__ = ["NO_ITEM", "InputError", "InputWarning", "Numbering", "Run", "top_items"]
