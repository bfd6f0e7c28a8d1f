"""The code that makes a part: a part is made again where it differs, and nowhere else."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import pytest

from harness.metrics.shared.register import plugin_metrics
from harness.report.ledger import LEDGER
from harness.study import definitions, reachable_code, source_files
from harness.study.definitions import Definition
from harness.study.reachable_code import Maker, ReachedCode, place_of, reach
from harness.study.run import run_study
from harness.study.source_files import Place, SourceFile
from harness.study.store import Store
from harness.study.study import Study
from runs.shared.progress import ProgressLines
from runs.shared.user_modules import PACKAGES
from tests.harness.small import WHOLE, contents, made_again, made_at, manifest_of, run_text


def reached(*makers: Any) -> ReachedCode:
    return reach(map(place_of, makers))


# A project of a few lines

PROJECT = {
    "analyses/taus.py": '''"""Taus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import runs.ids
from qrels import judged_items
from runs.numbers import DEPTH, Lists, rounded

if TYPE_CHECKING:
    from runs.work import Work


def taus(work: Work) -> Result:
    """Compute."""
    from runs.late import needed_late

    if work.scores is None:
        raise ValueError(unknown(work))
    warn("few scores")
    depth = DEPTH + needed_late() + runs.ids.first()
    match work:
        case Lists(longest=length):
            depth += length
    return Result(np.array([depth]), judged_items)


def unknown(work):
    return "no scores"


def unused():
    return 1


def with_local_name(unused):
    return unused + 1


def warn(text):
    print(text)


class Result:
    """What is found."""

    values: Values = field()

    def __init__(self, values, judged):
        self.values = rounded(values)

    def caption(self):
        """Describe."""
        return drawn_with()

    @property
    def mean(self):
        return self.values.mean()


def drawn_with():
    import matplotlib

    return matplotlib.__version__
