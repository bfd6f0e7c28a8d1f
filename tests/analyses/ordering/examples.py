"""The example of ircor, and orderings with many ties for hypothesis."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

X = np.array([0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94])
Y = np.array([0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94])
X_TIED = np.round(5 * X) / 5
Y_TIED = np.round(5 * Y) / 5

TIED_PAIRS = arrays(np.float64, (2, 7), elements=st.integers(0, 4).map(float))
PERMUTATIONS = st.permutations(range(7)).map(lambda order: np.array(order, dtype=np.float64))
