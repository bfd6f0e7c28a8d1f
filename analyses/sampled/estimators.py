"""Estimators of exact metrics from sampled ranks.

An estimator is a name with options, read and printed as ``BV(gamma=0.1,prior=uniform)``. It learns
a distribution of ranks, or corrects the value of each sampled rank by a function of the kernel
matrix P, the metric and a prior distribution of ranks.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache, cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve

from analyses.sampled.metrics import RankMetric, distinct, rank_metric
from analyses.sampled.rank_distribution import FLOOR, HEAD, Cells, Kernel
from analyses.sampled.samples import SampledRanks
from qrels import FullRanks
from runs import InputError
from runs.shared.errors import InputWarning
from runs.shared.errors import nearest as nearest_name
from runs.shared.parallel import single_threaded

Floats = NDArray[np.float64]
Metrics = Sequence[RankMetric]

LEAST_GAMMA = 1e-6
"""Smaller weights of the variance leave so much of it that no sample is large enough."""

UNREACHED = 1e-14
"""Part of the largest diagonal element under which one is 0 but for rounding."""

TRUE = "true"
"""The prior that is known in experiments alone: how the full ranks are distributed."""

PRIOR = re.compile(r"uniform|true|(pooled:)?(mle(@[1-9][0-9]*)?|mes)")


@dataclass(frozen=True, eq=False)
class Equations:
    """What corrected values are computed from.

    Parameters
    ----------
    kernel
        Its matrix is P, of shape (n_nodes, n_negatives + 1).
    prior
        Distribution of ranks p at the nodes, (n_nodes,).
    metrics
        Gives metrics, (n_above, n_columns), for numbers of irrelevant items above of some in all.
    exact
        Gives them at the nodes, b: (n_nodes, n_columns).
    n_users
        Users of the sample.
    """

    kernel: Kernel
    prior: Floats
    metrics: Callable[[ArrayLike, int], Floats]
    exact: Callable[[], Floats]
    n_users: int

    @cached_property
    def weighted(self) -> Floats:
        """DP, with D the diagonal matrix of the prior."""
        return self.kernel.matrix * self.prior[:, np.newaxis]

    @property
    def reached(self) -> Floats:
        """Chance of each number above, c = P'p, at least `FLOOR`."""
        return np.maximum(self.weighted.sum(axis=0), FLOOR)

    @property
    def gram(self) -> Floats:
        """P'DP."""
        return self.weighted.T @ self.kernel.matrix

    def solve(self, matrix: Floats, scales: Floats) -> Floats:
        """Solve for P'Db with a matrix whose rows and columns are scaled."""
        products = scales[:, np.newaxis] * (self.weighted.T @ self.exact())
        return scales[:, np.newaxis] * cho_solve(cho_factor(matrix), products)


def uncorrected(at: Equations) -> Floats:
    """Give the metric of each sampled rank; Krichene & Rendle (2020), eq. 16."""
    n_negatives = at.kernel.n_negatives
    return at.metrics(np.arange(n_negatives + 1), n_negatives)


