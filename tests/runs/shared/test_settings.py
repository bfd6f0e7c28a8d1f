"""Settings: what every number of them is bounded by, and how a broken rule is told."""

from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, ValidationError

from analyses.shared.analysis import built_in_analyses
from runs import InputError
from runs.shared.settings import (
    Cutoffs,
    Depth,
    Levels,
    Names,
    Permutations,
    Repeats,
    Section,
    Sizes,
    Whole,
    accepted_by,
    broken_rule,
    check_settings,
    not_above,
    shortened,
    without_repetition,
)

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


class Inner(Section):
    """A section within another."""

    file: Path = Path("b")


def lower_case(name: str) -> None:
    """Refuse capitals."""
    if name != name.lower():
        raise InputError(f"{name} has capitals.")


class Card(Section):
    """A setting of each kind."""

    whole: Whole = 1
    most: int = 10
    number: Annotated[int, not_above("most")] = 3
    repeats: Repeats = 1
    permutations: Permutations = 1
    depth: Depth = 1
    names: Names = ()
    sizes: Sizes = ()
    cutoffs: Cutoffs = ()
    levels: Levels = (1.0,)
    name: Annotated[str, accepted_by(lower_case)] = "a"
    file: Path = Path("a")
    files: tuple[Path, ...] = ()
    inner: Inner = Inner()


@pytest.mark.parametrize(
    "fitting",
    [
        {"repeats": 100_000},
        {"permutations": 1_000_000},
        {"depth": 1},
        {"depth": 10_000_000},
        {"sizes": (1, 2)},
        {"cutoffs": (1, 10)},
        {"levels": (1e-9, 1.0)},
        {"most": 5, "number": 5},
    ],
)
def test_bounds_may_be_reached(fitting: dict[str, Any]) -> None:
    card = check_settings("card", Card, fitting)
    assert {name: getattr(card, name) for name in fitting} == fitting


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"whole": 1.0}, "'whole' must be a valid integer, got 1.0."),
        ({"repeats": 100_001}, "'repeats' must be at most 100000, got 100001."),
        ({"repeats": "1"}, "'repeats' must be a valid integer, got '1'."),
        ({"permutations": 1_000_001}, "'permutations' must be at most 1000000, got 1000001."),
        ({"permutations": True}, "'permutations' must be a valid integer, got True."),
        ({"depth": 0}, "'depth' must be at least 1, got 0."),
        ({"depth": 10_000_001}, "'depth' must be at most 10000000, got 10000001."),
        ({"depth": 1.0}, "'depth' must be a valid integer, got 1.0."),
        ({"names": ("b", "a", "b", "a")}, "'names': 'a' is duplicated."),
        ({"names": 3}, "'names' must be a list, got 3."),
        ({"sizes": (1, 0)}, "'sizes.1' must be at least 1, got 0."),
        ({"sizes": (1.0,)}, "'sizes.0' must be a valid integer, got 1.0."),
        ({"cutoffs": (5, 5)}, "'cutoffs': 5 is duplicated."),
        ({"levels": ()}, "'levels' must have at least 1 item, got ()."),
        ({"levels": (0.0,)}, "'levels.0' must be greater than 0, got 0.0."),
        ({"levels": (1.5,)}, "'levels.0' must be at most 1, got 1.5."),
        ({"most": 5, "number": 6}, "'number' must be at most 5, got 6."),
        ({"number": 11}, "'number' must be at most 10, got 11."),
        ({"name": "A"}, "'name': A has capitals."),
        ({"file": 3}, "'file' must be a path, got 3."),
        ({"inner": {"file": 3}}, "'inner.file' must be a path, got 3."),
        ({"inner": 3}, "'inner' must be a table of names and values or instance of Inner, got 3."),
    ],
)
def test_the_first_setting_that_breaks_a_rule_is_named_with_rule_and_value(
    wrong: dict[str, Any], rule: str
) -> None:
    with pytest.raises(InputError) as refused:
        check_settings("card", Card, wrong)
    assert str(refused.value) == f"card: the setting {rule}"


def test_an_unknown_setting_is_refused_with_a_similar_one() -> None:
    with pytest.raises(InputError, match="card has no setting 'repeat'; did you mean 'repeats'"):
        check_settings("card", Card, {"repeat": 1})
    with pytest.raises(InputError, match=r"^card has no setting 'repeat'; it has none\.$"):
        check_settings("card", Section, {"repeat": 1})


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Card().whole = 2  # type: ignore[misc]


def test_paths_are_anchored_in_sections_and_lists_within() -> None:
    card = Card(files=(Path("c"), Path("d")))
    anchored = card.with_absolute_paths(lambda path: Path("/home") / path)
    assert anchored.file == Path("/home/a")
    assert anchored.files == (Path("/home/c"), Path("/home/d"))
    assert anchored.inner.file == Path("/home/b")
    assert anchored.names == ()
    assert card.file == Path("a")


def test_a_long_value_is_cut_off() -> None:
    assert shortened("abc", length=5) == "'abc'"
    assert shortened("abcdef", length=5) == "'abcd..."
    assert shortened([1, 2], length=6) == "[1, 2]"
    assert shortened([1, 2], length=5) == "[1, 2..."
    assert shortened("x" * 300) == f"'{'x' * 199}..."
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    assert shortened(nested) == "a value that is nested too deeply"


def test_a_rule_becomes_a_sentence_with_or_without_a_subject() -> None:
    own = {"type": "value_error", "msg": "Value error, did you mean 'a'?", "input": 1}
    assert broken_rule("`x`", own) == "`x`: did you mean 'a'?"
    bound = {"type": "greater_than_equal", "msg": "Input should be greater than or equal to 1"}
    assert broken_rule("`x`", {**bound, "input": 0}) == "`x` must be at least 1, got 0."
    assert broken_rule("", {**bound, "input": 0}) == "must be at least 1, got 0."


def test_a_table_is_called_so() -> None:
    class Tables(BaseModel):
        table: dict[str, int] = Field(default_factory=dict)

    with pytest.raises(InputError, match="must be a table of names and values, got 3"):
        check_settings("card", Tables, {"table": 3})


def test_no_value_is_given_twice() -> None:
    assert without_repetition((3, 1, 2)) == (3, 1, 2)
    with pytest.raises(ValueError, match="1 is duplicated"):
        without_repetition((3, 1, 3, 1))
