"""What an analysis is: a name, settings, how its result is made; and the register of analyses.

The folder is the list: a module of ``analyses`` that declares an analysis is one, by the name of
its file; so is a user's file. A folder is a member, too, if its ``__init__.py`` has what one of its
modules declares. In a group, which is a folder with the constant ``GROUP``, every module that
declares one is a member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from analyses.shared.result import Result
from analyses.shared.work import OtherWorld
from runs import InputError
from runs.shared.errors import require_known, suggestion
from runs.shared.members import Member, import_modules, load_installed, load_module
from runs.shared.settings import Section

if TYPE_CHECKING:
    from analyses.shared.measure import Measures
    from analyses.shared.work import Work
    from qrels import FullRanks


class Need(StrEnum):
    """What an analysis may need beside scores and judgements."""

    FULL_RANKS = "full_ranks"
    """Where each trained system ranks every relevant item among all candidates; of the other data
    such an analysis uses none."""

    CANDIDATE_RANKS = "candidate_ranks"
    """Where each trained system ranks all candidates, of as many users as can be kept."""

    ALL_CANDIDATE_RANKS = "all_candidate_ranks"
    """The same if it can be kept of all users, else nothing."""

    TRUTH = "truth"
    """What the systems are truly worth."""

    WORLDS = "worlds"
    """The same study in other simulated worlds."""

    SINGLE_LISTS = "single lists"
    """One list of each system for each user, which several runs of a system are not."""

    EXPERIMENT = "experiment"
    """The record of an online experiment."""


SettingsT = TypeVar("SettingsT", bound="AnalysisSettings")
ResultT = TypeVar("ResultT", bound=Result)


FOLDER = "analyses"
GROUP = "GROUP"
"""The constant by which a folder says that it is a group: a sentence on what its members study."""


class SettingError(InputError):
    """A setting, the key, that does not fit what is studied; the finding says so in a sentence."""

    def __init__(self, key: str, finding: str) -> None:
        super().__init__(finding)
        self.key = key


def _no_ranks() -> FullRanks:
    raise InputError("ranks among all candidates need training ratings.")


def _no_worlds(world: OtherWorld) -> None:
    raise InputError("other worlds need a study that begins with a simulated world.")


@dataclass(frozen=True)
class StudyFacts:
    """What is known of a study before any work.

    The best ranks are those of a perfect system among all candidates. Where other worlds can be
    drawn, one that cannot is refused.
    """

    systems: tuple[str, ...]
    measures: Measures
    has_training: bool
    has_truth: bool = False
    best_ranks: Callable[[], FullRanks] = _no_ranks
    require_world: Callable[[OtherWorld], object] = _no_worlds


class AnalysisSettings(Section):
    """Settings of an analysis: described fields with ranges; unknown names are refused.

    A field that is a `Path` names a file that the analysis reads: it counts from the folder of the
    study file, and its checksum goes into the manifest.
    """

    def check(self, study: StudyFacts) -> None:
        """Refuse, before any work, what does not fit the study; by default nothing."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the analysis needs with these settings, beside what it always does."""
        return ()

    def files(self) -> list[Path]:
        """Give the files that the analysis reads."""
        return [value for _, value in self if isinstance(value, Path)]

    def other_worlds(self, seed: int) -> list[OtherWorld]:
        """Give the worlds, other than the study's, in which it trains systems."""
        return []


@dataclass(frozen=True)
class Analysis(Member[SettingsT], Generic[SettingsT, ResultT]):
    """An analysis, as its file declares it; see `Member`.

    The annotations of ``make``, which makes the result, name the classes of settings and result.
    What it needs (see `Need`) must be known or made before it. On request, it is made only if it is
    named. The question, in which {units} stands for users or topics, opens its section of the
    report.
    """

    make: Callable[[Any, SettingsT], ResultT]
    needs: tuple[Need, ...] = ()
    on_request: bool = False
    group: str | None = None
    question: str = ""

    def __call__(self, work: Work, settings: SettingsT | None = None) -> ResultT:
        """Make the result; with the defaults if no settings are given."""
        made = self.make(work, self.settings() if settings is None else settings)
        return replace(made, unit=work.unit)

    @property
    def result(self) -> type[ResultT]:
        """Class of what it finds."""
        return self._annotated("return")

    def all_needs(self, settings: AnalysisSettings) -> frozenset[Need]:
        """List what it needs with these settings."""
        return frozenset([*self.needs, *settings.needs])

    @property
    def section(self) -> str:
        """Name of the section of a study file that has its settings."""
        return self.group or self.name

    @property
    def key(self) -> str:
        """What its part of a study is called, and the file that keeps its result."""
        return self.name if self.group is None else f"{self.group}_{self.name}"

    def runs_by_default(self, made: Iterable[Need] = ()) -> bool:
        """Tell whether a study that makes what others may need makes it without a word about it."""
        required = [f for f in self.settings.model_fields.values() if f.is_required()]
        return set(self.needs) <= set(made) and not (required or self.on_request)


