"""Checks of a finished study: one list of cautions, the most important first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analyses.shared.sentences import listed, plural
from harness.metrics.shared.names import VALUES_WITHOUT_NONRELEVANT, parse_name
from harness.report.manifest import Manifest
from harness.report.study_folder import ANSWER, FinishedStudy
from qrels.ratings.splitter import NEWER_TRAINING, OLDER_TESTS

MIN_LEAKAGE = 0.005
"""Share of ratings from the future from which there is a caution."""

OF_WORLD = "of the simulated world"
"""Origin of a truth that is known as the ratings are simulated."""

MANY_UNTESTED = 0.5
"""Share of the users that are not tested from which there is a caution."""

METRIC_OF_ALL_GRADES = "nDCG"
"""The metric that grades below the relevance level count for."""

SIMULATED = (
    "The ratings are simulated. Compared with MovieLens 1M, simulated ratings make measures look "
    "more robust to the loss of popular items: results of this loss are likely to be too "
    "favourable, most of all for P and RR."
)
"""What worlds, in which tastes stay as they are, are known not to show."""


FINISHED = "Nothing is to do: the study is finished."
"""What a run says of a study of which no part is missing."""


@dataclass(frozen=True)
class Check:
    """A caution.

    Parameters
    ----------
    sentence
        The caution.
    metrics
        Metrics that it is about; none if it is about all.
    topic
        Name by which `harness docs` explains it.
    """

    sentence: str
    metrics: tuple[str, ...] = ()
    topic: str = ""


def checks_of(study: FinishedStudy) -> list[Check]:
    """Collect the cautions of a finished study, each once, the most important first.

    They are about users that are not tested, warnings about the input, about users that metrics
    cannot use, simulated ratings or leaks of the split, and results. Raises InputError if a result
    of the study cannot be read.
    """
    facts = study.manifest.collection
    checks = input_checks(study.manifest)
    if "means" in study.result_classes:
        metrics = study.means.measures.metrics
        checks += judgement_checks(facts, metrics, study.unit)
    is_simulated = facts.get("truth", {}).get("truth") == OF_WORLD
    if is_simulated:
        checks.append(Check(SIMULATED, topic="methods/worlds"))
    else:
        checks += leakage_checks(facts.get("split", {}))
    for key, result in study.results():
        topic = key if key in study.built_in_analyses else ""
        checks += [Check(caution, topic=topic) for caution in result.cautions()]
    check_by_sentence: dict[str, Check] = {}
    for check in checks:
        check_by_sentence.setdefault(check.sentence, check)
    return list(check_by_sentence.values())


def closing_notes(study: FinishedStudy, remarks: Sequence[str]) -> list[str]:
    """Word what a run of a study says last: its answer, and cautions that were not remarked on.

    ``remarks`` are the warnings about the input.
    """
    notes = []
    if ANSWER in study.result_classes:
        notes += [f"Answer: {sentence}" for sentence in study.result(ANSWER).findings()]
    for check in checks_of(study):
        if check.sentence not in remarks:
            notes.append(f"To bear in mind: {check.sentence}")
    return notes


def input_checks(manifest: Manifest) -> list[Check]:
    """Caution of users of ratings who are not tested, and repeat the warnings about the input."""
    checks: list[Check] = []
    facts = manifest.collection
    if "ratings" in facts:
        n_relevant = facts["users"] - facts.get("users without relevant items", 0)
        checks += untested_checks(facts["ratings"]["users"], facts["users"], n_relevant)
    checks += [Check(warning, topic="checks") for warning in manifest.warnings]
    return checks


def untested_checks(n_users: int, n_tested: int, n_relevant: int) -> Iterator[Check]:
    """Caution of ratings if many users, a share of at least `MANY_UNTESTED`, tell nothing.

    These have no test rating, or no relevant item among their test ratings. Yields one caution or
    none.

    Parameters
    ----------
    n_users
        How many users have ratings.
    n_tested
        How many of them have test ratings.
    n_relevant
        How many of them have a relevant item among these.
    """
    if n_relevant > (1 - MANY_UNTESTED) * n_users:
        return
    share = f"{n_relevant / n_users:.1%}".replace("%", " %")
    sentence = (
        f"Measures tell of {n_relevant:,} of the {n_users:,} users ({share}): "
        f"{n_users - n_tested:,} have no item in the test set"
    )
    if n_tested > n_relevant:
        sentence += f", and {n_tested - n_relevant:,} no relevant one"
    yield Check(f"{sentence}.", topic="splits")


def judgement_checks(
    facts: Mapping[str, Any], metrics: Sequence[str], unit: str
) -> Iterator[Check]:
    """Caution of users, or topics, that some metrics cannot use.

    They have no judged non-relevant item, without which some metrics are another one
    (`VALUES_WITHOUT_NONRELEVANT`: what, by name), or no relevant one. Yields at most two cautions.

    Parameters
    ----------
    facts
        Counts of judgements, as the manifest has them.
    metrics
        Names of the metrics of the study.
    unit
        "user" or "topic".
    """
    n_without_non_relevant = facts.get(f"{plural(unit)} without judged non-relevant items", 0)
    equivalents = {}
    for metric in metrics:
        base = parse_name(metric).name
        if base in VALUES_WITHOUT_NONRELEVANT:
            equivalents[metric] = VALUES_WITHOUT_NONRELEVANT[base]
    if n_without_non_relevant and equivalents:
        users = _counted(n_without_non_relevant, facts, unit)
        becomes = listed([f"{metric} {value}" for metric, value in equivalents.items()])
        sentence = f"{users} no judged non-relevant item: for them {becomes}."
        yield Check(sentence, tuple(equivalents), topic="counting")
    n_without_relevant = facts.get(f"{plural(unit)} without relevant items", 0)
    if n_without_relevant:
        users = _counted(n_without_relevant, facts, unit)
        exception = ""
        if any(parse_name(metric).name == METRIC_OF_ALL_GRADES for metric in metrics):
            exception = (
                f", except by {METRIC_OF_ALL_GRADES}, which credits judged items below the lowest "
                "relevant grade, too"
            )
        yield Check(
            f"{users} no relevant item in the test data: for them all measures of relevant items "
            f"are 0{exception}.",
            topic="counting",
        )


def _counted(count: int, facts: Mapping[str, Any], unit: str) -> str:
    """Write a count of users or topics and its share: "3 of the 60 users (5 %) have".

    ``facts`` has the number of all, above 0, under the plural of the unit.
    """
    n_users = facts.get(plural(unit), 0)
    share = f"{count / n_users:.0%}".replace("%", " %")
    verb = "has" if count == 1 else "have"
    return f"{count:,} of the {n_users:,} {plural(unit)} ({share}) {verb}"


def leakage_checks(split: Mapping[str, Any], split_name: str = "this split") -> Iterator[Check]:
    """Caution of a split whose training ratings are newer than test ratings.

    ``split`` has the shares that the manifest has for it, from 0 to 1. Yields nothing if both are
    below `MIN_LEAKAGE`.
    """
    older_tests = split.get(OLDER_TESTS, 0.0)
    newer_training = split.get(NEWER_TRAINING, 0.0)
    if max(older_tests, newer_training) >= MIN_LEAKAGE:
        sentence = (
            f"By {split_name}, {older_tests:.0%} of the test ratings are older than the user's "
            f"newest training rating, and {newer_training:.0%} of all training ratings are newer "
            "than a test rating, on average: training data leak the future. The split "
            "`global-time` avoids it, usually with fewer users to test."
        )
        yield Check(sentence.replace("%", " %"), topic="leakage")
