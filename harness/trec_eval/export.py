"""Export of a study for other tools, and the commands that reproduce its means."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from harness.metrics.shared.names import parse_name
from harness.report.manifest import Manifest
from harness.report.study_folder import (
    SUBTOPICS_FILE,
    TEST_FILE,
    TRAIN_FILE,
    TRUE_SUBTOPICS_FILE,
    FinishedStudy,
    warn_of_changes,
)
from qrels import Qrels, match, qrels_from_columns
from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.rating_lines import format_rating_lines, rating_table
from qrels.trec import format_qrels, read_qrels
from runs import InputError, Run
from runs.formats import format_run, read_run
from runs.run_file import RunFile, common_items
from runs.shared.files import parquet_bytes, path_within, write_within
from runs.shared.ids import escaped

if TYPE_CHECKING:
    import pandas as pd

EXPORTED = ("runs/", "qrels/", "split/", "truth/", "ids.csv")
"""Files and folders of a study that are exported."""

COPIED = ("ids.csv", SUBTOPICS_FILE, "truth/true.qrels", TRUE_SUBTOPICS_FILE)
"""Files that are exported as they are."""

RunFormat = Literal["parquet", "lenskit", "recbole", "ir_metadata"]


def export_study(study: Path, target: Path, *, run_formats: Sequence[RunFormat] = ()) -> list[Path]:
    """Write TREC runs, qrels, pooled qrels and scripts of trec_eval's and ir_measures' commands.

    ``study`` is the folder of a finished study, ``target`` the folder of the export. A study file
    beside them names the runs, the qrels and their lowest relevant grade. Warns if files of the
    study were changed after it was made.

    Runs are written in other formats, too, if these are asked for.

    Of a study that begins with ratings, the split too: as RecBole's atomic files, and as the
    data frames that LensKit takes.

    In the *pooled* qrels of a run, every item that it retrieved and the qrels lack has grade -1:
    with them stock trec_eval prints the paper's infAP. Where numbers stand for ids, the table of
    ids is exported; where the truth is known, its judgements and the lists that it judges.

    Returns
    -------
    The files that were written.

    Raises
    ------
    InputError
        If the target is not a new or empty folder, the study has no judgements, or a name in the
        study folder would lead out of the target.
    """
    finished = FinishedStudy.open(study)
    warn_of_changes(study, EXPORTED)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: the target of an export must be a new or empty folder.")
    level = finished.manifest.collection.get("relevance level")
    if level is None:
        raise InputError(f"{study}: the study has no judgements, so there is nothing to export.")
    contents = _exported_contents(finished, study, level, run_formats)
    # Names come from the study folder: all are looked at before a file is written.
    for name in contents:
        path_within(target, name)
    return [write_within(target, name, content) for name, content in contents.items()]


def _exported_contents(
    finished: FinishedStudy, study: Path, level: int, run_formats: Sequence[RunFormat]
) -> dict[str, bytes]:
    """Make the files of an export: their contents by name, which may be a path in the export.

    ``finished`` reads the study folder ``study``; ``level`` is the lowest relevant grade. Runs are
    in TREC's format and in the formats ``run_formats``. Raises InputError if a file of the study
    cannot be read.
    """
    paths = _runs_in(finished, "runs")
    run_files = [read_run(path) for path in paths]
    judgements = read_qrels(finished.path_of("qrels/test.qrels"))
    items = common_items(run_files, judgements.items)
    qrels = judgements.to_qrels(items, relevance_level=level)
    contents = {"qrels/test.qrels": format_qrels(qrels, judgements.users, items)}
    measures = finished.means.measures
    for tool in TOOLS:
        commands = script(tool, finished.name, measures.metrics, measures.cutoffs, level=level)
        contents[f"{tool}.sh"] = commands.encode()
    contents["study.toml"] = _study_file(finished, level).encode()
    contents |= split_layouts(study, finished.name)
    for path, run_file in zip(paths, run_files, strict=True):
        contents[f"runs/{path.stem}.run"] = _as_trec(run_file)
        for format_ in run_formats:
            name, content = _in_format(format_, path, run_file, finished.manifest)
            contents[name] = content
        pooled = pool(qrels, run_file.to_run(judgements.users, items))
        content = format_qrels(pooled, judgements.users, items)
        contents[f"qrels/pooled/{path.stem}.qrels"] = content
    for path in _runs_in(finished, "truth/runs"):
        contents[f"truth/runs/{path.stem}.run"] = _as_trec(read_run(path))
    for name in COPIED:
        if finished.path_of(name).is_file():
            contents[name] = finished.read(name)
    return contents


STUDY_FILE = """\
# The runs and the judgements of a study, exported. Run it with: harness run study.toml
name = {name}
seed = {seed}

