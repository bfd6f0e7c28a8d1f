"""Clumps: systems whose means lie closer together than those of all, as far as noise tells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

LEAST_IN_CLUMP, LEAST_BESIDE = 3, 2

TINY = 1e-14


def groupings(
    means: Floats, noise: Floats, *, n_groupings: int
) -> Iterator[tuple[tuple[Numbers, ...], Numbers]]:
    r"""Part systems into a clump and the others, or leave them together, as is likely.

    A clump is of systems next to each other in the order of both means added. Apart, m systems
    whose variance about their mean is v, and k others of variance w, gain

    .. math:: \frac12 \left((m + k) \log u - m \log v - k \log w\right)
              + m \log \frac{m}{m + k} + k \log \frac{k}{m + k}

    in log likelihood on all together, of variance u; no variance is below that of the noise. The
    best decides how likely it is that there is a clump, and each is then as likely as half of its
    gain says: noise that systems share makes gains larger than they are.

    Parameters
    ----------
    means
        Of two measures, in comparable units, of shape (2, n_systems).
    noise
        Replicates of their noise, of shape (2, n_systems, n_replicates).
    n_groupings
        Groupings to be drawn.

    Yields
    ------
    The systems of each group, and how many groupings of all drawn part them so: their numbers.

    Examples
    --------
    >>> means = np.array([[0.0, 0.1, 0.2, 5.0, 9.0, -8.0]] * 2)
    >>> ((groups, numbers),) = groupings(means, np.full((2, 6, 1), 0.01), n_groupings=3)
    >>> groups, numbers
    ((array([0, 1, 2]), array([3, 4, 5])), array([0, 1, 2]))
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
    """Give every clump of places in rising order, about 0, by its ends, and what it gains."""
    n_systems = len(places)
    starts, stops = np.triu_indices(n_systems + 1, k=LEAST_IN_CLUMP)
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
