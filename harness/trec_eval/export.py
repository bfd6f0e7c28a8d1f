"""Export of a study for other tools, and the commands that reproduce its means."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from harness.metrics.shared.names import parse_name
from harness.report.study_folder import TEST_FILE, TRAIN_FILE, FinishedStudy, warn_of_changes
from qrels import Qrels, match, qrels_from_columns
from qrels.ratings.datasets import read_ratings
from qrels.ratings.datasets.rating_tables import format_rating_lines, rating_table
from qrels.trec import format_qrels, read_qrels
from runs import InputError, Run
from runs.formats import format_run, read_run
from runs.run_file import RunFile, common_items
from runs.shared.files import parquet_bytes, write_whole

EXPORTED = ("runs/", "qrels/", "split/", "truth/", "ids.csv")
"""What is handed on."""

AS_IT_IS = ("ids.csv", "truth/true.qrels")


RunFormat = Literal["parquet", "lenskit", "recbole", "ir_metadata"]


def export_study(study: Path, target: Path, *, run_formats: Sequence[RunFormat] = ()) -> list[Path]:
    """Write TREC runs, qrels, pooled qrels and scripts of trec_eval's and ir_measures' commands.

    Runs are written in other formats, too, if these are asked for.

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
        **{Path(f"{tool}.sh"): script(tool, *named, level=level).encode() for tool in TOOLS},
        **dict(split_layouts(study, finished.name)),
    }
    for path, file in zip(paths, run_files, strict=True):
        run = file.to_run(judged.users, items)
        contents[Path("runs") / f"{path.stem}.run"] = _as_trec(file)
        for format_ in run_formats:
            place, written = _in_format(format_, path, file, finished.manifest)
            contents[place] = written
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


def _in_format(
    format_: RunFormat, path: Path, file: RunFile, manifest: Mapping[str, Any]
) -> tuple[Path, bytes]:
    """Give the place and the content of a run in another format than TREC's."""
    match format_:
        case "parquet":
            return Path("runs") / path.name, path.read_bytes()
        case "ir_metadata":
            lines = _metadata(file.system, manifest)
            return Path("ir_metadata") / f"{path.stem}.run", lines.encode() + _as_trec(file)
    import pandas as pd

    run = file.to_run(file.users, file.items)
    user, column = np.nonzero(run.items >= 0)
    frame = pd.DataFrame(
        {
            "user_id": file.users.ids[user],
            "item_id": file.items.ids[run.items[user, column]],
            "score": (run.depth - column).astype(np.float32),
            "rank": column + 1,
        }
    )
    if format_ == "lenskit":
        return Path("lenskit/runs") / path.name, frame.to_parquet(index=False)
    lines = frame.set_axis(ATOMIC_RUN, axis=1).to_csv(sep="\t", index=False)
    return Path("recbole/runs") / f"{path.stem}.inter", lines.encode()


def _metadata(system: str, manifest: Mapping[str, Any]) -> str:
    """Describe a run in comments before its lines (ir_metadata, schema 0.2; values are JSON)."""
    versions = dict(manifest["versions"])
    commit = {"commit": versions.pop("commit")} if "commit" in versions else {}
    libraries = [f"{name}=={version}" for name, version in versions.items()]
    summary, source = manifest["sources"].get(system, ("a run by another program", ""))
    facts = {
        "schema version": 0.2,
        "run version": 1.0,
        "tag": system,
        "platform": {
            "hardware": {"cpu": {"architecture": manifest["host"]["processor"]}},
            "operating system": {"kernel": manifest["host"]["system"]},
            "software": {"libraries": {"python": libraries}},
        },
        "implementation": {"source": {"lang": ["python"]} | commit},
        "method": {
            "automatic": True,
            "score ties": "none: the score is the depth + 1 - rank",
            "retrieval": [{"name": system, "method": summary, "source": source}],
        },
        "data": {"test collection": {"name": manifest["study"]}},
    }
    lines = [f"# {name}: {json.dumps(value)}\n" for name, value in facts.items()]
    return "".join(["# ir_metadata.start\n", *lines, "# ir_metadata.end\n"])


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
ATOMIC_RUN = ("user_id:token", "item_id:token", "score:float", "rank:float")
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
        table = rating_table(ratings, header=LENSKIT_HEADER)
        yield Path("lenskit") / f"{part}.parquet", parquet_bytes(table, compression="snappy")


Tool = Literal["trec_eval", "ir_measures"]
TOOLS: tuple[Tool, ...] = get_args(Tool)


@dataclass(frozen=True)
class ToolNames:
    """What trec_eval and ir_measures call a metric; ``{level}`` stands for the relevance level.

    Runs are cut for tools whose measure takes no cut-off. It may need the pooled qrels.
    """

    trec_eval: str
    ir_measures: str
    cut: tuple[Tool, ...] = ()
    pooled: bool = False


TOOL_NAMES = {
    "P": ToolNames("P", "P(rel={level})"),
    "Recall": ToolNames("recall", "R(rel={level})"),
    "AP": ToolNames("map_cut", "AP(rel={level})"),
    "nDCG": ToolNames("ndcg_cut", "nDCG"),
    "Success": ToolNames("success", "Success(rel={level})"),
    "RR": ToolNames("recip_rank", "RR(rel={level})", cut=("trec_eval",)),
    "bpref": ToolNames("bpref", "Bpref(rel={level})", cut=TOOLS),
    "infAP": ToolNames("infAP", "infAP(rel={level})", cut=TOOLS, pooled=True),
    "infAP_trec": ToolNames("infAP", "infAP(rel={level})", cut=TOOLS),
    "Rprec": ToolNames("Rprec", "Rprec(rel={level})", cut=TOOLS),
    "SetP": ToolNames("set_P", "SetP(rel={level})", cut=TOOLS),
    "SetR": ToolNames("set_recall", "SetR(rel={level})", cut=TOOLS),
    "SetF": ToolNames("set_F", "SetF(rel={level})", cut=TOOLS),
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
    "trec_eval": 'trec_eval -c -l {level} -m {measure} {qrels} "{run}"',
    "ir_measures": 'ir_measures -p 12 {qrels} "{run}" "{measure}"',
}


def script(
    tool: Tool, study: str, metrics: Sequence[str], cutoffs: Sequence[int], *, level: int
) -> str:
    """Write the commands with which trec_eval or ir_measures prints the means of a study.

    Metrics are named with options, as in its table of means; the level is the lowest relevant grade
    where a metric does not name its own. No other option has a name there.
    """
    whole, cut, alone = "", "", []
    for label in metrics:
        parsed = parse_name(label)
        names = TOOL_NAMES.get(parsed.name)
        if names is None or set(parsed.options) - {"rel"}:
            alone.append(label)
            continue
        told = {"level": parsed.options.get("rel", level), "qrels": "qrels/test.qrels"}
        name = getattr(names, tool).format(**told)
        if tool in names.cut:
            told |= {"qrels": '"$pooled"'} if names.pooled else {}
            command = COMMANDS[tool].format(**told, measure=name, run="cut/$n/$name")
            cut += f"    {command}\n"
        else:
            ranks = ",".join(map(str, cutoffs))
            at = f"{name}.{ranks}"
            if tool == "ir_measures":
                at = " ".join(f"{name}@{n}" for n in cutoffs)
            whole += f"  {COMMANDS[tool].format(**told, measure=at, run='$run')}\n"
    remark = f"\n# It has no measure for {', '.join(alone)}." if alone else ""
    ranks = " ".join(map(str, cutoffs))
    return SCRIPT.format(study=study, tool=tool, remark=remark, whole=whole, cut=cut, cutoffs=ranks)
