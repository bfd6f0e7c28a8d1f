"""Checks of metrics before any work: names are looked up, and an example is scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from harness.metrics.shared.metric import Metric
from harness.metrics.shared.names import parse_name
from harness.metrics.shared.register import available_metrics, find_metric
from harness.study.study import MetricsSection
from qrels import Catalogue, Judged, Qrels
from qrels.catalogue import ItemsOfLists
from qrels.ranks.judged_ranks import Validation
from qrels.subtopics import Subtopics
from runs import InputError, Numbering
from runs.shared.errors import ErrorCollector

EXAMPLE_SYSTEM = "example"
"""Name of the system of the example."""


def check_metrics(
    section: MetricsSection,
    *,
    user_metrics: Sequence[Metric] = (),
    example: Callable[[Sequence[Validation]], Catalogue] = lambda _: Catalogue(3),
    has_subtopics: bool = False,
    errors_at: Callable[..., AbstractContextManager[None]] = lambda *_: nullcontext(),
) -> dict[str, Metric]:
    """Look up the metrics of a section, and score an example with each measure.

    Parameters
    ----------
    section
        What is measured.
    user_metrics
        Metrics given as objects, which names may mean, as those of the plug-ins.
    example
        Makes a catalogue of three items, by the validations of hidden items that a metric needs.
    has_subtopics
        Whether judgements may be of subtopics: before qrels are read, this is not known.
    errors_at
        Context of a key in a file, which begins errors with its line.

    Returns
    -------
    The metrics by their names with options, those of report measures too.

    Raises
    ------
    InputError
        If a metric does not exist or breaks a rule, fails on the example, or if two names mean the
        same metric. Of several unknown metrics of one key, the error names all.
    """
    with errors_at("metrics", "plugins"):
        available = available_metrics(section.plugins, user_metrics)
    metrics: dict[str, Metric] = {}
    texts_by_key = {"names": section.names, "report": section.report or ()}
    for key, names in texts_by_key.items():
        with errors_at("metrics", key):
            errors = ErrorCollector()
            for name in names:
                with errors.catching():
                    label = parse_name(name).label
                    metrics[label] = find_metric(label, available)
            errors.raise_any()
            name_by_label: dict[str, str] = {}
            for name, metric in metrics.items():
                # One of them may spell a default out.
                first_name = name_by_label.setdefault(metric.label, name)
                if first_name != name:
                    raise InputError(f"{first_name!r} and {name!r} are the same metric.")
    with errors_at("metrics", "names"):
        for measure in section.measures:
            metric = metrics[measure.metric]
            example_items = example(metric.needs)
            try_out(metric, measure.cutoff, example_items, has_subtopics=has_subtopics)
    return metrics


def try_out(
    metric: Metric,
    cutoff: int | None,
    catalogue: Catalogue | None = None,
    *,
    has_subtopics: bool = False,
) -> None:
    """Score an example of three users, of whom the last has no judgements, to check a metric.

    Users are scored together, then each alone, and scores must be equal up to 1e-12. Without a
    cut-off, lists are scored whole; without a catalogue, nothing is known of the three items;
    judgements are of subtopics with ``has_subtopics``.

    Raises
    ------
    InputError
        If the metric fails, needs something that the catalogue does not hold, or one user's score
        depends on who else is scored.
    """
    all_users = _example_lists(slice(3), catalogue, has_subtopics=has_subtopics)
    scores = metric(all_users, cutoff=cutoff)
    for user, score in enumerate(scores):
        one_user = _example_lists(slice(user, user + 1), catalogue, has_subtopics=has_subtopics)
        (score_alone,) = metric(one_user, cutoff=cutoff)
        if not np.isclose(score, score_alone, rtol=0, atol=1e-12):
            raise InputError(
                f"metric {metric.label!r} must score every user by that user's lists alone: it "
                f"gives one user {score:.6g} among others and {score_alone:.6g} alone."
            )


def score_example(metrics: Mapping[str, Metric], qrels: Qrels, catalogue: Catalogue) -> None:
    """Score an example by all metrics but those that hide items; raise the InputError of the first.

    Grades of the example, and whether it has subtopics, are as in the qrels.
    """
    lists = _example_lists(
        slice(1),
        catalogue,
        highest_grade=float(qrels.grades.max()),
        relevance_level=float(qrels.relevance_level),
        has_subtopics=qrels.subtopics is not None,
    )
    for metric in metrics.values():
        if not metric.needs:
            metric(lists, cutoff=1)


def counts_subtopics(metric: Metric) -> bool:
    """Find out by an example whether a metric counts subtopics where the qrels have them.

    It does if, with nothing known of items, it can be computed where judgements are of subtopics,
    and not where they are not.
    """
    is_computed_without = _is_computed(metric, has_subtopics=False)
    return not is_computed_without and _is_computed(metric, has_subtopics=True)


def _is_computed(metric: Metric, *, has_subtopics: bool) -> bool:
    """Tell whether a metric scores an example, of whose items nothing is known, without an error.

    ``has_subtopics`` says whether its judgements are of subtopics.
    """
    try:
        metric(_example_lists(slice(1), None, has_subtopics=has_subtopics), cutoff=1)
    except InputError:
        return False
    return True


def _example_lists(
    users: slice,
    catalogue: Catalogue | None,
    *,
    highest_grade: float = 1.0,
    relevance_level: float = 1.0,
    has_subtopics: bool = False,
) -> Judged:
    """Make lists of three items for some of three users, and judgements, of shape (n_users, 3).

    Judgements are of the same items; the last user has none. NaN stands for a rank whose item is
    unjudged, and for no judgement.

    Before the data are read grades are 0 and 1, which every metric must take: a higher one might be
    above those of the data, and a score by it outside the range that the metric declares.

    Parameters
    ----------
    users
        Which of the three users.
    catalogue
        Properties of the items; None for nothing but their number.
    highest_grade
        Grade of the relevant items; other judged items have 0.
    relevance_level
        Lowest relevant grade.
    has_subtopics
        Whether judgements are of two subtopics.
    """
    # Grades by rank, then by judgement; NaN: the item of the rank is unjudged, or no judgement.
    lists = np.array([[1.0, np.nan, 0.0], [np.nan, 1.0, np.nan], [np.nan, np.nan, np.nan]])
    judgements = np.array([[1.0, 1.0, 0.0], [1.0, np.nan, np.nan], [np.nan, np.nan, np.nan]])
    judged = Judged(
        highest_grade * lists[users],
        highest_grade * judgements[users],
        relevance_level=relevance_level,
    )
    # Their items, which a catalogue may know by number; -1 where there is no judgement.
    ranked_items = np.array([[0, 1, 2], [2, 1, 0], [1, 2, 0]])
    judged_items = np.array([[0, 1, 2], [1, -1, -1], [-1, -1, -1]])
    judgement_numbers = np.array([[0, 1, 2], [3, -1, -1], [-1, -1, -1]])
    # Judgement 0 is relevant for both subtopics, 1 and 3 for one of them, 2 for none.
    subtopics = Subtopics(
        ids=Numbering.of(["1", "2"]),
        offsets=np.array([0, 2, 3, 4, 5]),
        numbers=np.array([0, 1, 1, 0, 0], dtype=np.int32),
        grades=np.array([1, 1, 1, 0, 1], dtype=np.int32) * np.int32(highest_grade),
    )
    ranked_judgements = np.array([[0, -1, 2], [-1, 3, -1], [-1, -1, -1]])
    items_of_lists = ItemsOfLists(
        catalogue or Catalogue(3),
        users=np.arange(3)[users],
        listed=ranked_items[users].T,
        judged=judged_items[users].T,
        judgements=judgement_numbers[users].T,
        system=EXAMPLE_SYSTEM,
        listed_judgements=ranked_judgements[users].T if has_subtopics else None,
        subtopics=subtopics if has_subtopics else None,
    )
    return judged.with_items(lambda: items_of_lists)
