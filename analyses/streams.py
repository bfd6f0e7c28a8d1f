"""Random words keyed by what they are for: those of :mod:`runs.streams`."""

from runs.streams import random_words

__all__ = ["random_words"]
