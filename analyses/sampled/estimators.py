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
from runs.shared.arrays import Floats, Longs, Numbers
from runs.shared.errors import suggestion
from runs.shared.parallel import single_threaded
from runs.shared.settings import without_repetition

Metrics = Sequence[RankMetric]
Orders = Sequence[int]

MIN_GAMMA = 1e-6
"""Smaller weights of the variance leave so much of it that no sample is large enough."""

ZERO = 1e-14
"""Share of the largest diagonal element below which one is 0 but for rounding."""

USUAL_ETA = 0.01
"""Weight of the entropy, also of the priors that MES learns."""


@dataclass(frozen=True, eq=False)
class Equations:
    """The kernel matrix P, a prior p of the ranks at its nodes, metrics, and the number of users.

    The prior is of shape (n_nodes,). ``metrics`` computes values, (n_above, n_columns), from
    numbers of irrelevant items above, (n_above,), and the number of irrelevant items in all; a
    column is a metric at a place of the relevant item. ``exact`` are the values at the nodes, b:
    (n_nodes, n_columns).
    """

    kernel: Kernel
    prior: Floats
    metrics: Callable[[ArrayLike, int], Floats]
    exact: Floats
    n_users: int

    @cached_property
    def weighted(self) -> Floats:
        """DP, with D the diagonal matrix of the prior: (n_nodes, n_negatives + 1)."""
        return self.kernel.matrix * self.prior[:, np.newaxis]

    @property
    def chances(self) -> Floats:
        """Chance of each number above, c = P'p, at least `FLOOR`: (n_negatives + 1,)."""
        return np.maximum(self.weighted.sum(axis=0), FLOOR)

    def solve(self, matrix: Floats, scales: Floats) -> Floats:
        """Solve A v = P'Db for v, given the scaled matrix S A S, S the diagonal matrix of scales.

        D is the diagonal matrix of the prior, b the exact values. The scaled matrix, positive
        definite, is of shape (n_negatives + 1, n_negatives + 1), scales of (n_negatives + 1,), and
        the solution v of (n_negatives + 1, n_columns). ``self.weighted`` is DP, (n_nodes,
        n_negatives + 1), and ``self.exact`` b, (n_nodes, n_columns).
        """
        products = self.weighted.T @ self.exact
        scaled_products = scales[:, np.newaxis] * products
        solution = cho_solve(cho_factor(matrix), scaled_products)
        return scales[:, np.newaxis] * solution


def uncorrected(equations: Equations) -> Floats:
    """Compute the metric of each sampled rank; Krichene & Rendle (2020), eq. 16.

    The result: (n_negatives + 1, n_columns).
    """
    n_negatives = equations.kernel.n_negatives
    return equations.metrics(np.arange(n_negatives + 1), n_negatives)


def rank_estimate(equations: Equations, *, denominator: str) -> Floats:
    r"""Compute the metric of the rank :math:`\lfloor 1 + (n - 1)(t - 1) / d \rfloor`.

    An estimate of the rank among n candidates from the rank t among m sampled negatives (Krichene &
    Rendle, 2020, eq. 20). d = m (denominator "m") makes an unbiased estimate; d = m + 1 ("m+1")
    fits the numbers that they printed. The result: (n_negatives + 1, n_columns).
    """
    n_negatives = equations.kernel.n_negatives
    n_irrelevant = equations.kernel.n_irrelevant
    divisor = n_negatives + 1 if denominator == "m+1" else n_negatives
    above = n_irrelevant * np.arange(n_negatives + 1) // divisor
    return equations.metrics(above, n_irrelevant)


