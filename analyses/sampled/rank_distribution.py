"""Distributions of sampled ranks given full ranks, and of full ranks learned from samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import gammaln, log_softmax, logsumexp, xlog1py, xlogy

from analyses.intervals.resampling import draw_weights
from analyses.sampled.metrics import RankMetric
from analyses.sampled.samples import SampledRanks, require_negatives
from qrels import FullRanks
from runs import InputError
from runs.shared.arrays import Floats, Integers, Longs, Numbers

FLOOR = 1e-300
"""Least probability that is divided by."""

AT_ONCE = 1 << 20
"""Probabilities held at a time: 8 MB, and a few times as much while they are computed."""

HEAD = 32
"""Ranks from the top that a grid holds one by one, unless a cut-off is below."""

PANEL = 2.0
"""Width of a panel of the grid in standard deviations of the angle of a sampled share,
1 / (2 sqrt m). Estimates for 20,000 candidates or fewer have relative errors below 1e-4."""

POINTS = 12
"""Gauss-Legendre points of a panel."""

CONVERGED = 1e-10
"""Largest gradient of the dual of the entropy problem."""


def sampled_rank_pmf(ranks: ArrayLike, *, n: ArrayLike, m: int, replace: bool = True) -> Floats:
    r"""Give the distribution of the rank among m sampled negatives: (n_ranks, m + 1).

    .. math:: t - 1 \sim \mathrm{Bin}\left(m, \frac{r-1}{n-1}\right) \quad \text{or} \quad
              t - 1 \sim \mathrm{Hyp}(n - 1, r - 1, m)

    with and without replacement (Krichene & Rendle, 2020, 4.3 and 4.4), for ranks r from 1 to n,
    which may lie between whole numbers, and one number of candidates n, or one for each rank.
    Absolute errors are about 1e-11.
    """
    above = np.atleast_1d(np.asarray(ranks, dtype=np.float64))[:, np.newaxis] - 1
    others = np.broadcast_to(np.asarray(n, dtype=np.float64), above.shape[:1])[:, np.newaxis] - 1
    x = np.arange(m + 1.0)
    if replace:
        chance = above / others
        logarithm = _log_choices(m, x) + xlogy(x, chance) + xlog1py(m - x, -chance)
        return np.asarray(np.exp(logarithm))
    below = others - above
    possible = (x <= above) & (m - x <= below)
    # Outside the support the gamma function may be huge, so put a harmless place there.
    inside, outside = np.where(possible, x, 0.0), np.where(possible, m - x, 0.0)
    logarithm = _log_choices(above, inside) + _log_choices(below, outside)
    logarithm = logarithm - _log_choices(others, m)
    return np.exp(logarithm, out=np.zeros(possible.shape), where=possible)


def _log_choices(n: Floats | int, k: Floats | int) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def expected_counts(ranks: FullRanks, kinds: Integers, *, m: int, replace: bool) -> Floats:
    """Expect how many items of each kind have 0, 1, .. m negatives above: (n_kinds, m + 1)."""
    require_negatives(m, ranks.n_irrelevant)
    columns = np.column_stack([kinds, ranks.above, ranks.n_irrelevant])
    distinct, counts = np.unique(columns, axis=0, return_counts=True)
    filled, step = np.zeros((int(kinds.max()) + 1, m + 1)), max(1, AT_ONCE // (m + 1))
    for start in range(0, len(distinct), step):
        kind, above, others = distinct[start : start + step].T
        pmf = sampled_rank_pmf(above + 1, n=others + 1, m=m, replace=replace)
        pmf *= (counts[start : start + step] / pmf.sum(axis=1))[:, np.newaxis]
        np.add.at(filled, kind, pmf)
    return filled


@dataclass(frozen=True)
class _Nodes:
    """Where sums over ranks are taken: numbers of irrelevant candidates above, and weights.

    They are all numbers, or those of a quadrature grid, of which the first stand for themselves.
    """

    above: Floats
    weights: Floats

    @classmethod
    def of(cls, size: int, n_negatives: int, *, replace: bool, head: int) -> _Nodes:
        """Give the nodes for so many irrelevant candidates."""
        full = cls(np.arange(size + 1.0), np.ones(size + 1))
        if size + 1 <= head:
            return full
        width = PANEL * 0.5 / np.sqrt(n_negatives)
        if not replace:
            width *= np.sqrt(max(1.0 - n_negatives / size, 1.0 / size))
        low, high = np.arcsin(np.sqrt(np.array([head - 0.5, size - 0.5]) / size))
        edges = np.linspace(low, high, int(np.ceil((high - low) / width)) + 1)
        places, shares = np.polynomial.legendre.leggauss(POINTS)
        halves = np.diff(edges)[:, np.newaxis] / 2
        angles = (edges[:-1, np.newaxis] + halves * (1 + places)).ravel()
        per_angle = 2 * size * np.sin(angles) * np.cos(angles)
        above = [np.arange(float(head)), size * np.sin(angles) ** 2, np.array([float(size)])]
        weights = [np.ones(head), (halves * shares).ravel() * per_angle, np.ones(1)]
        # The sum from the head on less the integral from half a rank above, by the slope there.
        weights[0][-3:] += np.array([1, -3, 2]) / 24
        nodes = cls(np.concatenate(above), np.concatenate(weights))
        return nodes if len(nodes.above) < size + 1 else full


@dataclass(frozen=True)
class Kernel:
    """What samples of m negatives make of a rank; nodes are for at most ``most`` negatives."""

    n_irrelevant: int
    most: int
    n_negatives: int
    replace: bool
    head: int = HEAD

    @cached_property
    def nodes(self) -> _Nodes:
        """Where sums over ranks are taken."""
        return _Nodes.of(self.n_irrelevant, self.most, replace=self.replace, head=self.head)

    @cached_property
    def matrix(self) -> Floats:
        """Chances of each number above, P, of shape (n_nodes, m + 1)."""
        ranks, n = self.nodes.above + 1, self.n_irrelevant + 1
        matrix = sampled_rank_pmf(ranks, n=n, m=self.n_negatives, replace=self.replace)
        return np.asarray(matrix * (1 / matrix.sum(axis=1))[:, np.newaxis])

    def gram(self, prior: Floats) -> Floats:
        """Give P'DP, with D the diagonal matrix of a prior: (m + 1, m + 1)."""
        return _symmetric_product(self.matrix, prior)

    @cached_property
    def unweighted_gram(self) -> Floats:
        """P'P over all ranks."""
        return self.gram(self.nodes.weights)


