"""Sentences on what is wrong with names: which, what may have been meant, all at once."""

import pytest

from runs import InputError
from runs.shared.errors import (
    Findings,
    counted,
    found_in,
    nearest,
    refusing,
    require_choice,
    require_known,
    with_article,
)


def test_known_names_are_not_refused() -> None:
    require_known("there is no system", ["ease", "slim"], ["slim", "ease", "wrmf"])


def test_every_unknown_name_is_told_with_a_similar_one() -> None:
    with pytest.raises(InputError) as caught:
        require_known("there is no system", ["esae", "slim", "wmrf"], ["slim", "ease", "wrmf"])
    assert str(caught.value) == (
        "there is no system 'esae'; did you mean 'ease'? There is no system 'wmrf'; did you mean "
        "'wrmf'?"
    )


def test_a_name_like_none_is_answered_with_all() -> None:
    assert nearest("xyz", ["slim", "ease"]) == "there are slim, ease."
    assert nearest("NDCG", ["nDCG", "AP"]) == "did you mean 'nDCG'?"


def test_findings_are_told_each_once_and_in_order() -> None:
    findings = Findings()
    for text in ("b is wrong.", "a is wrong.", "b is wrong."):
        with findings.noted():
            raise InputError(text)
    with pytest.raises(InputError) as caught:
        findings.tell()
    assert str(caught.value) == "b is wrong. A is wrong."


def test_nothing_is_told_of_nothing() -> None:
    findings = Findings()
    with findings.noted():
        pass
    findings.tell()


def test_only_the_errors_that_are_named_become_findings() -> None:
    with pytest.raises(InputError, match=r"^a\.csv: no table \(odd\)\.$"), found_in("a.csv"):  # noqa: SIM117
        with refusing("no table", ValueError):
            raise ValueError("odd")
    with pytest.raises(KeyError), refusing("no table", ValueError):
        raise KeyError("odd")


def test_a_choice_is_one_of_the_choices() -> None:
    require_choice("test", "exact", ["exact", "t"])
    with pytest.raises(InputError, match=r"must be one of exact, t, got 'exat'; did you mean 'ex"):
        require_choice("test", "exat", ["exact", "t"])


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 pairs"), (1, "1 pair"), (2, "2 pairs"), (1000, "1,000 pairs")]
)
def test_one_alone_is_singular(count: int, text: str) -> None:
    assert counted(count, "pair") == text


def test_an_article_fits_its_noun() -> None:
    assert [with_article(noun) for noun in ("analysis", "split")] == ["an analysis", "a split"]
