import ir_measures
import pytest

from harness.metrics.shared.register import built_in_metrics
from harness.trec_eval.export import ir_measure_of
from qrels import judge
from runs import InputError
from tests.lists import OF_ITEMS, qrels_as_dicts, random_case, run_as_dicts

METRICS = {name: metric for name, metric in built_in_metrics().items() if not metric.needs}
OF_GRADES = [name for name in METRICS if name not in OF_ITEMS]


@pytest.mark.parametrize("name", OF_GRADES)
def test_our_metrics_are_measures_for_them(name: str) -> None:
    run, qrels = random_case(4, n_users=15, n_items=60, depth=20, n_judged=10)
    measure = ir_measure_of(f"{name}@7", relevance_level=4)
    given = ir_measures.calc_aggregate([measure], qrels_as_dicts(qrels), run_as_dicts(run))
    expected = METRICS[name](judge(run, qrels), cutoff=7).mean()
    assert given[measure] == pytest.approx(expected, abs=1e-12)
    assert str(measure) == f"{name}@7"


@pytest.mark.parametrize("name", sorted(OF_ITEMS))
def test_a_metric_of_items_says_that_ir_measures_has_grades_alone(name: str) -> None:
    run, qrels = random_case(4, n_users=15, n_items=60, depth=20, n_judged=10)
    measure = ir_measure_of(f"{name}@7", relevance_level=4)
    with pytest.raises(InputError, match="nothing says which items they hold"):
        ir_measures.calc_aggregate([measure], qrels_as_dicts(qrels), run_as_dicts(run))
