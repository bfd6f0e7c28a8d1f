"""The code that functions can reach, which is what the parts of a study are made by.

A function reaches the definitions (functions, classes, constants) that it names, and what these
name in turn. Of a class its fields count, and each method whose name is used as an attribute in
anything that is reached: methods that draw or describe a result do not count for its numbers.
Comments, docstrings, errors and warnings never count: no number is computed from them.

A file of a user counts whole, with the modules beside it that it imports. Members of a list that
code looks up by name (metrics, systems, splits, analyses) are not found by following names: they
are named with the function that uses them.
"""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any, TypeAlias, cast

from harness.study.definitions import Definition, definitions_at
from harness.study.source_files import WHOLE, Place, SourceFile, own_source, users_source
from runs.shared.user_modules import PACKAGES

Maker: TypeAlias = Callable[..., Any] | property | cached_property[Any] | Path
"""A function, class, method or property, or a file of a user."""


@dataclass(frozen=True)
class ReachedCode:
    """Definitions that makers reach, and the packages of others that these compute with.

    Parameters
    ----------
    files
        The files of the definitions.
    packages
        The packages, by the names that imports have.
    digest
        Hash of the definitions.
    """

    files: frozenset[Path]
    packages: frozenset[str]
    digest: str

    def versions(self) -> dict[str, str]:
        """Look up the versions of the packages, by distribution."""
        names = {name for package in self.packages for name in distributions().get(package, ())}
        return versions_of(*sorted(names))


def describe_makers(makers: Iterable[Maker]) -> dict[str, str]:
    """Describe the code that makes a part, which is made again where this differs.

    Returns
    -------
    The digest of the code under "code", and the versions of packages by distribution.
    """
    places = frozenset(place_of(maker) for maker in makers)
    is_own_code = all(place.source.is_own for place in places)
    if is_own_code:
        return _describe_own_code(places)
    # Files of users may change while the program runs.
    return _describe_code(places)


def _describe_code(places: frozenset[Place]) -> dict[str, str]:
    reached = reach(places)
    return {"code": reached.digest, **reached.versions()}


_describe_own_code = cache(_describe_code)


def place_of(maker: Maker) -> Place:
    """Find the file of a maker, and the name of its definition there.

    That is the file of the project with its qualified name (of a function in a function, the name
    of the outer one), or the whole of a user's file. A partial function is found as its function, a
    property as its getter. Raises TypeError if a user's object has no source file.
    """
    if isinstance(maker, Path):
        return Place(users_source(maker), WHOLE)
    if isinstance(maker, partial | cached_property):
        return place_of(maker.func)
    if isinstance(maker, property):
        return place_of(cast("Callable[..., Any]", maker.fget))
    if maker.__module__.partition(".")[0] in PACKAGES:
        name = maker.__qualname__.partition(".<locals>")[0]
        return Place(own_source(maker.__module__), name)
    # A decorator of the project may wrap it.
    function = inspect.unwrap(maker)
    path = Path(inspect.getfile(function))
    return Place(users_source(path), WHOLE)


def reach(places: Iterable[Place], *, left_out: frozenset[Path] = frozenset()) -> ReachedCode:
    """Follow names from definitions to all definitions and packages that they reach.

    Packages of the standard library are left out, and definitions in the files ``left_out``, with
    what only these name. The digest does not depend on the order.
    """
    closure = _Closure(left_out)
    closure.follow(places)
    digest = sha256()
    for label, content in sorted(closure.digests.items()):
        digest.update(f"{label} {content}\n".encode())
    packages = frozenset(closure.packages - sys.stdlib_module_names)
    files = frozenset(place.source.path for place in closure.reached)
    return ReachedCode(files, packages, digest.hexdigest())


@dataclass
class _Closure:
    """The definitions that are reached, while they are followed.

    Parameters
    ----------
    left_out
        Files whose definitions are not followed.
    reached
        By place of a definition: whether it computes.
    digests
        Hash of the syntax of each definition, by a label of its place.
    packages
        Packages, of the standard library too, that definitions compute with.
    attributes
        Names of attributes that definitions use.
    pending
        Places that are still to be read, and whether they compute.
    unused_methods
        Methods, with their labels, whose name is no such attribute so far, by this name.
    """

    left_out: frozenset[Path] = frozenset()
    reached: dict[Place, bool] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    packages: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    pending: list[tuple[Place, bool]] = field(default_factory=list)
    unused_methods: defaultdict[str, list[tuple[str, Definition]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def follow(self, places: Iterable[Place]) -> None:
        """Add definitions, and all that they reach.

        A definition that was reached without computing is read again once it computes.
        """
        self.pending += [(place, True) for place in places]
        while self.pending:
            place, computes = self.pending.pop()
            computed_before = self.reached.get(place)
            # None where the place is new; True is final, and False is repeated.
            if computed_before or computed_before == computes:
                continue
            if place.source.path in self.left_out:
                continue
            self.reached[place] = computes
            label = f"{place.source.label}:{place.name}"
            for number, definition in enumerate(definitions_at(place)):
                self._add(f"{label}:{number}", definition, computes=computes)
                if computed_before is None:
                    self._keep_methods(label, definition)
            if not place.source.is_own:
                self._add_packages_around(place.source)

    def _add(self, label: str, definition: Definition, *, computes: bool) -> None:
        """Add the digest of a definition; queue what it names, and used methods with it.

        ``computes`` says whether it is used to compute: then the packages that it names count.
        """
        self.digests[label] = definition.digest
        for target, is_computing in definition.references:
            if isinstance(target, Place):
                self.pending.append((target, computes and is_computing))
            elif computes and is_computing:
                self.packages.add(target)
        for attribute in definition.attributes - self.attributes:
            self.attributes.add(attribute)
            for method_label, method in self.unused_methods.pop(attribute, ()):
                self._add(method_label, method, computes=True)

    def _keep_methods(self, label: str, definition: Definition) -> None:
        """Add the methods of a class whose name is used as an attribute of anything reached.

        The others are kept in ``self.unused_methods`` until their name is used.
        """
        for number, (name, method) in enumerate(definition.methods):
            method_label = f"{label}.{name} of its class:{number}"
            if name in self.attributes:
                self._add(method_label, method, computes=True)
            else:
                self.unused_methods[name].append((method_label, method))

    def _add_packages_around(self, source: SourceFile) -> None:
        """Add the packages that a user's file is in, whole, and their distribution's version."""
        self.packages.add(source.top_level)
        self.pending += [(Place(package, WHOLE), True) for package in source.packages()]


@cache
def distributions() -> dict[str, list[str]]:
    """Look up the names of distributions by the package that they install."""
    return dict(packages_distributions())


@cache
def versions_of(*packages: str) -> dict[str, str]:
    """Look up the versions of packages that are installed."""
    versions = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions
