"""Ranks without scores."""

import pytest

from analyses.sampled.shared.ranks_alone import RanksAlone
from runs import InputError


@pytest.mark.parametrize("what", ["scores", "scales", "qrels", "popularity_counts"])
def test_what_is_not_known_is_refused_in_a_sentence(what: str) -> None:
    with pytest.raises(InputError, match=r"needs .*, and only ranks are known"):
        getattr(RanksAlone({}), what)


def test_nothing_is_scored_anew_without_judgements() -> None:
    with pytest.raises(InputError, match="needs judgements"):
        RanksAlone({}).rescorer(1)
