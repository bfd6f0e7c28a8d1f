"""The list of faults fits the code of today."""

from pathlib import Path

import pytest

from tests.planted.fault import Fault, read_faults

ROOT = Path(__file__).parents[2]
FAULTS = read_faults()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_what_is_replaced_occurs_once_and_leaves_valid_code(fault: Fault) -> None:
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    compile(fault.planted_in(text), fault.file, "exec")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_related_tests_are_there(fault: Fault) -> None:
    for test in fault.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists()
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_no_fault_is_named_twice() -> None:
    names = [fault.name for fault in FAULTS]
    assert sorted(set(names)) == sorted(names)


def test_a_fault_is_taken_out_again(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    with Fault("a", "a.py", "1", "2", []).planted(tmp_path):
        assert (tmp_path / "a.py").read_text() == "x = 2\n"
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


def test_a_fault_that_fits_twice_is_not_planted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1 + 1\n")
    with (
        pytest.raises(ValueError, match="not once"),
        Fault("a", "a.py", "1", "2", []).planted(tmp_path),
    ):
        pass
