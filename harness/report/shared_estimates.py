"""Estimates of one quantity in several studies: what they share, and where they agree.

In every function, ``by_study`` has the estimates of a quantity by the label of the study.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, compress
from math import comb

from analyses.shared.estimate import Estimate
from analyses.shared.measure_estimates import Estimates
from analyses.shared.sentences import join_pairs, listed
from runs.shared.errors import counted


def first_estimates(by_study: Mapping[str, Estimates]) -> Estimates:
    """Take the estimates of the first study, which name the quantity as those of all do."""
    return next(iter(by_study.values()))


def by_shared_measure(by_study: Mapping[str, Estimates]) -> dict[str, list[Estimate]]:
    """Collect the estimates of each report measure that all studies have one for, by its name.

    ``by_study`` has the estimates of one quantity. A name has the cut-off: "nDCG@10". The list of a
    measure has an estimate for each study, in their order.
    """
    estimates_by_name = []
    for estimates in by_study.values():
        reported = estimates.measures.reported
        estimates_by_name.append(
            {
                str(reported.with_label(label)): estimate
                for label, estimate in estimates.by_label(reported).items()
            }
        )
    shared_names = [
        name for name in estimates_by_name[0] if all(name in names for names in estimates_by_name)
    ]
    return {name: [by_name[name] for by_name in estimates_by_name] for name in shared_names}


def is_unacceptable(name: str, estimates_of_studies: Iterable[Estimates]) -> bool:
    """Check whether a measure, named with its cut-off, fails the threshold in some study."""
    for estimates in estimates_of_studies:
        names = [str(measure) for measure in estimates.measures]
        if not estimates.acceptable()[names.index(name)]:
            return True
    return False


def _names_of_best(estimates: Estimates) -> str:
    """List the measures than which no other is significantly better: "P@5 or nDCG@10".

    If these are all of several measures, "any measure"; "no measure" if none passes the threshold
    of the quantity.
    """
    ordered = estimates.in_order()
    if not ordered.acceptable().any():
        return "no measure"
    may_be_best = ordered.may_be_best(all_sources=ordered.has_further_sources)
    names = [str(measure) for measure in compress(ordered.measures, may_be_best)]
    if 1 < len(names) == len(ordered.measures):
        return "any measure"
    return listed(names, "or")


def sentence_of_quantity(by_study: Mapping[str, Estimates]) -> str:
    """Word which measures may be the best of each study, and which pairs differ in all alike.

    ``by_study`` has the estimates of one quantity by the label of the study. Differences are
    significant over users and, where a study has them, further sources of chance, as systems.
    """
    has_further_sources = any(estimates.has_further_sources for estimates in by_study.values())
    sources = "users and systems" if has_further_sources else "users"
    best_by_study = []
    for study, estimates in by_study.items():
        over_users_alone = has_further_sources and not estimates.has_further_sources
        remark = ", over users alone" if over_users_alone else ""
        best_by_study.append(f"{_names_of_best(estimates)} ({study}{remark})")
    same_direction, opposite_directions = significant_pairs(by_study)
    n_pairs = comb(len(by_shared_measure(by_study)), 2)
    adjective = first_estimates(by_study).best
    return (
        f"May be the most {adjective}, over {sources}: {'; '.join(best_by_study)}. "
        f"Of {counted(n_pairs, 'pair of measures')}, {_counted_pairs(same_direction)} differ "
        "significantly in the same direction in all studies (the better first), "
        f"{_counted_pairs(opposite_directions)} in opposite directions."
    )


def _counted_pairs(pairs: Sequence[tuple[str, str]]) -> str:
    """Write the number of pairs, and the pairs if there are some."""
    names = f" ({join_pairs(pairs)})" if pairs else ""
    return f"{len(pairs)}{names}"


def significant_pairs(
    by_study: Mapping[str, Estimates],
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Find pairs of measures that differ significantly in all studies alike, or in opposite ways.

    Returns
    -------
    Pairs of names of measures that differ in the same direction in all studies, the better first;
    and pairs of which some study has the one, and another study the other, significantly better.
    """
    signs_by_study = [_signs_of_differences(estimates) for estimates in by_study.values()]
    same_direction = []
    opposite_directions = []
    for pair in combinations(by_shared_measure(by_study), 2):
        signs = {signs_of_study[pair] for signs_of_study in signs_by_study}
        if signs == {1}:
            same_direction.append(pair)
        elif signs == {-1}:
            same_direction.append((pair[1], pair[0]))
        elif {1, -1} <= signs:
            opposite_directions.append(pair)
    return same_direction, opposite_directions


def _signs_of_differences(estimates: Estimates) -> dict[tuple[str, str], int]:
    """Determine for every two measures, by name, which is significantly better.

    The result has every pair in both orders: 1 if the first is better, -1 if the second is, 0 if
    neither is. Better means that the simultaneous interval of the difference excludes 0, over all
    sources of chance that are known. Pairs are of report measures.
    """
    pairs = estimates.reported_pairs
    differences = estimates.simultaneous_differences(
        pairs, all_sources=estimates.has_further_sources
    )
    signs: dict[tuple[str, str], int] = {}
    for (first, second), difference in zip(pairs, differences, strict=True):
        sign = 0
        if difference.low > 0:
            sign = -1 if estimates.lower_is_better else 1
        elif difference.high < 0:
            sign = 1 if estimates.lower_is_better else -1
        signs[str(first), str(second)] = sign
        signs[str(second), str(first)] = -sign
    return signs
