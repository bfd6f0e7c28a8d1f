"""The study: what is compared and how, read from a TOML file and checked before any work."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from glob import glob
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from analyses.ordering import find_coefficient
from analyses.sampled.estimates import (
    ESTIMATORS,
    METRICS,
    designs_for,
    read_estimators,
    read_metrics,
)
from analyses.sampled.iterations import ITERATIONS
from analyses.sampled.priors import read_priors
from analyses.shared.measure import Measure, rising_cutoffs
from analyses.significance.power import REPLICATES
from analyses.significance.question import Question
from harness.metrics.shared.names import parse_name, print_name
from qrels import FullRanks
from recommenders import file_of, is_user_system, label_of, system_set
from runs import InputError
from runs.shared.settings import (
    Cutoffs,
    Levels,
    Names,
    Section,
    Sizes,
    Whole,
    read_by,
    without_repetition,
)

PAPER_CUTOFFS = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
PAPER_METRICS = ("P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP")
SampledStudyName = Literal[
    "estimates", "ranks", "sizes", "cost", "adaptive", "iterations", "priors"
]
# Adaptive samples are for users with one relevant item each.
SAMPLED_STUDIES: tuple[SampledStudyName, ...] = tuple(
    name for name in get_args(SampledStudyName) if name != "adaptive"
)
SYSTEMS = ("random", "popularity", "svd", "item-knn", "puresvd", "wrmf", "ease")
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"


def _of_set(names: Any) -> Any:
    """Put the systems of a set in place of its name."""
    try:
        return system_set(names) if isinstance(names, str) else names
    except InputError as error:
        raise ValueError(str(error).rstrip(".")) from None


class RatingsSection(Section):
    """Where ratings come from, and which are used."""

    format: str | None = Field(None, description="Name of the format; guessed if absent.")
    path: Path | None = Field(None, description="File, folder or archive; none for a world.")
    columns: dict[str, str | int] | None = Field(
        None, description="Name or number (from 0) of the columns user, item, rating and time."
    )
    separator: str | None = Field(None, description="What separates the fields of a line.")
    header: bool | None = Field(None, description="Whether the first line names the columns.")
    duplicates: Literal["error", "last"] = Field(
        "error", description="A pair rated twice: refuse, or keep the last in time."
    )
    preset: str | None = Field(None, description="Preset of the simulated world.")
    world: dict[str, Any] = Field(default={}, description="Settings of the simulated world.")
    threshold: float = Field(4.0, gt=0, description="Lowest rating that is relevant.")
    user_min: Whole = Field(0, ge=0, description="k-core: ratings of the least active user.")
    item_min: Whole = Field(0, ge=0, description="k-core: ratings of the least rated item.")

    @model_validator(mode="after")
    def _path_or_world(self) -> RatingsSection:
        if self.format == "world" and self.path is not None:
            raise ValueError('a study of format "world" has no `path`')
        if self.format != "world" and self.path is None:
            raise ValueError('`path` is needed, or format = "world"')
        if self.format != "world" and (self.preset is not None or self.world):
            raise ValueError('`preset` and `world` go with format = "world" only')
        return self


class SplitSection(Section):
    """Which ratings are held out; options that the method does not have are refused."""

    method: str = "user-random"
    test_share: float | None = Field(None, gt=0, lt=1, description="Share held out.")
    cut: Whole | None = Field(None, description="First second (since 1970) of the test time.")
    time_ties: Literal["item", "random"] | None = None
    cold_users: Literal["drop", "keep"] | None = None
    folds: Whole | None = Field(None, ge=2, description="Number of folds of k-fold.")
    fold: Whole | None = Field(
        None, ge=1, description="The fold that is the test set, from 1; the first by default."
    )

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given, for the splitter."""
        return self.model_dump(exclude={"method", "fold"}, exclude_none=True)


