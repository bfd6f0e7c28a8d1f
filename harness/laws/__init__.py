"""Laws for metrics: what one may expect of any metric, checked by searching for the contrary."""

from harness.laws.cards import Card, check_metric
from harness.laws.law import Evidence, Law, Outcome, Verdict
from harness.laws.lists import Bench, UserList

__all__ = ["Bench", "Card", "Evidence", "Law", "Outcome", "UserList", "Verdict", "check_metric"]
