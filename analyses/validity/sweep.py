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
from analyses.validity.comparison import Comparison
from analyses.validity.loss_curves import LossOfJudgements
from analyses.validity.pair_verdicts import PairVerdicts, share_of_pairs
from analyses.validity.robustness_figure import draw_robustness
from analyses.validity.truth_agreement import ITSELF
from analyses.validity.validity_result import LEAST_TAU
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

TIE_TOLERANCE = 1e-9
"""Taus that differ by less are equal."""

STUDY_WORLD = 1.0
"""The strength of the bias, and the density, of the study's own world."""

ATTAINABLE = "ideal"
ROBUSTNESS = "robustness"
POWER = "power"
WRONG_SIGN = "wrong"

LABELS = {
    ATTAINABLE: ("Attainable validity", "expected tau-b with the true ordering"),
    ROBUSTNESS: ("Robustness", "tau-b with all judgements"),
    POWER: ("Significant pairs", "share of the pairs"),
    WRONG_SIGN: ("Significant pairs with the wrong sign", "share of the significant pairs"),
    ITSELF: ("Validity by the same measure", "tau-b with the true ordering"),
}
"""Title and axis of each aspect; others are validity by a reference."""

BIAS_IN_WORDS = {"both": "popularity and liking", "exposure": "popularity", "liking": "liking"}
"""What observation depends on, by the bias that the strengths multiply."""


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
        """Compare the measures of a world with its truth, and with themselves.

        The result has an array of aspects, (n_aspects, n_measures); see `WorldAspects`. InputError
        if the truth has scores by none of the measures, or there are too few systems or users.
        """
        comparison = Comparison.of_work(work)
        means, true_means = comparison.means()
        p, true_p = comparison.p_values(work, self.question)
        verdicts = PairVerdicts.of_means(means, p, true_means, true_p, alpha=self.question.alpha)
        loss = LossOfJudgements(work, comparison, replicates=0)
        curves = loss.curves_at_random(self.levels, n_samples=self.samples)
        means_by_truth = np.broadcast_to(means, true_means.shape)
        taus = tau_b(means_by_truth, true_means)
        # By the first reference, which comes after the measure itself.
        attainable = comparison.attainable()[1]
        wrong_sign = share_of_pairs(verdicts.wrong, verdicts.significant)[1]
        # Whether a measured difference is significant does not depend on the truth.
        is_significant = verdicts.significant[0]
        power = is_significant.mean(axis=-1)
        robustness = mean_of_defined(curves.itself)
        references = [str(reference) for reference in work.truth.references]
        aspects = (ITSELF, *references, ATTAINABLE, ROBUSTNESS, POWER, WRONG_SIGN)
        values = np.array([*taus, attainable, robustness, power, wrong_sign])
        measures = comparison.measured.measures
        return WorldAspects(measures, aspects, values)


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
        (STUDY_WORLD,),
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
        """List the simulated worlds by rising strength, rising density and number.

        The seed of a world depends on these three and on ``seed`` alone, not on other worlds.
        """
        strengths = sorted(self.strengths)
        densities = sorted(self.densities)
        numbers = range(self.worlds)
        worlds = []
        for strength, density, number in product(strengths, densities, numbers):
            words = random_words(1, seed, "worlds", repr(strength), repr(density), number)
            # Seeds have 31 bits of the 64 that are drawn.
            world_seed = int(words[0] >> np.uint64(33))
            world = OtherWorld(strength, density, world_seed, self.bias)
            worlds.append(world)
        return worlds

    def check(self, study: StudyFacts) -> None:
        """Refuse, with SettingError, a study without a world, and worlds that are impossible."""
        for strength in self.strengths:
            world = OtherWorld(strength, STUDY_WORLD, 0, self.bias)
            self._check_world(study, "strengths", world)
        for density in self.densities:
            world = OtherWorld(STUDY_WORLD, density, 0, self.bias)
            self._check_world(study, "densities", world)

    def _check_world(self, study: StudyFacts, key: str, world: OtherWorld) -> None:
        """Raise SettingError of the setting ``key`` if the study cannot have this world."""
        try:
            study.require_world(world)
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
    """Train the systems in many simulated worlds, and compare the measures in each.

    Worlds of each strength of the bias and density differ in their random seed. The result has
    aspects of validity by measure, strength, density and world, NaN where undefined.
    """
    question_fields = set(Question.model_fields)
    question_settings = settings.model_dump(include=question_fields)
    question = Question(**question_settings)
    world_question = WorldQuestion(question, settings.levels, settings.samples)
    worlds = settings.other_worlds(work.seed)
    aspects_of_worlds: list[WorldAspects] = list(work.in_worlds(worlds, world_question))
    strengths = tuple(sorted(settings.strengths))
    densities = tuple(sorted(settings.densities))
    values = np.stack([aspects.values for aspects in aspects_of_worlds], axis=-1)
    n_aspects, n_measures, _ = values.shape
    shape = (n_aspects, n_measures, len(strengths), len(densities), settings.worlds)
    # Worlds are sorted by strength, density and number.
    values = values.reshape(shape)
    # Measures and aspects are those of the study in all worlds.
    first_world = aspects_of_worlds[0]
    return ValiditySweep(
        measures=first_world.measures,
        aspects=first_world.aspects,
        strengths=strengths,
        densities=densities,
        bias=settings.bias,
        values=values,
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
        """Number of worlds of each strength and density."""
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
        """95 % limits of the means over worlds, lower and upper.

        Each of shape (n_aspects, n_measures, n_strengths, n_densities), within [-1, 1], or [0, 1]
        for shares.
        """
        lows = []
        highs = []
        for aspect, values in zip(self.aspects, self.values, strict=True):
            lowest = 0.0 if aspect in (POWER, WRONG_SIGN) else -1.0
            low, high = interval_over_worlds(values, bounds=(lowest, 1.0))
            lows.append(low)
            highs.append(high)
        low_limits = np.stack(lows)
        high_limits = np.stack(highs)
        return low_limits, high_limits

    @cached_property
    def reversals(self) -> list[tuple[str, str]]:
        """Names of pairs of measures, one more valid at one strength, the other at another.

        By the first reference, at the density of the study's world. Both differences are beyond
        noise over the same worlds, at 95 % for all pairs and strengths together (Bonferroni).
        """
        n_measures = len(self.measures)
        n_pairs = n_measures * (n_measures - 1) // 2
        n_intervals = n_pairs * len(self.strengths)
        aspect = self._aspect_index(None)
        density_index = _study_index(self.densities)
        values = self.values[aspect, :, :, density_index]
        reversals = []
        for first, second in combinations(range(n_measures), 2):
            differences = values[first] - values[second]
            low, high = interval_over_worlds(differences, at_once=n_intervals)
            is_above = (low > 0).any()
            is_below = (high < 0).any()
            if is_above and is_below:
                first_name = str(self.measures[first])
                second_name = str(self.measures[second])
                reversals.append((first_name, second_name))
        return reversals

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``validity_sweep``: one row per aspect, measure, strength and density.

        Columns aspect, metric, cutoff, strength, density, mean, sd (over worlds), low, high (95 %
        of the mean), worlds (in which it is defined).
        """
        low, high = self.limits
        deviations = deviation_of_defined(self.values)
        is_defined = ~np.isnan(self.values)
        n_defined = np.count_nonzero(is_defined, axis=-1)
        frame = tidy(
            {"aspect": self.aspects},
            self.measures,
            {"strength": self.strengths},
            {"density": self.densities},
            mean=self.means,
            sd=deviations,
            low=low,
            high=high,
            worlds=n_defined,
        )
        return {"validity_sweep": frame}

    @table("validity_sweep", "validity of each measure, by the strength of the bias")
    def by_strength(self, *, aspect: str | None = None) -> Table:
        """Tabulate the means over worlds at each strength: of validity, or another aspect.

        A row per measure, a column per strength, at the density of the study's world.
        """
        index = self._aspect_index(aspect)
        density_index = _study_index(self.densities)
        means = self.means[index, :, :, density_index]
        labels = [str(measure) for measure in self.measures]
        columns: dict[str, Any] = {"measure": labels}
        for strength, means_at_strength in zip(self.strengths, means.T, strict=True):
            columns[f"{strength:g}"] = means_at_strength
        aspect_title, _ = self._labels(index)
        title = f"{aspect_title}, by the strength of the bias"
        caption = self.caption()
        return Table.from_columns("validity_sweep", title, caption, columns)

    @figure(
        "validity_sweep",
        "Validity, robustness and power against the strength of the bias",
        panels="aspect",
        comparable=False,
    )
    def plot(self, ax: Axes, *, aspect: str | None = None, density: float | None = None) -> None:
        """Draw the means of one aspect against the strength of the bias.

        By default, these are validity by the first reference, and the density of the study's world.
        """
        index = self._aspect_index(aspect)
        if density is None:
            density_index = _study_index(self.densities)
        else:
            density_index = self.densities.index(density)
        strengths = np.asarray(self.strengths)
        lows, highs = self.limits
        means = self.means[index, :, :, density_index]
        low_limits = lows[index, :, :, density_index]
        high_limits = highs[index, :, :, density_index]
        values = self.values[index, :, :, density_index]
        deviations = deviation_of_defined(values)
        styles = category_styles(self.measures)
        curves = zip(styles, means, low_limits, high_limits, deviations, strict=True)
        bands = "Bands: 95 % intervals of the mean over worlds."
        whiskers = "Vertical lines: one standard deviation over worlds."
        for (label, style), mean, low, high, deviation in curves:
            limits = (low, high)
            draw_band(ax, strengths, limits, style, label=label, explanation=bands)
            lower_ends = mean - deviation
            upper_ends = mean + deviation
            ends = (lower_ends, upper_ends)
            draw_whiskers(ax, strengths, mean, ends, style, label=label, explanation=whiskers)
        title, axis = self._labels(index)
        bias = BIAS_IN_WORDS[self.bias]
        ax.set(xlabel=f"strength of {bias}", ylabel=axis, title=title)
        label_curves(ax)

    @figure(
        "validity_sweep_robustness",
        "Robustness against validity over worlds, by metric",
        part="means",
    )
    def plot_robustness(self, ax: Axes, *, strength: float | None = None) -> None:
        """Draw one point a measure: its means at one strength, by default that nearest to 1.

        Validity by the first reference is drawn against robustness, at the density nearest to that
        of the study's world.
        """
        if strength is None:
            strength_index = _study_index(self.strengths)
        else:
            strength_index = self.strengths.index(strength)
        density_index = _study_index(self.densities)
        validity = self._aspect_index(None)
        robustness = self._aspect_index(ROBUSTNESS)
        lows, highs = self.limits
        means = self.means[:, :, strength_index, density_index]
        low_limits = lows[validity, :, strength_index, density_index]
        high_limits = highs[validity, :, strength_index, density_index]
        draw_robustness(
            ax,
            tuple(map(str, self.measures)),
            means[robustness],
            means[validity],
            limits=(low_limits, high_limits),
            over="worlds",
        )
        bias = BIAS_IN_WORDS[self.bias]
        strength_drawn = self.strengths[strength_index]
        ax.set_title(f"strength of {bias}: {strength_drawn:g}")

    def _aspect_index(self, aspect: str | None) -> int:
        """Look up the position of an aspect; None is validity by the first reference."""
        return panel_index(self.aspects, self.main if aspect is None else aspect)

    def _labels(self, index: int) -> tuple[str, str]:
        """Look up the title of the aspect at a position, and the label of its axis."""
        aspect = self.aspects[index]
        by_reference = (f"Validity by true {aspect}", "tau-b with the true ordering")
        return LABELS.get(aspect, by_reference)

    def caption(self) -> str:
        """Describe the worlds and the curves."""
        return (
            f"Means over {self.n_worlds} simulated worlds at each strength of the bias, each with "
            "its own ratings, split and training. At strength 0, the observed ratings do not "
            f"depend on {BIAS_IN_WORDS[self.bias]}; at 1, they do as in the study's world. "
            "Validity is tau-b with the true ordering of the systems, robustness mean tau-b with "
            "the ordering on all judgements when judgements are lost; higher is better."
        )

    def caption_of(self, part: str) -> str:
        """Describe the figure of robustness and validity, whose part is called means."""
        strength = self.strengths[_study_index(self.strengths)]
        return (
            f"Mean robustness and validity over {self.n_worlds} simulated worlds, at strength "
            f"{strength:g} of the bias; higher is better for both."
        )

    def findings(self) -> Sequence[str]:
        """State what changes with the strength of the bias, and which conclusions depend on it."""
        weakest = self.strengths[0]
        strongest = self.strengths[-1]
        ranges = listed(self._ranges())
        leaders = "; ".join(self._leaders())
        n_measures = len(self.measures)
        n_pairs = n_measures * (n_measures - 1) // 2
        all_pairs = counted(n_pairs, "pair of measures")
        n_reversals = len(self.reversals)
        names = f" ({join_pairs(self.reversals)})" if self.reversals else ""
        change_sentence = (
            f"From strength {weakest:g} to {strongest:g} of the bias, means over measures change: "
            f"{ranges}."
        )
        leaders_sentence = f"The most valid measure by true {self.main} is {leaders}."
        reversals_sentence = (
            f"{n_reversals} of {all_pairs} reverse significantly between strengths{names}."
        )
        return [change_sentence, leaders_sentence, reversals_sentence]

    def _ranges(self) -> list[str]:
        """Write how the mean over measures of each aspect changes from first to last strength."""
        density_index = _study_index(self.densities)
        ranges = []
        for aspect in (self.main, ATTAINABLE, ROBUSTNESS, POWER, WRONG_SIGN):
            index = self._aspect_index(aspect)
            at_both_ends = self.means[index, :, [0, -1], density_index]
            start, end = mean_of_defined(at_both_ends)
            title, _ = self._labels(index)
            name = title[0].lower() + title[1:]
            first_mean = rounded(start, 2)
            last_mean = rounded(end, 2)
            ranges.append(f"{name} from {first_mean} to {last_mean}")
        return ranges

    def _leaders(self) -> list[str]:
        """Write which measures are most valid at each strength: a text for each strength.

        By tau with the first reference, at the density of the study's world; several if they tie,
        and "no measure" if all are below .7.
        """
        aspect = self._aspect_index(None)
        density_index = _study_index(self.densities)
        taus = self.means[aspect, :, :, density_index]
        leaders = []
        for strength, taus_at_strength in zip(self.strengths, taus.T, strict=True):
            highest = np.fmax.reduce(taus_at_strength)
            lowest = max(LEAST_TAU, highest - TIE_TOLERANCE)
            best_numbers = np.flatnonzero(taus_at_strength >= lowest)
            best = [str(self.measures[number]) for number in best_numbers]
            names = listed(best) if best else "no measure"
            leaders.append(f"{names} at strength {strength:g}")
        return leaders

    def cautions(self) -> Sequence[str]:
        """State what simulated worlds cannot show."""
        return [
            "The sweep holds for its simulated worlds, split and systems; the strength of the bias "
            "in real data is unknown."
        ]


def _study_index(multiples: Sequence[float]) -> int:
    """Look up the position of the strength, or density, that is nearest to the study's world."""
    distances = np.abs(np.asarray(multiples) - STUDY_WORLD)
    return int(np.argmin(distances))
