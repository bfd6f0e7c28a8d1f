"""Groups of users: scores, orderings, discriminative power and robustness in each group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations, compress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from analyses.intervals.percentile_intervals import percentiles
from analyses.intervals.resampling import random_blocks, resampled_users
from analyses.ordering import DECIMALS, tau_b
from analyses.shared.analysis import AnalysisSettings, SettingError, analysis
from analyses.shared.drawing import colours, explain, panel_index
from analyses.shared.estimate import Estimate
from analyses.shared.judgement_samples import sample_judgements
from analyses.shared.limits import (
    RANDOM_LOSS_FACTOR,
    arcsine_limits,
    joint_quantile,
    normal_limits,
    ratio_limits,
)
from analyses.shared.measure import Measures, pair_labels, tidy
from analyses.shared.number_format import Cell
from analyses.shared.result import Result, figure, table
from analyses.shared.sentences import listed
from analyses.shared.table import Table
from analyses.significance.paired_tests import t_of_moments
from analyses.significance.permutation import pair_differences, pair_indices
from runs import InputError
from runs.shared.arrays import Floats, Numbers
from runs.shared.errors import counted
from runs.shared.fields import read_lines, require_width
from runs.shared.settings import Repeats

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from analyses.shared.work import Work

QUANTITIES = ("mean score", "tau-b with all", "DP", "area")
"""What is compared between groups; the area is that under the curve of random loss."""

LIMITS: Sequence[Callable[[Floats, Floats], tuple[Floats, Floats]]] = (
    normal_limits,
    arcsine_limits,
    ratio_limits,
    partial(arcsine_limits, factor=RANDOM_LOSS_FACTOR),
)
"""How the limits of each quantity are found: those of areas as `RandomLoss` has them."""

LEVELS = (0.8, 0.6, 0.4, 0.2)
N_BLOCKS = 20
NUMBERS_AT_ONCE = 1 << 21
"""Differences of pairs of systems, or their replicates, that are held at a time."""

LEAST_USERS = 10
"""Users that a group has at least."""


class Settings(AnalysisSettings):
    """Groups of users."""

    users: Literal["activity"] | Path = Field(
        "activity",
        description='Groups: "activity", the quartiles of the number of training ratings (of '
        "judgements, where nothing is trained); or a table with the columns user and group.",
    )
    samples: Repeats = Field(
        20, ge=1, description="Random samples of the judgements at each level."
    )
    replicates: Repeats = Field(400, ge=20, description="Bootstrap replicates of the users.")


@analysis(
    "groups",
    source="Ekstrand et al. (2018), All the cool kids, how do they fit in?",
    on_request=True,
    question="Do the measures behave alike in groups of {units}?",
)
def groups(work: Work, settings: Settings) -> Groups:
    """Compute means, orderings, discriminative power and robustness in each group of users.

    Users are resampled within their groups; the replicates of a group depend on the seed, its
    place and its size alone.
    """
    scores = work.scores
    names, label = _group_labels(work, settings)
    chosen = scores.measures.indices(scores.measures.reported)
    values = scores.weighted_values[chosen]
    members = [np.flatnonzero(label == number) for number in range(len(names))]
    areas = _areas(work, members, chosen, settings)
    means, found = [], []
    everyone = values.mean(axis=2)
    for number, own in work.steps("Comparing groups", len(names), enumerate(members)):
        weights = _weights(len(own), settings.replicates, work.seed + number)
        of_systems = values[:, :, own] @ weights.T / len(own)
        taus = tau_b(of_systems.transpose(0, 2, 1), everyone[:, None])
        dp = np.stack([_discriminative_power(each[:, own], weights) for each in values])
        found.append([of_systems.mean(axis=1), taus, dp, areas[number]])
        means.append(of_systems)
    return Groups(
        measures=Measures(scores.measures.reported, reported=scores.measures.reported),
        systems=scores.systems,
        groups=names,
        sizes=tuple(map(len, members)),
        values=np.array(found).transpose(1, 0, 2, 3),
        means=np.array(means),
        everyone=everyone,
    )


def _group_labels(work: Work, settings: Settings) -> tuple[tuple[str, ...], Numbers]:
    """Name the groups, and number the group of each scored user."""
    users = work.scores.users
    if settings.users == "activity":
        counts = work.activity
        edges = np.quantile(counts, [0.25, 0.5, 0.75])
        number = np.searchsorted(edges, counts, side="left")
        kept = np.unique(number)
        names = tuple(
            f"{counts[number == n].min():,.0f} to {counts[number == n].max():,.0f}" for n in kept
        )
        label = np.searchsorted(kept, number)
    else:
        told = _read_groups(Path(settings.users))
        missing = [user for user in users.tolist() if user not in told]
        if missing:
            raise SettingError(
                "users",
                f"{settings.users}: {len(missing):,} of {len(users):,} {work.unit}s have no group, "
                f"such as {missing[0]}; add a line for each.",
            )
        names = tuple(sorted({told[user] for user in users.tolist()}))
        label = np.array([names.index(told[user]) for user in users.tolist()])
    smallest = np.bincount(label).min()
    if len(names) < 2 or smallest < LEAST_USERS:
        raise SettingError(
            "users",
            f"at least two groups of {LEAST_USERS} {work.unit}s are needed; there are "
            f"{len(names)}, and the smallest has {smallest}.",
        )
    return names, label


def _read_groups(path: Path) -> dict[str, str]:
    lines = read_lines(path)
    heading = next(lines, (1, []))[1]
    if not {"user", "group"} <= set(heading):
        raise InputError.at_line(
            path, 1, f"the columns user and group are needed, found {heading}."
        )
    user, group, told = heading.index("user"), heading.index("group"), dict[str, str]()
    for line, row in lines:
        require_width(path, line, row, heading)
        if told.setdefault(row[user], row[group]) != row[group]:
            raise InputError.at_line(path, line, f"{row[user]} is in two groups; keep one line.")
    return told


def _weights(n_users: int, replicates: int, seed: int) -> Floats:
    """Count how often users are drawn: of shape (1 + replicates, n_users), first once each."""
    drawn = resampled_users(0, replicates, n_users=n_users, seed=seed)
    return np.concatenate([np.ones((1, n_users)), drawn])


def _discriminative_power(values: Floats, weights: Floats) -> Floats:
    """Add the p-values of Student's t over all pairs of systems: of shape (n_replicates,).

    Values are of shape (n_systems, n_users), weights of (n_replicates, n_users). Five arrays of
    16 MB are held at a time.
    """
    n_users = values.shape[1]
    first, second = pair_indices(len(values))
    at_once = max(1, NUMBERS_AT_ONCE // max(weights.shape))
    dp = np.zeros(len(weights))
    for start in range(0, len(first), at_once):
        pairs = slice(start, start + at_once)
        differences = values[first[pairs]] - values[second[pairs]]
        means = differences @ weights.T / n_users
        squares = differences**2 @ weights.T / n_users
        spread = np.sqrt(np.maximum(squares - means**2, 0.0) * n_users / (n_users - 1))
        dp += t_of_moments(means, spread, n_users=n_users).sum(axis=0)
    return dp


def _areas(
    work: Work, members: Sequence[Numbers], chosen: Sequence[int], settings: Settings
) -> list[Floats]:
    """Give the area of random loss of each group, of shape (n_measures, 1 + replicates)."""
    n_judgements, blocks = len(work.qrels.items), np.zeros(len(work.scores.users), dtype=np.intp)
    places, n_blocks = [], 0
    for number, own in enumerate(members):
        of_group = random_blocks(len(own), n_blocks=N_BLOCKS, seed=work.seed + number)
        blocks[own] = n_blocks + of_group
        places.append(slice(n_blocks, n_blocks := n_blocks + int(of_group.max()) + 1))
    rescore = work.rescorer(1 + len(LEVELS) * settings.samples)
    full = rescore(np.ones((n_judgements, 1), dtype=np.bool_), blocks=blocks)[chosen]
    found = [np.zeros((len(chosen), 1 + settings.replicates)) for _ in members]
    for level in LEVELS:
        kept = sample_judgements(
            n_judgements, level=level, n_samples=settings.samples, seed=work.seed
        )
        sums = rescore(kept, blocks=blocks)[chosen]
        for number, (place, area) in enumerate(zip(places, found, strict=True)):
            size = place.stop - place.start
            weights = _weights(size, settings.replicates, work.seed + number)
            ordered = np.einsum("mbs,rb->mrs", full[:, place, :, 0], weights)
            for sample in range(settings.samples):
                lost = np.einsum("mbs,rb->mrs", sums[:, place, :, sample], weights)
                pairs = zip(lost, ordered, strict=True)
                taus = np.array([tau_b(a[:, None], b[:, None])[:, 0] for a, b in pairs])
                area += taus / (len(LEVELS) * settings.samples)
    return found


@dataclass(frozen=True, eq=False)
class Groups(Result):
    """Means, orderings, discriminative power and robustness in groups of users.

    Parameters
    ----------
    measures, systems, groups
        Labels: the report measures, the systems, and the groups.
    sizes
        Users of each group.
    values
        The quantities of `QUANTITIES`, of shape (4, n_groups, n_measures, 1 + n_replicates): mean
        score over the systems, tau-b with the ordering by all users, DP by Student's t, and the
        area under the curve of tau when judgements are lost at random.
    means
        Mean scores of the systems, of shape (n_groups, n_measures, n_systems, 1 + n_replicates).
    everyone
        Mean scores over all users, of shape (n_measures, n_systems).
    """

    measures: Measures
    systems: tuple[str, ...]
    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    values: Floats
    means: Floats
    everyone: Floats

    aspects = QUANTITIES
    """Names of the quantities, a panel each."""

    def reversals(self, number: int) -> list[tuple[str, str]]:
        """Name the pairs whose order over all users is the reverse of that in most groups.

        In all groups it cannot be: every user counts the same for both systems.
        """
        own = self.means[:, number, :, 0].round(DECIMALS)
        everyone = self.everyone[number].round(DECIMALS)
        within, overall = np.sign(pair_differences(own)), pair_differences(everyone)
        reverse = ((within == -np.sign(overall)) & (overall != 0)).mean(axis=0) > 0.5
        return [*compress(combinations(self.systems, 2), reverse)]

    @cached_property
    def limits(self) -> Floats:
        """Values and their 95 % limits, of shape (3, n_quantities, n_groups, n_measures)."""
        ends = [
            limits_around(own[..., 0], own[..., 1:])
            for limits_around, own in zip(LIMITS, self.values, strict=True)
        ]
        return np.stack([self.values[..., 0], *np.stack(ends, axis=1)])

    @cached_property
    def differences(self) -> Floats:
        """Differences between groups, and limits, simultaneous over the pairs of groups (95 %).

        Of shape (3, n_quantities, n_pairs, n_measures).
        """
        gaps = pair_differences(self.values, axis=1)
        found = np.stack([gaps[..., 0]] * 3)
        for q, n in np.ndindex(len(gaps), len(self.measures)):
            value, replicates = gaps[q, :, n, 0], gaps[q, :, n, 1:]
            found[1:, q, :, n] = normal_limits(
                value, replicates, quantile=joint_quantile(replicates)
            )
        return found

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Give ``groups``, ``group_differences`` and ``group_means``.

        Columns metric, cutoff, quantity, group, users, value, low, high (95 %); metric, cutoff,
        quantity, first, second, difference, low, high (simultaneous over the pairs of groups);
        metric, cutoff, group, system, mean, low, high.
        """
        value, low, high = np.moveaxis(self.limits, -1, 1)
        gap, least, most = np.moveaxis(self.differences, -1, 1)
        means, replicates = (of.swapaxes(0, 1) for of in (self.means[..., 0], self.means[..., 1:]))
        lowest, highest = percentiles(replicates)
        quantities, groups = {"quantity": QUANTITIES}, {"group": self.groups}
        pairs, systems = pair_labels(self.groups, "first", "second"), {"system": self.systems}
        of_groups = self.measures, quantities, groups | {"users": self.sizes}
        of_pairs, of_systems = (self.measures, quantities, pairs), (self.measures, groups, systems)
        return {
            "groups": tidy(*of_groups, value=value, low=low, high=high),
            "group_differences": tidy(*of_pairs, difference=gap, low=least, high=most),
            "group_means": tidy(*of_systems, mean=means, low=lowest, high=highest),
        }

    def caption(self) -> str:
        """Say what is compared."""
        sizes = listed([f"{g} ({n:,})" for g, n in zip(self.groups, self.sizes, strict=True)])
        return (
            f"{len(self.systems)} systems in groups of {self.units}: {sizes}. Mean score over the "
            f"systems; tau-b with the ordering by all {self.units}; DP over unordered pairs, by "
            "Student's paired t-test (it falls with the size of a group); area under the curve of "
            f"tau when 20 to 80 % of the judgements are removed at random. Intervals: 95 %, "
            f"{self.units} resampled within groups."
        )

    def findings(self) -> Sequence[str]:
        """Count the significant differences between groups, and name reversals."""
        found = []
        n_pairs = len(self.groups) * (len(self.groups) - 1) // 2
        _, low, high = self.differences
        counts = ((low > 0) | (high < 0)).sum(axis=1)
        for quantity, of_measures in zip(QUANTITIES, counts, strict=True):
            each = zip(of_measures, self.measures, strict=True)
            some = [f"{count} under {measure}" for count, measure in each if count]
            if some:
                found.append(
                    f"Of {counted(n_pairs, 'pair of groups')}, the {quantity} differs "
                    f"significantly in {listed(some)}."
                )
        for n, measure in enumerate(self.measures):
            pairs = [f"{a} and {b}" for a, b in self.reversals(n)]
            if pairs:
                found.append(
                    f"Reversal (Simpson's paradox) under {measure}: over all {self.units}, the "
                    f"order of {listed(pairs)} is the reverse of that in most groups."
                )
        return found

    @table("groups", "means, orderings, discriminative power and robustness in groups of {units}")
    def table(self) -> Table:
        """Tabulate the quantities with their intervals: a row for each measure and group."""
        limits = self.limits.T.tolist()
        rows: list[list[Cell]] = [
            [str(measure), group, size, *(str(Estimate(*each)) for each in own)]
            for measure, of_groups in zip(self.measures, limits, strict=True)
            for group, size, own in zip(self.groups, self.sizes, of_groups, strict=True)
        ]
        headings = ["measure", "group", self.units, *QUANTITIES]
        return Table("groups", f"Groups of {self.units}", self.caption(), headings, rows)

    @figure("groups", "Groups of {units}", panels="aspect", comparable=False)
    def plot(self, ax: Axes, *, aspect: str | None = None) -> None:
        """Draw a quantity of every measure, a point for each group."""
        number = panel_index(QUANTITIES, aspect)
        rows = np.arange(len(self.measures))[::-1]
        for g, group in enumerate(self.groups):
            value, low, high = self.limits[:, number, g]
            places, colour = rows - 0.15 * (g - (len(self.groups) - 1) / 2), colours()[g % 7]
            lines = ax.hlines(places, low, high, colour, linewidth=1)
            explain(lines, "Lines: 95 % intervals.")
            ax.plot(value, places, "o", color=colour, markersize=3, label=group)
        ax.set_yticks(rows, list(map(str, self.measures)))
        ax.set_xlabel(QUANTITIES[number])
        if number == 0:
            ax.legend(title=self.unit + "s", fontsize=6, title_fontsize=6)
