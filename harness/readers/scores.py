"""Scores for each topic from data frames; and what tables of scores and of means share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from analyses.shared.measure import Measure, Measures
from analyses.shared.scores import TOPIC, USER, Scores
from harness.metrics.shared.names import split_depth
from harness.metrics.shared.register import built_in_metrics, harness_name
from harness.readers.objects import frame_of, with_index
from harness.readers.table import Table, table_of
from runs import InputError
from runs.shared.arrays import Floats, Masks
from runs.shared.errors import as_input_error, prefixed_errors, warn
from runs.tables.hints import words_of
from runs.tables.roles import SCORES, Role

if TYPE_CHECKING:
    import pandas as pd


WORDS_FOR_TOPICS: Final = ("topic", "topics", "qid", "query", "queries", "q")
"""How columns are called that hold topics, and not users."""

SURE_NAMES_OF_MEANS: Final = ("all", "amean")
"""Ids of rows that hold means, whatever the values."""

NAMES_OF_MEANS: Final = ("mean", "avg", "average", "overall", "total", "mittelwert", "macro")
"""Ids of rows that hold means, if the values are those of the other rows."""

ERRORS: Final = ("rmse", "mae", "mse")
"""Names of measures of the error of predicted ratings, of which lower values are better."""

MEAN_TOLERANCE: Final = 1e-3
"""How far printed means may be from those of printed scores."""

LONG: Final = ("measure", "system", "user", "score")

HEADING: Final = "heading of the topics"
"""The attribute of a long table that says what the column of its topics was called."""

FrameOfScores: TypeAlias = "Scores | pd.DataFrame | Mapping[str, pd.DataFrame]"
"""Scores; a long frame of them; or a frame for each measure: topics down, systems across."""


def scores_of(data: FrameOfScores) -> Scores:
    """Make scores of what a notebook has.

    Parameters
    ----------
    data
        Scores, as they are. Or a frame for each measure by its name, such as "nDCG@10": a row for
        each topic, a column for each system. Or one long frame with the columns measure, system,
        user and score, or their names in other tools; what else it has does no harm. Or a frame
        with a column for each metric, as LensKit's ``list_metrics()``. One frame of topics and
        systems alone is that of a measure called "score".

    Raises
    ------
    InputError
        If it is none of these, a score is missing or no number, or frames do not fit together.
    """
    if isinstance(data, Scores):
        return data
    if not isinstance(data, Mapping):
        frame = frame_of(data)
        table = table_of(with_index(frame), SCORES, label="the scores")
        long_frame = long_frame_of(table, system="model")
        if long_frame is not None:
            return scores_of_long([long_frame])
        data = {"score": frame}
    for name, value in data.items():
        if isinstance(value, Sequence | np.ndarray):
            type_name = type(value).__name__
            raise InputError(
                f"scores are a data frame for each measure, {{'AP': frame}}, and {name!r} has "
                f"{type_name}. If these are scores by system, give a frame of them: "
                "pandas.DataFrame(scores)."
            )
    if not data:
        raise InputError("there is no measure: give a frame for each, by its name.")
    frames = {name: _indexed_by_topic(frame_of(frame)) for name, frame in data.items()}
    frames = {name: without_mean_rows(frame, str(name)) for name, frame in frames.items()}
    _require_same_axes(frames)
    return _scores_of_frames(frames)


def _require_same_axes(frames: Mapping[str, pd.DataFrame]) -> None:
    """Refuse frames by measure whose systems or topics differ, or stand in another order.

    Frames have topics down and systems across. Raises InputError for the first that differs from
    the first frame.
    """
    first_name, *further_names = frames
    first_frame = frames[first_name]
    for name in further_names:
        frame = frames[name]
        is_same_of_axis = {
            "systems": first_frame.columns.equals(frame.columns),
            "topics": first_frame.index.equals(frame.index),
        }
        for axis_name, is_same in is_same_of_axis.items():
            if not is_same:
                raise InputError(
                    f"{first_name!r} and {name!r} have different {axis_name}, or another order."
                )


def _scores_of_frames(frames: Mapping[str, pd.DataFrame]) -> Scores:
    """Put frames by measure together: topics down, systems across, the same in all.

    Returns scores of shape (n_measures, n_systems, n_topics). Raises InputError for scores that are
    no numbers, and for a measure that is there twice.
    """
    frames_of_measures = list(frames.values())
    with as_input_error("scores must be numbers", TypeError, ValueError):
        values = np.array([frame.to_numpy(dtype=np.float64).T for frame in frames_of_measures])
    measures = [measure_named(name) for name in frames]
    systems = frames_of_measures[0].columns
    topics = frames_of_measures[0].index
    return Scores(
        values=values,
        measures=all_reported(measures),
        systems=tuple(str(system) for system in systems),
        users=topics.astype(str).to_numpy(dtype=np.str_),
        unit=unit_of(topics.name),
    )


def _indexed_by_topic(frame: pd.DataFrame) -> pd.DataFrame:
    """Call the rows of scores by the column of the topics, if there is one."""
    table = table_of(frame, SCORES, label="the scores")
    place = table.columns.place(Role.USER)
    if place is None:
        return frame
    topic_column = frame.columns[place]
    return frame.set_index(topic_column)


def unit_of(heading: object) -> str:
    """Look up what scores are of by the heading of their ids: topics where that is a word for them.

    Examples
    --------
    >>> unit_of("topic"), unit_of("qid"), unit_of("user_id"), unit_of(None)
    ('topic', 'topic', 'user', 'user')
    """
    if heading is None:
        return USER
    words = words_of(heading)
    is_of_topics = len(words) > 0 and words[0] in WORDS_FOR_TOPICS
    return TOPIC if is_of_topics else USER


def are_mean_rows(ids: Sequence[str], values: Floats) -> Masks:
    """Mark the rows of a table of scores that hold means, and are no topics.

    A row is one if its id is ``all``, as trec_eval writes it; or if its id is a usual name of a
    mean, and its values are the means of the other rows.

    Parameters
    ----------
    ids
        Ids of the rows, (n_rows,).
    values
        Scores, of shape (n_rows, n_columns).

    Returns
    -------
    Mask of shape (n_rows,).
    """
    names = [str(name).strip().casefold() for name in ids]
    is_mean = np.array([name in SURE_NAMES_OF_MEANS for name in names], dtype=np.bool_)
    for row, name in enumerate(names):
        if name not in NAMES_OF_MEANS:
            continue
        is_other_topic = ~is_mean
        is_other_topic[row] = False
        # Without other rows it is a topic.
        if is_other_topic.any():
            means = values[is_other_topic].mean(axis=0)
            is_mean[row] = np.allclose(values[row], means, rtol=0.0, atol=MEAN_TOLERANCE)
    return is_mean


def without_mean_rows(frame: pd.DataFrame, label: str) -> pd.DataFrame:
    """Leave out the rows of scores that hold means, with a warning; topics down, systems across.

    If all rows hold means, or none does, the frame is returned as it is. ``label`` names it.
    """
    ids = [str(topic) for topic in frame.index]
    numbers = frame.apply(_as_numbers).to_numpy(np.float64)
    is_mean = are_mean_rows(ids, numbers)
    if not is_mean.any() or is_mean.all():
        return frame
    mean_ids = [str(topic) for topic in frame.index[is_mean]]
    warn_of_means(mean_ids, label)
    return frame[~is_mean]


def warn_of_means(ids: Sequence[str], label: str) -> None:
    """Warn of rows that hold means."""
    distinct_ids = dict.fromkeys(ids)
    listed = ", ".join(map(repr, distinct_ids))
    warn(f"{label}: the row {listed} holds means over the topics, and is left out.")


def _as_numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Convert a column to numbers, NaN where there is none."""
    import pandas as pd

    return pd.to_numeric(column, errors="coerce")


