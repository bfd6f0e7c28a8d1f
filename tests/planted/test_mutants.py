"""Mutants are of what is computed, and their tests are those of the module."""

from itertools import islice

import pytest
from scipy.stats import binomtest

from tests.planted.__main__ import TREE
from tests.planted.mutants import drawn, equivalents, is_equivalent, mirror, mutable_places, wilson

pytest.importorskip("cosmic_ray", reason="needs Cosmic Ray: make mutants installs it")

SOURCE = """
@dataclass(frozen=True)
class A:
    n: int | None = 3

def f(a: int | None = None, *, b: float = 0.5) -> int | None:
    return a < b
"""


def test_annotations_decorators_and_the_star_are_no_places() -> None:
    places = mutable_places(SOURCE)
    assert len(places) == 3  # The numbers 3 and 0.5, and the comparison.
    names = {type(operator).__name__ for place in places for operator, _ in place}
    assert not [name for name in names if "BitOr" in name or "Mul" in name]


def test_what_computes_nothing_is_left_out() -> None:
    source = "if TYPE_CHECKING:\n    import x\npairs = zip(a, b, strict=True)\nflag = True\n"
    places = mutable_places(source)
    assert [type(operator).__name__ for ((operator, _),) in places] == ["ReplaceTrueWithFalse"]


def test_the_same_seed_draws_the_same_mutants_each_once() -> None:
    first, again = (list(islice(drawn(5), 8)) for _ in range(2))
    assert first == again
    assert len(set(first)) == 8
    assert all(mutant.before != mutant.after for mutant in first)


def test_the_tests_of_a_module_are_those_of_its_mirror_or_of_its_folder() -> None:
    assert mirror("harness/report/answer.py") == [
        "tests/harness/report/test_answer.py",
        "harness/report/answer.py",
    ]
    assert "tests/harness/metrics/test_of_lists.py" in mirror("harness/metrics/precision.py")


def test_a_listed_mutant_is_equivalent() -> None:
    mutant = next(drawn(5))
    old, new = (
        "\n".join(line[1:].strip() for line in mutant.changed[1:] if line[0] == sign)
        for sign in "-+"
    )
    assert is_equivalent(mutant, [{"file": mutant.file, "old": old, "new": new, "reason": ""}])
    assert not is_equivalent(mutant, [{"file": "x.py", "old": old, "new": new, "reason": ""}])


def test_the_interval_is_wilsons() -> None:
    expected = binomtest(17, 20).proportion_ci(method="wilson")
    assert wilson(17, 20) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_the_listed_mutants_are_of_lines_that_are_there() -> None:
    for mutant in equivalents():
        lines = [line.strip() for line in (TREE / mutant["file"]).read_text("utf-8").splitlines()]
        assert set(mutant["old"].splitlines()) <= set(lines), mutant
        assert mutant["reason"]
