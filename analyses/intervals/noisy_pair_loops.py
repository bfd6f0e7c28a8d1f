"""Two measures' true means behind noise: compiled loops over the axes on which noise is apart.

On every axis true values and noise are normal about 0; ``noise`` are the variances of the noise of
either measure, and their covariance; no determinant of both together is below ``least``.
"""

from __future__ import annotations

import math

import numpy as np

from runs.shared.arrays import Floats
from runs.shared.compiled import jit

Noise = tuple[Floats, Floats, Floats]

TOGETHER = 8
"""Determinants whose product has one logarithm: that of more may be too small for a number."""

as_numpy = jit(error_model="numpy")


@as_numpy
def log_likelihoods(
    spreads_a: Floats,
    spreads_b: Floats,
    relations: Floats,
    values: Floats,
    noise: Noise,
    least: float,
) -> Floats:
    """Say how likely every two spreads of true values, and a correlation, make values (2, n_axes).

    The result: log likelihoods up to a constant, of shape (n_spreads_a, n_spreads_b, n_relations),
    where the angle whose cosine is the correlation is even before.
    """
    n_aa, n_bb, n_ab = noise
    found = np.empty((len(spreads_a), len(spreads_b), len(relations)))
    for i, a in enumerate(spreads_a):
        for j, b in enumerate(spreads_b):
            for k, relation in enumerate(relations):
                total, product = -math.log(1.0 - relation * relation), 1.0
                for axis in range(values.shape[1]):
                    y_a, y_b = values[0, axis], values[1, axis]
                    v_aa, v_bb = a * a + n_aa[axis], b * b + n_bb[axis]
                    v_ab = a * b * relation + n_ab[axis]
                    det = max(v_aa * v_bb - v_ab * v_ab, least)
                    total += (v_bb * y_a * y_a - 2.0 * v_ab * y_a * y_b + v_aa * y_b * y_b) / det
                    product *= det
                    if axis % TOGETHER == 0:
                        total += math.log(product)
                        product = 1.0
                found[i, j, k] = -0.5 * (total + math.log(product))
    return found


@as_numpy
def conditional_draws(
    spreads: tuple[Floats, Floats, Floats],
    normals: Floats,
    noises: Floats,
    values: Floats,
    noise: Noise,
    least: float,
) -> Floats:
    """Draw true values that, with noise, are the values (2, n_axes): Matheron's rule.

    The result: of shape (2, n_axes, n_draws).
    """
    spreads_a, spreads_b, relations = spreads
    n_aa, n_bb, n_ab = noise
    drawn = np.empty(noises.shape)
    for axis in range(noises.shape[1]):
        for n in range(noises.shape[2]):
            s_a, s_b, relation = spreads_a[n], spreads_b[n], relations[n]
            rest = math.sqrt(1.0 - relation * relation)
            a = s_a * normals[0, axis, n]
            b = s_b * (relation * normals[0, axis, n] + rest * normals[1, axis, n])
            left_a = values[0, axis] - a - noises[0, axis, n]
            left_b = values[1, axis] - b - noises[1, axis, n]
            shared = s_a * s_b * relation
            v_aa, v_bb = s_a * s_a + n_aa[axis], s_b * s_b + n_bb[axis]
            v_ab = shared + n_ab[axis]
            det = max(v_aa * v_bb - v_ab * v_ab, least)
            x_a = (v_bb * left_a - v_ab * left_b) / det
            x_b = (v_aa * left_b - v_ab * left_a) / det
            drawn[0, axis, n] = a + s_a * s_a * x_a + shared * x_b
            drawn[1, axis, n] = b + shared * x_a + s_b * s_b * x_b
    return drawn
