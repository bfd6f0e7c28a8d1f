"""Recall from a log: robots, test users, models, ranks of hidden items, and every recall."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from analyses.recall.parametrisations import VALIDATIONS, Parametrisation, RecallSettings
from analyses.recall.recall import RecallGrid, draw_recalls, errors_of_means, measure_recall
from analyses.recall.stratification import Weights, popularity_counts
from analyses.shared.drawing import axes_or_new
from analyses.shared.result import Result, figure, table
from analyses.shared.table import Table, frame_table
from qrels.interactions.held_out_users import (
    draw_test_users,
    filter_robots,
    removed_in_words,
    split_users,
)
from qrels.interactions.interaction_file import read_interactions
from qrels.interactions.interactions import Interactions
from qrels.ranks.hidden_ranks import (
    HiddenRanks,
    hidden_to_parquet,
    ranks_to_parquet,
    read_hidden_ranks,
)
from recommenders.kernels.hidden_ranks import Hiding, rank_hidden
from runs import InputError
from runs.shared.errors import nearest
from runs.shared.files import write_whole
from runs.shared.parallel import on_cluster
from runs.shared.progress import Progress
from runs.shared.settings import Whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from scipy.sparse import csr_array

Similarity: TypeAlias = "Callable[[Interactions], csr_array[Any]]"
"""Learns from training events how much each item votes for each other."""

MODELS: Final = ("item-cosines", "als-knn")
SHOWN_BETAS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
SHOWN_CUTOFFS: Final = (1, 5, 10, 20, 50)
FEW: Final = 8
"""Up to so many exponents or cut-offs, all are printed."""


class RecallQuestion(RecallSettings):
    """What is asked of a log."""

    robots: Whole | None = Field(
        None, ge=1, description="Exclude users with more than N events a day (likely bots)."
    )
    share: float = Field(0.1, gt=0, le=1, description="Share of the users who are tested.")
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

    Grids are by model and weights, and all models have the same; errors, by weights, are of shape
    (n_models, n_validations, n_betas, n_cutoffs). Facts describe what was left out. Ranks, by
    model, are those that everything derives from.
    """

    grids: Mapping[str, Mapping[Weights, RecallGrid]]
    errors: Mapping[Weights, NDArray[np.float64]]
    ranks: Mapping[str, HiddenRanks]
    facts: Sequence[str]

    @property
    def first(self) -> RecallGrid:
        """The first grid of the first model."""
        return next(iter(next(iter(self.grids.values())).values()))

    @property
    def panels(self) -> tuple[str, ...]:
        """Panels of the figure: models, weights and validations."""
        own = [(model, weights) for model, grids in self.grids.items() for weights in grids]
        return tuple(f"{model}, {w}, {side}" for model, w in own for side in VALIDATIONS)

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``values`` and ``recalls``.

        ``values`` has columns model, measure, value, error, as `harness online` reads them: those
        of uniform weights, unless only stratified ones are asked for. ``recalls`` has columns model
        and weights before those of `RecallGrid.to_frame`.
        """
        import pandas as pd

        weights: Weights = "uniform" if "uniform" in self.errors else "stratified"
        details = {
            (model, own): grid.to_frame()
            for model, grids in self.grids.items()
            for own, grid in grids.items()
        }
        recalls = pd.concat(details, names=["model", "weights"]).droplevel(2).reset_index()
        values = recalls[recalls["weights"] == weights]
        axes = zip(values["validation"], values["beta"], values["cutoff"], strict=True)
        measures = [str(Parametrisation(v, beta, k, weights)) for v, beta, k in axes]
        values = values[["model", "value"]].assign(error=self.errors[weights].ravel())
        values.insert(1, "measure", measures)
        return {"values": values.reset_index(drop=True), "recalls": recalls}

    def caption(self) -> str:
        """Describe what values are means of."""
        if len(self.grids) == 1:
            return f"{next(iter(self.grids))}. {self.first.caption()}"
        errors = "Errors are those of differences between models."
        return f"{len(self.grids)} models. {self.first.caption()} {errors}"

    def findings(self) -> Sequence[str]:
        """Say what to do with the values of several models."""
        several = len(self.grids) > 1
        return ["With rates of these models: harness online values.csv rates.csv"] * several

    def cautions(self) -> Sequence[str]:
        """Say what was left out."""
        return self.facts

    @table("recall", "recall of hidden items")
    def recall_table(self) -> Table:
        """Tabulate a few exponents by a few cut-offs, or by the models if there are several."""
        some, keys = self.frames()["recalls"], ["weights", "validation", "beta"]
        betas, cutoffs = _few(self.first.betas, SHOWN_BETAS), self.first.cutoffs
        column, shown = "cutoff", _few(cutoffs, SHOWN_CUTOFFS)
        note = self.caption()
        if len(self.grids) > 1:
            column, shown = "model", [min(cutoffs, key=lambda k: abs(k - 10))]
            note = f"Cut-off {shown[0]}. {note}"
        else:
            keys += ["ceiling", "effective_share"]
        some = some[some["beta"].isin(betas) & some["cutoff"].isin(shown)]
        first = some.drop_duplicates(keys)[keys]
        wide = some.pivot(index=keys, columns=column, values="value")
        wide = wide[[*dict.fromkeys(some[column])]].loc[[*first.itertuples(index=False, name=None)]]
        wide = wide.rename(columns=lambda name: f"@{name}" if column == "cutoff" else name)
        return frame_table("recall", "Recall of hidden items", wide.reset_index(), note)

    @figure("recall", "Recall over the exponent of popularity", panels="panel")
    def plot_recall(self, ax: Axes | None = None, *, panel: str) -> Axes:
        """Draw recall over the exponent, a line for each cut-off."""
        model, weights, side = panel.rsplit(", ", 2)
        grid, number = self.grids[model][weights], self.first.validations.index(side)  # type: ignore[index]
        values, shares = grid.values[number], grid.effective_shares[number]
        axes: dict[str, Any] = {"betas": grid.betas, "cutoffs": grid.cutoffs, "title": panel}
        ax = draw_recalls(axes_or_new(ax), values, shares, **axes)
        ax.set_ylabel("recall")
        return ax

    def write_ranks(self, folder: Path) -> None:
        """Write the hidden items, and their ranks by the model, if there is one."""
        if len(self.ranks) == 1:
            (ranks,) = self.ranks.values()
            write_whole(folder / "hidden.parquet", hidden_to_parquet(ranks.hidden))
            write_whole(folder / "ranks.parquet", ranks_to_parquet(ranks))


def _few(known: Sequence[Any], wanted: Sequence[Any]) -> list[Any]:
    few = [value for value in known if value in wanted]
    return list(known) if len(known) <= FEW or not few else few


def measure_models(
    path: Path,
    question: RecallQuestion,
    *,
    models: Sequence[str],
    settings: Sequence[str] = (),
    n_jobs: int,
    dask: str | None = None,
    folder: Path | None = None,
    progress: Progress,
) -> MeasuredRecalls:
    """Train models on a part of the users of a log, and measure their recall on the others.

    Models and settings, which are of all models, are as `read_model` reads them. Results depend
    neither on the workers nor on the cluster that ranks. Temporary files lie in the folder.
    """
    chosen: dict[str, Similarity] = {}
    for text in models:
        name, described, train_model = read_model(text, settings, seed=question.seed, n_jobs=n_jobs)
        label = name or (text if len(models) > 1 else described)
        if label in chosen:
            raise InputError(f"two models are called {label!r}; name them: NAME={text}.")
        chosen[label] = train_model
    with progress("Reading", 1):
        events, facts = _read(path, question, folder=folder, n_jobs=n_jobs)
        test_ids = draw_test_users(
            events,
            share=question.share,
            most=question.most,
            least_items=question.min_items,
            seed=question.seed,
        )
        train, test = split_users(events, test_ids)
        user = np.cumsum(np.diff(test.user, prepend=-1) > 0) - 1
        test = replace(test, users=test_ids, user=user.astype(np.int32))
        del events
    if len(train) == 0:
        raise InputError("all users are test users; nobody is left to learn from.")
    n_train = np.count_nonzero(np.diff(train.starts))
    facts.append(
        f"{len(test_ids):,} test users with {len(test):,} events, {n_train:,} training users with "
        f"{len(train):,}."
    )
    counts = popularity_counts(train, of=question.popularity)
    hiding = Hiding(deepest=max(Hiding.deepest, *question.cutoffs))
    ranks = {}
    with on_cluster(dask), progress("Training and ranking", len(chosen)) as bar:
        for label, train_model in chosen.items():
            similarity = train_model(train)
            ranks[label] = rank_hidden(similarity, test, hiding, n_jobs=n_jobs)
            votes = np.bincount(similarity.indices, minlength=len(counts))
            hidden = ranks[label].hidden
            facts.append(
                f"{label}: {np.count_nonzero(votes[hidden.item] == 0):,} of {len(hidden):,} hidden "
                "items are certain misses, as no item votes for them."
            )
            bar.advance()
    return _measured(ranks, counts, question, facts, progress)


def measure_ranks(
    path: Path, rank_table: Path, question: RecallQuestion, *, n_jobs: int, progress: Progress
) -> MeasuredRecalls:
    """Measure recall from a table of ranks; see `read_hidden_ranks`.

    Popularity is counted over the users without ranks.
    """
    with progress("Reading", 1):
        events, facts = _read(path, question, folder=None, n_jobs=n_jobs)
        first_year = question.first_year
        ranks = read_hidden_ranks(rank_table, items=events.items, first_year=first_year)
    train, _ = split_users(events, ranks.hidden.users)
    if len(train) == 0:
        raise InputError(
            f"{path}: popularity is counted over the events of users without ranks, and all users "
            f"have ranks in {rank_table}."
        )
    counts = np.zeros(len(ranks.hidden.items), dtype=np.intp)
    numbers = ranks.hidden.items.numbers(events.items.ids)
    counts[numbers] = popularity_counts(train, of=question.popularity)
    facts.append(f"popularity counts {len(train):,} events of users without ranks.")
    return _measured({str(rank_table): ranks}, counts, question, facts, progress)


def _read(
    path: Path, question: RecallQuestion, *, folder: Path | None, n_jobs: int
) -> tuple[Interactions, list[str]]:
    """Read a log without robots, and report how many there were."""
    events = read_interactions(path, first_year=question.first_year, folder=folder, n_jobs=n_jobs)
    if question.robots is None:
        return events, []
    found = filter_robots(events, most_per_day=question.robots)
    return found.kept, [removed_in_words(*found.removed)]


def _measured(
    ranks: Mapping[str, HiddenRanks],
    counts: NDArray[np.integer],
    question: RecallQuestion,
    facts: Sequence[str],
    progress: Progress,
) -> MeasuredRecalls:
    grids: dict[str, dict[Weights, RecallGrid]] = {label: {} for label in ranks}
    errors: dict[Weights, NDArray[np.float64]] = {}
    with progress("Measuring recall", len(question.weights)) as bar:
        for weights in question.weights:
            how: dict[str, Any] = {
                "betas": question.betas,
                "cutoffs": question.cutoffs,
                "stratification": question.stratified(weights, min_items=question.min_items),
            }
            for label, of_model in ranks.items():
                grids[label][weights] = measure_recall(of_model, counts, **how)
            sides = [errors_of_means(ranks, counts, validation=v, **how) for v in VALIDATIONS]
            errors[weights] = np.stack(sides, axis=1)
            bar.advance()
    return MeasuredRecalls(grids, errors, ranks, tuple(facts))


def read_model(
    text: str, settings: Sequence[str], *, seed: int, n_jobs: int
) -> tuple[str, str, Similarity]:
    """Read a model such as "few=item-cosines:neighbours=5", with settings of all models.

    Given are the name, which may be empty, the model with all its settings, and what learns it.
    """
    head, _, own = text.partition(":")
    label, _, name = head.rpartition("=")
    if name not in MODELS:
        raise InputError(f"a model is {' or '.join(MODELS)}, got {name!r} in {text!r}.")
    given = [*settings, *filter(None, own.split(","))]
    if name == "als-knn":
        from recommenders.kernels.embeddings import EmbeddingSettings, import_implicit, similarity

        chosen = EmbeddingSettings(**_read_settings(given, EmbeddingSettings, model=name))
        # Before anything slow.
        import_implicit()
        train = partial(similarity, settings=chosen, seed=seed, n_jobs=n_jobs)
        return label, str(chosen), train
    from recommenders.kernels.neighbours import ItemCosines

    model = ItemCosines(**_read_settings(given, ItemCosines, model=name))
    for setting, least in (("neighbours", 1), ("shrinkage", 0), ("least_users", 1)):
        value = getattr(model, setting)
        if not least <= value < float("inf"):
            raise InputError(f"`{setting}` must be at least {least}, got {value}.")
    values = ",".join(f"{part.name}={getattr(model, part.name):g}" for part in fields(model))
    return label, f"item-cosines({values})", model


def _read_settings(settings: Sequence[str], kind: Any, *, model: str) -> dict[str, Any]:
    """Read "name=value" by the types of the defaults of a dataclass."""
    defaults: dict[str, Any] = {part.name: part.default for part in fields(kind)}
    given: dict[str, Any] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"a setting is written NAME=VALUE, got {text!r}.")
        if name not in defaults:
            raise InputError(f"{model} has no setting {name!r}; {nearest(name, [*defaults])}")
        try:
            given[name] = type(defaults[name])(value)
        except ValueError:
            needed = "a whole number" if isinstance(defaults[name], int) else "a number"
            raise InputError(f"`{name}` must be {needed}, got {value!r}.") from None
    return given