def rank_estimate(at: Equations, *, mode: str, denominator: str) -> Floats:
    r"""Give the metric of the estimated rank, :math:`v(t) = M(1 + (n - 1)(t - 1) / d)`.

    Ranks between whole ones are rounded down ("floor", as Krichene & Rendle, eq. 20), rounded, or
    the metric is interpolated ("linear"). d = m makes an unbiased estimate of the rank; d = m + 1
    fits the numbers that they printed in Table 3.
    """
    m, others = at.kernel.n_negatives, at.kernel.nodes.n_irrelevant
    divisor = m + (denominator == "m+1")
    products = others * np.arange(m + 1)
    if mode == "round":
        return at.metrics((2 * products + divisor) // (2 * divisor), others)
    floors, rests = np.divmod(products, divisor)
    values = at.metrics(floors, others)
    if mode == "floor":
        return values
    shares = (rests / divisor)[:, np.newaxis]
    return (1 - shares) * values + shares * at.metrics(floors + (rests > 0), others)


def cls(at: Equations, *, nonnegative: bool) -> Floats:
    r"""Give the values of least bias that never rise with the sampled rank.

    :math:`\min_v \sum_r p(r) ((Pv)(r) - M(r))^2` with :math:`v(1) \ge v(2) \ge \ldots`, p uniform
    (Krichene & Rendle, 5.2). With :math:`v(t) = c_0 + \sum_{j \ge t} d_j` these are non-negative
    least squares on the increments d. Their Table 3 fits only if values are not negative either.
    """
    roots = np.sqrt(at.prior)[:, np.newaxis]
    turned, design = np.linalg.qr(roots * at.kernel.matrix.cumsum(axis=1))
    targets = turned.T @ (roots * at.exact())
    solved = [_decreasing_least_squares(design, b, free=not nonnegative) for b in targets.T]
    return np.stack(solved, axis=1)


def _decreasing_least_squares(design: Floats, targets: Floats, *, free: bool) -> Floats:
    from scipy.optimize import nnls

    last = design[:, -1:] / np.linalg.norm(design[:, -1])
    # What a free constant explains is taken out of the others.
    others = design[:, :-1] - last @ (last.T @ design[:, :-1]) if free else design
    scales = 1 / np.maximum(np.linalg.norm(others, axis=0), np.finfo(float).tiny)
    steps = scales * nnls(others * scales, targets - free * last[:, 0] * (last[:, 0] @ targets))[0]
    if free:
        rest = last[:, 0] @ (targets - design[:, :-1] @ steps)
        steps = np.append(steps, rest / np.linalg.norm(design[:, -1]))
    return np.asarray(steps[::-1].cumsum()[::-1])


def bv(at: Equations, *, gamma: float) -> Floats:
    r"""Give the values of least squared bias plus variance, weighed by gamma.

    .. math:: v = ((1 - \gamma) P'DP + \gamma\, \mathrm{diag}(c))^{-1} P'Db

    (Krichene & Rendle, eq. 24 to 26; gamma = 1 is the posterior mean). Rows and columns are
    divided by sqrt(c): the condition number is 1 / gamma.
    """
    scales = 1 / np.sqrt(at.reached)
    matrix = (1 - gamma) * scales[:, np.newaxis] * at.gram * scales
    matrix[np.diag_indices_from(matrix)] += gamma
    return at.solve(matrix, scales)


def mn(at: Equations) -> Floats:
    r"""Give the values of least squared bias plus a bound on the variance, for U users.

    .. math:: v = (P'DP - P'P / U + L_1 / U)^{-1} P'Db

    with :math:`L_1` the column sums of P (Li et al., 2023, eq. 11). With a uniform prior it is
    BV(n / U). Rows and columns are divided by the roots of the diagonal.
    """
    every = at.kernel.matrix * (at.kernel.nodes.weights / at.n_users)[:, np.newaxis]
    matrix = at.gram - every.T @ at.kernel.matrix
    matrix[np.diag_indices_from(matrix)] += every.sum(axis=0)
    sizes = np.diag(matrix)
    # A cell that neither the prior nor the penalty reaches has no value but 0.
    scales = 1 / np.sqrt(np.maximum(sizes, UNREACHED * sizes.max()))
    scaled = scales[:, np.newaxis] * matrix * scales
    np.fill_diagonal(scaled, 1.0)
    return at.solve(scaled, scales)


def posterior_mean(at: Equations) -> Floats:
    """Give what metrics are expected to be given the sampled rank, under the learned ranks."""
    return at.weighted.T @ at.exact() / at.reached[:, np.newaxis]


def weighted_auc(sample: SampledRanks) -> Floats:
    r"""Give the AUC of each user from negatives drawn with probabilities q: (n_users,).

    The rank is estimated without bias by :math:`\hat R = j + \frac1m \sum_{above} 1 / q_i` (Horvitz
    & Thompson, 1952), and so is AUC, which is linear in it; no other metric is.
    """
    if sample.inverse_mass_above is None:
        raise InputError("HT needs the probabilities of negatives (inverse_mass_above).")
    ranks = sample.inverse_mass_above / sample.n_negatives + sample.order
    asked = {"order": sample.order, "n_relevant": sample.n_relevant}
    terms = RankMetric("AUC").summands(ranks, n=sample.n_candidates, **asked)
    _, user = np.unique(sample.user, return_inverse=True)
    return np.bincount(user, weights=terms).astype(np.float64)


class Kind(NamedTuple):
    """A kind of estimator: printed label, options with defaults, and its function."""

    label: str
    options: Mapping[str, Any]
    correct: Callable[..., Floats]


REQUIRED = object()
KINDS: Mapping[str, Kind] = {
    "uncorrected": Kind("Uncorrected", {}, uncorrected),
    "rank-estimate": Kind("RankEstimate", {"mode": "floor", "denominator": "m"}, rank_estimate),
    "cls": Kind("CLS", {"nonnegative": False}, cls),
    "bv": Kind("BV", {"gamma": REQUIRED, "prior": "uniform"}, bv),
    "mn": Kind("MN", {"prior": "mle@100"}, mn),
    "mle": Kind("MLE", {"iters": 100}, posterior_mean),
    "adaptive-mle": Kind("AdaptiveMLE", {"iters": 50}, posterior_mean),
    "mes": Kind("MES", {"eta": 0.01, "scale": "m+1", "weights": "empirical"}, posterior_mean),
    "ht-plugin": Kind("HT", {}, uncorrected),
}
"""All estimators by the name in study files."""


@dataclass(frozen=True)
class Estimator:
    """An estimator with its options, in the order of `KINDS`."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        options = ",".join(f"{name}={_shown(value)}" for name, value in self.options)
        return f"{self.kind.label}({options})" if options else self.kind.label

    @property
    def kind(self) -> Kind:
        """Its label, options and function."""
        return KINDS[self.name]

    @property
    def prior(self) -> str:
        """The prior of BV and MN; nothing for others."""
        return str(dict(self.options).get("prior", ""))

    @property
    def iterations(self) -> int:
        """Iterations of EM; 0 for others than MLE."""
        return int(dict(self.options).get("iters", 0))

    @property
    def is_linear(self) -> bool:
        """Whether estimates are means of corrected values, not of a learned distribution."""
        return self.name not in ("mle", "adaptive-mle", "mes")

    def with_prior(self, prior: str) -> Estimator:
        """Give the same with another prior."""
        changed = ((name, prior if name == "prior" else value) for name, value in self.options)
        return Estimator(self.name, tuple(changed))

    def correct(self, at: Equations) -> Floats:
        """Correct values: (n_negatives + 1, n_columns)."""
        if not self.is_linear:
            return posterior_mean(at)
        return self.kind.correct(at, **{n: value for n, value in self.options if n != "prior"})

    def check(self, cells: Cells) -> None:
        """Refuse samples that the estimator is wrong for."""
        sizes = sorted({kernel.n_negatives for kernel in cells.kernels})
        if len(sizes) > 1 and self.name not in ("mle", "adaptive-mle"):
            raise InputError(
                f"{self} takes samples of one size, and these have {sizes[0]} to {sizes[-1]} "
                "negatives: use adaptive-mle."
            )

    def learn(self, cells: Cells, true: FullRanks | None = None) -> Floats | None:
        """Learn a distribution of ranks: (n_nodes, n_samples), or one for all; None: uniform.

        A pooled prior is the mean of the estimates from all repeats, as in the released code of Li
        et al. (2023); with one sample it is not known. The true prior needs the true ranks.
        """
        if self.iterations:
            return cells.most_likely(self.iterations)
        if self.name == "mes":
            return cells.most_entropic(**dict(self.options))
        if self.prior == TRUE:
            if true is None:
                raise InputError(f"{self} needs the ranks among all candidates, as experiments do.")
            return cells.true_masses(true)
        if self.prior in ("", "uniform"):
            return None
        name = self.prior.removeprefix("pooled:")
        pooled = name != self.prior
        if pooled and cells.counts.shape[1] == 1:
            raise InputError(f"the prior {self.prior} takes repeated samples, and there is one.")
        if name == "mes":
            masses = cells.most_entropic(**KINDS["mes"].options)
        else:
            masses = cells.most_likely(int(name.removeprefix("mle@")))
        return masses.mean(axis=1, keepdims=True) if pooled else masses

    def fit(self, samples: SampledRanks | Sequence[SampledRanks], *, path: str = "grid") -> Fits:
        """Fit one sample, or repeated samples of the same users, each for itself.

        All users count as having the mean number of candidates. The path "grid" takes sums over
        ranks by quadrature, with errors below 1e-4 (but CLS of AUC, which is hardly determined);
        "full" takes every rank.

        Examples
        --------
        >>> sampled = SampledRanks.of([1, 1, 2, 3], n_negatives=2, n_candidates=5)
        >>> fitted = find_estimator("bv(gamma=1)").fit(sampled)
        >>> (fitted.estimate("Recall@1") * 15).round(9)  # (8/15 + 8/15) / 4
        array([4.])
        """
        every = [samples] if isinstance(samples, SampledRanks) else samples
        if any(one.inverse_mass_above is not None for one in every):
            raise InputError(
                f"{self} needs negatives drawn uniformly, and these were drawn with "
                "probabilities: of these, ht-plugin estimates AUC."
            )
        return self.fit_cells(Cells.of(every, path=path))

    def fit_cells(self, cells: Cells, *, true: FullRanks | None = None) -> Fits:
        """Fit samples that were counted before."""
        self.check(cells)
        if self.prior.endswith("mes"):
            find_estimator("mes").check(cells)
        return Fits(self, cells, true)


@dataclass(frozen=True, eq=False)
class Fits:
    """An estimator fitted to repeated samples, or one; estimates have one value a sample."""

    estimator: Estimator
    cells: Cells
    true: FullRanks | None = None

    @cached_property
    def masses(self) -> Floats | None:
        """The learned distributions of ranks at the nodes, or None: uniform."""
        return self.estimator.learn(self.cells, self.true)

    @cached_property
    def first(self) -> Fits:
        """The fit to each user's first relevant item alone."""
        return Fits(self.estimator, self.cells.first, self.true)

    def estimate(self, name: str | RankMetric) -> Floats:
        """Estimate a metric such as ``Recall@10``: (n_samples,)."""
        return self.estimates([name])[:, 0]

    def estimates(self, names: Sequence[str | RankMetric]) -> Floats:
        """Estimate metrics from one fit: (n_samples, n_metrics).

        RR is estimated from first relevant items alone. A cut-off below the top ranks of the grid
        is refused.
        """
        metrics = self._checked(names)
        of_first = np.array([m.name == "RR" and not self.cells.has_single_items for m in metrics])
        found = np.empty((self.cells.counts.shape[1], len(metrics)))
        # Matrices are small, and threads that wait for each other slow.
        with single_threaded("blas"):
            for fits, own in ((self, ~of_first), (self.first, of_first)):
                if own.any():
                    chosen = [metrics[n] for n in np.flatnonzero(own).tolist()]
                    found[:, own] = fits._estimates_of_items(chosen)
        return found

    def _estimates_of_items(self, metrics: Metrics) -> Floats:
        cells, masses, n = self.cells, self.masses, self.cells.nodes.n_irrelevant
        if not self.estimator.is_linear and cells.has_single_items and masses is not None:
            return np.asarray(masses.T @ _scores(cells.nodes.above, n, metrics=metrics, orders=[1]))
        total = np.zeros((cells.counts.shape[1], len(metrics)))
        for number in range(len(cells.kernels)):
            of_kernel = cells.cells[:, 0] == number
            (_, order, n_relevant, x), counts = cells.cells[of_kernel].T, cells.counts[of_kernel]
            orders = np.unique(order)
            rescaled = [m.rescaling(order, n_relevant, n_irrelevant=n) for m in metrics]
            factors, place = np.stack(rescaled, axis=1), np.searchsorted(orders, order)
            # One distribution serves all samples, or each its own.
            one_for_all = masses is None or masses.shape[1] == 1
            for sample, values in enumerate(self._corrected(number, metrics, orders.tolist())):
                served = slice(None) if one_for_all else slice(sample, sample + 1)
                total[served] += counts[:, served].T @ (factors * values[x, place])
        return total / cells.n_users

    def _corrected(self, number: int, metrics: Metrics, orders: Sequence[int]) -> Iterator[Floats]:
        """Correct values for each distribution: (n_negatives + 1, n_orders, n_metrics)."""
        kernel, n_users = self.cells.kernels[number], self.cells.n_users
        if self.masses is None and list(orders) == [1]:
            yield _uniformly_corrected(self.estimator, astuple(kernel), n_users, tuple(metrics))
            return
        weights = kernel.nodes.weights[:, np.newaxis]
        masses = weights if self.masses is None else self.masses
        yield from _corrected(self.estimator, kernel, masses, n_users, metrics, orders)

    def corrected(self, names: Sequence[str | RankMetric], *, order: int = 1) -> Floats:
        """Give the corrected values v(1), v(2), ... of metrics: (n_negatives + 1, n_metrics).

        They are for relevant item number ``order`` of users with as many, from the first sample;
        they may be negative or above 1, as only their mean over users is a metric.
        """
        if not self.estimator.is_linear:
            raise InputError(f"{self.estimator} does not correct values one by one.")
        return next(self._corrected(0, self._checked(names), [order]))[:, 0]

    def bootstrap(self, replicates: int, *, seed: int) -> Fits:
        """Resample users and repeat the whole fit; estimates have one value a replicate."""
        return Fits(self.estimator, self.cells.resampled(replicates, seed=seed), self.true)

    def _checked(self, names: Sequence[str | RankMetric]) -> Metrics:
        metrics, nodes = [rank_metric(name) for name in names], self.cells.nodes
        largest = max((metric.cutoff or 0 for metric in metrics), default=0)
        sums_ranks = self.estimator.name not in ("uncorrected", "rank-estimate")
        if sums_ranks and len(nodes) > nodes.head < largest:
            raise InputError(
                f"cut-offs on the grid must be at most {nodes.head}, got {largest}; "
                'fit with path="full" for it.'
            )
        return metrics


def path_for(metrics: Metrics) -> str:
    """Choose the grid, unless a cut-off lies below its head."""
    return "grid" if max(metric.cutoff or 0 for metric in metrics) <= HEAD else "full"


def _corrected(
    estimator: Estimator,
    kernel: Kernel,
    masses: Floats,
    n_users: int,
    metrics: Metrics,
    orders: Sequence[int],
) -> Iterator[Floats]:
    scores = partial(_scores, metrics=metrics, orders=orders)
    exact = cache(partial(scores, kernel.nodes.above, kernel.nodes.n_irrelevant))
    for mass in (masses / masses.sum(axis=0)).T:
        at = Equations(kernel, mass, scores, exact, n_users)
        yield estimator.correct(at).reshape(-1, len(orders), len(metrics))


@lru_cache(maxsize=128)
def _uniformly_corrected(
    estimator: Estimator, kernel: tuple[Any, ...], n_users: int, metrics: tuple[RankMetric, ...]
) -> Floats:
    """Correct values for the uniform prior, the same for all systems: (n_negatives + 1, 1, n)."""
    here = Kernel(*kernel)
    masses = here.nodes.weights[:, np.newaxis]
    return next(_corrected(estimator, here, masses, n_users, metrics, [1]))


def _scores(
    above: ArrayLike, n_irrelevant: int, *, metrics: Metrics, orders: Sequence[int]
) -> Floats:
    ranks = np.asarray(above, dtype=np.float64)
    columns = [
        metric.summands(ranks + j, n=n_irrelevant + j, order=j, n_relevant=j)
        for j in orders
        for metric in metrics
    ]
    return np.stack(columns, axis=1)


WRITTEN = re.compile(r"\s*([A-Za-z_-]+)\s*(?:\((.*)\))?\s*")
GONE = {
    "ls": "least squares cannot be computed from more than a few dozen negatives, and its "
    "estimator `ls` is gone: use cls or bv(gamma=0.01)"
}
RULES: Mapping[str, str] = {
    "mode": "floor, round or linear",
    "denominator": "m or m+1",
    "nonnegative": "true or false",
    "gamma": "a number above 0 and at most 1",
    "prior": "uniform, mle, mle@100 or mes, one of the last three after pooled:, or true",
    "iters": "a whole number from 1",
    "eta": "a number above 0",
    "scale": "m+1 or a number above 0",
    "weights": "empirical or uniform",
}
"""What the value of each option must be."""


def find_estimator(text: str | Estimator) -> Estimator:
    """Read an estimator: ``bv(gamma=0.1)``, or the printed form ``BV(gamma=0.1,prior=uniform)``.

    Raises
    ------
    InputError
        If there is no such estimator or option, or a value is out of range.

    Examples
    --------
    >>> print(find_estimator("rank-estimate(denominator=m+1)"))
    RankEstimate(mode=floor,denominator=m+1)
    """
    if isinstance(text, Estimator):
        return text
    found = WRITTEN.fullmatch(text)
    if found is None:
        raise InputError(f"{text!r} is no estimator: it is written NAME or NAME(option=value).")
    folded = found[1].lower().replace("-", "").replace("_", "")
    known = {form: name for name in KINDS for form in (name.replace("-", ""), _label(name))}
    if folded not in known or found[1].lower() in GONE:
        gone = GONE.get(found[1].lower())
        hint = gone or f"no estimator is called {found[1]!r}; {nearest_name(found[1], [*KINDS])}"
        raise InputError(hint if hint.endswith(("?", ".")) else f"{hint}.")
    name = known[folded]
    options, given = dict(KINDS[name].options), (found[2] or "").split(",")
    for part in filter(str.strip, given):
        option, _, value = (piece.strip() for piece in part.partition("="))
        if option not in options:
            every = ", ".join(options) or "none"
            raise InputError(f"{KINDS[name].label} has no option {option!r}; its options: {every}.")
        try:
            options[option] = _read(option, value)
        except (KeyError, ValueError):
            raise InputError(f"`{option}` must be {RULES[option]}, got {value!r}.") from None
    for option, value in options.items():
        if value is REQUIRED:
            raise InputError(f"{name} needs the option `{option}`, as {name}({option}=0.1).")
    return Estimator(name, tuple(options.items()))


def _label(name: str) -> str:
    return KINDS[name].label.lower()


def _read(option: str, text: str) -> Any:
    match option:
        case "nonnegative":
            return {"true": True, "false": False}[text.lower()]
        case "prior" if PRIOR.fullmatch(text):
            return f"{text}@100" if text.endswith("mle") else text
        case "mode" | "denominator" | "weights" if text in re.split(", | or ", RULES[option]):
            return text
        case "scale" if text == "m+1":
            return text
        case "iters" if int(text) >= 1:
            return int(text)
        case "gamma" if 0 < float(text) <= 1:
            if float(text) < LEAST_GAMMA:
                said = f"`gamma` of {text} hardly limits the variance of the estimate."
                warnings.warn(said, InputWarning, stacklevel=4)
            return float(text)
        case "eta" | "scale" if 0 < float(text) < float("inf"):
            return float(text)
    raise ValueError(text)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def read_estimators(names: Sequence[str | Estimator]) -> tuple[Estimator, ...]:
    """Read different estimators."""
    return distinct([find_estimator(name) for name in names], "estimator")
