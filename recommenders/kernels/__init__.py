"""Computations that several systems share, a module for each family of methods."""
