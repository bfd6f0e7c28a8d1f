"""Offline metrics and online clicks: whether one follows the other."""

GROUP = "Whether offline measures follow what users click."

GONE = {
    "credit": "`credit` was removed in version 0.12: an interaction counts for every list in whose "
    "window it is.",
    "clip": "`clip` was removed in version 0.12: take a smaller exponent (betas).",
    "popularity": "`popularity` was removed in version 0.12: it counts events.",
    "metrics": "`metrics` was removed in version 0.12: recall alone is measured.",
    "offline": "`offline` was removed in version 0.12: give the measures of a study and others in "
    "one table to `harness online`.",
}
