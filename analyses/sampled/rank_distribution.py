"""Distributions of sampled ranks given full ranks, and of full ranks learned from samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike
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

CORRECTION = np.array([1, -3, 2]) / 24
"""Added to the weights of the last ranks of the head (Euler and Maclaurin)."""

CONVERGED = 1e-10
"""Largest gradient of the dual of the entropy problem."""


def sampled_rank_pmf(ranks: ArrayLike, *, n: ArrayLike, m: int, replace: bool = True) -> Floats:
    r"""Compute the distribution of the rank among m sampled negatives: (n_ranks, m + 1).

    .. math:: t - 1 \sim \mathrm{Bin}\left(m, \frac{r-1}{n-1}\right) \quad \text{or} \quad
              t - 1 \sim \mathrm{Hyp}(n - 1, r - 1, m)

    with and without replacement (Krichene & Rendle, 2020, 4.3 and 4.4), for ranks r from 1 to n,
    (n_ranks,) or a single one, which may lie between whole numbers, and one number of candidates n,
    or one for each rank. Column t - 1 has the probability of rank t in the sample. Absolute errors
    are about 1e-11; without replacement, rows of ranks between whole numbers need not sum to 1.
    """
    rank_array = np.atleast_1d(np.asarray(ranks, dtype=np.float64))
    above = rank_array[:, np.newaxis] - 1
    n_candidates = np.broadcast_to(np.asarray(n, dtype=np.float64), len(above))
    n_irrelevant = n_candidates[:, np.newaxis] - 1
    x = np.arange(m + 1.0)
    if replace:
        chance = above / n_irrelevant
        log_choices = _log_choices(m, x)
        logarithm = log_choices + xlogy(x, chance) + xlog1py(m - x, -chance)
        return np.asarray(np.exp(logarithm))
    below = n_irrelevant - above
    is_possible = (x <= above) & (m - x <= below)
    # Outside the support the gamma function may be huge, so put a harmless place there.
    n_above = np.where(is_possible, x, 0.0)
    n_below = np.where(is_possible, m - x, 0.0)
    logarithm = _log_choices(above, n_above) + _log_choices(below, n_below)
    logarithm = logarithm - _log_choices(n_irrelevant, m)
    return np.exp(logarithm, out=np.zeros(is_possible.shape), where=is_possible)


def _log_choices(n: Floats | int, k: Floats | int) -> Floats:
    """Compute the logarithm of the binomial coefficient n over k; n and k fit each other."""
    log_factorial = gammaln(n + 1.0)
    return np.asarray(log_factorial - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def expected_counts(ranks: FullRanks, groups: Integers, *, m: int, replace: bool) -> Floats:
    """Expect how many items of each group have 0, 1, .. m negatives above: (n_groups, m + 1).

    In samples of m negatives of each user; rows add up to the number of items of the group.
    ``groups``: the number of the group of each relevant item, from 0, of the shape of the ranks.
    Refuse, with InputError, more negatives than some user has irrelevant candidates.
    """
    require_negatives(m, ranks.n_irrelevant)
    # Items that agree in all three have the same distribution, which is computed once.
    columns = np.column_stack([groups, ranks.above, ranks.n_irrelevant])
    distinct, counts = np.unique(columns, axis=0, return_counts=True)
    n_groups = int(groups.max()) + 1
    expected = np.zeros((n_groups, m + 1))
    step = max(1, AT_ONCE // (m + 1))
    for start in range(0, len(distinct), step):
        block = slice(start, start + step)
        group, above, n_irrelevant = distinct[block].T
        pmf = sampled_rank_pmf(above + 1, n=n_irrelevant + 1, m=m, replace=replace)
        factors = counts[block] / pmf.sum(axis=1)
        pmf *= factors[:, np.newaxis]
        np.add.at(expected, group, pmf)
    return expected


@dataclass(frozen=True)
class _Nodes:
    """Where sums over ranks are taken: numbers of irrelevant candidates above, and weights.

    They are all numbers, or those of a quadrature grid, of which the first stand for themselves.
    Both arrays are of shape (n_nodes,).
    """

    above: Floats
    weights: Floats

    @classmethod
    def for_size(cls, size: int, n_negatives: int, *, replace: bool, head: int) -> _Nodes:
        """Choose the nodes for ``size`` irrelevant candidates: numbers above from 0 to the size.

        The first ``head`` numbers and the last are nodes of their own; between them are quadrature
        points, closer for larger samples (``n_negatives``), whose chances change faster. All
        numbers are nodes if that is no more than the grid has.
        """
        all_numbers = cls(np.arange(size + 1.0), np.ones(size + 1))
        if size + 1 <= head:
            return all_numbers
        width = PANEL * 0.5 / np.sqrt(n_negatives)
        if not replace:
            # Without replacement sampled shares vary less.
            unsampled_share = max(1.0 - n_negatives / size, 1.0 / size)
            width *= np.sqrt(unsampled_share)
        grid_above, grid_weights = _quadrature(size, head=head, width=width)
        head_weights = np.ones(head)
        # The sum from the head on less the integral from half a rank above, by the slope there.
        head_weights[-len(CORRECTION) :] += CORRECTION
        head_above = np.arange(float(head))
        above = np.concatenate([head_above, grid_above, [float(size)]])
        weights = np.concatenate([head_weights, grid_weights, [1.0]])
        return cls(above, weights) if len(above) < size + 1 else all_numbers


def _quadrature(size: int, *, head: int, width: float) -> tuple[Floats, Floats]:
    """Place Gauss-Legendre points between the head and the last number above, with weights.

    They integrate over numbers of items above from head - 1/2 to size - 1/2. ``width``: that of a
    panel, in angles whose squared sine is the share of the size above. The results are the numbers
    above, between whole ones, and their weights, both of shape (n_points,).
    """
    ends = np.array([head - 0.5, size - 0.5])
    low, high = np.arcsin(np.sqrt(ends / size))
    n_panels = int(np.ceil((high - low) / width))
    edges = np.linspace(low, high, n_panels + 1)
    half_widths = np.diff(edges)[:, np.newaxis] / 2
    points, point_weights = np.polynomial.legendre.leggauss(POINTS)
    starts = edges[:-1, np.newaxis]
    angles = (starts + half_widths * (1 + points)).ravel()
    per_angle = 2 * size * np.sin(angles) * np.cos(angles)
    weights = (half_widths * point_weights).ravel() * per_angle
    return size * np.sin(angles) ** 2, weights


@dataclass(frozen=True)
class Kernel:
    """Chances of sampled ranks given full ranks, for samples of m negatives.

    Nodes are those for samples of at most ``most`` negatives.
    """

    n_irrelevant: int
    most: int
    n_negatives: int
    replace: bool
    head: int = HEAD

    @cached_property
    def nodes(self) -> _Nodes:
        """Where sums over ranks are taken."""
        return _Nodes.for_size(self.n_irrelevant, self.most, replace=self.replace, head=self.head)

    @cached_property
    def matrix(self) -> Floats:
        """Chances of each number of sampled negatives above, P, of shape (n_nodes, m + 1).

        A row for each node, a number of irrelevant candidates above; rows add up to 1.
        """
        ranks = self.nodes.above + 1
        n_candidates = self.n_irrelevant + 1
        matrix = sampled_rank_pmf(ranks, n=n_candidates, m=self.n_negatives, replace=self.replace)
        factors = 1 / matrix.sum(axis=1)
        return np.asarray(matrix * factors[:, np.newaxis])

    def gram(self, prior: Floats) -> Floats:
        """Compute P'DP, with D the diagonal matrix of a prior (n_nodes,): (m + 1, m + 1)."""
        return _symmetric_product(self.matrix, prior)

    @cached_property
    def unweighted_gram(self) -> Floats:
        """P'P over all ranks: (m + 1, m + 1)."""
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
        """Count relevant items in cells of alike items, for repeated samples: a column for each.

        Items are alike that agree in the number of negatives, their place among the relevant items
        of their user, the number of these, and the number of sampled negatives above. Cells are the
        combinations that occur in any sample. Refuse, with InputError, samples of other users or
        relevant items than the first, or of other numbers of candidates or replacement.
        """
        from pandas import factorize

        first = samples[0]
        for sample in samples:
            _require_same_design(first, sample)
        most = max(int(sample.n_negatives.max()) for sample in samples)
        n_places = int(first.n_relevant.max()) + 1
        # Each combination has a code, a whole number: codes are of shape (n_samples, n_items).
        shape = (most + 1, n_places, n_places, most + 1)
        codes_by_sample = []
        for sample in samples:
            combinations = (sample.n_negatives, first.order, first.n_relevant, sample.above)
            codes_by_sample.append(np.ravel_multi_index(combinations, shape))
        codes = np.array(codes_by_sample)
        flat_cells, cell_codes = factorize(codes.ravel(), sort=True)
        n_cells = len(cell_codes)
        cell_of_item = flat_cells.reshape(codes.shape)
        n_negatives, order, n_relevant, above = np.unravel_index(cell_codes, shape)
        sizes, kernel = np.unique(n_negatives, return_inverse=True)
        counts = [np.bincount(cells, minlength=n_cells) for cells in cell_of_item]
        users, user = np.unique(first.user, return_inverse=True)
        ones = np.ones(len(first))
        positions = (cell_of_item[0], user)
        incidence = csr_array((ones, positions), shape=(n_cells, len(users)))
        # The mean may be below what was sampled of some.
        n_irrelevant = max(int(np.rint(first.n_irrelevant.mean())), most)
        kernels = [Kernel(n_irrelevant, most, size, first.replace) for size in sizes.tolist()]
        return cls(
            kernels=tuple(kernels),
            cells=np.column_stack([kernel, order, n_relevant, above]),
            counts=np.array(counts, dtype=np.float64).T,
            n_users=len(users),
            incidence=incidence,
        )

    def suited(self, metrics: Sequence[RankMetric]) -> Cells:
        """Return these cells with all ranks up to the cut-offs of metrics as nodes of their own.

        The same object if they are already; else the kernels differ, and nothing learned is held.
        """
        # The last ranks of the head stand for others, too.
        heads = [(metric.cutoff or 0) + len(CORRECTION) for metric in metrics]
        head = max([self.kernels[0].head, *heads])
        kernels = tuple(replace(kernel, head=head) for kernel in self.kernels)
        return self if kernels == self.kernels else replace(self, kernels=kernels)

    def assuming(self, *, with_replacement: bool) -> Cells:
        """Return these cells as if negatives were drawn with replacement, or without.

        Estimators then take sampled ranks as binomial (with replacement) or hypergeometric. The
        same object if they do already; else the kernels differ, and nothing learned is held.
        """
        if all(kernel.replace == with_replacement for kernel in self.kernels):
            return self
        kernels = tuple(replace(kernel, replace=with_replacement) for kernel in self.kernels)
        return replace(self, kernels=kernels)

    @cached_property
    def _learned(self) -> dict[tuple[int, bool] | float, Floats]:
        """Distributions that were learned, by iterations and start of EM, or by eta of MES."""
        return {}

    @property
    def has_single_items(self) -> bool:
        """Whether users have one relevant item each."""
        return bool((self.cells[:, 2] == 1).all())

    def at_place(self, order: int) -> Cells:
        """Select the cells of relevant items of this place, 1 for the first of each user.

        The same object if there are no others.
        """
        is_at_place = self.cells[:, 1] == order
        if is_at_place.all():
            return self
        return replace(
            self,
            cells=self.cells[is_at_place],
            counts=self.counts[is_at_place],
            incidence=self.incidence[is_at_place],
        )

    @cached_property
    def first(self) -> Cells:
        """The first relevant items of all users, with what is learned of them."""
        return self.at_place(1)

    @cached_property
    def shares(self) -> list[tuple[Floats, Floats]]:
        """By kernel, a size of samples: columns of its matrix, and shares of the items, by sample.

        Only columns, numbers of sampled negatives above, that have items in some sample. Columns
        are of shape (n_nodes, n_columns), shares of (n_columns, n_samples); shares of a sample add
        up to 1 over all kernels. ``self.counts`` is of shape (n_cells, n_samples); the columns of
        ``self.cells`` are kernel, place, number of relevant items, and negatives above.
        """
        cell_shares = self.counts / self.counts.sum(axis=0)
        by_kernel = []
        for number, kernel in enumerate(self.kernels):
            is_of_kernel = self.cells[:, 0] == number
            above, column = np.unique(self.cells[is_of_kernel, 3], return_inverse=True)
            shares = np.zeros((len(above), cell_shares.shape[1]))
            np.add.at(shares, column, cell_shares[is_of_kernel])
            by_kernel.append((kernel.matrix[:, above], shares))
        return by_kernel

    def most_likely(self, iterations: int, *, steep: bool = False) -> Floats:
        r"""Learn the rank distribution of each sample by EM: (n_nodes, n_samples).

        .. math:: p(r) \leftarrow p(r) \sum_c w_c \frac{L[c, r]}{\sum_s L[c, s]\, p(s)}

        with w the shares of the items in the cells c, and L[c, r] the chance of the cell given the
        rank r (Li et al., 2023, eq. 12, 21 and 22). Masses of a sample add up to 1. Stopping early
        smooths the estimate. A steep start has rank r as likely as 1 / r, not uniform: it fits as
        well, but has many items at the very first ranks. Results are kept for another call. All
        kernels have the same nodes; ``self.shares`` has, for each kernel, columns of its matrix and
        shares of the items.
        """
        key = (iterations, steep)
        if key not in self._learned:
            nodes = self.kernels[0].nodes
            weights = nodes.weights / (nodes.above + 1 if steep else 1)
            start = (weights / weights.sum())[:, np.newaxis]
            mass = np.repeat(start, self.counts.shape[1], axis=1)
            for _ in range(iterations):
                factors = np.zeros_like(mass)
                for columns, shares in self.shares:
                    chances = np.maximum(columns.T @ mass, FLOOR)
                    factors += columns @ (shares / chances)
                mass = mass * factors
            self._learned[key] = mass
        return self._learned[key]

    def most_entropic(self, eta: float) -> Floats:
        """Learn rank distributions of high entropy that fit the samples: (n_nodes, n_samples).

        One for each sample; ``eta`` is the weight of the entropy against the fit (see
        `_most_entropy`). The samples have one size (ValueError otherwise). Results are kept for
        another call.
        """
        if eta not in self._learned:
            ((columns, shares),) = self.shares
            kernel = self.kernels[0]
            masses = [
                _most_entropy(kernel, columns, sample_shares, eta) for sample_shares in shares.T
            ]
            self._learned[eta] = np.stack(masses, axis=1)
        return self._learned[eta]

    def resampled(self, replicates: int, *, seed: int) -> Cells:
        """Resample the users of the first sample with replacement.

        In the result, counts of relevant items have a column for each replicate: (n_cells,
        replicates).
        """
        draws = draw_weights(self.n_users, replicates=replicates, seed=seed)
        counts = [self.incidence @ weights.T for _, weights in draws]
        return replace(self, counts=np.concatenate(counts, axis=1))

    @classmethod
    def expected(cls, ranks: FullRanks, m: int, replace: bool = True) -> Cells:
        """Fill the cells with expected counts of samples of m negatives of these full ranks.

        One sample, whose counts may lie between whole numbers. InputError if some user has fewer
        irrelevant candidates than m.
        """
        zeros = np.zeros_like(ranks.order)
        groups, group_of_item = _distinct_rows(zeros, ranks.order, ranks.n_relevant)
        counts = expected_counts(ranks, group_of_item, m=m, replace=replace)
        n_irrelevant = max(int(np.rint(ranks.n_irrelevant.mean())), m)
        kernel = Kernel(n_irrelevant, m, m, replace)
        n_users = len(np.unique(ranks.user))
        return cls._from_counts((kernel,), groups, [*counts], n_users)

    def refilled(self, metrics: Sequence[RankMetric], *, steep: bool) -> tuple[Cells, Floats]:
        """Compute expected counts of samples, and exact metrics, for ranks as EM finds them.

        EM learns the rank distributions from the first sample, with 100 iterations, from a uniform
        or a steep start (see `most_likely`), for each place alone, as first items rank higher than
        all together. For each number of relevant items they are those given the sampled ranks, as
        after one more iteration of EM. The second result: the exact metrics of these ranks,
        (n_metrics,), a mean over users. The columns of ``self.cells`` are kernel, place, number of
        relevant items, and sampled negatives above; ``self.counts`` is of (n_cells, n_samples).
        """
        groups, group_of_cell = _distinct_rows(*self.cells[:, :3].T)
        places = np.unique(groups[:, 1]).tolist()
        learned = {j: self.at_place(j).most_likely(100, steep=steep)[:, 0] for j in places}
        counts = []
        exact = np.zeros(len(metrics))
        for group, (kernel_number, order, n_relevant) in enumerate(groups.tolist()):
            kernel = self.kernels[kernel_number]
            is_of_group = group_of_cell == group
            above = self.cells[is_of_group, 3]
            observed = np.bincount(above, self.counts[is_of_group, 0], kernel.n_negatives + 1)
            prior = learned[order]
            ratios = observed / np.maximum(kernel.matrix.T @ prior, FLOOR)
            # Expected items at each node, which add up to those of the group.
            mass = prior * (kernel.matrix @ ratios)
            counts.append(kernel.matrix.T @ mass)
            ranks = kernel.nodes.above + order
            n = kernel.n_irrelevant + n_relevant
            for number, metric in enumerate(metrics):
                terms = metric.summands(ranks, n=n, order=order, n_relevant=n_relevant)
                exact[number] += mass @ terms
        cells = self._from_counts(self.kernels, groups, counts, self.n_users)
        return cells, exact / self.n_users

    @classmethod
    def _from_counts(
        cls, kernels: tuple[Kernel, ...], groups: Longs, counts: list[Floats], n_users: int
    ) -> Cells:
        """Make cells from expected counts, without the users in them.

        Groups are rows of the index of a kernel, place and number of relevant items, (n_groups, 3);
        each has counts by number of sampled negatives above, (n_negatives + 1,). Counts of the
        result have one column, and its cells cannot be resampled.
        """
        lengths = [len(group_counts) for group_counts in counts]
        above = np.concatenate([np.arange(length) for length in lengths])
        cells = np.column_stack([np.repeat(groups, lengths, axis=0), above])
        count_column = np.concatenate(counts)[:, np.newaxis]
        no_users = csr_array((len(cells), 0))
        return cls(kernels, cells, count_column, n_users, no_users)