def are_metrics(names: Iterable[object]) -> bool:
    """Tell whether columns are measures: all have names of metrics, or one has also a cut-off.

    Names are those of built-in metrics, also as other tools have them. True without a name.
    """
    built_in = built_in_metrics()
    are_all_metrics = True
    for name in names:
        metric_name, at_sign, _ = str(name).partition("@")
        is_metric = bool(harness_name(metric_name, built_in))
        if is_metric and at_sign:
            return True
        are_all_metrics = are_all_metrics and is_metric
    return are_all_metrics


def long_frame_of(table: Table, *, system: str) -> pd.DataFrame | None:
    """Bring a table of several measures into long form; None if its columns are systems.

    Parameters
    ----------
    table
        A row for each score, or for each topic with a column for each measure.
    system
        The system of all scores, where no column names it.

    Returns
    -------
    A frame with the columns of `LONG`; or None.

    Raises
    ------
    InputError
        If a score is missing, no number, or there twice.
    """
    if not table.has(Role.USER):
        return None
    label_columns: dict[str, NDArray[Any]] = {"user": table.ids(Role.USER)}
    if table.has(Role.SYSTEM):
        label_columns["system"] = table.column(Role.SYSTEM).astype(str).to_numpy()
    else:
        label_columns["system"] = np.full(len(table.frame), system)
    row_numbers = table.frame.iloc[:, :0]
    labels = row_numbers.assign(**label_columns)
    if table.has(Role.MEASURE) and table.has(Role.SCORE):
        measures = table.column(Role.MEASURE).astype(str)
        scores = table.column(Role.SCORE)
        long_frame = labels.assign(measure=measures.to_numpy(), score=scores.to_numpy())
    else:
        label_places = (table.columns.place(Role.USER), table.columns.place(Role.SYSTEM))
        measure_columns = [
            name for place, name in enumerate(table.frame.columns) if place not in label_places
        ]
        if not measure_columns or not are_metrics(measure_columns):
            return None
        scores_by_measure = {str(name): table.frame[name] for name in measure_columns}
        wide = labels.assign(**scores_by_measure)
        long_frame = wide.melt(
            id_vars=["user", "system"],
            value_vars=[str(name) for name in measure_columns],
            var_name="measure",
            value_name="score",
            ignore_index=False,
        )
    long_frame = long_frame[list(LONG)]
    return _checked_long_frame(table, long_frame)