def analysis(
    name: str,
    *,
    source: str,
    needs: Iterable[Need | str] = (),
    on_request: bool = False,
    question: str = "",
) -> Callable[[Callable[[Any, SettingsT], ResultT]], Analysis[SettingsT, ResultT]]:
    """Declare a function of work and settings as an analysis; see `Analysis`.

    Raises
    ------
    InputError
        If nothing is known by a name among the needs.
    """
    names = [*needs]
    require_known(f"analysis {name!r}: nothing that an analysis may need is", names, [*Need])
    needed = tuple(map(Need, names))

    def declare(make: Callable[[Any, SettingsT], ResultT]) -> Analysis[SettingsT, ResultT]:
        return Analysis(name, source, make, needed, on_request, question=question)

    return declare


@cache
def built_in_analyses() -> Mapping[str, Analysis[Any, Any]]:
    """Give every analysis of the folder ``analyses``, by key."""
    found: dict[str, Analysis[Any, Any]] = {}
    for module in iter_modules(import_module(FOLDER).__path__):
        declaring = import_module(f"{FOLDER}.{module.name}")
        if module.ispkg and hasattr(declaring, GROUP):
            found |= {member.key: member for member in members_of(module.name)}
        else:
            found |= _declared(declaring)
    return found


@cache
def members_of(group: str) -> tuple[Analysis[Any, Any], ...]:
    """Give the analyses that the modules of a folder declare."""
    return tuple(
        replace(member, group=group)
        for module in import_modules(f"{FOLDER}.{group}")
        for member in _declared(module).values()
    )


def find_analysis(name: str) -> Analysis[Any, Any]:
    """Import an analysis of the folder by its name, and no other."""
    modules = iter_modules(import_module(FOLDER).__path__)
    names = [module.name for module in modules]
    found = _declared(import_module(f"{FOLDER}.{name}")) if name in names else {}
    if name not in found:
        known = [key for key, member in built_in_analyses().items() if member.group is None]
        raise InputError(f"no analysis is called {name!r}; {suggestion(name, known)}")
    return found[name]


def read_user_analysis(path: Path) -> Analysis[Any, Any]:
    """Give the analysis that a user's Python file declares now."""
    return _analysis_in(load_module(path, description="analysis"), path)


@cache
def _analysis_in(module: ModuleType, path: Path) -> Analysis[Any, Any]:
    declared = _declared(module)
    if len(declared) != 1:
        raise InputError(f"{path}: one function must be declared with @analysis(...).")
    ((name, found),) = declared.items()
    known = built_in_analyses().values()
    if name in {taken for other in known for taken in (other.key, other.section)}:
        raise InputError(f"{path}: an analysis called {name!r} exists already.")
    return found


def analyses_with_plugins(
    plugins: Sequence[Path], named: Iterable[str] = ()
) -> Mapping[str, Analysis[Any, Any]]:
    """Give the built-in analyses, those of users' files and installed ones that are named."""
    own = [read_user_analysis(path) for path in plugins]
    register = {**built_in_analyses(), **{analysis.key: analysis for analysis in own}}
    for name in named:
        if name not in register and (found := load_installed("analyses", name, Analysis)):
            register[name] = found
    return register


def _declared(module: ModuleType) -> dict[str, Analysis[Any, Any]]:
    """Give the analyses declared in a module, by name."""
    found: list[Analysis[Any, Any]] = Analysis.declared_in(module)
    return {analysis.name: analysis for analysis in found}
