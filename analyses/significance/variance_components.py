"""What scores vary by: systems, users, and what a user finds better in one system than others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtri

from analyses.significance.permutation.exact import ROUNDING


@dataclass(frozen=True, eq=False)
class Components:
    r"""Variance components of the users x systems tables, and how reliable means are.

    Systems and users are taken as samples of many; arrays are of shape (n_measures,).

    Parameters
    ----------
    systems, users, interaction
        Variances of score = mean + system + user + interaction, of which the last has all that is
        left; estimates below 0 are 0.
    relative
        :math:`E\rho^2 = \sigma_s^2 / (\sigma_s^2 + \sigma_e^2 / n)`: how reliable the differences
        between systems are.
    relative_low, relative_high
        Limits of its 95 % interval (Feldt 1965), exact for normal scores.
    absolute
        :math:`\Phi = \sigma_s^2 / (\sigma_s^2 + (\sigma_u^2 + \sigma_e^2) / n)`: how reliable the
        means themselves are.
    """

    systems: NDArray[np.float64]
    users: NDArray[np.float64]
    interaction: NDArray[np.float64]
    relative: NDArray[np.float64]
    relative_low: NDArray[np.float64]
    relative_high: NDArray[np.float64]
    absolute: NDArray[np.float64]

    def users_for(self, reliability: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Give the users that make :math:`E\rho^2` and :math:`\Phi` so high; infinite if none."""
        odds = reliability / (1 - reliability)
        noises = self.interaction, self.users + self.interaction
        first, second = (
            np.where(self.systems > 0, _rounded_up(odds * _ratio(noise, self.systems)), np.inf)
            for noise in noises
        )
        return first, second

    @property
    def shares(self) -> NDArray[np.float64]:
        """Of the whole variance: systems, users, interaction, (n_measures, 3)."""
        parts = np.stack([self.systems, self.users, self.interaction], axis=1)
        return np.asarray(_ratio(parts, parts.sum(axis=1, keepdims=True)))


def variance_components(values: NDArray[np.float64], *, level: float = 0.95) -> Components:
    """Take scores (n_measures, n_systems, n_users) apart by the analysis of variance.

    There are two systems and two users at least.

    Brennan (2001), Generalizability Theory; Urbano, Marrero & Martín (2013), On the measurement of
    test collection reliability; Feldt (1965), The approximate sampling distribution of
    Kuder-Richardson reliability coefficient twenty.
    """
    _, n_systems, n_users = values.shape
    by_system, by_user = values.mean(axis=2), values.mean(axis=1)
    left = (
        values
        - by_system[:, :, None]
        - by_user[:, None, :]
        + values.mean(axis=(1, 2))[:, None, None]
    )
    freedom = n_systems - 1, (n_systems - 1) * (n_users - 1)
    least = n_users * n_systems * (ROUNDING * np.abs(values).max(axis=(1, 2))) ** 2
    of_systems, of_users, noise = (
        np.where(squares > least, squares, 0.0)
        for squares in (
            n_users * by_system.var(axis=1, ddof=1),
            n_systems * by_user.var(axis=1, ddof=1),
            (left**2).sum(axis=(1, 2)) / freedom[1],
        )
    )
    systems = np.maximum(of_systems - noise, 0.0) / n_users
    users = np.maximum(of_users - noise, 0.0) / n_systems
    tails = (1 + level) / 2, (1 - level) / 2
    low, high = (1 - fdtri(*freedom, tail) * _ratio(noise, of_systems) for tail in tails)
    return Components(
        systems=systems,
        users=users,
        interaction=noise,
        relative=_reliability(systems, noise / n_users),
        relative_low=np.maximum(low, 0.0),
        relative_high=np.maximum(high, 0.0),
        absolute=_reliability(systems, (users + noise) / n_users),
    )


def _reliability(systems: NDArray[np.float64], noise: NDArray[np.float64]) -> NDArray[np.float64]:
    return _ratio(systems, systems + noise)


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide; by nothing, what is positive gives infinity, and nothing is unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above / below)


def _rounded_up(users: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round up to whole users, one at least; what is a rounding error above one is that."""
    return np.maximum(np.ceil(users - 1e-9), 1.0)
