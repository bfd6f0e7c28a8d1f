"""Results of validity, of which every number is stated: tables, figures and sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.typing import NDArray

from analyses.intervals.percentile_intervals import shifted_band
from analyses.shared.families import SubsetValues
from analyses.shared.limits import arcsine_limits
from analyses.shared.measure import Measure, Measures
from analyses.validity.loss_curves import TruthCurves
from analyses.validity.truth_agreement import Uncertain
from analyses.validity.validity_result import LEAST_TAU, Validity
from analyses.validity.validity_sentences import spread_of
from runs import InputError
from tests.analyses.made import unrelated
from tests.drawn import explained, points_of, segments_of

P, AP, RR = Measure("P", 5), Measure("AP", 5), Measure("RR", 5)
REPLICATES = 0.3 + 0.4 * np.random.default_rng(5).random((2, 3, 30))


def uncertain(values: Any, *, users: float = 0.1, both: float = 0.2) -> Uncertain:
    """Numbers with limits at a distance over users, and over both."""
    known = np.asarray(values, dtype=np.float64)
    return Uncertain(known, (known - users, known + users), (known - both, known + both))


def curves_of_loss(first: float) -> TruthCurves:
    """Curves over all, and half, of what is kept."""
    taus = first + np.arange(12.0).reshape(2, 3, 2) / 50
    itself = np.array([[1.0, 0.6], [1.0, 0.4], [1.0, 0.8]])
    replicates = taus[..., np.newaxis] + np.array([-0.1, 0.0, 0.2])
    return TruthCurves((1.0, 0.5), itself, taus, replicates)


MEASURED = [[0.4, 0.3, 0.2, 0.1], [0.3, 0.3, 0.1, 0.2], [0.1, 0.2, 0.3, 0.4]]
TRUE = [[0.6, 0.5, 0.2, 0.1], [0.5, 0.8, 0.4, 0.6]]
P_VALUES = [
    [0.01, 0.01, 0.05, 0.01, 0.3, 0.06],
    [0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
    [0.01, 0.5, 0.5, 0.5, 0.5, 0.5],
]
TRUE_P = [[1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [0.01, 0.2, 0.01, 0.01, 0.2, 0.05]]


@pytest.fixture
def stated() -> Validity:
    """Three measures, of which RR and P are reported, of four systems.

    Truly b is best by nDCG@10, and the pairs ab, ad, bc and cd differ. P orders the systems a, b,
    c, d, and finds ab, ac, ad and bc; RR orders them the other way round, and finds ab.
    """
    rates = [
        [[0.11, 0.12, 0.13], [0.25, 0.14, 0.2]],
        [[0.21, 0.22, 0.23], [0.5, np.nan, 0.0]],
        [[0.31, 0.32, 0.33], [0.75, 0.24, 0.25]],
    ]
    return Validity(
        measures=Measures([P, AP, RR], reported=[RR, P]),
        systems=("a", "b", "c", "d"),
        families=unrelated(4),
        truths=("itself", "nDCG@10"),
        measured=np.array(MEASURED),
        true=np.repeat(np.array(TRUE)[:, np.newaxis], 3, axis=1),
        tau=uncertain([[0.9, 0.8, 0.7], [0.2, 0.7, 0.5]]),
        tau_aps=np.array([[0.91, 0.81, 0.71], [0.21, 0.72, 0.51]]),
        regret=uncertain([[0.0, 0.0, 0.2], [0.3, 0.15, 0.2]], users=0.05),
        tau_replicates=REPLICATES,
        within=SubsetValues(4, np.empty((2, 3, 0))),
        rates=uncertain(rates),
        contested=None,
        p=np.array(P_VALUES),
        true_p=np.repeat(np.array(TRUE_P)[:, np.newaxis], 3, axis=1),
        attainable=np.array([[0.95, 0.94, 0.93], [0.85, 0.84, 0.83]]),
        kept=curves_of_loss(0.1),
        powered=None,
        popular=curves_of_loss(0.5),
        n_users=30,
        n_true_users=40,
        n_shared=20,
        unmeasured=("bpref@5", "RBP"),
        notes=("The truth is of a made world.",),
        test="t",
        correction="none",
        alpha=0.05,
        origin="of a made world",
    )


def columns_of(table: Any) -> dict[str, list[Any]]:
    """The columns of a table by heading, of which each is one of a kind."""
    columns = zip(*table.rows, strict=True)
    return {heading: [*column] for heading, column in zip(table.headings, columns, strict=True)}


def test_truths_are_numbered_and_named(stated: Validity) -> None:
    assert [stated.place(name) for name in (None, "itself", "nDCG@10")] == [1, 0, 1]
    assert stated.main == "nDCG@10"
    assert stated.title(None) == stated.title("nDCG@10") == "true nDCG@10"
    assert stated.title("itself") == "itself on the truth"
    with pytest.raises(InputError, match=r"itself, nDCG@10 to draw, got P@5\."):
        stated.place("P@5")


def test_measures_are_in_the_order_of_tau_the_undefined_last(stated: Validity) -> None:
    assert stated.best_first(stated.measures) == [1, 2, 0]
    assert stated.best_first(stated.measures, "itself") == [0, 1, 2]
    assert stated.best_first(stated.measures.reported) == [2, 0]
    tau = uncertain([[0.9, 0.8, 0.7], [0.2, np.nan, 0.2]])
    assert replace(stated, tau=tau).best_first(stated.measures) == [0, 2, 1]


def test_the_frame_has_every_number_of_a_measure_and_a_truth(stated: Validity) -> None:
    frame = stated.frame()
    assert frame.index.tolist() == [*range(2 * 3 * (1 + 2 + 2))]
    row = frame[(frame.truth == "nDCG@10") & (frame.metric == "P") & (frame.kept == "all")]
    assert row.to_dict("records") == [
        pytest.approx(
            {
                **{"truth": "nDCG@10", "metric": "P", "cutoff": 5, "kept": "all", "level": 1.0},
                **{"tau": 0.2, "low": 0.1, "high": 0.3, "both_low": 0.0, "both_high": 0.4},
                **{"tau_ap": 0.21, "attainable": 0.85, "true_differences": 4, "inversions": 3},
                **{"regret": 0.3, "regret_low": 0.25, "regret_high": 0.35},
                # Of the range from .4 to .8.
                "regret_share": 0.75,
                **{"right": 1 / 6, "wrong": 2 / 6, "false_positive": 1 / 6, "missed": 1 / 6},
                "no_difference": 1 / 6,
                **{"power": 0.25, "power_low": 0.15, "power_high": 0.35},
                **{"power_both_low": 0.05, "power_both_high": 0.45},
                **{"type_iii": 0.5, "type_iii_low": 0.4, "type_iii_high": 0.6},
                **{"type_iii_both_low": 0.3, "type_iii_both_high": 0.7},
                **{"inverted": 0.75, "inverted_low": 0.65, "inverted_high": 0.85},
                **{"inverted_both_low": 0.55, "inverted_both_high": 0.95},
                **{"chosen": "a", "itself": np.nan},
            },
            nan_ok=True,
        )
    ]
    chosen = frame[(frame.truth == "itself") & (frame.kept == "all")].chosen
    assert chosen.tolist() == ["a", "a = b", "d"]


@pytest.mark.parametrize(("kept", "first"), [("judgements", 0.1), ("items", 0.5)])
def test_the_frame_has_curves_over_what_is_kept(kept: str, first: float, stated: Validity) -> None:
    """Of the second truth and AP, by the levels 1 and .5."""
    frame = stated.frame()
    rows = frame[(frame.truth == "nDCG@10") & (frame.metric == "AP") & (frame.kept == kept)]
    taus = np.array([first + 8 / 50, first + 9 / 50])
    low, high = shifted_band(taus, taus[:, np.newaxis] + [-0.1, 0.0, 0.2], bounds=(-1.0, 1.0))
    assert rows.level.tolist() == [1.0, 0.5]
    assert rows.tau.tolist() == pytest.approx(taus.tolist())
    assert rows.low.tolist() == pytest.approx(low.tolist())
    assert rows.high.tolist() == pytest.approx(high.tolist())
    assert rows.itself.tolist() == [1.0, 0.4]


def test_without_judgements_there_are_no_curves(stated: Validity) -> None:
    without = replace(stated, kept=None, popular=None)
    assert without.frame().kept.unique().tolist() == ["all"]
    assert without.robustness is None
    with pytest.raises(InputError, match="there are no curves of validity"):
        without.draw("validity_judgements")


def test_robustness_is_the_area_under_the_curve_of_the_measure_itself(stated: Validity) -> None:
    assert stated.robustness is not None
    assert stated.robustness.tolist() == pytest.approx([0.6, 0.4, 0.8])


def test_estimates_are_taus_with_the_first_reference(stated: Validity) -> None:
    found = stated.estimates()
    assert found.values.tolist() == [0.2, 0.7, 0.5]
    assert found.low.tolist() == pytest.approx([0.1, 0.6, 0.4])
    assert found.high.tolist() == pytest.approx([0.3, 0.8, 0.6])
    # A measure of tau .7 is valid; the threshold is of docs/methods/thresholds.md.
    assert found.threshold == LEAST_TAU == 0.7
    assert found.acceptable().tolist() == [False, True, False]
    assert found.replicates.mean(axis=1).tolist() == pytest.approx([0.2, 0.7, 0.5])


def test_agreement_is_tabulated_with_the_best_measure_first(stated: Validity) -> None:
    table = stated.agreement()
    columns = columns_of(table)
    assert columns["measure"] == ["RR@5", "P@5"]
    assert columns["tau-b"] == [0.5, 0.2]
    assert columns["tau_AP"] == [0.51, 0.21]
    assert columns["attainable"] == [0.83, 0.85]
    assert columns["tau-b, same measure"] == [0.7, 0.9]
    assert columns["95 %"] == ["[.40, .60]", "[.10, .30]"]
    assert columns["95 %, users and families of systems"] == ["[.30, .70]", "[.00, .40]"]
    # An eighth of the width of .2 over users is .025.
    assert table.decimals == 2
    assert columns_of(stated.agreement(cutoff=5))["measure"] == ["AP@5", "RR@5", "P@5"]
    of_itself = columns_of(stated.agreement(truth="itself"))
    assert of_itself["measure"] == ["P@5", "RR@5"]
    assert of_itself["tau-b"] == [0.9, 0.7]
    assert of_itself["tau_AP"] == [0.91, 0.71]


def test_choices_are_tabulated_with_their_regret(stated: Validity) -> None:
    table = stated.choices(cutoff=5)
    columns = columns_of(table)
    assert columns["measure"] == ["P@5", "AP@5", "RR@5"]
    assert columns["chosen"] == ["a", "a = b", "d"]
    assert columns["regret"] == [0.3, 0.15, 0.2]
    assert columns["of range"] == pytest.approx([0.75, 0.375, 0.5])
    assert columns["95 %"][0] == "[.25, .35]"
    assert table.decimals == 3
    of_itself = columns_of(stated.choices(truth="itself"))
    assert of_itself["measure"] == ["RR@5", "P@5"]
    assert of_itself["regret"] == [0.2, 0.0]
    # Of the range from .1 to .6.
    assert of_itself["of range"] == pytest.approx([0.4, 0.0])


def test_rates_are_tabulated_over_both_or_over_users_alone(stated: Validity) -> None:
    table = stated.pairs(cutoff=5)
    rows = [[*row] for row in table.rows]
    assert [row[0] for row in rows] == ["P@5", "AP@5", "RR@5"]
    assert rows[0][1::2] == [0.25, 0.5, 0.75]
    assert rows[0][2::2] == ["[.05, .45]", "[.30, .70]", "[.55, .95]"]
    assert np.isnan(float(rows[1][3]))
    assert rows[1][4] == ""
    assert table.decimals == 2
    of_itself = stated.pairs(truth="itself")
    assert [[row[0], *row[1::2]] for row in of_itself.rows] == [
        ["RR@5", 0.13, 0.23, 0.33],
        ["P@5", 0.11, 0.21, 0.31],
    ]
    unknown = (np.full((3, 2, 3), np.nan),) * 2
    over_users = replace(stated, rates=replace(stated.rates, both=unknown)).pairs()
    assert over_users.rows[1][2] == "[.15, .35]"


@pytest.mark.slow
def test_validity_is_drawn_with_the_first_measure_on_top(stated: Validity) -> None:
    """RR, in the row 1, has a tau of .5, and P, in the row 0, of .2."""
    ax = stated.plot()
    lines = {str(line.get_label()): points_of(line) for line in ax.lines}
    assert lines["tau-b"] == [(0.5, 1.0), (0.2, 0.0)]
    assert lines["attainable"] == [(0.83, 1.0), (0.85, 0.0)]
    drawn = np.array(segments_of(ax))[:, :, 0].ravel().tolist()
    # Over both, then over users.
    assert drawn == pytest.approx([0.3, 0.7, 0.0, 0.4, 0.4, 0.6, 0.1, 0.3])
    rows = np.array(segments_of(ax))[:, 0, 1].tolist()
    assert rows == [1, 0, 1, 0]
    thin, thick = (float(np.ravel(each.get_linewidth())[0]) for each in ax.collections)
    assert thin < thick
    colours = {to_hex(np.asarray(each.get_edgecolor())[0]) for each in ax.collections}
    (points,) = (line for line in ax.lines if line.get_label() == "tau-b")
    assert colours == {to_hex(points.get_color())}
    assert [label.get_text() for label in ax.get_yticklabels()] == ["RR@5", "P@5"]
    assert ax.get_yticks().tolist() == [1, 0]
    of_itself = {str(line.get_label()): line for line in stated.plot(truth="itself").lines}
    assert points_of(of_itself["tau-b"]) == [(0.7, 1.0), (0.9, 0.0)]


@pytest.mark.slow
def test_robustness_is_drawn_against_validity(stated: Validity) -> None:
    """Of RR, an area of .8 and a tau of .5; of P, .6 and .2."""
    ax = stated.draw("validity_robustness")
    lines = {str(line.get_label()): points_of(line) for line in ax.lines}
    np.testing.assert_allclose(lines["RR@5"], [(0.8, 0.5)])
    np.testing.assert_allclose(lines["P@5"], [(0.6, 0.2)])
    np.testing.assert_allclose(
        segments_of(ax), [[(0.8, 0.4), (0.8, 0.6)], [(0.6, 0.1), (0.6, 0.3)]]
    )
    assert "over users" in explained(ax)
    (diagonal,) = (line for line in ax.lines if str(line.get_label()).startswith("_"))
    assert diagonal.get_xy1() == (1.0, 1.0)  # type: ignore[attr-defined]
    assert diagonal.get_slope() == 1  # type: ignore[attr-defined]


@pytest.mark.slow
def test_axes_of_robustness_and_validity_have_one_range(stated: Validity) -> None:
    """From the lowest limit of P, .1, to the end of the diagonal."""
    ax = stated.draw("validity_robustness")
    limits = ax.dataLim
    assert [limits.x0, limits.y0] == pytest.approx([0.1, 0.1])
    assert [limits.x1, limits.y1] == pytest.approx([1.0, 1.0])


@pytest.mark.slow
def test_intervals_of_no_width_are_not_explained(stated: Validity) -> None:
    certain = replace(stated, tau=uncertain(stated.tau.values, users=0.0))
    assert "Vertical lines" not in explained(certain.draw("validity_robustness"))
    undefined = replace(stated, tau=uncertain(np.full((2, 3), np.nan)), kept=curves_of_loss(np.nan))
    assert "Vertical lines" not in explained(undefined.draw("validity_robustness"))


@pytest.mark.slow
def test_verdicts_are_stacked_bars_of_all_pairs(stated: Validity) -> None:
    """Of P, 1, 2, 1, 1 and 1 of 6 pairs; of RR, on top, 1, 0, 0, 3 and 2."""
    ax = stated.draw("validity_pairs")
    bars = [
        (bar.get_x(), bar.get_width(), bar.get_y() + bar.get_height() / 2)
        for bars in ax.containers
        for bar in bars.patches  # type: ignore[attr-defined]
    ]
    sixth = 100 / 6
    expected = [
        *((0, sixth, 1), (0, sixth, 0)),
        *((sixth, 0, 1), (sixth, 2 * sixth, 0)),
        *((sixth, 0, 1), (3 * sixth, sixth, 0)),
        *((sixth, 3 * sixth, 1), (4 * sixth, sixth, 0)),
        *((4 * sixth, 2 * sixth, 1), (5 * sixth, sixth, 0)),
    ]
    np.testing.assert_allclose(bars, expected, atol=1e-9)
    assert ax.get_xlim() == (0, 100)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["RR@5", "P@5"]
    assert ax.get_yticks().tolist() == [1, 0]
    colours = [bars.patches[0].get_facecolor() for bars in ax.containers]  # type: ignore[attr-defined]
    assert len({*colours}) == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("figure", "first"), [("validity_judgements", 0.1), ("validity_popularity", 0.5)]
)
def test_curves_of_a_truth_are_drawn_over_what_is_kept(
    figure: str, first: float, stated: Validity
) -> None:
    """Of P the numbers 0 and 1 of a truth, of RR 4 and 5; those of the second truth begin at 6."""
    for truth, start in (("itself", 0), (None, 6)):
        ax = stated.draw(figure, truth=truth)
        heights = {
            str(line.get_label()): sorted(y for _, y in points_of(line)) for line in ax.lines
        }
        expected = [first + (start + 4) / 50, first + (start + 5) / 50]
        assert heights["RR@5"] == pytest.approx(expected)
        assert heights["P@5"] == pytest.approx([first + start / 50, first + (start + 1) / 50])


def test_the_caption_has_the_users_of_study_and_truth(stated: Validity) -> None:
    assert "of 4 systems by each measure over 30 users" in stated.caption()
    assert "true ordering over 40 users (20 in both) of a made world" in stated.caption()
    same = replace(stated, n_true_users=30, n_shared=30)
    assert "true ordering over the same users" in same.caption()
    for other in (replace(stated, n_true_users=30), replace(stated, n_shared=30)):
        assert "in both" in other.caption()
    fewer = replace(stated, n_true_users=20)
    assert "20 users (20 in both)" in fewer.caption()
    assert "by nDCG@10, which" in stated.caption()


def test_the_caption_of_pairs_has_the_test_and_its_level(stated: Validity) -> None:
    sentence = stated.caption_of("verdicts")
    assert "6 pairs of 4 systems over 30 users" in sentence
    assert "alpha = 0.05, no correction" in sentence
    assert "False positive:" in sentence
    corrected = replace(stated, correction="holm")
    assert "Holm's method" in corrected.pairs().note
    assert "False positive:" not in corrected.pairs().note


def test_captions_of_curves_say_which_judgements_are_removed(stated: Validity) -> None:
    assert "Judgements are removed at random." in stated.caption_of("kept")
    assert "most popular items are removed first" in stated.caption_of("popular")
    assert "Robustness is the mean tau-b" in stated.caption_of("robustness")


def test_the_finding_counts_measures_that_are_below_what_is_attainable(stated: Validity) -> None:
    """By themselves RR reaches .8 at most, and P 1.0, of .93 and .95."""
    sentence = stated.findings()[1]
    assert sentence.startswith("1 of 2 measures (RR@5) disagrees with")
    assert "(tau-b from .70 to .90)" in sentence
    assert "(attainable: tau-b from .93 to .95)" in sentence
    all_below = replace(stated, attainable=np.full((2, 3), 1.01))
    assert all_below.findings()[1].startswith("All 2 measures disagree with")
    # Limits that are attainable are not below.
    none_below = replace(stated, attainable=stated.tau.users[1])
    assert none_below.findings()[1].startswith("0 of 2 measures disagree with")
    alone = replace(all_below, measures=Measures([P, AP, RR], reported=[RR]))
    assert alone.findings()[1].startswith("1 of 1 measure disagrees with")
    assert "(tau-b = .70)" in alone.findings()[1]


def test_the_finding_on_choices_has_the_best_system_and_the_most_that_is_lost(
    stated: Validity,
) -> None:
    assert stated.findings()[2] == (
        "No measure ranks b first, which is truly best by nDCG@10; what others rank first is truly "
        "worse by at most .300."
    )
    regret = uncertain([[0.0, 0.0, 0.0], [0.1, 0.4, 0.0]])
    one_right = replace(stated, regret=regret)
    assert one_right.findings()[2].startswith("1 of 2 measures ranks b first")
    assert "at most .100" in one_right.findings()[2]
    true = stated.true.copy()
    true[1, 2] = [0.5, 0.8, 0.4, 0.8]
    assert "ranks b or d first" in replace(stated, true=true).findings()[2]


def test_the_finding_on_signs_counts_significant_pairs(stated: Validity) -> None:
    assert stated.findings()[3].endswith("in 0 of 1 (RR@5) and 2 of 4 (P@5).")


def test_the_first_finding_names_the_measure_that_comes_closest_to_the_threshold(
    stated: Validity,
) -> None:
    assert "RR@5 comes closest" in stated.findings()[0]


def test_few_true_differences_have_a_caution(stated: Validity) -> None:
    """Of 15 pairs: from 10 on, shares of them are reliable."""
    systems = tuple("abcdef")
    many = replace(
        stated,
        systems=systems,
        families=unrelated(6),
        measured=np.tile(np.arange(6.0), (3, 1)),
        true=np.tile(np.arange(6.0), (2, 3, 1)),
        p=np.full((3, 15), 0.01),
        true_p=np.tile(np.where(np.arange(15) < 10, 0.05, 0.06), (2, 3, 1)),
    )
    assert not any(one.startswith("Only") for one in many.cautions())
    true_p = many.true_p.copy()
    true_p[1, 0, 0] = 0.06
    assert any(
        one.startswith("Only 9 of 15 pairs of systems have")
        for one in replace(many, true_p=true_p).cautions()
    )
    true_p[1, 0, 1:9] = 0.06
    assert any(
        one.startswith("Only 1 of 15 pairs of systems has")
        for one in replace(many, true_p=true_p).cautions()
    )


def test_measures_that_the_truth_does_not_know_and_notes_are_cautions(stated: Validity) -> None:
    cautions = stated.cautions()
    assert cautions[0] == "The truth is of a made world."
    assert cautions[1].startswith("The validity of bpref@5 and RBP is unknown")
    assert cautions[-1].startswith("4 systems are too few for an interval over systems")
    known = replace(stated, unmeasured=())
    assert not any("is unknown" in one for one in known.cautions())


@pytest.mark.parametrize(
    ("taus", "expected"),
    [([0.2, np.nan, -0.456], "tau-b from -.46 to .20"), ([0.501, 0.499], "tau-b = .50")],
)
def test_a_range_is_that_of_what_is_defined(taus: list[float], expected: str) -> None:
    known: NDArray[np.float64] = np.array(taus)
    assert spread_of(known) == expected


def test_replicates_of_the_estimates_vary_as_their_arcsines_do(stated: Validity) -> None:
    """Their deviation is such that limits are close to those on the scale of arcsines."""
    found = stated.estimates()
    low, high = arcsine_limits(found.values, REPLICATES[1])
    widths = 2 * 1.96 * found.replicates.std(axis=1, ddof=1)
    np.testing.assert_allclose(widths, high - low, rtol=0.05)
