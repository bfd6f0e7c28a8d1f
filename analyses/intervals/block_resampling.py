"""The bootstrap of users in blocks: few sums in place of the scores of all users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analyses.intervals.resampling import mark_runs, random_blocks, resampled_users, run_weights
from analyses.intervals.systems import subset_taus
from analyses.ordering import DECIMALS
from analyses.shared.draws import Draws
from analyses.shared.exact_sums import sum_grid_exponents
from analyses.shared.families import N_CROSSED
from analyses.shared.scores import RunDeviations
from runs.shared.arrays import Floats, Masks, Numbers
from runs.shared.parallel import single_threaded

N_BLOCKS = 100
"""Blocks of users; of fewer users, each is a block.

More would say the width of a band more surely, a tenth of it with 100, at the cost of memory:
65 MB for 77 measures, 21 systems and 50 samples.
"""


@dataclass(frozen=True, eq=False)
class Resampling:
    """Users in blocks, and how often each replicate draws each block.

    Parameters
    ----------
    blocks
        The block of each user, of shape (n_users,).
    weights
        How often each replicate draws each block, of shape (n_replicates, n_blocks).
    runs
        How often each replicate counts the runs of each system, of shape (n_replicates, n_systems,
        n_runs); None where each system has one.
    """

    blocks: Numbers
    weights: Floats
    runs: Floats | None = None

    @classmethod
    def of(
        cls, n_users: int, *, replicates: int, seed: int, runs: RunDeviations | None = None
    ) -> Resampling:
        """Draw the replicates of users and runs.

        Users are put into at most `N_BLOCKS` (100) random blocks, which are drawn with replacement;
        without replicates, all users are one block. With several runs of a system, its runs are
        drawn, too, if all of them rank for every user (``runs.complete``, of shape (n_systems,));
        those of other systems count once each.
        """
        n_blocks = min(N_BLOCKS, n_users) if replicates else 1
        blocks = random_blocks(n_users, n_blocks=n_blocks, seed=seed)
        block_weights = resampled_users(0, replicates, n_users=n_blocks, seed=seed)
        if runs is None:
            return cls(blocks, block_weights)
        once_each = mark_runs(runs.systems)
        drawn_runs = run_weights(runs.systems, replicates=replicates, seed=seed)
        is_complete = runs.complete[:, np.newaxis]
        weights_of_runs = np.where(is_complete, drawn_runs, once_each)
        return cls(blocks, block_weights, weights_of_runs)

    def first(self, n_replicates: int) -> Resampling:
        """Select the first replicates; all, if there are fewer."""
        runs = None if self.runs is None else self.runs[:n_replicates]
        return replace(self, weights=self.weights[:n_replicates], runs=runs)

    def taus(self, sums: Floats, reference: Floats) -> Floats:
        """Compare samples with the reference, among the users of every replicate, by tau-b.

        Parameters
        ----------
        sums
            Sums of scores over the users of a block, of shape (n_measures, n_blocks, n_systems,
            n_samples); with several runs of a system, a row for each run in place of systems.
        reference
            The same by all judgements, of shape (n_measures, n_blocks, n_systems).

        Returns
        -------
        Kendall's tau-b of shape (n_measures, n_samples, n_replicates); NaN where all systems tie
        in a sample or by all judgements.
        """
        from analyses.ordering.loops import sample_taus

        n_measures, _, _, n_samples = sums.shape
        n_replicates = len(self.weights)
        taus = np.empty((n_measures, n_samples, n_replicates))
        with single_threaded("blas"):
            for measure in range(n_measures):
                # Totals over users in units: whole numbers, which are exact sums.
                samples, of_reference, unit = self.totals(sums[measure], reference[measure])
                # From units of means to 12 decimals (DECIMALS), to which scores are compared.
                scale = unit * 10.0**DECIMALS
                taus[measure] = sample_taus(samples, of_reference, scale).T
        return taus

    def subset_taus(
        self, sums: Floats, reference: Floats, subsets: Masks, *, measures: Sequence[int]
    ) -> Floats:
        """Compare samples with the reference among the systems of subsets, by some measures.

        The comparison is Kendall's tau-b, for the first `N_CROSSED` (20) replicates and subsets.

        Parameters
        ----------
        sums
            Sums of scores over the users of a block, of shape (n_measures, n_blocks, n_systems,
            n_samples); with several runs of a system, a row for each run in place of systems.
        reference
            The same by all judgements, of shape (n_measures, n_blocks, n_systems).
        subsets
            Which systems each subset has, of shape (n_subsets, n_systems).
        measures
            Positions of the measures, from 0.

        Returns
        -------
        Taus of shape (n_measures, n_samples, n_replicates, n_subsets), of the replicates and
        subsets that were compared; NaN by other measures, and where all systems of a subset tie.
        """
        first_subsets = subsets[:N_CROSSED]
        first_replicates = self.first(N_CROSSED)
        n_replicates = len(first_replicates.weights)
        n_subsets = len(first_subsets)
        n_measures, _, _, n_samples = sums.shape
        taus = np.full((n_measures, n_samples, n_replicates, n_subsets), np.nan)
        for measure in measures:
            # Totals over users in units: (n_replicates, n_systems, n_samples), and without samples.
            samples, of_reference, unit = first_replicates.totals(sums[measure], reference[measure])
            # Samples in the place of measures, replicates in that of samples.
            estimates = np.moveaxis(samples * unit, -1, 0)
            references = (of_reference * unit)[np.newaxis]
            taus_by_subset = subset_taus(estimates, references, first_subsets)
            taus[measure] = taus_by_subset.swapaxes(1, 2)
        return taus

    def means(self, sums: Floats) -> Floats:
        """Average sums over blocks, with the users that there are and with those of each replicate.

        ``sums`` has the shape (n_measures, n_blocks, ...), ``self.weights`` (n_replicates,
        n_blocks), the result (1 + n_replicates, n_measures, ...): means over users, those that
        there are first. Sums of replicates are exact, on a grid of powers of two.
        """
        observed = sums.sum(axis=1)[np.newaxis]
        n_replicates = len(self.weights)
        resampled = np.empty((n_replicates, *observed.shape[1:]))
        with single_threaded("blas"):
            for measure, block_sums in enumerate(sums):
                unit = _exact_unit(block_sums)
                resampled[:, measure] = self._weigh_blocks(block_sums, unit) * unit
        n_users = len(self.blocks)
        totals = np.concatenate([observed, resampled])
        return totals / n_users

    def totals(self, samples: Floats, reference: Floats) -> tuple[Floats, Floats, float]:
        """Add up the scores of one measure over the users, and runs, of each replicate.

        Sums are rounded to whole units first, so that totals are exact.

        Parameters
        ----------
        samples
            Sums over blocks, of shape (n_blocks, n_systems or n_runs, n_samples).
        reference
            The same of all judgements, of shape (n_blocks, n_systems or n_runs).

        Returns
        -------
        The totals of both, of shapes (n_replicates, n_systems, n_samples) and (n_replicates,
        n_systems), in units; and the unit: totals times the unit are means over users.
        """
        reference = reference[..., np.newaxis]
        unit = _exact_unit(samples, reference)
        sample_totals = self._weigh_runs(self._weigh_blocks(samples, unit))
        reference_totals = self._weigh_runs(self._weigh_blocks(reference, unit))
        n_users = len(self.blocks)
        return sample_totals, reference_totals[..., 0], unit / n_users

    def _weigh_blocks(self, sums: Floats, unit: float) -> Floats:
        """Add up sums over blocks, (n_blocks, ...), as often as each replicate draws a block.

        Sums are rounded to whole units, so that the result, in units, is exact: (n_replicates,
        ...). ``self.weights`` has the shape (n_replicates, n_blocks).
        """
        units = np.multiply(sums, 1 / unit)
        units = units.reshape(len(sums), -1)
        totals: Floats = self.weights @ np.rint(units, out=units)
        return totals.reshape(-1, *sums.shape[1:])

    def _weigh_runs(self, totals: Floats) -> Floats:
        """Add up the runs of systems, as often as replicates count them.

        ``totals`` has the shape (n_replicates, n_runs, n_samples), ``self.runs`` (n_replicates,
        n_systems, n_runs), the result (n_replicates, n_systems, n_samples). Where each system has
        one run (``self.runs`` is None), totals are of systems, and stay.
        """
        if self.runs is None:
            return totals
        return self.runs @ totals

    def draws(self) -> Draws:
        """Compare what replicates draw: blocks of users, and runs of systems."""
        return Draws.of(self.weights, self.runs)


def _exact_unit(*sums: Floats) -> float:
    """Compute the unit, a power of two, in which weighted sums over blocks are exact.

    It is as fine as float64 allows, for the largest size among all sums, each array of which has
    the shape (n_blocks, ...).
    """
    largest = []
    for part in sums:
        highest = part.max(initial=0.0)
        lowest = part.min(initial=0.0)
        largest.append(max(highest, -lowest))
    n_blocks = len(sums[0])
    exponent = sum_grid_exponents(np.max(largest), n_blocks)
    return float(2.0**exponent)
