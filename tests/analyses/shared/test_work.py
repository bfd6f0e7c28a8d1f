"""Scores without ranks, and ranks without scores."""

import numpy as np
import pytest

from analyses.shared.measure import Measures, Scores
from analyses.shared.work import Alone, RanksAlone, ScoresAlone
from runs import InputError

SCORES = ScoresAlone(Scores(np.zeros((0, 0, 0)), Measures(()), (), np.array([])))
RANKS = RanksAlone(full_ranks={})


@pytest.mark.parametrize(
    ("known", "what"),
    [
        *((RANKS, what) for what in ("scores", "scales", "qrels", "popularity_counts")),
        *((SCORES, what) for what in ("qrels", "popularity_counts", "recommended", "full_ranks")),
        (SCORES, "truth"),
    ],
)
def test_what_is_not_known_is_refused_in_a_sentence(known: Alone, what: str) -> None:
    with pytest.raises(InputError, match=f"needs .*, and only {known.name} are known"):
        getattr(known, what)


@pytest.mark.parametrize("known", [RANKS, SCORES])
def test_nothing_is_scored_anew_without_judgements(known: Alone) -> None:
    with pytest.raises(InputError, match="needs judgements"):
        known.rescorer(1)


def test_what_is_known_is_given() -> None:
    assert (RANKS.full_ranks, SCORES.scales) == ({}, {})
