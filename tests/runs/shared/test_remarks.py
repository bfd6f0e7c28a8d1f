import warnings
from pathlib import Path

import pytest

from runs import InputWarning
from runs.shared.errors import NearTies, remarks_of


def remarks(*given: InputWarning) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for warning in given:
            warnings.warn(warning, stacklevel=1)
    return remarks_of(caught)


def test_near_ties_of_all_run_files_are_one_remark() -> None:
    near = [NearTies(Path(name), count) for name, count in (("a.run", 2), ("b.run", 3))]
    assert remarks(near[0], InputWarning("odd."), near[1]) == [
        "2 run files (the first is a.run): 5 neighbours in the lists have scores that differ in "
        "double precision only; trec_eval 9 and pytrec_eval rank them as ties.",
        "odd.",
    ]


def test_near_ties_of_one_run_file_name_it() -> None:
    (remark,) = remarks(NearTies(Path("a.run"), 2))
    assert remark.startswith("a.run: 2 neighbours in the lists have scores that differ in double")


@pytest.mark.parametrize("count", [1, 2])
def test_what_is_remarked_again_is_said_once(count: int) -> None:
    assert remarks(*[InputWarning("odd.")] * count) == ["odd."]
