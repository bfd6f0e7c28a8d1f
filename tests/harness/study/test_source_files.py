"""Files of code: how they are named, and what their imports and definitions are."""

import ast
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from harness.study import source_files
from harness.study.source_files import (
    ROOT,
    WHOLE,
    Imported,
    Place,
    SourceFile,
    find_definition,
    imported_by_name,
    imports_of,
    module_path,
    module_scope,
    modules_imported,
    own_source,
    parsed,
    users_source,
)


def write(folder: Path, *names: str, **texts: str) -> Path:
    """Write files: empty ones, and those with a text, whose names lack their ending."""
    files = dict.fromkeys(names, "") | {f"{name}.py": text for name, text in texts.items()}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


# Names of modules


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("numpy.linalg", "numpy.linalg"),
        (".near", "a.b.near"),
        (".", "a.b"),
        ("..near", "a.near"),
        ("..", "a"),
        ("...near", "near"),
    ],
)
def test_modules_are_named_from_the_outermost_package(module: str, name: str) -> None:
    assert Imported(module, "x").within(("a", "b")) == Imported(name, "x")


def test_a_file_knows_its_module_and_its_packages(tmp_path: Path) -> None:
    names = ("__init__.py", "a/__init__.py", "a/b/__init__.py", "a/b/c.py")
    root = write(tmp_path, *names)
    source = SourceFile(root / "a/b/c.py", root, plugin_folder=root)
    assert (source.module, source.top_level, source.package) == ("a.b.c", "a", ("a", "b"))
    assert not source.is_package
    assert source.packages() == [
        SourceFile(root / "a/b/__init__.py", root, plugin_folder=root),
        SourceFile(root / "a/__init__.py", root, plugin_folder=root),
    ]
    inner = source.packages()[0]
    assert inner.is_package
    assert (inner.module, inner.top_level, inner.package) == ("a.b", "a", ("a", "b"))


def test_a_folder_without_an_init_is_no_package(tmp_path: Path) -> None:
    root = write(tmp_path, "a/b/__init__.py", "a/b/c.py")
    packages = SourceFile(root / "a/b/c.py", root).packages()
    assert [source.path for source in packages] == [root / "a/b/__init__.py"]


def test_a_file_on_top_is_a_module_of_its_own(tmp_path: Path) -> None:
    source = SourceFile(tmp_path / "mine.cpython-311.so", tmp_path)
    assert (source.top_level, source.package, source.packages()) == ("mine", (), [])
    assert SourceFile(tmp_path / "mine.py", tmp_path).module == "mine"


def test_the_project_is_the_packages_in_its_folder(tmp_path: Path) -> None:
    assert SourceFile(ROOT / "runs/shared/ids.py", ROOT).is_own
    assert SourceFile(ROOT / "harness/version.py", ROOT).is_own
    assert not SourceFile(ROOT / "tests/sizes.py", ROOT).is_own
    assert not SourceFile(tmp_path / "runs/mine.py", tmp_path).is_own


def test_files_of_users_may_move_without_another_label(tmp_path: Path) -> None:
    assert SourceFile(ROOT / "runs/shared/ids.py", ROOT).label == "runs/shared/ids.py"
    assert SourceFile(tmp_path / "runs/run.py", tmp_path).label == "runs/run.py"
    assert SourceFile(tmp_path / "deep/runs.py", tmp_path).label == "runs.py"
    assert SourceFile(tmp_path / "mine.py", tmp_path).label == "mine.py"


def test_modules_of_the_project_are_found_by_name() -> None:
    assert own_source("runs.shared.ids") == SourceFile(ROOT / "runs/shared/ids.py", ROOT)
    assert own_source("runs.shared").path == ROOT / "runs/shared/__init__.py"
    with pytest.raises(ModuleNotFoundError, match=r"runs\.unknown"):
        own_source("runs.unknown")


def test_a_users_file_is_named_from_its_outermost_package(tmp_path: Path) -> None:
    root = write(tmp_path / "x", "mine.py", "a/__init__.py", "a/b/__init__.py", "a/b/c.py")
    assert users_source(root / "mine.py") == SourceFile(root / "mine.py", root, root)
    expected = SourceFile(root / "a/b/c.py", root, plugin_folder=root / "a/b")
    assert users_source(root / "a/b/c.py") == expected


def test_no_modules_stand_beside_what_is_installed_or_in_the_project(tmp_path: Path) -> None:
    root = write(tmp_path, "mine.py", "mine-1.0.dist-info/METADATA")
    assert users_source(root / "mine.py") == SourceFile(root / "mine.py", root)
    path = ROOT / "runs/shared/ids.py"
    assert users_source(path) == SourceFile(path, ROOT)


