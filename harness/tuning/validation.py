"""The validation part: training ratings held out from training, to choose settings by."""

from __future__ import annotations

from dataclasses import dataclass

from harness.study.inputs import (
    judge_test,
    kept_ratings,
    split_ratings,
    threshold_of,
    training_ratings,
)
from harness.study.sections import SplitSection
from harness.study.store import content_key
from harness.study.study import RatingsSection, Study
from qrels import Qrels, Ratings, Split, k_core, rating_scale
from runs import InputError


@dataclass(frozen=True, eq=False)
class Validation:
    """What settings are chosen by: training ratings, split again, and judgements.

    The ``test`` of the split is the validation part, and the qrels are those of its users.
    """

    split: Split
    qrels: Qrels


def validation_of(study: Study) -> Validation:
    """Split the training part of a study again, by the study's own method.

    Where a split is given, its validation part is taken as it is; without one, the usual split is
    made of its training part.

    Nothing is taken from the test part: neither a rating, nor a user or an item that has no
    training rating, nor the scale of the grades.

    Raises
    ------
    InputError
        If the study has no ratings, or its training part cannot be split again.
    """
    if study.ratings is None:
        with study.errors_at("runs"):
            raise InputError("a study of runs made elsewhere has no ratings to choose settings by.")
    section = study.split.within_training()
    if section.parts is not None:
        known = kept_ratings(study.ratings, section)
        return _held_out(known, section, study.ratings, seed=study.seed)
    train = training_ratings(study.ratings, study.split, seed=study.seed)
    return split_again(train, study.split, study.ratings, seed=study.seed)


def split_again(
    train: Ratings, section: SplitSection, said: RatingsSection, *, seed: int
) -> Validation:
    """Hold out validation ratings of a study's training ratings, by a seed derived from its own.

    Raises
    ------
    InputError
        If no validation rating is left, or none is relevant.
    """
    try:
        known = k_core(train)  # Only users and items that have a training rating.
        within = section.within_training()
        return _held_out(known, within, said, seed=validation_seed(seed))
    except InputError as error:
        raise InputError(
            f"the training part cannot be split again for validation: {error}"
        ) from error


def _held_out(
    ratings: Ratings, section: SplitSection, said: RatingsSection, *, seed: int
) -> Validation:
    split = split_ratings(ratings, section, seed=seed)
    threshold = threshold_of(said, ratings, tested=split.test)
    scale = rating_scale(ratings, threshold=threshold, rule=said.grades)
    return Validation(split, judge_test(split, scale))


def validation_seed(seed: int) -> int:
    """Derive the seed of the validation split from that of the study."""
    return int(content_key("validation", seed)[:15], 16)
