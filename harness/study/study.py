"""The study: what is compared and how, read from a TOML file and checked before any work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from analyses.shared.analysis import Need
from analyses.shared.measure import Measure, Measures, depth_of
from analyses.shared.table import listing
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
from runs.shared.settings import Cutoffs, Depth, Names, Section, Whole, accepted_by

SEEDS = "seeds"
"""The folder of the same study under other seeds."""

PAPER_CUTOFFS = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
PAPER_METRICS = ("P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP")
SYSTEMS = ("random", "popularity", "svd", "item-knn", "puresvd", "wrmf", "ease")


def _of_set(names: Any) -> Any:
    """Put the systems of a set in place of its name."""
    return system_set(names) if isinstance(names, str) else names


def _as_rule(value: Any) -> Any:
    """Refuse what is no rule by which ratings become grades."""
    if value in (None, "values", "ranks"):
        return value
    is_list = isinstance(value, list | tuple) and len(value) > 0
    if is_list and all(isinstance(cut, int | float) for cut in value):
        rises = all(low < high for low, high in pairwise(value))
        if rises and all(map(isfinite, value)):
            return tuple(map(float, value))
    raise ValueError(f'must be "values", "ranks" or a list of rising thresholds, got {value!r}')


class RatingsSection(FileOptions):
    """The ratings: where they are, how they are read, and which are used."""

    path: Path | None = Field(None, description="File, folder or archive of ratings.")
    preset: str | None = Field(None, description="Name of a preset of the simulated world.")
    like: Path | None = Field(None, description="Ratings to fit the simulated world to.")
    world: dict[str, Any] = Field({}, description="Settings of the simulated world.")
    threshold: float | None = Field(
        None,
        allow_inf_nan=False,
        description="Lowest rating that counts as relevant; default: 4 on scales that end at 5, "
        "no threshold for implicit feedback.",
    )
    grades: Annotated[GradeRule | None, BeforeValidator(_as_rule)] = Field(
        None,
        description='Relevance grades: "values" or "ranks" of the ratings, or a list of '
        "thresholds; default: values, or ranks if ratings have more than three decimals.",
    )
    shift: float = Field(
        0.0,
        allow_inf_nan=False,
        description="Number that is added to ratings for training alone, such as 10 for a scale "
        "from -10 to 10.",
    )
    user_min: Whole = Field(0, ge=0, description="k-core: minimum number of ratings per user.")
    item_min: Whole = Field(0, ge=0, description="k-core: minimum number of ratings per item.")

    @property
    def is_drawn(self) -> bool:
        """Whether a study begins with a world that is drawn, not fitted to ratings."""
        return self.format == "world" and self.like is None

    @model_validator(mode="after")
    def _path_or_world(self) -> RatingsSection:
        if self.format == "world" and self.path is not None:
            raise ValueError('a study of format "world" has no `path`')
        if self.format != "world" and (self.preset is not None or self.like or self.world):
            raise ValueError('`preset`, `like` and `world` need format = "world"')
        if self.preset is not None and self.like is not None:
            raise ValueError("a world may have `preset` or `like`, not both")
        if self.implicit and self.threshold is not None:
            raise ValueError("with `implicit` all items are relevant: there is no `threshold`")
        return self


class SystemsSection(Section):
    """The systems to train, and the depth of their rankings."""

    names: Annotated[Names, BeforeValidator(_of_set)] = Field(
        SYSTEMS, description="Names of systems, or of a set: valcarce-2018, all."
    )
    depth: Depth = Field(100, description="Depth of the rankings.")
    candidates: Literal["trained", "test"] = Field(
        "trained",
        description="Candidate items: all items with training ratings, or only those of them with "
        "test ratings. Items that the user rated in training are never candidates.",
    )
    positives: float | dict[str, float] | None = Field(
        None,
        description="Lowest rating to train on, for all systems or by the name of a system; "
        "default: all ratings. Items with lower training ratings are no candidates either.",
    )
    settings: dict[str, dict[str, Any]] = Field({}, description="Settings of systems, by name.")
    preset: str | None = Field(
        None,
        description="Paper whose systems and settings are the defaults of this section: "
        "recsys2018.",
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

    def positives_of(self, name: str) -> float | None:
        """Give the lowest rating that a system learns from; None for all ratings."""
        return self.positives.get(name) if isinstance(self.positives, dict) else self.positives

    def candidates_in(self, split: Split) -> Masks | None:
        """Mark the items that may be recommended; None for all that have training ratings."""
        return None if self.candidates == "trained" else split.test.item_counts() > 0

    def with_absolute_paths(self, anchor: Callable[[Path], Path]) -> Self:
        """Make the paths of users' systems, such as ``my_system.py:MyScorer``, absolute."""

        def absolute(name: str) -> str:
            is_user = is_user_system(name)
            return f"{anchor(file_of(name))}:{name.rpartition(':')[2]}" if is_user else name

        update: dict[str, Any] = {"names": tuple(map(absolute, self.names))}
        for key, values in (("settings", self.settings), ("positives", self.positives)):
            if isinstance(values, dict):
                update[key] = {absolute(name): value for name, value in values.items()}
        return self.model_copy(update=update)


