"""Ratings, how they are read, filtered and split, and a world that makes them."""