class SystemsSection(Section):
    """Which systems are trained, and how deep they recommend."""

    names: Annotated[Names, BeforeValidator(_of_set)] = Field(
        SYSTEMS, description="Names, or that of a set: valcarce-2018, all."
    )
    depth: Whole = Field(100, ge=1, description="Length of the ranked lists.")
    candidates: Literal["trained", "test"] = Field(
        "trained",
        description="Items that may be recommended: all with training ratings, or only those of "
        "them that the test part holds too. Never what the user rated in training.",
    )
    settings: dict[str, dict[str, Any]] = Field(
        default={}, description="Settings of a system, by its name."
    )

    @property
    def labels(self) -> dict[str, str]:
        """Names by what the systems are called in runs and tables, in the order of the study."""
        return {label_of(name): name for name in self.names}

    def with_names(self, renamed: Callable[[str], str]) -> SystemsSection:
        """Give other names to the systems, in their settings too."""
        settings = {renamed(name): values for name, values in self.settings.items()}
        names = tuple(renamed(name) for name in self.names)
        return self.model_copy(update={"names": names, "settings": settings})


class RunsSection(Section):
    """Runs made elsewhere."""

    paths: tuple[str, ...] = Field(min_length=1, description="TREC run files; * and ? are welcome.")


class QrelsSection(Section):
    """Judgements made elsewhere."""

    path: Path
    relevance_level: Whole = Field(1, ge=1, description="Lowest relevant grade (trec_eval's -l).")


