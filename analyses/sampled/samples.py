"""Ranks among sampled negatives, and how they are drawn.

Random numbers are keyed by (seed, stage, repeat, size or place), and each user has one of them: a
user's sample depends neither on the other users nor on workers. Systems that are sampled with one
seed and repeat share the uniform number of each user, of which the inverse distribution function
makes a binomial or hypergeometric number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from analyses.shared.analysis import AnalysisSettings, SettingError, StudyFacts
from qrels import FullRanks
from qrels.ranks.full_ranks import CandidateRanks
from runs import InputError
from runs.shared.arrays import Floats, Longs
from runs.shared.compiled import jit
from runs.shared.fields import integers_by_row
from runs.shared.streams import random_uniforms

NEGLIGIBLE = 45.0
"""Minus the logarithm of a chance that is left out: 3e-20, well below the step of a uniform."""


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
        """Take ranks of users with one relevant item each; single numbers hold for all users."""
        full = FullRanks.of(rank, n_candidates=n_candidates)
        m = integers_by_row(n_negatives, len(full), name="number of negatives")
        return cls(full.rank, full.n_candidates, full.user, n_negatives=m, replace=replace)

    def __post_init__(self) -> None:
        super().__post_init__()
        m = self.n_negatives
        right = (m >= 1) & (m <= self.n_irrelevant) & (self.above <= m)
        if not right.all():
            row = int(right.argmin())
            raise InputError(
                "`n_negatives` must be from 1 to the number of irrelevant candidates, and ranks "
                f"from 1 to the length of the list, got {m[row]} negatives and rank "
                f"{self.rank[row]} in row {row} of the sampled ranks."
            )


def weighted_auc(sample: SampledRanks) -> Floats:
    r"""Give the AUC of each user from negatives drawn with probabilities q: (n_users,).

    The rank is estimated without bias by :math:`\hat R = j + \frac1m \sum_{above} 1 / q_i` (Horvitz
    & Thompson, 1952), and so is AUC, which is linear in it; no other metric is.
    """
    if sample.inverse_mass_above is None:
        raise InputError("HT needs the probabilities of negatives (inverse_mass_above).")
    above = sample.inverse_mass_above / sample.n_negatives
    terms = (1 - above / sample.n_irrelevant) / sample.n_relevant
    _, user = np.unique(sample.user, return_inverse=True)
    return np.bincount(user, weights=terms).astype(np.float64)


def require_negatives(m: int, n_irrelevant: Longs, *, name: str = "m") -> None:
    """Refuse to sample no negatives, or more than a user has irrelevant candidates."""
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
        """Double from n0 to n_max items while a user's one relevant item is the first.

        The printed algorithm stops only at n_max itself, so n_max is n0 times a power of 2; it has
        n0 - 1 negatives, where the released script draws n0.
        """
        ratio = n_max // n0
        if n_max != ratio * n0 or ratio < 1 or ratio & (ratio - 1):
            raise InputError(f"`n_max` must be `n0`, {n0}, times a power of 2, got {n_max}.")
        return cls(tuple(n0 * 2**n - 1 for n in range(ratio.bit_length())), adaptive=True)

    def check(self, ranks: FullRanks) -> None:
        """Refuse more negatives than some user has, and adaptive samples for several items."""
        if self.adaptive and (ranks.n_relevant > 1).any():
            raise InputError("adaptive samples need users with one relevant item each.")
        name = "n_max - 1" if self.adaptive else "negatives"
        require_negatives(self.sizes[-1], ranks.n_irrelevant, name=name)

    def draw(self, ranks: FullRanks, *, seed: int, repeat: int = 0) -> SampledRanks:
        """Sample once."""
        self.check(ranks)
        drawn, negatives = np.zeros((2, len(ranks)), dtype=np.int64)
        by_user, order = ranks.by_user, ranks.order[ranks.by_user]
        for size, before in zip(self.sizes, (0, *self.sizes), strict=False):
            growing = drawn == 0
            for place in range(1, order.max(initial=0) + 1):
                here = np.flatnonzero((order == place) & growing[by_user])
                rows, last = by_user[here], by_user[here - 1]
                # The first place has nothing before it, whatever row that names.
                passed, found = (ranks.above[last], drawn[last]) if place > 1 else (0, 0)
                kind = ("adaptive ranks", size + 1) if self.adaptive else ("sampled ranks", place)
                uniforms = random_uniforms(ranks.user[rows], seed, kind[0], repeat, kind[1])
                above, others = ranks.above[rows] - passed, ranks.n_irrelevant[rows] - passed
                left = np.broadcast_to(size - before - found, rows.shape)
                drawn[rows] = found + negatives_above(uniforms, left, above, others, self.replace)
            negatives[growing] = size
        return _sampled_ranks(ranks, drawn, n_negatives=negatives, replace=self.replace)


def _sampled_ranks(ranks: FullRanks, above: Longs, **sampled: Any) -> SampledRanks:
    """Rank the same items among negatives, of which so many are above."""
    return SampledRanks(above + ranks.order, ranks.n_candidates, ranks.user, **sampled)


@jit()
def _log_choices(n: int, k: int) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@jit()
def negatives_above(
    uniforms: Floats, negatives: Longs, above: Longs, others: Longs, replace: bool
) -> Longs:
    r"""Turn uniform numbers into numbers of sampled negatives above, all of shape (n,).

    This is the smallest x with :math:`F(x) > u`, F the distribution function of
    :math:`\mathrm{Bin}(m, a / N)` or :math:`\mathrm{Hyp}(N, a, m)`, to about 1e-11: what
    ``ppf`` of scipy gives, in an eighth (binomial) and a thousandth (hypergeometric) of its time.
    """
    drawn = np.zeros(len(uniforms), dtype=np.int64)
    for row in range(len(uniforms)):
        uniform, m, a, n = uniforms[row], negatives[row], above[row], others[row]
        if m == 0 or a == 0:
            continue
        if a == n:
            drawn[row] = m
            continue
        chance, below = a / n, n - a
        # Start where nothing below has a chance that counts (Bernstein's inequality), so that the
        # first chance does not underflow; without replacement it holds, too (Hoeffding, 1963).
        spread_of = m if replace else min(m, n - m)
        third = NEGLIGIBLE / 3.0
        reach = third + math.sqrt(
            third * third + 2.0 * NEGLIGIBLE * spread_of * chance * (1.0 - chance)
        )
        x = max(0 if replace else max(0, m - below), int(m * chance - reach))
        if replace:
            logarithm = x * math.log(chance) + (m - x) * math.log1p(-chance)
            mass = math.exp(logarithm + (_log_choices(m, x) if x > 0 else 0.0))
            odds = chance / (1.0 - chance)
            while uniform >= mass and x < m:
                uniform -= mass
                mass *= odds * (m - x) / (x + 1.0)
                x += 1
        else:
            mass = math.exp(_log_choices(a, x) + _log_choices(below, m - x) - _log_choices(n, m))
            while uniform >= mass and x < min(m, a):
                uniform -= mass
                mass *= (a - x) * float(m - x) / ((x + 1.0) * (below - m + x + 1))
                x += 1
        drawn[row] = x
    return drawn


@jit()
def distinct_places(uniforms: Floats, size: int) -> Longs:
    """Draw distinct places below a size in each row from uniform numbers (Fisher & Yates, 1938)."""
    order, drawn = np.arange(size), np.empty(uniforms.shape, dtype=np.int64)
    for row in range(len(uniforms)):
        for n in range(uniforms.shape[1]):
            other = n + int(uniforms[row, n] * (size - n))
            order[n], order[other] = order[other], order[n]
            drawn[row, n] = order[n]
    return drawn


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

    def of(self, user: int, rows: Longs, n: int, *key: int) -> tuple[Longs, Floats | None]:
        """Give n items of a user in each repeat, and 1 / the chance of each if weighted.

        Both are of shape (n_repeats, n); the rows are those of the user's relevant items.
        """
        if self.fixed is not None:
            return np.broadcast_to(self.fixed[user, :n], (self.repeats, n)), None
        assert self.relevant.item is not None
        is_candidate = self.ranks.rank[user] > 0
        is_candidate[self.relevant.item[rows]] = False
        own = np.flatnonzero(is_candidate)
        places = np.arange(self.repeats * n)
        uniforms = random_uniforms(places, self.seed, "shared negatives", user, *key)
        uniforms = uniforms.reshape(self.repeats, n)
        if self.weigh is None:
            drawn = uniforms * len(own) if self.replace else distinct_places(uniforms, len(own))
            return own[drawn.astype(np.intp)], None
        chances = self.weigh(user, own)
        chances = chances / chances.sum()
        sums = np.cumsum(chances)
        drawn = np.searchsorted(sums / sums[-1], uniforms, side="right")
        return own[drawn], 1 / chances[drawn]

    def rank(
        self, ranks: CandidateRanks, relevant: FullRanks, sizes: Sequence[int]
    ) -> list[SampledRanks]:
        """Rank the relevant items of a system among the negatives, a sample for each repeat.

        Sizes after the first are for users whose item has no negative above it so far.
        """
        require_negatives(sizes[-1], relevant.n_irrelevant, name="negatives")
        above, negatives = np.zeros((2, len(relevant), self.repeats), dtype=np.int64)
        masses = np.zeros(above.shape)
        users, starts = np.unique(relevant.user[relevant.by_user], return_index=True)
        of_users = np.split(relevant.by_user, starts[1:])
        for user, rows in zip(users.tolist(), of_users, strict=True):
            for size, before in zip(sizes, (0, *sizes), strict=False):
                grows = above[rows] == 0
                if not grows.any():
                    break
                items, inverse = self.of(user, rows, size - before, *[size][: before > 0])
                passed = ranks.rank[user, items] < relevant.rank[rows, np.newaxis, np.newaxis]
                above[rows] += np.where(grows, passed.sum(axis=2), 0)
                negatives[rows] = np.where(grows, size, negatives[rows])
                if inverse is not None:
                    masses[rows] = (passed * inverse).sum(axis=2)
        return [
            _sampled_ranks(
                relevant,
                above[..., n],
                n_negatives=negatives[..., n],
                replace=self.replace,
                inverse_mass_above=masses[..., n] if self.weigh else None,
            )
            for n in range(self.repeats)
        ]


def top_items(ranks: CandidateRanks, relevant: FullRanks, *, m: int) -> Longs:
    """Give the first m irrelevant candidates of a system for every user: (n_users, m)."""
    require_negatives(m, relevant.n_irrelevant)
    last = np.iinfo(ranks.rank.dtype).max
    places = np.where(ranks.rank > 0, ranks.rank, last)
    places[relevant.user, relevant.item] = last
    return np.argsort(places, axis=1, kind="stable")[:, :m]


def first_of(systems: Mapping[str, FullRanks]) -> FullRanks:
    """Give the ranks of the first system, whose users and candidates are those of all others."""
    if not systems:
        raise InputError("there must be at least one system.")
    (known, first), *_ = systems.items()
    users = "users, or numbers of relevant items of a user"
    for what, of in ((users, "user"), ("numbers of candidates", "n_candidates")):
        for name, ranks in systems.items():
            own, other = (getattr(each, of)[each.by_user] for each in (first, ranks))
            if not np.array_equal(own, other):
                raise InputError(f"systems {known!r} and {name!r} have different {what}.")
    if not len(first):
        raise InputError("the systems have no ranks.")
    return first


def mean_of_users(values: Longs, ranks: FullRanks) -> float:
    """Average what the rows of each user have in common over the users."""
    return float(np.average(values, weights=1 / ranks.n_relevant))


def population_of(ranks: FullRanks) -> str:
    """Name the users, their relevant items, and the mean number of candidates of a user."""
    items = f"{len(ranks):,} relevant items of {len(np.unique(ranks.user)):,} users"
    return f"{items}, among a mean of {mean_of_users(ranks.n_candidates, ranks):,.6g} candidates"


def replacement(replace: bool) -> str:
    """Say whether negatives are drawn with replacement."""
    return f"{'with' if replace else 'without'} replacement"


class RankSettings(AnalysisSettings):
    """Settings of an analysis of ranks among all candidates."""

    def check(self, study: StudyFacts) -> None:
        """Refuse runs, which have no ranks among all candidates, and samples that users lack."""
        if not study.has_training:
            rule = "[analyses.sampled] needs systems that are trained from [ratings], as runs do "
            rule += "not hold ranks among all candidates; give `harness sampled` a table of ranks."
            raise SettingError("studies", rule)
        try:
            self.samples(study.best_ranks())
        except InputError as error:
            raise SettingError("negatives", str(error)) from None

    def samples(self, ranks: FullRanks) -> object:
        """Say what is sampled; refuse what these users lack."""
        return None
