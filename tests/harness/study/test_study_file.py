"""A file of settings: what it says, what is wrong with it and where, and how it is written."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field, ValidationError

from harness.online.experiment_file import ExperimentStudy
from harness.study.study import Study
from harness.study.study_file import Origin, StudyFile, read_text, refused, sentence_of, tables_in
from runs import InputError
from runs.shared.settings import Section

TEXT = """name = "x"

[first]
a = 1
"b.c" = 2

[first.inner]
a = 3

[[rows]]
d = 4
[rows.inner]
e = 5

[ "quoted.table" ]
f = 6
"""


# Places in a file


@pytest.mark.parametrize(
    ("location", "line"),
    [
        (("name",), 1),
        (("first",), 3),
        (("first", "a"), 4),
        (("first", "b.c"), 5),
        (("first", "inner"), 7),
        (("first", "inner", "a"), 8),
        (("rows",), 10),
        (("rows", "d"), 11),
        (("rows", "inner", "e"), 13),
        (("quoted.table", "f"), 16),
        # The table that should hold a key that is missing.
        (("first", "z"), 3),
        (("first", "inner", "z"), 7),
        (("z",), None),
        (("z", "a"), None),
        (("a",), None),
        ((), None),
    ],
)
def test_a_key_stands_in_its_line_or_in_its_table(
    location: tuple[str, ...], line: int | None
) -> None:
    place = "study.toml" if line is None else f"study.toml, line {line}"
    assert Origin("study.toml", TEXT).place(*location) == place


def test_a_key_may_be_dotted_or_indented() -> None:
    origin = Origin("x.toml", "first.a = 1\n  b = 2\n 'c' = 3\n[t] # a table\n  d=4\n")
    assert origin.place("first", "a") == "x.toml, line 1"
    assert origin.place("b") == "x.toml, line 2"
    assert origin.place("c") == "x.toml, line 3"
    assert origin.place("t", "d") == "x.toml, line 5"


def test_findings_are_named_with_their_place() -> None:
    origin = Origin("study.toml", TEXT)
    finding = r"^study\.toml, line 4: wrong\.$"
    with pytest.raises(InputError, match=finding), origin.errors_at("first", "a"):
        raise InputError("wrong.")


def test_paths_count_from_the_folder_of_the_file(tmp_path: Path) -> None:
    origin = Origin("study.toml", "", tmp_path)
    assert origin.to_absolute(Path("a/../b.csv")) == tmp_path / "b.csv"
    assert origin.to_absolute(tmp_path / "c.csv") == tmp_path / "c.csv"
    assert origin.to_absolute(Path("~/d.csv")) == Path.home() / "d.csv"
    with pytest.raises(InputError, match="cannot be a path"):
        origin.to_absolute(Path("a\0b"))
    assert Origin("study.toml", "").base == Path()


def test_where_a_study_was_read_does_not_tell_it_apart() -> None:
    assert Origin("a.toml", "a", Path("/a")) == Origin("b.toml", "b", Path("/b"))


# What is wrong with a file


class Inner(Section):
    """A table in a table."""

    depth: int = Field(3, ge=1)
    path: Path | None = None


class Outer(Section):
    """A table."""

    inner: Inner = Inner()
    other: Inner | None = None
    count: int


class Nothing(Section):
    """A table without keys."""


class File(StudyFile):
    """A file."""

    outer: Outer | None = None
    nothing: Nothing = Nothing()


def refusal(text: str, **changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        File.parse(text, source="a.toml", changes=changes)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "a.toml: `name` is missing."),
        ("[outer]\ncount = 1\n", "a.toml: `name` is missing."),
        ("name = 'x'\n[outer]\n", "a.toml, line 2: `count` in [outer] is missing."),
        (
            "name = 'x'\n[outer]\ncount = 1\ninner = 3\n",
            "a.toml, line 4: `inner` in [outer] must be a table, got 3.",
        ),
        (
            "name = 'x'\n[outer]\ncount = 1\n[outer.inner]\ndepth = 0\n",
            "a.toml, line 5: `depth` in [outer.inner] must be at least 1, got 0.",
        ),
        ("nme = 'x'\nname = 'x'\n", "a.toml, line 1: there is no `nme`; did you mean `name`?"),
        (
            "name = 'x'\n[outer]\ncount = 1\n[outer.inner]\ndept = 0\n",
            "a.toml, line 5: there is no `dept` in [outer.inner]; did you mean `depth`?",
        ),
        (
            "name = 'x'\n[outer]\ncount = 1\n[outer.other]\nzzz = 0\n",
            "a.toml, line 5: there is no `zzz` in [outer.other]; there are `depth`, `path`.",
        ),
        (
            "name = 'x'\n[nothing]\nzzz = 0\n",
            "a.toml, line 3: there is no `zzz` in [nothing]; there are no keys.",
        ),
    ],
)
def test_a_broken_rule_is_answered_with_its_line(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


def test_a_file_that_is_no_toml_is_refused() -> None:
    assert refusal("name = x\n").startswith("a.toml: not a TOML file: Invalid value (at line 1")
    assert not refusal("name = x\n").endswith("..")
    digits = "1" * 5000
    assert refusal(f"name = 'x'\nseed = {digits}\n").startswith("a.toml: not a TOML file: ")
    assert refusal("a = " + "[" * 5000).startswith("a.toml: not a TOML file: ")


def test_a_run_or_ratings_in_place_of_a_study_are_recognised() -> None:
    run = "u1 Q0 a 1 9.5 tag\nu1 Q0 b 2 9.0 tag\n"
    assert "`harness evaluate` scores runs" in refusal(run)
    for name in ("r.csv", "r.tsv", "r.dat", "u.data", "r.inter", "r.csv.gz"):
        with pytest.raises(InputError, match=rf"`harness init {name}` writes a study file"):
            File.parse("user,item\n", source=name)
    assert "harness init" not in refusal("user,item\n")


def test_a_rule_of_a_whole_table_may_name_its_key() -> None:
    class Checked(Section):
        a: int = 1

    error = refused("the rule is broken", "deep", "key")
    found = ValidationError.from_exception_data(
        "Checked", [{"type": error, "loc": ("table",), "input": 3}]
    )
    origin = Origin("a.toml", "[top.table.deep]\nkey = 1\n")
    assert sentence_of(found, origin, Checked, table=("top",)) == (
        "a.toml, line 2: `key` in [top.table.deep]: the rule is broken."
    )
    whole = ValidationError.from_exception_data("Checked", [{"type": error, "input": 3}])
    nowhere = sentence_of(whole, Origin("a.toml", ""), Checked)
    assert nowhere == "a.toml: `key` in [deep]: the rule is broken."


def test_numbers_of_rows_are_not_part_of_a_key() -> None:
    class Rows(Section):
        rows: tuple[int, ...] = ()

    with pytest.raises(ValidationError) as caught:
        Rows.model_validate({"rows": [1, "x"]})
    found = sentence_of(caught.value, Origin("a.toml", "rows = [1, 'x']\n"), Rows)
    assert found.startswith("a.toml, line 1: `rows` must be a valid integer")


# Reading


def test_a_study_has_a_seed_and_a_folder_by_default() -> None:
    study = File(name="x")
    assert (study.seed, study.output, study.folder) == (20261121, None, Path("study-x"))
    assert File(name="x", output=Path("there")).folder == Path("there")


def test_a_seed_is_a_whole_number_below_2_to_the_63() -> None:
    assert File(name="x", seed=0).seed == 0
    assert File(name="x", seed=2**63 - 1).seed == 2**63 - 1
    for seed in (-1, 2**63):
        with pytest.raises(InputError, match=r"^the study: `seed` must be"):
            File(name="x", seed=seed)


def test_values_may_be_changed_and_an_output_is_not_moved(tmp_path: Path) -> None:
    text = "name = 'x'\nseed = 1\n[outer]\ncount = 1\ninner.path = 'a.csv'\n"
    changes = {"seed": 7, "output": Path("there")}
    study = File.parse(text, source="a.toml", base=tmp_path, changes=changes)
    assert (study.seed, study.output) == (7, Path("there"))
    assert study.outer is not None
    assert study.outer.inner.path == tmp_path / "a.csv"
    assert File.parse(text, source="a.toml").seed == 1


def test_a_file_is_read_from_its_folder(tmp_path: Path) -> None:
    text = "name = 'x'\n[outer]\ncount = 1\ninner.path = 'a.csv'\n"
    (tmp_path / "a.toml").write_text(text, encoding="utf-8-sig")
    study = File.read(tmp_path / "a.toml", changes={"seed": 2})
    assert study.seed == 2
    assert study.outer is not None
    assert study.outer.inner.path == tmp_path / "a.csv"
    finding = rf"^{tmp_path}/a\.toml, line 3: wrong$"
    with pytest.raises(InputError, match=finding), study.errors_at("outer", "count"):
        raise InputError("wrong")


def test_a_study_made_in_python_has_no_lines() -> None:
    with pytest.raises(InputError, match=r"^wrong$"), File(name="x").errors_at("name"):
        raise InputError("wrong")


def test_the_demonstration_stands_beside_the_class() -> None:
    for kind in (Study, ExperimentStudy):
        study = kind.demo(changes={"seed": 4})
        assert study.seed == 4
        assert study.name
    assert type(Study.demo()) is Study


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.toml: the study file does not exist\."):
        read_text(tmp_path / "no.toml")
    with pytest.raises(InputError, match="the study file cannot be read"):
        read_text(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe4'")
    with pytest.raises(InputError, match="the study file cannot be read"):
        read_text(tmp_path / "latin.toml")


def test_tables_of_a_file_are_known_before_it_is_checked(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TEXT)
    assert tables_in(tmp_path / "a.toml") == {"name", "first", "rows", "quoted.table"}
    (tmp_path / "b.toml").write_text("name = x")
    assert tables_in(tmp_path / "b.toml") == set()


# Writing


def written(study: StudyFile, **options: Any) -> dict[str, Any]:
    return tomllib.loads(study.to_toml(**options).decode())


def test_a_study_is_written_with_all_defaults() -> None:
    text = written(File(name="x"))
    assert (text["name"], text["seed"], text["nothing"]) == ("x", 20261121, {})
    assert "output" not in text
    assert "outer" not in text
    assert written(File(name="x", output=Path("there")))["output"] == "there"
    assert "nothing" not in written(File(name="x"), without=["nothing"])


def test_a_study_in_a_folder_has_paths_from_there(tmp_path: Path) -> None:
    outer = {"count": 1, "inner": {"path": tmp_path / "a.csv"}}
    study = File(name="x", outer=outer, output=tmp_path / "study")
    assert written(study)["outer"]["inner"]["path"] == str(tmp_path / "a.csv")
    assert written(study)["output"] == str(tmp_path / "study")
    portable = written(study, folder=tmp_path / "study")
    assert portable["outer"]["inner"]["path"] == "../a.csv"
    assert "output" not in portable
    relative = File(name="x", output=Path("there"))
    assert written(relative, folder=tmp_path)["output"] == "there"
