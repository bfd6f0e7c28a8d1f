"""What made a part: where the code or the packages differ, it is made again."""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import pytest

from harness.metrics.shared.register import plugin_metrics
from harness.report.study_folder import LEDGER
from harness.study import provenance
from harness.study.run import run_study
from harness.study.store import Store
from harness.study.study import Study
from runs.shared.progress import Lines
from tests.harness.small import WHOLE, contents, made_again, made_at, manifest_of, run_text

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures")]

ANALYSED = {
    "systems",
    "correlation",
    "sparsity",
    "popularity",
    "users",
    "discrimination",
    "validity",
}
RUNS = {"run-random", "run-popularity", "run-puresvd"}
INPUT = {"qrels", "split", "world", "true-qrels"}
SCORED = {"scores", "true-scores"}
SHOWN = {*SCORED, *ANALYSED, "answer"}
TESTED = {"systems", "users", "discrimination", "validity"}


def page_of(folder: Path, part: str) -> Path:
    return folder / LEDGER / f"{part}.json"


def change_entry(folder: Path, part: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Let the ledger say something else of a part."""
    entry = json.loads(page_of(folder, part).read_text(encoding="utf-8"))
    change(entry)
    page_of(folder, part).write_text(json.dumps(entry), encoding="utf-8")


@pytest.mark.parametrize(
    ("part", "fact"), [("split", "numpy"), ("run-puresvd", "code"), ("users", "code")]
)
def test_a_part_that_something_else_made_is_made_again_alone(
    copied: Path, part: str, fact: str
) -> None:
    change_entry(copied, part, lambda entry: entry["made_by"].update({fact: "another"}))
    before = made_at(copied)
    run_text(WHOLE, copied, output=copied)
    assert made_again(copied, before) == {part}


@pytest.mark.parametrize(
    ("package", "parts"),
    [
        ("lenskit", {*INPUT, *RUNS, *SCORED, *ANALYSED}),
        ("matplotlib", {*INPUT, *SHOWN}),
        ("scikit-learn", set()),
        ("joblib", set()),
    ],
)
def test_another_version_of_a_package_makes_again_what_imports_it(
    finished: Path, monkeypatch: pytest.MonkeyPatch, package: str, parts: set[str]
) -> None:
    installed = provenance.versions_of

    def versions_of(*packages: str) -> dict[str, str]:
        return {name: "0" if name == package else v for name, v in installed(*packages).items()}

    monkeypatch.setattr(provenance, "versions_of", versions_of)
    forget_code()
    assert stale(finished, monkeypatch) == parts
    forget_code()


def stale(finished: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Name the parts of a finished study that other code made, without making them again."""
    found: set[str] = set()

    def is_complete(store: Store, part: str, key: str, made_by: Mapping[str, str]) -> bool:
        entry = store.ledger.entry(part)
        assert entry is not None
        assert entry.key == key
        if entry.made_by != made_by:
            found.add(part)
        return True

    with monkeypatch.context() as patch:
        patch.setattr(Store, "is_complete", is_complete)
        run_text(WHOLE, finished, output=finished)
    return found


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the code, which stands for the project's where digests are computed."""
    without_compiled = ignore_patterns("__pycache__")
    for package in provenance.OWN:
        copytree(provenance.ROOT / package, tmp_path / package, ignore=without_compiled)
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    forget_code()
    yield tmp_path
    forget_code()


def forget_code() -> None:
    for known in (provenance.made_by_code, provenance._own_module_path):
        known.cache_clear()


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        ("recommenders/puresvd.py", {"run-puresvd"}),
        ("recommenders/ease.py", set()),
        ("recommenders/shared/train_and_rank.py", RUNS),
        ("harness/study/workers.py", RUNS),
        ("runs/formats.py", {*INPUT, *RUNS, *SCORED, *ANALYSED}),
        ("runs/shared/streams.py", {*INPUT, "run-random", *SHOWN}),
        ("qrels/ratings/splits/user_random.py", INPUT),
        ("qrels/ratings/splits/k_fold.py", set()),
        ("qrels/trec.py", {*INPUT, *SCORED, *ANALYSED}),
        ("harness/study/collection.py", {*INPUT, *SCORED, *ANALYSED}),
        ("harness/study/score_parts.py", SCORED),
        ("harness/scoring/means.py", {*INPUT, *SHOWN}),
        ("harness/metrics/precision.py", {*SCORED, *ANALYSED}),
        ("harness/metrics/recall.py", set()),
        ("harness/study/work.py", ANALYSED),
        ("harness/report/tables.py", {"answer"}),
        ("harness/report/page.py", set()),
        ("harness/version.py", set()),
        ("analyses/sparsity.py", {"sparsity", "answer"}),
        ("analyses/intervals/random_loss.py", {"sparsity", "answer"}),
        ("analyses/significance/permutation.py", {*TESTED, "answer"}),
    ],
)
def test_other_code_makes_again_exactly_what_imports_it(
    finished: Path, tree: Path, monkeypatch: pytest.MonkeyPatch, changed: str, parts: set[str]
) -> None:
    with (tree / changed).open("a", encoding="utf-8") as source:
        source.write("\nCHANGED = True\n")
    assert stale(finished, monkeypatch) == parts


