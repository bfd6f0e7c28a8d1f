"""Export of a study for other tools, and the commands that reproduce its means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.metrics.shared.names import parse_name, print_name
from harness.metrics.shared.register import built_in_metrics, find_metric
from harness.report.study_folder import TEST_FILE, TRAIN_FILE, FinishedStudy, warn_of_changes
from qrels import Judged, Qrels, Ratings, match, qrels_from_columns
from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.rating_tables import format_rating_lines, rating_table
from qrels.trec import format_qrels, read_qrels
from runs import InputError, Run
from runs.formats import format_run, read_run
from runs.run_file import RunFile, common_items
from runs.shared.files import write_whole

if TYPE_CHECKING:
    import pandas as pd
    from ir_measures import Measure as IrMeasure


EXPORTED = ("runs/", "qrels/", "split/", "truth/", "ids.csv")
"""What is handed on."""

AS_IT_IS = ("ids.csv", "truth/true.qrels")


def export_study(study: Path, target: Path) -> list[Path]:
    """Write TREC runs, qrels, pooled qrels and scripts of trec_eval's and ir_measures' commands.

    Of a study that begins with ratings, the split too: as RecBole's atomic files, and as the
    data frames that LensKit takes.

    In the *pooled* qrels of a run, every item that it retrieved and the qrels lack has grade -1:
    with them stock trec_eval prints the paper's infAP.
    Where numbers stand for ids, the table of ids goes with them; where the truth is known, what it
    says, and the lists that it judges.
    """
    finished = FinishedStudy.at(study)
    warn_of_changes(study, EXPORTED)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: the target of an export must be a new or empty folder.")
    level = int(finished.manifest["collection"]["relevance level"])
    paths = sorted((study / "runs").glob("*.parquet"))
    run_files = [read_run(path) for path in paths]
    judged = read_qrels(study / "qrels" / "test.qrels")
    items = common_items(run_files, judged.items)
    qrels = judged.to_qrels(items, relevance_level=level)
    measures = finished.means.measures
    named = (finished.name, measures.metrics, measures.cutoffs)
    contents: dict[Path, bytes] = {
        Path("qrels/test.qrels"): format_qrels(qrels, judged.users, items),
        Path("trec_eval.sh"): trec_eval_script(*named, level=level).encode(),
        Path("ir_measures.sh"): ir_measures_script(*named, level=level).encode(),
        **dict(split_layouts(study, finished.name)),
    }
    for path, file in zip(paths, run_files, strict=True):
        run = file.to_run(judged.users, items)
        contents[Path("runs") / f"{path.stem}.run"] = _as_trec(file)
        pooled = format_qrels(pool(qrels, run), judged.users, items)
        contents[Path("qrels/pooled") / f"{path.stem}.qrels"] = pooled
    for path in sorted((study / "truth/runs").glob("*.parquet")):
        contents[Path("truth/runs") / f"{path.stem}.run"] = _as_trec(read_run(path))
    for name in AS_IT_IS:
        if (study / name).is_file():
            contents[Path(name)] = (study / name).read_bytes()
    for path, content in contents.items():
        write_whole(target / path, content)
    return [target / path for path in contents]


def _as_trec(file: RunFile) -> bytes:
    return format_run(file.to_run(file.users, file.items), file.users, file.items)


def pool(qrels: Qrels, run: Run) -> Qrels:
    """Add, with grade -1, every item that the run retrieved for a judged user and nobody judged."""
    has_judgement = np.diff(qrels.offsets) > 0
    unjudged = (match(run, qrels) < 0) & (run.items >= 0) & has_judgement[:, None]
    user, column = np.nonzero(unjudged)
    return qrels_from_columns(
        np.concatenate([qrels.users, user]),
        np.concatenate([qrels.items, run.items[user, column]]),
        np.concatenate([qrels.grades, np.full(len(user), -1)]),
        n_users=qrels.n_users,
        relevance_level=qrels.relevance_level,
    )


ATOMIC_HEADER = ("user_id:token", "item_id:token", "rating:float", "timestamp:float")
LENSKIT_HEADER = ("user_id", "item_id", "rating", "timestamp")

RECBOLE_SETTINGS = """\
# Beside the folder {name}; say data_path where it is. RecBole wants three parts: the test part is
# named in the place of a validation part too, and eval_step: 0 keeps RecBole from choosing by it.
dataset: {name}
benchmark_filename: [part1, part3, part3]
load_col: {{inter: [{columns}]}}
eval_step: 0
"""


def split_layouts(study: Path, name: str) -> Iterator[tuple[Path, bytes]]:
    """Give training and test ratings as RecBole's atomic files and as LensKit's data frames.

    A study that does not begin with ratings has none.
    """
    if not (study / TRAIN_FILE).exists():
        return
    train, test = (read_ratings(study / file, format="csv") for file in (TRAIN_FILE, TEST_FILE))
    folder = Path("recbole")
    for part, ratings in {"part1": train, "part3": test}.items():
        lines = format_rating_lines(ratings, header=ATOMIC_HEADER, separator="\t")
        yield folder / name / f"{name}.{part}.inter", lines
    columns = ", ".join(rating_table(train, header=LENSKIT_HEADER).column_names)
    yield folder / f"{name}.yaml", RECBOLE_SETTINGS.format(name=name, columns=columns).encode()
    for part, ratings in {"train": train, "test": test}.items():
        yield Path("lenskit") / f"{part}.parquet", _parquet(ratings)


def _parquet(ratings: Ratings) -> bytes:
    from pyarrow import parquet

    stream = BytesIO()
    parquet.write_table(rating_table(ratings, header=LENSKIT_HEADER), stream)
    return stream.getvalue()


@dataclass(frozen=True)
class ToolNames:
    """What trec_eval and ir_measures call a metric; ``{level}`` stands for the relevance level.

    Runs are cut (``-M n`` in trec_eval) for a measure that takes no cut-off there. It may need the
    pooled qrels.
    """

    trec_eval: str
    ir_measures: str
    trec_eval_cuts: bool = False
    ir_measures_cuts: bool = False
    pooled: bool = False


def _uncut(trec_eval: str, ir_measures: str, *, pooled: bool = False) -> ToolNames:
    return ToolNames(trec_eval, ir_measures, True, True, pooled)


TOOL_NAMES = {
    "P": ToolNames("P", "P(rel={level})"),
    "Recall": ToolNames("recall", "R(rel={level})"),
    "AP": ToolNames("map_cut", "AP(rel={level})"),
    "nDCG": ToolNames("ndcg_cut", "nDCG"),
    "Success": ToolNames("success", "Success(rel={level})"),
    "RR": ToolNames("recip_rank", "RR(rel={level})", trec_eval_cuts=True),
    "bpref": _uncut("bpref", "Bpref(rel={level})"),
    "infAP": _uncut("infAP", "infAP(rel={level})", pooled=True),
    "infAP_trec": _uncut("infAP", "infAP(rel={level})"),
    "Rprec": _uncut("Rprec", "Rprec(rel={level})"),
    "SetP": _uncut("set_P", "SetP(rel={level})"),
    "SetR": _uncut("set_recall", "SetR(rel={level})"),
    "SetF": _uncut("set_F", "SetF(rel={level})"),
}

OPENING = """\
#!/bin/sh
# The means of the study {study}, by {tool}: run it in this folder.
# Compare with tables/means.csv of the study.{remark}
set -e
for run in runs/*.run; do
  name="$(basename "$run")"
  pooled="qrels/pooled/${{name%.run}}.qrels"
  echo "# $run"
{whole}  for n in {cutoffs}; do
    echo "# $run, cut to $n"
{cut}  done
done
"""
CUT_RUN = """\
    # ir_measures cuts lists for some measures only, so these are of a run that is cut.
    mkdir -p "cut/$n"
    awk -v n="$n" '$4 <= n' "$run" > "cut/$n/$name"
"""
NOTHING = "    :\n"


def trec_eval_script(
    study: str, metrics: Sequence[str], cutoffs: Sequence[int], *, level: int
) -> str:
    r"""Write the commands with which trec_eval prints the means of a study.

    Metrics are named with options, as in its table of means; the level is the lowest relevant grade
    where a metric does not name its own.
    """
    ranks = ",".join(map(str, cutoffs))
    whole: dict[int, list[str]] = {}
    cut: dict[tuple[int, bool], list[str]] = {}
    for names, metric_level in _all_tool_names(metrics, level):
        if names.trec_eval_cuts:
            measures = cut.setdefault((metric_level, names.pooled), [])
            measures.append(f"-m {names.trec_eval}")
        else:
            whole.setdefault(metric_level, []).append(f"-m {names.trec_eval}.{ranks}")
    return _script(
        study,
        "trec_eval 9 or 10 (four decimals)",
        metrics,
        cutoffs,
        whole=[
            f'  trec_eval -c -l {at} {" ".join(measures)} qrels/test.qrels "$run"\n'
            for at, measures in whole.items()
        ],
        cut=[
            f'    trec_eval -c -l {at} -M "$n" {" ".join(measures)} {_qrels(pooled)} "$run"\n'
            for (at, pooled), measures in cut.items()
        ],
    )


def ir_measures_script(
    study: str, metrics: Sequence[str], cutoffs: Sequence[int], *, level: int
) -> str:
    r"""Write the commands with which ir_measures prints the means of a study."""
    whole: list[str] = []
    cut: dict[bool, list[str]] = {}
    for names, metric_level in _all_tool_names(metrics, level):
        measure = names.ir_measures.format(level=metric_level)
        if names.ir_measures_cuts:
            cut.setdefault(names.pooled, []).append(measure)
        else:
            whole += [f"{measure}@{cutoff}" for cutoff in cutoffs]
    command = "ir_measures -p 12"
    return _script(
        study,
        "ir_measures",
        metrics,
        cutoffs,
        whole=[f'  {command} qrels/test.qrels "$run" "{" ".join(whole)}"\n'] if whole else [],
        cut=[CUT_RUN] * bool(cut)
        + [
            f'    {command} {_qrels(pooled)} "cut/$n/$name" "{" ".join(measures)}"\n'
            for pooled, measures in cut.items()
        ],
    )


def _tool_names(label: str, level: int) -> tuple[ToolNames, int] | None:
    """Give a metric's names elsewhere and its relevance level; no other option has any."""
    parsed = parse_name(label)
    own_level = parsed.options.get("rel", level)
    if parsed.name not in TOOL_NAMES or set(parsed.options) - {"rel"}:
        return None
    return TOOL_NAMES[parsed.name], int(str(own_level))


def _all_tool_names(labels: Sequence[str], level: int) -> list[tuple[ToolNames, int]]:
    found = (_tool_names(label, level) for label in labels)
    return [names for names in found if names is not None]


def _script(
    study: str,
    tool: str,
    metrics: Sequence[str],
    cutoffs: Sequence[int],
    *,
    whole: list[str],
    cut: list[str],
) -> str:
    alone = [label for label in metrics if _tool_names(label, 1) is None]
    return OPENING.format(
        study=study,
        tool=tool,
        remark=f"\n# It has no measure for {', '.join(alone)}." if alone else "",
        whole="".join(whole),
        cut="".join(cut) or NOTHING,
        cutoffs=" ".join(map(str, cutoffs)),
    )


def _qrels(pooled: bool) -> str:
    return '"$pooled"' if pooled else "qrels/test.qrels"


def ir_measure_of(text: str, *, relevance_level: int) -> IrMeasure:
    """Make a measure object for ir_measures of a metric of ours."""
    import ir_measures

    parsed = parse_name(text)
    metric = find_metric(text, built_in_metrics())
    if metric.is_geometric:
        raise InputError(f"{text}: ir_measures takes the arithmetic mean of every measure.")

    def score(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
        judged = _judged_user(qrels, run, relevance_level=relevance_level)
        return float(metric(judged, cutoff=parsed.cutoff)[0])

    label = print_name(metric.name, dict(metric.given), parsed.cutoff)
    return ir_measures.define_byquery(score, name=label, support_cutoff=False)


def _judged_user(qrels: pd.DataFrame, run: pd.DataFrame, *, relevance_level: int) -> Judged:
    """See one user's list in ir_measures' frames, ordered as trec_eval orders."""
    ranked = run.sort_values(["score", "doc_id"], ascending=[False, False]).doc_id
    grades = dict(zip(qrels.doc_id, qrels.relevance.astype(float), strict=True))
    listed = np.array([[grades.get(item, np.nan) for item in ranked]]).reshape(1, -1)
    judgements = np.array([list(grades.values())], dtype=np.float64)
    return Judged(listed, judgements, relevance_level=relevance_level)
