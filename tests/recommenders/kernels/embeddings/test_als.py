"""Vectors of items by the package implicit."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from recommenders.kernels.embeddings import item_factors
from runs import InputError
from tests.embedding_example import two_tastes

needs_implicit = pytest.mark.skipif(
    find_spec("implicit") is None, reason="implicit is not installed"
)


def _confidences() -> csr_array:
    matrix = two_tastes().totals().matrix()
    matrix.data += 1
    return matrix


def _vectors(*, seed: int = 1, sweeps: int = 15, n_jobs: int = 1) -> NDArray[np.float32]:
    return item_factors(
        _confidences(), factors=3, regularization=0.5, sweeps=sweeps, seed=seed, n_jobs=n_jobs
    )


@pytest.mark.slow
@needs_implicit
def test_vectors_do_not_depend_on_threads() -> None:
    np.testing.assert_array_equal(_vectors(n_jobs=1), _vectors(n_jobs=2))


@needs_implicit
def test_another_seed_begins_elsewhere() -> None:
    assert (_vectors(seed=1, sweeps=1) != _vectors(seed=2, sweeps=1)).any()


@needs_implicit
def test_stored_values_are_the_confidences_themselves() -> None:
    """Solved exactly for users, then for items, the vectors of a fixpoint come back."""
    vectors = _vectors(sweeps=300).astype(np.float64)
    confidences = _confidences().toarray()

    def solved(fixed: NDArray[np.float64], table: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array(
            [
                np.linalg.solve(
                    (fixed.T * np.where(row > 0, row, 1)) @ fixed + 0.5 * np.eye(3),
                    fixed.T @ np.where(row > 0, row, 0),
                )
                for row in table
            ]
        )

    users = solved(vectors, confidences)
    np.testing.assert_allclose(solved(users, confidences.T), vectors, atol=2e-3)


@needs_implicit
def test_numbers_that_overflow_are_explained() -> None:
    confidences = _confidences()
    confidences.data[:] = 3e38
    with pytest.raises(InputError, match="larger `regularization`"):
        item_factors(confidences, factors=3, regularization=0.1, sweeps=3, seed=1)


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "implicit.cpu.als", None)
    with pytest.raises(InputError, match=r"harness\[online\]"):
        _vectors()