def _checked_long_frame(table: Table, long_frame: pd.DataFrame) -> pd.DataFrame:
    """Read the scores of a long frame as numbers, leave out means, refuse gaps and repetitions.

    The frame has the columns of `LONG`: measure, system, user, score. ``table`` is what it is made
    of: the result has the name of its column of topics (None without one) as the attribute
    `HEADING`. Raises InputError, at its row, for a score that is missing, no number, or there
    twice for a measure, a system and a user.
    """
    import pandas as pd

    is_mean = _are_means_in(long_frame, table.label)
    long_frame = long_frame[~is_mean]
    rows = replace(table, frame=long_frame)
    values = long_frame["score"]
    scores = pd.to_numeric(values, errors="coerce")
    is_missing = scores.isna()
    is_text = is_missing & values.notna() & (values != "")
    if is_text.any():
        place = int(is_text.to_numpy().argmax())
        odd_value = values.iloc[place]
        raise rows.error(place, f"numbers are expected, found {odd_value!r}.")
    long_frame = long_frame.assign(score=scores)
    is_repeated = long_frame.duplicated(["measure", "system", "user"])
    faults = {"has no number": is_missing, "is duplicated": is_repeated}
    for finding, is_fault in faults.items():
        if is_fault.any():
            place = int(is_fault.to_numpy().argmax())
            measure, system, user, _ = long_frame.iloc[place]
            score_name = f"{measure} of system {system!r} for topic {user!r}"
            raise rows.error(place, f"{score_name} {finding}.")
    topic_column = table.columns.column(Role.USER)
    long_frame.attrs[HEADING] = None if topic_column is None else topic_column.name
    return long_frame