def cls(equations: Equations) -> Floats:
    r"""Compute the values of least bias that never rise with the sampled rank, and are >= 0.

    :math:`\min_v \sum_r p(r) ((Pv)(r) - M(r))^2` with :math:`v(1) \ge v(2) \ge \ldots \ge 0`, P
    the kernel matrix, M the exact metric and p the prior, which is uniform (Krichene & Rendle,
    5.2; their Table 3 fits only if values are not negative). With
    :math:`v(t) = \sum_{j \ge t} d_j` these are non-negative least squares on the increments d, of
    which a QR decomposition makes a small square problem. The result: (n_negatives + 1, n_columns).
    """
    from scipy.optimize import nnls

    prior_roots = np.sqrt(equations.prior)[:, np.newaxis]
    cumulated = equations.kernel.matrix.cumsum(axis=1)
    orthogonal, design = np.linalg.qr(prior_roots * cumulated)
    targets = orthogonal.T @ (prior_roots * equations.exact)
    norms = np.linalg.norm(design, axis=0)
    scales = 1 / np.maximum(norms, np.finfo(float).tiny)
    scaled_design = design * scales
    increments = []
    for target in targets.T:
        scaled_increments, _ = nnls(scaled_design, target)
        increments.append(scales * scaled_increments)
    from_last = np.array(increments)[:, ::-1]
    values = from_last.cumsum(axis=1)[:, ::-1]
    return np.asarray(values.T)


def bv(equations: Equations, *, gamma: float) -> Floats:
    r"""Compute the values of least squared bias plus variance, weighed by gamma.

    .. math:: v = ((1 - \gamma) P'DP + \gamma\, \mathrm{diag}(c))^{-1} P'Db

    with P the kernel matrix, D the diagonal matrix of the prior, b the exact metrics, and c = P'p
    the chances of sampled ranks (Krichene & Rendle, eq. 24 to 26; gamma = 1 is the posterior mean).
    Rows and columns are divided by sqrt(c): the condition number is at most 1 / gamma. The result:
    (n_negatives + 1, n_columns).
    """
    scales = 1 / np.sqrt(equations.chances)
    gram = equations.kernel.gram(equations.prior)
    # Scaled, diag(c) is the identity, of which gamma goes to the diagonal.
    matrix = (1 - gamma) * scales[:, np.newaxis] * gram * scales
    matrix[np.diag_indices_from(matrix)] += gamma
    return equations.solve(matrix, scales)


def mn(equations: Equations) -> Floats:
    r"""Compute the values of least squared bias plus a bound on the variance, for U users.

    .. math:: v = (P'DP - P'P / U + L_1 / U)^{-1} P'Db

    with P the kernel matrix, D the diagonal matrix of the prior, b the exact metrics, and
    :math:`L_1` the diagonal matrix of the column sums of P (Li et al., 2023, eq. 11). With a
    uniform prior it is BV(n / U). Rows and columns are divided by the roots of the diagonal. The
    result: (n_negatives + 1, n_columns).
    """
    kernel = equations.kernel
    n_users = equations.n_users
    matrix = kernel.gram(equations.prior) - kernel.unweighted_gram / n_users
    penalty = kernel.nodes.weights @ kernel.matrix / n_users
    matrix[np.diag_indices_from(matrix)] += penalty
    diagonal = np.diag(matrix)
    # A cell that neither the prior nor the penalty reaches has no value but 0.
    floored_diagonal = np.maximum(diagonal, ZERO * diagonal.max())
    scales = 1 / np.sqrt(floored_diagonal)
    scaled = scales[:, np.newaxis] * matrix * scales
    np.fill_diagonal(scaled, 1.0)
    return equations.solve(scaled, scales)


def posterior_mean(equations: Equations) -> Floats:
    """Compute the expected metrics given the sampled rank, under the learned distribution of ranks.

    The result: (n_negatives + 1, n_columns).
    """
    joint = equations.weighted.T @ equations.exact
    return joint / equations.chances[:, np.newaxis]


class Kind(NamedTuple):
    """A kind of estimator: printed label, options with defaults, and its function."""

    label: str
    options: Mapping[str, Any]
    correct: Callable[..., Floats]


REQUIRED = object()
"""Default of an option that has none: it must be given."""

