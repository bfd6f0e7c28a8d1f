"""Where files may be written by names from data."""

from pathlib import Path

import pytest

from runs import InputError
from runs.shared.files import path_within, write_within

INSIDE = ["a.csv", "tables/a.csv", "runs/a b.run", "é/ü=@.npz", "..a", "a..b/c"]
OUTSIDE = ["", ".", "..", "../a", "a/../../b", "a/..", "/a", "//host/a", "C:a", "C:/a", r"a\b"]
UNFIT = ["a\0b", "a\nb", "\x1b[2J", "\ud800"]


@pytest.mark.parametrize("name", INSIDE)
def test_a_name_within_the_folder_is_written_there(tmp_path: Path, name: str) -> None:
    assert write_within(tmp_path, name, b"1") == tmp_path / name
    assert (tmp_path / name).read_bytes() == b"1"


@pytest.mark.parametrize("name", OUTSIDE + UNFIT)
def test_any_other_name_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    target = tmp_path / "target"
    with pytest.raises(InputError, match="is not in the folder"):
        write_within(target, name, b"1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["link/a.csv", "link", "loop/a.csv"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    target.mkdir()
    elsewhere.mkdir()
    (target / "link").symlink_to(elsewhere)
    (target / "loop").symlink_to("loop")
    with pytest.raises(InputError, match="is not in the folder"):
        path_within(target, name)


def test_a_folder_may_be_a_link_itself_and_have_links_within(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/runs").mkdir()
    (tmp_path / "real/again").symlink_to("runs")
    (tmp_path / "study").symlink_to("real")
    write_within(tmp_path / "study", "again/a.run", b"1")
    assert (tmp_path / "real/runs/a.run").read_bytes() == b"1"
