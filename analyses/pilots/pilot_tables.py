"""What a pilot says, in tables with a row for each measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analyses.pilots.pilot import Pilot, of_median_pair
from analyses.shared.estimate import CONFIDENCE
from analyses.shared.table import Table, shown
from analyses.significance.in_words import between, count, percent

VERDICTS = ("different", "equivalent", "undecided")


def users_needed(found: Pilot, note: str) -> Table:
    """Tabulate the users that each measure needs, the fewest first."""
    low, high = found.interval
    columns = {
        f"{percent(found.share)} of pairs": [count(n) for n in found.needed],
        "interval": [between(*ends) for ends in zip(low, high, strict=True)],
        "as seen": [count(n) for n in of_median_pair(found.observed)],
        f"{percent(found.difference)} apart": [count(n) for n in of_median_pair(found.relative)],
        "tried": [shown(power, decimals=2) for power in found.simulated],
        "seen now": [percent(part) for part in found.detectable_shares],
    }
    order = np.argsort(found.needed, kind="stable")
    return _by_measure(found, "design", "Users needed", columns, note=note, order=order)


def reliability(found: Pilot) -> Table:
    """Tabulate variance components and what comes of them."""
    parts = found.components
    relative_users, absolute_users = parts.users_for(found.reliability)
    shares = {
        name: [percent(share) for share in column]
        for name, column in zip(("systems", "users", "rest"), parts.shares.T, strict=True)
    }
    limits = zip(parts.relative_low, parts.relative_high, strict=True)
    columns = shares | {
        "E rho²": [shown(value, decimals=3) for value in parts.relative],
        "interval": [" to ".join(shown(e, decimals=3) for e in ends) for ends in limits],
        f"for {found.reliability:g}": [count(n) for n in relative_users],
        "Phi": [shown(value, decimals=3) for value in parts.absolute],
        f"Phi {found.reliability:g}": [count(n) for n in absolute_users],
    }
    note = (
        "Variance of scores by systems, users and the rest, by analysis of variance, in "
        f"per cent; the generalizability coefficient of {found.n_users:,} users for differences "
        "between systems (E rho², with its 95 % interval; Feldt 1965) and for means as such "
        f"(Phi); and users with which they reach {found.reliability:g}. Systems count as a "
        "sample of many."
    )
    return _by_measure(found, "design_reliability", "Reliability", columns, note=note)


def halves(found: Pilot) -> Table:
    """Tabulate the agreement of halves."""
    columns = {
        "split-half": [shown(value) for value in found.halves.reliability],
        "tau of halves": [shown(value) for value in found.halves.tau],
        "swap rate": [shown(value) for value in found.halves.swap_rate],
    }
    note = (
        "Two disjoint random halves of the users: the correlation of the systems' means, "
        "stepped up to all users (Spearman and Brown); Kendall's tau-b, and the share of pairs "
        "that are swapped, between halves."
    )
    return _by_measure(found, "design_halves", "Agreement of halves", columns, note=note)


def equivalence(found: Pilot) -> Table:
    """Tabulate verdicts; without a bound there are none."""
    tested = found.equivalence
    if tested is None:
        return Table("design_equivalence", "Equivalence", "", [], [])
    verdicts = tested.verdicts(found.alpha)
    columns: dict[str, list[str]] = {"bound": [shown(bound) for bound in tested.bounds]} | {
        verdict: [f"{n:,}" for n in (verdicts == verdict).sum(axis=1)] for verdict in VERDICTS
    }
    if tested.posterior is not None:
        sure = (tested.posterior > CONFIDENCE).sum(axis=1)
        columns["P > .95: better"] = [f"{n:,}" for n in sure[:, 0] + sure[:, 2]]
        columns["P > .95: none"] = [f"{n:,}" for n in sure[:, 1]]
    note = (
        f"Of {len(found.pairs):,} pairs of systems at {found.alpha:g}: equivalent are those "
        "whose difference is surely within the bound, by two one-sided t-tests (even if it is "
        "surely not 0); different are others whose difference is surely not 0. No correction "
        "is made for many pairs."
    )
    return _by_measure(found, "design_equivalence", "Equivalence", columns, note=note)


def _by_measure(
    found: Pilot,
    name: str,
    title: str,
    columns: Mapping[str, Sequence[str]],
    *,
    note: str,
    order: NDArray[np.intp] | None = None,
) -> Table:
    """Lay columns out with a row for each measure."""
    rows = list(zip(map(str, found.measures), *columns.values(), strict=True))
    chosen = rows if order is None else [rows[n] for n in order]
    return Table(name, title, note, ["measure", *columns], chosen)