[runs]
paths = ["runs/*.run"]

[qrels]
path = "{qrels}"
relevance_level = {level}

[metrics]
names = {metrics}
cutoffs = {cutoffs}
"""


def _study_file(finished: FinishedStudy, level: int) -> str:
    """Write a study file of the exported runs and qrels; ``level`` is the lowest relevant grade.

    It has the name, the seed, the metrics and the cut-offs of the study. The qrels are those of
    subtopics, if the study has them.
    """
    measures = finished.means.measures
    has_subtopics = finished.path_of(SUBTOPICS_FILE).is_file()
    return STUDY_FILE.format(
        name=json.dumps(finished.name),
        qrels=SUBTOPICS_FILE if has_subtopics else QRELS,
        seed=finished.manifest.seed,
        level=level,
        metrics=json.dumps(list(measures.metrics)),
        cutoffs=json.dumps(list(measures.cutoffs)),
    )


def _runs_in(finished: FinishedStudy, folder: str) -> list[Path]:
    """List the Parquet files in a folder of the study, sorted by name."""
    names = sorted(path.name for path in finished.path_of(folder).glob("*.parquet"))
    return [finished.path_of(f"{folder}/{name}") for name in names]


def _as_trec(file: RunFile) -> bytes:
    """Write the lists of a run file in TREC's format."""
    run = file.to_run(file.users, file.items)
    return format_run(run, file.users, file.items)


def _in_format(
    format_: RunFormat, path: Path, file: RunFile, manifest: Manifest
) -> tuple[str, bytes]:
    """Write a run in another format than TREC's.

    ``path`` is that of the run in the study folder, ``file`` its content. Returned are the name of
    the file in the export, and its content.
    """
    match format_:
        case "parquet":
            return f"runs/{path.name}", path.read_bytes()
        case "ir_metadata":
            lines = _metadata(file.system, manifest)
            return f"ir_metadata/{path.stem}.run", lines.encode() + _as_trec(file)
    frame = _frame_of_lists(file)
    if format_ == "lenskit":
        return f"lenskit/runs/{path.name}", frame.to_parquet(index=False)
    lines = frame.set_axis(ATOMIC_RUN, axis=1).to_csv(sep="\t", index=False)
    return f"recbole/runs/{path.stem}.inter", lines.encode()


def _frame_of_lists(file: RunFile) -> pd.DataFrame:
    """Tabulate the lists of a run file: columns user_id, item_id, score and rank.

    The score is depth + 1 - rank, float32; the rank begins at 1.
    """
    import pandas as pd

    run = file.to_run(file.users, file.items)
    users, columns = np.nonzero(run.items >= 0)
    frame = pd.DataFrame({"user_id": file.users.ids[users]})
    frame["item_id"] = file.items.ids[run.items[users, columns]]
    frame["score"] = (run.depth - columns).astype(np.float32)
    frame["rank"] = columns + 1
    return frame


def _metadata(system: str, manifest: Manifest) -> str:
    """Describe a run in comments before its lines (ir_metadata, schema 0.2; values are JSON).

    ``system`` is the tag of the run. Versions, machine, and summary and source of the system are
    those in the manifest of the study; a system that it does not describe is by another program.
    """
    versions = dict(manifest.versions)
    commit = versions.pop("commit", None)
    source_code: dict[str, object] = {"lang": ["python"]}
    if commit is not None:
        source_code["commit"] = commit
    libraries = [f"{name}=={version}" for name, version in versions.items()]
    summary, source = manifest.sources.get(system, ("a run by another program", ""))
    facts = {
        "schema version": 0.2,
        "run version": 1.0,
        "tag": system,
        "platform": {
            "hardware": {"cpu": {"architecture": manifest.host.processor}},
            "operating system": {"kernel": manifest.host.system},
            "software": {"libraries": {"python": libraries}},
        },
        "implementation": {"source": source_code},
        "method": {
            "automatic": True,
            "score ties": "none: the score is the depth + 1 - rank",
            "retrieval": [{"name": system, "method": summary, "source": source}],
        },
        "data": {"test collection": {"name": manifest.study}},
    }
    lines = [f"# {name}: {json.dumps(value)}\n" for name, value in facts.items()]
    return "".join(["# ir_metadata.start\n", *lines, "# ir_metadata.end\n"])