''',
    "runs/numbers.py": """DEPTH = 10

from pandas import DataFrame


class Lists(Sequence):
    longest = 3

    def frame(self):
        return DataFrame()


def rounded(values):
    return values
""",
    "runs/work.py": """from scipy import stats


class Work:
    @property
    def scores(self):
        return stats.norm

    @property
    def truth(self):
        return lost()


def lost():
    return 0
""",
    "runs/late.py": "def needed_late():\n    return 2\n",
    "runs/ids.py": "def first():\n    return 0\n\n\ndef last():\n    return 1\n",
    "runs/__init__.py": "",
    "analyses/__init__.py": "",
    "qrels/__init__.py": "from qrels.judged import judged_items as judged_items\n",
    "qrels/judged.py": "def judged_items():\n    return 3\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(source_files, "ROOT", tmp_path)
    forget_code()
    yield tmp_path
    forget_code()


def taus_in(project: Path, *names: str) -> ReachedCode:
    source = SourceFile(project / "analyses/taus.py", project)
    return reach(Place(source, name) for name in ("taus", *names))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("analyses/taus.py", "np.array([depth])", "np.array([-depth])"),
        ("analyses/taus.py", "rounded(values)", "values"),
        ("analyses/taus.py", "values: Values", "values: Other"),
        ("analyses/taus.py", "case Lists(longest", "case Lists(deepest"),
        ("runs/numbers.py", "DEPTH = 10", "DEPTH = 11"),
        ("runs/numbers.py", "return values", "return -values"),
        ("runs/numbers.py", "longest = 3", "longest = 4"),
        ("runs/work.py", "stats.norm", "stats.t"),
        ("runs/late.py", "return 2", "return 3"),
        ("runs/ids.py", "return 0", "return 2"),
        ("qrels/judged.py", "return 3", "return 4"),
        ("qrels/__init__.py", "qrels.judged import judged_items", "runs.ids import last"),
    ],
)
def test_a_definition_that_is_reached_counts(project: Path, file: str, old: str, new: str) -> None:
    before = taus_in(project).digest
    change(project / file, old, new)
    assert taus_in(project).digest != before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("analyses/taus.py", "    depth = DEPTH", "    # Deep.\n    depth = DEPTH"),
        ("analyses/taus.py", "depth = DEPTH + needed", "depth = (DEPTH) +  needed"),
        ("analyses/taus.py", '"""Compute."""', '"""Compute taus."""'),
        ("analyses/taus.py", '"""What is found."""', ""),
        ("analyses/taus.py", 'warn("few scores")', 'warn("few")'),
        ("analyses/taus.py", "ValueError(unknown(work))", "ValueError"),
        ("analyses/taus.py", 'return "no scores"', 'return "none"'),
        ("analyses/taus.py", "return 1", "return 2"),
        ("analyses/taus.py", "drawn_with()\n\n    @", "drawn_with() + 1\n\n    @"),
        ("analyses/taus.py", "self.values.mean()", "self.values.max()"),
        ("runs/numbers.py", "return DataFrame()", "return None"),
        ("runs/work.py", "return 0", "return 1"),
    ],
)
def test_what_is_not_reached_and_what_only_tells_do_not_count(
    project: Path, file: str, old: str, new: str
) -> None:
    before = taus_in(project).digest
    change(project / file, old, new)
    assert taus_in(project).digest == before


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new))
    forget_code()


def test_methods_count_for_who_names_them(project: Path) -> None:
    before = taus_in(project, "Result.caption").digest
    change(project / "analyses/taus.py", "drawn_with()\n\n    @", "drawn_with() + 1\n\n    @")
    assert taus_in(project, "Result.caption").digest != before


def test_decorators_of_a_function_in_a_method_count(project: Path) -> None:
    text = """class Sums:
    def __call__(self):
        @doubled
        def inner():
            return 1

        return inner()


def doubled(function):
    return 2 * function()


def tripled(function):
    return 3 * function()
"""
    path = project / "runs/sums.py"
    path.write_text(text)
    forget_code()
    source = SourceFile(path, project)
    before = reach([Place(source, "Sums")]).digest
    change(path, "2 * function()", "4 * function()")
    assert reach([Place(source, "Sums")]).digest != before


def test_files_that_are_left_out_do_not_count(project: Path) -> None:
    path, other = project / "runs/sums.py", project / "runs/factors.py"
    path.write_text("from runs.factors import FACTOR\n\ndef scaled(n):\n    return FACTOR * n\n")
    other.write_text("FACTOR = 2\n")
    forget_code()
    places = [Place(SourceFile(path, project), "scaled")]
    digests = [reach(places).digest, reach(places, left_out=frozenset([other])).digest]
    change(other, "2", "3")
    assert reach(places).digest != digests[0]
    assert reach(places, left_out=frozenset([other])).digest == digests[1]


def test_packages_count_where_something_computes_with_them(project: Path) -> None:
    assert taus_in(project).packages == {"numpy", "scipy"}
    assert taus_in(project, "Result.caption").packages == {"numpy", "scipy", "matplotlib"}


def test_a_parameter_hides_a_definition_of_its_name(project: Path) -> None:
    source = SourceFile(project / "analyses/taus.py", project)
    before = reach([Place(source, "with_local_name")]).digest
    change(project / "analyses/taus.py", "return 1", "return 2")
    assert reach([Place(source, "with_local_name")]).digest == before


# The whole study

ANALYSED = {
    "systems",
    "correlation",
    "sparsity",
    "popularity",
    "users",
    "discrimination",
    "validity",
}
DRAWN = {f"drawn-{name}" for name in (*ANALYSED, "answer", "means", "coverage")}
RUNS = {"run-random", "run-popularity", "run-puresvd"}
INPUT = {"qrels", "split", "world", "true-qrels"}
SCORED = {"scores", "true-scores"}


def page_of(folder: Path, part: str) -> Path:
    return folder / LEDGER / f"{part}.json"


def change_entry(folder: Path, part: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Let the ledger say something else of a part."""
    entry = json.loads(page_of(folder, part).read_text(encoding="utf-8"))
    change(entry)
    page_of(folder, part).write_text(json.dumps(entry), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
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


@pytest.fixture(scope="module")
def makers(finished: Path) -> Mapping[str, list[Place]]:
    """What makes each part of a finished study."""
    by_call: dict[int, list[Place]] = {}
    by_part: dict[str, list[Place]] = {}

    def record(makers: Iterable[Maker]) -> dict[str, str]:
        places = [*map(place_of, makers)]
        made_by = {"code": str(len(by_call))}
        by_call[id(made_by)] = places
        kept_alive.append(made_by)
        return made_by

    def is_complete(store: Store, part: str, key: str, made_by: Mapping[str, str]) -> bool:
        by_part[part] = by_call[id(made_by)]
        return True

    kept_alive: list[Mapping[str, str]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.study.parts.describe_makers", record)
        patch.setattr(Store, "is_complete", is_complete)
        run_text(WHOLE, finished, output=finished)
    return by_part


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "parts"),
    [
        ("lenskit", {"run-popularity"}),
        ("matplotlib", DRAWN),
        ("duckdb", set()),
        ("pydantic", set()),
        ("sklearn", set()),
        ("joblib", set()),
    ],
)
def test_a_package_counts_for_what_computes_with_it(
    makers: Mapping[str, list[Place]], package: str, parts: set[str]
) -> None:
    assert {part for part in makers if package in reach(makers[part]).packages} == parts


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the code, which stands for the project's where digests are computed."""
    folder = tmp_path_factory.mktemp("tree")
    for package in PACKAGES:
        source = source_files.ROOT / package
        copytree(source, folder / package, ignore=ignore_patterns("*.nb*", "*.pyc"))
    return folder


def forget_code() -> None:
    for cached in (
        reachable_code._describe_own_code,
        definitions._own_definitions,
        source_files._own_module_path,
    ):
        cached.cache_clear()


def digests_in(tree: Path, makers: Mapping[str, list[Place]]) -> dict[str, str]:
    """Compute the digest of each part's code in a copy of the code."""
    moved = {
        part: [Place(SourceFile(tree / source.label, tree), name) for source, name in makers[part]]
        for part in makers
    }
    return {part: reach(places).digest for part, places in moved.items()}


@pytest.fixture(scope="module")
def digests(tree: Path, makers: Mapping[str, list[Place]]) -> Iterator[dict[str, str]]:
    """Digests in the copy as it is, whose definitions are remembered until the module ends."""
    forget_code()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_files, "ROOT", tree)
        computed = digests_in(tree, makers)
    yield computed
    forget_code()


def read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the definitions of one file be read again, and those of other files be remembered.

    What names in other files stand for is remembered, too: the file has to define the same names.
    """
    remembered = definitions._own_definitions
    read = cache(remembered.__wrapped__)

    def own_definitions(place: Place) -> tuple[Definition, ...]:
        return read(place) if place.source.path == path else remembered(place)

    monkeypatch.setattr(definitions, "_own_definitions", own_definitions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "parts"),
    [
        ("recommenders/puresvd.py", "factors", "n_factors", {"run-puresvd"}),
        ("recommenders/ease.py", "return ", "return 1 * ", set()),
        ("recommenders/shared/train_and_rank.py", "allowed_items(", "abs(", RUNS),
        ("qrels/ratings/splits/user_random.py", "return ", "return 1 * ", set()),
        ("qrels/trec.py", "def format_qrels(qrels", "def format_qrels(x", {"qrels", "true-qrels"}),
        ("harness/metrics/precision.py", "return ", "return 1 * ", {*SCORED, *ANALYSED}),
        ("harness/metrics/recall.py", "return ", "return 1 * ", set()),
        ("harness/report/answer.py", "def answer_of(results", "def answer_of(found", {"answer"}),
        ("harness/report/page.py", "MAX_OPEN_ROWS = 12", "MAX_OPEN_ROWS = 13", set()),
        ("harness/version.py", "0", "1", set()),
        (
            "analyses/significance/permutation.py",
            "def exact_test(\n",
            "def exact_test(\n    another: int,\n",
            {"discrimination", "validity"},
        ),
        ("analyses/sparsity.py", "def sparsity(work", "def sparsity(known", {"sparsity"}),
        (
            "analyses/intervals/random_loss.py",
            "def caption(self",
            "def caption(x",
            {"drawn-sparsity"},
        ),
        ("analyses/shared/result.py", "def findings(self", "def findings(x", set()),
        ("analyses/sparsity.py", 'source="Valcarce', 'source="After Valcarce', set()),
        ("analyses/sparsity.py", 'question="', 'question="Well: ', set()),
        ("analyses/sparsity.py", 'description="', 'description="Namely: ', set()),
        ("analyses/shared/figure_options.py", "FONT_SIZE = 8.0", "FONT_SIZE = 9.0", DRAWN),
    ],
)
def test_other_code_makes_again_exactly_what_reaches_it(
    makers: Mapping[str, list[Place]],
    tree: Path,
    digests: Mapping[str, str],
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    old: str,
    new: str,
    parts: set[str],
) -> None:
    monkeypatch.setattr(source_files, "ROOT", tree)
    read_again(tree / file, monkeypatch)
    original = (tree / file).read_text()
    assert old in original
    (tree / file).write_text(original.replace(old, new))
    after = digests_in(tree, makers)
    (tree / file).write_text(original)
    assert {part for part in makers if digests[part] != after[part]} == parts


DIGESTS = """
from analyses.exposure import Exposure
from analyses.users import users
from harness.study.reachable_code import describe_makers
from harness.study.study_run import drawing_methods, result_files
from harness.study.work import StudyWork
print(describe_makers([result_files, *drawing_methods(Exposure)])["code"])
print(describe_makers([users.make, StudyWork])["code"])
"""


@pytest.mark.slow
def test_digests_are_the_same_in_every_process() -> None:
    """Sets of names have another order in each."""
    printed = [
        subprocess.run(
            [sys.executable, "-c", DIGESTS],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(source_files.ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "5")
    ]
    assert len(set(printed)) == 1


# Files of users


def test_a_module_beside_a_file_of_a_user_is_part_of_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f():\n    from beside import x\n    return x\n")
    (tmp_path / "beside.py").write_text("import qrels.trec\nimport numba\nx = 1\n")
    (tmp_path / "other.py").write_text("x = 1\n")
    found = reached(tmp_path / "mine.py")
    assert {path.name for path in found.files} >= {"mine.py", "beside.py", "trec.py"}
    assert "other.py" not in {path.name for path in found.files}
    assert "numba" in found.versions()


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
    closure = reached(plugin)
    assert closure.files == {plugin, *(library / name for name in names)}
    before = closure.digest
    for name in names:
        with (library / name).open("a") as source:
            source.write("changed = True\n")
        after = reached(plugin).digest
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
    closure = reached(plugin)
    assert closure.files == {plugin, source / "__init__.py", source / "values.py"}


def test_a_module_that_cannot_be_parsed_counts_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("print 'Python 2'\n")
    plugin = tmp_path / "mine.py"
    plugin.write_text("try:\n    import old\nexcept SyntaxError:\n    old = None\n")
    assert reached(plugin).files == {plugin, tmp_path / "old.py"}


def test_a_module_beside_a_plugin_that_python_does_not_import_does_not_count(
    tmp_path: Path,
) -> None:
    for name in ("json.py", "numpy.py"):
        (tmp_path / name).write_text("")
    plugin = tmp_path / "mine.py"
    plugin.write_text("import json\nimport numpy\n")
    closure = reached(plugin)
    assert closure.files == {plugin}
    assert "numpy" in closure.versions()


def test_a_metric_for_one_user_is_made_by_the_file_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from harness import user_metric\n"
        "@user_metric('mine', source='here')\ndef mine(grades, user): return 0.0\n"
    )
    assert place_of(plugin_metrics(path)["mine"].function) == place_of(path)


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
    for root in (tmp_path, source_files.ROOT):  # Installed with the project, and elsewhere.
        monkeypatch.setattr(source_files, "ROOT", root)
        members = reached(tmp_path / "mine/members.py")
        names = ("__init__", "handed", "helper", "members")
        assert members.files == {tmp_path / f"mine/{name}.py" for name in names}
        assert members.packages == {"alone", "mine", "numpy"}
        alone = reached(tmp_path / "alone.py")
        assert alone.files == {tmp_path / "alone.py"}
        assert alone.packages == {"alone", "numpy"}


def test_imports_for_type_checkers_alone_do_not_count(tmp_path: Path) -> None:
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import beside\n"
    (tmp_path / "mine.py").write_text(source)
    (tmp_path / "beside.py").write_text("")
    found = reached(tmp_path / "mine.py")
    assert found.files == {tmp_path / "mine.py"}


@pytest.mark.slow
def test_the_manifest_says_what_every_part_was_made_by(finished: Path) -> None:
    made_by: Any = manifest_of(finished)["made by"]
    parts = {*INPUT, *RUNS, *SCORED, *ANALYSED, *DRAWN, "answer"}
    entries = {part: json.loads(page_of(finished, part).read_text()) for part in parts}
    assert made_by == {part: entry["made_by"] for part, entry in entries.items()}
    assert all({"code", "numpy"} <= by.keys() for by in made_by.values())
    assert "lenskit" in made_by["run-popularity"]
    assert "lenskit" not in made_by["run-random"]
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


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
def test_a_folder_of_an_older_version_is_made_again(older: Path, finished: Path) -> None:
    before = made_at(older)
    study = Study.parse(WHOLE, source="study.toml", base=older, changes={"output": older})
    run_study(study, n_jobs=1, progress=ProgressLines())
    assert made_again(older, before) == set(before)
    assert contents(older, "tables/*") == contents(finished, "tables/*")
