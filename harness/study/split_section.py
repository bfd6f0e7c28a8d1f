"""The table [split] of a study file: a method, and the settings that it declares."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_serializer, model_validator

from harness.study.study_file import Origin, sentence_of
from qrels import SplitSettings, Splitter, find_split
from qrels.ratings.datasets.split_files import SplitFiles
from qrels.ratings.splits.shared.user_split import is_user_split
from runs import InputError
from runs.shared.members import Section

METHOD = "method"
USUAL = "user-random"


class SplitSection(Section):
    """Which ratings are held out: a method, and its settings.

    In a file the settings stand beside the method.
    """

    method: str = Field(USUAL, description="Name of the split, or a Python file that declares one.")
    settings: SplitSettings

    @model_validator(mode="before")
    @classmethod
    def _from_table(cls, values: Any) -> Any:
        """Read a table; what is read already is left as it is."""
        if isinstance(values, Mapping) and not isinstance(values.get("settings"), SplitSettings):
            return read_split(values, Origin("the study", ""))
        return values

    @model_serializer
    def _as_table(self) -> dict[str, Any]:
        settings = self.settings.model_dump(mode="json", exclude_none=True)
        return {METHOD: self.method, **settings}

    @property
    def splitter(self) -> Splitter[Any]:
        """The split that is meant."""
        return find_split(self.method)

    @property
    def files(self) -> list[Path]:
        """The user's file that declares the split, if one does."""
        return [Path(self.method)] if is_user_split(self.method) else []

    @property
    def parts(self) -> SplitFiles | None:
        """Files of the parts, if they are given and not drawn."""
        return self.settings.parts

    def within_training(self) -> SplitSection:
        """Give what splits the training part again, or tests the validation part that is given.

        Where parts are given and none of them is for validation, that is the usual split.
        """
        if self.parts is not None and self.parts.validation is None:
            return usual_split()
        return self.model_copy(update={"settings": self.settings.within_training()})


def usual_split() -> SplitSection:
    """Give the split of a study that says nothing of it."""
    return SplitSection(method=USUAL, settings=find_split(USUAL).settings())


def read_split(values: Mapping[str, Any], origin: Origin) -> Mapping[str, Any]:
    """Read the settings of a split as its method declares them.

    Raises
    ------
    InputError
        If there is no such method or option, or a value breaks its rule; with file and line.
    """
    method = values.get(METHOD, USUAL)
    if not isinstance(method, str):
        return {METHOD: method}
    with origin.named("split", METHOD):
        method = str(origin.anchor(Path(method))) if is_user_split(method) else method
        splitter = find_split(method)
    options = {name: value for name, value in values.items() if name != METHOD}
    known = list(splitter.settings.model_fields)
    for name in options:
        if name not in known:
            raise InputError(
                f"{origin.place('split', name)}: the split {splitter.name!r} has no option "
                f"{name!r}; its options are: {', '.join(known) or 'none'}."
            )
    try:
        settings = splitter.settings.model_validate(options)
    except ValidationError as error:
        sentence = sentence_of(error, origin, splitter.settings, table=("split",))
        raise InputError(sentence) from None
    settings = settings.anchored(origin.anchor)
    with origin.named("split", "folder"):
        settings.parts  # noqa: B018  (it refuses a folder that does not hold them)
    return {METHOD: method, "settings": settings}
