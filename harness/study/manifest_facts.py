"""What the manifest says of a study of systems: its question, data, systems, inputs and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analyses.shared.sentences import listed, plural
from harness.study.collection import Collection
from harness.study.inputs import checksum
from harness.study.system_lists import SystemLists
from harness.study.systems_run import SystemsRun
from runs.shared.errors import counted

TIES = (
    "Items are ordered by score (as float32), falling; equal scores by item number, rising, where "
    "items are numbered in the code-point order of their ids. Run files carry depth + 1 - rank."
)

WEIGHTED = (
    "Users are weighted by the number of their relevant items: in means, orderings, tests and "
    "intervals. scores.parquet has their scores unweighted."
)

REPLICATED = (
    "A user's score of a system is the mean over the runs of the system that rank for the user. "
    "Intervals cover other users and other runs; tests cover other users alone."
)

REPLACED_IDS = (
    "TREC files cannot carry some of the ids: in run and qrels files numbers stand in their "
    "place, and ids.csv says for which."
)


def describe_systems_study(
    run: SystemsRun, lists: SystemLists, *, results: Sequence[str]
) -> dict[str, Any]:
    """Describe a study of systems for its manifest.

    Parameters
    ----------
    run
        The run of the study.
    lists
        What its systems recommend.
    results
        Keys of all results, in the order of the report.

    Returns
    -------
    By key: two sentences (lead, data), names of results and systems, checksums of the input files
    and of tables that settings name, counts, summaries and families of systems, and notes.
    """
    study = run.study
    collection = run.collection
    is_of_runs = collection.split is None
    systems = _counted_systems(lists, collection)
    counts = _counted_judgements(collection)
    simulated = "" if collection.truth is None else " of a simulated world"
    measures = counted(len(study.measures.reported), "measure")
    noun = "systems" if is_of_runs else "recommenders"
    tested = "" if is_of_runs else " (the test set)"
    truth = _description_of_truth(run)
    tables = [path for _, settings in run.analyses for path in settings.files()]
    table_checksums = [checksum(path) for path in [*study.items.files, *tables]]
    lead = (
        f"Can these measures be trusted to compare {noun}? {measures}, {systems}, {counts}"
        f"{tested}{simulated}.{truth}"
    )
    data = f"Data: {study.name}{simulated} ({counts}); {systems}; study seed {study.seed}."
    return {
        "lead": lead,
        "data": data,
        "ranked for": plural(collection.unit),
        "results": list(results),
        "inputs": [*collection.inputs, *table_checksums],
        "collection": collection.facts,
        "systems": list(lists.systems),
        "sources": lists.sources(),
        "families": lists.families,
        "notes": _notes(run),
    }


def _notes(run: SystemsRun) -> list[str]:
    """Collect the notes that apply: those of metrics, then on ties, weights, replicates and ids."""
    notes = dict.fromkeys(metric.note for metric in run.metrics.values() if metric.note)
    notes[TIES] = None
    if run.study.metrics.average == "judgements":
        notes[WEIGHTED] = None
    if run.collection.systems_of_runs:
        notes[REPLICATED] = None
    if run.collection.replaces_ids:
        notes[REPLACED_IDS] = None
    return list(notes)


def _counted_systems(lists: SystemLists, collection: Collection) -> str:
    """Write the number of systems, such as "12 systems"; of given runs, "12 runs"."""
    n_systems = len(lists.systems)
    if collection.systems_of_runs:
        return f"{counted(n_systems, 'system')} (means over their runs)"
    return counted(n_systems, "run" if collection.split is None else "system")


def _counted_judgements(collection: Collection) -> str:
    """Write the numbers of users and judgements: "60 users, 1,200 judgements"."""
    n_users = collection.facts[plural(collection.unit)]
    n_judgements = collection.facts["judgements"]
    return f"{counted(n_users, collection.unit)}, {counted(n_judgements, 'judgement')}"


def _description_of_truth(run: SystemsRun) -> str:
    """Describe what orders the systems truly, if validity is analysed in a simulated world.

    Empty otherwise.
    """
    truth = run.study.truth
    is_of_world = run.collection.truth is not None
    keys = [analysis.key for analysis, _ in run.analyses]
    if truth is None or not is_of_world or "validity" not in keys:
        return ""
    reference, *other_references = truth.references
    references = listed([f"{reference} (in the answer)", *other_references], "or")
    return f" True orderings are by {references}, from the true preferences of all items."
