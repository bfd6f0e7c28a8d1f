"""Offline metrics and online clicks: whether one follows the other."""

GROUP = "Whether offline measures follow what users click."

GONE = {
    "credit": "`credit` was removed in version 0.12: an interaction counts for every list in whose "
    "window it is."
}
