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
from runs.shared.arrays import Integers, Sparse
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

ITEM_COSINES, ALS_KNN = "item-cosines", "als-knn"
SHOWN_BETAS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
SHOWN_CUTOFFS: Final[tuple[int, ...]] = (1, 5, 10, 20, 50)
FEW: Final = 8
"""Up to so many exponents or cut-offs, all are printed."""


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
        own = self.recalls[["model", "weights", "validation"]].drop_duplicates()
        return tuple(map(", ".join, own.to_numpy()))

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give both tables."""
        return {"values": self.values, "recalls": self.recalls}

    def caption(self) -> str:
        """Describe what values are means of."""
        first = self.recalls.iloc[0]
        return (
            f"{', '.join(self.ranks)}. Recall by popularity to the power of -beta: "
            f"{first['hidden_items']:,} hidden items of {first['users']:,} users. Errors are over "
            "users; of several models, of differences between them."
        )

    def findings(self) -> Sequence[str]:
        """Say what to do with the values of several models."""
        several = len(self.ranks) > 1
        return ["With rates of these models: harness online values.csv rates.csv"] * several

    def cautions(self) -> Sequence[str]:
        """Say what was left out."""
        return self.facts

    @table("recall", "recall of hidden items")
    def recall_table(self) -> Table:
        """Tabulate a few exponents by a few cut-offs, or by the models if there are several."""
        some, column = self.recalls, "cutoff"
        keys = ["weights", "validation", "beta", "ceiling", "effective_share"]
        cutoffs: Sequence[int] = SHOWN_CUTOFFS
        if some["beta"].nunique() > FEW:
            some = some[some["beta"].isin(SHOWN_BETAS)]
        if len(self.ranks) > 1:
            keys, column = keys[:3], "model"
            cutoffs = (min(some["cutoff"], key=lambda cutoff: abs(cutoff - 10)),)
        if column == "model" or some["cutoff"].nunique() > FEW:
            some = some[some["cutoff"].isin(cutoffs)]
        wide = some.pivot_table("value", keys, column, sort=False)
        wide = wide.rename(columns=lambda name: f"@{name}" if column == "cutoff" else name)
        return frame_table("recall", "Recall of hidden items", wide.reset_index(), self.caption())

    @figure("recall", "Recall over the exponent of popularity", panels="panel")
    def plot_recall(self, ax: Axes, *, panel: str) -> None:
        """Draw recall over the exponent, a line for each cut-off."""
        labels = self.recalls[["model", "weights", "validation"]]
        some = self.recalls[(labels == panel.rsplit(", ", 2)).all(axis=1)]
        draw_recalls(ax, some, title=panel)

    def write_ranks(self, folder: Path) -> None:
        """Write the hidden items, and their ranks by the model, if there is one."""
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

    A model is written such as "few=item-cosines:neighbours=5": its name, which may be missing, and
    its settings. Results depend neither on the workers nor on the cluster that ranks. Temporary
    files lie in the folder.
    """
    chosen: dict[str, Similarity] = {}
    for text in models:
        head, _, settings = text.partition(":")
        name, _, kind = head.rpartition("=")
        given = [each.partition("=") for each in filter(None, settings.split(","))]
        model = model_settings(kind, {key: value for key, _, value in given})
        label = name or (text if len(models) > 1 else str(model))
        if label in chosen:
            raise InputError(f"two models are called {label!r}; name them: NAME={text}.")
        chosen[label] = similarity_of(model, seed=question.seed, n_jobs=n_jobs)
    with progress("Reading", 1) as bar:
        read: dict[str, Any] = {"first_year": question.first_year, "folder": folder}
        events = read_interactions(path, n_jobs=n_jobs, **read)
        test_ids = draw_test_users(
            events,
            share=question.share,
            max_users=question.most,
            min_items=question.min_items,
            seed=question.seed,
        )
        train, test = split_users(events, test_ids)
        user = np.cumsum(np.diff(test.user, prepend=-1) > 0) - 1
        test = replace(test, users=test_ids, user=user.astype(np.int32))
        del events
        bar.advance()
    if len(train) == 0:
        raise InputError("all users are test users; nobody is left to learn from.")
    n_train = np.count_nonzero(np.diff(train.starts))
    facts = [
        f"{len(test_ids):,} test users with {len(test):,} events, {n_train:,} training users with "
        f"{len(train):,}."
    ]
    deepest, ranks = max(DEEPEST, *question.cutoffs), {}
    with on_cluster(cluster), progress("Training and ranking", len(chosen)) as bar:
        for label, train_model in chosen.items():
            ranks[label] = rank_hidden(train_model(train), test, deepest=deepest, n_jobs=n_jobs)
            bar.advance()
    return _measured(ranks, train.event_counts(), question, facts, progress)


def measure_ranks(
    path: Path, rank_table: Path, question: RecallQuestion, *, n_jobs: int, progress: Progress
) -> MeasuredRecalls:
    """Measure recall from a table of ranks; see `read_hidden_ranks`.

    Popularity is counted over the users without ranks.
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
    counts = np.zeros(len(ranks.hidden.items), dtype=np.intp)
    counts[ranks.hidden.items.numbers(events.items.ids)] = train.event_counts()
    facts = [f"popularity counts {len(train):,} events of users without ranks."]
    return _measured({str(rank_table): ranks}, counts, question, facts, progress)


def _measured(
    ranks: Mapping[str, HiddenRanks],
    counts: Integers,
    question: RecallQuestion,
    facts: Sequence[str],
    progress: Progress,
) -> MeasuredRecalls:
    import pandas as pd

    recalls, errors = {}, {}
    with progress("Measuring recall", len(question.weights)) as bar:
        for weights in question.weights:
            how: dict[str, Any] = {"weights": weights, "min_items": question.min_items}
            for label, of_model in ranks.items():
                recalls[label, weights] = measure_recall(of_model, counts, question, **how)
            errors[weights] = errors_of_means([*ranks.values()], counts, question, **how)
            bar.advance()
    labels = ["model", "weights"]
    found = pd.concat(recalls, names=labels).reset_index(level=labels).reset_index(drop=True)
    models = {label: number for number, label in enumerate(ranks)}
    found = found.sort_values("model", kind="stable", key=lambda each: each.map(models))
    weights = "uniform" if "uniform" in errors else "stratified"
    values = found[found["weights"] == weights]
    axes = zip(values["validation"], values["beta"], values["cutoff"], strict=True)
    measures = [name_recall(*each, weights) for each in axes]
    values = values[["model", "value"]].assign(error=errors[weights].ravel())
    values.insert(1, "measure", measures)
    recalls_, values = (frame.reset_index(drop=True) for frame in (found, values))
    return MeasuredRecalls(values, recalls_, ranks, tuple(facts))


def model_settings(name: str, given: Mapping[str, Any]) -> Any:
    """Check the settings of a model, which may be texts."""
    from recommenders.kernels.embeddings import EmbeddingSettings
    from recommenders.kernels.neighbours import ItemCosines

    require_choice("model", name, (ITEM_COSINES, ALS_KNN))
    return check_settings(name, EmbeddingSettings if name == ALS_KNN else ItemCosines, given)


def similarity_of(model: Any, *, seed: int, n_jobs: int) -> Similarity:
    """Give what learns the similarities of a model."""
    from recommenders.kernels.embeddings import EmbeddingSettings, import_implicit, similarity

    if not isinstance(model, EmbeddingSettings):
        return model
    # Before anything slow.
    import_implicit()
    return partial(similarity, settings=model, seed=seed, n_jobs=n_jobs)