def test_a_module_beside_a_file_of_a_user_is_part_of_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f():\n    from beside import x\n    return x\n")
    (tmp_path / "beside.py").write_text("import qrels.trec\nimport numba\nx = 1\n")
    (tmp_path / "other.py").write_text("x = 1\n")
    found = provenance.import_closure([tmp_path / "mine.py"])
    assert {path.name for path in found.files} >= {"mine.py", "beside.py", "trec.py"}
    assert "other.py" not in {path.name for path in found.files}
    assert {"numba", "llvmlite"} <= found.versions().keys()


LIBRARY = {
    "gains.py": "import deeper\nGAIN = 1.0\n",
    "deeper.py": "",
    "package/__init__.py": "from .handed import name\n",
    "package/handed.py": "from . import relative\nname = 1\n",
    "package/relative.py": "",
    "package/unused.py": "",
    "space/part.py": "from .near import x\n",
    "space/near.py": "x = 1\n",
    "by_name.py": "",
    "unused.py": "",
}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import gains", {"gains.py", "deeper.py"}),
        ("def f():\n    from gains import GAIN", {"gains.py", "deeper.py"}),
        (
            "from package import name",
            {"package/__init__.py", "package/handed.py", "package/relative.py"},
        ),
        ("import space.part", {"space/part.py", "space/near.py"}),
        ("from space import part", {"space/part.py", "space/near.py"}),
        ("import importlib\nimportlib.import_module('by_name')", {"by_name.py"}),
        ("__import__('by_name')", {"by_name.py"}),
    ],
)
def test_what_a_plugin_imports_from_elsewhere_on_the_path_counts_by_its_content(
    text: str, names: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, plugin = tmp_path / "library", tmp_path / "study" / "mine.py"
    for name, content in {**LIBRARY, "../study/mine.py": text}.items():
        (library / name).parent.mkdir(parents=True, exist_ok=True)
        (library / name).write_text(content)
    monkeypatch.syspath_prepend(library)
    closure = provenance.import_closure([plugin])
    assert closure.files == {plugin, *(library / name for name in names)}
    before = closure.digest()
    for name in names:
        with (library / name).open("a") as source:
            source.write("changed = True\n")
        after = provenance.import_closure([plugin]).digest()
        assert after != before
        before = after


def test_an_editable_installation_counts_by_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "checkout" / "src" / "editable_gains"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text("from editable_gains.values import GAIN\n")
    (source / "values.py").write_text("GAIN = 1.0\n")

    class Finder:
        """As setuptools writes it for editable installations."""

        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> Any:
            file = source / "__init__.py"
            found = name == "editable_gains"
            return importlib.util.spec_from_file_location(name, file) if found else None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    plugin = tmp_path / "mine.py"
    plugin.write_text("from editable_gains import GAIN\n")
    closure = provenance.import_closure([plugin])
    assert closure.files == {plugin, source / "__init__.py", source / "values.py"}


def test_a_module_that_cannot_be_parsed_counts_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("print 'Python 2'\n")
    plugin = tmp_path / "mine.py"
    plugin.write_text("try:\n    import old\nexcept SyntaxError:\n    old = None\n")
    assert provenance.import_closure([plugin]).files == {plugin, tmp_path / "old.py"}


def test_a_module_beside_a_plugin_that_python_does_not_import_does_not_count(
    tmp_path: Path,
) -> None:
    for name in ("json.py", "numpy.py"):
        (tmp_path / name).write_text("")
    plugin = tmp_path / "mine.py"
    plugin.write_text("import json\nimport numpy\n")
    closure = provenance.import_closure([plugin])
    assert closure.files == {plugin}
    assert "numpy" in closure.versions()


def test_the_home_of_a_metric_for_one_user_is_the_file_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from harness import user_metric\n"
        "@user_metric('mine', source='here')\ndef mine(grades, user): return 0.0\n"
    )
    assert provenance.home_of(plugin_metrics(path)["mine"].function) == path


