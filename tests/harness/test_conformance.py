"""Every value in ../shared/conformance that is of a metric we have.

Not compared, for want of a metric: rbp_resid and unj; set_map (SetAP), set_relative_P, utility, G,
binG, ndcg_rel and Rndcg, counts and runid, all of which test_evaluating.py compares; and rbp on
graded qrels, where trec_eval's gain is graded and ignores ``-l``.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from harness.metrics.shared.metric import geometric_mean
from harness.metrics.shared.names import Value, parse_name, print_name
from harness.metrics.shared.register import built_in_metrics, find_metric
from qrels import Judged, judge
from qrels.trec import read_qrels
from runs import InputWarning
from runs.formats import read_run
from runs.run_file import common_items

FOLDER = Path(__file__).parents[2].parent / "shared" / "conformance"
TREC_EVAL = FOLDER / "trec_eval"
PROVIDER_CASES = FOLDER / "ir_measures" / "pytrec_eval_provider_cases.json"
PRINTED, EXACT = 5.05e-5, 1e-12

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"the outside expected values are not at {FOLDER}"
)

METRICS = built_in_metrics()
WHOLE = {
    "map": "AP",
    "ndcg": "nDCG",
    "ndcg_1=3,2=9,4=4.5": "nDCG(gains={1:3,2:9,4:4.5})",
    "recip_rank": "RR",
    "bpref": "bpref",
    "infAP": "infAP_trec",
    "Rprec": "Rprec",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_F": "SetF",
    "11pt_avg": "IAP",
}
CUT = {
    "P": "P",
    "recall": "Recall",
    "map_cut": "AP",
    "ndcg_cut": "nDCG",
    "success": "Success",
    "relative_P": "RelP",
}
TWO_DECIMALS = {"iprec_at_recall": "IPrec(recall={})", "Rprec_mult": "Rprec(multiple={})"}
BINARY_ONLY = {"rbp": "RBP"}
GEOMETRIC = {"gm_map": "AP", "gm_bpref": "bpref"}
IR_MEASURES = {"R": "Recall", "infAP": "infAP_trec"}


@dataclass(frozen=True)
class Setting:
    """What trec_eval was called with: files, ``-l``, ``-M`` and ``-J``."""

    qrels: str = "qrels.test"
    run: str = "results.test"
    level: int = 1
    depth: int | None = None
    judged_only: bool = False


TEST = Setting()
GRADED = Setting("qrels.rel_level", level=2)
TRUNCATED = Setting(run="results.trunc")
COMMENT = Setting("qrels.comment.test.gz", "results.comment.test.gz")
SETTINGS = {
    "out.test": TEST,
    "out.test.a": TEST,
    "out.test.aq": TEST,
    "out.test.meas_params": TEST,
    "out.test.aqc": TRUNCATED,
    "out.test.aqcM": replace(TRUNCATED, depth=100),
    "out.test.aql": GRADED,
    "out.comment.test": COMMENT,
    "gen.qc.test": TEST,
    "gen.qcJ.test": replace(TEST, judged_only=True),
    "gen.qc.trunc": TRUNCATED,
    "gen.qc.302": Setting("qrels-302.test", "results-302.test"),
    "gen.qcl2.rel_level": GRADED,
    "gen.qcl4.rel_level": replace(GRADED, level=4),
    **{f"gen.qcl2M{n}.rel_level": replace(GRADED, depth=n) for n in (5, 10, 20, 50, 100)},
}
COMPARED = {
    "v9.0.8/out.test": 25,
    "v9.0.8/out.test.a": 81,
    "v9.0.8/out.test.aq": 318,
    "v9.0.8/out.test.meas_params": 80,
    "v9.0.8/out.test.aqc": 239,
    "v9.0.8/out.test.aqcM": 239,
    "v9.0.8/out.test.aql": 318,
    "v9.0.8/gen.qc.test": 209,
    "v9.0.8/gen.qcJ.test": 209,
    "v9.0.8/gen.qc.trunc": 157,
    "v9.0.8/gen.qc.302": 105,
    "v9.0.8/gen.qcl2.rel_level": 209,
    "v9.0.8/gen.qcl4.rel_level": 209,
    "v9.0.8/gen.qcl2M5.rel_level": 28,
    "v9.0.8/gen.qcl2M10.rel_level": 28,
    "v9.0.8/gen.qcl2M20.rel_level": 28,
    "v9.0.8/gen.qcl2M50.rel_level": 28,
    "v9.0.8/gen.qcl2M100.rel_level": 28,
    "v10.0/out.test": 25,
    "v10.0/out.test.a": 82,
    "v10.0/out.test.aq": 322,
    "v10.0/out.test.meas_params": 80,
    "v10.0/out.test.aqc": 322,
    "v10.0/out.test.aqcM": 322,
    "v10.0/out.test.aql": 318,
    "v10.0/out.comment.test": 25,
    "v10.0/gen.qc.test": 209,
    "v10.0/gen.qcJ.test": 209,
    "v10.0/gen.qc.trunc": 209,
    "v10.0/gen.qc.302": 105,
    "v10.0/gen.qcl2.rel_level": 209,
    "v10.0/gen.qcl4.rel_level": 209,
    "v10.0/gen.qcl2M5.rel_level": 28,
    "v10.0/gen.qcl2M10.rel_level": 28,
    "v10.0/gen.qcl2M20.rel_level": 28,
    "v10.0/gen.qcl2M50.rel_level": 28,
    "v10.0/gen.qcl2M100.rel_level": 28,
    "full_precision_pytrec_eval.json, 0": 246,
    "full_precision_pytrec_eval.json, 1": 246,
    "full_precision_pytrec_eval.json, 2": 164,
    "pytrec_eval_provider_cases.json": 106,
}
"""How many values of each file were compared, so that none is lost in silence."""


@cache
def judged_lists(
    qrels: Path, run: Path, level: int, depth: int | None
) -> tuple[Judged, tuple[str, ...]]:
    """Read both files with our readers; lists with the ids of their users."""
    judgements = read_qrels(qrels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        lists = read_run(run)
    items = common_items([lists], judgements.items)
    judged = judge(
        lists.to_run(judgements.users, items, depth=depth),
        judgements.to_qrels(items, relevance_level=level),
    )
    return judged, tuple(judgements.users.ids.tolist())


def without_unjudged(judged: Judged) -> Judged:
    """Drop what is not judged and move the rest up, as ``-J`` does."""
    kept = judged.grades >= 0
    order = np.argsort(~kept, axis=1, kind="stable")
    grades = np.where(kept, judged.grades, np.nan)
    moved_up = np.take_along_axis(grades, order, axis=1)
    return replace(judged, grades=moved_up, lengths=kept.sum(axis=1))


def our_name(printed: str, *, graded: bool) -> tuple[str, int | None] | None:
    """Metric and cut-off of one of trec_eval's names; None if we have no such metric."""
    stem, _, number = printed.rpartition("_")
    if stem in CUT and number.isdigit():
        return CUT[stem], int(number)
    if stem in TWO_DECIMALS:
        return TWO_DECIMALS[stem].format(number), None
    whole = WHOLE if graded else WHOLE | BINARY_ONLY
    return (whole[printed], None) if printed in whole else None


