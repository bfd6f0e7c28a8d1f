"""What is imported with what systems share."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_register_needs_neither_lenskit_nor_torch() -> None:
    code = """
import sys
import recommenders.shared.as_component, recommenders.shared.lenskit_bridge
import recommenders.shared.user_system
print({"lenskit", "torch", "scipy.sparse"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
