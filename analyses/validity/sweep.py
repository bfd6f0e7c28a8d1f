"""Validity sweep: validity in many simulated worlds with different strengths of the bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from analyses.intervals.systems import interval_over_worlds
from analyses.ordering import tau_b
from analyses.ordering.agreement import deviation_of_defined, mean_of_defined
from analyses.shared.analysis import Need, SettingError, StudyFacts, analysis
from analyses.shared.drawing import (
    category_styles,
    draw_band,
    draw_whiskers,
    label_curves,
    panel_index,
)
from analyses.shared.measure import Measures, tidy
from analyses.shared.number_format import rounded
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import join_pairs, listed
from analyses.shared.table import Table
from analyses.shared.work import Bias, OtherWorld
from analyses.significance.question import Question, Test
from analyses.validity.comparison import Comparison, PairVerdicts, ratio_of
from analyses.validity.loss_curves import LossOfJudgements
from analyses.validity.truth_agreement import ITSELF
from analyses.validity.validity_result import LEAST_TAU, draw_robustness
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import counted
from runs.shared.settings import Levels, Repeats, without_repetition
from runs.shared.streams import random_words

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

Multiple = Annotated[float, Field(ge=0, le=10)]

SAME = 1e-9
"""Taus that differ by less are equal."""

USUAL = 1.0
"""The strength of the bias, and the density, of the study's own world."""

IDEAL, ROBUSTNESS, POWER, WRONG = "ideal", "robustness", "power", "wrong"
LABELS = {
    IDEAL: ("Attainable validity", "expected tau-b with the true ordering"),
    ROBUSTNESS: ("Robustness", "tau-b with all judgements"),
    POWER: ("Significant pairs", "share of the pairs"),
    WRONG: ("Significant pairs with the wrong sign", "share of the significant pairs"),
    ITSELF: ("Validity by the same measure", "tau-b with the true ordering"),
}
"""Titles and axes of aspects; others are validity by a reference."""

FOLLOWED = {"both": "popularity and liking", "exposure": "popularity", "liking": "liking"}
"""What observation follows by the strengths, by what they multiply."""


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

    result_class = WorldAspects

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
    """The same study in simulated worlds with different strengths of the bias."""

    test: Test = Field("t", description="Significance test of measured and of true differences.")
    strengths: Annotated[tuple[Multiple, ...], AfterValidator(without_repetition)] = Field(
        (0.0, 0.5, 1.0, 1.5, 2.0),
        min_length=1,
        description="Strengths of the bias of observation, as multiples of that of the study's "
        "world; 0: no bias.",
    )
    bias: Bias = Field(
        "both",
        description="Bias that the strengths multiply: of popular items (exposure), of liked items "
        "(liking), or both.",
    )
    densities: Annotated[
        tuple[Annotated[float, Field(gt=0)], ...], AfterValidator(without_repetition)
    ] = Field(
        (USUAL,),
        min_length=1,
        description="Numbers of ratings, as multiples of that of the study's world.",
    )
    worlds: Repeats = Field(10, ge=2, description="Number of worlds of each strength and density.")
    levels: Levels = Field(
        (0.5,),
        description="Shares of the judgements to keep, for robustness (mean over the shares).",
    )
    samples: Repeats = Field(10, ge=1, description="Number of random samples at each level.")

    def other_worlds(self, seed: int) -> list[OtherWorld]:
        """Give the worlds by strength, density and number, none depending on the others."""
        points = product(sorted(self.strengths), sorted(self.densities), range(self.worlds))
        worlds = []
        for strength, density, number in points:
            words = random_words(1, seed, "worlds", repr(strength), repr(density), number)
            worlds.append(OtherWorld(strength, density, int(words[0] >> np.uint64(33)), self.bias))
        return worlds

    def check(self, study: StudyFacts) -> None:
        """Refuse a study that has no world, and worlds that cannot be."""
        for key, points in (("strengths", self.strengths), ("densities", self.densities)):
            for point in points:
                at = (point, USUAL) if key == "strengths" else (USUAL, point)
                try:
                    study.require_world(OtherWorld(*at, seed=0, bias=self.bias))
                except InputError as error:
                    raise SettingError(key, str(error)) from None