class RunsSection(Section):
    """Runs by other programs."""

    paths: tuple[str, ...] = Field(min_length=1, description="TREC run files, with wildcards.")
    columns: dict[str, str] = Field(
        {},
        description="Names of the columns user, item, score, rank and system of run tables; "
        "default: recognised.",
    )
    replicates: Annotated[str, accepted_by(tag_pattern)] | None = Field(
        None,
        description="Regular expression for run tags, if a system has several runs: with a group "
        "(?P<system>...), and optionally (?P<replicate>...).",
    )
    families: dict[str, str] = Field(
        {},
        description="Family of each system, as methods of one kind are not independent; default: "
        "by the likeness of the scores.",
    )

    def with_absolute_paths(self, anchor: Callable[[Path], Path]) -> Self:
        """Make the paths and patterns absolute."""
        return self.model_copy(update={"paths": tuple(str(anchor(Path(p))) for p in self.paths)})


class QrelsSection(Section):
    """Judgements by other programs."""

    path: Path | None = Field(None, description="TREC qrels file.")
    ir_datasets: str | None = Field(
        None, description="Id of qrels in ir_datasets, in place of a file."
    )
    columns: dict[str, str] = Field(
        {},
        description="Names of the columns user, item and grade of a qrels table; default: "
        "recognised.",
    )
    relevance_level: Whole | None = Field(
        None,
        ge=1,
        description="Lowest relevant grade (trec_eval -l); default: that of the official measures "
        "in ir_datasets, or 1.",
    )

    @model_validator(mode="after")
    def _one_source(self) -> QrelsSection:
        if (self.path is None) == (self.ir_datasets is None):
            raise ValueError("either `path` or `ir_datasets` is needed")
        return self


class MetricsSection(Section):
    """Metrics, their cut-offs, and the measures that are compared with each other."""

    names: MetricNames = Field(
        PAPER_METRICS,
        min_length=1,
        description="Metrics or measures. A measure, such as nDCG@10 or bpref@all, has one depth; "
        "a metric without depth is computed at all `cutoffs`, or on whole rankings without them.",
    )
    cutoffs: Annotated[Cutoffs, AfterValidator(lambda each: tuple(sorted(each)))] = Field(
        PAPER_CUTOFFS, description="Cut-offs, for curves over cut-offs."
    )
    report: MetricNames | None = Field(
        None,
        min_length=1,
        description="Report measures, which are compared with each other, such as nDCG@10 or "
        "bpref@all; default: those in `names`. A metric without depth is taken at the deepest of "
        "`cutoffs`.",
    )
    average: Average = Field(
        "users",
        description="Mean over users, or over judgements: users weighted by their number of "
        "relevant items.",
    )
    plugins: tuple[Path, ...] = Field((), description="Python files that define metrics.")

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


