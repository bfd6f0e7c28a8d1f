"""What is imported when systems are listed."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_listing_and_checking_imports_nothing_slow() -> None:
    code = """
import sys
import recommenders
recommenders.systems()
recommenders.read_settings("ease", {"regularization": 100.0})
print({"lenskit", "torch", "sklearn", "scipy.sparse", "pandas"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
