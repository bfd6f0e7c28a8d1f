from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError
from scipy.stats import t, ttest_rel

from analyses.shared.analysis import SettingError, StudyFacts
from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import Scores
from analyses.shared.work import OtherWorld, StudyWorld, Truth, WorkInMemory
from analyses.significance.question import Question
from analyses.validity.comparison import Comparison, reliability
from analyses.validity.sweep import (
    Settings,
    ValiditySweep,
    WorldAspects,
    WorldQuestion,
    validity_sweep,
)
from runs import InputError
from tests.analyses.made import JudgedWork
from tests.analyses.validity.test_loss_curves import one_judgement_each
from tests.drawn import corners, curve, segments_of

MEASURES = Measures([Measure("nDCG", 10), Measure("bpref", 10)])
ASPECTS = ("itself", "nDCG@10", "ideal", "robustness", "power", "wrong")
STRENGTHS = (0.0, 1.0, 2.0)
NDCG, P = Measure("nDCG", 10), Measure("P", 10)
N_USERS, N_SYSTEMS = 40, 9
ASKED = WorldQuestion(Question(test="t"), (0.5, 0.25), 4)

# By strength: tau with true nDCG@10 of nDCG, which falls, and of bpref, which does not.
VALIDITY = {0.0: (0.9, 0.6), 1.0: (0.6, 0.6), 2.0: (0.3, 0.6)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Worlds(WorkInMemory):
    """Worlds in which validity is as stated, with noise of the world's own."""

    name = "worlds"
    noise: float = 0.01

    def in_worlds(self, worlds: Sequence[OtherWorld], study: StudyWorld) -> Iterator[Any]:
        return (WorldAspects(MEASURES, ASPECTS, self.values(world)) for world in worlds)

    def values(self, world: OtherWorld) -> NDArray[np.float64]:
        rng = np.random.default_rng(world.seed)
        valid = np.array(VALIDITY[world.strength]) * world.density
        rows = [valid, valid, [0.97, 0.97], [0.95, 0.9], [0.8, 0.7], [0.02 * world.strength, 0.0]]
        return np.clip(np.array(rows) + self.noise * rng.normal(size=(6, 2)), -1, 1)


def swept(**settings: Any) -> ValiditySweep:
    return validity_sweep(Worlds(seed=3), Settings(strengths=STRENGTHS, worlds=5, **settings))


@pytest.fixture(scope="module")
def found() -> ValiditySweep:
    return swept()


def test_values_are_by_strength_density_and_world() -> None:
    found = swept(densities=(1.0, 0.5))
    assert found.values.shape == (6, 2, 3, 2, 5)
    assert found.densities == (0.5, 1.0)
    expected = np.array([[0.45, 0.9], [0.3, 0.6], [0.15, 0.3]])
    assert found.means[1, 0] == pytest.approx(expected, abs=0.03)


def test_a_world_does_not_depend_on_the_others_that_are_asked_for() -> None:
    few, many = (
        Settings(strengths=strengths, densities=densities, worlds=n).other_worlds(7)
        for strengths, densities, n in (((1.0,), (1.0,), 3), ((0.0, 1.0), (0.5, 1.0), 5))
    )
    assert set(few) < set(many)


def test_measures_that_change_places_beyond_noise_are_named(found: ValiditySweep) -> None:
    assert found.reversals == [("nDCG@10", "bpref@10")]


def test_the_frame_has_every_mean_with_its_limits(found: ValiditySweep) -> None:
    frame = found.frame()
    assert len(frame) == 6 * 2 * 3
    row = frame[(frame.aspect == "power") & (frame.metric == "bpref") & (frame.strength == 2)]
    values = found.values[4, 1, 2, 0]
    assert row["mean"].item() == pytest.approx(values.mean())
    assert row.sd.item() == pytest.approx(values.std(ddof=1))
    assert row.low.item() < row["mean"].item() < row.high.item()
    assert row.worlds.item() == 5


def test_a_study_without_a_world_is_refused() -> None:
    given = StudyFacts(systems=("a", "b"), measures=MEASURES, has_training=True, has_truth=True)
    with pytest.raises(SettingError, match="begins with a simulated world"):
        Settings().check(given)


def by_judgement(
    kept: NDArray[np.bool_], *, blocks: NDArray[np.intp], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Give every user, who has one judgement, the score it gives where it is kept."""
    sums = np.zeros((len(values), blocks.max() + 1, values.shape[1], kept.shape[1]))
    for user, block in enumerate(blocks):
        sums[:, block] += values[:, :, user, np.newaxis] * kept[user]
    return sums


@dataclass(frozen=True, eq=False)
class ScoredWork(JudgedWork):
    """Work on users who have a judgement each, and the scores that it gives."""

    values: Any = None

    @cached_property
    def scores(self) -> Scores:
        return scores_of(self.values)


def scores_of(values: NDArray[np.float64]) -> Scores:
    systems = tuple(f"s{number}" for number in range(values.shape[1]))
    users = np.array([f"u{number:02}" for number in range(values.shape[2])])
    return Scores(values, Measures([NDCG, P]), systems, users)


def world_of(measured: NDArray[np.float64], true: NDArray[np.float64]) -> ScoredWork:
    return ScoredWork(
        partial(by_judgement, values=measured),
        one_judgement_each(N_USERS),
        Measures([NDCG, P]),
        N_SYSTEMS,
        known_truth=Truth(scores_of(true), (NDCG,), "of a made world"),
        values=measured,
    )


@pytest.fixture
def true(rng: np.random.Generator) -> NDArray[np.float64]:
    """Systems that differ so much that half the judgements order them alike."""
    return np.arange(N_SYSTEMS)[:, None] / 10 + 0.01 * rng.random((2, N_SYSTEMS, N_USERS))


def test_a_measure_that_is_the_truth_is_valid_robust_powerful_and_never_wrong(
    true: NDArray[np.float64],
) -> None:
    found = ASKED(world_of(true, true))
    assert found.aspects == ASPECTS
    assert found.values == pytest.approx(np.array([[1.0, 1.0]] * 5 + [[0.0, 0.0]]), abs=0.01)


def test_a_measure_may_be_robust_and_powerful_and_wrong_everywhere(
    true: NDArray[np.float64],
) -> None:
    found = ASKED(world_of(1 - true, true))
    expected = np.array([[-1.0, -1.0]] * 2 + [[1.0, 1.0]] * 4)
    assert found.values == pytest.approx(expected, abs=0.01)


def test_pairs_are_wrong_by_the_first_reference(true: NDArray[np.float64]) -> None:
    """Both measures are right by themselves; P orders the systems against the true nDCG."""
    both = np.stack([true[0], 1 - true[1]])
    found = ASKED(world_of(both, both)).values[[ASPECTS.index("itself"), ASPECTS.index("wrong")]]
    assert found == pytest.approx(np.array([[1.0, 1.0], [0.0, 1.0]]), abs=0.01)


# Numbers that are stated by hand


def stated(**changes: Any) -> ValiditySweep:
    """Two measures in three worlds at three strengths and two densities; the usual is the second.

    Values of a world are its mean and .1 less, the same, or .1 more.
    """
    valid = [[0.9, 0.6, 0.3], [0.5, 0.6, 0.8]]
    means = np.array(
        [
            [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]],
            valid,
            [[0.95, 0.94, 0.93], [0.85, 0.84, 0.83]],
            [[0.7, 0.6, 0.5], [0.5, 0.5, 0.5]],
            [[0.4, 0.5, 0.6], [0.2, 0.2, 0.2]],
            [[0.05, 0.1, 0.2], [0.05, 0.0, 0.1]],
        ]
    )
    other = means - 1.0
    by_density = np.stack([other, means], axis=-1)
    values = by_density[..., np.newaxis] + np.array([-0.1, 0.0, 0.1])
    facts: dict[str, Any] = {
        "measures": MEASURES,
        "aspects": ASPECTS,
        "strengths": STRENGTHS,
        "densities": (0.25, 1.5),
        "bias": "both",
        "values": values,
    }
    return ValiditySweep(**facts | changes)


REACH = t.ppf(0.975, 2) * 0.1 / np.sqrt(3)
"""Half of the interval of a mean over three worlds with a deviation of .1."""


def test_by_default_ten_worlds_are_asked_for_at_five_strengths() -> None:
    settings = Settings()
    assert settings.strengths == (0.0, 0.5, 1.0, 1.5, 2.0)
    assert settings.densities == (1.0,)
    assert settings.worlds == settings.samples == 10
    assert settings.levels == (0.5,)
    assert (settings.test, settings.bias) == ("t", "both")
    worlds = settings.other_worlds(7)
    assert len(worlds) == 5 * 10
    assert {world.bias for world in worlds} == {"both"}


@pytest.mark.parametrize(
    ("refused", "allowed"),
    [
        ({"worlds": 1}, {"worlds": 2}),
        ({"samples": 0}, {"samples": 1}),
        ({"strengths": ()}, {"strengths": (0.5,)}),
        ({"strengths": (-0.1,)}, {"strengths": (0.0,)}),
        ({"strengths": (10.1,)}, {"strengths": (10.0,)}),
        ({"densities": ()}, {"densities": (0.01,)}),
        ({"densities": (0.0,)}, {"densities": (2.0,)}),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    refused: dict[str, Any], allowed: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError):
        Settings(**refused)
    Settings(**allowed)


def test_worlds_are_asked_for_by_strength_density_and_number() -> None:
    """Seeds are whole numbers below 2^31, each another."""
    settings = Settings(strengths=(1.0, 0.0), densities=(1.0, 0.5), worlds=2, bias="liking")
    worlds = settings.other_worlds(7)
    points = [(world.strength, world.density) for world in worlds]
    expected = [(0.0, 0.5), (0.0, 1.0), (1.0, 0.5), (1.0, 1.0)]
    assert points == [point for point in expected for _ in range(2)]
    assert {world.bias for world in worlds} == {"liking"}
    seeds = [world.seed for world in worlds]
    assert len({*seeds}) == 8
    assert 2**28 < max(seeds) < 2**31


def test_worlds_that_cannot_be_are_refused_by_their_setting() -> None:
    """Every strength is asked for at the usual density, and every density at the usual strength."""
    asked: list[tuple[float, float]] = []
    impossible = [(9.0, 9.0)]

    def require_world(world: OtherWorld) -> None:
        asked.append((world.strength, world.density))
        if asked[-1] in impossible:
            raise InputError("there is no such world.")

    given = StudyFacts(("a",), MEASURES, has_training=True, require_world=require_world)
    settings = Settings(strengths=(0.0, 2.0), densities=(0.5, 3.0), worlds=2)
    settings.check(given)
    assert asked == [(0.0, 1.0), (2.0, 1.0), (1.0, 0.5), (1.0, 3.0)]
    for refused, key in (((2.0, 1.0), "strengths"), ((1.0, 0.5), "densities")):
        impossible.append(refused)
        with pytest.raises(SettingError) as error:
            settings.check(given)
        assert error.value.key == key
        impossible.clear()


def test_means_have_the_limits_of_students_t_over_worlds() -> None:
    """Shares of pairs end at 0, and nothing is above 1."""
    found = stated()
    low, high = found.limits
    assert found.n_worlds == 3
    assert found.main == "nDCG@10"
    assert found.means[1, 1, :, 1].tolist() == pytest.approx([0.5, 0.6, 0.8])
    assert low[1, 1, 0, 1] == pytest.approx(0.5 - REACH)
    assert high[1, 1, 0, 1] == pytest.approx(0.5 + REACH)
    assert high[2, 0, 0, 1] == 1.0
    # Aspects: power is the fifth, wrong the last.
    assert low[4, 1, 0, 1] == low[5, 0, 0, 1] == 0.0
    assert low[1, 0, 2, 1] == pytest.approx(0.3 - REACH)
    assert low[0, 0, 0, 1] == pytest.approx(0.1 - REACH)
    assert low[1, 1, 0, 0] == pytest.approx(-0.5 - REACH)
    assert low[3, 1, 0, 0] == pytest.approx(-0.5 - REACH)
    assert low[2, 0, 0, 0] == pytest.approx(-0.05 - REACH)
    far = stated(values=np.array([-0.99, -0.9]) + np.zeros((6, 2, 3, 2, 2)))
    assert far.limits[0][0, 0, 0, 0] == -1.0


def test_the_frame_has_the_numbers_of_an_aspect_a_measure_a_strength_and_a_density() -> None:
    values = stated().values.copy()
    values[1, 1, 2, 1, 0] = np.nan
    frame = stated(values=values).frame()
    assert len(frame) == 6 * 2 * 3 * 2
    asked = (frame.aspect == "nDCG@10") & (frame.metric == "bpref") & (frame.strength == 2.0)
    few, usual = frame[asked].itertuples()
    assert (few.density, usual.density) == (0.25, 1.5)
    assert (few.worlds, usual.worlds) == (3, 2)
    assert few.mean == pytest.approx(-0.2)
    assert usual.mean == pytest.approx(0.85)
    assert few.sd == pytest.approx(0.1)
    assert usual.sd == pytest.approx(np.std([0.8, 0.9], ddof=1))
    assert few.low == pytest.approx(-0.2 - REACH)
    assert few.high == pytest.approx(-0.2 + REACH)


def test_the_table_has_the_means_at_the_density_next_to_the_usual() -> None:
    """Of .25 and 1.5, the second is nearer to 1."""
    table = stated().by_strength()
    assert table.headings == ["measure", "0", "1", "2"]
    first, second = table.rows
    assert first[0] == "nDCG@10"
    assert first[1:] == pytest.approx((0.9, 0.6, 0.3))
    assert second[1:] == pytest.approx((0.5, 0.6, 0.8))
    assert table.title.startswith("Validity by true nDCG@10,")
    robust = stated().by_strength(aspect="robustness")
    assert robust.title.startswith("Robustness,")
    assert robust.rows[0][1:] == pytest.approx((0.7, 0.6, 0.5))


def test_the_figure_draws_means_over_worlds_with_their_deviation() -> None:
    ax = stated().plot()
    np.testing.assert_allclose(curve(ax, "bpref"), [[0.0, 0.5], [1.0, 0.6], [2.0, 0.8]])
    ends = np.array(segments_of(ax)).round(9).tolist()
    assert [[0.0, 0.4], [0.0, 0.6]] in ends
    assert [[2.0, 0.7], [2.0, 0.9]] in ends
    band = {round(float(y), 6) for x, y in corners(ax) if x == 1.0}
    assert band == {round(0.6 - REACH, 6), round(0.6 + REACH, 6)}
    robust = stated().plot(aspect="robustness", density=0.25)
    np.testing.assert_allclose(curve(robust, "nDCG"), [[0.0, -0.3], [1.0, -0.4], [2.0, -0.5]])
    assert ax.get_xlabel() == "strength of popularity and liking"
    assert stated(bias="exposure").plot().get_xlabel() == "strength of popularity"


def test_robustness_is_drawn_against_validity_at_the_strength_of_the_study() -> None:
    ax = stated().draw("validity_sweep_robustness")
    np.testing.assert_allclose(curve(ax, "nDCG"), [[0.6, 0.6]])
    np.testing.assert_allclose(curve(ax, "bpref"), [[0.5, 0.6]])
    np.testing.assert_allclose(segments_of(ax)[0], [(0.6, 0.6 - REACH), (0.6, 0.6 + REACH)])
    strong = stated().draw("validity_sweep_robustness", strength=2.0)
    np.testing.assert_allclose(curve(strong, "bpref"), [[0.5, 0.8]])
    assert strong.get_title().endswith(": 2")


def test_captions_have_the_worlds_and_the_strength_of_the_study() -> None:
    assert "over 3 simulated worlds at each strength" in stated().caption()
    assert "at strength 1 of the bias" in stated().caption_of("means")
    # Of .5, 1.4 and 2, the second is next to 1.
    assert "at strength 1.4 of the bias" in stated(strengths=(0.5, 1.4, 2.0)).caption_of("means")


def test_findings_have_the_means_over_measures_at_the_first_and_the_last_strength() -> None:
    """Of validity, (.9 + .5) / 2 and (.3 + .8) / 2, and so on."""
    first, second, third = stated().findings()
    assert first == (
        "From strength 0 to 2 of the bias, means over measures change: validity by true nDCG@10 "
        "from .70 to .55, attainable validity from .90 to .88, robustness from .60 to .50, "
        "significant pairs from .30 to .40 and significant pairs with the wrong sign from .05 to "
        ".15."
    )
    assert "is nDCG@10 at strength 0; no measure at strength 1; bpref@10 at strength 2." in second
    assert third.startswith("1 of 1 pair of measures reverse")
    assert "(nDCG@10 and bpref@10)" in third


def test_measures_that_tie_are_both_the_most_valid_from_the_threshold_on() -> None:
    values = stated().values[..., :2].copy()
    values[1, :, 1] = 0.7
    values[1, 1, 2] = values[1, 0, 2] = 0.9
    values[1, 0, 2] += 1e-12
    values[1, :, 0] = [[[0.75] * 2] * 2, [[0.75 - 1e-6] * 2] * 2]
    _, second, third = stated(values=values).findings()
    assert "nDCG@10 at strength 0;" in second
    assert "nDCG@10 and bpref@10 at strength 1;" in second
    assert "nDCG@10 and bpref@10 at strength 2." in second
    assert third.startswith("0 of 1 pair of measures reverse")
    assert "(" not in third


def two_measures(*differences: float) -> ValiditySweep:
    """Worlds in which the first measure is better by these, and .01 more or less."""
    values = np.zeros((6, 2, len(differences), 1, 3))
    values[1, 0] = np.array(differences)[:, None, None] + np.array([-0.01, 0.0, 0.01])
    strengths = tuple(np.arange(len(differences)) / 2)
    return stated(values=values, strengths=strengths, densities=(1.0,))


def test_a_reversal_is_beyond_noise_for_all_pairs_and_strengths_at_once() -> None:
    """Of one pair and two strengths, each limit holds with 97.5 %."""
    reach = t.ppf(1 - 0.05 / (2 * 2), 2) * 0.01 / np.sqrt(3)
    assert two_measures(1.01 * reach, -1.01 * reach).reversals == [("nDCG@10", "bpref@10")]
    assert two_measures(0.99 * reach, -1.01 * reach).reversals == []
    assert two_measures(1.01 * reach, -0.99 * reach).reversals == []
    assert two_measures(-1.01 * reach, 1.01 * reach).reversals == [("nDCG@10", "bpref@10")]
    same = two_measures(0.0, 0.0)
    assert replace(same, values=np.zeros_like(same.values)).reversals == []


def test_pairs_are_counted_for_a_reversal_of_three_measures() -> None:
    """Of three pairs and two strengths, each limit holds with 1 - .05 / 6."""
    measures = Measures([Measure("nDCG", 10), Measure("bpref", 10), Measure("P", 10)])
    for factor, turned in ((1.01, 2), (0.99, 0)):
        reach = factor * t.ppf(1 - 0.05 / (2 * 6), 2) * 0.01 / np.sqrt(3)
        values = np.zeros((6, 3, 2, 1, 3))
        values[1, 0, :, 0] = np.array([[reach], [-reach]]) + np.array([-0.01, 0.0, 0.01])
        found = stated(measures=measures, values=values, strengths=(0.0, 1.0), densities=(1.0,))
        assert len(found.reversals) == turned
        assert f"{turned} of 3 pairs of measures" in found.findings()[2]


def test_the_ideal_of_a_world_is_by_its_first_reference(true: NDArray[np.float64]) -> None:
    """The power of noise differs by measure; the ideal has that of the true nDCG for both."""
    rng = np.random.default_rng(2)
    noisy = true + np.array([0.3, 0.6])[:, None, None] * rng.normal(size=true.shape)
    work = world_of(noisy, noisy)
    found = ASKED(work).values
    comparison = Comparison.of_work(work)
    own = comparison.measured.values
    expected = [
        2 / np.pi * np.arcsin(np.sqrt(reliability(each) * reliability(own[0]))) for each in own
    ]
    assert found[ASPECTS.index("ideal")] == pytest.approx(expected)
    first, second = np.triu_indices(N_SYSTEMS, k=1)
    for measure in range(2):
        p = ttest_rel(own[measure, first], own[measure, second], axis=1).pvalue
        assert found[ASPECTS.index("power"), measure] == pytest.approx((p <= 0.05).mean())
    assert found[ASPECTS.index("power")].min() < 1
