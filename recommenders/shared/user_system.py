"""Systems in files of users.

These are LensKit components and pipelines, models as implicit's, and systems as the folder's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import MISSING, dataclass, fields, replace
from dataclasses import Field as DataField
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, create_model

from qrels import Ratings
from recommenders.shared.lenskit_bridge import silence, trained
from recommenders.shared.scorers import TrainedOnRatings
from recommenders.shared.system import Settings, SystemSpec
from runs import InputError
from runs.shared.arrays import Ints, Singles
from runs.shared.members import code_of, load_module

if TYPE_CHECKING:
    from lenskit.pipeline import Component, Pipeline

MARK = ".py:"
UNKNOWN_FAMILY = "yours"
"""Family of users' systems that declare none."""

Rank: TypeAlias = Callable[[Ints], Ints]
"""Lists items for users, of shape (n_users, n), the best first, -1 where there is none."""


def is_user_system(name: str) -> bool:
    """Tell whether a name means an object in a file: ``my_system.py:MyScorer``."""
    return MARK in name


def label_of(name: str) -> str:
    """Give what a system is called in runs and tables: its name, without folders."""
    return Path(name).name if is_user_system(name) else name


def file_of(name: str) -> Path:
    """Give the file of a user's system."""
    return Path(name.rpartition(":")[0])


@cache
def load_system(name: str) -> SystemSpec:
    """Load a user's system.

    Its name is the path of a Python file, a colon, and the name of an object in it: a LensKit
    component class; a LensKit pipeline or a model with implicit's ``fit`` and ``recommend``, or a
    function that makes one; or a function declared with `recommenders.system`.
    """
    path, wanted = file_of(name), name.rpartition(":")[2]
    found: Any = getattr(load_module(path, what="file of the system"), wanted, None)
    if isinstance(found, SystemSpec) and "settings" in found.make.__annotations__:
        return replace(found, name=label_of(name))
    from lenskit.pipeline import Component, Pipeline

    if isinstance(found, type) and issubclass(found, Component):
        return _spec_of(name, found)
    is_made = isinstance(found, Pipeline) or not callable(found)
    build: Callable[[], Any] = partial(deepcopy, found) if is_made else found
    with code_of(f"system {label_of(name)!r}"):
        built = build()
    if isinstance(built, Pipeline):
        return _spec_of_built(name, build, _trained_pipeline, found)
    if hasattr(built, "fit") and hasattr(built, "recommend"):
        return _spec_of_built(name, build, _trained_model, found)
    raise InputError(
        f"{path}: {wanted!r} in it must be a LensKit component class, a LensKit pipeline, a model "
        "with `fit` and `recommend`, a function that makes one, or a system."
    )


def _spec_of_built(
    name: str, build: Callable[[], Any], train: Callable[..., Rank], found: object
) -> SystemSpec:
    """Describe what trains as a whole as a system without settings."""

    def make(ratings: Ratings, settings: Settings, *, seed: int) -> RankedLists:
        with code_of(f"system {label_of(name)!r}"):
            rank = train(build(), ratings, seed=seed)
        return RankedLists(ratings, label_of(name), rank)

    make.__doc__ = found.__doc__
    make.__annotations__["settings"] = Settings
    return SystemSpec(label_of(name), str(file_of(name)), make, UNKNOWN_FAMILY)


def _trained_pipeline(pipeline: Pipeline, ratings: Ratings, *, seed: int) -> Rank:
    from lenskit import recommend

    pipeline = trained(pipeline, ratings, seed=seed)

    def rank(users: Ints) -> Ints:
        lists = np.full((len(users), len(ratings.items)), -1, dtype=np.int32)
        with silence():
            for row, user in zip(lists, ratings.users.ids[users], strict=True):
                listed = recommend(pipeline, str(user), n=len(ratings.items)).ids()
                row[: len(listed)] = ratings.items.numbers(listed.astype(np.str_))
        return lists

    return rank


