"""What is known of a user's metric is read back without its definition."""

from typing import Any, Literal

import numpy as np

from harness.metrics.shared.metric import metric
from harness.metrics.shared.register import (
    built_in_metrics,
    find_metric,
    keep_metrics,
    read_kept_metrics,
)


@metric("Cost", source="by hand", low=0, high=np.inf, higher_is_better=False, lattice=lambda n: n)
def cost(judged: Any, *, cutoff: Any = None, per: Literal["item", "list"] = "item") -> Any:
    r"""Cost of a list.

    .. math:: c = n
    """
    return np.ones(judged.n_users)


def test_metrics_of_the_harness_are_not_kept() -> None:
    assert keep_metrics(built_in_metrics().values(), [5]) is None


def test_everything_but_the_definition_is_kept() -> None:
    content = keep_metrics([cost(per="list"), cost(mean="geometric")], [5, 10])
    assert content is not None
    (kept,) = read_kept_metrics(content).values()
    assert kept == cost
    facts = ("source", "doc", "low", "high", "higher_is_better", "has_level", "per_user", "aliases")
    assert [getattr(kept, fact) for fact in facts] == [getattr(cost, fact) for fact in facts]
    assert [option.help for option in kept.all_options] == [o.help for o in cost.all_options]
    assert [kept.lattice(n) for n in (5, 10, 20)] == [5, 10, None]
    assert find_metric("Cost(per=list)@5", {"Cost": kept}) == cost(per="list")
