"""Laws for metrics: what one may expect of any metric, checked by searching for the contrary."""

from importlib import import_module

from runs.shared.errors import needed_by

with needed_by("`harness check`", extra="check"):
    import_module("hypothesis")
