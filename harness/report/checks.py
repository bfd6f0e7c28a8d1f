"""Checks of a finished study: one list of cautions, the most important first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analyses.shared.sentences import listed, plural
from harness.metrics.shared.names import VALUES_WITHOUT_NONRELEVANT, parse_name
from harness.report.study_folder import FinishedStudy
from qrels.ratings.splitter import NEWER_TRAINING, OLDER_TESTS

LEAST_LEAKAGE = 0.005
"""Smaller shares of ratings from the future are not worth a caution."""

OF_WORLD = "of the simulated world"
"""Origin of a truth that is known as the ratings are simulated."""

GRADED = "nDCG"
"""The metric that grades below the relevance level count for."""


SIMULATED = (
    "The ratings are simulated. Compared with MovieLens 1M, simulated ratings make measures look "
    "more robust to the loss of popular items: results of this loss are likely to be too "
    "favourable, most of all for P and RR (docs/methods/worlds.md)."
)
"""What worlds, in which tastes stay as they are, are known not to show."""


@dataclass(frozen=True)
class Check:
    """A caution, and the metrics that it is about; none if it is about all."""

    sentence: str
    metrics: tuple[str, ...] = ()


def checks_of(study: FinishedStudy) -> list[Check]:
    """Check a finished study; each caution is given once, the most important first."""
    facts, found = study.manifest.collection, list[Check]()
    if "means" in study.kinds:
        found += judgement_checks(facts, study.means.measures.metrics, study.unit)
    found += map(Check, study.manifest.warnings)
    if facts.get("truth", {}).get("truth") == OF_WORLD:
        found.append(Check(SIMULATED))
    else:
        found += leakage_checks(facts.get("split", {}))
    found += (Check(caution) for _, result in study.results() for caution in result.cautions())
    first: dict[str, Check] = {}
    for check in found:
        first.setdefault(check.sentence, check)
    return [*first.values()]


def judgement_checks(facts: Mapping[str, Any], names: Sequence[str], unit: str) -> Iterator[Check]:
    """Count users, or topics, that some metrics cannot use, from counts of judgements."""
    without = facts.get(f"{plural(unit)} without judged non-relevant items", 0)
    become = {
        name: VALUES_WITHOUT_NONRELEVANT[base]
        for name in names
        if (base := parse_name(name).name) in VALUES_WITHOUT_NONRELEVANT
    }
    if without and become:
        told = listed([f"{name} {value}" for name, value in become.items()])
        sentence = f"{_counted(without, facts, unit)} no judged non-relevant item: for them {told}."
        yield Check(sentence, tuple(become))
    emptied = facts.get(f"{plural(unit)} without relevant items", 0)
    if emptied:
        graded = any(parse_name(name).name == GRADED for name in names)
        but = (
            f", except by {GRADED}, which credits judged items below the lowest relevant grade, too"
            if graded
            else ""
        )
        yield Check(
            f"{_counted(emptied, facts, unit)} no relevant item in the test data: for them all "
            f"measures of relevant items are 0{but}."
        )


def _counted(count: int, facts: Mapping[str, Any], unit: str) -> str:
    n_users = facts.get(plural(unit), 0)
    share = f"{count / n_users:.0%}".replace("%", " %")
    have = "has" if count == 1 else "have"
    return f"{count:,} of the {n_users:,} {plural(unit)} ({share}) {have}"


def leakage_checks(split: Mapping[str, Any], how: str = "this split") -> Iterator[Check]:
    """Say how much training tells of the future, from the counts of a split."""
    older, newer = (split.get(name, 0.0) for name in (OLDER_TESTS, NEWER_TRAINING))
    if max(older, newer) >= LEAST_LEAKAGE:
        shares = f"{older:.0%} of the test ratings are older than the user's newest training"
        future = f"{newer:.0%} of all training ratings are newer than a test rating, on average"
        sentence = f"By {how}, {shares} rating, and {future}: training data leak the future"
        yield Check(f"{sentence}. The split `global-time` avoids it.".replace("%", " %"))
