"""The study: what is compared and how, read from a TOML file and checked before any work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from analyses.shared.measure import Measure, Measures, depth_of
from harness.metrics.shared.names import ParsedName, parse_name
from harness.scoring.means import Average
from harness.study.sections import (
    QRELS,
    AnalysesSection,
    ItemsSection,
    MetricNames,
    RepeatSection,
    SplitSection,
    TruthSection,
    read_sections,
    read_split,
    seed_folder,
    tag_pattern,
    usual_analyses,
    usual_split,
    with_preset,
)
from harness.study.study_file import Origin, StudyFile, refused
from qrels import Split
from qrels.grades import GradeRule
from qrels.ratings.datasets.layouts import FileOptions
from recommenders import file_of, is_user_system, label_of, system_set
from runs import InputError
from runs.formats import find_run_files
from runs.shared.arrays import Masks
from runs.shared.settings import Cutoffs, Names, Section, Whole

PAPER_CUTOFFS = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
PAPER_METRICS = ("P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP")
SYSTEMS = ("random", "popularity", "svd", "item-knn", "puresvd", "wrmf", "ease")


def _of_set(names: Any) -> Any:
    """Put the systems of a set in place of its name."""
    try:
        return system_set(names) if isinstance(names, str) else names
    except InputError as error:
        raise ValueError(str(error).rstrip(".")) from None


def _as_rule(value: Any) -> Any:
    """Refuse what is no rule by which ratings become grades."""
    if value in (None, "values", "ranks"):
        return value
    is_list = isinstance(value, list | tuple) and len(value) > 0
    if is_list and all(isinstance(cut, int | float) for cut in value):
        rises = all(low < high for low, high in pairwise(value))
        if rises and all(map(isfinite, value)):
            return tuple(map(float, value))
    raise ValueError(f'must be "values", "ranks" or a rising list of cuts, got {value!r}')


class RatingsSection(FileOptions):
    """Where ratings come from, how they are read, and which are used."""

    path: Path | None = Field(None, description="File, folder or archive; none for a world.")
    preset: str | None = Field(None, description="Preset of the simulated world.")
    like: Path | None = Field(
        None, description="Ratings that a world is fitted to, in a format that is guessed."
    )
    world: dict[str, Any] = Field(default={}, description="Settings of the simulated world.")
    threshold: float | None = Field(
        None,
        allow_inf_nan=False,
        description="Lowest rating that is relevant; 4 by default on scales that end at 5, none if "
        "everything is relevant.",
    )
    grades: Annotated[GradeRule | None, BeforeValidator(_as_rule)] = Field(
        None,
        description='Grades of the qrels: "values", "ranks", or rising cuts; values by default, '
        "ranks if ratings have more than three decimals.",
    )
    user_min: Whole = Field(0, ge=0, description="k-core: ratings of the least active user.")
    item_min: Whole = Field(0, ge=0, description="k-core: ratings of the least rated item.")

    @property
    def is_drawn(self) -> bool:
        """Whether a study begins with a world that is drawn, not fitted to ratings."""
        return self.format == "world" and self.like is None

    @model_validator(mode="after")
    def _path_or_world(self) -> RatingsSection:
        if self.format == "world" and self.path is not None:
            raise ValueError('a study of format "world" has no `path`')
        if self.format != "world" and (self.preset is not None or self.like or self.world):
            raise ValueError('`preset`, `like` and `world` go with format = "world" only')
        if self.preset is not None and self.like is not None:
            raise ValueError("a world has a `preset` or is `like` other ratings, not both")
        if self.implicit and self.threshold is not None:
            raise ValueError(
                "everything is relevant if `implicit` is true: there is no `threshold`"
            )
        return self


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
    positives: float | dict[str, float] | None = Field(
        None,
        description="Lowest rating that systems learn from: one for all, or by the name of a "
        "system; all ratings by default. What is rated lower is no candidate all the same.",
    )
    settings: dict[str, dict[str, Any]] = Field(
        default={}, description="Settings of a system, by its name."
    )
    preset: str | None = Field(
        None,
        description="A paper whose systems, positives and settings are taken where the section has "
        "none of its own: recsys2018.",
    )

    @model_validator(mode="before")
    @classmethod
    def _of_preset(cls, values: Any) -> Any:
        is_asked = isinstance(values, dict) and values.get("preset") is not None
        return with_preset(values) if is_asked else values

    @property
    def labels(self) -> dict[str, str]:
        """Names by what the systems are called in runs and tables, in the order of the study."""
        return {label_of(name): name for name in self.names}

    @property
    def by_positives(self) -> dict[float, list[str]]:
        """Labels of the systems that learn from positive ratings alone, by the lowest of these."""
        found: dict[float, list[str]] = {}
        for label, name in self.labels.items():
            positives = self.positives_of(name)
            if positives is not None:
                found.setdefault(positives, []).append(label)
        return found

    def positives_of(self, name: str) -> float | None:
        """Give the lowest rating that a system learns from; None for all ratings."""
        return self.positives.get(name) if isinstance(self.positives, dict) else self.positives

    def candidates_in(self, split: Split) -> Masks | None:
        """Mark the items that may be recommended; None for all that have training ratings."""
        return None if self.candidates == "trained" else split.test.item_counts() > 0

    def with_names(self, renamed: Callable[[str], str]) -> SystemsSection:
        """Give other names to the systems, wherever they are."""
        update: dict[str, Any] = {"names": tuple(renamed(name) for name in self.names)}
        for key, values in (("settings", self.settings), ("positives", self.positives)):
            if isinstance(values, dict):
                update[key] = {renamed(name): value for name, value in values.items()}
        return self.model_copy(update=update)


class RunsSection(Section):
    """Runs made elsewhere."""

    paths: tuple[str, ...] = Field(min_length=1, description="TREC run files; * and ? are welcome.")
    replicates: str | None = Field(
        None,
        description="Where several runs are of one system: a regular expression for their tags, "
        "with a group (?P<system>...), and perhaps (?P<replicate>...).",
    )

    @field_validator("replicates")
    @classmethod
    def _names_systems(cls, text: str | None) -> str | None:
        if text is not None:
            tag_pattern(text)
        return text


class QrelsSection(Section):
    """Judgements made elsewhere."""

    path: Path
    relevance_level: Whole = Field(1, ge=1, description="Lowest relevant grade (trec_eval's -l).")


class MetricsSection(Section):
    """Which metrics, at which cut-offs, and which measures are compared with one another."""

    names: MetricNames = Field(
        PAPER_METRICS,
        min_length=1,
        description="Metrics. A name with a depth, such as nDCG@10 or bpref@all, stands for "
        "itself; another is measured at all `cutoffs`, or of whole lists if there are none.",
    )
    cutoffs: Cutoffs = Field(PAPER_CUTOFFS, description="The grid, for curves over cut-offs.")
    report: MetricNames | None = Field(
        None,
        min_length=1,
        description="Measures that are compared with one another, such as nDCG@10, bpref@all, "
        "AP@1000; those in `names` by default. A name without a depth is taken at the deepest of "
        "`cutoffs`.",
    )
    average: Average = Field(
        "users",
        description="What means are taken over: users, or judgements, with users weighted by the "
        "number of their relevant items.",
    )
    plugins: tuple[Path, ...] = Field((), description="Python files that declare metrics.")

    @property
    def measures(self) -> Measures:
        """The grid, and what is compared; by metric, rising."""
        deep = [name for name in map(parse_name, self.names) if not name.has_depth]
        grid = [Measure(name.label, cutoff) for name in deep for cutoff in self.cutoffs]
        named, reported = (
            [self._at_its_depth(parse_name(name)) for name in names]
            for names in (self.names, self.report or self.names)
        )
        every = [*named, *grid, *reported]
        labels = list(dict.fromkeys(measure.metric for measure in every))
        ordered = sorted(set(every), key=lambda m: (labels.index(m.metric), depth_of(m)))
        return Measures(ordered, reported=dict.fromkeys(reported), grid=grid)

    def _at_its_depth(self, name: ParsedName) -> Measure:
        """Take a metric where its name says, or at the deepest cut-off, or of whole lists."""
        deepest = self.cutoffs[-1] if self.cutoffs and not name.has_depth else None
        return Measure(name.label, name.cutoff or deepest)

    @field_validator("cutoffs")
    @classmethod
    def _rising(cls, values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(values))


class Study(StudyFile):
    """A whole study.

    Its parts check themselves; `harness.study.stages` checks, before any work, what needs other
    packages: names of systems and metrics.
    """

    ratings: RatingsSection | None = None
    split: SplitSection = Field(default_factory=usual_split)
    systems: SystemsSection = SystemsSection()
    runs: RunsSection | None = None
    qrels: QrelsSection | None = None
    truth: TruthSection | None = None
    items: ItemsSection = ItemsSection()
    metrics: MetricsSection = MetricsSection()
    analyses: AnalysesSection = Field(default_factory=usual_analyses)
    repeat: RepeatSection = RepeatSection()

    @model_validator(mode="after")
    def _one_beginning(self) -> Study:
        ratings, truth = self.ratings, self.truth
        if ratings is None and (self.runs is None) != (self.qrels is None):
            raise ValueError("[runs] and [qrels] go together")
        if (ratings is None) == (self.qrels is None):
            raise ValueError("a study begins with [ratings], or with [runs] and [qrels]")
        if ratings is None and self.repeat.seeds > 1:
            raise refused("runs that are given are the same under every seed", "repeat", "seeds")
        is_world = ratings is not None and ratings.format == "world"
        if ratings is not None:
            n_sources = is_world + (ratings.path is not None) + (self.split.parts is not None)
            if n_sources == 0:
                raise refused('`path` is needed, or format = "world"', "ratings")
            if n_sources > 1:
                raise refused(
                    "a split that is given has its own ratings: [ratings] says how they are read, "
                    'without `path` and format = "world"',
                    "ratings",
                )
            if max(self.cutoffs, default=0) > self.systems.depth:
                raise ValueError(
                    f"the deepest cut-off, {self.cutoffs[-1]}, is below the lists, which end at "
                    f"rank {self.systems.depth} (`depth` in [systems])"
                )
        try:
            self.measures.require(self.figures.measures, self.figures.cutoffs)
        except InputError as error:
            raise refused(str(error).rstrip("."), "figures") from None
        if truth is not None and is_world and truth.path is not None:
            raise refused("a simulated world knows its own truth: it has no `path`", "truth")
        if truth is not None and not is_world and truth.path is None:
            raise refused("`path` is needed: only a simulated world knows its own truth", "truth")
        return self

    def under(self, seed: int) -> Study:
        """Give the same study under another seed, in a folder of its own."""
        folder = seed_folder(self.folder, seed)
        return self.model_copy(update={"seed": seed, "output": folder, "repeat": RepeatSection()})

    @classmethod
    def prepared(cls, values: dict[str, Any], origin: Origin) -> dict[str, Any]:
        """Read the split, and every section of an analysis, as their own files declare them."""
        values = values | _truth_in(values)
        read: dict[str, Any] = {}
        if isinstance(values.get("split"), dict):
            read["split"] = read_split(values["split"], origin)
        if isinstance(analyses := values.get("analyses", {}), dict):
            made = ("truth",) if "truth" in values else ()
            read["analyses"] = read_sections(analyses, origin, made=made)
        return values | read

    def anchored(self, anchor: Callable[[Path], Path]) -> Study:
        """Make the paths of inputs absolute."""
        systems = self.systems.with_names(lambda name: _anchored_name(name, anchor))
        update: dict[str, Any] = {"systems": systems}
        if self.runs is not None:
            patterns = tuple(str(anchor(Path(pattern))) for pattern in self.runs.paths)
            update["runs"] = self.runs.model_copy(update={"paths": patterns})
        return super().anchored(anchor).model_copy(update=update)

    @property
    def measures(self) -> Measures:
        """What is measured: the grid, and what is compared."""
        return self.metrics.measures

    @property
    def metric_labels(self) -> tuple[str, ...]:
        """Names of the metrics with their options."""
        return self.measures.metrics

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """Every cut-off at which something is measured, rising."""
        return self.measures.cutoffs


def _truth_in(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give a world its truth without a word, and runs one in their own format."""
    ratings, truth = values.get("ratings"), values.get("truth")
    if truth is None and isinstance(ratings, dict) and ratings.get("format") == "world":
        return {"truth": {}}
    if isinstance(truth, dict) and "qrels" in values and "ratings" not in values:
        return {"truth": {"format": QRELS, **truth}}
    return {}


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
    return Study.read(path, changes=changes)


def parse_study(
    text: str, *, source: str, base: Path, changes: Mapping[str, Any] | None = None
) -> Study:
    """Make a study of TOML text; see `StudyFile.parse`."""
    return Study.parse(text, source=source, base=base, changes=changes)


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
    return find_run_files(() if study.runs is None else study.runs.paths)
