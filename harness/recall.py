"""Recall from a log: robots, test users, models, ranks of hidden items, and every recall."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from pydantic import Field

from analyses.recall.parametrisations import RecallSettings, Weights, name_recall
from analyses.recall.recall import draw_recalls, errors_of_means, measure_recall
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table, frame_table
from qrels.interactions.held_out_users import draw_test_users, split_users
from qrels.interactions.interaction_file import read_interactions
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import (
    HiddenRanks,
    hidden_to_parquet,
    ranks_to_parquet,
    read_hidden_ranks,
)
from recommenders.kernels.hidden_ranks import DEEPEST, rank_hidden
from runs import InputError
from runs.shared.arrays import Floats, Integers, Sparse
from runs.shared.errors import require_choice
from runs.shared.files import write_atomically
from runs.shared.parallel import on_cluster
from runs.shared.progress import Progress
from runs.shared.settings import Whole, check_settings

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Similarity: TypeAlias = "Callable[[Interactions], Sparse]"
"""Learns from training events how much each item votes for each other."""

ITEM_COSINES = "item-cosines"
ALS_KNN = "als-knn"
"""Names of the models."""

SHOWN_BETAS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
SHOWN_CUTOFFS: Final[tuple[int, ...]] = (1, 5, 10, 20, 50)
MAX_PRINTED: Final = 8
"""Up to so many exponents or cut-offs, all are printed; of more, those above."""

COMPARED_CUTOFF: Final = 10
"""Of several models, the cut-off nearest to this one is printed."""

CURVE_LABELS: Final = ["model", "weights", "validation"]
"""Columns that distinguish the panels of the figure."""


class RecallQuestion(RecallSettings):
    """What is asked of a log."""

    share: float = Field(0.1, gt=0, le=1, description="Share of the users who are test users.")
    most: Whole = Field(100_000, ge=1, description="Maximum number of test users.")
    weights: tuple[Weights, ...] = Field(
        ("uniform", "stratified"),
        description="Average over users (uniform) or over hidden items (stratified).",
    )
    min_items: Whole = Field(
        2, ge=1, description="Minimum number of distinct items of a test user."
    )
    seed: Whole = Field(0, ge=0, lt=2**63, description="Random seed of test users and models.")
    first_year: Whole | None = Field(
        None, description="Earliest year of the log; earlier times are refused. Default: 2000."
    )


@dataclass(frozen=True, eq=False)
class MeasuredRecalls(Result):
    """Recalls of one or several models on the same hidden items.

    ``values`` has columns model, measure, value, error, as `harness online` reads them: those of
    uniform weights, unless only stratified ones are asked for. ``recalls`` has columns model and
    weights before those of `measure_recall`. Facts describe what was left out. Ranks, by model, are
    those that everything derives from.
    """

    values: pd.DataFrame
    recalls: pd.DataFrame
    ranks: Mapping[str, HiddenRanks]
    facts: Sequence[str]

    @property
    def panels(self) -> tuple[str, ...]:
        """Panels of the figure: models, weights and validations."""
        distinct_labels = self.recalls[CURVE_LABELS].drop_duplicates()
        return tuple(", ".join(labels) for labels in distinct_labels.to_numpy())

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Return both tables, by name."""
        return {"values": self.values, "recalls": self.recalls}

    def caption(self) -> str:
        """Describe what values are means of.

        The numbers of hidden items and users are those of the first row of ``self.recalls``.
        """
        models = ", ".join(self.ranks)
        first_row = self.recalls.iloc[0]
        n_hidden_items = first_row["hidden_items"]
        n_users = first_row["users"]
        return (
            f"{models}. Recall by popularity to the power of -beta: "
            f"{n_hidden_items:,} hidden items of {n_users:,} users. Errors are over "
            "users; of several models, of differences between them."
        )

    def findings(self) -> Sequence[str]:
        """Name the command that compares the values with rates; nothing for a single model."""
        if len(self.ranks) > 1:
            return ["With rates of these models: harness online values.csv rates.csv"]
        return []

    def cautions(self) -> Sequence[str]:
        """Return the facts: what was left out."""
        return self.facts

    @table("recall", "recall of hidden items")
    def recall_table(self) -> Table:
        """Tabulate a few exponents by a few cut-offs, or by the models if there are several.

        All exponents or cut-offs are rows or columns unless there are more than `MAX_PRINTED` (8).
        Of several models, the recalls are those at the cut-off nearest to 10. Rows have weights,
        validation and exponent (beta); of a single model also ceiling and effective share.
        """
        rows = self.recalls
        if rows["beta"].nunique() > MAX_PRINTED:
            rows = rows[rows["beta"].isin(SHOWN_BETAS)]
        keys = ["weights", "validation", "beta"]
        if len(self.ranks) > 1:
            cutoff = min(rows["cutoff"], key=lambda cutoff: abs(cutoff - COMPARED_CUTOFF))
            rows = rows[rows["cutoff"] == cutoff]
            wide = rows.pivot_table("value", keys, "model", sort=False)
        else:
            keys += ["ceiling", "effective_share"]
            if rows["cutoff"].nunique() > MAX_PRINTED:
                rows = rows[rows["cutoff"].isin(SHOWN_CUTOFFS)]
            wide = rows.pivot_table("value", keys, "cutoff", sort=False)
            wide = wide.rename(columns=lambda cutoff: f"@{cutoff}")
        return frame_table("recall", "Recall of hidden items", wide.reset_index(), self.caption())

    @figure("recall", "Recall over the exponent of popularity", panels="panel")
    def plot_recall(self, ax: Axes, *, panel: str) -> None:
        """Draw recall over the exponent, a line for each cut-off.

        ``panel`` is one of `panels`: "model, weights, validation". Draws into ``ax``.
        """
        panel_labels = panel.rsplit(", ", 2)
        is_of_panel = (self.recalls[CURVE_LABELS] == panel_labels).all(axis=1)
        draw_recalls(ax, self.recalls[is_of_panel], title=panel)

    def write_ranks(self, folder: Path) -> None:
        """Write the hidden items, and their ranks by the model, as Parquet files into a folder.

        Of several models, nothing is written.
        """
        if len(self.ranks) == 1:
            (ranks,) = self.ranks.values()
            write_atomically(folder / "hidden.parquet", hidden_to_parquet(ranks.hidden))
            write_atomically(folder / "ranks.parquet", ranks_to_parquet(ranks))


