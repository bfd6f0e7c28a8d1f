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
"""Name of the package whose modules declare the built-in analyses."""

GROUP = "GROUP"
"""The constant by which a folder says that it is a group: a sentence on what its members study."""


class SettingError(InputError):
    """A setting that does not fit the study: its key, and a sentence that says why (finding)."""

    def __init__(self, key: str, finding: str) -> None:
        super().__init__(finding)
        self.key = key


def _no_ranks() -> FullRanks:
    """Refuse, with InputError, to rank without training ratings."""
    raise InputError("ranks among all candidates need training ratings.")


def _no_worlds(world: OtherWorld) -> None:
    """Refuse, with InputError, any other world in a study without a simulated world."""
    raise InputError("other worlds need a study that begins with a simulated world.")


@dataclass(frozen=True)
class StudyFacts:
    """What is known of a study before any work.

    Parameters
    ----------
    systems
        Names of the systems.
    measures
        The measures.
    has_training
        Whether there are training ratings.
    has_truth
        Whether the true worth of the systems is known.
    best_ranks
        Computes the ranks of a perfect system among all candidates; raises InputError if there are
        no candidates.
    require_world
        Raises InputError if another world cannot be drawn.
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
        """Refuse, before any work, settings that do not fit the study; by default none.

        Raises InputError, such as SettingError, with a sentence.
        """

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the analysis needs with these settings, beside what it always does."""
        return ()

    def files(self) -> list[Path]:
        """Collect the paths of the files that the analysis reads: the settings of type `Path`."""
        return [value for _, value in self if isinstance(value, Path)]

    def other_worlds(self, seed: int) -> list[OtherWorld]:
        """List the worlds, other than the study's, in which it trains systems; by default none.

        ``seed`` is that of the study.
        """
        return []


@dataclass(frozen=True)
class Analysis(Member[SettingsT], Generic[SettingsT, ResultT]):
    """An analysis, as its file declares it; see `Member`.

    Parameters
    ----------
    make
        Makes the result from work and settings; its annotations name the classes of settings and
        result.
    needs
        What must be known, or made, before it with any settings.
    on_request
        Whether it is made only if the study names it.
    group
        Name of the folder of the group that it is a member of, if any.
    question
        Opens its section of the report; {units} stands for users or topics.
    """

    make: Callable[[Any, SettingsT], ResultT]
    needs: tuple[Need, ...] = ()
    on_request: bool = False
    group: str | None = None
    question: str = ""

    def __call__(self, work: Work, settings: SettingsT | None = None) -> ResultT:
        """Make the result; with the defaults if no settings are given."""
        if settings is None:
            settings = self.settings()
        result = self.make(work, settings)
        return replace(result, unit=work.unit)

    @property
    def result(self) -> type[ResultT]:
        """Class of its result: the annotation of what ``make`` returns."""
        return self._annotated("return")

    def all_needs(self, settings: AnalysisSettings) -> frozenset[Need]:
        """Collect what it needs with any settings, and with these."""
        return frozenset(self.needs) | frozenset(settings.needs)

    @property
    def section(self) -> str:
        """Name of the section of a study file that has its settings."""
        return self.group or self.name

    @property
    def key(self) -> str:
        """What its part of a study is called, and the file that keeps its result."""
        return self.name if self.group is None else f"{self.group}_{self.name}"

    def runs_by_default(self, available: Iterable[Need] = ()) -> bool:
        """Tell whether it is made in a study that does not name it.

        ``available`` is what the study makes for all analyses. An analysis is made if its
        ``needs`` are among these, no field of the class ``settings`` lacks a default, and it is not
        made ``on_request`` only.
        """
        has_required_setting = any(
            field.is_required() for field in self.settings.model_fields.values()
        )
        if has_required_setting or self.on_request:
            return False
        return set(self.needs).issubset(available)


def analysis(
    name: str,
    *,
    source: str,
    needs: Iterable[Need | str] = (),
    on_request: bool = False,
    question: str = "",
) -> Callable[[Callable[[Any, SettingsT], ResultT]], Analysis[SettingsT, ResultT]]:
    """Declare a function of work and settings as an analysis: the result is a decorator.

    The parameters are those of `Analysis`: its name, what it needs, whether it is made on request
    only, and the question that opens its section; ``source`` is the publication, as a short
    citation.

    Raises
    ------
    InputError
        If nothing is known by a name among the needs.
    """
    names = list(needs)
    require_known(f"analysis {name!r}: nothing that an analysis may need is", names, list(Need))

    all_needs = tuple(Need(need) for need in names)

    def declare(make: Callable[[Any, SettingsT], ResultT]) -> Analysis[SettingsT, ResultT]:
        return Analysis(
            name=name,
            source=source,
            make=make,
            needs=all_needs,
            on_request=on_request,
            question=question,
        )

    return declare


