"""What a result showed is read back without the code that made it."""

from pathlib import Path

import pandas as pd
import pytest

from analyses.shared.figures import draw_figure
from analyses.shared.result import Result, figures_of, tables_of
from harness.report.kept_result import keep_result, read_kept_result
from runs import InputError
from tests.harness.results import sparsity_of

MADE = sparsity_of({("P", 20): 0.8, ("nDCG", 20): 0.6, ("AP", 5): 0.5}, margin=0.05, apart=0.02)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Result:
    path = tmp_path_factory.mktemp("kept") / "sparsity.shown.npz"
    path.write_bytes(keep_result(MADE))
    return read_kept_result(path)


def test_sentences_are_kept(kept: Result) -> None:
    assert kept.caption() == MADE.caption()
    assert tuple(kept.findings()) == tuple(MADE.findings())
    assert tuple(kept.cautions()) == tuple(MADE.cautions())


def test_tables_are_kept(kept: Result) -> None:
    mine, theirs = tables_of(type(kept)), tables_of(type(MADE))
    assert [(f.name, f.title, f.alias) for f in mine] == [
        (f.name, f.title, f.alias) for f in theirs
    ]
    for own, other in zip(mine, theirs, strict=True):
        assert own.make(kept).to_latex() == other.make(MADE).to_latex()


def test_faces_and_captions_of_figures_are_kept(kept: Result) -> None:
    theirs = [face for face in figures_of(type(MADE)) if face.is_of(MADE)]
    mine = figures_of(type(kept))
    assert [(f.file, f.title, f.panels) for f in mine] == [
        (f.file, f.title, f.panels) for f in theirs
    ]
    assert [f.caption(kept) for f in mine] == [f.caption(MADE) for f in theirs]
    assert all(face.is_of(kept) for face in mine)


def test_no_figure_is_drawn(kept: Result) -> None:
    for face in figures_of(type(kept)):
        with pytest.raises(InputError, match="name it with --plugin"):
            draw_figure(kept, face)


def test_estimates_and_their_differences_are_kept(kept: Result) -> None:
    mine, theirs = kept.estimates(), MADE.estimates()
    assert mine is not None
    assert theirs is not None
    at_20 = theirs.measures.at(20)
    assert mine.of(at_20) == theirs.of(at_20) != {}
    pd.testing.assert_frame_equal(mine.differences(), theirs.differences())


def test_the_tables_in_full_are_files(kept: Result) -> None:
    with pytest.raises(InputError, match="its tables in full are in tables/"):
        kept.frames()


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the study has no such result"):
        read_kept_result(tmp_path / "none.shown.npz")
