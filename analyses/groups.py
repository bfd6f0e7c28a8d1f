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
"""Shares of the judgements that are kept."""

N_BLOCKS = 20
"""Number of blocks of users in each group."""

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

    Only report measures count. Users are resampled within their groups; the replicates of a group
    depend on the seed, its number and its size alone. Raises SettingError if there are fewer than
    two groups, a group is too small, or a user has none; InputError if the table of groups cannot
    be read.
    """
    scores = work.scores
    reported = scores.measures.reported
    indices = scores.measures.indices(reported)
    names, group_numbers = _user_groups(work, settings)
    members = []
    for number in range(len(names)):
        members.append(np.flatnonzero(group_numbers == number))
    # By group, of shape (n_measures, 1 + n_replicates).
    areas = _areas(work, members, indices, settings)
    values = scores.weighted_values[indices]
    everyone = values.mean(axis=2)
    means = []
    quantities = []
    for number, users in work.steps("Comparing groups", len(names), enumerate(members)):
        weights = _user_weights(len(users), settings.replicates, work.seed + number)
        # Of shape (n_measures, n_systems, 1 + n_replicates).
        group_values = values[:, :, users]
        group_means = group_values @ weights.T / len(users)
        estimates = group_means.transpose(0, 2, 1)
        taus = tau_b(estimates, everyone[:, np.newaxis])
        dp = [_discriminative_power(by_system, weights) for by_system in group_values]
        mean_scores = group_means.mean(axis=1)
        quantities.append([mean_scores, taus, np.stack(dp), areas[number]])
        means.append(group_means)
    sizes = tuple(len(users) for users in members)
    # Of shape (n_groups, n_quantities, n_measures, 1 + n_replicates).
    by_group = np.array(quantities)
    return Groups(
        measures=Measures(reported, reported=reported),
        systems=scores.systems,
        groups=names,
        sizes=sizes,
        values=by_group.transpose(1, 0, 2, 3),
        means=np.array(means),
        everyone=everyone,
    )


def _user_groups(work: Work, settings: Settings) -> tuple[tuple[str, ...], Numbers]:
    """Name the groups, and number the group of each scored user, from 0, (n_users,).

    Groups are those of ``settings.users``: quartiles of activity (number of training ratings), or a
    file. Raises SettingError if there are fewer than two groups, one has fewer than 10 users
    (`LEAST_USERS`), or the file has no group for a user; InputError if the file cannot be read.
    """
    if settings.users == "activity":
        names, group_numbers = _groups_by_activity(work.activity)
    else:
        names, group_numbers = _groups_from_file(Path(settings.users), work)
    smallest = np.bincount(group_numbers).min()
    if len(names) < 2 or smallest < LEAST_USERS:
        raise SettingError(
            "users",
            f"at least two groups of {LEAST_USERS} {work.unit}s are needed; there are "
            f"{len(names)}, and the smallest has {smallest}.",
        )
    return names, group_numbers


def _groups_by_activity(counts: Numbers) -> tuple[tuple[str, ...], Numbers]:
    """Divide users by the quartiles of their numbers of ratings, of shape (n_users,).

    A user with exactly a quartile is in the group below it. Groups without users are left out, so
    that there may be fewer than four. The result: the names of the groups, such as "1 to 20" (their
    smallest and largest number of ratings), and the number of each user's group, from 0, of shape
    (n_users,).
    """
    quartiles = np.quantile(counts, [0.25, 0.5, 0.75])
    quarter_of_users = np.searchsorted(quartiles, counts, side="left")
    quarters, group_numbers = np.unique(quarter_of_users, return_inverse=True)
    names = []
    for number in range(len(quarters)):
        group_counts = counts[group_numbers == number]
        lowest = group_counts.min()
        highest = group_counts.max()
        names.append(f"{lowest:,.0f} to {highest:,.0f}")
    return tuple(names), group_numbers


def _groups_from_file(path: Path, work: Work) -> tuple[tuple[str, ...], Numbers]:
    """Read the groups of the scored users: names, sorted, and the number of each user's group.

    Raises SettingError if a user has no group, and InputError as `_read_groups` does.
    """
    group_by_user = _read_groups(path)
    users = work.scores.users.tolist()
    missing = [user for user in users if user not in group_by_user]
    if missing:
        raise SettingError(
            "users",
            f"{path}: {len(missing):,} of {len(users):,} {work.unit}s have no group, such as "
            f"{missing[0]}; add a line for each.",
        )
    labels = [group_by_user[user] for user in users]
    names, group_numbers = np.unique(labels, return_inverse=True)
    return tuple(names.tolist()), group_numbers


def _read_groups(path: Path) -> dict[str, str]:
    """Read a table with the columns user and group: the group of each user by id.

    Raises InputError if the file cannot be read, a column is missing, a line has another number of
    fields than the heading, or a user is in two groups. A user who is repeated with the same group
    is not refused.
    """
    # The number of each line, from 1, with its fields.
    lines = read_lines(path)
    # An empty file has a heading without columns, which is refused.
    _, heading = next(lines, (1, []))
    if not {"user", "group"} <= set(heading):
        raise InputError.at_line(
            path, 1, f"the columns user and group are needed, found {heading}."
        )
    user_column = heading.index("user")
    group_column = heading.index("group")
    group_by_user: dict[str, str] = {}
    for line, row in lines:
        require_width(path, line, row, heading)
        user = row[user_column]
        group = row[group_column]
        if group_by_user.setdefault(user, group) != group:
            raise InputError.at_line(path, line, f"{user} is in two groups; keep one line.")
    return group_by_user


def _user_weights(n_users: int, replicates: int, seed: int) -> Floats:
    """Count how often users, or blocks, are drawn: (1 + replicates, n_users), first once each."""
    resampled = resampled_users(0, replicates, n_users=n_users, seed=seed)
    return np.concatenate([np.ones((1, n_users)), resampled])


def _discriminative_power(values: Floats, weights: Floats) -> Floats:
    """Add up the p-values of Student's paired t-test over all pairs of systems: (n_replicates,).

    Values are scores of shape (n_systems, n_users); weights, how often each replicate draws a user,
    of (n_replicates, n_users): every row adds up to n_users, which is at least 2. Pairs are taken
    some at a time, so that five arrays of 16 MB are held.
    """
    n_users = values.shape[1]
    first, second = pair_indices(len(values))
    at_once = max(1, NUMBERS_AT_ONCE // max(weights.shape))
    dp = np.zeros(len(weights))
    for start in range(0, len(first), at_once):
        pairs = slice(start, start + at_once)
        first_values = values[first[pairs]]
        second_values = values[second[pairs]]
        differences = first_values - second_values
        means = differences @ weights.T / n_users
        mean_squares = differences**2 @ weights.T / n_users
        variances = np.maximum(mean_squares - means**2, 0.0)
        unbiased_variances = variances * n_users / (n_users - 1)
        deviations = np.sqrt(unbiased_variances)
        p_values = t_of_moments(means, deviations, n_users=n_users)
        dp += p_values.sum(axis=0)
    return dp


def _areas(
    work: Work, members: Sequence[Numbers], indices: Sequence[int], settings: Settings
) -> list[Floats]:
    """Compute the area of random loss of each group, of shape (n_measures, 1 + replicates).

    It is the mean tau-b between the ordering of the systems on a random sample of the judgements
    and that on all, over the shares kept, `LEVELS`, and the samples of each. ``members`` holds the
    users of each group, by number, and ``indices`` the positions of the measures. Each group has
    its own blocks of users, which are resampled; the first column is without resampling. NaN if all
    systems tie on a sample.
    """
    n_judgements = len(work.qrels.items)
    n_samples = settings.samples
    blocks, blocks_of_groups = _blocks_in_groups(members, seed=work.seed)
    n_curve_points = len(LEVELS) * n_samples
    # Sums of scores over blocks of users: (n_measures, n_blocks, n_systems, n_samples).
    sum_samples = work.rescorer(1 + n_curve_points)
    all_judgements = np.ones((n_judgements, 1), dtype=np.bool_)
    full_sums = sum_samples(all_judgements, blocks=blocks)[indices, ..., 0]
    shape = (len(indices), 1 + settings.replicates)
    areas = [np.zeros(shape) for _ in members]
    for level in LEVELS:
        is_kept = sample_judgements(n_judgements, level=level, n_samples=n_samples, seed=work.seed)
        sums = sum_samples(is_kept, blocks=blocks)[indices]
        for number, group_blocks in enumerate(blocks_of_groups):
            n_blocks = group_blocks.stop - group_blocks.start
            weights = _user_weights(n_blocks, settings.replicates, work.seed + number)
            references = _weigh_blocks(full_sums[:, group_blocks], weights)
            for sample in range(n_samples):
                estimates = _weigh_blocks(sums[:, group_blocks, :, sample], weights)
                taus = _taus_by_replicate(estimates, references)
                areas[number] += taus / n_curve_points
    return areas


def _blocks_in_groups(members: Sequence[Numbers], *, seed: int) -> tuple[Numbers, list[slice]]:
    """Put the users of each group into random blocks, which no two groups share.

    ``members`` holds the users of each group, by number: every user is in one. The result: the
    block of each user, of shape (n_users,), and the blocks of each group.
    """
    n_users = sum(len(users) for users in members)
    blocks = np.zeros(n_users, dtype=np.intp)
    blocks_of_groups = []
    n_blocks = 0
    for number, users in enumerate(members):
        group_blocks = random_blocks(len(users), n_blocks=N_BLOCKS, seed=seed + number)
        blocks[users] = n_blocks + group_blocks
        end = n_blocks + int(group_blocks.max()) + 1
        blocks_of_groups.append(slice(n_blocks, end))
        n_blocks = end
    return blocks, blocks_of_groups


def _weigh_blocks(sums: Floats, weights: Floats) -> Floats:
    """Add up sums of scores over blocks of users, as often as each replicate draws a block.

    Sums are of shape (n_measures, n_blocks, n_systems), weights of (n_replicates, n_blocks), the
    result of (n_measures, n_replicates, n_systems).
    """
    return np.asarray(np.einsum("mbs,rb->mrs", sums, weights))


def _taus_by_replicate(estimates: Floats, references: Floats) -> Floats:
    """Compute tau-b of every replicate, one measure at a time: (n_measures, n_replicates).

    Both are of shape (n_measures, n_replicates, n_systems).
    """
    taus = []
    for estimate, reference in zip(estimates, references, strict=True):
        # An axis for the pairs of orderings, of which there is one.
        measure_taus = tau_b(estimate[:, np.newaxis], reference[:, np.newaxis])
        taus.append(measure_taus[:, 0])
    return np.array(taus)


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

        ``number`` is the position of the measure. Most are more than half of the groups; means are
        compared to 12 decimals, and a pair that ties is no reversal. In all groups the order cannot
        be the reverse: every user counts the same for both systems. ``self.means`` are of shape
        (n_groups, n_measures, n_systems, 1 + n_replicates), ``self.everyone`` of (n_measures,
        n_systems). Empty if there is no such pair.
        """
        group_means = self.means[:, number, :, 0].round(DECIMALS)
        overall_means = self.everyone[number].round(DECIMALS)
        group_signs = np.sign(pair_differences(group_means))
        overall_signs = np.sign(pair_differences(overall_means))
        is_reverse = (group_signs == -overall_signs) & (overall_signs != 0)
        in_most_groups = is_reverse.mean(axis=0) > 0.5
        return [*compress(combinations(self.systems, 2), in_most_groups)]

    @cached_property
    def limits(self) -> Floats:
        """Values with 95 % limits over users, of shape (3, n_quantities, n_groups, n_measures).

        First the values, then the lower and the upper limits, which are computed as in `LIMITS`
        from ``self.values``, (n_quantities, n_groups, n_measures, 1 + n_replicates).
        """
        observed = self.values[..., 0]
        low = np.empty(observed.shape)
        high = np.empty(observed.shape)
        for quantity, limits_of in enumerate(LIMITS):
            replicates = self.values[quantity, ..., 1:]
            low[quantity], high[quantity] = limits_of(observed[quantity], replicates)
        return np.stack([observed, low, high])

    @cached_property
    def differences(self) -> Floats:
        """Differences between groups, and limits, simultaneous over the pairs of groups (95 %).

        Of shape (3, n_quantities, n_pairs, n_measures): differences (first less second group of the
        pairs i < j), lower and upper limits. ``self.values`` are of shape (n_quantities, n_groups,
        n_measures, 1 + n_replicates).
        """
        differences = pair_differences(self.values, axis=1)
        observed = differences[..., 0]
        low = np.empty(observed.shape)
        high = np.empty(observed.shape)
        for quantity, measure in np.ndindex(len(QUANTITIES), len(self.measures)):
            replicates = differences[quantity, :, measure, 1:]
            differences_of_pairs = observed[quantity, :, measure]
            quantile = joint_quantile(replicates)
            least, most = normal_limits(differences_of_pairs, replicates, quantile=quantile)
            low[quantity, :, measure] = least
            high[quantity, :, measure] = most
        return np.stack([observed, low, high])

    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Tabulate ``groups``, ``group_differences`` and ``group_means``.

        Columns metric, cutoff, quantity, group, users, value, low, high (95 %); metric, cutoff,
        quantity, first, second, difference, low, high (simultaneous over the pairs of groups);
        metric, cutoff, group, system, mean, low, high.
        """
        quantities = {"quantity": QUANTITIES}
        groups = {"group": self.groups}
        systems = {"system": self.systems}
        pairs = pair_labels(self.groups, "first", "second")
        # Measures as the first axis of what is tabulated.
        value, low, high = np.moveaxis(self.limits, -1, 1)
        difference, least, most = np.moveaxis(self.differences, -1, 1)
        means = self.means.swapaxes(0, 1)
        mean_low, mean_high = percentiles(means[..., 1:])
        sized_groups = {"group": self.groups, "users": self.sizes}
        by_group = tidy(self.measures, quantities, sized_groups, value=value, low=low, high=high)
        by_pair = tidy(
            self.measures, quantities, pairs, difference=difference, low=least, high=most
        )
        observed = means[..., 0]
        by_system = tidy(
            self.measures, groups, systems, mean=observed, low=mean_low, high=mean_high
        )
        return {"groups": by_group, "group_differences": by_pair, "group_means": by_system}

    def caption(self) -> str:
        """Write which groups are compared, and by what quantities."""
        sized_groups = []
        for group, size in zip(self.groups, self.sizes, strict=True):
            sized_groups.append(f"{group} ({size:,})")
        sizes = listed(sized_groups)
        return (
            f"{len(self.systems)} systems in groups of {self.units}: {sizes}. Mean score over the "
            f"systems; tau-b with the ordering by all {self.units}; DP over unordered pairs, by "
            "Student's paired t-test (it falls with the size of a group); area under the curve of "
            f"tau when 20 to 80 % of the judgements are removed at random. Intervals: 95 %, "
            f"{self.units} resampled within groups."
        )

    def findings(self) -> Sequence[str]:
        """Count the significant differences between groups, and name reversals."""
        return [*self._difference_sentences(), *self._reversal_sentences()]

    def _difference_sentences(self) -> list[str]:
        """Write, for each quantity, how many pairs of groups differ significantly by measure.

        Differences are significant if their simultaneous limits exclude 0; quantities and measures
        without one are left out. ``self.differences`` has differences, lower and upper limits, of
        shape (3, n_quantities, n_pairs, n_measures).
        """
        n_groups = len(self.groups)
        pairs = counted(n_groups * (n_groups - 1) // 2, "pair of groups")
        _, low, high = self.differences
        is_significant = (low > 0) | (high < 0)
        n_significant = is_significant.sum(axis=1)
        sentences = []
        for quantity, counts in zip(QUANTITIES, n_significant, strict=True):
            by_measure = zip(counts, self.measures, strict=True)
            numbers = [f"{count} under {measure}" for count, measure in by_measure if count]
            if numbers:
                sentences.append(
                    f"Of {pairs}, the {quantity} differs significantly in {listed(numbers)}."
                )
        return sentences

    def _reversal_sentences(self) -> list[str]:
        """Write which pairs of systems have the reverse order in most groups.

        A sentence for each measure with such pairs; see `reversals`.
        """
        sentences = []
        for number, measure in enumerate(self.measures):
            pairs = [f"{first} and {second}" for first, second in self.reversals(number)]
            if pairs:
                sentences.append(
                    f"Reversal (Simpson's paradox) under {measure}: over all {self.units}, the "
                    f"order of {listed(pairs)} is the reverse of that in most groups."
                )
        return sentences

    @table("groups", "means, orderings, discriminative power and robustness in groups of {units}")
    def table(self) -> Table:
        """Tabulate the quantities with their intervals: a row for each measure and group.

        ``self.limits`` has values, lower and upper limits, of shape (3, n_quantities, n_groups,
        n_measures).
        """
        rows: list[list[Cell]] = []
        for number, measure in enumerate(self.measures):
            for group, (name, size) in enumerate(zip(self.groups, self.sizes, strict=True)):
                estimates = []
                limits = self.limits[:, :, group, number]
                for value, low, high in limits.T.tolist():
                    estimates.append(str(Estimate(value, low, high)))
                rows.append([str(measure), name, size, *estimates])
        headings = ["measure", "group", self.units, *QUANTITIES]
        return Table("groups", f"Groups of {self.units}", self.caption(), headings, rows)

    @figure("groups", "Groups of {units}", panels="aspect", comparable=False)
    def plot(self, ax: Axes, *, aspect: str | None = None) -> None:
        """Draw a quantity of every measure, a point for each group with its 95 % interval.

        ``aspect`` is one of `QUANTITIES`, by default the first; InputError if it is another.
        ``self.limits`` has values, lower and upper limits, of shape (3, n_quantities, n_groups,
        n_measures). `explain` attaches a sentence for the caption to what is drawn. The first
        quantity alone has a legend of the groups.
        """
        quantity = panel_index(QUANTITIES, aspect)
        rows = np.arange(len(self.measures))[::-1]
        middle = (len(self.groups) - 1) / 2
        for group, name in enumerate(self.groups):
            value, low, high = self.limits[:, quantity, group]
            # From eight groups on, colours repeat.
            colour = colours()[group % 7]
            # Groups stand below one another within the row of a measure.
            positions = rows - 0.15 * (group - middle)
            lines = ax.hlines(positions, low, high, colour, linewidth=1)
            explain(lines, "Lines: 95 % intervals.")
            ax.plot(value, positions, "o", color=colour, markersize=3, label=name)
        ax.set_yticks(rows, [str(measure) for measure in self.measures])
        ax.set_xlabel(QUANTITIES[quantity])
        if quantity == 0:
            ax.legend(title=self.unit + "s", fontsize=6, title_fontsize=6)