@dataclass(frozen=True, eq=False)
class Cells:
    """Samples as counts: how many relevant items are in each cell, for samples of the same users.

    Parameters
    ----------
    kernels
        One for each size of samples, among the mean number of irrelevant candidates.
    cells
        Kernel, place j and number q of relevant items, and sampled items above, x: int64 of shape
        (n_cells, 4).
    counts
        Relevant items in each cell, one sample a column: (n_cells, n_samples).
    n_users
        Users of each sample.
    incidence
        Relevant items of each user in each cell, for the first sample: (n_cells, n_users).
    """

    kernels: tuple[Kernel, ...]
    cells: Longs
    counts: Floats
    n_users: int
    incidence: csr_array

    @classmethod
    def of(cls, samples: Sequence[SampledRanks]) -> Cells:
        """Count repeated samples."""
        from pandas import factorize

        first = samples[0]
        for name in ("order", "n_relevant", "n_candidates", "replace"):
            if not all(np.array_equal(getattr(first, name), getattr(s, name)) for s in samples):
                raise InputError("repeated samples must be of the same users, and drawn alike.")
        most = max(int(s.n_negatives.max()) for s in samples)
        shape = (most + 1, *[int(first.n_relevant.max()) + 1] * 2, most + 1)
        labels = ((s.n_negatives, first.order, first.n_relevant, s.above) for s in samples)
        codes = np.array([np.ravel_multi_index(each, shape) for each in labels])
        flat, cells = factorize(codes.ravel(), sort=True)
        numbers, (negatives, *others) = flat.reshape(codes.shape), np.unravel_index(cells, shape)
        sizes, kernel = np.unique(negatives, return_inverse=True)
        counts = np.array([np.bincount(each, minlength=len(cells)) for each in numbers]).T
        users, user = np.unique(first.user, return_inverse=True)
        where = (np.ones(len(first)), (numbers[0], user))
        # The mean may be below what was sampled of some.
        size = max(int(np.rint(first.n_irrelevant.mean())), most)
        return cls(
            kernels=tuple(Kernel(size, most, m, first.replace) for m in sizes.tolist()),
            cells=np.column_stack([kernel, *others]),
            counts=counts.astype(np.float64),
            n_users=len(users),
            incidence=csr_array(where, shape=(len(cells), len(users))),
        )

    def suited(self, metrics: Sequence[RankMetric]) -> Cells:
        """Hold the ranks above all cut-offs one by one."""
        head = max([self.kernels[0].head, *(metric.cutoff or 0 for metric in metrics)])
        kernels = tuple(replace(kernel, head=head) for kernel in self.kernels)
        return self if kernels == self.kernels else replace(self, kernels=kernels)

    @cached_property
    def _learned(self) -> dict[tuple[int, bool] | float, Floats]:
        """Distributions that were learned before; others learn their own."""
        return {}

    @property
    def has_single_items(self) -> bool:
        """Whether users have one relevant item each."""
        return bool((self.cells[:, 2] == 1).all())

    def at_place(self, order: int) -> Cells:
        """Give the relevant items of this place alone, 1 for the first of each user."""
        own = self.cells[:, 1] == order
        kept = {name: getattr(self, name)[own] for name in ("cells", "counts", "incidence")}
        return self if own.all() else replace(self, **kept)

    @cached_property
    def first(self) -> Cells:
        """The first relevant items of all users, with what is learned of them."""
        return self.at_place(1)

    @cached_property
    def shares(self) -> list[tuple[Floats, Floats]]:
        """By kernel: its columns that have cells, and shares of the items in them, by sample."""
        counted, found = self.counts / self.counts.sum(axis=0), []
        for number, kernel in enumerate(self.kernels):
            of_kernel = self.cells[:, 0] == number
            above, place = np.unique(self.cells[of_kernel, 3], return_inverse=True)
            shares = np.zeros((len(above), counted.shape[1]))
            np.add.at(shares, place, counted[of_kernel])
            found.append((kernel.matrix[:, above], shares))
        return found

    def most_likely(self, iterations: int, *, steep: bool = False) -> Floats:
        r"""Learn the rank distribution of each sample by EM: (n_nodes, n_samples).

        .. math:: p(r) \leftarrow p(r) \sum_c w_c \frac{L[c, r]}{\sum_s L[c, s]\, p(s)}

        with w the shares of the items in the cells (Li et al., 2023, eq. 12, 21 and 22). Stopping
        early smooths the estimate. A steep start has rank r as likely as 1 / r, not uniform: it
        fits as well, but has many items at the very first ranks.
        """
        if (iterations, steep) not in self._learned:
            nodes = self.kernels[0].nodes
            weights = nodes.weights / (nodes.above + 1 if steep else 1)
            mass = np.repeat((weights / weights.sum())[:, np.newaxis], self.counts.shape[1], axis=1)
            for _ in range(iterations):
                terms = (p @ (w / np.maximum(p.T @ mass, FLOOR)) for p, w in self.shares)
                mass = np.asarray(mass * sum(terms))
            self._learned[iterations, steep] = mass
        return self._learned[iterations, steep]

    def most_entropic(self, eta: float) -> Floats:
        """Learn the distribution of most entropy of each sample: (n_nodes, n_samples)."""
        if eta not in self._learned:
            ((matrix, shares),) = self.shares
            every = [_most_entropy(self.kernels[0], matrix, share, eta) for share in shares.T]
            self._learned[eta] = np.stack(every, axis=1)
        return self._learned[eta]

    def resampled(self, replicates: int, *, seed: int) -> Cells:
        """Resample the users of the first sample: a column for each replicate."""
        draws = draw_weights(self.n_users, replicates=replicates, seed=seed)
        counts = np.concatenate([self.incidence @ times.T for _, times in draws], axis=1)
        return replace(self, counts=counts)

    @classmethod
    def expected(cls, ranks: FullRanks, m: int, replace: bool = True) -> Cells:
        """Fill the cells as samples of m negatives of these full ranks are expected to."""
        kinds, kind_of = _distinct(np.zeros_like(ranks.order), ranks.order, ranks.n_relevant)
        counts = expected_counts(ranks, kind_of, m=m, replace=replace)
        size = max(int(np.rint(ranks.n_irrelevant.mean())), m)
        kernel = Kernel(size, m, m, replace)
        return cls._filled((kernel,), kinds, [*counts], len(np.unique(ranks.user)))

    def refilled(self, metrics: Sequence[RankMetric], *, steep: bool) -> tuple[Cells, Floats]:
        """Fill the cells as expected if ranks had the distributions that EM finds.

        They are learned for each place alone, as first items rank higher than all together. For
        each number of relevant items they are those given the sampled ranks, as after one more
        iteration of EM. The exact metrics of these ranks are given, too: (n_metrics,).
        """
        kinds, kind_of = _distinct(*self.cells[:, :3].T)
        filled, exact, places = [], np.zeros(len(metrics)), np.unique(kinds[:, 1]).tolist()
        learned = {j: self.at_place(j).most_likely(100, steep=steep)[:, 0] for j in places}
        for number, (of_kernel, order, n_relevant) in enumerate(kinds.tolist()):
            kernel, own = self.kernels[of_kernel], kind_of == number
            seen = np.bincount(self.cells[own, 3], self.counts[own, 0], kernel.n_negatives + 1)
            weights = seen / np.maximum(kernel.matrix.T @ learned[order], FLOOR)
            mass = learned[order] * (kernel.matrix @ weights)
            filled.append(kernel.matrix.T @ mass)
            ranks, n = kernel.nodes.above + order, kernel.n_irrelevant + n_relevant
            asked = {"n": n, "order": order, "n_relevant": n_relevant}
            exact += [mass @ metric.summands(ranks, **asked) for metric in metrics]
        return self._filled(self.kernels, kinds, filled, self.n_users), exact / self.n_users

    @classmethod
    def _filled(
        cls, kernels: tuple[Kernel, ...], kinds: Longs, filled: list[Floats], n_users: int
    ) -> Cells:
        """Put counts, (n_negatives + 1,), of each kernel, place and number of items in."""
        lengths = [*map(len, filled)]
        above = np.concatenate([*map(np.arange, lengths)])
        cells = np.column_stack([np.repeat(kinds, lengths, axis=0), above])
        counts = np.concatenate(filled)[:, np.newaxis]
        return cls(kernels, cells, counts, n_users, csr_array((len(counts), 0)))


