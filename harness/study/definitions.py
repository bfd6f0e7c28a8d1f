"""Definitions in source code: the syntax of each, and what its names stand for.

Comments, docstrings, errors and warnings are left out: no number is computed from them.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from harness.study.source_files import (
    INNER_SCOPES,
    WHOLE,
    Imported,
    Place,
    Scope,
    SourceFile,
    find_definition,
    imported_by_name,
    imports_of,
    module_scope,
    modules_imported,
    parsed,
)
from runs.shared.user_modules import PACKAGES

CHANGES_NO_NUMBER = "CHANGES_NO_NUMBER"
"""The constant by which a module says that packages which it uses change no number."""

EFFECTS = "(effects)"
"""In place of the name of a definition: what a module does when it is imported."""


HANDED_OUT = frozenset({"__arrow_c_stream__"})
"""Special methods that only other libraries call, to read what was computed."""

DESCRIPTIVE = ("description", "question", "source")
"""Arguments, of settings and of decorators, whose texts are shown and never computed with."""


class Reference(NamedTuple):
    """A name in a definition: the definition, or the package of others, that it stands for.

    What is named by an annotation, a base class or a field of a class does not compute.
    """

    target: Place | str
    computes: bool


@dataclass(frozen=True)
class Definition:
    """What a definition says, and what it names.

    Parameters
    ----------
    digest
        Hash of its syntax.
    references
        What its names stand for.
    attributes
        Names of attributes that it uses, or writes as a text.
    methods
        Methods of a class that count if an attribute of their name is used.
    """

    digest: str
    references: frozenset[Reference]
    attributes: frozenset[str]
    methods: tuple[tuple[str, Definition], ...] = ()


def definitions_at(place: Place) -> tuple[Definition, ...]:
    """Read the definitions at a place: several if statements define one name."""
    if place.source.is_own:
        return _own_definitions(place)
    return (_users_module(place.source),)


def _users_module(source: SourceFile) -> Definition:
    """Read a file of a user, which counts whole, with the modules that it imports.

    Its digest is of the syntax, or of the bytes where that cannot be parsed or is no Python. Its
    references are the imported modules alone, wherever in the file they are imported.
    """
    content = source.path.read_bytes()
    if source.path.suffix != ".py":
        return Definition(sha256(content).hexdigest(), frozenset(), frozenset())
    tree = parsed(content)
    reader = _SyntaxReader(source, module_scope(content))
    for statement in tree.body:
        reader.visit(statement)
    reader.references.clear()
    for imported in modules_imported(tree):
        reader.refer(imported)
    # What cannot be parsed has no syntax.
    digest = reader.digest() if tree.body else sha256(content).hexdigest()
    return Definition(digest, frozenset(reader.references), frozenset(reader.attributes))


@cache
def _own_definitions(place: Place) -> tuple[Definition, ...]:
    """Read a definition of the project, whose code does not change while it runs.

    A method is read with its class. What the module does when it is imported (the statements
    ``scope.effects``) counts with each of its definitions (``scope.definitions``: statements by
    name); that, and the whole module, have places of their own, with the names `EFFECTS` and
    `WHOLE`. Raises KeyError for a name that the module does not define.
    """
    source, name = place
    scope = module_scope(source.path.read_bytes())
    if name == EFFECTS:
        return tuple(_read_statement(source, scope, effect) for effect in scope.effects)
    if name == WHOLE:
        names = [EFFECTS, *scope.definitions]
        places = [Place(source, name_in_module) for name_in_module in names]
        return (_reference_alone(*places),)
    top_level, _, method_name = name.partition(".")
    definitions = []
    for statement in scope.definitions[top_level]:
        if not isinstance(statement, ast.ClassDef):
            definitions.append(_read_statement(source, scope, statement))
            continue
        definition = _read_class(source, scope, statement)
        if not method_name:
            definitions.append(definition)
            continue
        definitions.append(_reference_alone(Place(source, top_level)))
        definitions += [method for name, method in definition.methods if name == method_name]
    if scope.effects:
        definitions.append(_reference_alone(Place(source, EFFECTS)))
    return tuple(definitions)


def _reference_alone(*places: Place) -> Definition:
    """Make a definition without syntax, which refers to other definitions."""
    references = [Reference(place, computes=True) for place in places]
    return Definition("", frozenset(references), frozenset())


def _read_statement(source: SourceFile, scope: Scope, statement: ast.stmt) -> Definition:
    """Read a statement of a module: a function, an assignment, or what runs at import."""
    reader = _SyntaxReader(source, scope)
    reader.enter(statement)
    return Definition(reader.digest(), frozenset(reader.references), frozenset(reader.attributes))


def _read_method(
    source: SourceFile, scope: Scope, method: ast.FunctionDef | ast.AsyncFunctionDef
) -> Definition:
    """Read a method, whose decorators declare what it is."""
    reader = _SyntaxReader(source, scope)
    with reader.declaring(values_compute=True):
        for decorator in method.decorator_list:
            reader.visit(decorator)
    reader.enter(method, without_decorators=True)
    return Definition(reader.digest(), frozenset(reader.references), frozenset(reader.attributes))


def _read_class(source: SourceFile, scope: Scope, statement: ast.ClassDef) -> Definition:
    """Read a class: what it declares, the methods that others call, and the other methods.

    Others call special methods (``__init__``) and those that a decorator of another package may
    call: they are read into the definition of the class. Each other method is in its ``methods``,
    by name, and so are those of `HANDED_OUT`.
    """
    reader = _SyntaxReader(source, scope)
    for decorator in statement.decorator_list:
        reader.visit(decorator)
    methods = []
    with reader.declaring():
        for part in [*statement.bases, *statement.keywords]:
            reader.visit(part)
    for member in statement.body:
        if not isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            with reader.declaring(values_compute=True):
                reader.visit(member)
            continue
        method = _read_method(source, scope, member)
        is_special = member.name.startswith("__") and member.name not in HANDED_OUT
        if is_special or _is_called_by_others(source, scope, member):
            reader.include(method)
        else:
            methods.append((member.name, method))
    return Definition(
        reader.digest(), frozenset(reader.references), frozenset(reader.attributes), tuple(methods)
    )


def _is_called_by_others(
    source: SourceFile, scope: Scope, method: ast.FunctionDef | ast.AsyncFunctionDef
) -> bool:
    """Check whether a decorator of another package may call a method, as a validator's does."""
    reader = _SyntaxReader(source, scope)
    for decorator in method.decorator_list:
        reader.visit(decorator)
    targets = {target for target, _ in reader.references if isinstance(target, str)}
    return bool(targets - sys.stdlib_module_names)


