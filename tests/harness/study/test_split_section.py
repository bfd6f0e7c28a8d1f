import json
from pathlib import Path

import pytest

from harness.study.schema import study_schema
from harness.study.study import Study
from qrels import splits
from runs import InputError
from tests.harness.small import (
    DRAWN,
    METRICS,
    NO_ANALYSES,
    ROOT,
    SYSTEMS,
    WORLD,
    contents,
    run_text,
)

RATINGS = 'name = "x"\n[ratings]\npath = "ratings.csv"\n'
GUIDE = ROOT / "docs" / "guides" / "splits.md"


def parse(text: str, base: Path = Path("/data")) -> Study:
    return Study.parse(text, source="study.toml", base=base, changes={})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder that has the split of the guide."""
    _, _, text = GUIDE.read_text(encoding="utf-8").partition("```python\n# my_split.py\n")
    (tmp_path / "my_split.py").write_text(text.partition("```")[0])
    return tmp_path


def test_a_fifth_of_the_ratings_of_each_user_is_the_default() -> None:
    assert parse(RATINGS).split.model_dump() == {"method": "user-random", "test_share": 0.2}


@pytest.mark.parametrize("method", DRAWN)
def test_the_settings_of_the_method_are_spelled_out(method: str) -> None:
    split = parse(RATINGS + f'[split]\nmethod = "{method}"\n').split
    settings = splits()[method].settings()
    assert split.model_dump() == {"method": method, **settings.model_dump(exclude_none=True)}


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("[split]\nmethod = 3", "line 5: `method` in [split] must be a valid string, got"),
        ('[split]\nmethod = "k-fld"', "line 5: no split is called 'k-fld'; did you mean 'k-fold'?"),
        ("[split]\nfold = 2", "line 5: there is no `fold` in [split]; there are `test_share`."),
        ('[split]\nmethod = "k-fold"\nfold = 6', "line 6: `fold` in [split] must be at most 5, "),
        (
            '[split]\nmethod = "k-fold"\nfolds = 1',
            "line 6: `folds` in [split] must be at least 2, got 1.",
        ),
        (
            '[split]\nmethod = "global-time"\ncut = 5\ntest_share = 0.1',
            "line 4: `split`: a global-time split needs either `test_share` or `cut`.",
        ),
        ('[split]\nmethod = "no.py"', "line 5: /data/no.py: the file of the split does not exist."),
    ],
)
def test_a_wrong_table_is_answered_with_its_line(table: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(RATINGS + table + "\n")
    assert f"study.toml, {sentence}" in str(caught.value)


def test_a_new_split_is_one_file(folder: Path) -> None:
    split = '[split]\nmethod = "my_split.py"\nevery = 4\n'
    output = run_text(
        WORLD + split + SYSTEMS + METRICS + NO_ANALYSES, folder, output=folder / "study"
    )
    (qrels,) = contents(output, "qrels/test.qrels").values()
    assert len({line.split()[0] for line in qrels.splitlines()}) == 60 / 4
    inputs = json.loads((output / "manifest.json").read_bytes())["inputs"]
    assert "../my_split.py" in [known.get("path") for known in inputs]


def test_options_of_a_split_of_the_user_are_checked(folder: Path) -> None:
    with pytest.raises(InputError, match=r"line 6: `every` in \[split\] must be"):
        parse(RATINGS + '[split]\nmethod = "my_split.py"\nevery = 1\n', folder)


def test_the_schema_knows_the_options_of_every_method() -> None:
    tables = study_schema()["properties"]["split"]["anyOf"]
    described = {table["properties"]["method"].get("const"): table for table in tables}
    assert set(described) == {None, *splits()}
    assert {"train", "test", "folder"} <= described["given"]["properties"].keys()
    assert "fold" in described["k-fold"]["properties"]


def test_the_schema_refuses_no_levels() -> None:
    sections = study_schema()["properties"]["analyses"]["properties"]
    assert sections["sparsity"]["properties"]["levels"]["minItems"] == 1
