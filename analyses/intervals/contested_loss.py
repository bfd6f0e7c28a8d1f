"""Contested pairs of systems that keep their order when judgements are lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analyses.intervals.areas import area, lossy_levels
from analyses.intervals.block_resampling import Resampling
from analyses.intervals.resampling import mark_runs
from analyses.ordering import DECIMALS
from analyses.shared.contested_pairs import ContestedPairs
from analyses.shared.contested_shares import ContestedShares, shares_in_order
from analyses.shared.families import N_CROSSED, SubsetValues
from analyses.shared.work import Work
from runs.shared.arrays import Floats, Masks


@dataclass(frozen=True, eq=False)
class KeptShares:
    """Shares of pairs of systems that keep their order, by candidate measure.

    The last axis, of all arrays, has samples of the judgements, or levels of loss. A tied pair
    counts half.

    Parameters
    ----------
    contested, within_reach
        Of the contested pairs, and of all pairs within reach, by all users: (n_candidates, n).
    replicates
        Of the contested pairs, by resampled users: (n_candidates, n_replicates, n).
    within
        Of the contested pairs in subsets of the systems: (n_candidates, n_subsets, n).
    crossed
        The same by resampled users: (n_candidates, n_resamples, n_subsets, n).
    """

    contested: Floats
    within_reach: Floats
    replicates: Floats
    within: Floats
    crossed: Floats

    def transformed(self, transform: Callable[[Floats], Floats]) -> KeptShares:
        """Apply a function to all arrays."""
        return KeptShares(
            contested=transform(self.contested),
            within_reach=transform(self.within_reach),
            replicates=transform(self.replicates),
            within=transform(self.within),
            crossed=transform(self.crossed),
        )

    @classmethod
    def stacked(cls, by_level: Sequence[KeptShares]) -> KeptShares:
        """Put shares of levels, without a last axis, together: the levels become the last axis."""
        contested = np.stack([level.contested for level in by_level], axis=-1)
        within_reach = np.stack([level.within_reach for level in by_level], axis=-1)
        replicates = np.stack([level.replicates for level in by_level], axis=-1)
        within = np.stack([level.within for level in by_level], axis=-1)
        crossed = np.stack([level.crossed for level in by_level], axis=-1)
        return cls(
            contested=contested,
            within_reach=within_reach,
            replicates=replicates,
            within=within,
            crossed=crossed,
        )


@dataclass(frozen=True, eq=False)
class ContestedComparison:
    """Compares the order of pairs of systems on samples of the judgements with that on all.

    Parameters
    ----------
    pairs
        The contested pairs, and the candidate measures.
    candidate_indices
        Positions of the candidates among all measures.
    resampling
        The blocks of users, and how replicates draw them and the runs of systems.
    observed
        The same with every block, and every run, once: one replicate.
    subsets
        Random subsets of the systems, of shape (n_subsets, n_systems).
    n_families
        Number of families of the systems.
    """

    pairs: ContestedPairs
    candidate_indices: Sequence[int]
    resampling: Resampling
    observed: Resampling
    subsets: Masks
    n_families: int

    @classmethod
    def of(cls, work: Work, resampling: Resampling) -> ContestedComparison:
        """Take the contested pairs and the families of a study.

        In ``observed``, every block of users, and every run of a system, counts once.
        """
        pairs = work.contested
        runs = work.scores.runs
        once_each = None if runs is None else mark_runs(runs.systems)[np.newaxis].astype(float)
        n_blocks = resampling.weights.shape[1]
        candidate_indices = work.scores.measures.indices(pairs.measures)
        observed = replace(resampling, weights=np.ones((1, n_blocks)), runs=once_each)
        subsets = work.families.subsets(seed=work.seed)
        return cls(
            pairs=pairs,
            candidate_indices=candidate_indices,
            resampling=resampling,
            observed=observed,
            subsets=subsets,
            n_families=work.families.n_families,
        )

    def compare(self, sums: Floats, reference: Floats) -> KeptShares:
        """Compute shares of pairs that samples order as the reference, all judgements, does.

        Pairs are the contested ones and those within reach (see `KeptShares`), by all users, by
        resampled users, and in subsets of the systems; ``crossed`` has the first 20 (`N_CROSSED`)
        replicates and subsets. The last axis of all shares is that of the samples; the first is
        empty without a candidate measure.

        Parameters
        ----------
        sums
            Sums of scores over blocks of users, of shape (n_measures, n_blocks, n_systems,
            n_samples); with several runs of a system, a row for each run in place of systems.
        reference
            The same by all judgements, of shape (n_measures, n_blocks, n_systems).
        """
        # Marks of pairs, of shapes (n_subsets, n_pairs) and (1, n_pairs).
        contested_in_subsets = self.pairs.within(self.subsets)
        contested = self.pairs.is_contested[np.newaxis]
        within_reach = self.pairs.is_pair_within_reach[np.newaxis]
        sets = np.concatenate([contested, within_reach, contested_in_subsets])
        observed = []
        replicates = []
        crossed = []
        for measure in self.candidate_indices:
            sums_of_measure = sums[measure]
            of_reference = reference[measure]
            all_users = _Totals.of(self.observed, sums_of_measure, of_reference)
            # Shares have the shape (n_replicates, n_sets, n_samples).
            observed.append(all_users.shares(sets)[0])
            resampled = _Totals.of(self.resampling, sums_of_measure, of_reference)
            replicates.append(resampled.shares(contested)[:, 0])
            first_subsets = contested_in_subsets[:N_CROSSED]
            crossed.append(resampled.first(N_CROSSED).shares(first_subsets))
        # Without a candidate, arrays of no rows.
        n_samples = sums.shape[-1]
        n_replicates = len(self.resampling.weights)
        n_crossed = min(N_CROSSED, n_replicates)
        n_subsets = len(self.subsets)
        observed_shares = _stacked(observed, (2 + n_subsets, n_samples))
        within = observed_shares[:, 2:]
        return KeptShares(
            contested=observed_shares[:, 0],
            within_reach=observed_shares[:, 1],
            replicates=_stacked(replicates, (n_replicates, n_samples)),
            within=within,
            crossed=_stacked(crossed, (n_crossed, min(N_CROSSED, n_subsets), n_samples)),
        )

    def over_levels(self, levels: Sequence[float], kept: KeptShares) -> ContestedShares | None:
        """Average shares over the levels of loss, by the area under their curves.

        None without a level at which judgements are lost.

        Parameters
        ----------
        levels
            Shares of the judgements, or of items, that are kept: the last axis of ``kept``.
        kept
            The shares at each level.
        """
        if not lossy_levels(levels):
            return None
        means = kept.transformed(lambda shares: area(levels, shares))
        within = SubsetValues(self.n_families, values=means.within, crossed=means.crossed)
        return ContestedShares(
            pairs=self.pairs,
            shares=means.contested,
            shares_within_reach=means.within_reach,
            replicates=means.replicates,
            draws=self.resampling.draws(),
            within=within,
        )


@dataclass(frozen=True, eq=False)
class _Totals:
    """Scores of the systems by one measure, added up over the users of each replicate.

    Parameters
    ----------
    samples, references
        Whole numbers of units, of shapes (n_replicates, n_systems, n_samples) and (n_replicates,
        n_systems): by samples of the judgements, and by all.
    unit
        The unit of means over users.
    """

    samples: Floats
    references: Floats
    unit: float

    @classmethod
    def of(cls, resampling: Resampling, sums: Floats, reference: Floats) -> _Totals:
        """Add up sums over blocks, of shapes (n_blocks, n_systems, n_samples) and without samples.

        With several runs of a system, they have a row for each run in place of each system.
        """
        samples, references, unit = resampling.totals(sums, reference)
        return cls(samples, references, unit)

    def first(self, n_replicates: int) -> _Totals:
        """Select the first replicates; all, if there are fewer."""
        return _Totals(self.samples[:n_replicates], self.references[:n_replicates], self.unit)

    def shares(self, sets: Masks) -> Floats:
        """Compute the share of pairs of each set, (n_sets, n_pairs), that keep their order.

        The result has the shape (n_replicates, n_sets, n_samples).
        """
        scale = self.unit * 10.0**DECIMALS
        return shares_in_order(self.samples, self.references, sets, scale=scale)


def _stacked(arrays: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
    """Put arrays of one shape together; without any, make an array of no rows."""
    return np.stack(arrays) if arrays else np.empty((0, *shape))
