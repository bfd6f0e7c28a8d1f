"""Export: what a study has for other tools, and the commands that reproduce our means."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harness.report.study_folder import FinishedStudy, warn_of_changes
from harness.trec_eval.scripts import ir_measures_script, trec_eval_script
from harness.trec_eval.split_layouts import split_layouts
from qrels import Qrels, match, qrels_from_columns
from qrels.trec import format_qrels, read_qrels
from runs import InputError, Run
from runs.formats import format_run, read_run
from runs.run_file import RunFile, common_items
from runs.shared.files import write_whole

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

    Parameters
    ----------
    study
        The folder of a finished study.
    target
        A folder that does not exist or is empty.

    Returns
    -------
    The files written.

    Raises
    ------
    InputError
        If there is no finished study, or the target is not empty.

    Warns
    -----
    InputWarning
        If a file was changed after the study wrote it.
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
    """Add, with grade -1, every item that the run retrieved for a judged user and nobody judged.

    Examples
    --------
    >>> qrels = Qrels(np.array([0, 1]), np.array([4], dtype=np.int32),
    ...               np.array([5], dtype=np.int32), relevance_level=4)
    >>> pooled = pool(qrels, Run("s", np.array([[2, 4]], dtype=np.int32)))
    >>> pooled.items.tolist(), pooled.grades.tolist()
    ([2, 4], [-1, 5])
    """
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
