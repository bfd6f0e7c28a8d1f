"""Small results with known numbers, and a place for them in a study folder."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analyses.correlation import Correlation
from analyses.discrimination import EFFECT_SIZES, Discrimination
from analyses.popularity import Popularity, Removal
from analyses.shared.draws import Draws
from analyses.shared.evidence import read_evidence, to_evidence
from analyses.shared.families import Families, SubsetValues
from analyses.shared.judgement_samples import Sampling
from analyses.shared.limits import NORMAL_QUANTILE, RANDOM_LOSS_FACTOR
from analyses.shared.measure import Measure, Measures
from analyses.shared.result import Result
from analyses.significance.power_samples import PowerSamples
from analyses.sparsity import Sparsity
from analyses.users import Users
from harness.report.ledger import Ledger
from harness.report.study_folder import evidence_name

Numbers = Mapping[tuple[str, int], float]
"""By metric and cut-off."""

N_REPLICATES = 200


def keep(folder: Path, key: str, result: Result) -> None:
    """Put a result into a study folder, in place of the one there, and enter it in the ledger."""
    name, content, ledger = evidence_name(key), to_evidence(result), Ledger(folder)
    (folder / name).write_bytes(content)
    for part in ledger.list_parts():
        entry = ledger.entry(part)
        if entry is not None and name in entry.files:
            entry.files[name] = sha256(content).hexdigest()
            ledger.write_entry(part, entry)


def measures_of(numbers: Numbers) -> Measures:
    """Give the measures that have a number."""
    return Measures([Measure(metric, cutoff) for metric, cutoff in numbers])


def sparsity_of(areas: Numbers, *, margin: float = 0.0, apart: float = 0.0) -> Sparsity:
    """Give flat curves: the tau at every level is the area.

    Parameters
    ----------
    areas
        Areas under the curves.
    margin
        Intervals reach as far on both sides, but for their scale, the arcsine; 0: there are none.
    apart
        So far reach intervals of the differences from the first.
    """
    return Sparsity(
        measures=measures_of(areas),
        levels=(1.0, 0.5),
        taus=_curves(areas)[:, :, None],
        coefficients={},
        replicates=_replicates(areas, margin / RANDOM_LOSS_FACTOR, apart / RANDOM_LOSS_FACTOR),
        within=SubsetValues(3, np.empty((len(areas), 0))),
        contested=None,
        without_relevant=np.zeros(2),
        n_kept=np.array([10.0, 5.0]),
        loss="random loss of judgements",
        drawing=Sampling().in_words(),
        mode="all",
        families=Families(np.arange(3)),
        n_users=60,
        n_judgements=10,
    )


def popularity_of(areas: Numbers, *, margin: float = 0.0) -> Popularity:
    """Give flat curves, as `sparsity_of` does."""
    return Popularity(
        measures=measures_of(areas),
        levels=(1.0, 0.5),
        orders=1,
        chosen=Removal(
            cut="items",
            removed="most popular",
            counted_in="train",
            taus=_curves(areas),
            deviations=np.zeros((len(areas), 2)),
            coefficients={},
            replicates=_replicates(areas, margin, 0.0),
            within=SubsetValues(3, np.empty((len(areas), 0))),
            contested=None,
            n_kept=np.array([10.0, 5.0]),
        ),
        checks=(),
        n_items=80,
        families=Families(np.arange(3)),
        n_users=60,
    )


def _curves(areas: Numbers) -> NDArray[np.float64]:
    return np.repeat(np.array([*areas.values()])[:, None], 2, axis=1)


def _replicates(areas: Numbers, margin: float, apart: float) -> NDArray[np.float64]:
    """Let all curves move together, and the first against the others."""
    if margin == 0:
        return np.empty((len(areas), 2, 0))
    common = np.resize([1.0, 1.0, -1.0, -1.0], N_REPLICATES)
    against = np.resize([1.0, -1.0], N_REPLICATES)
    sides = np.where(np.arange(len(areas)) == 0, 1.0, -1.0)
    moved = (margin - apart / 2) * common + apart / 2 * sides[:, None] * against
    angles = np.arcsin([*areas.values()])[:, None]
    deviations = moved * np.sqrt(1 - 1 / N_REPLICATES) / NORMAL_QUANTILE
    replicates = np.sin(angles + deviations / np.cos(angles))
    return np.repeat(replicates[:, None, :], 2, axis=1)


def discrimination_of(p: Mapping[tuple[str, int], Sequence[float]]) -> Discrimination:
    """Give the p-values of all pairs, 1, 3, 6 and so on; there are no intervals."""
    values = np.array([*p.values()])
    n_systems = next(n for n in range(100) if n * (n - 1) // 2 == values.shape[1])
    unknown = np.full(values.shape, np.nan)
    return Discrimination(
        measures=measures_of(dict.fromkeys(p, 0.0)),
        systems=tuple(f"s{number}" for number in range(n_systems)),
        families=Families(np.arange(n_systems)),
        contested=None,
        differences=np.zeros(values.shape),
        effects=dict.fromkeys(EFFECT_SIZES, unknown),
        p=values,
        mid_p=values,
        methods=np.full(values.shape, "exact"),
        required=unknown,
        p_adjusted=None,
        n_scoring_users=None,
        samples=PowerSamples(
            powers=np.empty((len(values), 0)),
            mid_powers=np.empty((len(values), 0)),
            crossed=np.empty((len(values), 0, 0)),
            n_significant=np.empty((len(values), 0, 0)),
            draws=Draws.of(np.empty((0, 0))),
            curve_low=unknown,
            curve_high=unknown,
        ),
        n_users=60,
        test="exact",
        correction="none",
        alpha=0.05,
        permutations=0,
        seed=3,
        baseline=(),
    )


def correlation_of(taus: Mapping[tuple[str, str], float], *, cutoff: int = 20) -> Correlation:
    """Give the agreement of pairs of metrics, the same in both directions."""
    metrics = list(dict.fromkeys(metric for pair in taus for metric in pair))
    values = np.eye(len(metrics))
    for (first, second), tau in taus.items():
        a, b = metrics.index(first), metrics.index(second)
        values[a, b] = values[b, a] = tau
    return Correlation(
        measures=Measures([Measure(metric, cutoff) for metric in metrics]),
        systems=("a", "b", "c"),
        values={"tau-b": values},
        coefficient="tau-b",
        low=np.full(values.shape, np.nan),
        high=np.full(values.shape, np.nan),
    )


def users_of(taus: Mapping[int, float]) -> Users:
    """Give the agreement of one measure by the number of users."""
    measures = Measures([Measure("P", 20)])
    values = np.array([*taus.values()])[None, :, None]
    return Users(
        measures=measures,
        sizes=tuple(taus),
        taus=values,
        half_taus=values[:, 0],
        half_replicates=np.empty((1, 0)),
        coefficients={},
        tested=measures.reported,
        dp=np.ones(values.shape),
        significant=np.zeros(values.shape),
        median_p=np.ones(values.shape),
        n_systems=3,
        permutations=99,
    )


def choose_coefficient(folder: Path, name: str) -> None:
    """Let a study have chosen another coefficient for the agreement of its metrics."""
    found = read_evidence(folder / evidence_name("correlation"), Correlation)
    keep(folder, "correlation", replace(found, coefficient=name))
