"""Measures that do not reward relevant items, through a whole study to its answer."""

import json
from pathlib import Path

import numpy as np
import pytest

from analyses.shared.contested_pairs import IGNORES_JUDGEMENTS
from analyses.shared.measure import Measure
from harness.report.answer import Answer
from harness.report.study_folder import FinishedStudy
from tests.harness.small import run_text, write_qrels, write_run

N_SYSTEMS, N_USERS, N_ITEMS = 8, 30, 60

PLUGIN = '''
import numpy as np

from harness import metric


@metric("Constant", source="-")
def constant(judged, *, cutoff=None):
    """The same for all."""
    return np.full(judged.n_users, 0.5)


@metric("Length", source="-", high=float("inf"))
def length(judged, *, cutoff=None):
    """Number of items in the list."""
    return judged.n_retrieved.astype(float)


@metric("Categories", source="-", high=float("inf"))
def categories(judged, *, cutoff=None):
    """Number of categories, here of 4, that the list covers."""
    items = judged.items[:, :cutoff]
    covered = [((items % 4 == number) & (items >= 0)).any(axis=1) for number in range(4)]
    return np.sum(covered, axis=0).astype(float)


@metric("Wanted", source="-", high=float("inf"))
def wanted(judged, *, cutoff=None):
    """Number of relevant items of the user, whatever the list."""
    return judged.n_relevant.astype(float)
'''

IGNORING = ("ARP@5", "ILD@5", "Judged@5", "Constant@5", "Length@5", "Categories@5", "Wanted@5")

STUDY = """
name = "traps"
seed = 1
[runs]
paths = ["runs/*"]
[qrels]
path = "test.qrels"
[items]
popularity = "counts.csv"
features = "features.csv"
[metrics]
names = {names}
plugins = ["plugin.py"]
cutoffs = [5]
[analyses]
names = ["sparsity", "popularity", "discrimination"]
[analyses.sparsity]
levels = [1.0, 0.5, 0.2]
samples = 4
replicates = 20
[analyses.popularity]
levels = [1.0, 0.9, 0.5]
replicates = 20
[analyses.discrimination]
test = "t"
replicates = 20
"""


def write_data(folder: Path) -> None:
    """Write runs, the better the higher their number, with lists of 8 to 10 items; and qrels."""
    rng = np.random.default_rng(4)
    is_relevant = rng.random((N_USERS, N_ITEMS)) < 0.15
    judgements: dict[str, dict[str, int]] = {}
    for user in range(N_USERS):
        judged = np.flatnonzero(is_relevant[user] | (rng.random(N_ITEMS) < 0.2))
        judgements[f"u{user}"] = {f"i{item}": int(is_relevant[user, item]) for item in judged}
    write_qrels(folder, judgements)
    (folder / "runs").mkdir()
    for system in range(N_SYSTEMS):
        lists: dict[str, list[str]] = {}
        for user in range(N_USERS):
            scores = rng.normal(size=N_ITEMS) + 0.2 * system * is_relevant[user]
            items = np.argsort(-scores)[: 8 + (user + system) % 3]
            lists[f"u{user}"] = [f"i{item}" for item in items]
        write_run(folder / "runs", f"s{system}", lists)
    counts = [f"i{item},{2 * item + 1}" for item in range(N_ITEMS)]
    (folder / "counts.csv").write_text("\n".join(["item,count", *counts, ""]), encoding="utf-8")
    features = [f"i{item},{item % 4},{item % 7}" for item in range(N_ITEMS)]
    (folder / "features.csv").write_text("\n".join(["item,a,b", *features, ""]), encoding="utf-8")
    (folder / "plugin.py").write_text(PLUGIN, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_what_does_not_reward_relevant_items_is_no_candidate(tmp_path: Path) -> None:
    write_data(tmp_path)
    names = [name.partition("@")[0] for name in ("nDCG@5", "RR@5", *IGNORING)]
    output = run_text(STUDY.format(names=json.dumps(names)), tmp_path, output=tmp_path / "study")
    results = dict(FinishedStudy.open(output).results())
    answer = results["answer"]
    assert isinstance(answer, Answer)
    assert answer.pairs is not None
    assert answer.pairs.measures == (Measure("nDCG", 5), Measure("RR", 5))
    assert answer.pairs.excluded == dict.fromkeys(IGNORING, IGNORES_JUDGEMENTS)
    assert not any(name in answer.decision() for name in IGNORING)
    assert {*answer.measures} == {Measure("nDCG", 5), Measure("RR", 5)}
    texts = [answer.matrix().note, answer.caption()]
    texts += [" ".join(results[key].findings()) for key in ("sparsity", "popularity")]
    for text in texts:
        assert all(name in text for name in IGNORING)
