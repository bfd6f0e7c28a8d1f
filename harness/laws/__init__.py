"""Laws for metrics: what one may expect of any metric, checked by searching for the contrary."""

from importlib.util import find_spec

from runs.shared.errors import missing_package

if find_spec("hypothesis") is None:
    raise missing_package("hypothesis", needed_by="`harness check`", extra="check")
