"""Validity against the strength of the bias: the same study in many worlds, results joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from analyses.intervals.systems import over_worlds
from analyses.ordering import tau_b
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined
from analyses.shared.analysis import SettingError, StudyFacts, analysis
from analyses.shared.drawing import (
    axes_or_new,
    categories,
    chosen_panel,
    draw_band,
    draw_whiskers,
    label_curves,
)
from analyses.shared.measure import Measures
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import listed, paired
from analyses.shared.table import Best, Cell, Table, shown
from analyses.shared.work import Bias, OtherWorld
from analyses.significance.question import Correction, Question, Test
from analyses.validity.comparison import Comparison, PairVerdicts, ratio_of
from analyses.validity.loss_curves import LossOfJudgements
from analyses.validity.measure_validity import draw_robustness
from analyses.validity.truth_agreement import ITSELF
from runs import InputError
from runs.shared.settings import Levels, Whole, without_repetition
from runs.shared.streams import random_words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Floats = NDArray[np.float64]
Multiple = Annotated[float, Field(ge=0, le=10)]

USUAL = 1.0
"""The strength of the bias, and the density, of the study's own world."""

IDEAL, ROBUSTNESS, POWER, WRONG = "ideal", "robustness", "power", "wrong"
LABELS = {
    IDEAL: ("Ideal", "expected tau-b with the truth"),
    ROBUSTNESS: ("Robustness", "tau-b with itself"),
    POWER: ("Significant pairs", "share of pairs"),
    WRONG: ("Wrong", "share of significant pairs"),
    ITSELF: ("Validity by itself", "tau-b with the truth"),
}
"""Titles and axes of aspects; others are validity by a reference."""

AT_ZERO = {
    "both": "is random",
    "exposure": "does not follow popularity, and follows liking as ever",
    "liking": "does not follow liking, and follows popularity as ever",
}
"""How ratings are observed at strength 0, by what the strengths multiply."""

STRENGTHS = {"both": "the bias", "exposure": "exposure", "liking": "liking"}
"""What the strengths are of."""


@dataclass(frozen=True, eq=False)
class WorldAspects:
    """What measures are worth in one world.

    Parameters
    ----------
    measures
        Label of the second axis.
    aspects
        Label of the first: tau-b with the same measure on the truth and with each reference;
        ideal, tau-b with the first reference that is expected of a measure which is right, but for
        chance over users; robustness, the mean tau-b with itself when judgements are lost at
        random; power, the share of pairs of systems that differ significantly; wrong, the share of
        these that truly differ with the other sign by the first reference.
    values
        Of shape (n_aspects, n_measures); NaN where undefined.
    """

    measures: Measures
    aspects: tuple[str, ...]
    values: Floats


@dataclass(frozen=True)
class WorldQuestion:
    """What is computed in every world: how pairs are tested, and how judgements are lost."""

    question: Question
    levels: tuple[float, ...]
    samples: int

    found = WorldAspects

    def __call__(self, work: Work) -> WorldAspects:
        """Compare the measures of a world with its truth, and with themselves."""
        comparison = Comparison.of(work)
        means, true = comparison.means()
        p, true_p = comparison.p_values(work, self.question)
        verdicts = PairVerdicts.of_means(means, p, true, true_p, alpha=self.question.alpha)
        loss = LossOfJudgements(work, comparison, replicates=0)
        rows = [
            *tau_b(np.broadcast_to(means, true.shape), true),
            comparison.attainable()[1],
            mean_of_defined(loss.at_random(self.levels, n_samples=self.samples).itself),
            verdicts.significant[0].mean(axis=-1),
            ratio_of(verdicts.wrong, verdicts.significant)[1],
        ]
        aspects = (ITSELF, *map(str, work.truth.references), IDEAL, ROBUSTNESS, POWER, WRONG)
        return WorldAspects(comparison.measured.measures, aspects, np.array(rows))