def pool(qrels: Qrels, run: Run) -> Qrels:
    """Add, with grade -1, every item that the run retrieved for a judged user and nobody judged.

    Judged users have at least one judgement. Qrels and run are of the same users, in the same
    order, and the same numbering of items; items of the run have shape (n_users, depth).
    """
    has_judgement = np.diff(qrels.offsets) > 0
    is_unjudged = (run.items >= 0) & (match(run, qrels) < 0)
    is_unjudged = is_unjudged & has_judgement[:, None]
    user, column = np.nonzero(is_unjudged)
    return qrels_from_columns(
        np.concatenate([qrels.users, user]),
        np.concatenate([qrels.items, run.items[user, column]]),
        np.concatenate([qrels.grades, np.full(len(user), -1)]),
        n_users=qrels.n_users,
        relevance_level=qrels.relevance_level,
    )


ATOMIC_HEADER = ("user_id:token", "item_id:token", "rating:float", "timestamp:float")
ATOMIC_RUN = ("user_id:token", "item_id:token", "score:float", "rank:float")
LENSKIT_HEADER = ("user_id", "item_id", "rating", "timestamp")

RECBOLE_SETTINGS = """\
# Beside the folder {name}; say data_path where it is. RecBole wants three parts: the test part is
# named in the place of a validation part too, and eval_step: 0 keeps RecBole from choosing by it.
dataset: "{name}"
benchmark_filename: [part1, part3, part3]
load_col: {{inter: [{columns}]}}
eval_step: 0
"""