def test_a_package_comes_before_a_module_of_its_name(tmp_path: Path) -> None:
    compiled = f"fast{EXTENSION_SUFFIXES[0]}"
    write(tmp_path, "a/__init__.py", "a.py", "a/b.py", compiled)
    assert module_path("a", tmp_path) == tmp_path / "a/__init__.py"
    assert module_path("a.b", tmp_path) == tmp_path / "a/b.py"
    assert module_path("fast", tmp_path) == tmp_path / compiled
    assert module_path("a.c", tmp_path) is None


def test_files_of_users_come_and_go(tmp_path: Path) -> None:
    assert module_path("mine", tmp_path) is None
    write(tmp_path, "mine.py")
    assert module_path("mine", tmp_path) == tmp_path / "mine.py"


# Where an import is defined


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return write(
        tmp_path,
        "space/part.py",
        "package/sub.py",
        f"fast{EXTENSION_SUFFIXES[0]}",
        mine="",
        plain="x = 1\ndef f(): pass\n",
        handing="from plain import f as g\nfrom numpy import array\nimport plain\n",
        **{
            "package/__init__": "from .inner import f\nfrom . import inner\n",
            "package/inner": "from ..plain import x\ndef f(): pass\nfrom .sub import *\n",
        },
    )


def found(library: Path, module: str, name: str | None, *, at: str = "mine.py") -> Place | None:
    source = SourceFile(library / at, library, plugin_folder=library)
    return find_definition(Imported(module, name), source)


def place(library: Path, path: str, name: str) -> Place:
    return Place(SourceFile(library / path, library, plugin_folder=library), name)


def test_a_name_is_found_where_it_is_defined(library: Path) -> None:
    assert found(library, "plain", "f") == place(library, "plain.py", "f")
    assert found(library, "plain", "x") == place(library, "plain.py", "x")
    assert found(library, "handing", "g") == place(library, "plain.py", "f")
    assert found(library, "package", "f") == place(library, "package/inner.py", "f")


def test_a_module_counts_as_a_whole(library: Path) -> None:
    assert found(library, "plain", None) == place(library, "plain.py", WHOLE)
    assert found(library, "package", None) == place(library, "package/__init__.py", WHOLE)
    assert found(library, "package", "sub") == place(library, "package/sub.py", WHOLE)
    assert found(library, "package.sub", None) == place(library, "package/sub.py", WHOLE)
    assert found(library, "handing", "plain") == place(library, "plain.py", WHOLE)


def test_a_module_counts_as_a_whole_where_a_name_cannot_be_found_in_it(library: Path) -> None:
    assert found(library, "plain", "made_later") == place(library, "plain.py", WHOLE)
    compiled = f"fast{EXTENSION_SUFFIXES[0]}"
    assert found(library, "fast", "f") == place(library, compiled, WHOLE)


def test_a_namespace_package_has_no_file(library: Path) -> None:
    assert found(library, "space", "part") == place(library, "space/part.py", WHOLE)
    assert found(library, "space.part", None) == place(library, "space/part.py", WHOLE)
    assert found(library, "space", None) is None
    assert found(library, "space", "other") is None


def test_imports_within_a_package_are_named_from_it(library: Path) -> None:
    expected = place(library, "package/inner.py", "f")
    assert found(library, ".inner", "f", at="package/sub.py") == expected
    assert found(library, ".", "inner", at="package/sub.py") == place(
        library, "package/inner.py", WHOLE
    )
    assert found(library, "package.inner", "f", at="package/sub.py") == expected
    assert found(library, "..", "plain", at="package/sub.py") is None


@pytest.mark.parametrize("module", ["json", "numpy", "unknown_module", "sys", ""])
def test_what_is_installed_counts_by_its_version(library: Path, module: str) -> None:
    write(library, "json.py", "numpy.py")
    assert found(library, module, None) is None
    assert found(library, "handing", "array") is None


def test_modules_of_the_project_are_found_from_everywhere(library: Path) -> None:
    ids = SourceFile(ROOT / "runs/shared/ids.py", ROOT)
    assert found(library, "runs.shared.ids", "Numbering") == Place(ids, "Numbering")
    # The package hands the name on.
    assert found(library, "runs", "Numbering") == Place(ids, "Numbering")
    own = SourceFile(ROOT / "runs/shared/fields.py", ROOT)
    assert find_definition(Imported("runs.shared.ids", "Numbering"), own) == Place(ids, "Numbering")
    assert find_definition(Imported("click", None), own) is None


def test_the_project_takes_nothing_from_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    own = SourceFile(ROOT / "runs/shared/fields.py", ROOT)
    monkeypatch.setattr(source_files, "find_top_level", None)
    assert find_definition(Imported("conformance", None), own) is None


