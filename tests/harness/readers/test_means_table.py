from pathlib import Path

import pytest

from analyses.shared.measure import Measure
from harness.readers.means_table import is_means_table, read_means
from runs import InputError

WIDE = "system,ap,nDCG@10\nbm25,0.2,0.4\nlm,0.3,0.5\n"


def table(folder: Path, text: str, name: str = "means.csv") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_systems_stand_below_each_other_and_measures_beside(tmp_path: Path) -> None:
    means = read_means(table(tmp_path, WIDE))
    assert means.systems == ("bm25", "lm")
    assert means.measures == (Measure("ap"), Measure("nDCG", 10))
    assert means.values.tolist() == [[0.2, 0.3], [0.4, 0.5]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("system,ap,rr\na,1,\nb,1,2\n", "line 2: column 'rr': a score is missing."),
        ("system,ap,rr\na,1,2\nb,1,x\n", "line 3: column 'rr': a number expected, found 'x'."),
        ("system,ap,rr\na,1,2\nb,1,nan\n", "line 3: column 'rr': a number expected, found 'nan'."),
        ("system,ap,rr\na,1,2\na,3,4\n", "line 3: system 'a' is duplicated."),
        ("system,ap,ap\na,1,2\nb,3,4\n", "line 1: measure 'ap' is duplicated."),
        ("system,ap,rr\na,1,2\nb,3\n", "line 3: 3 fields expected, as in the heading, found 2."),
        ("system,ap,rr\na,1,2\n", "two systems and two measures are needed, found 1 and 2."),
        ("\n", "means.csv: the file is empty."),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_means(table(tmp_path, text))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (WIDE, True),
        ("engine,ap,rr\nbm25,1,2\nlm,3,4\n", True),
        ("run,ap,rr\n1,1,2\n2,3,4\n", True),
        ("run1,run2\n0.1,0.2\n0.3,0.4\n", False),
        ("topic,bm25,lm\nq1,0.2,0.3\n", False),
    ],
)
def test_means_are_told_from_scores_per_topic(text: str, is_one: bool, tmp_path: Path) -> None:
    assert is_means_table(table(tmp_path, text)) == is_one


def test_the_folder_of_a_study_is_no_table(tmp_path: Path) -> None:
    assert not is_means_table(tmp_path)


def test_tables_of_pyterrier_and_warprec_are_read(tmp_path: Path) -> None:
    tables = {
        "pt": ",name,map,RR\n0,a,.1,.2\n1,b,.3,.4\n",
        "warp": "Model,Top@k,RR,AP\na,5,.1,.2\na,10,.3,.4\nb,10,.7,.8\nb,5,.5,.6\n",
    }
    for name, text in tables.items():
        (tmp_path / name).write_text(text)
        assert is_means_table(tmp_path / name)
    found = read_means(tmp_path / "pt")
    assert (found.systems, found.values.tolist()) == (("a", "b"), [[0.1, 0.3], [0.2, 0.4]])
    found = read_means(tmp_path / "warp")
    assert [*map(str, found.measures)] == ["RR@5", "AP@5", "RR@10", "AP@10"]
    assert (found.systems, found.values[2].tolist()) == (("a", "b"), [0.3, 0.7])