@cache
def built_in_analyses() -> Mapping[str, Analysis[Any, Any]]:
    """Import all analyses of the folder ``analyses``, with those of its groups, by key.

    A group is a folder with the constant ``GROUP``; its members have keys such as "group_name",
    other analyses their name. The result is kept for later calls.
    """
    analyses: dict[str, Analysis[Any, Any]] = {}
    for module_info in iter_modules(import_module(FOLDER).__path__):
        module = import_module(f"{FOLDER}.{module_info.name}")
        is_group = module_info.ispkg and hasattr(module, GROUP)
        if is_group:
            analyses |= {member.key: member for member in members_of(module_info.name)}
        else:
            analyses |= _declared(module)
    return analyses


@cache
def members_of(group: str) -> tuple[Analysis[Any, Any], ...]:
    """Import the analyses that the modules of a group's folder declare.

    ``group`` is the name of the folder in ``analyses``, and becomes the group of its members.
    """
    members: list[Analysis[Any, Any]] = []
    for module in import_modules(f"{FOLDER}.{group}"):
        members += [replace(member, group=group) for member in _declared(module).values()]
    return tuple(members)


def find_analysis(name: str) -> Analysis[Any, Any]:
    """Import a built-in analysis by its name, without importing the others if its file has it.

    Raises
    ------
    InputError
        If no analysis outside of groups has the name; the sentence suggests a similar one.
    """
    found = find_analyses([name]).get(name)
    if found is not None and found.group is None:
        return found
    names = [key for key, member in built_in_analyses().items() if member.group is None]
    raise InputError(f"no analysis is called {name!r}; {suggestion(name, names)}")


def find_analyses(keys: Iterable[str]) -> Mapping[str, Analysis[Any, Any]]:
    """Import built-in analyses by their keys, without importing those that nobody asked for.

    An analysis whose file does not have its name is imported with all others. The result is by key;
    a key that nothing has is left out.
    """
    module_names = [module.name for module in iter_modules(import_module(FOLDER).__path__)]
    analyses: dict[str, Analysis[Any, Any]] = {}
    for key in keys:
        declared: Mapping[str, Analysis[Any, Any]] = {}
        if key in module_names:
            declared = _declared(import_module(f"{FOLDER}.{key}"))
        if key not in declared:
            declared = built_in_analyses()
        if key in declared:
            analyses[key] = declared[key]
    return analyses


def read_user_analysis(path: Path) -> Analysis[Any, Any]:
    """Run a user's Python file, and look up the one analysis that it declares.

    Raises
    ------
    InputError
        If it declares none or several, or has the name of a built-in analysis or group.
    """
    module = load_module(path, description="analysis")
    return _single_analysis(module, path)


@cache
def _single_analysis(module: ModuleType, path: Path) -> Analysis[Any, Any]:
    """Look up the one analysis that a module declares, which was loaded from a user's file.

    ``path`` is that file, for errors. Raises InputError if the module declares none or several, or
    if a built-in analysis, or a section of settings for these, has its name.
    """
    declared = list(_declared(module).values())
    if len(declared) != 1:
        raise InputError(f"{path}: one function must be declared with @analysis(...).")
    (user_analysis,) = declared
    for built_in in built_in_analyses().values():
        if user_analysis.name in (built_in.key, built_in.section):
            raise InputError(f"{path}: an analysis called {user_analysis.name!r} exists already.")
    return user_analysis


def analyses_with_plugins(
    plugins: Sequence[Path], names: Iterable[str] = ()
) -> Mapping[str, Analysis[Any, Any]]:
    """Collect the built-in analyses, those of users' files, and installed plug-ins, by key.

    ``plugins`` are paths of users' Python files, each with one analysis. Of installed plug-ins,
    those that ``names`` has are loaded, unless one of the others has the name; a name that nothing
    has is left out. Raises InputError if a file does not declare one analysis, or one with the name
    of a built-in analysis.
    """
    analyses = dict(built_in_analyses())
    for path in plugins:
        user_analysis = read_user_analysis(path)
        analyses[user_analysis.key] = user_analysis
    for name in names:
        if name not in analyses:
            installed = load_installed("analyses", name, Analysis)
            if installed is not None:
                analyses[name] = installed
    return analyses


def _declared(module: ModuleType) -> dict[str, Analysis[Any, Any]]:
    """Collect the analyses that a module declares, by name; not those that it imports."""
    declared: list[Analysis[Any, Any]] = Analysis.declared_in(module)
    return {member.name: member for member in declared}