def printed_values(path: Path) -> Iterator[tuple[str, str, float]]:
    """Measure, topic and value of the lines that hold a number."""
    for line in path.read_text().splitlines():
        measure, topic, value = (field.strip() for field in line.split("\t"))
        if re.fullmatch(r"-?[0-9.]+", value):
            yield measure, topic, float(value)


def our_value(
    judged: Judged,
    topics: tuple[str, ...],
    printed: str,
    topic: str,
    *,
    graded: bool = True,
    rounding: str = "up",
) -> float | None:
    """Our value for one of trec_eval's; None if we have no such metric."""
    if printed in GEOMETRIC:
        return float(geometric_mean(METRICS[GEOMETRIC[printed]](judged)))
    named = our_name(printed, graded=graded)
    if named is None:
        return None
    metric = find_metric(named[0], METRICS)
    if "rounding" in [option.name for option in metric.options]:
        metric = metric.with_options({"rounding": rounding})
    scores = metric(judged, cutoff=named[1])
    return float(scores.mean() if topic == "all" else scores[topics.index(topic)])


def our_version(measure: str) -> tuple[str, int | None, bool] | None:
    """Metric, cut-off and ``-J`` of one of ir_measures' names; None if we have no such metric."""
    measure = re.sub(r"^IPrec(?:\((.*)\))?@([0-9.]+)$", r"IPrec(recall=\2,\1)", measure)
    theirs = re.split(r"\W", measure)[0]
    name = IR_MEASURES.get(theirs, theirs)
    if name not in METRICS or "relative" in measure:
        return None
    parsed = parse_name(measure)
    options: dict[str, Value] = dict(parsed.options)
    judged_only = options.pop("judged_only", None) == "True"
    return print_name(name, options), parsed.cutoff, judged_only


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "name"),
    [
        (version, name)
        for version in ("v9.0.8", "v10.0")
        for name, setting in SETTINGS.items()
        if (version, setting) != ("v9.0.8", COMMENT)
    ],
)
def test_what_trec_eval_prints_is_what_we_find(version: str, name: str) -> None:
    setting = SETTINGS[name]
    qrels, run = TREC_EVAL / setting.qrels, TREC_EVAL / setting.run
    judged, topics = judged_lists(qrels, run, setting.level, setting.depth)
    if setting.judged_only:
        judged = without_unjudged(judged)
    n_compared = 0
    for measure, topic, expected in printed_values(TREC_EVAL / version / name):
        value = our_value(
            judged,
            topics,
            measure,
            topic,
            graded=setting.level > 1,
            rounding="nearest" if version == "v10.0" else "up",
        )
        if value is not None:
            assert value == pytest.approx(expected, rel=0, abs=PRINTED), (measure, topic)
            n_compared += 1
    assert n_compared == COMPARED[f"{version}/{name}"]