class Settings(Question):
    """The same study in worlds whose ratings are observed more or less selectively."""

    test: Test = Field("t", description="Of measured and of true differences between systems.")
    strengths: Annotated[tuple[Multiple, ...], AfterValidator(without_repetition)] = Field(
        (0.0, 0.5, 1.0, 1.5, 2.0),
        min_length=1,
        description="How strongly observation follows popularity and liking (see `bias`), as "
        "multiples of the study's world; 0: not at all.",
    )
    bias: Bias = Field(
        "both",
        description="What the strengths multiply: how observation follows popularity (`exposure`), "
        "liking, or both; the other stays as in the study's world.",
    )
    densities: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...], AfterValidator(without_repetition)
    ] = Field(
        (USUAL,),
        min_length=1,
        description="Numbers of ratings, as multiples of those of the study's world.",
    )
    worlds: Whole = Field(10, ge=2, description="Worlds of each strength and density.")
    levels: Levels = Field(
        (0.5,),
        min_length=1,
        description="Shares of the judgements that are kept, for robustness: the mean over them.",
    )
    samples: Whole = Field(10, ge=1, description="Samples of the judgements per level.")

    @property
    def question(self) -> WorldQuestion:
        """What is asked of every world."""
        asked = Question(**self.model_dump(include=set(Question.model_fields)))
        return WorldQuestion(asked, self.levels, self.samples)

    def other_worlds(self, seed: int) -> list[OtherWorld]:
        """Give the worlds by strength, density and number, none depending on the others."""
        points = product(sorted(self.strengths), sorted(self.densities), range(self.worlds))
        worlds = []
        for strength, density, number in points:
            words = random_words(1, seed, "worlds", repr(strength), repr(density), number)
            worlds.append(OtherWorld(strength, density, int(words[0] >> np.uint64(33)), self.bias))
        return worlds

    def check(self, given: StudyFacts) -> None:
        """Refuse a study that has no world, and worlds that cannot be."""
        for key, points in (("strengths", self.strengths), ("densities", self.densities)):
            for point in points:
                at = (point, USUAL) if key == "strengths" else (USUAL, point)
                try:
                    given.require_world(OtherWorld(*at, seed=0, bias=self.bias))
                except InputError as error:
                    raise SettingError(key, str(error)) from None


@analysis(
    "validity_sweep",
    source="Cañamares & Castells (2018); Urbano, Lima & Hanjalic (2019)",
    needs=("worlds",),
    on_request=True,
)
def validity_sweep(work: Work, settings: Settings) -> ValiditySweep:
    """Train the systems anew in many worlds, and see what becomes of every measure."""
    found = list(work.in_worlds(settings.other_worlds(work.seed), settings.question))
    strengths, densities = (tuple(sorted(x)) for x in (settings.strengths, settings.densities))
    every = np.stack([each.values for each in found], axis=-1)
    return ValiditySweep(
        measures=found[0].measures,
        aspects=found[0].aspects,
        strengths=strengths,
        densities=densities,
        bias=settings.bias,
        values=every.reshape(*every.shape[:2], len(strengths), len(densities), settings.worlds),
        levels=settings.levels,
        samples=settings.samples,
        test=settings.test,
        correction=settings.correction,
        alpha=settings.alpha,
        seed=work.seed,
    )


