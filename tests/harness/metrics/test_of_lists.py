"""The readable metrics against pytrec_eval, and by hand."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import harness
from harness.metrics.shared.register import available_metrics, built_in_metrics, find_metric
from harness.trec_eval.export import pool
from qrels import Judged, Qrels, judge, qrels_from_columns
from runs import InputError, Run
from runs.shared.errors import InputWarning
from tests.conftest import examples
from tests.lists import known_items, pytrec_eval_scores, random_case, runs_and_qrels

METRICS = {name: metric for name, metric in built_in_metrics().items() if not metric.needs}
PYTREC_EVAL = {
    "P": "P_{}",
    "Recall": "recall_{}",
    "AP": "map_cut_{}",
    "nDCG": "ndcg_cut_{}",
    "RR": "recip_rank",
    "bpref": "bpref",
    "infAP": "infAP",
    "infAP_trec": "infAP",
    "Rprec": "Rprec",
    "Success": "success_{}",
    "SetP": "set_P",
    "SetR": "set_recall",
    "SetF": "set_F",
    "IPrec": "iprec_at_recall_0.5",
    "IAP": "11pt_avg",
    "RelP": "relative_P_{}",
}
NO_CUTOFF = {
    **{name: measure for name, measure in PYTREC_EVAL.items() if "{}" not in measure},
    "AP": "map",
    "nDCG": "ndcg",
}


@examples(30)
@given(case=runs_and_qrels(lowest=-2), cutoff=st.integers(1, 10))
def test_metrics_at_a_cutoff_are_pytrec_evals(case: tuple[Run, Qrels], cutoff: int) -> None:
    run, qrels = case
    judged = judge(run, qrels)
    for name, measure in PYTREC_EVAL.items():
        cut = None if "{}" in measure else cutoff
        expected = pytrec_eval_scores(
            run, qrels, measure.format(cutoff), cutoff=cut, pool=name == "infAP"
        )
        scores = METRICS[name](judged, cutoff=cutoff)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12, err_msg=name)


@examples(30)
@given(case=runs_and_qrels(lowest=-2))
def test_metrics_without_cutoff_are_pytrec_evals(case: tuple[Run, Qrels]) -> None:
    run, qrels = case
    judged = judge(run, qrels)
    for name, measure in NO_CUTOFF.items():
        expected = pytrec_eval_scores(run, qrels, measure, pool=name == "infAP")
        scores = METRICS[name](judged)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12, err_msg=name)


def without_unjudged(run: Run, qrels: Qrels) -> Run:
    judged = {
        (user, item)
        for user, item, grade in zip(qrels.users, qrels.items, qrels.grades, strict=True)
        if grade >= 0
    }
    items = np.full_like(run.items, -1)
    for user, row in enumerate(run.items):
        kept = [item for item in row if (user, item) in judged]
        items[user, : len(kept)] = kept
    return Run(run.system, items)


@examples(30)
@given(case=runs_and_qrels(lowest=-2), cutoff=st.none() | st.integers(1, 10))
def test_condensed_lists_score_as_those_without_unjudged_items(
    case: tuple[Run, Qrels], cutoff: int | None
) -> None:
    run, qrels = case
    judged, shortened = judge(run, qrels, known_items()), without_unjudged(run, qrels)
    for name, metric in METRICS.items():
        scores = find_metric(f"{name}(condensed=true)", METRICS)(judged, cutoff=cutoff)
        expected = metric(judge(shortened, qrels, known_items()), cutoff=cutoff)
        np.testing.assert_array_equal(scores, expected, err_msg=name)
    for name, measure in PYTREC_EVAL.items() if cutoff else NO_CUTOFF.items():
        cut = None if "{}" in measure else cutoff
        scores = find_metric(f"{name}(condensed=true)", METRICS)(judged, cutoff=cutoff)
        expected = pytrec_eval_scores(shortened, qrels, measure.format(cutoff), cutoff=cut)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", METRICS)
def test_longer_lists_of_other_users_change_no_digit(name: str) -> None:
    for seed, depth in product(range(12), (3, 9, 12)):
        run, qrels = random_case(seed, n_users=60, n_items=60, depth=depth, n_judged=20)
        beside = Run(run.system, np.pad(run.items, ((0, 0), (0, 9)), constant_values=-1))
        judged = (judge(one, qrels, known_items()) for one in (run, beside))
        alone, padded = (METRICS[name](one, cutoff=100) for one in judged)
        np.testing.assert_array_equal(alone, padded)


@pytest.mark.parametrize("name", PYTREC_EVAL)
@pytest.mark.parametrize("cutoff", [5, 100])
def test_a_metric_on_long_lists_is_pytrec_evals(name: str, cutoff: int) -> None:
    run, qrels = random_case(3, n_users=40, n_items=400, depth=100, n_judged=33)
    measure = PYTREC_EVAL[name]
    expected = pytrec_eval_scores(
        run, qrels, measure.format(cutoff), cutoff=cutoff, pool=name == "infAP"
    )
    scores = METRICS[name](judge(run, qrels), cutoff=cutoff)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


@examples(30)
@given(case=runs_and_qrels(lowest=-2), cutoff=st.integers(1, 10))
def test_the_beta_of_f_is_pytrec_evals(case: tuple[Run, Qrels], cutoff: int) -> None:
    run, qrels = case
    judged = judge(run, qrels)
    for beta in (0.5, 2.0):
        expected = pytrec_eval_scores(run, qrels, f"set_F_{beta}", cutoff=cutoff)
        scores = find_metric(f"SetF(beta={beta})", METRICS)(judged, cutoff=cutoff)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12, err_msg=str(beta))


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        *((f"IPrec(recall={x})", f"iprec_at_recall_{x}") for x in (0, 0.1, 0.25, 0.3, 0.7, 1)),
        *((f"Rprec(multiple={x})", f"Rprec_mult_{x}") for x in (0.2, 0.6, 1.4, 3)),
    ],
)
@pytest.mark.parametrize("n_judged", [15, 77, 160])
def test_recall_points_and_multiples_of_r_are_pytrec_evals(
    n_judged: int, name: str, measure: str
) -> None:
    run, qrels = random_case(3, n_users=60, n_items=200, depth=150, n_judged=n_judged)
    expected = pytrec_eval_scores(run, qrels, measure)
    scores = find_metric(name, METRICS)(judge(run, qrels))
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


def with_grades(qrels: Qrels, grades: dict[int, int]) -> Qrels:
    replaced = [grades.get(grade, grade) for grade in qrels.grades.tolist()]
    return replace(qrels, grades=np.array(replaced, dtype=np.int32))


GAINS = {
    "nDCG(gains=exp)": {grade: 2**grade - 1 for grade in range(6)},
    "nDCG(gains={1:0,2:0})": {1: 0, 2: 0},
    "nDCG(gains={0:1,3:9,5:2})": {0: 1, 3: 9, 5: 2},
}


@examples(30)
@given(case=runs_and_qrels(lowest=-2), cutoff=st.integers(1, 10))
def test_gains_are_grades_replaced(case: tuple[Run, Qrels], cutoff: int) -> None:
    run, qrels = case
    judged = judge(run, qrels)
    for name, grades in GAINS.items():
        ndcg, replaced = find_metric(name, METRICS), with_grades(qrels, grades)
        for measure, n in ((f"ndcg_cut_{cutoff}", cutoff), ("ndcg", None)):
            expected = pytrec_eval_scores(run, replaced, measure)
            scores = ndcg(judged, cutoff=n)
            np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", ["nDCG", "DCG"])
def test_the_lenskit_discount_is_lenskits(name: str) -> None:
    metrics = pytest.importorskip("lenskit.metrics")
    from lenskit.data import ItemList

    run, qrels = random_case(7, n_users=30, n_items=60, depth=20, n_judged=20)
    theirs = getattr(metrics, name.upper())(10, discount=np.log2, gain="rating")
    ends = qrels.offsets[1:]
    expected = [
        theirs.measure_list(
            ItemList(item_ids=ranked, ordered=True),
            ItemList(item_ids=qrels.items[start:end], rating=qrels.grades[start:end].astype(float)),
        )
        for ranked, start, end in zip(run.items, qrels.offsets, ends, strict=False)
    ]
    scores = find_metric(f"{name}(discount=lenskit)", METRICS)(judge(run, qrels), cutoff=10)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "theirs"), [("Success", "Hit"), ("RelP", "Recall")])
def test_hits_are_counted_as_by_lenskit(name: str, theirs: str) -> None:
    metrics = pytest.importorskip("lenskit.metrics")
    from lenskit.data import ItemList

    run, qrels = random_case(7, n_users=60, n_items=60, depth=20, n_judged=9)
    lists = zip(run.items, qrels.offsets, qrels.offsets[1:], strict=False)
    expected = [
        getattr(metrics, theirs)(5).measure_list(
            ItemList(item_ids=ranked, ordered=True), ItemList(item_ids=qrels.items[start:end])
        )
        for ranked, start, end in lists
    ]
    scores = find_metric(f"{name}(rel=1)", METRICS)(judge(run, qrels), cutoff=5)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


Grades = dict[int, int]


def dcg_by_hand(items: list[int], grades: Grades, level: int, base: float) -> float:
    ranked = enumerate(items, start=1)
    return sum((base ** grades.get(item, 0) - 1) / np.log2(rank + 1) for rank, item in ranked)


def rbp_by_hand(items: list[int], grades: Grades, level: int, p: float) -> float:
    seen, score = 1.0, 0.0
    for item in items:
        if grades.get(item, 0) >= level:
            score += seen * (1 - p)
        seen *= p
    return score


def inst_by_hand(
    items: list[int], grades: Grades, level: int, wanted: float, *, adapts: bool = True
) -> float:
    reached, found, score, steps, last = 1.0, 0.0, 0.0, 0.0, 300
    for rank in range(1, last + 1):
        steps += reached
        if grades.get(items[rank - 1] if rank <= len(items) else -1, 0) >= level:
            score += reached
            found += adapts
        goes_on = 1 - 1 / (rank + wanted + (wanted - found))
        reached *= goes_on**2
    start = last + 2 * wanted - found
    middle = start - 0.5  # sum of 1 / x^2 from start on, by the midpoint rule
    return score / (steps + reached * start**2 * (1 / middle - 1 / (12 * middle**3)))


def err_by_hand(items: list[int], grades: Grades, level: int, top: float) -> float:
    looking, score = 1.0, 0.0
    highest = top or max(grades.values(), default=0)
    for rank, item in enumerate(items, start=1):
        satisfied = (2 ** grades.get(item, 0) - 1) / 2**highest
        score += looking * satisfied / rank
        looking *= 1 - satisfied
    return score


def q_measure_by_hand(items: list[int], grades: Grades, level: int, beta: float) -> float:
    gains = {item: grade - level + 1 for item, grade in grades.items() if grade >= level}
    ideal = sorted(gains.values(), reverse=True)
    score = 0.0
    for rank, item in enumerate(items, start=1):
        if item in gains:
            found = [gains[other] for other in items[:rank] if other in gains]
            score += (len(found) + beta * sum(found)) / (rank + beta * sum(ideal[:rank]))
    return score / len(gains) if gains else 0.0


def auc_by_hand(items: list[int], grades: Grades, level: int, tie: float) -> float:
    place = {item: rank for rank, item in enumerate(items, start=1)}
    pairs = [
        (place.get(good, np.inf), place.get(bad, np.inf))
        for good, grade in grades.items()
        for bad, lower in grades.items()
        if grade >= level > lower
    ]
    if not pairs or not items:
        return 0.0
    return sum(tie if good == bad else float(good < bad) for good, bad in pairs) / len(pairs)


def nearest_interpolated_by_hand(
    items: list[int], grades: Grades, level: int, recall: float
) -> float:
    hits = [grades.get(item, 0) >= level for item in items]
    n_relevant = sum(grade >= level for grade in grades.values())
    needed = int(recall * n_relevant + 0.5)
    ranks = range(1, len(items) + 1)
    return max((sum(hits[:k]) / k for k in ranks if sum(hits[:k]) >= needed), default=0.0)


ByHand = Callable[[list[int], Grades, int, float], float]
BY_HAND: list[tuple[str, ByHand, float]] = [
    ("DCG(gains=exp)", dcg_by_hand, 2),
    ("RBP", rbp_by_hand, 0.9),
    ("RBP(p=0.5)", rbp_by_hand, 0.5),
    ("INST", inst_by_hand, 1),
    ("INST(T=0.5)", inst_by_hand, 0.5),
    ("INST(T=3)", inst_by_hand, 3),
    ("INSQ", partial(inst_by_hand, adapts=False), 1),
    ("INSQ(T=2.5)", partial(inst_by_hand, adapts=False), 2.5),
    ("ERR", err_by_hand, 0),
    ("ERR(top=5)", err_by_hand, 5),
    ("ERR(top=7)", err_by_hand, 7),
    ("Q-measure", q_measure_by_hand, 1),
    ("Q-measure(beta=10)", q_measure_by_hand, 10),
    ("AUC", auc_by_hand, 0.5),
    ("IPrec(recall=0.3,rounding=nearest)", nearest_interpolated_by_hand, 0.3),
]


@examples(30)
@given(case=runs_and_qrels(lowest=-2), cutoff=st.none() | st.integers(1, 10))
def test_metrics_are_what_a_loop_over_one_list_says(
    case: tuple[Run, Qrels], cutoff: int | None
) -> None:
    run, qrels = case
    judged = judge(run, qrels)
    lists = []
    for user, row in enumerate(run.items[:, :cutoff].tolist()):
        own = slice(*qrels.offsets[user : user + 2])
        judgements = zip(qrels.items[own].tolist(), qrels.grades[own].tolist(), strict=True)
        grades = {item: grade for item, grade in judgements if grade >= 0}
        lists.append(([item for item in row if item >= 0], grades))
    for name, by_hand, option in BY_HAND:
        expected = [by_hand(*listed, qrels.relevance_level, option) for listed in lists]
        scores = find_metric(name, METRICS)(judged, cutoff=cutoff)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12, err_msg=name)


def ideal_lists(grades: Grades) -> Iterator[list[int]]:
    """All lists of the items by falling grade."""
    alike = [
        [item for item, own in grades.items() if own == grade]
        for grade in sorted(set(grades.values()), reverse=True)
    ]
    for orders in product(*map(permutations, alike)):
        yield [item for order in orders for item in order]


def overlap(ranked: list[int], ideal: list[int], *, depth: int, p: float) -> float:
    depths = range(1, depth + 1)
    return sum(p ** (d - 1) * len({*ranked[:d]} & {*ideal[:d]}) / d for d in depths)


@given(
    ranked=st.lists(st.none() | st.integers(-1, 3), max_size=5),
    missed=st.lists(st.integers(-1, 3), max_size=2),
    cutoff=st.none() | st.integers(1, 9),
    p=st.sampled_from([0.3, 0.95]),
)
def test_compatibility_is_the_overlap_with_the_nearest_of_all_ideal_lists(
    ranked: list[int | None], missed: list[int], cutoff: int | None, p: float
) -> None:
    items = dict(enumerate([*ranked, *missed]))
    relevant = {item: grade for item, grade in items.items() if grade is not None and grade >= 1}
    listed, depth = list(range(len(ranked))), cutoff or max(len(ranked), len(relevant))
    expected = max(
        overlap(listed, ideal, depth=depth, p=p) / overlap(ideal, ideal, depth=depth, p=p)
        if ideal
        else 0.0
        for ideal in ideal_lists(relevant)
    )
    lists = np.array([np.nan if grade is None else float(grade) for grade in ranked]).reshape(1, -1)
    grades = [float(grade) for grade in items.values() if grade is not None]
    judged = Judged(lists, np.array(grades).reshape(1, -1))
    (score,) = find_metric(f"Compat(p={p})", METRICS)(judged, cutoff=cutoff)
    assert score == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.mark.parametrize("depth", [5, 30])
def test_compatibility_is_that_of_ir_measures(depth: int) -> None:
    judged = judge(*random_case(7, n_users=20, n_items=60, depth=depth, n_judged=20))
    for p in (0.5, 0.95):
        ours = find_metric(f"Compat(rel=1,p={p})", METRICS)(judged)
        theirs = find_metric(f"ir_measures:Compat(p={p})", METRICS)(judged)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def test_grades_above_the_top_of_the_scale_are_refused() -> None:
    run, qrels = random_case(7, n_users=5, n_items=60, depth=20, n_judged=20)
    with pytest.raises(InputError, match="`top` is 4, but the qrels hold the grade 5"):
        find_metric("ERR(top=4)", METRICS)(judge(run, qrels))


@given(case=runs_and_qrels(), cutoff=st.integers(1, 10))
def test_pooling_what_is_retrieved_turns_trec_evals_infap_into_the_papers(
    case: tuple[Run, Qrels], cutoff: int
) -> None:
    run, qrels = case
    scores = METRICS["infAP_trec"](judge(run, pool(qrels, run)), cutoff=cutoff)
    expected = METRICS["infAP"](judge(run, qrels), cutoff=cutoff)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


@examples(30)
@given(case=runs_and_qrels(lowest=-2), cutoff=st.none() | st.integers(1, 10))
def test_scores_stay_in_the_range_that_is_declared(
    case: tuple[Run, Qrels], cutoff: int | None
) -> None:
    judged = judge(*case, known_items())
    for name, metric in METRICS.items():
        scores = metric(judged, cutoff=cutoff)
        assert scores.min() >= metric.low, name
        assert scores.max() <= metric.high + 1e-12, name


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("RBP(p=1)", r"'p' must be a number, above 0 and below 1, got 1\."),
        ("SetF(beta=0)", "'beta' .*, got 0"),
        ("IPrec(recall=1.5)", "'recall' .*, got 1.5"),
        ("IAP(rounding=down)", "'rounding' .*, got 'down'"),
        ("Rprec(multiple=0)", "'multiple' .*, got 0"),
        ("Q-measure(beta=high)", "'beta' .*, got 'high'"),
        ("ERR(top=4.5)", "'top' .*, got 4.5"),
        ("nDCG(gains=stars)", "'gains' .*, got 'stars'"),
        ("nDCG(gains={-1:2})", "'gains' .*, got {-1: 2}"),
        ("nDCG(gains={1:-2})", "is no grade:gain|got {1: -2}"),
        ("nDCG(discount=log)", "'discount' .*, got 'log'"),
    ],
)
def test_an_option_out_of_its_range_is_refused(name: str, finding: str) -> None:
    with pytest.raises(InputError, match=finding):
        find_metric(name, METRICS)


@pytest.mark.parametrize(
    "name", [name for name, metric in METRICS.items() if metric.higher_is_better]
)
def test_an_empty_list_scores_zero_where_more_is_better(name: str) -> None:
    empty = Run("empty", np.full((1, 5), -1, dtype=np.int32))
    qrels = qrels_from_columns(*np.array([[0, 0], [1, 2], [1, 1]]), n_users=1, relevance_level=1)
    assert METRICS[name](judge(empty, qrels, known_items()), cutoff=3).tolist() == [0.0]


@pytest.mark.parametrize("name", METRICS)
def test_a_user_without_judgements_scores_zero_unless_judgements_do_not_matter(name: str) -> None:
    run = Run("full", np.arange(5, dtype=np.int32)[np.newaxis])
    catalogue = known_items(12, 1)

    def score(grades: dict[int, int]) -> float:
        items, values = (np.array([*column], dtype=int) for column in (grades, grades.values()))
        qrels = qrels_from_columns(0 * items, items, values, n_users=1, relevance_level=1)
        return float(METRICS[name](judge(run, qrels, catalogue), cutoff=3)[0])

    judged = [score({0: 1, 1: 0, 5: 0}), score({2: 1}), score({0: 0, 7: 1})]
    uses_judgements = len({*judged}) > 1
    assert score({}) == (0 if uses_judgements else judged[0])


@pytest.mark.parametrize("name", METRICS)
def test_lattice_scales_make_scores_whole(name: str) -> None:
    run, qrels = random_case(5, n_users=200, n_items=60, depth=20, n_judged=20)
    for cutoff in (1, 5, 10, 20):
        scale = METRICS[name].lattice(cutoff)
        if scale is not None:
            hits = METRICS[name](judge(run, qrels, known_items()), cutoff=cutoff) * scale
            np.testing.assert_allclose(hits, np.rint(hits), atol=1e-9)


def write_plugin(folder: Path, body: str) -> Path:
    path = folder / "my_metric.py"
    path.write_text(
        "import numpy as np\nfrom harness.metrics.shared.metric import metric\n"
        "@metric('first', source='here')\n"
        f"def first(judged, *, cutoff=None):\n    {body}\n"
    )
    return path


def test_a_metric_must_return_one_value_per_user(tmp_path: Path) -> None:
    first = available_metrics([write_plugin(tmp_path, "return judged.relevant")])["first"]
    with pytest.raises(InputError, match=r"'first' must return one value per user"):
        first(Judged(np.array([[1.0]]), np.ones((1, 1))))


def test_a_metric_must_return_finite_values(tmp_path: Path) -> None:
    first = available_metrics([write_plugin(tmp_path, "return np.array([np.nan])")])["first"]
    with pytest.raises(InputError, match=r"got nan at cut-off 5 for user number 0"):
        first(Judged(np.array([[1.0]]), np.ones((1, 1))), cutoff=5)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("np.nan", pytest.raises(InputError, match=r"must return .* for user 'bob'")),
        ("-0.5", pytest.warns(InputWarning, match="outside its range, 0 to 1")),
        ("1.5", pytest.warns(InputWarning, match="outside its range, 0 to 1")),
    ],
)
def test_scores_outside_the_range_are_told_and_undefined_ones_refused(
    tmp_path: Path, value: str, expected: Any
) -> None:
    is_odd = "(judged.n_users == 2) & (judged.n_relevant == 2)"
    body = f"return np.where({is_odd}, {value}, 1.0)"
    first = available_metrics([write_plugin(tmp_path, body)])["first"]
    lists = {"a": {"ann": {"x": 1.0}, "bob": {"x": 1.0}}}
    judged = {"ann": {"x": 1}, "bob": {"x": 1, "y": 1}}
    with expected:
        harness.score(lists, judged, first @ 5)


def test_a_geometric_mean_is_trec_evals_gm_map() -> None:
    run, qrels = random_case(5, n_users=40, n_items=80, depth=20, n_judged=30)
    scores = pytrec_eval_scores(run, qrels, "gm_map")  # of one topic: log(max(AP, 1e-5))
    metric = find_metric("AP(mean=geometric)", built_in_metrics())
    found = metric(judge(run, qrels))
    np.testing.assert_allclose(found, scores, rtol=0, atol=1e-12)
    assert abs(metric.average(found) - np.exp(np.mean(scores))) < 1e-12


def test_logarithms_of_scores_are_in_the_range_and_on_no_lattice() -> None:
    metric = find_metric("P(mean=geometric)", built_in_metrics())
    assert (metric.low, metric.high) == (np.log(1e-5), 0.0)
    assert metric.lattice(10) is None


@examples(30)
@given(case=runs_and_qrels(), level=st.integers(1, 5))
def test_the_relevance_level_of_a_name_is_that_of_the_qrels(
    case: tuple[Run, Qrels], level: int
) -> None:
    run, qrels = case
    judged, levelled = (
        judge(run, seen, known_items()) for seen in (qrels, replace(qrels, relevance_level=level))
    )
    for name in (name for name, metric in METRICS.items() if metric.has_level):
        for options in ("", ",condensed=true"):
            named = find_metric(f"{name}(rel={level}{options})", METRICS)(judged, cutoff=5)
            expected = find_metric(f"{name}({options})", METRICS)(levelled, cutoff=5)
            np.testing.assert_array_equal(named, expected, err_msg=name)


def test_a_metric_is_tried_out_with_grades_that_are_in_the_data() -> None:
    """The highest grade is 1, and so is the top of the range: nothing is warned of."""

    @harness.metric("top-grade", source="by hand")
    def top_grade(judged: Judged, *, cutoff: int | None = None) -> Any:
        return judged.gains[:, :cutoff].max(axis=1, initial=0.0)

    lists = {"a": {"ann": {"x": 1.0}, "bob": {"x": 1.0}}}
    judged = {"ann": {"x": 1}, "bob": {"x": 0, "y": 1}}
    assert harness.score(lists, judged, top_grade @ 5).mean_values().tolist() == [[0.5]]
