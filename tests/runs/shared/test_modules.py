from pathlib import Path

import pytest

from runs import InputError
from runs.shared.members import load_module


def test_a_file_that_changed_within_a_second_is_run_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    path = tmp_path / "mine.py"
    for value in range(3):
        path.write_text(f"value = {value}\n")
        assert load_module(path, what="file").value == value
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("value = 1\n")
    with pytest.raises(InputError, match=r"mine.txt: a file must be a Python file \(.py\)."):
        load_module(path, what="file")