def test_no_output_of_trec_eval_is_left_out() -> None:
    files = {str(path.relative_to(TREC_EVAL)) for path in TREC_EVAL.glob("v*/*")}
    assert files == {name for name in COMPARED if name.startswith("v")}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_doubles_of_pytrec_eval_are_ours(number: int) -> None:
    case = json.loads((FOLDER / "full_precision_pytrec_eval.json").read_text())[number]
    n_compared = 0
    for topic, values in case["values"].items():
        for measure, expected in values.items():
            stem, _, depth = measure.partition("_M")
            judged, topics = judged_lists(
                FOLDER / case["qrels"],
                FOLDER / case["run"],
                case["relevance_level"],
                int(depth) if depth else None,
            )
            value = our_value(judged, topics, stem, topic)
            assert value == pytest.approx(expected, rel=0, abs=EXACT), (measure, topic)
            n_compared += 1
    assert n_compared == COMPARED[f"full_precision_pytrec_eval.json, {number}"]


@pytest.mark.slow
def test_ir_measures_provider_cases_are_ours(tmp_path: Path) -> None:
    n_compared = 0
    for number, case in enumerate(json.loads(PROVIDER_CASES.read_text())):
        qrels, run = tmp_path / f"{number}.qrels", tmp_path / f"{number}.run"
        qrels.write_text("".join(f"{t} 0 {item} {grade}\n" for t, item, grade in case["qrels"]))
        run.write_text("".join(f"{t} Q0 {item} 0 {score} x\n" for t, item, score in case["run"]))
        for topic, measure, expected in case["expected"]:
            ours = our_version(measure)
            if ours is None:
                continue
            name, cutoff, judged_only = ours
            judged, topics = judged_lists(qrels, run, 1, None)
            seen = without_unjudged(judged) if judged_only else judged
            scores = find_metric(name, METRICS)(seen, cutoff=cutoff)
            value = scores[topics.index(topic)]
            assert value == pytest.approx(expected, rel=0, abs=EXACT), (number, measure, topic)
            n_compared += 1
    assert n_compared == COMPARED["pytrec_eval_provider_cases.json"]
