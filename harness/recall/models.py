"""Models whose recall is measured: item-kNN, on cosines of items or of learned vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from harness.recall.user_shards import Training
from runs import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ModelName: TypeAlias = Literal["item-cosines", "als-knn"]
Train: TypeAlias = "Callable[[Training], csr_array[Any]]"


def model_of(
    name: ModelName, settings: Sequence[str], *, seed: int, n_jobs: int
) -> tuple[str, Train]:
    """Choose a model by its name and settings, such as "factors=64".

    Given are the model with all its settings, in words, and what trains it: similarities of items
    from the events of the training users. It does not depend on the number of threads.

    Raises
    ------
    InputError
        If a setting is unknown or has a value it cannot have.

    Examples
    --------
    >>> model_of("item-cosines", ["neighbours=20"], seed=0, n_jobs=1)[0]
    'item-cosines(neighbours=20,shrinkage=0,least_users=1)'
    """
    return MODELS[name](settings, seed, n_jobs)


def parse_model(text: str) -> tuple[str, ModelName, tuple[str, ...]]:
    """Read what a model is called, which it is, and its settings.

    Examples
    --------
    >>> parse_model("few=item-cosines:neighbours=5,shrinkage=1")
    ('few', 'item-cosines', ('neighbours=5', 'shrinkage=1'))
    >>> parse_model("als-knn")
    ('als-knn', 'als-knn', ())
    """
    head, _, settings = text.partition(":")
    label, _, name = head.rpartition("=")
    found = next((known for known in MODELS if known == name), None)
    if found is None:
        raise InputError(f"a model is {' or '.join(MODELS)}, got {name!r} in {text!r}.")
    return label or text, found, tuple(filter(None, settings.split(",")))


def _item_cosines(settings: Sequence[str], seed: int, n_jobs: int) -> tuple[str, Train]:
    from recommenders.kernels.neighbours import ItemCosines

    model = ItemCosines(**_read(settings, ItemCosines, model="item-cosines"))
    for name, value, least in (
        ("neighbours", model.neighbours, 1),
        ("shrinkage", model.shrinkage, 0),
        ("least_users", model.least_users, 1),
    ):
        if not least <= value < float("inf"):
            raise InputError(f"`{name}` must be at least {least}, got {value}.")
    values = ",".join(f"{part.name}={getattr(model, part.name):g}" for part in fields(model))
    return f"item-cosines({values})", lambda train: model.of_shards(train.item_sets, n_jobs=n_jobs)


def _als_knn(settings: Sequence[str], seed: int, n_jobs: int) -> tuple[str, Train]:
    from recommenders.kernels.embeddings.als import import_implicit
    from recommenders.kernels.embeddings.model import similarity
    from recommenders.kernels.embeddings.settings import EmbeddingSettings

    chosen = EmbeddingSettings(**_read(settings, EmbeddingSettings, model="als-knn"))
    # Said before anything slow.
    import_implicit()
    return str(chosen), lambda train: similarity(train.events(), chosen, seed=seed, n_jobs=n_jobs)


MODELS: Final[Mapping[ModelName, Callable[[Sequence[str], int, int], tuple[str, Train]]]] = {
    "item-cosines": _item_cosines,
    "als-knn": _als_knn,
}


def _read(settings: Sequence[str], kind: Any, *, model: str) -> dict[str, Any]:
    """Read "name=value" by the types of the defaults of a dataclass."""
    defaults = {part.name: part.default for part in fields(kind)}
    given: dict[str, Any] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"a setting is written NAME=VALUE, got {text!r}.")
        if name not in defaults:
            close = get_close_matches(name, defaults, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            known = ", ".join(defaults)
            raise InputError(f"{model} has no setting {name!r}; there are: {known}.{hint}")
        given[name] = _value(name, value, type(defaults[name]))
    return given


def _value(name: str, text: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError:
        needed = "a whole number" if kind is int else "a number"
        raise InputError(f"`{name}` must be {needed}, got {text!r}.") from None
