"""Systems of a user: a LensKit component, or a system as the folder's own, in a file elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, replace
from dataclasses import Field as DataField
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, create_model

from qrels import Ratings
from recommenders.shared.lenskit_bridge import silence, trained
from recommenders.shared.scorers import TrainedOnRatings
from recommenders.shared.system import Settings, SystemSpec
from runs import InputError
from runs.shared.members import failure_of, load_module

if TYPE_CHECKING:
    from lenskit.pipeline import Component

MARK = ".py:"


def is_user_system(name: str) -> bool:
    """Tell whether a name means an object in a file: ``my_system.py:MyScorer``."""
    return MARK in name


def label_of(name: str) -> str:
    """Give what a system is called in runs and tables: its name, without folders.

    Examples
    --------
    >>> label_of("/home/me/my_system.py:MyScorer"), label_of("ease")
    ('my_system.py:MyScorer', 'ease')
    """
    return Path(name).name if is_user_system(name) else name


def file_of(name: str) -> Path:
    """Give the file of a user's system."""
    return Path(name.rpartition(":")[0])


@cache
def load_system(name: str) -> SystemSpec:
    """Load a user's system.

    Its name is the path of a Python file, a colon, and the name of a LensKit component class in it,
    or of a function declared with `recommenders.system`.

    Raises
    ------
    InputError
        If the file is missing or fails, or holds nothing of that name that is a system, or
        LensKit is not installed.
    """
    path, wanted = file_of(name), name.rpartition(":")[2]
    found = getattr(load_module(path, what="file of the system"), wanted, None)
    if isinstance(found, SystemSpec) and "settings" in found.make.__annotations__:
        return replace(found, name=label_of(name))
    from lenskit.pipeline import Component

    if isinstance(found, type) and issubclass(found, Component):
        return _spec_of(name, found)
    raise InputError(
        f"{path}: there is no LensKit component class and no system called {wanted!r} in it."
    )


def _spec_of(name: str, component: type[Component[Any]]) -> SystemSpec:
    """Describe a component class as a system: its configuration is what can be set."""
    from lenskit.training import Trainable

    def configured(settings: BaseModel) -> Component[Any]:
        return component(component.validate_config(settings.model_dump()))

    def make(ratings: Ratings, settings: BaseModel, *, seed: int) -> ComponentScorer:
        with _located(label_of(name)):
            scorer = configured(settings)
            if isinstance(scorer, Trainable):
                scorer = trained(scorer, ratings, seed=seed)
            return ComponentScorer(ratings, label_of(name), scorer)

    make.__doc__ = component.__doc__
    make.__annotations__["settings"] = _settings_of(component)
    return SystemSpec(label_of(name), str(file_of(name)), make, "yours", configured)


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

    def score_batch(self, user_numbers: NDArray[np.int32]) -> NDArray[np.float32]:
        """Score every item for these users."""
        with silence(), _located(self.label):
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


@contextmanager
def _located(label: str) -> Iterator[None]:
    """Say in which file and line a user's system fails."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"system {label!r} fails {failure_of(error)}") from error
