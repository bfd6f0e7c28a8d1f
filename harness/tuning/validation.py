"""The validation part: training ratings held out from training, to choose settings by."""

from __future__ import annotations

from dataclasses import dataclass

from harness.study.inputs import judge_test, load_k_core, relevance_threshold, split_ratings
from harness.study.parts import content_key
from harness.study.sections import SplitSection
from harness.study.study import RatingsSection, Study
from qrels import Qrels, Ratings, Split, k_core, rating_scale
from runs import InputError
from runs.shared.errors import prefixed_errors


@dataclass(frozen=True, eq=False)
class Validation:
    """Training ratings, split again, and the judgements of the users of its ``test``."""

    split: Split
    qrels: Qrels


def validation_of(study: Study) -> Validation:
    """Hold validation ratings out of the training part of a study, by the study's own method.

    A validation part that is given is taken as it is. Nothing is taken from the test part: neither
    a rating, nor a user or an item without a training rating, nor the scale of the grades. Raises
    InputError for a study of runs, or if the training part cannot be split again.
    """
    if study.ratings is None:
        with study.errors_at("runs"):
            raise InputError("tuning needs a study of ratings, this one has given runs.")
    section = study.split.within_training()
    if section.find_parts() is not None:
        ratings = load_k_core(study.ratings, section)
        return _hold_out(ratings, section, study.ratings, seed=study.seed)
    ratings = load_k_core(study.ratings, study.split)
    train = split_ratings(ratings, study.split, seed=study.seed).train
    with prefixed_errors("the training part cannot be split again for validation"):
        # Only users and items that have a training rating.
        seed = int(content_key("validation", study.seed)[:15], 16)
        return _hold_out(k_core(train), section, study.ratings, seed=seed)


def _hold_out(
    ratings: Ratings, section: SplitSection, rules: RatingsSection, *, seed: int
) -> Validation:
    """Split ratings by the section [split], and judge the test part by the rules of [ratings].

    ``rules`` is [ratings] of the study, with threshold and grades. The scale of the grades is that
    of all these ratings. Raises InputError if no rating is held out, or none of them is relevant.
    """
    split = split_ratings(ratings, section, seed=seed)
    threshold = relevance_threshold(rules, ratings, test=split.test)
    scale = rating_scale(ratings, threshold=threshold, rule=rules.grades)
    return Validation(split, judge_test(split, scale))
