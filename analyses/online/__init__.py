"""Offline metrics and online clicks: whether one follows the other."""

GROUP = "Whether offline measures follow what users click."

GONE = {
    "credit": "`credit` is gone: an interaction counts for every list in whose window it is.",
    "clip": "`clip` is gone: take a smaller exponent (betas).",
    "popularity": "`popularity` is gone: it counts events.",
    "metrics": "`metrics` is gone: recall alone is measured.",
    "offline": "`offline` is gone: give the measures of a study and others in "
    "one table to `harness online`.",
}