def measure_models(
    path: Path,
    question: RecallQuestion,
    *,
    models: Sequence[str],
    n_jobs: int,
    cluster: str | None = None,
    folder: Path | None = None,
    progress: Progress,
) -> MeasuredRecalls:
    """Train models on a part of the users of a log, and measure their recall on the others.

    Results depend neither on the number of workers nor on the cluster that ranks.

    Parameters
    ----------
    path
        Log of interactions.
    question
        What is asked.
    models
        Models such as "few=item-cosines:neighbours=5": a label, which may be missing, a name and
        settings.
    n_jobs
        Number of workers.
    cluster
        Address of a Dask cluster that ranks, or "local"; None ranks here.
    folder
        Folder of temporary files.
    progress
        Shows progress.

    Raises
    ------
    InputError
        If a model is unknown, two have one label, or all users are test users.
    """
    learners: dict[str, Similarity] = {}
    for text in models:
        label, settings = _parse_model(text)
        label = label or (text if len(models) > 1 else str(settings))
        if label in learners:
            raise InputError(f"two models are called {label!r}; name them: NAME={text}.")
        learners[label] = similarity_of(settings, seed=question.seed, n_jobs=n_jobs)
    with progress("Reading", 1) as bar:
        train, test = _read_split_log(path, question, n_jobs=n_jobs, folder=folder)
        bar.advance()
    if len(train) == 0:
        raise InputError("all users are test users; nobody is left to learn from.")
    n_training_users = np.count_nonzero(np.diff(train.starts))
    facts = [
        f"{len(test.users):,} test users with {len(test):,} events, "
        f"{n_training_users:,} training users with {len(train):,}."
    ]
    deepest_rank = max(DEEPEST, *question.cutoffs)
    ranks: dict[str, HiddenRanks] = {}
    with on_cluster(cluster), progress("Training and ranking", len(learners)) as bar:
        for label, learn_similarity in learners.items():
            similarity = learn_similarity(train)
            ranks[label] = rank_hidden(similarity, test, deepest=deepest_rank, n_jobs=n_jobs)
            bar.advance()
    return _measure_recalls(ranks, train.event_counts(), question, facts, progress)


def _parse_model(text: str) -> tuple[str, Any]:
    """Parse a model such as "few=item-cosines:neighbours=5" into label and settings.

    The label is "" if there is none. Raises InputError for an unknown model or setting.
    """
    head, _, assignments = text.partition(":")
    label, _, name = head.rpartition("=")
    setting_texts: dict[str, str] = {}
    for assignment in assignments.split(","):
        if assignment:
            key, _, value = assignment.partition("=")
            setting_texts[key] = value
    return label, model_settings(name, setting_texts)


def _read_split_log(
    path: Path, question: RecallQuestion, *, n_jobs: int, folder: Path | None
) -> tuple[Interactions, Interactions]:
    """Read a log, and split its events into those of training users and of test users.

    Test users are drawn as the question says, and numbered anew, from 0. Temporary files lie in
    the folder; None for the default one. Raises InputError if the log cannot be read.
    """
    events = read_interactions(path, n_jobs=n_jobs, first_year=question.first_year, folder=folder)
    test_ids = draw_test_users(
        events,
        share=question.share,
        max_users=question.most,
        min_items=question.min_items,
        seed=question.seed,
    )
    train, test = split_users(events, test_ids)
    is_first_of_user = np.diff(test.user, prepend=-1) > 0
    user_numbers = np.cumsum(is_first_of_user) - 1
    test = replace(test, users=test_ids, user=user_numbers.astype(np.int32))
    return train, test


