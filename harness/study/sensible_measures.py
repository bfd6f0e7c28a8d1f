"""Measures of a study that make sense for its data: none equals another or is cut too deep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.metrics.shared.names import VALUES_WITHOUT_NONRELEVANT, parse_name
from harness.readers.sense_check import deep_cutoffs, equal_measures
from harness.study.collection import Collection
from harness.study.study import Study
from runs.shared.errors import warn

EQUAL_FOR_ONE_ITEM: Final[Mapping[str, str]] = {"P": "Recall", "AP": "RR", "bpref": "Recall"}
"""Metrics that order systems as others do, if each user has one relevant item."""


def with_sensible_measures(study: Study, collection: Collection) -> Study:
    """Leave out metrics that are another one, and report no measure of lists that are cut too deep.

    Lists are cut too deep if they hold more than half of the items. What a study file names is
    computed all the same. Each change is warned of. Returns a changed copy of the study, or the
    study itself.

    Parameters
    ----------
    study
        The study.
    collection
        Its topics, items and judgements.
    """
    study = _without_equivalent_metrics(study, collection)
    study = _without_equal_metrics(study, collection)
    return _without_deep_cutoffs(study, collection)


def _without_equivalent_metrics(study: Study, collection: Collection) -> Study:
    """Leave out metrics that equal Recall if all items are relevant, and warn of it.

    A study that names its metrics keeps them, without a warning.
    """
    if not collection.is_implicit or _names(study, "names"):
        return study
    names = tuple(name for name in study.metrics.names if name not in VALUES_WITHOUT_NONRELEVANT)
    warn(
        "All items are relevant, so bpref and infAP would equal Recall: they are left out "
        "unless `names` in [metrics] has them."
    )
    return _with_metrics(study, names=names)


def _without_equal_metrics(study: Study, collection: Collection) -> Study:
    """Leave out metrics that order systems as another does, if each user has one relevant item.

    `EQUAL_FOR_ONE_ITEM` has the other metric by the name of the one that is left out, if both are
    measured. Warns of them. A study that names its metrics keeps them, and is warned, too.
    """
    equalities = equal_measures(collection.qrels, study.metrics.names)
    if not equalities:
        return study
    sentence = f"every {collection.unit} has one relevant item: {', '.join(equalities)}."
    if _names(study, "names"):
        warn(f"{sentence} They order systems alike: one of them is enough.")
        return study
    names = tuple(
        name
        for name in study.metrics.names
        if EQUAL_FOR_ONE_ITEM.get(name) not in study.metrics.names
    )
    warn(f"{sentence} The first of each is left out unless `names` in [metrics] has it.")
    return _with_metrics(study, names=names)


def _without_deep_cutoffs(study: Study, collection: Collection) -> Study:
    """Compute no measure at a cut-off that holds most of the items, or at least report none.

    Such cut-offs are left out where they are the usual ones. If the study file names them, they are
    computed; without `report` in it, report measures are then taken at the deepest cut-off that
    does not hold most items. If all cut-offs do, nothing changes. Warns in each of these cases.
    Studies of given runs stay as they are.
    """
    if study.ratings is None:
        # How many items a run by another program could have listed is not known.
        return study
    n_items = len(collection.items)
    cutoffs = study.metrics.cutoffs
    deep = deep_cutoffs(cutoffs, n_items)
    if not deep:
        return study
    sensible = tuple(cutoff for cutoff in cutoffs if cutoff not in deep)
    reason = f"lists down to rank {deep[0]} hold more than half of the {n_items:,} items"
    if not sensible:
        warn(f"{reason}: measures hardly depend on the order of the lists. Lower `cutoffs`.")
        return study
    if not _names(study, "cutoffs"):
        warn(f"{reason}: deeper cut-offs than {sensible[-1]} are left out.")
        return _with_metrics(study, cutoffs=sensible)
    if study.metrics.report is not None:
        warn(f"{reason}: there, measures hardly depend on the order of the lists.")
        return study
    report = []
    for text in study.metrics.names:
        has_depth = parse_name(text).has_depth
        report.append(text if has_depth else f"{text}@{sensible[-1]}")
    warn(
        f"{reason}: there, measures hardly depend on the order of the lists. Report measures are "
        f"at cut-off {sensible[-1]}; `report` in [metrics] chooses others."
    )
    return _with_metrics(study, report=tuple(report))


def _names(study: Study, setting: str) -> bool:
    """Tell whether the study file has a setting of [metrics]."""
    return setting in study.metrics.model_fields_set


def _with_metrics(study: Study, **changes: object) -> Study:
    """Change settings of [metrics]."""
    metrics = study.metrics.model_copy(update=changes)
    return study.model_copy(update={"metrics": metrics})
