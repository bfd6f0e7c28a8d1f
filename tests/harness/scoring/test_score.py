"""The fused kernel against the readable definitions."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from analyses.intervals.resampling import random_blocks
from analyses.shared.measure import Measure, Measures
from harness.metrics import infap
from harness.metrics.shared.metric import Metric
from harness.metrics.shared.register import built_in_metrics, find_metric
from harness.scoring import blocks as judging
from harness.scoring import kernel
from harness.scoring.kernel import FUSED
from harness.scoring.score import SampleScorer, deepest_rank, depth_needed, is_fused, score
from qrels import Judged, Qrels, judge
from runs import Run
from tests.conftest import examples
from tests.lists import known_items, means_on, random_case, runs_and_qrels, users_on

METRICS = {name: metric for name, metric in built_in_metrics().items() if not metric.needs}


def by_definition(
    runs: Sequence[Run],
    qrels: Qrels,
    measures: Sequence[Measure],
    kept: NDArray[np.bool_],
    metrics: Mapping[str, Metric] = METRICS,
) -> NDArray[np.float64]:
    users = np.arange(qrels.n_users).astype(np.str_)
    means = [
        score(
            runs,
            qrels.keep(sample),
            Measures(measures),
            metrics,
            users=users,
            catalogue=known_items(),
        ).mean_values()
        for sample in kept.T
    ]
    return np.stack(means, axis=-1)


GEOMETRIC = [f"{name}(mean=geometric)" for name in FUSED]
NOT_FUSED = ["RBP(p=0.5)", "nDCG(gains=exp)", "P(rel=4)"]
NOT_FUSED += [f"{name}(condensed=true)" for name in ("P", "AUC", "nDCG", "infAP_trec")]
NOT_FUSED += [name for name in METRICS if name not in FUSED]
NOT_FUSED += ["EPC(relevance=binary)", "MSI(discount=log2,relevance=graded)", "Recall(beta=0.5)"]
NOT_FUSED += ["EILD(discount=0.85,relevance=graded)", "Calibration(discount=log2)"]


@examples(30)
@given(case=runs_and_qrels(), seed=st.integers(0, 99), cutoffs=st.sets(st.integers(1, 12)))
def test_the_kernel_equals_the_definitions(
    case: tuple[Run, Qrels], seed: int, cutoffs: set[int]
) -> None:
    run, qrels = case
    measures = [Measure(name, cutoff) for name in FUSED for cutoff in sorted(cutoffs | {8})]
    kept = np.random.default_rng(seed).random((len(qrels.items), 3)) < 0.7
    kept[:, 0] = True
    means = means_on(SampleScorer([run], qrels, measures, METRICS), qrels, kept)
    expected = by_definition([run], qrels, measures, kept)
    np.testing.assert_allclose(means, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", FUSED)
def test_the_kernel_equals_the_definition_on_long_lists(name: str) -> None:
    cases = [random_case(seed, n_users=60, n_items=300, depth=100, n_judged=40) for seed in (1, 2)]
    runs, qrels = [run for run, _ in cases], cases[0][1]
    measures = [Measure(name, cutoff) for cutoff in (1, 5, 10, 50, 100)]
    kept = np.random.default_rng(4).random((len(qrels.items), 5)) < [1.0, 0.9, 0.5, 0.1, 0.0]
    means = means_on(SampleScorer(runs, qrels, measures, METRICS), qrels, kept)
    expected = by_definition(runs, qrels, measures, kept)
    np.testing.assert_allclose(means, expected, rtol=0, atol=1e-12)


def test_samples_do_not_depend_on_their_neighbours() -> None:
    run, qrels = random_case(6, n_users=60, n_items=300, depth=100, n_judged=40)
    measures = [Measure(name, cutoff) for name in FUSED for cutoff in (5, 100)]
    kept = np.random.default_rng(4).random((len(qrels.items), 7)) < 0.5
    scorer = SampleScorer([run], qrels, measures, METRICS)
    np.testing.assert_array_equal(
        means_on(scorer, qrels, kept)[:, :, 3], means_on(scorer, qrels, kept[:, 3:4])[:, :, 0]
    )


@pytest.mark.parametrize("name", NOT_FUSED)
def test_what_is_not_fused_takes_the_readable_road(name: str) -> None:
    run, qrels = random_case(8, n_users=20, n_items=60, depth=20, n_judged=20)
    metrics = {name: find_metric(name, METRICS)}
    measures = [Measure(name, cutoff) for cutoff in (1, 5, 20)]
    kept = np.random.default_rng(4).random((len(qrels.items), 3)) < [1.0, 0.5, 0.0]
    means = means_on(SampleScorer([run], qrels, measures, metrics, known_items()), qrels, kept)
    expected = by_definition([run], qrels, measures, kept, metrics)
    np.testing.assert_allclose(means, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["nDCG", "AP(mean=geometric)", "AUC", "P(rel=4)", "MSI"])
def test_weighted_sums_are_those_of_the_users_times_their_weights(name: str) -> None:
    run, qrels = random_case(8, n_users=20, n_items=60, depth=20, n_judged=20)
    metrics, measures = {name: find_metric(name, METRICS)}, [Measure(name, k) for k in (5, 20)]
    kept = np.random.default_rng(4).random((len(qrels.items), 3)) < [1.0, 0.5, 0.0]
    weights, blocks = np.arange(20) % 4 / 1.5, np.arange(20) % 3
    plain, heavy = (
        SampleScorer([run], qrels, measures, metrics, known_items(), weights=each)
        for each in (None, weights)
    )
    by_user = users_on(plain, qrels, kept) * weights[:, np.newaxis]
    expected = np.stack([by_user[:, :, blocks == block].sum(axis=2) for block in range(3)], axis=1)
    np.testing.assert_allclose(heavy(kept, blocks=blocks), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NOT_FUSED)
def test_every_built_in_metric_needs_judged_ranks_alone(name: str) -> None:
    run, qrels = random_case(8, n_users=20, n_items=60, depth=20, n_judged=20)
    metrics = {name: find_metric(name, METRICS)}
    measures = [Measure(name, cutoff) for cutoff in (1, 5, 20)]
    assert not SampleScorer([run], qrels, measures, metrics, known_items()).by_definition


def test_condensed_lists_reach_below_the_deepest_cutoff() -> None:
    run, qrels = random_case(8, n_users=20, n_items=60, depth=20, n_judged=20)
    label = "P(condensed=true)"
    metrics = {"P": METRICS["P"], label: find_metric(label, METRICS)}
    measures = [Measure("P", 5), Measure(label, 5)]
    kept = np.random.default_rng(4).random((len(qrels.items), 3)) < [1.0, 0.5, 0.0]
    scorer = SampleScorer([run], qrels, measures, metrics)
    judged = judge(run, qrels.keep(kept[:, 1]))
    expected = [metrics[measure.metric](judged, cutoff=5).mean() for measure in measures]
    means = means_on(scorer, qrels, kept)[:, 0, 1]
    np.testing.assert_allclose(means, expected, rtol=0, atol=1e-12)
    assert means[1] > means[0]
    np.testing.assert_allclose(
        by_definition([run], qrels, measures, kept, metrics)[:, 0, 1], expected, rtol=0, atol=1e-12
    )


def share_unjudged(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    return np.isnan(judged.grades[:, :cutoff]).mean(axis=1)


def discounted_by_column(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    return (judged.relevant / np.arange(1, judged.grades.shape[1] + 1))[:, :cutoff].sum(axis=1)


def of_full_lists_only(judged: Judged, *, cutoff: int | None = None) -> NDArray[np.float64]:
    return judged.relevant @ np.ones(20)


@pytest.mark.parametrize("function", [share_unjudged, discounted_by_column, of_full_lists_only])
def test_a_metric_that_needs_every_rank_gets_it(function: Any) -> None:
    run, qrels = random_case(8, n_users=20, n_items=60, depth=20, n_judged=20)
    metrics = {"own": Metric("own", function, source="here", high=np.inf)}
    measures = [Measure("own", cutoff) for cutoff in (1, 5, 20)]
    kept = np.random.default_rng(4).random((len(qrels.items), 3)) < [1.0, 0.5, 0.0]
    scorer = SampleScorer([run], qrels, measures, metrics)
    assert scorer.by_definition == ("own",)
    expected = by_definition([run], qrels, measures, kept, metrics)
    np.testing.assert_allclose(means_on(scorer, qrels, kept), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("others", [[], ["RBP"]])
def test_the_kernel_equals_the_definitions_at_any_depths(others: list[str]) -> None:
    depths, n_judged = (30, 60), 80  # ideals of whole lists are longer than the lists
    cases = [
        random_case(depth, n_users=40, n_items=300, depth=depth, n_judged=n_judged)
        for depth in depths
    ]
    runs, qrels = [run for run, _ in cases], cases[0][1]
    mixed = [Measure("nDCG", 3), Measure("AP", 1000), Measure("bpref", 7)]
    whole = [Measure(name) for name in (*FUSED, *others)]
    measures = [*mixed, *whole, *(Measure(name, 200) for name in others)]
    kept = np.random.default_rng(4).random((len(qrels.items), 3)) < [1.0, 0.6, 0.1]
    means = means_on(SampleScorer(runs, qrels, measures, METRICS), qrels, kept)
    expected = by_definition(runs, qrels, measures, kept)
    np.testing.assert_allclose(means, expected, rtol=0, atol=1e-12)


def test_another_relevance_level_goes_through_the_kernel_too() -> None:
    run, qrels = random_case(3, n_users=40, n_items=80, depth=20, n_judged=30)
    labels = [f"{name}(rel=2)" for name in FUSED if METRICS[name].has_level]
    own = {**METRICS, **{label: find_metric(label, METRICS) for label in labels}}
    measures = [Measure(label, 10) for label in [*labels, "AP"]]
    kept = np.ones((len(qrels.items), 1), dtype=np.bool_)
    users = np.arange(qrels.n_users).astype(np.str_)
    expected = score([run], qrels, Measures(measures), own, users=users).values
    found = users_on(SampleScorer([run], qrels, measures, own), qrels, kept)[..., 0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("label", GEOMETRIC)
def test_the_kernel_knows_geometric_means(label: str) -> None:
    run, qrels = random_case(3, n_users=300, n_items=80, depth=20, n_judged=30)
    own = {label: find_metric(label, METRICS)}
    measures = [Measure(label, cutoff) for cutoff in (1, 10)]
    kept = np.random.default_rng(4).random((len(qrels.items), 3)) < [1.0, 0.5, 0.0]
    scorer = SampleScorer([run], qrels, measures, own)
    assert not scorer.by_definition
    expected = by_definition([run], qrels, measures, kept, own)
    np.testing.assert_allclose(means_on(scorer, qrels, kept), expected, rtol=0, atol=1e-12)
    users = users_on(scorer, qrels, kept)
    np.testing.assert_allclose(users.mean(axis=2), expected, rtol=0, atol=1e-12)


def test_metrics_with_other_options_take_the_readable_road() -> None:
    assert is_fused(find_metric("P(rel=2)", METRICS))
    assert not is_fused(
        Metric("P", METRICS["P"].function, source="here", option_values=(("new", 1),))
    )


def many_lists() -> tuple[list[Run], Qrels, NDArray[np.bool_]]:
    """Three systems for 50 users with few or many judgements, and nine samples of these."""
    cases = [random_case(seed, n_users=50, n_items=90, depth=40, n_judged=20) for seed in (1, 2, 3)]
    qrels = cases[0][1].keep(np.random.default_rng(5).random(1000) < np.arange(1000) / 1000)
    kept = np.random.default_rng(4).random((len(qrels.items), 9)) < np.linspace(1, 0, 9)
    return [run for run, _ in cases], qrels, kept


def test_a_scorer_refuses_masks_and_blocks_of_another_length() -> None:
    runs, qrels, kept = many_lists()
    scorer = SampleScorer(runs, qrels, ALL_ROADS[:1], METRICS)
    blocks = np.zeros(qrels.n_users, dtype=np.intp)
    for is_kept, of_users in ((kept[1:], blocks), (kept, blocks[1:])):
        with pytest.raises(ValueError, match=f"do not fit {len(kept):,} judgements of"):
            scorer(is_kept, blocks=of_users)
    users = blocks[1:].astype(np.str_)
    with pytest.raises(ValueError, match=f"{len(users)} ids do not fit the {len(blocks)} users"):
        score(runs, qrels, Measures(ALL_ROADS[:1]), METRICS, users=users)


ALL_ROADS = [Measure(name, cutoff) for name in [*FUSED, "mine"] for cutoff in (1, 3, 10, 40, 60)]
WITH_MINE = {**METRICS, "mine": Metric("mine", METRICS["nDCG"].function, source="here")}


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 4, 9])
def test_neither_threads_nor_how_samples_are_split_change_a_bit(size: int, n_threads: int) -> None:
    runs, qrels, kept = many_lists()
    whole = means_on(SampleScorer(runs, qrels, ALL_ROADS, WITH_MINE), qrels, kept)
    scorer = SampleScorer(runs, qrels, ALL_ROADS, WITH_MINE)
    parts = [kept[:, first : first + size] for first in range(0, 9, size)]
    with ThreadPoolExecutor(n_threads) as workers:
        found = np.concatenate(list(workers.map(partial(means_on, scorer, qrels), parts)), axis=-1)
    np.testing.assert_array_equal(found, whole)


@pytest.mark.slow
@pytest.mark.parametrize("users_at_once", [1, 7, 49, 50])
def test_blocks_of_users_change_no_bit(users_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, qrels, kept = many_lists()
    monkeypatch.setattr(judging, "USERS_AT_ONCE", users_at_once)
    found = users_on(SampleScorer(runs, qrels, ALL_ROADS, WITH_MINE), qrels, kept)
    for number, measure in enumerate(ALL_ROADS):
        if measure.metric == "mine":
            expected = on_whole_matrices(WITH_MINE["mine"], measure.cutoff, runs, qrels, kept)
            np.testing.assert_array_equal(found[number], expected)


def on_whole_matrices(
    metric: Metric, cutoff: int | None, runs: Sequence[Run], qrels: Qrels, kept: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Scores of shape (n_systems, n_users, n_samples), as one would write it down."""
    samples = [
        [metric(judge(run, qrels.keep(sample)), cutoff=cutoff) for run in runs] for sample in kept.T
    ]
    return np.stack(samples, axis=-1)


