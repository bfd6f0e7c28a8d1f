"""Systems in files of users.

These are LensKit components and pipelines, models like those of implicit, and systems that are
declared like those of the folder ``recommenders``.
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
from recommenders.shared.lenskit_bridge import (
    components_without_is_trained,
    is_trainable,
    silence,
    train_component,
)
from recommenders.shared.scorers import TrainedOnRatings
from recommenders.shared.system import Settings, SystemSpec
from runs import InputError
from runs.shared.arrays import Ints, Singles
from runs.shared.errors import needed_by, suggestion
from runs.shared.members import Member, load_module, user_code

if TYPE_CHECKING:
    from lenskit.pipeline import Component, Pipeline

FILE_MARK = ".py:"
"""Part of the name of every system in a file: ``my_system.py:MyScorer``."""

UNKNOWN_FAMILY = "yours"
"""Family of users' systems that declare none."""

ListItems: TypeAlias = Callable[[Ints], Ints]
"""Lists items for users: from user numbers, (n_rows,), to item numbers of shape (n_rows, length),
the best first, -1 where a list ends."""


def is_user_system(name: str) -> bool:
    """Check whether a name is of an object in a file, as ``my_system.py:MyScorer`` is."""
    return FILE_MARK in name


def label_of(name: str) -> str:
    """Return the label of a system in runs and tables: its name, without folders of its file."""
    return Path(name).name if is_user_system(name) else name


def file_of(name: str) -> Path:
    """Return the path of the file of a user's system: the part before the last colon."""
    return Path(name.rpartition(":")[0])


def _object_of(name: str) -> str:
    """Return the name of the object in the file: the part after the last colon."""
    return name.rpartition(":")[2]


def load_system(name: str) -> SystemSpec:
    """Load a user's system as its file is now.

    The name is the path of a Python file, a colon, and the name of an object in it. The object is a
    LensKit component class; a LensKit pipeline or a model with implicit's ``fit`` and
    ``recommend``, or a function that makes one; or a function declared with `recommenders.system`.

    Raises
    ------
    InputError
        If the file cannot be run, has no such object, or the object is of another kind.
    """
    return _system_in(load_module(file_of(name), description="file of the system"), name)


@cache
def _system_in(module: ModuleType, name: str) -> SystemSpec:
    """Describe an object in a user's module, which has been loaded, as a system.

    ``name`` is the path of the file, a colon, and the name of the object. The object may be a
    system declared by a decorator, a LensKit component class, a LensKit pipeline, a model with the
    methods `fit` and `recommend`, or a function without arguments that makes one of the last two.

    Raises InputError if the module has no such object; if a declared system has no annotation of
    its settings; if LensKit is not installed; or if the object is of another kind, or lacks what
    its kind needs.
    """
    path = file_of(name)
    object_name = _object_of(name)
    if not hasattr(module, object_name):
        public_names = [n for n in vars(module) if not n.startswith("_")]
        hint = suggestion(object_name, public_names)
        raise InputError(f"{path}: there is no {object_name!r} in it; {hint}")
    system = getattr(module, object_name)
    if isinstance(system, SystemSpec):
        if "settings" not in system.make.__annotations__:
            raise InputError(
                f"{path}: the argument `settings` of {object_name!r} must be annotated with a "
                "class of settings."
            )
        return replace(system, name=label_of(name))
    with needed_by(f"system {label_of(name)!r}", extra="recommenders"):
        from lenskit.pipeline import Component, Pipeline

    if isinstance(system, type) and issubclass(system, Component):
        return _spec_of_component(name, system)
    if isinstance(system, Component):
        raise InputError(
            f"{path}: {object_name!r} in it is a LensKit component; name its class, or a pipeline "
            "of it, such as `topn_pipeline` makes."
        )
    is_built = isinstance(system, Pipeline | Member) or not callable(system)
    if not is_built and not _can_be_called(system):
        raise InputError(
            f"{path}: {object_name!r} in it must make a system when called without arguments."
        )
    # Each training gets a new copy of an object that is built already.
    build: Callable[[], Any] = partial(deepcopy, system) if is_built else system
    with user_code(f"system {label_of(name)!r}"):
        built = build()
    if isinstance(built, Pipeline):
        _require_recommender(built, name)
        return _spec_of_built(name, build, _train_pipeline, doc=system.__doc__)
    if hasattr(built, "fit") and hasattr(built, "recommend"):
        _require_methods_of_implicit(built, name)
        return _spec_of_built(name, build, _train_model, doc=system.__doc__)
    raise InputError(
        f"{path}: {object_name!r} in it must be a LensKit component class, a LensKit pipeline, a "
        "model with `fit` and `recommend`, a function that makes one, or a system."
    )


RECOMMENDER = "recommender"
"""Default name in LensKit of the component of a pipeline that ranks."""

PIPELINE_INPUTS = ("query", "n")
"""Inputs that a pipeline must have: the user or history, and the number of items."""