def test_installed_plugins_count_without_the_distributions_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "alone.py": "import numpy",
        "numpy.py": "",
        "mine/__init__.py": "from mine.handed import x",
        "mine/handed.py": "",
        "mine/members.py": "import alone, numpy\nfrom mine.helper import x",
        "mine/helper.py": "",
        "mine-1.0.dist-info/METADATA": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for root in (tmp_path, provenance.ROOT):  # Installed with the project, and elsewhere.
        monkeypatch.setattr(provenance, "ROOT", root)
        members = provenance.import_closure([tmp_path / "mine/members.py"])
        names = ("__init__", "handed", "helper", "members")
        assert members.files == {tmp_path / f"mine/{name}.py" for name in names}
        assert members.packages == {"alone", "mine", "numpy"}
        alone = provenance.import_closure([tmp_path / "alone.py"])
        assert alone.files == {tmp_path / "alone.py"}
        assert alone.packages == {"alone", "numpy"}


def test_imports_for_type_checkers_alone_do_not_count(tmp_path: Path) -> None:
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import beside\n"
    (tmp_path / "mine.py").write_text(source)
    (tmp_path / "beside.py").write_text("")
    found = provenance.import_closure([tmp_path / "mine.py"])
    assert found.files == {tmp_path / "mine.py"}


def test_the_manifest_says_what_every_part_was_made_by(finished: Path) -> None:
    made_by: Any = manifest_of(finished)["made by"]
    parts = {*INPUT, *RUNS, *SHOWN}
    entries = {part: json.loads(page_of(finished, part).read_text()) for part in parts}
    assert made_by == {part: entry["made_by"] for part, entry in entries.items()}
    assert all({"code", "numpy"} <= by.keys() for by in made_by.values())
    assert "lenskit" in made_by["run-random"]
    assert "matplotlib" not in made_by["run-random"]


# Folders of older versions


@pytest.fixture
def older(copied: Path) -> Path:
    """A folder as version 0.2.0 left it, which kept neither results nor what made them."""
    manifest = manifest_of(copied)
    manifest |= {"versions": {"harness": "0.2.0"}, "figures": [], "metrics": ["P", "nDCG"]}
    for key in ("results", "made by", "lead", "data"):
        del manifest[key]
    (copied / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    for page in (copied / LEDGER).glob("*.json"):
        change_entry(copied, page.stem, lambda entry: entry.pop("made_by"))
    return copied


def test_a_folder_of_an_older_version_is_made_again(older: Path, finished: Path) -> None:
    before = made_at(older)
    study = Study.parse(WHOLE, source="study.toml", base=older, changes={"output": older})
    run_study(study, n_jobs=1, progress=Lines())
    assert made_again(older, before) == set(before)
    assert contents(older, "tables/*") == contents(finished, "tables/*")
