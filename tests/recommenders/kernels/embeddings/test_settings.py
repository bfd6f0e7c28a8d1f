"""Settings of item-kNN on learned vectors."""

from typing import Any

import pytest

from recommenders.kernels.embeddings import EmbeddingSettings
from runs import InputError


def test_settings_print_whole_numbers_without_a_point() -> None:
    assert str(EmbeddingSettings(regularization=10.0)).startswith(
        "als-knn(factors=128,regularization=10,"
    )


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"sweeps": 0}, "`sweeps` must be at least 1, got 0."),
        ({"alpha": 0.0}, "`alpha` must be above 0, got 0.0."),
        ({"regularization": float("nan")}, "`regularization` must be above 0, got nan."),
        ({"b": 1.5}, "`b` must be from 0 to 1, got 1.5."),
        ({"prune": "twice"}, "`prune` must be once or fixpoint, got 'twice'."),
        ({"bm25_rows": "events"}, "`bm25_rows` must be users or items or none, got 'events'."),
    ],
)
def test_settings_out_of_range_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        EmbeddingSettings(**wrong)
    assert str(caught.value) == sentence