def _require_recommender(pipeline: Pipeline, name: str) -> None:
    """Raise InputError for a LensKit pipeline that cannot rank the items by itself.

    It must have the component ``recommender`` and the inputs ``query`` and ``n``, and each of its
    trainable components the method `is_trained` where LensKit asks for it. ``name`` is the path of
    the file, a colon, and the name of the pipeline in it, for the message.
    """
    subject = f"{file_of(name)}: the pipeline {_object_of(name)!r}"
    if pipeline.node(RECOMMENDER, missing="none") is None:
        nodes = ", ".join(node.name for node in pipeline.nodes())
        raise InputError(
            f"{subject} must have a component {RECOMMENDER!r}, which ranks items; it has {nodes}. "
            "Build it with `topn_pipeline`, or give its ranker this name with `alias`."
        )
    for input_name in PIPELINE_INPUTS:
        if pipeline.node(input_name, missing="none") is None:
            raise InputError(
                f"{subject} must have an input {input_name!r}, as those of `topn_pipeline` have."
            )
    incomplete = components_without_is_trained(pipeline)
    if incomplete:
        raise InputError(
            f"{subject} has the component {incomplete[0]!r}, which must have the method "
            "`is_trained` beside `train`, as LensKit 2026 asks."
        )


def _require_methods_of_implicit(model: Any, name: str) -> None:
    """Raise InputError for a model whose methods do not take the keywords of those of implicit.

    These are ``show_progress`` of `fit` and ``filter_already_liked_items`` of `recommend`. ``name``
    is the path of the file, a colon, and the name of the model in it, for the message.
    """
    keyword_by_method = {"fit": "show_progress", "recommend": "filter_already_liked_items"}
    for method, keyword in keyword_by_method.items():
        if not _takes_keyword(getattr(model, method), keyword):
            raise InputError(
                f"{file_of(name)}: the method `{method}` of {_object_of(name)!r} must take "
                f"the keyword {keyword!r}, as that of a model of implicit does."
            )


def _can_be_called(function: Callable[..., Any]) -> bool:
    """Check whether a function can be called without arguments.

    True for a compiled function whose signature cannot be read.
    """
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    variadic = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return all(p.default is not p.empty or p.kind in variadic for p in parameters)


def _takes_keyword(method: Callable[..., Any], keyword: str) -> bool:
    """Check whether a method takes an argument of this name.

    True for a compiled method whose signature cannot be read.
    """
    try:
        parameters = signature(method).parameters
    except (TypeError, ValueError):
        return True
    takes_any_keyword = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return takes_any_keyword or keyword in parameters


def _spec_of_built(
    name: str, build: Callable[[], Any], train: Callable[..., ListItems], *, doc: str | None
) -> SystemSpec:
    """Describe a pipeline or a model as a system without settings.

    Parameters
    ----------
    name
        Path of the file, a colon, and the name of the object.
    build
        Makes an untrained pipeline or model.
    train
        Trains it on ratings, with a seed, and returns the function that lists items.
    doc
        Docstring of the object: its first line is the summary of the system.
    """

    def make(ratings: Ratings, settings: Settings, *, seed: int) -> RankedLists:
        """Build and train it; what fails in the user's code is an InputError."""
        with user_code(f"system {label_of(name)!r}"):
            list_items = train(build(), ratings, seed=seed)
        return RankedLists(ratings, label_of(name), list_items)

    make.__doc__ = doc
    make.__annotations__["settings"] = Settings
    return SystemSpec(
        name=label_of(name), source=str(file_of(name)), make=make, family=UNKNOWN_FAMILY
    )


def _train_pipeline(pipeline: Pipeline, ratings: Ratings, *, seed: int) -> ListItems:
    """Train a LensKit pipeline, and return the function that lists its recommendations.

    Lists have n_items columns: the pipeline is asked for all items, for one user after the other.
    """
    from lenskit import recommend

    pipeline = train_component(pipeline, ratings, seed=seed)
    n_items = len(ratings.items)

    def list_items(user_numbers: Ints) -> Ints:
        """List items for users: item numbers of shape (n_rows, n_items), -1 at the end."""
        lists = np.full((len(user_numbers), n_items), -1, dtype=np.int32)
        with silence():
            for row, user_id in zip(lists, ratings.users.ids[user_numbers], strict=True):
                item_ids = recommend(pipeline, str(user_id), n=n_items).ids()
                item_numbers = ratings.items.numbers(item_ids.astype(np.str_))
                row[: len(item_numbers)] = item_numbers
        return lists

    return list_items


def _train_model(model: Any, ratings: Ratings, *, seed: int) -> ListItems:
    """Train a model with implicit's ``fit`` and ``recommend``, and return what lists its items.

    The seed is set as its attribute ``random_state`` if it has one. Lists have n_items columns:
    the model is asked for all items, those that the user has rated too.
    """
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(ratings.matrix())
    if hasattr(model, "random_state"):
        model.random_state = seed
    with warnings.catch_warnings():
        # implicit warns of conversions of its own.
        warnings.simplefilter("ignore")
        model.fit(matrix, show_progress=False)

    def list_items(user_numbers: Ints) -> Ints:
        """List items for users: item numbers of shape (n_rows, n_items)."""
        histories = matrix[user_numbers]
        n_items = len(ratings.items)
        item_numbers, _ = model.recommend(
            user_numbers, histories, n_items, filter_already_liked_items=False
        )
        return np.asarray(item_numbers, dtype=np.int32)

    return list_items


