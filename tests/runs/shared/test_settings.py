"""Settings: what every number of them is bounded by."""

from typing import Any

import pytest

from analyses.shared.analysis import built_in_analyses

DRAWN = ("samples", "replicates", "repeats", "orders", "worlds", "permutations")


def highest(facts: dict[str, Any]) -> int | None:
    """Look up the bound of a number, or of what there is if there is one."""
    kinds = [facts, *facts.get("anyOf", ())]
    return next((kind["maximum"] for kind in kinds if "maximum" in kind), None)


@pytest.mark.parametrize("name", built_in_analyses())
def test_a_number_of_draws_has_an_upper_bound(name: str) -> None:
    """Results are kept for each draw: more would be noticed after training, out of memory."""
    settings = built_in_analyses()[name].settings.model_json_schema().get("properties", {})
    for setting, facts in settings.items():
        if setting in DRAWN:
            bound = highest(facts)
            assert bound is not None, setting
            assert bound <= 1_000_000, setting