def _distinct(*columns: Longs) -> tuple[Longs, Numbers]:
    rows, place = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return rows, place.ravel()


def _symmetric_product(matrix: Floats, weights: Floats) -> Floats:
    """Give the matrix, transposed, times the weighted matrix, with half of the multiplications."""
    scaled = matrix * np.sqrt(weights)[:, np.newaxis]
    return np.asarray(scaled.T @ scaled)


def _most_entropy(kernel: Kernel, matrix: Floats, shares: Floats, eta: float) -> Floats:
    r"""Give the rank distribution, (n_nodes,), that trades fit for entropy (Li et al., section 5).

    .. math:: \min_p\; (m + 1) \sum_t h(t) ((P'p)(t) - h(t))^2 - \eta H(p)

    with P the matrix, whose nodes stand for so many ranks (weights), and h the shares of the cells.
    It is solved by its concave dual, with one variable for each cell of h > 0:

    .. math:: \max_\lambda\; \lambda'h - \log\sum_r e^{(P\lambda)(r)}
        - \sum_t \frac{\eta \lambda_t^2}{4 (m + 1) h(t)}
    """
    used = shares > 0
    columns, targets = np.ascontiguousarray(matrix[:, used]), shares[used]
    ridge = eta / (2 * (kernel.n_negatives + 1) * targets)
    logarithms = np.log(kernel.nodes.weights)

    def mass(at: Floats) -> Floats:
        return np.asarray(np.exp(log_softmax(columns @ at + logarithms)))

    def dual(at: Floats) -> tuple[float, Floats]:
        partition = logsumexp(columns @ at + logarithms)
        gradient = mass(at) @ columns + ridge * at - targets
        return float(partition + ridge @ at**2 / 2 - targets @ at), gradient

    def curvature(at: Floats) -> Floats:
        weights = mass(at)
        means = weights @ columns
        curved = _symmetric_product(columns, weights) - np.outer(means, means)
        curved[np.diag_indices_from(curved)] += ridge
        return np.asarray(curved)

    how: dict[str, Any] = {"method": "trust-exact", "options": {"gtol": CONVERGED}}
    return mass(minimize(dual, np.zeros(len(targets)), jac=True, hess=curvature, **how).x)
