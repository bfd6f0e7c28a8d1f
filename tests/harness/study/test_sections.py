"""Tables of a study file: what each says, what it leaves to defaults, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyses.shared.measure import Measure
from harness.study.collection import collect
from harness.study.run import check
from harness.study.sections import (
    ItemsSection,
    RepeatSection,
    SplitSection,
    TruthSection,
    number_replicates,
    parse_tag_pattern,
    system_names,
    usual_split,
    with_preset,
)
from harness.study.study import Study, SystemsSection
from qrels import splits
from qrels.ratings.datasets.split_files import SplitFiles
from recommenders import system_set
from runs import InputError, Numbering
from runs.run_file import RunFile
from tests.harness.small import DRAWN, ROOT, WORLD

RATINGS = 'name = "x"\n[ratings]\npath = "ratings.csv"\n'


def parse(text: str, base: Path = Path("/data")) -> Study:
    return Study.parse(text, source="study.toml", base=base, changes={})


def refusal(text: str, base: Path = Path("/data")) -> str:
    with pytest.raises(InputError) as caught:
        parse(text, base)
    return str(caught.value)


# Tags of replicates

SEEDS = r"(?P<system>.*)-seed(?P<replicate>\d*)"


def tagged(*tags: str) -> list[RunFile]:
    """Empty runs, each in a file named for its place."""
    none, nobody = np.array([], np.int32), Numbering.of([])
    return [
        RunFile(f"{place}.run", tag, nobody, nobody, none, none, np.array([]))
        for place, tag in enumerate(tags)
    ]


def test_a_pattern_must_name_the_system() -> None:
    assert parse_tag_pattern(SEEDS).groupindex == {"system": 1, "replicate": 2}
    with pytest.raises(ValueError, match=r"must have a group \(\?P<system>\.\.\.\), got 'x'"):
        parse_tag_pattern("x")
    with pytest.raises(ValueError, match="must be a regular expression"):
        parse_tag_pattern("(?P<system>")


def test_the_whole_tag_says_the_system() -> None:
    assert system_names(tagged("a-seed1", "b-seed1", "a-seed2"), SEEDS) == ("a", "b", "a")
    with pytest.raises(InputError, match=r"^1\.run: the tag 'b-seed1x' does not match"):
        system_names(tagged("a-seed1", "b-seed1x"), SEEDS)


def test_the_name_of_a_system_may_not_be_empty() -> None:
    with pytest.raises(InputError, match=r"^0\.run: the tag '-seed1' does not match"):
        system_names(tagged("-seed1"), SEEDS)


def test_two_runs_of_one_replicate_are_refused() -> None:
    files = tagged("a-seed1", "a-seed2", "a-seed2")
    finding = r"^2\.run: the tag 'a-seed2' names the replicate '2' of 'a', and so does 1\.run\.$"
    with pytest.raises(InputError, match=finding):
        system_names(files, SEEDS)


def test_a_replicate_without_a_number_is_one_of_its_own() -> None:
    assert system_names(tagged("a-seed", "a-seed1"), SEEDS) == ("a", "a")
    optional = r"(?P<system>[a-z])(?P<replicate>\d)?"
    assert system_names(tagged("a", "a1"), optional) == ("a", "a")
    with pytest.raises(InputError, match="names the replicate '' of 'a'"):
        system_names(tagged("a", "a"), optional)


def test_a_pattern_without_replicates_takes_any_number_of_runs() -> None:
    assert system_names(tagged("a", "a", "b"), "(?P<system>.+)") == ("a", "a", "b")


def test_runs_that_share_a_tag_are_numbered_from_1() -> None:
    files = number_replicates(tagged("a", "b", "a", "a"), "(?P<system>.+)")
    assert [file.system for file in files] == ["a-1", "b", "a-2", "a-3"]
    assert [file.path for file in files] == ["0.run", "1.run", "2.run", "3.run"]


def test_runs_that_the_pattern_tells_apart_keep_their_tags() -> None:
    files = number_replicates(tagged("a-seed1", "a-seed1"), SEEDS)
    assert [file.system for file in files] == ["a-seed1", "a-seed1"]


# Items


def test_of_items_all_tables_that_are_named_are_read() -> None:
    assert ItemsSection().files == []
    section = ItemsSection(
        features=Path("f.csv"), popularity=Path("p.csv"), propensities=Path("w.csv")
    )
    assert section.files == [Path("f.csv"), Path("p.csv"), Path("w.csv")]
    assert ItemsSection(features=Path("f.csv"), propensities="world").files == [Path("f.csv")]


# Repetitions


def test_a_study_is_run_once_by_default() -> None:
    section = RepeatSection()
    assert (section.seeds, section.settings, section.trials) == (1, 1, None)


@pytest.mark.parametrize("key", ["seeds", "settings"])
def test_a_study_is_repeated_1000_times_at_most(key: str) -> None:
    assert getattr(RepeatSection.model_validate({key: 1000}), key) == 1000
    table = f"[repeat]\n{key} = "
    finding = f"study.toml, line 5: `{key}` in [repeat] must be at"
    assert refusal(RATINGS + table + "1001\n") == f"{finding} most 1000, got 1001."
    assert refusal(RATINGS + table + "0\n") == f"{finding} least 1, got 0."


def test_seeds_and_settings_are_not_repeated_at_once() -> None:
    assert RepeatSection(seeds=2, settings=1).seeds == 2
    assert RepeatSection(seeds=1, settings=2).settings == 2
    assert "are repeated in two studies" in refusal(RATINGS + "[repeat]\nseeds = 2\nsettings = 2\n")


def test_trials_are_for_other_settings() -> None:
    assert RepeatSection(settings=2, trials=Path("tuning")).trials == Path("tuning")
    assert "`trials` are for other settings" in refusal(
        RATINGS + "[repeat]\ntrials = 'tuning'\nsettings = 1\n"
    )


# True judgements


def test_the_systems_are_ordered_by_ndcg_and_precision_at_10_on_the_truth() -> None:
    section = TruthSection()
    assert section.measures == (Measure("nDCG", 10), Measure("P", 10))
    whole = TruthSection(references=("AP", "P(rel=4)@3"))
    assert whole.measures == (Measure("AP"), Measure("P(rel=4)", 3))


def test_a_world_judges_all_lists_and_a_file_those_of_judged_items() -> None:
    assert TruthSection().judged_lists == "all"
    assert TruthSection(path=Path("true.csv")).judged_lists == "judged"
    assert TruthSection(path=Path("true.csv"), candidates="all").judged_lists == "all"
    assert TruthSection(candidates="judged").judged_lists == "judged"


@pytest.mark.parametrize(
    ("name", "format", "is_qrels"),
    [
        ("true.qrels", None, True),
        ("true.qrel", None, True),
        ("true.qrels.gz", None, True),
        ("true.csv", None, False),
        ("qrels", None, False),
        (None, None, False),
        ("true.txt", "qrels", True),
        ("true.qrels", "csv", False),
    ],
)
def test_a_truth_is_qrels_by_its_name_or_if_it_is_said(
    name: str | None, format: str | None, is_qrels: bool
) -> None:
    path = None if name is None else Path(name)
    assert TruthSection(path=path, format=format).is_qrels is is_qrels


# Splits

GIVEN = 'name = "x"\n[ratings]\nformat = "csv"\n'
GUIDE = ROOT / "docs" / "guides" / "splits.md"


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
    collection = collect(parse(WORLD + split, folder))
    assert collection.qrels.n_users == 60 / 4
    assert collection.inputs[1]["path"] == str(folder / "my_split.py")


def test_options_of_a_split_of_the_user_are_checked(folder: Path) -> None:
    with pytest.raises(InputError, match=r"line 6: `every` in \[split\] must be"):
        parse(RATINGS + '[split]\nmethod = "my_split.py"\nevery = 1\n', folder)


def test_a_split_that_is_not_named_is_that_of_a_study_without_a_word() -> None:
    split = usual_split()
    assert split.model_dump() == {"method": "user-random", "test_share": 0.2}
    assert SplitSection.model_validate({"test_share": 0.3}).method == "user-random"
    assert SplitSection.model_validate({"test_share": 0.3}).model_dump()["test_share"] == 0.3


def test_a_split_that_is_read_is_not_read_again() -> None:
    split = parse(RATINGS + "[split]\nmethod = 'k-fold'\nfold = 2\n").split
    assert SplitSection(method=split.method, settings=split.settings) == split
    assert split.find_splitter() is splits()["k-fold"]
    assert split.files == []
    assert split.find_parts() is None


def test_files_of_a_given_split_count_from_the_study() -> None:
    split = parse(GIVEN + "[split]\nmethod = 'given'\ntrain = 'a.csv'\ntest = 'b.csv'\n").split
    assert split.find_parts() == SplitFiles(Path("/data/a.csv"), Path("/data/b.csv"), None)
    dumped = {"method": "given", "train": "/data/a.csv", "test": "/data/b.csv"}
    assert split.model_dump() == dumped


def test_a_folder_without_a_split_is_answered_with_its_line(tmp_path: Path) -> None:
    table = "[split]\nmethod = 'given'\nfolder = '.'\n"
    assert refusal(GIVEN + table, tmp_path).startswith(f"study.toml, line 6: {tmp_path}: ")


def test_the_training_part_is_split_as_the_study_is(folder: Path) -> None:
    split = parse(RATINGS + "[split]\nmethod = 'k-fold'\nfold = 2\n").split
    assert split.within_training() == split
    own = parse(RATINGS + "[split]\nmethod = 'my_split.py'\nevery = 4\n", folder).split
    assert own.within_training() == own
    assert own.files == [folder / "my_split.py"]


def test_the_validation_part_that_is_given_is_tested_else_a_usual_split_is_made() -> None:
    table = "[split]\nmethod = 'given'\ntrain = 'a.csv'\ntest = 'b.csv'\n"
    assert parse(GIVEN + table).split.within_training() == usual_split()
    validated = parse(GIVEN + table + "validation = 'c.csv'\n").split.within_training()
    assert validated.method == "given"
    assert validated.find_parts() == SplitFiles(Path("/data/a.csv"), Path("/data/c.csv"), None)


# Presets of systems


def trained_study(systems: str) -> Study:
    text = f'name = "x"\n[ratings]\nformat = "world"\n[systems]\n{systems}\n'
    return Study.parse(text, source="study.toml", base=Path(), changes={})


def systems_section(**values: Any) -> SystemsSection:
    return SystemsSection.model_validate({"preset": "recsys2018", **values})


def test_a_preset_is_of_systems_and_settings_that_there_are() -> None:
    study = trained_study('preset = "recsys2018"')
    assert study.systems.names == system_set("valcarce-2018")
    assert study.systems.settings["rm1"] == {"background_weight": 0.01}
    check(study)


def test_what_a_study_says_itself_holds() -> None:
    found = systems_section(positives={"slim": 3.0}, settings={"rm1": {"background_weight": 0.5}})
    assert found.positives == {"slim": 3.0}
    assert found.settings["rm1"] == {"background_weight": 0.5}
    assert found.settings["nncosngbr-ib"] == {"denominator": True}
    assert systems_section(positives=3.5).positives == 3.5


def test_systems_that_are_left_out_are_not_set() -> None:
    found = systems_section(names=["rm1", "rw"])
    assert found.settings == {"rm1": {"background_weight": 0.01}}


@pytest.mark.parametrize(
    ("systems", "finding"),
    [
        (
            'preset = "recsys"',
            "study.toml, line 5: `preset` in [systems]: there is no preset 'recsys'; "
            "there are recsys2018.",
        ),
        (
            'preset = "recsys2018"\nnames = "some"',
            "study.toml, line 6: `names` in [systems]: there is no set of systems 'some'; "
            "there are valcarce-2018, all.",
        ),
        (
            'preset = "recsys2018"\n[systems.settings]\nrm1 = 3',
            "study.toml, line 7: `rm1` in [systems.settings] must be a table",
        ),
    ],
)
def test_what_is_no_preset_or_goes_with_none_is_refused(systems: str, finding: str) -> None:
    with pytest.raises(InputError) as caught:
        trained_study(systems)
    assert str(caught.value).startswith(finding)


def test_a_preset_gives_names_and_settings_where_a_section_says_nothing() -> None:
    assert with_preset({"preset": "recsys2018"}) == {
        "preset": "recsys2018",
        "names": "valcarce-2018",
        "settings": {
            "rm1": {"background_weight": 0.01},
            "nncosngbr-ub": {"among": "rated"},
            "nncosngbr-ib": {"denominator": True},
            "uir-item": {"smoothing": 0.9999},
        },
    }


def test_what_a_section_sets_is_added_to_the_preset() -> None:
    settings = {"rm1": {"other": 2}, "svd": {"factors": 3}}
    made = with_preset({"preset": "recsys2018", "names": ["rm1", "svd"], "settings": settings})
    assert made["names"] == ["rm1", "svd"]
    assert made["settings"] == {
        "rm1": {"background_weight": 0.01, "other": 2},
        "svd": {"factors": 3},
    }


def test_names_that_are_none_are_left_for_the_section_to_refuse() -> None:
    for names in (3, "some"):
        assert with_preset({"preset": "recsys2018", "names": names})["names"] == names
        assert with_preset({"preset": "recsys2018", "names": names})["settings"] == {}
    unread = with_preset({"preset": "recsys2018", "settings": 3})
    assert unread["settings"] == 3


def test_settings_that_are_no_table_are_left_for_the_section_to_refuse() -> None:
    made = with_preset({"preset": "recsys2018", "settings": {"rm1": 3}})
    assert made["settings"]["rm1"] == 3
    assert made["settings"]["nncosngbr-ib"] == {"denominator": True}