class Study(StudyFile):
    """The definition of a study: one attribute for each section of a study file.

    Sections may be dictionaries; each checks itself. A study begins with ``ratings``, or with
    ``runs`` and ``qrels``. `harness.run_study` checks the names of systems and metrics.

    Raises
    ------
    InputError
        If a section breaks a rule.

    Examples
    --------
    >>> study = Study(name="demo", ratings={"format": "world"}, metrics={"names": ["nDCG@10"]})
    >>> study.measures.reported[0]
    Measure(metric='nDCG', cutoff=10)
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

    def __repr__(self) -> str:
        lists = {"runs": self.runs.paths} if self.runs else {"systems": self.systems.labels}
        named = lists | {"measures": self.measures.reported, "analyses": self.analyses.asked}
        return listing(f"Study {self.name!r}, seed {self.seed}", named, "harness.run_study(study)")

    __str__ = __repr__

    @model_validator(mode="after")
    def _one_beginning(self) -> Study:
        ratings, truth = self.ratings, self.truth
        if ratings is None and (self.runs is None) != (self.qrels is None):
            raise ValueError("[runs] and [qrels] need each other")
        if (ratings is None) == (self.qrels is None):
            both = ", and not both" * (ratings is not None)
            raise ValueError(f"a study needs [ratings], or [runs] and [qrels]{both}")
        for key in ("seeds", "settings"):
            if ratings is None and getattr(self.repeat, key) > 1:
                raise refused(f"given runs are the same for all {key}", "repeat", key)
        is_world = ratings is not None and ratings.format == "world"
        if ratings is not None:
            n_sources = is_world + (ratings.path is not None) + (self.split.parts is not None)
            if n_sources == 0:
                raise refused('`path` or format = "world" is missing', "ratings")
            if n_sources > 1:
                raise refused(
                    "a given split has its own ratings: [ratings] may say how they are read, but "
                    'has no `path` and no format = "world"',
                    "ratings",
                )
            deepest = max(self.measures.cutoffs, default=0)
            if deepest > self.systems.depth:
                raise ValueError(
                    f"the deepest cut-off, {deepest}, is below the rankings, which end at rank "
                    f"{self.systems.depth} (`depth` in [systems])"
                )
        try:
            self.measures.require(self.figures.measures, self.figures.cutoffs)
        except InputError as error:
            raise refused(str(error).rstrip("."), "figures") from None
        if truth is not None and is_world and truth.path is not None:
            raise refused("a simulated world has its own truth: it has no `path`", "truth")
        if truth is not None and not is_world and truth.path is None:
            raise refused("`path` is missing: only a simulated world has its own", "truth")
        return self

    def under(self, seed: int) -> Study:
        """Give the same study with another random seed and study folder."""
        folder = self.folder / SEEDS / str(seed)
        return self.model_copy(update={"seed": seed, "output": folder, "repeat": RepeatSection()})

    @classmethod
    def prepared(cls, values: dict[str, Any], origin: Origin) -> dict[str, Any]:
        """Read the split, and every section of an analysis, as their own files declare them."""
        values = values | _truth_in(values)
        read: dict[str, Any] = {}
        if isinstance(values.get("split"), dict):
            read["split"] = read_split(values["split"], origin)
        if isinstance(analyses := values.get("analyses", {}), dict):
            made = (Need.TRUTH,) if "truth" in values else ()
            read["analyses"] = read_sections(analyses, origin, made=made)
        return values | read

    @property
    def shift(self) -> float:
        """What is added to ratings that systems learn from."""
        return 0.0 if self.ratings is None else self.ratings.shift

    @property
    def measures(self) -> Measures:
        """All measures: those that are compared, and the grid."""
        return self.metrics.measures


def _truth_in(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give a world its truth without a word, and runs one in their own format."""
    ratings, truth = values.get("ratings"), values.get("truth")
    if truth is None and isinstance(ratings, dict) and ratings.get("format") == "world":
        return {"truth": {}}
    if isinstance(truth, dict) and "qrels" in values and "ratings" not in values:
        return {"truth": {"format": QRELS, **truth}}
    return {}


def read_study(path: Path, *, changes: Mapping[str, Any] | None = None) -> Study:
    """Read a study file.

    Parameters
    ----------
    path
        A TOML file. Relative paths in it start at its folder.
    changes
        Top-level values that replace those of the file, such as ``{"seed": 1}``.

    Returns
    -------
    Study
        The study, checked.

    Raises
    ------
    InputError
        If the file is missing, is not TOML, or breaks a rule; names the line, key, rule and value.
    """
    return Study.read(path, changes=changes)


def run_paths(study: Study) -> list[Path]:
    """Find the run files of a study.

    Raises
    ------
    InputError
        If a pattern matches no file.
    """
    return find_run_files(() if study.runs is None else study.runs.paths)