def _are_means_in(long_frame: pd.DataFrame, label: str) -> NDArray[np.bool_]:
    """Mark the rows of a long frame that hold means, (n_rows,), and warn of them.

    Raises InputError if no other rows are there. ``label`` names the table.
    """
    scores = _as_numbers(long_frame["score"])
    numeric_frame = long_frame.assign(score=scores)
    wide = numeric_frame.pivot_table(
        index="user", columns=["measure", "system"], values="score", sort=False
    )
    ids = [str(user) for user in wide.index]
    is_mean = are_mean_rows(ids, wide.to_numpy())
    mean_ids = [str(user) for user in wide.index[is_mean]]
    if not mean_ids:
        return np.zeros(len(long_frame), dtype=np.bool_)
    if len(mean_ids) == len(wide):
        raise InputError(
            f"{label}: only means over the topics are in it ({mean_ids[0]!r}), and scores of each "
            "topic are needed: `harness evaluate -q`, or scores.parquet of a study."
        )
    warn_of_means(mean_ids, label)
    return long_frame["user"].isin(mean_ids).to_numpy()


def scores_of_long(long_frames: Sequence[pd.DataFrame]) -> Scores:
    """Put scores in long form together; every system needs all topics and measures.

    Frames have the columns of `LONG` (measure, system, user, score), and the attribute `HEADING`,
    what the column of topics was called. Systems are in order of their names.

    Raises
    ------
    InputError
        If a system is in two frames, or a score is missing.
    """
    import pandas as pd

    long_frame = pd.concat(long_frames)
    long_frame = long_frame.astype({"measure": str, "system": str})
    is_repeated = long_frame.duplicated(["measure", "system", "user"]).to_numpy()
    if is_repeated.any():
        system = long_frame["system"].iloc[is_repeated.argmax()]
        raise InputError(f"the system {system!r} is in two files.")
    wide = long_frame.pivot(index="user", columns=["measure", "system"], values="score")
    wide.index.name = long_frames[0].attrs[HEADING]
    systems = sorted(long_frame["system"].unique())
    frames = {}
    for measure in long_frame["measure"].unique():
        columns = [(measure, system) for system in systems]
        frame = wide.reindex(columns=columns).set_axis(systems, axis=1)
        missing_scores = np.argwhere(frame.isna().to_numpy())
        if len(missing_scores):
            row, column = missing_scores[0]
            topic = frame.index[row]
            system = systems[column]
            raise InputError(
                f"topic {topic!r} has no score of system {system!r} by {measure}; give it one, "
                "such as 0, or leave out the topic."
            )
        frames[measure] = frame
    return _scores_of_frames(frames)


def measure_named(name: str) -> Measure:
    """Part the name of a measure into metric and cut-off; without one it is of whole lists."""
    metric, cutoff, _ = split_depth(name)
    return Measure(metric, cutoff)


def measure_at(path: Path, line: int, name: str) -> Measure:
    """Part the name of a measure in a table; an error names the line."""
    with prefixed_errors(f"{path}, line {line}"):
        return measure_named(name)


def all_reported(measures: Iterable[Measure]) -> Measures:
    """Compare all measures with one another, as each was named: all are report measures.

    Lower is better for the metrics that the harness knows so, and for errors (`ERRORS`). Raises
    InputError for a measure that is there twice.
    """
    distinct = tuple(measures)
    for measure in distinct:
        if distinct.count(measure) > 1:
            raise InputError(f"the measure {measure} is duplicated.")
    lower_is_better = [measure.metric for measure in distinct if _is_lower_better(measure)]
    return Measures(distinct, reported=distinct, lower_is_better_for=lower_is_better)


def _is_lower_better(measure: Measure) -> bool:
    """Tell whether lower values are better by a measure: of a metric of ours, or an error."""
    base, _, _ = measure.metric.partition("(")
    if base.casefold() in ERRORS:
        return True
    metrics = built_in_metrics()
    metric = metrics.get(harness_name(base, metrics))
    return metric is not None and not metric.higher_is_better
