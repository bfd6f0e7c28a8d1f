"""Logs of experiments: what was recommended, what users did, by which model, in which arm."""

from analyses.online.logs.log_facts import LogFacts
from analyses.online.logs.read_log import Logs, read_logs

__all__ = ["LogFacts", "Logs", "read_logs"]
