"""Contested pairs of systems that keep their order when judgements are lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analyses.intervals.areas import area
from analyses.intervals.block_resampling import Resampling
from analyses.intervals.resampling import mark_runs
from analyses.ordering import DECIMALS
from analyses.shared.contested_pairs import ContestedPairs
from analyses.shared.contested_shares import ContestedShares, shares_in_order
from analyses.shared.families import N_CROSSED, SubsetValues
from analyses.shared.limits import TAU_FACTOR
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
        return cls(
            contested=np.stack([level.contested for level in by_level], axis=-1),
            within_reach=np.stack([level.within_reach for level in by_level], axis=-1),
            replicates=np.stack([level.replicates for level in by_level], axis=-1),
            within=np.stack([level.within for level in by_level], axis=-1),
            crossed=np.stack([level.crossed for level in by_level], axis=-1),
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
        """Take the contested pairs and the families of a study."""
        pairs = work.contested
        runs = work.scores.runs
        once_each = None if runs is None else mark_runs(runs.systems)[np.newaxis].astype(float)
        n_blocks = resampling.weights.shape[1]
        return cls(
            pairs=pairs,
            candidate_indices=work.scores.measures.indices(pairs.measures),
            resampling=resampling,
            observed=replace(resampling, weights=np.ones((1, n_blocks)), runs=once_each),
            subsets=work.families.subsets(seed=work.seed),
            n_families=work.families.n_families,
        )

    def compare(self, sums: Floats, reference: Floats) -> KeptShares:
        """Compare samples with the reference, whose last axis is then that of the samples.

        Parameters
        ----------
        sums
            Sums of scores over blocks of users, of shape (n_measures, n_blocks, n_systems,
            n_samples); with several runs of a system, a row for each run in place of systems.
        reference
            The same by all judgements, of shape (n_measures, n_blocks, n_systems).
        """
        contested_in_subsets = self.pairs.within(self.subsets)
        contested = self.pairs.is_contested[np.newaxis]
        within_reach = self.pairs.is_pair_within_reach[np.newaxis]
        sets = np.concatenate([contested, within_reach, contested_in_subsets])
        first_replicates = self.resampling.first(N_CROSSED)
        observed = self._shares(self.observed, sums, reference, sets)[:, 0]
        replicates = self._shares(self.resampling, sums, reference, contested)
        crossed = self._shares(first_replicates, sums, reference, contested_in_subsets[:N_CROSSED])
        return KeptShares(
            contested=observed[:, 0],
            within_reach=observed[:, 1],
            replicates=replicates[:, :, 0],
            within=observed[:, 2:],
            crossed=crossed,
        )

    def _shares(
        self, resampling: Resampling, sums: Floats, reference: Floats, sets: Masks
    ) -> Floats:
        """Compute the share of pairs of each set that keep their order, for every replicate.

        ``sets`` marks the pairs, of shape (n_sets, n_pairs); sums and reference are those of
        `compare`. The result: (n_candidates, n_replicates, n_sets, n_samples).
        """
        n_samples = sums.shape[-1]
        n_replicates = len(resampling.weights)
        shape = (len(self.candidate_indices), n_replicates, len(sets), n_samples)
        shares = np.empty(shape)
        for candidate, measure in enumerate(self.candidate_indices):
            samples, references, unit = resampling.totals(sums[measure], reference[measure])
            scale = unit * 10.0**DECIMALS
            shares[candidate] = shares_in_order(samples, references, sets, scale=scale)
        return shares

    def over_levels(
        self, levels: Sequence[float], kept: KeptShares, *, factor: float = TAU_FACTOR
    ) -> ContestedShares | None:
        """Average shares over the levels of loss, by the area under their curves.

        The level of all judgements, at which nothing is lost, is left out. None without another
        level.

        Parameters
        ----------
        levels
            Shares of the judgements, or of items, that are kept: the last axis of ``kept``.
        kept
            The shares at each level.
        factor
            Standard deviation over samples of users, relative to that of the replicates.
        """
        lossy = [position for position, level in enumerate(levels) if level < 1]
        if not lossy:
            return None
        lossy_levels = [levels[position] for position in lossy]
        means = kept.transformed(lambda shares: area(lossy_levels, shares[..., lossy]))
        return ContestedShares(
            pairs=self.pairs,
            shares=means.contested,
            shares_within_reach=means.within_reach,
            replicates=means.replicates,
            within=SubsetValues(self.n_families, values=means.within, crossed=means.crossed),
            factor=factor,
        )
