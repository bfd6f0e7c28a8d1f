"""What is known of items, and what to do where it is not."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from qrels import Catalogue
from qrels.catalogue import REMEDIES, ItemsOfLists
from qrels.ranks.judged_ranks import JudgedRanks
from runs import InputError

RANKS = JudgedRanks(loo=np.array([5, 6, 7], dtype=np.uint16))


def seen(catalogue: Catalogue, *, judgements: list[int] | None, system: str) -> ItemsOfLists:
    nothing = np.empty((0, 1), dtype=np.int32)
    numbers = None if judgements is None else np.array(judgements)[:, np.newaxis]
    return ItemsOfLists(catalogue, np.array([0]), nothing, nothing, numbers, system)


@pytest.mark.parametrize("what", REMEDIES)
def test_what_is_not_known_is_told_with_what_to_do(what: str) -> None:
    with pytest.raises(InputError, match=r"(unknown|metric)") as refused:
        Catalogue(3).require(what)
    assert str(refused.value) == f"{REMEDIES[what]}."


def test_what_is_known_is_given() -> None:
    popularity = np.array([3, 0, 1])
    assert Catalogue(3, popularity=popularity).require("popularity") is popularity
    assert Catalogue(3, n_raters=0).require("n_raters") == 0


def test_something_is_derived_of_all_items_once() -> None:
    calls = []

    def derive(catalogue: Catalogue) -> int:
        calls.append(catalogue.n_items)
        return catalogue.n_items + 1

    catalogue = Catalogue(3)
    assert [catalogue.once(derive) for _ in range(2)] == [4, 4]
    assert calls == [3]


def test_profiles_and_hidden_ranks_are_those_of_some_users() -> None:
    profiles = csr_array(np.array([[1.0, 0], [0, 2.0], [3.0, 0]]))
    known = Catalogue(2, profiles=profiles, hidden_ranks={"s": RANKS})
    some = known.select_users(np.array([2, 0]), np.array([2, 0, -1]))
    assert some.profiles is not None
    assert some.profiles.toarray().tolist() == [[3, 0], [1, 0]]
    assert some.hidden_ranks is not None
    assert some.hidden_ranks["s"].require("loo").tolist() == [7, 5, 65535]
    nothing = Catalogue(2).select_users(np.array([0]), np.array([0]))
    assert (nothing.profiles, nothing.hidden_ranks) == (None, None)


def test_hidden_ranks_are_those_of_the_system_and_the_judgements() -> None:
    known = Catalogue(2, hidden_ranks={"s": RANKS})
    ranks = seen(known, judgements=[1, -1], system="s").hidden_ranks()
    assert ranks.require("loo").tolist() == [[6], [65535]]
    for judgements, system in ((None, "s"), ([1], "t")):
        with pytest.raises(InputError, match="ranks of hidden items are unknown"):
            seen(known, judgements=judgements, system=system).hidden_ranks()
