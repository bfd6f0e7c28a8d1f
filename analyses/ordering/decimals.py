"""How exactly scores of systems are compared."""

DECIMALS = 12
"""System scores are rounded to this many decimals, so that equal systems tie."""
