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
from harness.study.analyses_section import AnalysesSection, read_sections, usual_analyses
from harness.study.sections import (
    QRELS,
    ItemsSection,
    MetricNames,
    RepeatSection,
    SplitSection,
    TruthSection,
    parse_tag_pattern,
    read_split,
    usual_split,
    with_preset,
)
from harness.study.study_file import Origin, StudyFile, refused
from qrels import Split
from qrels.grades import GradeRule
from qrels.ratings.datasets.rating_options import RatingOptions
from runs import InputError
from runs.formats import find_run_files
from runs.shared.arrays import Masks
from runs.shared.settings import Cutoffs, Depth, Names, Section, Whole, accepted_by
from runs.tables.options import TextOptions

SEEDS = "seeds"
"""The folder of the same study under other seeds."""

PAPER_CUTOFFS = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
PAPER_METRICS = ("P", "Recall", "AP", "nDCG", "RR", "bpref", "infAP")
SYSTEMS = ("random", "popularity", "svd", "item-knn", "puresvd", "wrmf", "ease")


def _expand_set(names: Any) -> Any:
    """Replace the name of a set of systems by its systems; a list of names stays as it is."""
    if not isinstance(names, str):
        return names
    # Studies of runs by other programs need no recommenders: they are imported where they are used.
    from recommenders.shared.register import system_set

    return system_set(names)


def _check_grade_rule(value: Any) -> Any:
    """Check a rule by which ratings become grades: "values", "ranks", or rising thresholds.

    Thresholds are finite and strictly rising; they become a tuple of floats. Raises ValueError for
    anything else; None stays None.
    """
    if value in (None, "values", "ranks"):
        return value
    is_list = isinstance(value, list | tuple) and len(value) > 0
    if is_list and all(isinstance(threshold, int | float) for threshold in value):
        is_rising = all(low < high for low, high in pairwise(value))
        if is_rising and all(isfinite(threshold) for threshold in value):
            return tuple(float(threshold) for threshold in value)
    raise ValueError(f'must be "values", "ranks" or a list of rising thresholds, got {value!r}')