class _SyntaxReader(ast.NodeVisitor):
    """Reads the syntax of statements, and what their names stand for.

    Parameters
    ----------
    source
        The file of the statements.
    scope
        What the names of its module stand for.
    """

    def __init__(self, source: SourceFile, scope: Scope) -> None:
        self.source = source
        self.scope = scope
        self.references: set[Reference] = set()
        self.attributes: set[str] = set()
        self._counts_packages = not (source.is_own and CHANGES_NO_NUMBER in scope.definitions)
        self._syntax: list[str] = []
        self._local_imports: dict[str, Imported] = {}
        self._local_names: set[str] = set()
        self._without_decorators: ast.stmt | None = None
        self._own_computes = True
        self._others_compute = True

    def digest(self) -> str:
        """Hash the syntax that was read."""
        return sha256(" ".join(self._syntax).encode()).hexdigest()

    def enter(self, statement: ast.stmt, *, without_decorators: bool = False) -> None:
        """Read a statement; parameters and variables of a function hide names of the module.

        The decorators of the function itself may be left out, where they are read before; those of
        functions in it are read.
        """
        self._without_decorators = statement if without_decorators else None
        for node in ast.walk(statement):
            self._local_imports.update(imports_of(node))
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            self._local_names = _names_bound_in(statement) - self._local_imports.keys()
        self.visit(statement)

    def include(self, definition: Definition) -> None:
        """Add the syntax, references and attributes of another definition to those read."""
        self._syntax.append(definition.digest)
        self.references |= definition.references
        self.attributes |= definition.attributes

    @contextmanager
    def declaring(self, *, values_compute: bool = False) -> Iterator[None]:
        """Read declarations while the block runs: packages of others compute nothing by them.

        Definitions of the project compute by them only if ``values_compute``.
        """
        own_computed = self._own_computes
        others_computed = self._others_compute
        self._own_computes = own_computed and values_compute
        self._others_compute = False
        yield
        self._own_computes = own_computed
        self._others_compute = others_computed

    def refer(self, imported: Imported) -> None:
        """Add a reference to an imported definition, or to its package if that computes.

        What has no place is in a package of others: its version counts, by the name of its
        outermost package, unless the package is named in a declaration alone.
        """
        place = find_definition(imported, self.source)
        if place is not None:
            self.references.add(Reference(place, self._own_computes))
        elif self._others_compute and self._counts_packages:
            package = imported.within(self.source.package).module.partition(".")[0]
            self.references.add(Reference(package, computes=True))

    def visit(self, node: ast.AST) -> None:
        """Read a node, and what is in it; leave out docstrings, warnings and errors."""
        match node:
            case (
                ast.Expr(value=ast.Constant()) | ast.Expr(value=ast.Call(func=ast.Name(id="warn")))
            ):
                return
            case ast.Raise():
                self._syntax.append("Raise")
                return
        self._syntax.append(type(node).__name__)
        super().visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        """Read the fields of a node, but empty ones, which differ between versions of Python.

        Decorators of the statement that was entered without them are left out, too.
        """
        for name, value in ast.iter_fields(node):
            if value is None or value == [] or isinstance(value, ast.expr_context):
                continue
            if name == "decorator_list" and node is self._without_decorators:
                continue
            self._syntax.append(name)
            for part in value if isinstance(value, list) else [value]:
                if not isinstance(part, ast.AST):
                    self._syntax.append(repr(part))
                elif name in ("annotation", "returns"):
                    with self.declaring():
                        self.visit(part)
                else:
                    self.visit(part)

    def visit_Import(self, node: ast.Import) -> None:
        """Add references to packages of others that a function loads."""
        for alias in node.names:
            if alias.name.partition(".")[0] not in PACKAGES:
                self.refer(Imported(alias.name, None))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Add nothing: names count where they are used."""

    def visit_Name(self, node: ast.Name) -> None:
        """Add a reference to what a name stands for.

        The name is part of the syntax that is hashed. A variable, and a built-in function, stands
        for nothing else (`_lookup` returns None).
        """
        self._syntax.append(node.id)
        # What is assigned to, such as a field of a class, stands for nothing else.
        place = self._lookup(node.id) if isinstance(node.ctx, ast.Load) else None
        if isinstance(place, Imported):
            self.refer(place)
        elif place is not None:
            self.references.add(Reference(place, self._own_computes))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Add the name of an attribute; that of a module refers to a name of the module.

        In ``module.name``, where the module is one of the project, ``name`` is no attribute.
        """
        imported = self._lookup(node.value.id) if isinstance(node.value, ast.Name) else None
        if isinstance(imported, Imported):
            place = find_definition(imported, self.source)
            if place is not None and place.name == WHOLE and place.source.is_own:
                self._syntax += [imported.module, node.attr]
                self.refer(Imported(place.source.module, node.attr))
                return
        self.attributes.add(node.attr)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Read a constant; a text may name an attribute."""
        self._syntax.append(repr(node.value))
        if isinstance(node.value, str) and node.value.isidentifier():
            self.attributes.add(node.value)

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        """Add the names of the attributes that a pattern asks for."""
        self.attributes.update(node.kwd_attrs)
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        """Read an argument by name; leave out a text that only describes a setting or a member."""
        is_text = isinstance(node.value, ast.Constant | ast.JoinedStr)
        if not (is_text and node.arg in DESCRIPTIVE):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Read a call; one that imports a module by its name refers to the module."""
        module = imported_by_name(node)
        if module is not None:
            self.refer(Imported(module, None))
        self.generic_visit(node)

    def _lookup(self, name: str) -> Imported | Place | None:
        """Look up what a name stands for: an import, or a definition of a module of the project.

        None for a variable or a built-in function, and for definitions in a user's file, which
        counts whole.
        """
        if name in self._local_imports:
            return self._local_imports[name]
        if name in self._local_names:
            return None
        if name in self.scope.definitions:
            return Place(self.source, name) if self.source.is_own else None
        return self.scope.imports.get(name)


def _names_bound_in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """List the parameters and variables of a function, without those of functions in it.

    Names of functions in it are listed; those that it declares as global are not. What is in
    `INNER_SCOPES` (functions, classes, lambdas, comprehensions) has variables of its own.
    """
    arguments = function.args
    names = {
        argument.arg
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    }
    names |= {argument.arg for argument in (arguments.vararg, arguments.kwarg) if argument}
    pending: list[ast.AST] = [*function.body]
    global_names: set[str] = set()
    while pending:
        node = pending.pop()
        match node:
            case ast.Global(names=declared):
                global_names.update(declared)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
        if not isinstance(node, INNER_SCOPES):
            pending += ast.iter_child_nodes(node)
    return names - global_names