@dataclass(frozen=True, eq=False)
class ValiditySweep(Result):
    """What measures are worth in worlds whose ratings are observed more or less selectively.

    Values are of shape (n_aspects, n_measures, n_strengths, n_densities, n_worlds), NaN where
    undefined; see `WorldAspects`. Strengths of the bias and densities, rising, are multiples of
    those of the study's world.
    """

    measures: Measures
    aspects: tuple[str, ...]
    strengths: tuple[float, ...]
    densities: tuple[float, ...]
    bias: Bias
    values: Floats
    levels: tuple[float, ...]
    samples: int
    test: Test
    correction: Correction
    alpha: float
    seed: int

    @property
    def n_worlds(self) -> int:
        """Worlds of each strength and density."""
        return self.values.shape[-1]

    @property
    def main(self) -> str:
        """The aspect of tables and sentences that take one: validity by the first reference."""
        return self.aspects[1]

    @cached_property
    def means(self) -> Floats:
        """Means over worlds, of shape (n_aspects, n_measures, n_strengths, n_densities)."""
        return mean_of_defined(self.values)

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """95 % limits of the means over worlds."""
        lowest = [0.0 if aspect in (POWER, WRONG) else -1.0 for aspect in self.aspects]
        each = zip(self.values, lowest, strict=True)
        limits = [over_worlds(own, limits=(least, 1.0)) for own, least in each]
        low, high = np.stack(limits, axis=1)
        return low, high

    @property
    def by_density(self) -> tuple[float, ...] | None:
        """The densities, if there are several."""
        return self.densities if len(self.densities) > 1 else None

    @cached_property
    def turned(self) -> list[tuple[str, str]]:
        """Pairs of measures, the first more valid at one strength, the second at another.

        Both beyond noise over the same worlds, for all pairs and strengths at once (Bonferroni).
        """
        n_measures, n_strengths = len(self.measures), len(self.strengths)
        at_once = n_strengths * n_measures * (n_measures - 1) // 2
        values = self.values[self.aspects.index(self.main), :, :, self._usual(self.densities)]
        pairs = []
        for first, second in combinations(range(n_measures), 2):
            low, high = over_worlds(values[first] - values[second], at_once=at_once)
            if (low > 0).any() and (high < 0).any():
                pairs.append((str(self.measures[first]), str(self.measures[second])))
        return pairs

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``validity_sweep`` (see `to_frame`) and ``validity_sweep_differences``.

        The latter has a row for each aspect, pair of measures, strength and density: columns
        aspect, measure_a, measure_b, strength, density, difference of the means, low, high (95 %
        over worlds, which both measures see).
        """
        return {
            "validity_sweep": self.to_frame(),
            "validity_sweep_differences": self._differences(),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per aspect, measure, strength and density.

        Columns aspect, metric, cutoff, strength, density, mean, sd (over worlds), low, high (95 %
        of the mean), worlds (in which it is defined).
        """
        import pandas as pd

        points = product(self.aspects, self.measures, self.strengths, self.densities)
        labels = [(aspect, m.metric, m.cutoff, *point) for aspect, m, *point in points]
        columns = ["aspect", "metric", "cutoff", "strength", "density"]
        frame = pd.DataFrame(labels, columns=columns, dtype=object)
        frame = frame.astype({"strength": float, "density": float})
        low, high = self.limits
        return frame.assign(
            mean=self.means.ravel(),
            sd=deviation_of_defined(self.values).ravel(),
            low=low.ravel(),
            high=high.ravel(),
            worlds=np.count_nonzero(~np.isnan(self.values), axis=-1).ravel(),
        )

    def _differences(self) -> pd.DataFrame:
        import pandas as pd

        first, second = np.triu_indices(len(self.measures), k=1)
        differences = self.values[:, first] - self.values[:, second]
        low, high = over_worlds(differences)
        pairs = combinations(map(str, self.measures), 2)
        points = product(self.aspects, pairs, self.strengths, self.densities)
        labels = [(aspect, *pair, *point) for aspect, pair, *point in points]
        columns = ["aspect", "measure_a", "measure_b", "strength", "density"]
        return pd.DataFrame(labels, columns=columns).assign(
            difference=mean_of_defined(differences).ravel(), low=low.ravel(), high=high.ravel()
        )

    @table("validity_sweep", "validity of every measure, by the strength of the bias")
    def by_strength(self, *, aspect: str | None = None) -> Table:
        """Tabulate the means over worlds at each strength: of validity, or another aspect."""
        place, density = self._place(aspect), self._usual(self.densities)
        means, (low, high) = self.means[place, :, :, density], self.limits
        reach = np.nanmax((high - low)[place, :, :, density], initial=0.0) / 2
        cells = {
            (str(measure), f"{strength:g}"): float(means[m, s])
            for m, measure in enumerate(self.measures)
            for s, strength in enumerate(self.strengths)
        }
        chosen: Best = min if aspect == WRONG else max
        title = f"{self._labels(place)[0]}, by the strength of the bias"
        sides = f"Intervals (95 %) of these means reach {shown(reach, decimals=3)} to both sides"
        caption = f"{self.caption()} {sides} at most."
        return Table.crossed(
            "validity_sweep", title, caption, "measure", cells, best=lambda _: chosen
        )

    @table("validity_sweep_best", "the most valid, robust and powerful measure at each strength")
    def best(self) -> Table:
        """Tabulate which measure has most of each aspect, and how valid that one is."""
        density, rows = self._usual(self.densities), list[list[Cell]]()
        for s, strength in enumerate(self.strengths):
            row: list[Cell] = [f"{strength:g}"]
            for aspect in (self.main, ROBUSTNESS, POWER):
                best = self._first(aspect, s, density)
                row += [listed([str(self.measures[m]) for m in best])]
                row += [float(self.means[self._place(None), best, s, density].mean())]
            rows.append(row)
        headings = ["strength"]
        for quality in ("most valid", "most robust", "most powerful"):
            headings += [quality, "its validity"]
        title = "The best measures by the strength of the bias"
        mean = f"Validity is tau-b with true {self.main}; of measures that are level, the mean."
        caption = f"{mean} {self.caption()}"
        return Table("validity_sweep_best", title, caption, headings, rows)

    def _first(self, aspect: str, strength: int, density: int) -> list[int]:
        """Number the measures that have most of an aspect, as far as is shown."""
        means = self.means[self._place(aspect), :, strength, density]
        if np.isnan(means).all():
            return list(range(len(means)))
        return [m for m, mean in enumerate(means) if shown(mean) == shown(np.nanmax(means))]

    @figure(
        "validity_sweep",
        "Validity, robustness and power against the strength of the bias",
        panels="aspect",
        comparable=False,
    )
    def plot(
        self, ax: Axes | None = None, *, aspect: str | None = None, density: float | None = None
    ) -> Axes:
        """Draw the means of one aspect, by default validity, against the strength of the bias."""
        place = self._usual(self.densities) if density is None else self.densities.index(density)
        ax = self._draw(ax, aspect, self.strengths, (slice(None), slice(None), place))
        ax.set_xlabel(f"strength of {STRENGTHS[self.bias]}")
        return ax

    @figure(
        "validity_sweep_density",
        "Validity, robustness and power against the number of ratings",
        panels="aspect",
        comparable=False,
        of="by_density",
    )
    def plot_density(
        self, ax: Axes | None = None, *, aspect: str | None = None, strength: float | None = None
    ) -> Axes:
        """Draw the means of one aspect against the density, at the strength next to the study's."""
        place = self._usual(self.strengths) if strength is None else self.strengths.index(strength)
        ax = self._draw(ax, aspect, self.densities, (slice(None), place))
        ax.set_xlabel("ratings, as multiple")
        return ax

    @figure(
        "validity_sweep_robustness",
        "Robustness against validity over worlds, by metric",
        of="means",
    )
    def plot_robustness(self, ax: Axes | None = None, *, strength: float | None = None) -> Axes:
        """Draw one point a measure: its means at one strength, by default next to the study's."""
        s = self._usual(self.strengths) if strength is None else self.strengths.index(strength)
        at, ax = (slice(None), s, self._usual(self.densities)), axes_or_new(ax)
        taus, low, high = (each[self._place(None)][at] for each in (self.means, *self.limits))
        robustness = self.means[self._place(ROBUSTNESS)][at]
        draw_robustness(ax, self.measures.labels, robustness, taus, (low, high))
        ax.set_title(f"strength of {STRENGTHS[self.bias]}: {self.strengths[s]:g}")
        return ax

    def _draw(
        self, ax: Axes | None, aspect: str | None, places: Sequence[float], where: tuple[Any, ...]
    ) -> Axes:
        """Draw a curve a measure, with the interval of its mean as a band."""
        ax, place, along = axes_or_new(ax), self._place(aspect), np.asarray(places)
        means, low, high = (array[place][where] for array in (self.means, *self.limits))
        spreads = deviation_of_defined(self.values)[place][where]
        for m, (label, style) in enumerate(categories(self.measures.labels)):
            draw_band(ax, along, (low[m], high[m]), style, label=label)
            limits = means[m] - spreads[m], means[m] + spreads[m]
            draw_whiskers(ax, along, means[m], limits, style, label=label)
        title, axis = self._labels(place)
        ax.set_ylabel(axis)
        ax.set_title(title)
        label_curves(ax)
        return ax

    def _place(self, aspect: str | None) -> int:
        return chosen_panel(self.aspects, self.main if aspect is None else aspect)

    def _labels(self, place: int) -> tuple[str, str]:
        aspect = self.aspects[place]
        return LABELS.get(aspect, (f"Validity by true {aspect}", "tau-b with the truth"))

    def _usual(self, places: Sequence[float]) -> int:
        """Number what is next to the study's own world."""
        return int(np.argmin(np.abs(np.asarray(places) - USUAL)))

    def caption(self) -> str:
        """Say what the worlds are, and what was asked of them."""
        kept = listed([f"{100 * level:g} %" for level in self.levels])
        return (
            f"Means over {self.n_worlds} worlds a point, each with its own tastes, ratings, split "
            f"and training. Strength 0: observation {AT_ZERO[self.bias]}; 1: it follows "
            "popularity and liking as in the study's world. Validity: tau-b with the true ordering "
            "of the systems; ideal: what is expected of a measure that orders them rightly, but "
            "for chance over users; robustness: mean tau-b with itself on random samples of "
            f"{kept} of the judgements ({self.samples} samples); significant pairs: at "
            f"{self.alpha:g}; wrong: significant pairs that truly differ the other way round by "
            f"{self.main}, as a share of the significant ones. Of two measures at most, "
            "bands: 95 % of the mean, by Student's t over worlds; lines: one standard deviation "
            f"of worlds (seed {self.seed})."
        )

    def caption_of(self, part: str) -> str:
        """Say at which strength densities, and means of robustness and validity, are compared."""
        strength = self.strengths[self._usual(self.strengths)]
        shows = "means with 95 %; on the line a measure is as valid as robust"
        content = "by number of ratings" if part == "by_density" else shows
        return f"At strength {strength:g}, {content}. {self.caption()}"

    def findings(self) -> Sequence[str]:
        """Say what changes with the strength of the bias, and which conclusions depend on it."""
        return [self._changes(), self._leaders(), self._reversals()]

    def _changes(self) -> str:
        """Say between what each aspect lies over measures, at the lowest and highest strength."""
        ranges = [
            f"{name} from {self._range(aspect, 0)} to {self._range(aspect, -1)}"
            for name, aspect in (
                (f"tau-b with true {self.main}", self.main),
                ("what chance over users allows (ideal)", IDEAL),
                ("robustness", ROBUSTNESS),
                ("the share of significant pairs", POWER),
                ("the share of these that are wrong", WRONG),
            )
        ]
        return (
            f"From strength {self.strengths[0]:g} to {self.strengths[-1]:g}, lowest and highest of "
            f"{len(self.measures)} measures: {listed(ranges)}."
        )

    def _range(self, aspect: str, strength: int) -> str:
        means = self.means[self._place(aspect), :, strength, self._usual(self.densities)]
        if np.isnan(means).all():
            return "unknown"
        low, high = (shown(float(f(means)), decimals=2) for f in (np.nanmin, np.nanmax))
        return low if low == high else f"{low}–{high}"

    def _leaders(self) -> str:
        """Say which measures are the most valid, and where."""
        where: dict[str, list[str]] = {}
        for s, strength in enumerate(self.strengths):
            first = self._first(self.main, s, self._usual(self.densities))
            best = listed([str(self.measures[m]) for m in first])
            where.setdefault(best, []).append(f"{strength:g}")
        if len(where) == 1:
            return f"Most valid by true {self.main} at every strength: {next(iter(where))}."
        leaders = "; ".join(f"{best} at strength {listed(at)}" for best, at in where.items())
        return (
            f"Most valid by true {self.main}: {leaders}. Which measure is put first depends on the "
            "strength of the bias, or on chance: see the differences."
        )

    def _reversals(self) -> str:
        n_pairs = len(self.measures) * (len(self.measures) - 1) // 2
        if not self.turned:
            return (
                f"None of {n_pairs} pairs of measures is turned round beyond noise between the "
                "strengths; others may be, in other worlds or more of them."
            )
        return (
            f"{len(self.turned)} of {n_pairs} pairs of measures are turned round between "
            "strengths, both times beyond noise (of all pairs at once): "
            f"{paired(self.turned)}. Which of the two is more valid depends on the strength of the "
            "bias, which ratings alone do not tell, and is to be reported so."
        )

    def cautions(self) -> Sequence[str]:
        """Say what worlds can and cannot tell."""
        return [
            "The worlds of the sweep are of one kind, and so are the systems: what holds in them "
            "holds of these tastes, this split and these systems. Real data may be anywhere on the "
            "axis, or off it.",
            "Intervals of the sweep are of each mean or difference by itself, over "
            f"{self.n_worlds} worlds: of twenty differences that are none, one is beyond noise by "
            "chance. Where all worlds agree, the interval has no width.",
        ]