@analysis(
    "validity_sweep",
    source="Cañamares & Castells (2018); Urbano, Lima & Hanjalic (2019)",
    needs=(Need.WORLDS,),
    on_request=True,
    question="How does validity depend on the bias and the density of the ratings?",
)
def validity_sweep(work: Work, settings: Settings) -> ValiditySweep:
    """Train the systems in many simulated worlds, and compare the measures in each."""
    asked = Question(**settings.model_dump(include=set(Question.model_fields)))
    question = WorldQuestion(asked, settings.levels, settings.samples)
    found = list(work.in_worlds(settings.other_worlds(work.seed), question))
    strengths, densities = (tuple(sorted(x)) for x in (settings.strengths, settings.densities))
    every = np.stack([each.values for each in found], axis=-1)
    return ValiditySweep(
        measures=found[0].measures,
        aspects=found[0].aspects,
        strengths=strengths,
        densities=densities,
        bias=settings.bias,
        values=every.reshape(*every.shape[:2], len(strengths), len(densities), settings.worlds),
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
        limits = [interval_over_worlds(own, bounds=(least, 1.0)) for own, least in each]
        low, high = np.stack(limits, axis=1)
        return low, high

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
            low, high = interval_over_worlds(values[first] - values[second], at_once=at_once)
            if (low > 0).any() and (high < 0).any():
                pairs.append((str(self.measures[first]), str(self.measures[second])))
        return pairs

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``validity_sweep``: one row per aspect, measure, strength and density.

        Columns aspect, metric, cutoff, strength, density, mean, sd (over worlds), low, high (95 %
        of the mean), worlds (in which it is defined).
        """
        low, high = self.limits
        frame = tidy(
            {"aspect": self.aspects},
            self.measures,
            {"strength": self.strengths},
            {"density": self.densities},
            mean=self.means,
            sd=deviation_of_defined(self.values),
            low=low,
            high=high,
            worlds=np.count_nonzero(~np.isnan(self.values), axis=-1),
        )
        return {"validity_sweep": frame}

    @table("validity_sweep", "validity of each measure, by the strength of the bias")
    def by_strength(self, *, aspect: str | None = None) -> Table:
        """Tabulate the means over worlds at each strength: of validity, or another aspect."""
        place, density = self._place(aspect), self._usual(self.densities)
        means = self.means[place, :, :, density]
        columns: dict[str, Any] = {"measure": map(str, self.measures)}
        columns |= zip((f"{strength:g}" for strength in self.strengths), means.T, strict=True)
        title = f"{self._labels(place)[0]}, by the strength of the bias"
        return Table.from_columns("validity_sweep", title, self.caption(), columns)

    @figure(
        "validity_sweep",
        "Validity, robustness and power against the strength of the bias",
        panels="aspect",
        comparable=False,
    )
    def plot(self, ax: Axes, *, aspect: str | None = None, density: float | None = None) -> None:
        """Draw the means of one aspect, by default validity, against the strength of the bias."""
        d = self._usual(self.densities) if density is None else self.densities.index(density)
        place, along = self._place(aspect), np.asarray(self.strengths)
        spread = deviation_of_defined(self.values)
        every = (each[place, :, :, d] for each in (self.means, *self.limits, spread))
        styles = category_styles(self.measures.labels)
        bands = "Bands: 95 % intervals of the mean over worlds."
        whiskers = "Vertical lines: one standard deviation over worlds."
        for (label, style), mean, low, high, sd in zip(styles, *every, strict=True):
            draw_band(ax, along, (low, high), style, label=label, explanation=bands)
            ends = (mean - sd, mean + sd)
            draw_whiskers(ax, along, mean, ends, style, label=label, explanation=whiskers)
        title, axis = self._labels(place)
        ax.set(xlabel=f"strength of {FOLLOWED[self.bias]}", ylabel=axis, title=title)
        label_curves(ax)

    @figure(
        "validity_sweep_robustness",
        "Robustness against validity over worlds, by metric",
        part="means",
    )
    def plot_robustness(self, ax: Axes, *, strength: float | None = None) -> None:
        """Draw one point a measure: its means at one strength, by default next to the study's."""
        s = self._usual(self.strengths) if strength is None else self.strengths.index(strength)
        at = slice(None), s, self._usual(self.densities)
        taus, low, high = (each[self._place(None)][at] for each in (self.means, *self.limits))
        robustness = self.means[self._place(ROBUSTNESS)][at]
        limits = (low, high)
        draw_robustness(ax, self.measures.labels, robustness, taus, limits, over="worlds")
        ax.set_title(f"strength of {FOLLOWED[self.bias]}: {self.strengths[s]:g}")

    def _place(self, aspect: str | None) -> int:
        return panel_index(self.aspects, self.main if aspect is None else aspect)

    def _labels(self, place: int) -> tuple[str, str]:
        aspect = self.aspects[place]
        return LABELS.get(aspect, (f"Validity by true {aspect}", "tau-b with the true ordering"))

    def _usual(self, places: Sequence[float]) -> int:
        """Number what is next to the study's own world."""
        return int(np.argmin(np.abs(np.asarray(places) - USUAL)))

    def caption(self) -> str:
        """Say what the worlds are, and what the curves are."""
        return (
            f"Means over {self.n_worlds} simulated worlds at each strength of the bias, each with "
            "its own ratings, split and training. At strength 0, the observed ratings do not "
            f"depend on {FOLLOWED[self.bias]}; at 1, they do as in the study's world. Validity is "
            "tau-b with the true ordering of the systems, robustness mean tau-b with the ordering "
            "on all judgements when judgements are lost; higher is better."
        )

    def caption_of(self, part: str) -> str:
        """Say at which strength means of robustness and validity are compared."""
        strength = self.strengths[self._usual(self.strengths)]
        return (
            f"Mean robustness and validity over {self.n_worlds} simulated worlds, at strength "
            f"{strength:g} of the bias; higher is better for both."
        )

    def findings(self) -> Sequence[str]:
        """Say what changes with the strength of the bias, and which conclusions depend on it."""
        density, ends = self._usual(self.densities), (self.strengths[0], self.strengths[-1])
        ranges = []
        for place in map(self._place, (self.main, IDEAL, ROBUSTNESS, POWER, WRONG)):
            first, last = mean_of_defined(self.means[place, :, [0, -1], density])
            title, _ = self._labels(place)
            name = f"{title[0].lower()}{title[1:]}"
            ranges.append(f"{name} from {rounded(first, 2)} to {rounded(last, 2)}")
        leaders = []
        for strength, taus in zip(self.strengths, self.means[1, :, :, density].T, strict=True):
            least = max(LEAST_TAU, np.fmax.reduce(taus) - SAME)
            best = [str(m) for m, tau in zip(self.measures, taus, strict=True) if tau >= least]
            leaders.append(f"{listed(best or ['no measure'])} at strength {strength:g}")
        turned = f" ({join_pairs(self.turned)})" if self.turned else ""
        n_pairs = len(self.measures) * (len(self.measures) - 1) // 2
        return [
            f"From strength {ends[0]:g} to {ends[1]:g} of the bias, means over measures change: "
            f"{listed(ranges)}.",
            f"The most valid measure by true {self.main} is {'; '.join(leaders)}.",
            f"{len(self.turned)} of {counted(n_pairs, 'pair of measures')} reverse significantly "
            "between "
            f"strengths{turned}.",
        ]

    def cautions(self) -> Sequence[str]:
        """Say what simulated worlds cannot show."""
        return [
            "The sweep holds for its simulated worlds, split and systems; the strength of the bias "
            "in real data is unknown."
        ]
