"""Scores of every system and user, for one set of judgements or for many samples of them."""
