from pathlib import Path

import pytest

from analyses.online.tables.value_table import ONE_EXPERIMENT, read_value_tables
from runs import InputError
from tests.analyses.online.tables.tables import VALUES, write

LONG = "model,measure,value\n" + "".join(
    f"{model},{measure},{value}\n"
    for model, values in (("a", (0.1, 0.3)), ("b", (0.2, 0.1)), ("c", (0.3, 0.2)))
    for measure, value in zip(("nDCG@5", "P@5"), values, strict=True)
)
OF_A_STUDY = "system,metric,cutoff,mean,sd\na,nDCG,5,0.5,0.1\na,AUC,,0.25,0.1\n"


def test_columns_of_a_wide_table_are_measures(tmp_path: Path) -> None:
    (table,) = read_value_tables(write(tmp_path, "values.csv", VALUES))
    assert table.models == ("a", "b", "c")
    assert table.measures == ("nDCG@5", "P@5")
    assert table.values.tolist() == [[0.1, 0.2, 0.3], [0.3, 0.1, 0.2]]


def test_a_long_table_says_the_same(tmp_path: Path) -> None:
    (wide,) = read_value_tables(write(tmp_path, "wide.csv", VALUES))
    (long,) = read_value_tables(write(tmp_path, "long.csv", LONG))
    assert (long.models, long.measures) == (wide.models, wide.measures)
    assert long.values.tolist() == wide.values.tolist()


def test_a_table_with_tabs_is_read(tmp_path: Path) -> None:
    (table,) = read_value_tables(write(tmp_path, "values.tsv", VALUES.replace(",", "\t")))
    assert table.measures == ("nDCG@5", "P@5")


def test_the_means_of_a_study_have_their_cutoffs(tmp_path: Path) -> None:
    (table,) = read_value_tables(write(tmp_path, "means.csv", OF_A_STUDY))
    assert table.measures == ("nDCG@5", "AUC")
    assert table.values.tolist() == [[0.5], [0.25]]


def test_without_a_column_there_is_one_experiment(tmp_path: Path) -> None:
    (table,) = read_value_tables(write(tmp_path, "values.csv", VALUES))
    assert table.experiment == ONE_EXPERIMENT


def test_experiments_are_taken_apart(tmp_path: Path) -> None:
    text = "model,experiment,P@5\na,X,0.1\na,Y,0.2\nb,Y,0.3\n"
    first, second = read_value_tables(write(tmp_path, "values.csv", text))
    assert (first.experiment, first.models) == ("X", ("a",))
    assert (second.experiment, second.models) == ("Y", ("a", "b"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "values.csv: the file is empty."),
        ("model,P@5\n", "line 1: the table has a heading but no values."),
        ("model\na\n", "line 1: the table has no measure."),
        ("P@5,model\n0.1,a\n", "line 1: the first column must be model or arm or system, found"),
        ("model,P@5,P@5\na,1,2\n", "line 1: column 'P@5' is duplicated."),
        ("model,P@5\na,0.1\nb\n", "line 3: 2 fields expected"),
        ("model,P@5\na,0.1\nb,much\n", "line 3: column 'P@5': a number expected, found 'much'."),
        ("model,P@5\na,\n", "line 2: column 'P@5': a score is missing."),
        ("model,P@5\na,nan\n", "line 2: column 'P@5': a number expected, found 'nan'."),
        ("model,P@5\n,0.1\n", "line 2: column 'model': a name is missing."),
        ("model,P@5\na,0.1\na,0.2\n", "line 3: model 'a' has P@5 twice."),
        (
            "model,measure,value\na,P@5,0.1\na,P@9,0.1\nb,P@5,0.1\n",
            "line 4: model 'b' has no P@9.",
        ),
        ("model,metric,cutoff,mean\na,P,five,1\n", "line 2: the cut-off must be a whole number"),
        ("model,measure,value,fold\na,P@5,0.1,1\n", "line 1: a long table has no column 'fold'"),
        (
            "model,measure,value,experiment\na,P@5,1,X\nb,P@9,1,Y\n",
            "line 2: model 'a' has no P@9 in the experiment 'X'.",
        ),
    ],
)
def test_a_mistake_is_answered_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    path = write(tmp_path, "values.csv", text)
    with pytest.raises(InputError) as error:
        read_value_tables(path)
    assert str(error.value).startswith(str(path))
    assert sentence in str(error.value)
