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
from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, create_model

from qrels import Ratings
from recommenders.shared.lenskit_bridge import is_trainable, lacking_is_trained, silence, trained
from recommenders.shared.scorers import TrainedOnRatings
from recommenders.shared.system import Settings, SystemSpec
from runs import InputError
from runs.shared.arrays import Ints, Singles
from runs.shared.errors import needed_by, suggestion
from runs.shared.members import Member, load_module, user_code

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


def load_system(name: str) -> SystemSpec:
    """Load a user's system as its file is now.

    Its name is the path of a Python file, a colon, and the name of an object in it: a LensKit
    component class; a LensKit pipeline or a model with implicit's ``fit`` and ``recommend``, or a
    function that makes one; or a function declared with `recommenders.system`.
    """
    return _system_in(load_module(file_of(name), what="file of the system"), name)


@cache
def _system_in(module: ModuleType, name: str) -> SystemSpec:
    path, wanted = file_of(name), name.rpartition(":")[2]
    if not hasattr(module, wanted):
        public = [other for other in vars(module) if not other.startswith("_")]
        raise InputError(f"{path}: there is no {wanted!r} in it; {suggestion(wanted, public)}")
    system = getattr(module, wanted)
    if isinstance(system, SystemSpec):
        if "settings" not in system.make.__annotations__:
            raise InputError(
                f"{path}: the argument `settings` of {wanted!r} must be annotated with a class of "
                "settings."
            )
        return replace(system, name=label_of(name))
    with needed_by(f"system {label_of(name)!r}", extra="recommenders"):
        from lenskit.pipeline import Component, Pipeline

    if isinstance(system, type) and issubclass(system, Component):
        return _spec_of(name, system)
    if isinstance(system, Component):
        raise InputError(
            f"{path}: {wanted!r} in it is a LensKit component; name its class, or a pipeline of "
            "it, such as `topn_pipeline` makes."
        )
    is_built = isinstance(system, Pipeline | Member) or not callable(system)
    if not is_built and not _can_be_called(system):
        raise InputError(
            f"{path}: {wanted!r} in it must make a system when called without arguments."
        )
    build: Callable[[], Any] = partial(deepcopy, system) if is_built else system
    with user_code(f"system {label_of(name)!r}"):
        built = build()
    if isinstance(built, Pipeline):
        _require_recommender(built, name)
        return _spec_of_built(name, build, _trained_pipeline, system)
    if hasattr(built, "fit") and hasattr(built, "recommend"):
        _require_methods_of_implicit(built, name)
        return _spec_of_built(name, build, _trained_model, system)
    raise InputError(
        f"{path}: {wanted!r} in it must be a LensKit component class, a LensKit pipeline, a model "
        "with `fit` and `recommend`, a function that makes one, or a system."
    )


RECOMMENDER = "recommender"
"""What LensKit calls the component of a pipeline that ranks, by default."""

INPUTS = ("query", "n")
"""Inputs of a pipeline that are asked for: for whom, and how many items."""


def _require_recommender(pipeline: Pipeline, name: str) -> None:
    """Refuse a pipeline that cannot rank the items by itself."""
    subject = f"{file_of(name)}: the pipeline {name.rpartition(':')[2]!r}"
    if pipeline.node(RECOMMENDER, missing="none") is None:
        nodes = ", ".join(node.name for node in pipeline.nodes())
        raise InputError(
            f"{subject} must have a component {RECOMMENDER!r}, which ranks items; it has {nodes}. "
            "Build it with `topn_pipeline`, or give its ranker this name with `alias`."
        )
    for expected in INPUTS:
        if pipeline.node(expected, missing="none") is None:
            raise InputError(
                f"{subject} must have an input {expected!r}, as those of `topn_pipeline` have."
            )
    lacking = lacking_is_trained(pipeline)
    if lacking:
        raise InputError(
            f"{subject} has the component {lacking[0]!r}, which must have the method `is_trained` "
            "beside `train`, as LensKit 2026 asks."
        )


def _require_methods_of_implicit(model: Any, name: str) -> None:
    """Refuse a model whose methods do not take what those of implicit take."""
    keywords = {"fit": "show_progress", "recommend": "filter_already_liked_items"}
    for method, keyword in keywords.items():
        if not _takes(getattr(model, method), keyword):
            raise InputError(
                f"{file_of(name)}: the method `{method}` of {name.rpartition(':')[2]!r} must take "
                f"the keyword {keyword!r}, as that of a model of implicit does."
            )


def _can_be_called(function: Callable[..., Any]) -> bool:
    """Tell whether a function can be called without arguments; compiled ones may."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    variable = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return all(p.default is not p.empty or p.kind in variable for p in parameters)


def _takes(method: Callable[..., Any], keyword: str) -> bool:
    """Tell whether a method takes a keyword; compiled ones that do not say so may."""
    try:
        parameters = signature(method).parameters
    except (TypeError, ValueError):
        return True
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return takes_all or keyword in parameters


def _spec_of_built(
    name: str, build: Callable[[], Any], train: Callable[..., Rank], found: object
) -> SystemSpec:
    """Describe what trains as a whole as a system without settings."""

    def make(ratings: Ratings, settings: Settings, *, seed: int) -> RankedLists:
        with user_code(f"system {label_of(name)!r}"):
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

    def configured(settings: BaseModel) -> Component[Any]:
        return component(component.validate_config(settings.model_dump()))

    def make(ratings: Ratings, settings: BaseModel, *, seed: int) -> ComponentScorer:
        with user_code(f"system {label_of(name)!r}"):
            scorer: Any = configured(settings)
            if is_trainable(scorer):
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
        with silence(), user_code(f"system {self.label!r}"):
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
        with user_code(f"system {self.label!r}"):
            lists = self.rank(user_numbers)
        scores = np.full((len(user_numbers), len(self.items)), np.nan, dtype=np.float32)
        rows, columns = np.nonzero(lists >= 0)
        scores[rows, lists[rows, columns]] = lists.shape[1] - columns
        return scores