CORRECTION_OPTIONS = ("gamma", "denominator")
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
        """Print the estimator as in ``BV(gamma=0.1,prior=uniform)``, or without options."""
        label = KINDS[self.name].label
        if not self.options:
            return label
        texts = []
        for option, value in self.options:
            number = f"{value:g}" if isinstance(value, float) else value
            texts.append(f"{option}={number}")
        return f"{label}({','.join(texts)})"

    def option(self, name: str) -> Any:
        """Look up the value of an option; "" if the estimator has none of this name."""
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
        """Learn a distribution of ranks, up to a factor: (n_nodes, n_samples), or (n_nodes, 1).

        ``cells``: counts of samples. A uniform prior has the weights of the nodes. Else EM
        (``mle@N``: N iterations) or the most entropy (``mes``, whose weight is 0.01 unless the
        option ``eta`` is set) learns one from each sample, as the
        option ``prior`` says, or for MLE and MES, which have none, the estimator itself. A pooled
        prior is the mean of those of all samples, one for all, as in the released code of Li et al.
        (2023).
        """
        if self.is_uniform:
            return cells.kernels[0].nodes.weights[:, np.newaxis]
        prior = self.option("prior")
        method = prior.removeprefix("pooled:") or f"mle@{self.option('iters')}"
        if self.name == "mes" or method == "mes":
            masses = cells.most_entropic(self.option("eta") or USUAL_ETA)
        else:
            masses = cells.most_likely(int(method.removeprefix("mle@")))
        if prior.startswith("pooled:"):
            return masses.mean(axis=1, keepdims=True)
        return masses

    def corrected(
        self, kernel: Kernel, masses: Floats, n_users: int, metrics: Metrics, orders: Orders
    ) -> Iterator[Floats]:
        """Yield corrected values for each distribution: (n_negatives + 1, n_orders, n_metrics).

        The values that stand for a metric at each number of sampled negatives above. ``masses``:
        distributions of ranks at the nodes of the kernel, up to a factor, (n_nodes, n_samples).
        ``orders``: places of relevant items among those of a user, from 1.
        """
        scores = partial(_scores, metrics=metrics, orders=orders)
        exact = scores(kernel.nodes.above, kernel.n_irrelevant)
        options = {name: value for name, value in self.options if name in CORRECTION_OPTIONS}
        correct = KINDS[self.name].correct
        distributions = masses / masses.sum(axis=0)
        for prior in distributions.T:
            equations = Equations(kernel, prior, scores, exact, n_users)
            values = correct(equations, **options)
            yield values.reshape(-1, len(orders), len(metrics))

    def fit(self, samples: SampledRanks | Sequence[SampledRanks]) -> Fits:
        """Fit one sample, or repeated samples of the same users, each for itself.

        Refuse, with InputError, a pooled prior for a single sample, negatives that were drawn with
        given probabilities, samples of different users or designs, and samples of several sizes,
        but for MLE and no correction.
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
        repeated = [samples] if isinstance(samples, SampledRanks) else samples
        prior = self.option("prior")
        if len(repeated) == 1 and prior.startswith("pooled:"):
            raise InputError(f"the prior {prior} needs repeated samples, got one.")
        if any(sample.inverse_mass_above is not None for sample in repeated):
            raise InputError(
                f"{self} needs uniform negatives; with probabilities, ht-plugin estimates AUC."
            )
        return self.fit_cells(Cells.of(repeated))

    def fit_cells(self, cells: Cells) -> Fits:
        """Fit samples that were counted before.

        Refuse, with InputError, samples of several sizes, but for MLE and no correction.
        """
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
        """The learned distributions of ranks, up to a factor: (n_nodes, n_samples) or (.., 1)."""
        return self.estimator.learn(self.cells)

    def estimates(self, names: Sequence[str | RankMetric]) -> Floats:
        """Estimate metrics from one fit: (n_samples, n_metrics).

        Means over the users. RR is estimated from the first relevant items of users alone, other
        metrics from all. Ranks above the cut-offs are nodes of their own (`Cells.suited`).
        InputError for names that are no metrics.
        """
        metrics = [rank_metric(name) for name in names]
        cells = self.cells.suited(metrics)
        has_several_items = not cells.has_single_items
        uses_first = np.array([metric.name == "RR" and has_several_items for metric in metrics])
        n_samples = cells.counts.shape[1]
        estimates = np.empty((n_samples, len(metrics)))
        # Matrices are small, and threads that wait for each other slow.
        with single_threaded("blas"):
            if not uses_first.all():
                columns = np.flatnonzero(~uses_first)
                fits = self._with_cells(cells)
                estimates[:, columns] = fits._item_estimates(
                    [metrics[column] for column in columns]
                )
            if uses_first.any():
                columns = np.flatnonzero(uses_first)
                fits = self._with_cells(cells.first)
                estimates[:, columns] = fits._item_estimates(
                    [metrics[column] for column in columns]
                )
        return estimates

    def _with_cells(self, cells: Cells) -> Fits:
        """Fit the estimator to other counts; what was learned is kept if they are the same."""
        return self if cells is self.cells else Fits(self.estimator, cells)

    def _item_estimates(self, metrics: Metrics) -> Floats:
        """Estimate metrics from all relevant items in the cells: (n_samples, n_metrics).

        The mean over users of the sum of corrected values of their items. With one item for each
        user, MLE and MES take the metric of the learned distribution (``masses``) instead.
        """
        cells = self.cells
        masses = self.masses
        if not self.estimator.is_linear and cells.has_single_items:
            kernel = cells.kernels[0]
            scores = _scores(kernel.nodes.above, kernel.n_irrelevant, metrics=metrics, orders=[1])
            return np.asarray(masses.T @ scores)
        has_one_distribution = masses.shape[1] == 1
        total = np.zeros((cells.counts.shape[1], len(metrics)))
        for number in range(len(cells.kernels)):
            above, place, orders, factors, counts = self._cells_of_kernel(number, metrics)
            corrected_values = self._corrected(number, metrics, orders)
            for sample, values in enumerate(corrected_values):
                # One distribution serves all samples, or each its own.
                samples = slice(None) if has_one_distribution else slice(sample, sample + 1)
                # (n_cells, n_metrics)
                terms = factors * values[above, place]
                total[samples] += counts[:, samples].T @ terms
        return total / cells.n_users

    def _cells_of_kernel(
        self, number: int, metrics: Metrics
    ) -> tuple[Longs, Numbers, list[int], Floats, Floats]:
        """Look up the cells of samples of one size, and which corrected values they have.

        ``number``: index of the size in the kernels of the cells. The results, by cell: sampled
        items above, (n_cells,); the index of the cell's place in the third result, (n_cells,); the
        sorted distinct places of relevant items among those of their users, from 1; factors from
        the terms of a metric for as many relevant items as the place says to those for the actual
        number, (n_cells, n_metrics); and counts of relevant items, (n_cells, n_samples).
        """
        cells = self.cells
        n_irrelevant = cells.kernels[0].n_irrelevant
        is_of_kernel = cells.cells[:, 0] == number
        _, order, n_relevant, above = cells.cells[is_of_kernel].T
        orders, order_index = np.unique(order, return_inverse=True)
        factors = [
            metric.rescaling(order, n_relevant, n_irrelevant=n_irrelevant) for metric in metrics
        ]
        counts = cells.counts[is_of_kernel]
        return above, order_index, orders.tolist(), np.stack(factors, axis=1), counts

    def _corrected(self, number: int, metrics: Metrics, orders: Orders) -> Iterator[Floats]:
        """Yield corrected values for samples of one size: (n_negatives + 1, n_orders, n_metrics).

        One array for each learned distribution. ``number``: index of the size in the kernels of the
        cells; ``orders``: places of relevant items among those of their users, from 1. Values for a
        uniform prior and single items are cached, as other systems have the same.
        """
        kernel = self.cells.kernels[number]
        n_users = self.cells.n_users
        if self.estimator.is_uniform and list(orders) == [1]:
            yield _uniformly_corrected(self.estimator, astuple(kernel), n_users, tuple(metrics))
        else:
            yield from self.estimator.corrected(kernel, self.masses, n_users, metrics, orders)

    def corrected(self, names: Sequence[str | RankMetric]) -> Floats:
        """Compute the corrected values v(1), v(2), ... of metrics: (n_negatives + 1, n_metrics).

        v(t) stands for the metric of a user whose relevant item has rank t in the sample. They are
        those of the first sample and the smallest size, for users with one relevant item; they may
        be negative or above 1, as only their mean over users is a metric.
        """
        metrics = [rank_metric(name) for name in names]
        values = next(self._corrected(0, metrics, [1]))
        return values[:, 0]


@lru_cache(maxsize=128)
def _uniformly_corrected(
    estimator: Estimator, kernel: tuple[Any, ...], n_users: int, metrics: tuple[RankMetric, ...]
) -> Floats:
    """Correct values for the uniform prior, the same for all systems: (n_negatives + 1, 1, n).

    ``kernel``: the fields of a `Kernel`, as a key.
    """
    uniform_kernel = Kernel(*kernel)
    masses = uniform_kernel.nodes.weights[:, np.newaxis]
    return next(estimator.corrected(uniform_kernel, masses, n_users, metrics, [1]))


def _scores(above: ArrayLike, n_irrelevant: int, *, metrics: Metrics, orders: Orders) -> Floats:
    """Compute metrics for numbers of irrelevant items above: (n_above, n_orders * n_metrics).

    ``orders``: places j of an item that is the last of j relevant ones; ``n_irrelevant``: number of
    irrelevant candidates, or of negatives. Metrics of the first place come first.
    """
    above = np.asarray(above, dtype=np.float64)
    columns = [
        metric.summands(above + j, n=n_irrelevant + j, order=j, n_relevant=j)
        for j in orders
        for metric in metrics
    ]
    return np.stack(columns, axis=1)


NAME_AND_OPTIONS = re.compile(r"\s*([A-Za-z_-]+)\s*(?:\((.*)\))?\s*")
PRIOR = r"^(uniform|(pooled:)?(mle(@[1-9][0-9]*)?|mes))$"
OPTIONS: Mapping[str, tuple[str, Any]] = {
    "denominator": ("m or m+1", Literal["m", "m+1"]),
    "gamma": ("a number from 1e-06 to 1", Annotated[float, Field(ge=MIN_GAMMA, le=1)]),
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

    Refuse, with InputError, another form, an unknown name or option, a wrong value of an option,
    and a required option that is missing.

    Examples
    --------
    >>> print(find_estimator("rank-estimate(denominator=m+1)"))
    RankEstimate(denominator=m+1)
    """
    if isinstance(text, Estimator):
        return text
    match = NAME_AND_OPTIONS.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is no estimator; write NAME or NAME(option=value).")
    written_name, written_options = match.groups()
    name = _find_name(written_name)
    options = dict(KINDS[name].options)
    parts = (written_options or "").split(",")
    for part in filter(str.strip, parts):
        option, _, value = part.partition("=")
        option = option.strip()
        if option not in options:
            names = ", ".join(options) or "none"
            raise InputError(f"{KINDS[name].label} has no option {option!r}; its options: {names}.")
        options[option] = _read_option(option, value.strip())
    if REQUIRED in options.values():
        raise InputError(f"{name} needs the option `gamma`, as {name}(gamma=0.1).")
    # A prior mle without iterations has 100.
    if str(options.get("prior")).endswith("mle"):
        options["prior"] += "@100"
    return Estimator(name, tuple(options.items()))


def _find_name(text: str) -> str:
    """Look up the name of an estimator, a key of `KINDS`, by its name or printed label.

    Upper case, "-" and "_" do not matter. Refuse an unknown name with InputError.
    """
    names = {name.replace("-", ""): name for name in KINDS}
    for name, kind in KINDS.items():
        names[kind.label.lower()] = name
    key = text.lower().replace("-", "").replace("_", "")
    if key not in names:
        hint = suggestion(text, [*KINDS])
        raise InputError(f"no estimator is called {text!r}; {hint}")
    return names[key]


def _read_option(option: str, text: str) -> Any:
    """Read the value of an option of an estimator as its type in `OPTIONS`.

    Refuse a wrong value with InputError.
    """
    rule, value_type = OPTIONS[option]
    try:
        return TypeAdapter(value_type).validate_python(text)
    except ValidationError:
        raise InputError(f"`{option}` must be {rule}, got {text!r}.") from None


def read_estimators(names: Sequence[str | Estimator]) -> tuple[Estimator, ...]:
    """Read estimators; refuse with ValueError one that occurs twice."""
    estimators = tuple(find_estimator(name) for name in names)
    without_repetition(tuple(str(estimator) for estimator in estimators))
    return estimators