def _spec_of_component(name: str, component: type[Component[Any]]) -> SystemSpec:
    """Describe a LensKit component class as a system, whose settings are its configuration.

    ``name`` is the path of the file, a colon, and the name of the class. The system makes and
    trains a component for given settings; it raises InputError if the user's code fails.
    """

    def configured(settings: BaseModel) -> Component[Any]:
        return component(component.validate_config(settings.model_dump()))

    def make(ratings: Ratings, settings: BaseModel, *, seed: int) -> ComponentScorer:
        """Make a component with these settings, and train it if it can be trained."""
        with user_code(f"system {label_of(name)!r}"):
            scorer: Any = configured(settings)
            if is_trainable(scorer):
                scorer = train_component(scorer, ratings, seed=seed)
            return ComponentScorer(ratings, label_of(name), scorer)

    make.__doc__ = component.__doc__
    make.__annotations__["settings"] = _settings_of(component)
    return SystemSpec(
        name=label_of(name),
        source=str(file_of(name)),
        make=make,
        family=UNKNOWN_FAMILY,
        lenskit=configured,
    )


def _settings_of(component: type[Component[Any]]) -> type[BaseModel]:
    """Return the configuration class of a component, as a model that refuses unknown settings.

    A data class becomes a pydantic model of the same fields. A component without a configuration
    has no settings.
    """
    config = component.config_class()
    if config is None:
        return Settings
    forbid_unknown = ConfigDict(extra="forbid")
    if issubclass(config, BaseModel):
        return type(config.__name__, (config,), {"model_config": forbid_unknown})
    definitions: dict[str, Any] = {
        field.name: (field.type, _default_of(field))
        for field in fields(config)  # type: ignore[arg-type]
    }
    return create_model(config.__name__, __config__=forbid_unknown, **definitions)


def _default_of(field: DataField[Any]) -> Any:
    """Return the default of a field of a data class in pydantic's form; ... if it has none."""
    if field.default_factory is not MISSING:
        return Field(default_factory=field.default_factory)
    return ... if field.default is MISSING else field.default


@dataclass(frozen=True, eq=False)
class ComponentScorer(TrainedOnRatings):
    """A trained LensKit component, asked for one user after the other.

    The component takes a query and candidate items, and returns an item list with scores. Errors
    name the label of the system.
    """

    label: str
    component: Component[Any]

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these users, of shape (n_rows, n_items), by the component.

        NaN for items without a score. Raises InputError if the component fails, or does not return
        an item list with scores.
        """
        with silence(), user_code(f"system {self.label!r}"):
            return np.array([self._scores(user) for user in user_numbers], dtype=np.float32)

    def _scores(self, user_number: np.int32) -> NDArray[np.floating]:
        """Score every item for one user, by item number, of shape (n_items,).

        ``self.component`` gets the user's id and training ratings as the query, and all items as
        candidates. An item that it leaves out gets NaN. Raises InputError if it does not return an
        ItemList with scores.
        """
        from lenskit.data import ItemList, RecQuery

        ratings_row = self.histories[[user_number]]
        history = ItemList(self.items.ids[ratings_row.indices], rating=ratings_row.data)
        query = RecQuery(user_id=str(self.users.ids[user_number]), history_items=history)
        output = self.component(query, ItemList(self.items.ids))
        output_scores = output.scores() if isinstance(output, ItemList) else None
        if output_scores is None:
            raise InputError(f"system {self.label!r} must return an ItemList with scores.")
        scores = np.full(len(self.items), np.nan)
        item_numbers = self.items.numbers(output.ids().astype(np.str_))
        scores[item_numbers] = output_scores
        return scores


@dataclass(frozen=True, eq=False)
class RankedLists(TrainedOnRatings):
    """A trained pipeline or model that lists items; the score of an item is its rank from the end.

    ``list_items`` lists items for users; errors name the label of the system.
    """

    label: str
    list_items: ListItems

    def score_batch(self, user_numbers: Ints) -> Singles:
        """Score every item for these users by its rank in their lists, the last column being 1.

        ``self.list_items`` returns the lists: item numbers of shape (n_rows, n_columns), best
        first, -1 for none. Scores are float32 of shape (n_rows, n_items), from n_columns at rank 1
        down to 1, and NaN for items that are not listed. Raises InputError if the function fails.
        """
        with user_code(f"system {self.label!r}"):
            lists = self.list_items(user_numbers)
        shape = (len(user_numbers), len(self.items))
        scores = np.full(shape, np.nan, dtype=np.float32)
        rows, columns = np.nonzero(lists >= 0)
        items = lists[rows, columns]
        scores[rows, items] = lists.shape[1] - columns
        return scores
