"""Where the expected values of other tools are, which are no part of this repository."""

from __future__ import annotations

from pathlib import Path

import pytest

CONFORMANCE = Path(__file__).parents[1].parent / "shared" / "conformance"

needs_conformance = pytest.mark.skipif(
    not CONFORMANCE.is_dir(), reason=f"the expected values of other tools are not at {CONFORMANCE}"
)