def split_layouts(study: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield files with training and test ratings for RecBole and LensKit: name and content.

    They are RecBole's atomic files, its settings, and LensKit's data frames. ``study`` is the study
    folder, ``name`` the name of the study. A study that does not begin with ratings has none.
    """
    if not path_within(study, TRAIN_FILE).exists():
        return
    train = read_ratings(path_within(study, TRAIN_FILE), format="csv")
    test = read_ratings(path_within(study, TEST_FILE), format="csv")
    for part, ratings in {"part1": train, "part3": test}.items():
        lines = format_rating_lines(ratings, header=ATOMIC_HEADER, separator="\t")
        yield f"recbole/{name}/{name}.{part}.inter", lines
    columns = ", ".join(rating_table(train, header=LENSKIT_HEADER).column_names)
    yield f"recbole/{name}.yaml", RECBOLE_SETTINGS.format(name=name, columns=columns).encode()
    for part, ratings in {"train": train, "test": test}.items():
        table = rating_table(ratings, header=LENSKIT_HEADER)
        yield f"lenskit/{part}.parquet", parquet_bytes(table, compression="snappy")


Tool = Literal["trec_eval", "ir_measures"]
TOOLS: tuple[Tool, ...] = get_args(Tool)


@dataclass(frozen=True)
class _ToolNames:
    """What trec_eval and ir_measures call a metric; ``{level}`` stands for the relevance level.

    Parameters
    ----------
    trec_eval, ir_measures
        The names.
    cut
        Tools whose measure takes no cut-off: runs are cut for them.
    pooled
        Whether the metric needs the pooled qrels.
    """

    trec_eval: str
    ir_measures: str
    cut: tuple[Tool, ...] = ()
    pooled: bool = False

    def name_in(self, tool: Tool) -> str:
        """Look up what a tool calls the metric."""
        return self.trec_eval if tool == "trec_eval" else self.ir_measures


TOOL_NAMES = {
    "P": _ToolNames("P", "P(rel={level})"),
    "Recall": _ToolNames("recall", "R(rel={level})"),
    "AP": _ToolNames("map_cut", "AP(rel={level})"),
    "nDCG": _ToolNames("ndcg_cut", "nDCG"),
    "Success": _ToolNames("success", "Success(rel={level})"),
    "RR": _ToolNames("recip_rank", "RR(rel={level})", cut=("trec_eval",)),
    "bpref": _ToolNames("bpref", "Bpref(rel={level})", cut=TOOLS),
    "infAP": _ToolNames("infAP", "infAP(rel={level})", cut=TOOLS, pooled=True),
    "infAP_trec": _ToolNames("infAP", "infAP(rel={level})", cut=TOOLS),
    "Rprec": _ToolNames("Rprec", "Rprec(rel={level})", cut=TOOLS),
    "SetP": _ToolNames("set_P", "SetP(rel={level})", cut=TOOLS),
    "SetR": _ToolNames("set_recall", "SetR(rel={level})", cut=TOOLS),
    "SetF": _ToolNames("set_F", "SetF(rel={level})", cut=TOOLS),
}

SCRIPT = """\
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
    mkdir -p "cut/$n"
    awk -v n="$n" '$4 <= n' "$run" > "cut/$n/$name"
{cut}  done
done
"""
COMMANDS: dict[Tool, str] = {
    "trec_eval": "trec_eval -c -l {level} -m {measure} {qrels} {run}",
    "ir_measures": "ir_measures -p 12 {qrels} {run} {measure}",
}

QRELS = "qrels/test.qrels"
POOLED_QRELS = '"$pooled"'
WHOLE_RUN = '"$run"'
CUT_RUN = '"cut/$n/$name"'
"""Files that the commands name, in the shell's quotes."""


def script(
    tool: Tool, study: str, metrics: Sequence[str], cutoffs: Sequence[int], *, level: int
) -> str:
    """Write the commands with which trec_eval or ir_measures prints the means of a study.

    ``study`` is its name. Metrics are named with options, as in its table of means; the level is
    the lowest relevant grade where a metric does not name its own with ``rel``. Metrics that the
    tool lacks, or with other options, are named in a comment instead. For a measure that takes no
    cut-off in the tool, the run is cut before at each of the cut-offs. What comes from the study is
    quoted in commands, and is one line in comments.
    """
    commands_for_whole_run = ""
    commands_for_cut_run = ""
    unnamed = []
    for label in metrics:
        parsed = parse_name(label)
        names = TOOL_NAMES.get(parsed.name)
        if names is None or set(parsed.options) - {"rel"}:
            unnamed.append(escaped(label))
            continue
        metric_level = parsed.options.get("rel", level)
        measure = names.name_in(tool).format(level=metric_level)
        if tool in names.cut:
            qrels = POOLED_QRELS if names.pooled else QRELS
            command = _command(tool, metric_level, measure, qrels=qrels, run=CUT_RUN)
            commands_for_cut_run += f"    {command}\n"
        else:
            measure = _at_cutoffs(tool, measure, cutoffs)
            command = _command(tool, metric_level, measure, qrels=QRELS, run=WHOLE_RUN)
            commands_for_whole_run += f"  {command}\n"
    remark = f"\n# It has no measure for {', '.join(unnamed)}." if unnamed else ""
    quoted_cutoffs = " ".join(quote(str(cutoff)) for cutoff in cutoffs)
    return SCRIPT.format(
        study=escaped(study),
        tool=tool,
        remark=remark,
        whole=commands_for_whole_run,
        cut=commands_for_cut_run,
        cutoffs=quoted_cutoffs,
    )


def _at_cutoffs(tool: Tool, measure: str, cutoffs: Sequence[int]) -> str:
    """Name a measure at all cut-offs in one argument: "P.5,10", or "P@5 P@10" for ir_measures."""
    if tool == "trec_eval":
        numbers = ",".join(map(str, cutoffs))
        return f"{measure}.{numbers}"
    return " ".join(f"{measure}@{cutoff}" for cutoff in cutoffs)


def _command(tool: Tool, level: object, measure: str, *, qrels: str, run: str) -> str:
    """Write a command of a tool that evaluates a run, with the lowest relevant grade ``level``.

    Level and measure are quoted for the shell here; names of files come quoted.
    """
    quoted_level = quote(str(level))
    quoted_measure = quote(measure)
    return COMMANDS[tool].format(level=quoted_level, measure=quoted_measure, qrels=qrels, run=run)
