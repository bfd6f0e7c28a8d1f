"""Parts of a study: what functions made, kept in files, and known by what it was made from.

A part is made again if an argument of its function differs, or the code that the function reaches,
or the version of a package that computes in it. Nobody writes a key: arguments are described as
data, whatever they are, and members among them (metrics, analyses, systems) count with their code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from scipy.sparse import issparse

from analyses.shared.measure import Measures
from harness.metrics.shared.metric import Metric
from harness.study.reachable_code import Maker, describe_makers
from harness.study.store import Store
from runs.shared.members import Member
from runs.shared.progress import Clock, Cost

Files: TypeAlias = dict[str, bytes]
"""Contents of files, by their names in the study folder."""


@dataclass(frozen=True)
class Key:
    """What a part is known by.

    Parameters
    ----------
    arguments
        Digest of what it is made from.
    made_by
        Digest of the code that makes it, and versions of packages.
    """

    arguments: str
    made_by: dict[str, str]


@dataclass(frozen=True)
class KeptPart:
    """A part in the study folder, as an argument of others: its files, with their checksums."""

    name: str
    files: Mapping[str, str]


@dataclass(frozen=True)
class Parts:
    """The parts of a study in its folder.

    Parameters
    ----------
    store
        The folder.
    names
        The parts that the study has, in the order in which they were asked for.
    written_names
        The parts of which files were written in this run: those that were missing or out of date.
    """

    store: Store
    names: list[str] = field(default_factory=list)
    written_names: list[str] = field(default_factory=list)
    _digests: dict[int, tuple[Any, str]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The study folder."""
        return self.store.folder

    def key(self, make: Maker, *arguments: Any, makers: Iterable[Maker] = ()) -> Key:
        """Derive the key of a call ``make(*arguments)`` from its arguments and the code it reaches.

        ``makers`` are further functions or classes whose code makes the part. The arguments that a
        partial function holds count, too. Keeps digests of the arrays among the arguments, so that
        each is hashed once. Raises TypeError for an argument without a description.
        """
        description = Description(self._digests)
        values = (make, *arguments) if isinstance(make, partial) else arguments
        arguments_as_data = description.describe(values)
        makers_of_part = [make, *makers, *description.makers]
        return Key(content_key(arguments_as_data), describe_makers(makers_of_part))

    def keep(
        self, name: str, make: Callable[..., Files], *arguments: Any, makers: Iterable[Maker] = ()
    ) -> None:
        """Call ``make(*arguments)`` and write the files that it returns, unless that is done.

        It is done if the ledger of the study folder has the part under the same key, and its files
        are unchanged; see `key`. ``name`` is that of the part in the ledger.
        """
        key = self.key(make, *arguments, makers=makers)
        self.build(name, key, lambda: make(*arguments))

    def build(self, name: str, key: Key, make: Callable[[], Files]) -> None:
        """Make and write the files of a part, unless it is complete under this key.

        The ledger keeps how long ``make`` took.
        """
        if self.lacks(name, key):
            clock = Clock()
            files = make()
            self.write(name, key, files, clock.cost())

    def lacks(self, name: str, key: Key) -> bool:
        """Check whether a part must be made, and enter its name among those of the study.

        True if it is not in the ledger under this key, or one of its files is missing or changed.
        """
        if name not in self.names:
            self.names.append(name)
        return not self.store.is_complete(name, key.arguments, key.made_by)

    def write(self, name: str, key: Key, files: Files, cost: Cost) -> None:
        """Write the files of a part into the study folder, with its key and cost."""
        self.written_names.append(name)
        self.store.write(name, key.arguments, files, cost=cost, made_by=key.made_by)

    def kept_parts(self, *names: str) -> list[KeptPart]:
        """Look up parts in the study folder, as arguments of others; leave out missing ones."""
        entries = {name: self.store.ledger.entry(name) for name in names}
        return [KeptPart(name, entry.files) for name, entry in entries.items() if entry is not None]


def content_key(*parts: Any) -> str:
    """Hash data that fit JSON: sha256, in hexadecimal digits."""
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def digest_of(*values: Any) -> str:
    """Hash values by what they hold; see `Description`."""
    return content_key(Description({}).describe(values))


class Description:
    """Describes values as data that fit JSON, so that equal ones can be told.

    Arrays and files are described by their content, settings and dataclasses by their fields;
    functions, classes and members of lists stand for themselves: they are makers.

    Parameters
    ----------
    digests
        Digests of arrays that were described, by ``id``, with the arrays.
    """

    def __init__(self, digests: dict[int, tuple[Any, str]]) -> None:
        self.makers: list[Maker] = []
        self._digests = digests

    def describe(self, value: Any) -> Any:
        """Describe a value, and add the functions and classes in it to ``self.makers``.

        Returns what fits JSON: numbers, texts and None as they are, arrays and files as hashes,
        mappings as dictionaries, sequences and sets as lists, objects by their fields.

        Raises
        ------
        TypeError
            If it is of a class whose content is not known.
        """
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.ndarray):
            return self._array_digest(value)
        if isinstance(value, np.generic):
            return value.item()
        if issparse(value):
            matrix = cast(Any, value).tocsr()
            return self.describe([matrix.shape, matrix.indptr, matrix.indices, matrix.data])
        if isinstance(value, Path):
            return _file_digest(value)
        if isinstance(value, Mapping):
            return {str(name): self.describe(content) for name, content in value.items()}
        if isinstance(value, Measures):
            return {
                "all": self.describe(list(value)),
                "reported": self.describe(list(value.reported)),
                "grid": self.describe(list(value.grid)),
                "falling": self.describe(list(value.lower_is_better_for)),
            }
        if isinstance(value, list | tuple):
            return [self.describe(element) for element in value]
        if isinstance(value, set | frozenset):
            return sorted(self.describe(element) for element in value)
        return self._describe_object(value)

    def _describe_object(self, value: Any) -> Any:
        """Describe what is no plain data: by its name or its fields, with the code that it is of.

        Functions and classes are described by None: they are makers. Raises TypeError for an object
        of another kind.
        """
        if isinstance(value, Enum):
            return value.name
        if isinstance(value, Metric):
            self.makers.append(value.function)
            return value.label
        if isinstance(value, Member):
            self.makers.append(value.make)
            return value.name
        if isinstance(value, BaseModel):
            return {name: self.describe(content) for name, content in value}
        if isinstance(value, partial):
            self.makers.append(value.func)
            return {
                "arguments": self.describe(value.args),
                "keywords": self.describe(value.keywords),
            }
        # A class whose fields are listed is a maker, not an object with values.
        if is_dataclass(value) and not isinstance(value, type):
            self.makers.append(type(value))
            return {
                field.name: self.describe(getattr(value, field.name)) for field in fields(value)
            }
        if callable(value):
            self.makers.append(value)
            return None
        raise TypeError(f"{type(value).__name__} has no description: {value!r}")

    def _array_digest(self, array: NDArray[Any]) -> str:
        """Hash type, shape and content of an array, once: it is an argument of many parts.

        The digest is kept by the id of the array, with the array, so that no other gets that id.
        """
        if id(array) not in self._digests:
            digest = sha256(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
            self._digests[id(array)] = (array, digest.hexdigest())
        _, hex_digest = self._digests[id(array)]
        return hex_digest


def _file_digest(path: Path) -> str:
    """Hash the content of a file; of a folder, relative paths and contents of all files in it.

    Raises OSError if there is no such file.
    """
    if not path.is_dir():
        return sha256(path.read_bytes()).hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file())
    contents = [(file.relative_to(path).as_posix(), _file_digest(file)) for file in files]
    return content_key(contents)
