"""Our metrics as measures of ir_measures and LensKit, scored by these tools."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd
import pytest

from harness import ir_measure, lenskit_metric
from harness.metrics.shared.register import built_in_metrics, plugin_metrics
from qrels import judge
from runs import InputError
from tests.lists import asks_for_items, qrels_as_dicts, random_case, run_as_dicts

OURS = {name: metric for name, metric in built_in_metrics().items() if not metric.needs}
OF_ITEMS = [name for name, metric in OURS.items() if asks_for_items(metric)]
OF_GRADES = [name for name in OURS if name not in OF_ITEMS]
RUN, QRELS = random_case(4, n_users=15, n_items=60, depth=20, n_judged=10)
PLUGIN = """
from harness import metric
@metric("last", source="here")
def last(judged, *, cutoff=None):
    return judged.relevant[:, cutoff - 1].astype(float)
"""


def as_lists(nested: Mapping[str, Mapping[str, float]], value: str) -> Any:
    """Give scores or grades as LensKit's lists."""
    from lenskit.data import ItemListCollection

    rows = [(user, item, score) for user, of in nested.items() for item, score in of.items()]
    return ItemListCollection.from_df(
        pd.DataFrame(rows, columns=["user_id", "item_id", value]), ["user_id"]
    )


@pytest.mark.parametrize("name", OF_GRADES)
def test_our_metrics_are_measures_of_ir_measures(name: str) -> None:
    measure = ir_measure(f"{name}@7", relevance_level=4)
    given = ir_measures.calc_aggregate([measure], qrels_as_dicts(QRELS), run_as_dicts(RUN))
    expected = OURS[name](judge(RUN, QRELS), cutoff=7).mean()
    assert given[measure] == pytest.approx(expected, abs=1e-12)
    assert str(measure) == f"{name}@7"


@pytest.mark.parametrize("name", OF_ITEMS)
def test_a_metric_of_items_says_that_ir_measures_has_grades_alone(name: str) -> None:
    measure = ir_measure(f"{name}@7", relevance_level=4)
    with pytest.raises(InputError, match="these lists have grades only"):
        ir_measures.calc_aggregate([measure], qrels_as_dicts(QRELS), run_as_dicts(RUN))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:RunAnalysis is dep:DeprecationWarning")
def test_our_metrics_are_metrics_of_lenskits_analyses(tmp_path: Path) -> None:
    from lenskit.metrics import RunAnalysis

    (tmp_path / "mine.py").write_text(PLUGIN)
    last = plugin_metrics(tmp_path / "mine.py")["last"]
    lists, test = as_lists(run_as_dicts(RUN), "score"), as_lists(qrels_as_dicts(QRELS), "rating")
    metrics = [lenskit_metric(each, relevance_level=4) for each in ("P@7", last @ 3)]
    measured = RunAnalysis(*metrics).measure(lists, test)
    judged = judge(RUN, QRELS)
    expected = {"P@7": OURS["P"](judged, cutoff=7), "last@3": last(judged, cutoff=3)}
    scores = measured.list_metrics()
    for label, values in expected.items():
        assert scores[label].mean() == pytest.approx(values.sum() / len(scores), abs=1e-12)
    assert {"P@7", "last@3"} == {*measured.list_summary().index}


def test_a_metric_of_a_plugin_is_a_measure_of_ir_measures(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN)
    measure = ir_measure(plugin_metrics(tmp_path / "mine.py")["last"] @ 1)
    run = {"u": {"a": 2.0, "b": 1.0}, "v": {"a": 1.0, "b": 2.0}}
    assert ir_measures.calc_aggregate([measure], {"u": {"a": 1}, "v": {"a": 1}}, run) == {
        measure: 0.5
    }


def test_a_geometric_mean_is_refused() -> None:
    for declare in (ir_measure, lenskit_metric):
        with pytest.raises(InputError, match="other tools take the arithmetic mean"):
            declare("AP(mean=geometric)@10")
