"""How items are hidden."""

from typing import Any

import pytest
from recommenders.kernels.hidden import Hiding

from runs import InputError


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"repeats": "last"}, "`repeats` must be first or all, got 'last'"),
        ({"reachable": "some"}, "`reachable` must be positive or all, got 'some'"),
        ({"lists": "all"}, "`lists` must be profile or loo or lloo, got 'all'"),
        ({"tie_order": "expected"}, "a table of ranks holds one whole rank"),
        ({"tie_order": "random"}, "`tie_order` must be item, got 'random'"),
        ({"deepest": 0}, "`deepest` must be from 1 to 65534, got 0"),
        ({"deepest": 65535}, "`deepest` must be from 1 to 65534, got 65535"),
    ],
)
def test_what_is_no_choice_is_refused(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Hiding(**choices)


def test_repeats_that_could_never_be_hit_are_refused() -> None:
    with pytest.raises(InputError, match="can never be hit"):
        Hiding(repeats="all")
