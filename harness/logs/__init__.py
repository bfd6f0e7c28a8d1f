"""Logs of experiments: what was recommended, what users did, by which model, in which arm."""

from harness.logs.facts import LogFacts
from harness.logs.reading import Logs, read_logs

__all__ = ["LogFacts", "Logs", "read_logs"]
