"""The structure of the code: what may be removed, and how modules are named."""

import ast
import importlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from shutil import copytree

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("runs", "qrels", "recommenders", "analyses", "harness")
SEPARATE = ("analyses/online", "analyses/sampled", "harness/online")
COMMANDS = ("harness/cli/logs.py", "harness/cli/sampled.py")
"""The commands that alone import them."""

TYPED_BY_USERS = ("harness/metrics", "recommenders", "analyses")
"""Folders whose files are called as users type them: members of the lists."""

STUDY = """
name = "small"
[ratings]
format = "world"
[ratings.world]
n_users = 60
n_items = 80
n_ratings = 1500
min_ratings = 10
gini = 0.4
[systems]
names = ["random", "popularity"]
depth = 10
[metrics]
names = ["P", "nDCG"]
cutoffs = [5, 10]
[analyses]
names = ["sparsity", "discrimination"]
[analyses.sparsity]
levels = [1.0, 0.5]
samples = 2
replicates = 2
[analyses.discrimination]
replicates = 2
"""


def modules(package: str) -> list[Path]:
    return [path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py")]


@pytest.mark.slow
def test_a_study_runs_without_what_is_imported_by_the_command_line_alone(tmp_path: Path) -> None:
    for package in PACKAGES:
        # What was compiled is copied along, and found by the times of its sources.
        copytree(ROOT / package, tmp_path / package)
    for path in (*SEPARATE, *COMMANDS):
        (tmp_path / path).rename(tmp_path / path.replace("/", "-"))
    (tmp_path / "study.toml").write_text(STUDY)
    every = [
        ".".join(path.relative_to(tmp_path).with_suffix("").parts).removesuffix(".__init__")
        for package in PACKAGES
        for path in (tmp_path / package).rglob("*.py")
        if path.name != "__main__.py"
    ]
    script = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "from analyses.shared.result import FigureDeclaration\n"
        "from harness.cli.main import main\n"
        # Figures are most of what a study costs.
        "FigureDeclaration.applies_to = lambda *_: False\n"
        "main(['run', 'study.toml', '--quiet', '--jobs', '1'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *every],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "study-small" / "report.html").is_file()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_base_name_occurs_once_in_a_package(package: str) -> None:
    counted = Counter(
        path.name
        for path in modules(package)
        if path.parent.as_posix() not in TYPED_BY_USERS and not path.name.startswith("__")
    )
    assert [name for name, count in counted.items() if count > 1] == []


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_imports_a_package_that_it_is_in(package: str) -> None:
    uphill = [
        f"{path}: {ast.unparse(node)}"
        for path in modules(package)
        if path.name != "__init__.py"
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if imports_above(path, node)
    ]
    assert uphill == []


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_compiled_uses_nothing_of_other_modules(package: str) -> None:
    """What numba keeps is found by the file alone: a constant of another would stay what it was."""
    borrowed = [
        f"{path}: {name}"
        for path in modules(package)
        if "import jit" in (text := (ROOT / path).read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in PACKAGES
        for name in {alias.asname or alias.name for alias in node.names} & used_compiled(path)
    ]
    assert borrowed == []


def used_compiled(path: Path) -> set[str]:
    """Give the global names that the compiled functions of a module use."""
    module = importlib.import_module(".".join(path.with_suffix("").parts))
    functions = [each.py_func for each in vars(module).values() if hasattr(each, "py_func")]
    return {name for function in functions for name in function.__code__.co_names}


def imports_above(path: Path, node: ast.AST) -> bool:
    """Tell whether more than modules is taken from a package that a module is in."""
    match node:
        case ast.Import(names=names):
            return any(Path(name.name.replace(".", "/")) in path.parents for name in names)
        case ast.ImportFrom(module=str(source), names=names):
            folder = Path(source.replace(".", "/"))
            files = (ROOT / folder / f"{name.name}.py" for name in names)
            return folder in path.parents and not all(file.is_file() for file in files)
    return False


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_it_holds(package: str) -> None:
    for path in modules(package):
        if path.name == "__init__.py":
            assert (ROOT / path).read_text(encoding="utf-8").startswith(('"""', 'r"""')), path


MAX_STATEMENTS = 30
LONG_FUNCTIONS: dict[str, str] = {
    "harness/scoring/kernel.py:_accumulate": "a compiled loop whose state would have to be passed",
}
"""Functions of more than 30 statements, at most three, each with its reason."""


def functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


@cache
def all_trees() -> list[tuple[Path, ast.Module]]:
    paths = [path for package in PACKAGES for path in modules(package)]
    return [(path, ast.parse((ROOT / path).read_text(encoding="utf-8"))) for path in paths]


def places(finds: Callable[[ast.AST], Iterator[ast.AST]]) -> list[str]:
    return [
        f"{path}:{node.lineno}"
        for path, tree in all_trees()
        for node in finds(tree)
        if isinstance(node, ast.expr | ast.stmt)
    ]


def products_with_truth(tree: ast.AST) -> Iterator[ast.AST]:
    """Find texts and lists that are multiplied by a comparison or another truth value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            pairs = ((node.left, node.right), (node.right, node.left))
            if any(is_text_or_list(left) and is_truth(right) for left, right in pairs):
                yield node


def is_text_or_list(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_text or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple)


def is_truth(node: ast.AST) -> bool:
    is_negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    is_call = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "bool"
    return is_negation or is_call or isinstance(node, ast.Compare | ast.BoolOp)


def test_no_text_is_multiplied_by_a_truth() -> None:
    """``if`` says the same, and can be read."""
    assert places(products_with_truth) == []


def test_functions_have_at_most_thirty_statements() -> None:
    long_functions = {
        f"{path}:{function.name}"
        for path, tree in all_trees()
        for function in functions(tree)
        if n_statements(function) > MAX_STATEMENTS
    }
    assert long_functions == set(LONG_FUNCTIONS)
    assert len(LONG_FUNCTIONS) <= 3


def n_statements(function: ast.AST) -> int:
    """Count the statements of a function that do something, and the heads of its blocks."""
    counted = (
        *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Assert, ast.Delete),
        *(ast.If, ast.While, ast.For),
    )
    statements = [node for node in ast.walk(function) if isinstance(node, counted)]
    calls = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
    ]
    return len(statements) + len(calls)
