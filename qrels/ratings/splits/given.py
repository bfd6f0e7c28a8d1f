"""Parts that are given: files of training and test ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from qrels.ratings.datasets.split_files import SplitFiles, find_split_files
from qrels.ratings.ratings import Ratings, Split
from qrels.ratings.splitter import SplitSettings, split
from runs import InputError
from runs.shared.settings import Whole


class Settings(SplitSettings):
    """Files of the training, test and validation ratings, or a folder with them."""

    train: Path | None = Field(None, description="File of the training ratings.")
    test: Path | None = Field(None, description="File of the test ratings.")
    validation: Path | None = Field(
        None, description="File of the validation ratings, which only tuning uses."
    )
    folder: Path | None = Field(
        None, description="Folder with these files, in place of their names."
    )
    fold: Whole | None = Field(None, ge=0, description="Number of the fold in `folder`.")

    @model_validator(mode="after")
    def _files_or_folder(self) -> Self:
        """Refuse settings without files, with files beside a folder, or a fold without a folder."""
        has_parts = self.train is not None and self.test is not None
        files = (self.train, self.test, self.validation)
        has_any_file = any(file is not None for file in files)
        if self.folder is None and not has_parts:
            raise ValueError("a given split needs `train` and `test`, or a `folder`")
        if self.folder is not None and has_any_file:
            raise ValueError("`folder` replaces `train`, `test` and `validation`")
        if self.folder is None and self.fold is not None:
            raise ValueError("`fold` needs a `folder`")
        return self

    def find_parts(self) -> SplitFiles:
        """Find the files of the parts, by their names or in the folder.

        Raises InputError if the folder does not hold them.
        """
        if self.train is not None and self.test is not None:
            return SplitFiles(self.train, self.test, self.validation)
        return find_split_files(Path(self.folder or ""), fold=self.fold)

    def within_training(self) -> Self:
        """Derive the settings that train on the training file and test the validation ratings.

        Raises InputError if the files, which are named one by one or found in a folder, have no
        validation ratings.
        """
        parts = self.find_parts()
        if parts.validation is None:
            raise InputError("the split is given without validation ratings.")
        return type(self)(train=parts.train, test=parts.validation)


@split("given", source="-")
def given(ratings: Ratings, settings: Settings, *, seed: int) -> Split:
    """Use the training and test ratings that the data come with.

    The seed is not used. Raises InputError if the ratings do not say which of them test.

    Examples
    --------
    >>> import numpy as np
    >>> from runs import Numbering
    >>> ids = Numbering.of(["a", "b"])
    >>> number = np.array([0, 1], dtype=np.int32)
    >>> held_out = np.array([False, True])
    >>> ratings = Ratings(ids, ids, number, number, np.ones(2), held_out=held_out)
    >>> given(ratings, Settings(train="a.csv", test="b.csv"), seed=1).test.item
    array([1], dtype=int32)
    """
    if ratings.held_out is None:
        raise InputError("the split 'given' needs training and test ratings in separate files.")
    train = ratings.select(~ratings.held_out)
    test = ratings.select(ratings.held_out)
    return Split(train, test)
