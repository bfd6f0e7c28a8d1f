"""Neighbours of users and items, and the products and sums that they take."""