def _require_same_design(first: SampledRanks, sample: SampledRanks) -> None:
    """Refuse, with InputError, a sample that is no repetition of the first.

    Rows must agree in the place of the item, the number of relevant items and that of candidates,
    and both samples must be drawn with replacement, or both without.
    """
    is_same = first.replace == sample.replace
    for field in ("order", "n_relevant", "n_candidates"):
        is_same &= np.array_equal(getattr(first, field), getattr(sample, field))
    if not is_same:
        raise InputError("repeated samples must be of the same users, and drawn alike.")


def _distinct_rows(*columns: Longs) -> tuple[Longs, Numbers]:
    """Find the distinct rows of columns, each (n_rows,), sorted: (n_distinct, n_columns).

    The second result is the index of each row among the distinct ones, (n_rows,).
    """
    rows, number = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return rows, number.ravel()


def _symmetric_product(matrix: Floats, weights: Floats) -> Floats:
    """Multiply a transposed matrix with the weighted matrix, in half of the multiplications.

    The matrix is of shape (n_rows, n_columns), weights of (n_rows,), the product of (n_columns,
    n_columns).
    """
    scaled = matrix * np.sqrt(weights)[:, np.newaxis]
    return np.asarray(scaled.T @ scaled)


def _most_entropy(kernel: Kernel, matrix: Floats, shares: Floats, eta: float) -> Floats:
    r"""Find the rank distribution, (n_nodes,), that trades fit for entropy (Li et al., section 5).

    .. math:: \min_p\; (m + 1) \sum_t h(t) ((P'p)(t) - h(t))^2 - \eta H(p)

    with P the matrix, (n_nodes, n_columns), chances of numbers t of sampled negatives above by
    node, h the shares of the items with t above, (n_columns,), m the negatives and H the entropy. A
    node stands for as many ranks as its weight. The result adds up to 1. It is solved by its
    concave dual, with one variable for each t with h(t) > 0:

    .. math:: \max_\lambda\; \lambda'h - \log\sum_r e^{(P\lambda)(r)}
        - \sum_t \frac{\eta \lambda_t^2}{4 (m + 1) h(t)}
    """
    is_used = shares > 0
    columns = np.ascontiguousarray(matrix[:, is_used])
    targets = shares[is_used]
    ridge = eta / (2 * (kernel.n_negatives + 1) * targets)
    log_weights = np.log(kernel.nodes.weights)

    def distribution(multipliers: Floats) -> Floats:
        """Compute the distribution, (n_nodes,), of multipliers, (n_used,)."""
        logits = columns @ multipliers + log_weights
        return np.asarray(np.exp(log_softmax(logits)))

    def negative_dual(multipliers: Floats) -> tuple[float, Floats]:
        """Compute minus the dual, and its gradient, (n_used,)."""
        logits = columns @ multipliers + log_weights
        log_partition = logsumexp(logits)
        penalty = ridge @ multipliers**2 / 2
        value = float(log_partition + penalty - targets @ multipliers)
        gradient = distribution(multipliers) @ columns + ridge * multipliers - targets
        return value, gradient

    def hessian(multipliers: Floats) -> Floats:
        """Compute the second derivatives of minus the dual, (n_used, n_used)."""
        weights = distribution(multipliers)
        means = weights @ columns
        matrix = _symmetric_product(columns, weights) - np.outer(means, means)
        matrix[np.diag_indices_from(matrix)] += ridge
        return np.asarray(matrix)

    solution = scipy.optimize.minimize(
        negative_dual,
        np.zeros(len(targets)),
        jac=True,
        hess=hessian,
        method="trust-exact",
        options={"gtol": CONVERGED},
    )
    return distribution(solution.x)
