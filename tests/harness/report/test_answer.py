"""The answer: verdicts on contested pairs, floors, and what explains them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot
from numpy.typing import NDArray
from scipy.stats import t

from analyses.discrimination import Discrimination
from analyses.shared.contested_pairs import IGNORES_JUDGEMENTS, ContestedPairs
from analyses.shared.contested_shares import ContestedShares
from analyses.shared.draws import Draws
from analyses.shared.families import SubsetValues
from analyses.shared.measure import Measure, Measures
from analyses.shared.measure_estimates import Estimates
from analyses.shared.result import Result
from analyses.shared.scores import Scores
from harness.notebook import design, discriminate
from harness.report.answer import NO_VERDICT_COLOUR, WITHOUT_TRUTH, Answer, answer_of
from harness.report.answer_facts import Depth, Disagreement, Power, Robustness
from harness.report.study_folder import FinishedStudy
from tests.drawn import points_of, segments_of
from tests.harness.results import discrimination_of
from tests.harness.small import read_frame

NAMES = ("P", "AP", "RR", "nDCG")
MEASURES = Measures([Measure(name, 5) for name in NAMES])
WORDS = ("area", "area under the curve", "Robustness", "robust")
N_SYSTEMS = 12
N_PAIRS = N_SYSTEMS * (N_SYSTEMS - 1) // 2


def estimates(values: list[float], *, noise: float, falling: bool = False) -> Estimates:
    """Numbers with independent noise."""
    generator, levels = np.random.default_rng(1), np.array(values)
    replicates = levels[:, None] + noise * generator.normal(size=(4, 500))
    limits = levels - 2 * noise, levels + 2 * noise
    return Estimates(*WORDS, MEASURES, levels, *limits, replicates, lower_is_better=falling)


@dataclass(frozen=True, eq=False)
class Known(Result):
    """A result of which its numbers are known."""

    of_measures: Estimates
    contested: ContestedShares | None = None
    yardsticks: None = None

    def estimates(self) -> Estimates:
        return self.of_measures

    def contested_shares(self) -> ContestedShares | None:
        return self.contested

    def wrong_sign_sentence(self) -> str:
        return "Of the pairs, 8 % have the wrong sign."


def pairs_of(
    *,
    n_contested: int = 60,
    n_systems: int = N_SYSTEMS,
    n_users: int = 100,
    measures: Measures = MEASURES,
    out_of_reach: int = 0,
    excluded: Mapping[str, str] | None = None,
) -> ContestedPairs:
    """The first pairs of systems are contested; the last systems are out of reach."""
    n_pairs = n_systems * (n_systems - 1) // 2
    return ContestedPairs(
        measures=measures,
        excluded=excluded or {},
        systems=tuple(f"s{number}" for number in range(n_systems)),
        is_within_reach=np.arange(n_systems) < n_systems - out_of_reach,
        is_contested=np.arange(n_pairs) < n_contested,
        n_users=n_users,
    )


def shares_of(
    values: Sequence[float],
    *,
    noise: float = 0.01,
    within_reach: Sequence[float] | None = None,
    pairs: ContestedPairs | None = None,
) -> ContestedShares:
    """Shares of the contested pairs with independent noise over samples of users."""
    shares = np.array(values)
    deviations = np.random.default_rng(2).normal(size=(len(shares), 400))
    deviations -= deviations.mean(axis=1, keepdims=True)
    return ContestedShares(
        pairs=pairs or pairs_of(),
        shares=shares,
        shares_within_reach=np.array(within_reach or values),
        replicates=shares[:, np.newaxis] + noise * deviations,
        # Of so many users that nothing is known to be averaged away.
        draws=Draws(np.eye(400), n_drawn=400**2),
        within=SubsetValues(3, np.empty((len(shares), 0))),
    )


def answer_to(
    by_key: Mapping[str, Sequence[float]],
    *,
    noise: float = 0.01,
    pairs: ContestedPairs | None = None,
) -> Answer:
    """The answer where measures get these shares of the contested pairs right, by analysis."""
    results: dict[str, Result] = {}
    for key, values in by_key.items():
        results[key] = Known(
            estimates([0.9, 0.8, 0.7, 0.6], noise=0.01), shares_of(values, noise=noise, pairs=pairs)
        )
    made = answer_of({key: result for key, result in results.items() if key != "discrimination"})
    if "discrimination" not in results:
        return made
    # Tests of pairs have facts of their own, which are tested below.
    contested = results["discrimination"].contested_estimates()
    shares = results["discrimination"].contested_shares()
    assert contested is not None
    assert shares is not None
    return replace(
        made,
        keys=(*made.keys, "discrimination"),
        every=(*made.every, estimates([0.9, 0.8, 0.7, 0.6], noise=0.01).in_order()),
        measures=Measures(MEASURES, reported=MEASURES),
        share_keys=(*made.share_keys, "discrimination"),
        shares=(*made.shares, contested),
        shares_within_reach={
            **made.shares_within_reach,
            "discrimination": shares.shares_within_reach,
        },
        pairs=shares.pairs,
    )


def in_all_respects(values: Sequence[float], **options: object) -> Answer:
    return answer_to(dict.fromkeys(WITHOUT_TRUTH, values), **options)  # type: ignore[arg-type]


def test_a_measure_is_confirmed_in_all_respects_and_ruled_out_by_one() -> None:
    answer = answer_to(
        {
            "sparsity": [0.9, 0.88, 0.9, 0.9],
            "popularity": [0.9, 0.9, 0.5, 0.89],
            "discrimination": [0.9, 0.9, 0.9, 0.84],
        }
    )
    assert answer.verdicts is not None
    assert answer.verdicts.overall == {
        Measure("P", 5): "confirmed",
        Measure("AP", 5): "confirmed",
        Measure("RR", 5): "ruled out",
        Measure("nDCG", 5): "confirmed",
    }
    assert answer.decision().startswith("Report P@5, AP@5 or nDCG@5: on the 60 of 66 pairs")
    (ruled_out,) = [one for one in answer.findings() if one.startswith("Ruled out")]
    assert "RR@5 (keeps in order without popular items 50 of 100 pairs, the best 90)" in ruled_out


def test_three_analyses_decide_and_a_missing_one_is_named() -> None:
    answer = answer_to({"sparsity": [0.9] * 4, "popularity": [0.9] * 4})
    assert answer.verdicts is None
    assert answer.decision() == (
        "No measure is recommended: the study lacks the analysis discrimination."
    )


def test_an_analysis_that_gave_no_number_is_not_called_missing() -> None:
    nothing = replace(estimates([nan] * 4, noise=0.01), no_value="tau is undefined at 79 % kept")
    shares = shares_of([0.9] * 4)
    answer = answer_of(
        {
            "sparsity": Known(estimates([0.9] * 4, noise=0.01), shares),
            "popularity": Known(nothing),
        }
    )
    assert "lacks the analysis discrimination;" in answer.decision()
    assert (
        "popularity was made, but gives no number, as tau is undefined at 79 % kept"
        in answer.decision()
    )


def test_if_none_is_confirmed_those_that_are_ruled_out_are_named() -> None:
    answer = in_all_respects([0.9, 0.88, 0.4, 0.89], noise=0.06)
    assert answer.verdicts is not None
    assert answer.verdicts.with_verdict("confirmed") == []
    assert answer.decision() == (
        "Do not report RR@5; which of the other 3 is best these data cannot tell."
    )


def test_if_nothing_is_decided_the_nearest_is_named() -> None:
    answer = in_all_respects([0.7, 0.72, 0.68, 0.6], noise=0.2)
    assert answer.decision().startswith("These data cannot tell which of the 4 measures is best")
    assert answer.decision().endswith("AP@5 comes nearest.")


def test_few_contested_pairs_make_the_choice_hardly_matter() -> None:
    answer = in_all_respects([0.9] * 4, pairs=pairs_of(n_contested=9))
    assert answer.verdicts is None
    assert "all but 9 of 66 pairs of systems" in answer.decision()
    assert in_all_respects([0.9] * 4, pairs=pairs_of(n_contested=10)).verdicts is not None


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        (pairs_of(n_systems=7, n_contested=15), "7 systems give 21 pairs"),
        (pairs_of(n_users=19), "systems differ in score for 19 users only"),
        (pairs_of(n_users=0), "all systems have the same scores for every user"),
    ],
)
def test_below_a_floor_the_data_cannot_tell(pairs: ContestedPairs, reason: str) -> None:
    answer = in_all_respects([0.9] * 4, pairs=pairs)
    assert answer.verdicts is None
    assert answer.decision().startswith("These data cannot tell which measure to report")
    assert reason in answer.decision()


def test_measures_that_use_no_judgements_are_not_recommended() -> None:
    pairs = pairs_of(excluded={"ARP@5": IGNORES_JUDGEMENTS})
    answer = in_all_respects([0.9] * 4, pairs=pairs)
    assert "ARP" not in answer.decision()
    assert f"ARP@5 ({IGNORES_JUDGEMENTS})" in answer.matrix().note
    nothing = in_all_respects([], pairs=pairs_of(measures=Measures(())))
    assert "no report measure uses the judgements" in nothing.decision()


def test_that_even_the_best_measure_is_poor_comes_first() -> None:
    poor = answer_to(
        {
            "sparsity": [0.9] * 4,
            "popularity": [0.6, 0.59, 0.58, 0.57],
            "discrimination": [0.3] * 4,
        }
    )
    first, decision, *_ = poor.findings()
    assert "of the 66 pairs of 12 systems, even P@5 reverses 40 %" in first
    assert decision == poor.decision()


def test_a_truth_decides_alone_and_says_what_is_stable_but_wrong() -> None:
    answer = answer_to(
        {
            "validity": [0.9, 0.6, 0.9, 0.9],
            "sparsity": [0.9, 0.9, 0.5, 0.9],
            "popularity": [0.9, 0.9, 0.9, 0.9],
            "discrimination": [0.9, 0.9, 0.9, 0.9],
        }
    )
    assert answer.verdicts is not None
    assert [*answer.verdicts.respects] == ["validity"]
    assert answer.decision().startswith("Report P@5, RR@5 or nDCG@5")
    sentences = " ".join(answer.findings())
    assert "Stable, but wrong: AP@5." in sentences
    assert "nearest to the truth: P@5, RR@5 and nDCG@5." in sentences
    assert "Of the pairs, 8 % have the wrong sign." in " ".join(answer.findings())


def test_a_measure_is_stable_if_two_of_three_respects_confirm_it() -> None:
    shares = {
        "validity": [0.9, 0.6, 0.9, 0.9],
        "sparsity": [0.9, 0.9, 0.9, 0.9],
        "popularity": [0.9, 0.5, 0.9, 0.9],
        "discrimination": [0.6, 0.9, 0.6, 0.6],
    }
    of_two = " ".join(answer_to(shares).findings())
    assert "Stable, but wrong: AP@5." in of_two
    of_one = answer_to(shares | {"discrimination": [0.9, 0.6, 0.9, 0.9]})
    assert "but wrong" not in " ".join(of_one.findings())


def test_measures_of_different_depths_are_said_to_have_them() -> None:
    assert "different depths" not in " ".join(in_all_respects([0.9] * 4).findings())
    measures = Measures([Measure("P", 5), *(Measure(name, 10) for name in NAMES[1:])])
    pairs = pairs_of(measures=measures)
    sentences = " ".join(in_all_respects([0.9] * 4, pairs=pairs).findings())
    assert "The measures have different depths (@5 and @10)" in sentences


def test_a_poor_measure_is_advised_on_a_condition() -> None:
    shares = [0.7, 0.4, 0.5, 0.5]
    assert in_all_respects(shares).decision().startswith("If you report one of them, report P@5:")


def test_systems_out_of_reach_are_named() -> None:
    answer = in_all_respects([0.9] * 4, pairs=pairs_of(out_of_reach=2))
    assert "s10 and s11 are not compared" in answer.matrix().note


def test_the_matrix_has_the_measures_of_the_study_with_their_shares() -> None:
    answer = in_all_respects([0.5, 0.88, 0.9, 0.89])
    rows = answer.matrix().rows
    assert [row[0] for row in rows] == [str(measure) for measure in answer.measures.reported]
    cells = {row[0]: row[1:] for row in rows}
    assert cells["RR@5"] == ["● confirmed", ".90 ●", ".90 ●", ".90 ●"]
    assert cells["P@5"] == ["✕ ruled out", ".50 ✕", ".50 ✕", ".50 ✕"]


def test_without_verdicts_the_table_says_why() -> None:
    table = in_all_respects([0.9] * 4, pairs=pairs_of(n_users=19)).matrix()
    assert {row[1] for row in table.rows} == {"none"}
    assert "for 19 users only" in table.note


def test_the_frame_of_verdicts_has_a_row_for_each_respect_and_candidate() -> None:
    frame = in_all_respects([0.5, 0.88, 0.9, 0.89]).frames()["verdicts"]
    assert frame.respect.tolist() == [key for key in WITHOUT_TRUTH for _ in range(4)]
    assert frame.metric.tolist() == ["P", "AP", "RR", "nDCG"] * 3
    assert frame.share.tolist() == pytest.approx([0.5, 0.88, 0.9, 0.89] * 3)
    assert frame.overall.tolist() == ["ruled out", "confirmed", "confirmed", "confirmed"] * 3
    assert (frame.verdict == frame.overall).all()


def test_measures_are_in_order_and_one_without_a_number_is_left_out() -> None:
    answer = answer_of({"sparsity": Known(estimates([nan, 0.9, 0.5, 0.52], noise=0.02))})
    assert answer.frame().metric.tolist() == ["AP", "nDCG", "RR"]
    falling = estimates([3.0, 1.0, 2.0, 4.0], noise=0.1, falling=True)
    assert answer_of({"sparsity": Known(falling)}).frame().metric.tolist() == [
        "AP",
        "RR",
        "P",
        "nDCG",
    ]


def test_nothing_is_shown_of_nothing() -> None:
    answer = answer_of({"sparsity": Known(estimates([nan] * 4, noise=0.01))})
    assert answer.shown is None
    assert answer.frames() == {}
    assert answer.findings() == ()


def test_rows_are_in_the_order_of_the_study() -> None:
    valid = estimates([0.1, nan, 0.3, 0.4], noise=0.01)
    robust = estimates([0.1, 0.9, 0.3, 0.2], noise=0.01)
    answer = replace(
        answer_of({"sparsity": Known(robust)}),
        keys=("sparsity", "validity"),
        every=(robust.in_order(), valid.in_order()),
    )
    assert answer.rows == tuple(answer.measures.reported)
    cells = {row[0]: row[1:] for row in answer.table().rows}
    assert cells["nDCG@5"] == [0.2, "[.180, .220]", 0.4, "[.380, .420]"]
    value, limits, undefined, nothing = cells["AP@5"]
    assert (value, limits, nothing) == (0.9, "[.880, .920]", "")
    assert np.isnan(undefined)


@pytest.mark.slow
def test_the_figure_has_both_intervals() -> None:
    of_users = estimates([0.90, 0.60, 0.50, 0.40], noise=0.02)
    of_systems = np.random.default_rng(9).normal(size=(4, 200)) * 0.1
    within = SubsetValues(12, of_users.values[:, np.newaxis] + of_systems)
    answer = answer_of({"sparsity": Known(replace(of_users, systems=within))})
    ax = answer.plot()
    (ordered,) = answer.every
    low, high = ordered.limits_over_all_sources()
    over_both = [((low[row], row), (high[row], row)) for row in range(4)]
    over_users = [((ordered.low[row], row), (ordered.high[row], row)) for row in range(4)]
    np.testing.assert_allclose(segments_of(ax), [*over_both, *over_users])
    points = [line for line in ax.lines if line.get_marker() == "o"]
    assert [points_of(line)[0] for line in points] == [(0.9, 0), (0.6, 1), (0.5, 2), (0.4, 3)]
    assert {line.get_color() for line in points} == {NO_VERDICT_COLOUR}
    assert ax.get_ylim() == (3.5, -0.5)
    pyplot.close("all")


def test_the_marks_of_the_figure_are_the_verdicts_of_the_matrix() -> None:
    """Numbers of measures are in the order of P, AP, RR, nDCG."""
    answer = in_all_respects([0.9, 0.81, 0.5, 0.89], noise=0.02)
    (verdicts, *_) = answer.verdicts.by_respect.values() if answer.verdicts else ({},)
    assert [*verdicts.values()] == ["confirmed", "open", "ruled out", "confirmed"]
    ax = answer.plot(subject=answer.subjects[0])
    marks = [line for line in ax.lines if line.get_marker() in ("o", "X")]
    assert [line.get_marker() for line in marks] == ["o", "o", "X", "o"]
    assert [line.get_markerfacecolor() == "white" for line in marks] == [False, True, False, False]
    pyplot.close("all")


# Power, disagreement, depth

P_VALUES = {
    ("P", 5): [0.01, 0.049, 0.05],
    ("AP", 5): [0.01, 0.02, 0.03],
    ("RR", 5): [0.2, 0.3, 0.05],
}


def pair_tests(
    *, errors: list[float] | None = None, differences: list[list[float]] | None = None
) -> Discrimination:
    """Tests of the pairs of three systems by 60 users, by three measures."""
    tested = discrimination_of(P_VALUES)
    half_widths = t.ppf(0.975, 59) * np.tile(errors or [0.0] * 3, (3, 1))
    half_widths = half_widths * np.arange(1, 4)[:, np.newaxis]
    limits = {"lower": -half_widths, "upper": half_widths}
    of_pairs: NDArray[np.float64] = np.array(differences or np.zeros((3, 3)))
    return replace(tested, effects={**tested.effects, **limits}, differences=of_pairs)


def test_the_power_counts_pairs_below_the_level_and_has_the_median_difference() -> None:
    power = Power.of(pair_tests(errors=[0.01, 0.02, 0.09]))
    assert power.n_significant.tolist() == [2, 3, 0]
    expected = 0.02 * (t.ppf(0.975, 59) + t.ppf(0.8, 59)) * np.arange(1, 4)
    np.testing.assert_allclose(power.detectable, expected)
    assert (power.n_pairs, power.n_users) == (3, 60)
    sentence = power.sentence(Measure("AP", 5), "user")
    assert f"{expected[1]:.3f}".lstrip("0") in sentence
    assert "3 of 3 pairs of systems apart" in sentence


def test_users_needed_are_those_of_a_design() -> None:
    """By the scores of a pilot: for 80 % of the pairs, with the same test and level."""
    generator = np.random.default_rng(4)
    effects = np.linspace(0, 0.5, 5)[np.newaxis, :, np.newaxis]
    values = effects + generator.normal(size=(2, 5, 60))
    measures = Measures([Measure("P", 5), Measure("AP", 5)])
    systems = tuple("abcde")
    users = np.array([f"u{number}" for number in range(60)])
    scores = Scores(values, measures, systems, users)
    power = Power.of(discriminate(scores, test="t"))
    assert power.needed.tolist() == design(scores, replicates=0).needed.tolist()
    enough = replace(power, needed=np.array([60.0, 61.0]))
    assert "About 60 users are enough" in enough.sentence(Measure("P", 5), "user")
    assert "About 61 users are needed" in enough.sentence(Measure("AP", 5), "user")
    unknown = replace(power, needed=np.array([np.inf, np.nan]))
    for measure in measures:
        assert "of the pairs apart" not in unknown.sentence(measure, "user")


@pytest.mark.parametrize(
    ("itself", "reference", "consistency", "matters"),
    [
        (0.9, 0.85, 0.95, False),
        (0.9, 0.75, 0.95, True),
        (0.9, 0.85, 0.8, True),
        (0.9, nan, nan, False),
    ],
)
def test_robustness_matters_above_its_ceiling_or_far_from_the_reference(
    itself: float, reference: float, consistency: float, matters: bool
) -> None:
    measure = Measure("P", 5)
    numbers = (np.array([number]) for number in (itself, reference, consistency))
    of_itself, of_reference, of_halves = numbers
    robustness = Robustness(Measures([measure]), of_itself, of_reference, "the truth", of_halves)
    assert (robustness.sentence(measure, "user") != "") == matters


@pytest.mark.parametrize(
    ("detectable", "printed"),
    [(0.0, ".000"), (0.5, ".500"), (0.0123, ".012"), (0.00123, ".0012"), (2.5, "2.500")],
)
def test_a_detectable_difference_has_two_digits_and_three_decimals_at_least(
    detectable: float, printed: str
) -> None:
    measure = Measure("P", 5)
    power = Power(
        Measures([measure]), np.array([1.0]), np.array([detectable]), np.array([nan]), 3, 60
    )
    assert f"a difference of {printed} in means" in power.sentence(measure, "user")


def test_measures_that_put_a_pair_in_opposite_orders_disagree() -> None:
    # Pairs ab, ac, bc: P says a > b > c, AP the opposite of b and c, RR nothing significant.
    differences = [[0.1, 0.2, 0.1], [0.1, 0.1, -0.1], [-0.1, -0.1, 0.0]]
    tests = pair_tests(differences=differences)
    candidates = tests.measures[:2]
    disagreement = Disagreement.of(tests, candidates)
    # bc has p = .05 by P: not below the level.
    assert disagreement.n_opposed == 0
    assert disagreement.best_systems == {"P@5": "s0", "AP@5": "s0"}
    surer = replace(
        tests, mid_p=np.array([[0.01, 0.01, 0.01], [0.01, 0.02, 0.03], [0.2, 0.3, 0.9]])
    )
    assert Disagreement.of(surer, candidates).n_opposed == 1
    with_all = Disagreement.of(surer, tests.measures)
    assert with_all.n_opposed == 1
    assert with_all.best_systems["RR@5"] == "s1"


def of_depths(values: list[float], subject: str) -> Estimates:
    """Numbers of nDCG at cut-offs 5, 10, 20 and 50."""
    measures = Measures([Measure("nDCG", cutoff) for cutoff in (5, 10, 20, 50)])
    numbers = np.array(values)
    return Estimates(
        name="",
        quantity="",
        subject=subject,
        best="",
        measures=measures,
        values=numbers,
        low=numbers,
        high=numbers,
        replicates=np.empty((4, 0)),
    )


def test_a_depth_suffices_if_it_and_deeper_ones_lose_little_in_every_respect() -> None:
    robust = of_depths([0.60, 0.80, 0.86, 0.90], "Robustness")
    valid = of_depths([0.90, 0.80, 0.89, 0.90], "Validity")
    depth = Depth.of("nDCG", [robust, valid])
    assert depth is not None
    # At 10 both lose .10; at 20 robustness loses .04.
    assert (depth.sufficient, depth.deepest, depth.shallower) == (20, 50, 10)
    assert depth.loss == pytest.approx(0.10)
    flat = Depth.of("nDCG", [of_depths([0.88, 0.87, 0.9, 0.9], "Robustness")])
    assert flat is not None
    assert (flat.sufficient, flat.shallower) == (5, None)
    steep = Depth.of("nDCG", [of_depths([0.1, 0.3, 0.5, 0.9], "Robustness")])
    assert steep is not None
    assert (steep.sufficient, steep.shallower) == (50, 20)
    assert Depth.of("P", [robust]) is None


# Studies


def test_it_opens_the_report_of_a_study(finished: Path) -> None:
    assert json.loads((finished / "manifest.json").read_text())["results"][0] == "answer"
    frame = read_frame(finished, "answer")
    areas = read_frame(finished, "sparsity_areas")
    of_loss = frame[frame.quantity == "area, random loss of judgements"]
    expected = areas.loc[areas.cutoff == 20, "area"].sort_values(ascending=False)
    assert of_loss.value.tolist() == expected.tolist()


@pytest.mark.slow
def test_what_the_users_show_follows_from_the_p_values(finished: Path) -> None:
    answer = FinishedStudy.open(finished).result("answer")
    assert isinstance(answer, Answer)
    assert answer.power is not None
    pairs = read_frame(finished, "pvalues")
    of_tests = read_frame(finished, "discrimination").set_index(["metric", "cutoff"])
    for number, measure in enumerate(answer.power.measures):
        of_measure = pairs[(pairs.metric == measure.metric) & (pairs.cutoff == measure.cutoff)]
        assert answer.power.n_significant[number] == (of_measure.p_mid < 0.05).sum()
        detectable = of_tests.detectable[measure.metric][measure.cutoff]
        assert answer.power.detectable[number] == pytest.approx(detectable)
