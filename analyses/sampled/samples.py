"""Ranks among sampled negatives, and how they are drawn.

Random numbers are keyed by (seed, stage, repeat, size or place), and each user has one of them: a
user's sample depends neither on the other users nor on workers. Systems that are sampled with one
seed and repeat share the uniform number of each user, of which the inverse distribution function
makes a binomial or hypergeometric number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analyses.shared.analysis import AnalysisSettings, SettingError, StudyFacts
from qrels import FullRanks
from qrels.ranks.full_ranks import CandidateRanks
from runs import InputError
from runs.shared.arrays import Floats, Longs, Masks
from runs.shared.fields import integers_by_row
from runs.shared.streams import random_uniforms


@dataclass(frozen=True, eq=False, kw_only=True)
class SampledRanks(FullRanks):
    r"""Ranks among sampled negatives, one row for each pair of a user and a relevant item.

    The relevant items of a user are always in the list. With m negatives, relevant item number j
    has ranks j to m + j.

    Parameters
    ----------
    n_negatives
        Sampled negatives m of the user, without relevant items, int64 of shape (n_rows,).
    replace
        Whether they were drawn with replacement; one drawn twice counts twice.
    inverse_mass_above
        Sum of :math:`1 / q_i` over the sampled negatives above, for negatives drawn with
        probabilities :math:`q_i`: (n_rows,). None if they were drawn uniformly.

    Examples
    --------
    >>> SampledRanks.of([1, 3, 3], n_negatives=9, n_candidates=50).above
    array([0, 2, 2])
    """

    n_negatives: Longs
    replace: bool = True
    inverse_mass_above: Floats | None = None

    @classmethod
    def of(  # type: ignore[override]
        cls,
        rank: ArrayLike,
        *,
        n_negatives: ArrayLike,
        n_candidates: ArrayLike,
        replace: bool = True,
    ) -> SampledRanks:
        """Take ranks of users with one relevant item each; single numbers hold for all users.

        Ranks in the sample, negatives (without the relevant item) and candidates (with it) are of
        shape (n_users,). Refuse, with InputError, ranks above the length of the list, more
        negatives than irrelevant candidates, and arrays of other lengths.
        """
        ranks = FullRanks.of(rank, n_candidates=n_candidates)
        negatives = integers_by_row(n_negatives, len(ranks), name="number of negatives")
        return cls(
            ranks.rank, ranks.n_candidates, ranks.user, n_negatives=negatives, replace=replace
        )

    def __post_init__(self) -> None:
        """Refuse, with InputError, numbers of negatives and ranks that no sample has."""
        super().__post_init__()
        m = self.n_negatives
        is_possible = (m >= 1) & (m <= self.n_irrelevant) & (self.above <= m)
        if not is_possible.all():
            row = int(is_possible.argmin())
            raise InputError(
                "`n_negatives` must be from 1 to the number of irrelevant candidates, and ranks "
                f"from 1 to the length of the list, got {m[row]} negatives and rank "
                f"{self.rank[row]} in row {row} of the sampled ranks."
            )


def weighted_auc(sample: SampledRanks) -> Floats:
    r"""Estimate the AUC of each user from negatives drawn with probabilities q: (n_users,).

    The rank is estimated without bias by :math:`\hat R = j + \frac1m \sum_{above} 1 / q_i` (Horvitz
    & Thompson, 1952), and so is AUC, which is linear in it; no other metric is. Refuse, with
    InputError, negatives without probabilities.
    """
    if sample.inverse_mass_above is None:
        raise InputError("HT needs the probabilities of negatives (inverse_mass_above).")
    n_above = sample.inverse_mass_above / sample.n_negatives
    terms = (1 - n_above / sample.n_irrelevant) / sample.n_relevant
    _, user = np.unique(sample.user, return_inverse=True)
    return np.bincount(user, weights=terms).astype(np.float64)


def require_negatives(m: int, n_irrelevant: Longs, *, name: str = "m") -> None:
    """Refuse, with InputError, a number of negatives below 1 or above the irrelevant candidates.

    ``m``: number of negatives of every user. ``n_irrelevant``: numbers of irrelevant candidates by
    user or row, (n,); the smallest counts. ``name``: what the message calls m.
    """
    if not 1 <= m <= n_irrelevant.min(initial=m):
        raise InputError(
            f"`{name}` must be from 1 to the number of irrelevant candidates "
            f"({n_irrelevant.min()} for some user), got {m}."
        )


@dataclass(frozen=True)
class SampleDesign:
    r"""How many negatives are sampled: one number, or rising ones (adaptive samples).

    With :math:`a_j` of N irrelevant candidates above a user's relevant item number j, the sampled
    negatives above it are :math:`\mathrm{Bin}(m, a_j/N)` or :math:`\mathrm{Hyp}(N, a_j, m)`
    (Krichene & Rendle, 2020, 4.3 and 4.4). For several relevant items the numbers between them are
    drawn in turn, each given those before: together they are multinomial, or multivariate
    hypergeometric. Adaptive samples (Li et al., 2023, Algorithm 1) are of users with one relevant
    item each, and grow through the sizes while no negative is above it. A drawing other than
    uniform needs the ranks of all candidates (see `Negatives`).
    """

    sizes: tuple[int, ...]
    replace: bool = True
    adaptive: bool = False
    drawing: str = "uniform"

    @classmethod
    def growing(cls, n0: int, n_max: int) -> SampleDesign:
        """Design samples that double from n0 to n_max items while a user's relevant item is first.

        Sizes are numbers of negatives, without the one relevant item: n0 - 1, 2 n0 - 1, ... n_max -
        1. The printed algorithm stops only at n_max itself, so n_max is n0 times a power of 2;
        other numbers are refused with InputError. It has n0 - 1 negatives, where the released
        script draws n0.
        """
        ratio = n_max // n0
        # A power of 2 has a single bit, which less 1 turns into all lower ones.
        is_power_of_2 = ratio >= 1 and ratio & (ratio - 1) == 0
        if n_max != ratio * n0 or not is_power_of_2:
            raise InputError(f"`n_max` must be `n0`, {n0}, times a power of 2, got {n_max}.")
        n_sizes = ratio.bit_length()
        sizes = tuple(n0 * 2**doublings - 1 for doublings in range(n_sizes))
        return cls(sizes, adaptive=True)

    def check(self, ranks: FullRanks) -> None:
        """Refuse, with InputError, ranks that this design cannot sample.

        They are those of users with fewer irrelevant candidates than the design has negatives, and,
        for adaptive samples, of users with several relevant items.
        """
        if self.adaptive and (ranks.n_relevant > 1).any():
            raise InputError("adaptive samples need users with one relevant item each.")
        name = "n_max - 1" if self.adaptive else "negatives"
        require_negatives(self.sizes[-1], ranks.n_irrelevant, name=name)

    def draw(self, ranks: FullRanks, *, seed: int, repeat: int = 0) -> SampledRanks:
        """Sample negatives once for all users, and rank the relevant items among them.

        Only the numbers of sampled negatives above the items are drawn, item by item of a user:
        those above the item before, plus a draw of those between both. Sizes after the first add
        negatives to the samples of users whose item has none above it yet. Random numbers depend on
        the seed, the repeat and the user. Refuse, with InputError, users with fewer irrelevant
        candidates than negatives, and users with several relevant items for adaptive samples.
        """
        from analyses.shared.sampling_loop import negatives_above

        self.check(ranks)
        above = np.zeros(len(ranks), dtype=np.int64)
        negatives = np.zeros(len(ranks), dtype=np.int64)
        n_places = int(ranks.order.max(initial=0))
        previous_size = 0
        for size in self.sizes:
            is_growing = above == 0
            n_new = size - previous_size
            for place in range(1, n_places + 1):
                rows, previous_rows = _rows_at_place(ranks, place, is_growing)
                uniforms = self._uniforms(ranks.user[rows], seed, repeat, size, place)
                if place > 1:
                    passed = ranks.above[previous_rows]
                    sampled_before = above[previous_rows]
                else:
                    passed = np.zeros(len(rows), dtype=np.int64)
                    sampled_before = np.zeros(len(rows), dtype=np.int64)
                # Of the new negatives, those not above the item before may be above this one.
                sampled_between = negatives_above(
                    uniforms,
                    negatives=n_new - sampled_before,
                    above=ranks.above[rows] - passed,
                    others=ranks.n_irrelevant[rows] - passed,
                    replace=self.replace,
                )
                above[rows] = sampled_before + sampled_between
            negatives[is_growing] = size
            previous_size = size
        return SampledRanks(
            above + ranks.order,
            ranks.n_candidates,
            ranks.user,
            n_negatives=negatives,
            replace=self.replace,
        )

    def _uniforms(self, users: Longs, seed: int, repeat: int, size: int, place: int) -> Floats:
        """Draw a uniform random number for each user, keyed by size (adaptive) or place."""
        if self.adaptive:
            return random_uniforms(users, seed, "adaptive ranks", repeat, size + 1)
        return random_uniforms(users, seed, "sampled ranks", repeat, place)


def _rows_at_place(ranks: FullRanks, place: int, mask: Masks) -> tuple[Longs, Longs]:
    """Find the rows of the relevant items that are number ``place`` (from 1) of their users.

    Only rows where the mask, (n_rows,), is true. Both results are row numbers, (n_chosen,): of
    these items, and of the same users' items before them, which mean nothing for the first place.
    """
    # Rows sorted by user and then by rank.
    by_user = ranks.by_user
    is_chosen = (ranks.order[by_user] == place) & mask[by_user]
    positions = np.flatnonzero(is_chosen)
    return by_user[positions], by_user[positions - 1]


@dataclass(frozen=True, eq=False)
class Negatives:
    """Sampled items of every user, the same for all systems, where all candidates are ranked.

    Ranks of all candidates and relevant items by some system say who the candidates are; random
    numbers are keyed by seed and user. Items are drawn by weights (of a user and items; None:
    uniform), or fixed: (n_users, m).
    """

    ranks: CandidateRanks
    relevant: FullRanks
    repeats: int
    seed: int
    replace: bool = True
    weigh: Callable[[int, Longs], Floats] | None = None
    fixed: Longs | None = None

    def draw(self, user: int, rows: Longs, n: int, *key: int) -> tuple[Longs, Floats | None]:
        """Draw n negatives of a user in each repeat, and 1 / the chance of each if weighted.

        The first result has numbers of items, the second 1 / the probability of each in a single
        draw; both are of shape (n_repeats, n), and the second is None if items are not drawn by
        weights. Fixed items, (n_users, m), are the first n of the user's, in all repeats. Else
        items are drawn from the candidates of the user but his relevant items, whose ``rows`` are
        given: uniformly, with replacement or without, or by weights with replacement. ``key`` goes
        into the key of the random numbers, beside seed and user. ``self.ranks`` has the rank of
        each candidate by user and item, (n_users, n_items), 0 for items that are none.
        """
        from analyses.shared.sampling_loop import distinct_places

        if self.fixed is not None:
            return np.broadcast_to(self.fixed[user, :n], (self.repeats, n)), None
        assert self.relevant.item is not None
        is_candidate = self.ranks.rank[user] > 0
        is_candidate[self.relevant.item[rows]] = False
        candidates = np.flatnonzero(is_candidate)
        numbers = np.arange(self.repeats * n)
        uniforms = random_uniforms(numbers, self.seed, "shared negatives", user, *key)
        uniforms = uniforms.reshape(self.repeats, n)
        if self.weigh is None:
            if self.replace:
                places = (uniforms * len(candidates)).astype(np.intp)
            else:
                places = distinct_places(uniforms, len(candidates)).astype(np.intp)
            return candidates[places], None
        weights = self.weigh(user, candidates)
        chances = weights / weights.sum()
        # Divided by the last one, as it may not be 1 exactly.
        sums = np.cumsum(chances)
        places = np.searchsorted(sums / sums[-1], uniforms, side="right")
        return candidates[places], 1 / chances[places]

    def rank(
        self, ranks: CandidateRanks, relevant: FullRanks, sizes: Sequence[int]
    ) -> list[SampledRanks]:
        """Rank the relevant items of a system among the negatives, a sample for each repeat.

        ``ranks``: those of all candidates, by user and item; ``relevant``: those of the relevant
        items. ``sizes``: rising numbers of negatives. Sizes after the first are for users whose
        item has no negative above it so far. Samples have sums of 1 / probability of the negatives
        above if items are drawn by weights. Refuse, with InputError, more negatives than some user
        has irrelevant candidates.
        """
        require_negatives(sizes[-1], relevant.n_irrelevant, name="negatives")
        shape = (len(relevant), self.repeats)
        above = np.zeros(shape, dtype=np.int64)
        negatives = np.zeros(shape, dtype=np.int64)
        inverse_masses = np.zeros(shape)
        users, starts = np.unique(relevant.user[relevant.by_user], return_index=True)
        rows_of_users = np.split(relevant.by_user, starts[1:])
        for user, rows in zip(users.tolist(), rows_of_users, strict=True):
            previous_size = 0
            for size in sizes:
                is_growing = above[rows] == 0
                if not is_growing.any():
                    break
                key = [size] if previous_size > 0 else []
                items, inverse_chances = self.draw(user, rows, size - previous_size, *key)
                item_ranks = relevant.rank[rows, np.newaxis, np.newaxis]
                # (n_rows, n_repeats, n_items)
                is_above = ranks.rank[user, items] < item_ranks
                above[rows] += np.where(is_growing, is_above.sum(axis=2), 0)
                negatives[rows] = np.where(is_growing, size, negatives[rows])
                if inverse_chances is not None:
                    inverse_masses[rows] = (is_above * inverse_chances).sum(axis=2)
                previous_size = size
        samples = []
        for repeat in range(self.repeats):
            inverse_mass_above = inverse_masses[:, repeat] if self.weigh else None
            sample = SampledRanks(
                above[:, repeat] + relevant.order,
                relevant.n_candidates,
                relevant.user,
                n_negatives=negatives[:, repeat],
                replace=self.replace,
                inverse_mass_above=inverse_mass_above,
            )
            samples.append(sample)
        return samples


def top_items(ranks: CandidateRanks, relevant: FullRanks, *, m: int) -> Longs:
    """Find the first m irrelevant candidates of a system for every user: item numbers (n_users, m).

    ``ranks``: those of all candidates by user and item, 0 for others. ``relevant``: ranks of the
    relevant items, with the items. Refuse, with InputError, more items than some user has
    irrelevant candidates.
    """
    require_negatives(m, relevant.n_irrelevant)
    # Relevant items and those that are no candidates are sorted to the end.
    last = np.iinfo(ranks.rank.dtype).max
    sort_keys = np.where(ranks.rank > 0, ranks.rank, last)
    sort_keys[relevant.user, relevant.item] = last
    return np.argsort(sort_keys, axis=1, kind="stable")[:, :m]


def first_of(systems: Mapping[str, FullRanks]) -> FullRanks:
    """Look up the ranks of the first system, whose users and candidates all others must have.

    Refuse, with InputError, no systems, systems of other users, relevant items or numbers of
    candidates, and systems without ranks.
    """
    if not systems:
        raise InputError("there must be at least one system.")
    (first_name, first), *others = systems.items()
    for name, ranks in others:
        users = ranks.user[ranks.by_user]
        if not np.array_equal(first.user[first.by_user], users):
            raise InputError(
                f"systems {first_name!r} and {name!r} have different users, or numbers of relevant "
                "items of a user."
            )
    for name, ranks in others:
        first_candidates = first.n_candidates[first.by_user]
        if not np.array_equal(first_candidates, ranks.n_candidates[ranks.by_user]):
            raise InputError(
                f"systems {first_name!r} and {name!r} have different numbers of candidates."
            )
    if not len(first):
        raise InputError("the systems have no ranks.")
    return first


def mean_of_users(values: Longs, ranks: FullRanks) -> float:
    """Average values, (n_rows,), over the users, whose rows all have the same value."""
    return float(np.average(values, weights=1 / ranks.n_relevant))


def population_of(ranks: FullRanks) -> str:
    """Describe the users, their relevant items, and the mean number of candidates of a user."""
    n_users = len(np.unique(ranks.user))
    n_candidates = mean_of_users(ranks.n_candidates, ranks)
    return (
        f"{len(ranks):,} relevant items of {n_users:,} users, among a mean of "
        f"{n_candidates:,.6g} candidates"
    )


def replacement(replace: bool) -> str:
    """Write "with replacement", or "without replacement"."""
    return f"{'with' if replace else 'without'} replacement"


class RankSettings(AnalysisSettings):
    """Settings of an analysis of ranks among all candidates."""

    def check(self, study: StudyFacts) -> None:
        """Refuse runs, which have no ranks among all candidates, and samples that users lack.

        Both with SettingError.
        """
        if not study.has_training:
            rule = (
                "[analyses.sampled] needs systems that are trained from [ratings], as runs do "
                "not hold ranks among all candidates; give `harness sampled` a table of ranks."
            )
            raise SettingError("studies", rule)
        try:
            # The ranks of a perfect system: the samples depend on numbers of candidates alone.
            self.samples(study.best_ranks())
        except InputError as error:
            raise SettingError("negatives", str(error)) from None

    def samples(self, ranks: FullRanks) -> object:
        """List what is sampled: nothing. Subclasses refuse, with InputError, too many negatives."""
        return None