class RatingsSection(RatingOptions):
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
    grades: Annotated[GradeRule | None, BeforeValidator(_check_grade_rule)] = Field(
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
        """Refuse settings of a world with a file, and the other way round."""
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

    names: Annotated[Names, BeforeValidator(_expand_set)] = Field(
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
    def _complete_by_preset(cls, values: Any) -> Any:
        has_preset = isinstance(values, dict) and values.get("preset") is not None
        return with_preset(values) if has_preset else values

    @property
    def labels(self) -> dict[str, str]:
        """By the label of a system in runs and tables: its name in the study file, in its order."""
        from recommenders.shared.user_system import label_of

        return {label_of(name): name for name in self.names}

    def positives_of(self, name: str) -> float | None:
        """Look up the lowest rating that a system, by name, learns from; None for all ratings."""
        return self.positives.get(name) if isinstance(self.positives, dict) else self.positives

    def candidates_in(self, split: Split) -> Masks | None:
        """Mark the items that may be recommended, (n_items,); None: all with training ratings."""
        return None if self.candidates == "trained" else split.test.item_counts() > 0

    def with_absolute_paths(self, to_absolute: Callable[[Path], Path]) -> Self:
        """Make the paths of users' systems, such as ``my_system.py:MyScorer``, absolute.

        They are replaced in names and wherever settings are by name of a system. Returns a copy.
        """
        from recommenders.shared.user_system import file_of, is_user_system

        def absolute(name: str) -> str:
            if not is_user_system(name):
                return name
            class_name = name.rpartition(":")[2]
            return f"{to_absolute(file_of(name))}:{class_name}"

        changes: dict[str, Any] = {
            "names": tuple(absolute(name) for name in self.names),
            "settings": {absolute(name): options for name, options in self.settings.items()},
        }
        if isinstance(self.positives, dict):
            changes["positives"] = {
                absolute(name): lowest for name, lowest in self.positives.items()
            }
        return self.model_copy(update=changes)


class RunsSection(TextOptions):
    """Runs by other programs."""

    paths: tuple[str, ...] = Field(min_length=1, description="TREC run files, with wildcards.")
    columns: dict[str, str | int] | None = Field(
        None,
        description="Name or number (from 0) of columns of run tables: user, item, score, rank, "
        "system. Those that are not named are recognised.",
    )
    replicates: Annotated[str, accepted_by(parse_tag_pattern)] | None = Field(
        None,
        description="Regular expression for run tags, if a system has several runs: with a group "
        "(?P<system>...), and optionally (?P<replicate>...).",
    )
    families: dict[str, str] = Field(
        {},
        description="Family of each system, as methods of one kind are not independent; default: "
        "by the likeness of the scores.",
    )

    def with_absolute_paths(self, to_absolute: Callable[[Path], Path]) -> Self:
        """Make the paths and patterns absolute."""
        paths = tuple(str(to_absolute(Path(path))) for path in self.paths)
        return self.model_copy(update={"paths": paths})


class QrelsSection(TextOptions):
    """Judgements by other programs."""

    path: Path | None = Field(None, description="TREC qrels file.")
    ir_datasets: str | None = Field(
        None, description="Id of qrels in ir_datasets, in place of a file."
    )
    columns: dict[str, str | int] | None = Field(
        None,
        description="Name or number (from 0) of columns of a qrels table: user, item, grade, "
        "subtopic. Those that are not named are recognised.",
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
    cutoffs: Annotated[Cutoffs, AfterValidator(lambda cutoffs: tuple(sorted(cutoffs)))] = Field(
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
        """The grid of metrics and cut-offs, and report measures; by metric, then rising depth.

        Metrics without a depth in their name ("nDCG@10" has one, as has "bpref@all", that of whole
        lists) make the grid, at all ``cutoffs``, which rise. Report measures are
        those of ``report``, else of ``names``; a name without a depth is taken at the deepest
        cut-off, or of whole lists if there are no cut-offs.
        """
        names = [parse_name(text) for text in self.names]
        report_names = [parse_name(text) for text in self.report or self.names]
        grid = [
            Measure(name.label, cutoff)
            for name in names
            if not name.has_depth
            for cutoff in self.cutoffs
        ]
        named_measures = [self._measure_of(name) for name in names]
        reported = [self._measure_of(name) for name in report_names]
        measures = [*named_measures, *grid, *reported]
        labels = list(dict.fromkeys(measure.metric for measure in measures))
        ordered = sorted(
            set(measures), key=lambda measure: (labels.index(measure.metric), depth_of(measure))
        )
        return Measures(ordered, reported=dict.fromkeys(reported), grid=grid)

    def _measure_of(self, name: ParsedName) -> Measure:
        """Make the measure of a name: at its depth, else at the deepest of ``cutoffs``.

        Without cut-offs, or if the name says so ("@all"), it is of whole lists.
        """
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
        """List runs or systems, measures and analyses, and the call that runs the study."""
        compared = {"runs": self.runs.paths} if self.runs else {"systems": self.systems.labels}
        contents = compared | {
            "measures": self.measures.reported,
            "analyses": self.analyses.settings_by_key,
        }
        return listing(
            f"Study {self.name!r}, seed {self.seed}", contents, "harness.run_study(study)"
        )

    __str__ = __repr__

    @model_validator(mode="after")
    def _fits_together(self) -> Study:
        """Refuse sections that do not go together, with an error that pydantic words.

        A study begins with ratings from one source, or with runs and qrels. Given runs are not
        repeated, no cut-off is deeper than the lists, figures show measures of the study, and a
        truth has a path unless it is that of a simulated world.
        """
        ratings = self.ratings
        if ratings is None and (self.runs is None) != (self.qrels is None):
            raise ValueError("[runs] and [qrels] need each other")
        if (ratings is None) == (self.qrels is None):
            not_both = "" if ratings is None else ", and not both"
            raise ValueError(f"a study needs [ratings], or [runs] and [qrels]{not_both}")
        for key in ("seeds", "settings"):
            if ratings is None and getattr(self.repeat, key) > 1:
                raise refused(f"given runs are the same for all {key}", "repeat", key)
        is_world = ratings is not None and ratings.format == "world"
        if ratings is not None:
            self._check_source(ratings)
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
        if self.truth is not None:
            if is_world and self.truth.path is not None:
                raise refused("a simulated world has its own truth: it has no `path`", "truth")
            if not is_world and self.truth.path is None:
                raise refused("`path` is missing: only a simulated world has its own", "truth")
        return self

    def _check_source(self, ratings: RatingsSection) -> None:
        """Refuse ratings that are not from one source: a file, a world, or parts of a split."""
        is_world = ratings.format == "world"
        n_sources = sum([is_world, ratings.path is not None, self.split.find_parts() is not None])
        if n_sources == 0:
            raise refused('`path` or format = "world" is missing', "ratings")
        if n_sources > 1:
            raise refused(
                "a given split has its own ratings: [ratings] may say how they are read, but "
                'has no `path` and no format = "world"',
                "ratings",
            )

    def with_seed(self, seed: int) -> Study:
        """Copy the study with another random seed and a study folder of its own, in "seeds"."""
        folder = self.folder / SEEDS / str(seed)
        return self.model_copy(update={"seed": seed, "output": folder, "repeat": RepeatSection()})

    @classmethod
    def read_tables(cls, values: dict[str, Any], origin: Origin) -> dict[str, Any]:
        """Read the split, and every section of an analysis, as their own files declare them.

        ``values`` are the tables of the study file; adds a table [truth] where the input has a
        truth of its own. Tables of a wrong type are left to a later check. Raises InputError, with
        file and line, if the split or a setting of an analysis breaks a rule.
        """
        values = values | _usual_truth(values)
        split = values.get("split")
        analyses = values.get("analyses", {})
        sections: dict[str, Any] = {}
        if isinstance(split, dict):
            sections["split"] = read_split(split, origin)
        if isinstance(analyses, dict):
            available_needs = (Need.TRUTH,) if "truth" in values else ()
            sections["analyses"] = read_sections(analyses, origin, available_needs=available_needs)
        return values | sections

    @property
    def shift(self) -> float:
        """What is added to ratings that systems learn from."""
        return 0.0 if self.ratings is None else self.ratings.shift

    @property
    def measures(self) -> Measures:
        """All measures: those that are compared, and the grid."""
        return self.metrics.measures


def _usual_truth(values: Mapping[str, Any]) -> dict[str, Any]:
    """Complete the table [truth]: a world has its own, and for given runs its format is qrels.

    ``values`` are the tables of a study file. Empty if nothing is to be completed.
    """
    ratings = values.get("ratings")
    truth = values.get("truth")
    if truth is None and isinstance(ratings, dict) and ratings.get("format") == "world":
        return {"truth": {}}
    if isinstance(truth, dict) and "qrels" in values and "ratings" not in values:
        return {"truth": {"format": QRELS, **truth}}
    return {}


def read_study(path: Path, *, changes: Mapping[str, Any] | None = None) -> Study:
    r"""Read a study file.

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

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "study.toml"
    ...     _ = path.write_text('name = "mine"\n[ratings]\npath = "ratings.csv"\n')
    ...     study = read_study(path, changes={"seed": 1})
    >>> study.name, study.ratings.path.name, study.seed
    ('mine', 'ratings.csv', 1)
    """
    return Study.read(path, changes=changes)


def run_paths(study: Study) -> list[Path]:
    """Find the run files of a study; none if it has no section [runs].

    Raises
    ------
    InputError
        If a pattern matches no file.
    """
    return find_run_files(() if study.runs is None else study.runs.paths)
