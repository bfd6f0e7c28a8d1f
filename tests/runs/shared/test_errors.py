"""Sentences on what is wrong with names: which, what may have been meant, all at once."""

import warnings

import pytest

from runs import InputError, InputWarning
from runs.shared.errors import (
    ErrorCollector,
    NearTies,
    as_input_error,
    counted,
    how_to_add,
    how_to_install,
    needed_by,
    prefixed_errors,
    refuse_unknown_keywords,
    require_choice,
    require_known,
    suggestion,
    warn,
    warning_sentences,
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
    assert suggestion("xyz", ["slim", "ease"]) == "there are slim, ease."
    assert suggestion("NDCG", ["nDCG", "AP"]) == "did you mean 'nDCG'?"


def test_findings_are_told_each_once_and_in_order() -> None:
    errors = ErrorCollector()
    for text in ("b is wrong.", "a is wrong.", "b is wrong."):
        with errors.catching():
            raise InputError(text)
    with pytest.raises(InputError) as caught:
        errors.raise_any()
    assert str(caught.value) == "b is wrong. A is wrong."


def test_nothing_is_told_of_nothing() -> None:
    errors = ErrorCollector()
    with errors.catching():
        pass
    errors.raise_any()


def test_only_the_errors_that_are_named_become_findings() -> None:
    with pytest.raises(InputError, match=r"^a\.csv: no table \(odd\)\.$"), prefixed_errors("a.csv"):  # noqa: SIM117
        with as_input_error("no table", ValueError):
            raise ValueError("odd")
    with pytest.raises(KeyError), as_input_error("no table", ValueError):
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


def remarks(*given: InputWarning) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for warning in given:
            warnings.warn(warning, stacklevel=1)
    return warning_sentences(caught)


def test_what_was_warned_of_is_told_once() -> None:
    assert remarks(InputWarning("a"), InputWarning("b"), InputWarning("a")) == ["a", "b"]


def test_near_ties_of_several_run_files_are_told_together() -> None:
    (one,) = remarks(NearTies("a.run", 3))
    assert one.startswith("a.run: 3 neighbours in the lists")
    joined, other = remarks(NearTies("a.run", 3), InputWarning("b"), NearTies("c.run", 4))
    assert joined.startswith("2 run files (the first is a.run): 7 neighbours in the lists")
    assert other == "b"


def test_an_unknown_keyword_is_refused_with_a_similar_one() -> None:
    @refuse_unknown_keywords
    def score(run: str, *, cutoff: int = 5) -> tuple[str, int]:
        return run, cutoff

    assert score("a", cutoff=3) == ("a", 3)
    with pytest.raises(
        InputError, match=r"^score\(\) has no argument 'cutof'; did you mean 'cutoff'"
    ):
        score("a", cutof=3)  # type: ignore[call-arg]


def test_a_missing_package_is_named_with_the_extra_that_has_it() -> None:
    with pytest.raises(InputError) as caught, needed_by("tuning", extra="tune"):
        raise ModuleNotFoundError(name="optuna.samplers")
    assert str(caught.value).startswith("tuning needs the package 'optuna'; ")
    assert "'.[tune]'" in str(caught.value)


def test_an_extra_is_installed_beside_the_recommenders_each_once() -> None:
    assert "'.[recommenders,tune]'" in how_to_install("tune")
    assert "'.[recommenders]'" in how_to_install("recommenders")


def test_a_package_is_added_by_its_name() -> None:
    assert "`pip install dask`" in how_to_add("dask")


def test_findings_name_the_file_and_the_line() -> None:
    assert str(InputError.at_line("a.csv", 3, "odd.")) == "a.csv, line 3: odd."
    assert str(InputError.at_line("a.csv", 3, "odd.", unit="row")) == "a.csv, row 3: odd."


def test_a_warning_is_of_the_caller_of_who_warns() -> None:
    def read() -> None:
        warn("odd")

    with pytest.warns(InputWarning, match="^odd$") as caught:
        read()
    assert caught[0].filename == __file__