def test_plugins_import_what_stands_on_the_path(
    library: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path_factory.mktemp("path"), "far/__init__.py", alone="x = 1\n")
    monkeypatch.syspath_prepend(folder)
    for module, path in (("far", "far/__init__.py"), ("alone", "alone.py")):
        expected = Place(SourceFile(folder / path, folder, plugin_folder=library), WHOLE)
        assert found(library, module, None) == expected


# What a module holds


def scope_of(text: str) -> tuple[set[str], dict[str, Imported], list[str]]:
    scope = module_scope(text.encode())
    return {*scope.definitions}, scope.imports, [*map(ast.unparse, scope.effects)]


def test_statements_are_entered_under_the_names_that_they_define() -> None:
    text = "def f(): pass\nasync def g(): pass\nclass C: x = 1\na = b = 2\nc: int = 3\n"
    assert scope_of(text) == ({"f", "g", "C", "a", "b", "c"}, {}, [])
    assert len(module_scope(b"a = 1\na = 2\n").definitions["a"]) == 2


def test_names_of_tuples_and_branches_are_definitions() -> None:
    text = "try:\n    import a\n    x = 1\nexcept ImportError:\n    x, y = None, 2\n"
    names, imports, effects = scope_of(text)
    assert names == {"x", "y"}
    assert imports == {"a": Imported("a", None)}
    # What the statement does runs when the module is imported.
    assert len(effects) == 1
    names, _, effects = scope_of("if a:\n    def f(): pass\n    class C:\n        x = 1\n")
    assert names == {"f", "C"}
    assert len(effects) == 1


def test_names_of_inner_scopes_define_nothing() -> None:
    text = "a = [b for b in range(3)]\nfor c in [(lambda: (d := 1))]:\n    pass\n"
    names, _, effects = scope_of(text)
    assert names == {"a", "c"}
    assert len(effects) == 1


def test_statements_that_define_nothing_are_effects() -> None:
    names, _, effects = scope_of('"""Text."""\nprint(1)\na.b = 2\n3\n')
    assert names == set()
    assert effects == ["print(1)", "a.b = 2"]


def test_imports_for_type_checkers_are_known_by_name() -> None:
    text = (
        "import a\nif TYPE_CHECKING:\n    from b import c\n    T = int\nif other:\n    import d\n"
    )
    names, imports, effects = scope_of(text)
    assert names == {"T"}
    assert imports == {"a": Imported("a", None), "c": Imported("b", "c"), "d": Imported("d", None)}
    assert len(effects) == 1


def imported(text: str) -> dict[str, Imported]:
    (statement,) = ast.parse(text).body
    return imports_of(statement)


def test_an_import_says_what_each_name_stands_for() -> None:
    assert imported("import a, b.c, d.e as f") == {
        "a": Imported("a", None),
        "b": Imported("b", None),
        "f": Imported("d.e", None),
    }
    assert imported("from a.b import c, d as e") == {
        "c": Imported("a.b", "c"),
        "e": Imported("a.b", "d"),
    }
    assert imported("from . import a") == {"a": Imported(".", "a")}
    assert imported("from ..b import a") == {"a": Imported("..b", "a")}
    assert imported("a = 1") == {}


def test_all_imports_of_a_tree_are_listed() -> None:
    text = """
import a.b
def f():
    from c import d
    return import_module("e") + importlib.import_module("f.g", 1) + __import__("h")
import_module(name)
other("i")
"""
    assert [*modules_imported(ast.parse(text))] == [
        Imported("a.b", None),
        Imported("c", "d"),
        *(Imported(name, None) for name in ("e", "f.g", "h")),
    ]


def test_imports_for_type_checkers_alone_are_not_listed() -> None:
    text = "if TYPE_CHECKING:\n    import a\nelse:\n    import b\nif other:\n    import c\n"
    listed = [*modules_imported(ast.parse(text))]
    assert listed == [Imported("b", None), Imported("c", None)]


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("import_module('a.b')", "a.b"),
        ("importlib.import_module('a')", "a"),
        ("__import__('a', x)", "a"),
        ("import_module()", None),
        ("import_module(3)", None),
        ("import_module(name)", None),
        ("other('a')", None),
        ("f()('a')", None),
    ],
)
def test_a_call_may_import_a_module_by_its_name(text: str, module: str | None) -> None:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert imported_by_name(call) == module


def test_what_cannot_be_parsed_imports_nothing() -> None:
    assert parsed(b"print 'Python 2'").body == []
    assert parsed(b"a = '\0'").body == []
    assert len(parsed(b"import a").body) == 1
