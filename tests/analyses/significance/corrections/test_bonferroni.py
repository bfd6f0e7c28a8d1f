import numpy as np
from hypothesis import given

from analyses.significance.corrections import bonferroni
from tests.analyses.corrections.references import Floats, families


@given(families)
def test_it_rejects_what_is_below_a_share_of_the_level(p: Floats) -> None:
    level, n_pairs = 0.05, p.shape[-1]
    clear = np.abs(p * n_pairs - level) > 1e-12
    np.testing.assert_array_equal((bonferroni(p) < level)[clear], (p < level / n_pairs)[clear])
