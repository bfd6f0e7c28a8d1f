"""The arms of an experiment: recalls and rates, of which every number is stated."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from pydantic import ValidationError

from analyses.online.arms import (
    ArmRecalls,
    ArmSettings,
    ExperimentWork,
    arm_agreement,
    arm_rates,
    arm_recalls,
)
from analyses.online.clicks_result import Clicks
from analyses.online.logs import Logs
from analyses.recall.recall import errors_of_means, measure_recall
from analyses.shared.limits import NORMAL_QUANTILE
from qrels.ranks.hidden_ranks import MISS, HiddenRanks
from tests.analyses.made import Totals
from tests.analyses.online.click_logs import experiment, written
from tests.drawn import corners, curve, explained, points
from tests.hidden_example import (
    PROFILES,
    TRAIN_COUNTS,
    events_of,
    golden_events,
    golden_ranks,
    numbered,
)

SETTINGS = ArmSettings(betas=(0.0, 1.0), cutoffs=(2, 3))
EARLY = np.array([1, 3, 2, 1, 0, 0])
"""Training events of every item before the models of the first period learnt."""


def ranks_of(loo: list[int], lloo: list[int]) -> HiddenRanks:
    return HiddenRanks(
        golden_events(), np.array(loo, np.uint16), np.array(lloo, np.uint16), deepest=50
    )


WORSE = ranks_of([3, 1, 3, 2, 2, MISS, MISS, 3, 3], [MISS, 1, 3, MISS, 2, MISS, MISS, MISS, 3])
WORST = ranks_of([MISS] * 9, [MISS] * 9)
RANKS = {("A", 0): golden_ranks(), ("A", 1): WORSE, ("B", 0): WORST, ("C", 0): WORSE}
STARTS = {("A", 0): 5, ("A", 1): 9, ("B", 0): 5, ("C", 0): 5}


def work_of(settings: ArmSettings = SETTINGS, **changes: Any) -> Any:
    """Make work of three arms, which analyses of arms take in place of `Work`.

    A has two periods; items are learnt from before 5, and before 9.
    """
    learnt = [*np.repeat(np.arange(6), EARLY), *np.repeat(np.arange(6), TRAIN_COUNTS - EARLY)]
    times = [0] * EARLY.sum() + [5] * (TRAIN_COUNTS - EARLY).sum()
    # What test users did is not learnt, nor what came at the start or after it.
    profiles = [*map(list, PROFILES), [*map(int, learnt), 5]]
    moments = [*([0] * len(profile) for profile in PROFILES), [*times, 9]]
    facts: dict[str, Any] = {
        "name": "x",
        "seed": 1,
        "progress": Totals(),
        "settings": settings,
        "logs": Logs(recommendations=Path("lists"), interactions=Path("clicks")),
        "events": events_of(profiles, n_items=6, times=moments),
        "test_users": numbered(len(PROFILES)),
        "ranks": RANKS,
        "starts": STARTS,
        "click_arguments": {},
    }
    return ExperimentWork(**facts | changes)


def with_rates(work: Any) -> Any:
    """Give the arms rates; the error of one is not known."""
    arms = pd.DataFrame(
        {"arm": ["B", "C", "A"], "rate": [0.1, 0.3, 0.2], "error": [0.01, np.nan, 0.02]}
    )
    work.__dict__["clicks"] = Clicks({"arms": arms}, ("B", "C", "A"), "", "", ())
    return work


def test_settings_have_the_defaults_of_the_thesis() -> None:
    settings = ArmSettings()
    assert settings.permutations == 10_000
    assert (settings.weights, settings.over_time) == ("uniform", "thesis")
    assert settings.window is settings.robots is None
    ArmSettings(robots=1, permutations=1)
    for refused in ({"robots": 0}, {"permutations": 0}):
        with pytest.raises(ValidationError):
            ArmSettings.model_validate(refused)


def test_recalls_are_those_of_every_arm_and_period_with_what_was_learnt_before() -> None:
    found = work_of().recalls
    assert found.index.tolist() == [*range(4 * 8)]
    places = found[["arm", "period"]].drop_duplicates().to_numpy().tolist()
    assert places == [["A", 1], ["A", 2], ["B", 1], ["C", 1]]
    for (arm, period), counts in {("A", 1): EARLY, ("A", 2): TRAIN_COUNTS, ("C", 1): EARLY}.items():
        own = found[(found.arm == arm) & (found.period == period)]
        expected = measure_recall(RANKS[arm, period - 1], counts, SETTINGS)
        np.testing.assert_allclose(own["value"], expected["value"])
    assert (found[found.arm == "B"]["value"] == 0).all()


def test_an_experiment_has_means_over_periods_and_errors_of_the_last_models() -> None:
    found = with_rates(work_of()).experiment
    assert (found.name, found.models) == ("x", ("A", "B", "C"))
    assert found.rates.tolist() == [0.2, 0.1, 0.3]
    assert found.rate_errors is not None
    assert found.rate_errors.tolist() == [0.02, 0.01, 0.0]
    assert found.measures[0] == "LOO(beta=0)@2"
    assert found.measures[-1] == "LLOO(beta=1)@3"
    first, second, of_c = (
        measure_recall(ranks, counts, SETTINGS)["value"].to_numpy()
        for ranks, counts in ((golden_ranks(), EARLY), (WORSE, TRAIN_COUNTS), (WORSE, EARLY))
    )
    np.testing.assert_allclose(found.values[:, 0], (first + second) / 2)
    np.testing.assert_allclose(found.values[:, 2], of_c)
    # The last model of A is of the second period; the latest of all learnt from all.
    assert found.value_errors is not None
    expected = errors_of_means([WORSE, WORST, WORSE], TRAIN_COUNTS, SETTINGS)
    np.testing.assert_allclose(found.value_errors, expected.T)


def test_stratified_recalls_are_named_so() -> None:
    stratified = ArmSettings(betas=(1.0,), cutoffs=(2,), weights="stratified")
    found = with_rates(work_of(stratified)).experiment
    assert found.measures == (
        "LOO(beta=1,weights='stratified')@2",
        "LLOO(beta=1,weights='stratified')@2",
    )
    expected = measure_recall(WORSE, EARLY, stratified, weights="stratified")["value"]
    np.testing.assert_allclose(found.values[:, 2], expected)


def test_the_analysis_of_recalls_has_values_by_model_and_the_most_clicked_arm_first() -> None:
    work = with_rates(work_of())
    found = arm_recalls(work, SETTINGS)
    assert found.arms == ("C", "A", "B")
    assert found.weights == "uniform"
    assert len(found.values) == 3 * 8
    row = found.values[(found.values.model == "C") & (found.values.measure == "LLOO(beta=1)@2")]
    place = work.experiment.measures.index("LLOO(beta=1)@2")
    assert row.value.item() == work.experiment.values[place, 2]
    assert work.experiment.value_errors is not None
    assert row.error.item() == work.experiment.value_errors[place, 2]
    assert found.frames()["recall"] is work.recalls
    assert isinstance(work.progress, Totals)
    assert work.progress.announced == work.progress.done == 1
    assert "models of 3 arms" in found.caption()


def test_agreement_is_of_recalls_and_rates_of_the_arms() -> None:
    work = with_rates(work_of())
    found = arm_agreement(work, ArmSettings(permutations=50))
    assert found.best.chosen == ("x",)
    assert found.best.is_exact
    assert isinstance(work.progress, Totals)
    assert work.progress.announced == work.progress.done == 1


@pytest.mark.slow
def test_rates_are_those_of_the_clicks_in_the_log(tmp_path: Path) -> None:
    lists, clicks = written(tmp_path, experiment({"A": (3, 1.0), "B": (4, 0.0)}))
    logs = Logs(recommendations=lists, interactions=clicks)
    asked = {"weights": "uniform", "over_time": "pooled"}
    explicit = work_of(ArmSettings.model_validate(asked), logs=logs, click_arguments={"n_jobs": 1})
    rates = arm_rates(explicit, explicit.settings).tables["arms"]
    assert rates["rate"].tolist() == [1, 0]
    # A minute after the list: later than the window.
    within = ArmSettings.model_validate(asked | {"window": "1 s"})
    of_window = work_of(within, logs=logs, click_arguments={"n_jobs": 1})
    assert arm_rates(of_window, within).tables["arms"]["rate"].tolist() == [0, 0]
    named = {"name": "y", "n_jobs": 1}
    known = work_of(ArmSettings.model_validate(asked), logs=logs, click_arguments=named)
    table = arm_rates(known, known.settings).tables["thesis2021-table4.2"]
    assert {*table["dataset"]} == {"y"}


def recalls_of(arms: str, *, cutoffs: tuple[int, ...] = (4, 7)) -> ArmRecalls:
    """Recalls that are a tenth of a number of arm, period, beta, cut-off and validation."""
    rows = [
        {
            "arm": arm,
            "period": period,
            "validation": validation,
            "beta": beta,
            "cutoff": cutoff,
            "value": (100 * place + 10 * period + cutoff + beta + 0.5 * (validation == "LOO"))
            / 1000,
            "effective_share": 0.5 + 0.25 * beta + 0.1 * (validation == "LOO"),
        }
        for place, arm in enumerate(arms)
        for period in (1, 2)
        for validation in ("LOO", "LLOO")
        for beta in (0.0, 1.0)
        for cutoff in cutoffs
    ]
    recall = pd.DataFrame(rows)
    measures = [f"{v}(beta={b})@{k}" for v in ("LOO", "LLOO") for b in (0, 1) for k in cutoffs]
    values = pd.DataFrame(
        [
            {"model": arm, "measure": name, "value": 0.5, "error": 0.01 * (n + 1) + 0.001 * place}
            for place, arm in enumerate(arms)
            for n, name in enumerate(measures)
        ]
    )
    return ArmRecalls(values, recall, tuple(arms), "uniform")


@pytest.mark.parametrize(
    ("arms", "shown"), [("abcde", "abcde"), ("abcdef", "adf"), ("abcdefg", "adg"), ("ab", "ab")]
)
def test_of_more_than_five_arms_three_are_shown(arms: str, shown: str) -> None:
    expected = [f"{arm}, {side}" for side in ("LOO", "LLOO") for arm in shown]
    assert [*recalls_of(arms).panels] == expected


def test_recall_over_time_is_lloo_with_the_largest_beta_at_the_cutoff_next_to_5() -> None:
    """Of 4 and 7 it is 4; the errors of b are .011, .021 and so on, that of the seventh .071."""
    found = recalls_of("abc")
    ax = found.plot_over_time(arm="b")
    *others, own = ax.get_lines()
    np.testing.assert_allclose(points(own), [[1, 0.115], [2, 0.125]])
    np.testing.assert_allclose(
        [points(line)[:, 1] for line in others], [[0.015, 0.025], [0.215, 0.225]]
    )
    (error,) = found.values[
        (found.values.model == "b") & (found.values.measure == "LLOO(beta=1)@4")
    ]["error"]
    assert error == pytest.approx(0.071)
    band = {(x, round(float(y), 6)) for x, y in corners(ax)}
    assert {
        (1, round(0.115 - NORMAL_QUANTILE * 0.071, 6)),
        (1, round(0.115 + NORMAL_QUANTILE * 0.071, 6)),
    } <= band
    assert {
        (2, round(0.125 - NORMAL_QUANTILE * 0.071, 6)),
        (2, round(0.125 + NORMAL_QUANTILE * 0.071, 6)),
    } <= band
    (spread,) = ax.collections
    assert to_hex(np.asarray(spread.get_facecolor())[0]) == to_hex(own.get_color())
    assert ax.get_ylabel() == "LLOO(beta=1)@4"
    assert ax.get_title() == "b"
    assert "Grey: the other arms." in explained(ax)
    deep = recalls_of("abc", cutoffs=(2, 7)).plot_over_time(arm="a")
    assert deep.get_ylabel() == "LLOO(beta=1)@7"
    ticks = [tick for tick in ax.get_xticks() if 1 <= tick <= 2]
    assert ticks == [1, 2]


def test_recall_over_beta_is_the_mean_of_the_periods_of_an_arm() -> None:
    ax = recalls_of("abc").plot_over_beta(panel="b, LOO")
    np.testing.assert_allclose(curve(ax, "@4"), [[0, 0.1195], [1, 0.1205]])
    np.testing.assert_allclose(curve(ax, "@7"), [[0, 0.1225], [1, 0.1235]])
    assert ax.get_title() == "b, LOO"
    (above,) = ax.child_axes
    assert [label.get_text() for label in above.get_xticklabels()] == ["60", "85"]
