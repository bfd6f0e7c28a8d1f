"""Populations of users behind the means of systems, which samples of users estimate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from analyses.intervals.resampling import POPULATIONS, percentiles, random_halves
from runs.shared.arrays import Floats, Numbers
from runs.shared.parallel import single_threaded

LEAST_IN_CLUSTER, LEAST_BESIDE = 3, 2
LEAST_FOR_SLOPE, STRAIGHT, STEEPEST = 4, 1e-6, 3.0
"""Systems from which the slope of noise is told, and its least and largest logarithm."""

TINY = 1e-14


def groupings(
    means: Floats, noise: Floats, *, n_groupings: int
) -> Iterator[tuple[tuple[Numbers, ...], Numbers]]:
    r"""Part systems into a cluster and the others, or leave them together, as is likely.

    A cluster is of systems next to each other in the order of both means added. Apart, m systems
    whose variance about their mean is v, and k others of variance w, gain

    .. math:: \frac12 \left((m + k) \log u - m \log v - k \log w\right)
              + m \log \frac{m}{m + k} + k \log \frac{k}{m + k}

    in log likelihood on all together, of variance u; no variance is below that of the noise. The
    best decides how likely it is that there is a cluster, and each is then as likely as half of its
    gain says: noise that systems share makes gains larger than they are.

    Yields
    ------
    The systems of each group, and how many groupings of all drawn part them so: their numbers.
    """
    n_systems = means.shape[1]
    sign = 1.0 if (means[0] * means[1]).sum() >= 0 else -1.0
    places, least = means[0] + sign * means[1], ((noise[0] + sign * noise[1]) ** 2).mean()
    order = np.argsort(places, kind="stable")
    starts, stops, gains = _gains(places[order] - places.mean(), max(float(least), TINY))
    best = gains.max(initial=-np.inf)
    shares = np.exp((gains - best) / 2)
    together = 1 / (1 + np.exp(min(best, 700.0)))
    chances = np.append(together, (1 - together) * shares / max(shares.sum(), 1.0))
    middles = (np.arange(n_groupings) + 0.5) / n_groupings
    drawn = np.searchsorted(np.cumsum(chances), middles * chances.sum())
    for number in np.unique(drawn):
        inside = np.zeros(n_systems, dtype=np.bool_)
        if number > 0:
            inside[order[starts[number - 1] : stops[number - 1]]] = True
        groups = (np.flatnonzero(inside), np.flatnonzero(~inside))
        yield tuple(group for group in groups if len(group)), np.flatnonzero(drawn == number)


def _gains(places: Floats, least: float) -> tuple[Numbers, Numbers, Floats]:
    """Give every cluster of places in rising order, about 0, by its ends, and what it gains."""
    n_systems = len(places)
    starts, stops = np.triu_indices(n_systems + 1, k=LEAST_IN_CLUSTER)
    some = n_systems - (stops - starts) >= LEAST_BESIDE
    starts, stops = starts[some], stops[some]
    size, rest = stops - starts, n_systems - (stops - starts)
    sums, squares = (np.append(0.0, np.cumsum(places**power)) for power in (1, 2))
    total, square = sums[stops] - sums[starts], squares[stops] - squares[starts]
    inside = np.maximum((square - total**2 / size) / size, least)
    outside = np.maximum((squares[-1] - square - total**2 / rest) / rest, least)
    together = max(squares[-1] / n_systems, least)
    gains = (
        0.5 * (n_systems * np.log(together) - size * np.log(inside) - rest * np.log(outside))
        + size * np.log(size / n_systems)
        + rest * np.log(rest / n_systems)
    )
    closer = inside < outside
    return starts[closer], stops[closer], gains[closer]


SPREADS = np.array([0.03, 0.15, 0.3, 0.5, 0.7, 0.9, 1.1, 1.4, 1.9])
"""Standard deviations of true means that are tried, in those of the means."""

LEAST_LIKELY = 8.0
"""Spreads are left out that are so much less likely than the best, as a logarithm."""

RELATIONS = np.tanh(np.linspace(-5.6, 5.6, 29))
"""Correlations of two measures' true means that are tried, evenly in Fisher's z."""

EDGE = 0.08
"""Share of the draws that is of the highest, and of the lowest, correlation that data allow."""

ALLOWED = 1.92
"""Half the 95 % quantile of chi-squared: log likelihood below the best that data still allow."""

N_GROUPINGS = 4
"""Ways to part the systems into a cluster and the others, among the draws of two measures."""


@dataclass(frozen=True, eq=False)
class Populations:
    r"""Draws of the systems' means over all users of the population, for two measures at a time.

    The true means of a system by two measures are taken to be normal over systems, or over those of
    a cluster and over the others where they lie so (:func:`groupings`); where systems come in
    families, between families and within them, apart. They are of
    spreads and correlation that are themselves drawn from their likelihood under the means and the
    covariance N of their noise, as resampling has it: empirical Bayes. Before, the angle whose
    cosine is the correlation is even. One draw in twenty has the highest correlation that a
    likelihood-ratio test accepts at 5 %, and one the lowest: few users cannot exclude that measures
    agree entirely, and the posterior alone nearly does. A draw is conditional (Matheron's rule)

    .. math:: \mu^* = \mu_0 + T (T + N)^{-1} (m - \mu_0 - \varepsilon) ,

    of means m, a draw :math:`\mu_0` of true means with covariance T, and the noise
    :math:`\varepsilon` of a replicate. T + N is solved in the axes of the noise, which systems
    share; as few users tell them badly, noise is in part taken to be alike in all (Ledoit & Wolf).

    Parameters
    ----------
    means
        Observed means, of shape (n_measures, n_systems).
    resampled
        Means over resampled users, of shape (n_measures, n_systems, n_replicates).
    n_users
        Number of users.
    seed
        Of the draws.
    families
        Number of the family of each system, of shape (n_systems,).

    References
    ----------
    Morris (1983), Parametric empirical Bayes inference; Ledoit & Wolf (2004), A well-conditioned
    estimator for large-dimensional covariance matrices; Journel & Huijbregts (1978), Mining
    geostatistics (conditional simulation).
    """

    means: Floats
    resampled: Floats
    n_users: int
    seed: int
    families: Numbers

    def draw(self, first: int, second: int) -> tuple[Floats, Floats]:
        """Draw the means of two measures, each of shape (n_replicates, n_systems), up to a level.

        Systems that a measure scores alike stay alike.
        """
        means, noise = self._means[[first, second]], self._noise[[first, second]]
        n_systems, n_replicates = noise.shape[1:]
        flat = noise.reshape(-1, n_replicates)
        with single_threaded("blas"):
            products = flat @ flat.T
        blocks = (products / n_replicates).reshape(2, n_systems, 2, n_systems).swapaxes(1, 2)
        drawn = np.empty(noise.shape)
        turns = np.arange(n_replicates) % N_GROUPINGS
        n_families = int(self.families.max()) + 1
        everything = (np.arange(n_systems),), np.arange(N_GROUPINGS)
        parted = (
            groupings(means, noise, n_groupings=N_GROUPINGS)
            if n_families == n_systems
            else [everything]
        )
        for groups, numbers in parted:
            some = np.flatnonzero(np.isin(turns, numbers))
            for number, group in enumerate(groups):
                own = means[:, group], blocks[:, :, group[:, None], group]
                noises, normals = (
                    each.take(group, axis=1).take(some, axis=2) for each in (noise, self._normals)
                )
                levels = own[0].mean(axis=1, keepdims=True)
                total = np.repeat((levels - noises.mean(axis=1))[:, None], len(group), axis=1)
                bases = [_contrasts(len(group))]
                if n_families < n_systems:
                    bases = self._bases
                for place, basis in enumerate(bases, start=number):
                    pair = _NoisyPair.of(*own, basis, n_draws=min(self.n_users, n_replicates))
                    total += pair.draw(
                        noises, normals, self._uniforms[place, some], self._uniforms[2, some]
                    )
                drawn[:, group[:, None], some] = total
        a, b = (
            np.ascontiguousarray(means[self._alike[measure]].T)
            for measure, means in zip((first, second), drawn, strict=True)
        )
        return a, b

    @cached_property
    def _means(self) -> Floats:
        """The means about those of all systems, in units of their spread with noise."""
        means = self._even[0]
        return (means - means.mean(axis=1, keepdims=True)) / self._units

    @cached_property
    def _noise(self) -> Floats:
        """The noise of replicates about that of all systems, in the same units."""
        means, resampled = self._even
        noise = resampled - means[:, :, None]
        noise = noise - noise.mean(axis=1, keepdims=True)
        return np.asarray(noise / self._units[:, :, None])

    @cached_property
    def _units(self) -> Floats:
        means, resampled = self._even
        spread = np.ptp(resampled, axis=(1, 2)) + np.ptp(means, axis=1)
        deviations = means.std(axis=1)
        units = np.where(deviations > TINY, deviations, np.where(spread > 0, spread, 1.0))
        return np.asarray(units[:, None], dtype=np.float64)

    @cached_property
    def _even(self) -> tuple[Floats, Floats]:
        """Means and resampled means on a scale where systems near an end are as noisy as others.

        Orderings stay as they are. Measures from 0 to 1 are turned into arcsines of their roots;
        then noise whose deviation is exp(b m) at the mean m is even on the scale -exp(-b m) / b.
        """
        is_share = ((self.means >= 0) & (self.means <= 1)).all(axis=1)
        means, resampled = self.means.copy(), self.resampled.copy()
        for each in (means, resampled):
            each[is_share] = np.arcsin(np.sqrt(np.clip(each[is_share], 0, 1)))
        noise = resampled - means[:, :, None]
        deviations = (noise - noise.mean(axis=1, keepdims=True)).std(axis=2)
        for number, spread in enumerate(np.ptp(means, axis=1)):
            own, is_noisy = means[number], deviations[number] > TINY
            if is_noisy.sum() < LEAST_FOR_SLOPE or np.ptp(own[is_noisy]) <= TINY:
                continue
            slope = np.polyfit(own[is_noisy], np.log(deviations[number, is_noisy]), 1)[0] * spread
            slope, middle = np.clip(slope, -STEEPEST, STEEPEST) / spread, own.mean()
            if abs(slope * spread) > STRAIGHT:
                for each in (means, resampled):
                    each[number] = -np.expm1(-slope * (each[number] - middle)) / slope
        return means, resampled

    @cached_property
    def _bases(self) -> list[Floats]:
        return _between_and_within(self.families)

    @cached_property
    def _alike(self) -> list[Numbers]:
        """For each measure, the first of the systems that it scores as it scores each."""
        return [
            (replicates[:, None] == replicates).all(axis=2).argmax(axis=1)
            for replicates in self.resampled
        ]

    @cached_property
    def _normals(self) -> Floats:
        """Normal numbers that all pairs share, of shape (4, n_systems, n_replicates)."""
        from scipy.special import ndtri

        _, n_systems, n_replicates = self.resampled.shape
        return np.asarray(ndtri(self._fractions[:, 3:]).T.reshape(4, n_systems, n_replicates))

    @cached_property
    def _uniforms(self) -> Floats:
        """Uniform numbers for each of two groups, and for edges: of shape (3, n_replicates)."""
        return self._fractions[:, :3].T

    @cached_property
    def _fractions(self) -> Floats:
        """Uniform numbers in (0, 1), a row for each replicate."""
        _, n_systems, n_replicates = self.resampled.shape
        halves = random_halves(
            0, n_replicates, n_halves=3 + 4 * n_systems, seed=self.seed, purpose=POPULATIONS
        )
        return np.asarray((halves + 0.5) / 2.0**32, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _NoisyPair:
    """Means of two measures, and the spread of their noise, in the axes of the noise."""

    axes: Floats
    means: Floats
    noise: tuple[Floats, Floats, Floats]
    evened: float

    @classmethod
    def of(cls, means: Floats, blocks: Floats, basis: Floats, *, n_draws: int) -> _NoisyPair:
        """Turn means (2, n_systems) and second moments of noise (2, 2, n_systems, n_systems).

        The axes span what the basis, of shape (n_systems, n_axes), spans.
        """
        blocks = basis.T @ blocks @ basis
        both = sum(
            (blocks[i, i] / max(np.trace(blocks[i, i]), TINY) for i in (0, 1)),
            start=np.zeros_like(blocks[0, 0]),
        )
        sizes, turned = np.linalg.eigh(both)
        evened = _share_of_noise(sizes, n_draws=n_draws)
        on_axes = (turned * (blocks @ turned)).sum(axis=2)
        aa, bb, ab = (
            (1 - evened) * each + evened * each.mean()
            for each in (on_axes[0, 0], on_axes[1, 1], on_axes[0, 1])
        )
        axes = basis @ turned
        return cls(axes, means @ axes, (aa, bb, ab), evened)

    def draw(self, noise: Floats, normals: Floats, uniforms: Floats, edges: Floats) -> Floats:
        """Draw true means with the noise of some replicates, on the axes.

        The result: of shape (2, n_systems, n_some).
        """
        from analyses.intervals.noisy_pair_loops import conditional_draws

        on_axes = self.axes.T @ normals
        drawn = conditional_draws(
            self._spreads(uniforms, edges),
            on_axes[:2],
            self._evened(self.axes.T @ noise, on_axes[2:]),
            self.means,
            self.noise,
            TINY,
        )
        return np.asarray(self.axes @ drawn)

    def _spreads(self, uniforms: Floats, edges: Floats) -> tuple[Floats, Floats, Floats]:
        """Draw spreads of true means by either measure, and their correlation."""
        from analyses.intervals.noisy_pair_loops import log_likelihoods

        a, b = (_likely_spreads(self.means[i], self.noise[i]) for i in (0, 1))
        likelihood = log_likelihoods(a, b, RELATIONS, self.means, self.noise, TINY)
        # Without what was more or less likely before.
        best = likelihood.max(axis=(0, 1)) - 0.5 * np.log1p(-(RELATIONS**2))
        allowed = np.flatnonzero(best >= best.max() - ALLOWED)
        drawn = _places(likelihood, uniforms)
        for edge, is_there in ((allowed[0], edges < EDGE), (allowed[-1], edges >= 1 - EDGE)):
            drawn[:2, is_there] = _places(likelihood[..., edge], uniforms[is_there])
            drawn[2, is_there] = edge
        return a[drawn[0]], b[drawn[1]], RELATIONS[drawn[2]]

    def _evened(self, noise: Floats, normals: Floats) -> Floats:
        """Even the noise of replicates out in part, on the axes."""
        aa, bb, ab = (float(each.sum()) / max(len(each), 1) for each in self.noise)
        deviation = np.sqrt(max(aa, 0.0))
        slope = ab / deviation if deviation > 0 else 0.0
        rest = np.sqrt(max(bb - slope**2, 0.0))
        even = np.stack([deviation * normals[0], slope * normals[0] + rest * normals[1]])
        return np.sqrt(1 - self.evened) * noise + np.sqrt(self.evened) * even


def _places(likelihood: Floats, uniforms: Floats) -> Numbers:
    """Draw places of an array from their log likelihood: (n_axes, n_draws)."""
    chances = np.cumsum(np.exp(likelihood - likelihood.max()))
    drawn = np.searchsorted(chances, uniforms * chances[-1])
    return np.stack(np.unravel_index(drawn, likelihood.shape))


def _likely_spreads(values: Floats, noise: Floats) -> Floats:
    """Leave out the spreads that make values of one measure unlikely, given their noise."""
    variances = SPREADS[:, None] ** 2 + noise
    likelihood = -0.5 * (np.log(variances) + values**2 / variances).sum(axis=1)
    return SPREADS[likelihood > likelihood.max() - LEAST_LIKELY]


@cache
def _contrasts(n_systems: int) -> Floats:
    """Give orthonormal contrasts of systems (Helmert), of shape (n_systems, n_systems - 1)."""
    from scipy.linalg import helmert

    return np.asarray(helmert(n_systems).T)


def _between_and_within(families: Numbers) -> list[Floats]:
    """Give orthonormal contrasts between families, and within those of several systems."""
    n_systems, n_families = len(families), int(families.max()) + 1
    members = [np.flatnonzero(families == number) for number in range(n_families)]
    shares = np.zeros((n_systems, n_families))
    within = [np.zeros((n_systems, 0))]
    for number, own in enumerate(members):
        shares[own, number] = 1.0
        inside = np.zeros((n_systems, len(own) - 1))
        inside[own] = _contrasts(len(own)) if len(own) > 1 else 0.0
        within.append(inside)
    left, sizes, _ = np.linalg.svd(shares - shares.mean(axis=0), full_matrices=False)
    between = left[:, sizes > TINY * n_systems]
    return [basis for basis in (between, np.concatenate(within, axis=1)) if basis.shape[1]]


def _share_of_noise(sizes: Floats, *, n_draws: int) -> float:
    """Tell how much of the spread of eigenvalues is chance, of a covariance of so many draws."""
    spread = ((sizes - sizes.mean()) ** 2).sum()
    chance = (sizes.sum() ** 2 + (sizes**2).sum()) / n_draws
    return float(min(1.0, chance / max(spread, TINY)))


def interval(observed: Floats, drawn: Floats) -> tuple[Floats, Floats]:
    """Give the 95 % interval of what populations have, of shape (..., n_replicates).

    It is extended to what was observed, of shape (...), where that lies without.
    """
    low, high = percentiles(drawn)
    return np.minimum(low, observed), np.maximum(high, observed)
