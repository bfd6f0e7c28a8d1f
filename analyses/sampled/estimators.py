"""Estimators of exact metrics from sampled ranks.

An estimator is a name with options, read and printed as ``BV(gamma=0.1,prior=uniform)``. It learns
a distribution of ranks, or corrects the value of each sampled rank by a function of the kernel
matrix P, the metric and a prior distribution of ranks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property, lru_cache, partial
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, TypeAdapter, ValidationError
from scipy.linalg import cho_factor, cho_solve

from analyses.sampled.metrics import RankMetric, rank_metric
from analyses.sampled.rank_distribution import FLOOR, Cells, Kernel
from analyses.sampled.samples import SampledRanks
from runs import InputError
from runs.shared.arrays import Floats
from runs.shared.errors import suggestion
from runs.shared.parallel import single_threaded
from runs.shared.settings import without_repetition

Metrics = Sequence[RankMetric]
Orders = Sequence[int]

LEAST_GAMMA = 1e-6
"""Smaller weights of the variance leave so much of it that no sample is large enough."""

ZERO = 1e-14
"""Part of the largest diagonal element under which one is 0 but for rounding."""

USUAL_ETA = 0.01
"""Weight of the entropy, also of the priors that MES learns."""


@dataclass(frozen=True, eq=False)
class Equations:
    """The kernel matrix P, a prior p of the ranks at its nodes, metrics, and the number of users.

    ``metrics`` gives (n_above, n_columns) for numbers of irrelevant items above of some in all, and
    ``exact`` those at the nodes, b: (n_nodes, n_columns).
    """

    kernel: Kernel
    prior: Floats
    metrics: Callable[[ArrayLike, int], Floats]
    exact: Floats
    n_users: int

    @cached_property
    def weighted(self) -> Floats:
        """DP, with D the diagonal matrix of the prior."""
        return self.kernel.matrix * self.prior[:, np.newaxis]

    @property
    def chances(self) -> Floats:
        """Chance of each number above, c = P'p, at least `FLOOR`."""
        return np.maximum(self.weighted.sum(axis=0), FLOOR)

    def solve(self, matrix: Floats, scales: Floats) -> Floats:
        """Solve for P'Db with a matrix whose rows and columns are scaled."""
        products = scales[:, np.newaxis] * (self.weighted.T @ self.exact)
        return scales[:, np.newaxis] * cho_solve(cho_factor(matrix), products)


def uncorrected(at: Equations) -> Floats:
    """Give the metric of each sampled rank; Krichene & Rendle (2020), eq. 16."""
    n_negatives = at.kernel.n_negatives
    return at.metrics(np.arange(n_negatives + 1), n_negatives)