@pytest.mark.parametrize("name", FUSED)
def test_scores_do_not_depend_on_blocks_of_users_in_the_kernel(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, qrels, kept = many_lists()
    measures = [Measure(name, cutoff) for cutoff in (3, 40)]
    whole = users_on(SampleScorer(runs, qrels, measures, METRICS), qrels, kept)
    monkeypatch.setattr(kernel, "SUMS_AT_ONCE", 3000)
    found = users_on(SampleScorer(runs, qrels, measures, METRICS), qrels, kept)
    np.testing.assert_array_equal(found, whole)


def test_another_smoothing_of_infap_reaches_the_compiled_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs, qrels, kept = many_lists()
    for module in (infap, kernel):
        monkeypatch.setattr(module, "SMOOTHING", 0.5)
    found = users_on(SampleScorer(runs, qrels, [Measure("infAP", 20)], METRICS), qrels, kept)
    expected = on_whole_matrices(METRICS["infAP"], 20, runs, qrels, kept)
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("label", [*FUSED, "mine", "P(mean=geometric)"])
@pytest.mark.parametrize("sums_at_once", [1, 20_000])
def test_sums_of_blocks_are_those_of_their_users(
    label: str, sums_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, qrels, kept = many_lists()
    own = {label: WITH_MINE.get(label) or find_metric(label, METRICS)}
    blocks = random_blocks(50, n_blocks=7, seed=1)
    scorer = SampleScorer(runs, qrels, [Measure(label, cutoff) for cutoff in (3, 40)], own)
    monkeypatch.setattr(kernel, "SUMS_AT_ONCE", sums_at_once)
    sums = scorer(kept, blocks=blocks)
    users = users_on(scorer, qrels, kept)
    expected = np.stack([users[:, :, blocks == block].sum(axis=2) for block in range(7)], axis=1)
    np.testing.assert_allclose(sums, expected, rtol=0, atol=1e-12)


def test_lists_are_read_down_to_the_deepest_cut_off_or_whole() -> None:
    whole = {**METRICS, "P(condensed=true)": find_metric("P(condensed=true)", METRICS)}
    of = [Measure("P", 5), Measure("AP", 20)]
    assert (deepest_rank(of, whole), deepest_rank([], whole)) == (20, 0)
    assert deepest_rank([*of, Measure("P")], whole) == np.inf
    assert deepest_rank([*of, Measure("P(condensed=true)", 5)], whole) == np.inf
    runs = [
        Run(name, np.arange(depth, dtype=np.int32)[np.newaxis])
        for name, depth in (("a", 8), ("b", 12))
    ]
    assert depth_needed(runs, of, whole) == 12
    assert depth_needed(runs, of[:1], whole) == 5
    assert depth_needed(runs, [Measure("P")], whole) == 12
    assert depth_needed([], of, whole) == 0


def test_scores_know_which_measures_fall_and_every_run_is_told() -> None:
    run, qrels = random_case(8, n_users=6, n_items=60, depth=20, n_judged=20)
    done: list[int] = []
    scores = score(
        [run, Run("other", run.items[:, ::-1])],
        qrels,
        Measures([Measure("ARP", 5), Measure("P", 5)]),
        METRICS,
        users=np.array([*"abcdef"]),
        catalogue=known_items(),
        advance=lambda: done.append(1),
    )
    assert (len(done), scores.systems, scores.values.shape) == (2, (run.system, "other"), (2, 2, 6))
    assert {*scores.measures.lower_is_better_for} == {"ARP", "Calibration"}