def _trained_model(model: Any, ratings: Ratings, *, seed: int) -> Rank:
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(ratings.matrix())
    if hasattr(model, "random_state"):
        model.random_state = seed
    with warnings.catch_warnings():
        # implicit warns of conversions of its own.
        warnings.simplefilter("ignore")
        model.fit(matrix, show_progress=False)

    def rank(users: Ints) -> Ints:
        n_items = len(ratings.items)
        listed, _ = model.recommend(users, matrix[users], n_items, filter_already_liked_items=False)
        return np.asarray(listed, dtype=np.int32)

    return rank


def _spec_of(name: str, component: type[Component[Any]]) -> SystemSpec:
    """Describe a component class as a system: its configuration is what can be set."""
    from lenskit.training import Trainable

    def configured(settings: BaseModel) -> Component[Any]:
        return component(component.validate_config(settings.model_dump()))

    def make(ratings: Ratings, settings: BaseModel, *, seed: int) -> ComponentScorer:
        with code_of(f"system {label_of(name)!r}"):
            scorer = configured(settings)
            if isinstance(scorer, Trainable):
                scorer = trained(scorer, ratings, seed=seed)
            return ComponentScorer(ratings, label_of(name), scorer)

    make.__doc__ = component.__doc__
    make.__annotations__["settings"] = _settings_of(component)
    return SystemSpec(label_of(name), str(file_of(name)), make, UNKNOWN_FAMILY, configured)


def _settings_of(component: type[Component[Any]]) -> type[BaseModel]:
    """Give the configuration class of a component, made to refuse what it does not know."""
    config = component.config_class()
    if config is None:
        return Settings
    if issubclass(config, BaseModel):
        return type(config.__name__, (config,), {"model_config": ConfigDict(extra="forbid")})
    described: dict[str, Any] = {f.name: (f.type, _default(f)) for f in fields(config)}  # type: ignore[arg-type]
    return create_model(config.__name__, __config__=ConfigDict(extra="forbid"), **described)


def _default(of: DataField[Any]) -> Any:
    """Give a field of a data class as pydantic writes it."""
    if of.default_factory is not MISSING:
        return Field(default_factory=of.default_factory)
    return ... if of.default is MISSING else of.default


@dataclass(frozen=True, eq=False)
class ComponentScorer(TrainedOnRatings):
    """A trained LensKit component, asked for one user after the other.

    It takes a query and candidate items, and gives an item list with scores. Errors name its label.
    """

    label: str
    component: Component[Any]

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these users."""
        with silence(), code_of(f"system {self.label!r}"):
            return np.array([self._scores(user) for user in user_numbers], dtype=np.float32)

    def _scores(self, user: np.int32) -> NDArray[np.floating]:
        from lenskit.data import ItemList, RecQuery

        row = self.histories[[user]]
        history = ItemList(self.items.ids[row.indices], rating=row.data)
        query = RecQuery(user_id=str(self.users.ids[user]), history_items=history)
        answer = self.component(query, ItemList(self.items.ids))
        scored = answer.scores() if isinstance(answer, ItemList) else None
        if scored is None:
            raise InputError(f"system {self.label!r} must return an ItemList with scores.")
        scores = np.full(len(self.items), np.nan)
        scores[self.items.numbers(answer.ids().astype(np.str_))] = scored
        return scores


@dataclass(frozen=True, eq=False)
class RankedLists(TrainedOnRatings):
    """What was trained as a whole and ranks by itself: its scores are places from the end."""

    label: str
    rank: Rank

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these users; NaN where it is not listed."""
        with code_of(f"system {self.label!r}"):
            lists = self.rank(user_numbers)
        scores = np.full((len(user_numbers), len(self.items)), np.nan, dtype=np.float32)
        rows, columns = np.nonzero(lists >= 0)
        scores[rows, lists[rows, columns]] = lists.shape[1] - columns
        return scores
