"""The version of the harness."""

__version__ = "0.33.0"
