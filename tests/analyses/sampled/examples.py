"""The example lists of Krichene & Rendle: ranks of five users among 10,000 candidates."""

from qrels import FullRanks

N = 10_000
SYSTEMS = {
    "A": FullRanks.of([100] * 5, n_candidates=N),
    "B": FullRanks.of([40, 40, 8437, 9266, 4482], n_candidates=N),
    "C": FullRanks.of([212, 2, 743, 5342, 1548], n_candidates=N),
}
