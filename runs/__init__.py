"""Runs: ranked lists as matrices, and TREC run files in and out.

`runs.shared` is what all packages share, whether they have runs or not: ids, errors, files, streams
of random numbers, progress, workers, members of lists, and settings. `runs.tables` reads tables.
"""

from runs.run import NO_ITEM as NO_ITEM
from runs.run import Run as Run
from runs.run import top_items as top_items
from runs.shared.errors import InputError as InputError
from runs.shared.errors import InputWarning as InputWarning
from runs.shared.ids import Numbering as Numbering
