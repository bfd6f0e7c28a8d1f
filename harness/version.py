"""The version of the harness."""

__version__ = "0.32.0"