def measure_ranks(
    path: Path, rank_table: Path, question: RecallQuestion, *, n_jobs: int, progress: Progress
) -> MeasuredRecalls:
    """Measure recall from a table of ranks; see `read_hidden_ranks`.

    Popularity is counted over the events of the log at ``path`` of users without ranks. Raises
    InputError if a file cannot be read, or all users of the log have ranks.
    """
    with progress("Reading", 1) as bar:
        first_year = question.first_year
        events = read_interactions(path, first_year=first_year, n_jobs=n_jobs)
        ranks = read_hidden_ranks(rank_table, items=events.items, first_year=first_year)
        bar.advance()
    train, _ = split_users(events, ranks.hidden.users)
    if len(train) == 0:
        raise InputError(
            f"{path}: popularity is counted over the events of users without ranks, and all users "
            f"have ranks in {rank_table}."
        )
    item_counts = np.zeros(len(ranks.hidden.items), dtype=np.intp)
    item_numbers = ranks.hidden.items.numbers(events.items.ids)
    item_counts[item_numbers] = train.event_counts()
    facts = [f"popularity counts {len(train):,} events of users without ranks."]
    return _measure_recalls({str(rank_table): ranks}, item_counts, question, facts, progress)


def _measure_recalls(
    ranks: Mapping[str, HiddenRanks],
    item_counts: Integers,
    question: RecallQuestion,
    facts: Sequence[str],
    progress: Progress,
) -> MeasuredRecalls:
    """Measure every recall that is asked for, from the ranks of hidden items by model.

    ``item_counts``: number of training events of each item, of shape (n_items,), by the numbers of
    the hidden items. The facts go into the result. Rows of ``recalls`` are in the order of the
    models; ``values`` has errors of means, which are comparable over models.
    """
    import pandas as pd

    frames: dict[tuple[str, str], pd.DataFrame] = {}
    errors: dict[str, Floats] = {}
    with progress("Measuring recall", len(question.weights)) as bar:
        for weights in question.weights:
            for label, model_ranks in ranks.items():
                frames[label, weights] = measure_recall(
                    model_ranks,
                    item_counts,
                    question,
                    weights=weights,
                    min_items=question.min_items,
                )
            errors[weights] = errors_of_means(
                [*ranks.values()],
                item_counts,
                question,
                weights=weights,
                min_items=question.min_items,
            )
            bar.advance()
    labels = ["model", "weights"]
    recalls = pd.concat(frames, names=labels).reset_index(level=labels).reset_index(drop=True)
    model_numbers = {label: number for number, label in enumerate(ranks)}
    recalls = recalls.sort_values(
        "model", kind="stable", key=lambda models: models.map(model_numbers)
    )
    weights = "uniform" if "uniform" in errors else "stratified"
    values = _tabulate_values(recalls, weights, errors[weights])
    return MeasuredRecalls(values, recalls.reset_index(drop=True), ranks, tuple(facts))


def _tabulate_values(recalls: pd.DataFrame, weights: Weights, errors: Floats) -> pd.DataFrame:
    """Tabulate the recalls of these weights: columns model, measure, value, error.

    ``weights`` are "uniform" or "stratified". ``errors``: standard errors of shape
    (n_models, n_values), in the order of the rows of the recalls with these weights.
    """
    rows = recalls[recalls["weights"] == weights]
    parameters = zip(rows["validation"], rows["beta"], rows["cutoff"], strict=True)
    measures = [
        name_recall(validation, beta, cutoff, weights) for validation, beta, cutoff in parameters
    ]
    values = rows[["model", "value"]].assign(error=errors.ravel())
    values.insert(1, "measure", measures)
    return values.reset_index(drop=True)


def model_settings(name: str, settings: Mapping[str, Any]) -> Any:
    """Check the settings of a model, which may be texts; others have their defaults.

    Raises InputError for an unknown model or setting, or a value that breaks a rule.
    """
    from recommenders.kernels.embeddings import EmbeddingSettings
    from recommenders.kernels.neighbours import ItemCosines

    require_choice("model", name, (ITEM_COSINES, ALS_KNN))
    settings_class = EmbeddingSettings if name == ALS_KNN else ItemCosines
    return check_settings(name, settings_class, settings)


def similarity_of(model: Any, *, seed: int, n_jobs: int) -> Similarity:
    """Return the function that learns the similarities of items from training events.

    ``model`` has the settings of item-cosines or als-knn, as `model_settings` returns them; those
    of item-cosines are such a function themselves. Raises InputError if als-knn is asked for and
    the package implicit is not installed.
    """
    from recommenders.kernels.embeddings import EmbeddingSettings, import_implicit, similarity

    if not isinstance(model, EmbeddingSettings):
        return model
    # Before anything slow.
    import_implicit()
    return partial(similarity, settings=model, seed=seed, n_jobs=n_jobs)