def rank_estimate(at: Equations, *, denominator: str) -> Floats:
    r"""Give the metric of :math:`\lfloor 1 + (n - 1)(t - 1) / d \rfloor`; the same, eq. 20.

    d = m makes an unbiased estimate of the rank; d = m + 1 fits the numbers that they printed.
    """
    m, others = at.kernel.n_negatives, at.kernel.n_irrelevant
    return at.metrics(others * np.arange(m + 1) // (m + (denominator == "m+1")), others)


def cls(at: Equations) -> Floats:
    r"""Give the values of least bias that never rise with the sampled rank, and are not negative.

    :math:`\min_v \sum_r p(r) ((Pv)(r) - M(r))^2` with :math:`v(1) \ge v(2) \ge \ldots \ge 0`, p
    uniform (Krichene & Rendle, 5.2; their Table 3 fits only if values are not negative). With
    :math:`v(t) = \sum_{j \ge t} d_j` these are non-negative least squares on the increments d.
    """
    from scipy.optimize import nnls

    roots = np.sqrt(at.prior)[:, np.newaxis]
    turned, design = np.linalg.qr(roots * at.kernel.matrix.cumsum(axis=1))
    targets = turned.T @ (roots * at.exact)
    scales = 1 / np.maximum(np.linalg.norm(design, axis=0), np.finfo(float).tiny)
    steps = np.array([scales * nnls(design * scales, b)[0] for b in targets.T])
    return np.asarray(steps[:, ::-1].cumsum(axis=1)[:, ::-1].T)


def bv(at: Equations, *, gamma: float) -> Floats:
    r"""Give the values of least squared bias plus variance, weighed by gamma.

    .. math:: v = ((1 - \gamma) P'DP + \gamma\, \mathrm{diag}(c))^{-1} P'Db

    (Krichene & Rendle, eq. 24 to 26; gamma = 1 is the posterior mean). Rows and columns are
    divided by sqrt(c): the condition number is 1 / gamma.
    """
    scales = 1 / np.sqrt(at.chances)
    matrix = (1 - gamma) * scales[:, np.newaxis] * at.kernel.gram(at.prior) * scales
    matrix[np.diag_indices_from(matrix)] += gamma
    return at.solve(matrix, scales)


def mn(at: Equations) -> Floats:
    r"""Give the values of least squared bias plus a bound on the variance, for U users.

    .. math:: v = (P'DP - P'P / U + L_1 / U)^{-1} P'Db

    with :math:`L_1` the column sums of P (Li et al., 2023, eq. 11). With a uniform prior it is
    BV(n / U). Rows and columns are divided by the roots of the diagonal.
    """
    matrix = at.kernel.gram(at.prior) - at.kernel.unweighted_gram / at.n_users
    penalty = at.kernel.nodes.weights @ at.kernel.matrix / at.n_users
    matrix[np.diag_indices_from(matrix)] += penalty
    sizes = np.diag(matrix)
    # A cell that neither the prior nor the penalty reaches has no value but 0.
    scales = 1 / np.sqrt(np.maximum(sizes, ZERO * sizes.max()))
    scaled = scales[:, np.newaxis] * matrix * scales
    np.fill_diagonal(scaled, 1.0)
    return at.solve(scaled, scales)


def posterior_mean(at: Equations) -> Floats:
    """Give what metrics are expected to be given the sampled rank, under the learned ranks."""
    return at.weighted.T @ at.exact / at.chances[:, np.newaxis]


class Kind(NamedTuple):
    """A kind of estimator: printed label, options with defaults, and its function."""

    label: str
    options: Mapping[str, Any]
    correct: Callable[..., Floats]


REQUIRED = object()
OF_CORRECTIONS = ("gamma", "denominator")
"""Options of corrections; others are of what they learn from samples."""

KINDS: Mapping[str, Kind] = {
    "uncorrected": Kind("Uncorrected", {}, uncorrected),
    "rank-estimate": Kind("RankEstimate", {"denominator": "m"}, rank_estimate),
    "cls": Kind("CLS", {}, cls),
    "bv": Kind("BV", {"gamma": REQUIRED, "prior": "uniform"}, bv),
    "mn": Kind("MN", {"prior": "mle@100"}, mn),
    "mle": Kind("MLE", {"iters": 100}, posterior_mean),
    "adaptive-mle": Kind("AdaptiveMLE", {"iters": 50}, posterior_mean),
    "mes": Kind("MES", {"eta": USUAL_ETA}, posterior_mean),
    "ht-plugin": Kind("HT", {}, uncorrected),
}
"""All estimators by the name in study files."""


@dataclass(frozen=True)
class Estimator:
    """An estimator with its options, in the order of `KINDS`."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        label = KINDS[self.name].label
        options = [f"{n}={v:g}" if isinstance(v, float) else f"{n}={v}" for n, v in self.options]
        return f"{label}({','.join(options)})" if options else label

    def option(self, name: str) -> Any:
        """Give the value of an option; nothing where there is none."""
        return dict(self.options).get(name, "")

    @property
    def is_linear(self) -> bool:
        """Whether estimates are means of corrected values, not of a learned distribution."""
        return KINDS[self.name].correct is not posterior_mean

    @property
    def is_uniform(self) -> bool:
        """Whether its prior is uniform, and nothing is learned."""
        return self.is_linear and self.option("prior") in ("", "uniform")

    def learn(self, cells: Cells) -> Floats:
        """Learn a distribution of ranks, up to a factor: (n_nodes, n_samples), or one for all.

        A pooled prior is the mean of the estimates from all repeats, as in the released code of Li
        et al. (2023); with one sample it is not known.
        """
        if self.is_uniform:
            return cells.kernels[0].nodes.weights[:, np.newaxis]
        prior = self.option("prior")
        name = prior.removeprefix("pooled:") or f"mle@{self.option('iters')}"
        if "mes" in (self.name, name):
            masses = cells.most_entropic(self.option("eta") or USUAL_ETA)
        else:
            masses = cells.most_likely(int(name.removeprefix("mle@")))
        return masses.mean(axis=1, keepdims=True) if prior.startswith("pooled:") else masses

    def corrected(
        self, kernel: Kernel, masses: Floats, n_users: int, metrics: Metrics, orders: Orders
    ) -> Iterator[Floats]:
        """Correct values for each distribution: (n_negatives + 1, n_orders, n_metrics)."""
        scores = partial(_scores, metrics=metrics, orders=orders)
        exact = scores(kernel.nodes.above, kernel.n_irrelevant)
        options = {name: value for name, value in self.options if name in OF_CORRECTIONS}
        for mass in (masses / masses.sum(axis=0)).T:
            at = Equations(kernel, mass, scores, exact, n_users)
            values = KINDS[self.name].correct(at, **options)
            yield values.reshape(-1, len(orders), len(metrics))

    def fit(self, samples: SampledRanks | Sequence[SampledRanks]) -> Fits:
        """Fit one sample, or repeated samples of the same users, each for itself.

        All users count as having the mean number of candidates. Sums over ranks below the cut-offs
        are by quadrature, with relative errors below 1e-4 for 20,000 candidates or fewer (but CLS
        of AUC, which is hardly determined).

        Examples
        --------
        >>> sampled = SampledRanks.of([1, 1, 2, 3], n_negatives=2, n_candidates=5)
        >>> fitted = find_estimator("bv(gamma=1)").fit(sampled)
        >>> (fitted.estimates(["Recall@1"])[:, 0] * 15).round(9)  # (8/15 + 8/15) / 4
        array([4.])
        """
        every = [samples] if isinstance(samples, SampledRanks) else samples
        if len(every) == 1 and self.option("prior").startswith("pooled:"):
            prior = self.option("prior")
            raise InputError(f"the prior {prior} needs repeated samples, got one.")
        if any(one.inverse_mass_above is not None for one in every):
            raise InputError(
                f"{self} needs uniform negatives; with probabilities, ht-plugin estimates AUC."
            )
        return self.fit_cells(Cells.of(every))

    def fit_cells(self, cells: Cells) -> Fits:
        """Fit samples that were counted before."""
        sizes = sorted({kernel.n_negatives for kernel in cells.kernels})
        if len(sizes) > 1 and self.name not in ("mle", "adaptive-mle", "uncorrected"):
            raise InputError(
                f"{self} takes samples of one size, and these have {sizes[0]} to {sizes[-1]} "
                "negatives: use adaptive-mle."
            )
        return Fits(self, cells)


@dataclass(frozen=True, eq=False)
class Fits:
    """An estimator fitted to repeated samples, or one; estimates have one value a sample."""

    estimator: Estimator
    cells: Cells

    @cached_property
    def masses(self) -> Floats:
        """The learned distributions of ranks at the nodes."""
        return self.estimator.learn(self.cells)

    def estimates(self, names: Sequence[str | RankMetric]) -> Floats:
        """Estimate metrics from one fit: (n_samples, n_metrics).

        RR is estimated from first relevant items alone.
        """
        metrics = [*map(rank_metric, names)]
        cells = self.cells.suited(metrics)
        of_first = np.array([m.name == "RR" and not cells.has_single_items for m in metrics])
        found = np.empty((cells.counts.shape[1], len(metrics)))
        # Matrices are small, and threads that wait for each other slow.
        with single_threaded("blas"):
            for own in filter(np.any, (~of_first, of_first)):
                chosen_cells = cells.first if of_first[own].all() else cells
                fits = self if chosen_cells is self.cells else Fits(self.estimator, chosen_cells)
                chosen = [metrics[n] for n in np.flatnonzero(own).tolist()]
                found[:, own] = fits._estimates_of_items(chosen)
        return found

    def _estimates_of_items(self, metrics: Metrics) -> Floats:
        cells, masses = self.cells, self.masses
        n = cells.kernels[0].n_irrelevant
        if not self.estimator.is_linear and cells.has_single_items:
            above = cells.kernels[0].nodes.above
            return np.asarray(masses.T @ _scores(above, n, metrics=metrics, orders=[1]))
        total = np.zeros((cells.counts.shape[1], len(metrics)))
        for number in range(len(cells.kernels)):
            of_kernel = cells.cells[:, 0] == number
            (_, order, n_relevant, x), counts = cells.cells[of_kernel].T, cells.counts[of_kernel]
            orders = np.unique(order)
            rescaled = [m.rescaling(order, n_relevant, n_irrelevant=n) for m in metrics]
            factors, place = np.stack(rescaled, axis=1), np.searchsorted(orders, order)
            # One distribution serves all samples, or each its own.
            for sample, values in enumerate(self._corrected(number, metrics, orders.tolist())):
                served = slice(None) if masses.shape[1] == 1 else slice(sample, sample + 1)
                total[served] += counts[:, served].T @ (factors * values[x, place])
        return total / cells.n_users

    def _corrected(self, number: int, metrics: Metrics, orders: Orders) -> Iterator[Floats]:
        kernel, n_users = self.cells.kernels[number], self.cells.n_users
        if self.estimator.is_uniform and list(orders) == [1]:
            yield _uniformly_corrected(self.estimator, astuple(kernel), n_users, tuple(metrics))
        else:
            yield from self.estimator.corrected(kernel, self.masses, n_users, metrics, orders)

    def corrected(self, names: Sequence[str | RankMetric]) -> Floats:
        """Give the corrected values v(1), v(2), ... of metrics: (n_negatives + 1, n_metrics).

        They are those of the first sample, for users with one relevant item; they may be negative
        or above 1, as only their mean over users is a metric.
        """
        return next(self._corrected(0, [*map(rank_metric, names)], [1]))[:, 0]


@lru_cache(maxsize=128)
def _uniformly_corrected(
    estimator: Estimator, kernel: tuple[Any, ...], n_users: int, metrics: tuple[RankMetric, ...]
) -> Floats:
    """Correct values for the uniform prior, the same for all systems: (n_negatives + 1, 1, n)."""
    here = Kernel(*kernel)
    masses = here.nodes.weights[:, np.newaxis]
    return next(estimator.corrected(here, masses, n_users, metrics, [1]))


def _scores(above: ArrayLike, n_irrelevant: int, *, metrics: Metrics, orders: Orders) -> Floats:
    ranks = np.asarray(above, dtype=np.float64)
    columns = [
        metric.summands(ranks + j, n=n_irrelevant + j, order=j, n_relevant=j)
        for j in orders
        for metric in metrics
    ]
    return np.stack(columns, axis=1)


WRITTEN = re.compile(r"\s*([A-Za-z_-]+)\s*(?:\((.*)\))?\s*")
PRIOR = r"^(uniform|(pooled:)?(mle(@[1-9][0-9]*)?|mes))$"
OPTIONS: Mapping[str, tuple[str, Any]] = {
    "denominator": ("m or m+1", Literal["m", "m+1"]),
    "gamma": ("a number from 1e-06 to 1", Annotated[float, Field(ge=LEAST_GAMMA, le=1)]),
    "eta": ("a number from 1e-06", Annotated[float, Field(ge=1e-6, le=1e9)]),
    "iters": ("a whole number from 1", Annotated[int, Field(ge=1)]),
    "prior": (
        "uniform, mle, mle@100 or mes, the last three maybe after pooled:",
        Annotated[str, Field(pattern=PRIOR)],
    ),
}
"""What the value of each option must be, in words and as a type."""


def find_estimator(text: str | Estimator) -> Estimator:
    """Read an estimator: ``bv(gamma=0.1)``, or the printed form ``BV(gamma=0.1,prior=uniform)``.

    Examples
    --------
    >>> print(find_estimator("rank-estimate(denominator=m+1)"))
    RankEstimate(denominator=m+1)
    """
    if isinstance(text, Estimator):
        return text
    found = WRITTEN.fullmatch(text)
    if found is None:
        raise InputError(f"{text!r} is no estimator; write NAME or NAME(option=value).")
    written = found[1].lower().replace("-", "").replace("_", "")
    known = {name.replace("-", ""): name for name in KINDS}
    known |= {kind.label.lower(): name for name, kind in KINDS.items()}
    if written not in known:
        hint = suggestion(found[1], [*KINDS])
        raise InputError(f"no estimator is called {found[1]!r}; {hint}")
    name = known[written]
    options = dict(KINDS[name].options)
    for part in filter(str.strip, (found[2] or "").split(",")):
        option, _, value = (piece.strip() for piece in part.partition("="))
        if option not in options:
            every = ", ".join(options) or "none"
            raise InputError(f"{KINDS[name].label} has no option {option!r}; its options: {every}.")
        rule, kind = OPTIONS[option]
        try:
            options[option] = TypeAdapter(kind).validate_python(value)
        except ValidationError:
            raise InputError(f"`{option}` must be {rule}, got {value!r}.") from None
    if REQUIRED in options.values():
        raise InputError(f"{name} needs the option `gamma`, as {name}(gamma=0.1).")
    if str(options.get("prior")).endswith("mle"):
        options["prior"] += "@100"
    return Estimator(name, tuple(options.items()))


def read_estimators(names: Sequence[str | Estimator]) -> tuple[Estimator, ...]:
    """Read different estimators."""
    without_repetition(tuple(str(find_estimator(name)) for name in names))
    return tuple(map(find_estimator, names))