class MetricsSection(Section):
    """Which metrics, at which cut-offs."""

    names: Names = Field(PAPER_METRICS, min_length=1)
    cutoffs: Cutoffs = Field(PAPER_CUTOFFS, min_length=1)
    plugins: tuple[Path, ...] = Field((), description="Python files that declare metrics.")

    @field_validator("names")
    @classmethod
    def _readable(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            parse_name(name)
        return names

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Every metric at its own cut-off, if its name has one, or at every cut-off; rising."""
        parsed = [parse_name(name) for name in self.names]
        every = [
            Measure(print_name(name.name, name.options), cutoff)
            for name in parsed
            for cutoff in (self.cutoffs if name.cutoff is None else (name.cutoff,))
        ]
        labels = list(dict.fromkeys(measure.metric for measure in every))
        return tuple(sorted(set(every), key=lambda m: (labels.index(m.metric), m.cutoff)))

    @field_validator("cutoffs")
    @classmethod
    def _rising(cls, values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(values))


def _coefficient(name: str) -> str:
    """Refuse a coefficient that there is not."""
    try:
        return find_coefficient(name).name
    except InputError as error:
        raise ValueError(str(error).rstrip(".")) from None


class CorrelationSection(Section):
    """Agreement among cut-offs and among metrics."""

    coefficient: Annotated[str, AfterValidator(_coefficient)] = Field(
        "tau-b", description="Of the figures and intervals; the tables have all."
    )
    replicates: Whole = Field(
        1000, ge=0, description="Resampled sets of users behind the intervals; 0: no intervals."
    )


class SparsitySection(Section):
    """Random loss of judgements."""

    levels: Levels = Field(tuple(percent / 100 for percent in range(100, 0, -5)), min_length=1)
    samples: Whole = Field(50, ge=1, description="Samples per level.")
    mode: Literal["all", "per-user", "stratified"] = Field(
        "all",
        description="What a level is a share of: all judgements, each user's, or each user's "
        "relevant and judged non-relevant items.",
    )
    least_relevant: Whole = Field(1, ge=0, description='Kept of every user; "stratified" only.')
    least_nonrelevant: Whole = Field(10, ge=0, description='Kept of every user; "stratified" only.')
    replicates: Whole = Field(
        200, ge=0, description="Bootstrap replicates of a curve; 0: no bands."
    )


class PopularitySection(Section):
    """Loss of the judgements of popular items."""

    levels: Levels = Field(tuple(percent / 100 for percent in range(100, 79, -1)), min_length=1)
    counted_in: Literal["train", "test", "all"] | None = Field(
        None, description='Where popularity is counted; "train" if there are ratings, else "test".'
    )
    cut: Literal["items", "ratings"] = Field(
        "items", description="What a level is a share of: the items, or the ratings they have."
    )
    replicates: Whole = Field(
        200, ge=0, description="Bootstrap replicates of a curve; 0: no bands."
    )


class UsersSection(Section):
    """Random subsets of the users."""

    sizes: Sizes | None = Field(
        None, description="Numbers of users; 50, 100, 200, 500 and so on if absent. All come last."
    )
    repeats: Whole = Field(50, ge=1, description="Subsets of each size.")
    permutations: Whole = Field(1000, ge=99, description="Of the permutation test of each subset.")


class DiscriminationSection(Section):
    """Tests between pairs of systems."""

    test: Literal["exact", "monte-carlo", "t", "wilcoxon", "sign", "bootstrap"] = Field(
        "exact", description="The permutation test, exactly or by random draws; or another."
    )
    correction: Literal["none", "bonferroni", "holm", "bh", "max-t", "tukey"] = Field(
        "none", description="For testing many pairs: of each measure, one family."
    )
    alpha: float = Field(
        0.05, ge=1e-9, lt=1, description="Level of required differences and adjusted p-values."
    )
    permutations: Whole | None = Field(
        None,
        ge=99,
        description="Random draws; 100,000 for monte-carlo and max-t, 10,000 for bootstrap, 5,000 "
        "for tukey.",
    )
    replicates: Whole = Field(
        REPLICATES,
        ge=0,
        description="Resamples of the users for intervals of discriminative power.",
    )
    baseline: str | None = Field(None, description="A system: only pairs with it are tested.")

    @model_validator(mode="after")
    def _askable(self) -> DiscriminationSection:
        try:
            self.question(seed=0)
        except InputError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return self

    def question(self, *, seed: int) -> Question:
        """Put the settings together with a seed."""
        return Question(seed=seed, **self.model_dump(exclude={"replicates"}))


class SampledSection(Section):
    """Metrics estimated from ranks among sampled negatives."""

    studies: Annotated[
        tuple[SampledStudyName, ...], Field(min_length=1), AfterValidator(without_repetition)
    ] = Field(SAMPLED_STUDIES, description="What is studied; see `harness sampled --help`.")
    metrics: Annotated[tuple[str, ...], read_by(read_metrics)] = Field(
        METRICS,
        description="Metrics of ranks: AUC, AP, RR, nDCG, P, Recall, with a cut-off or not.",
    )
    negatives: Whole = Field(100, ge=1, description="Sampled for each user; no relevant items.")
    replace: Annotated[bool, Field(strict=True)] = Field(
        True, description="Whether an item may be sampled twice."
    )
    n_max: Whole | None = Field(
        None,
        description="What adaptive samples grow to; by default 32 times the negatives, or to a "
        "third of the candidates.",
    )
    corrected_for: Literal["mean", "users"] = Field(
        "mean", description="Whose number of candidates corrections take."
    )
    repeats: Whole = Field(100, ge=2, description="Samples of each system.")
    estimators: Annotated[tuple[str, ...], read_by(read_estimators)] = Field(
        ESTIMATORS, description="What the exact metrics are estimated by, with options."
    )
    sizes: Sizes | None = Field(
        None, description="Negatives of the studies `sizes` and `cost`; by default some twelve."
    )
    iterations: Sizes = Field(ITERATIONS, description="Of EM, in the study `iterations`.")
    priors: Annotated[tuple[str, ...], read_by(read_priors)] | None = Field(
        None, description="Of BV and MN, in the study `priors`; by default all, and the true one."
    )

    def check(self, ranks: FullRanks) -> None:
        """Refuse to sample what users with such relevant items and candidates do not have.

        Raises
        ------
        InputError
            If it is so.
        """
        estimators = read_estimators(self.estimators)
        settings = self.model_dump(include={"negatives", "replace", "n_max"})
        designs_for(estimators, ranks, **settings)


class OnlineSection(Section):
    """Metrics against click-through rates of the systems, which come from elsewhere."""

    rates: Path = Field(description="Table of click-through rates; see `harness online --help`.")
    offline: Path | None = Field(
        None, description="Table of further measures of the systems, such as a grid of recalls."
    )
    over_time: Literal["thesis", "pooled"] = Field(
        "thesis", description="How a system's periods are averaged."
    )
    permutations: Whole = Field(
        10_000, ge=99, description="Random orders of the rates; up to 9 systems, all are taken."
    )


class AnalysesSection(Section):
    """Which studies are made; all but `sampled` and `online` if the table is absent."""

    correlation: CorrelationSection | None = None
    sparsity: SparsitySection | None = None
    popularity: PopularitySection | None = None
    users: UsersSection | None = None
    discrimination: DiscriminationSection | None = None
    sampled: SampledSection | None = None
    online: OnlineSection | None = None


@dataclass(frozen=True)
class Origin:
    """Where a study was read; it plays no part in whether two studies are equal.

    Parameters
    ----------
    source
        Name of the file.
    text
        Its content.
    """

    source: str = field(compare=False)
    text: str = field(compare=False)

    def place(self, *location: str) -> str:
        r"""Name the file and, if the key is found, its line.

        Examples
        --------
        >>> Origin("study.toml", "[metrics]\nnames = []").place("metrics", "names")
        'study.toml, line 2'
        """
        line = _line_of(self.text, list(location))
        return f"{self.source}, line {line}" if line else self.source


class StudyFile(Section):
    """A study as a file describes it, which knows where its keys stand."""

    _origin: Origin | None = PrivateAttr(default=None)

    @contextmanager
    def placed(self, *location: str) -> Iterator[None]:
        """Put the file and the line of a key before what is found wrong with it."""
        try:
            yield
        except InputError as error:
            if self._origin is None:
                raise
            raise InputError(f"{self._origin.place(*location)}: {error}") from error

    @classmethod
    def parse(cls, text: str, *, source: str, changes: Mapping[str, Any]) -> Self:
        """Make a study of TOML text.

        Parameters
        ----------
        text
            The TOML.
        source
            Its name, for errors.
        changes
            Top-level values that replace those of the text.

        Raises
        ------
        InputError
            If it is not TOML, or breaks a rule; with line, key, rule and value.
        """
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{source}: not a TOML file: {error}.") from None
        origin = Origin(source, text)
        try:
            study = cls.model_validate({**values, **changes})
        except ValidationError as error:
            raise InputError(_sentence(error, origin, cls)) from None
        study._origin = origin
        return study

    def to_toml(self) -> bytes:
        """Write the study with every default spelled out, as TOML."""
        import tomli_w

        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True)).encode()


class Study(StudyFile):
    """A whole study.

    Its parts check themselves; `harness.study.stages` checks, before any work, what needs other
    packages: names of systems, metrics, splits.
    """

    name: str = Field(pattern=f"^{NAME}$")
    seed: Whole = Field(20261121, ge=0, lt=2**63)
    output: Path | None = Field(None, description="The study folder; study-NAME by default.")
    ratings: RatingsSection | None = None
    split: SplitSection = SplitSection()
    systems: SystemsSection = SystemsSection()
    runs: RunsSection | None = None
    qrels: QrelsSection | None = None
    metrics: MetricsSection = MetricsSection()
    analyses: AnalysesSection = AnalysesSection(
        correlation=CorrelationSection(),
        sparsity=SparsitySection(),
        popularity=PopularitySection(),
        users=UsersSection(),
        discrimination=DiscriminationSection(),
    )

    @model_validator(mode="after")
    def _one_beginning(self) -> Study:
        if self.ratings is None and (self.runs is None) != (self.qrels is None):
            raise ValueError("[runs] and [qrels] go together")
        if (self.ratings is None) == (self.qrels is None):
            raise ValueError("a study begins with [ratings], or with [runs] and [qrels]")
        self._check_depth()
        self._check_popularity()
        self._check_baseline()
        self._check_ranks()
        return self

    def _check_depth(self) -> None:
        deepest = self.cutoffs[-1]
        if self.ratings is not None and deepest > self.systems.depth:
            raise ValueError(
                f"the deepest cut-off, {deepest}, is below the lists, which end at rank "
                f"{self.systems.depth} (`depth` in [systems])"
            )

    def _check_popularity(self) -> None:
        section = self.analyses.popularity
        if self.ratings is None and section is not None and section.counted_in in ("train", "all"):
            raise ValueError(
                "without training ratings, `counted_in` in [analyses.popularity] must be 'test', "
                f"got {section.counted_in!r}"
            )

    def _check_baseline(self) -> None:
        section = self.analyses.discrimination
        if section is None or section.baseline is None or self.ratings is None:
            return
        if section.baseline not in self.systems.labels:
            raise ValueError(
                f"`baseline` in [analyses.discrimination]: the study has no system "
                f"{section.baseline!r}"
            )

    def _check_ranks(self) -> None:
        trained = self.ratings is not None and self.systems.names
        if self.analyses.sampled is not None and not trained:
            raise ValueError(
                "[analyses.sampled] needs ranks among all candidates, which runs do not have: "
                "begin with [ratings] and train systems, or give a table of ranks to "
                "`harness sampled`"
            )

    @property
    def folder(self) -> Path:
        """The study folder."""
        return self.output or Path(f"study-{self.name}")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Every metric at every cut-off."""
        return self.metrics.measures

    @property
    def metric_labels(self) -> tuple[str, ...]:
        """Names of the metrics with their options."""
        return tuple(dict.fromkeys(measure.metric for measure in self.measures))

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """Every cut-off at which something is measured, rising."""
        return rising_cutoffs(self.measures)


def read_study(path: Path, *, changes: Mapping[str, Any] | None = None) -> Study:
    """Read a study file; the paths of inputs in it count from its folder.

    Parameters
    ----------
    path
        A TOML file.
    changes
        Top-level values that replace those of the file.

    Raises
    ------
    InputError
        If it is missing, not TOML, or breaks a rule; with line, key, rule and value.
    """
    text = read_text(path)
    return parse_study(text, source=str(path), base=path.parent, changes=changes or {})


def read_text(path: Path) -> str:
    """Read the text of a study file.

    Raises
    ------
    InputError
        If it is missing, or no text.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: the study file does not exist.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the study file cannot be read ({error}).") from None


def demo_study(*, changes: Mapping[str, Any] | None = None) -> Study:
    """Give the study that runs when no file is named: the small simulated world."""
    text = files("harness").joinpath("demo.toml").read_text(encoding="utf-8")
    return parse_study(text, source="demo.toml", base=Path(), changes=changes or {})


def parse_study(text: str, *, source: str, base: Path, changes: Mapping[str, Any]) -> Study:
    """Make a study of TOML text.

    Parameters
    ----------
    text
        The TOML.
    source
        Its name, for errors.
    base
        The folder that relative input paths count from.
    changes
        Top-level values that replace those of the text.
    """
    return _anchored(Study.parse(text, source=source, changes=changes), base)


def _anchored(study: Study, base: Path) -> Study:
    """Make the paths of inputs absolute."""

    def anchor(path: Path) -> Path:
        try:
            return (base / os.path.expanduser(path)).resolve()
        except (ValueError, RuntimeError) as error:
            raise InputError(f"{str(path)!r} cannot be a path: {error}.") from None

    update: dict[str, Any] = {}
    if study.ratings is not None and study.ratings.path is not None:
        path = anchor(study.ratings.path)
        update["ratings"] = study.ratings.model_copy(update={"path": path})
    if study.qrels is not None:
        update["qrels"] = study.qrels.model_copy(update={"path": anchor(study.qrels.path)})
    if study.runs is not None:
        patterns = tuple(str(anchor(Path(pattern))) for pattern in study.runs.paths)
        update["runs"] = study.runs.model_copy(update={"paths": patterns})
    update["systems"] = study.systems.with_names(lambda name: _anchored_name(name, anchor))
    online = study.analyses.online
    if online is not None:
        paths = {"rates": online.rates, "offline": online.offline}
        anchored = {name: anchor(path) for name, path in paths.items() if path is not None}
        changed = {"online": online.model_copy(update=anchored)}
        update["analyses"] = study.analyses.model_copy(update=changed)
    plugins = tuple(anchor(plugin) for plugin in study.metrics.plugins)
    update["metrics"] = study.metrics.model_copy(update={"plugins": plugins})
    return study.model_copy(update=update)


def _anchored_name(name: str, anchor: Callable[[Path], Path]) -> str:
    """Make the path absolute in the name of a user's system, such as ``my_system.py:MyScorer``."""
    if not is_user_system(name):
        return name
    return f"{anchor(file_of(name))}:{name.rpartition(':')[2]}"


def run_paths(study: Study) -> list[Path]:
    """Find the run files of a study.

    Raises
    ------
    InputError
        If a pattern matches no file.
    """
    found: list[Path] = []
    for pattern in study.runs.paths if study.runs is not None else ():
        # Brackets stand for themselves: folders have them in their names.
        matches = [Path(match) for match in sorted(glob(pattern.replace("[", "[[]")))]
        if not matches:
            raise InputError(f"{pattern}: no run file matches.")
        found += matches
    return list(dict.fromkeys(found))


def _sentence(error: ValidationError, origin: Origin, root: type[BaseModel]) -> str:
    """Turn the first finding of pydantic into a sentence with file, line, key, rule and value.

    Parameters
    ----------
    error
        What pydantic found.
    origin
        Where the text was read.
    root
        What it was read as.
    """
    finding = error.errors()[0]
    location = [str(part) for part in finding["loc"] if not isinstance(part, int)]
    place = origin.place(*location)
    key = f"`{location[-1]}`" if location else ""
    table = f" in [{'.'.join(location[:-1])}]" if len(location) > 1 else ""
    if finding["type"] == "extra_forbidden":
        return f"{place}: there is no {key}{table}; {_known_keys(location, root)}"
    if finding["type"] == "missing":
        return f"{place}: {key}{table} is missing."
    rule = finding["msg"].removeprefix("Value error, ")
    rule = rule[0].lower() + rule[1:]
    if finding["type"] == "model_type":
        return f"{place}: {key}{table} must be a table, got {finding['input']!r}."
    if finding["type"] == "value_error":
        return f"{place}: {key + table + ': ' if key else ''}{rule}."
    return f"{place}: {key}{table}: {rule}, got {finding['input']!r}."


def _known_keys(location: list[str], root: type[BaseModel]) -> str:
    section = root
    for part in location[:-1]:
        annotation = section.model_fields[part].annotation
        candidates = getattr(annotation, "__args__", (annotation,))
        section = next(c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel))
    close = get_close_matches(location[-1], section.model_fields, n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"there are {', '.join(f'`{key}`' for key in section.model_fields) or 'no keys'}."


def _line_of(text: str, location: list[str]) -> int | None:
    """Find the line of a key, or of the table that should hold it; None if there is none."""
    table, best = "", None
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        key = re.match(r"\s*([\w.\"'-]+)\s*=", line)
        if header:
            table = header[1].replace('"', "").replace("'", "")
            if location and table == ".".join(location):
                return number
            if len(location) > 1 and table == ".".join(location[:-1]):
                best = number
        elif key and location:
            name = key[1].strip("\"'")
            if ".".join(part for part in (table, name) if part) == ".".join(location):
                return number
    return best
